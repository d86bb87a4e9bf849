//! The CPU time of a program start (MT): what the process tells of its starts, so that no start needs a timer.
//!
//! ```text
//! process begins ─> its limit and the number of starts in the slot ─┐
//! LINK, not from within another ─> a word: thread and start         ├─> the command looks five times a second, and sends SIGXCPU
//! that program ends ─> the word is free                            ─┘
//! no command as parent ─> RLIMIT_CPU, once                               the kernel sends it
//! ```
//!
//! Invariant: a start makes no system call; only a process without such a parent makes three.
//! Cost: a LINK takes a look at sixteen words and three atomic operations more. Without MT a load.
//! Not here: who watches, and what is sent (`host/launch`).

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use underbar_ledger::Key;
use underbar_sys::machine::{Resource, set_soft_limit};
use underbar_sys::syscall::{CLOCK_PROCESS_CPUTIME_ID, clock_nanoseconds};

use crate::orders::Orders;
use crate::{ledger, lock};

/// Seconds; 0: none. Written when options are obeyed; relaxed, since nothing else is read by it.
static SECONDS: AtomicU64 = AtomicU64::new(0);
/// Numbers of starts, so that a word is never the same for two of them in a row. Relaxed.
static STARTS: AtomicU32 = AtomicU32::new(0);

/// Obeys MT.
pub(crate) fn configure(orders: &Orders<'_>) {
    SECONDS.store(orders.settings.cpu_limit_seconds(), Ordering::Relaxed);
}

/// The process is a start.
pub(crate) fn at_start() {
    let seconds = SECONDS.load(Ordering::Relaxed);
    if seconds > 0 {
        begin(seconds);
    }
}

/// A child by fork is one, too.
pub(crate) fn after_fork_in_child() {
    at_start();
}

fn begin(seconds: u64) {
    ledger::set(Key::CpuLimit, seconds);
    ledger::add(Key::CpuLimitStarts, 1);
    if ledger::control::page().is_watched() {
        return;
    }
    // What this process has used before its exec is not this program's.
    let used = clock_nanoseconds(CLOCK_PROCESS_CPUTIME_ID).div_ceil(1_000_000_000);
    if set_soft_limit(Resource::Cpu, used.saturating_add(seconds)).is_ok() {
        ledger::add(Key::CpuLimitByKernel, 1);
    }
}

/// A program is LINKed by this thread. Returns what [`ends`] needs; None if it is not limited by itself: MT is not set, the thread runs a
/// program already that was LINKed, or so many do that there is no place left.
pub fn starts() -> Option<&'static AtomicU64> {
    if SECONDS.load(Ordering::Relaxed) == 0 {
        return None;
    }
    let thread = u64::from(lock::number::thread());
    let starts = &ledger::slot().starts;
    if starts.iter().any(|place| place.load(Ordering::Relaxed) >> 32 == thread) {
        return None;
    }
    ledger::add(Key::CpuLimitStarts, 1);
    let word = thread << 32 | u64::from(STARTS.fetch_add(1, Ordering::Relaxed));
    let free = |place: &&AtomicU64| {
        place.load(Ordering::Relaxed) == 0
            && place.compare_exchange(0, word, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    };
    starts.iter().find(free)
}

/// The program with that word has ended.
pub fn ends(place: &AtomicU64) {
    place.store(0, Ordering::Relaxed);
}
