//! The file that is sorted, and the folder of the benchmark.
//!
//! Invariant: the file depends on the number of records only.

use crate::Error;
use std::fs::{self, File};
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};

/// Bytes of a record: 10 printable characters drawn by lot, the record's number, letters, and a line feed.
pub const RECORD: usize = 100;
/// The seed of the characters.
const SEED: u64 = 88_172_645_463_325_252;

/// The folder with input, output and work files; it is removed at the end.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    is_made: bool,
}

impl Folder {
    /// Makes it, empty.
    ///
    /// # Errors
    /// The system's.
    pub fn new(path: &Path) -> Result<Self, Error> {
        let _ = fs::remove_dir_all(path);
        fs::create_dir_all(path).map_err(|error| Error::system("creating a folder for the files", &error))?;
        Ok(Self { path: path.to_owned(), is_made: true })
    }

    #[cfg(test)]
    pub fn named() -> Self {
        Self { path: PathBuf::from("/folder"), is_made: false }
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file that is sorted.
    pub fn input(&self) -> PathBuf {
        self.path.join("input")
    }

    /// The sorted file.
    pub fn output(&self) -> PathBuf {
        self.path.join("output")
    }

    /// The first sorted file, with which the others are compared.
    pub fn first(&self) -> PathBuf {
        self.path.join("first")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if self.is_made {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// Writes the file.
///
/// # Errors
/// The system's.
pub fn write(path: &Path, records: u64) -> Result<(), Error> {
    let failed = |error| Error::system("writing the records", &error);
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path).map_err(failed)?);
    let mut state = SEED;
    for number in 0..records {
        file.write_all(&record(number, &mut state)).map_err(failed)?;
    }
    file.flush().map_err(failed)
}

fn record(number: u64, state: &mut u64) -> [u8; RECORD] {
    let mut record = [b'x'; RECORD];
    for byte in &mut record[..10] {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        *byte = b'!' + (*state % 94) as u8;
    }
    record[10..46].copy_from_slice(format!("  {number:032x}  ").as_bytes());
    record[RECORD - 1] = b'\n';
    record
}

/// Whether two files have the same bytes.
///
/// # Errors
/// The system's.
pub fn are_equal(one: &Path, other: &Path) -> Result<bool, Error> {
    let failed = |error| Error::system("comparing the outputs", &error);
    let [mut one, mut other] = [File::open(one).map_err(failed)?, File::open(other).map_err(failed)?];
    let mut buffers = [vec![0; 1 << 20], vec![0; 1 << 20]];
    loop {
        let [ours, theirs] = &mut buffers;
        let count = one.read(ours).map_err(failed)?;
        if count == 0 {
            return Ok(other.read(theirs).map_err(failed)? == 0);
        }
        if other.read_exact(&mut theirs[..count]).is_err() || ours[..count] != theirs[..count] {
            return Ok(false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_lines_of_their_length_and_files_are_compared() {
        let folder =
            Folder::new(&std::env::temp_dir().join(format!("underbar-bench-{}", std::process::id())))
                .expect("made");
        write(&folder.input(), 1_000).expect("written");
        write(&folder.output(), 1_000).expect("written");
        let bytes = fs::read(folder.input()).expect("read");
        assert_eq!(bytes.len(), 1_000 * RECORD);
        assert_eq!(bytes.iter().filter(|byte| **byte == b'\n').count(), 1_000);
        assert!(are_equal(&folder.input(), &folder.output()).expect("read"));
        fs::write(folder.output(), &bytes[..bytes.len() - 1]).expect("written");
        assert!(!are_equal(&folder.input(), &folder.output()).expect("read"));
        assert!(!are_equal(&folder.output(), &folder.input()).expect("read"));
    }
}
