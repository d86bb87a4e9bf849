//! Projection (ZIIP(STAT,ELIGIBLE(...))): how much CPU time could move to another class of processors, and how long it lasts at a time.
//!
//! ```text
//! CPU time of a thread  ──────┬────────┬───────────┬──────┬──>      each │ is a switch; the time before it is of its component
//!                    eligible │ eligible│ eligible │ other
//!                    '───────── a run ────────────'   ends with the next switch of another component
//! ```
//!
//! While it is on, every call goes the slow way of the stubs: the thread's word has the empty table, in which no key matches, and the
//! thread's own table is in another word. There the CPU clock of the thread is read.
//!
//! Invariant: off, stubs and tables are as without this. On, a call takes about half a microsecond more.
//! Limits: what a component computes before the next switch of another one is that one's; time in the kernel is in the time that follows.
//! Not here: the names of components (`eligible`), and how the figures are shown (`report`).

use core::sync::atomic::{AtomicBool, Ordering};

use underbar_ledger::Key;
use underbar_ledger::switches::{ELIGIBLE, Fixed, bucket};
use underbar_sys::syscall::{CLOCK_THREAD_CPUTIME_ID, clock_nanoseconds};

use super::words;
use crate::orders::Orders;
use crate::{eligible, ledger};

/// Whether there is a projection. Written when options are obeyed; relaxed, since nothing else is read by it.
static IS_ON: AtomicBool = AtomicBool::new(false);

/// Whether there is a projection.
pub(super) fn is_on() -> bool {
    IS_ON.load(Ordering::Relaxed)
}

/// Obeys ZIIP(STAT,ELIGIBLE(...)).
pub(super) fn configure(orders: &Orders<'_>) {
    IS_ON.store(orders.settings.counts_switches() && eligible::configure(orders), Ordering::Relaxed);
}

/// The program begins: what the loader computed is not in it.
pub(super) fn begin() {
    words::set_projected([clock_nanoseconds(CLOCK_THREAD_CPUTIME_ID), 0]);
}

/// The flag of a site in the module of that row.
pub(super) fn flag(pages: &Fixed, row: Option<usize>) -> u64 {
    let Some(module) = row.and_then(|row| pages.head.modules.get(row)) else { return 0 };
    let mut room = [0; 32];
    if is_on() && eligible::is_eligible(module.name.read(&mut room)) { ELIGIBLE } else { 0 }
}

/// A switch of this thread, of an eligible component or of another one.
pub(super) fn at_switch(is_eligible: bool) {
    let now = clock_nanoseconds(CLOCK_THREAD_CPUTIME_ID);
    let [last, run] = words::projected();
    let since = now.saturating_sub(last);
    if is_eligible {
        ledger::add(Key::SwitchEligible, since);
        return words::set_projected([now, run.saturating_add(since)]);
    }
    ledger::add(Key::SwitchIneligible, since);
    count_run(run);
    words::set_projected([now, 0]);
}

/// A component that is not eligible is called: a run of this thread ends, if there is one.
pub(super) fn run_ends() {
    let [last, run] = words::projected();
    count_run(run);
    words::set_projected([last, 0]);
}

fn count_run(run: u64) {
    if run > 0
        && let Some(pages) = ledger::switch_pages()
    {
        ledger::add(Key::SwitchRuns, 1);
        pages.head.runs(bucket(run)).fetch_add(1, Ordering::Relaxed);
    }
}
