//! The debug form of the simple lock: the same lock, with its holder in a side table, so that faults are found and named.
//!
//! | fault | found |
//! |---|---|
//! a thread locks a lock that it holds | before it would wait for itself forever |
//! the same in a signal handler that interrupted the holder | by the signals blocked since |
//! | unlocked by a thread that does not hold it | before anything is changed |
//! unlocked while no thread holds it | in the call to unlock |
//! its holder has ended | by a waiting thread: at once, or within a tenth of a second |
//! held by another thread when this process was forked | in the child, by a thread that waits for it or unlocks it |
//!
//! The words of the locks are the same: code with the debug form and code without it can share a lock, as long as each
//! releases the locks that it takes. A lock taken without the debug form has no holder here, and no fault of it is reported.
//!
//! Invariant: a call that finds a fault has changed nothing. A report is true for the moment at which the fault was found.
//! Cost: two system calls for each acquisition. Known limits: a lock of four bytes has no debug form; the lock report gives
//! no place for waits.
//! Not here: the reaction to a fault (the crates for Rust and C).

use core::fmt;

pub use crate::call_site::{CPlace, Place};
use crate::holders::{self, Held, Who};
use crate::{SimpleLock, processor};

/// How often a waiter checks whether the holder still lives, in nanoseconds.
const LOOK_NS: u64 = 100_000_000;

/// What is wrong. The numbers are those of `sys/simplelock.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[repr(u32)]
pub enum Kind {
    /// The thread that holds the lock locks it again: it would wait for itself.
    LockedTwice = 1,
    /// The same, in a signal handler that interrupted the holder.
    InSignalHandler = 2,
    /// Another thread holds the lock that this one unlocks.
    NotHolder = 3,
    /// No thread holds the lock that is unlocked.
    NotLocked = 4,
    /// The thread that held it has ended.
    HolderEnded = 5,
    /// A thread of the parent held it when this process was forked: no thread here can release it.
    HeldAcrossFork = 6,
}

/// The holder of a faulty lock.
#[derive(Clone, Copy, Debug)]
pub struct Holder {
    /// The thread's number in the system.
    pub thread: u32,
    /// The number of its process.
    pub process: u32,
    /// Where it took the lock.
    pub place: Place,
}

/// A fault that was found.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    /// Its kind.
    pub kind: Kind,
    /// Address of the lock.
    pub lock: usize,
    /// The call that found it.
    pub place: Place,
    /// The thread that made this call.
    pub thread: u32,
    /// The holder; None for [`Kind::NotLocked`].
    pub holder: Option<Holder>,
    /// For [`Kind::InSignalHandler`]: the signal, if known.
    pub signal: Option<u32>,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fault { lock, place, thread, .. } = self;
        write!(f, "simple lock {lock:#x}: ")?;
        let Some(Holder { thread: holder, process, place: since }) = &self.holder else {
            return write!(f, "unlocked by thread {thread} at {place}, but nobody holds it");
        };
        match self.kind {
            Kind::LockedTwice => {
                write!(f, "locked twice by thread {thread}: at {place}; it holds it since {since}")
            }
            Kind::InSignalHandler => {
                write!(f, "locked in a signal handler")?;
                if let Some(signal) = self.signal {
                    write!(f, " (of signal {signal})")?;
                }
                write!(f, " at {place}, which interrupted thread {thread}; that holds it since {since}")
            }
            Kind::NotHolder => write!(
                f,
                "unlocked by thread {thread} at {place}, which does not hold it; thread {holder} does, since {since}"
            ),
            Kind::NotLocked => write!(f, "unlocked by thread {thread} at {place}, but nobody holds it"),
            Kind::HolderEnded => write!(
                f,
                "waited for by thread {thread} at {place}, but its holder, thread {holder}, has ended; that took it at {since}"
            ),
            Kind::HeldAcrossFork => write!(
                f,
                "wanted by thread {thread} at {place}, but thread {holder} of process {process} held it when this one was \
                 forked; that took it at {since}"
            ),
        }
    }
}

fn address(lock: &SimpleLock) -> usize {
    core::ptr::from_ref(lock).addr()
}

fn fault(
    kind: Kind,
    lock: usize,
    place: Place,
    this: &Who,
    held: Option<Held>,
    signal: Option<u32>,
) -> Fault {
    let holder =
        held.map(|held| Holder { thread: held.by.thread, process: held.by.process, place: held.place });
    Fault { kind, lock, place, thread: this.thread, holder, signal }
}

/// Waits for the lock.
///
/// # Errors
/// The fault because of which it would wait forever.
pub fn lock(lock: &SimpleLock, place: Place) -> Result<(), Fault> {
    lock_until(lock, u64::MAX, place).map(|_| ())
}

/// Waits for the lock until a time of the monotonic clock, in nanoseconds. False if that time has passed.
///
/// # Errors
/// The fault for which it would wait in vain.
pub fn lock_until(lock: &SimpleLock, deadline: u64, place: Place) -> Result<bool, Fault> {
    if !lock.try_lock() {
        loop {
            can_be_waited_for(lock, place)?;
            let now = processor::now();
            if lock.lock_until(deadline.min(now.saturating_add(LOOK_NS))) {
                break;
            }
            if processor::now() >= deadline {
                return Ok(false);
            }
        }
    }
    holders::note(address(lock), place);
    Ok(true)
}

/// Takes the lock if it is free: neither held nor reserved. A caller that already holds it is no fault.
#[must_use]
pub fn try_lock(lock: &SimpleLock, place: Place) -> bool {
    let got = lock.try_lock();
    if got {
        holders::note(address(lock), place);
    }
    got
}

/// Releases the lock.
///
/// # Errors
/// The fault because of which the call changed nothing.
///
/// # Safety
/// The caller took the lock, or no safety depends on it: a lock without a known holder is released, whoever holds it.
pub unsafe fn unlock(lock: &SimpleLock, place: Place) -> Result<(), Fault> {
    let at = address(lock);
    let held = holders::of(at);
    if let Some(held) = held {
        let this = Who::this();
        if !held.by.is(&this) {
            let kind = if held.by.process == this.process { Kind::NotHolder } else { Kind::HeldAcrossFork };
            return Err(fault(kind, at, place, &this, Some(held), None));
        }
        if !lock.is_locked() {
            // Released by code without the debug form.
            holders::forget(at);
            return Err(fault(Kind::NotLocked, at, place, &this, None, None));
        }
        // Before the lock is released: after that, the entry may belong to another thread.
        holders::forget(at);
    }
    // SAFETY: the caller's promise.
    if unsafe { lock.unlock() } {
        Ok(())
    } else {
        Err(fault(Kind::NotLocked, at, place, &Who::this(), None, None))
    }
}

/// The lock's memory is initialised again: no thread holds it.
pub fn renew(lock: *const SimpleLock) {
    holders::forget(lock.addr());
}

fn can_be_waited_for(lock: &SimpleLock, place: Place) -> Result<(), Fault> {
    let at = address(lock);
    // A lock that was released meanwhile, or by code without the debug form, needs no holder.
    let Some(held) = holders::of(at).filter(|_| lock.is_locked()) else { return Ok(()) };
    let this = Who::this();
    if held.by.is(&this) {
        let since = holders::held_back() & !held.held_back;
        let kind = if since == 0 { Kind::LockedTwice } else { Kind::InSignalHandler };
        let signal = (since.count_ones() == 1).then(|| since.trailing_zeros() + 1);
        return Err(fault(kind, at, place, &this, Some(held), signal));
    }
    if held.by.process != this.process {
        return Err(fault(Kind::HeldAcrossFork, at, place, &this, Some(held), None));
    }
    // The holder may have released the lock and ended properly since we looked: then its entry is gone.
    let is_still = || holders::of(at).is_some_and(|now| now.by == held.by);
    if held.by.has_ended() && is_still() {
        return Err(fault(Kind::HolderEnded, at, place, &this, Some(held), None));
    }
    Ok(())
}

#[cfg(test)]
#[path = "debug_tests.rs"]
mod tests;
