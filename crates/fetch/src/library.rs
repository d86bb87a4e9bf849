//! Libraries: the sources in which programs are found by name.
//!
//! ```text
//! Source ──find(name)──> Member ──fetch──> Content
//!   Folder   members are its files NAME or NAME.so
//!   Single   one file, whose member is its name without .so
//!   others   PDS and PDSE (`organised`), through the same trait
//! ```
//!
//! Invariant: two members with the same token have the same bytes, as far as the file system tells.
//! Not here: the stored directory entries (`directory`), and the search order of libraries (`table`).

use core::ffi::CStr;

use underbar_partitioned::count::Counts;
use underbar_sys::file::{Status, stat, statat};
use underbar_sys::syscall::{self, Errno, O_CLOEXEC, O_RDONLY};

use crate::content::{Content, FileContent};
use crate::error::{Error, Text};
use crate::path_room::PathRoom;

/// Maximum length of a member's name, in bytes.
pub const MOST_NAME: usize = 255;

/// The directory's data about a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// The identity of its bytes: changes when the member is replaced.
    pub token: Token,
    /// Its location, in the form of its source.
    pub place: u64,
    /// Its bytes.
    pub length: u64,
    /// One copy serves all users, and the next one may see what it writes into itself (RENT).
    pub is_reentrant: bool,
    /// Its entry point, as an address of its file; none: the symbol of its own name, or `main`.
    pub entry_at: Option<u64>,
    /// Its bytes were compared with their sums since it is known: that need not be repeated.
    pub is_checked: bool,
    /// The start of its text, in a PDS: a directory entry that is known is not searched again. None for aliases, whose members
    /// are not named here.
    pub text: Option<FirstText>,
}

/// The first block of text of a PDS's member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FirstText {
    /// Its track.
    pub track: u32,
    /// Its record on the track.
    pub record: u8,
    /// Its offset in the track's image.
    pub at: u32,
    /// Its bytes.
    pub length: u16,
}

/// The identity of a member's bytes: device and inode of the file, and data that distinguish the member from others in it and
/// from earlier ones.
pub type Token = [u64; 6];

/// A value that changes when a library does: nothing known of the library is valid any more then.
pub type Stamp = [u64; 4];

/// A library.
pub trait Source: Sync {
    /// Finds a member by its name, which has 1 to 255 bytes without zero and `/`.
    ///
    /// # Errors
    /// The library is damaged, or cannot be read.
    fn find(&self, name: &[u8], counts: &mut Counts) -> Result<Option<Member>, Error>;

    /// Passes a member's bytes to `work`, for as long as that runs. True if pages of the library may have been mapped: then it
    /// must stay unchanged as long as the program exists.
    ///
    /// # Errors
    /// As `find`; [`Error::NotFound`] if the member no longer exists.
    fn fetch(
        &self,
        name: &[u8],
        member: &Member,
        counts: &mut Counts,
        work: &mut dyn FnMut(&dyn Content),
    ) -> Result<bool, Error>;

    /// The current stamp of the library.
    ///
    /// # Errors
    /// It no longer exists.
    fn stamp(&self) -> Result<Stamp, Error>;

    /// Does the stamp change whenever a member does? If not, a library that is not frozen is searched each time.
    fn tells_changes(&self) -> bool;

    /// Is a copy of its label damaged or cut short, so that the data read may be the state before the last change?
    fn is_doubtful(&self) -> bool {
        false
    }

    /// The path of the library, for names and for the folder of its programs' needs.
    fn path(&self) -> &CStr;

    /// Writes the path of a member's own file into `room`, if it has one. Members of one large file have none.
    fn member_path<'a>(&self, _name: &[u8], _member: &Member, _room: &'a mut PathRoom) -> Option<&'a CStr> {
        None
    }
}

/// A folder, or a file, as a library.
pub struct Files {
    path: PathRoom,
    /// Descriptor of the folder; -1 for a file.
    folder: i32,
}

/// In `place`: the member's file ends with `.so`, unlike its name.
const WITH_SUFFIX: u64 = 1;

impl Files {
    /// Opens a folder or a shared object.
    ///
    /// # Errors
    /// It does not exist, or is neither.
    pub fn open(path: &CStr) -> Result<Files, Error> {
        let mut kept = PathRoom::default();
        kept.join(&[path.to_bytes()]).ok_or(Error::BadName)?;
        let status = stat(path).map_err(Error::Unreadable)?;
        if status.is_regular() {
            return Ok(Files { path: kept, folder: -1 });
        }
        if !status.is_directory() {
            return Err(Error::Unreadable(Errno::EINVAL));
        }
        let folder = syscall::open(path, O_RDONLY | O_CLOEXEC, 0).map_err(Error::Unreadable)?;
        Ok(Files { path: kept, folder })
    }

    fn look_at(&self, name: &[u8], has_suffix: bool) -> Result<Status, Errno> {
        if self.folder < 0 {
            return stat(self.path());
        }
        let mut room = PathRoom::default();
        let suffix = if has_suffix { &b".so"[..] } else { b"" };
        statat(self.folder, room.join(&[name, suffix]).ok_or(Errno::ENAMETOOLONG)?)
    }

    fn open_member(&self, name: &[u8], has_suffix: bool) -> Result<i32, Errno> {
        if self.folder < 0 {
            return syscall::open(self.path(), O_RDONLY | O_CLOEXEC, 0);
        }
        let mut room = PathRoom::default();
        let suffix = if has_suffix { &b".so"[..] } else { b"" };
        let path = room.join(&[name, suffix]).ok_or(Errno::ENAMETOOLONG)?;
        syscall::openat(self.folder, path, O_RDONLY | O_CLOEXEC, 0)
    }

    /// The name of the one member of a file.
    fn own_name(&self) -> &[u8] {
        let path = self.path().to_bytes();
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
        name.strip_suffix(b".so").unwrap_or(name)
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        if self.folder >= 0 {
            let _ = syscall::close(self.folder);
        }
    }
}

/// The fields of a file's status that change when its bytes do.
#[must_use]
pub fn stamp_of(status: &Status) -> Stamp {
    let (seconds, nanoseconds) = status.changed();
    [
        status.device,
        status.inode,
        seconds.wrapping_mul(1_000_000_000).wrapping_add(nanoseconds),
        status.size as u64,
    ]
}

impl Source for Files {
    fn find(&self, name: &[u8], _: &mut Counts) -> Result<Option<Member>, Error> {
        if self.folder < 0 && name != self.own_name() {
            return Ok(None);
        }
        for has_suffix in [false, true] {
            let status = match self.look_at(name, has_suffix) {
                Ok(status) => status,
                Err(Errno::ENOENT) => continue,
                Err(errno) => return Err(Error::Unreadable(errno)),
            };
            if status.is_regular() {
                let [device, inode, changed, size] = stamp_of(&status);
                return Ok(Some(Member {
                    token: [device, inode, changed, size, 0, 0],
                    place: if has_suffix { WITH_SUFFIX } else { 0 },
                    length: status.size as u64,
                    is_reentrant: false,
                    entry_at: None,
                    is_checked: false,
                    text: None,
                }));
            }
        }
        Ok(None)
    }

    fn fetch(
        &self,
        name: &[u8],
        member: &Member,
        _: &mut Counts,
        work: &mut dyn FnMut(&dyn Content),
    ) -> Result<bool, Error> {
        let fd = self.open_member(name, member.place == WITH_SUFFIX).map_err(|errno| match errno {
            Errno::ENOENT => Error::NotFound(Text::new(name)),
            errno => Error::Unreadable(errno),
        })?;
        let content = FileContent::whole(fd).map_err(Error::Unreadable);
        let done = content.map(|content| work(&content));
        let _ = syscall::close(fd);
        done.map(|()| false)
    }

    fn stamp(&self) -> Result<Stamp, Error> {
        stat(self.path()).map(|status| stamp_of(&status)).map_err(Error::Unreadable)
    }

    /// A file that is overwritten leaves its folder unchanged.
    fn tells_changes(&self) -> bool {
        false
    }

    fn path(&self) -> &CStr {
        self.path.text()
    }

    fn member_path<'a>(&self, name: &[u8], member: &Member, room: &'a mut PathRoom) -> Option<&'a CStr> {
        let path = self.path().to_bytes();
        match (self.folder < 0, member.place == WITH_SUFFIX) {
            (true, _) => room.join(&[path]),
            (false, false) => room.join(&[path, b"/", name]),
            (false, true) => room.join(&[path, b"/", name, b".so"]),
        }
    }
}
