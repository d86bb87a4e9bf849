//! Every order of events of two and three threads: each sees the writes of the previous holder, and none sleeps forever. The
//! models must find the planted faults.

use super::*;
use crate::places::turn::Known;
use loom::thread;
// Not the checker's type: it must not be used after the checker has found a fault and unwinds its threads.
use std::sync::Arc;
use std::vec::Vec;
use underbar_sys::planted::{finds, finds_all_but};
use underbar_sys::sync::Plain;

struct Counted {
    lock: SmallLock,
    value: Plain<usize>,
}

// SAFETY: the value is accessed under the lock; the checker verifies this.
unsafe impl Sync for Counted {}
// SAFETY: as above.
unsafe impl Send for Counted {}

impl Counted {
    fn add(&self) {
        // SAFETY: under the lock, which this thread took.
        unsafe {
            self.value.set(self.value.get() + 1);
            assert!(self.lock.unlock());
        }
    }
}

/// So many threads lock so often each; the `patient` ones wait forever, the others until a time that has passed. The
/// models run once with hand-overs in any order, once with turns, once with all woken together, once with all in the room
/// of the first, and once with turns of which each is taken over by another thread.
fn threads(patient: usize, impatient: usize, times: usize) {
    for known in [Known::Nothing, Known::Busy, Known::Free, Known::TurnsTaken, Known::Late] {
        threads_of(known, patient, impatient, times);
    }
}

fn threads_of(known: Known, patient: usize, impatient: usize, times: usize) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(move || {
        let counted = Arc::new(Counted { lock: SmallLock::new(known), value: Plain::new(0) });
        let all: Vec<_> = (0..patient + impatient - 1)
            .map(|which| {
                let counted = counted.clone();
                thread::spawn(move || run(&counted, which < impatient, times))
            })
            .collect();
        let mut got = run(&counted, false, times);
        for thread in all {
            got += thread.join().expect("its end");
        }
        // SAFETY: all threads have ended.
        assert_eq!(unsafe { counted.value.get() }, got);
        assert!(counted.lock.try_lock(), "free at the end");
    });
}

fn run(counted: &Counted, is_impatient: bool, times: usize) -> usize {
    let mut got = 0;
    for _ in 0..times {
        if !is_impatient {
            counted.lock.lock();
        } else if !counted.lock.lock_until(1) {
            continue;
        }
        counted.add();
        got += 1;
    }
    got
}

#[test]
fn loom_each_holder_sees_what_the_last_one_wrote() {
    finds(&["relaxed_release", "common_room"], || threads(2, 0, 1));
}

#[test]
fn loom_of_three_nobody_sleeps_for_ever() {
    finds_all_but(&["kept_wake"], || threads(3, 0, 1));
}

#[test]
fn loom_of_two_that_come_twice_one_starves_and_is_served() {
    finds_all_but(&["kept_wake"], || threads(2, 0, 2));
}

#[test]
fn loom_who_gives_up_waiting_leaves_nobody_behind() {
    finds_all_but(&[], || threads(2, 1, 1));
}

/// One of two holds it, and both release it at once: the call that did not hold it, or was second, reports this.
#[test]
fn loom_of_two_that_give_up_one_lock_one_is_told() {
    loom::model(|| {
        let counted = Arc::new(Counted { lock: SmallLock::new(Known::Nothing), value: Plain::new(0) });
        counted.lock.lock();
        // SAFETY: under the lock.
        unsafe { counted.value.set(1) };
        let other = {
            let counted = counted.clone();
            // SAFETY: it is held, by a thread that tolerates the release.
            thread::spawn(move || unsafe { counted.lock.unlock() })
        };
        // SAFETY: as above.
        let own = unsafe { counted.lock.unlock() };
        assert!(own != other.join().expect("its end"), "one of them held it");
        assert!(counted.lock.try_lock(), "free at the end");
        // SAFETY: under the lock.
        assert_eq!(unsafe { counted.value.get() }, 1);
    });
}
