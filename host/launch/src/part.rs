//! Files that are replaced whole: written under a temporary name in the same folder, and then renamed.
//!
//! ```text
//! new-PROCESS-NUMBER ── written, synced if requested ── rename ──> the name
//! ```
//!
//! Invariant: a reader of the name has one whole content. A file that another process is writing is never removed: processes of two
//! containers may have the same number and the same folder, so if a name is taken the next number is used.
//! Not here: which folders are safe ([`crate::place`]).

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process;
use std::time::Duration;

const BEGINNING: &str = "new-";
/// More leftovers of one process number than this are not expected in a folder.
const MOST_TRIED: u32 = 1000;

/// Writes a new file of that mode and puts it in the place of `path`.
///
/// # Errors
/// Those of making, writing and renaming a file; then no part of it is left.
pub fn exchange(path: &Path, mode: u32, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let mut new = OpenOptions::new();
    new.write(true).create_new(true).mode(mode);
    let mut number = 0;
    let (part, mut file) = loop {
        let part = path.with_file_name(format!("{BEGINNING}{}-{number}", process::id()));
        match new.open(&part) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < MOST_TRIED => number += 1,
            opened => break (part, opened?),
        }
    };
    let written = write(&mut file).and_then(|()| fs::rename(&part, path));
    if written.is_err() {
        let _ = fs::remove_file(&part);
    }
    written
}

/// The names in a folder; none if it cannot be read.
pub fn names(folder: &Path) -> impl Iterator<Item = OsString> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.file_name())
}

/// Removes files that processes left in the folder when they ended while writing, of those with these names.
pub fn sweep(folder: &Path, names: &[OsString]) {
    for name in names.iter().filter(|name| name.as_encoded_bytes().starts_with(BEGINNING.as_bytes())) {
        let path = folder.join(name);
        if is_old(&path) {
            let _ = fs::remove_file(path);
        }
    }
}

/// Whether the file was last changed at least an hour ago. A newer one may belong to a process whose number
/// has no meaning here, as in another container.
pub fn is_old(path: &Path) -> bool {
    const HOUR: Duration = Duration::from_secs(3600);
    let changed =
        fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file).map(|status| status.modified());
    changed
        .is_some_and(|changed| changed.is_ok_and(|moment| moment.elapsed().is_ok_and(|since| since >= HOUR)))
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use std::io::Write;
    use std::time::SystemTime;

    /// Makes a file old enough to be removed.
    pub fn make_old(path: &Path) {
        let file = OpenOptions::new().write(true).open(path).expect("there");
        file.set_modified(SystemTime::now() - Duration::from_secs(2 * 3600)).expect("a time");
    }

    #[test]
    fn a_part_of_another_process_of_the_same_number_stays() {
        let folder = crate::place::tests::folder("part");
        let path = folder.join("name");
        let others = folder.join(format!("new-{}-0", process::id()));
        fs::write(&others, "of another container").expect("written");
        exchange(&path, 0o600, |file| file.write_all(b"ours")).expect("written");
        assert_eq!(fs::read(&others).expect("there"), b"of another container");
        assert_eq!(fs::read(&path).expect("there"), b"ours");
        let sweep_all = || sweep(&folder, &names(&folder).collect::<Vec<OsString>>());
        let failed = exchange(&path, 0o600, |_| Err(io::Error::other("the disk is full")));
        assert!(failed.is_err());
        assert_eq!(fs::read_dir(&folder).expect("there").count(), 2, "nothing of what failed is left");
        sweep_all();
        assert!(others.exists(), "somebody may be writing it");
        make_old(&others);
        make_old(&path);
        sweep_all();
        assert!(!others.exists() && path.exists());
        fs::remove_dir_all(&folder).expect("removed");
    }
}
