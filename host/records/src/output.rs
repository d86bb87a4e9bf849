//! The output file: it has its name when it is whole, and not before.
//!
//! ```text
//! create ── a file without a name, in the folder of the output ── records ── finish ──> NAME
//!                                              └── an error, or SIGKILL ──> NAME is as it was
//! ```
//!
//! On a file system without such files, the file has the name `.NAME.PID.new` meanwhile, which an error removes and SIGKILL leaves.
//! A device, a FIFO or a socket is written as it is.
//!
//! Invariant: a file is replaced only on request, never written through a link, and never while it is read.
//! Not here: waiting for the disk. A system that stops afterwards may lose the file.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags};
use rustix::io::Errno;
use underbar_shown::Shown;

use crate::error::Error;

/// An output that is being written.
#[derive(Debug)]
pub struct Output {
    path: PathBuf,
    file: File,
    way: Way,
    replace: bool,
}

#[derive(Debug)]
enum Way {
    /// Bytes go where they belong at once.
    Direct,
    /// The file has no name yet.
    Unnamed(Place),
    /// The file has a name for the time being.
    Named(Place),
    /// The file has its name.
    Done,
}

/// The folder, and the names in it.
#[derive(Debug)]
struct Place {
    folder: OwnedFd,
    name: OsString,
    temporary: OsString,
}

impl Output {
    /// Begins an output. `replace` allows a file of that name, also one of the inputs.
    ///
    /// # Errors
    /// [`Error::Exists`]; the system's.
    pub fn create(path: &Path, inputs: &[PathBuf], replace: bool) -> Result<Output, Error> {
        let failed = |error| Error::Output { name: path.shown().to_string(), records: 0, error };
        let direct = |file| Output { path: path.to_owned(), file, way: Way::Direct, replace };
        if let Ok(there) = path.metadata() {
            let kind = there.file_type();
            if kind.is_char_device() || kind.is_fifo() || kind.is_socket() || kind.is_block_device() {
                return OpenOptions::new().write(true).open(path).map(direct).map_err(failed);
            }
            if there.is_dir() {
                return Err(failed(Errno::ISDIR.into()));
            }
            let same = |input: &PathBuf| {
                input.metadata().is_ok_and(|input| (input.dev(), input.ino()) == (there.dev(), there.ino()))
            };
            if !replace && inputs.iter().any(same) {
                return Err(exists(path, "this is also an input, and was left alone"));
            }
        }
        if !replace && path.symlink_metadata().is_ok() {
            return Err(exists(path, "it exists already, and was left alone"));
        }
        let name = path.file_name().ok_or_else(|| failed(Errno::ISDIR.into()))?.to_owned();
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let of_folder = OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder =
            rustix::fs::open(parent, of_folder, Mode::empty()).map_err(|error| failed(error.into()))?;
        let mut temporary = OsString::from(".");
        temporary.push(&name);
        temporary.push(format!(".{}.new", std::process::id()));
        let place = Place { folder, name, temporary };
        let (file, way) = place.file().map_err(|error| failed(error.into()))?;
        Ok(Output { path: path.to_owned(), file, way, replace })
    }

    /// Gives the file its name.
    ///
    /// # Errors
    /// [`Error::Exists`] if a file of that name was made meanwhile; the system's.
    pub fn finish(mut self) -> Result<(), Error> {
        let named = match &self.way {
            Way::Direct | Way::Done => Ok(()),
            Way::Unnamed(place) => place.link(&self.file, self.replace),
            Way::Named(place) => place.rename(self.replace),
        };
        match named {
            Ok(()) => {
                self.way = Way::Done;
                Ok(())
            }
            Err(Errno::EXIST) => Err(exists(&self.path, "it was made meanwhile, and was left alone")),
            Err(error) => {
                let name = self.path.shown().to_string();
                Err(Error::Output { name, records: 0, error: error.into() })
            }
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if let Way::Named(place) = &self.way {
            // The folder may be gone.
            let _ = rustix::fs::unlinkat(&place.folder, &place.temporary, AtFlags::empty());
        }
    }
}

impl Place {
    /// A file in the folder: without a name, or with the temporary one.
    fn file(self) -> Result<(File, Way), Errno> {
        // The mode that `umask` leaves, or that of the file that is replaced.
        let old = rustix::fs::statat(&self.folder, &self.name, AtFlags::SYMLINK_NOFOLLOW);
        let old = old.ok().map(|old| Mode::from_raw_mode(old.st_mode & 0o777)).filter(|_| self.is_plain());
        let mode = Mode::from_raw_mode(0o666);
        let write = OFlags::WRONLY | OFlags::CLOEXEC;
        // A file without a name gets one by way of /proc.
        let unnamed = if Path::new("/proc/self/fd").exists() {
            rustix::fs::openat(&self.folder, c".", write | OFlags::TMPFILE, mode)
        } else {
            Err(Errno::OPNOTSUPP)
        };
        let (file, way) = match unnamed {
            Ok(file) => (file, Way::Unnamed(self)),
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOENT) => {
                let named = write | OFlags::CREATE | OFlags::EXCL;
                (rustix::fs::openat(&self.folder, &self.temporary, named, mode)?, Way::Named(self))
            }
            Err(error) => return Err(error),
        };
        if let Some(old) = old {
            rustix::fs::fchmod(&file, old)?;
        }
        Ok((file.into(), way))
    }

    fn is_plain(&self) -> bool {
        let there = rustix::fs::statat(&self.folder, &self.name, AtFlags::SYMLINK_NOFOLLOW);
        there.is_ok_and(|there| rustix::fs::FileType::from_raw_mode(there.st_mode).is_file())
    }

    fn link(&self, file: &File, replace: bool) -> Result<(), Errno> {
        let unnamed = format!("/proc/self/fd/{}", file.as_raw_fd());
        let link = |name: &OsString| {
            rustix::fs::linkat(rustix::fs::CWD, &unnamed, &self.folder, name, AtFlags::SYMLINK_FOLLOW)
        };
        match link(&self.name) {
            Err(Errno::EXIST) if replace => {
                link(&self.temporary)?;
                self.rename(true).inspect_err(|_| {
                    let _ = rustix::fs::unlinkat(&self.folder, &self.temporary, AtFlags::empty());
                })
            }
            result => result,
        }
    }

    fn rename(&self, replace: bool) -> Result<(), Errno> {
        let (folder, from, to) = (&self.folder, &self.temporary, &self.name);
        if replace {
            return rustix::fs::renameat(folder, from, folder, to);
        }
        match rustix::fs::renameat_with(folder, from, folder, to, RenameFlags::NOREPLACE) {
            // Some file systems cannot rename without replacing, but a link replaces nothing either.
            Err(Errno::INVAL | Errno::NOSYS) => {
                rustix::fs::linkat(folder, from, folder, to, AtFlags::empty())?;
                rustix::fs::unlinkat(folder, from, AtFlags::empty())
            }
            result => result,
        }
    }
}

fn exists(path: &Path, why: &'static str) -> Error {
    Error::Exists { name: path.shown().to_string(), why }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    fn names(folder: &Path) -> Vec<String> {
        let names = fs::read_dir(folder).expect("a folder").flatten();
        let mut names: Vec<String> = names.map(|of| of.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_has_its_name_when_it_is_whole() {
        let folder = crate::scratch::Folder::new("output");
        let path = folder.path().join("out");
        let mut output = Output::create(&path, &[], false).expect("made");
        output.write_all(b"records").expect("written");
        assert!(!path.exists());
        output.finish().expect("named");
        assert_eq!(fs::read(&path).expect("read"), b"records");
        assert_eq!(names(folder.path()), ["out"]);
        let error = Output::create(&path, &[], false).expect_err("it exists").to_string();
        assert!(error.ends_with("/out: it exists already, and was left alone"), "{error}");
        drop(Output::create(&path, &[], true).expect("made"));
        assert_eq!(fs::read(&path).expect("read"), b"records", "not finished");
        assert_eq!(names(folder.path()), ["out"]);
    }

    #[test]
    fn a_replaced_file_keeps_its_mode_and_a_link_is_not_followed() {
        let folder = crate::scratch::Folder::new("output-replaced");
        let [path, link] = ["out", "link"].map(|name| folder.path().join(name));
        fs::write(&path, "old").expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("ours");
        std::os::unix::fs::symlink(&path, &link).expect("made");
        for place in [&path, &link] {
            let mut output = Output::create(place, std::slice::from_ref(&path), true).expect("made");
            output.write_all(place.as_os_str().as_encoded_bytes()).expect("written");
            output.finish().expect("named");
            assert_eq!(fs::read(place).expect("read"), place.as_os_str().as_encoded_bytes());
        }
        assert_eq!(fs::metadata(&path).expect("there").mode() & 0o777, 0o640);
        assert!(fs::symlink_metadata(&link).expect("there").is_file());
        assert_eq!(fs::read(&path).expect("read"), path.as_os_str().as_encoded_bytes());
    }

    #[test]
    fn an_input_is_no_output_unless_it_may_be_replaced() {
        let folder = crate::scratch::Folder::new("output-input");
        let [path, other] = ["in", "other-name"].map(|name| folder.path().join(name));
        fs::write(&path, "records").expect("written");
        fs::hard_link(&path, &other).expect("made");
        let error =
            Output::create(&other, std::slice::from_ref(&path), false).expect_err("an input").to_string();
        assert!(error.ends_with("/other-name: this is also an input, and was left alone"), "{error}");
        assert_eq!(fs::read(&path).expect("read"), b"records");
    }

    #[test]
    fn what_appears_meanwhile_is_left_alone() {
        let folder = crate::scratch::Folder::new("output-race");
        let path = folder.path().join("out");
        let output = Output::create(&path, &[], false).expect("made");
        fs::write(&path, "another's").expect("written");
        let error = output.finish().expect_err("it exists").to_string();
        assert!(error.ends_with("it was made meanwhile, and was left alone"), "{error}");
        assert_eq!(fs::read(&path).expect("read"), b"another's");
        assert_eq!(names(folder.path()), ["out"]);
    }

    #[test]
    fn a_device_is_written_at_once_and_a_folder_is_refused() {
        let mut null = Output::create(Path::new("/dev/null"), &[], false).expect("a device");
        null.write_all(b"records").expect("written");
        null.finish().expect("done");
        let error = Output::create(Path::new("/"), &[], true).expect_err("a folder").to_string();
        assert!(error.contains("Is a directory"), "{error}");
    }
}
