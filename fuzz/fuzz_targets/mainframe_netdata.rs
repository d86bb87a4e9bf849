//! Any bytes after an INMR01 as a transmission: no panic, and records are within the bytes read.
#![no_main]

use libfuzzer_sys::fuzz_target;
use underbar_mainframe::ebcdic::CodePage;
use underbar_mainframe::netdata;
use underbar_mainframe::source::Memory;

fuzz_target!(|bytes: &[u8]| {
    let mut file = vec![8, 0xE0, 0xC9, 0xD5, 0xD4, 0xD9, 0xF0, 0xF1];
    file.extend(bytes);
    if let Ok(found) = netdata::read(&Memory::shared(file), CodePage::US) {
        for file in found.files {
            assert!(file.records.bytes() <= bytes.len() as u64);
            (0..file.records.count()).for_each(|index| drop(file.records.read(index).unwrap()));
        }
    }
});
