//! A file that a command writes. It is written in the same folder under another name, and renamed when it is whole.
//!
//! ```text
//! begin ── .NAME.new, held ── write ... write ── finish ── NAME
//!                                    └── (dropped, or killed) ── nothing under NAME, or the file that was there
//! ```
//!
//! Invariant: no file is written through a link, and the library that is read is never replaced.
//! Not here: writing whole libraries, which also wait for the disk (`underbar_store::make`).

use std::fs;
use std::io::{BufWriter, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use underbar_shown::Shown;

use underbar_store::Error;
use underbar_store::storage::{InDirectory, OnDisk, Place as _};

/// A file that is being written.
pub struct Output<'a> {
    path: PathBuf,
    place: InDirectory,
    file: OnDisk,
    way: &'a Way,
    is_done: bool,
}

/// How files are written.
pub struct Way {
    /// Existing files are replaced.
    force: bool,
    /// Device and number of the file that is read, and of a link to it.
    read: Vec<(u64, u64)>,
}

/// Why a file was not written.
#[derive(Debug)]
pub enum Refused {
    /// This file failed; another one may be written.
    This(String),
    /// No file can be written: no room, no right.
    Any(String),
}

impl Refused {
    /// The message.
    pub fn text(self) -> String {
        match self {
            Refused::This(text) | Refused::Any(text) => text,
        }
    }

    fn of(path: &Path, error: Error) -> Refused {
        let path_text = path.shown();
        match error {
            Error::FileExists(_) => Refused::exists(path),
            Error::Busy => Refused::This(format!("{path_text}: another process is writing it")),
            Error::System { error, .. } => Refused::system(path, &error),
            other => Refused::Any(format!("{path_text}: {other}")),
        }
    }

    fn exists(path: &Path) -> Refused {
        Refused::This(format!(
            "{} exists already and was left alone; use --force to replace it",
            path.shown()
        ))
    }

    /// An error of the system for this file.
    pub fn system(path: &Path, error: &std::io::Error) -> Refused {
        let text = format!("{}: {error}", path.shown());
        if error.kind() == std::io::ErrorKind::IsADirectory {
            Refused::This(text)
        } else {
            Refused::Any(text)
        }
    }
}

impl Way {
    /// For files of the library at this path, which must not be replaced.
    pub fn new(force: bool, library: &Path) -> Way {
        let read = [fs::metadata(library), fs::symlink_metadata(library)];
        Way { force, read: read.into_iter().flatten().map(|of| (of.dev(), of.ino())).collect() }
    }

    /// Begins a file.
    ///
    /// # Errors
    /// A file exists and must not be replaced; it is the library itself; the system refuses.
    pub fn begin(&self, path: PathBuf) -> Result<Output<'_>, Refused> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with('.') && name.ends_with(".new") {
            let text = format!("{}: names like this are for files that are being written", path.shown());
            return Err(Refused::This(text));
        }
        if let Ok(there) = path.symlink_metadata() {
            if self.read.contains(&(there.dev(), there.ino())) {
                let text = format!("{}: this is the library itself, and was left alone", path.shown());
                return Err(Refused::This(text));
            }
            if !self.force {
                return Err(Refused::exists(&path));
            }
        }
        let refused = |error| Refused::of(&path, error);
        let mut place = InDirectory::new(&path).map_err(refused)?;
        let file = place.temporary().map_err(refused)?;
        Ok(Output { path, place, file, way: self, is_done: false })
    }
}

impl Output<'_> {
    /// The writer of the file.
    pub fn writer(&self) -> impl std::io::Write + '_ {
        BufWriter::new(self.file.file())
    }

    /// Appends bytes.
    ///
    /// # Errors
    /// The system's.
    pub fn write(&self, bytes: &[u8]) -> Result<(), Refused> {
        self.file.file().write_all(bytes).map_err(|error| Refused::system(&self.path, &error))
    }

    /// Waits until the bytes are on the disk.
    ///
    /// # Errors
    /// The system's.
    pub fn sync(&self) -> Result<(), Refused> {
        self.file.file().sync_all().map_err(|error| Refused::system(&self.path, &error))
    }

    /// Gives the file its name.
    ///
    /// # Errors
    /// A file of that name was made meanwhile; the system refuses.
    pub fn finish(mut self) -> Result<PathBuf, Refused> {
        let named = self.place.name(self.way.force);
        named.map_err(|error| Refused::of(&self.path, error))?;
        self.is_done = true;
        Ok(std::mem::take(&mut self.path))
    }
}

impl Drop for Output<'_> {
    fn drop(&mut self) {
        if !self.is_done {
            self.place.abandon();
        }
    }
}
