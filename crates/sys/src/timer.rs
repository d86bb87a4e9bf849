//! Timers: those of a thread's own CPU time, and those of the wall that C programs set.
//!
//! The first kind sends the thread a signal each time it has run for a given period.
//!
//! The kernel checks such timers when its tick (CONFIG_HZ) meets the thread, so none fires more often. A timer does not fire
//! while the thread sleeps. Timers end with exec, and a forked child has none.
//!
//! Not here: the handling of the signal.

use crate::syscall::{Result, Timespec, number, syscall3, syscall6};

/// `si_code` of a signal that a timer sent.
pub const SENT_BY_TIMER: i32 = -2;

/// `struct sigevent`.
#[repr(C)]
struct Event {
    value: u64,
    signal: i32,
    notify: i32,
    thread: i32,
    rest: [u32; 11],
}

const _: () = assert!(size_of::<Event>() == 64);

/// Creates a timer of the calling thread's CPU time, not running yet, which sends this thread `signal` with `value`. Its
/// number is valid in the whole process, for [`run`] and [`delete`].
///
/// # Errors
/// `EAGAIN`: as many signals are queued, or may be, as the user is allowed. `EINVAL`: no such signal. `ENOTSUP`: this kernel
/// has no such timers.
pub fn of_this_thread(signal: i32, value: u64) -> Result<i32> {
    const CLOCK_THREAD_CPUTIME_ID: usize = 3;
    const SIGEV_THREAD_ID: i32 = 4;
    let thread = crate::syscall::gettid();
    let event = Event { value, signal, notify: SIGEV_THREAD_ID, thread, rest: [0; 11] };
    let mut timer = 0_i32;
    // SAFETY: the kernel reads one sigevent and writes one number.
    unsafe {
        syscall3(
            number::TIMER_CREATE,
            CLOCK_THREAD_CPUTIME_ID,
            &raw const event as usize,
            &raw mut timer as usize,
        )?;
    }
    Ok(timer)
}

/// Starts a timer: it fires when the thread has run for `first` nanoseconds from now, then each time it has run for
/// `period`.
///
/// # Errors
/// `EINVAL`: no such timer.
pub fn run(timer: i32, first: u64, period: u64) -> Result<()> {
    let time = [Timespec::of(period), Timespec::of(first.max(1))];
    // SAFETY: the kernel reads one `struct itimerspec`: the period, then the first time.
    unsafe {
        syscall6(number::TIMER_SETTIME, timer as usize, 0, &raw const time as usize, 0, 0, 0)?;
    }
    Ok(())
}

/// Ends a timer.
///
/// # Errors
/// `EINVAL`: no such timer.
pub fn delete(timer: i32) -> Result<()> {
    // SAFETY: the kernel reads no memory of ours.
    unsafe { syscall3(number::TIMER_DELETE, timer as usize, 0, 0)? };
    Ok(())
}

/// A time, and the period after it; 0: none. As `struct itimerspec`, and `struct itimerval` but for the fraction's unit.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Setting {
    /// The period.
    pub interval: Timespec,
    /// The next time.
    pub value: Timespec,
}

/// Sets the process's timer of the wall (ITIMER_REAL). The fractions of seconds are microseconds. Returns what was left of its time.
///
/// # Errors
/// `EINVAL`: no times.
pub fn set_real(new: Setting) -> Result<Setting> {
    let mut old = Setting::default();
    // SAFETY: the kernel reads one `struct itimerval` and writes another.
    unsafe { syscall3(number::SETITIMER, 0, &raw const new as usize, &raw mut old as usize)? };
    Ok(old)
}

/// Sets a timer of `timer_create`; `is_absolute`: to a time of its clock. Returns what was left of its time.
///
/// # Errors
/// `EINVAL`: no such timer, or no times.
pub fn set(timer: i32, is_absolute: bool, new: Setting) -> Result<Setting> {
    let mut old = Setting::default();
    let (timer, flags) = (timer as usize, usize::from(is_absolute));
    // SAFETY: the kernel reads one `struct itimerspec` and writes another.
    unsafe {
        syscall6(number::TIMER_SETTIME, timer, flags, &raw const new as usize, &raw mut old as usize, 0, 0)?
    };
    Ok(old)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syscall::{CLOCK_THREAD_CPUTIME_ID, Errno, clock_nanoseconds, tick_nanoseconds};

    #[test]
    fn a_timer_is_made_and_ended_once() {
        const HARMLESS: i32 = 28; // WINCH, which no process here handles
        let timer = of_this_thread(HARMLESS, 7).expect("a timer");
        assert_eq!(run(timer, 1_000_000, 1_000_000), Ok(()));
        let until = clock_nanoseconds(CLOCK_THREAD_CPUTIME_ID) + 2 * tick_nanoseconds();
        while clock_nanoseconds(CLOCK_THREAD_CPUTIME_ID) < until {}
        assert_eq!(delete(timer), Ok(()));
        assert_eq!((run(timer, 1, 1), delete(timer)), (Err(Errno::EINVAL), Err(Errno::EINVAL)));
        assert_eq!(of_this_thread(65, 0), Err(Errno::EINVAL));
    }

    #[test]
    fn the_tick_is_between_a_tenth_of_a_millisecond_and_ten() {
        assert!((100_000..=10_000_000).contains(&tick_nanoseconds()), "{}", tick_nanoseconds());
    }
}
