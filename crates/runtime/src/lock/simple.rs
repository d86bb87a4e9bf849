//! Waiting for a mutex of the C library as simple locks do: few threads spin, reading only, for a moment; the rest sleep;
//! and a mutex that one thread keeps busy is left to that thread for a turn.
//!
//! The word is the C library's: 2 says that a thread may be asleep. A thread that slept takes the mutex with 2, as others
//! may still sleep. So one wake is under way at a time, and none is lost. A reservation is a mark in another word of the
//! mutex, and a request: an arriving thread stands aside once, and takes the mutex all the same if that was of no use.
//!
//! With turns (see `underbar_lock`'s `turn`) the next thread sleeps by the clock, and as long as it does, the holder need
//! not wake any thread. Once it has slept, no thread takes care of it, and it says so before it exchanges the word for 2.
//! So a thread that gives the mutex up and finds that 2 wakes a sleeper.
//!
//! Invariant: a thread that was woken, or was next, either takes the mutex with 2, or exchanges it for 2 before it sleeps
//! again.
//! Not here: what happens afterwards (`mutex` sets owner and users).

use core::sync::atomic::{AtomicU32, Ordering};

use underbar_ledger::locks::POLICY_SLEEP;
use underbar_lock::waiting::{
    ASIDE_NS, Looker, Place, SLEEP_NS, Sight, TURN_NS, Turn, WATCH_NS, now, place, sleep_until, stays,
};
use underbar_sys::syscall::{self, CLOCK_REALTIME, Errno};

use super::mutex::{ETIMEDOUT, Mutex};
use super::number::thread;
use super::wait::Wait;

/// A moment in time: the kernel's number of the clock, and nanoseconds by that clock.
type Moment = (u32, u64);

/// Waits until this thread has the mutex, or until the time is up: 0 or ETIMEDOUT.
pub fn wait(mutex: &Mutex, wait: &mut Wait, until: Option<Moment>) -> i32 {
    let place = place(&raw const mutex.word as usize);
    wait.is_ours();
    let may_look = wait.policy() != POLICY_SLEEP;
    // If one thread keeps it busy, spinning would take a processor from work that the thread does alone.
    if may_look && !place.turn.is_busy() && !mutex.is_reserved() && look(mutex, place, wait, 1) {
        return 0;
    }
    wait.parks();
    sleep(mutex, place, wait, until, may_look)
}

/// The futex bits of the thread whose turn has come, and of the others. The C library's own sleepers are in both.
const ROOM_OF_THE_NEXT: u32 = 2;
const ROOM_OF_ALL: u32 = 1;

/// How a thread that sleeps came to look at the mutex again.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Came {
    /// By itself.
    Here,
    /// Another thread woke it.
    Woken,
    /// Its turn has come.
    Next,
}

fn sleep(
    mutex: &Mutex,
    place: &'static Place,
    wait: &mut Wait,
    until: Option<Moment>,
    may_look: bool,
) -> i32 {
    let (address, turn) = (&raw const mutex.word as usize, &place.turn);
    let (mut came, mut slept_long, mut stood_aside) = (Came::Here, false, false);
    loop {
        if came != Came::Next {
            let is_for_another = mutex.is_reserved() || turn.is_busy() && turn.is_called(address);
            if until.is_none() && is_for_another && came == Came::Here && !stood_aside {
                sleep_until(now() + ASIDE_NS);
                wait.slept(0);
                stood_aside = true;
                continue;
            }
            // Its holder may be about to come back. After it has woken this thread, it comes back later.
            let a_moment = if came == Came::Woken { SLEEP_NS } else { WATCH_NS };
            if turn.is_busy() && stays(&mutex.word, 0, a_moment) {
                turn.saw(Sight::Free);
            }
        }
        if mutex.word.swap(2, Ordering::AcqRel) == 0 {
            break;
        }
        if came == Came::Woken {
            turn.saw(sight(mutex, turn.given_up_by.load(Ordering::Relaxed)));
        }
        let may_be_next = until.is_none() && came != Came::Next && turn.is_busy();
        if may_be_next && turn.is_mine(address, came == Came::Woken) {
            sleep_for_a_turn(mutex, turn);
            wait.slept(0);
            came = Came::Next;
            mutex.reserve(true);
            if may_look && look(mutex, place, wait, 2) {
                break;
            }
            continue;
        }
        if came == Came::Woken {
            turn.calls_nobody(address);
            came = Came::Here;
        }
        let sleeps_at = now();
        let room = if came == Came::Next { ROOM_OF_THE_NEXT } else { ROOM_OF_ALL };
        let (reason, is_over) = sleep_once(mutex, sleeps_at, wait.looks_again_at(sleeps_at), until, room);
        if reason == Err(Errno::ETIMEDOUT) {
            // For the record, the wait continues.
            slept_long = true;
            if !is_over {
                wait.is_long(mutex.owner.load(Ordering::Relaxed));
                continue;
            }
            // The thread that was to take care of this thread may not have arrived.
            if mutex.word.compare_exchange(0, 2, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                break;
            }
            wait.slept(0);
            return ETIMEDOUT;
        }
        if reason == Err(Errno::EAGAIN) {
            continue;
        }
        let woken = place.woken_at.load(Ordering::Relaxed);
        wait.slept(if woken > sleeps_at { now().saturating_sub(woken) } else { 0 });
        slept_long = false;
        if came == Came::Next {
            continue;
        }
        came = Came::Woken;
        if may_look && !turn.is_busy() && look(mutex, place, wait, 2) {
            return 0;
        }
    }
    if slept_long {
        wait.slept(0);
    }
    if came == Came::Next || stood_aside && mutex.is_reserved() {
        // Or there was no thread to reserve it for, as in a forked child.
        mutex.reserve(false);
    }
    if came == Came::Next {
        call_the_next(mutex, turn);
    }
    0
}

/// Sleeps while others may, from `now` until it is time for a look or the deadline. The flag tells whether the deadline
/// comes first.
fn sleep_once(
    mutex: &Mutex,
    now: u64,
    look_at: u64,
    until: Option<Moment>,
    room: u32,
) -> (syscall::Result<()>, bool) {
    match until {
        Some((CLOCK_REALTIME, deadline)) => {
            let look_at = syscall::clock_nanoseconds(CLOCK_REALTIME) + look_at.saturating_sub(now);
            let reason = syscall::futex_wait_until_wall_clock(&mutex.word, 2, deadline.min(look_at), room);
            (reason, deadline <= look_at)
        }
        Some((_, deadline)) => {
            let reason = syscall::futex_wait_until(&mutex.word, 2, Some(deadline.min(look_at)), room);
            (reason, deadline <= look_at)
        }
        None => (syscall::futex_wait_until(&mutex.word, 2, Some(look_at), room), false),
    }
}

/// Sleeps by the clock while another thread keeps the mutex busy, then checks whether it still does.
fn sleep_for_a_turn(mutex: &Mutex, turn: &Turn) {
    let holder = mutex.owner.load(Ordering::Relaxed);
    sleep_until(now() + TURN_NS);
    turn.over(&raw const mutex.word as usize);
    stays(&mutex.word, 0, WATCH_NS);
    turn.saw(sight(mutex, holder));
}

/// By the holder whose turn begins: wakes the next thread. It does so while it holds the mutex, as otherwise the thread
/// that had the last turn would take it.
fn call_the_next(mutex: &Mutex, turn: &Turn) {
    turn.given_up_by.store(thread(), Ordering::Relaxed);
    // If another mutex has the turn meanwhile, the 2 stays: a thread that gives this one up wakes the sleepers.
    if turn.is_called(&raw const mutex.word as usize) {
        // A thread that exchanges it for 2 after this is queued after the one woken here, or is awake and sees the change.
        let _ = mutex.word.compare_exchange(2, 1, Ordering::AcqRel, Ordering::Relaxed);
        wake_one(&raw const mutex.word, false);
    }
}

/// Whether a thread has the mutex: the one that had it before, or another.
fn sight(mutex: &Mutex, before: u32) -> Sight {
    if mutex.word.load(Ordering::Relaxed) == 0 {
        return Sight::Free;
    }
    let owner = mutex.owner.load(Ordering::Relaxed);
    // Between taking the mutex and recording the owner, the owner is 0: nothing is known.
    if owner != 0 && owner == before { Sight::Kept } else { Sight::Other }
}

/// Spins for a while, and takes the mutex by storing `held` when it is free.
fn look(mutex: &Mutex, place: &'static Place, wait: &mut Wait, held: u32) -> bool {
    let Some(mut looker) = Looker::begin(place) else { return false };
    let began = now();
    let mut last_owner = 0;
    let got = loop {
        match mutex.word.load(Ordering::Relaxed) {
            0 => {
                if last_owner != 0 && held == 1 && place.turn.is_to_watch() {
                    stays(&mutex.word, 0, WATCH_NS);
                    let sight = sight(mutex, last_owner);
                    place.turn.saw(if sight == Sight::Kept { Sight::Watched } else { sight });
                }
                if mutex.word.compare_exchange(0, held, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                    break true;
                }
            }
            // Others sleep for it: they come first.
            2 if held == 1 => break false,
            // A holder that has a thread to wake comes back later than it would otherwise.
            2 => last_owner = 0,
            _ => last_owner = mutex.owner.load(Ordering::Relaxed),
        }
        if !looker.pause() {
            break false;
        }
    };
    if got {
        looker.got();
    } else {
        looker.gave_up();
    }
    wait.spun(now().saturating_sub(began));
    got
}

/// A thread is woken: sleepers can tell how long they took to run, and whether the thread that woke them came back.
pub fn note_wake(word: usize, thread: u32) {
    let place = place(word);
    place.woken_at.store(now(), Ordering::Relaxed);
    place.turn.given_up_by.store(thread, Ordering::Relaxed);
}

/// Whether a thread that has just given up the mutex may leave all waking to the next thread.
pub fn is_taken_care_of(word: usize) -> bool {
    place(word).turn.is_taken_care_of(word)
}

/// Wakes one sleeper of the C library's; returns whether there was one. The memory at the address may be gone.
pub fn wake_any(word: *const AtomicU32) -> bool {
    matches!(syscall::futex_wake_at(word, 1, ROOM_OF_ALL | ROOM_OF_THE_NEXT), Ok(1..))
}

/// Wakes one sleeper, first the one for whom it is reserved; returns whether there was one. The memory at the address may
/// be gone.
pub fn wake_one(word: *const AtomicU32, is_reserved: bool) -> bool {
    let is_woken = |room| matches!(syscall::futex_wake_at(word, 1, room), Ok(1..));
    if is_reserved && is_woken(ROOM_OF_THE_NEXT) || is_woken(ROOM_OF_ALL | ROOM_OF_THE_NEXT) {
        return true;
    }
    place(word as usize).turn.calls_nobody(word as usize);
    false
}
