//! Disk images: a volume with a library in several extents, stored in every form.

use super::super::container;
use super::super::fault::Fault;
use super::super::image;
use super::super::inflate::{self, Method};
use super::super::source::Memory;
use super::super::track;
use super::super::tree::{Options, What};
use super::super::unload_write;
use super::super::volume;
use super::sample::{PAGE, Sample, programs, texts};

const HEADS: u32 = 15;
const TRACK: u32 = 56_832;

/// A volume: tracks in order, None if nothing was written.
#[derive(Clone)]
pub struct Volume {
    pub tracks: Vec<Option<Vec<u8>>>,
}

fn address(track: u32) -> Vec<u8> {
    [((track / HEADS) as u16).to_be_bytes(), ((track % HEADS) as u16).to_be_bytes()].concat()
}

fn extent(number: u8, from: u32, to: u32) -> Vec<u8> {
    [vec![1, number], address(from), address(to)].concat()
}

type Record = (u8, Vec<u8>, Vec<u8>);

fn write(track: u32, records: &[Record]) -> Vec<u8> {
    let borrowed: Vec<(u8, &[u8], &[u8])> =
        records.iter().map(|(number, key, data)| (*number, key.as_slice(), data.as_slice())).collect();
    track::write((track / HEADS) as u16, (track % HEADS) as u16, &borrowed)
}

/// The label of a data set, F1 or F3: its 140 bytes as key and data.
fn split(mut label: Vec<u8>) -> (Vec<u8>, Vec<u8>) {
    label.resize(140, 0);
    let data = label.split_off(44);
    (label, data)
}

/// A volume of 20 cylinders: the library in extents of one track each, so that both labels for extents are needed.
pub fn volume(sample: &Sample) -> Volume {
    let layout = unload_write::place(&sample.outgoing, |name| name.text(PAGE)).unwrap();
    let mut library: Vec<Vec<Record>> = vec![Vec::new(); layout.tracks as usize];
    for (index, (key, block)) in layout.directory.iter().enumerate() {
        library[0].push((index as u8 + 1, key.to_vec(), block.clone()));
    }
    let end = layout.directory.len() as u8 + 1;
    library[0].push((end, Vec::new(), Vec::new()));
    for (places, blocks) in layout.places.iter().zip(&sample.data) {
        let empty = Vec::new();
        for (place, block) in places.iter().zip(blocks.iter().chain([&empty])) {
            library[place.track() as usize].push((place.record(), Vec::new(), block.clone()));
        }
    }
    // Every second track from 30 on, but the last extent holds all the rest.
    let most = 3 + 13;
    let mut extents = Vec::new();
    let mut homes = Vec::new();
    for track in 0..layout.tracks {
        let home = 30 + 2 * track.min(most - 1) + track.saturating_sub(most - 1);
        homes.push(home);
        if track < most {
            extents.push((home, home));
        } else if let Some(last) = extents.last_mut() {
            last.1 = home;
        }
    }
    let mut tracks = vec![None; 20 * HEADS as usize];
    let mut label = vec![0xE5, 0xD6, 0xD3, 0xF1];
    label.extend(PAGE.filled("TESTED", 6).unwrap());
    label.push(0);
    label.extend(address(1));
    label.push(1);
    label.resize(80, 0x40);
    let vol1 = (3, label[..4].to_vec(), label);
    let ipl = |number| (number, vec![0; 4], vec![0; 24]);
    tracks[0] = Some(write(0, &[ipl(1), ipl(2), vol1]));
    let mut f4 = vec![4; 44];
    f4.push(0xF4);
    f4.resize(0x69, 0);
    f4.extend(extent(0, 1, 1));
    let mut f1 = PAGE.filled("MY.LIBRARY", 44).unwrap();
    f1.push(0xF1);
    f1.resize(0x8C, 0);
    f1[0x3B] = extents.len() as u8;
    f1[0x52] = 2;
    f1[0x54] = sample.outgoing.record_format.0;
    f1[0x56..0x58].copy_from_slice(&sample.outgoing.block_size.to_be_bytes());
    f1[0x58..0x5A].copy_from_slice(&sample.outgoing.record_length.to_be_bytes());
    f1[0x62..0x65].copy_from_slice(&layout.last.0.to_be_bytes()[1..]);
    let mut f3 = vec![3; 44];
    f3.push(0xF3);
    f3.resize(140, 0);
    f3[4..44].fill(0);
    for (number, (from, to)) in extents.iter().enumerate() {
        let bytes = extent(number as u8, *from, *to);
        let (label, at) = match number {
            0..3 => (&mut f1, 0x69 + 10 * number),
            3..7 => (&mut f3, 4 + 10 * (number - 3)),
            _ => (&mut f3, 0x2D + 10 * (number - 7)),
        };
        label[at..at + 10].copy_from_slice(&bytes);
    }
    if extents.len() > 3 {
        f1[0x87..0x8B].copy_from_slice(&address(1));
        f1[0x8B] = 3;
    }
    let labels = [split(f4), split(f1), split(f3)];
    let labels: Vec<Record> =
        labels.into_iter().enumerate().map(|(index, (key, data))| (index as u8 + 1, key, data)).collect();
    tracks[1] = Some(write(1, &labels));
    for (home, records) in homes.into_iter().zip(library) {
        tracks[home as usize] = Some(write(home, &records));
    }
    Volume { tracks }
}

fn header(id: &[u8; 8]) -> Vec<u8> {
    let mut header = id.to_vec();
    header.extend(HEADS.to_le_bytes());
    header.extend(TRACK.to_le_bytes());
    header.push(0x90);
    header.resize(512, 0);
    header
}

/// The track that the emulator makes up for an unwritten one.
fn null(track: u32) -> Vec<u8> {
    write(track, &[(1, Vec::new(), Vec::new())])
}

/// A plain image.
pub fn plain(volume: &Volume) -> Vec<u8> {
    let mut image = header(b"CKD_P370");
    for (number, track) in volume.tracks.iter().enumerate() {
        let mut track = track.clone().unwrap_or_else(|| null(number as u32));
        track.resize(TRACK as usize, 0);
        image.extend(track);
    }
    image
}

/// A compressed image: method 0 none, 1 zlib, 2 bzip2; `wide` with offsets of 64 bits.
pub fn compressed(volume: &Volume, method: u8, wide: bool) -> Vec<u8> {
    let mut image = header(if wide { b"CKD_C064" } else { b"CKD_C370" });
    let tables = volume.tracks.len().div_ceil(256);
    let mut second = vec![0; 512];
    second[4..8].copy_from_slice(&(tables as u32).to_le_bytes());
    second[8..12].copy_from_slice(&256_u32.to_le_bytes());
    let cylinders = (volume.tracks.len() as u32 / HEADS).to_le_bytes();
    let at = if wide { 12 } else { 40 };
    second[at..at + 4].copy_from_slice(&cylinders);
    second[if wide { 73 } else { 45 }] = method;
    image.extend(second);
    let (first, entry) = if wide { (8, 16) } else { (4, 8) };
    let l1 = image.len();
    image.resize(l1 + first * tables, 0);
    for table in 0..tables {
        let tracks = &volume.tracks[table * 256..volume.tracks.len().min((table + 1) * 256)];
        if tracks.iter().all(Option::is_none) {
            continue;
        }
        let l2 = image.len();
        image[l1 + first * table..][..first].copy_from_slice(&(l2 as u64).to_le_bytes()[..first]);
        image.resize(l2 + 256 * entry, 0);
        for (index, track) in
            tracks.iter().enumerate().filter_map(|(index, track)| Some((index, track.as_ref()?)))
        {
            let offset = image.len();
            let kind = [Method::Plain, Method::Zlib, Method::Bzip2][usize::from(method)];
            let mut stored = vec![method];
            stored.extend(&track[1..5]);
            stored.extend(inflate::tests::deflate(kind, &track[5..]));
            let place = &mut image[l2 + entry * index..][..entry];
            place[..first].copy_from_slice(&(offset as u64).to_le_bytes()[..first]);
            place[first..first + 2].copy_from_slice(&(stored.len() as u16).to_le_bytes());
            image.extend(stored);
        }
    }
    image
}

fn faults(bytes: Vec<u8>) -> Vec<Fault> {
    let item = container::examine("DISK", Memory::shared(bytes), &Options::default());
    item.troubles().into_iter().map(|trouble| trouble.fault.clone()).collect()
}

#[test]
fn a_volume_of_many_extents_names_its_disk() {
    let image = compressed(&volume(&programs()), 1, false);
    let item = container::examine("DISK", Memory::shared(image), &Options::default());
    let What::Disk { serial, device, packed, cylinders, open } = &item.what else {
        panic!("{:?}", item.what)
    };
    assert_eq!(
        (serial.as_str(), device.as_str(), *packed, *cylinders, *open),
        ("TESTED", "3390", true, 20, false)
    );
    let libraries = item.libraries();
    assert!(libraries[0].1.label.extents.len() > 3, "F3 is needed");
    assert_eq!(libraries[0].0, "DISK > MY.LIBRARY");
}

#[test]
fn what_is_not_read_is_named() {
    for id in [b"CKD_S370", b"CKD_S064"] {
        let found = faults(header(id));
        assert!(matches!(&found[..], [Fault::Image(image::Fault::Shadow { .. })]), "{found:?}");
    }
    let volume = volume(&texts(&[]));
    let mut second = plain(&volume);
    second[17] = 2;
    assert_eq!(faults(second), [Fault::Image(image::Fault::Several { number: 2 })]);
    let mut big = compressed(&volume, 1, false);
    big[515] = 2;
    assert_eq!(faults(big), [Fault::Image(image::Fault::BigEndian)]);
    let mut extended = volume.clone();
    let vtoc = extended.tracks[1].as_mut().unwrap();
    // The second label after home address, R0 and the first label: byte 4E of its 140.
    let at = 5 + 16 + 148 + 8 + 0x4E;
    vtoc[at] = 8;
    let name = "MY.LIBRARY".to_owned();
    assert_eq!(faults(plain(&extended)), [Fault::Volume(volume::Fault::Extended { name })]);
}

#[test]
fn tracks_that_inflate_without_end_are_stopped() {
    let mut bomb = volume(&programs());
    bomb.tracks[30] = Some(vec![0; 3_000_000]);
    let home = address(30);
    bomb.tracks[30].as_mut().unwrap()[1..5].copy_from_slice(&home);
    for method in [1, 2] {
        let found = faults(compressed(&bomb, method, false));
        let most = TRACK as usize - 5;
        let expected = Fault::Volume(volume::Fault::Image(image::Fault::Inflate {
            track: 30,
            at: 0,
            fault: inflate::Fault::TooLong { most },
        }));
        let told = |fault: &Fault| match (fault, &expected) {
            (
                Fault::Volume(volume::Fault::Image(image::Fault::Inflate { track: 30, fault, .. })),
                Fault::Volume(volume::Fault::Image(image::Fault::Inflate { fault: other, .. })),
            ) => fault == other,
            _ => false,
        };
        assert!(found.iter().any(told), "{found:?}");
    }
}

#[test]
fn a_circle_of_labels_and_extents_beyond_the_volume_are_named() {
    let whole = volume(&programs());
    let label = |number: usize| 5 + 16 + 148 * number + 8;
    let mut circle = whole.clone();
    let vtoc = circle.tracks[1].as_mut().unwrap();
    // F3 points to itself.
    let own = [address(1), vec![3]].concat();
    vtoc[label(2) + 0x87..][..5].copy_from_slice(&own);
    let name = "MY.LIBRARY".to_owned();
    assert!(faults(plain(&circle)).contains(&Fault::Volume(volume::Fault::Chain { name })));
    let mut beyond = whole.clone();
    let vtoc = beyond.tracks[1].as_mut().unwrap();
    vtoc[label(1) + 0x69 + 6..][..2].copy_from_slice(&[0x70, 0]);
    let found = faults(plain(&beyond));
    assert!(matches!(&found[..], [Fault::Claimed { .. }, ..]), "{found:?}");
}

#[test]
fn an_end_alone_on_its_track_is_not_stored_and_ends_its_member_all_the_same() {
    // A last member whose end does not fit after its blocks.
    let sample = (0..2_000)
        .map(|lines| texts(&[("ZLAST", vec![0xC1; 80 * lines])]))
        .find(|sample| {
            let layout = unload_write::place(&sample.outgoing, |name| name.text(PAGE)).unwrap();
            layout.last.record() == 1 && layout.last.track() > 0
        })
        .unwrap();
    let mut volume = volume(&sample);
    let last = volume.tracks.iter().rposition(Option::is_some).unwrap();
    assert_eq!(volume.tracks[last].as_ref(), Some(&null(last as u32)));
    volume.tracks[last] = None;
    for image in [plain(&volume), compressed(&volume, 1, false), compressed(&volume, 0, true)] {
        let item = container::examine("DISK", Memory::shared(image), &Options::default());
        assert!(item.troubles().is_empty(), "{:?}", item.troubles());
        let member = item.libraries()[0].1.member("ZLAST").unwrap();
        assert_eq!(member.bytes, sample.data[2].concat().len() as u64);
    }
}

#[test]
fn tracks_that_are_not_stored_are_passed_over() {
    let stored = [1, 255, 256, 1_030];
    let tracks = (0..1_050).map(|track| stored.contains(&track).then(|| vec![0; 60])).collect();
    for wide in [false, true] {
        let file = compressed(&Volume { tracks: Vec::clone(&tracks) }, 0, wide);
        let image = image::Image::open(&Memory::shared(file)).unwrap();
        let (mut found, mut next) = (Vec::new(), 0);
        while next < image.tracks {
            next = image.next_stored(next).unwrap();
            found.push(next);
            next += 1;
        }
        assert_eq!(found, [1, 255, 256, 1_030, 1_050]);
        assert_eq!(image.next_stored(2_000).unwrap(), 2_000);
    }
    let image = image::Image::open(&Memory::shared(plain(&volume(&texts(&[]))))).unwrap();
    assert_eq!(image.next_stored(7).unwrap(), 7);
}

/// A disk of a quarter of a megabyte whose table of contents covers all of its sixteen million tracks, one of which is
/// stored: at 50 KB each, which the emulator would make up, they are more than a processor writes in a minute.
#[test]
fn a_table_of_contents_of_nothing_is_no_work() {
    const CYLINDERS: u32 = 65_535;
    const HEADS: u32 = 256;
    let mut file = header(b"CKD_C370");
    file[8..12].copy_from_slice(&HEADS.to_le_bytes());
    let tables = CYLINDERS;
    let mut second = vec![0; 512];
    second[4..8].copy_from_slice(&tables.to_le_bytes());
    second[8..12].copy_from_slice(&256_u32.to_le_bytes());
    second[40..44].copy_from_slice(&CYLINDERS.to_le_bytes());
    second[44] = 2;
    file.extend(second);
    let l2 = file.len() + 4 * tables as usize;
    file.extend((l2 as u32).to_le_bytes());
    file.resize(l2 + 8 * 256, 0);
    let mut vol1 = vec![0xE5, 0xD6, 0xD3, 0xF1];
    vol1.extend([0xE3; 6]);
    vol1.extend([0, 0, 0, 0, 0, 4]);
    vol1.resize(80, 0x40);
    let mut f4 = vec![4; 44];
    f4.push(0xF4);
    f4.resize(0x69, 0);
    let half = |number: u32| (number as u16).to_be_bytes();
    f4.extend([1, 0, 0, 0, 0, 0]);
    f4.extend([half(CYLINDERS - 1), half(HEADS - 1)].concat());
    let (key, data) = split(f4);
    let records = [(3, vol1[..4].to_vec(), vol1.clone()), (4, key, data)];
    let track = write(0, &records);
    let at = file.len() as u32;
    file[l2..l2 + 4].copy_from_slice(&at.to_le_bytes());
    file[l2 + 4..l2 + 6].copy_from_slice(&(track.len() as u16).to_le_bytes());
    file.extend(track);
    assert!(file.len() < 1 << 19);
    let item = container::examine("DISK", Memory::shared(file), &Options::default());
    assert!(matches!(&item.what, What::Disk { cylinders: CYLINDERS, .. }), "{:?}", item.what);
    assert!(item.troubles().is_empty() && item.inner.is_empty(), "{:?}", item.troubles());
}

#[test]
fn null_tracks_are_made_up_as_their_formats_say() {
    let tracks = (0..30).map(|track| (track % 2 == 1).then(|| vec![0; 60])).collect();
    let volume = Volume { tracks };
    // The volume's formats, the length of the track's entry, and the records that the emulator makes up.
    for (format, length, count, bytes) in [
        (0, 0, 1, 0),
        (0, 1, 0, 0),
        (0, 2, 12, 4_096),
        (2, 0, 12, 4_096),
        (1, 5, 0, 0),
        (1, 0, 1, 0),
        (2, 1, 0, 0),
    ] {
        let mut file = compressed(&volume, 0, false);
        file[512 + 44] = format;
        // The entry of track 0 in the first L2 table, which follows the one L1 entry.
        file[1_028 + 4..1_028 + 6].copy_from_slice(&u16::to_le_bytes(length));
        let image = image::Image::open(&Memory::shared(file)).unwrap();
        let track = image.track(0).unwrap();
        let (records, fault) = track::records(&track);
        assert_eq!(fault, None);
        assert_eq!(records.len(), count, "format {format}, length {length}");
        assert!(records.iter().all(|record| record.length == bytes));
        assert!(image.null_format(0).unwrap().is_some() && image.null_format(1).unwrap().is_none());
    }
}
