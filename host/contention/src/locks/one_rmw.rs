//! An experiment: a lock with one read-modify-write for each pair of lock and unlock. It unlocks by a plain store.
//!
//! ```text
//! lock     0 -> HELD by compare-and-swap            else  swap(AWAITED); was it HELD: membarrier; sleep while AWAITED
//! unlock   [ load: HELD? | store 0 ]  restartable   else  swap(0); was it AWAITED: wake one
//!                ^ ---- race ---- ^
//! ```
//!
//! **The race.** The holder loads HELD; a waiter swaps AWAITED in and is about to sleep; the holder's store overwrites that,
//! and no thread wakes the waiter. Two things prevent that:
//!
//! 1. The load and the store are a restartable sequence of the kernel's (rseq). A thread that is interrupted between the
//!    two, because its processor is taken away, by a signal, or by (2), begins again at the load. The store is the
//!    sequence's last instruction: either it is done and the lock released, or nothing is.
//! 2. A waiter that turned HELD into AWAITED calls membarrier(PRIVATE_EXPEDITED_RSEQ) before it sleeps. Each processor
//!    that runs a thread of this process is interrupted: its sequence restarts, or it was over, and then its store
//!    is visible. Threads that do not run were interrupted before. So afterwards either the mark was overwritten, the
//!    word is no longer AWAITED, and the futex call, which compares it, returns at once; or the mark is still there, and the
//!    holder, who can only be before its load, sees it. That comparison is the second test; no further one is needed.
//!
//! **Relying on another's mark.** A thread that swaps and finds AWAITED sleeps without a membarrier: the thread that marked the
//! word first is awake until the mark is certain. If the mark was overwritten, that thread sets it again, or takes the lock
//! *with* it, and wakes the next one when it unlocks. The next one is either the last to have turned HELD into AWAITED, or
//! relies on the one that was. A mark that was set by taking the lock cannot be overwritten: only the holder stores, and it sees
//! its own mark.
//!
//! **Ends.** After the store nothing of the lock is accessed. Only one thread can be between its load and its store: the
//! holder. If the kernel or the C library has no such sequences, all unlock by swapping and no thread calls membarrier;
//! threads that swap may run next to others that store. If membarrier fails later on (a child after fork registers again),
//! a waiter does not sleep: it yields, and tests again. Not between processes, and not for threads that the C library did
//! not make.
//!
//! It waits as std does (100 tries, then the kernel); it differs from std in the unlock and its cost.
//!
//! `unsafe` is needed for the sequence's assembly. Not here: all orders of events (`one_rmw_model`).

use crate::Figures;
use crate::histogram::Histogram;
use crate::lock::Lock;
use rustix::thread::{CpuSet, MembarrierCommand, membarrier, sched_getaffinity, sched_setaffinity};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Barrier, OnceLock};
use std::time::Instant;
use underbar_sys::syscall;

const FREE: u32 = 0;
const HELD: u32 = 1;
/// Held, and a thread may sleep.
const AWAITED: u32 = 2;

/// The number of tries before a waiter sleeps: as in std's mutex.
const LOOKS: u32 = 100;

/// See the head of this file.
pub struct OneRmw {
    word: AtomicU32,
    /// The offset of each thread's area for sequences from the thread pointer; 0: there is none, and no thread stores.
    /// In the lock, though it is the same for all: in the cache line that is needed anyway.
    area: isize,
}

impl Lock for OneRmw {
    fn new() -> Self {
        Self { word: AtomicU32::new(FREE), area: sequences::area() }
    }

    #[inline]
    fn with<R>(&self, work: impl FnOnce() -> R) -> R {
        self.take();
        let result = work();
        self.give_up();
        result
    }
}

impl OneRmw {
    #[inline]
    fn take(&self) {
        if self.word.compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed).is_err() {
            self.take_from_others();
        }
    }

    #[inline]
    fn give_up(&self) {
        if self.area != 0 {
            // SAFETY: the area is what `sequences::area` gave, and not 0; the word stays, as this thread holds the lock.
            let is_given_up = unsafe { sequences::store_if_held(&self.word, self.area) };
            if is_given_up {
                return;
            }
        }
        self.give_up_by_swap();
    }

    #[inline]
    fn give_up_by_swap(&self) {
        let address = &raw const self.word;
        if self.word.swap(FREE, Ordering::Release) == AWAITED {
            wake(address);
        }
    }

    #[cold]
    #[inline(never)]
    fn take_from_others(&self) {
        let mut seen = self.look();
        if seen == FREE {
            match self.word.compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => seen = now,
            }
        }
        self.mark_and_sleep(seen);
    }

    /// Takes it, with the mark, for a thread that may have to sleep. `seen`: the last value of the word.
    fn mark_and_sleep(&self, mut seen: u32) {
        loop {
            if seen != AWAITED {
                match self.word.swap(AWAITED, Ordering::Acquire) {
                    // Taken with the mark: others may sleep.
                    FREE => return,
                    HELD if self.area != 0 && !restart_all() => return self.take_awake(),
                    _ => {}
                }
            }
            // The futex call may return without a reason; then test again.
            let _ = syscall::futex_wait(&self.word, AWAITED, None);
            seen = self.look();
        }
    }

    /// For a waiter that cannot make sure of its mark: it is awake until it has the lock, with the mark.
    fn take_awake(&self) {
        while self.word.swap(AWAITED, Ordering::Acquire) != FREE {
            std::thread::yield_now();
        }
    }

    /// Tests while the lock is held and no thread sleeps.
    fn look(&self) -> u32 {
        let mut left = LOOKS;
        loop {
            let seen = self.word.load(Ordering::Relaxed);
            if seen != HELD || left == 0 {
                return seen;
            }
            std::hint::spin_loop();
            left -= 1;
        }
    }
}

/// Wakes one. Only the address is used: the memory may be gone.
#[cold]
fn wake(address: *const AtomicU32) {
    let _ = syscall::futex_wake_at(address, 1, u32::MAX);
}

/// Every sequence of another thread begins again, and its stores are visible. False: not possible.
fn restart_all() -> bool {
    let restart = || membarrier(MembarrierCommand::PrivateExpeditedRseq).is_ok();
    restart() || (is_registered() && restart())
}

fn is_registered() -> bool {
    membarrier(MembarrierCommand::RegisterPrivateExpeditedRseq).is_ok()
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod sequences {
    use super::{FREE, HELD, OnceLock, is_registered};
    use std::sync::atomic::AtomicU32;

    /// The word before the restart address of an interrupted sequence: the C library's choice.
    const SIGNATURE: u32 = 0x5305_3053;

    /// Offset of this process's areas from the thread pointer; 0 if it has none, or no membarrier for them.
    pub fn area() -> isize {
        static AREA: OnceLock<isize> = OnceLock::new();
        *AREA.get_or_init(|| find().filter(|_| is_registered()).unwrap_or(0))
    }

    /// The C library registers an area for every thread, or (an old kernel, a tunable) for none: then its size is 0.
    fn find() -> Option<isize> {
        // SAFETY: names that end in 0; what is found is a constant of the C library's, of the type that it documents.
        unsafe {
            let size = libc::dlsym(libc::RTLD_DEFAULT, c"__rseq_size".as_ptr()).cast::<u32>();
            let offset = libc::dlsym(libc::RTLD_DEFAULT, c"__rseq_offset".as_ptr()).cast::<isize>();
            if size.is_null() || offset.is_null() || *size < 16 {
                return None;
            }
            Some(*offset).filter(|offset| *offset != 0)
        }
    }

    /// Stores FREE over HELD, as one restartable sequence. False, without effect, if there is any other value.
    ///
    /// The first instruction announces the sequence to the kernel, by writing the address of its description (start, length,
    /// restart address) into the thread's area; from there to the store it restarts. The kernel clears the
    /// address when it interrupts, so it is written anew each time. A plain store is a release on this processor.
    ///
    /// # Safety
    /// `area` is the result of [`area`], and not 0; the C library made this thread. No other thread stores into the word without
    /// a read-modify-write, and it stays in place up to the store.
    #[inline(always)]
    pub unsafe fn store_if_held(word: &AtomicU32, area: isize) -> bool {
        // By the caller's promise `area` is the distance of this thread's registered area, whose field at 8 the thread may
        // write, and the word is there up to the store.
        // SAFETY: as above; where the sequence goes on has the signature before it, and finds its registers unchanged.
        unsafe {
            core::arch::asm!(
                ".pushsection __rseq_cs, \"aw\", @progbits",
                ".balign 32",
                "2:",
                ".long 0, 0",
                ".quad 4f, 5f - 4f, 6f",
                ".popsection",
                "3:",
                "lea {description}, [rip + 2b]",
                "mov qword ptr fs:[{area} + 8], {description}",
                "4:",
                "cmp dword ptr [{word}], {held}",
                "jne {other}",
                "mov dword ptr [{word}], {free}",
                "5:",
                ".pushsection .text.rseq_restart, \"ax\", @progbits",
                // An instruction that is never executed, of which the signature is a part.
                ".byte 0x0f, 0xb9, 0x3d",
                ".long {signature}",
                "6:",
                "jmp 3b",
                ".popsection",
                description = out(reg) _,
                area = in(reg) area,
                word = in(reg) word.as_ptr(),
                held = const HELD,
                free = const FREE,
                signature = const SIGNATURE,
                other = label { return false },
                options(nostack),
            );
        }
        true
    }
}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
mod sequences {
    use std::sync::atomic::AtomicU32;

    /// None here.
    pub fn area() -> isize {
        0
    }

    /// Never does anything.
    ///
    /// # Safety
    /// As for the other one: its callers promise the same.
    pub unsafe fn store_if_held(_: &AtomicU32, _: isize) -> bool {
        false
    }
}

/// The cost of a waiter's membarrier while a given number of other threads of the process want to run, each on its own
/// processor as long as there are enough: medians of single calls, separate for those during which another thread ran and had
/// to be interrupted. `possible` is 0 if there is none.
#[must_use]
pub fn price(others: usize) -> Figures {
    const CALLS: u64 = 20_000;
    let is_possible = sequences::area() != 0;
    let (stop, ready, steps) = (AtomicBool::new(false), Barrier::new(others + 1), AtomicU64::new(0));
    let (mut alone, mut met) = (Histogram::default(), Histogram::default());
    std::thread::scope(|scope| {
        let (stop, ready, steps) = (&stop, &ready, &steps);
        for which in 0..others {
            scope.spawn(move || {
                stay_on(which + 1);
                ready.wait();
                while !stop.load(Ordering::Relaxed) {
                    steps.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        stay_on(0);
        ready.wait();
        for _ in 0..CALLS {
            let (before, began) = (steps.load(Ordering::Relaxed), Instant::now());
            let is_done = restart_all();
            let took = began.elapsed().as_nanos() as u64;
            assert!(is_done || !is_possible, "what is registered works");
            let calls = if steps.load(Ordering::Relaxed) == before { &mut alone } else { &mut met };
            calls.add(took);
        }
        stop.store(true, Ordering::Relaxed);
    });
    Figures::default()
        .with("possible", u64::from(is_possible))
        .with("alone", alone.number())
        .with("alone_p50_ns", alone.quantile(500_000))
        .with("met", met.number())
        .with("met_p50_ns", met.quantile(500_000))
}

/// The calling thread runs on one of the processors that it may use, counted from 0, modulo their number.
/// If that is refused, on any.
fn stay_on(which: usize) {
    let Ok(usable) = sched_getaffinity(None) else { return };
    let all: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|cpu| usable.is_set(*cpu)).collect();
    let mut one = CpuSet::new();
    one.set(all[which % all.len()]);
    let _ = sched_setaffinity(None, &one);
}

#[cfg(test)]
#[path = "one_rmw_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "one_rmw_model.rs"]
mod model;

#[cfg(all(test, target_arch = "x86_64", not(miri)))]
#[path = "one_rmw_steps.rs"]
mod steps;
