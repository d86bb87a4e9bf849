//! The ledger file of a run: its place and its length.
//!
//! ```text
//! $XDG_RUNTIME_DIR/underbar     the first folder that is the user's alone and works
//! /dev/shm/underbar-UID
//! /tmp/underbar-UID             (a disk file's pages are shared memory, too)
//! ```
//!
//! Invariant: the file and its folder are the user's alone, and only root can also replace them
//! ([`place`]); if the user names the file (`-o`), at least the file is. It is removed after the report of the run, unless it
//! is to be kept; a killed run leaves it, and the next run removes it once no process of it lives.
//! Not here: its layout (the `ledger` crate), the other files of its processes ([`mod@beside`]),
//! the ledgers to remove ([`mod@sweep`]), and those that there are ([`mod@found`]).

mod beside;
pub mod found;
mod holders;
mod sweep;

use std::cell::Cell;
use std::env;
use std::ffi::OsString;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::mem::offset_of;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process;

use underbar_ledger::control::WATCHED;
use underbar_ledger::layout::{
    CONTROL_OFFSET, FILE_BYTES, LEFT, OPTIONS_OFFSET, OPTIONS_ROOM, SLOT_BYTES, SLOTS, SLOTS_OFFSET, Slot,
};
use underbar_ledger::view::CHECKED_BYTES;
use underbar_ledger::{Header, Identity, LedgerView, make};
use underbar_preloadable::LEDGER;
use underbar_sys::process_lock;
use underbar_sys::shared::SharedPage;
use underbar_sys::syscall::{Errno, clock_nanoseconds, fallocate, geteuid};

use crate::place;
use beside::{LOCKS, SAMPLES, SITES, beside, read_areas, remove_areas};
use sweep::{count_running, has_ended_in, sweep};
use underbar_shown::Shown;

pub(crate) use beside::displays;
pub use beside::{areas, site_areas};
pub use sweep::named;

const CLOCK_BOOTTIME: u32 = 7;
pub(crate) const ENDING: &str = "ledger";

/// A ledger file; removed when dropped, unless kept.
#[derive(Debug)]
pub struct LedgerFile {
    path: PathBuf,
    file: File,
    keep: bool,
    /// A search for files of this ledger next to it found none.
    is_alone: Cell<bool>,
}

impl LedgerFile {
    /// Makes a ledger for a run with this option text, in the first folder that works, and sweeps that folder.
    ///
    /// # Errors
    /// That of the last folder tried.
    pub fn create(options: &[u8]) -> io::Result<LedgerFile> {
        let mut last = io::Error::other("no folder for it");
        for folder in folders() {
            match own_folder(&folder) {
                Ok(folder) => {
                    sweep(&folder);
                    let name = format!("{}-{:x}.{ENDING}", process::id(), clock_nanoseconds(CLOCK_BOOTTIME));
                    match LedgerFile::create_at(&folder.join(name), options, false) {
                        Ok(ledger) => return Ok(ledger),
                        Err(error) => last = error,
                    }
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// Makes a ledger of that name; `keep`: it outlives the run, and replaces one whose processes have all ended.
    ///
    /// # Errors
    /// Those of making and writing a file.
    pub fn create_at(path: &Path, options: &[u8], keep: bool) -> io::Result<LedgerFile> {
        let mut new = OpenOptions::new();
        new.read(true).write(true).create_new(true).mode(0o600);
        let file = match new.open(path) {
            // A unit that is restarted keeps the accounts of its last start.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && keep && has_ended_in(path) => {
                fs::remove_file(path)?;
                new.open(path)
            }
            opened => opened,
        }?;
        // Some file systems have no owners or permissions: there,
        // any user who truncates the file ends the programs that have it mapped.
        if !place::is_ours(&file.metadata()?) {
            let _ = fs::remove_file(path);
            return Err(io::Error::other("new files there are writable by other users"));
        }
        let ledger = LedgerFile { path: path.to_owned(), file, keep, is_alone: Cell::new(false) };
        // Files next to a name from the user belong to a ledger that is gone. A generated name contains the time, and is new.
        if keep {
            remove_areas(path);
        }
        let written = ledger.write(options, keep);
        if written.is_err() && keep {
            let _ = fs::remove_file(path);
        }
        written.map(|()| ledger)
    }

    /// If there is no space even for the head of the ledger, the run has none.
    fn write(&self, options: &[u8], keep: bool) -> io::Result<()> {
        self.file.set_len(FILE_BYTES as u64)?;
        if fallocate(self.file.as_raw_fd(), 0, 0, SLOTS_OFFSET as u64).is_err() {
            // The file system cannot allocate; writing zeros takes space as well, or fails with the reason.
            self.file.write_all_at(&vec![0; SLOTS_OFFSET], 0)?;
        }
        let kept = &options[..options.len().min(OPTIONS_ROOM)];
        self.file.write_all_at(kept, OPTIONS_OFFSET as u64)?;
        let now = clock_nanoseconds(CLOCK_BOOTTIME);
        let namespace = self.lock().unwrap_or(0);
        let maker = Identity { namespace, number: process::id() };
        self.file.write_all_at(&make::header_page(maker, now, options.len(), keep), 0)
    }

    /// Takes the file's lock, by which programs see that they are in this process's namespace of process numbers. Returns that.
    fn lock(&self) -> Option<u32> {
        process_lock::take(self.file.as_raw_fd()).ok()?;
        fs::metadata("/proc/self/ns/pid").ok().map(|status| status.ino() as u32)
    }

    /// The variable that gives the library its path.
    #[must_use]
    pub fn variable(&self) -> (OsString, OsString) {
        (String::from_utf8_lossy(LEDGER).into_owned().into(), self.path.clone().into())
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Leaves the file, for a program that has no parent.
    pub fn keep(mut self) -> PathBuf {
        self.keep = true;
        self.path.clone()
    }

    /// The name by which [`named`] finds it.
    #[must_use]
    pub fn name(&self) -> String {
        self.path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// The number of processes that continue, of which this is `view`.
    #[must_use]
    pub fn running(&self, view: &LedgerView<'_>) -> u64 {
        count_running(&self.path, &self.file, view) as u64
    }

    /// Leaves the file to processes that continue, to be read by its name until a day after the last of them has ended.
    pub fn leave(&mut self) {
        self.keep = true;
        let _ = self.file.write_all_at(&LEFT.to_le_bytes(), offset_of!(Header, keep) as u64);
    }

    /// Tells its processes that this command watches over their CPU time (MT). Before the first one begins.
    ///
    /// # Errors
    /// Those of writing to a file.
    pub fn is_watched(&self) -> io::Result<()> {
        self.file.write_all_at(&1_u64.to_ne_bytes(), (CONTROL_OFFSET + 8 * WATCHED) as u64)
    }

    /// A page of it, shared with its processes.
    pub(crate) fn page(&self, offset: usize) -> io::Result<SharedPage> {
        let length = self.file.metadata()?.len();
        SharedPage::map(self.file.as_raw_fd(), offset as u64, length)
            .map_err(|Errno(number)| io::Error::from_raw_os_error(number.into()))
    }

    /// Its contents now: the head, and every slot up to the last that was ever used.
    ///
    /// # Errors
    /// Those of reading a file.
    pub fn read(&self) -> io::Result<Vec<u8>> {
        read(&self.file)
    }

    /// The same up to the counters of each slot: what is behind them is zero, and nothing behind the slots is read. For those who look
    /// often.
    ///
    /// # Errors
    /// Those of reading a file.
    pub fn read_counters(&self) -> io::Result<Vec<u8>> {
        read_slots(&self.file, offset_of!(Slot, sizes)).map(|(bytes, _)| bytes)
    }

    /// Whether it is still a ledger. Cheaper than reading all of it.
    ///
    /// # Errors
    /// The fault.
    pub fn check(&self) -> Result<(), String> {
        let mut head = [0; CHECKED_BYTES];
        let length = self
            .file
            .read_at(&mut head, 0)
            .and_then(|_| self.file.metadata())
            .map_err(|error| not_readable(&error))?
            .len();
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        LedgerView::check(&head, length).map_err(|error| error.to_string())
    }

    /// The bytes of the lock areas next to it, once its programs have ended; see [`areas`].
    #[must_use]
    pub fn areas(&self) -> Vec<Vec<u8>> {
        let paths = beside(&self.path, &[LOCKS, SAMPLES, SITES]);
        self.is_alone.set(paths.is_empty());
        // This process made it, whatever its name is now.
        read_areas(paths, geteuid())
    }

    /// The sample areas of its processes, of all that have one now.
    #[must_use]
    pub fn sample_areas(&self) -> Vec<PathBuf> {
        beside(&self.path, &[SAMPLES])
    }

    /// The site areas of its processes, of all that have one now.
    #[must_use]
    pub fn site_areas(&self) -> Vec<PathBuf> {
        site_areas(&self.path)
    }
}

impl Drop for LedgerFile {
    fn drop(&mut self) {
        if !self.keep {
            let _ = fs::remove_file(&self.path);
            // Files that a process makes after the run are removed by a later run.
            if !self.is_alone.get() {
                remove_areas(&self.path);
            }
        }
    }
}

/// The message about a ledger that cannot be read.
pub fn not_readable(error: &io::Error) -> String {
    format!("the ledger could not be read: {error}")
}

/// Reads a ledger file of any run, to the end of its last slot in use; holes are not filled in.
///
/// # Errors
/// Those of reading a file.
pub fn read(file: &File) -> io::Result<Vec<u8>> {
    let (mut bytes, used) = read_slots(file, SLOT_BYTES)?;
    read_behind(file, &mut bytes, &used, |view, slot| view.has_classes(slot), LedgerView::classes_of)?;
    read_behind(file, &mut bytes, &used, |view, slot| view.has_traces(slot), LedgerView::traces_of)?;
    read_behind(file, &mut bytes, &used, |view, slot| view.has_heap_steps(slot), LedgerView::heap_steps_of)?;
    read_behind(file, &mut bytes, &used, |view, slot| view.has_switches(slot), LedgerView::switches_of)?;
    read_behind(file, &mut bytes, &used, |view, slot| view.has_caches(slot), LedgerView::caches_of)?;
    Ok(bytes)
}

/// Reads the head, and the first bytes of each slot in use; also returns these slots.
fn read_slots(file: &File, of_each: usize) -> io::Result<(Vec<u8>, Vec<usize>)> {
    let mut bytes = vec![0; SLOTS_OFFSET];
    let head = file.read_at(&mut bytes, 0)?;
    if head < SLOTS_OFFSET {
        bytes.truncate(head);
        return Ok((bytes, Vec::new()));
    }
    // Only slots in use: a file is mostly holes, and most runs use a slot or two.
    let used: Vec<usize> = match LedgerView::new(&bytes) {
        Ok(view) => (0..SLOTS).filter(|&slot| view.is_used(slot)).collect(),
        Err(_) => Vec::new(),
    };
    let end = used.last().map_or(SLOTS_OFFSET, |last| SLOTS_OFFSET + (last + 1) * SLOT_BYTES);
    // If address space is scarce (`ulimit -v`) there is no report, and the program's exit status is unchanged.
    bytes.try_reserve_exact(end - SLOTS_OFFSET).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
    bytes.resize(end, 0);
    for &slot in &used {
        let at = SLOTS_OFFSET + slot * SLOT_BYTES;
        file.read_at(&mut bytes[at..at + of_each], at as u64)?;
    }
    Ok((bytes, used))
}

/// Reads what slots have behind all slots: their classes of ECBs, their trace tables, the requests of their heaps, their switches, or their caches of files.
fn read_behind(
    file: &File,
    bytes: &mut Vec<u8>,
    slots: &[usize],
    has: fn(&LedgerView<'_>, usize) -> bool,
    place: fn(usize) -> Range<usize>,
) -> io::Result<()> {
    let with: Vec<usize> = match LedgerView::new(bytes) {
        Ok(view) => slots.iter().copied().filter(|&slot| has(&view, slot)).collect(),
        Err(_) => Vec::new(),
    };
    if let Some(&last) = with.last() {
        let end = place(last).end.max(bytes.len());
        Vec::<u8>::new().try_reserve_exact(end).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
        // New pages of zeros: what is between is never touched.
        let mut longer = vec![0; end];
        longer[..bytes.len()].copy_from_slice(bytes);
        *bytes = longer;
    }
    for slot in with {
        let pages = place(slot);
        let at = pages.start as u64;
        file.read_at(&mut bytes[pages], at)?;
    }
    Ok(())
}

pub(crate) fn folders() -> impl Iterator<Item = PathBuf> {
    let (runtime, others) = folders_apart();
    runtime.into_iter().chain(others)
}

/// That of the user's session, if it is known, and the others, in the order in which they are tried.
fn folders_apart() -> (Option<PathBuf>, [PathBuf; 2]) {
    let runtime = env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute());
    let name = format!("underbar-{}", rustix::process::getuid().as_raw());
    let others = [Path::new("/dev/shm").join(&name), Path::new("/tmp").join(name)];
    (runtime.map(|path| path.join("underbar")), others)
}

/// Makes the folder if it is missing, but not its parent. It must be ours, and not readable by others.
pub(crate) fn own_folder(folder: &Path) -> io::Result<PathBuf> {
    let (Some(parent), Some(name)) = (folder.parent(), folder.file_name()) else {
        return Err(io::Error::other("it is not a path for a new folder"));
    };
    let folder = place::make(&place::find(parent)?.join(name), 0o700)?;
    if is_own(&fs::symlink_metadata(&folder)?) {
        Ok(folder)
    } else {
        Err(io::Error::other(format!("{} is accessible to other users", folder.shown())))
    }
}

/// The folder without links, if it exists, is ours, and not readable by others; each folder above it is checked, too.
pub(crate) fn own_folder_there(folder: &Path) -> Option<PathBuf> {
    let folder = place::find(folder).ok()?;
    let status = fs::symlink_metadata(&folder).ok()?;
    is_own(&status).then_some(folder)
}

fn is_own(status: &Metadata) -> bool {
    status.is_dir() && status.uid() == geteuid() && status.mode() & 0o077 == 0
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn folder(name: &str) -> PathBuf {
        own_folder(&place::tests::folder(name)).expect("a folder of our own")
    }

    #[test]
    fn what_is_no_ledger_any_more_is_said() {
        let folder = folder("ledger-check");
        let path = folder.join("1-1.ledger");
        let ledger = LedgerFile::create_at(&path, b"", false).expect("a ledger");
        assert_eq!(ledger.check(), Ok(()));
        fs::write(&path, vec![b'x'; SLOTS_OFFSET]).expect("written over");
        assert_eq!(ledger.check(), Err("this is not a ledger".to_owned()));
        fs::write(&path, b"UNDERBAR").expect("cut");
        assert_eq!(ledger.check(), Err("the ledger is cut short".to_owned()));
        drop(ledger);
        fs::remove_dir_all(folder).expect("removed");
    }

    #[test]
    fn a_new_ledger_is_read_and_removed() {
        let folder = folder("ledger-new");
        let path = folder.join("1-1.ledger");
        let ledger = LedgerFile::create_at(&path, b"RPTSTG(ON)", false).expect("a ledger");
        let bytes = ledger.read().expect("read");
        let view = LedgerView::new(&bytes).expect("a ledger");
        assert_eq!((view.maker(), view.options().0), (process::id(), &b"RPTSTG(ON)"[..]));
        assert_eq!(fs::metadata(&path).expect("file").mode() & 0o777, 0o600);
        drop(ledger);
        assert!(!path.exists());
        fs::remove_dir_all(folder).expect("removed");
    }

    /// By both a program sees, without its own files in /proc, that it is in this process's namespace.
    #[test]
    fn a_new_ledger_has_its_makers_namespace_and_lock() {
        let folder = folder("ledger-lock");
        let path = folder.join("1-1.ledger");
        let ledger = LedgerFile::create_at(&path, b"", false).expect("a ledger");
        let bytes = ledger.read().expect("read");
        let at = offset_of!(Header, maker_namespace);
        let namespace = u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        let link = fs::read_link("/proc/self/ns/pid").expect("a link");
        assert_eq!(link.to_str(), Some(format!("pid:[{namespace}]").as_str()));
        let inode = fs::metadata(&path).expect("file").ino();
        let (holder, file) = (format!(" WRITE {} ", process::id()), format!(":{inode} 0 0"));
        let locks = fs::read_to_string("/proc/locks").expect("locks");
        assert!(locks.lines().any(|line| line.contains(&holder) && line.ends_with(&file)), "{locks}");
        drop(ledger);
        fs::remove_dir_all(folder).expect("removed");
    }

    #[test]
    fn a_folder_that_others_can_write_is_not_used() {
        use std::os::unix::fs::PermissionsExt;
        let folder = folder("ledger-open");
        let below = folder.join("below");
        assert_eq!(own_folder(&below).expect("made"), below);
        assert!(own_folder(&folder.join("absent/below")).is_err(), "no folder is made for it to lie in");
        for (mode, is_safe) in [(0o777, false), (0o770, false), (0o1777, true)] {
            fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).expect("opened");
            assert!(own_folder(&folder).is_err(), "{mode:o}");
            assert_eq!(own_folder(&below).is_ok(), is_safe, "{mode:o}");
        }
        fs::remove_dir_all(folder).expect("removed");
    }
}
