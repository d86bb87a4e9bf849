//! A runtime that is part of a program: whether it serves the program, or stands back for another one.
//!
//! ```text
//! the code is in           and the process has                     storage comes from
//! the program              no other runtime                        this runtime, which keeps the accounts
//! the program              the preload library (`underbar run`)    the preload library
//! a library                anything                                the process's malloc, whoever has it
//! ```
//!
//! The preload library serves all of the process, also what C code requests, and its accounts are those that the command reads. So a
//! program that carries a runtime has one set of accounts, not two, and `underbar run` shows the same figures as of a program without.
//! A library may be unloaded, and a process may have many of them: it takes what the process has.
//!
//! Invariant: the answer is the same at any time after the program's libraries are loaded, as the loader loads the preload library first.
//! Not here: what a program requests (`api/underbar`, `crates/preload`).

use core::ffi::CStr;
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::c_library::weak;
use crate::loaded;

weak! { address_of_c_part = "underbar_linked"; }

/// Whether the runtime that has the code at `here` leaves the process to another one.
#[must_use]
pub fn stands_back(here: usize) -> bool {
    !loaded::is_in_program(here) || has_another(here)
}

/// Whether the program has the static library for C in itself, too, which then serves all of it.
#[must_use]
pub fn is_with_c_part() -> bool {
    address_of_c_part() != 0
}

/// The function of that name that the process has outside of the object with the code at `here`: the first one in the loader's order.
#[must_use]
pub fn elsewhere(here: usize, name: &CStr) -> Option<usize> {
    let (mut found, wanted) = (None, loaded::hash_of(name));
    loaded::each_until(&mut |object| {
        if !object.holds(here) {
            found = object.default(wanted, name);
        }
        found.is_some()
    });
    found
}

/// Where the functions are by which the program calls the runtime; 0: the runtime is a library of its own. Written once, before there are
/// other threads; relaxed.
static FUNCTIONS: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];

/// The program exports the runtime's functions from these addresses, next to its own functions.
pub fn functions_are(start: usize, end: usize) {
    FUNCTIONS[0].store(start, Ordering::Relaxed);
    FUNCTIONS[1].store(end, Ordering::Relaxed);
}

/// Whether a function that the object with this runtime exports is the runtime's.
pub(crate) fn is_function(address: usize) -> bool {
    let [start, end] = [0, 1].map(|at: usize| FUNCTIONS[at].load(Ordering::Relaxed));
    !cfg!(feature = "linked") || end == 0 || (start..end).contains(&address)
}

/// A runtime in another object than the one with the code at `here`. It is recognised by a function that only it exports.
fn has_another(here: usize) -> bool {
    let mut is_there = false;
    loaded::each_until(&mut |object| {
        if !object.holds(here) {
            object.functions(c"underbar_execve", &mut |_, _| is_there = true);
        }
        is_there
    });
    is_there
}

#[cfg(test)]
mod tests {
    use super::*;

    unsafe extern "C" {
        fn qsort();
    }

    #[test]
    fn a_program_serves_itself_and_a_library_does_not() {
        assert!(!stands_back(stands_back as *const () as usize));
        assert!(stands_back(qsort as *const () as usize));
        assert!(!is_with_c_part());
        assert!(is_function(1), "of a runtime that is a library of its own, all are");
        let [here, c_library] = [stands_back as *const () as usize, qsort as *const () as usize];
        assert_eq!(elsewhere(here, c"qsort"), Some(c_library));
        assert_eq!(elsewhere(c_library, c"qsort"), None);
    }
}
