//! Repeated LOAD and DELETE for measurements: by our loader, and by the system's for comparison.
//!
//! Invariant: only the loader calls code of a program (constructors, destructors), and nothing of the program is in use
//! afterwards.
//! Not here: the choice of programs, the number of repetitions, and the use of the figures (`underbar demo`).
//!
//! These functions are safe to call, like [`become_program`](crate::link::become_program), and for much the same reason: the
//! caller asks for a program of a file to be run, keeps nothing of it, and answers for the file.

use core::ffi::CStr;

use crate::error::{Error, Text};
use crate::system::Handle;
use crate::table::{self, Library};

/// Repeats LOAD and DELETE of a program, in the form of its attributes.
///
/// # Errors
/// It cannot be loaded.
pub fn load_and_delete(library: Library, name: &[u8], times: u64) -> Result<(), Error> {
    for _ in 0..times {
        // SAFETY: its constructors run for the caller who asked for the program, see above; between LOAD and DELETE no code of it
        // is called, and no pointer into it is kept.
        unsafe {
            let loaded = table::load(&[library], name, None)?;
            table::delete(loaded)?;
        }
    }
    Ok(())
}

/// The same by the system's loader: dlopen and dlclose.
///
/// # Errors
/// The loader's message.
pub fn open_and_close(path: &CStr, times: u64) -> Result<(), Text> {
    for _ in 0..times {
        Handle::open(path, true)?.close();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_is_an_error_of_both() {
        let library = table::open(c"/usr", true).expect("a folder");
        assert!(load_and_delete(library, b"no-such-program", 3).is_err());
        assert_eq!(load_and_delete(library, b"no-such-program", 0), Ok(()));
        table::close(library).expect("open");
        assert!(open_and_close(c"/no/such/program", 3).is_err());
        assert_eq!(open_and_close(c"libc.so.6", 3), Ok(()));
    }
}
