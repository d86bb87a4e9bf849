//! Files of single processes of a run next to its ledger: their lock areas, their samples, their displays of ECBs, their sampled requests.
//!
//! ```text
//! 4711-5e.ledger                      the ledger
//! 4711-5e.ledger.4712-6a.locks        of process 4712, which began at that time
//! 4711-5e.ledger.4712-6b.samples
//! 4711-5e.ledger.4712-6c.ecbs         a display of ECBs that was asked for
//! 4711-5e.ledger.4712-6d.sites        sampled requests
//! ```
//!
//! Invariant: the name alone ties a file to a ledger, and it is removed with the ledger.
//! Not here: which ledgers to remove ([`mod@super::sweep`]); the contents of an area (the `ledger` crate).

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use underbar_ledger::locks::{AREAS, Area};

use crate::{foreign_file, part};

/// File name extensions.
pub(super) const LOCKS: &str = "locks";
pub(super) const SAMPLES: &str = "samples";
pub(super) const ECBS: &str = "ecbs";
pub(super) const SITES: &str = "sites";
const ROOT: u32 = 0;
/// Files of other users do not count as areas; but at most this many are opened.
const MOST_LOOKED_AT: usize = 16 * AREAS as usize;

/// The bytes of the lock areas next to that ledger, in the order of their names. Unreadable ones are left out: a
/// report without them is better than none.
#[must_use]
pub fn areas(ledger: &Path) -> Vec<Vec<u8>> {
    let Ok(status) = fs::symlink_metadata(ledger) else { return Vec::new() };
    read_areas(beside(ledger, &[LOCKS]), status.uid())
}

/// Those of this user's ledger. In a shared folder any user may make a file of that name.
pub(super) fn read_areas(mut paths: Vec<PathBuf>, owner: u32) -> Vec<Vec<u8>> {
    paths.retain(|path| path.extension().is_some_and(|ending| ending == LOCKS));
    // A bound on the work.
    paths.truncate(MOST_LOOKED_AT);
    let areas = paths.iter().filter_map(|path| area(path, owner));
    areas.take(AREAS as usize).collect()
}

/// One area, if it is a file of the ledger's owner or of root, and no longer than an area.
fn area(path: &Path, owner: u32) -> Option<Vec<u8>> {
    let file = foreign_file::open_unlinked(path).ok()?;
    if ![owner, ROOT].contains(&file.metadata().ok()?.uid()) {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(size_of::<Area>() as u64).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Files next to a ledger with one of these extensions, in the order of names.
pub(super) fn beside(ledger: &Path, endings: &[&str]) -> Vec<PathBuf> {
    let folder = ledger.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Some(name) = ledger.file_name() else { return Vec::new() };
    let is_of_it = |found: &OsString| {
        area_of(found).is_some_and(|(ledger, _, ending)| ledger == name && endings.contains(&ending))
    };
    let mut names: Vec<OsString> = part::names(folder).filter(is_of_it).collect();
    names.sort();
    names.into_iter().map(|name| folder.join(name)).collect()
}

/// The ledger's name, the process and the extension of an area of that name; None if it is not an area's name.
pub(super) fn area_of(name: &OsStr) -> Option<(&OsStr, u32, &'static str)> {
    let (ending, rest) = [LOCKS, SAMPLES, ECBS, SITES].into_iter().find_map(|ending| {
        Some((ending, name.as_bytes().strip_suffix(ending.as_bytes())?.strip_suffix(b".")?))
    })?;
    let dot = rest.iter().rposition(|&byte| byte == b'.')?;
    let (process, moment) = str::from_utf8(&rest[dot + 1..]).ok()?.split_once('-')?;
    u64::from_str_radix(moment, 16).ok()?;
    Some((OsStr::from_bytes(&rest[..dot]), process.parse().ok()?, ending))
}

/// The site areas next to that ledger: of processes that sample, or sampled, their requests.
#[must_use]
pub fn site_areas(ledger: &Path) -> Vec<PathBuf> {
    beside(ledger, &[SITES])
}

/// The displays of ECBs next to a ledger, with their processes.
pub(crate) fn displays(ledger: &Path) -> Vec<(u32, PathBuf)> {
    let process = |path: &PathBuf| path.file_name().and_then(area_of).map(|(_, process, _)| process);
    beside(ledger, &[ECBS]).into_iter().filter_map(|path| Some((process(&path)?, path))).collect()
}

pub(super) fn remove_areas(ledger: &Path) {
    for path in beside(ledger, &[LOCKS, SAMPLES, ECBS, SITES]) {
        let _ = fs::remove_file(path);
    }
}

#[cfg(test)]
mod tests {
    use std::process;

    use super::*;
    use crate::ledger::LedgerFile;
    use crate::ledger::tests::folder;

    #[test]
    fn lock_areas_are_read_and_removed_with_their_ledger() {
        let folder = folder("ledger-areas");
        let path = folder.join("1-1.ledger");
        let beside = |name: &str| folder.join(name);
        let stale = beside("1-1.ledger.9-9.locks");
        fs::write(&stale, b"old").expect("written");
        drop(LedgerFile::create_at(&path, b"", true).expect("a ledger whose name was given"));
        assert!(!stale.exists(), "left by a ledger of the same name");
        fs::remove_file(&path).expect("removed");
        let ledger = LedgerFile::create_at(&path, b"", false).expect("a ledger");

        let own = [beside("1-1.ledger.7-a0.locks"), beside("1-1.ledger.8-ff.locks")];
        fs::write(&own[0], vec![7; size_of::<Area>() + 9]).expect("written");
        fs::write(&own[1], b"8").expect("written");
        let others =
            ["1-1.ledger.locks", "1-1.ledger.x-1.locks", "1-1.ledger.1-g.locks", "1-2.ledger.7-1.locks"]
                .map(beside);
        others.iter().for_each(|path| fs::write(path, b"other").expect("written"));
        // Neither a link nor a pipe is an area; opening waits for neither.
        std::os::unix::fs::symlink(&others[0], beside("1-1.ledger.9-1.locks")).expect("linked");
        let pipe = beside("1-1.ledger.9-2.locks");
        assert!(process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
        let read = ledger.areas();
        assert_eq!(read.iter().map(Vec::len).collect::<Vec<_>>(), [size_of::<Area>(), 1]);
        let samples = beside("1-1.ledger.7-a1.samples");
        fs::write(&samples, b"9").expect("written");
        assert_eq!(ledger.sample_areas(), std::slice::from_ref(&samples));
        let sites = beside("1-1.ledger.7-a2.sites");
        fs::write(&sites, b"10").expect("written");
        assert_eq!((ledger.site_areas(), site_areas(&path)), (vec![sites.clone()], vec![sites.clone()]));
        drop(ledger);
        assert!(!samples.exists() && !sites.exists());
        assert!(own.iter().all(|path| !path.exists()) && others.iter().all(|path| path.exists()));

        fs::remove_dir_all(folder).expect("removed");
    }

    #[test]
    fn an_area_of_another_user_is_not_of_the_ledger() {
        use std::os::unix::fs::chown;
        const OTHER: u32 = 47_813;
        if underbar_sys::syscall::geteuid() != ROOT {
            // The test cannot give a file to another user; the zoo reports the skip (`other_users`).
            return;
        }
        let folder = folder("ledger-areas-owner");
        let path = folder.join("1-1.ledger");
        let ledger = LedgerFile::create_at(&path, b"", false).expect("a ledger");
        for (name, owner) in [("1-1.ledger.7-a0.locks", ROOT), ("1-1.ledger.8-ff.locks", OTHER)] {
            fs::write(folder.join(name), b"x").expect("written");
            chown(folder.join(name), Some(owner), None).expect("given away");
        }
        assert_eq!((ledger.areas().len(), areas(&path).len()), (1, 1));
        chown(&path, Some(OTHER), None).expect("given away");
        assert_eq!(areas(&path).len(), 2, "root's and the owner's");
        drop(ledger);
        fs::remove_dir_all(folder).expect("removed");
    }
}
