//! The kernel's timers, by the places of the keeper.
//!
//! Invariant: a time that goes to the kernel is not earlier than the one that was kept.
//! Not here: when they are set.

use core::sync::atomic::Ordering;

use underbar_sys::syscall::{Timespec, sched_yield};
use underbar_sys::timer::{Setting, set, set_real};
use underbar_sys::{bare_thread, clock};

use super::keeper::Keeper;

const MICROSECOND: u64 = 1_000;

/// So many nanoseconds as a setting of the process's own timer, whose fractions are microseconds: rounded up.
pub(super) fn in_microseconds(nanoseconds: u64) -> Setting {
    let time = Timespec::of(nanoseconds.div_ceil(MICROSECOND).saturating_mul(MICROSECOND));
    let value = Timespec { nanoseconds: time.nanoseconds / MICROSECOND as i64, ..time };
    Setting { value, ..Setting::default() }
}

fn number(keeper: &Keeper, at: usize) -> i32 {
    keeper.places[at].number.load(Ordering::Relaxed).wrapping_sub(1).cast_signed()
}

/// A timer is due: the kernel's is set to now.
pub(super) fn expire(keeper: &Keeper, at: usize, time: u64) {
    if at == 0 {
        let _ = set_real(in_microseconds(MICROSECOND));
    } else {
        let value = Timespec::of(time);
        let _ = set(number(keeper, at), true, Setting { value, ..Setting::default() });
    }
}

/// Ends the kernel's timer. Whether it was running.
pub(super) fn stop(keeper: &Keeper, at: usize) -> bool {
    let none = Setting::default();
    let old = if at == 0 { set_real(none) } else { set(number(keeper, at), false, none) };
    old.is_ok_and(|old| old.value.seconds != 0 || old.value.nanoseconds != 0)
}

/// A kept timer goes to the kernel with what is left of its time.
pub(super) fn give_up(keeper: &Keeper, at: usize) {
    if !keeper.places[at].may_be_kept() {
        return;
    }
    let Ok(mask) = bare_thread::block_all() else { return };
    let start = |time: u64| {
        if time == 0 {
            return;
        }
        if at == 0 {
            let left = time.saturating_sub(clock::monotonic());
            let _ = set_real(in_microseconds(left.max(MICROSECOND)));
        } else {
            expire(keeper, at, time);
        }
    };
    let _ = keeper.places[at].give_up(start, sched_yield);
    bare_thread::set_mask(mask);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn microseconds_are_rounded_up() {
        for (nanoseconds, seconds, fraction) in
            [(1, 0, 1), (1_000, 0, 1), (1_001, 0, 2), (999_999_001, 1, 0), (2_500_000_000, 2, 500_000)]
        {
            let value = in_microseconds(nanoseconds).value;
            assert_eq!((value.seconds, value.nanoseconds), (seconds, fraction), "{nanoseconds}");
        }
    }
}
