//! The report of the last run, kept so that it can be printed in another form without another run.
//!
//! ```text
//! run ends ── keep ──> FOLDER/last.json   (the folder in which runs have their ledgers, the user's alone)
//! underbar report ── kept ──> the first such folder with a report, in the order of a run's search
//! ```
//!
//! Invariant: one file in each folder, no longer than [`MOST_BYTES`]; it is replaced whole, so that a reader has one
//! run. If the last report is too long or cannot be written there is none, and the report of an earlier run is removed.
//! Not here: the report's form (`host/report`).

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use crate::ledger::{folders, own_folder, own_folder_there};
use crate::{foreign_file, part};

/// A kept report is usually in memory (a tmpfs).
pub const MOST_BYTES: usize = 4 << 20;

const NAME: &str = "last.json";

/// Keeps a report as that of the last run.
///
/// # Errors
/// If it is too long, or no folder accepts it.
pub fn keep(report: &[u8]) -> io::Result<()> {
    let mut last = io::Error::other("no folder for it");
    for folder in folders() {
        let kept = own_folder(&folder).and_then(|folder| {
            let path = folder.join(NAME);
            let written = write(&path, report);
            if written.is_err() {
                let _ = fs::remove_file(&path);
            }
            written
        });
        match kept {
            Ok(()) => return Ok(()),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn write(path: &Path, report: &[u8]) -> io::Result<()> {
    if report.len() > MOST_BYTES {
        return Err(io::Error::from(io::ErrorKind::FileTooLarge));
    }
    // If this process is killed meanwhile, a later run removes the partial file.
    part::exchange(path, 0o600, |file| file.write_all(report))
}

/// The report of the last run, with the file that it is in.
#[must_use]
pub fn kept() -> Option<(PathBuf, Vec<u8>)> {
    let (path, file) = folders().find_map(|folder| {
        let path = own_folder_there(&folder)?.join(NAME);
        let file: File = foreign_file::open_unlinked(&path).ok()?;
        Some((path, file))
    })?;
    let mut bytes = Vec::new();
    file.take(MOST_BYTES as u64).read_to_end(&mut bytes).ok()?;
    Some((path, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::tests::folder;

    #[test]
    fn a_report_takes_the_place_of_the_one_before_and_a_long_one_is_refused() {
        let folder = folder("last");
        let path = folder.join(NAME);
        for report in [&b"first"[..], b"second, which is longer", b"third"] {
            write(&path, report).expect("written");
            assert_eq!(fs::read(&path).expect("there"), report);
        }
        assert!(write(&path, &vec![b' '; MOST_BYTES + 1]).is_err());
        assert_eq!(fs::read_dir(&folder).expect("there").count(), 1, "no part is left");
        fs::remove_dir_all(folder).expect("removed");
    }
}
