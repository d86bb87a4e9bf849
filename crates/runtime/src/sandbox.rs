//! Whether this process has locked itself in: it has forbidden itself system calls, often on pain of death.
//!
//! ```text
//! open ── close ──> closed: only mmap, munmap, mremap, futex and exit_group, which any malloc needs; in a fork rt_sigprocmask
//!                     └── fall_silent ──> nothing is given back any more, since any call is death
//! ```
//!
//! Invariant: once closed, a process stays so, and its forked children, too.
//! Not here: how a process locks itself in ([`crate::seccomp`]).

use core::sync::atomic::{AtomicBool, Ordering};

/// Relaxed: the thread that installs a filter sees it itself, and a thread that looks at the same moment looks while the
/// program prepares to lock itself in.
static CLOSED: AtomicBool = AtomicBool::new(false);

/// Relaxed: strict mode is the calling thread's own; if another thread gives back less, that does no harm.
static SILENT: AtomicBool = AtomicBool::new(false);

/// Whether unusual system calls must be left out.
#[inline]
#[must_use]
pub fn is_closed() -> bool {
    CLOSED.load(Ordering::Relaxed)
}

/// Whether any system call is death, except reading, writing and ending. Storage is not given back then.
#[must_use]
pub fn is_silent() -> bool {
    SILENT.load(Ordering::Relaxed)
}

/// Unusual system calls are left out from now on.
pub(crate) fn close() {
    CLOSED.store(true, Ordering::Relaxed);
}

/// Any system call is death from now on.
pub(crate) fn fall_silent() {
    SILENT.store(true, Ordering::Relaxed);
}
