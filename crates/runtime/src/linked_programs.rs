//! Programs of our own loader, as SWITCHES sees them: where they are, how often they are LINKed and CALLed, and the CPU time that this takes.
//!
//! ```text
//! LOAD         is_at: the module row of a program has its addresses, as those of libraries have
//! LINK, CALL   begins ─> one more in the row LINK or CALL of that program ─> the program ─> ends: the thread's CPU time since then
//! ```
//!
//! The CPU time of a LINK or CALL has in it what the program itself LINKs, CALLs and calls, but not its threads.
//!
//! Invariant: without SWITCHES(ON) nothing is looked at. Programs that end by an exception through CALL are counted without their time.
//! Not here: the rows (`underbar_ledger::switches`), LINK itself (`fetch`).

use underbar_ledger::switch_names::{CALL, LINK};
use underbar_ledger::switches::key;
use underbar_sys::syscall::{CLOCK_THREAD_CPUTIME_ID, clock_nanoseconds};

use crate::ledger;

/// A program is at these addresses from now on. Nothing without SWITCHES(ON).
pub fn is_at(name: &[u8], start: usize, end: usize) {
    ledger::program_of_switches(name, start, end);
}

/// The calling thread begins the program with that entry. Returns what [`ends`] needs; 0: nothing is counted.
pub fn begins(entry: usize, is_link: bool) -> u64 {
    if !ledger::counts_switches() {
        return 0;
    }
    count(entry, is_link, [1, 0, 0]);
    clock_nanoseconds(CLOCK_THREAD_CPUTIME_ID).max(1)
}

/// It has ended.
pub fn ends(entry: usize, is_link: bool, began: u64) {
    let time = clock_nanoseconds(CLOCK_THREAD_CPUTIME_ID).saturating_sub(began);
    count(entry, is_link, [0, time, 0]);
}

fn count(entry: usize, is_link: bool, figures: [u64; 3]) {
    if let Some(pages) = ledger::switch_pages() {
        let row = pages.module_of(entry as u64).map_or(0, |row| row as u64 + 1);
        pages.add(key(if is_link { LINK } else { CALL }, row), figures);
    }
}
