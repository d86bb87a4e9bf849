//! Functions of other libraries whose place this library has taken in their symbol tables (`deepbind`), as they were before.
//!
//! Invariant: an entry never changes; those after the first empty one are empty.
//! Not here: the change of the tables.

use core::ffi::{CStr, c_char};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// No process has more than this many of this library's names defined elsewhere; names beyond it are not changed.
pub(crate) const MOST: usize = 192;

/// A function that is now replaced by this library's.
struct Original {
    /// In this library's own table of names. Written before `address`.
    name: AtomicPtr<c_char>,
    /// Its address. 0: this entry and those after it are empty. Written with Release under the lock of `deepbind`, read with Acquire.
    address: AtomicUsize,
}

static ORIGINALS: [Original; MOST] =
    [const { Original { name: AtomicPtr::new(null_mut()), address: AtomicUsize::new(0) } }; MOST];

/// The next library's function of that name, where the loader would name this library's.
pub(crate) fn original(name: &CStr) -> Option<usize> {
    for entry in &ORIGINALS {
        let address = entry.address.load(Ordering::Acquire);
        if address == 0 {
            return None;
        }
        // SAFETY: a name of this library, which is never unloaded.
        if unsafe { CStr::from_ptr(entry.name.load(Ordering::Relaxed)) } == name {
            return Some(address);
        }
    }
    None
}

/// Remembers one. Called under the lock of `deepbind`.
pub(crate) fn remember(name: &'static CStr, address: usize) {
    if original(name).is_some() {
        return;
    }
    let is_empty = |entry: &&Original| entry.address.load(Ordering::Relaxed) == 0;
    if let Some(entry) = ORIGINALS.iter().find(is_empty) {
        entry.name.store(name.as_ptr().cast_mut(), Ordering::Relaxed);
        entry.address.store(address, Ordering::Release);
    }
}
