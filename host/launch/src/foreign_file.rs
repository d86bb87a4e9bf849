//! Opens a file whose name comes from others: from a ledger, a saved report, or the first line of a script.
//!
//! Invariant: it never waits for the other end of a pipe, and opens no device, since opening alone may have an effect
//! (a watchdog begins to count, a tape rewinds).
//! Not here: the file's owner ([`crate::place`]).

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use underbar_sys::syscall::{O_NOCTTY, O_NOFOLLOW, O_NONBLOCK};

/// Opens a regular file for reading.
///
/// # Errors
/// Those of opening it; and a file that is not regular.
pub fn open(path: &Path) -> io::Result<File> {
    open_with(path, 0, |path| fs::metadata(path))
}

/// Like [`open`], but refuses a link.
///
/// # Errors
/// Those of [`open`].
pub(crate) fn open_unlinked(path: &Path) -> io::Result<File> {
    open_with(path, O_NOFOLLOW, |path| fs::symlink_metadata(path))
}

/// Opens a regular file for writing; refuses a link.
///
/// # Errors
/// Those of [`open`].
pub(crate) fn open_to_write(path: &Path) -> io::Result<File> {
    let flags = (O_NONBLOCK | O_NOCTTY | O_NOFOLLOW).cast_signed();
    checked(OpenOptions::new().write(true).custom_flags(flags), path, |path| fs::symlink_metadata(path))
}

fn open_with(path: &Path, flags: u32, ask: impl Fn(&Path) -> io::Result<fs::Metadata>) -> io::Result<File> {
    let flags = (O_NONBLOCK | O_NOCTTY | flags).cast_signed();
    checked(OpenOptions::new().read(true).custom_flags(flags), path, ask)
}

fn checked(
    options: &OpenOptions,
    path: &Path,
    ask: impl Fn(&Path) -> io::Result<fs::Metadata>,
) -> io::Result<File> {
    let none = || Err(io::Error::other("it is not a regular file"));
    if !ask(path)?.is_file() {
        return none();
    }
    // It may be another one now; opening still waits for no other process.
    let file = options.open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { none() }
}

/// The interpreter of a script; if that is a script itself, the last one. None if the file is not a script.
#[must_use]
pub fn interpreter(path: &Path) -> Option<PathBuf> {
    /// The bytes of the first line that the kernel reads.
    const LINE: u64 = 256;
    let mut found: Option<PathBuf> = None;
    // The most levels that the kernel follows.
    for _ in 0..5 {
        let mut bytes = Vec::new();
        let file = open(found.as_deref().unwrap_or(path)).ok()?;
        file.take(LINE).read_to_end(&mut bytes).ok()?;
        let Some(line) = bytes.strip_prefix(b"#!") else { return found };
        let line = line.split(|&byte| byte == b'\n').next().unwrap_or_default();
        let line = String::from_utf8_lossy(line).into_owned();
        found = Some(PathBuf::from(line.split_whitespace().next()?));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use std::process::Command;

    #[test]
    fn ordinary_files_only() {
        let folder = crate::place::tests::folder("foreign");
        let (file, link, pipe) = (folder.join("file"), folder.join("link"), folder.join("pipe"));
        fs::write(&file, "#!/bin/sh -e\n").expect("written");
        symlink("file", &link).expect("linked");
        assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
        assert!(open(&file).is_ok() && open(&link).is_ok());
        assert!(open_unlinked(&file).is_ok() && open_unlinked(&link).is_err());
        for other in [&pipe, &folder, Path::new("/dev/null"), &folder.join("absent")] {
            assert!(open(other).is_err() && open_unlinked(other).is_err(), "{other:?}");
        }
        assert_eq!(interpreter(&link), Some("/bin/sh".into()));
        assert_eq!((interpreter(&pipe), interpreter(Path::new("/proc/self/exe"))), (None, None));
        fs::remove_dir_all(folder).expect("removed");
    }
}
