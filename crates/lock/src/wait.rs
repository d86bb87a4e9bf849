//! Waiting for a lock: looking, sleeping, being the next.
//!
//! ```text
//! look ──not long enough──> sleep ──woken──> look again
//!                             │ one thread keeps the lock busy
//!                             └──> next: sleep by the clock, reserve it, take it, wake the thread that is next then
//! ```
//!
//! Invariant: a sleeper has left W in the word, or sleeps by the clock, or came before a thread that is next.
//! Not here: the bits of the word (`raw`), how long to look (`spin`), when there are turns (`turn`).

use core::sync::atomic::Ordering;

use underbar_sys::planted;
use underbar_sys::sync::atomic::AtomicU32;

use crate::futex::{Room, sleep_until, wake};
use crate::observer::{Waited, observer};
#[cfg(loom)]
use crate::places::turn::Known;
use crate::places::turn::{ASIDE_NS, Sight, TURN_NS, looks_again_at};
use crate::places::{self, Place};
use crate::processor::{self, PROCESSOR, THREAD};
use crate::raw::{L, RESERVED_IN_VAIN, S, W, Word};
use crate::spin::{self, Looker};

/// A thread that waits for longer than this has the lock reserved, in nanoseconds.
const STARVED_NS: u64 = 1_000_000;
/// A lock that is free, but reserved for a thread that has not come for so long, is free for all, in nanoseconds.
const LOST_NS: u64 = 20_000_000;
/// In a hint: somebody wants to know, so the next holder says it.
const ASKED: u32 = 1 << 30;
/// In a hint: a thread has seen that the holder does not run.
const OFF: u32 = 1 << 31;

impl Word {
    /// Waits until this thread has the lock, or until the deadline (none: 0): then false.
    #[cold]
    #[inline(never)]
    pub(crate) fn wait(&self, hint: Option<&AtomicU32>, deadline: u64, small: u32, caller: usize) -> bool {
        let address = &raw const self.state as usize;
        let began = processor::now();
        let mut what = Waited { small, ..Waited::default() };
        let place = places::place(address);
        // If one thread keeps it busy, looking would occupy a processor to do what that thread does alone.
        let mut got = !self.turn().is_busy() && self.look(place, hint, false, &mut what.spin_ns);
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

    /// Looks for a while, reading only; true if it got the lock. A thread for which it is `reserved` may have it even then.
    fn look(&self, place: &'static Place, hint: Option<&AtomicU32>, reserved: bool, spent: &mut u64) -> bool {
        let Some(mut looker) = Looker::begin(place) else { return false };
        let began = processor::now();
        let this = processor::this();
        let mut last_holder = 0;
        let got = loop {
            let seen = self.state.load(Ordering::Relaxed);
            if seen & L == 0 && (seen & S == 0 || reserved) {
                if last_holder != 0 && !reserved && self.turn().is_to_watch() {
                    spin::stays(&self.state, seen, spin::WATCH_NS);
                    let sight = self.sight(hint, last_holder);
                    self.turn().saw(if sight == Sight::Kept { Sight::Watched } else { sight });
                    if sight != Sight::Free {
                        continue;
                    }
                }
                let new = if reserved { L | W } else { seen | L };
                if self.state.compare_exchange(seen, new, Ordering::Acquire, Ordering::Relaxed).is_ok() {
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
                if (holder ^ this) & PROCESSOR == 0 && seen & L != 0 {
                    // It took the lock on this processor, on which this thread runs, so it does not run. Tells other lookers.
                    let _ = hint.compare_exchange(holder, holder | OFF, Ordering::Relaxed, Ordering::Relaxed);
                    break false;
                }
                // A thread that has to wake another comes back later than it would otherwise.
                last_holder = if seen & (W | S) == 0 { holder & !ASKED } else { 0 };
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
        place: &'static Place,
        hint: Option<&AtomicU32>,
        began: u64,
        deadline: u64,
        what: &mut Waited,
    ) -> bool {
        let (address, turn) = (&raw const self.state as usize, self.turn());
        let (mut is_starver, mut was_woken, mut was_next, mut stood_aside) = (false, false, false, false);
        // Woken for a turn that another thread had taken: later threads are not to be woken before this one.
        #[cfg(not(loom))]
        let mut is_first = false;
        #[cfg(loom)]
        let mut is_first = turn.known == Known::TurnsTaken;
        loop {
            let seen = self.state.load(Ordering::Relaxed);
            #[cfg(loom)]
            assert!(!is_starver || seen & S != 0, "what was reserved is reserved still");
            // The reservation may have been taken back, see `take_reservation_back`.
            is_starver &= seen & S != 0;
            if seen & L == 0 && (seen & S == 0 || is_starver) {
                if turn.is_busy() && !was_next && !is_starver {
                    // Its holder may be about to come back; if it has to wake this thread, it comes later.
                    if !spin::stays(
                        &self.state,
                        seen,
                        if was_woken { spin::SLEEP_NS } else { spin::WATCH_NS },
                    ) {
                        continue;
                    }
                    turn.saw(self.sight(hint, 0));
                }
                let others_sleep = if planted!(forgotten_sleeper) { 0 } else { W };
                let new = if is_starver { L } else { seen | L } | others_sleep;
                if self.state.compare_exchange(seen, new, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                    break;
                }
                continue;
            }
            if was_woken {
                turn.saw(self.sight(hint, turn.given_up_by.load(Ordering::Relaxed)));
            }
            if deadline == 0 && !was_next && turn.is_busy() && turn.is_mine(address, was_woken) {
                self.sleep_for_a_turn(hint);
                what.parked += 1;
                was_next = true;
                was_woken = false;
                continue;
            }
            if deadline == 0 && !was_next && !was_woken && !stood_aside && turn.is_called(address) {
                sleep_until(processor::now() + ASIDE_NS);
                what.parked += 1;
                stood_aside = true;
                continue;
            }
            if was_woken {
                turn.calls_nobody(address);
                is_first |= turn.is_busy();
                was_woken = false;
            }
            let now = processor::now();
            let mut wanted = seen | W;
            // In the model checker, a thread that has to sleep starves, and every deadline has passed.
            let has_waited_long = cfg!(loom)
                || was_next
                || now.saturating_sub(began) > STARVED_NS && !turn.is_taken_care_of(address);
            let starves = !is_starver && seen & S == 0 && seen & L != 0 && has_waited_long;
            if starves {
                wanted |= S;
            }
            if wanted != seen
                && self.state.compare_exchange(seen, wanted, Ordering::Release, Ordering::Relaxed).is_err()
            {
                continue;
            }
            is_starver |= starves;
            if deadline != 0 && (cfg!(loom) || now >= deadline) {
                // W is set: if the last wake was for this thread, the next goes to another.
                if is_starver {
                    self.give_back_reservation();
                }
                return false;
            }
            if starves && was_next && self.look(place, hint, true, &mut what.spin_ns) {
                break;
            }
            let room = if is_starver {
                Room::Starver
            } else if is_first {
                turn.comes_first();
                Room::First
            } else {
                Room::All
            };
            // Free, but reserved for another thread.
            let is_reserved = wanted & L == 0 && cfg!(not(loom));
            let look_at = if is_reserved { now + LOST_NS } else { looks_again_at(began, now) };
            let until = match deadline {
                // In the model checker, no thread leaves its sleep by itself.
                deadline if cfg!(loom) => deadline,
                0 => look_at,
                deadline => deadline.min(look_at),
            };
            was_woken = self.sleepers.sleep(&self.state, wanted, room, until) && !is_starver;
            what.parked += 1;
            if was_woken {
                turn.was_woken_to(self.state.load(Ordering::Relaxed) & L == 0);
            }
            if is_reserved && !was_woken && processor::now() >= now + LOST_NS {
                self.take_reservation_back(wanted);
            }
            let woken = place.woken_at.load(Ordering::Relaxed);
            if woken > now {
                what.runnable_ns += processor::now().saturating_sub(woken);
            }
            if !is_starver && !turn.is_busy() && self.look(place, hint, false, &mut what.spin_ns) {
                // Others may still sleep, and the wake was used up.
                if !planted!(forgotten_sleeper) {
                    self.state.fetch_or(W, Ordering::Relaxed);
                }
                break;
            }
        }
        if was_next {
            self.call_the_next();
        }
        true
    }

    /// For the holder whose turn begins: wakes the next thread. It does so while it holds the lock, as the thread of the last turn
    /// would take it otherwise; and it need not wake a thread when it releases the lock.
    pub(crate) fn call_the_next(&self) {
        let (address, turn) = (&raw const self.state, self.turn());
        // A thread that marks it after this comes after the one woken here, or is awake and sees the change.
        self.state.fetch_and(!W, Ordering::Acquire);
        turn.given_up_by.store(processor::this(), Ordering::Relaxed);
        self.wake_anybody(address);
    }

    /// Sleeps by the clock while another thread keeps the lock busy; then checks whether it still does.
    fn sleep_for_a_turn(&self, hint: Option<&AtomicU32>) {
        let holder = hint.map_or(0, |hint| hint.load(Ordering::Relaxed));
        sleep_until(processor::now() + TURN_NS);
        let turn = self.turn();
        turn.over(&raw const self.state as usize);
        let seen = self.state.load(Ordering::Relaxed);
        if seen & L == 0 {
            spin::stays(&self.state, seen, spin::WATCH_NS);
        }
        turn.saw(self.sight(hint, holder));
    }

    /// Whether a thread has the lock: the one that had it `before` (a hint; 0: unknown), or another.
    fn sight(&self, hint: Option<&AtomicU32>, before: u32) -> Sight {
        let now = hint.map_or(0, |hint| hint.load(Ordering::Relaxed));
        if self.state.load(Ordering::Relaxed) & L == 0 {
            // The last holder may be about to come back, and cannot while this thread has its processor.
            let is_mine = now & PROCESSOR != 0 && (now ^ processor::this()) & PROCESSOR == 0;
            return if is_mine { Sight::Other } else { Sight::Free };
        }
        if now & THREAD != 0 && (now ^ before) & THREAD == 0 { Sight::Kept } else { Sight::Other }
    }

    /// The thread for which the lock is reserved does not come: it is not in this process, which was forked, or it has not had
    /// a processor for very long.
    #[cold]
    fn take_reservation_back(&self, seen: u32) {
        RESERVED_IN_VAIN.store(true, Ordering::Relaxed);
        if self.state.compare_exchange(seen, seen & !S, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            wake(&raw const self.state, &self.sleepers, 1, Room::Starver);
        }
    }

    /// The thread for which the lock is reserved no longer wants it. If it is free, others must be woken.
    fn give_back_reservation(&self) {
        let seen = self.state.fetch_and(!S, Ordering::Acquire);
        if seen & L == 0 && !planted!(kept_wake) {
            self.wake_anybody(&raw const self.state);
        }
    }
}
