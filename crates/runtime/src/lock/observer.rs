//! What simple locks report: those in the library, and those in a program that found the library.
//!
//! Invariant: as in `record`. A thread sleeps for one lock at a time, so one word of each thread names the lock for which
//! it is counted as waiting. A signal handler that waits in the middle of this may make the number of waiters too low or
//! too high by one, which affects blame alone.

use core::arch::{asm, global_asm};

use underbar_ledger::locks::Sort;
use underbar_lock::{OBSERVER_VERSION, Observer, Waited};

use super::number::thread;
use super::record::{self, Sums};
use super::wait;
use super::{Locks, mode};

/// The table that is exported as `underbar_lock_observer`.
pub const OBSERVER: Observer = Observer { version: OBSERVER_VERSION, spare: 0, waits, waited, given_up };

// The lock for which this thread is counted as waiting; 0: none. Thread-local as in `heap::slot`.
global_asm!(
    ".section .tbss.underbar_thread_waits,\"awT\",@nobits",
    ".p2align 3",
    ".hidden underbar_thread_waits",
    ".globl underbar_thread_waits",
    ".type underbar_thread_waits,@object",
    ".size underbar_thread_waits,8",
    "underbar_thread_waits:",
    ".zero 8",
    ".text",
);

/// Changes the lock for which this thread waits; returns the one before.
fn exchange(lock: usize) -> usize {
    let before: usize;
    // SAFETY: reads and writes the slot of this thread.
    unsafe {
        asm!(
            "mov {offset}, qword ptr [rip + underbar_thread_waits@GOTTPOFF]",
            "mov {before}, qword ptr fs:[{offset}]",
            "mov qword ptr fs:[{offset}], {lock}",
            offset = out(reg) _,
            before = out(reg) before,
            lock = in(reg) lock,
            options(nostack, preserves_flags)
        );
    }
    before
}

fn sort(small: u32) -> Sort {
    if small != 0 { Sort::SimpleSmall } else { Sort::Simple }
}

extern "C" fn waits(lock: usize, small: u32, caller: usize) {
    if mode() != Locks::Off && wait::sleeps(lock, sort(small), caller) {
        exchange(lock);
    }
}

extern "C" fn waited(lock: usize, caller: usize, what: &Waited) {
    if mode() == Locks::Off {
        return;
    }
    let found = record::waited(lock, sort(what.small), caller);
    if exchange(0) == lock
        && let Some(found) = found
    {
        wait::sleeps_no_more(found);
    }
    let sums = Sums {
        times: 1,
        ns: what.wait_ns,
        spin_ns: what.spin_ns,
        runnable_ns: what.runnable_ns,
        parked: what.parked,
        got: what.got != 0,
    };
    wait::ended(lock, found, caller, &sums, what.parked == 0);
}

extern "C" fn given_up(lock: usize, caller: usize) {
    if mode() != Locks::Off {
        let found = record::known(lock);
        if let Some(found) = found {
            record::given_up(found, caller, thread(), 1);
        }
        record::has_woken(found);
    }
}
