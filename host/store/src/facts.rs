//! The facts in a member's bytes: a shared object's functions, segments and entry point.
//!
//! ```text
//! bytes ── ELF, 64-bit, this machine, shared object? ── no ──> a data member
//!      └─ segments: loadable bytes from the front, storage, writable?, thread storage?
//!      └─ functions exported: entry points
//! ```
//!
//! Invariant: untrusted bytes give data members or an error, never a panic.
//! Not here: whether a program can be loaded; the loader's own reading decides that ([`check`]).

use object::Endianness;
use object::elf::{
    EM_X86_64, ET_DYN, ET_EXEC, ET_REL, FileHeader64, PF_W, PT_DYNAMIC, PT_INTERP, PT_LOAD, PT_TLS,
    SHN_UNDEF, SHT_DYNSYM, STB_GLOBAL, STB_GNU_UNIQUE, STB_WEAK, STT_FUNC,
};
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader, Sym};
use underbar_partitioned::attribute::Attributes;
use underbar_partitioned::symbol::Symbol;

use crate::error::{Error, Result};

/// The facts in a member's bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Its kind; empty for data.
    pub attributes: Attributes,
    /// Bytes from the front that are loaded as the program.
    pub loadable: u64,
    /// Bytes of storage.
    pub storage: u64,
    /// Bytes of read-only segments, and of writable ones.
    pub text: u64,
    /// See `text`.
    pub data: u64,
    /// Exported functions with their addresses, in the order of their names.
    pub functions: Vec<(Vec<u8>, u64)>,
}

impl Facts {
    /// The address of an exported function.
    #[must_use]
    pub fn function(&self, name: &[u8]) -> Option<u64> {
        let found = self.functions.binary_search_by(|(found, _)| found.as_slice().cmp(name)).ok()?;
        Some(self.functions[found].1)
    }

    /// Whether it is a program.
    #[must_use]
    pub fn is_program(&self) -> bool {
        self.attributes.has(Attributes::PROGRAM)
    }
}

/// Reads bytes. A file that is not ELF is data; `what` is its name in errors.
///
/// # Errors
/// An ELF file that is not a shared object for this machine, or is broken.
pub fn look(bytes: &[u8], what: &str) -> Result<Facts> {
    if !bytes.starts_with(b"\x7FELF") {
        return Ok(Facts { loadable: bytes.len() as u64, ..Facts::default() });
    }
    read(bytes).map_err(|why| Error::Program { what: what.to_owned(), why: why.into() })
}

/// The remedy for a program that LOAD and exec do not take.
const LINK_SHARED: &str =
    "an executable, which LOAD and exec cannot run: compile it with -fPIC and link it with -shared";

/// Whether this program can be loaded, as far as its bytes show. New members are checked before they are accepted.
///
/// # Errors
/// It cannot be loaded.
pub fn check(bytes: &[u8], what: &str) -> Result<()> {
    underbar_fetch::image::check(bytes).map_err(|error| Error::Program {
        what: what.to_owned(),
        why: match error {
            underbar_fetch::Error::Executable => LINK_SHARED.into(),
            other => other.to_string().into(),
        },
    })
}

type Read<T> = std::result::Result<T, &'static str>;

fn read(bytes: &[u8]) -> Read<Facts> {
    const ORDER: Endianness = Endianness::Little;
    const BROKEN: &str = "the program is cut or broken";
    let header = FileHeader64::<Endianness>::parse(bytes).map_err(|_| "not a 64-bit program")?;
    if header.endian().ok() != Some(ORDER) || header.e_machine(ORDER) != EM_X86_64 {
        return Err("a program of another machine");
    }
    match header.e_type(ORDER) {
        ET_DYN => {}
        ET_EXEC => return Err(LINK_SHARED),
        ET_REL => return Err("an object file that was not linked: link it with -shared"),
        _ => return Err("not a shared object: only those can be loaded"),
    }
    let mut facts = Facts { attributes: Attributes::PROGRAM.with(Attributes::REENTRANT), ..Facts::default() };
    let (mut low, mut high, mut has_dynamic) = (u64::MAX, 0, false);
    for segment in header.program_headers(ORDER, bytes).map_err(|_| BROKEN)? {
        match segment.p_type(ORDER) {
            PT_LOAD => {
                let end = segment.p_offset(ORDER).checked_add(segment.p_filesz(ORDER)).ok_or(BROKEN)?;
                if end > bytes.len() as u64 {
                    return Err(BROKEN);
                }
                facts.loadable = facts.loadable.max(end);
                low = low.min(segment.p_vaddr(ORDER));
                high = high.max(segment.p_vaddr(ORDER).checked_add(segment.p_memsz(ORDER)).ok_or(BROKEN)?);
                let sum = if segment.p_flags(ORDER).contains(PF_W) {
                    facts.attributes = facts.attributes.without(Attributes::REENTRANT);
                    &mut facts.data
                } else {
                    &mut facts.text
                };
                *sum = sum.checked_add(segment.p_memsz(ORDER)).ok_or(BROKEN)?;
            }
            PT_DYNAMIC => has_dynamic = true,
            PT_TLS => facts.attributes = facts.attributes.with(Attributes::THREAD_STORAGE),
            // A program with an interpreter that is a shared object, too: it can be loaded like one.
            PT_INTERP => {}
            _ => {}
        }
    }
    if low > high || !has_dynamic {
        return Err("a program without segments to load");
    }
    facts.storage = high - low;
    facts.functions = functions(header, bytes).ok_or(BROKEN)?;
    if facts.function(b"main").is_some() {
        facts.attributes = facts.attributes.with(Attributes::MAIN);
    }
    Ok(facts)
}

/// Exported functions, by the section of dynamic symbols. None are found in a file without sections.
fn functions(header: &FileHeader64<Endianness>, bytes: &[u8]) -> Option<Vec<(Vec<u8>, u64)>> {
    const ORDER: Endianness = Endianness::Little;
    let sections = header.section_headers(ORDER, bytes).ok()?;
    let mut functions = Vec::new();
    // There is one such section; another would have the same names.
    if let Some(section) = sections.iter().find(|section| section.sh_type(ORDER) == SHT_DYNSYM) {
        let symbols: &[object::elf::Sym64<Endianness>] = section.data_as_array(ORDER, bytes).ok()?;
        let names = sections.get(usize::try_from(section.sh_link(ORDER)).ok()?)?;
        let (from, length) = names.file_range(ORDER)?;
        let end = usize::try_from(from.checked_add(length)?).ok()?;
        let names = bytes.get(usize::try_from(from).ok()?..end).unwrap_or_default();
        for symbol in symbols {
            let is_exported = symbol.st_shndx(ORDER) != SHN_UNDEF
                && matches!(symbol.st_bind(), STB_GLOBAL | STB_WEAK | STB_GNU_UNIQUE)
                && symbol.st_type() == STT_FUNC;
            if let Some(name) =
                Some(symbol.st_name(ORDER)).filter(|_| is_exported).and_then(|at| name(names, at))
            {
                functions.push((name.to_vec(), symbol.st_value(ORDER)));
            }
        }
    }
    functions.sort();
    functions.dedup_by(|one, other| one.0 == other.0);
    Some(functions)
}

/// The name that begins here. An entry has no name longer than the limit, and long names may overlap in the file:
/// so only that many bytes are read.
fn name(names: &[u8], at: u32) -> Option<&[u8]> {
    let rest = names.get(usize::try_from(at).ok()?..)?;
    let rest = &rest[..rest.len().min(Symbol::LONGEST + 1)];
    let length = rest.iter().position(|byte| *byte == 0)?;
    Some(&rest[..length]).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_program_is_data() {
        for bytes in [&b""[..], b"text", b"#!/bin/sh\n"] {
            let facts = look(bytes, "file").expect("data");
            assert!(!facts.is_program() && facts.loadable == bytes.len() as u64);
        }
    }

    /// A program of read-only segments, each with this many bytes of storage, and without sections.
    fn program(storage: &[u64]) -> Vec<u8> {
        let mut bytes = b"\x7FELF\x02\x01\x01".to_vec();
        bytes.resize(16, 0);
        bytes.extend([3, 0, 62, 0, 1, 0, 0, 0]);
        bytes.extend([0, 64, 0].map(u64::to_le_bytes).as_flattened());
        bytes.extend([0, 0, 0, 0, 64, 0, 56, 0]);
        bytes.extend([storage.len() as u16 + 1, 0, 0, 0].map(u16::to_le_bytes).as_flattened());
        bytes.resize(64, 0);
        for (kind, memory) in storage.iter().map(|memory| (PT_LOAD, *memory)).chain([(PT_DYNAMIC, 0)]) {
            bytes.extend([kind.0, 4].map(u32::to_le_bytes).as_flattened());
            bytes.extend([0, 0, 0, 0, memory, 0].map(u64::to_le_bytes).as_flattened());
        }
        bytes
    }

    #[test]
    fn segments_of_more_storage_than_there_is_are_refused() {
        let facts = look(&program(&[100, 23]), "x").expect("a program");
        assert_eq!((facts.text, facts.data, facts.storage), (123, 0, 100));
        assert!(look(&program(&[u64::MAX, 1]), "x").is_err());
    }

    #[test]
    fn names_are_no_longer_than_ours() {
        let names = [&[b'a'; Symbol::LONGEST + 5][..], b"\0b\0\0open"].concat();
        let length = |at: usize| name(&names, at as u32).map(<[u8]>::len);
        assert_eq!([length(0), length(4), length(5)], [None, None, Some(Symbol::LONGEST)]);
        let second = Symbol::LONGEST + 6;
        assert_eq!([length(second), length(second + 2), length(second + 3)], [Some(1), None, None]);
        assert_eq!([length(names.len()), length(names.len() + 1)], [None, None]);
    }

    #[test]
    fn broken_programs_are_refused_without_harm() {
        let mut bytes = std::fs::read(std::env::current_exe().expect("this test")).expect("it can be read");
        bytes.truncate(1 << 16);
        for length in (4..bytes.len()).step_by(509) {
            assert!(
                matches!(look(&bytes[..length], "x"), Err(Error::Program { what, .. }) if what == "x"),
                "{length}"
            );
        }
        for bit in 32..64 * 56 * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            let _ = look(&bytes, "x");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        bytes[18] = 183;
        assert!(look(&bytes, "x").is_err_and(|error| error.to_string() == "x: a program of another machine"));
    }
}
