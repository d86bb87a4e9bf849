//! Files that are exchanged whole: written under a name of their own in the same folder, and then renamed.
//!
//! ```text
//! new-PROCESS-NUMBER ── written, on the disk if asked for ── rename ──> the name
//! ```
//!
//! Invariant: whoever opens the name has one whole content. No file that somebody else is writing is taken away: processes of two
//! containers may have the same number and the same folder, so a name that is taken gives way to the next number.
//! Not here: which folder may be trusted ([`crate::place`]).

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
/// Those of making, writing and renaming a file; then nothing of it is left.
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

/// Removes what processes left in the folder that ended while they wrote.
pub fn sweep(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_name().as_encoded_bytes().starts_with(BEGINNING.as_bytes()) && is_old(&entry.path()) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Is it a file that was last changed an hour ago or earlier? One that is just being made may belong to a process whose number
/// means nothing here, as in another container.
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

    /// Makes a file as old as one that nobody is writing any more.
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
        let failed = exchange(&path, 0o600, |_| Err(io::Error::other("the disk is full")));
        assert!(failed.is_err());
        assert_eq!(fs::read_dir(&folder).expect("there").count(), 2, "nothing of what failed is left");
        sweep(&folder);
        assert!(others.exists(), "somebody may be writing it");
        make_old(&others);
        make_old(&path);
        sweep(&folder);
        assert!(!others.exists() && path.exists());
        fs::remove_dir_all(folder).expect("removed");
    }
}
