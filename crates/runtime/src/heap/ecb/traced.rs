//! The trace table: the last requests of each thread in ECBs, under ECB(TRACE(n)).
//!
//! ```text
//! malloc, free, realloc ── caller ──> note ──> the thread's own table in the ledger: entry, then the number of requests
//! fault ──> tell: lines on standard error                      └─ the host reads it when the process has ended, however it did
//! ```
//!
//! Requests take the slow path, where the caller is known: no ready piece serves them (`Seat::is_slow`).
//!
//! Invariant: a table has one writer, its thread, so that no cache line is shared; under WITHOUT(TRACE) all threads have one table.
//! Not here: the pages (`ledger::traces`), their structure (`underbar_ledger::traces`).

use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use underbar_ledger::Traces;
use underbar_ledger::traces::{ENTRIES, MODULE_SHIFT, MODULES, Table, Traced};
use underbar_options::Without;
use underbar_sys::syscall;

use super::super::text::Text;
use super::control_block::ControlBlock;
use super::{first_seat, given, number_of};
use crate::{coverage, ledger, sandbox};

/// The next table that a thread gets. Any thread; relaxed: it only distributes tables.
static NEXT: AtomicU32 = AtomicU32::new(0);

/// Whether requests are noted.
#[inline]
pub fn are_on() -> bool {
    given::trace() != 0
}

/// Notes a request of the calling thread for a buffer of that ECB.
#[cold]
pub fn note(kind: Traced, buffer: *mut u8, bytes: usize, caller: usize, block: &ControlBlock) {
    let Some(traces) = ledger::trace_tables() else { return };
    let Some(table) = own_table(traces) else { return };
    let is_shared = given::without() == Without::Trace;
    let requests = &table.requests;
    let at =
        if is_shared { requests.fetch_add(1, Ordering::Relaxed) } else { requests.load(Ordering::Relaxed) };
    table.note(at, kind, buffer.addr() as u64, bytes as u64, place_of(traces, caller), number_of(block));
    if !is_shared {
        requests.store(at + 1, Ordering::Release);
    }
}

/// The calling thread's table; None if there are more threads than tables.
fn own_table(traces: &'static Traces) -> Option<&'static Table> {
    let seat = first_seat(super::super::home()?);
    // SAFETY: null, or this thread's.
    let seat = unsafe { seat.as_mut() }?;
    if given::without() == Without::Trace {
        seat.table = 1;
    } else if seat.table == 0 {
        seat.table = NEXT.fetch_add(1, Ordering::Relaxed).saturating_add(1);
    }
    let Some(table) = traces.tables.get(seat.table as usize - 1) else {
        if !core::mem::replace(&mut seat.is_known, true) {
            traces.tables[0].without.fetch_add(1, Ordering::Relaxed);
        }
        return None;
    };
    // Empty in a child by fork, too.
    if table.thread.load(Ordering::Relaxed) == 0 || !seat.is_known {
        seat.is_known = true;
        let thread = if sandbox::is_closed() { 1 } else { syscall::gettid() };
        table.thread.store(thread as u64, Ordering::Relaxed);
        table.limit.store(given::trace().min(ENTRIES) as u64, Ordering::Relaxed);
    }
    Some(table)
}

/// Where a module is in memory, at the place of its name in the tables. `start` is stored last (Release), the others before it; read by
/// any thread (Acquire). A module that is unloaded stays: then another one at its addresses has its name.
struct Range {
    start: AtomicUsize,
    end: AtomicUsize,
    base: AtomicUsize,
}

static RANGES: [Range; MODULES] =
    [const { Range { start: AtomicUsize::new(0), end: AtomicUsize::new(0), base: AtomicUsize::new(0) } };
        MODULES];
/// Places that threads have taken. Any thread; relaxed: it only distributes places.
static TAKEN: AtomicUsize = AtomicUsize::new(0);

/// The word for a caller: its module and the address in it, or a plain address.
fn place_of(traces: &Traces, caller: usize) -> u64 {
    const PLAIN: u64 = (1 << MODULE_SHIFT) - 1;
    let is_there = |range: &Range| {
        let start = range.start.load(Ordering::Acquire);
        start != 0 && (start..range.end.load(Ordering::Relaxed)).contains(&caller)
    };
    let taken = TAKEN.load(Ordering::Relaxed).min(MODULES);
    let Some(at) = RANGES[..taken].iter().position(is_there).or_else(|| new_module(caller)) else {
        return caller as u64 & PLAIN;
    };
    // In a child by fork the tables are new ones.
    if traces.modules[at].is_empty() {
        let mut room = [0; 32];
        traces.modules[at].store(coverage::module_name(caller, &mut room));
    }
    (at as u64 + 1) << MODULE_SHIFT | (caller - RANGES[at].base.load(Ordering::Relaxed)) as u64 & PLAIN
}

/// A place for the module of a caller. None if it is in none, or there are too many.
#[cold]
fn new_module(caller: usize) -> Option<usize> {
    let (start, end, base) = coverage::module_around(caller)?;
    let at = TAKEN.fetch_add(1, Ordering::Relaxed);
    let range = RANGES.get(at)?;
    range.end.store(end, Ordering::Relaxed);
    range.base.store(base, Ordering::Relaxed);
    range.start.store(start, Ordering::Release);
    Some(at)
}

/// Prints the calling thread's requests to standard error, the newest first.
pub fn tell() {
    if !are_on() {
        return;
    }
    let Some(traces) = ledger::trace_tables() else { return };
    let Some(table) = own_table(traces) else { return };
    let (requests, limit) = (table.requests.load(Ordering::Relaxed), table.limit.load(Ordering::Relaxed));
    let last = requests.min(limit);
    if last == 0 {
        return;
    }
    line(|text| {
        let text = text.put("the last ").number(last, 0).put(" of ").number(requests, 0);
        text.put(" requests of this thread in ECBs, the newest first");
    });
    for back in 1..=last {
        let entry = &table.entries[((requests - back) % limit) as usize];
        let [buffer, bytes, caller, ecb] =
            [&entry.buffer, &entry.bytes, &entry.caller, &entry.ecb].map(|word| word.load(Ordering::Relaxed));
        line(|text| {
            text.put(match buffer & 15 {
                1 => "  got     ",
                2 => "  freed   ",
                _ => "  resized ",
            });
            text.address(buffer as usize & !15)
                .put(" (")
                .number(bytes, 0)
                .put(" bytes) in ECB ")
                .number(ecb, 0);
            let offset = caller as usize & ((1 << MODULE_SHIFT) - 1);
            let module = ((caller >> MODULE_SHIFT) as usize).checked_sub(1);
            text.put(", called by ");
            if let Some(name) = module.and_then(|at| traces.modules.get(at)) {
                for word in &name.0 {
                    let bytes = word.load(Ordering::Relaxed).to_le_bytes();
                    let length = bytes.iter().position(|byte| *byte == 0).unwrap_or(8);
                    text.put_bytes(&bytes[..length]);
                }
                text.put("+");
            }
            text.address(offset);
        });
    }
}

fn line(write: impl FnOnce(&mut Text)) {
    let mut text = Text::new();
    text.put("underbar: ");
    write(&mut text);
    text.put("\n");
    // If the descriptor is closed, the program wants no message.
    let _ = syscall::write(2, text.as_bytes());
}
