//! The locks in one interface: run this while no other thread runs anything under the same lock.
//!
//! | name | waits by |
//! |---|---|
//! | naive | comparing and swapping in a loop; gives up with a plain store |
//! | std | 100 tries, then the kernel |
//! | parking_lot | a few tries, some yields, then its own queue |
//! | pthread | the kernel at once |
//! | pthread-adaptive | as many tries as helped lately, at most 100; then the kernel |
//! | simple, small | underbar's own, of eight and of four bytes |
//! | one_rmw | as std; unlocks with a plain store, and a thread that goes to sleep pays for that: an experiment |
//! | fifo | strict order, the kernel at once: the lower bound of the cost of a queue |
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
    /// A peer.
    Peer,
    /// The lock that is judged.
    Ours,
    /// Neither: it shows a bound.
    Floor,
    /// An experiment that is not offered; runs only if it is named.
    Experiment,
}

/// One lock.
#[derive(Debug)]
pub struct Entry {
    /// The name on the command line and in tables.
    pub name: &'static str,
    /// Its role in the comparison.
    pub role: Role,
    /// Many threads on it.
    pub contend: fn(&contend::Parameters) -> Figures,
    /// One thread.
    pub uncontended: fn() -> Figures,
    /// Tasks that log.
    pub open: fn(&open::Parameters) -> Figures,
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
        // As in programs. A holder that panicked ends the run anyway.
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

    /// Additions that are lost if two threads are inside at once.
    pub(super) fn one_at_a_time<L: Lock>(lock: &L) {
        let sum = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for _ in 0..2_000 {
                        // Not an atomic addition: two at once would lose some.
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
