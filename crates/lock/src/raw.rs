//! The word of a lock: who may take it, and who is woken.
//!
//! ```text
//! bit 0  L  held
//!     1  W  somebody may sleep for it
//!     2  S  reserved for one who has waited for long; free for that thread alone
//!
//!   0 --L--> L --a sleeper--> L|W --unlock, one is woken--> 0
//!                              \--after a millisecond--> L|W|S --unlock, that one is woken--> W|S --> L|W
//! ```
//!
//! A thread that slept takes the lock with W set, since others may sleep still; so one wake is under way at a time, and
//! none is lost. Whoever comes by while the woken one is on its way may take the lock first (that keeps it busy), but not
//! for longer than a millisecond: then it is reserved.
//!
//! Orders: taking is Acquire, giving up is Release. W and S are set by read-modify-write operations, which continue the
//! release sequence of whoever gave up the lock, so Relaxed is enough for them.
//!
//! Invariant: L is set by the thread that gets the lock, and cleared by it; S is set and cleared by the same thread, or
//! cleared by its acquisition. A thread sleeps only while W is set.
//! Not here: how long to look before sleeping (`spin`).

use core::sync::atomic::Ordering;

use underbar_sys::sync::atomic::AtomicU32;

use crate::futex::{Room, Sleepers, wake};
use crate::observer::{Waited, observer};
use crate::processor;
use crate::spin::{self, Looker};

const L: u32 = 1;
const W: u32 = 2;
const S: u32 = 4;

/// Whoever waits for longer than this has the lock reserved, in nanoseconds.
const STARVED_NS: u64 = 1_000_000;
/// In a hint: somebody wants to know, so the next holder says it.
const ASKED: u32 = 1 << 30;
/// In a hint: somebody has seen that the holder does not run.
const OFF: u32 = 1 << 31;

/// How what was written under the lock becomes visible to the next holder.
#[cfg(not(seeded_bug = "relaxed_release"))]
const GIVEN_UP: Ordering = Ordering::Release;
#[cfg(seeded_bug = "relaxed_release")]
const GIVEN_UP: Ordering = Ordering::Relaxed;

/// A lock of four bytes; of zeros: free. See [`SimpleLock`], which can tell whether its holder runs.
#[repr(transparent)]
pub struct SmallLock {
    word: Word,
}

/// A lock of eight bytes; of zeros: free.
///
/// Size, alignment and meaning of zeros are a promise. What stands in the words is not: programs that use the calls
/// alone never need a change.
#[repr(C)]
pub struct SimpleLock {
    word: Word,
    /// Processor of the holder and one, or [`ASKED`]; with [`OFF`]. 0 until somebody wants to know: a lock that nobody
    /// waits for need not say it. Written by the holder, and marked by those who look; relaxed: a hint that may be wrong.
    hint: AtomicU32,
}

#[cfg(not(loom))]
const _: () = {
    assert!(size_of::<SmallLock>() == 4 && align_of::<SmallLock>() == 4);
    assert!(size_of::<SimpleLock>() == 8 && align_of::<SimpleLock>() == 4);
};

/// Written by all, see the head of this file.
#[repr(C)]
struct Word {
    state: AtomicU32,
    sleepers: Sleepers,
}

/// Makes the methods of both sizes; they differ in the hint alone.
macro_rules! methods {
    ($small:literal, $self:ident, $hint:expr, $taken:expr, $($rest:tt)*) => {
        /// A free lock.
        #[cfg(not(loom))]
        #[must_use]
        pub const fn new() -> Self {
            Self { word: Word { state: AtomicU32::new(0), sleepers: Sleepers::new() }, $($rest)* }
        }

        /// A free lock.
        #[cfg(loom)]
        #[must_use]
        #[allow(clippy::new_without_default)]
        pub fn new() -> Self {
            Self { word: Word { state: AtomicU32::new(0), sleepers: Sleepers::new() }, $($rest)* }
        }

        /// Waits for the lock.
        #[inline]
        pub fn lock(&$self) {
            if !$self.word.take_if_free() {
                $self.word.wait($hint, 0, $small, 0);
            }
            $taken
        }

        /// Takes the lock if it is free: neither held nor reserved.
        #[inline]
        #[must_use]
        pub fn try_lock(&$self) -> bool {
            if !$self.word.take_if_free() && !$self.word.take_if_not_held() {
                return false;
            }
            $taken
            true
        }

        /// Waits for the lock until a time of the monotonic clock, in nanoseconds. False when that has come.
        #[inline]
        #[must_use]
        pub fn lock_until(&$self, deadline: u64) -> bool {
            if !$self.word.take_if_free() && !$self.word.wait($hint, deadline.max(1), $small, 0) {
                return false;
            }
            $taken
            true
        }

        /// Waits for the lock, at most for so many nanoseconds.
        #[inline]
        #[must_use]
        pub fn lock_for(&$self, nanoseconds: u64) -> bool {
            $self.try_lock() || $self.lock_until(processor::now().saturating_add(nanoseconds))
        }

        /// As [`Self::lock`], for a caller who knows from where it was called.
        #[inline]
        pub fn lock_from(&$self, caller: usize) {
            if !$self.word.take_if_free() {
                $self.word.wait($hint, 0, $small, caller);
            }
            $taken
        }

        /// As [`Self::lock_until`], for a caller who knows from where it was called.
        #[inline]
        #[must_use]
        pub fn lock_until_from(&$self, deadline: u64, caller: usize) -> bool {
            if !$self.word.take_if_free() && !$self.word.wait($hint, deadline.max(1), $small, caller) {
                return false;
            }
            $taken
            true
        }

        /// Gives the lock up. False, with nothing done, where nobody held it.
        ///
        /// # Safety
        /// The caller took the lock. If it has not, and another thread has, that thread's lock is given up: nothing
        /// tells the two apart.
        #[inline]
        pub unsafe fn unlock(&$self) -> bool {
            $self.word.give_up(0)
        }

        /// As [`Self::unlock`], for a caller who knows from where it was called.
        ///
        /// # Safety
        /// As [`Self::unlock`].
        #[inline]
        pub unsafe fn unlock_from(&$self, caller: usize) -> bool {
            $self.word.give_up(caller)
        }

        /// Whether somebody holds it, at this moment.
        #[inline]
        #[must_use]
        pub fn is_locked(&$self) -> bool {
            $self.word.state.load(Ordering::Relaxed) & L != 0
        }
    };
}

impl SmallLock {
    methods!(1, self, None, {},);
}

impl SimpleLock {
    methods!(
        0,
        self,
        Some(&self.hint),
        {
            if self.hint.load(Ordering::Relaxed) != 0 {
                self.hint.store(processor::this(), Ordering::Relaxed);
            }
        },
        hint: AtomicU32::new(0)
    );
}

#[cfg(not(loom))]
impl Default for SmallLock {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(not(loom))]
impl Default for SimpleLock {
    fn default() -> Self {
        Self::new()
    }
}

impl Word {
    #[inline(always)]
    fn take_if_free(&self) -> bool {
        self.state.compare_exchange(0, L, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Free, but for those who were woken and have not come yet.
    #[cold]
    fn take_if_not_held(&self) -> bool {
        let seen = self.state.load(Ordering::Relaxed);
        seen & (L | S) == 0
            && self.state.compare_exchange(seen, seen | L, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    #[inline(always)]
    fn give_up(&self, caller: usize) -> bool {
        match self.state.compare_exchange(L, 0, GIVEN_UP, Ordering::Relaxed) {
            Ok(_) => true,
            Err(seen) => self.give_up_awaited(seen, caller),
        }
    }

    #[cold]
    #[inline(never)]
    fn give_up_awaited(&self, mut seen: u32, caller: usize) -> bool {
        loop {
            if seen & L == 0 {
                return false;
            }
            #[cfg(not(seeded_bug = "reservation_dropped"))]
            let new = if seen & S != 0 { seen & !L } else { 0 };
            #[cfg(seeded_bug = "reservation_dropped")]
            let new = 0;
            match self.state.compare_exchange(seen, new, GIVEN_UP, Ordering::Relaxed) {
                Ok(_) => break,
                Err(now) => seen = now,
            }
        }
        // From here on the memory may be gone: its address is used, and nothing in it.
        let address = &raw const self.state;
        if cfg!(not(loom)) {
            spin::place(address as usize).woken_at.store(processor::now(), Ordering::Relaxed);
        }
        #[cfg(not(seeded_bug = "common_room"))]
        let room = if seen & S != 0 { Room::Starver } else { Room::All };
        #[cfg(seeded_bug = "common_room")]
        let room = Room::All;
        // Told before the wake: whoever is woken may have come and gone otherwise, and nobody would seem to have waited.
        if let Some(observer) = observer() {
            (observer.given_up)(address as usize, caller);
        }
        wake(address, &self.sleepers, room);
        true
    }

    /// Waits until this thread has the lock, or until the deadline (none: 0): then false.
    #[cold]
    #[inline(never)]
    fn wait(&self, hint: Option<&AtomicU32>, deadline: u64, small: u32, caller: usize) -> bool {
        let address = &raw const self.state as usize;
        let began = processor::now();
        let mut what = Waited { small, ..Waited::default() };
        let place = spin::place(address);
        let mut got = self.look(place, hint, &mut what.spin_ns);
        if !got {
            if let Some(observer) = observer() {
                (observer.waits)(address, small, caller);
            }
            got = self.sleep(place, hint, began, deadline, &mut what);
        }
        if let Some(observer) = observer() {
            what.wait_ns = processor::now().saturating_sub(began);
            what.got = u32::from(got);
            (observer.waited)(address, caller, &what);
        }
        got
    }

    /// Looks for a while, reading only; true where the lock was got.
    fn look(&self, place: &'static spin::Place, hint: Option<&AtomicU32>, spent: &mut u64) -> bool {
        let Some(mut looker) = Looker::begin(place) else { return false };
        let began = processor::now();
        let this = processor::this();
        let got = loop {
            let seen = self.state.load(Ordering::Relaxed);
            if seen & (L | S) == 0 {
                if self.state.compare_exchange(seen, seen | L, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                    break true;
                }
            } else if let Some(hint) = hint
                && this != 0
            {
                let holder = hint.load(Ordering::Relaxed);
                if holder & OFF != 0 {
                    break false;
                }
                if holder == 0 {
                    let _ = hint.compare_exchange(0, ASKED, Ordering::Relaxed, Ordering::Relaxed);
                }
                if holder == this && seen & L != 0 {
                    // It took the lock on this processor, on which I run: so it does not. Whoever else looks may know.
                    let _ = hint.compare_exchange(holder, holder | OFF, Ordering::Relaxed, Ordering::Relaxed);
                    break false;
                }
            }
            if !looker.pause() {
                break false;
            }
        };
        if got {
            looker.got()
        } else {
            looker.gave_up()
        }
        *spent += processor::now().saturating_sub(began);
        got
    }

    /// Sleeps until the lock is got, or until the deadline.
    fn sleep(
        &self,
        place: &'static spin::Place,
        hint: Option<&AtomicU32>,
        began: u64,
        deadline: u64,
        what: &mut Waited,
    ) -> bool {
        let mut is_starver = false;
        loop {
            let seen = self.state.load(Ordering::Relaxed);
            if seen & L == 0 && (seen & S == 0 || is_starver) {
                #[cfg(not(seeded_bug = "forgotten_sleeper"))]
                let new = if is_starver { L | W } else { seen | L | W };
                #[cfg(seeded_bug = "forgotten_sleeper")]
                let new = if is_starver { L } else { seen | L };
                #[cfg(loom)]
                assert!(!is_starver || seen & S != 0, "what was reserved is reserved still");
                if self.state.compare_exchange(seen, new, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                    return true;
                }
                continue;
            }
            let now = processor::now();
            let mut wanted = seen | W;
            // For the model checker, who has to sleep starves, and every deadline has passed.
            let has_waited_long = cfg!(loom) || now.saturating_sub(began) > STARVED_NS;
            let starves = !is_starver && seen & S == 0 && seen & L != 0 && has_waited_long;
            if starves {
                wanted |= S;
            }
            if wanted != seen
                && self.state.compare_exchange(seen, wanted, Ordering::Relaxed, Ordering::Relaxed).is_err()
            {
                continue;
            }
            is_starver |= starves;
            if deadline != 0 && (cfg!(loom) || now >= deadline) {
                // W is set: if the last wake was for me, the next goes to another.
                if is_starver {
                    self.give_back_reservation();
                }
                return false;
            }
            let room = if is_starver { Room::Starver } else { Room::All };
            self.sleepers.sleep(&self.state, wanted, room, deadline);
            what.parked += 1;
            let woken = place.woken_at.load(Ordering::Relaxed);
            if woken > now {
                what.runnable_ns += processor::now().saturating_sub(woken);
            }
            if !is_starver && self.look(place, hint, &mut what.spin_ns) {
                // Others may sleep still, and the wake was used up.
                #[cfg(not(seeded_bug = "forgotten_sleeper"))]
                self.state.fetch_or(W, Ordering::Relaxed);
                return true;
            }
        }
    }

    /// The thread for which the lock is reserved no longer wants it. If it is free, others must be told.
    fn give_back_reservation(&self) {
        let seen = self.state.fetch_and(!S, Ordering::Relaxed);
        #[cfg(not(seeded_bug = "kept_wake"))]
        if seen & L == 0 {
            wake(&raw const self.state, &self.sleepers, Room::All);
        }
        #[cfg(seeded_bug = "kept_wake")]
        let _ = seen;
    }
}

#[cfg(all(test, loom))]
#[path = "raw_model.rs"]
mod model;

#[cfg(all(test, not(loom)))]
#[path = "raw_tests.rs"]
mod tests;
