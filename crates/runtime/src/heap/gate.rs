//! A gate in front of something that can end: close waits for threads inside and turns later ones away.
//!
//! ```text
//! word   generation << 32 | number of threads inside
//!
//! enter(g)  +1 inside, if the generation is g                                     any thread
//! leave     -1 inside                                                             a thread inside
//! close     generation +1, then wait until no thread is inside                    the thread that ends it
//! close_of  the same for generation g, if it has not ended yet                    any thread: one of them ends it
//! try_close the same in one step, if no thread is inside
//! ```
//!
//! Both numbers are in one word, so either the closing thread sees a thread inside, or that thread sees the gate closed. A
//! generation never comes back: the gate alone tells that what it guarded has ended.
//!
//! Invariant: once `close` has returned, no thread is inside by an earlier generation, and none will be; the closing thread sees
//! everything that those inside did.
//! Not here: what the gate guards: a thread's heap for those who send it cells, a heap for threads that enter it.

use underbar_sys::planted;
use underbar_sys::sync::atomic::{AtomicUsize, Ordering};

const SHIFT: u32 = 32;
const INSIDE: usize = (1 << SHIFT) - 1;

/// The generation of a gate that never closes: threads need not enter.
pub const FOR_EVER: u32 = u32::MAX;

/// A gate.
pub struct Gate {
    word: AtomicUsize,
}

impl Gate {
    /// A gate that was never closed.
    #[cfg(not(loom))]
    pub const fn new() -> Self {
        Self { word: AtomicUsize::new(0) }
    }

    /// A gate that was never closed.
    #[cfg(loom)]
    pub fn new() -> Self {
        Self { word: AtomicUsize::new(0) }
    }

    /// A gate that never closes.
    #[cfg(not(loom))]
    pub const fn for_ever() -> Self {
        Self { word: AtomicUsize::new((FOR_EVER as usize) << SHIFT) }
    }

    /// The generation that can enter now. Relaxed: a thread that holds something behind the gate got it after this generation
    /// began.
    #[inline]
    pub fn generation(&self) -> u32 {
        (self.word.load(Ordering::Relaxed) >> SHIFT) as u32
    }

    /// Goes in. False if that generation has ended.
    #[must_use]
    pub fn enter(&self, generation: u32) -> bool {
        if planted!(late_pin) {
            let is_open = self.generation() == generation;
            if is_open {
                self.word.fetch_add(1, Ordering::Acquire);
            }
            return is_open;
        }
        let mut old = self.word.load(Ordering::Relaxed);
        while (old >> SHIFT) as u32 == generation {
            match self.word.compare_exchange_weak(old, old + 1, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(now) => old = now,
            }
        }
        false
    }

    /// Goes out. In a forked child the gate may count no thread inside: then nothing changes.
    pub fn leave(&self) {
        let mut old = self.word.load(Ordering::Relaxed);
        while old & INSIDE != 0 {
            match self.word.compare_exchange_weak(old, old - 1, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => old = now,
            }
        }
    }

    /// Ends the generation, and waits for those inside. Only one thread at a time may call this.
    pub fn close(&self) {
        self.close_of(self.generation());
    }

    /// Ends that generation, and waits for those inside: threads that come later are turned away, so the wait is as long as the
    /// longest stay. False if the generation has ended before.
    pub fn close_of(&self, generation: u32) -> bool {
        let next = after(generation);
        let mut old = self.word.load(Ordering::Relaxed);
        while (old >> SHIFT) as u32 == generation {
            match self.word.compare_exchange_weak(
                old,
                next | old & INSIDE,
                Ordering::Acquire,
                Ordering::Relaxed,
            ) {
                Ok(_) => {
                    while !planted!(unpinned_close) && self.word.load(Ordering::Acquire) & INSIDE != 0 {
                        pause();
                    }
                    return true;
                }
                Err(now) => old = now,
            }
        }
        false
    }

    /// How many threads are inside in that generation; 0 if it has ended.
    #[cfg(not(loom))]
    pub fn inside(&self, generation: u32) -> usize {
        let word = self.word.load(Ordering::Acquire);
        if (word >> SHIFT) as u32 == generation { word & INSIDE } else { 0 }
    }

    /// Ends a generation if no thread is inside; else returns how many are. None if that generation has ended before.
    pub fn try_close(&self, generation: u32) -> Result<(), Option<usize>> {
        let open = (generation as usize) << SHIFT;
        match self.word.compare_exchange(open, after(generation), Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => Ok(()),
            Err(now) if (now >> SHIFT) as u32 == generation => Err(Some(now & INSIDE)),
            Err(_) => Err(None),
        }
    }

    /// Sets how many threads are inside, whatever the gate holds: for a forked child, where one thread is left.
    pub fn set_inside(&self, count: u32) {
        let word = self.word.load(Ordering::Relaxed) & !INSIDE | count as usize;
        self.word.store(word, Ordering::Relaxed);
    }
}

/// The word of the next generation, with no thread inside. It is never that of a gate that never closes.
fn after(generation: u32) -> usize {
    let next = generation.wrapping_add(1);
    (if next == FOR_EVER { 0 } else { next } as usize) << SHIFT
}

/// Lets the threads inside run.
fn pause() {
    #[cfg(loom)]
    loom::thread::yield_now();
    #[cfg(not(loom))]
    underbar_sys::syscall::sched_yield();
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_generation_ends_once_and_for_ever() {
        let gate = Gate::new();
        assert!(gate.enter(0) && gate.enter(0) && !gate.enter(1));
        assert_eq!(gate.try_close(0), Err(Some(2)));
        gate.leave();
        gate.leave();
        assert_eq!(gate.try_close(1), Err(None));
        assert_eq!(gate.try_close(0), Ok(()));
        assert_eq!(gate.try_close(0), Err(None));
        assert!(!gate.enter(0) && gate.enter(1));
        gate.set_inside(0);
        gate.leave();
        assert_eq!(gate.generation(), 1, "out without in changes nothing");
        gate.close();
        assert!(!gate.enter(1) && gate.enter(2));
        gate.leave();
        assert!(!gate.close_of(1) && gate.close_of(2) && !gate.close_of(2));
    }

    #[test]
    fn no_generation_becomes_that_of_what_never_ends() {
        let gate = Gate { word: AtomicUsize::new((FOR_EVER as usize - 1) << SHIFT) };
        gate.close();
        assert_eq!(gate.generation(), 0);
        assert_eq!(Gate::for_ever().generation(), FOR_EVER);
    }
}

/// The model: every interleaving of two threads that go in and one that closes. It must find the planted faults `unpinned_close`
/// (close does not wait) and `late_pin` (checks first, and counts then).
#[cfg(all(test, loom))]
mod model {
    use super::super::cell::Cell;
    use super::super::inbox::Inbox;
    use super::*;
    use core::ptr::null_mut;
    use loom::sync::Arc;
    use loom::thread;
    use underbar_sys::planted::finds;
    use underbar_sys::sync::Plain;

    struct Guarded {
        gate: Gate,
        /// Storage that the two threads may touch while they are inside; it is gone afterwards.
        storage: [Plain<u32>; 2],
    }

    // SAFETY: each part of the storage is touched by one thread inside, or by the closing thread; loom checks it.
    unsafe impl Send for Guarded {}
    // SAFETY: as above.
    unsafe impl Sync for Guarded {}

    /// Checks it; one of `faults` must be found if it is planted.
    fn model(faults: &[&str], check: impl Fn() + Send + Sync + 'static) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        finds(faults, || builder.check(check));
    }

    fn senders(guarded: &Arc<Guarded>) -> [thread::JoinHandle<bool>; 2] {
        std::array::from_fn(|which| sender(guarded, which))
    }

    fn sender(guarded: &Arc<Guarded>, which: usize) -> thread::JoinHandle<bool> {
        let guarded = guarded.clone();
        thread::spawn(move || {
            let is_in = guarded.gate.enter(0);
            if is_in {
                // SAFETY: this thread is inside.
                unsafe { guarded.storage[which].set(1) };
                guarded.gate.leave();
            }
            is_in
        })
    }

    fn new_guarded() -> Arc<Guarded> {
        Arc::new(Guarded { gate: Gate::new(), storage: [Plain::new(0), Plain::new(0)] })
    }

    /// The end takes the storage back.
    fn take_back(guarded: &Guarded) -> [bool; 2] {
        std::array::from_fn(|which| {
            // SAFETY: nobody is inside.
            unsafe {
                let was_used = guarded.storage[which].get() == 1;
                guarded.storage[which].set(2);
                was_used
            }
        })
    }

    /// A heap ends while two threads send it cells.
    #[test]
    fn loom_nobody_is_inside_what_was_closed() {
        model(&["unpinned_close", "late_pin"], || {
            let guarded = new_guarded();
            let senders = senders(&guarded);
            guarded.gate.close();
            let used = take_back(&guarded);
            let were_in = senders.map(|sender| sender.join().expect("a sender"));
            assert_eq!(used, were_in, "what those inside did is seen, and nobody came later");
            assert!(!guarded.gate.enter(0) && guarded.gate.enter(1));
        });
    }

    /// A thread's heap ends while two threads send cells to its inbox. Each cell has arrived, or was dropped, and none is touched
    /// after its storage is gone.
    #[test]
    fn loom_a_cell_comes_before_the_end_or_is_dropped() {
        struct Target {
            gate: Gate,
            inbox: Inbox,
            cells: [Cell; 2],
        }
        model(&["unpinned_close", "late_pin"], || {
            let cells = std::array::from_fn(|_| Cell { next: Plain::new(null_mut()) });
            let target = Arc::new(Target { gate: Gate::new(), inbox: Inbox::new(), cells });
            let cell_of = |target: &Target, which: usize| (&raw const target.cells[which]).cast_mut();
            let senders: [_; 2] = std::array::from_fn(|which| {
                let target = target.clone();
                thread::spawn(move || {
                    let is_in = target.gate.enter(0);
                    if is_in {
                        let cell = cell_of(&target, which);
                        // SAFETY: the cell is this thread's, and the storage is there as it is inside.
                        assert!(unsafe { target.inbox.push(cell, cell) });
                        target.gate.leave();
                    }
                    is_in
                })
            });
            target.gate.close();
            let (mut cell, mut come) = (target.inbox.leave(), [false; 2]);
            while !cell.is_null() {
                come = std::array::from_fn(|which| come[which] || cell == cell_of(&target, which));
                // SAFETY: cells that have arrived are ours.
                cell = unsafe { (*cell).next.get() };
            }
            // SAFETY: nobody is inside: all of the storage is ours, as if it were unmapped.
            target.cells.iter().for_each(|cell| unsafe { cell.next.set(null_mut()) });
            assert_eq!(come, senders.map(|sender| sender.join().expect("a sender")));
            assert!(target.inbox.take_unattended().is_null(), "a cell came later");
        });
    }

    /// A heap is discarded by two threads, while another gets from it: one of them ends it, and finds nobody inside.
    #[test]
    fn loom_one_of_two_threads_ends_a_generation() {
        model(&["unpinned_close", "late_pin"], || {
            let guarded = new_guarded();
            let sender = sender(&guarded, 0);
            let other = {
                let guarded = guarded.clone();
                thread::spawn(move || guarded.gate.close_of(0).then(|| take_back(&guarded)[0]))
            };
            let mine = guarded.gate.close_of(0).then(|| take_back(&guarded)[0]);
            let theirs = other.join().expect("a thread");
            let was_in = sender.join().expect("a sender");
            assert_eq!(mine.is_some(), theirs.is_none(), "one of them ended it");
            assert_eq!(mine.or(theirs), Some(was_in), "what was done inside is seen");
        });
    }

    /// A heap ends when no thread is inside, while two threads enter and leave it.
    #[test]
    fn loom_what_is_closed_in_one_step_is_empty() {
        model(&["late_pin"], || {
            let guarded = new_guarded();
            let senders = senders(&guarded);
            let closed = guarded.gate.try_close(0);
            if closed.is_ok() {
                take_back(&guarded);
            }
            let were_in = senders.map(|sender| sender.join().expect("a sender"));
            assert!(closed.is_ok() || were_in != [false; 2], "somebody was inside");
            assert_eq!(guarded.gate.enter(0), closed.is_err());
        });
    }
}
