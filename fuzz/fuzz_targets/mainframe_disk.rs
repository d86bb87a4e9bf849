//! Any bytes as the tracks of a small disk, and behind the headers of a compressed image.
#![no_main]

use libfuzzer_sys::fuzz_target;
use underbar_library::mainframe::ebcdic::CodePage;
use underbar_library::mainframe::image::Image;
use underbar_library::mainframe::source::Memory;
use underbar_library::mainframe::volume::Volume;

fuzz_target!(|bytes: &[u8]| {
    let mut header = b"CKD_P370".to_vec();
    header.extend([2, 0, 0, 0, 0, 4, 0, 0, 0x90]);
    header.resize(512, 0);
    let mut plain = header.clone();
    plain.extend(bytes);
    look(plain);
    header[4] = b'C';
    header[..8].copy_from_slice(b"CKD_C370");
    header.extend([0, 3, 1, 0, 1, 0, 0, 0, 0, 1, 0, 0]);
    header.resize(512 + 40, 0);
    header.push(4);
    header.resize(1024, 0);
    header.extend(bytes);
    look(header);
});

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
