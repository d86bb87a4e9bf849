//! Runs: records in order, in memory, in the work file, or in an input of MERGE.
//!
//! ```text
//! fixed records   | record | record | ...
//! others          | length | record | length | record | ...           lengths of four bytes
//! ```
//!
//! Invariant: a run is read once, from its beginning to its end, and gives the records that were appended to it.
//! Not here: the order (`order`), the work file (`work`), and the merge of runs (`merge`).

use std::sync::Arc;

use crate::error::Error;
use crate::format::Format;
use crate::work::{Extent, Work};

/// Bytes of a length.
const LENGTH: usize = 4;

/// The form of records in runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    /// Bytes of every record; None: a length precedes each.
    fixed: Option<usize>,
}

impl Layout {
    /// For records of this form.
    #[must_use]
    pub fn of(format: Format) -> Layout {
        let fixed = if let Format::Fixed(length) = format { Some(length as usize) } else { None };
        Layout { fixed }
    }

    /// Bytes of this many records with this many bytes of data.
    #[must_use]
    pub fn bytes(self, records: usize, data: usize) -> usize {
        data + if self.fixed.is_some() { 0 } else { LENGTH * records }
    }

    /// Appends a record.
    #[inline]
    pub fn append(self, data: &[u8], to: &mut Vec<u8>) {
        if self.fixed.is_none() {
            to.extend_from_slice(&(data.len() as u32).to_ne_bytes());
        }
        to.extend_from_slice(data);
    }

    /// The place of the data of the record at `at`, if all of it is there.
    #[inline]
    fn data(self, bytes: &[u8], at: usize) -> Option<(usize, usize)> {
        let (from, length) = match self.fixed {
            Some(length) => (at, length),
            None => {
                let length = bytes.get(at..)?.first_chunk::<LENGTH>()?;
                (at + LENGTH, u32::from_ne_bytes(*length) as usize)
            }
        };
        (from + length <= bytes.len()).then_some((from, from + length))
    }
}

/// A source of a run's bytes.
pub trait More {
    /// Appends some of the next bytes. False: there are none.
    ///
    /// # Errors
    /// They cannot be read, or are not in order.
    fn more(&mut self, to: &mut Vec<u8>) -> Result<bool, Error>;
}

/// A run that is read.
pub struct Run<'a> {
    layout: Layout,
    /// The bytes that are in memory, all of them or a part.
    bytes: Vec<u8>,
    /// The place of the next record, and of the data of the current one.
    at: usize,
    data: (usize, usize),
    /// The rest.
    rest: Option<Box<dyn More + 'a>>,
}

impl<'a> Run<'a> {
    /// A run in memory.
    #[must_use]
    pub fn in_memory(layout: Layout, bytes: Vec<u8>) -> Run<'a> {
        Run { layout, bytes, at: 0, data: (0, 0), rest: None }
    }

    /// A run that is read part by part.
    #[must_use]
    pub fn of(layout: Layout, rest: impl More + 'a) -> Run<'a> {
        Run { layout, bytes: Vec::new(), at: 0, data: (0, 0), rest: Some(Box::new(rest)) }
    }

    /// The data of the current record.
    #[inline]
    #[must_use]
    pub fn record(&self) -> &[u8] {
        &self.bytes[self.data.0..self.data.1]
    }

    /// Goes on to the next record. False at the end, where the run gives its memory back.
    ///
    /// # Errors
    /// The bytes cannot be read.
    #[inline]
    pub fn advance(&mut self) -> Result<bool, Error> {
        loop {
            if let Some(data) = self.layout.data(&self.bytes, self.at) {
                (self.data, self.at) = (data, data.1);
                return Ok(true);
            }
            if !self.read_on()? {
                (self.bytes, self.at, self.data) = (Vec::new(), 0, (0, 0));
                return Ok(false);
            }
        }
    }

    /// Reads more. False at the end.
    #[cold]
    fn read_on(&mut self) -> Result<bool, Error> {
        let Some(rest) = &mut self.rest else { return Ok(false) };
        self.bytes.drain(..self.at);
        (self.at, self.data) = (0, (0, 0));
        rest.more(&mut self.bytes)
    }
}

/// A run in the work file.
pub struct InWork {
    /// Where it is.
    pub extent: Extent,
    /// Bytes that are read at a time.
    pub buffer: usize,
    /// The file, for errors.
    pub work: Arc<Work>,
}

impl More for InWork {
    fn more(&mut self, to: &mut Vec<u8>) -> Result<bool, Error> {
        // A record that is larger than the buffer is read in ever larger parts.
        let most = self.buffer.max(to.len());
        let is_more = self.extent.read(most, to).map_err(|error| self.work.error(error))?;
        if !is_more && !to.is_empty() {
            return Err(self.work.error(std::io::ErrorKind::UnexpectedEof.into()));
        }
        Ok(is_more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(mut run: Run) -> Vec<Vec<u8>> {
        let mut records = Vec::new();
        while run.advance().expect("read") {
            records.push(run.record().to_vec());
        }
        assert!(!run.advance().expect("read"), "the end stays");
        records
    }

    #[test]
    fn a_run_is_read_as_it_was_written() {
        let lines: Vec<Vec<u8>> = (0..200).map(|length| vec![length as u8; length * 7 % 150]).collect();
        let cards = vec![vec![b'x'; 80]; 33];
        let folder = crate::scratch::Folder::new("runs");
        for (format, all) in [(Format::Lines, lines), (Format::Fixed(80), cards)] {
            let layout = Layout::of(format);
            let mut memory = Vec::new();
            all.iter().for_each(|record| layout.append(record, &mut memory));
            let data = all.iter().map(Vec::len).sum();
            assert_eq!(layout.bytes(all.len(), data), memory.len());
            let work = Arc::new(Work::new(folder.path()));
            let extent = work.write(&memory).expect("written");
            assert_eq!(records(Run::in_memory(layout, memory)), all);
            for buffer in [1, 7, 64, 4096, 1 << 20] {
                let run = InWork { extent: extent.clone(), buffer, work: work.clone() };
                assert_eq!(records(Run::of(layout, run)), all, "{buffer}");
            }
        }
    }
}
