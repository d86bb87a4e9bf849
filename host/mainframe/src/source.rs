//! Sources of bytes: a file, memory, or pieces of another source, read on request.
//!
//! ```text
//! file on disk <── pieces: data of a transmission <── pieces: one member <── ...
//!              <── tape: blocks, inflated when read
//!              <── disk: tracks, inflated when read
//! ```
//!
//! A container does not copy its contents: it records the places of the pieces. So a library in a transmission in a library costs
//! one entry for each piece, and its bytes are read from the file once, on request.
//!
//! Invariant: a read returns all requested bytes, or an error with the place; it never allocates more
//! than the source's length.
//! Not here: the meaning of the bytes.

use std::fmt;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use underbar_shown::Shown;

/// Bytes that can be read at any offset.
pub trait Source: Send + Sync {
    /// The number of bytes.
    fn length(&self) -> u64;

    /// Fills `into` with the bytes from `at`.
    ///
    /// # Errors
    /// If they end before, or cannot be read.
    fn read(&self, at: u64, into: &mut [u8]) -> Result<(), ReadError>;
}

/// A source that several containers share.
pub type Shared = Arc<dyn Source>;

/// Bytes could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The source ends before: the container, or the caller, counted wrongly.
    #[error("{wanted} bytes wanted at {at}, but there are {length}")]
    Beyond {
        /// The first requested byte.
        at: u64,
        /// The number of requested bytes.
        wanted: u64,
        /// The number of bytes in all.
        length: u64,
    },
    /// The system could not open or read the file.
    #[error("{}: {message}", path.shown())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        message: String,
    },
    /// Compressed data does not inflate.
    #[error("compressed data at {at}: {message}")]
    Packed {
        /// Its place.
        at: u64,
        /// The fault.
        message: String,
    },
}

/// `length` bytes from `at`, in memory of their own.
///
/// # Errors
/// If they end before, or cannot be read. Nothing is allocated for missing bytes.
pub fn take(source: &dyn Source, at: u64, length: u64) -> Result<Vec<u8>, ReadError> {
    within(at, length, source.length())?;
    let beyond = || ReadError::Beyond { at, wanted: length, length: source.length() };
    let mut bytes = vec![0; usize::try_from(length).map_err(|_| beyond())?];
    source.read(at, &mut bytes)?;
    Ok(bytes)
}

/// Up to `length` bytes from `at`: fewer if the source ends.
///
/// # Errors
/// If they cannot be read.
pub fn some(source: &dyn Source, at: u64, length: u64) -> Result<Vec<u8>, ReadError> {
    let there = source.length().saturating_sub(at).min(length);
    if there == 0 { Ok(Vec::new()) } else { take(source, at, there) }
}

fn within(at: u64, wanted: u64, length: u64) -> Result<(), ReadError> {
    match at.checked_add(wanted) {
        Some(end) if end <= length => Ok(()),
        _ => Err(ReadError::Beyond { at, wanted, length }),
    }
}

/// Bytes in memory.
pub struct Memory(Vec<u8>);

impl Memory {
    /// These bytes, shared.
    #[must_use]
    pub fn shared(bytes: Vec<u8>) -> Shared {
        Arc::new(Memory(bytes))
    }
}

impl Source for Memory {
    fn length(&self) -> u64 {
        self.0.len() as u64
    }

    fn read(&self, at: u64, into: &mut [u8]) -> Result<(), ReadError> {
        within(at, into.len() as u64, self.length())?;
        // `within` has checked that `at` is not beyond a length that is a usize.
        let at = at as usize;
        into.copy_from_slice(&self.0[at..at + into.len()]);
        Ok(())
    }
}

/// A file, read in place. Short reads (segments of 253 bytes are frequent) come from a piece that is read ahead.
pub struct OpenFile {
    file: File,
    path: PathBuf,
    length: u64,
    /// The offset of the piece, and its bytes.
    ahead: Mutex<(u64, Vec<u8>)>,
}

/// Bytes of a file that one read takes for short reads, and the limit of short reads.
const PIECE: u64 = 256 * 1024;
const SHORT: usize = 16 * 1024;

impl OpenFile {
    /// Opens a file for reading.
    ///
    /// # Errors
    /// The system's error.
    pub fn open(path: &Path) -> Result<Shared, ReadError> {
        let failed =
            |error: std::io::Error| ReadError::File { path: path.to_owned(), message: error.to_string() };
        // Checked before opening: opening a pipe waits for its writer.
        if !std::fs::metadata(path).map_err(failed)?.is_file() {
            return Err(ReadError::File { path: path.to_owned(), message: "is not a plain file".to_owned() });
        }
        let file = File::open(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        Ok(Arc::new(OpenFile {
            file,
            path: path.to_owned(),
            length: metadata.len(),
            ahead: Mutex::new((0, Vec::new())),
        }))
    }
}

impl OpenFile {
    fn now(&self, at: u64, into: &mut [u8]) -> Result<(), ReadError> {
        self.file
            .read_exact_at(into, at)
            .map_err(|error| ReadError::File { path: self.path.clone(), message: error.to_string() })
    }
}

impl Source for OpenFile {
    fn length(&self) -> u64 {
        self.length
    }

    fn read(&self, at: u64, into: &mut [u8]) -> Result<(), ReadError> {
        within(at, into.len() as u64, self.length)?;
        if into.len() > SHORT {
            return self.now(at, into);
        }
        // A thread that panicked while it held the lock left a whole pair, since the pair is replaced at once.
        let mut ahead = self.ahead.lock().unwrap_or_else(PoisonError::into_inner);
        let piece = |ahead: &(u64, Vec<u8>)| {
            let skip = usize::try_from(at.checked_sub(ahead.0)?).ok()?;
            Some(skip..skip.checked_add(into.len()).filter(|end| *end <= ahead.1.len())?)
        };
        let range = match piece(&ahead) {
            Some(range) => range,
            None => {
                // Not more than the file's length, with which `within` has compared.
                let mut bytes = vec![0; (self.length - at).min(PIECE) as usize];
                self.now(at, &mut bytes)?;
                *ahead = (at, bytes);
                0..into.len()
            }
        };
        into.copy_from_slice(&ahead.1[range]);
        Ok(())
    }
}

/// Pieces of another source, one after the other.
pub struct Pieces {
    base: Shared,
    /// The offset of each piece here, and in the base. Ascending; a piece ends where the next begins.
    starts: Vec<(u64, u64)>,
    length: u64,
}

impl Pieces {
    /// No pieces yet.
    #[must_use]
    pub fn of(base: &Shared) -> Pieces {
        Pieces { base: Arc::clone(base), starts: Vec::new(), length: 0 }
    }

    /// Adds `length` bytes of the base, from `at`. Neighbours become one piece.
    pub fn add(&mut self, at: u64, length: u64) {
        if length == 0 {
            return;
        }
        let follows = self.starts.last().is_some_and(|(here, there)| there + (self.length - here) == at);
        if !follows {
            self.starts.push((self.length, at));
        }
        self.length += length;
    }

    /// Bytes in all pieces so far.
    #[must_use]
    pub fn so_far(&self) -> u64 {
        self.length
    }

    /// The finished pieces as a source.
    #[must_use]
    pub fn shared(self) -> Shared {
        Arc::new(self)
    }
}

impl Source for Pieces {
    fn length(&self) -> u64 {
        self.length
    }

    fn read(&self, at: u64, into: &mut [u8]) -> Result<(), ReadError> {
        within(at, into.len() as u64, self.length)?;
        let (mut at, mut rest) = (at, into);
        let mut index = self.starts.partition_point(|(here, _)| *here <= at);
        while !rest.is_empty() {
            // A byte within the length is in a piece, so at least one begins at or before it.
            let (here, there) = self.starts[index - 1];
            let end = self.starts.get(index).map_or(self.length, |(next, _)| *next);
            let now = rest.len().min(usize::try_from(end - at).unwrap_or(usize::MAX));
            let (part, later) = rest.split_at_mut(now);
            self.base.read(there + (at - here), part)?;
            (rest, at, index) = (later, at + now as u64, index + 1);
        }
        Ok(())
    }
}

/// One record or block: its place in its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// Its first byte.
    pub at: u64,
    /// Its bytes.
    pub length: u32,
}

/// Records or blocks in order.
#[derive(Clone)]
pub struct Records {
    /// Their source.
    pub source: Shared,
    /// Their places. Shared: for a file that is packed to nothing these are its only memory, and an item keeps its records.
    pub stretches: Arc<Vec<Stretch>>,
}

impl fmt::Debug for Records {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{} records of {} bytes", self.stretches.len(), self.bytes())
    }
}

impl Records {
    /// Their number.
    #[must_use]
    pub fn count(&self) -> usize {
        self.stretches.len()
    }

    /// Bytes in all of them.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.stretches.iter().map(|one| u64::from(one.length)).sum()
    }

    /// The bytes of one of them.
    ///
    /// # Errors
    /// If it cannot be read; `Beyond` if there is no such record.
    pub fn read(&self, index: usize) -> Result<Vec<u8>, ReadError> {
        let one = self.stretches.get(index).ok_or(ReadError::Beyond {
            at: index as u64,
            wanted: 1,
            length: self.stretches.len() as u64,
        })?;
        take(&*self.source, one.at, u64::from(one.length))
    }

    /// All of them glued, as a source that copies nothing.
    #[must_use]
    pub fn joined(&self) -> Shared {
        let mut pieces = Pieces::of(&self.source);
        for one in self.stretches.iter() {
            pieces.add(one.at, u64::from(one.length));
        }
        pieces.shared()
    }
}

/// A view that slides forward over a source, for parsers that read headers one after the other.
///
/// It reads little at first and twice as much each time: a file may be thousands of small items, each with a window of its
/// own, and none of them pays for the bytes after it.
pub(crate) struct Window<'a> {
    source: &'a dyn Source,
    start: u64,
    bytes: Vec<u8>,
    /// Bytes that it reads next.
    ahead: u64,
}

/// Bytes that a window reads at once, at first and at most.
const AHEAD_FIRST: u64 = 256;
const AHEAD_MOST: u64 = 64 * 1024;

impl<'a> Window<'a> {
    pub(crate) fn new(source: &'a dyn Source) -> Window<'a> {
        Window { source, start: 0, bytes: Vec::new(), ahead: AHEAD_FIRST }
    }

    /// `length` bytes from `at`.
    pub(crate) fn get(&mut self, at: u64, length: usize) -> Result<&[u8], ReadError> {
        let held = at.checked_sub(self.start).and_then(|skip| usize::try_from(skip).ok());
        let held = held.filter(|skip| skip.checked_add(length).is_some_and(|end| end <= self.bytes.len()));
        let skip = match held {
            Some(skip) => skip,
            None => {
                within(at, length as u64, self.source.length())?;
                self.bytes = some(self.source, at, self.ahead.max(length as u64))?;
                self.start = at;
                self.ahead = (2 * self.ahead).min(AHEAD_MOST);
                0
            }
        };
        Ok(&self.bytes[skip..skip + length])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    fn memory() -> Shared {
        Memory::shared((0..=255).collect())
    }

    #[test]
    fn pieces_are_read_across_their_borders() {
        let base = memory();
        let mut pieces = Pieces::of(&base);
        pieces.add(10, 3);
        pieces.add(13, 2);
        pieces.add(0, 0);
        pieces.add(200, 4);
        pieces.add(1, 1);
        assert_eq!(pieces.starts.len(), 3, "neighbours are one piece");
        let pieces = pieces.shared();
        assert_eq!(take(&*pieces, 0, 10).unwrap(), [10, 11, 12, 13, 14, 200, 201, 202, 203, 1]);
        assert_eq!(take(&*pieces, 4, 3).unwrap(), [14, 200, 201]);
        assert_eq!(take(&*pieces, 9, 1).unwrap(), [1]);
        assert!(take(&*pieces, 10, 0).unwrap().is_empty());
        assert_eq!(take(&*pieces, 9, 2), Err(ReadError::Beyond { at: 9, wanted: 2, length: 10 }));
        let mut inner = Pieces::of(&pieces);
        inner.add(3, 4);
        assert_eq!(take(&*inner.shared(), 1, 3).unwrap(), [14, 200, 201]);
    }

    #[test]
    fn absurd_lengths_allocate_nothing() {
        let base = memory();
        for (at, length) in [(0, u64::MAX), (u64::MAX, 1), (u64::MAX, u64::MAX), (1, 256)] {
            assert!(matches!(take(&*base, at, length), Err(ReadError::Beyond { .. })), "{at} {length}");
        }
        assert_eq!(some(&*base, 250, u64::MAX).unwrap().len(), 6);
        assert!(some(&*base, u64::MAX, u64::MAX).unwrap().is_empty());
    }

    #[test]
    fn a_window_slides_and_knows_the_end() {
        let base = memory();
        let mut window = Window::new(&*base);
        assert_eq!(window.get(3, 2).unwrap(), [3, 4]);
        assert_eq!(window.get(250, 6).unwrap(), [250, 251, 252, 253, 254, 255]);
        assert_eq!(window.get(0, 1).unwrap(), [0]);
        assert!(window.get(255, 2).is_err());
        assert!(window.get(u64::MAX, 2).is_err());
    }

    /// Counts the bytes that are read of it.
    struct Counted(AtomicU64);

    impl Source for Counted {
        fn length(&self) -> u64 {
            1 << 20
        }

        fn read(&self, at: u64, into: &mut [u8]) -> Result<(), ReadError> {
            within(at, into.len() as u64, self.length())?;
            self.0.fetch_add(into.len() as u64, Ordering::Relaxed);
            Ok(())
        }
    }

    #[test]
    fn a_window_reads_no_more_ahead_than_it_came_forward() {
        let source = Counted(AtomicU64::new(0));
        let mut window = Window::new(&source);
        for at in 0..20_000 {
            window.get(at, 2).unwrap();
            let read = source.0.load(Ordering::Relaxed);
            assert!(read <= 3 * at + 512, "{read} at {at}");
        }
        // A reader that continues reads large pieces.
        for at in (20_000..1 << 20).step_by(2) {
            window.get(at, 2).unwrap();
        }
        assert!(window.bytes.len() as u64 <= AHEAD_MOST && window.ahead == AHEAD_MOST);
    }

    #[test]
    fn a_file_gives_the_bytes_that_were_asked_for() {
        let path = std::env::temp_dir().join(format!("underbar-source-{}", std::process::id()));
        let bytes: Vec<u8> = (0..600_000_u32).map(|index| (index / 7) as u8).collect();
        std::fs::write(&path, &bytes).unwrap();
        let file = OpenFile::open(&path).unwrap();
        for (at, length) in [
            (0, 2),
            (1, 300_000),
            (262_143, 2),
            (262_142, 2),
            (5, 16_384),
            (599_999, 1),
            (0, 600_000),
            (600_000, 0),
        ] {
            assert!(
                take(&*file, at, length).unwrap() == bytes[at as usize..(at + length) as usize],
                "{at} {length}"
            );
        }
        assert!(take(&*file, 599_999, 2).is_err());
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn files_say_who_they_are() {
        let error = OpenFile::open(Path::new("/no/such/file")).err().unwrap();
        assert!(error.to_string().starts_with("/no/such/file: "), "{error}");
        assert!(OpenFile::open(Path::new("/")).err().unwrap().to_string().contains("not a plain file"));
    }

    #[test]
    fn records_are_read_one_by_one_or_glued() {
        let records = Records {
            source: memory(),
            stretches: vec![Stretch { at: 5, length: 2 }, Stretch { at: 100, length: 1 }].into(),
        };
        assert_eq!(records.read(1).unwrap(), [100]);
        assert!(records.read(2).is_err());
        assert_eq!(take(&*records.joined(), 0, 3).unwrap(), [5, 6, 100]);
        assert_eq!((records.count(), records.bytes()), (2, 3));
    }
}
