//! Samples by a timer in each thread, for `underbar profile` where the kernel's own sampling is forbidden.
//!
//! ```text
//! start, fork ─> area made, signal chosen, handler set ─> timer of the first thread
//! a thread begins ─> its timer        a thread ends ─> its timer deleted
//!                       │ after each period of CPU time, a signal to this thread
//!                       v
//!                    handler: address and thread into the ring of the area; nothing else
//! the program takes the signal for itself, or forbids itself system calls ─> all timers deleted, and the area records the reason
//! ```
//!
//! | module | idea |
//! |---|---|
//! | `area` | the file of samples and of executable mappings |
//! | `timers` | one for each thread |
//! | `handler` | the effect of the signal |
//! | `signals` | the program's own use of the signal |
//!
//! Invariant: the handler makes no system call, takes no lock and leaves errno unchanged; a blocking call that it
//! interrupts continues (SA_RESTART). No timer runs in a process that has replaced the handler.
//! Known limits: threads that the program makes without `pthread_create`, and children that it makes without `fork`, are
//! not sampled. If a thread blocks all signals by its own system call, or runs a signal handler that does, its samples come
//! late.
//! Not here: reading the samples (`host/profile`).

mod area;
mod handler;
pub mod signals;
mod timers;

use core::sync::atomic::{AtomicU64, Ordering};

use underbar_ledger::samples;

use crate::orders::Orders;
use crate::sandbox;
use crate::thread_end::ThreadEnd;

/// CPU time between two samples, nanoseconds; 0: no samples are requested. Written once, at the start; relaxed.
static PERIOD: AtomicU64 = AtomicU64::new(0);
pub(crate) static END: ThreadEnd = ThreadEnd::new(thread_ends);

/// Obeys the variable, if accounts are requested.
pub(crate) fn configure(orders: &Orders<'_>) {
    if orders.is_accounted {
        set_period(orders.environment.value(samples::VARIABLE.as_bytes()));
    }
}

/// Digits.
fn set_period(period: Option<&[u8]>) {
    let digits = period.filter(|text| !text.is_empty() && text.iter().all(u8::is_ascii_digit));
    let period = digits.map_or(0, |text| {
        text.iter()
            .fold(0_u64, |number, digit| number.saturating_mul(10).saturating_add(u64::from(digit - b'0')))
    });
    PERIOD.store(period, Ordering::Relaxed);
}

/// When the C library is up, in the first thread: samples start now, if they are requested.
pub fn at_start() {
    let period = PERIOD.load(Ordering::Relaxed);
    if period == 0 || sandbox::is_closed() {
        return;
    }
    END.prepare();
    signals::find_the_real_ones();
    let Some(header) = area::make(period) else { return };
    match handler::install() {
        Some(signal) => {
            header.signal.store(signal.cast_unsigned(), Ordering::Relaxed);
            thread_begins();
        }
        None => header.state.store(samples::REFUSED, Ordering::Relaxed),
    }
}

/// A thread begins: it gets a timer, if threads have some.
pub fn thread_begins() {
    let signal = signals::in_use();
    let Some(header) = area::header().filter(|_| signal != 0) else { return };
    // If nothing reports its end, its timer would stay for ever.
    let timer = if END.is_given_up() { None } else { timers::begin(signal, PERIOD.load(Ordering::Relaxed)) };
    match timer {
        Some(place) => END.register(core::ptr::without_provenance_mut(place + 1)),
        None => {
            header.untimed.fetch_add(1, Ordering::Relaxed);
        }
    }
}

unsafe extern "C" fn thread_ends(place: *mut u8) {
    timers::end(place.addr() - 1);
}

/// In a forked child, whose one thread has no timer and whose samples need a file of their own.
pub fn after_fork_in_child() {
    if area::forget().is_none() {
        return;
    }
    timers::forget();
    if signals::in_use() != 0
        && !sandbox::is_closed()
        && let Some(header) = area::make(PERIOD.load(Ordering::Relaxed))
    {
        header.signal.store(signals::in_use().cast_unsigned(), Ordering::Relaxed);
        thread_begins();
    }
}

/// The process ends in good order: records the libraries loaded since the start.
pub fn ended() {
    if !sandbox::is_closed() {
        area::look_again();
    }
}

/// The program forbids itself system calls: the return from a signal handler is one.
pub fn before_sandbox() {
    stop(samples::LOCKED_IN);
}

/// Stops all timers for good, and records the reason.
fn stop(why: u32) {
    if signals::leave()
        && let Some(header) = area::header()
    {
        header.state.store(why, Ordering::Relaxed);
        timers::end_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_are_digits() {
        for (text, period) in [
            (Some(b"1003009".as_slice()), 1_003_009),
            (None, 0),
            (Some(b""), 0),
            (Some(b"-1"), 0),
            (Some(b"99999999999999999999999"), u64::MAX),
        ] {
            set_period(text);
            assert_eq!(PERIOD.load(Ordering::Relaxed), period);
        }
        PERIOD.store(0, Ordering::Relaxed);
    }
}
