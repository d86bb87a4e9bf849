//! Any bytes as a program to be loaded: its tables are read, and it is mapped and relocated, but not run. No crash, and
//! nothing left behind.
#![no_main]

use libfuzzer_sys::fuzz_target;
use underbar_fetch::content::MemoryContent;
use underbar_fetch::elf::{Dynamic, FileBytes, Header, Layout, Tables};
use underbar_fetch::image::{self, Image};

fn read(bytes: &[u8]) -> Option<()> {
    let header = Header::read(bytes, bytes.len() as u64).ok()?;
    let at = usize::try_from(header.offset).ok()?;
    let layout = Layout::read(&header, bytes.get(at..at + header.size())?, bytes.len() as u64).ok()?;
    let memory = FileBytes { bytes, layout: &layout };
    let dynamic = Dynamic::read(&layout, &memory).ok()?;
    let tables = Tables::read(&dynamic, &memory).ok()?;
    for number in 0..tables.count().min(200) {
        let symbol = tables.symbol(number)?;
        let _ = (tables.name(number, &symbol), tables.wanted(number, &symbol));
    }
    let _ = (tables.find(b"main", None), tables.find(b"main", Some(b"V1")));
    // What asks functions of the program, or opens libraries by its names, would run what the bytes say.
    let asks = |number: usize, table| {
        underbar_fetch::elf::Relocation::read(table, number)
            .map(|one| one.kind == underbar_fetch::elf::kind::IRELATIVE || one.symbol != 0)
    };
    for table in tables.relocations() {
        let mut number = 0;
        while let Some(is_one) = asks(number, &table) {
            if is_one {
                return None;
            }
            number += 1;
        }
    }
    (dynamic.needed().is_empty() && layout.span() < 1 << 28).then_some(())
}

fuzz_target!(|bytes: &[u8]| {
    if read(bytes).is_none() {
        return;
    }
    if let Ok(image) = image::load(&MemoryContent(bytes), c"fuzzed", b".") {
        // SAFETY: loaded, never begun, and used by nobody.
        unsafe { Image::unload(image, None) };
    }
});
