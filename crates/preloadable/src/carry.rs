//! Can a file carry the preload library? Read from its first bytes, as kernel and loader will read it.
//!
//! ```text
//! file ── "#!" ──────────────────────────> Script(interpreter): look there
//!      ── \x7fELF, 64 bit, x86-64 ── PT_INTERP ── ld-linux-x86-64.so.2 ──> Carries
//!      │        │ else: Bits32, OtherMachine │ none: Static,   │ else: OtherLibc
//!      │        │                            │ unless it has the runtime in itself
//!      │                                     PT_DYNAMIC ── needs libasan.so, libefence.so ...: Sanitizer
//!      ── anything else ───────────────────> Carries: /bin/sh or a registered interpreter will run it
//! ```
//!
//! Invariant: safe code over bytes that anybody may have written; a malformed file gets an answer, never a panic.
//! The reader is asked for bytes at an offset because tools such as patchelf move headers to the file's end.
//! Not here: the needed libraries (`needed`), opening files, rights, and the use of the answer (`target`).

use crate::linked;
use crate::needed::{Parts, needs_checker};

/// The reason why a program is not followed: why the preload library is not in it.
///
/// Each variant names the party whose property it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[repr(u8)]
pub enum Reason {
    /// The program: linked statically, so no loader runs that could load anything.
    Static,
    /// The program: takes another user's or group's rights, so its loader ignores the environment.
    SetUid,
    /// The program: has file capabilities, so its loader ignores the environment.
    FileCapabilities,
    /// The program: 32-bit (or x32); the library is 64-bit.
    Bits32,
    /// The program: its loader is not the GNU C library's (musl, for instance).
    OtherLibc,
    /// The program: needs the library of a sanitizer, which serves the heap itself. AddressSanitizer's ends the program if another
    /// library comes before it; those of ThreadSanitizer and LeakSanitizer report false races, or no leaks. Or needs a heap that finds
    /// errors (Electric Fence, DUMA), which would find none.
    Sanitizer,
    /// The program: made for another processor.
    OtherMachine,
    /// The program: may be executed but not read, so nothing is known about it.
    Unreadable,
    /// The program: a malformed ELF file.
    Malformed,
    /// The process that starts it: sees another file system (chroot, mount namespace) or lacks the right to
    /// read the library.
    PreloadNotVisible,
    /// The process that starts it: gave it an environment without the library.
    EnvironmentCleared,
    /// The process that starts it: now runs as another user, or sees another file system, so the new program could not write to
    /// the ledger.
    LedgerOutOfReach,
    /// The process that starts it: its limits (`ulimit -v`, `-d`) leave so little memory that our part would be a large share.
    LittleMemory,
    /// The process that starts it: is subject to a filter of system calls (seccomp) that it installed itself, and that may kill it
    /// for calls that only our library makes.
    Filtered,
    /// The process that starts it: is another `underbar`, with other accounts.
    OtherRun,
    /// The user: asked that children are not followed, or that this program is kept plain.
    NotAsked,
}

impl Reason {
    /// Every reason, in the order of their numbers.
    pub const ALL: [Reason; 16] = [
        Reason::Static,
        Reason::SetUid,
        Reason::FileCapabilities,
        Reason::Bits32,
        Reason::OtherLibc,
        Reason::Sanitizer,
        Reason::OtherMachine,
        Reason::Unreadable,
        Reason::Malformed,
        Reason::PreloadNotVisible,
        Reason::EnvironmentCleared,
        Reason::LedgerOutOfReach,
        Reason::LittleMemory,
        Reason::Filtered,
        Reason::OtherRun,
        Reason::NotAsked,
    ];

    /// A key for JSON, and a short text for people.
    #[must_use]
    pub const fn texts(self) -> (&'static str, &'static str) {
        match self {
            Reason::Static => ("static", "linked statically"),
            Reason::SetUid => ("set_uid", "takes another user's rights"),
            Reason::FileCapabilities => ("file_capabilities", "has file capabilities"),
            Reason::Bits32 => ("bits_32", "a 32-bit program"),
            Reason::OtherLibc => ("other_libc", "not linked with the GNU C library"),
            Reason::Sanitizer => (
                "sanitizer",
                "needs a sanitizer or another library that serves the heap itself to find errors",
            ),
            Reason::OtherMachine => ("other_machine", "made for another processor"),
            Reason::Unreadable => ("unreadable", "may not be read"),
            Reason::Malformed => ("malformed", "not a valid ELF file"),
            Reason::PreloadNotVisible => {
                ("preload_not_visible", "sees another file system, or may not read the library")
            }
            Reason::EnvironmentCleared => {
                ("environment_cleared", "started with an environment without the library")
            }
            Reason::LedgerOutOfReach => {
                ("ledger_out_of_reach", "runs as a user who may not write to the ledger")
            }
            Reason::LittleMemory => ("little_memory", "is limited to little memory"),
            Reason::Filtered => ("filtered", "stands behind a filter of system calls"),
            Reason::OtherRun => ("other_run", "runs under another underbar"),
            Reason::NotAsked => ("not_asked", "was not to be followed"),
        }
    }
}

/// The result for the bytes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "there is no heap to box it in, and it lives for a moment")]
pub enum Look {
    /// The GNU loader will run and load the libraries of LD_PRELOAD.
    Carries,
    /// It cannot carry the library.
    Cannot(Reason),
    /// A script; its interpreter decides.
    Script(Interpreter),
}

/// The path of a script's interpreter, ending with a zero byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interpreter {
    bytes: [u8; LINE + 1],
    length: usize,
}

impl Interpreter {
    /// The path, without its final zero byte.
    #[must_use]
    pub fn path(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }

    /// The path as a C string.
    #[must_use]
    pub fn path_c(&self) -> &core::ffi::CStr {
        core::ffi::CStr::from_bytes_until_nul(&self.bytes).unwrap_or_default()
    }
}

/// The kernel reads this many bytes of a script's first line.
const LINE: usize = 256;

/// Examines a file. `read(offset, buffer)` fills as much of `buffer` as the file has there and returns how much.
pub fn look(mut read: impl FnMut(u64, &mut [u8]) -> usize) -> Look {
    let mut head = [0; LINE];
    let length = read(0, &mut head).min(LINE);
    let head = head.get(..length).unwrap_or_default();
    if head.starts_with(b"#!") {
        script(head)
    } else if head.starts_with(b"\x7fELF") {
        elf(head, read).map_or_else(Look::Cannot, |()| Look::Carries)
    } else {
        Look::Carries
    }
}

/// The interpreter of a script: the text after `#!` and blanks, up to a blank or the end of the line.
fn script(head: &[u8]) -> Look {
    let line = head.get(2..).unwrap_or_default();
    let line = line.split(|&byte| byte == b'\n' || byte == 0).next().unwrap_or_default();
    let is_blank = |byte: &u8| *byte == b' ' || *byte == b'\t';
    let start = line.iter().position(|byte| !is_blank(byte)).unwrap_or(line.len());
    let word = line.get(start..).unwrap_or_default();
    let word = word.split(is_blank).next().unwrap_or_default();
    let mut interpreter = Interpreter { bytes: [0; LINE + 1], length: word.len() };
    if let Some(place) = interpreter.bytes.get_mut(..word.len()) {
        place.copy_from_slice(word);
    }
    Look::Script(interpreter)
}

/// Does an ELF file ask for the GNU loader?
fn elf(head: &[u8], mut read: impl FnMut(u64, &mut [u8]) -> usize) -> Result<(), Reason> {
    const BITS_64: u8 = 2;
    const LITTLE_ENDIAN: u8 = 1;
    const X86_64: u16 = 62;
    const I386: u16 = 3;
    const EXECUTABLE: u16 = 2;
    const SHARED: u16 = 3; // position-independent programs too
    const ENTRY: usize = 56;
    const AT_ONCE: usize = 16; // a system call for each would be a dozen
    const LOAD: u32 = 1;
    const DYNAMIC: u32 = 2;
    const LOADER: u32 = 3; // PT_INTERP
    const NOTE: u32 = 4;
    const MOST_NOTES: usize = 4; // linkers make one for each alignment
    /// More program headers than any real program has; limits our work.
    const MOST_ENTRIES: u16 = 256;

    let class = *head.get(4).ok_or(Reason::Malformed)?;
    if *head.get(5).ok_or(Reason::Malformed)? != LITTLE_ENDIAN {
        return Err(Reason::OtherMachine);
    }
    let machine = u16_at(head, 18)?;
    match (machine, class) {
        (X86_64, BITS_64) => {}
        (X86_64 | I386, _) => return Err(Reason::Bits32),
        _ => return Err(Reason::OtherMachine),
    }
    let kind = u16_at(head, 16)?;
    let (table, entry_size, entries) = (u64_at(head, 32)?, u16_at(head, 54)?, u16_at(head, 56)?);
    if !matches!(kind, EXECUTABLE | SHARED)
        || usize::from(entry_size) != ENTRY
        || entries == 0
        || entries > MOST_ENTRIES
    {
        return Err(Reason::Malformed);
    }
    let (mut interpreter, mut dynamic, mut parts) = (None, None, Parts::NONE);
    let (mut notes, mut found) = ([(0, 0); MOST_NOTES], 0);
    let mut at = table;
    let mut left = usize::from(entries);
    while left > 0 {
        let mut room = [0; AT_ONCE * ENTRY];
        let some = room.get_mut(..left.min(AT_ONCE) * ENTRY).ok_or(Reason::Malformed)?;
        if read(at, some) != some.len() {
            return Err(Reason::Malformed);
        }
        for entry in some.chunks_exact(ENTRY) {
            let (offset, address, length) = (u64_at(entry, 8)?, u64_at(entry, 16)?, u64_at(entry, 32)?);
            match u32_at(entry, 0)? {
                LOADER => interpreter = interpreter.or(Some((offset, length))),
                DYNAMIC => dynamic = Some((offset, length)),
                LOAD => parts.add(address, offset, length),
                NOTE => {
                    if let Some(note) = notes.get_mut(found) {
                        *note = (offset, length);
                        found += 1;
                    }
                }
                _ => {}
            }
        }
        at = at.checked_add(some.len() as u64).ok_or(Reason::Malformed)?;
        left = left.saturating_sub(AT_ONCE);
    }
    let Some((offset, length)) = interpreter else {
        let has_runtime = notes.iter().any(|&(offset, length)| is_note_of_runtime(offset, length, &mut read));
        return if has_runtime { Ok(()) } else { Err(Reason::Static) };
    };
    loader(offset, length, &mut read)?;
    match dynamic {
        Some((offset, length)) if needs_checker(offset, length, &parts, &mut read) => Err(Reason::Sanitizer),
        _ => Ok(()),
    }
}

/// Is there, in these notes, that of a program that needs no library to be served?
fn is_note_of_runtime(offset: u64, length: u64, read: &mut impl FnMut(u64, &mut [u8]) -> usize) -> bool {
    let mut room = [0; 512];
    let length = usize::try_from(length).unwrap_or(usize::MAX).min(room.len());
    let Some(place) = room.get_mut(..length) else { return false };
    length > 0 && read(offset, place) == length && linked::is_in(place)
}

/// Is the loader, whose path is at `offset` with `length` bytes, that of the GNU C library?
///
/// Only its name matters: some distributions keep it in a folder other than /lib64.
fn loader(offset: u64, length: u64, read: &mut impl FnMut(u64, &mut [u8]) -> usize) -> Result<(), Reason> {
    let mut path = [0; 256];
    let length = usize::try_from(length).unwrap_or(usize::MAX).min(path.len());
    let place = path.get_mut(..length).ok_or(Reason::Malformed)?;
    if length == 0 || read(offset, place) != length {
        return Err(Reason::Malformed);
    }
    let path = place.split(|&byte| byte == 0).next().unwrap_or_default();
    let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    if name == b"ld-linux-x86-64.so.2" { Ok(()) } else { Err(Reason::OtherLibc) }
}

fn u16_at(bytes: &[u8], at: usize) -> Result<u16, Reason> {
    let field = bytes.get(at..at + 2).and_then(|field| field.try_into().ok());
    field.map(u16::from_le_bytes).ok_or(Reason::Malformed)
}

fn u32_at(bytes: &[u8], at: usize) -> Result<u32, Reason> {
    let field = bytes.get(at..at + 4).and_then(|field| field.try_into().ok());
    field.map(u32::from_le_bytes).ok_or(Reason::Malformed)
}

fn u64_at(bytes: &[u8], at: usize) -> Result<u64, Reason> {
    let field = bytes.get(at..at + 8).and_then(|field| field.try_into().ok());
    field.map(u64::from_le_bytes).ok_or(Reason::Malformed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    fn check(file: &[u8], expect: Look) {
        assert_eq!(look_at(file), expect, "{file:02x?}");
    }

    fn look_at(file: &[u8]) -> Look {
        look(|offset, buffer| {
            let rest = file.get(usize::try_from(offset).unwrap_or(usize::MAX)..).unwrap_or_default();
            let length = rest.len().min(buffer.len());
            buffer[..length].copy_from_slice(&rest[..length]);
            length
        })
    }

    /// A program with one header before PT_INTERP, the table at `table`.
    fn program(class: u8, machine: u16, loader: Option<&[u8]>, table: usize) -> Vec<u8> {
        let mut file = std::vec![0; table + 2 * 56];
        file[..4].copy_from_slice(b"\x7fELF");
        (file[4], file[5]) = (class, 1);
        file[16..18].copy_from_slice(&3u16.to_le_bytes());
        file[18..20].copy_from_slice(&machine.to_le_bytes());
        file[32..40].copy_from_slice(&(table as u64).to_le_bytes());
        file[54..56].copy_from_slice(&56u16.to_le_bytes());
        file[56..58].copy_from_slice(&2u16.to_le_bytes());
        if let Some(path) = loader {
            let entry = table + 56;
            let at = file.len() as u64;
            file[entry] = 3;
            file[entry + 8..entry + 16].copy_from_slice(&at.to_le_bytes());
            file[entry + 32..entry + 40].copy_from_slice(&(path.len() as u64).to_le_bytes());
            file.extend_from_slice(path);
        }
        file
    }

    const GNU: &[u8] = b"/lib64/ld-linux-x86-64.so.2\0";

    #[test]
    fn programs_of_the_gnu_c_library_carry() {
        check(&program(2, 62, Some(GNU), 64), Look::Carries);
        check(
            &program(2, 62, Some(b"/gnu/store/x-glibc-2.39/lib/ld-linux-x86-64.so.2\0"), 64),
            Look::Carries,
        );
        check(&program(2, 62, Some(GNU), 100_000), Look::Carries);
        let own = std::fs::read("/proc/self/exe").expect("our own file");
        check(&own, Look::Carries);
    }

    #[test]
    fn a_program_without_a_loader_carries_what_it_has_in_itself() {
        let mut file = program(2, 62, None, 64);
        check(&file, Look::Cannot(Reason::Static));
        let (at, entry) = (file.len() as u64, 64 + 56);
        file[entry] = 4;
        file[entry + 8..entry + 16].copy_from_slice(&at.to_le_bytes());
        file[entry + 32..entry + 40].copy_from_slice(&28_u64.to_le_bytes());
        let note = [
            &9_u32.to_le_bytes()[..],
            &4_u32.to_le_bytes(),
            &1_u32.to_le_bytes(),
            b"underbar\0\0\0\0\x01\0\0\0",
        ];
        file.extend(note.concat());
        check(&file, Look::Carries);
        file.pop();
        check(&file, Look::Cannot(Reason::Static));
    }

    #[test]
    fn what_cannot_carry_says_why() {
        let cannot = |file: &[u8], reason| check(file, Look::Cannot(reason));
        cannot(&program(2, 62, None, 64), Reason::Static);
        cannot(&program(1, 3, Some(b"/lib/ld-linux.so.2\0"), 64), Reason::Bits32);
        cannot(&program(1, 62, Some(b"/libx32/ld-linux-x32.so.2\0"), 64), Reason::Bits32);
        cannot(&program(2, 62, Some(b"/lib/ld-musl-x86_64.so.1\0"), 64), Reason::OtherLibc);
        cannot(&program(2, 62, Some(b"/system/bin/linker64\0"), 64), Reason::OtherLibc);
        cannot(&program(2, 183, Some(b"/lib/ld-linux-aarch64.so.1\0"), 64), Reason::OtherMachine);
    }

    #[test]
    fn a_script_names_its_interpreter() {
        let interpreter = |file: &[u8]| match look_at(file) {
            Look::Script(found) => {
                assert_eq!(found.path(), found.path_c().to_bytes());
                std::string::String::from_utf8(found.path().to_vec()).expect("text")
            }
            other => panic!("{other:?}"),
        };
        assert_eq!(interpreter(b"#!/bin/sh\necho"), "/bin/sh");
        assert_eq!(interpreter(b"#! \t/usr/bin/env python3\n"), "/usr/bin/env");
        assert_eq!(interpreter(b"#!/bin/sh"), "/bin/sh");
        assert_eq!(interpreter(b"#!\n"), "");
        let long = [b"#!/".as_slice(), &[b'x'; 500]].concat();
        assert_eq!(interpreter(&long).len(), LINE - 2);
    }

    #[test]
    fn other_files_are_left_to_whoever_interprets_them() {
        check(b"", Look::Carries);
        check(b"echo hello\n", Look::Carries);
    }

    #[test]
    fn cut_and_spoiled_files_give_an_answer() {
        let whole = program(2, 62, Some(GNU), 64);
        for length in 4..whole.len() {
            assert_ne!(look_at(&whole[..length]), Look::Carries, "cut to {length}");
        }
        for place in 4..whole.len() {
            for value in [0, 1, 0x7f, 0xff] {
                let mut spoiled = whole.clone();
                spoiled[place] = value;
                look_at(&spoiled);
            }
        }
    }

    #[test]
    fn reasons_are_numbered_in_order_and_named_once() {
        for (number, reason) in Reason::ALL.into_iter().enumerate() {
            assert_eq!(reason as usize, number);
            let same = Reason::ALL.iter().filter(|other| other.texts().0 == reason.texts().0);
            assert_eq!(same.count(), 1);
        }
    }
}
