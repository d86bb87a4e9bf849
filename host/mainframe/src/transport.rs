//! Effects of a transfer on a file: records after descriptors, or with ends of lines after them;
//! and forms that are recognised but not read.
//!
//! ```text
//! unchanged          card 80 | card 80 | ...
//! FTP with RDW      length 2, code 1, zero 1 | card | ...      and with BDW: { length 2, zero 2 | records } ...
//! as text           card 80 | LF | ...    or CR LF             bytes were not translated
//! ```
//!
//! Only certain wrappings are removed: descriptors if the first record begins as a transmission or an unload does,
//! and ends of lines if all of them are alike.
//! Invariant: the result has a byte for each byte of the file, less descriptors and ends of lines.
//! Not here: the meaning of the records (`container`).

use super::source::{ReadError, Records, Shared, Stretch, Window};
use super::{netdata, spanned, unload};

/// The records of a wrapped file, and the faults of the others; None if it was not wrapped.
/// `head` is the beginning of the file.
#[must_use]
pub fn unwrapped(source: &Shared, head: &[u8]) -> Option<(Records, Vec<spanned::Fault>)> {
    let is_known =
        |at: usize| head.get(at..).is_some_and(|bytes| netdata::begins(bytes) || unload::begins(bytes));
    // Code and zero of a descriptor.
    let is_descriptor = |at: usize| matches!(head.get(at + 2..at + 4), Some([0..=3, 0]));
    if is_descriptor(0) && is_descriptor(4) && head.get(8..).is_some_and(netdata::begins) {
        let (blocks, fault) = spanned::blocks(source);
        let (records, mut faults) = spanned::records(&blocks);
        faults.extend(fault);
        return Some((records, faults));
    }
    if is_descriptor(0) && is_known(4) {
        return Some(spanned::unblocked(source));
    }
    let lines = lines(source, head).ok().flatten()?;
    Some((lines, Vec::new()))
}

/// Bytes of a card.
const CARD: u64 = 80;

/// A transmission whose cards have become lines.
fn lines(source: &Shared, head: &[u8]) -> Result<Option<Records>, ReadError> {
    let end: &[u8] = match head.get(CARD as usize..) {
        Some([b'\n', ..]) => b"\n",
        Some([b'\r', b'\n', ..]) => b"\r\n",
        _ => return Ok(None),
    };
    let step = CARD + end.len() as u64;
    // The last line may have lost its end.
    let (count, rest) = (source.length() / step, source.length() % step);
    if !netdata::begins(head) || count < 2 || (rest != 0 && rest != CARD) {
        return Ok(None);
    }
    let (mut window, mut stretches) = (Window::new(&**source), Vec::new());
    for at in (0..count).map(|card| card * step) {
        if window.get(at + CARD, end.len())? != end {
            return Ok(None);
        }
        stretches.push(Stretch { at, length: CARD as u32 });
    }
    stretches.extend((rest == CARD).then_some(Stretch { at: count * step, length: CARD as u32 }));
    Ok(Some(Records { source: source.clone(), stretches: stretches.into() }))
}

/// Formats that are recognised by their first bytes, but not read: the bytes, their offset, and the message.
const FOREIGN: &[(usize, &[u8], &str)] = &[
    (0, b"PK\x03\x04", "a zip archive, which is not opened: unpack it first"),
    (0, b"\x1F\x8B\x08", "packed by gzip, and not opened: unpack it first"),
    (0, b"BZh", "packed by bzip2, and not opened: unpack it first"),
    (0, b"\xFD7zXZ\0", "packed by xz, and not opened: unpack it first"),
    (0, b"\x28\xB5\x2F\xFD", "packed by zstd, and not opened: unpack it first"),
    (0, b"7z\xBC\xAF\x27\x1C", "a 7-Zip archive, which is not opened: unpack it first"),
    (0, b"FBA_", "the image of a disk with fixed blocks (FBA), which is not read"),
    (512, b"\xE5\xD6\xD3\xF1", "the image of a disk with fixed blocks (FBA), which is not read"),
    (512, b"\xC3\xD4\xE2\xF1", "the image of a minidisk of CMS, which is not read"),
    (0, b"\x02\xC5\xE2\xC4", "an object deck, which must be linked first"),
    (0, b"\x03\xF0\0", "an object module (GOFF), which must be linked first"),
    (0, b"@TAP", "a tape image of FakeTape, which is not read: copy it to AWS or HET first"),
];

/// `INMR01` with each byte translated from EBCDIC to ASCII.
const TRANSLATED: &[u8] = b"INMR01";
/// Bytes before it: two, which may have become three each.
const BEFORE_MOST: usize = 6;
/// The bytes that `foreign` needs.
pub const HEAD: u64 = 516;

/// The message about a file that is not read, by its first bytes.
#[must_use]
pub fn foreign(head: &[u8]) -> Option<&'static str> {
    let begins = |at: usize, bytes: &[u8]| head.get(at..).is_some_and(|head| head.starts_with(bytes));
    if (2..=BEFORE_MOST).any(|at| begins(at, TRANSLATED)) {
        return Some(
            "a transmission whose bytes were translated to ASCII in the transfer, which cannot be undone: send it in binary",
        );
    }
    FOREIGN.iter().find(|(at, bytes, _)| begins(*at, bytes)).map(|(.., what)| *what)
}
