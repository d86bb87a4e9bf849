//! What an ELF file brings along that matters to a heap: libraries it asks for, allocation functions of its own.
//!
//! ```text
//! header ──> sections ── .dynamic ──> libraries asked for (NEEDED)
//!                     ├─ .dynsym  ──> functions that others can call: they come before ours
//!                     ├─ .symtab  ──> functions inside; absent from stripped files
//!                     └─ names    ──> .gopclntab: made by Go
//! ```
//!
//! Invariant: bytes that anybody may have written; a wrong file gives None or less, never a panic, and a bounded
//! amount of work. 64-bit little-endian files only.
//! Not here: whether a file can carry the library at all (`runtime::follow::carry`).

use std::cell::Cell;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

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
const MOST_SECTIONS: u64 = 4096;
const MOST_NEEDED: usize = 1024;
const LONGEST_NAME: usize = 4096;
const MOST_BYTES: u64 = 256 << 20;

/// Reads a file; None where it is no ELF file of this machine's kind, or has no sections.
///
/// # Errors
/// Those of opening a file.
pub fn read(path: &Path) -> io::Result<Option<Brought>> {
    Ok(Elf { file: underbar_launch::foreign::open(path)?, bytes_read: Cell::new(0) }.brought())
}

struct Elf {
    file: File,
    /// How much was read of it.
    bytes_read: Cell<u64>,
}

#[derive(Clone, Copy)]
struct Section {
    name: u32,
    kind: u32,
    offset: u64,
    size: u64,
    link: u32,
}

impl Elf {
    fn brought(&self) -> Option<Brought> {
        const SYMBOLS: u32 = 2;
        const DYNAMIC: u32 = 6;
        const DYNAMIC_SYMBOLS: u32 = 11;
        let sections = self.sections()?;
        let mut brought = Brought::default();
        // .dynsym and .dynamic have one section of texts in common.
        let mut texts: Option<(u32, Vec<u8>)> = None;
        let first = |kind| sections.iter().find(|section| section.kind == kind);
        for section in [DYNAMIC, DYNAMIC_SYMBOLS, SYMBOLS].into_iter().filter_map(first) {
            if texts.as_ref().is_none_or(|(of, _)| *of != section.link) {
                texts = Some((section.link, self.bytes(sections.get(section.link as usize)?)?));
            }
            let (table, texts) = (self.bytes(section)?, &texts.as_ref()?.1);
            match section.kind {
                DYNAMIC => brought.needed = needed(&table, texts),
                DYNAMIC_SYMBOLS => brought.exported = functions(&table, texts),
                _ => {
                    brought.has_symbols = true;
                    brought.inside = functions(&table, texts);
                }
            }
        }
        brought.inside.retain(|name| !brought.exported.contains(name));
        brought.is_go = self.has_section(&sections, ".gopclntab");
        Some(brought)
    }

    fn sections(&self) -> Option<Vec<Section>> {
        const ENTRY: u64 = 64;
        let head = self.at(0, 64)?;
        if !head.starts_with(b"\x7fELF\x02\x01") {
            return None;
        }
        let (offset, size, count) = (long(&head, 40)?, short(&head, 58)?, u64::from(short(&head, 60)?));
        if offset == 0 || u64::from(size) != ENTRY || count == 0 || count > MOST_SECTIONS {
            return None;
        }
        let table = self.at(offset, count * ENTRY)?;
        table
            .chunks_exact(64)
            .map(|entry| {
                Some(Section {
                    name: word(entry, 0)?,
                    kind: word(entry, 4)?,
                    offset: long(entry, 24)?,
                    size: long(entry, 32)?,
                    link: word(entry, 40)?,
                })
            })
            .collect()
    }

    fn has_section(&self, sections: &[Section], name: &str) -> bool {
        let place = self.at(62, 2).and_then(|bytes| short(&bytes, 0));
        let names = place.and_then(|place| self.bytes(sections.get(usize::from(place))?)).unwrap_or_default();
        sections.iter().any(|section| text(&names, u64::from(section.name)) == Some(name))
    }

    fn bytes(&self, section: &Section) -> Option<Vec<u8>> {
        self.at(section.offset, section.size)
    }

    fn at(&self, offset: u64, size: u64) -> Option<Vec<u8>> {
        let length = self.file.metadata().ok()?.len();
        if size > MOST_BYTES || offset.checked_add(size)? > length {
            return None;
        }
        let length = usize::try_from(size).ok()?;
        // Little memory is no reason to end: the exit status is the program's.
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(length).ok()?;
        let mut file = &self.file;
        file.seek(SeekFrom::Start(offset)).ok()?;
        file.take(size).read_to_end(&mut bytes).ok().filter(|&read| read == length)?;
        self.bytes_read.set(self.bytes_read.get() + size);
        Some(bytes)
    }
}

/// The libraries of a dynamic table.
fn needed(table: &[u8], texts: &[u8]) -> Vec<String> {
    const NEEDED: u64 = 1;
    let entries = table.chunks_exact(16).map_while(|entry| Some((long(entry, 0)?, long(entry, 8)?)));
    entries
        .take_while(|(tag, _)| *tag != 0)
        .filter(|(tag, _)| *tag == NEEDED)
        .take(MOST_NEEDED)
        .filter_map(|(_, place)| text(texts, place).map(str::to_owned))
        .collect()
}

/// Allocation functions that a symbol table defines. Names are compared where they are: a large program has a hundred thousand.
fn functions(table: &[u8], texts: &[u8]) -> Vec<String> {
    const FUNCTION: u8 = 2;
    let mut found: Vec<String> = Vec::new();
    for symbol in table.chunks_exact(24) {
        let is_defined = short(symbol, 6).is_some_and(|section| section != 0);
        if is_defined
            && symbol[4] & 15 == FUNCTION
            && let Some(name) = word(symbol, 0).and_then(|place| texts.get(place as usize..))
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
    let rest = texts.get(usize::try_from(place).ok()?..)?;
    let rest = &rest[..rest.len().min(LONGEST_NAME)];
    std::str::from_utf8(&rest[..rest.iter().position(|&byte| byte == 0)?]).ok()
}

fn short(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at + 2)?.try_into().ok().map(u16::from_le_bytes)
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes)
}

fn long(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..at + 8)?.try_into().ok().map(u64::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    #[test]
    fn our_own_file_asks_for_the_c_library_and_brings_no_allocator() {
        let own = read(&std::env::current_exe().expect("a path")).expect("opened").expect("an ELF file");
        assert!(own.needed.iter().any(|name| name == "libc.so.6"), "{own:?}");
        assert_eq!((own.exported, own.inside, own.is_go), (vec![], vec![], false));
    }

    #[test]
    fn the_preload_library_exports_what_it_replaces() {
        let path = PathBuf::from(env!("UNDERBAR_PRELOAD_FILE"));
        let library = read(&path).expect("opened").expect("an ELF file");
        for name in ["malloc", "calloc", "realloc", "free"] {
            assert!(library.exported.iter().any(|known| known == name), "{name}: {library:?}");
        }
    }

    /// Each of these would be read whole, with its names.
    #[test]
    fn a_file_of_many_tables_is_read_no_more_often_than_one_of_three() {
        const TABLE: u64 = 64 << 10;
        let path = std::env::temp_dir().join(format!("underbar-elf-many-{}", std::process::id()));
        let mut bytes = vec![0_u8; 64];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        bytes[40..48].copy_from_slice(&64_u64.to_le_bytes());
        bytes[58..60].copy_from_slice(&64_u16.to_le_bytes());
        bytes[60..62].copy_from_slice(&4096_u16.to_le_bytes());
        for number in 0..4096_u32 {
            let mut section = [0_u8; 64];
            section[4..8].copy_from_slice(&[2_u32, 6, 11][number as usize % 3].to_le_bytes());
            section[32..40].copy_from_slice(&TABLE.to_le_bytes());
            bytes.extend(section);
        }
        std::fs::write(&path, bytes).expect("written");
        let elf = Elf { file: File::open(&path).expect("there"), bytes_read: Cell::new(0) };
        assert!(elf.brought().is_some());
        let tables = elf.bytes_read.get() / TABLE;
        assert!(tables <= 12, "{tables} tables were read");
        std::fs::remove_file(path).expect("removed");
    }

    #[test]
    fn no_bytes_make_it_panic() {
        let bytes = std::fs::read(env!("UNDERBAR_PRELOAD_FILE")).expect("a file");
        let path = std::env::temp_dir().join(format!("underbar-elf-{}", std::process::id()));
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
            std::fs::write(&path, damaged).expect("written");
            let _ = read(&path).expect("opened");
        }
        std::fs::write(&path, b"#!/bin/sh\n").expect("written");
        assert_eq!(read(&path).expect("opened"), None);
        std::fs::remove_file(path).expect("removed");
    }
}
