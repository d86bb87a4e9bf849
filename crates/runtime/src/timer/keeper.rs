//! The times of timers that this process keeps, and the protocol between threads that set them and the one that sleeps for them.
//!
//! ```text
//! word of a timer     IN_KERNEL ── adopted ──> a time ── set again: a store ──> a time | IDLE
//!                         ^                      │
//!                         │                   MOVING: one thread changes the kernel's timer; others look again
//!                         └── due: the kernel's timer is set to now, and the kernel sends the signal
//!                         └── an interval, exec, other rights: the kernel's timer is set to what is left
//!
//! program   stores a time ──> loads `until`: is it later? wakes the sleeper
//! sleeper   stores `until` ──> loads all times: is one earlier? does not sleep
//! ```
//!
//! Both stores come before both loads in one order (SeqCst): one of the two sees the other's store, so no time is slept through.
//!
//! Invariant: a timer is armed in the kernel or kept here, never both; only the thread that made its word MOVING touches the kernel's
//! timer meanwhile, with all signals blocked, so that no handler of it waits for itself. The page is wiped in a child by fork: zero is
//! the state of a process that keeps nothing.
//! Not here: the kernel's timers (the caller's functions), the thread (`sleeper`), the C functions (the parent).

use underbar_sys::planted;
use underbar_sys::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, Ordering};

/// The kernel has the timer, as in a program without us. Zero.
const IN_KERNEL: u64 = 0;
/// A thread moves it there or back.
const MOVING: u64 = 1;
/// It is kept, and not set.
const IDLE: u64 = 2;
/// The earliest time that a word can hold.
const FIRST: u64 = 3;

/// The bits of [`Keeper::until`] that are a number: about a microsecond, by which a timer may be late.
const NUMBERS: u64 = (1 << 10) - 1;

/// Timers that can be kept: the first is the process's own (`setitimer`, `alarm`).
pub(super) const PLACES: usize = if cfg!(loom) { 1 } else { 16 };
/// So many times a timer must be set while it is running, with no expiry between, before it is kept.
const ENOUGH: u32 = 8;

/// One timer.
pub(super) struct Place {
    /// Its state; else the time at which it is due, in nanoseconds of the monotonic clock.
    word: AtomicU64,
    /// The number of the kernel's timer and 1; 0: the place is free, or the first. Written by the threads that create and delete it.
    pub number: AtomicU32,
    /// Times that it was set in the kernel while it was running. Relaxed, like the next: a guess of what pays.
    streak: AtomicU32,
    /// The last setting in the kernel was no end.
    was_set: AtomicBool,
}

/// All timers.
#[cfg_attr(not(loom), repr(C, align(4096)))]
pub(super) struct Keeper {
    /// The timers.
    pub places: [Place; PLACES],
    /// The process whose timers these are; 0: a child by fork that keeps none yet. A child by vfork shares the page, and has another
    /// number.
    process: AtomicI32,
    /// The sleeper wakes at this time; 0: it is awake and will look at all timers. The lowest bits are a number instead, so that it is never the
    /// same twice in a short time.
    until: AtomicU64,
    /// How often it was stored. The sleeper's.
    naps: AtomicU64,
    /// Raised to wake the sleeper.
    pub generation: AtomicU32,
    /// The state of the sleeper: see `sleeper`.
    pub state: AtomicU32,
    /// The sleeper's number, as the kernel has it; 0: there is none.
    pub thread: AtomicU32,
}

impl Place {
    /// Sets a timer that is kept: to a time, or ends it (0). Returns the time for which it was set, 0 if it was not; None: it is not kept.
    pub fn set(&self, time: u64, wait: impl Fn()) -> Option<u64> {
        let new = if time == 0 { IDLE } else { time.max(FIRST) };
        loop {
            match self.word.load(Ordering::Relaxed) {
                IN_KERNEL => return None,
                MOVING => wait(),
                old => {
                    let set = self.word.compare_exchange(old, new, Ordering::SeqCst, Ordering::Relaxed);
                    if set.is_ok() {
                        return Some(if old == IDLE { 0 } else { old });
                    }
                }
            }
        }
    }

    /// The time for which a kept timer is set, 0 if it is not; None: it is not kept.
    pub fn get(&self, wait: impl Fn()) -> Option<u64> {
        loop {
            match self.word.load(Ordering::Relaxed) {
                IN_KERNEL => return None,
                MOVING => wait(),
                IDLE => return Some(0),
                time => return Some(time),
            }
        }
    }

    /// False: the kernel has it, and no thread moves it.
    pub fn may_be_kept(&self) -> bool {
        self.word.load(Ordering::Acquire) != IN_KERNEL
    }

    /// Judges a setting in the kernel: `left`: the timer was running before; `is_set`: it is now. True: it pays to keep it.
    pub fn pays(&self, left: bool, is_set: bool) -> bool {
        let relaxed = Ordering::Relaxed;
        let was_set = self.was_set.swap(is_set, relaxed);
        if was_set && !left {
            // It has expired.
            self.streak.store(0, relaxed);
        }
        if left {
            self.streak.fetch_add(1, relaxed);
        }
        is_set && self.streak.load(relaxed) >= ENOUGH
    }

    /// Keeps a timer from now on. `stop` ends the kernel's and returns whether it was running; then it is set for this time here.
    /// False: it is kept already, or is being moved. All signals of the calling thread are blocked.
    pub fn adopt(&self, time: u64, stop: impl FnOnce() -> bool) -> bool {
        if !self.moves_from(IN_KERNEL) {
            return false;
        }
        let new = if stop() { time.max(FIRST) } else { IDLE };
        self.word.store(new, Ordering::SeqCst);
        true
    }

    /// Gives a kept timer to the kernel: `start` gets the time for which it is set, or 0. Returns its result; None: it is not kept. All
    /// signals of the calling thread are blocked.
    pub fn give_up<R>(&self, start: impl FnOnce(u64) -> R, wait: impl Fn()) -> Option<R> {
        loop {
            let word = self.word.load(Ordering::Relaxed);
            match word {
                IN_KERNEL => return None,
                MOVING => wait(),
                _ if self.moves_from(word) => {
                    let result = start(if word == IDLE { 0 } else { word });
                    self.leave();
                    return Some(result);
                }
                _ => {}
            }
        }
    }

    fn moves_from(&self, word: u64) -> bool {
        self.word.compare_exchange(word, MOVING, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// By the thread that moves it: the kernel has it.
    fn leave(&self) {
        self.streak.store(0, Ordering::Relaxed);
        self.was_set.store(false, Ordering::Relaxed);
        self.word.store(IN_KERNEL, Ordering::Release);
    }

    /// A timer was created, or deleted: it begins in the kernel.
    pub fn forget(&self) {
        self.leave();
    }
}

impl Keeper {
    /// Whether these are the timers of that process, which is the caller's.
    pub fn is_of(&self, process: i32) -> bool {
        let taken = self.process.compare_exchange(0, process, Ordering::Relaxed, Ordering::Relaxed);
        taken.is_ok() || taken == Err(process)
    }

    /// After a timer was set for this time: must the sleeper be woken? Then what to tell [`Keeper::was_woken`].
    pub fn is_too_late(&self, time: u64) -> Option<u64> {
        in_one_order();
        let until = self.until.load(Ordering::SeqCst);
        (time != 0 && time < until).then_some(until)
    }

    /// The sleeper was woken, and will look at all timers: others need not wake it meanwhile, however long it takes to run. Not before the
    /// call that wakes it: a handler of a signal may never return to make that.
    pub fn was_woken(&self, until: u64) {
        if planted!(timer_taken_for_awake) {
            // Whatever the sleeper has done since.
            self.until.store(0, Ordering::SeqCst);
            return;
        }
        let _ = self.until.compare_exchange(until, 0, Ordering::SeqCst, Ordering::Relaxed);
    }

    /// By the sleeper: gives the timers that are due to the kernel, by `send`, with their times. Returns how many.
    pub fn send_due(&self, now: u64, mut send: impl FnMut(usize, u64)) -> u64 {
        let mut sent = 0;
        for (at, place) in self.places.iter().enumerate() {
            let time = place.word.load(Ordering::SeqCst);
            let takes = || {
                if planted!(timer_sent_twice) {
                    // Without a look whether the program has set it meanwhile.
                    place.word.store(MOVING, Ordering::SeqCst);
                    return true;
                }
                place.moves_from(time)
            };
            if time >= FIRST && time <= now && takes() {
                send(at, time);
                place.leave();
                sent += 1;
            }
        }
        sent
    }

    /// By the sleeper: until when it may sleep, `u64::MAX` for ever; None: a time came meanwhile, so that it has to look again.
    pub fn sleeps_until(&self) -> Option<u64> {
        let earliest = self.earliest();
        let nap = self.naps.load(Ordering::Relaxed).wrapping_add(1);
        self.naps.store(nap, Ordering::Relaxed);
        self.store_until(earliest & !NUMBERS | nap & NUMBERS, Ordering::SeqCst);
        in_one_order();
        if planted!(timer_slept_through) {
            return Some(earliest);
        }
        (self.earliest() >= earliest).then_some(earliest)
    }

    /// By the sleeper: it is awake.
    pub fn is_awake(&self) {
        self.store_until(0, Ordering::Relaxed);
    }

    #[inline(always)]
    fn store_until(&self, until: u64, ordering: Ordering) {
        #[cfg(not(loom))]
        self.until.store(until, ordering);
        // The model checker lets a store come before an exchange of the value that was there before it.
        #[cfg(loom)]
        self.until.swap(until, ordering);
    }

    fn earliest(&self) -> u64 {
        let times = self.places.iter().map(|place| place.word.load(Ordering::SeqCst));
        times.filter(|&word| word >= FIRST).min().unwrap_or(u64::MAX)
    }
}

/// The model checker takes accesses that are SeqCst for weaker ones, but not fences.
#[inline(always)]
fn in_one_order() {
    #[cfg(loom)]
    loom::sync::atomic::fence(Ordering::SeqCst);
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::boxed::Box;
    use std::vec::Vec;

    const US: u64 = 1_000;

    fn keeper() -> Box<Keeper> {
        // SAFETY: atomics, for which zero is a value.
        unsafe { Box::new(core::mem::zeroed()) }
    }

    fn nobody() {
        unreachable!("no other thread moves it")
    }

    #[test]
    fn a_timer_is_kept_after_it_was_set_again_often_enough() {
        let keeper = keeper();
        let place = &keeper.places[0];
        let mut judged = Vec::new();
        for set in 0..12 {
            judged.push(place.pays(set > 0, true));
        }
        assert_eq!(judged.iter().position(|&pays| pays), Some(ENOUGH as usize));
        // An expiry: it was set, and was not running when it was set again.
        assert!(!place.pays(false, true));
        // Timers that are ended in time pay, too: alarm(5), alarm(0), alarm(5) ...
        let place = &keeper.places[1];
        for _ in 0..ENOUGH {
            assert!(!place.pays(false, true));
            assert!(!place.pays(true, false));
        }
        assert!(place.pays(false, true));
    }

    #[test]
    fn what_is_set_is_what_is_due() {
        let keeper = keeper();
        let place = &keeper.places[3];
        assert_eq!((place.set(100, nobody), place.get(nobody)), (None, None));
        assert!(!place.may_be_kept());
        assert!(place.adopt(100 * US, || true) && place.may_be_kept());
        assert!(!place.adopt(7, || unreachable!("it is kept")));
        assert_eq!(place.get(nobody), Some(100 * US));
        assert_eq!(keeper.sleeps_until(), Some(100 * US));
        let until = keeper.is_too_late(99 * US).expect("too late");
        assert_eq!((keeper.is_too_late(102 * US), keeper.is_too_late(0)), (None, None));
        keeper.was_woken(until);
        assert_eq!(keeper.is_too_late(99 * US), None);
        // It has slept again meanwhile.
        assert_eq!(keeper.sleeps_until(), Some(100 * US));
        keeper.was_woken(until);
        assert!(keeper.is_too_late(99 * US).is_some());
        assert_eq!(place.set(200, nobody), Some(100 * US));
        assert_eq!(keeper.send_due(150, |_, _| unreachable!("set to a later time")), 0);
        assert_eq!(keeper.sleeps_until(), Some(200));
        assert_eq!(place.set(0, nobody), Some(200));
        assert_eq!((place.get(nobody), keeper.sleeps_until()), (Some(0), Some(u64::MAX)));
        assert_eq!(place.set(300, nobody), Some(0));
        let mut sent = Vec::new();
        assert_eq!(keeper.send_due(300, |at, time| sent.push((at, time))), 1);
        assert_eq!((sent, place.get(nobody)), (std::vec![(3, 300)], None));
    }

    #[test]
    fn a_timer_goes_back_with_what_is_left_of_it() {
        let keeper = keeper();
        let place = &keeper.places[0];
        assert_eq!(place.give_up(|_| unreachable!("the kernel has it"), nobody), None::<()>);
        assert!(place.adopt(50, || true));
        assert_eq!(place.give_up(|time| time, nobody), Some(50));
        // It had expired when it was adopted.
        assert!(place.adopt(60, || false));
        assert_eq!(place.give_up(|time| time, nobody), Some(0));
    }

    /// Threads set timers again and again, to times near and far, while another one sleeps for them as the sleeper does, by a clock
    /// of its own. No time that stays is slept through.
    #[test]
    fn no_time_is_slept_through() {
        use std::sync::atomic::AtomicUsize;
        const SETS: u64 = 20_000;
        let keeper: &Keeper = Box::leak(keeper());
        let done = AtomicUsize::new(0);
        for place in &keeper.places[..2] {
            assert!(place.adopt(u64::MAX, || true));
        }
        std::thread::scope(|scope| {
            for place in &keeper.places[..2] {
                let done = &done;
                scope.spawn(move || {
                    for set in 1..=SETS {
                        let time = FIRST + set % 7 * 2 * NUMBERS;
                        if place.set(time, std::thread::yield_now).is_none() {
                            assert!(place.adopt(time, || true));
                        }
                        if let Some(until) = keeper.is_too_late(time) {
                            keeper.generation.fetch_add(1, Ordering::SeqCst);
                            keeper.was_woken(until);
                        }
                    }
                    done.fetch_add(1, Ordering::SeqCst);
                });
            }
            // The clock stands still until the sleeper sleeps, then it is the time for which it sleeps.
            let mut now = 0;
            loop {
                let is_done = done.load(Ordering::SeqCst) == 2;
                let seen = keeper.generation.load(Ordering::SeqCst);
                keeper.send_due(now, |_, _| ());
                now = 0;
                let Some(until) = keeper.sleeps_until() else { continue };
                if is_done && until == u64::MAX {
                    break;
                }
                if until == u64::MAX {
                    // It would sleep for ever: whoever sets a time must wake it.
                    while keeper.generation.load(Ordering::SeqCst) == seen && done.load(Ordering::SeqCst) < 2
                    {
                        std::hint::spin_loop();
                    }
                } else {
                    now = until;
                }
                keeper.is_awake();
            }
        });
        assert!(keeper.places[..2].iter().all(|place| place.get(nobody).is_none_or(|time| time == 0)));
    }
}

#[cfg(all(test, loom))]
mod model {
    use super::*;
    use loom::sync::Arc;
    use loom::thread;
    use underbar_sys::planted::finds;

    /// Times far enough apart for the sleeper.
    const TIMES: [u64; 3] = [1 << 12, 2 << 12, 3 << 12];

    /// A keeper of one timer, which is kept and set for this time.
    fn kept(time: u64) -> Arc<Keeper> {
        let place = || Place {
            word: AtomicU64::new(time),
            number: AtomicU32::new(0),
            streak: AtomicU32::new(0),
            was_set: AtomicBool::new(true),
        };
        Arc::new(Keeper {
            places: core::array::from_fn(|_| place()),
            process: AtomicI32::new(1),
            until: AtomicU64::new(0),
            naps: AtomicU64::new(0),
            generation: AtomicU32::new(0),
            state: AtomicU32::new(0),
            thread: AtomicU32::new(0),
        })
    }

    /// The program sets the timer, as `At::set` does.
    fn sets(keeper: &Keeper, time: u64) -> Option<u64> {
        let old = keeper.places[0].set(time, thread::yield_now)?;
        if let Some(until) = keeper.is_too_late(time) {
            keeper.generation.fetch_add(1, Ordering::SeqCst);
            keeper.was_woken(until);
        }
        Some(old)
    }

    /// The sleeper goes round so often, awake at that time. Returns the generation and the end of its last sleep, if it sleeps.
    fn rounds(keeper: &Keeper, times: u32, now: u64, sent: &mut u64) -> Option<(u32, u64)> {
        let mut asleep = None;
        for _ in 0..times {
            keeper.is_awake();
            let seen = keeper.generation.load(Ordering::SeqCst);
            *sent += keeper.send_due(now, |_, _| ());
            asleep = keeper.sleeps_until().map(|until| (seen, until));
            // It sleeps on: nobody has woken it.
            if asleep.is_some() && keeper.generation.load(Ordering::SeqCst) == seen {
                break;
            }
        }
        asleep
    }

    fn check(faults: &[&str], check: impl Fn() + Send + Sync + 'static) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        finds(faults, || builder.check(check));
    }

    /// The program sets a timer to an earlier time, twice, while the sleeper goes to sleep: it is woken, or sleeps no longer than that.
    #[test]
    fn loom_no_time_is_slept_through() {
        check(&["timer_slept_through", "timer_taken_for_awake"], || {
            let keeper = kept(TIMES[2]);
            let program = {
                let keeper = keeper.clone();
                thread::spawn(move || {
                    sets(&keeper, TIMES[1]);
                    sets(&keeper, TIMES[0]);
                })
            };
            let asleep = rounds(&keeper, 3, 0, &mut 0);
            program.join().expect("done");
            if let Some((seen, until)) = asleep
                && keeper.generation.load(Ordering::SeqCst) == seen
            {
                assert!(until <= TIMES[0], "it sleeps through a time");
            }
        });
    }

    /// The program sets a timer that is due to a later time: it is sent, or set, and not both.
    #[test]
    fn loom_a_timer_is_sent_or_set() {
        check(&["timer_sent_twice"], || {
            let keeper = kept(TIMES[0]);
            let program = {
                let keeper = keeper.clone();
                thread::spawn(move || keeper.places[0].set(TIMES[2], thread::yield_now))
            };
            let sent = keeper.send_due(TIMES[0], |_, _| ());
            let set = program.join().expect("done");
            assert_eq!((sent == 1, set.is_some()), (set.is_none(), sent == 0), "{sent} {set:?}");
            let left = keeper.places[0].get(thread::yield_now);
            assert_eq!(left, set.map(|_| TIMES[2]));
        });
    }
}
