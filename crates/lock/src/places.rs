//! The table of places: what is learnt about locks, and their turns, apart from the locks.
//!
//! A lock is found by a hash of its address: a lock stays small, and its memory may be gone when these values are needed.
//! Two locks in one place share only their learnt values.
//!
//! Invariant: in a forked child the table starts anew.
//! Not here: how long threads look at a held lock ([`crate::spin`]), when a lock goes round in turns ([`turn`]).

pub mod turn;

use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

use crate::processor;
#[cfg(not(loom))]
use turn::Turn;

/// The learnt values of the locks in one place of the table. All of them relaxed: hints and sums.
#[repr(align(64))]
pub struct Place {
    /// Threads that look now: the number of threads inside `spin::Looker`.
    pub(crate) lookers: AtomicU32,
    /// Nanoseconds that looking may take; 0: nothing learnt yet.
    pub(crate) bound: AtomicU32,
    /// The time of the last wake, in nanoseconds of the monotonic clock.
    pub woken_at: AtomicU64,
    /// The turns of the locks. Under the model checker each lock has its own.
    #[cfg(not(loom))]
    pub turn: Turn,
}

impl Place {
    const fn new() -> Self {
        Self {
            lookers: AtomicU32::new(0),
            bound: AtomicU32::new(0),
            woken_at: AtomicU64::new(0),
            #[cfg(not(loom))]
            turn: Turn::new(),
        }
    }
}

const PLACES: usize = 256;

/// Whole pages, so that the kernel can clear them in a forked child, which does not have the threads that are counted there.
#[repr(C, align(4096))]
struct Table([Place; PLACES]);

static TABLE: Table = Table([const { Place::new() }; PLACES]);
const _: () = assert!(size_of::<Table>().is_multiple_of(4096));

/// The place of a lock.
pub fn place(lock: usize) -> &'static Place {
    &TABLE.0[((lock >> 3) ^ (lock >> 11)) % PLACES]
}

/// Whether the table is cleared in a forked child. The first call asks the kernel for it.
pub fn is_cleared_in_children() -> bool {
    const YES: u8 = 1;
    const NO: u8 = 2;
    /// 0: not asked for yet. Written by the thread that asks first (all get the same answer); relaxed.
    static ANSWER: AtomicU8 = AtomicU8::new(0);
    match ANSWER.load(Ordering::Relaxed) {
        0 => {
            let is_done = processor::clears_in_children((&raw const TABLE).cast(), size_of::<Table>());
            ANSWER.store(if is_done { YES } else { NO }, Ordering::Relaxed);
            is_done
        }
        answer => answer == YES,
    }
}
