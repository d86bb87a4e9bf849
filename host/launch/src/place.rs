//! Whether a folder is ours: only this user and root can change its contents, or the folder at the end of its path.
//!
//! ```text
//! /            owner root                        each folder on the path is checked before the next one,
//! └─ home      owner root                        from the top: an entry of a folder that is ours cannot be replaced
//!    └─ user   owner we, not writable by others
//!       └─ .cache ─> /data/cache                 a link is ours or root's; its target's path is checked in the same way, from /
//! /tmp         owner root, writable by all, but sticky: only our or root's entries in it are followed
//! ```
//!
//! Invariant: a returned path has no link in it, and each folder on it belongs to us (the effective user)
//! or to root, and its group and others cannot write it; except for sticky folders, in which no user can remove another's
//! files. So the path is that of the same file for every process that opens it later, as the loader does.
//!
//! A group counts as others, even if it has but one user: no call lists its members now or later. An access control list shows
//! in the group's bits.
//! Known limit: in a user namespace without root, root's folders have the number of "nobody", as other
//! users' have. There, system folders count as root's if they have the same owner as `/`.
//! Not here: the files in the folder ([`is_ours`] checks a file), and the choice of folders (`library`, `ledger`).

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::{self, DirBuilder, Metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Component, Path, PathBuf};

use underbar_shown::Shown;
use underbar_sys::syscall::geteuid;

const ROOT: u32 = 0;
const STICKY: u32 = 0o1000;
const OTHERS_WRITE: u32 = 0o022;
/// The most links that the kernel follows.
const MOST_LINKS: usize = 40;
/// Folders that are the system's everywhere.
const SYSTEM: [&str; 7] = ["/", "/dev", "/dev/shm", "/run", "/tmp", "/var", "/var/cache"];

/// Finds an existing folder, and returns its path without links.
/// If it is sticky, others may make their own files in it.
///
/// # Errors
/// If it is missing, or is not ours: names the folder that is not.
pub fn find(path: &Path) -> io::Result<PathBuf> {
    walk(path, None).map(|way| way.here)
}

/// Like [`find`], but makes missing folders, with this mode. Others can make nothing in it.
///
/// # Errors
/// Those of [`find`], and of making a folder.
pub fn make(path: &Path, mode: u32) -> io::Result<PathBuf> {
    let way = walk(path, Some(mode))?;
    if way.is_shared { Err(others_can_write(&way.here)) } else { Ok(way.here) }
}

/// Whether only we and root can change this open file, or link.
#[must_use]
pub fn is_ours(status: &Metadata) -> bool {
    is_trusted(status.uid()) && (status.is_symlink() || status.mode() & OTHERS_WRITE == 0)
}

fn is_trusted(owner: u32) -> bool {
    owner == ROOT || owner == geteuid()
}

/// A path from `/` on, as far as it has been followed.
struct Way {
    here: PathBuf,
    device: u64,
    owner_of_root: u32,
    /// Others may make their own files here.
    is_shared: bool,
}

fn walk(path: &Path, making: Option<u32>) -> io::Result<Way> {
    if !path.is_absolute() {
        return Err(io::Error::other("it is not an absolute path"));
    }
    let mut way = Way::begin()?;
    let mut left: VecDeque<OsString> = names(path).collect();
    let mut links = 0;
    while let Some(name) = left.pop_front() {
        if name == ".." {
            // Its path has no link in it, so its parent is the one before.
            let parent = way.here.parent().unwrap_or(Path::new("/")).to_owned();
            left = names(&parent).chain(left).collect();
            way = Way::begin()?;
            continue;
        }
        let next = way.here.join(&name);
        let status = match fs::symlink_metadata(&next) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && making.is_some() => {
                match DirBuilder::new().mode(making.unwrap_or_default()).create(&next) {
                    Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
                    _ => fs::symlink_metadata(&next),
                }
            }
            status => status,
        }?;
        if status.is_symlink() {
            links += 1;
            if links > MOST_LINKS {
                return Err(io::Error::other("too many levels of links"));
            }
            if !is_ours(&status) {
                return Err(anothers(&next));
            }
            let target = fs::read_link(&next)?;
            left = names(&target).chain(left).collect();
            if target.is_absolute() {
                way = Way::begin()?;
            }
        } else {
            way.step(next, &status)?;
        }
    }
    Ok(way)
}

/// The names on a path, `..` among them.
fn names(path: &Path) -> impl Iterator<Item = OsString> {
    path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    })
}

impl Way {
    fn begin() -> io::Result<Way> {
        let status = fs::symlink_metadata("/")?;
        let mut way =
            Way { here: PathBuf::new(), device: status.dev(), owner_of_root: status.uid(), is_shared: false };
        way.step("/".into(), &status)?;
        Ok(way)
    }

    /// Goes on to an entry of the current folder.
    fn step(&mut self, next: PathBuf, status: &Metadata) -> io::Result<()> {
        if !status.is_dir() {
            return Err(io::Error::other(format!("{} is not a folder", next.shown())));
        }
        let is_system = SYSTEM.iter().any(|&folder| next == Path::new(folder));
        // A user who can write a folder may mount his own file system on it, which can answer anything.
        let is_mounted_by_anybody = self.is_shared && status.dev() != self.device;
        let is_trusted = is_trusted(status.uid()) || is_system && status.uid() == self.owner_of_root;
        if !is_trusted || is_mounted_by_anybody {
            return Err(anothers(&next));
        }
        self.is_shared = status.mode() & OTHERS_WRITE != 0;
        if self.is_shared && status.mode() & STICKY == 0 {
            return Err(others_can_write(&next));
        }
        (self.here, self.device) = (next, status.dev());
        Ok(())
    }
}

fn anothers(path: &Path) -> io::Error {
    io::Error::other(format!("{} belongs to another user", path.shown()))
}

fn others_can_write(path: &Path) -> io::Error {
    io::Error::other(format!("{} is writable by other users", path.shown()))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};
    use std::{env, process};

    /// A folder of this test, ours alone whatever the umask is.
    pub(crate) fn folder(name: &str) -> PathBuf {
        let folder = env::temp_dir().join(format!("underbar-test-{name}-{}", process::id()));
        let _ = fs::remove_dir_all(&folder);
        make(&folder, 0o700).expect("a folder for temporary files that is root's, or ours")
    }

    fn allow(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("rights");
    }

    #[test]
    fn each_folder_on_the_way_counts() {
        let folder = folder("place-way");
        let (middle, deep) = (folder.join("middle"), folder.join("middle/deep/er"));
        assert_eq!(find(&deep).expect_err("absent").kind(), io::ErrorKind::NotFound);
        assert_eq!(make(&deep, 0o755).expect("made"), deep);
        assert_eq!(fs::metadata(&middle).expect("made").mode() & 0o022, 0);
        let refuse = |mode, words: &str| {
            allow(&middle, mode);
            for way in [find(&deep), make(&deep, 0o755), find(&deep.join("..").join("er"))] {
                assert_eq!(
                    way.expect_err(words).to_string(),
                    format!("{} is writable by other users", middle.display())
                );
            }
        };
        refuse(0o757, "for all");
        refuse(0o775, "for a group");
        // Sticky: others cannot remove our files, but can make their own.
        allow(&middle, 0o1777);
        assert_eq!(find(&deep).expect("ours in it"), deep);
        assert_eq!(find(&middle).expect("to look for ours in it"), middle);
        assert!(make(&middle, 0o755).is_err());
        allow(&middle, 0o755);
        assert_eq!(make(&deep, 0o755).expect("there"), deep);
        fs::write(folder.join("file"), "").expect("written");
        assert!(find(&folder.join("file")).is_err() && find(&folder.join("file/x")).is_err());
        assert!(find(Path::new("relative")).is_err() && find(Path::new("")).is_err());
        assert_eq!(find(Path::new("/")).expect("root's"), Path::new("/"));
        assert_eq!(find(&folder.join("middle/./deep/../deep")).expect("there"), folder.join("middle/deep"));
        fs::remove_dir_all(folder).expect("removed");
    }

    #[test]
    fn links_lead_to_folders_that_are_judged_the_same() {
        let folder = folder("place-links");
        let (good, open) = (folder.join("good"), folder.join("open"));
        make(&good.join("in"), 0o755).expect("made");
        make(&open.join("in"), 0o755).expect("made");
        allow(&open, 0o777);
        symlink("good", folder.join("relative")).expect("linked");
        symlink(&good, folder.join("absolute")).expect("linked");
        symlink("../good/in/..", good.join("back")).expect("linked");
        symlink("open/in", folder.join("bad")).expect("linked");
        symlink("round", folder.join("round")).expect("linked");
        for link in ["relative/in", "absolute/in", "absolute/back/in", "relative/back/back/in"] {
            assert_eq!(find(&folder.join(link)).expect(link), good.join("in"));
        }
        assert!(find(&folder.join("bad")).is_err() && find(&folder.join("round")).is_err());
        // Missing folders are made in the link's target.
        assert_eq!(make(&folder.join("relative/new"), 0o700).expect("made"), good.join("new"));
        fs::remove_dir_all(folder).expect("removed");
    }

    #[test]
    fn what_another_user_owns_is_not_ours() {
        const OTHER: u32 = 47_813;
        if geteuid() != ROOT {
            // The test cannot give a folder to another user; the zoo reports the skip (`other_users`).
            return;
        }
        let folder = folder("place-owner");
        let own = folder.join("other/own");
        make(&own, 0o755).expect("made");
        chown(folder.join("other"), Some(OTHER), None).expect("given away");
        let words = format!("{} belongs to another user", folder.join("other").display());
        assert_eq!(find(&own).expect_err("not ours").to_string(), words);
        chown(folder.join("other"), Some(ROOT), None).expect("taken back");
        symlink("other", folder.join("link")).expect("linked");
        assert!(find(&folder.join("link/own")).is_ok());
        std::os::unix::fs::lchown(folder.join("link"), Some(OTHER), None).expect("given away");
        assert!(find(&folder.join("link/own")).is_err());
        fs::remove_dir_all(folder).expect("removed");
    }
}
