//! Many threads on one lock, which the command line names: the locks, threads and figures are those of the benchmark.

use underbar_contention::contend::{self, CELLS};
use underbar_contention::locks::Entry;
use underbar_contention::work::Rate;
use underbar_contention::{Figures, open};

use super::{Parameters, say};

/// Threads that contend for a lock whose holder blocks.
pub const THREADS: usize = 8;
/// Tasks that log: as many as in the document.
pub const TASKS: u64 = 100;
/// Records that each of them logs in a second: as many as in the document.
pub const PER_SECOND: u64 = 10;
const CONTENDED_MS: u64 = 500;
const LOGGING_MS: u64 = 2_000;

/// Threads that take the lock again as soon as they can; its holder sleeps now and then.
pub fn contended(parameters: &Parameters) {
    let rate = Rate(parameters.rate.max(1));
    run(parameters, |lock| {
        let cell = CELLS.iter().find(|cell| cell.sleep_ns > 0)?;
        let (threads, milliseconds, seed) = (THREADS, CONTENDED_MS, parameters.seed);
        Some((lock.contend)(&contend::Parameters { cell, threads, milliseconds, rate, seed }))
    });
}

/// Tasks that append records to a log.
pub fn logging(parameters: &Parameters) {
    run(parameters, |lock| {
        let (tasks, per_second, milliseconds, seed) = (TASKS, PER_SECOND, LOGGING_MS, parameters.seed);
        Some((lock.open)(&open::Parameters { tasks, per_second, milliseconds, seed }))
    });
}

/// Runs it with the requested lock, and prints its figures.
fn run(parameters: &Parameters, program: impl FnOnce(&Entry) -> Option<Figures>) {
    let figures = underbar_contention::locks::find(parameters.lock).and_then(program);
    if let Some(figures) = figures {
        say(format_args!("{figures}\n"));
    }
}
