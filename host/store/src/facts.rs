//! The facts in a member's bytes: those of a shared object, or its length as data.
//!
//! Invariant: untrusted bytes give data members or an error, never a panic.
//! Not here: the reader of shared objects (`host/symbols`); whether a program can be loaded; the loader's own reading decides that ([`check`]).

use underbar_partitioned::attribute::Attributes;
use underbar_partitioned::symbol::Symbol;
use underbar_symbols::shared_object::{Refused, SharedObject};

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

fn read(bytes: &[u8]) -> std::result::Result<Facts, &'static str> {
    let found = SharedObject::of(bytes, Symbol::LONGEST).map_err(reason)?;
    let SharedObject { loadable, storage, text, data, functions, .. } = found;
    let mut facts = Facts { attributes: Attributes::PROGRAM, loadable, storage, text, data, functions };
    let attributes = [
        (Attributes::REENTRANT, !found.is_written),
        (Attributes::THREAD_STORAGE, found.has_thread_storage),
        (Attributes::MAIN, facts.function(b"main").is_some()),
    ];
    for (attribute, _) in attributes.into_iter().filter(|(_, has)| *has) {
        facts.attributes = facts.attributes.with(attribute);
    }
    Ok(facts)
}

fn reason(refused: Refused) -> &'static str {
    match refused {
        Refused::NotElf64 => "not a 64-bit program",
        Refused::OtherMachine => "a program of another machine",
        Refused::Executable => LINK_SHARED,
        Refused::NotLinked => "an object file that was not linked: link it with -shared",
        Refused::NotShared => "not a shared object: only those can be loaded",
        Refused::Broken => "the program is cut or broken",
        Refused::NothingToLoad => "a program without segments to load",
    }
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

    const PT_LOAD: u32 = 1;
    const PT_DYNAMIC: u32 = 2;

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
            bytes.extend([kind, 4].map(u32::to_le_bytes).as_flattened());
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
