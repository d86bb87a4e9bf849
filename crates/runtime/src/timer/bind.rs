//! The functions of the C library whose places are taken.
//!
//! Invariant: the originals are known before any word of the program leads here.
//! Not here: what the functions do (the parent), and how places are taken (`switch::bind`).

use core::ffi::CStr;
use core::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::switch::bind::{self, Binding};

macro_rules! functions {
    ($($place:ident = $at:literal, $name:literal => $function:path;)*) => {
        $(pub(super) const $place: usize = $at;)*
        const NAMES: usize = [$($at),*].len();
        /// The names, in the order of the places, with the functions here. In each process they are at other addresses.
        #[inline(never)]
        fn functions() -> [(&'static CStr, usize); NAMES] {
            [$(($name, $function as *const () as usize)),*]
        }
    };
}

functions! {
    ALARM = 0, c"alarm" => alarm;
    UALARM = 1, c"ualarm" => ualarm;
    SETITIMER = 2, c"setitimer" => setitimer;
    GETITIMER = 3, c"getitimer" => getitimer;
    TIMER_CREATE = 4, c"timer_create" => timer_create;
    TIMER_SETTIME = 5, c"timer_settime" => timer_settime;
    TIMER_GETTIME = 6, c"timer_gettime" => timer_gettime;
    TIMER_DELETE = 7, c"timer_delete" => timer_delete;
    VFORK = 8, c"vfork" => vfork;
    SETUID = 9, c"setuid" => setuid;
    SETEUID = 10, c"seteuid" => seteuid;
    SETREUID = 11, c"setreuid" => setreuid;
    SETRESUID = 12, c"setresuid" => setresuid;
    SETGID = 13, c"setgid" => setgid;
    SETEGID = 14, c"setegid" => setegid;
    SETREGID = 15, c"setregid" => setregid;
    SETRESGID = 16, c"setresgid" => setresgid;
    SETGROUPS = 17, c"setgroups" => setgroups;
    INITGROUPS = 18, c"initgroups" => initgroups;
    UNSHARE = 19, c"unshare" => unshare;
    SETNS = 20, c"setns" => setns;
    CAPSET = 21, c"capset" => capset;
}

/// The functions that the program would have had. Stored relaxed before the words that lead here, which are stored with Release.
pub(super) static ORIGINALS: [AtomicUsize; NAMES] = [const { AtomicUsize::new(0) }; NAMES];

pub(super) fn original(at: usize) -> usize {
    ORIGINALS[at].load(Ordering::Relaxed)
}

/// Takes the places of all of them.
pub(super) fn bind() {
    let functions = functions();
    bind::bind(NAMES, |at| {
        let &(name, ours) = functions.get(at)?;
        Some(Binding { name, hash: hash(name), ours, original: ORIGINALS.get(at)? })
    });
}

/// The hash of a name in GNU's tables.
fn hash(name: &CStr) -> u32 {
    name.to_bytes().iter().fold(5381, |hash: u32, &byte| hash.wrapping_mul(33).wrapping_add(u32::from(byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_the_loader() {
        assert_eq!(hash(c"printf"), 0x156b_2bb8);
        assert_eq!(hash(c"exit"), 0x7c96_7e3f);
    }

    #[test]
    fn no_name_is_there_twice() {
        let names: std::collections::HashSet<_> = functions().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names.len(), NAMES);
    }
}
