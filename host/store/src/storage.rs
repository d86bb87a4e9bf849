//! The targets of writes: an open file, and the place in a directory for a whole new file.
//!
//! ```text
//! Storage: write_at ... sync          Place: temporary -> Storage ... install = sync, rename, sync the directory
//!   OnDisk: a file                      InDirectory
//!   (tests) one that ends at the n-th write, and loses what was not synced
//! ```
//!
//! Invariant: writers reach the disk by these traits only, so that the tests can end them at every write.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use underbar_partitioned::pdse::MOST_GENERATIONS;
use underbar_partitioned::pdse::coordination::{Hold as Holds, WRITER, generation_of, reader_byte};
use underbar_partitioned::read::{ReadAt, Unread};
use underbar_sys::range_lock::{self, Hold};

use crate::error::{Error, Result};

/// An open file for writing.
pub trait Storage: ReadAt {
    /// Writes all bytes at an offset; the file grows if that is beyond its end.
    ///
    /// # Errors
    /// The system's; then any of the bytes may have been written.
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// Makes written data durable.
    ///
    /// # Errors
    /// The system's; then any of it may be durable.
    fn sync(&mut self) -> io::Result<()>;

    /// Truncates the file to this many bytes.
    ///
    /// # Errors
    /// The system's.
    fn cut(&mut self, length: u64) -> io::Result<()>;

    /// The lowest generation that a reader of a PDSE holds.
    ///
    /// # Errors
    /// The system's.
    fn lowest_reader(&self) -> io::Result<Option<u64>>;
}

/// The place of a new library.
pub trait Place {
    /// The type of its file.
    type Storage: Storage;

    /// A new, empty file next to the library.
    ///
    /// # Errors
    /// Another maker of the same library; the system's.
    fn temporary(&mut self) -> Result<Self::Storage>;

    /// Makes the file durable and gives it the library's name. `replace` allows an existing file of
    /// that name.
    ///
    /// # Errors
    /// The system's.
    fn install(&mut self, file: Self::Storage, replace: bool) -> Result<()>;
}

/// A file that implements [`ReadAt`] and [`Storage`].
#[derive(Debug)]
pub struct OnDisk {
    file: File,
    path: PathBuf,
}

impl OnDisk {
    /// Opens a library for reading.
    ///
    /// # Errors
    /// [`Error::NotPlain`]; the system's.
    pub fn open(path: &Path) -> Result<OnDisk> {
        let file = open_plain(path, OpenOptions::new().read(true))?;
        Ok(OnDisk { file, path: path.to_owned() })
    }

    /// Opens a library for changing, exclusively.
    ///
    /// # Errors
    /// [`Error::Busy`] if another process changes it and `wait` is false; [`Error::NotPlain`]; the system's.
    pub fn open_for_change(path: &Path, wait: bool) -> Result<OnDisk> {
        loop {
            let file = open_plain(path, OpenOptions::new().read(true).write(true))?;
            hold_writer(&file, path, wait)?;
            // A process that waited may hold a file that another has replaced by now; then the new one is the library.
            if is_still_there(&file, path)? {
                return Ok(OnDisk { file, path: path.to_owned() });
            }
        }
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file.
    #[must_use]
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Bytes of the file.
    ///
    /// # Errors
    /// The system's.
    pub fn length(&self) -> Result<u64> {
        Ok(self.file.metadata().map_err(|error| Error::system(&self.path, error))?.len())
    }
}

/// Opens a plain file. Other kinds are refused before they are opened: opening a pipe waits for its writer.
fn open_plain(path: &Path, options: &OpenOptions) -> Result<File> {
    let system = |error| Error::system(path, error);
    if !fs::metadata(path).map_err(system)?.is_file() {
        return Err(Error::NotPlain(path.to_owned()));
    }
    options.open(path).map_err(system)
}

fn is_still_there(file: &File, path: &Path) -> Result<bool> {
    let system = |error| Error::system(path, error);
    let held = file.metadata().map_err(system)?;
    match fs::metadata(path) {
        Ok(there) => Ok((there.dev(), there.ino()) == (held.dev(), held.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(system(error)),
    }
}

fn hold_writer(file: &File, path: &Path, wait: bool) -> Result<()> {
    let number = file.as_raw_fd();
    let refused = |errno: underbar_sys::syscall::Errno| {
        Error::system(path, io::Error::from_raw_os_error(errno.number()))
    };
    loop {
        if range_lock::try_hold(number, WRITER, 1, Hold::Exclusive).map_err(refused)? {
            return Ok(());
        }
        if !wait {
            return Err(Error::Busy);
        }
        match range_lock::hold(number, WRITER, 1, Hold::Exclusive) {
            Ok(()) => return Ok(()),
            Err(underbar_sys::syscall::Errno::EINTR) => {}
            Err(errno) => return Err(refused(errno)),
        }
    }
}

impl Drop for OnDisk {
    /// Releases the locks. Closing the file would, too, but not while a child that another thread has just forked
    /// still has the descriptor.
    fn drop(&mut self) {
        let _ = range_lock::release(self.file.as_raw_fd(), WRITER, MOST_GENERATIONS);
    }
}

impl ReadAt for OnDisk {
    fn read_at(&self, offset: u64, into: &mut [u8]) -> std::result::Result<(), Unread> {
        self.file.read_exact_at(into, offset).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => Unread::End,
            _ => Unread::System(error.raw_os_error().unwrap_or(0)),
        })
    }
}

impl Storage for OnDisk {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, offset)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.file.set_len(length)
    }

    fn lowest_reader(&self) -> io::Result<Option<u64>> {
        let from = reader_byte(0);
        range_lock::lowest_held(self.file.as_raw_fd(), from, MOST_GENERATIONS)
            .map(|byte| byte.and_then(generation_of))
            .map_err(|errno| io::Error::from_raw_os_error(errno.number()))
    }
}

impl Holds for OnDisk {
    type Error = io::Error;

    fn hold(&self, generation: u64) -> io::Result<()> {
        match range_lock::try_hold(self.file.as_raw_fd(), reader_byte(generation), 1, Hold::Shared) {
            Ok(true) => Ok(()),
            // No process holds a reader's byte exclusively.
            Ok(false) => Err(io::Error::from(io::ErrorKind::WouldBlock)),
            Err(errno) => Err(io::Error::from_raw_os_error(errno.number())),
        }
    }

    fn release(&self, generation: u64) {
        // Held bytes can be released; if not, closing the file does it.
        let _ = range_lock::release(self.file.as_raw_fd(), reader_byte(generation), 1);
    }
}

/// A library's name in its directory.
#[derive(Debug)]
pub struct InDirectory {
    path: PathBuf,
    temporary: PathBuf,
}

impl InDirectory {
    /// The place of a library. The new file next to it is `.NAME.new`; one from a killed maker is removed.
    ///
    /// # Errors
    /// A path without a name.
    pub fn new(path: &Path) -> Result<InDirectory> {
        let Some(name) = path.file_name() else {
            let error = io::Error::from(io::ErrorKind::InvalidFilename);
            return Err(Error::system(path, error));
        };
        let mut hidden = std::ffi::OsString::from(".");
        hidden.push(name);
        hidden.push(".new");
        Ok(InDirectory { path: path.to_owned(), temporary: path.with_file_name(hidden) })
    }

    /// Gives the new file its name, without waiting for the disk.
    ///
    /// # Errors
    /// A file of that name without `replace`; the system's. Then the new file is still next to it.
    pub fn name(&self, replace: bool) -> Result<()> {
        let system = |error| Error::system(&self.path, error);
        if replace {
            return fs::rename(&self.temporary, &self.path).map_err(system);
        }
        // A link, unlike a rename, fails if a file has the name.
        match fs::hard_link(&self.temporary, &self.path) {
            Ok(()) => fs::remove_file(&self.temporary).map_err(system),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(Error::FileExists(self.path.clone()))
            }
            // A file system without links.
            Err(error)
                if matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::Unsupported) =>
            {
                match fs::symlink_metadata(&self.path) {
                    Ok(_) => Err(Error::FileExists(self.path.clone())),
                    Err(_) => fs::rename(&self.temporary, &self.path).map_err(system),
                }
            }
            Err(error) => Err(system(error)),
        }
    }

    /// Drops the new file.
    pub fn abandon(&self) {
        // If it cannot be removed now, the next maker removes it.
        let _ = fs::remove_file(&self.temporary);
    }
}

/// Removes the new file of a killed maker. Nothing is written into it: it may be a link, or the library
/// itself, under its first name.
fn take_away(path: &Path) -> Result<()> {
    let system = |error| Error::system(path, error);
    if fs::symlink_metadata(path).is_ok_and(|there| there.is_file() && there.nlink() == 1) {
        match OpenOptions::new().read(true).write(true).open(path) {
            // A live maker holds a lock on it.
            Ok(file) => hold_writer(&file, path, false)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(system(error)),
        }
    }
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(system(error)),
        _ => Ok(()),
    }
}

impl Place for InDirectory {
    type Storage = OnDisk;

    fn temporary(&mut self) -> Result<OnDisk> {
        let path = &self.temporary;
        let system = |error| Error::system(path, error);
        loop {
            let mut options = OpenOptions::new();
            match options.read(true).write(true).create_new(true).open(path) {
                Ok(file) => {
                    hold_writer(&file, path, false)?;
                    // Another maker may have removed it as a left-over before the lock was taken.
                    if is_still_there(&file, path)? {
                        return Ok(OnDisk { file, path: self.path.clone() });
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => take_away(path)?,
                Err(error) => return Err(system(error)),
            }
        }
    }

    fn install(&mut self, file: OnDisk, replace: bool) -> Result<()> {
        let system = |error| Error::system(&self.path, error);
        file.file.sync_all().map_err(system)?;
        if replace && let Ok(before) = fs::metadata(&self.path) {
            // The new file has the permissions of the old one.
            file.file.set_permissions(before.permissions()).map_err(system)?;
        }
        self.name(replace)?;
        let directory = match self.path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        File::open(directory)
            .and_then(|directory| directory.sync_all())
            .map_err(|error| Error::Unsure { what: self.path.clone(), error })
    }
}
