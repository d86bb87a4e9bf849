//! Runs: records in their order, in memory or in a work file.
//!
//! ```text
//! fixed records   | record | record | ...
//! others          | length | record | length | record | ...           lengths of four bytes
//! ```
//!
//! Work files have no name: they are gone when they are closed, however the process ends.
//!
//! Invariant: a run is read as it was written, from its beginning to its end, once.
//! Not here: the order (`sort`), and runs together (`merge`).

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::Path;

use rustix::fs::{Mode, OFlags};

use crate::format::Format;

/// Bytes of a length.
const LENGTH: usize = 4;

/// How records are in runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    /// Bytes of each record; None: a length is before each.
    fixed: Option<usize>,
}

impl Layout {
    /// For records of that form.
    #[must_use]
    pub fn of(format: Format) -> Layout {
        let fixed = if let Format::Fixed(length) = format { Some(length as usize) } else { None };
        Layout { fixed }
    }

    /// Bytes that so many records with so many bytes of data take.
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

    /// Where the data of the record at a place are, if it is whole there.
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

/// A run that is read.
pub struct Run {
    layout: Layout,
    /// The bytes in memory, all of them or a part.
    bytes: Vec<u8>,
    /// Where the next record begins, and where the data of this one are.
    at: usize,
    data: (usize, usize),
    /// What is not in memory yet.
    rest: Option<Rest>,
}

struct Rest {
    file: File,
    /// Bytes that were not read yet, and how many are read at a time.
    left: u64,
    buffer: usize,
}

impl Run {
    /// A run in memory.
    #[must_use]
    pub fn in_memory(layout: Layout, bytes: Vec<u8>) -> Run {
        Run { layout, bytes, at: 0, data: (0, 0), rest: None }
    }

    /// A run in a work file, which is read from its beginning, so many bytes at a time.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn in_file(layout: Layout, mut file: File, bytes: u64, buffer: usize) -> io::Result<Run> {
        file.rewind()?;
        Ok(Run { layout, bytes: Vec::new(), at: 0, data: (0, 0), rest: Some(Rest { file, left: bytes, buffer }) })
    }

    /// How its records are.
    #[must_use]
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// The data of the record.
    #[inline]
    #[must_use]
    pub fn record(&self) -> &[u8] {
        &self.bytes[self.data.0..self.data.1]
    }

    /// Goes on to the next record. False at the end.
    ///
    /// # Errors
    /// The work file cannot be read.
    #[inline]
    pub fn advance(&mut self) -> io::Result<bool> {
        loop {
            if let Some(data) = self.layout.data(&self.bytes, self.at) {
                (self.data, self.at) = (data, data.1);
                return Ok(true);
            }
            if !self.read_on()? {
                return Ok(false);
            }
        }
    }

    /// Reads more of the work file. False at its end.
    #[cold]
    fn read_on(&mut self) -> io::Result<bool> {
        let Some(rest) = &mut self.rest else { return Ok(false) };
        self.bytes.drain(..self.at);
        self.at = 0;
        let from = self.bytes.len();
        // A record that is larger than the buffer is read whole.
        let more = rest.left.min(rest.buffer.max(from) as u64) as usize;
        if more == 0 {
            return if from == 0 { Ok(false) } else { Err(io::ErrorKind::UnexpectedEof.into()) };
        }
        self.bytes.resize(from + more, 0);
        rest.file.read_exact(&mut self.bytes[from..])?;
        rest.left -= more as u64;
        Ok(true)
    }
}

/// A work file without a name.
///
/// # Errors
/// The folder takes none.
pub fn work_file(folder: &Path) -> io::Result<File> {
    let mode = Mode::RUSR | Mode::WUSR;
    match rustix::fs::open(folder, OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC, mode) {
        Ok(file) => Ok(file.into()),
        // Some file systems have no files without a name.
        Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::ISDIR | rustix::io::Errno::NOENT) => {
            let name = folder.join(format!(".underbar-sort-{}-{:x}", std::process::id(), unique()));
            let file = File::options().read(true).write(true).create_new(true).open(&name)?;
            std::fs::remove_file(&name)?;
            Ok(file)
        }
        Err(error) => Err(error.into()),
    }
}

/// Another number at each call.
fn unique() -> u64 {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Writes whole buffers, and counts.
pub struct Writer<W> {
    to: W,
    buffer: Vec<u8>,
    size: usize,
    /// Bytes that were written, and calls.
    pub bytes: u64,
    /// Calls of the writer below.
    pub writes: u64,
}

impl<W: Write> Writer<W> {
    /// With a buffer of so many bytes.
    pub fn new(to: W, size: usize) -> Writer<W> {
        Writer { to, buffer: Vec::with_capacity(size), size, bytes: 0, writes: 0 }
    }

    /// Appends what `append` adds to the buffer.
    ///
    /// # Errors
    /// A full buffer cannot be written.
    #[inline]
    pub fn append(&mut self, append: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        append(&mut self.buffer);
        if self.buffer.len() >= self.size { self.flush() } else { Ok(()) }
    }

    /// Writes what the buffer has.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn flush(&mut self) -> io::Result<()> {
        if !self.buffer.is_empty() {
            self.to.write_all(&self.buffer)?;
            self.bytes += self.buffer.len() as u64;
            self.writes += 1;
            self.buffer.clear();
        }
        Ok(())
    }

    /// The writer below. What was not flushed is lost.
    pub fn into_inner(self) -> W {
        self.to
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
        records
    }

    #[test]
    fn a_run_is_read_as_it_was_written() {
        let lines: Vec<Vec<u8>> = (0..200).map(|length| vec![length as u8; length * 7 % 150]).collect();
        let cards = vec![vec![b'x'; 80]; 33];
        for (format, all) in [(Format::Lines, lines), (Format::Fixed(80), cards)] {
            let layout = Layout::of(format);
            let mut writer = Writer::new(work_file(&std::env::temp_dir()).expect("a file"), 500);
            let mut memory = Vec::new();
            for record in &all {
                writer.append(|to| layout.append(record, to)).expect("written");
                layout.append(record, &mut memory);
            }
            writer.flush().expect("written");
            assert_eq!(writer.bytes, memory.len() as u64);
            assert!(writer.writes <= writer.bytes / 500 + 1);
            let data = all.iter().map(Vec::len).sum();
            assert_eq!(layout.bytes(all.len(), data), memory.len());
            assert_eq!(records(Run::in_memory(layout, memory)), all);
            let bytes = writer.bytes;
            let file = writer.into_inner();
            for buffer in [1, 7, 64, 4096, 1 << 20] {
                let again = file.try_clone().expect("a file");
                assert_eq!(records(Run::in_file(layout, again, bytes, buffer).expect("read")), all, "{buffer}");
            }
        }
    }
}
