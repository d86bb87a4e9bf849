//! The ledger file of a run: where it lies, and how long.
//!
//! ```text
//! $XDG_RUNTIME_DIR/underbar     the first folder that is ours alone and works
//! /dev/shm/underbar-UID
//! /tmp/underbar-UID             (a disk file's pages are shared memory, too)
//! ```
//!
//! Invariant: the file and its folder are the user's alone. It is removed when the run is reported, unless it
//! is to be kept; a run that was killed leaves it, and the next one sweeps it away once no process of it lives.
//! Not here: its layout (the `ledger` crate), and what is made of it.

use std::env;
use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process;

use underbar_ledger::layout::{FILE_BYTES, OPTIONS_OFFSET, OPTIONS_ROOM, SLOTS_OFFSET};
use underbar_ledger::{LedgerView, SlotState, make};
use underbar_runtime::follow::environment::LEDGER;
use underbar_sys::syscall::{Errno, clock_nanoseconds, getuid, kill};

const CLOCK_BOOTTIME: u32 = 7;
const ENDING: &str = "ledger";

/// A ledger file; removed when dropped, unless kept.
#[derive(Debug)]
pub struct LedgerFile {
    path: PathBuf,
    file: File,
    keep: bool,
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
                Ok(()) => {
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

    /// Makes a ledger of that name; `keep`: it outlives the run.
    ///
    /// # Errors
    /// Those of making and writing a file.
    pub fn create_at(path: &Path, options: &[u8], keep: bool) -> io::Result<LedgerFile> {
        let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)?;
        let ledger = LedgerFile { path: path.to_owned(), file, keep };
        let written = ledger.write(options, keep);
        if written.is_err() && keep {
            let _ = fs::remove_file(path);
        }
        written.map(|()| ledger)
    }

    /// Writing the zeros allocates their space; a run in whose ledger even the header has none has no ledger.
    fn write(&self, options: &[u8], keep: bool) -> io::Result<()> {
        self.file.set_len(FILE_BYTES as u64)?;
        let mut head = vec![0; SLOTS_OFFSET];
        let kept = &options[..options.len().min(OPTIONS_ROOM)];
        head[OPTIONS_OFFSET..OPTIONS_OFFSET + kept.len()].copy_from_slice(kept);
        self.file.write_all_at(&head, 0)?;
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

    /// What is in it now: the head, and every slot up to the last that was ever used.
    ///
    /// # Errors
    /// Those of reading a file.
    pub fn read(&self) -> io::Result<Vec<u8>> {
        read(&self.file)
    }
}

impl Drop for LedgerFile {
    fn drop(&mut self) {
        if !self.keep {
            let _ = fs::remove_file(&self.path);
        }
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

/// Is there a process of that number? One that has ended and that nobody has waited for is none.
#[must_use]
pub fn is_alive(process: u32) -> bool {
    i32::try_from(process).is_ok_and(|process| process > 0 && kill(process, 0) != Err(Errno::ESRCH))
        && !has_ended(process)
}

/// Whether the kernel says of a process that it has ended; false where it says nothing.
fn has_ended(process: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The state comes behind the name, which may hold anything.
    let state = status.rsplit(") ").next().and_then(|rest| rest.chars().next());
    matches!(state, Some('Z' | 'X'))
}

fn folders() -> impl Iterator<Item = PathBuf> {
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

/// Makes the folder if it is not there; it must be ours, and nobody else's to write.
fn own_folder(folder: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let status = fs::symlink_metadata(folder)?;
    if status.is_dir() && status.uid() == getuid() && status.mode() & 0o077 == 0 {
        Ok(())
    } else {
        Err(io::Error::other(format!("{} is not ours alone", folder.display())))
    }
}

/// Removes ledgers of runs of which nothing lives any more.
fn sweep(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|ending| ending == ENDING) && is_dead(&path) {
            let _ = fs::remove_file(path);
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
    let Ok(bytes) =
        OpenOptions::new().read(true).custom_flags(nofollow()).open(path).and_then(|file| read(&file))
    else {
        return false;
    };
    match LedgerView::new(&bytes) {
        Ok(view) => {
            !view.keep() && !view.slots().any(|slot| slot.state == SlotState::Live && is_alive(slot.process))
        }
        Err(_) => true,
    }
}

fn nofollow() -> i32 {
    underbar_sys::syscall::O_NOFOLLOW as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = env::temp_dir().join(format!("underbar-test-{name}-{}", process::id()));
        let _ = fs::remove_dir_all(&folder);
        own_folder(&folder).expect("a folder of our own");
        folder
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
    fn an_ended_process_that_nobody_waited_for_is_not_alive() {
        let mut child =
            process::Command::new("true").stdout(process::Stdio::piped()).spawn().expect("a child");
        let number = child.id();
        assert!(is_alive(process::id()));
        while !has_ended(number) {
            std::thread::yield_now();
        }
        assert!(!is_alive(number));
        assert!(child.wait().expect("our child").success());
        assert!(!is_alive(number));
    }

    #[test]
    fn a_folder_that_others_can_write_is_not_used() {
        use std::os::unix::fs::PermissionsExt;
        let folder = folder("ledger-open");
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).expect("opened");
        assert!(own_folder(&folder).is_err());
        fs::remove_dir_all(folder).expect("removed");
    }
}
