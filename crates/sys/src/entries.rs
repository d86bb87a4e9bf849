//! Entries to the kernel, counted by the kernel's own tracing: exact for a program and all that it starts, with or without a library.
//!
//! ```text
//! open ── fork ── exec: counting begins ── every system call of the program, its threads and its children ── read
//! ```
//!
//! The event is `raw_syscalls:sys_enter`. The kernel has a number for it, in a file that only some may read; and it lets only the superuser,
//! or who has CAP_PERFMON, count it.
//!
//! Invariant: it never counts the process that opened it: counting begins with the exec of a later child.
//! Not here: where the number is read (`host/runner`), samples (`perf`).

use crate::perf::{Attributes, open_event};
use crate::syscall::{self, Result};

/// A counter; it ends when it is dropped.
#[derive(Debug)]
pub struct Entries(i32);

impl Entries {
    /// Counts the entries of the programs that later children of this thread execute, and of all that these start. `event` is the number of
    /// `raw_syscalls:sys_enter`.
    ///
    /// # Errors
    /// `EACCES`, `EPERM`: not allowed here (`kernel.perf_event_paranoid`, a seccomp filter). `ENOSYS`, `ENOENT`: the kernel has no such
    /// event.
    pub fn count(event: u64) -> Result<Entries> {
        const TRACEPOINT: u64 = 2;
        const SIZE: u64 = 112;
        const DISABLED: u64 = 1;
        const INHERIT: u64 = 1 << 1;
        const ENABLE_ON_EXEC: u64 = 1 << 12;
        const ON_ALL: usize = usize::MAX;
        let mut attributes = Attributes::default();
        attributes[0] = TRACEPOINT | SIZE << 32;
        attributes[1] = event;
        attributes[5] = DISABLED | INHERIT | ENABLE_ON_EXEC;
        open_event(&attributes, ON_ALL).map(Entries)
    }

    /// How many there were so far.
    pub fn so_far(&self) -> Option<u64> {
        let mut bytes = [0; 8];
        (syscall::read(self.0, &mut bytes).ok()? == bytes.len()).then(|| u64::from_ne_bytes(bytes))
    }
}

impl Drop for Entries {
    fn drop(&mut self) {
        let _ = syscall::close(self.0);
    }
}
