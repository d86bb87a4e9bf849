//! Where a call of the debug form stands in the program's text, in Rust or in C.
//!
//! Not here: what is wrong with the call ([`crate::debug`]).

use core::ffi::{CStr, c_char};
use core::fmt;
use core::panic::Location;

/// A place in a C program, as the header's macros make it: a static.
#[repr(C)]
#[derive(Debug)]
pub struct CPlace {
    /// The file, a C string.
    pub file: *const c_char,
    /// The line, from 1.
    pub line: u32,
}

// SAFETY: nothing changes it or what it points to: both are the compiler's constants.
unsafe impl Sync for CPlace {}

/// Where a call stands in the program's text.
#[derive(Clone, Copy, Debug)]
pub enum Place {
    /// A Rust program's.
    Rust(&'static Location<'static>),
    /// A C program's.
    C(&'static CPlace),
}

impl Place {
    /// One word, so that a reader has all of it or none.
    pub(crate) fn packed(self) -> usize {
        match self {
            Place::Rust(location) => core::ptr::from_ref(location).expose_provenance(),
            Place::C(place) => core::ptr::from_ref(place).expose_provenance() | 1,
        }
    }

    /// # Safety
    /// The word was packed.
    pub(crate) unsafe fn unpacked(word: usize) -> Place {
        // SAFETY: the caller's promise; both are aligned, so the lowest bit was free.
        unsafe {
            if word & 1 == 0 {
                Place::Rust(&*core::ptr::with_exposed_provenance(word))
            } else {
                Place::C(&*core::ptr::with_exposed_provenance(word & !1))
            }
        }
    }

    /// Its line.
    #[must_use]
    pub fn line(&self) -> u32 {
        match self {
            Place::Rust(location) => location.line(),
            Place::C(place) => place.line,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Rust(location) => write!(f, "{}:{}", location.file(), location.line()),
            Place::C(place) => {
                // SAFETY: the macros of the header put a string of the compiler's there.
                let file = unsafe { CStr::from_ptr(place.file) };
                write!(f, "{}:{}", file.to_str().unwrap_or("?"), place.line)
            }
        }
    }
}
