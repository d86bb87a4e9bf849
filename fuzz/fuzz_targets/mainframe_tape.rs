//! Any bytes after a first label as a tape image: listed blocks can be read.
#![no_main]

use libfuzzer_sys::fuzz_target;
use underbar_mainframe::ebcdic::CodePage;
use underbar_mainframe::source::Memory;
use underbar_mainframe::{label, tape};

fuzz_target!(|bytes: &[u8]| {
    let mut image = vec![80, 0, 0, 0, 0xA0, 0, 0xE5, 0xD6, 0xD3, 0xF1];
    image.resize(86, 0x40);
    image.extend([0, 0, 80, 0, 0x40, 0]);
    image.extend(bytes);
    let found = tape::read(&Memory::shared(image), 10_000_000).unwrap();
    for file in label::read(found.files, CodePage::US).files {
        (0..file.records.count()).for_each(|index| drop(file.records.read(index).unwrap()));
    }
});
