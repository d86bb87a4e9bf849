//! LOAD and DELETE again and again, as measurements do: ours, and the system's beside it.
//!
//! Invariant: nothing of a program is called but what its loader calls (constructors, destructors), and nothing of it is
//! in use afterwards.
//! Not here: which programs, how often, and what is made of the figures (`underbar demo`).
//!
//! These are safe to call, as [`become_program`](crate::link::become_program) is, and for much the same reason: the caller
//! asks for a program of a file to be run, keeps nothing of it, and answers for the file.

use core::ffi::CStr;

use crate::error::{Error, Text};
use crate::system::Handle;
use crate::table::{self, Library};

/// LOAD and DELETE of a program, so many times, in the form that its attributes say.
///
/// # Errors
/// It cannot be loaded.
pub fn load_and_delete(library: Library, name: &[u8], times: u64) -> Result<(), Error> {
    for _ in 0..times {
        // SAFETY: its constructors are run for whoever asked for the program, see above; between LOAD and DELETE nobody
        // calls anything of it, and nobody keeps a pointer into it.
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
/// The loader's words.
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
