//! The input in blocks of whole records: few large reads, and no record is copied but the one that a block cuts.
//!
//! ```text
//! read 8 MiB │ record record record rec│ ──> block: whole records
//!                                  └────────> beginning of the next block
//! ```
//!
//! Invariant: the blocks, one after another, are the records of all files, one after another.
//! Not here: what is done with a block (`sort`).

use std::fs::File;
use std::io::{self, Read};

use crate::error::{Error, Place};
use crate::format::{Format, Piece};

/// A source of bytes with a name for messages.
pub struct Input {
    /// Its name.
    pub name: String,
    /// Its bytes.
    pub bytes: Box<dyn Read + Send>,
}

impl Input {
    /// A file, which is told to the kernel to be read from its beginning to its end.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn open(name: &str) -> Result<Input, Error> {
        let failed = |error| Error::Input { name: name.to_owned(), error };
        let file = File::open(name).map_err(failed)?;
        // Advice: what does not follow it reads as well.
        let _ = rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::Sequential);
        Ok(Input { name: name.to_owned(), bytes: Box::new(file) })
    }
}

/// Whole records, and where they come from.
#[derive(Debug)]
pub struct Block {
    /// The bytes, with those around records.
    pub bytes: Vec<u8>,
    /// The records.
    pub pieces: Vec<Piece>,
    /// Where the first byte was.
    pub place: Place,
}

impl Block {
    /// The data of a record.
    #[must_use]
    pub fn data(&self, piece: Piece) -> &[u8] {
        &self.bytes[piece.at as usize..(piece.at + piece.length) as usize]
    }

    /// Where a record was.
    #[must_use]
    pub fn place_of(&self, piece: Piece) -> Place {
        Place { name: self.place.name.clone(), byte: self.place.byte + u64::from(piece.at) }
    }
}

/// The blocks of an input.
pub struct Blocks {
    inputs: std::vec::IntoIter<Input>,
    current: Option<Input>,
    format: Format,
    size: usize,
    /// The beginning of a record, and where it is in its file.
    rest: Vec<u8>,
    byte: u64,
    /// Calls of the kernel.
    pub reads: u64,
}

impl Blocks {
    /// Blocks of about that size.
    #[must_use]
    pub fn new(inputs: Vec<Input>, format: Format, size: usize) -> Blocks {
        Blocks { inputs: inputs.into_iter(), current: None, format, size, rest: Vec::new(), byte: 0, reads: 0 }
    }

    /// The next block; None at the end.
    ///
    /// # Errors
    /// A file cannot be read, or is none of such records.
    pub fn next(&mut self) -> Result<Option<Block>, Error> {
        loop {
            if self.current.is_none() {
                let Some(next) = self.inputs.next() else { return Ok(None) };
                (self.current, self.byte) = (Some(next), 0);
            }
            if let Some(block) = self.of_current()? {
                return Ok(Some(block));
            }
            self.current = None;
        }
    }

    /// The next block of the current file; None: it has ended.
    fn of_current(&mut self) -> Result<Option<Block>, Error> {
        let Some(input) = &mut self.current else { return Ok(None) };
        let mut bytes = std::mem::take(&mut self.rest);
        let mut pieces = Vec::new();
        let mut size = self.size;
        loop {
            let from = bytes.len();
            // A block holds one record at least.
            size = size.max(from + self.size / 2);
            bytes.resize(size, 0);
            let (got, reads) = fill(&mut *input.bytes, &mut bytes[from..])
                .map_err(|error| Error::Input { name: input.name.clone(), error })?;
            self.reads += reads;
            let is_end = got < size - from;
            bytes.truncate(from + got);
            let place = Place { name: input.name.clone(), byte: self.byte };
            pieces.clear();
            let taken = self
                .format
                .split(&bytes, is_end, &mut pieces)
                .map_err(|why| Error::Format { place: place.clone(), format: self.format, why })?;
            if pieces.is_empty() && !is_end {
                continue;
            }
            self.rest = bytes.split_off(taken);
            self.byte += taken as u64;
            return Ok((!pieces.is_empty()).then_some(Block { bytes, pieces, place }));
        }
    }
}

/// Fills a buffer, unless the bytes end before. How many there were, and the calls of the kernel.
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

    fn all(format: Format, size: usize, files: &[&[u8]]) -> Result<Vec<Vec<u8>>, Error> {
        let inputs = files
            .iter()
            .enumerate()
            .map(|(at, bytes)| Input { name: at.to_string(), bytes: Box::new(io::Cursor::new(bytes.to_vec())) });
        let mut blocks = Blocks::new(inputs.collect(), format, size);
        let mut records = Vec::new();
        while let Some(block) = blocks.next()? {
            records.extend(block.pieces.iter().map(|&piece| block.data(piece).to_vec()));
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
    fn what_is_no_record_is_told_by_its_place() {
        let error = all(Format::Fixed(4), 8, &[b"abcd", b"abcdefgh1234xy"]).expect_err("a record is cut");
        assert_eq!(
            error.to_string(),
            "1, record at byte 8: the file ends after 2 of the 4 bytes of a record; records are F(4)"
        );
    }
}
