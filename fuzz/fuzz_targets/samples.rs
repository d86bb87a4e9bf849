//! Any bytes as the contents of a kernel ring: no panic, and as many samples are counted as were read.
#![no_main]

use libfuzzer_sys::fuzz_target;
use underbar_profile::record::{Reader, Record};
use underbar_profile::{Facts, Maps, Tally, profile, text};
use underbar_symbols::Symbols;

fuzz_target!(|bytes: &[u8]| {
    let (mut reader, mut tally, mut samples) = (Reader::default(), Tally::default(), 0);
    // In two pieces; the second begins anywhere.
    let (first, second) = bytes.split_at(bytes.len() / 3);
    for piece in [first, second] {
        reader.read(piece, |(_, record)| {
            samples += u64::from(matches!(record, Record::Sample { .. }));
            // Otherwise the names of files would be opened.
            if !matches!(record, Record::Mapped { .. }) {
                tally.add(record);
            }
        });
    }
    let mut maps = Maps::default();
    maps.add(1, bytes);
    let profile = profile(&tally, &Symbols::new(), &maps, Facts::default());
    assert_eq!(profile.instructions.iter().map(|row| row.count).sum::<u64>(), samples);
    let _ = text::render(&profile, 10);
});
