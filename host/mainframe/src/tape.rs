//! Tape images, AWS and HET: chunks become blocks, and tape marks divide them into files.
//!
//! ```text
//! length 2 | length of the chunk before 2 | flags | flags | data      little-endian
//! 80 begins a block, 20 ends it, 40 tape mark; 01 zlib, 02 bzip2; second flags 80: zlib as Bus-Tech writes it
//! ```
//!
//! The chunks of a block are joined, then inflated. The flags decide on the compression, never the file's name. A block is
//! inflated once to learn its length, and again on each read: the image stays on disk.
//!
//! Invariant: blocks are one after the other in the tape's own source; a block that is listed inflated once without fault.
//! Not here: labels (`label`), the content of blocks (`container`).

mod blocks;

use super::bytes::le16;
use super::inflate::{self, Method};
use super::label;
use super::source::{ReadError, Records, Shared, Source, Stretch, Window, some};
use blocks::{Blocks, Place, Unpack, unpack};
use std::sync::Arc;

/// Faults of a tape image; offsets are bytes from its start.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The first header is not that of a tape image.
    #[error("does not begin with the header of a tape image")]
    NotTape,
    /// A chunk is longer than the rest of the image: the image was cut within it.
    #[error("the chunk at {at} has a length of {says} bytes, but the image has {left} more")]
    Cut {
        /// Where its header begins.
        at: u64,
        /// Its stated length.
        says: u64,
        /// Bytes after the header.
        left: u64,
    },
    /// A chunk that continues without a start, or starts within an open block; or a mark within a block.
    #[error("the chunk at {at} does not fit: {what}")]
    Sequence {
        /// Where its header begins.
        at: u64,
        /// The expected chunk.
        what: &'static str,
    },
    /// The header's length of the previous chunk differs from that chunk's.
    #[error("the chunk at {at} gives {says} bytes for the previous one, which has {had}")]
    Before {
        /// Where its header begins.
        at: u64,
        /// Its stated length.
        says: u16,
        /// The length of the previous one.
        had: u16,
    },
    /// A block that does not inflate.
    #[error("the block at {at} does not inflate: {fault}")]
    Inflate {
        /// Where its first header begins.
        at: u64,
        /// The reason.
        fault: inflate::Fault,
    },
    /// All blocks together inflate to more than the limit.
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
    /// Blocks between tape marks; empty if two marks are adjacent.
    pub files: Vec<Records>,
    /// Whether two marks ended it, as at the end of a tape.
    pub ended: bool,
    /// Whether some block is compressed.
    pub packed: bool,
    /// Its faults.
    pub faults: Vec<Fault>,
}

/// The most bytes of one inflated block. The format allows 65,535; other writers make larger ones.
pub const BLOCK_MOST: usize = 2 * 1024 * 1024;
/// Faults that end the reading.
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
        // One chunk alone, whole or cut: not enough to decide, unless it is a label.
        None => length == 80 && source.length() <= next,
    }
}

/// Reads the chunks. `most` bounds the inflated bytes of all compressed blocks.
///
/// # Errors
/// If it is no tape image; all other faults are in the result.
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

/// A block that is not complete yet.
struct Open {
    at: u64,
    method: Method,
    /// Data of each chunk: place and length.
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
                // The window returned as many bytes as requested.
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
                // An empty file with labels has two marks, too, but its trailer label follows.
                Ok(false) if trailer_follows(source, &mut window, at + HEADER) => {
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
        // The bytes after the last mark are a file only if they have blocks.
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
        let method = method(flags, more).ok_or_else(|| out_of_place("two kinds of compression"))?;
        let mut open = match (flags & BEGINS != 0, self.open.take()) {
            (true, None) => Open { at, method, chunks: Vec::new() },
            (false, Some(open)) => open,
            (true, Some(before)) => {
                self.faults.push(Fault::Sequence { at: before.at, what: "its block has no end" });
                Open { at, method, chunks: Vec::new() }
            }
            (false, None) => return Err(out_of_place("a block continues that never began")),
        };
        if open.method != method {
            return Err(out_of_place("another compression than at the start of its block"));
        }
        open.chunks.push((at + HEADER, length.into()));
        if flags & ENDS != 0 {
            self.block(open)?;
        } else {
            self.open = Some(open);
        }
        Ok(true)
    }

    /// False if this is the second mark.
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

/// The storage form of a chunk; None if its flags name two.
fn method(flags: u8, more: u8) -> Option<Method> {
    match (flags & 0x03, more & 0x80) {
        (0, 0) => Some(Method::Plain),
        (1, 0) | (0, 0x80) => Some(Method::Zlib),
        (2, 0) => Some(Method::Bzip2),
        _ => None,
    }
}

/// Does a trailer label begin here? A writer may compress it, and divide it into chunks, as any other block.
fn trailer_follows(source: &dyn Source, window: &mut Window<'_>, mut at: u64) -> bool {
    // A label has 80 bytes. Neither way of compression makes them many more.
    const MOST: usize = 1024;
    let (mut chunks, mut packed, mut kind) = (Vec::new(), 0, None);
    while packed < MOST {
        let Ok(head) = window.get(at, HEADER as usize) else { return false };
        let (length, flags, more) = (le16(head, 0).unwrap_or(0), head[4], head[5]);
        let is_first = chunks.is_empty();
        let fits = flags & MARK == 0 && length > 0 && (flags & BEGINS != 0) == is_first;
        let (true, Some(now)) = (fits, method(flags, more)) else { return false };
        if *kind.get_or_insert(now) != now {
            return false;
        }
        chunks.push((at + HEADER, u32::from(length)));
        if flags & ENDS != 0 {
            return unpack(source, now, &chunks).is_ok_and(|block| label::is_trailer(&block));
        }
        packed += usize::from(length);
        at += HEADER + u64::from(length);
    }
    false
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
mod tests;
