//! Sleeping and waking: the kernel's futex, with separate wait queues ("rooms"). The thread for which the lock is reserved
//! sleeps in its own room, so that it can be woken, and no other thread in its place.
//!
//! Under the model checker, a list of threads under a lock replaces the kernel.

/// A choice of sleepers: a set of bits, as the kernel has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Room {
    /// All waiting threads.
    All = 1,
    /// The thread for which the lock is reserved.
    Starver = 2,
    /// The threads that were woken for a turn that another thread had taken: they are woken before the others.
    First = 4,
}

#[cfg(not(any(loom, miri)))]
mod real {
    use super::Room;
    use underbar_sys::sync::atomic::AtomicU32;
    use underbar_sys::syscall;

    /// No data: the kernel knows the sleepers.
    pub struct Sleepers;

    impl Sleepers {
        pub const fn new() -> Self {
            Self
        }

        /// Sleeps while the word holds `seen`, at the latest until `deadline` (nanoseconds of the monotonic clock; none:
        /// 0). True when woken; may return without a reason.
        pub fn sleep(&self, word: &AtomicU32, seen: u32, room: Room, deadline: u64) -> bool {
            syscall::futex_wait_until(word, seen, (deadline != 0).then_some(deadline), room as u32).is_ok()
        }
    }

    /// Sleeps until `deadline` (nanoseconds of the monotonic clock). No thread wakes it, but a signal may.
    pub fn sleep_until(deadline: u64) {
        let nobody = AtomicU32::new(0);
        let _ = syscall::futex_wait_until(&nobody, 0, Some(deadline), Room::All as u32);
    }

    /// Wakes sleepers of a room, at most so many; returns whether there was one. Only the word's address is used: the word
    /// may be gone.
    pub fn wake(word: *const AtomicU32, _: &Sleepers, most: u32, room: Room) -> bool {
        matches!(syscall::futex_wake_at(word, most, room as u32), Ok(1..))
    }
}
#[cfg(not(any(loom, miri)))]
pub use real::{Sleepers, sleep_until, wake};

/// Like the real one, by the C library's `syscall`: the interpreter knows the futex under that name, and no instructions.
#[cfg(miri)]
mod interpreted {
    use super::Room;
    use core::ffi::{c_int, c_long};
    use core::ptr::null;
    use underbar_sys::sync::atomic::AtomicU32;
    use underbar_sys::syscall::Timespec;

    const FUTEX: c_long = 202;
    const WAIT_BITSET_PRIVATE: c_int = 9 | 128;
    const WAKE_BITSET_PRIVATE: c_int = 10 | 128;

    unsafe extern "C" {
        fn syscall(number: c_long, ...) -> c_long;
    }

    pub struct Sleepers;

    impl Sleepers {
        pub const fn new() -> Self {
            Self
        }

        pub fn sleep(&self, word: &AtomicU32, seen: u32, room: Room, deadline: u64) -> bool {
            const SECOND: u64 = 1_000_000_000;
            let time =
                Timespec { seconds: (deadline / SECOND) as i64, nanoseconds: (deadline % SECOND) as i64 };
            let until = if deadline == 0 { null() } else { &raw const time };
            // SAFETY: the word and the time outlive the call.
            let answer = unsafe {
                syscall(
                    FUTEX,
                    core::ptr::from_ref(word),
                    WAIT_BITSET_PRIVATE,
                    seen,
                    until,
                    null::<u32>(),
                    room as u32,
                )
            };
            answer == 0
        }
    }

    /// Like the real one.
    pub fn sleep_until(deadline: u64) {
        let nobody = AtomicU32::new(0);
        let _ = Sleepers::new().sleep(&nobody, 0, Room::All, deadline);
    }

    pub fn wake(word: *const AtomicU32, _: &Sleepers, most: u32, room: Room) -> bool {
        // SAFETY: only the word's address is used.
        let woken = unsafe {
            syscall(
                FUTEX,
                word,
                WAKE_BITSET_PRIVATE,
                most as c_int,
                null::<Timespec>(),
                null::<u32>(),
                room as u32,
            )
        };
        woken > 0
    }
}
#[cfg(miri)]
pub use interpreted::{Sleepers, sleep_until, wake};

#[cfg(loom)]
mod mocked {
    use super::Room;
    use core::sync::atomic::Ordering;
    use loom::sync::Mutex;
    use loom::thread::{Thread, current, park};
    use std::vec::Vec;
    use underbar_sys::sync::atomic::AtomicU32;

    /// The sleepers with their rooms, in order of arrival.
    #[derive(Default)]
    pub struct Sleepers(Mutex<Vec<(Room, Thread)>>);

    impl Sleepers {
        pub fn new() -> Self {
            Self::default()
        }

        pub fn sleep(&self, word: &AtomicU32, seen: u32, room: Room, deadline: u64) -> bool {
            {
                let mut kernel = self.0.lock().expect("no panic inside");
                // The kernel sees the newest value, which a load need not, after a fence. A deadline has always passed.
                if word.fetch_or(0, Ordering::AcqRel) != seen || deadline != 0 {
                    return false;
                }
                kernel.push((room, current()));
            }
            park();
            true
        }
    }

    /// The time has come as soon as other threads have had a chance to run.
    pub fn sleep_until(_: u64) {
        loom::thread::yield_now();
    }

    pub fn wake(_: *const AtomicU32, sleepers: &Sleepers, most: u32, room: Room) -> bool {
        let mut kernel = sleepers.0.lock().expect("no panic inside");
        let mut woken = 0;
        while woken < most
            && let Some(at) = kernel.iter().position(|(other, _)| *other == room)
        {
            kernel.remove(at).1.unpark();
            woken += 1;
        }
        woken > 0
    }
}
#[cfg(loom)]
pub use mocked::{Sleepers, sleep_until, wake};
