//! The C library's mutex, by its own protocol, so that the C library's code and underbar's can work on one mutex at the
//! same time. Condition variables, C11's `mtx_t` and calls from inside the C library never pass through here.
//!
//! ```text
//! word   0 free, 1 held, 2 held and a thread may sleep
//! lock   0 -> 1; else exchange for 2, and sleep while it is 2, until it was 0; then owner = thread, users + 1
//! unlock owner = 0, users - 1; exchange for 0, and wake one if it was 2
//! ```
//!
//! Handled here are mutexes private to the process, of the normal and the adaptive kind. The rest go to the C library
//! (`c_library`), which handles relocking, dead owners and priority inheritance.
//!
//! While there is a single thread, no locked instructions are used, as in the C library, which reports this state
//! in `__libc_single_threaded`.
//!
//! Invariant: after the exchange that gives a mutex up, its memory is not touched. The first call needs no setup.
//! Not here: the functions of the C names (`entries`), how to wait (`simple`), which waits are recorded (`wait_sampling`), and what
//! is recorded (`record`).

use core::sync::atomic::{AtomicPtr, AtomicU8, AtomicU32, AtomicU64, Ordering};

use underbar_ledger::locks::Sort;

use super::number::thread;
use crate::c_library::weak;

pub(super) const ETIMEDOUT: i32 = 110;

/// `pthread_mutex_t` of glibc on x86-64. The C library writes all of it, too.
#[repr(C)]
pub struct Mutex {
    /// See the head of this file. Static initialisers fix the offsets of the other fields.
    pub(super) word: AtomicU32,
    /// How often its holder holds it, in the recursive kind. Written by the holder.
    pub(super) count: AtomicU32,
    /// The thread that holds it. Written by the holder; relaxed: others take it as a hint.
    pub(super) owner: AtomicU32,
    /// Holders, and waiters of condition variables. Written by the holder.
    pub(super) users: AtomicU32,
    /// Kind and marks. Above them are the C library's counters for spinning and elision. The last is unused in the kinds
    /// handled here: [`RESERVED`]. All in one word, so that one load gets everything.
    pub(super) kind: AtomicU64,
    list: [usize; 2],
}

const _: () = assert!(size_of::<Mutex>() == 40 && core::mem::offset_of!(Mutex, kind) == 16);

/// With the kind: a thread that has waited long wants to be the next holder. This is a request, which underbar's code obeys
/// and the C library's does not. Set and cleared by the waiting thread, or by any thread that finds it ignored.
const RESERVED: u64 = 1 << 48;

/// The mark "without elision", which `pthread_mutexattr_settype` sets for an ordinary mutex.
pub(super) const NO_ELISION: u64 = 0x200;
pub(super) const NORMAL: u64 = 0;
pub(super) const ADAPTIVE: u64 = 3;
/// All bits but the mark above and the C library's counter for spinning.
const ADAPTIVE_MARKS: u64 = !(NO_ELISION | 0xffff << 32);

/// The normal kind; or a kind that no mutex has, so that all mutexes take the path of kinds not handled here: [`LEFT`]
/// under LOCK(OFF), which is set before there are other threads, and [`COUNTED`] while acquisitions are counted. Relaxed:
/// both paths follow the same protocol.
static NORMAL_NOW: AtomicU64 = AtomicU64::new(NORMAL);
const LEFT: u64 = u64::MAX;
const COUNTED: u64 = u64::MAX - 1;

/// Sets whether all mutexes are left to the C library from now on.
pub(super) fn leave_all(all: bool) {
    NORMAL_NOW.store(if all { LEFT } else { NORMAL }, Ordering::Relaxed);
}

/// Sets whether acquisitions pass through the path where they may be counted, unless all are left to the C library.
pub(super) fn count_all(all: bool) {
    if NORMAL_NOW.load(Ordering::Relaxed) != LEFT {
        NORMAL_NOW.store(if all { COUNTED } else { NORMAL }, Ordering::Relaxed);
    }
}

impl Mutex {
    /// Of the usual kind, and not reserved.
    #[inline(always)]
    pub(super) fn is_normal(kind: u64) -> bool {
        kind & !NO_ELISION == NORMAL_NOW.load(Ordering::Relaxed)
    }

    /// Of the adaptive kind, and not reserved.
    #[inline(always)]
    pub(super) fn is_adaptive(kind: u64) -> bool {
        kind & ADAPTIVE_MARKS == ADAPTIVE && NORMAL_NOW.load(Ordering::Relaxed) == NORMAL
    }

    /// None for kinds not handled here.
    pub(super) fn sort(&self) -> Option<Sort> {
        if NORMAL_NOW.load(Ordering::Relaxed) == LEFT {
            return None;
        }
        match self.kind.load(Ordering::Relaxed) & 0xffff_ffff & !NO_ELISION {
            NORMAL => Some(Sort::MutexNormal),
            ADAPTIVE => Some(Sort::MutexAdaptive),
            _ => None,
        }
    }

    /// Its kind and marks, if it is of a kind not handled here.
    pub(super) fn other_kind(&self) -> Option<u64> {
        let kind = self.kind();
        (!matches!(kind & 0xffff_ffff & !NO_ELISION, NORMAL | ADAPTIVE)).then_some(kind)
    }

    /// Kind and marks.
    #[inline(always)]
    pub(super) fn kind(&self) -> u64 {
        self.kind.load(Ordering::Relaxed)
    }

    /// Whether a waiting thread wants to be next.
    pub(super) fn is_reserved(&self) -> bool {
        self.kind.load(Ordering::Relaxed) & RESERVED != 0
    }

    /// Makes or withdraws that request.
    pub(super) fn reserve(&self, is_wanted: bool) {
        if is_wanted {
            self.kind.fetch_or(RESERVED, Ordering::Relaxed);
        } else {
            self.kind.fetch_and(!RESERVED, Ordering::Relaxed);
        }
    }

    #[inline(always)]
    pub(super) fn take_if_free(&self) -> bool {
        if is_single_threaded() && self.word.load(Ordering::Relaxed) == 0 {
            self.word.store(1, Ordering::Relaxed);
            return true;
        }
        self.word.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// By the thread that has just got it.
    #[inline(always)]
    pub(super) fn taken(&self) {
        self.taken_by(thread());
    }

    /// By this thread, which has just got it.
    #[inline(always)]
    pub(super) fn taken_by(&self, thread: u32) {
        self.owner.store(thread, Ordering::Relaxed);
        self.users.store(self.users.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }

    /// Gives it up. If a thread may sleep for the word, calls `wake`, which must not touch the mutex, as its memory may
    /// be gone.
    #[inline(always)]
    pub(super) fn give_up_and(&self, wake: impl FnOnce(*const AtomicU32)) {
        self.owner.store(0, Ordering::Relaxed);
        self.users.store(self.users.load(Ordering::Relaxed).wrapping_sub(1), Ordering::Relaxed);
        if is_single_threaded() {
            self.word.store(0, Ordering::Relaxed);
        } else {
            let address = &raw const self.word;
            // Acquire, too: sees what the threads that marked it did, see `simple`.
            if self.word.swap(0, Ordering::AcqRel) > 1 {
                wake(address);
            }
        }
    }
}

// ---- what the C library reports -----------------------------------------------------------------------------------

static SEVERAL: AtomicU8 = AtomicU8::new(0);
/// Points to the C library's `__libc_single_threaded`; until it is found, or if there is none, to [`SEVERAL`]. Written
/// once; relaxed.
static SINGLE_THREADED: AtomicPtr<AtomicU8> = AtomicPtr::new((&raw const SEVERAL).cast_mut());

weak! { address_of_single_threaded = "__libc_single_threaded"; }

#[inline(always)]
fn is_single_threaded() -> bool {
    // SAFETY: a static of this file, or a variable of the C library, which is never unloaded; the C library writes it only
    // while there is one thread, or by that thread.
    unsafe { &*SINGLE_THREADED.load(Ordering::Relaxed) }.load(Ordering::Relaxed) != 0
}

/// Finds the C library's variable.
pub(super) fn find_what_it_tells() {
    let single = address_of_single_threaded();
    if single != 0 {
        SINGLE_THREADED.store(single as *mut AtomicU8, Ordering::Relaxed);
    }
}
