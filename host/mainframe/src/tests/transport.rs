//! Files after a transfer: descriptors before records, ends of lines after them, other packing around them.

use super::super::container::examine;
use super::super::fault::Fault;
use super::super::source::Memory;
use super::super::spanned;
use super::super::tree::{Options, What};
use super::roundtrip::listing;
use super::sample::{PAGE, programs, texts};

/// Whatever the transfer, the members are the same; an unreadable form is recognised and named.
#[test]
fn files_that_were_wrapped_on_their_way_are_unwrapped() {
    let sample = programs();
    let xmit = sample.xmit("MY.LIBRARY");
    let cards: Vec<&[u8]> = xmit.chunks(80).collect();
    let with = |before: &[&[u8]], behind: &[u8]| -> Vec<u8> {
        cards.iter().flat_map(|card| [&before.concat()[..], card, behind].concat()).collect()
    };
    let (rdw, bdw) = ([0, 84, 0, 0], [0, 88, 0, 0]);
    let blocks = spanned::write(sample.unload().iter().map(Vec::as_slice), 3_120).unwrap();
    let wanted = examine("x", Memory::shared(xmit.clone()), &Options::default());
    let wanted = listing(wanted.libraries()[0].1);
    for (how, bytes) in [
        ("descriptors of records", with(&[&rdw], &[])),
        ("descriptors of blocks and records", with(&[&bdw, &rdw], &[])),
        ("lines", with(&[], b"\n")),
        ("lines, the last without an end", with(&[], b"\r\n")[..cards.len() * 82 - 2].to_vec()),
        (
            "an unload without descriptors of blocks",
            blocks.iter().flat_map(|block| block[4..].to_vec()).collect(),
        ),
    ] {
        let item = examine("x", Memory::shared(bytes), &Options::default());
        let libraries = item.libraries();
        assert_eq!(libraries.len(), 1, "{how}");
        assert_eq!(listing(libraries[0].1), wanted, "{how}");
        assert!(item.troubles().is_empty(), "{how}: {:?}", item.troubles());
    }
    // One line with another end: nothing is taken away.
    let mut wrong = with(&[], b"\n");
    wrong[81 * 9 + 80] = b' ';
    assert!(!examine("x", Memory::shared(wrong), &Options::default()).troubles().is_empty());
    // Cut within a record.
    let cut = with(&[&rdw], &[]);
    let cut = examine("x", Memory::shared(cut[..cut.len() - 90].to_vec()), &Options::default());
    assert!(
        matches!(cut.faults[0].fault, Fault::Spanned(spanned::Fault::Segment { .. })),
        "{:?}",
        cut.faults
    );
}

#[test]
fn what_is_known_by_sight_is_named() {
    let mut translated = PAGE.decode(&programs().xmit("MY.LIBRARY")).into_bytes();
    translated.truncate(4_000);
    let mut fixed = vec![0; 512];
    fixed.extend([0xE5, 0xD6, 0xD3, 0xF1]);
    for (bytes, says) in [
        (translated, "translated to ASCII"),
        (fixed, "fixed blocks"),
        (b"FBA_C370".to_vec(), "fixed blocks"),
        (b"PK\x03\x04 and more".to_vec(), "a zip archive"),
        (b"\x1F\x8B\x08 and more".to_vec(), "packed by gzip"),
        (b"\x02\xC5\xE2\xC4 and more".to_vec(), "an object deck"),
        (b"@TAP00000050".to_vec(), "FakeTape"),
    ] {
        let item = examine("x", Memory::shared(bytes), &Options::default());
        assert!(
            matches!(item.what, What::Foreign { what } if what.contains(says)),
            "{says}: {:?}",
            item.what
        );
    }
}

#[test]
fn transmissions_behind_each_other_are_all_read() {
    let one = programs().xmit("MY.LIBRARY");
    for padding in [0, 80, 2_000] {
        let file =
            [&one[..], &vec![0x40; padding], &texts(&[]).xmit("MY.TEXT"), &vec![0; padding], &one].concat();
        let item = examine("x", Memory::shared(file), &Options::default());
        let names: Vec<String> = item.libraries().into_iter().map(|(way, _)| way).collect();
        let wanted = ["x > MY.LIBRARY", "x > transmission 2 > MY.TEXT", "x > transmission 3 > MY.LIBRARY"];
        assert_eq!(names, wanted, "{padding}");
        assert!(item.troubles().is_empty(), "{:?}", item.troubles());
    }
    let damaged = [&one[..], b"something else", &one].concat();
    assert_eq!(examine("x", Memory::shared(damaged), &Options::default()).libraries().len(), 1);
}
