//! The ledgers that there are: those of this user, or as root of all users; and how they are looked at again and again.
//!
//! ```text
//! folders of runs (XDG_RUNTIME_DIR and /dev/shm) ────┐
//! UNDERBAR_LEDGER of running processes (-o, MSGFILE) ─┴─ owner and rights checked ──> Found ── open ──> Watched ── look ... look
//! ```
//!
//! Invariant: a ledger counts only if its file belongs to the user whose folder it is in (or, for one that a process names, to this user
//! or root), and no other can write it. Reading it never waits, maps nothing, and follows no link.
//! Cost: a look is three system calls for a ledger and one for each process in it.
//! Not here: what is in a ledger (`underbar_ledger`), and which ones are removed ([`mod@super::sweep`]).

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use underbar_ledger::layout::{CONTROL_OFFSET, SLOT_BYTES, SLOTS, SLOTS_OFFSET};
use underbar_ledger::view::count_switches;
use underbar_ledger::{LedgerError, LedgerView, SlotState, SlotView};
use underbar_preloadable::LEDGER;
use underbar_sys::syscall::geteuid;

use super::{ENDING, folders, own_folder_there, read};
use crate::{foreign_file, place};

const OTHERS_WRITE: u32 = 0o022;

/// Whose ledgers are searched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// Those of this user.
    Own,
    /// Those of all users. Only root can read them.
    Everyone,
}

/// A ledger's file, and the user whose it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Found {
    /// Its path.
    pub path: PathBuf,
    /// Its owner.
    pub owner: u32,
    /// Is it in a folder of runs, so that it has a name?
    pub is_named: bool,
}

/// The folders in which ledgers of this user are searched for: `$XDG_RUNTIME_DIR/underbar`, if it is set, and the one that runs without
/// that variable use, such as those of services. Without it, every folder of runs: the first may have been full.
#[must_use]
pub fn searched() -> Vec<PathBuf> {
    let (runtime, others) = super::folders_apart();
    chosen(runtime, others, |folder| own_folder_there(folder).is_some())
}

fn chosen(
    runtime: Option<PathBuf>,
    others: [PathBuf; 2],
    is_there: impl Fn(&PathBuf) -> bool,
) -> Vec<PathBuf> {
    match runtime {
        Some(runtime) => {
            let [memory, disk] = others;
            let other = if is_there(&memory) || !is_there(&disk) { memory } else { disk };
            vec![runtime, other]
        }
        None => others.into(),
    }
}

/// The ledgers in the folders of runs ([`searched`]), in the order of their paths.
#[must_use]
pub fn in_folders(whose: Whose) -> Vec<Found> {
    let own = searched().into_iter().filter_map(|folder| own_folder_there(&folder));
    let own = own.map(|folder| (folder, geteuid()));
    let mut all: BTreeSet<Found> = BTreeSet::new();
    for (folder, owner) in own.chain(if whose == Whose::Everyone { others() } else { Vec::new() }) {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let ledgers = entries.map(|entry| entry.path());
        let ledgers = ledgers.filter(|path| path.extension().is_some_and(|ending| ending == ENDING));
        all.extend(ledgers.map(|path| Found { path, owner, is_named: true }));
    }
    all.into_iter().collect()
}

/// Folders of runs of other users, with their owners. A folder that others can write is left out.
fn others() -> Vec<(PathBuf, u32)> {
    let within = |folder: &str, name: fn(&Path) -> Option<PathBuf>| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.filter_map(|entry| name(&entry.path())).collect::<Vec<_>>()
    };
    let named = |path: &Path| {
        let user = path.file_name()?.to_str()?.strip_prefix("underbar-")?;
        user.parse::<u32>().is_ok().then(|| path.to_owned())
    };
    let all = within("/run/user", |path| Some(path.join("underbar")))
        .into_iter()
        .chain(within("/dev/shm", named))
        .chain(within("/tmp", named));
    all.filter_map(|folder| {
        let status = fs::symlink_metadata(&folder).ok()?;
        (status.is_dir() && status.mode() & OTHERS_WRITE == 0).then(|| (folder, status.uid()))
    })
    .filter(|(_, owner)| *owner != geteuid())
    .collect()
}

/// The ledgers that running processes name in their environment, also outside of those folders. Reads a file for each process that may
/// be read.
#[must_use]
pub fn named_by_processes(whose: Whose) -> Vec<Found> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut all: BTreeSet<Found> = BTreeSet::new();
    for entry in entries {
        let Some(process) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let Ok(owner) = entry.metadata().map(|status| status.uid()) else { continue };
        if whose == Whose::Own && owner != geteuid() {
            continue;
        }
        let path = ledger_of(process).filter(|path| path.is_absolute());
        all.extend(path.map(|path| Found { path, owner, is_named: false }));
    }
    all.into_iter().collect()
}

/// The ledger of a running process, by the environment in which its program began. None if it has none, or is another user's.
#[must_use]
pub fn ledger_of(process: u32) -> Option<PathBuf> {
    let environment = fs::read(format!("/proc/{process}/environ")).ok()?;
    let value = |variable: &[u8]| {
        let path = variable.strip_prefix(LEDGER)?.strip_prefix(b"=")?;
        Some(PathBuf::from(OsStr::from_bytes(path)))
    };
    environment.split(|&byte| byte == 0).find_map(value)
}

/// A ledger that is looked at again and again.
pub struct Watched {
    path: PathBuf,
    owner: u32,
    is_named: bool,
    file: File,
    /// The head and the slots, as they were at the last look.
    bytes: Vec<u8>,
    /// The state and process of slots that were read and do not change any more.
    settled: Vec<u64>,
}

impl Watched {
    /// Opens it.
    ///
    /// # Errors
    /// Those of opening it; a file that is not regular, or belongs to another user than is said, or is writable by others.
    pub fn open(found: &Found) -> io::Result<Watched> {
        let file = foreign_file::open_unlinked(&found.path)?;
        let status = file.metadata()?;
        if !is_of(&status, found.owner) {
            return Err(io::Error::other("it belongs to another user, or others can write it"));
        }
        Ok(Watched {
            path: found.path.clone(),
            owner: status.uid(),
            is_named: found.is_named,
            file,
            bytes: Vec::new(),
            settled: vec![0; SLOTS],
        })
    }

    /// Opens the ledger that the user names by its path.
    ///
    /// # Errors
    /// As [`Watched::open`]; it may belong to this user or to root.
    pub fn open_named(path: &Path) -> io::Result<Watched> {
        let path = fs::canonicalize(path)?;
        let is_named = folders()
            .filter_map(|folder| own_folder_there(&folder))
            .any(|folder| path.parent() == Some(&folder));
        Watched::open(&Found { path, owner: geteuid(), is_named })
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its owner.
    #[must_use]
    pub fn owner(&self) -> u32 {
        self.owner
    }

    /// The name by which [`super::named`] finds it, if it is in a folder of runs; else its path.
    #[must_use]
    pub fn name(&self) -> String {
        let name = if self.is_named { self.path.file_stem() } else { Some(self.path.as_os_str()) };
        name.unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Has the file been removed?
    #[must_use]
    pub fn is_gone(&self) -> bool {
        self.file.metadata().is_ok_and(|status| status.nlink() == 0)
    }

    /// Reads the figures again.
    ///
    /// # Errors
    /// Those of reading a file.
    pub fn look(&mut self) -> io::Result<()> {
        let is_first = self.bytes.is_empty();
        if is_first {
            self.bytes = vec![0; SLOTS_OFFSET];
        }
        let head = if is_first { SLOTS_OFFSET } else { CONTROL_OFFSET };
        let read = self.file.read_at(&mut self.bytes[..head], 0)?;
        if read < head {
            self.bytes.clear();
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let Ok(view) = LedgerView::new(&self.bytes) else { return Ok(()) };
        let last = (0..SLOTS).rev().find(|&slot| view.is_used(slot));
        let end = last.map_or(0, |last| SLOTS_OFFSET + (last + 1) * SLOT_BYTES);
        if end > self.bytes.len() {
            self.bytes.resize(end, 0);
        }
        let Ok(view) = LedgerView::new(&self.bytes) else { return Ok(()) };
        let slots: Vec<(usize, u64, bool)> = view
            .slots()
            .map(|slot| (slot.place, slot.process.packed(), slot.state != SlotState::Live))
            .collect();
        for (place, process, has_ended) in slots {
            if has_ended && self.settled[place] == process {
                continue;
            }
            let slot = LedgerView::counters_of(place);
            let at = slot.start as u64;
            self.file.read_at(&mut self.bytes[slot], at)?;
            self.settled[place] = if has_ended { process } else { 0 };
        }
        Ok(())
    }

    /// What the last look saw: the head and counters, without what is behind slots.
    ///
    /// # Errors
    /// The reason why it is not a ledger of this version.
    pub fn view(&self) -> Result<LedgerView<'_>, LedgerError> {
        LedgerView::new(&self.bytes)
    }

    /// The switches of the process in a slot so far, read now; None if it counts none.
    #[must_use]
    pub fn switches(&self, place: usize) -> Option<u64> {
        self.view().ok().filter(|view| view.has_switches(place))?;
        let range = LedgerView::switches_of(place);
        let mut pages = vec![0; range.len()];
        let read = self.file.read_at(&mut pages, range.start as u64).ok()?;
        (read == pages.len()).then(|| count_switches(&pages))
    }

    /// The whole ledger, for a report.
    ///
    /// # Errors
    /// Those of reading a file.
    pub fn whole(&self) -> io::Result<Vec<u8>> {
        read(&self.file)
    }

    /// Does this word mean the ledger: its name, the number of a process that runs in it, or the name of a program that does?
    #[must_use]
    pub fn is_meant_by(&self, word: &str) -> bool {
        let Ok(view) = self.view() else { return self.name() == word };
        let number: Option<u32> = word.parse().ok();
        let means = |slot: &SlotView<'_>| {
            slot.state == SlotState::Live && (Some(slot.process.number) == number || is_name(slot, word))
        };
        self.name() == word || view.slots().any(|slot| means(&slot)) || {
            // Of a run that has ended, its first program.
            let first = view.slots().min_by_key(SlotView::started_ns);
            first.is_some_and(|slot| slot.state != SlotState::Live && is_name(&slot, word))
        }
    }
}

/// Is it the name of the program, or its path?
fn is_name(slot: &SlotView<'_>, word: &str) -> bool {
    let word = word.as_bytes();
    let file = |path: &[u8]| path.rsplit(|&byte| byte == b'/').next() == Some(word);
    [slot.program(), slot.started_as()]
        .into_iter()
        .any(|path| !path.is_empty() && (path == word || file(path)))
}

/// Whether only this owner can change the file; if it is this user, root's file counts as well.
fn is_of(status: &Metadata, owner: u32) -> bool {
    let is_owners = status.uid() == owner && status.mode() & OTHERS_WRITE == 0;
    is_owners || owner == geteuid() && place::is_ours(status)
}

/// What a word may mean among the ledgers of this user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meant {
    /// Nothing.
    None,
    /// One ledger.
    One(PathBuf),
    /// Several; the names of these.
    Several(Vec<String>),
}

/// The ledger of this user that a word means: a name, the number of a process, or the name of a program. Ledgers in which a process lives
/// come before those that were left.
#[must_use]
pub fn meant(word: &str) -> Meant {
    let mut all = in_folders(Whose::Own);
    for named in named_by_processes(Whose::Own) {
        if !all.iter().any(|found| found.path == named.path) {
            all.push(named);
        }
    }
    let alive = crate::Alive::default();
    let (mut living, mut left) = (Vec::new(), Vec::new());
    for found in &all {
        let Ok(mut watched) = Watched::open(found) else { continue };
        if watched.look().is_err() || !watched.is_meant_by(word) {
            continue;
        }
        let lives = watched.view().is_ok_and(|view| {
            view.slots().any(|slot| slot.state == SlotState::Live && slot.ended_ns() == 0 && alive.has(&slot))
        });
        if lives { &mut living } else { &mut left }.push(watched);
    }
    let mut those = if living.is_empty() { left } else { living };
    match those.len() {
        0 => Meant::None,
        1 => Meant::One(those.remove(0).path),
        _ => Meant::Several(those.iter().map(Watched::name).collect()),
    }
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    use underbar_ledger::layout::Directory;
    use underbar_ledger::{Header, Identity, Key, Slot};

    use super::*;
    use crate::ledger::LedgerFile;
    use crate::ledger::tests::folder;

    fn put(path: &Path, at: usize, bytes: &[u8]) {
        let file = File::options().write(true).open(path).expect("there");
        file.write_all_at(bytes, at as u64).expect("written");
    }

    #[test]
    fn a_runtime_folder_leaves_out_the_last_resort() {
        let [runtime, memory, disk] =
            ["/run/user/7/underbar", "/dev/shm/underbar-7", "/tmp/underbar-7"].map(PathBuf::from);
        let chosen = |runtime: Option<&PathBuf>, there: &[&PathBuf]| {
            let others = [memory.clone(), disk.clone()];
            chosen(runtime.cloned(), others, |folder| there.contains(&folder))
        };
        let all = [&runtime, &memory, &disk];
        assert_eq!(chosen(Some(&runtime), &all), [runtime.clone(), memory.clone()]);
        assert_eq!(chosen(Some(&runtime), &[]), [runtime.clone(), memory.clone()]);
        assert_eq!(chosen(Some(&runtime), &[&disk]), [runtime.clone(), disk.clone()], "there is no /dev/shm");
        assert_eq!(chosen(None, &all), [memory.clone(), disk.clone()]);
    }

    #[test]
    fn a_look_sees_what_has_changed_since_and_what_has_ended_stays() {
        let folder = folder("ledger-watched");
        let path = folder.join("4194400-1.ledger");
        let ledger = LedgerFile::create_at(&path, b"HEAP(1M)", false).expect("a ledger");
        let mut watched =
            Watched::open(&Found { path: path.clone(), owner: geteuid(), is_named: true }).expect("ours");
        watched.look().expect("read");
        assert_eq!(watched.view().expect("a ledger").slots().count(), 0);
        let slot = |state| Directory::word(state, Identity { namespace: 0, number: 7 }).to_le_bytes();
        let gets = SLOTS_OFFSET + offset_of!(Slot, counters) + 8 * Key::HeapGets as usize;
        put(&path, offset_of!(Header, directory), &slot(SlotState::Live));
        put(&path, SLOTS_OFFSET + offset_of!(Slot, program), b"/usr/bin/worker");
        let seen = |watched: &mut Watched| {
            watched.look().expect("read");
            let view = watched.view().expect("a ledger");
            view.slots().map(|slot| slot.get(Key::HeapGets)).collect::<Vec<_>>()
        };
        for figure in [3_u64, 5] {
            put(&path, gets, &figure.to_le_bytes());
            assert_eq!(seen(&mut watched), [figure]);
        }
        for word in ["4194400-1", "7", "worker", "/usr/bin/worker"] {
            assert!(watched.is_meant_by(word), "{word}");
        }
        for word in ["", "8", "work", "bin/worker", "4194400"] {
            assert!(!watched.is_meant_by(word), "{word}");
        }
        put(&path, offset_of!(Header, directory), &slot(SlotState::Ended));
        assert_eq!(seen(&mut watched), [5]);
        assert!(
            watched.is_meant_by("worker") && !watched.is_meant_by("7"),
            "another process may have the number"
        );
        assert_eq!(watched.switches(0), None);
        // One that is no run's has no name but its path.
        let other = Watched::open_named(&path).expect("ours");
        assert_eq!(
            (watched.name().as_str(), other.name()),
            ("4194400-1", path.to_string_lossy().into_owned())
        );
        assert!(!watched.is_gone());
        drop(ledger);
        assert!(watched.is_gone());
        fs::remove_dir_all(folder).expect("removed");
    }

    #[test]
    fn what_others_can_write_or_own_is_not_looked_at() {
        const OTHER: u32 = 47_813;
        let folder = folder("ledger-found");
        let path = folder.join("1-1.ledger");
        let ledger = LedgerFile::create_at(&path, b"", false).expect("a ledger");
        let open = |owner| Watched::open(&Found { path: path.clone(), owner, is_named: true }).is_ok();
        assert!(open(geteuid()));
        for mode in [0o620, 0o602] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("a mode");
            assert!(!open(geteuid()), "{mode:o}");
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("a mode");
        let link = folder.join("2-2.ledger");
        symlink(&path, &link).expect("linked");
        assert!(Watched::open(&Found { path: link, owner: geteuid(), is_named: true }).is_err());
        let pipe = folder.join("3-3.ledger");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
        assert!(
            Watched::open(&Found { path: pipe, owner: geteuid(), is_named: true }).is_err(),
            "and it does not wait"
        );
        // Who is not root cannot give a file away; the zoo reports the skip (`other_users`).
        if geteuid() == 0 {
            chown(&path, Some(OTHER), None).expect("given away");
            assert!(!open(geteuid()) && !open(OTHER + 1) && open(OTHER));
        }
        drop(ledger);
        fs::remove_dir_all(folder).expect("removed");
    }

    #[test]
    fn noise_is_a_ledger_of_no_version() {
        let folder = folder("ledger-noise");
        let path = folder.join("1-1.ledger");
        let open =
            || Watched::open(&Found { path: path.clone(), owner: geteuid(), is_named: true }).expect("ours");
        fs::write(&path, vec![0xa5; SLOTS_OFFSET + SLOT_BYTES]).expect("written");
        let mut watched = open();
        watched.look().expect("read");
        assert_eq!(watched.view().err(), Some(LedgerError::NotALedger));
        fs::write(&path, b"UNDERBAR").expect("written");
        assert!(open().look().is_err(), "cut short");
        fs::remove_dir_all(folder).expect("removed");
    }
}
