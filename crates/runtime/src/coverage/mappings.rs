//! The kernel's list of this process's private mappings, read line by line without storage of its own.
//!
//! ```text
//! /proc/self/maps      a line for each mapping                      microseconds
//! /proc/self/smaps     and what of it is anonymous, by page tables  some ten nanoseconds for each resident page
//! ```
//!
//! Invariant: the callback gets each private mapping once, in the order of addresses.
//! Not here: the contents of the mappings (the parent module).

use core::ffi::{CStr, c_int};

use underbar_sys::syscall;

use crate::ledger::own_reads;

/// A private mapping of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mapping {
    pub start: usize,
    pub end: usize,
    pub kind: Kind,
}

/// What a mapping is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Anonymous memory, whatever its access rights are now.
    Anonymous,
    /// Long anonymous memory without access rights: as a rule address space for later use, and no memory.
    Reserved,
    /// The segment that `brk` grows.
    Brk,
    /// The first thread's stack.
    Stack,
    /// Writable bytes of a file.
    FileWritable,
    /// Read-only bytes of a file: constants, which the loader may have relocated before it locked them.
    FileReadable,
    /// Code of a file.
    FileCode,
}

/// Which list.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum List {
    /// Only the addresses of the mappings.
    Short,
    /// And how much of each mapping is anonymous and resident.
    Long,
}

/// Minimum length of a line of the short list, as in `00400000-00401000 r--p 00000000 00:00 0`.
const LEAST_LINE: usize = 39;
/// This many bytes without rights are a reserve.
const LONG_RESERVE: usize = 64 << 20;
/// Minimum number of digits of an address in the kernel's list.
const LEAST_DIGITS: usize = 8;

/// Reads the private mappings of this process, one by one, and the anonymous resident bytes of each if the list has them.
/// False if the kernel does not show the list.
pub(super) fn each_mapping(list: List, then: &mut dyn FnMut(&Mapping, Option<u64>)) -> bool {
    let (path, least): (&CStr, usize) = match list {
        List::Short => (c"/proc/self/maps", LEAST_LINE),
        List::Long => (c"/proc/self/smaps", 0),
    };
    let Ok(fd) = syscall::open(path, syscall::O_RDONLY | syscall::O_CLOEXEC, 0) else {
        return false;
    };
    let mut text = [0_u8; 2048];
    let mut filled = 0;
    // The mapping whose figures follow.
    let mut last = None;
    while let Some(rest) = text.get_mut(filled..)
        && let Ok(read) = own_reads::read(fd, rest)
        && read > 0
    {
        filled += read;
        let mut done = 0;
        while let Some(more) = text[..filled].get(done + least..).and_then(line_in) {
            let length = least + more;
            let line = &text[done..done + length];
            match (list, line.strip_prefix(b"Anonymous:")) {
                (List::Short, _) => mapping(line).iter().for_each(|mapping| then(mapping, None)),
                (List::Long, Some(kibibytes)) => {
                    if let Some(mapping) = last.take() {
                        then(&mapping, Some(super::decimal(kibibytes) * 1024));
                    }
                }
                // Its other figures begin with a capital letter.
                (List::Long, None) if line.first().is_some_and(|first| !first.is_ascii_uppercase()) => {
                    last = mapping(line);
                }
                (List::Long, None) => {}
            }
            done += length + 1;
        }
        if done == 0 && filled == text.len() {
            // A line that fills the whole buffer is that of a file with a long path: the rest of it is not needed.
            done = filled;
        }
        text.copy_within(done..filled, 0);
        filled -= done;
    }
    let _ = syscall::close(fd);
    true
}

/// The mapping that contains an address: where it begins, and before that where the anonymous mapping begins that ends there; if there
/// is none, both are the same. None if the kernel does not show it.
pub(crate) fn mapping_around(address: usize) -> Option<(usize, usize)> {
    let (mut found, mut last) = (None, None::<Mapping>);
    each_mapping(List::Short, &mut |mapping, _| {
        if (mapping.start..mapping.end).contains(&address) {
            let below = last.filter(|below| {
                below.end == mapping.start && matches!(below.kind, Kind::Anonymous | Kind::Reserved)
            });
            found = Some((below.map_or(mapping.start, |below| below.start), mapping.start));
        }
        last = Some(*mapping);
    });
    found
}

unsafe extern "C" {
    fn memchr(text: *const u8, wanted: c_int, length: usize) -> *const u8;
}

/// Bytes before the first end of a line. Uses the C library, which compares many bytes at a time: a process has hundreds of
/// mappings, and their lines are long.
fn line_in(text: &[u8]) -> Option<usize> {
    // SAFETY: that many bytes can be read there.
    let end = unsafe { memchr(text.as_ptr(), c_int::from(b'\n'), text.len()) };
    (!end.is_null()).then(|| end.addr() - text.as_ptr().addr())
}

/// A line of the list: `7f00a000-7f00b000 rw-p 00000000 00:00 0   [stack]`. None for a shared mapping: none of its pages is
/// anonymous memory of this process, and its resident pages are so for every process that shares it.
fn mapping(line: &[u8]) -> Option<Mapping> {
    let hyphen = LEAST_DIGITS + place_of(b'-', line.get(LEAST_DIGITS..)?)?;
    // Both addresses have as many digits, as a rule.
    let usual = 2 * hyphen + 1;
    let blank =
        if line.get(usual) == Some(&b' ') { usual } else { hyphen + place_of(b' ', &line[hyphen..])? };
    let rights = line.get(blank + 1..blank + 5)?;
    if rights[3] != b'p' {
        return None;
    }
    let (start, end) = (address(&line[..hyphen])?, address(&line[hyphen + 1..blank])?);
    // After the rights: offset, device, file, name.
    let mut fields = line.get(blank + 6..)?.splitn(4, |&byte| byte == b' ');
    let has_file = fields.nth(2)? != b"0";
    let name = fields.next().unwrap_or_default().trim_ascii_start();
    let kind = match (has_file, rights[1], rights[2]) {
        (true, b'w', _) => Kind::FileWritable,
        (true, _, b'x') => Kind::FileCode,
        (true, ..) => Kind::FileReadable,
        _ if name == b"[heap]" => Kind::Brk,
        _ if name.starts_with(b"[stack") => Kind::Stack,
        // The kernel's own pages; vsyscall is at an address where no process has anything.
        _ if name.starts_with(b"[v") => return None,
        _ if &rights[..3] == b"---" && end.saturating_sub(start) >= LONG_RESERVE => Kind::Reserved,
        _ => Kind::Anonymous,
    };
    Some(Mapping { start, end, kind })
}

fn place_of(wanted: u8, text: &[u8]) -> Option<usize> {
    text.iter().position(|&byte| byte == wanted)
}

/// An address as the kernel writes it, in lower-case hexadecimal digits.
fn address(digits: &[u8]) -> Option<usize> {
    digits.iter().try_fold(0, |address, &byte| {
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'f' => byte - b'a' + 10,
            _ => return None,
        };
        Some(address << 4 | usize::from(digit))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn a_line_of_the_list_is_read() {
        let check = |line: &str, expect: Option<(usize, usize, Kind)>| {
            let expect = expect.map(|(start, end, kind)| Mapping { start, end, kind });
            assert_eq!(mapping(line.as_bytes()), expect, "{line}");
        };
        let low = |kind| Some((0x40_0000, 0x40_1000, kind));
        check("7f00a000-7f00b000 rw-p 00000000 00:00 0 ", Some((0x7f00_a000, 0x7f00_b000, Kind::Anonymous)));
        check("00400000-00401000 ---p 00000000 00:00 0", low(Kind::Anonymous));
        let reserve = Some((0x7f_0000_0000, 0x7f_0400_0000, Kind::Reserved));
        check("7f00000000-7f04000000 ---p 00000000 00:00 0", reserve);
        check("00400000-00401000 rw-p 00000000 00:00 0     [heap]", low(Kind::Brk));
        check("00400000-00401000 rw-p 00000000 00:00 0     [stack]", low(Kind::Stack));
        check("00400000-00401000 rw-p 00000000 00:00 0     [anon:arena]", low(Kind::Anonymous));
        check("00400000-00401000 r-xp 00000000 00:00 0     [vdso]", None);
        check("00400000-00401000 -w-p 00001000 fe:00 42   /usr/x.so", low(Kind::FileWritable));
        check("00400000-00401000 r--p 00001000 fe:00 42   /usr/x.so", low(Kind::FileReadable));
        check("00400000-00401000 r-xp 00001000 fe:00 42   /usr/x.so", low(Kind::FileCode));
        check("7f3a00001000-7f3a00002000 rw-s 00001000 fe:00 42       /a b", None);
        // One of them has a digit more than the other.
        let far = Some((0xf_ffff_0000, 0x10_0000_1000, Kind::Anonymous));
        check("fffff0000-1000001000 rw-p 00000000 00:00 0 ", far);
        check("7f000000-7f010000-7f020000 rw-p 00000000 00:00 0 ", None);
        check("7F000000-7F010000 rw-p 00000000 00:00 0 ", None);
        check("7f000000 rw-p 00000000 00:00 0 ", None);
        check("7f000000-7f100000 rw-p", None);
        check("-7f100000 rw-p 00000000 00:00 0 ", None);
        check("what is this", None);
    }

    #[test]
    fn lines_end_where_they_end() {
        for length in 0..40 {
            let mut text = [b'\n' + 1, 0x8a, 0xff, 0, b'\n' - 1, 1, 0x80].repeat(6);
            text.truncate(length);
            assert_eq!(line_in(&text), None);
            text.extend(b"\nx\n");
            assert_eq!(line_in(&text), Some(length));
        }
    }

    #[test]
    fn every_mapping_is_seen_once() {
        let listed = || -> Vec<usize> {
            let lines = std::fs::read_to_string("/proc/self/maps").expect("maps");
            lines.lines().filter_map(|line| mapping(line.as_bytes())).map(|found| found.start).collect()
        };
        // Other tests map and unmap meanwhile, and that joins and splits other mappings: without such interference the two
        // agree.
        for list in [List::Short, List::Long] {
            let starts = (0..1000).find_map(|_| {
                let (before, mut starts) = (listed(), Vec::new());
                assert!(each_mapping(list, &mut |mapping, anonymous| {
                    assert_eq!(anonymous.is_some(), list == List::Long);
                    starts.push(mapping.start);
                }));
                (starts == before).then_some(starts)
            });
            let starts = starts.expect("the list of the kernel, once");
            assert!(starts.len() > 5);
            assert!(starts.is_sorted());
        }
    }
}
