//! The libraries that a program needs (DT_NEEDED), opened by the system's loader.
//!
//! ```text
//! libc.so.6 ──> nothing: already loaded   others ──> RUNPATH or RPATH, $ORIGIN the folder of the library ──> dlopen
//! ```
//!
//! Invariant: every library opened here is reported to the caller, who closes it.
//! Not here: the binding of symbols (`bind`). Members of libraries are not searched: only LOAD finds them.

use core::ffi::CStr;

use underbar_sys::syscall;

use super::Needed;
use crate::arena;
use crate::elf::{Damage, Dynamic, Tables};
use crate::error::{Failure, Reason};
use crate::system::Handle;

const MOST_PATH: usize = 4096;

/// Opens each, in order, and reports it to `opened`. `origin` is the folder of the program's library.
///
/// # Errors
/// One could not be opened: the system's loader may find it, and gets the whole program.
pub fn open(
    dynamic: &Dynamic,
    tables: &Tables<'_>,
    origin: &[u8],
    mut opened: impl FnMut(Handle) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let path = dynamic.runpath.or(dynamic.rpath);
    for at in dynamic.needed() {
        let name = text(tables, *at)?;
        // It stays loaded for the whole process as long as this crate does: opening it once more has no effect.
        if name == c"libc.so.6" {
            continue;
        }
        let found = match path {
            Some(path) if !name.to_bytes().contains(&b'/') => {
                along(text(tables, path)?.to_bytes(), origin, name.to_bytes())
            }
            _ => None,
        };
        let handle = match found {
            Some(handle) => handle,
            None => Handle::open(name, false).map_err(|_| Reason::Needed)?,
        };
        opened(handle)?;
    }
    Ok(())
}

/// A text of the table of names.
pub fn text<'a>(tables: &Tables<'a>, at: u64) -> Result<&'a CStr, Damage> {
    let (names, at) = (tables.names(), usize::try_from(at).map_err(|_| Damage::Name(0))?);
    names.text_length(at).ok_or(Damage::Name(0))?;
    // SAFETY: it ends within the table, whose memory stays for 'a and is not written: relocations of names would be stores into a
    // table that is being read; `relocate` runs only after the texts are no longer used.
    Ok(unsafe { CStr::from_ptr(names.address(at).cast()) })
}

/// The library in one of the folders of a path, where $ORIGIN is the folder of the program's library.
fn along(path: &[u8], origin: &[u8], name: &[u8]) -> Option<Handle> {
    for folder in path.split(|byte| *byte == b':') {
        let mut room = [0; MOST_PATH];
        let mut length = 0;
        let mut put = |bytes: &[u8]| {
            let to = room.get_mut(length..length + bytes.len())?;
            to.copy_from_slice(bytes);
            length += bytes.len();
            Some(())
        };
        let rest = [&b"$ORIGIN"[..], b"${ORIGIN}"].iter().find_map(|word| folder.strip_prefix(*word));
        let done = match rest {
            Some(rest) => put(origin).and_then(|()| put(rest)),
            None => put(folder),
        };
        if done.and_then(|()| put(b"/")).and_then(|()| put(name)).and_then(|()| put(b"\0")).is_none() {
            continue;
        }
        let Some(Ok(path)) = room.get(..length).map(CStr::from_bytes_with_nul) else { continue };
        if syscall::access(path, 4).is_ok()
            && let Ok(handle) = Handle::open(path, false)
        {
            return Some(handle);
        }
    }
    None
}

/// Closes them, and gives back their list.
///
/// # Safety
/// Nothing that is bound to them is in use any more.
pub(super) unsafe fn close(needed: Needed) {
    for handle in needed.list().iter().rev() {
        handle.close();
    }
    // SAFETY: got with this size.
    unsafe { arena::put(needed.start.cast(), needed.room * size_of::<Handle>()) };
}
