//! Forms that this project's writer does not make: real transmissions and unloads have them.

use super::super::container;
use super::super::directory::{self, Entry, Ttr};
use super::super::fault::Fault;
use super::super::library::{self, Organisation};
use super::super::netdata;
use super::super::source::Memory;
use super::super::terse;
use super::super::tree::{Options, What};
use super::super::unit::{Key, TextUnit};
use super::super::unload;
use super::super::unload_write::{self, Outgoing};
use super::sample::{PAGE, envelope, name, programs, records, texts};

/// Segments of one record.
fn segments(flags: u8, bytes: &[u8]) -> Vec<u8> {
    let count = bytes.len().div_ceil(100).max(1);
    let mut found = Vec::new();
    for (index, part) in bytes.chunks(100).chain([&[][..]]).take(count).enumerate() {
        let first = if index == 0 { 0x80 } else { 0 };
        let last = if index + 1 == count { 0x40 } else { 0 };
        found.extend([part.len() as u8 + 2, flags | first | last]);
        found.extend(part);
    }
    found
}

fn control(record: u8, number: Option<u32>, units: &[TextUnit]) -> Vec<u8> {
    let mut bytes = vec![0xC9, 0xD5, 0xD4, 0xD9, 0xF0, 0xF0 + record];
    bytes.extend(number.iter().flat_map(|number| number.to_be_bytes()));
    units.iter().for_each(|unit| unit.write(&mut bytes).unwrap());
    segments(0x20, &bytes)
}

fn utility(name: &str) -> TextUnit {
    TextUnit::new(Key::Inmutiln, vec![PAGE.encode(name).unwrap()])
}

#[test]
fn a_message_comes_first_and_padding_is_never_read() {
    for padding in [0x00, 0x40] {
        let mut bytes = control(
            1,
            None,
            &[TextUnit::new(Key::Inmfack, Vec::new()), TextUnit::of_number(Key::Inmnumf, 2, 1)],
        );
        // The library's INMR02 come first, as some senders write them: the numbers decide.
        bytes.extend(control(2, Some(2), &[utility("IEBCOPY")]));
        bytes.extend(control(2, Some(2), &[utility("INMCOPY")]));
        bytes.extend(control(2, Some(1), &[utility("INMCOPY"), TextUnit::new(Key::Inmterm, Vec::new())]));
        bytes.extend(control(3, None, &[]));
        bytes.extend(segments(0, b"a message"));
        bytes.extend(control(3, None, &[]));
        for record in programs().unload() {
            // A record number precedes a record, in some transmissions.
            bytes.extend([6, 0xF0, 0, 0, 0, 1]);
            bytes.extend(segments(0, &record));
        }
        bytes.extend(control(6, None, &[]));
        bytes.resize(bytes.len() + 200, padding);
        let item = container::examine("FILE", Memory::shared(bytes), &Options::default());
        assert!(item.troubles().is_empty(), "{:?}", item.troubles());
        let What::Transmission { header } = &item.what else { panic!("{:?}", item.what) };
        assert!(header.acknowledge);
        assert!(matches!(item.inner[0].what, What::Message));
        assert!(matches!(item.inner[1].what, What::Library(_)));
        assert_eq!(item.inner.len(), 2, "padding became no file");
    }
}

#[test]
fn faults_of_a_transmission_are_named() {
    let read = |bytes: Vec<u8>| netdata::read(&Memory::shared(bytes), PAGE).unwrap().faults;
    let begin = control(1, None, &[]);
    let at = begin.len() as u64;
    let mut short = begin.clone();
    short.extend([1, 0]);
    assert_eq!(read(short), [netdata::Fault::Segment { at, length: 1 }]);
    let mut early = begin.clone();
    early.extend(segments(0, b"data"));
    early.extend(control(6, None, &[]));
    assert!(matches!(read(early)[..], [netdata::Fault::Sequence { .. }]));
    let mut unknown = begin.clone();
    unknown.extend(control(9, None, &[]));
    unknown.extend(control(6, None, &[]));
    assert_eq!(read(unknown), [netdata::Fault::Unknown { at, name: "INMR09".to_owned() }]);
    let mut more = begin.clone();
    more.extend(control(2, Some(1), &[utility("INMCOPY")]));
    more.extend(control(6, None, &[]));
    assert_eq!(read(more), [netdata::Fault::Files { described: 1, begun: 0 }]);
    let mut cut = begin;
    cut.extend([200, 0x80, 1, 2]);
    assert_eq!(read(cut), [netdata::Fault::Cut { at: at + 4 }]);
    assert!(netdata::read(&Memory::shared(vec![0; 80]), PAGE).is_err());
}

/// A PDSE of one member with three pages, as IEBCOPY unloads it.
fn extended() -> Vec<Vec<u8>> {
    let mut first = vec![0x11, 0xCA, 0x6D, 0x0F, 2, 0, 0x4A, 0x7D, 0, 0, 0xC0, 0, 0, 1, 0, 12];
    first.resize(24, 0);
    first.extend([1, 0, 1, 0, 0xFF, 0xFF]);
    first.resize(56, 0);
    let mut second = vec![3, 0, 0, 0];
    second.resize(16, 0);
    for (from, to, tracks) in [(0_u16, 126_u16, 32_512_u16), (127, 253, 32_512), (254, 255, 512)] {
        second.extend([0x58, 0, 0, 0, 0, 0]);
        second.extend(from.to_be_bytes());
        second.extend([0, 0]);
        second.extend(to.to_be_bytes());
        second.extend([0, 255]);
        second.extend(tracks.to_be_bytes());
    }
    second.resize(276, 0);
    // The token 010203: track 258 of cylinder 1 head 2, record 3.
    let group = |flag: u8, place: bool, key: &[u8], data: &[u8]| {
        let at = if place { [0, 1, 0, 2, 3] } else { [0; 5] };
        let mut bytes = vec![flag, 0, 0, 0];
        bytes.extend(at);
        bytes.push(key.len() as u8);
        bytes.extend((data.len() as u16).to_be_bytes());
        bytes.extend(key);
        bytes.extend(data);
        bytes
    };
    let entry =
        Entry { name: name("PGM"), ttr: Ttr(0x01_02_03), alias: false, ttrs: 1, user_data: vec![0; 30] };
    let blocks = directory::write(&[entry]);
    let mut found =
        vec![first, second, group(8, false, &blocks[0].0, &blocks[0].1), group(0x88, false, &[], &[])];
    found.extend((1..=3).map(|page| group(0, true, &[], &[page; 4_096])));
    found.push(group(0x80, true, &[], &[]));
    found.push(group(4, true, &[], &[9; 279]));
    found.push(group(0x84, true, &[], &[]));
    found.push(group(2, true, &[], &[9; 160]));
    found.push(group(0xC2, true, &[], &[]));
    found
}

#[test]
fn pages_of_a_pdse_are_found_by_their_token() {
    let found = unload::read(&records(&extended()), PAGE).unwrap();
    assert!(found.is_whole(), "{:?} {:?}", found.faults, found.library.faults);
    let library = found.library;
    assert_eq!((library.label.organisation, library.label.programs), (Organisation::Pdse, true));
    let member = library.member("PGM").unwrap();
    assert_eq!((member.blocks, member.bytes), (3, 3 * 4_096));
    assert_eq!(library.read_member(member).last().unwrap().unwrap(), vec![3; 4_096]);
    let counts = library.counts();
    assert_eq!((counts.data_blocks, counts.tracks), (5, 1));
    assert_eq!((library.blocks.len(), library.attributes.len()), (3, 2), "attributes are no pages");
    assert!(matches!(Outgoing::of(&library), Err(unload_write::Fault::Pdse)));
    // The same glued: COPYR1 has 56 bytes here.
    let item = container::examine("FILE", Memory::shared(extended().concat()), &Options::default());
    assert_eq!(item.libraries()[0].1.label.header_length, Some(56));
}

#[test]
fn several_extents_are_walked_in_order() {
    let mut unloaded = programs().unload();
    let placed = unload::read(&records(&unloaded), PAGE).unwrap().library;
    // The first extent keeps one track; the others move to cylinder 5, which the second extent begins.
    let copyr2 = &mut unloaded[1];
    copyr2[0] = 2;
    copyr2[16 + 10..16 + 16].copy_from_slice(&[0, 1, 0, 0, 0, 1]);
    let second = [0x58, 0, 0, 0, 0, 0, 0, 5, 0, 1, 0, 9, 0, 14, 0, 74];
    copyr2[32..48].copy_from_slice(&second);
    for record in &mut unloaded[3..] {
        let mut at = 0;
        while at < record.len() {
            let track = u16::from_be_bytes([record[at + 4], record[at + 5]]) * 15
                + u16::from_be_bytes([record[at + 6], record[at + 7]]);
            if track > 15 {
                let moved = track - 15 + 75;
                record[at + 4..at + 6].copy_from_slice(&(moved / 15).to_be_bytes());
                record[at + 6..at + 8].copy_from_slice(&(moved % 15).to_be_bytes());
            }
            at += 12 + usize::from(u16::from_be_bytes([record[at + 10], record[at + 11]]));
        }
    }
    let moved = unload::read(&records(&unloaded), PAGE).unwrap();
    assert!(moved.is_whole(), "{:?} {:?}", moved.faults, moved.library.faults);
    let places =
        |library: &library::Library| library.blocks.iter().map(|block| block.ttr).collect::<Vec<_>>();
    assert_eq!(places(&moved.library), places(&placed));
    assert!(moved.library.counts().tracks > 3);
}

#[test]
fn extents_longer_than_any_disk_are_added_up_all_the_same() {
    let mut unloaded = extended();
    // 65,535 heads in a cylinder: the first extent is nearly all tracks that 32 bits can count, and the second is it again.
    unloaded[0][26..28].copy_from_slice(&[0xFF, 0xFF]);
    unloaded[1][0] = 3;
    let long = |first: u8| [0x58, 0, 0, 0, 0, 0, 0, 0, 0, first, 0xFF, 0xFF, 0xFF, 0xFE, 0, 0];
    for (at, first) in [(16, 9), (32, 9), (48, 0)] {
        unloaded[1][at..at + 16].copy_from_slice(&long(first));
    }
    // Only the third extent has a place before their start.
    for record in &mut unloaded[4..] {
        record[4..8].copy_from_slice(&[0, 0, 0, 8]);
    }
    let found = unload::read(&records(&unloaded), PAGE).unwrap();
    assert_eq!(found.library.label.extents.len(), 3);
    assert_eq!(found.library.blocks.len(), 3);
    assert!(found.library.blocks.iter().all(|block| block.ttr.track() <= 0xFF_FFFF));
}

#[test]
fn lies_of_a_directory_are_named() {
    let sample = texts(&[]);
    let mut unloaded = sample.unload();
    // The first entry's TTR, after header, key, and the used bytes.
    unloaded[2][12 + 8 + 2 + 8] = 0x7F;
    let found = unload::read(&records(&unloaded), PAGE).unwrap().library;
    let ttr = found.members[0].ttr;
    assert_eq!(found.faults, [library::Fault::Nowhere { name: "EMPTY".to_owned(), ttr }]);
    assert_eq!(found.members[0].blocks, 0);
    let mut endless = sample.unload();
    let last = endless.len() - 1;
    let cut = endless[last].len() - 12;
    endless[last].truncate(cut);
    let found = unload::read(&records(&endless), PAGE).unwrap().library;
    assert_eq!(found.faults, [library::Fault::Endless { name: "TEXT".to_owned() }]);
    let mut beyond = sample.unload();
    beyond[last][10] = 0xFF;
    let found = unload::read(&records(&beyond), PAGE).unwrap();
    assert!(matches!(found.faults[..], [unload::Fault::Block { .. }]));
    let mut outside = sample.unload();
    outside[last][4] = 0x40;
    let found = unload::read(&records(&outside), PAGE).unwrap();
    assert!(matches!(found.faults[..], [unload::Fault::Place { cylinder: 0x4001, .. }]));
    for end in 0..2 {
        let few = records(&sample.unload()[..end]);
        assert!(unload::read(&few, PAGE).is_err());
    }
}

#[test]
fn an_overlay_module_has_its_note_list_made_anew() {
    let mut sample = programs();
    let member = &mut sample.outgoing.members[0];
    member.title.user_data[7] = 1;
    member.title.user_data[8] |= 0x20;
    // A note list of one entry before the last block; it names the first text block, at its old place 001122.
    let list = vec![0, 0x11, 0x22, 0, 0, 0, 0, 0];
    member.blocks.push(8);
    sample.data[0].push(list);
    member.notes = Some(member.blocks.len() - 1);
    member.noted = [(Ttr(0x1122), 6)].into();
    let library = unload::read(&records(&sample.unload()), PAGE).unwrap().library;
    let member = library.member("#NUMBER").unwrap();
    let list = library.read_member(member).last().unwrap().unwrap();
    let text = library.blocks_of(member)[6].ttr;
    assert_eq!(list[..4], (text.0 << 8).to_be_bytes());
    assert_eq!(list[4..], [0; 4]);
}

#[test]
fn what_cannot_be_written_is_named() {
    let text = |name: &directory::Name| name.text(PAGE);
    let mut long = texts(&[]).outgoing;
    long.members[1].blocks[0] = 32_761;
    assert!(matches!(
        unload_write::place(&long, text),
        Err(unload_write::Fault::Block { length: 32_761, .. })
    ));
    let mut twice = texts(&[]).outgoing;
    twice.members[1].title.name = twice.members[0].title.name;
    assert!(matches!(unload_write::place(&twice, text), Err(unload_write::Fault::Twice { .. })));
    let mut large = texts(&[]).outgoing;
    large.members[1].blocks = vec![32_760; 66_000];
    assert!(matches!(unload_write::place(&large, text), Err(unload_write::Fault::TooLarge { .. })));
    let sample = texts(&[]);
    for wrong in ["", "TOO.LONGQUALIFIER", "A..B", "Ж.LOAD"] {
        let written =
            super::super::xmit::write(&mut Vec::new(), &envelope(wrong), &sample.outgoing, |_, _| {
                Ok(Vec::new())
            });
        assert!(matches!(written, Err(super::super::xmit::Fault::Name { .. })), "{wrong}");
    }
    let changed =
        super::super::xmit::write(&mut Vec::new(), &envelope("A.B"), &sample.outgoing, |_, _| Ok(vec![1]));
    assert!(matches!(changed, Err(super::super::xmit::Fault::Unload(unload_write::Fault::Changed { .. }))));
}

#[test]
fn a_fault_names_the_way_to_it() {
    let inner = programs().xmit("MY.LIBRARY");
    let cut = texts(&[("INNER", inner[..inner.len() / 2].to_vec())]).xmit("OUTER.TEXT");
    let item = container::examine("FILE", Memory::shared(cut), &Options::default());
    let troubles = item.troubles();
    assert!(
        troubles.iter().any(|trouble| {
            trouble.place == "FILE > OUTER.TEXT > INNER"
                && matches!(trouble.fault, Fault::Netdata(netdata::Fault::Cut { .. }))
        }),
        "{troubles:?}"
    );
}

#[test]
fn members_within_each_other_are_opened_once() {
    let mut sample = texts(&[("INNER", texts(&[]).xmit("MY.LIBRARY"))]);
    // Twenty more names for the same place, none of them marked as an alias.
    let again = sample.outgoing.members[2].clone();
    sample.outgoing.members[2].aliases = (0..20)
        .map(|number| unload_write::Title { name: name(&format!("X{number}")), ..again.title.clone() })
        .collect();
    let mut unloaded = sample.unload();
    let directory = &mut unloaded[2];
    let mut at = 0;
    while at + 276 <= directory.len() {
        let block = &mut directory[at + 20..at + 276];
        let (used, mut entry) = (usize::from(u16::from_be_bytes([block[0], block[1]])), 2);
        while entry < used {
            let length = usize::from(block[entry + 11] & 0x1F) * 2;
            block[entry + 11] &= 0x7F;
            entry += 12 + length;
        }
        at += 276;
    }
    let item = container::examine("FILE", Memory::shared(unloaded.concat()), &Options::default());
    let library = item.libraries()[0].1;
    assert_eq!((library.counts().aliases, library.members.len()), (0, 23));
    assert_eq!(item.inner.len(), 1);
}

#[test]
fn members_that_are_numbered_and_not_placed() {
    let sample = texts(&[("MORE", vec![0xC1; 8_000])]);
    let mut unloaded = sample.unload();
    // No device, no extents; every record of a member has its number, in the directory's order, as its place.
    unloaded[0][16..30].fill(0);
    unloaded[1][16..].fill(0);
    let order = [(0_u8, 0_usize), (1, 2), (2, 1)];
    for (number, member) in order {
        let record = &mut unloaded[3 + member];
        let mut at = 0;
        while at < record.len() {
            record[at + 4..at + 9].copy_from_slice(&[0, 0, 0, 0, number + 1]);
            at += 12 + usize::from(u16::from_be_bytes([record[at + 10], record[at + 11]]));
        }
    }
    let block = &mut unloaded[2][20..276];
    let mut entry = 2;
    for number in 0..3 {
        block[entry + 8..entry + 11].copy_from_slice(&[0, 0, number + 1]);
        entry += 12 + usize::from(block[entry + 11] & 0x1F) * 2;
    }
    let found = unload::read(&records(&unloaded), PAGE).unwrap();
    assert!(found.is_whole(), "{:?} {:?}", found.faults, found.library.faults);
    for (number, member) in order {
        let entry = &found.library.members[usize::from(number)];
        let blocks: Vec<Vec<u8>> = found.library.read_member(entry).map(Result::unwrap).collect();
        assert_eq!(blocks, sample.data[member], "{}", entry.name);
    }
}

/// Records without bytes, and ends of records without meaning, are work and memory, too:
/// one item's use of the budget is not available to the next one.
#[test]
fn what_packed_things_take_counts_for_the_whole_file() {
    // Each code is the pair of the last two, and means ends of records only.
    let mut codes = vec![257, 257];
    codes.extend(258..900);
    for variable in [0, 1] {
        let bomb = terse::tests::file(5, variable, 84, &codes);
        let members: Vec<(String, Vec<u8>)> =
            (0..4).map(|number| (format!("BOMB{number}"), bomb.clone())).collect();
        let members: Vec<(&str, Vec<u8>)> =
            members.iter().map(|(name, bytes)| (name.as_str(), bytes.clone())).collect();
        let options = Options { inflated: 1_000_000, ..Options::default() };
        let file = Memory::shared(texts(&members).xmit("A.B"));
        let item = container::examine("FILE", file, &options);
        let allowed: Vec<u64> = item
            .troubles()
            .iter()
            .filter_map(|trouble| match trouble.fault {
                Fault::Terse(terse::Fault::TooLong { most, .. }) => Some(most),
                _ => None,
            })
            .collect();
        assert_eq!(allowed, [1_000_000, 0, 0, 0], "{:?}", item.troubles());
    }
}

#[test]
fn a_long_name_does_not_stand_in_the_way_to_everything_below_it() {
    let mut bytes = control(1, None, &[]);
    let name = TextUnit::new(Key::Inmdsnam, vec![vec![0xC1; 20_000]]);
    bytes.extend(control(2, Some(1), &[utility("INMCOPY"), name]));
    bytes.extend(control(3, None, &[]));
    let inner = [control(1, None, &[]), control(3, None, &[]), control(6, None, &[])].concat();
    bytes.extend(segments(0, &inner));
    bytes.extend(control(6, None, &[]));
    let item = container::examine("FILE", Memory::shared(bytes), &Options::default());
    assert_eq!(item.inner[0].name.len(), 80);
    let troubles = item.troubles();
    assert!(!troubles.is_empty() && troubles.iter().all(|one| one.place.len() < 200), "{troubles:?}");
}
