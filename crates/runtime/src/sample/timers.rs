//! One timer for each thread, and where their numbers are kept.
//!
//! Invariant: a timer is deleted once, by the thread that takes its number out of the table.

use core::sync::atomic::{AtomicU32, Ordering};

use underbar_sys::{syscall, timer};

use super::signals;

/// In the upper half of the value that these timers send.
const OURS: u64 = 0x5342_5253;
/// Threads that can have a timer at one time.
const PLACES: usize = 1024;
/// Value of an entry whose thread is making the timer.
const MAKING: u32 = u32::MAX;

/// Numbers of timers plus one; 0: free. SeqCst where [`end_all`] and a starting thread meet: one of the two sees the other.
static TABLE: [AtomicU32; PLACES] = [const { AtomicU32::new(0) }; PLACES];

/// Gives the calling thread a timer; returns its index in the table. None if there is no free entry, or the kernel refuses.
pub(super) fn begin(signal: i32, period: u64) -> Option<usize> {
    let place = TABLE.iter().position(|place| {
        place.load(Ordering::Relaxed) == 0
            && place.compare_exchange(0, MAKING, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    })?;
    let value = value(syscall::gettid().cast_unsigned());
    let Ok(number) = timer::of_this_thread(signal, value) else {
        TABLE[place].store(0, Ordering::Relaxed);
        return None;
    };
    TABLE[place].store(number.cast_unsigned() + 1, Ordering::SeqCst);
    if signals::in_use() != signal {
        // All timers were ended meanwhile.
        end(place);
        return None;
    }
    let period = within_the_tick(period, syscall::tick_nanoseconds());
    let _ = timer::run(number, random(period), period);
    Some(place)
}

/// The value that a timer of this thread sends.
fn value(thread: u32) -> u64 {
    OURS << 32 | u64::from(thread)
}

/// The thread whose timer sends this value; None if no timer of the table does.
pub(super) fn thread_of(value: u64) -> Option<u32> {
    (value >> 32 == OURS).then_some(value as u32)
}

/// The period to request from the kernel. The kernel checks once in a tick whether a timer is due. A timer with exactly the
/// tick's period is often late by almost nothing, and then waits for the next tick. So a request for as many samples as the
/// tick gives, or for more, becomes a request for twice as many.
fn within_the_tick(period: u64, tick: u64) -> u64 {
    if period > tick { period } else { (tick / 2).max(1) }
}

/// Prevents threads that begin together from being sampled together: 1 to `period`.
fn random(period: u64) -> u64 {
    let mut bytes = [0; 8];
    let _ = syscall::getrandom(&mut bytes);
    1 + u64::from_ne_bytes(bytes) % period.max(1)
}

/// Deletes the timer in this entry.
pub(super) fn end(place: usize) {
    if let Some(place) = TABLE.get(place) {
        delete(place.swap(0, Ordering::SeqCst));
    }
}

/// Deletes all of them.
pub(super) fn end_all() {
    for place in &TABLE {
        if place.load(Ordering::SeqCst) != MAKING {
            delete(place.swap(0, Ordering::SeqCst));
        }
    }
}

/// Deletes the timer of that number.
pub(super) fn end_number(number: i32) {
    let held = number.cast_unsigned().wrapping_add(1);
    let is_it =
        |place: &&AtomicU32| place.compare_exchange(held, 0, Ordering::SeqCst, Ordering::Relaxed).is_ok();
    if TABLE.iter().find(is_it).is_some() {
        delete(held);
    }
}

/// In a forked child: its parent's timers are not its own.
pub(super) fn forget() {
    for place in &TABLE {
        place.store(0, Ordering::Relaxed);
    }
}

fn delete(held: u32) {
    if held != 0 && held != MAKING {
        let _ = timer::delete((held - 1).cast_signed());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_tick_cannot_give_is_asked_for_twice() {
        assert_eq!(within_the_tick(1_003_009, 4_000_000), 2_000_000);
        assert_eq!(within_the_tick(4_000_000, 4_000_000), 2_000_000);
        assert_eq!(within_the_tick(10_000_000, 4_000_000), 10_000_000);
        assert_eq!(within_the_tick(0, 0), 1);
    }

    #[test]
    fn a_value_names_its_thread_and_others_none() {
        assert_eq!([thread_of(value(7)), thread_of(value(u32::MAX))], [Some(7), Some(u32::MAX)]);
        assert_eq!([thread_of(7), thread_of(u64::MAX)], [None; 2]);
    }

    #[test]
    fn first_times_differ_and_lie_within_the_period() {
        let times: std::collections::HashSet<u64> = (0..64).map(|_| random(1_000_000)).collect();
        assert!(times.len() > 32 && times.iter().all(|time| (1..=1_000_000).contains(time)));
        assert_eq!((random(1), random(0)), (1, 1));
    }
}
