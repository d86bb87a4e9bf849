//! What an ELF file brings along that matters to a heap: libraries it asks for, allocation functions of its own.
//!
//! ```text
//! header ──> sections ── .dynamic ──> libraries asked for (NEEDED)
//!                     ├─ .dynsym  ──> functions that others can call: they come before ours
//!                     ├─ .symtab  ──> functions inside; absent from stripped files
//!                     └─ names    ──> .gopclntab: made by Go; .note.underbar: linked with libunderbar.a
//! ```
//!
//! Invariant: bytes that anybody may have written; a wrong file gives None or less, never a panic, and a bounded
//! amount of work. 64-bit little-endian files only.
//! Not here: whether a file can carry the library at all (`preloadable`).

use std::fs::File;

use object::elf::{
    DT_NEEDED, DT_NULL, FileHeader64, SHN_UNDEF, SHT_DYNAMIC, SHT_DYNSYM, SHT_SYMTAB, STT_FUNC,
};
use object::read::elf::{Dyn, FileHeader, SectionHeader, Sym};
use object::read::{ReadCache, ReadRef};
use object::{LittleEndian, elf};

use crate::texts;

/// What a file brings along.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Brought {
    /// Libraries that it asks for itself; those ask for others.
    pub needed: Vec<String>,
    /// Allocation functions that it exports.
    pub exported: Vec<String>,
    /// Allocation functions that are inside and not exported.
    pub inside: Vec<String>,
    /// Has it a symbol table, so that `inside` says something?
    pub has_symbols: bool,
    /// Was it made by Go, whose heap asks the kernel itself?
    pub is_go: bool,
    /// Has it underbar's runtime in itself, by the static library for C?
    pub has_runtime: bool,
}

/// Functions by which an allocator is known: the C family, and those that only jemalloc, tcmalloc, mimalloc and
/// snmalloc have.
const FUNCTIONS: [&str; 12] = [
    "malloc",
    "calloc",
    "realloc",
    "free",
    "mallocx",
    "je_malloc",
    "_rjem_malloc",
    "tc_malloc",
    "mi_malloc",
    "mi_heap_malloc",
    "_Znwm",
    "sn_malloc",
];

/// More sections, libraries and bytes than real programs have, and longer names: a bound on our work. Of each kind of table a program
/// has one, and no other is read.
const MOST_SECTIONS: u32 = 4096;
const MOST_NEEDED: usize = 1024;
const LONGEST_NAME: usize = 4096;
const MOST_BYTES: u64 = 256 << 20;

type Header = FileHeader64<LittleEndian>;
type Section = elf::SectionHeader64<LittleEndian>;

impl Brought {
    /// Reads a file; None where it is no ELF file of this machine's kind, or has no sections.
    #[must_use]
    pub fn of_file(file: &File) -> Option<Brought> {
        Brought::of(&ReadCache::new(file))
    }

    /// The same of its bytes.
    #[must_use]
    pub fn of<'a>(data: impl ReadRef<'a>) -> Option<Brought> {
        let header = Header::parse(data).ok()?;
        let order = header.endian().ok()?;
        if header.shnum(order, data).ok()? > MOST_SECTIONS {
            return None;
        }
        let sections = Some(header.section_headers(order, data).ok()?).filter(|all| !all.is_empty())?;
        let mut brought = Brought::default();
        // .dynsym and .dynamic have one section of texts in common.
        let mut texts: Option<(u32, &[u8])> = None;
        let first = |kind| sections.iter().find(|section| section.sh_type(order) == kind);
        for section in [SHT_DYNAMIC, SHT_DYNSYM, SHT_SYMTAB].into_iter().filter_map(first) {
            let link = section.sh_link(order);
            if texts.is_none_or(|(of, _)| of != link) {
                texts = Some((link, bytes(sections.get(link as usize)?, data)?));
            }
            // A table that is too long is none.
            bytes(section, data)?;
            let (_, texts) = texts?;
            match section.sh_type(order) {
                SHT_DYNAMIC => {
                    brought.needed = needed(section.data_as_array(order, data).ok()?, texts);
                }
                SHT_DYNSYM => brought.exported = functions(section.data_as_array(order, data).ok()?, texts),
                _ => {
                    brought.has_symbols = true;
                    brought.inside = functions(section.data_as_array(order, data).ok()?, texts);
                }
            }
        }
        brought.inside.retain(|name| !brought.exported.contains(name));
        let names =
            header.shstrndx(order, data).ok().and_then(|names| bytes(sections.get(names as usize)?, data));
        let names = names.unwrap_or_default();
        let has =
            |name| sections.iter().any(|section| text(names, section.sh_name(order).into()) == Some(name));
        (brought.is_go, brought.has_runtime) = (has(".gopclntab"), has(".note.underbar"));
        Some(brought)
    }
}

fn bytes<'a>(section: &Section, data: impl ReadRef<'a>) -> Option<&'a [u8]> {
    Some(section).filter(|section| section.sh_size(LittleEndian) <= MOST_BYTES)?.data(LittleEndian, data).ok()
}

/// The libraries of a dynamic table.
fn needed(table: &[elf::Dyn64<LittleEndian>], texts: &[u8]) -> Vec<String> {
    table
        .iter()
        .take_while(|entry| entry.d_tag(LittleEndian) != DT_NULL)
        .filter(|entry| entry.d_tag(LittleEndian) == DT_NEEDED)
        .take(MOST_NEEDED)
        .filter_map(|entry| text(texts, entry.d_val(LittleEndian)).map(str::to_owned))
        .collect()
}

/// Allocation functions that a symbol table defines. Names are compared where they are: a large program has a hundred thousand.
fn functions(table: &[elf::Sym64<LittleEndian>], texts: &[u8]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for symbol in table {
        if symbol.st_shndx(LittleEndian) != SHN_UNDEF
            && symbol.st_type() == STT_FUNC
            && let Some(name) = texts.get(symbol.st_name(LittleEndian) as usize..)
            && let Some(function) = FUNCTIONS.iter().find(|function| is(name, function))
            && !found.iter().any(|known| known == function)
        {
            found.push((*function).to_owned());
        }
    }
    found
}

/// Is this the text at the start of the bytes, ended by a zero byte?
fn is(bytes: &[u8], text: &str) -> bool {
    bytes.strip_prefix(text.as_bytes()).is_some_and(|rest| rest.first() == Some(&0))
}

fn text(texts: &[u8], place: u64) -> Option<&str> {
    std::str::from_utf8(texts::at(texts, place, LONGEST_NAME)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::ops::Range;

    fn own() -> Vec<u8> {
        std::fs::read(std::env::current_exe().expect("a path")).expect("a file")
    }

    #[test]
    fn our_own_file_asks_for_the_c_library_and_brings_no_allocator() {
        let file = File::open(std::env::current_exe().expect("a path")).expect("opened");
        let own = Brought::of_file(&file).expect("an ELF file");
        assert!(own.needed.iter().any(|name| name == "libc.so.6"), "{own:?}");
        assert_eq!((own.exported, own.inside, own.has_symbols, own.is_go), (vec![], vec![], true, false));
    }

    /// Bytes that count how many of them are read.
    struct Counted {
        bytes: Vec<u8>,
        read: Cell<u64>,
    }

    impl<'a> ReadRef<'a> for &'a Counted {
        fn len(self) -> Result<u64, ()> {
            self.bytes.as_slice().len().try_into().map_err(|_| ())
        }

        fn read_bytes_at(self, offset: u64, size: u64) -> Result<&'a [u8], ()> {
            self.read.set(self.read.get() + size);
            self.bytes.as_slice().read_bytes_at(offset, size)
        }

        fn read_bytes_at_until(self, range: Range<u64>, delimiter: u8) -> Result<&'a [u8], ()> {
            self.bytes.as_slice().read_bytes_at_until(range, delimiter)
        }
    }

    /// Each of these would be read whole, with its names.
    #[test]
    fn a_file_of_many_tables_is_read_no_more_often_than_one_of_three() {
        const TABLE: u64 = 48 << 10;
        let mut bytes = vec![0_u8; 64];
        bytes[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
        bytes[40..48].copy_from_slice(&64_u64.to_le_bytes());
        bytes[58..60].copy_from_slice(&64_u16.to_le_bytes());
        bytes[60..62].copy_from_slice(&4096_u16.to_le_bytes());
        for number in 0..4096_u32 {
            let mut section = [0_u8; 64];
            section[4..8].copy_from_slice(&[2_u32, 6, 11][number as usize % 3].to_le_bytes());
            section[32..40].copy_from_slice(&TABLE.to_le_bytes());
            bytes.extend(section);
        }
        let file = Counted { bytes, read: Cell::new(0) };
        assert!(Brought::of(&file).is_some());
        let tables = file.read.get() / TABLE;
        assert!((3..=16).contains(&tables), "{tables} tables were read");
    }

    #[test]
    fn no_bytes_make_it_panic() {
        let bytes = own();
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        for round in 0..200 {
            let mut damaged = bytes[..bytes.len() - round * bytes.len() / 250].to_vec();
            for _ in 0..32 {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                // Half of the damage in the header, where it does most.
                let room = if state & 1 == 0 { 64 } else { damaged.len() };
                let place = usize::try_from(state >> 8).unwrap_or(0) % room;
                damaged[place] = (state >> 3) as u8;
            }
            let _ = Brought::of(damaged.as_slice());
        }
        assert_eq!(Brought::of(&b"#!/bin/sh\n"[..]), None);
    }
}
