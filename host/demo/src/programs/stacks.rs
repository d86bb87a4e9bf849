//! Programs that use stacks: that of the first thread, those of many threads, those of some threads with deep calls.
//!
//! Rust's standard library requests its own stack size for each thread, and such a request is honoured. These threads request
//! none, as in C programs; so THREADSTACK governs them.

use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

use underbar_sys::thread::Thread;

use super::{Parameters, say};

/// Bytes of the array in a frame.
const FRAME: usize = 16 << 10;
/// Frames of `deep`: a bit more than 700K.
const DEEP: usize = 45;
/// The number of threads that `threads` has at one time.
const MANY: usize = 100;
/// The number of threads that `threads-deep` has at one time.
const FEW: usize = 4;
/// Frames of the threads of `threads-together`: a bit more than 128K.
const MIDDLING: usize = 8;
/// Frames of each of those: a bit more than 400K.
const DEEP_THREAD: usize = 25;

/// The first thread makes deep calls.
pub fn deep(_: &Parameters) {
    let sum = dive(DEEP);
    say(format_args!("{DEEP} frames of {FRAME} bytes: {sum}\n"));
}

/// Many threads at one time, none with deep calls.
pub fn many_threads(_: &Parameters) {
    let sum = together(MANY, 0);
    say(format_args!("{MANY} threads: {sum}\n"));
}

/// A few threads at one time, each with deep calls.
pub fn deep_threads(_: &Parameters) {
    let sum = together(FEW, DEEP_THREAD);
    say(format_args!("{FEW} threads, {DEEP_THREAD} frames of {FRAME} bytes each: {sum}\n"));
}

/// As many threads at one time as requested, each with a bit more than 128K of calls.
pub fn threads_together(parameters: &Parameters) {
    let threads = usize::try_from(parameters.times).unwrap_or(MANY);
    let sum = together(threads, MIDDLING);
    say(format_args!("{threads} threads, {MIDDLING} frames of {FRAME} bytes each: {sum}\n"));
}

/// The number of threads that have arrived, and the number expected; None as long as some are still to be started.
static ARRIVED: Mutex<(usize, Option<usize>)> = Mutex::new((0, None));
static CHANGED: Condvar = Condvar::new();
/// How deep each of them goes.
static FRAMES: AtomicUsize = AtomicUsize::new(0);

/// Runs this many threads, all of them alive before one of them goes this deep. The result includes their number.
fn together(threads: usize, frames: usize) -> usize {
    FRAMES.store(frames, Ordering::Relaxed);
    let started: Vec<_> = (0..threads).filter_map(|_| Thread::start(one_of_them).ok()).collect();
    ARRIVED.lock().unwrap_or_else(PoisonError::into_inner).1 = Some(started.len());
    CHANGED.notify_all();
    started.into_iter().map(Thread::join).sum()
}

fn one_of_them() -> usize {
    let mut arrived = ARRIVED.lock().unwrap_or_else(PoisonError::into_inner);
    arrived.0 += 1;
    CHANGED.notify_all();
    while arrived.1 != Some(arrived.0) {
        arrived = CHANGED.wait(arrived).unwrap_or_else(PoisonError::into_inner);
    }
    drop(arrived);
    1 + dive(FRAMES.load(Ordering::Relaxed))
}

/// Calls itself this often, and writes its array each time. Its result keeps the frames alive.
#[inline(never)]
fn dive(frames: usize) -> usize {
    if frames == 0 {
        return 0;
    }
    let mut frame = [0_u8; FRAME];
    black_box(&mut frame).fill(1);
    let below = dive(black_box(frames - 1));
    below + usize::from(black_box(&frame)[FRAME / 2])
}
