//! Names of code that was made at run time: `perf-PID.map`, which JIT compilers, CPython (`-X perf`) and our loader write.
//!
//! ```text
//! address without a name ── has the file grown? ──> read what is new ──> name, or none
//! ```
//!
//! Invariant: a map is read only if it is a regular file of the process's user or of our own, not a link, and not older than the run; what
//! is in it are names, to be shown like others of strangers. At most [`MOST_BYTES`] of it are read.
//! Not here: the lines of a map (`underbar_profile::Maps`).

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use underbar_profile::Maps;

use crate::walk::{Kind, Made};

/// More bytes than are read of a map.
const MOST_BYTES: u64 = 256 << 20;

/// The names of all processes.
pub struct MadeCode {
    folders: Vec<PathBuf>,
    since: SystemTime,
    users: HashMap<u32, u32>,
    own: Option<u32>,
    known: RefCell<Known>,
}

#[derive(Default)]
struct Known {
    maps: Maps,
    /// Bytes that were read of each process's map, by the place of its folder.
    read: HashMap<(u32, usize), u64>,
}

impl MadeCode {
    /// Maps in these folders that are not older than this.
    #[must_use]
    pub fn new(folders: Vec<PathBuf>, since: SystemTime) -> MadeCode {
        let own = user(Path::new("/proc/self"));
        MadeCode { folders, since, users: HashMap::new(), own, known: RefCell::default() }
    }

    /// Learns the user of a process that lives.
    pub fn meet(&mut self, process: u32) {
        if let Some(user) = user(&Path::new("/proc").join(process.to_string())) {
            self.users.insert(process, user);
        }
    }

    /// The function at an address, and its program if the map names one.
    #[must_use]
    pub fn name(&self, process: u32, address: u64) -> Option<(String, Option<String>)> {
        let known = || {
            let known = self.known.borrow();
            let named = known.maps.find(process, address)?;
            Some((named.function.to_owned(), named.program.map(str::to_owned)))
        };
        known().or_else(|| {
            self.read(process);
            known()
        })
    }

    fn read(&self, process: u32) {
        let mut known = self.known.borrow_mut();
        for (place, folder) in self.folders.iter().enumerate() {
            let path = folder.join(format!("perf-{process}.map"));
            let Some((file, length)) = self.open(process, &path) else { continue };
            let Known { maps, read } = &mut *known;
            let from = read.entry((process, place)).or_default();
            if length <= *from {
                continue;
            }
            let Ok(room) = usize::try_from(length - *from) else { continue };
            let mut bytes = vec![0; room];
            let Ok(more) = file.read_at(&mut bytes, *from) else { continue };
            // A line that is being written is read next time.
            let Some(end) = bytes[..more].iter().rposition(|byte| *byte == b'\n') else { continue };
            maps.add(process, &bytes[..=end]);
            *from += end as u64 + 1;
        }
    }

    fn open(&self, process: u32, path: &Path) -> Option<(File, u64)> {
        const NOFOLLOW_NONBLOCK_NOCTTY: i32 = 0o404_400;
        if !fs::symlink_metadata(path).ok()?.is_file() {
            return None;
        }
        let file = OpenOptions::new().read(true).custom_flags(NOFOLLOW_NONBLOCK_NOCTTY).open(path).ok()?;
        let metadata = file.metadata().ok()?;
        let user = Some(metadata.uid());
        let is_trusted = user == self.own || user == self.users.get(&process).copied();
        let is_of_run = metadata.modified().ok()? >= self.since;
        (metadata.is_file() && is_trusted && is_of_run).then(|| (file, metadata.len().min(MOST_BYTES)))
    }
}

impl Made for MadeCode {
    fn kind(&self, process: u32, address: u64) -> Option<Kind> {
        let (name, _) = self.name(process, address)?;
        Some(if name.starts_with("py::") { Kind::Python } else { Kind::Other })
    }
}

fn user(process: &Path) -> Option<u32> {
    Some(fs::metadata(process).ok()?.uid())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;
    use std::time::Duration;

    #[test]
    fn only_maps_of_this_run_are_read_and_they_may_grow() {
        let folder = std::env::temp_dir().join(format!("underbar-made-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let path = folder.join("perf-7.map");
        fs::write(&path, b"1000 10 py::main:/a.py\n2000 10 jit").expect("written");
        let before = SystemTime::now() - Duration::from_secs(60);
        let code = |since| MadeCode::new(vec![folder.clone()], since);
        let made = code(before);
        assert_eq!(made.name(7, 0x1004), Some(("py::main:/a.py".to_owned(), None)));
        assert_eq!((made.kind(7, 0x1004), made.kind(7, 0x2004)), (Some(Kind::Python), None));
        let mut file = OpenOptions::new().append(true).open(&path).expect("the file");
        file.write_all(b"ted\n").expect("written");
        assert_eq!((made.kind(7, 0x2004), made.kind(8, 0x2004)), (Some(Kind::Other), None));
        let later = SystemTime::now() + Duration::from_secs(60);
        assert_eq!(code(later).name(7, 0x1004), None, "of an earlier process");
        fs::rename(&path, folder.join("elsewhere")).expect("renamed");
        std::os::unix::fs::symlink(folder.join("elsewhere"), &path).expect("a link");
        assert_eq!(code(before).name(7, 0x1004), None, "a link");
        let stranger = MadeCode { own: Some(u32::MAX), ..code(before) };
        fs::remove_file(&path).expect("removed");
        fs::rename(folder.join("elsewhere"), &path).expect("renamed");
        assert!(code(before).name(7, 0x1004).is_some());
        assert_eq!(stranger.name(7, 0x1004), None, "of another user");
        let _ = fs::remove_dir_all(&folder);
    }
}
