//! Programs that lock themselves in: they forbid themselves system calls (seccomp), often on pain of death.
//!
//! ```text
//! prctl(PR_SET_NO_NEW_PRIVS) ─> a last look at memory and stacks ─> closed: from now on only
//!                        │       mmap, munmap, mremap, madvise, futex and exit_group, which any malloc needs;
//! prctl(PR_SET_SECCOMP)  │       and in a fork rt_sigprocmask
//!                        └> a reserve of storage: a malloc may have to do without mmap, as one does that has room in its break
//! strict                 ──> silent: nothing is given back any more, since any call is death
//! ```
//!
//! A filter can be installed without passing here (by `syscall`), but nobody without privileges may install one
//! before the first of the two. What is missed by not looking is in the exactness of the figures: sampled.
//!
//! What it becomes by exec inherits the filter and would start with our library, which asks the kernel for more than the
//! program does. So behind a filter that the process installed itself, programs are started without us (`follow`). Filters that
//! were there before, those of containers and services, let ordinary programs live: they are no reason.
//!
//! Invariant: once closed, a process stays so, and its forked children, too.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use underbar_sys::syscall;

use crate::{coverage, heap, own, sample, stack, start};

const PR_SET_SECCOMP: i32 = 22;
const PR_SET_NO_NEW_PRIVS: i32 = 38;
const SECCOMP_MODE_STRICT: usize = 1;

/// Relaxed: whoever installs a filter is told of it in his own thread, and a thread that looks at the same moment
/// looks while the program prepares to lock itself in.
static CLOSED: AtomicBool = AtomicBool::new(false);

/// Relaxed: read by the thread that installed the filter, or by children; whoever starts a program in another thread at that
/// moment would have started it before.
static FILTERED: AtomicBool = AtomicBool::new(false);

/// Relaxed: strict mode is the calling thread's own; what another gives back less is no harm.
static SILENT: AtomicBool = AtomicBool::new(false);

/// What [`filters`] said before the process locked itself in. Relaxed, as above.
static FILTERS_BEFORE: AtomicU64 = AtomicU64::new(UNKNOWN);

/// [`filters`] where the kernel does not say.
const UNKNOWN: u64 = u64::MAX;

/// Must unusual system calls be left out?
#[inline]
#[must_use]
pub fn is_closed() -> bool {
    CLOSED.load(Ordering::Relaxed)
}

/// Is any system call death, but reading, writing and ending? Storage is not given back then.
#[must_use]
pub fn is_silent() -> bool {
    SILENT.load(Ordering::Relaxed)
}

/// Has this process installed a filter of system calls? Where that cannot be found out, yes.
#[must_use]
pub fn is_filtered() -> bool {
    if !is_closed() {
        return false;
    }
    // Asking takes system calls that may be forbidden: not where the answer is known. One that was installed by `syscall` is not;
    // who may not open files cannot start a program that a loader loads, either.
    let before = FILTERS_BEFORE.load(Ordering::Relaxed);
    FILTERED.load(Ordering::Relaxed) || before == UNKNOWN || filters() != before
}

/// How many filters there are and in which mode, in one number that changes with each new one; [`UNKNOWN`] where the kernel does
/// not say.
fn filters() -> u64 {
    let Ok(fd) = syscall::open(c"/proc/self/status", syscall::O_RDONLY | syscall::O_CLOEXEC, 0) else {
        return UNKNOWN;
    };
    let mut found = Found::default();
    let mut text = [0; 512];
    while let Ok(read) = own::read(fd, &mut text)
        && read > 0
    {
        text.iter().take(read).for_each(|&byte| found.take(byte));
    }
    let _ = syscall::close(fd);
    found.seen.unwrap_or(UNKNOWN)
}

/// Reads `Seccomp:` and `Seccomp_filters:` (since Linux 5.9) from a text that comes byte by byte.
#[derive(Default)]
struct Found {
    /// What the lines so far said.
    seen: Option<u64>,
    /// How many bytes of a line have agreed with `Seccomp`.
    agreed: usize,
}

impl Found {
    fn take(&mut self, byte: u8) {
        const NAME: &[u8] = b"Seccomp";
        match byte {
            b'\n' => self.agreed = 0,
            _ if self.agreed < NAME.len() => {
                self.agreed = if NAME.get(self.agreed) == Some(&byte) { self.agreed + 1 } else { usize::MAX };
            }
            b'0'..=b'9' if self.agreed == NAME.len() => {
                let digits = self.seen.unwrap_or(0).wrapping_mul(10);
                self.seen = Some(digits.wrapping_add(u64::from(byte - b'0')) & (UNKNOWN >> 1));
            }
            _ => {}
        }
    }
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
        FILTERS_BEFORE.store(filters(), Ordering::Relaxed);
        heap::reserve();
        CLOSED.store(true, Ordering::Relaxed);
    }
    let [a, b, c, d] = arguments;
    // SAFETY: the caller's promise.
    match unsafe { syscall::prctl(operation.cast_unsigned(), a, b, c, d) } {
        Ok(result) => {
            if operation == PR_SET_SECCOMP {
                FILTERED.store(true, Ordering::Relaxed);
                if a == SECCOMP_MODE_STRICT {
                    SILENT.store(true, Ordering::Relaxed);
                }
            }
            result as i32
        }
        Err(reason) => {
            start::set_errno(reason.number());
            -1
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Option<u64> {
        let mut found = Found::default();
        text.bytes().for_each(|byte| found.take(byte));
        found.seen
    }

    #[test]
    fn each_filter_changes_the_number() {
        assert_eq!(found("Name:\tSeccomp:\nThreads:\t1\n"), None);
        let before =
            found("NoNewPrivs:\t0\nSeccomp:\t0\nSeccomp_filters:\t0\nSpeculation_Store_Bypass:\t9\n");
        let one = found("NoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t1\n");
        let two = found("NoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t2\n");
        assert_eq!((before, one, two), (Some(0), Some(21), Some(22)));
        assert_ne!(found("Seccomp:\t2\n"), found("Seccomp:\t0\n"));
        assert_ne!(filters(), UNKNOWN, "the kernel of this machine says it");
    }
}
