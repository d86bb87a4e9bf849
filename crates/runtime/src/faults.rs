//! Page faults of this process, as the kernel counted them since the library came into it.
//!
//! The kernel's count continues when one program replaces another; the count of the earlier program is subtracted.
//! Invariant: one figure that only rises, written by the thread that looks at the process's memory.
//! Not here: the faults of the whole run, which its parent learns.

use core::sync::atomic::{AtomicU64, Ordering};

use underbar_ledger::Key;
use underbar_sys::syscall::{self, Usage};

use crate::ledger;

/// The kernel's count before. Written at the start, and in a forked child; relaxed, as nothing depends on it.
static BEFORE: AtomicU64 = AtomicU64::new(0);

/// The program begins.
pub fn at_start() {
    BEFORE.store(syscall::usage().minor_faults, Ordering::Relaxed);
}

/// A forked child is counted from its start.
pub fn after_fork_in_child() {
    BEFORE.store(0, Ordering::Relaxed);
}

/// Keeps the kernel's current count.
pub fn keep(usage: &Usage) {
    let faults = usage.minor_faults.saturating_sub(BEFORE.load(Ordering::Relaxed));
    ledger::raise(Key::ProcessFaults, faults);
}
