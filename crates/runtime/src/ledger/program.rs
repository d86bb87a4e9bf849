//! The program that this process runs, as its slot shows it and as sections of an options text name it.
//!
//! ```text
//! /proc/self/exe ──> path (up to 4,095 bytes) ─┬─> the path, or its last part if it is too long; its own name is whole
//!                                              └─> a number for the whole path, by which long paths are told apart
//! AT_EXECFN      ──> another name of the same file, as by a link: redis-server for redis-check-rdb
//! ```
//!
//! Invariant: determined once, at the start, while there is room on the stack; children by fork run the same program and
//! reuse the result. The program's own name is never cut: a file's name has at most 255 bytes.
//! Not here: the meaning of sections (`options` crate), the arguments (`arguments`).

use core::ffi::{CStr, c_char};
use core::sync::atomic::{AtomicU64, Ordering};

use underbar_ledger::Slot;
use underbar_ledger::text::Text;
use underbar_sys::file;

/// The kernel's longest path, with its zero.
const LONGEST: usize = 4096;
/// The room for a path as most are: the longest would be a page of each process's stack.
const USUAL: usize = 512;
/// The room in a slot.
const ROOM: usize = 256;

/// The path as the slot shows it, the number of the whole path, and the name used at the start if it is a different one.
/// Written once, by the first thread while there is no other; read by children.
static PATH: Text<{ ROOM / 8 }> = Text([const { AtomicU64::new(0) }; ROOM / 8]);
static WHOLE: AtomicU64 = AtomicU64::new(0);
static STARTED_AS: Text<{ ROOM / 8 }> = Text([const { AtomicU64::new(0) }; ROOM / 8]);

/// Determines these, and passes on the file's own name and the name used at the start. Each is empty if it is not known,
/// the latter also if it is the same.
pub fn find_out<R>(then: impl FnOnce(&[u8], &[u8]) -> R) -> R {
    let mut room = [0_u8; USUAL];
    match file::readlink(c"/proc/self/exe", &mut room) {
        Ok(path) if path.len() < USUAL => note(path, then),
        _ => find_out_long(then),
    }
}

/// With room for any path.
#[cold]
#[inline(never)]
fn find_out_long<R>(then: impl FnOnce(&[u8], &[u8]) -> R) -> R {
    let mut room = [0_u8; LONGEST];
    note(file::readlink(c"/proc/self/exe", &mut room).unwrap_or_default(), then)
}

#[inline(never)]
fn note<R>(path: &[u8], then: impl FnOnce(&[u8], &[u8]) -> R) -> R {
    let name = last_part(path);
    let started_as = name_of_start(name);
    PATH.store(shown(path));
    WHOLE.store(number(path), Ordering::Relaxed);
    STARTED_AS.store(started_as);
    then(name, started_as)
}

/// The path that the kernel was given for this program: a C string at the very top of the first stack, or null.
pub(crate) fn path_of_start() -> *const c_char {
    unsafe extern "C" {
        safe fn getauxval(kind: u64) -> u64;
    }
    const AT_EXECFN: u64 = 31;
    getauxval(AT_EXECFN) as *const c_char
}

/// Writes it to this process's slot.
pub fn fill_in(slot: &Slot) {
    slot.program.copy(&PATH);
    slot.program_number.store(WHOLE.load(Ordering::Relaxed), Ordering::Relaxed);
    slot.started_as.copy(&STARTED_AS);
}

/// The name that the kernel was given for this program, if it is another name of the same file. For a script this is the
/// script's name, which is another file.
fn name_of_start(own: &[u8]) -> &'static [u8] {
    let path = path_of_start();
    if path.is_null() {
        return b"";
    }
    // SAFETY: a C string that the kernel put above the stack; it stays for as long as the process runs this program.
    let path = unsafe { CStr::from_ptr(path) };
    let name = last_part(path.to_bytes());
    // An executed descriptor has a number for a name, and a program that starts itself anew is `exe`.
    let is_no_name = [&b"/dev/fd/"[..], b"/proc/"].iter().any(|folder| path.to_bytes().starts_with(folder));
    if name == own || name.len() > ROOM || is_no_name {
        return b"";
    }
    match (file::stat(path), file::stat(c"/proc/self/exe")) {
        (Ok(named), Ok(own)) if (named.device, named.inode) == (own.device, own.inode) => name,
        _ => b"",
    }
}

fn last_part(path: &[u8]) -> &[u8] {
    path.rsplit(|&byte| byte == b'/').next().unwrap_or_default()
}

/// The path, or as many of its last parts as fit. A path that was cut does not begin with a slash.
fn shown(path: &[u8]) -> &[u8] {
    let Some(cut) = path.len().checked_sub(ROOM).filter(|&cut| cut > 0) else { return path };
    let end = path.get(cut..).unwrap_or_default();
    let begin = end.iter().position(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
    end.get(begin..).unwrap_or_default()
}

/// FNV-1a of the whole path.
fn number(path: &[u8]) -> u64 {
    path.iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn a_long_path_keeps_its_own_name_and_has_a_number_of_its_own() {
        let path = |top: &str, name: &str| -> Vec<u8> {
            std::format!("/{top}/{}/{name}", "folder/".repeat(60)).into_bytes()
        };
        let (one, other) = (path("one", "cc1plus"), path("two", "cc1plus"));
        assert_eq!(shown(&one), shown(&other));
        assert!(shown(&one).starts_with(b"folder/") && shown(&one).ends_with(b"/cc1plus"));
        assert!(shown(&one).len() <= ROOM);
        assert_ne!(number(&one), number(&other));
        let longest = "n".repeat(255);
        let name = path("one", &longest);
        assert_eq!(shown(&name), longest.as_bytes());
        assert_eq!((shown(b"/bin/true"), shown(&[b'/'; ROOM])), (&b"/bin/true"[..], &[b'/'; ROOM][..]));
        assert_eq!((shown(b""), last_part(b"/bin/true"), last_part(b"")), (&b""[..], &b"true"[..], &b""[..]));
    }

    #[test]
    fn this_program_is_known_by_its_file() {
        let path = std::env::current_exe().expect("a path");
        find_out(|name, started_as| {
            assert_eq!(Some(name), path.file_name().map(|name| name.as_encoded_bytes()));
            assert_eq!(started_as, b"", "cargo starts it by its own name");
        });
    }
}
