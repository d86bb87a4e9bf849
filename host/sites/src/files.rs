//! The program files of all processes: opened when a process is first seen with one, read when an address in it is asked for.
//!
//! ```text
//! name, number ──> file, open ── later ──> image: rules of callers, names
//! ```
//!
//! Invariant: a file counts as the mapped one only if it has the same number. So a file that was replaced, or deleted, before it could be
//! opened, has no names, and the reason is shown.
//! Not here: what is at an address ([`crate::space`]).

use std::cell::OnceCell;
use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::File;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use underbar_symbols::{Image, Symbols};

use crate::maps::Mapping;

/// A file, by its place in the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(pub u32);

/// Files that are kept open at most: fewer than a process may have.
const MOST_OPEN: usize = 512;

/// All files.
#[derive(Default)]
pub struct Files {
    list: Vec<Program>,
    by_name: HashMap<(OsString, u64), FileId>,
}

/// A program file, or a library.
pub struct Program {
    /// Its path, or the kernel's name for it.
    pub path: PathBuf,
    /// Why it has no names; None if it was opened.
    pub missing: Option<Missing>,
    file: Option<File>,
    image: OnceCell<Option<Rc<Image>>>,
}

/// Why a file was not opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// It has no name any more.
    Deleted,
    /// Another file has its name.
    Replaced,
    /// It cannot be opened.
    Unreadable,
}

impl Missing {
    /// In words, for people.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Missing::Deleted => "deleted",
            Missing::Replaced => "replaced",
            Missing::Unreadable => "unreadable",
        }
    }
}

impl Files {
    /// The file of a mapping of a process that lives; None for code in no file.
    pub fn of(&mut self, process: u32, mapping: &Mapping) -> Option<FileId> {
        let is_named = mapping.inode != 0 || mapping.name.as_bytes() == VDSO;
        if !is_named {
            return None;
        }
        let key = (mapping.name.clone(), mapping.inode);
        if let Some(known) = self.by_name.get(&key) {
            return Some(*known);
        }
        let (file, missing) = if mapping.name.as_bytes() == VDSO {
            (None, None)
        } else {
            let is_full = self.list.iter().filter(|program| program.file.is_some()).count() >= MOST_OPEN;
            match if is_full { Err(Missing::Unreadable) } else { open(process, mapping) } {
                Ok(file) => (Some(file), None),
                Err(missing) => (None, Some(missing)),
            }
        };
        let id = FileId(u32::try_from(self.list.len()).ok()?);
        let path = PathBuf::from(&mapping.name);
        self.list.push(Program { path, missing, file, image: OnceCell::new() });
        self.by_name.insert(key, id);
        Some(id)
    }

    /// A file.
    #[must_use]
    pub fn get(&self, id: FileId) -> Option<&Program> {
        self.list.get(id.0 as usize)
    }
}

impl Program {
    /// Its tables; None if it was not opened, or is no program.
    #[must_use]
    pub fn image(&self) -> Option<Rc<Image>> {
        let read = || {
            if self.path.as_os_str().as_bytes() == VDSO {
                return Symbols::new().image(&self.path);
            }
            Image::of(self.file.as_ref()?.try_clone().ok()?, &self.path).map(Rc::new)
        };
        self.image.get_or_init(read).clone()
    }
}

/// The kernel's own library, which is no file.
const VDSO: &[u8] = b"[vdso]";

/// Opens the file of a mapping: by its name here, by its name for the process, or by the mapping itself.
fn open(process: u32, mapping: &Mapping) -> Result<File, Missing> {
    let name = Path::new(&mapping.name);
    let within = Path::new("/proc").join(process.to_string());
    let for_process = within.join("root").join(name.strip_prefix("/").unwrap_or(name));
    let mut missing = if mapping.is_deleted { Missing::Deleted } else { Missing::Unreadable };
    if !mapping.is_deleted {
        for path in [name, &for_process] {
            match regular(path) {
                Some((file, inode)) if inode == mapping.inode => return Ok(file),
                Some(_) => missing = Missing::Replaced,
                None => {}
            }
        }
    }
    // The kernel lets only privileged users open this one.
    let range = &mapping.range;
    let by_mapping = within.join("map_files").join(format!("{:x}-{:x}", range.start, range.end));
    match regular(&by_mapping) {
        Some((file, inode)) if inode == mapping.inode => Ok(file),
        _ => Err(missing),
    }
}

fn regular(path: &Path) -> Option<(File, u64)> {
    let metadata = std::fs::metadata(path).ok()?;
    metadata.is_file().then_some(())?;
    let file = File::open(path).ok()?;
    let metadata = file.metadata().ok()?;
    metadata.is_file().then(|| (file, metadata.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_file_that_is_mapped_is_read() {
        let own = std::process::id();
        let text = std::fs::read("/proc/self/maps").expect("maps");
        let program = std::env::current_exe().expect("a path");
        let mapping = crate::maps::parse(&text)
            .into_iter()
            .find(|mapping| Path::new(&mapping.name) == program)
            .expect("this program");
        let mut files = Files::default();
        let id = files.of(own, &mapping).expect("a file");
        assert_eq!(files.of(own, &mapping), Some(id));
        assert!(files.get(id).and_then(Program::image).is_some());
        let other = Mapping { inode: mapping.inode + 1, range: 1..2, ..mapping.clone() };
        let id = files.of(own, &other).expect("a file");
        let found = files.get(id).expect("a file");
        assert_eq!(found.missing, Some(Missing::Replaced));
        assert!(found.image().is_none());
        let made = Mapping { inode: 0, name: OsString::new(), ..mapping };
        assert_eq!(files.of(own, &made), None);
        assert!(files.get(FileId(u32::MAX)).is_none());
    }
}
