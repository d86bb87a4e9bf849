//! The command's own `main`, in place of the Rust runtime's.
//!
//! Why: the runtime's reads `/proc/self/maps`, to know the page below the first thread's stack and say so where that stack
//! overflows. It takes a tenth of a millisecond of the two that a run is longer than its program.
//!
//! ```text
//! C library ──> inherited: notes what was handed over ──> main ──> begin ──> the command ──> exit, standard output flushed
//! ```
//!
//! Invariant: descriptors 0, 1 and 2 are open from here on, so that no file of ours takes such a number; writing where nobody
//! reads fails and does not kill (SIGPIPE).
//! Known limit: where the first thread's stack overflows, the process ends by SIGSEGV without words.

use crate::inherited::inherited;
use crate::signal::{Disposition, name, set_disposition};
use crate::syscall::{O_RDWR, open};

/// What comes before the command's own first line; see [`entry!`](crate::entry!).
pub fn begin() {
    let closed = inherited().closed;
    for fd in 0..=2 {
        if closed >> fd & 1 == 1 {
            // The lowest number that is free is this one. Where there is no such file, little can be done.
            let _ = open(c"/dev/null", O_RDWR, 0);
        }
    }
    // Refused for no signal but KILL and STOP.
    let _ = set_disposition(name::PIPE, Disposition::Ignore);
}

/// Makes a function that returns the exit code the command's `main`. With `#![no_main]`.
#[macro_export]
macro_rules! entry {
    ($command:path) => {
        /// What the C library calls.
        #[unsafe(no_mangle)]
        extern "C" fn main() -> i32 {
            $crate::entry::begin();
            // Not by returning: this flushes standard output.
            ::std::process::exit($command().into())
        }
    };
}
