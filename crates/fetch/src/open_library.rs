//! An open library of any kind, as long as it is needed.
//!
//! Invariant: a library that was closed, or has another file at its path now, stays until the last program that holds pages
//! of it is gone.
//! Not here: the list of open libraries (`table`).

use core::ffi::CStr;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, Ordering, fence};

use underbar_partitioned::read::Fault;
use underbar_sys::file::stat;
use underbar_sys::syscall::Errno;

use crate::arena;
use crate::error::Error;
use crate::library::{Files, Source};
use crate::organised::{PdsFile, PdseFile};

#[allow(clippy::large_enum_variant, reason = "one lies in the arena for each open library")]
enum Kind {
    Files(Files),
    Pds(PdsFile),
    Pdse(PdseFile),
    Other(&'static dyn Source),
}

/// A library and its number of users: its place in the table, and programs that hold pages of it.
pub struct Opened {
    kind: Kind,
    /// Written by threads that come to use it, while another use keeps it (Relaxed), and by those that leave (Release); the
    /// last of these closes it, and has seen all that others did with it (Acquire).
    users: AtomicU32,
}

impl Opened {
    /// Opens the folder, shared object, PDS or PDSE at a path. One user.
    ///
    /// # Errors
    /// It does not exist, or is none of these.
    pub fn at(path: &CStr) -> Result<NonNull<Opened>, Error> {
        let is_other = |error: &Error| {
            matches!(error, Error::Library(Fault::NotALibrary | Fault::OtherOrganisation | Fault::Cut { .. }))
        };
        let status = stat(path).map_err(Error::Unreadable)?;
        if !status.is_regular() {
            return keep(Kind::Files(Files::open(path)?));
        }
        match PdseFile::open(path) {
            Ok(pdse) => return keep(Kind::Pdse(pdse)),
            Err(error) if !is_other(&error) => return Err(error),
            Err(_) => {}
        }
        match PdsFile::open(path) {
            Ok(pds) => return keep(Kind::Pds(pds)),
            Err(error) if !is_other(&error) => return Err(error),
            Err(_) => {}
        }
        keep(Kind::Files(Files::open(path)?))
    }

    /// A library of another kind. One user.
    ///
    /// # Errors
    /// No storage.
    pub fn of(source: &'static dyn Source) -> Result<NonNull<Opened>, Error> {
        keep(Kind::Other(source))
    }

    /// The library.
    #[must_use]
    pub fn source(&self) -> &dyn Source {
        match &self.kind {
            Kind::Files(files) => files,
            Kind::Pds(pds) => pds,
            Kind::Pdse(pdse) => pdse,
            Kind::Other(source) => *source,
        }
    }

    /// May it be reopened by its path?
    #[must_use]
    pub fn has_path(&self) -> bool {
        !matches!(self.kind, Kind::Other(_))
    }

    /// Adds a user.
    ///
    /// # Safety
    /// Another user keeps it meanwhile.
    pub unsafe fn share(opened: NonNull<Opened>) {
        // SAFETY: the caller's promise.
        unsafe { (*opened.as_ptr()).users.fetch_add(1, Ordering::Relaxed) };
    }

    /// Removes a user: the last one closes it.
    ///
    /// # Safety
    /// The caller was one of its users, and is none any more.
    pub unsafe fn leave(opened: NonNull<Opened>) {
        // SAFETY: the caller's promise.
        unsafe {
            if (*opened.as_ptr()).users.fetch_sub(1, Ordering::Release) == 1 {
                fence(Ordering::Acquire);
                drop(arena::take(opened));
            }
        }
    }
}

fn keep(kind: Kind) -> Result<NonNull<Opened>, Error> {
    arena::keep(Opened { kind, users: AtomicU32::new(1) }).map_err(|errno: Errno| Error::NoStorage(errno))
}
