//! Waiting for a mutex of the C library as simple locks do: few look, reading only, for a moment; the rest sleep.
//!
//! The word is the C library's: 2 says that somebody may sleep, and there is no room for a reservation. Whoever slept
//! takes the mutex with 2, as others may sleep still; so one wake is under way at a time, and none is lost.
//!
//! Invariant: a thread that was woken either takes the mutex with 2, or exchanges it for 2 before it sleeps again.
//! Not here: what happens after (`mutex` sets owner and users).

use core::sync::atomic::Ordering;

use underbar_ledger::locks::POLICY_SLEEP;
use underbar_lock::waiting::{Looker, Place, now, place};
use underbar_sys::syscall::{self, Errno, Timespec};

use super::mutex::{ETIMEDOUT, Mutex};
use super::record::Wait;

/// A moment: of the wall clock or the monotonic one.
type Moment<'a> = (bool, &'a Timespec);

/// Waits until this thread has the mutex, or until the time is up: 0 or ETIMEDOUT.
pub fn wait(mutex: &Mutex, wait: &mut Wait, until: Option<Moment<'_>>) -> i32 {
    let place = place(&raw const mutex.word as usize);
    wait.is_ours();
    let may_look = wait.policy() != POLICY_SLEEP;
    if may_look && look(mutex, place, wait, 1) {
        return 0;
    }
    wait.parks();
    let mut slept_long = false;
    while mutex.word.swap(2, Ordering::Acquire) != 0 {
        let sleeps_at = now();
        let long = wait.is_long_at();
        let (is_wall_clock, deadline) = match until {
            Some((is_wall_clock, deadline)) => (is_wall_clock, Some(deadline)),
            None => (false, long.as_ref()),
        };
        let reason = syscall::futex_wait_by(&mutex.word, 2, deadline, is_wall_clock);
        if reason == Err(Errno::ETIMEDOUT) {
            if until.is_some() {
                wait.slept(0);
                return ETIMEDOUT;
            }
            // It goes on, as far as the record is concerned.
            slept_long = true;
            wait.is_long(mutex.owner.load(Ordering::Relaxed));
            continue;
        }
        if reason == Err(Errno::EAGAIN) {
            continue;
        }
        let woken = place.woken_at.load(Ordering::Relaxed);
        wait.slept(if woken > sleeps_at { now().saturating_sub(woken) } else { 0 });
        slept_long = false;
        if may_look && look(mutex, place, wait, 2) {
            return 0;
        }
    }
    if slept_long {
        wait.slept(0);
    }
    0
}

/// Looks for a while, and takes the mutex by putting `held` there when it is free.
fn look(mutex: &Mutex, place: &'static Place, wait: &mut Wait, held: u32) -> bool {
    let Some(mut looker) = Looker::begin(place) else { return false };
    let began = now();
    let got = loop {
        match mutex.word.load(Ordering::Relaxed) {
            0 if mutex.word.compare_exchange(0, held, Ordering::Acquire, Ordering::Relaxed).is_ok() => {
                break true;
            }
            // Others sleep for it: they come first.
            2 if held == 1 => break false,
            _ => {}
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

/// Somebody is woken: those who sleep can tell how long they took to run.
pub fn note_wake(word: usize) {
    place(word).woken_at.store(now(), Ordering::Relaxed);
}
