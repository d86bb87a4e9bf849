//! Nested LINKs and CALLs for measurements: each program runs the next one, and the last one a function of the caller.
//!
//! ```text
//! nested ── LINK ──> main(name, text) of the 1st ── arrived ── LINK ──> main of the 2nd ── arrived ── ... ── innermost()
//!        ── CALL ──> entry(text)                 ── arrived ── CALL ──> entry
//! ```
//!
//! The text is the address of `arrived` in 16 letters, `a` for 0 to `p` for 15, the highest first: arguments are copied as texts.
//! A program decodes it and calls it once.
//!
//! Invariant: one nest at a time; between two programs are only frames of this file and of the loader.
//! Safe to call, for the reason that [`crate::repeat`] gives: the caller asks for these programs to be run, and answers for them.
//! Not here: the programs (`underbar demo enclaves` makes them), and what is measured.

use core::ffi::{c_char, c_int, c_void};
use core::ptr::null;

use underbar_sys::lock::Lock;

use crate::error::Error;
use crate::link;
use crate::table::{self, Library};

/// How each program runs the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// LINK: an enclave for each.
    Link,
    /// CALL: all of them in the caller's.
    Call,
}

/// The programs of a nest.
#[derive(Clone, Copy)]
struct Nest {
    by: By,
    library: Library,
    names: *const [&'static [u8]],
    innermost: fn(),
    /// The number of programs that run, one in the other.
    level: usize,
    /// The first error.
    error: Option<Error>,
}

// SAFETY: names of static texts, which only the thread of `nested` reads.
unsafe impl Send for Nest {}

/// The nest that runs; None: none does. The lock is never held while a program runs.
static RUNNING: Lock<Option<Nest>> = Lock::new(None);

/// The bytes of the text, with its end.
const TEXT: usize = 17;

/// Runs programs of a library in each other, the first one outermost, and `innermost` in the last one.
///
/// # Errors
/// The first program that could not be run; [`Error::NoEntry`] without names. The programs around it have ended.
pub fn nested(library: Library, by: By, names: &[&'static [u8]], innermost: fn()) -> Result<(), Error> {
    *RUNNING.lock() = Some(Nest { by, library, names, innermost, level: 0, error: None });
    let result = run(0);
    let inside = RUNNING.lock().take().and_then(|nest| nest.error);
    result.and(inside.map_or(Ok(()), Err))
}

/// Runs the program of a level.
fn run(level: usize) -> Result<(), Error> {
    let Some(nest) = *RUNNING.lock() else { return Err(Error::NoEntry) };
    // SAFETY: `nested` borrows the names for as long as the nest runs.
    let name = unsafe { &*nest.names }.get(level).copied().ok_or(Error::NoEntry)?;
    let text = encoded(arrived as *const () as usize);
    at_level(level + 1);
    let result = match nest.by {
        // SAFETY: a list of two texts that ends with null; the caller answers for the program.
        By::Link => unsafe {
            let arguments: [*const c_char; 3] = [c"program".as_ptr(), text.as_ptr().cast(), null()];
            link::link(&[nest.library], name, arguments.as_ptr(), null()).map(drop)
        },
        // SAFETY: the entry takes the text; the program is given back after it has returned.
        By::Call => unsafe {
            table::load(&[nest.library], name, None).and_then(|program| {
                let called = link::call(program, text.as_ptr().cast_mut().cast::<c_void>());
                table::delete(program).and(called.map(drop))
            })
        },
    };
    at_level(level);
    result
}

fn at_level(level: usize) {
    if let Some(nest) = &mut *RUNNING.lock() {
        nest.level = level;
    }
}

/// A program calls this.
extern "C" fn arrived() -> c_int {
    let Some(nest) = *RUNNING.lock() else { return 1 };
    // SAFETY: as in `run`.
    if nest.level == unsafe { &*nest.names }.len() {
        (nest.innermost)();
        return 0;
    }
    match run(nest.level) {
        Ok(()) => 0,
        Err(error) => {
            if let Some(nest) = &mut *RUNNING.lock() {
                nest.error.get_or_insert(error);
            }
            1
        }
    }
}

/// An address as a text of 16 letters.
fn encoded(address: usize) -> [u8; TEXT] {
    let mut text = [0; TEXT];
    for (at, letter) in text.iter_mut().take(TEXT - 1).enumerate() {
        *letter = b'a' + ((address >> (60 - 4 * at)) & 15) as u8;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_sixteen_letters() {
        assert_eq!(&encoded(0x0000_7f01_23ab_cdef), b"aaaahpabcdklmnop\0");
    }

    #[test]
    fn a_program_that_is_not_there_is_an_error() {
        let library = table::open(c"/usr", true).expect("a folder");
        for by in [By::Link, By::Call] {
            assert!(nested(library, by, &[b"no-such-program"], || ()).is_err());
            assert_eq!(nested(library, by, &[], || ()), Err(Error::NoEntry));
        }
        table::close(library).expect("open");
    }
}
