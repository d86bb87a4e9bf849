//! The kernel's list of this process's mappings, read line by line without storage of its own.
//!
//! Invariant: whoever is told of a mapping is told of each that can be written once, in the order of addresses.
//! Not here: what is in them (the parent module).

use core::ffi::c_int;

use underbar_sys::syscall;

use crate::own;

/// One mapping of the process that can be written.
pub(super) struct Mapping<'a> {
    pub start: usize,
    pub end: usize,
    pub has_file: bool,
    pub name: &'a [u8],
}

/// Digits of an address in the kernel's list, at the least.
const LEAST_DIGITS: usize = 8;
/// Bytes of a line there, at the least: as in `00400000-00401000 r--p 00000000 00:00 0`.
const LEAST_LINE: usize = 39;

/// Reads the mappings of this process that can be written, one by one; false where the kernel does not show them.
pub(super) fn each_mapping(then: &mut dyn FnMut(&Mapping<'_>)) -> bool {
    let Ok(fd) = syscall::open(c"/proc/self/maps", syscall::O_RDONLY | syscall::O_CLOEXEC, 0) else {
        return false;
    };
    let mut text = [0_u8; 1024];
    let mut filled = 0;
    while let Some(rest) = text.get_mut(filled..)
        && let Ok(read) = own::read(fd, rest)
        && read > 0
    {
        filled += read;
        let mut done = 0;
        while let Some(more) = text[..filled].get(done + LEAST_LINE..).and_then(line_in) {
            let length = LEAST_LINE + more;
            if let Some(mapping) = mapping(&text[done..done + length]) {
                then(&mapping);
            }
            done += length + 1;
        }
        if done == 0 && filled == text.len() {
            // A line as long as all this is that of a file with a long path: what is in it is not needed.
            done = filled;
        }
        text.copy_within(done..filled, 0);
        filled -= done;
    }
    let _ = syscall::close(fd);
    true
}

unsafe extern "C" {
    fn memchr(text: *const u8, wanted: c_int, length: usize) -> *const u8;
}

/// Bytes before the first end of a line. By the C library, which looks at many at a time: a process has hundreds of mappings,
/// and their lines are long.
fn line_in(text: &[u8]) -> Option<usize> {
    // SAFETY: so many bytes can be read there.
    let end = unsafe { memchr(text.as_ptr(), c_int::from(b'\n'), text.len()) };
    (!end.is_null()).then(|| end.addr() - text.as_ptr().addr())
}

/// A line of the list: `7f00a000-7f00b000 rw-p 00000000 00:00 0   [stack]`. None of a mapping that cannot be written, as most
/// are.
fn mapping(line: &[u8]) -> Option<Mapping<'_>> {
    let hyphen = LEAST_DIGITS + place_of(b'-', line.get(LEAST_DIGITS..)?)?;
    // Both addresses have as many digits, as a rule.
    let usual = 2 * hyphen + 1;
    let blank =
        if line.get(usual) == Some(&b' ') { usual } else { hyphen + place_of(b' ', &line[hyphen..])? };
    if line.get(blank + 2) != Some(&b'w') {
        return None;
    }
    let (start, end) = (address(&line[..hyphen])?, address(&line[hyphen + 1..blank])?);
    // Behind the rights: offset, device, file, name.
    let mut fields = line.get(blank + 6..)?.splitn(4, |&byte| byte == b' ');
    let has_file = fields.nth(2)? != b"0";
    Some(Mapping { start, end, has_file, name: fields.next().unwrap_or_default().trim_ascii_start() })
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
        let check = |line: &str, expect: Option<(usize, usize, bool, &str)>| {
            let found = mapping(line.as_bytes());
            let found = found.map(|m| (m.start, m.end, m.has_file, m.name));
            let expect = expect.map(|(start, end, file, name)| (start, end, file, name.as_bytes()));
            assert_eq!(found, expect, "{line}");
        };
        check("7f00a000-7f00b000 rw-p 00000000 00:00 0 ", Some((0x7f00_a000, 0x7f00_b000, false, "")));
        let low = (0x40_0000, 0x40_1000);
        check("00400000-00401000 rw-p 00000000 00:00 0     [heap]", Some((low.0, low.1, false, "[heap]")));
        check(
            "00400000-00401000 -w-p 00001000 fe:00 42   /usr/x.so",
            Some((low.0, low.1, true, "/usr/x.so")),
        );
        check("00400000-00401000 r--p 00001000 fe:00 42   /usr/x.so", None);
        let far = (0x7f3a_0000_1000, 0x7f3a_0000_2000, true, "/a b");
        check("7f3a00001000-7f3a00002000 rw-s 00001000 fe:00 42       /a b", Some(far));
        check("7f3a00001000-7f3a00002000 r-xs 00001000 fe:00 42       /a b", None);
        // One has a digit more than the other.
        check(
            "fffff0000-1000001000 rw-p 00000000 00:00 0 ",
            Some((0xf_ffff_0000, 0x10_0000_1000, false, "")),
        );
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
        // Other tests map and unmap meanwhile, and that joins and splits other mappings: in a quiet moment the two agree.
        let starts = (0..1000).find_map(|_| {
            let (before, mut starts) = (listed(), Vec::new());
            assert!(each_mapping(&mut |mapping| starts.push(mapping.start)));
            (starts == before).then_some(starts)
        });
        let starts = starts.expect("the list of the kernel, once");
        assert!(starts.len() > 5);
        assert!(starts.is_sorted());
    }
}
