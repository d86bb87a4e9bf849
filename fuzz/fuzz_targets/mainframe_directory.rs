//! Any bytes as a directory block, and as the user data of an entry.
#![no_main]

use libfuzzer_sys::fuzz_target;
use underbar_mainframe::ebcdic::CodePage;
use underbar_mainframe::{directory, entry, unit};

fuzz_target!(|bytes: &[u8]| {
    let block = directory::read(bytes);
    // An entry that is read and written reads the same again.
    let written = directory::write(&block.entries);
    let again: usize = written.iter().map(|(_, block)| directory::read(block).entries.len()).sum();
    let kept = block.entries.iter().filter(|entry| entry.name.0 != directory::LAST).count();
    assert_eq!(again, kept);
    for (alias, programs) in [(false, false), (true, true), (false, true)] {
        let _ = entry::read(bytes, alias, programs, CodePage::US);
    }
    let (units, fault) = unit::read(bytes);
    let mut again = Vec::new();
    units.iter().for_each(|unit| unit.write(&mut again).unwrap());
    assert!(bytes.starts_with(&again) && (fault.is_some() || again.len() == bytes.len()));
});
