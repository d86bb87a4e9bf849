//! The work file: sorted runs that did not fit into memory.
//!
//! ```text
//! sorters ── a run, whole, one write ──> | run | run | run | ──> merge: a part of each run at a time
//! ```
//!
//! The file has no name from the moment it is made. It is gone when it is closed, however the process ends, and no other user can open it.
//!
//! Invariant: the folder, and each folder above it, belongs to this user or to root, and only its owner can change it; or it is sticky,
//! as /tmp is.
//! Not here: the form of runs (`run`), and when a run leaves memory (`collect`).

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::{AtFlags, Mode, OFlags};
use underbar_shown::Shown;

use crate::error::Error;

/// Bytes of a record that a part may have cut, in most files.
const SLACK: usize = 4 << 10;

/// A work file, made when the first run is written.
pub struct Work {
    folder: PathBuf,
    state: Mutex<State>,
    /// What earlier work files had; their reads are in `reads`.
    before: Figures,
    /// Reads of the merge. Its one thread adds, and whoever reports reads, in the same thread: no ordering needed.
    reads: Arc<AtomicU64>,
}

#[derive(Default)]
struct State {
    file: Option<Arc<File>>,
    /// Bytes that are given to runs.
    end: u64,
    writes: u64,
    runs: u64,
}

/// A run in a work file.
#[derive(Clone, Debug)]
pub struct Extent {
    file: Arc<File>,
    at: u64,
    /// Bytes that are left to read.
    left: u64,
    reads: Arc<AtomicU64>,
}

/// What a work file has.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Figures {
    /// Its runs.
    pub runs: u64,
    /// Its bytes.
    pub bytes: u64,
    /// Calls that wrote them.
    pub writes: u64,
    /// Calls that read them again.
    pub reads: u64,
}

impl Work {
    /// Work files for this folder. Nothing is made yet.
    #[must_use]
    pub fn new(folder: &Path) -> Work {
        let (state, before, reads) = Default::default();
        Work { folder: folder.to_owned(), state, before, reads }
    }

    /// Another work file in the same folder, whose figures include those of this one.
    #[must_use]
    pub fn another(&self) -> Work {
        let before = Figures { reads: 0, ..self.figures() };
        Work { folder: self.folder.clone(), state: Mutex::default(), before, reads: self.reads.clone() }
    }

    /// Writes a run behind those that are there.
    ///
    /// # Errors
    /// The folder cannot be trusted or takes no file; the file cannot be written.
    pub fn write(&self, run: &[u8]) -> Result<Extent, Error> {
        let (file, at) = {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            let file = match &state.file {
                Some(file) => file.clone(),
                None => {
                    let file = Arc::new(make(&self.folder)?);
                    state.file = Some(file.clone());
                    file
                }
            };
            let at = state.end;
            state.end += run.len() as u64;
            state.runs += 1;
            state.writes += 1;
            (file, at)
        };
        file.write_all_at(run, at).map_err(|error| self.failed(self.before.bytes + at, error))?;
        Ok(Extent { file, at, left: run.len() as u64, reads: self.reads.clone() })
    }

    /// Appends to the last run, which only the caller writes. None: begins a run.
    ///
    /// # Errors
    /// Those of [`Self::write`].
    pub fn extend(&self, run: Option<Extent>, bytes: &[u8]) -> Result<Extent, Error> {
        let more = self.write(bytes)?;
        Ok(match run {
            None => more,
            Some(mut run) => {
                debug_assert_eq!(run.at + run.left, more.at, "nobody else writes");
                run.left += more.left;
                self.state.lock().unwrap_or_else(PoisonError::into_inner).runs -= 1;
                run
            }
        })
    }

    /// An error of the work file.
    #[must_use]
    pub fn error(&self, error: io::Error) -> Error {
        self.failed(self.figures().bytes, error)
    }

    /// An error behind so many bytes.
    fn failed(&self, bytes: u64, error: io::Error) -> Error {
        Error::Work { folder: self.folder.shown().to_string(), bytes, error }
    }

    /// What the file has.
    #[must_use]
    pub fn figures(&self) -> Figures {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let reads = self.reads.load(Ordering::Relaxed);
        let Figures { runs, bytes, writes, reads: _ } = self.before;
        Figures { runs: runs + state.runs, bytes: bytes + state.end, writes: writes + state.writes, reads }
    }
}

impl Extent {
    /// Appends up to so many of the next bytes. False: all were read.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read(&mut self, most: usize, to: &mut Vec<u8>) -> io::Result<bool> {
        let more = self.left.min(most as u64);
        if more == 0 {
            return Ok(false);
        }
        let from = to.len();
        if to.capacity() < from + more as usize {
            // Room for the beginning of a record, too, so that the next part fits: a vector that doubles would take memory that is not in the plan.
            to.reserve_exact(more as usize + SLACK);
        }
        to.resize(from + more as usize, 0);
        self.file.read_exact_at(&mut to[from..], self.at)?;
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.at += more;
        self.left -= more;
        Ok(true)
    }

    /// Bytes that are left to read.
    #[must_use]
    pub fn left(&self) -> u64 {
        self.left
    }
}

/// Makes a file without a name.
fn make(folder: &Path) -> Result<File, Error> {
    let refused = |why: String| Error::Folder { folder: folder.shown().to_string(), why };
    let system = |error: io::Error| refused(error.to_string());
    let real = folder.canonicalize().map_err(system)?;
    for above in real.ancestors() {
        let is_of = above.symlink_metadata().map_err(system)?;
        if let Some(why) = why_not_trusted(is_of.uid(), is_of.mode()) {
            return Err(refused(format!("{} {why}", above.shown())));
        }
    }
    let failed = |error: rustix::io::Errno| system(error.into());
    // The folder is opened once, so that its path cannot change between the two ways.
    let open = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = rustix::fs::open(&real, open, Mode::empty()).map_err(failed)?;
    let mode = Mode::RUSR | Mode::WUSR;
    let write = OFlags::RDWR | OFlags::CLOEXEC;
    match rustix::fs::openat(&opened, c".", write | OFlags::TMPFILE, mode) {
        Ok(file) => Ok(file.into()),
        // Some file systems have no files without a name.
        Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::ISDIR | rustix::io::Errno::NOENT) => {
            let name = format!(".underbar-sort-{}-{:x}", std::process::id(), unique());
            let file = rustix::fs::openat(&opened, &name, write | OFlags::CREATE | OFlags::EXCL, mode);
            let file = file.map_err(failed)?;
            rustix::fs::unlinkat(&opened, &name, AtFlags::empty()).map_err(failed)?;
            Ok(file.into())
        }
        Err(error) => Err(failed(error)),
    }
}

/// Why a folder on the way could be exchanged by another user; None: it could not.
fn why_not_trusted(owner: u32, mode: u32) -> Option<&'static str> {
    const OTHERS_WRITE: u32 = 0o022;
    const STICKY: u32 = 0o1000;
    if owner != 0 && owner != rustix::process::geteuid().as_raw() {
        return Some("belongs to another user");
    }
    (mode & OTHERS_WRITE != 0 && mode & STICKY == 0).then_some("can be changed by other users")
}

/// A different number at each call in this process.
fn unique() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn runs_are_read_as_they_were_written_and_no_name_is_left() {
        let folder = crate::scratch::Folder::new("work");
        let work = Work::new(folder.path());
        assert_eq!(work.figures(), Figures::default());
        let runs = [vec![1; 1_000], vec![2; 3], vec![3; 70_000]];
        let extents = runs.clone().map(|run| work.write(&run).expect("written"));
        assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0);
        for (run, mut extent) in runs.into_iter().zip(extents) {
            let mut again = Vec::new();
            while extent.read(999, &mut again).expect("read") {}
            assert!(again == run && extent.left() == 0);
        }
        let figures = work.figures();
        assert_eq!((figures.runs, figures.bytes, figures.writes), (3, 71_003, 3));
        assert_eq!(figures.reads, 2 + 1 + 71);
        let next = work.another();
        let mut whole = None;
        for part in [b"ab", b"cd"] {
            whole = Some(next.extend(whole, part).expect("written"));
        }
        let mut again = Vec::new();
        assert!(whole.expect("a run").read(9, &mut again).expect("read") && again == b"abcd");
        let figures = next.figures();
        assert_eq!((figures.runs, figures.bytes, figures.writes, figures.reads), (4, 71_007, 5, 75));
    }

    #[test]
    fn a_folder_that_others_can_change_is_refused() {
        let folder = crate::scratch::Folder::new("open-work");
        let inner = folder.path().join("inner");
        std::fs::create_dir(&inner).expect("made");
        let allow = |mode| std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(mode));
        for (mode, is_trusted) in [(0o777, false), (0o1777, true), (0o770, false), (0o755, true)] {
            allow(mode).expect("ours");
            for place in [folder.path(), &inner] {
                let result = Work::new(place).write(b"run");
                assert_eq!(result.is_ok(), is_trusted, "{mode:o} {}", place.display());
            }
        }
        let missing = Work::new(&folder.path().join("missing")).write(b"run").map(|_| ());
        let text = missing.expect_err("no folder").to_string();
        assert!(text.starts_with("work folder /") && text.contains("No such file"), "{text}");
        assert_eq!(
            why_not_trusted(rustix::process::geteuid().as_raw() + 1, 0o755),
            Some("belongs to another user")
        );
    }
}
