//! A small disk with a valid label and table of contents. All other bytes are arbitrary: those of the data set's label, of its
//! tracks, and of the headers and tables of a compressed image.
#![no_main]

use libfuzzer_sys::fuzz_target;
use underbar_mainframe::ebcdic::CodePage;
use underbar_mainframe::image::Image;
use underbar_mainframe::source::Memory;
use underbar_mainframe::volume::Volume;

const TRACK: usize = 1024;
const HEADS: u8 = 2;

fuzz_target!(|bytes: &[u8]| {
    let (label, rest) = bytes.split_at(bytes.len().min(96));
    let mut file = header(b"CKD_P370");
    file.extend(volume_label());
    file.extend(contents(label));
    // Whole tracks follow, or not.
    file.extend(rest);
    look(file);
    let mut file = header(b"CKD_C370");
    file.extend([0, 3, 1, 0, 1, 0, 0, 0, 0, 1, 0, 0]);
    file.resize(512 + 40, 0);
    file.push(4);
    file.resize(1024, 0);
    // One L1 entry; its table begins with tracks 0 and 1, and the bytes define the others.
    let table = 1028_u32;
    let (first, second) = (volume_label(), contents(label));
    let tracks = table + 8 * 256;
    file.extend(table.to_le_bytes());
    for (at, length) in [(tracks, first.len()), (tracks + first.len() as u32, second.len())] {
        file.extend(at.to_le_bytes());
        file.extend((length as u16).to_le_bytes());
        file.extend([0; 2]);
    }
    file.extend(&rest[..rest.len().min(48)]);
    file.resize(tracks as usize, 0);
    file.extend(first);
    file.extend(second);
    file.extend(rest);
    look(file);
});

fn header(id: &[u8; 8]) -> Vec<u8> {
    let mut header = id.to_vec();
    header.extend([HEADS, 0, 0, 0, 0, 4, 0, 0, 0x90]);
    header.resize(512, 0);
    header
}

/// A track with these records: number, key, data.
fn track(number: u8, records: &[(u8, &[u8], &[u8])]) -> Vec<u8> {
    let address = [0, number / HEADS, 0, number % HEADS];
    let mut track = vec![0];
    track.extend(address);
    for (number, key, data) in records {
        track.extend(address);
        track.extend([*number, key.len() as u8, (data.len() >> 8) as u8, data.len() as u8]);
        track.extend(*key);
        track.extend(*data);
    }
    track.extend([0xFF; 8]);
    track.resize(TRACK, 0);
    track
}

fn volume_label() -> Vec<u8> {
    let mut label = vec![0xE5, 0xD6, 0xD3, 0xF1, 0xC1, 0xC1, 0xC1, 0xC1, 0xC1, 0xC1, 0, 0, 0, 0, 1, 1];
    label.resize(80, 0x40);
    track(0, &[(0, &[], &[0; 8]), (3, &label[..4], &label)])
}

/// F4, and an F1 of a partitioned data set in tracks 2 to 7, over which the bytes are laid.
fn contents(bytes: &[u8]) -> Vec<u8> {
    let mut own = vec![4; 44];
    own.push(0xF4);
    own.resize(0x69, 0);
    own.extend([1, 0, 0, 0, 0, 1, 0, 0, 0, 1]);
    own.resize(140, 0);
    let mut set = vec![0xC1; 44];
    set.push(0xF1);
    set.resize(0x52, 0);
    set.extend([2, 0, 0xC0]);
    set.resize(0x69, 0);
    set.extend([1, 0, 0, 1, 0, 0, 0, 3, 0, 1]);
    set.resize(140, 0);
    for (byte, other) in set[44..].iter_mut().zip(bytes) {
        *byte ^= other;
    }
    track(1, &[(0, &[], &[0; 8]), (1, &own[..44], &own[44..]), (2, &set[..44], &set[44..])])
}

fn look(file: Vec<u8>) {
    let Ok(image) = Image::open(&Memory::shared(file)) else { return };
    for track in 0..image.tracks.min(16) {
        if let Ok(track) = image.track(track) {
            assert!(track.len() <= image.track_size as usize);
        }
    }
    let Ok(volume) = Volume::open(image, CodePage::US) else { return };
    for set in volume.data_sets.iter().take(8) {
        if let Ok((library, _)) = volume.library(set, CodePage::US) {
            library.members.iter().for_each(|member| library.read_member(member).for_each(drop));
        }
        let _ = volume.sequential(set);
    }
}
