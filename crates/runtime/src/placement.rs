//! Class placement (ZIIP(ELIGIBLE(...),CPUS(list))): threads of eligible components run on the processors of a class.
//!
//! ```text
//! pthread_create(start) ─> the new thread: is `start` in an eligible component? ─ yes ─> its affinity is the class ─> start
//!                                                                               └ no ──> as plain; what it inherited of a placed
//!                                                                                        thread is undone
//! ```
//!
//! Invariant: a thread is placed before any code of the program runs in it, and never moved afterwards. If the kernel refuses, it runs as
//! plain, and is counted.
//! Cost: off, a load for each thread; on, one or two system calls for each.
//! Limits: a pool's threads begin in the pool's component, whatever they run; the first thread is never placed; threads that end count,
//! and those that are alive at the end, of which 64 at a time are known.
//! Not here: which components (`eligible`), the hook (`stack`).

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use underbar_ledger::Key;
use underbar_sys::syscall::{
    CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID, affinity, clock_nanoseconds, clock_of_thread, gettid,
    set_affinity,
};

use crate::coverage::{module_around, module_name};
use crate::orders::Orders;
use crate::{eligible, ledger, sandbox};

/// Words of a set of processors.
const WORDS: usize = 16;

/// Whether threads are placed. Written once, before the program begins, after the sets; relaxed, as threads come later.
static IS_ON: AtomicBool = AtomicBool::new(false);
/// The processors of the class, and those of the process before. Written once likewise.
static CLASS: [AtomicU64; WORDS] = [const { AtomicU64::new(0) }; WORDS];
static PLAIN: [AtomicU64; WORDS] = [const { AtomicU64::new(0) }; WORDS];
/// Placed threads that are alive; 0: free. A thread takes a place by compare-and-swap and frees it; relaxed, since only the number counts.
static ALIVE: [AtomicU32; 64] = [const { AtomicU32::new(0) }; 64];
/// CPU time of placed threads that have ended. They add; relaxed.
static ENDED: AtomicU64 = AtomicU64::new(0);

/// Obeys ZIIP(CPUS(list)).
pub(crate) fn configure(orders: &Orders<'_>) {
    let class = set_of(orders.settings.class_processors());
    if class == [0; WORDS] || !eligible::configure(orders) {
        return;
    }
    let mut plain = [0; WORDS];
    if affinity(&mut plain).is_err() {
        return;
    }
    store(&CLASS, class);
    store(&PLAIN, plain);
    IS_ON.store(true, Ordering::Relaxed);
}

fn store(set: &[AtomicU64; WORDS], words: [u64; WORDS]) {
    set.iter().zip(words).for_each(|(to, word)| to.store(word, Ordering::Relaxed));
}

fn load(set: &[AtomicU64; WORDS]) -> [u64; WORDS] {
    core::array::from_fn(|at| set[at].load(Ordering::Relaxed))
}

/// The set of a list as `0,2-5`.
fn set_of(list: &[u8]) -> [u64; WORDS] {
    let mut set = [0; WORDS];
    let number = |text: &[u8]| core::str::from_utf8(text).ok()?.parse::<usize>().ok();
    for part in list.split(|&byte| byte == b',') {
        let mut ends = part.splitn(2, |&byte| byte == b'-');
        let Some(first) = ends.next().and_then(number) else { continue };
        let last = ends.next().map_or(Some(first), number).unwrap_or(first);
        for processor in first..=last.min(WORDS * 64 - 1) {
            set[processor / 64] |= 1 << (processor % 64);
        }
    }
    set
}

/// The calling thread begins with this function. Returns whether it was placed.
pub(crate) fn thread_begins(start: usize) -> bool {
    IS_ON.load(Ordering::Relaxed) && place(start)
}

#[cold]
fn place(start: usize) -> bool {
    if sandbox::is_closed() {
        return false;
    }
    let module = module_around(start).map(|(module, ..)| module);
    let is_of_class = module.is_some_and(|module| eligible::is_eligible(module_name(module, &mut [0; 32])));
    if !is_of_class {
        let mut now = [0; WORDS];
        if affinity(&mut now).is_ok() && now == load(&CLASS) {
            let _ = set_affinity(&load(&PLAIN));
        }
        return false;
    }
    if set_affinity(&load(&CLASS)).is_err() {
        ledger::add(Key::ClassRefused, 1);
        return false;
    }
    ledger::add(Key::ClassThreads, 1);
    let me = gettid() as u32;
    let take =
        |place: &AtomicU32| place.compare_exchange(0, me, Ordering::Relaxed, Ordering::Relaxed).is_ok();
    let _ = ALIVE.iter().any(take);
    true
}

/// The calling thread, which was placed, ends.
pub(crate) fn thread_ends() {
    ENDED.fetch_add(clock_nanoseconds(CLOCK_THREAD_CPUTIME_ID), Ordering::Relaxed);
    let me = gettid() as u32;
    for place in &ALIVE {
        let _ = place.compare_exchange(me, 0, Ordering::Relaxed, Ordering::Relaxed);
    }
}

/// Looks at the CPU time of both classes.
pub(crate) fn look() {
    if !IS_ON.load(Ordering::Relaxed) || sandbox::is_closed() {
        return;
    }
    let alive = ALIVE.iter().map(|place| place.load(Ordering::Relaxed)).filter(|thread| *thread != 0);
    let of_alive = alive.map(|thread| clock_nanoseconds(clock_of_thread(thread)));
    let class = of_alive.fold(ENDED.load(Ordering::Relaxed), u64::saturating_add);
    ledger::set(Key::ClassTime, class);
    ledger::set(Key::ClassOtherTime, clock_nanoseconds(CLOCK_PROCESS_CPUTIME_ID).saturating_sub(class));
}

/// In a child by fork there are no placed threads but, maybe, the one that forked, which runs on.
pub(crate) fn after_fork_in_child() {
    ALIVE.iter().for_each(|place| place.store(0, Ordering::Relaxed));
    ENDED.store(0, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sets_of_processors() {
        assert_eq!(set_of(b"0,2-5")[0], 0b11_1101);
        assert_eq!((set_of(b"64")[1], set_of(b"1023")[15]), (1, 1 << 63));
        assert_eq!(set_of(b"1022-4000")[15], 3 << 62);
        assert_eq!([&b""[..], b"x", b"9999", b"5-2"].map(set_of), [[0; WORDS]; 4]);
    }

    #[test]
    fn without_the_option_nothing_is_placed() {
        assert!(!thread_begins(thread_begins as fn(usize) -> bool as usize));
    }
}
