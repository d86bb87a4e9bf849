//! Programs that lock themselves in: they forbid themselves system calls (seccomp), often on pain of death.
//!
//! ```text
//! prctl(PR_SET_NO_NEW_PRIVS) ─> a last look at memory and stacks ─> closed: from now on only
//!                        │       mmap, munmap, mremap, futex and exit_group, which any malloc needs;
//! prctl(PR_SET_SECCOMP)  │       and in a fork rt_sigprocmask
//! seccomp by syscall     │
//!                        └> a reserve of storage: a malloc may have to do without mmap, as one does that has room in its break
//! strict                 ──> silent: nothing is given back any more, since any call is death
//! ```
//!
//! All of these calls can be made by `syscall`, too, so its number is checked ([`system_call`]); other calls pass with two
//! compares. The exactness of the figures covers a missed look: sampled.
//!
//! A program that the process becomes by exec inherits the filter. It would start with this library, which asks the kernel
//! for more than the program does. So after the process has installed a filter itself, programs are started without the
//! library (`follow`). Filters that were there before, those of containers and services, let ordinary programs live: they
//! are no reason. There calls that are rare are not made ([`crate::resident`]).
//!
//! Invariant: each way to install a filter passes here, except a system call of the program's own code.
//! Not here: what is left out once a process has locked itself in ([`crate::sandbox`]).

use core::ffi::c_void;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

use underbar_sys::syscall::{self, number};

use crate::errno::set_errno;
use crate::ledger::own_reads;
use crate::next::Next;
use crate::{resources, sandbox};

const PR_SET_SECCOMP: i32 = 22;
const PR_SET_NO_NEW_PRIVS: i32 = 38;
const SECCOMP_MODE_STRICT: usize = 1;
const SECCOMP_SET_MODE_STRICT: usize = 0;
const SECCOMP_SET_MODE_FILTER: usize = 1;
const SECCOMP_FILTER_FLAG_NEW_LISTENER: usize = 1 << 3;

/// Relaxed: read by the thread that installed the filter, or by children; a thread that starts a program at that moment
/// would otherwise have started it before.
static FILTERED: AtomicBool = AtomicBool::new(false);

/// The result of [`filters`] before the process locked itself in. Relaxed, as above.
static FILTERS_BEFORE: AtomicU64 = AtomicU64::new(UNKNOWN);

/// [`filters`] if the kernel does not report it.
const UNKNOWN: u64 = u64::MAX;

/// Whether this process has installed a filter of system calls. True if that cannot be determined.
#[must_use]
pub fn is_filtered() -> bool {
    if !sandbox::is_closed() {
        return false;
    }
    // Asking takes system calls that may be forbidden, so it is not done if the answer is known. A filter that was
    // installed by `syscall` is not known; a process that may not open files cannot start a dynamically linked program,
    // either.
    let before = FILTERS_BEFORE.load(Ordering::Relaxed);
    FILTERED.load(Ordering::Relaxed) || before == UNKNOWN || filters() != before
}

/// The number of filters and their mode, in one number that changes with each new filter; [`UNKNOWN`] if the kernel does
/// not report it.
fn filters() -> u64 {
    let Ok(fd) = syscall::open(c"/proc/self/status", syscall::O_RDONLY | syscall::O_CLOEXEC, 0) else {
        return UNKNOWN;
    };
    let mut found = Found::default();
    let mut text = [0; 512];
    while let Ok(read) = own_reads::read(fd, &mut text)
        && read > 0
    {
        text.iter().take(read).for_each(|&byte| found.take(byte));
    }
    let _ = syscall::close(fd);
    found.seen.unwrap_or(UNKNOWN)
}

/// Reads `Seccomp:` and `Seccomp_filters:` (since Linux 5.9) from a text that arrives byte by byte.
#[derive(Default)]
struct Found {
    /// The result of the lines so far.
    seen: Option<u64>,
    /// The number of bytes of a line that have matched `Seccomp`.
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
    if locks_in(operation) {
        close();
    }
    let [a, b, c, d] = arguments;
    // SAFETY: the caller's promise.
    match unsafe { syscall::prctl(operation.cast_unsigned(), a, b, c, d) } {
        Ok(result) => {
            if operation == PR_SET_SECCOMP {
                locked_in(a == SECCOMP_MODE_STRICT);
            }
            result as i32
        }
        Err(reason) => {
            set_errno(reason.number());
            -1
        }
    }
}

/// Whether a program makes this call before it locks itself in, or to do so.
fn locks_in(operation: i32) -> bool {
    matches!(operation, PR_SET_SECCOMP | PR_SET_NO_NEW_PRIVS)
}

/// The last look, before the program locks itself in.
fn close() {
    if sandbox::is_closed() {
        return;
    }
    FILTERS_BEFORE.store(filters(), Ordering::Relaxed);
    resources::close();
    sandbox::close();
}

/// The program has locked itself in.
fn locked_in(is_strict: bool) {
    FILTERED.store(true, Ordering::Relaxed);
    if is_strict {
        sandbox::fall_silent();
    }
}

/// `syscall` of the C library as a function of seven arguments: it takes its last one from the stack, as such a function does.
type SystemCall = unsafe extern "C" fn(isize, usize, usize, usize, usize, usize, usize) -> isize;

/// The code of `syscall` that is finally called: before this library's start its own, afterwards the next library's, which
/// may mean more by it than the C library does. Written once by the constructor; relaxed, as the code was there before.
#[repr(transparent)]
pub struct Passed(AtomicPtr<c_void>);

/// Read by the instructions of `syscall` in the preload library, too.
pub static PASSED: Passed = Passed(AtomicPtr::new(own_system_call as *mut c_void));

/// When the C library is up: finds its `syscall`.
pub(crate) fn at_start() {
    static THE_NEXT: Next = Next::new(c"syscall");
    if let Some(address) = THE_NEXT.get() {
        PASSED.0.store(core::ptr::with_exposed_provenance_mut(address), Ordering::Relaxed);
    }
}

/// `syscall` of C with the numbers of `prctl` and `seccomp`, which arrive here by a jump, with their arguments in place.
///
/// # Safety
/// As C's. The last argument may be anything: it is read from where the caller would have put it.
pub unsafe extern "C" fn system_call(
    number: isize,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> isize {
    let is_prctl = number as u32 as usize == number::PRCTL;
    let before = if is_prctl {
        locks_in(a as i32)
    } else {
        // Excludes calls by which libraries learn what the kernel has, and calls that cannot succeed.
        (a == SECCOMP_SET_MODE_STRICT && b == 0 && c == 0) || (a == SECCOMP_SET_MODE_FILTER && c != 0)
    };
    if before {
        close();
    }
    // SAFETY: the C library's function of that name, the next library's, or this library's.
    let next = unsafe { core::mem::transmute::<*mut c_void, SystemCall>(PASSED.0.load(Ordering::Relaxed)) };
    // SAFETY: the caller's promise.
    let result = unsafe { next(number, a, b, c, d, e, f) };
    let (is_done, is_strict) = if is_prctl {
        (result >= 0 && a as i32 == PR_SET_SECCOMP, b == SECCOMP_MODE_STRICT)
    } else {
        // A filter for all threads fails with the number of one thread; with a listener the result is its descriptor.
        (
            result == 0 || (result > 0 && b & SECCOMP_FILTER_FLAG_NEW_LISTENER != 0),
            a == SECCOMP_SET_MODE_STRICT,
        )
    };
    if before && is_done {
        locked_in(is_strict);
    }
    result
}

/// `syscall` as the C library has it.
#[unsafe(naked)]
unsafe extern "C" fn own_system_call() {
    core::arch::naked_asm!(
        "mov rax, rdi",
        "mov rdi, rsi",
        "mov rsi, rdx",
        "mov rdx, rcx",
        "mov r10, r8",
        "mov r8, r9",
        "mov r9, qword ptr [rsp + 8]",
        "syscall",
        "cmp rax, -4095",
        "jae 2f",
        "ret",
        "2:",
        "mov rdi, rax",
        "jmp {failed}",
        failed = sym failed,
    )
}

extern "C" fn failed(result: isize) -> isize {
    set_errno(-result as i32);
    -1
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
