//! Reads all parts of a program that can be read without loading it: for the tests of damaged programs, and for the fuzzer.
//!
//! Not here: loading.

use underbar_fetch::elf::{Dynamic, FileBytes, Header, Layout, Relocation, Tables, kind};

/// Maximum number of symbols that are read, since tables may claim 2^32.
const MOST_SYMBOLS: u32 = 1000;

/// Reads headers, tables, names and relocations; none if one is refused. Returns whether loading the program runs none of its
/// code and opens no libraries: no resolvers, no symbols of others.
pub fn read(bytes: &[u8]) -> Option<bool> {
    let header = Header::read(bytes, bytes.len() as u64).ok()?;
    let at = usize::try_from(header.offset).ok()?;
    let layout = Layout::read(&header, bytes.get(at..at + header.size())?, bytes.len() as u64).ok()?;
    let memory = FileBytes { bytes, layout: &layout };
    let dynamic = Dynamic::read(&layout, &memory).ok()?;
    let tables = Tables::read(&dynamic, &memory).ok()?;
    for number in 0..tables.count().min(MOST_SYMBOLS) {
        let symbol = tables.symbol(number)?;
        let _ = (tables.name(number, &symbol), tables.wanted(number, &symbol));
    }
    for (name, version) in
        [(&b"tiny"[..], None), (b"main", None), (b"tiny", Some(&b"VERSION_2"[..])), (b"main", Some(b"V1"))]
    {
        let _ = tables.find(name, version);
    }
    let is_quiet = tables.relocations().iter().all(|table| {
        let relocations = (0..).map_while(|number| Relocation::read(table, number));
        relocations.into_iter().all(|one| one.kind != kind::IRELATIVE && one.symbol == 0)
    });
    Some(is_quiet && dynamic.needed().is_empty() && layout.span() < 1 << 28)
}
