//! The input in blocks of whole records. Reads are few and large; only a record that a block would cut is copied.
//!
//! ```text
//! read 8 MiB │ record record record rec│ ──> block: whole records
//!                                  └────────> beginning of the next block
//! ```
//!
//! Invariant: the blocks, one after another, have the records of all files, in their order. A block belongs to one file.
//! Not here: the use of a block (`sort`).

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use underbar_shown::Shown;

use crate::error::{Error, Place};
use crate::format::{Format, LONGEST, Piece};

/// The size of the first block if records have various lengths: enough to learn their mean.
const FIRST: usize = 256 << 10;
/// The smallest block.
const LEAST: usize = 64 << 10;
/// Bytes of a block for each of its records, at least. Keys and places of records take memory too.
const BYTES_OF_RECORD: usize = 32;

/// A source of bytes, with a name for messages.
pub struct Input {
    /// Its name.
    pub name: Arc<str>,
    /// Its bytes.
    pub bytes: Box<dyn Read + Send>,
}

impl Input {
    /// Opens a file, which the kernel reads ahead.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn open(path: &Path) -> Result<Input, Error> {
        let name: Arc<str> = path.shown().to_string().into();
        let file = File::open(path).map_err(|error| Error::Input { name: name.clone(), error })?;
        // Only advice: pipes refuse it.
        let _ = rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::Sequential);
        Ok(Input { name, bytes: Box::new(file) })
    }
}

/// Whole records, and their place.
#[derive(Debug)]
pub struct Block {
    bytes: Vec<u8>,
    /// Bytes that were read.
    used: usize,
    /// The records, or those of them that were chosen.
    pub pieces: Vec<Piece>,
    format: Format,
    /// The place of the first record.
    place: Place,
}

impl Block {
    /// The data of a record.
    #[inline]
    #[must_use]
    pub fn data(&self, piece: Piece) -> &[u8] {
        &self.bytes[piece.at as usize..(piece.at + piece.length) as usize]
    }

    /// The place of a record. Cost: all records of the block are found again, as this is for messages.
    #[must_use]
    pub fn place_of(&self, piece: Piece) -> Place {
        let mut all = Vec::new();
        // The records were found before; bytes after them are ignored.
        let _ = self.format.split(&self.bytes[..self.used], true, &mut all);
        let before = all.iter().take_while(|other| other.at != piece.at).count() as u64;
        let Place { name, record, byte } = &self.place;
        Place { name: name.clone(), record: record + before, byte: byte + u64::from(piece.at) }
    }
}

/// The file that is read.
struct Current {
    input: Input,
    /// Offset of the next block, and the number of its first record.
    byte: u64,
    record: u64,
}

/// The blocks of all inputs.
pub struct Blocks {
    inputs: std::vec::IntoIter<Input>,
    current: Option<Current>,
    format: Format,
    /// The size of a block, and of the next one.
    size: usize,
    next_size: usize,
    /// The beginning of a record whose rest was not read yet.
    rest: Vec<u8>,
    /// The error behind the last block.
    failed: Option<Error>,
    /// Bytes that were read.
    pub bytes: u64,
    /// Calls of read.
    pub reads: u64,
}

impl Blocks {
    /// Blocks of about this size; smaller ones if records are short.
    #[must_use]
    pub fn new(inputs: Vec<Input>, format: Format, size: usize) -> Blocks {
        let next_size = match format {
            Format::Fixed(length) | Format::Undefined(length) => size_for(length as usize, size),
            Format::Variable(_) | Format::Lines => size.min(FIRST),
        };
        let inputs = inputs.into_iter();
        let (current, rest, failed) = Default::default();
        Blocks { inputs, current, format, size, next_size, rest, failed, bytes: 0, reads: 0 }
    }

    /// The next block, in the memory of a used one if there is one; None at the end.
    ///
    /// # Errors
    /// A file cannot be read, or is not of such records.
    pub fn next(&mut self, mut used: Option<Block>) -> Result<Option<Block>, Error> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        loop {
            if self.current.is_none() {
                let Some(input) = self.inputs.next() else { return Ok(None) };
                self.current = Some(Current { input, byte: 0, record: 1 });
            }
            let block = self.of_current(used.take())?;
            if !block.pieces.is_empty() {
                return Ok(Some(block));
            }
            used = Some(block);
        }
    }

    /// The next block of the current file, which is closed at its end. The block is empty if nothing is left.
    fn of_current(&mut self, used: Option<Block>) -> Result<Block, Error> {
        let (mut bytes, mut pieces) = used.map_or_else(Default::default, |block| (block.bytes, block.pieces));
        let Some(current) = &mut self.current else { unreachable!("the caller has opened a file") };
        let mut from = self.rest.len();
        let mut size = self.next_size.max(2 * from);
        if bytes.len() < size {
            // Fresh pages are zero without being written.
            bytes = vec![0; size];
        }
        bytes[..from].copy_from_slice(&self.rest);
        let name = &current.input.name;
        loop {
            let (got, reads) = fill(&mut *current.input.bytes, &mut bytes[from..size])
                .map_err(|error| Error::Input { name: name.clone(), error })?;
            self.reads += reads;
            self.bytes += got as u64;
            let is_end = got < size - from;
            let used = from + got;
            pieces.clear();
            let split = self.format.split(&bytes[..used], is_end, &mut pieces);
            let is_endless = pieces.is_empty() && used > LONGEST as usize && !is_end;
            let split = match split {
                Ok(_) if is_endless => Err(crate::format::Malformed::Long { has: used, most: LONGEST }),
                split => split,
            };
            let taken = match split {
                Ok(taken) => taken,
                Err(why) => {
                    let end = pieces.last().map_or(0, |last| (last.at + last.length) as usize);
                    let taken = end + usize::from(self.format == Format::Lines && end > 0);
                    let (record, byte) = (current.record + pieces.len() as u64, current.byte + taken as u64);
                    let place = Place { name: name.clone(), record, byte };
                    let error = Error::Format { place, format: self.format, why };
                    if pieces.is_empty() {
                        return Err(error);
                    }
                    // The records before the bad one come first.
                    self.failed = Some(error);
                    taken
                }
            };
            if pieces.is_empty() && !is_end {
                // A block has one record at least.
                (from, size) = (used, 2 * size);
                bytes.resize(size, 0);
                continue;
            }
            self.rest.clear();
            self.rest.extend_from_slice(&bytes[taken..used]);
            let place = Place { name: name.clone(), record: current.record, byte: current.byte };
            current.record += pieces.len() as u64;
            current.byte += taken as u64;
            self.next_size = size_for(taken / pieces.len().max(1), self.size);
            if is_end {
                self.current = None;
            }
            return Ok(Block { bytes, used, pieces, format: self.format, place });
        }
    }
}

/// The size of a block for records of this mean length.
fn size_for(mean: usize, size: usize) -> usize {
    (size / BYTES_OF_RECORD).saturating_mul(mean).clamp(LEAST.min(size), size)
}

/// Fills a buffer, unless the bytes end before. Returns their number, and the number of calls.
fn fill(from: &mut dyn Read, to: &mut [u8]) -> io::Result<(usize, u64)> {
    let (mut got, mut reads) = (0, 0);
    while got < to.len() {
        reads += 1;
        match from.read(&mut to[got..]) {
            Ok(0) => break,
            Ok(bytes) => got += bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok((got, reads))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(format: Format, size: usize, files: &[&[u8]]) -> Blocks {
        let input = |(at, bytes): (usize, &&[u8])| Input {
            name: at.to_string().into(),
            bytes: Box::new(io::Cursor::new(bytes.to_vec())),
        };
        Blocks::new(files.iter().enumerate().map(input).collect(), format, size)
    }

    fn all(format: Format, size: usize, files: &[&[u8]]) -> Result<Vec<Vec<u8>>, Error> {
        let mut blocks = blocks(format, size, files);
        let (mut records, mut used) = (Vec::new(), None);
        while let Some(block) = blocks.next(used)? {
            records.extend(block.pieces.iter().map(|&piece| block.data(piece).to_vec()));
            used = Some(block);
        }
        Ok(records)
    }

    #[test]
    fn blocks_of_any_size_have_the_same_records() {
        let lines: &[&[u8]] = &[b"one\ntwo\n\nfour", b"", b"five\nsix\n"];
        for size in 1..40 {
            let records = all(Format::Lines, size, lines).expect("lines");
            assert_eq!(records, [&b"one"[..], b"two", b"", b"four", b"five", b"six"], "{size}");
            let fixed = all(Format::Fixed(3), size, &[b"abcdef", b"ghi"]).expect("records");
            assert_eq!(fixed, [b"abc", b"def", b"ghi"], "{size}");
        }
    }

    #[test]
    fn a_bad_record_is_named_by_file_number_and_offset() {
        for size in [1, 8, 100] {
            let error =
                all(Format::Fixed(4), size, &[b"abcd", b"abcdefgh1234xy"]).expect_err("a record is cut");
            assert_eq!(
                error.to_string(),
                "1, record 4 at byte 12: the file ends after 2 of the 4 bytes of a record; the form is F(4)"
            );
        }
        let error = all(Format::Variable(9), 8, &[b"\0\x06\0\0ab\0\x20\0\0"]).expect_err("too long");
        assert_eq!(
            error.to_string(),
            "0, record 2 at byte 6: it has 32 bytes or more, and at most 9 are allowed; the form is V(9)"
        );
    }

    #[test]
    fn records_are_placed_across_blocks() {
        let mut blocks = blocks(Format::Lines, 4, &[b"ab\ncd\nefg\n"]);
        let mut places = Vec::new();
        while let Some(mut block) = blocks.next(None).expect("lines") {
            // A choice of records leaves their numbers.
            let last = block.pieces.split_off(block.pieces.len() - 1)[0];
            let place = block.place_of(last);
            places.push((place.record, place.byte, block.data(last).to_vec()));
        }
        assert_eq!(places.last(), Some(&(3, 6, b"efg".to_vec())));
    }

    #[test]
    fn a_line_without_an_end_is_an_error_before_memory_is_full() {
        let input = Input { name: "zeros".into(), bytes: Box::new(io::repeat(0)) };
        let error = Blocks::new(vec![input], Format::Lines, 1 << 20).next(None).expect_err("endless");
        assert!(error.to_string().starts_with("zeros, record 1 at byte 0: it has "), "{error}");
    }

    #[test]
    fn short_records_make_small_blocks() {
        let text = b"x\n".repeat(1 << 20);
        let mut blocks = blocks(Format::Lines, 1 << 20, &[&text]);
        let mut most = 0;
        while let Some(block) = blocks.next(None).expect("lines") {
            most = most.max(block.pieces.len());
        }
        assert!(most <= FIRST / 2, "{most}");
    }
}
