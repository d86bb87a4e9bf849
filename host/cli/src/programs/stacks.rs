//! Programs that use stack: the first thread's, that of many threads, that of a few threads that go deep.
//!
//! The standard library asks for a size of its own for each thread, and one that asks gets it. These threads ask
//! for the C library's default, which is to ask for none; so THREADSTACK governs them.

use std::hint::black_box;
use std::sync::{RwLock, mpsc};
use std::thread;

use underbar_sys::machine::{Resource, limit};

use super::{Parameters, say};

/// Bytes of the array in a frame.
const FRAME: usize = 16 << 10;
/// Frames of `deep`: a bit more than 700K.
const DEEP: usize = 45;
/// How many threads `threads` has at one time.
const MANY: usize = 100;
/// How many threads `threads-deep` has at one time.
const FEW: usize = 4;
/// Frames of each of those: a bit more than 400K.
const DEEP_THREAD: usize = 25;

/// The first thread goes deep.
pub fn deep(_: &Parameters) {
    let sum = dive(DEEP);
    say(format_args!("{DEEP} frames of {FRAME} bytes: {sum}\n"));
}

/// Many threads at one time, none of which goes deep.
pub fn many_threads(_: &Parameters) {
    let sum = together(MANY, 0);
    say(format_args!("{MANY} threads: {sum}\n"));
}

/// A few threads at one time, each of which goes deep.
pub fn deep_threads(_: &Parameters) {
    let sum = together(FEW, DEEP_THREAD);
    say(format_args!("{FEW} threads, {DEEP_THREAD} frames of {FRAME} bytes each: {sum}\n"));
}

/// So many threads, all of them alive before one of them goes this deep. How many there were is part of the result.
fn together(threads: usize, frames: usize) -> usize {
    let gate = RwLock::new(());
    let size = default_size();
    let (arrive, arrivals) = mpsc::channel();
    thread::scope(|scope| {
        let closed = gate.write();
        let started: Vec<_> = (0..threads)
            .filter_map(|_| {
                let builder = thread::Builder::new();
                let builder = match size {
                    Some(size) => builder.stack_size(size),
                    None => builder,
                };
                let (gate, arrive) = (&gate, arrive.clone());
                let work = move || {
                    // Whoever waits for it is gone only if all is lost.
                    let _ = arrive.send(());
                    drop(gate.read());
                    1 + dive(frames)
                };
                builder.spawn_scoped(scope, work).ok()
            })
            .collect();
        // One that was started need not have begun.
        for _ in &started {
            let _ = arrivals.recv();
        }
        drop(closed);
        started.into_iter().filter_map(|thread| thread.join().ok()).sum()
    })
}

/// What the C library gives a thread that does not ask: the limit on the stack. None: there is no limit, and its
/// default is then the standard library's.
fn default_size() -> Option<usize> {
    limit(Resource::Stack).ok().flatten().and_then(|bytes| usize::try_from(bytes).ok())
}

/// Calls itself this often, and writes its array each time. What it returns keeps the frames alive.
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
