//! Page faults of this process, as the kernel counted them since the library came into it.
//!
//! The kernel's count goes on when one program takes another's place; what the earlier one did is taken off.
//! Invariant: one figure that only rises, written by whoever looks at the process's memory.
//! Not here: those of the whole run, which its parent is told.

use core::sync::atomic::{AtomicU64, Ordering};

use underbar_ledger::Key;
use underbar_sys::syscall::{self, Usage};

use crate::ledger;

/// What the kernel had counted before. Written at the start, and in a forked child; relaxed, as nothing hangs on it.
static BEFORE: AtomicU64 = AtomicU64::new(0);

/// The program begins.
pub fn at_start() {
    BEFORE.store(syscall::usage().minor_faults, Ordering::Relaxed);
}

/// A forked child is counted from its own beginning.
pub fn after_fork_in_child() {
    BEFORE.store(0, Ordering::Relaxed);
}

/// Keeps what the kernel says now.
pub fn keep(usage: &Usage) {
    let faults = usage.minor_faults.saturating_sub(BEFORE.load(Ordering::Relaxed));
    ledger::raise(Key::ProcessFaults, faults);
}
