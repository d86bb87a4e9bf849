//! Records one by one, read and written by whole buffers.
//!
//! Cost: a record is a slice of the buffer; there is a call of the kernel for each MiB, not for each record.
//!
//! Invariant: records are read as they were written.
//! Not here: the name of an output that appears only when it is whole (`output`).

use std::io::{self, Write};
use std::path::Path;

use crate::blocks::{Block, Blocks, Input};
use crate::error::{Error, Place};
use crate::format::Format;

/// Bytes of a buffer.
const BUFFER: usize = 1 << 20;

/// The records of files, one after another.
///
/// ```
/// use underbar_records::{Format, Input, Records};
///
/// let text = Input { name: "text".into(), bytes: Box::new(&b"one\ntwo\n"[..]) };
/// let mut records = Records::new(vec![text], Format::Lines);
/// let mut lengths = Vec::new();
/// while let Some(record) = records.next()? {
///     lengths.push(record.len());
/// }
/// assert_eq!(lengths, [3, 3]);
/// # Ok::<(), underbar_records::Error>(())
/// ```
pub struct Records {
    blocks: Blocks,
    block: Option<Block>,
    next: usize,
}

impl Records {
    /// The records of a file.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn open(path: &Path, format: Format) -> Result<Records, Error> {
        Ok(Records::new(vec![Input::open(path)?], format))
    }

    /// The records of these inputs.
    #[must_use]
    pub fn new(inputs: Vec<Input>, format: Format) -> Records {
        Records { blocks: Blocks::new(inputs, format, BUFFER), block: None, next: 0 }
    }

    /// The data of the next record; None at the end.
    ///
    /// # Errors
    /// A file cannot be read, or its bytes are not records of the form. The records before that place come first.
    #[expect(clippy::should_implement_trait, reason = "the record borrows the buffer")]
    pub fn next(&mut self) -> Result<Option<&[u8]>, Error> {
        while self.block.as_ref().is_none_or(|block| self.next == block.pieces.len()) {
            self.next = 0;
            self.block = self.blocks.next(self.block.take())?;
            if self.block.is_none() {
                return Ok(None);
            }
        }
        self.next += 1;
        Ok(self.block.as_ref().map(|block| block.data(block.pieces[self.next - 1])))
    }

    /// The place of the record that was read last.
    #[must_use]
    pub fn place(&self) -> Option<Place> {
        let block = self.block.as_ref()?;
        Some(block.place_of(*block.pieces.get(self.next.checked_sub(1)?)?))
    }
}

/// Writes records.
///
/// Records that are still in the buffer are lost unless [`Self::finish`] is called.
pub struct Writer<W> {
    to: W,
    format: Format,
    buffer: Vec<u8>,
}

impl<W: Write> Writer<W> {
    /// A writer of records of this form.
    pub fn new(to: W, format: Format) -> Writer<W> {
        Writer { to, format, buffer: Vec::with_capacity(BUFFER) }
    }

    /// Writes a record. A fixed record must have exactly its length.
    ///
    /// # Errors
    /// [`Error::Long`] if the data do not fit into the form; [`Error::Output`].
    pub fn write(&mut self, data: &[u8]) -> Result<(), Error> {
        let longest = self.format.longest() as usize;
        let fits = match self.format {
            Format::Fixed(_) => data.len() == longest,
            Format::Lines => data.len() <= longest && memchr::memchr(b'\n', data).is_none(),
            Format::Variable(_) | Format::Undefined(_) => data.len() <= longest,
        };
        if !fits {
            return Err(Error::Long { length: data.len(), format: self.format });
        }
        if self.buffer.len() + data.len() + self.format.overhead() > BUFFER {
            self.flush()?;
        }
        self.format.append(data, &mut self.buffer);
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Error> {
        let failed = |error: io::Error| Error::Output { name: "the output".to_owned(), records: 0, error };
        self.to.write_all(&self.buffer).map_err(failed)?;
        self.buffer.clear();
        Ok(())
    }

    /// Writes the rest, and returns the output.
    ///
    /// # Errors
    /// [`Error::Output`].
    pub fn finish(mut self) -> Result<W, Error> {
        self.flush()?;
        Ok(self.to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_as_they_were_written() {
        let folder = crate::scratch::Folder::new("records");
        let path = folder.path().join("file");
        for format in [Format::Fixed(5), Format::Variable(300), Format::Undefined(5), Format::Lines] {
            let mut writer = Writer::new(std::fs::File::create(&path).expect("made"), format);
            (0..500_000).try_for_each(|_| writer.write(b"12345")).expect("written");
            writer.finish().expect("written");
            let mut records = Records::open(&path, format).expect("opened");
            let mut count = 0;
            while let Some(record) = records.next().expect("read") {
                assert_eq!(record, b"12345");
                count += 1;
            }
            assert_eq!(count, 500_000, "{format}");
            assert_eq!(records.next().expect("read"), None);
        }
    }

    #[test]
    fn a_record_that_does_not_fit_is_refused() {
        for (format, record) in [
            (Format::Fixed(3), &b"12"[..]),
            (Format::Fixed(3), b"1234"),
            (Format::Variable(7), b"1234"),
            (Format::Undefined(3), b"1234"),
            (Format::Lines, b"12\n4"),
        ] {
            let mut writer = Writer::new(Vec::new(), format);
            assert!(matches!(writer.write(record), Err(Error::Long { .. })), "{format}");
            assert!(writer.finish().expect("nothing").is_empty());
        }
    }

    #[test]
    fn records_before_a_bad_one_come_first() {
        let input = Input { name: "in".into(), bytes: Box::new(&b"\0\x05\0\0a\0\x05\0\0b\0\x03\0\0"[..]) };
        let mut records = Records::new(vec![input], Format::Variable(99));
        assert_eq!(records.next().expect("good"), Some(&b"a"[..]));
        assert_eq!(records.next().expect("good"), Some(&b"b"[..]));
        let error = records.next().expect_err("bad").to_string();
        assert!(error.starts_with("in, record 3 at byte 10: its descriptor word states 3 bytes"), "{error}");
    }

    #[test]
    fn the_place_of_a_record_is_known() {
        let input = Input { name: "in".into(), bytes: Box::new(&b"ab\ncd\n"[..]) };
        let mut records = Records::new(vec![input], Format::Lines);
        assert_eq!(records.place(), None);
        records.next().expect("read");
        records.next().expect("read");
        let place = records.place().expect("a record");
        assert_eq!((place.record, place.byte), (2, 3));
    }
}
