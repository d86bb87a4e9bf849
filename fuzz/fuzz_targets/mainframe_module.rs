//! Any bytes as a load module whose blocks were joined, as blocks of any length, and as a program object.
#![no_main]

use libfuzzer_sys::fuzz_target;
use underbar_mainframe::ebcdic::CodePage;
use underbar_mainframe::source::Memory;
use underbar_mainframe::{module, object};

fuzz_target!(|bytes: &[u8]| {
    let (borders, rest) = module::borders(bytes);
    let sum: usize = borders.iter().map(|range| range.len()).sum();
    assert_eq!(sum + rest.len(), bytes.len());
    let mut reader = module::Reader::new(CodePage::US);
    borders.into_iter().for_each(|range| reader.block(&bytes[range]));
    let _ = reader.finish();
    let mut reader = module::Reader::new(CodePage::US);
    bytes.chunks(100).for_each(|block| reader.block(block));
    let _ = reader.finish();
    let mut image = vec![0xC9, 0xC5, 0xE6, 0xD7, 0xD3, 0xD4, 0xC8, 0x40];
    image.extend(bytes);
    if let Ok((object, _)) = object::read(&*Memory::shared(image), CodePage::US) {
        assert!(object.total as usize <= bytes.len() + 8);
    }
});
