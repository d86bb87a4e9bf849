//! The locks, one face: run this while nobody else runs anything under the same lock.
//!
//! | name | waits by |
//! |---|---|
//! | naive | comparing and swapping in a loop; gives up with a plain store |
//! | std | 100 looks, then the kernel |
//! | parking_lot | a few looks, some yields, then a queue of its own |
//! | pthread | the kernel at once |
//! | pthread-adaptive | as many looks as helped lately, at most 100; then the kernel |
//! | simple, small | our own, of eight and of four bytes |
//! | one_rmw | as std; gives up with a plain store, and whoever goes to sleep pays for that: an experiment |
//! | fifo | strict order, the kernel at once: the floor of what waiting in a row costs |
//!

mod fifo;
mod naive;
mod one_rmw;
mod pthread;
mod simple;

use crate::lock::Lock;
use crate::{Figures, contend, open, uncontended};

pub use fifo::Fifo;
pub use naive::Naive;
pub use one_rmw::{OneRmw, price};
pub use pthread::{Adaptive, Normal};

/// What a lock is to the comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Compared with.
    Peer,
    /// Judged.
    Ours,
    /// Neither: it shows what is to be had at best.
    Floor,
    /// Tried, and offered to nobody; runs where it is named.
    Experiment,
}

/// One lock.
#[derive(Debug)]
pub struct Entry {
    /// What the user types and the tables print.
    pub name: &'static str,
    /// What it is to the comparison.
    pub role: Role,
    /// Many threads on it.
    pub contend: fn(&contend::Asked) -> Figures,
    /// One thread.
    pub uncontended: fn() -> Figures,
    /// Tasks that log.
    pub open: fn(&open::Asked) -> Figures,
}

const fn entry<L: Lock>(name: &'static str, role: Role) -> Entry {
    Entry { name, role, contend: contend::run::<L>, uncontended: uncontended::run::<L>, open: open::run::<L> }
}

/// All of them, in the order of the tables.
pub static TABLE: [Entry; 9] = [
    entry::<std::sync::Mutex<()>>("std", Role::Peer),
    entry::<parking_lot::Mutex<()>>("parking_lot", Role::Peer),
    entry::<Normal>("pthread", Role::Peer),
    entry::<Adaptive>("pthread-adaptive", Role::Peer),
    entry::<Naive>("naive", Role::Peer),
    entry::<underbar::SimpleLock<()>>("simple", Role::Ours),
    entry::<underbar_lock::SmallLock>("small", Role::Ours),
    entry::<Fifo>("fifo", Role::Floor),
    entry::<OneRmw>("one_rmw", Role::Experiment),
];

/// The lock of that name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Entry> {
    TABLE.iter().find(|entry| entry.name == name)
}

impl Lock for std::sync::Mutex<()> {
    fn new() -> Self {
        std::sync::Mutex::new(())
    }

    #[inline]
    fn with<R>(&self, work: impl FnOnce() -> R) -> R {
        // As programs write it; a holder that panicked ends the run anyway.
        let _held = self.lock().expect("no holder panics");
        work()
    }
}

impl Lock for parking_lot::Mutex<()> {
    fn new() -> Self {
        parking_lot::Mutex::new(())
    }

    #[inline]
    fn with<R>(&self, work: impl FnOnce() -> R) -> R {
        let _held = self.lock();
        work()
    }
}

#[cfg(test)]
mod tests {
    use super::{Fifo, Lock, Naive, TABLE};
    use std::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn names_are_unique() {
        for entry in &TABLE {
            assert_eq!(TABLE.iter().filter(|other| other.name == entry.name).count(), 1);
        }
    }

    /// Additions that are lost where two threads are inside at once.
    pub(super) fn one_at_a_time<L: Lock>(lock: &L) {
        let sum = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for _ in 0..2_000 {
                        // Not an addition of the processor's: two at once would lose some.
                        lock.with(|| sum.store(sum.load(Ordering::Relaxed) + 1, Ordering::Relaxed));
                    }
                });
            }
        });
        assert_eq!(sum.load(Ordering::Relaxed), 6_000);
    }

    fn new_one<L: Lock>() {
        one_at_a_time(&L::new());
    }

    #[test]
    fn each_lets_one_in_at_a_time() {
        new_one::<Naive>();
        new_one::<Fifo>();
        new_one::<super::Normal>();
        new_one::<super::Adaptive>();
        new_one::<underbar::SimpleLock<()>>();
        new_one::<underbar_lock::SmallLock>();
        new_one::<super::OneRmw>();
    }
}
