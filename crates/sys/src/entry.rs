//! The command's own `main`, in place of the Rust runtime's.
//!
//! Why: the Rust runtime reads `/proc/self/maps` to find the page below the first thread's stack, so that it can report an
//! overflow of that stack. This takes a tenth of a millisecond of the two that a run is longer than its program.
//!
//! ```text
//! C library ──> inherited: notes what was handed over ──> main ──> begin ──> the command ──> exit, standard output flushed
//! ```
//!
//! Invariant: descriptors 0, 1 and 2 are open from here on, so no file of ours gets such a number. Writing without a reader
//! fails and does not kill (SIGPIPE).
//! Known limit: if the first thread's stack overflows, the process ends by SIGSEGV without a message.

use crate::inherited::inherited;
use crate::signal::{Disposition, name, set_disposition};
use crate::syscall::{O_RDWR, open};

/// The work before the command's first line; see [`entry!`](crate::entry!).
pub fn begin() {
    let closed = inherited().closed;
    for fd in 0..=2 {
        if closed >> fd & 1 == 1 {
            // The lowest free number is this one. If `/dev/null` does not exist, little can be done.
            let _ = open(c"/dev/null", O_RDWR, 0);
        }
    }
    // The kernel refuses this for KILL and STOP only.
    let _ = set_disposition(name::PIPE, Disposition::Ignore);
}

/// Makes a function that returns the exit code the command's `main`. With `#![no_main]`.
#[macro_export]
macro_rules! entry {
    ($command:path) => {
        /// The function that the C library calls.
        #[unsafe(no_mangle)]
        extern "C" fn main() -> i32 {
            $crate::entry::begin();
            // Not by a return: `exit` flushes standard output.
            ::std::process::exit($command().into())
        }
    };
}
