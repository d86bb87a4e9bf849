//! The source of a program's bytes: a file, a part of one, or memory.
//!
//! Invariant: a content gives its length once. A part that is cut off later is a read error or, if pages of the file are
//! mapped and the file is shortened, SIGBUS, as with every mapping.
//! Not here: libraries and their members (`library`).

use underbar_sys::file::fstat;
use underbar_sys::syscall::{self, Errno};

use crate::elf::PAGE;

/// Where the bytes of a program are read from.
pub trait Content {
    /// All of them.
    fn length(&self) -> u64;

    /// Reads exactly so many from a place on.
    ///
    /// # Errors
    /// Those of the machine; EIO where there are not so many.
    fn read(&self, at: u64, into: &mut [u8]) -> Result<(), Errno>;

    /// The file in which they lie in one piece, beginning at a whole page: descriptor and offset.
    fn mapping(&self) -> Option<(i32, u64)>;

    /// So many bytes from the beginning are made present at once where they are mapped; the rest when it is touched.
    fn initial(&self) -> u64 {
        0
    }
}

/// A part of an open file.
#[derive(Clone, Copy, Debug)]
pub struct FileContent {
    /// The file's descriptor, which still belongs to its owner.
    pub fd: i32,
    /// Offset of the part.
    pub offset: u64,
    /// Its bytes.
    pub length: u64,
}

impl FileContent {
    /// A whole file.
    ///
    /// # Errors
    /// Its length is unavailable, or it is not a regular file.
    pub fn whole(fd: i32) -> Result<FileContent, Errno> {
        let status = fstat(fd)?;
        if !status.is_regular() {
            return Err(Errno::EINVAL);
        }
        Ok(FileContent { fd, offset: 0, length: status.size.unsigned_abs() })
    }
}

impl Content for FileContent {
    fn length(&self) -> u64 {
        self.length
    }

    fn read(&self, at: u64, into: &mut [u8]) -> Result<(), Errno> {
        let end = at.checked_add(into.len() as u64).ok_or(Errno::EIO)?;
        if end > self.length {
            return Err(Errno::EIO);
        }
        let mut done = 0;
        while let Some(rest) = into.get_mut(done..).filter(|rest| !rest.is_empty()) {
            match syscall::pread(self.fd, rest, self.offset + at + done as u64) {
                Ok(0) => return Err(Errno::EIO),
                Ok(bytes) => done += bytes,
                Err(Errno::EINTR) => {}
                Err(errno) => return Err(errno),
            }
        }
        Ok(())
    }

    fn mapping(&self) -> Option<(i32, u64)> {
        self.offset.is_multiple_of(PAGE).then_some((self.fd, self.offset))
    }
}

/// Bytes in memory.
#[derive(Clone, Copy, Debug)]
pub struct MemoryContent<'a>(pub &'a [u8]);

impl Content for MemoryContent<'_> {
    fn length(&self) -> u64 {
        self.0.len() as u64
    }

    fn read(&self, at: u64, into: &mut [u8]) -> Result<(), Errno> {
        let from =
            usize::try_from(at).ok().and_then(|at| self.0.get(at..)).and_then(|rest| rest.get(..into.len()));
        into.copy_from_slice(from.ok_or(Errno::EIO)?);
        Ok(())
    }

    fn mapping(&self) -> Option<(i32, u64)> {
        None
    }
}
