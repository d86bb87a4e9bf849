//! `/proc/PID/maps`: which files the code of a process is from.
//!
//! ```text
//! 7f1200000000-7f1200020000 r-xp 00028000 08:01 1234   /usr/lib/libc.so.6
//! addresses                  ^   offset   device number name; " (deleted)" if the file has no name any more
//! ```
//!
//! Invariant: the bytes are untrusted; a line that is not of this form is skipped. The mappings are in order and do not overlap.

use std::ffi::OsString;
use std::ops::Range;
use std::os::unix::ffi::OsStringExt as _;

/// A mapping of code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// Its addresses.
    pub range: Range<u64>,
    /// Offset in the file of its first byte.
    pub offset: u64,
    /// The file's number on its device; 0 for code in no file.
    pub inode: u64,
    /// The file's name, or the kernel's for it (`[vdso]`); empty for code that was made at run time.
    pub name: OsString,
    /// Whether the file has lost this name.
    pub is_deleted: bool,
}

/// More bytes than the kernel allows mappings for.
pub const MOST_BYTES: u64 = 64 << 20;

/// The mappings of code.
#[must_use]
pub fn parse(text: &[u8]) -> Vec<Mapping> {
    let mut mappings: Vec<Mapping> = text.split(|byte| *byte == b'\n').filter_map(mapping).collect();
    mappings.sort_by_key(|mapping| mapping.range.start);
    let mut end = 0;
    mappings.retain(|mapping| {
        let is_next = mapping.range.start >= end;
        if is_next {
            end = mapping.range.end;
        }
        is_next
    });
    mappings
}

fn mapping(line: &[u8]) -> Option<Mapping> {
    let mut words = line.splitn(6, |byte| *byte == b' ');
    let mut word = || words.next();
    let (start, end) = str::from_utf8(word()?).ok()?.split_once('-')?;
    let range = u64::from_str_radix(start, 16).ok()?..u64::from_str_radix(end, 16).ok()?;
    let is_code = word()?.get(2) == Some(&b'x');
    let offset = u64::from_str_radix(str::from_utf8(word()?).ok()?, 16).ok()?;
    let _device = word()?;
    let inode: u64 = str::from_utf8(word()?).ok()?.parse().ok()?;
    let name = word().unwrap_or_default().trim_ascii_start();
    let (name, is_deleted) = match name.strip_suffix(b" (deleted)") {
        Some(name) => (name, true),
        None => (name, false),
    };
    (is_code && !range.is_empty()).then(|| Mapping {
        range,
        offset,
        inode,
        name: OsString::from_vec(unescaped(name)),
        is_deleted,
    })
}

/// The kernel writes a line feed as `\012`.
fn unescaped(name: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(name.len());
    let mut rest = name;
    while let Some((&byte, behind)) = rest.split_first() {
        if let Some(behind) = rest.strip_prefix(b"\\012") {
            out.push(b'\n');
            rest = behind;
        } else {
            out.push(byte);
            rest = behind;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_found_with_its_file() {
        let text = b"\
5581e0000000-5581e0001000 r--p 00000000 08:01 77                 /opt/a b (deleted)
5581e0001000-5581e0002000 r-xp 00001000 08:01 77                 /opt/a b (deleted)
7f0000000000-7f0000001000 rwxp 00000000 00:00 0
7ffd00000000-7ffd00001000 r-xp 00000000 00:00 0                          [vdso]
7ffe00000000-7ffe00001000 r-xp 00002000 08:01 5 /tmp/x\\012y
nonsense
7ffe00000800-7ffe00001000 r-xp 00002000 08:01 5 /tmp/over
9-8 r-xp 0 0:0 0 x
";
        let found = parse(text);
        let names: Vec<_> = found.iter().map(|mapping| mapping.name.to_str().expect("text")).collect();
        assert_eq!(names, ["/opt/a b", "", "[vdso]", "/tmp/x\ny"]);
        let Mapping { range, offset, inode, is_deleted, .. } = &found[0];
        let expected = (&(0x5581_e000_1000..0x5581_e000_2000), 0x1000, 77, true);
        assert_eq!((range, *offset, *inode, *is_deleted), expected);
    }

    #[test]
    fn no_bytes_make_it_panic() {
        let line = b"5581e0001000-5581e0002000 r-xp 00001000 08:01 77 /opt/a\n";
        for at in 0..line.len() {
            for value in [0, b' ', b'-', b'\n', 0xff] {
                let mut wrong = line.to_vec();
                wrong[at] = value;
                let _ = parse(&wrong);
            }
            let _ = parse(&line[..at]);
        }
    }
}
