//! Programs that lock themselves in: they forbid themselves system calls (seccomp), often on pain of death.
//!
//! ```text
//! prctl(PR_SET_NO_NEW_PRIVS) ─> a last look at memory and stacks ─> closed: from now on only
//! prctl(PR_SET_SECCOMP)           mmap, munmap, mremap, madvise, futex and exit_group, which any malloc needs
//! ```
//!
//! A filter can be installed without passing here (by `syscall`), but nobody without privileges may install one
//! before the first of the two. What is missed by not looking is in the exactness of the figures: sampled.
//!
//! Invariant: once closed, a process stays so, and its forked children, too.
//! Known limit: a filter that is inherited through exec is not noticed; the loader itself opens files then.

use core::sync::atomic::{AtomicBool, Ordering};

use underbar_sys::syscall;

use crate::{coverage, sample, stack, start};

const PR_SET_SECCOMP: i32 = 22;
const PR_SET_NO_NEW_PRIVS: i32 = 38;

/// Relaxed: whoever installs a filter is told of it in his own thread, and a thread that looks at the same moment
/// looks while the program prepares to lock itself in.
static CLOSED: AtomicBool = AtomicBool::new(false);

/// Must unusual system calls be left out?
#[inline]
#[must_use]
pub fn is_closed() -> bool {
    CLOSED.load(Ordering::Relaxed)
}

/// `prctl` of C.
///
/// # Safety
/// As C's.
pub unsafe fn prctl(operation: i32, arguments: [usize; 4]) -> i32 {
    if matches!(operation, PR_SET_SECCOMP | PR_SET_NO_NEW_PRIVS) && !is_closed() {
        coverage::look();
        stack::look();
        sample::before_sandbox();
        CLOSED.store(true, Ordering::Relaxed);
    }
    let [a, b, c, d] = arguments;
    // SAFETY: the caller's promise.
    match unsafe { syscall::prctl(operation.cast_unsigned(), a, b, c, d) } {
        Ok(result) => result as i32,
        Err(reason) => {
            start::set_errno(reason.number());
            -1
        }
    }
}
