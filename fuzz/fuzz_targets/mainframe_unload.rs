//! Any bytes after COPYR1 and COPYR2 as an unload whose records were joined, and as blocks of spanned records.
#![no_main]

use libfuzzer_sys::fuzz_target;
use underbar_mainframe::ebcdic::CodePage;
use underbar_mainframe::source::Memory;
use underbar_mainframe::{spanned, unload};

fuzz_target!(|bytes: &[u8]| {
    let source = Memory::shared(bytes.to_vec());
    let (blocks, _) = spanned::blocks(&source);
    let (records, _) = spanned::records(&blocks);
    (0..records.count()).for_each(|index| drop(records.read(index).unwrap()));
    let _ = unload::read(&records, CodePage::US);
    // COPYR1 of a PDS or, by the first byte, a PDSE; then COPYR2 with one extent of two cylinders.
    let mut file =
        vec![bytes.first().map_or(0, |byte| byte & 0x11), 0xCA, 0x6D, 0x0F, 2, 0, 0x18, 0, 0, 0, 0xC0];
    file.resize(26, 0);
    file.extend([0, 15, 0xE5, 0xA2]);
    file.resize(52, 0);
    file.push(1);
    file.resize(68 + 10, 0);
    file.extend([0, 1, 0, 14, 0, 30]);
    file.resize(52 + 276, 0);
    file.extend(bytes);
    let source = Memory::shared(file);
    let found = unload::read(&unload::glued(&source).unwrap(), CodePage::US).unwrap();
    for member in &found.library.members {
        found.library.read_member(member).for_each(|block| drop(block.unwrap()));
    }
});
