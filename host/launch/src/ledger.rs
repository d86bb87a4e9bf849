//! The file of the ledger: where it lies, and that it is ours alone.
//!
//! ```text
//! /dev/shm/underbar-UID/PID-TIME.ledger     in memory, seen by all processes of the user
//! /tmp/underbar-UID/PID-TIME.ledger         where there is no shared memory
//! ```
//!
//! Invariant: folder and file belong to the user, and nobody else can read, write or replace them. The file
//! is gone when the [`LedgerFile`] is, unless it was kept.
//! Not here: what is in it; whoever creates it passes a function that fills it.

use crate::library::create_folders;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process;
use std::time::{SystemTime, UNIX_EPOCH};
use underbar_runtime::follow::environment::LEDGER;
use underbar_sys::syscall::getuid;

/// The file of one run's ledger.
#[derive(Debug)]
pub struct LedgerFile {
    path: PathBuf,
    file: File,
    is_kept: bool,
}

impl LedgerFile {
    /// Creates the file in the first folder where `fill` succeeds: it allocates the space, so that a full
    /// shared memory shows here and not as a signal in the program.
    ///
    /// # Errors
    /// What went wrong in the last folder.
    pub fn create(fill: impl Fn(&File) -> io::Result<()>) -> io::Result<LedgerFile> {
        let folder = |parent: &str| Path::new(parent).join(format!("underbar-{}", getuid()));
        create_in(&folder("/dev/shm"), &fill).or_else(|_| create_in(&folder("/tmp"), &fill))
    }

    /// The variable that tells the library where it is.
    #[must_use]
    pub fn variable(&self) -> (OsString, OsString) {
        (String::from_utf8_lossy(LEDGER).into_owned().into(), self.path.clone().into())
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The open file, to be read and written.
    #[must_use]
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Leaves it behind: for a program that has no parent.
    pub fn keep(&mut self) {
        self.is_kept = true;
    }
}

impl Drop for LedgerFile {
    fn drop(&mut self) {
        if !self.is_kept {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn create_in(folder: &Path, fill: &impl Fn(&File) -> io::Result<()>) -> io::Result<LedgerFile> {
    create_folders(folder, &[folder])?;
    // The process and the time make the name unique: a process number comes back some day.
    let time = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    let path = folder.join(format!("{}-{time}.ledger", process::id()));
    let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
    let ledger = LedgerFile { path, file, is_kept: false };
    fill(&ledger.file)?;
    Ok(ledger)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn it_is_private_and_gone_afterwards() {
        let ledger = LedgerFile::create(|file| file.set_len(4096)).expect("a ledger");
        let path = ledger.path().to_path_buf();
        let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(path.parent().expect("a folder"))), (0o600, 0o700));
        assert_eq!(ledger.variable(), ("UNDERBAR_LEDGER".into(), path.clone().into()));
        assert_eq!(ledger.file().metadata().expect("open").len(), 4096);
        drop(ledger);
        assert!(!path.exists());
        let mut kept = LedgerFile::create(|_| Ok(())).expect("a ledger");
        kept.keep();
        let path = kept.path().to_path_buf();
        drop(kept);
        fs::remove_file(path).expect("it was kept");
    }

    #[test]
    fn what_cannot_be_filled_is_not_left_behind() {
        let folder = std::env::temp_dir().join(format!("underbar-ledger-{}", process::id()));
        let full = create_in(&folder, &|_| Err(io::Error::from_raw_os_error(28)));
        assert_eq!(full.expect_err("full").raw_os_error(), Some(28));
        assert_eq!(fs::read_dir(&folder).expect("a folder").count(), 0);
        fs::remove_dir(&folder).expect("removed");
    }
}
