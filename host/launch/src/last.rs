//! The report of the last run, kept so that it can be printed again in another form without another run.
//!
//! ```text
//! run ends ── keep ──> FOLDER/last.json   (the folder in which runs have their ledgers, the user's alone)
//! underbar report ── kept ──> the newest of all such folders
//! ```
//!
//! Invariant: one file in each folder, no longer than [`MOST_BYTES`]; it is exchanged whole, so that whoever reads it has one
//! run. Where the last report is too long or cannot be written there is none, and not that of an earlier run.
//! Not here: the report's form (`host/report`).

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::PathBuf;
use std::process;

use crate::ledger::{ENDING, folders, open_file, own_folder, own_folder_there};

/// What is kept lies in memory, as a rule.
pub const MOST_BYTES: usize = 4 << 20;

const NAME: &str = "last.json";

/// Keeps a report as that of the last run.
///
/// # Errors
/// Where it is too long, or no folder takes it.
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

fn write(path: &std::path::Path, report: &[u8]) -> io::Result<()> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    if report.len() > MOST_BYTES {
        return Err(io::Error::from(io::ErrorKind::FileTooLarge));
    }
    // If this process is killed meanwhile, a later run sweeps it away as it does a ledger whose maker is dead.
    let part = path.with_file_name(format!("{}-0.{ENDING}", process::id()));
    let mut new = fs::OpenOptions::new();
    let mut file = new.write(true).create_new(true).mode(0o600).open(&part)?;
    let written = file.write_all(report).and_then(|()| fs::rename(&part, path));
    if written.is_err() {
        let _ = fs::remove_file(&part);
    }
    written
}

/// The report of the last run, with the file that it is in.
#[must_use]
pub fn kept() -> Option<(PathBuf, Vec<u8>)> {
    let files = folders().filter(|folder| own_folder_there(folder)).filter_map(|folder| {
        let path = folder.join(NAME);
        let file: File = open_file(&path)?;
        let moment = file.metadata().and_then(|status| status.modified()).ok()?;
        Some((moment, path, file))
    });
    let (_, path, file) = files.max_by_key(|(moment, ..)| *moment)?;
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
