//! The place of the preload library, in which the program's loader finds it.
//!
//! The command contains the library and writes it out once per build, in a folder named by the hash
//! of its content:
//!
//! ```text
//! $XDG_CACHE_HOME/underbar/HASH/libunderbar.so     the first place that works is used
//! /var/cache/underbar/HASH/libunderbar.so          for root: its programs become other users, who
//!                                                  cannot read its home folder
//! ~/.cache/underbar/HASH/libunderbar.so
//! /tmp/underbar-UID/HASH/libunderbar.so
//! /proc/PID/fd/N                                   in memory, while the command lives
//! ```
//!
//! The size of a file and a mark in its modification time show whether it has the content:
//! the nanoseconds are derived from the hash
//! (a later change sets others, and the same ones once in a thousand million times). A file without the mark is compared
//! byte by byte. A file that is not ours or root's, or that others can write, is replaced, whatever its content.
//!
//! Invariant: the file named by [`Library::path`] has the requested content, and only this user and root can replace it,
//! now or while programs of this run start others: each folder on the path is ours ([`place`]). Its path is valid in
//! LD_PRELOAD (no blank, colon or `$`), and code may be run from it.

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::getuid;
use std::env;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process;
use std::time::{Duration, SystemTime};
use underbar_shown::Shown;
use underbar_sys::file::is_executable_mapping_allowed;
use underbar_sys::syscall::{O_NOFOLLOW, O_NONBLOCK};

use crate::{part, place};

const FILE_NAME: &str = "libunderbar.so";
/// Modes of new folders: readable by others, since programs become other users; and private.
const OPEN: u32 = 0o755;
const CLOSED: u32 = 0o700;
/// After this time no program is expected to start others with the library of another build.
const UNUSED_FOR: Duration = Duration::from_secs(30 * 24 * 3600);

/// The library, in a place where a loader finds it.
#[derive(Debug)]
pub struct Library {
    path: PathBuf,
    /// The library in memory, which exists while it is open.
    _held: Option<File>,
}

/// There is no place for the library. Names each place that was tried and its fault.
#[derive(Debug, thiserror::Error)]
#[error("no place for the library{}", list(.0))]
pub struct LibraryError(pub Vec<(PathBuf, io::Error)>);

fn list(places: &[(PathBuf, io::Error)]) -> String {
    places.iter().map(|(place, error)| format!("; {}: {error}", place.shown())).collect()
}

impl Library {
    /// Puts the library with this content (and its hash as text) into the first place that works.
    ///
    /// `in_memory`: whether it may be in memory. Not if this process will become the program.
    pub fn place(content: &[u8], hash: &str, in_memory: bool) -> Result<Library, LibraryError> {
        let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let folders = [
            absolute("XDG_CACHE_HOME").map(|folder| (folder.join("underbar"), OPEN)),
            getuid().is_root().then(|| (PathBuf::from("/var/cache/underbar"), OPEN)),
            absolute("HOME").map(|home| (home.join(".cache/underbar"), OPEN)),
            Some((PathBuf::from(format!("/tmp/underbar-{}", getuid().as_raw())), CLOSED)),
        ];
        Library::place_in(folders.into_iter().flatten(), content, hash, in_memory)
    }

    /// Tries each folder, which is made with the mode next to it.
    fn place_in(
        folders: impl IntoIterator<Item = (PathBuf, u32)>,
        content: &[u8],
        hash: &str,
        in_memory: bool,
    ) -> Result<Library, LibraryError> {
        let mut tried = Vec::new();
        for (folder, mode) in folders {
            match write_once(&folder, mode, content, hash) {
                Ok(path) => return Ok(Library { path, _held: None }),
                Err(error) => tried.push((folder, error)),
            }
        }
        if in_memory {
            match hold(content) {
                Ok(library) => return Ok(library),
                Err(error) => tried.push(("memory".into(), error)),
            }
        }
        Err(LibraryError(tried))
    }

    /// Another library, used in its place: an allocator to compare with.
    #[must_use]
    pub fn at(path: PathBuf) -> Library {
        Library { path, _held: None }
    }

    /// The path for LD_PRELOAD.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

fn write_once(parent: &Path, mode: u32, content: &[u8], hash: &str) -> io::Result<PathBuf> {
    let folder = parent.join(hash);
    can_stand_in_preload(&folder)?;
    let folder = place::make(&folder, mode)?;
    // With links resolved.
    can_stand_in_preload(&folder)?;
    let path = folder.join(FILE_NAME);
    let file = match open(&path) {
        Ok(file) if has_content(&file, content, hash) => file,
        _ => {
            part::sweep(&folder, &part::names(&folder).collect::<Vec<_>>());
            write_new(&path, content, hash)?;
            sweep(folder.parent().unwrap_or(parent), hash);
            open(&path)?
        }
    };
    if !is_executable_mapping_allowed(file.as_raw_fd()) {
        return Err(io::Error::other("code may not be run from there"));
    }
    Ok(path)
}

fn can_stand_in_preload(path: &Path) -> io::Result<()> {
    if path.as_os_str().as_bytes().iter().any(|byte| b" \t\n:$".contains(byte)) {
        return Err(io::Error::other("its path is not valid in LD_PRELOAD"));
    }
    Ok(())
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags((O_NOFOLLOW | O_NONBLOCK).cast_signed()).open(path)
}

fn has_content(file: &File, content: &[u8], hash: &str) -> bool {
    let Ok(status) = file.metadata() else { return false };
    status.is_file()
        && place::is_ours(&status)
        && status.len() == content.len() as u64
        && (status.mtime_nsec() == i64::from(mark(hash)) || is_equal(file, content))
}

/// Nanoseconds that mark a file with the content of this hash:
/// 1 to 999,999,999; 0 is used by file systems with times in whole seconds.
fn mark(hash: &str) -> u32 {
    let number =
        hash.bytes().fold(0_u64, |number, byte| number.wrapping_mul(31).wrapping_add(u64::from(byte)));
    (number % 999_999_999) as u32 + 1
}

/// Compared in pieces: memory for the whole would cost more than the comparison.
#[inline(never)] // Else the stack is as large where nothing is compared.
fn is_equal(mut file: &File, mut content: &[u8]) -> bool {
    let mut piece = [0; 32 * 1024];
    while !content.is_empty() {
        let wanted = content.len().min(piece.len());
        let (head, rest) = content.split_at(wanted);
        if file.read_exact(&mut piece[..wanted]).is_err() || piece[..wanted] != *head {
            return false;
        }
        content = rest;
    }
    true
}

/// Removes the libraries of other builds that were not loaded for a month. Done when a build writes its own, so once
/// for each; libraries that cannot be removed stay.
fn sweep(folder: &Path, own: &str) {
    let is_old = |time: io::Result<SystemTime>| {
        time.is_ok_and(|time| time.elapsed().is_ok_and(|elapsed| elapsed > UNUSED_FOR))
    };
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let library = entry.path().join(FILE_NAME);
        if entry.file_name() != own
            && let Ok(status) = fs::symlink_metadata(&library)
            && status.is_file()
            && is_old(status.accessed())
            && is_old(status.modified())
        {
            let _ = fs::remove_file(&library).and_then(|()| fs::remove_dir(entry.path()));
        }
    }
}

/// Replaces it whole, so that no program loads half a library. It is synced before the rename:
/// otherwise after a crash the mark could be on other content.
fn write_new(path: &Path, content: &[u8], hash: &str) -> io::Result<()> {
    part::exchange(path, 0o755, |file| {
        file.write_all(content)?;
        // If times cannot be set, each run compares.
        let _ = file.set_modified(marked_now(hash));
        file.sync_all()
    })
}

/// The current second, with the mark.
fn marked_now(hash: &str) -> SystemTime {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    SystemTime::UNIX_EPOCH + Duration::new(now.as_secs(), mark(hash))
}

/// Keeps the library in memory, where only the user's own processes can read it.
fn hold(content: &[u8]) -> io::Result<Library> {
    let fd = memfd_create(FILE_NAME, MemfdFlags::CLOEXEC)?;
    let path = PathBuf::from(format!("/proc/{}/fd/{}", process::id(), fd.as_raw_fd()));
    // Opened again by its path: a path that works for us works for the program; this descriptor closes by itself.
    let mut file = OpenOptions::new().read(true).write(true).open(&path)?;
    drop(fd);
    file.write_all(content)?;
    if !is_executable_mapping_allowed(file.as_raw_fd()) {
        return Err(io::Error::other("code may not be run from there"));
    }
    let path = PathBuf::from(format!("/proc/{}/fd/{}", process::id(), file.as_raw_fd()));
    Ok(Library { path, _held: Some(file) })
}

impl AsRef<OsStr> for Library {
    fn as_ref(&self) -> &OsStr {
        self.path.as_os_str()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn check(name: &str, test: impl FnOnce(&Path)) {
        let folder = place::tests::folder(&format!("library-{name}"));
        test(&folder);
        fs::remove_dir_all(&folder).expect("removed");
    }

    fn place(folder: &Path) -> Result<Library, LibraryError> {
        Library::place_in([(folder.to_path_buf(), OPEN)], b"content", "hash", false)
    }

    #[test]
    fn libraries_that_nobody_loaded_for_a_month_are_swept() {
        check("sweep", |folder| {
            let month = Duration::from_secs(31 * 24 * 3600);
            for (build, used, made) in [("old", month, month), ("loaded", Duration::ZERO, month)] {
                let path = folder.join(build).join(FILE_NAME);
                fs::create_dir(folder.join(build)).expect("a folder");
                let file = File::create(path).expect("a library");
                let ago = |time| SystemTime::now() - time;
                let times = fs::FileTimes::new().set_accessed(ago(used)).set_modified(ago(made));
                file.set_times(times).expect("times");
            }
            fs::write(folder.join("a file"), "of somebody").expect("a file");
            place(folder).expect("placed");
            let exists = |name: &str| folder.join(name).exists();
            assert!(!exists("old") && exists("loaded") && exists("a file") && exists("hash"));
        });
    }

    #[test]
    fn another_content_of_the_same_length_is_replaced() {
        check("content", |folder| {
            let long = vec![7; 100_000];
            let mut other = long.clone();
            other[99_999] = 8;
            let place = || Library::place_in([(folder.to_path_buf(), OPEN)], &long, "hash", false);
            let path = place().expect("placed").path().to_path_buf();
            for _ in 0..3 {
                // Changed in place: the modification time has lost the mark.
                fs::write(&path, &other).expect("written over");
                assert_eq!(place().expect("placed").path(), path);
                assert_eq!(fs::read(&path).expect("there"), long);
            }
        });
    }

    #[test]
    fn a_mark_is_believed_of_a_file_of_ours_that_nobody_else_can_write() {
        check("mark", |folder| {
            let path = place(folder).expect("placed").path().to_path_buf();
            let forge = |mode| {
                fs::write(&path, "CONTENT").expect("written over");
                fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("a mode");
                let file = File::options().write(true).open(&path).expect("there");
                file.set_modified(marked_now("hash")).expect("a time");
                place(folder).expect("placed");
                fs::read(&path).expect("there")
            };
            // Only the user, or a process with the same permissions, can forge it.
            assert_eq!(forge(0o755), b"CONTENT");
            assert_eq!(forge(0o775), b"content");
            assert_eq!(forge(0o757), b"content");
            let other = File::options().write(true).open(&path).expect("there");
            other.set_modified(marked_now("hash2")).expect("a time");
            let inode = fs::metadata(&path).expect("there").ino();
            place(folder).expect("compared");
            assert_eq!(fs::metadata(&path).expect("there").ino(), inode, "equal without a mark");
        });
        for hash in ["", "0", "ffffffffffffffff", "ed381210167ea8c1"] {
            assert!((1..1_000_000_000).contains(&mark(hash)), "{hash}");
        }
    }

    #[test]
    fn it_is_written_once_and_mended() {
        check("once", |folder| {
            let path = place(folder).expect("placed").path().to_path_buf();
            assert_eq!(fs::read(&path).expect("there"), b"content");
            let inode = fs::metadata(&path).expect("there").ino();
            place(folder).expect("placed again");
            assert_eq!(fs::metadata(&path).expect("there").ino(), inode);
            fs::write(&path, "cont").expect("cut");
            place(folder).expect("mended");
            assert_eq!(fs::read(&path).expect("there"), b"content");
            assert_eq!(fs::read_dir(folder.join("hash")).expect("folder").count(), 1);
            // A link of its name is replaced, too: its target may be anybody's.
            fs::rename(&path, folder.join("else")).expect("moved");
            std::os::unix::fs::symlink(folder.join("else"), &path).expect("a link");
            place(folder).expect("mended");
            assert!(fs::symlink_metadata(&path).expect("there").is_file());
        });
    }

    #[test]
    fn a_place_that_does_not_work_gives_way_to_the_next() {
        check("next", |folder| {
            let file = folder.join("file");
            fs::write(&file, "").expect("a file in the way");
            let places = [(file, OPEN), (folder.join("with blank"), OPEN), (folder.join("c:d"), OPEN)];
            let last = (folder.join("good"), CLOSED);
            let library = Library::place_in(places.clone().into_iter().chain([last]), b"x", "hash", false);
            assert_eq!(library.expect("placed").path(), folder.join("good/hash/libunderbar.so"));
            let LibraryError(tried) =
                Library::place_in(places.clone(), b"x", "hash", false).expect_err("no place");
            assert_eq!(tried.len(), 3);
            let held = Library::place_in(places, b"x", "hash", true).expect("in memory");
            assert!(held.path().starts_with("/proc"));
            assert_eq!(fs::read(held.path()).expect("there"), b"x");
        });
    }

    #[test]
    fn a_folder_that_others_can_write_is_not_trusted_nor_one_below_it() {
        check("shared", |folder| {
            let (open, link) = (folder.join("open"), folder.join("link"));
            // Placed while it was ours alone: the content is right, and stays right.
            place(&open.join("below")).expect("placed");
            place(&open).expect("placed");
            std::os::unix::fs::symlink("open", &link).expect("a link");
            let path = place(&link).expect("placed").path().to_path_buf();
            assert_eq!(path, open.join("hash/libunderbar.so"), "links may lead elsewhere tomorrow");
            for mode in [0o777, 0o775, 0o1777] {
                fs::set_permissions(&open, fs::Permissions::from_mode(mode)).expect("open to others");
                let is_sticky = mode & 0o1000 != 0;
                assert_eq!(place(&open).is_ok(), is_sticky, "what is ours in a sticky folder stays");
                assert_eq!(place(&open.join("below")).is_ok(), is_sticky);
                assert_eq!(place(&link).is_ok(), is_sticky);
            }
        });
    }
}
