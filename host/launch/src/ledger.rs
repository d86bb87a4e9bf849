//! The ledger file of a run: where it lies, and how long.
//!
//! ```text
//! $XDG_RUNTIME_DIR/underbar     the first folder that is ours alone and works
//! /dev/shm/underbar-UID
//! /tmp/underbar-UID             (a disk file's pages are shared memory, too)
//! ```
//!
//! Invariant: the file and its folder are the user's alone, and nobody else but root can put others in their place
//! ([`place`]); where the user names the file (`-o`), at least the file is. It is removed when the run is reported, unless it
//! is to be kept; a run that was killed leaves it, and the next one sweeps it away once no process of it lives.
//! What single processes keep lies beside it, `NAME.PROCESS-MOMENT.locks` and `.samples`, and shares its fate.
//! Not here: its layout (the `ledger` crate), and what is made of it.

use std::cell::Cell;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::mem::offset_of;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process;

use underbar_ledger::layout::{FILE_BYTES, LEFT, OPTIONS_OFFSET, OPTIONS_ROOM, SLOTS_OFFSET};
use underbar_ledger::locks::{AREAS, Area};
use underbar_ledger::view::CHECKED_BYTES;
use underbar_ledger::{Header, LedgerView, SlotState, SlotView, make};
use underbar_runtime::follow::environment::LEDGER;
use underbar_sys::syscall::{O_NOFOLLOW, clock_nanoseconds, fallocate, getuid};

use crate::alive::{Alive, count_mapping, is_alive};

use crate::place;
use underbar_shown::Shown;

const CLOCK_BOOTTIME: u32 = 7;
pub(crate) const ENDING: &str = "ledger";
/// Endings of what lies beside it.
const LOCKS: &str = "locks";
const SAMPLES: &str = "samples";

/// A ledger file; removed when dropped, unless kept.
#[derive(Debug)]
pub struct LedgerFile {
    path: PathBuf,
    file: File,
    keep: bool,
    /// It was looked for what lies beside it, and nothing did.
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

    /// Makes a ledger of that name; `keep`: it outlives the run, and takes the place of one whose processes have all ended.
    ///
    /// # Errors
    /// Those of making and writing a file.
    pub fn create_at(path: &Path, options: &[u8], keep: bool) -> io::Result<LedgerFile> {
        let mut new = OpenOptions::new();
        new.read(true).write(true).create_new(true).mode(0o600);
        let file = match new.open(path) {
            // A unit that is started again keeps the accounts of its last start.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && keep && has_ended_in(path) => {
                fs::remove_file(path)?;
                new.open(path)
            }
            opened => opened,
        }?;
        // Some file systems know no owners, or no rights: there, whoever cuts the file ends the programs that have it mapped.
        if !place::is_ours(&file.metadata()?) {
            let _ = fs::remove_file(path);
            return Err(io::Error::other("others can write a new file there"));
        }
        let ledger = LedgerFile { path: path.to_owned(), file, keep, is_alone: Cell::new(false) };
        // What lies beside a name that somebody gave is of a ledger that is gone. Ours has the moment in it, and is new.
        if keep {
            remove_areas(path);
        }
        let written = ledger.write(options, keep);
        if written.is_err() && keep {
            let _ = fs::remove_file(path);
        }
        written.map(|()| ledger)
    }

    /// A run in whose ledger even the head has no space has no ledger.
    fn write(&self, options: &[u8], keep: bool) -> io::Result<()> {
        self.file.set_len(FILE_BYTES as u64)?;
        if fallocate(self.file.as_raw_fd(), 0, 0, SLOTS_OFFSET as u64).is_err() {
            // A file system that cannot; writing zeros takes space as well, or says why not.
            self.file.write_all_at(&vec![0; SLOTS_OFFSET], 0)?;
        }
        let kept = &options[..options.len().min(OPTIONS_ROOM)];
        self.file.write_all_at(kept, OPTIONS_OFFSET as u64)?;
        let now = clock_nanoseconds(CLOCK_BOOTTIME);
        self.file.write_all_at(&make::header_page(process::id(), now, options.len(), keep), 0)
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

    /// Leaves the file behind, for a program that has no parent.
    pub fn keep(mut self) -> PathBuf {
        self.keep = true;
        self.path.clone()
    }

    /// The name by which [`named`] finds it.
    #[must_use]
    pub fn name(&self) -> String {
        self.path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// How many processes go on, of which this is `view`.
    #[must_use]
    pub fn running(&self, view: &LedgerView<'_>) -> u64 {
        let alive = Alive::default();
        let is_running =
            |slot: &SlotView<'_>| slot.state == SlotState::Live && slot.ended_ns() == 0 && alive.has(slot);
        let known = view.slots().filter(is_running).count();
        let mapping = if view.are_some_on_their_way() { count_mapping(&self.path) } else { 0 };
        known.max(mapping) as u64
    }

    /// Leaves the file to processes that go on, to be read by its name until a day after the last of them has ended.
    pub fn leave(&mut self) {
        self.keep = true;
        let _ = self.file.write_all_at(&LEFT.to_le_bytes(), offset_of!(Header, keep) as u64);
    }

    /// What is in it now: the head, and every slot up to the last that was ever used.
    ///
    /// # Errors
    /// Those of reading a file.
    pub fn read(&self) -> io::Result<Vec<u8>> {
        read(&self.file)
    }

    /// Is it a ledger still? Cheaper than reading all of it.
    ///
    /// # Errors
    /// Says what is wrong with it.
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

    /// The bytes of the lock areas beside it, once its programs have ended; see [`areas`].
    #[must_use]
    pub fn areas(&self) -> Vec<Vec<u8>> {
        let paths = beside(&self.path, &[LOCKS, SAMPLES]);
        self.is_alone.set(paths.is_empty());
        read_areas(paths)
    }

    /// Where the sample areas of its processes lie, of all that have one now.
    #[must_use]
    pub fn sample_areas(&self) -> Vec<PathBuf> {
        beside(&self.path, &[SAMPLES])
    }
}

impl Drop for LedgerFile {
    fn drop(&mut self) {
        if !self.keep {
            let _ = fs::remove_file(&self.path);
            // What a process that outlives the run makes later is swept by a later run.
            if !self.is_alone.get() {
                remove_areas(&self.path);
            }
        }
    }
}

/// What is said of a ledger that cannot be read.
pub fn not_readable(error: &io::Error) -> String {
    format!("the ledger could not be read: {error}")
}

/// The bytes of the lock areas beside that ledger, in the order of their names. What cannot be read is left out: a
/// report without it is better than none.
#[must_use]
pub fn areas(ledger: &Path) -> Vec<Vec<u8>> {
    read_areas(beside(ledger, &[LOCKS]))
}

fn read_areas(mut paths: Vec<PathBuf>) -> Vec<Vec<u8>> {
    paths.retain(|path| path.extension().is_some_and(|ending| ending == LOCKS));
    paths.truncate(AREAS as usize);
    paths.iter().filter_map(|path| area(path)).collect()
}

/// One area, if it is a file and no longer than one.
fn area(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    open_file(path)?.take(size_of::<Area>() as u64).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// What lies beside a ledger with one of these endings, in the order of names.
fn beside(ledger: &Path, endings: &[&str]) -> Vec<PathBuf> {
    let folder = ledger.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let (Some(name), Ok(entries)) = (ledger.file_name(), fs::read_dir(folder)) else { return Vec::new() };
    let is_of_it = |path: &PathBuf| {
        let found = path.file_name().and_then(area_of);
        found.is_some_and(|(ledger, _, ending)| ledger == name && endings.contains(&ending))
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(is_of_it).collect();
    paths.sort();
    paths
}

/// The ledger's name, the process and the ending of an area of that name; None if it is no name of an area.
fn area_of(name: &OsStr) -> Option<(&OsStr, u32, &'static str)> {
    let (ending, rest) = [LOCKS, SAMPLES].into_iter().find_map(|ending| {
        Some((ending, name.as_bytes().strip_suffix(ending.as_bytes())?.strip_suffix(b".")?))
    })?;
    let dot = rest.iter().rposition(|&byte| byte == b'.')?;
    let (process, moment) = str::from_utf8(&rest[dot + 1..]).ok()?.split_once('-')?;
    u64::from_str_radix(moment, 16).ok()?;
    Some((OsStr::from_bytes(&rest[..dot]), process.parse().ok()?, ending))
}

fn remove_areas(ledger: &Path) {
    for path in beside(ledger, &[LOCKS, SAMPLES]) {
        let _ = fs::remove_file(path);
    }
}

/// Reads a ledger file of any run, to the end of its last slot in use; holes are not filled in.
///
/// # Errors
/// Those of reading a file.
pub fn read(file: &File) -> io::Result<Vec<u8>> {
    use underbar_ledger::layout::{SLOT_BYTES, SLOTS};
    let mut bytes = vec![0; SLOTS_OFFSET];
    let head = file.read_at(&mut bytes, 0)?;
    if head < SLOTS_OFFSET {
        bytes.truncate(head);
        return Ok(bytes);
    }
    // Only slots that hold something: a file is mostly holes, and most runs use a slot or two.
    let used: Vec<usize> = match LedgerView::new(&bytes) {
        Ok(view) => (0..SLOTS).filter(|&slot| view.is_used(slot)).collect(),
        Err(_) => Vec::new(),
    };
    let end = used.last().map_or(SLOTS_OFFSET, |last| SLOTS_OFFSET + (last + 1) * SLOT_BYTES);
    // Where address space is scarce (`ulimit -v`) there is no report, and the program's end is what it was.
    bytes.try_reserve_exact(end - SLOTS_OFFSET).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
    bytes.resize(end, 0);
    for slot in used {
        let at = SLOTS_OFFSET + slot * SLOT_BYTES;
        file.read_at(&mut bytes[at..at + SLOT_BYTES], at as u64)?;
    }
    Ok(bytes)
}

pub(crate) fn folders() -> impl Iterator<Item = PathBuf> {
    let runtime = env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute());
    let name = format!("underbar-{}", getuid());
    [
        runtime.map(|path| path.join("underbar")),
        Some(Path::new("/dev/shm").join(&name)),
        Some(Path::new("/tmp").join(name)),
    ]
    .into_iter()
    .flatten()
}

/// Makes the folder if it is not there, but not the one that it lies in. It must be ours, and nobody else's to read.
pub(crate) fn own_folder(folder: &Path) -> io::Result<PathBuf> {
    let (Some(parent), Some(name)) = (folder.parent(), folder.file_name()) else {
        return Err(io::Error::other("it is no folder that could be made"));
    };
    let folder = place::make(&place::find(parent)?.join(name), 0o700)?;
    let status = fs::symlink_metadata(&folder)?;
    if status.uid() == underbar_sys::syscall::geteuid() && status.mode() & 0o077 == 0 {
        Ok(folder)
    } else {
        Err(io::Error::other(format!("{} is not ours alone", folder.shown())))
    }
}

/// Removes ledgers of runs of which nothing lives any more.
fn sweep(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|ending| ending == ENDING) && is_dead(&path) {
            let _ = fs::remove_file(&path);
            remove_areas(&path);
        }
        // A process that outlives its run may begin an area when the ledger is gone.
        let left =
            |(ledger, process, _): (&OsStr, u32, _)| !folder.join(ledger).exists() && !is_alive(process);
        if path.file_name().and_then(area_of).is_some_and(left) {
            let _ = fs::remove_file(&path);
        }
    }
}

/// A file that is no ledger of ours is dead if its maker, in its name, is; noise in it decides nothing.
fn is_dead(path: &Path) -> bool {
    let maker = path
        .file_name()
        .and_then(|name| name.to_str()?.split('-').next()?.parse::<u32>().ok())
        .unwrap_or_default();
    if is_alive(maker) {
        return false;
    }
    let Some(Ok(bytes)) = open_file(path).map(|file| read(&file)) else { return false };
    match LedgerView::new(&bytes) {
        Ok(view) if !Alive::may_judge(&view) => false,
        Ok(view) if view.is_left() => !lives(&view) && is_long_dead(path, &view),
        Ok(view) => !view.keep() && !lives(&view),
        Err(_) => true,
    }
}

/// Was nobody of a left ledger alive a day ago? Its figures are final then, and somebody may still want to read them. The first
/// who finds it so writes the moment down.
fn is_long_dead(path: &Path, view: &LedgerView<'_>) -> bool {
    const DAY_NS: u64 = 24 * 3600 * 1_000_000_000;
    let now = clock_nanoseconds(CLOCK_BOOTTIME);
    match view.found_dead_ns() {
        0 => {
            let file = OpenOptions::new().write(true).custom_flags(O_NOFOLLOW as i32).open(path);
            let at = offset_of!(Header, found_dead_ns) as u64;
            let _ = file.and_then(|file| file.write_all_at(&now.to_le_bytes(), at));
            false
        }
        // The machine was started again since.
        then if then > now => true,
        then => now - then > DAY_NS,
    }
}

/// The ledger of that name, as [`LedgerFile::name`] gives it, in the folders in which runs have theirs.
#[must_use]
pub fn named(name: &str) -> Option<PathBuf> {
    if name.is_empty() || name.starts_with('.') || name.contains('/') {
        return None;
    }
    folders()
        .filter(|folder| own_folder_there(folder))
        .map(|folder| folder.join(format!("{name}.{ENDING}")))
        .find(|path| fs::symlink_metadata(path).is_ok_and(|status| status.is_file()))
}

/// Is the folder there, ours, and nobody else's to write?
pub(crate) fn own_folder_there(folder: &Path) -> bool {
    fs::symlink_metadata(folder)
        .is_ok_and(|status| status.is_dir() && status.uid() == getuid() && status.mode() & 0o077 == 0)
}

/// Is this a ledger that was kept, and has everything in it ended?
fn has_ended_in(path: &Path) -> bool {
    let Some(Ok(bytes)) = open_file(path).map(|file| read(&file)) else { return false };
    LedgerView::new(&bytes).is_ok_and(|view| {
        // Its maker becomes the first program; one of before the machine was started has nobody.
        let is_of_before = view.made_ns() > clock_nanoseconds(CLOCK_BOOTTIME);
        view.keep() && (is_of_before || !is_alive(view.maker()) && !lives(&view))
    })
}

fn lives(view: &LedgerView<'_>) -> bool {
    let alive = Alive::default();
    view.slots().any(|slot| slot.state == SlotState::Live && alive.has(&slot))
}

/// Opens a file to read it: no link, and nobody is waited for at the other end of a pipe.
pub(crate) fn open_file(path: &Path) -> Option<File> {
    use underbar_sys::syscall::O_NONBLOCK;
    let file =
        OpenOptions::new().read(true).custom_flags((O_NOFOLLOW | O_NONBLOCK) as i32).open(path).ok()?;
    file.metadata().is_ok_and(|status| status.is_file()).then_some(file)
}

#[cfg(test)]
mod tests {
    use underbar_ledger::Identity;
    use underbar_ledger::layout::Directory;

    use super::*;

    fn folder(name: &str) -> PathBuf {
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

    #[test]
    fn sweeping_takes_what_is_dead_and_nothing_else() {
        let folder = folder("ledger-sweep");
        // A process number that no process has: larger than the kernel gives.
        let dead = 4_194_400;
        let names =
            [format!("{dead}-1.ledger"), format!("{dead}-2.ledger"), format!("{}-3.ledger", process::id())];
        let paths = names.map(|name| folder.join(name));
        std::mem::forget(LedgerFile::create_at(&paths[0], b"", false).expect("a ledger"));
        drop(LedgerFile::create_at(&paths[1], b"", true).expect("a kept ledger"));
        std::mem::forget(LedgerFile::create_at(&paths[2], b"", false).expect("a ledger"));
        let noise = folder.join(format!("{dead}-4.ledger"));
        fs::write(&noise, b"noise").expect("written");
        sweep(&folder);
        assert_eq!(
            [&paths[0], &paths[1], &paths[2], &noise].map(|path| path.exists()),
            [false, true, true, false]
        );
        fs::remove_dir_all(folder).expect("removed");
    }

    #[test]
    fn a_ledger_that_was_left_is_found_by_name_and_swept_a_day_after_all_have_ended() {
        let folder = folder("ledger-left");
        let path = folder.join("4194400-1.ledger");
        let mut ledger = LedgerFile::create_at(&path, b"", false).expect("a ledger");
        let put = |at: usize, value: u64| {
            let file = File::options().write(true).open(&path).expect("there");
            file.write_all_at(&value.to_le_bytes(), at as u64).expect("written");
        };
        let me = Identity { namespace: 0, number: process::id() };
        put(offset_of!(Header, directory), underbar_ledger::Directory::word(SlotState::Live, me));
        let now = clock_nanoseconds(CLOCK_BOOTTIME);
        put(SLOTS_OFFSET + offset_of!(underbar_ledger::Slot, started_ns), now);
        let bytes = ledger.read().expect("read");
        assert_eq!(ledger.running(&LedgerView::new(&bytes).expect("a ledger")), 1);
        ledger.leave();
        assert_eq!(ledger.name(), "4194400-1");
        drop(ledger);
        let check = |stays: bool, why: &str| {
            sweep(&folder);
            assert_eq!(path.exists(), stays, "{why}");
        };
        check(true, "a process of it lives");
        put(offset_of!(Header, directory), underbar_ledger::Directory::word(SlotState::Ended, me));
        check(true, "it is found dead now");
        check(true, "just now");
        put(offset_of!(Header, found_dead_ns), 1);
        if now > 25 * 3600 * 1_000_000_000 {
            check(false, "a day ago");
        }
        put(offset_of!(Header, found_dead_ns), u64::MAX);
        check(false, "before the machine was started");
        assert_eq!([named(""), named("../x"), named(".x")], [None, None, None]);
        fs::remove_dir_all(folder).expect("removed");
    }

    #[test]
    fn a_kept_ledger_takes_the_place_of_one_in_which_all_has_ended_and_of_nothing_else() {
        let folder = folder("ledger-again");
        let path = folder.join("accounts");
        drop(LedgerFile::create_at(&path, b"first", true).expect("a ledger"));
        let put = |at: usize, bytes: &[u8]| {
            File::options()
                .write(true)
                .open(&path)
                .and_then(|file| file.write_all_at(bytes, at as u64))
                .expect("written");
        };
        assert!(LedgerFile::create_at(&path, b"", true).is_err(), "its maker lives");
        put(offset_of!(Header, maker), &4_194_400_u32.to_le_bytes());
        drop(LedgerFile::create_at(&path, b"second", true).expect("nobody lives in the first"));
        let bytes = read(&File::open(&path).expect("there")).expect("read");
        assert_eq!(LedgerView::new(&bytes).expect("a ledger").options().0, b"second");
        put(offset_of!(Header, maker), &4_194_400_u32.to_le_bytes());
        assert!(LedgerFile::create_at(&path, b"", false).is_err(), "a run's own is new");
        let me = Identity { namespace: 0, number: process::id() };
        put(offset_of!(Header, directory), &Directory::word(SlotState::Live, me).to_le_bytes());
        // As long as this process lives, though its number is of no namespace that we know.
        let now = clock_nanoseconds(CLOCK_BOOTTIME);
        put(SLOTS_OFFSET + offset_of!(underbar_ledger::Slot, started_ns), &now.to_le_bytes());
        assert!(LedgerFile::create_at(&path, b"", true).is_err(), "somebody lives in it");
        fs::write(&path, "a report, or the user's own").expect("written");
        assert!(LedgerFile::create_at(&path, b"", true).is_err());
        fs::remove_dir_all(folder).expect("removed");
    }

    #[test]
    fn lock_areas_are_read_and_removed_with_their_ledger() {
        let folder = folder("ledger-areas");
        let dead = 4_194_400;
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
        // Neither a link nor a pipe is an area, and neither is waited for.
        std::os::unix::fs::symlink(&others[0], beside("1-1.ledger.9-1.locks")).expect("linked");
        let pipe = beside("1-1.ledger.9-2.locks");
        assert!(process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
        let read = ledger.areas();
        assert_eq!(read.iter().map(Vec::len).collect::<Vec<_>>(), [size_of::<Area>(), 1]);
        let samples = beside("1-1.ledger.7-a1.samples");
        fs::write(&samples, b"9").expect("written");
        assert_eq!(ledger.sample_areas(), std::slice::from_ref(&samples));
        drop(ledger);
        assert!(!samples.exists());
        assert!(own.iter().all(|path| !path.exists()) && others.iter().all(|path| path.exists()));

        // The sweep: with a dead ledger, or left alone by a dead process; not those of who lives.
        std::mem::forget(
            LedgerFile::create_at(&beside(&format!("{dead}-1.ledger")), b"", false).expect("a ledger"),
        );
        let swept = [format!("{dead}-1.ledger.{dead}-1.locks"), format!("{dead}-2.ledger.{dead}-1.locks")];
        let stays = format!("{dead}-2.ledger.{}-1.locks", process::id());
        swept.iter().chain([&stays]).for_each(|name| fs::write(beside(name), b"x").expect("written"));
        sweep(&folder);
        assert!(swept.iter().all(|name| !beside(name).exists()) && beside(&stays).exists());
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
