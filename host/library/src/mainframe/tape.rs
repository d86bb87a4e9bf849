//! Tape images, AWS and HET: chunks become blocks, and tape marks divide them into files.
//!
//! ```text
//! length 2 | length of the chunk before 2 | flags | flags | data      little-endian
//! 80 begins a block, 20 ends it, 40 tape mark; 01 zlib, 02 bzip2; second flags 80: zlib as Bus-Tech writes it
//! ```
//!
//! The chunks of a block are joined, then inflated. Compression goes by the flags, never by the file's name. A block is
//! inflated once to learn its length, and again when somebody reads it: the image stays on disk.
//!
//! Invariant: blocks lie one behind the other in the tape's own source; a block that is listed inflated once without fault.
//! Not here: labels (`label`), what blocks hold (`container`).

mod blocks;

use super::bytes::le16;
use super::inflate::{self, Method};
use super::source::{ReadError, Records, Shared, Source, Stretch, Window, some};
use blocks::{Blocks, Place, Unpack, unpack};
use std::sync::Arc;

/// What is wrong with a tape image; offsets are bytes from its start.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The first header is none of a tape image.
    #[error("does not begin with the header of a tape image")]
    NotTape,
    /// A chunk is longer than what is left: the image was cut within it.
    #[error("the chunk at {at} says {says} bytes, the image has {left} more")]
    Cut {
        /// Where its header begins.
        at: u64,
        /// What the header says.
        says: u64,
        /// Bytes behind the header.
        left: u64,
    },
    /// A chunk that goes on where nothing began, or begins where something is open; or a mark within a block.
    #[error("the chunk at {at} does not fit: {what}")]
    Sequence {
        /// Where its header begins.
        at: u64,
        /// What was expected.
        what: &'static str,
    },
    /// The header names another length of the chunk before than that one has.
    #[error("the chunk at {at} says that the one before has {says} bytes, it has {had}")]
    Before {
        /// Where its header begins.
        at: u64,
        /// What it says.
        says: u16,
        /// What the one before has.
        had: u16,
    },
    /// A block that does not inflate.
    #[error("the block at {at} does not inflate: {fault}")]
    Inflate {
        /// Where its first header begins.
        at: u64,
        /// Why.
        fault: inflate::Fault,
    },
    /// All blocks together inflate to more than is allowed.
    #[error("the blocks up to {at} inflate to more than {most} bytes")]
    TooMuch {
        /// Where the header of the last one begins.
        at: u64,
        /// The limit.
        most: u64,
    },
    /// The bytes could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// A tape image, as far as it could be read.
#[derive(Debug)]
pub struct Tape {
    /// Blocks between tape marks, also where there are none between two.
    pub files: Vec<Records>,
    /// Whether two marks ended it, as a tape ends.
    pub ended: bool,
    /// Whether some block is compressed.
    pub packed: bool,
    /// What is wrong.
    pub faults: Vec<Fault>,
}

/// Bytes that one block may have when inflated. The format allows 65,535; larger ones were seen of other writers.
pub const BLOCK_MOST: usize = 2 * 1024 * 1024;
/// Faults after which nothing more is read.
const FAULTS_MOST: usize = 100;
const HEADER: u64 = 6;

const BEGINS: u8 = 0x80;
const MARK: u8 = 0x40;
const ENDS: u8 = 0x20;

/// Whether the source begins as a tape image: the second header must agree with the first.
#[must_use]
pub fn begins(source: &dyn Source) -> bool {
    let header = |at| some(source, at, HEADER).ok().filter(|head| head.len() == HEADER as usize);
    let Some(first) = header(0) else { return false };
    let (length, before) = (le16(&first, 0).unwrap_or(0), le16(&first, 2).unwrap_or(0));
    let known = first[4] & 0x1C == 0 && first[5] & 0x7F == 0;
    let plausible = if first[4] & MARK != 0 { length == 0 } else { first[4] & BEGINS != 0 && length > 0 };
    if before != 0 || !known || !plausible {
        return false;
    }
    let next = HEADER + u64::from(length);
    match header(next) {
        Some(second) => le16(&second, 2) == Some(length) && second[4] & 0x1C == 0 && second[5] & 0x7F == 0,
        // One chunk alone, whole or cut: too little to tell, unless it is a label.
        None => length == 80 && source.length() <= next,
    }
}

/// Reads the chunks. `most` bounds what all compressed blocks may inflate to.
///
/// # Errors
/// Where it is no tape image; all else is among its faults.
pub fn read(source: &Shared, most: u64) -> Result<Tape, Fault> {
    if !begins(&**source) {
        return Err(Fault::NotTape);
    }
    let mut reader = Reader {
        source,
        most,
        inflated: 0,
        open: None,
        blocks: Vec::new(),
        length: 0,
        files: vec![Vec::new()],
        ended: false,
        faults: Vec::new(),
    };
    reader.run();
    let packed = reader.blocks.iter().any(|block| block.method != Method::Plain);
    let (stretches, ended, faults) = (reader.files, reader.ended, reader.faults);
    let tape: Shared = Arc::new(Blocks::new(source, reader.blocks, reader.length));
    let of = |stretches: Vec<Stretch>| Records { source: tape.clone(), stretches: stretches.into() };
    let files = stretches.into_iter().map(of).collect();
    Ok(Tape { files, ended, packed, faults })
}

/// A block whose chunks have not all come.
struct Open {
    at: u64,
    method: Method,
    /// Data of each chunk: where and how long.
    chunks: Vec<(u64, u32)>,
}

struct Reader<'a> {
    source: &'a Shared,
    most: u64,
    inflated: u64,
    open: Option<Open>,
    blocks: Vec<Place>,
    length: u64,
    files: Vec<Vec<Stretch>>,
    ended: bool,
    faults: Vec<Fault>,
}

impl Reader<'_> {
    fn run(&mut self) {
        let source = &**self.source;
        let (mut window, mut at, mut before) = (Window::new(source), 0, 0);
        while at < source.length() && self.faults.len() < FAULTS_MOST {
            let head: [u8; HEADER as usize] = match window.get(at, HEADER as usize) {
                // The window gave as many bytes as were asked for.
                Ok(head) => head.try_into().unwrap_or_default(),
                Err(_) => {
                    let left = source.length() - at;
                    self.faults.push(Fault::Cut { at, says: HEADER, left });
                    break;
                }
            };
            let (length, says) = (le16(&head, 0).unwrap_or(0), le16(&head, 2).unwrap_or(0));
            if says != before {
                self.faults.push(Fault::Before { at, says, had: before });
            }
            let left = source.length() - at - HEADER;
            if u64::from(length) > left {
                self.faults.push(Fault::Cut { at, says: length.into(), left });
                self.open = None;
                break;
            }
            match self.chunk(at, length, head[4], head[5]) {
                Ok(true) => {}
                // An empty file with labels has two marks too, but its trailer label follows.
                Ok(false) if trailer_follows(&mut window, at + HEADER) => {
                    self.ended = false;
                    self.files.push(Vec::new());
                }
                Ok(false) => break,
                Err(fault) => self.faults.push(fault),
            }
            before = length;
            at += HEADER + u64::from(length);
        }
        if let Some(open) = self.open.take() {
            self.faults.push(Fault::Sequence { at: open.at, what: "its block has no end" });
        }
        // What follows the last mark is a file only if it has blocks.
        if self.files.last().is_some_and(Vec::is_empty) {
            self.files.pop();
        }
    }

    /// False at the end of the tape.
    fn chunk(&mut self, at: u64, length: u16, flags: u8, more: u8) -> Result<bool, Fault> {
        let out_of_place = |what| Fault::Sequence { at, what };
        if flags & MARK != 0 {
            if self.open.take().is_some() {
                self.mark();
                return Err(out_of_place("a tape mark within a block"));
            }
            return Ok(self.mark());
        }
        if length == 0 {
            return Err(out_of_place("a chunk without data"));
        }
        let method = match (flags & 0x03, more & 0x80) {
            (0, 0) => Method::Plain,
            (1, 0) | (0, 0x80) => Method::Zlib,
            (2, 0) => Method::Bzip2,
            _ => return Err(out_of_place("two kinds of compression")),
        };
        let mut open = match (flags & BEGINS != 0, self.open.take()) {
            (true, None) => Open { at, method, chunks: Vec::new() },
            (false, Some(open)) => open,
            (true, Some(before)) => {
                self.faults.push(Fault::Sequence { at: before.at, what: "its block has no end" });
                Open { at, method, chunks: Vec::new() }
            }
            (false, None) => return Err(out_of_place("a block goes on that never began")),
        };
        if open.method != method {
            return Err(out_of_place("another compression than its block began with"));
        }
        open.chunks.push((at + HEADER, length.into()));
        if flags & ENDS != 0 {
            self.block(open)?;
        } else {
            self.open = Some(open);
        }
        Ok(true)
    }

    /// False where this is the second mark.
    fn mark(&mut self) -> bool {
        if self.files.last().is_some_and(Vec::is_empty) && self.files.len() > 1 {
            self.ended = true;
            return false;
        }
        self.files.push(Vec::new());
        true
    }

    fn block(&mut self, open: Open) -> Result<(), Fault> {
        let length = match open.method {
            Method::Plain => open.chunks.iter().map(|(_, length)| u64::from(*length)).sum(),
            method => {
                let length = unpack(&**self.source, method, &open.chunks)
                    .map_err(|error| match error {
                        Unpack::Read(error) => Fault::Read(error),
                        Unpack::Inflate(fault) => Fault::Inflate { at: open.at, fault },
                    })?
                    .len() as u64;
                self.inflated += length;
                if self.inflated > self.most {
                    return Err(Fault::TooMuch { at: open.at, most: self.most });
                }
                length
            }
        };
        let length = u32::try_from(length)
            .map_err(|_| Fault::Sequence { at: open.at, what: "a block of more than 4 GiB" })?;
        let place = Place { start: self.length, length, method: open.method, chunks: open.chunks };
        self.length += u64::from(length);
        if let Some(file) = self.files.last_mut() {
            file.push(Stretch { at: place.start, length });
        }
        self.blocks.push(place);
        Ok(())
    }
}

/// Whether the chunk that begins here is the label EOF1, stored as it is.
fn trailer_follows(window: &mut Window<'_>, at: u64) -> bool {
    const EOF1: [u8; 4] = [0xC5, 0xD6, 0xC6, 0xF1];
    window.get(at, 10).is_ok_and(|head| head[0] == 80 && head[1] == 0 && head[6..] == EOF1)
}

/// Writes blocks as a tape image: `None` is a tape mark. Chunks have at most `chunk` bytes of what is stored.
#[cfg(test)]
pub(crate) fn write(blocks: &[Option<&[u8]>], method: Method, chunk: usize) -> Vec<u8> {
    let (mut image, mut before) = (Vec::new(), 0_u16);
    let mut put = |data: &[u8], flags: u8, image: &mut Vec<u8>| {
        image.extend((data.len() as u16).to_le_bytes());
        image.extend(before.to_le_bytes());
        image.extend([flags, 0]);
        image.extend(data);
        before = data.len() as u16;
    };
    for block in blocks {
        let Some(block) = block else {
            put(&[], MARK, &mut image);
            continue;
        };
        let packed = inflate::tests::deflate(method, block);
        let count = packed.len().div_ceil(chunk).max(1);
        for index in 0..count {
            let part = &packed[index * chunk..packed.len().min((index + 1) * chunk)];
            let first = if index == 0 { BEGINS } else { 0 };
            let last = if index + 1 == count { ENDS } else { 0 };
            let packing = match method {
                Method::Plain => 0,
                Method::Zlib => 1,
                Method::Bzip2 => 2,
            };
            put(part, first | last | packing, &mut image);
        }
    }
    image
}

#[cfg(test)]
mod tests {
    use super::super::source::{Memory, take};
    use super::*;

    const PLENTY: u64 = 1 << 30;

    fn sample(length: usize) -> Vec<u8> {
        (0..length).map(|index| ((index * index) >> 3) as u8).collect()
    }

    fn blocks_of(tape: &Tape) -> Vec<Vec<Vec<u8>>> {
        let read = |file: &Records| (0..file.count()).map(|index| file.read(index).unwrap()).collect();
        tape.files.iter().map(read).collect()
    }

    #[test]
    fn blocks_come_back_from_every_kind_of_chunk() {
        let (one, two, three) = (sample(80), sample(32_760), sample(1));
        let written = [Some(one.as_slice()), None, Some(&two), Some(&three), None, None, Some(&one)];
        for method in [Method::Plain, Method::Zlib, Method::Bzip2] {
            for chunk in [7, 4096, 65_535] {
                let image = write(&written, method, chunk);
                let tape = read(&Memory::shared(image), PLENTY).unwrap();
                assert_eq!(tape.faults, [], "{method:?} {chunk}");
                assert!(tape.ended, "what follows two marks is not read");
                assert_eq!(blocks_of(&tape), [vec![one.clone()], vec![two.clone(), three.clone()]]);
                assert_eq!(tape.packed, method != Method::Plain);
                let joined = tape.files[1].joined();
                assert_eq!(take(&*joined, 32_758, 3).unwrap(), [two[32_758], two[32_759], three[0]]);
            }
        }
    }

    #[test]
    fn zlib_is_told_by_either_flag_and_never_by_both() {
        let one = sample(900);
        let image = write(&[Some(&one), None, None], Method::Zlib, 100);
        let mut other = image.clone();
        let mut at = 0;
        while at < other.len() {
            if other[at + 4] & MARK == 0 {
                (other[at + 4], other[at + 5]) = (other[at + 4] & !1, 0x80);
            }
            at += 6 + usize::from(other[at]);
        }
        let tape = read(&Memory::shared(other.clone()), PLENTY).unwrap();
        assert_eq!((blocks_of(&tape), tape.faults), (vec![vec![one]], vec![]));
        other[4] |= 1;
        let tape = read(&Memory::shared(other), PLENTY).unwrap();
        assert_eq!(tape.faults[0], Fault::Sequence { at: 0, what: "two kinds of compression" });
        let mut mixed = image;
        mixed[106 + 4] = mixed[106 + 4] & !1 | 2;
        let tape = read(&Memory::shared(mixed), PLENTY).unwrap();
        let what = "another compression than its block began with";
        assert_eq!(tape.faults[0], Fault::Sequence { at: 106, what });
    }

    #[test]
    fn a_cut_is_reported_and_what_came_before_stays() {
        let (one, two) = (sample(80), sample(5_000));
        let image = write(&[Some(&one), None, Some(&two), None, None], Method::Zlib, 300);
        let whole = blocks_of(&read(&Memory::shared(image.clone()), PLENTY).unwrap());
        for end in 1..image.len() {
            match read(&Memory::shared(image[..end].to_vec()), PLENTY) {
                Err(fault) => assert!(fault == Fault::NotTape && end < 200, "{end}"),
                Ok(tape) => {
                    for (found, expected) in blocks_of(&tape).iter().zip(&whole) {
                        assert!(expected.starts_with(found), "{end}");
                    }
                    assert!(!tape.ended);
                }
            }
        }
    }

    #[test]
    fn flipped_bits_harm_nobody() {
        let one = sample(300);
        let image = write(&[Some(&one), None, Some(&one), Some(&one), None, None], Method::Zlib, 100);
        for bit in 0..image.len() * 8 {
            let mut image = image.clone();
            image[bit / 8] ^= 1 << (bit % 8);
            if let Ok(tape) = read(&Memory::shared(image), PLENTY) {
                let _ = blocks_of(&tape);
            }
        }
    }

    #[test]
    fn inflation_is_bounded_by_block_and_in_all() {
        let zeros = vec![0; 1_000_000];
        let image = write(&[Some(&zeros), Some(&zeros), Some(&zeros), None], Method::Zlib, 4096);
        let tape = read(&Memory::shared(image), 2_500_000).unwrap();
        assert!(matches!(tape.faults[..], [Fault::TooMuch { most: 2_500_000, .. }]));
        assert_eq!(tape.files[0].count(), 2);
        let zeros = vec![0; BLOCK_MOST + 1];
        let image = write(&[Some(&zeros), None], Method::Bzip2, 4096);
        let tape = read(&Memory::shared(image), PLENTY).unwrap();
        let expected = inflate::Fault::TooLong { most: BLOCK_MOST };
        assert!(matches!(&tape.faults[..], [Fault::Inflate { fault, .. }] if *fault == expected));
    }

    #[test]
    fn an_empty_file_with_labels_does_not_end_the_tape() {
        let mut label = vec![0xC5, 0xD6, 0xC6, 0xF1];
        label.resize(80, 0x40);
        let image = write(&[Some(&sample(80)), None, None, Some(&label), None, None], Method::Plain, 4096);
        let tape = read(&Memory::shared(image), PLENTY).unwrap();
        assert_eq!(tape.files.iter().map(Records::count).collect::<Vec<_>>(), [1, 0, 1]);
        assert!(tape.ended);
    }

    #[test]
    fn headers_that_disagree_are_named() {
        let one = sample(80);
        let mut image = write(&[Some(&one), Some(&one), Some(&one)], Method::Plain, 4096);
        image[86 * 2 + 2] = 7;
        let tape = read(&Memory::shared(image), PLENTY).unwrap();
        assert_eq!(tape.faults, [Fault::Before { at: 172, says: 7, had: 80 }]);
        assert_eq!(tape.files[0].count(), 3);
    }
}
