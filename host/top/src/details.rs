//! The details of one process: its heaps, sizes, locks, switches and the owners of its other memory, as far as its ledger has them.
//!
//! ```text
//! row ── its ledger, read whole ── report (host/report) ── lines
//! ```
//!
//! Invariant: figures and names are those of the report. A chapter without figures is left out; its reason is the option that counts them.
//! Not here: the place of the lines on the screen ([`crate::view`]).

use underbar_launch::Alive;
use underbar_launch::ledger::areas;
use underbar_launch::ledger::found::Watched;
use underbar_ledger::{Key, LedgerView, SlotView, sizes};
use underbar_report::gather::Facts;
use underbar_report::model::Process;
use underbar_report::{Report, units};
use underbar_runner::lock_areas;
use underbar_runner::naming::Names;

use crate::cells::{fitted, plain};
use crate::glyphs::Glyphs;
use crate::look::Row;
use crate::screen::Style;

/// The most lines of a chapter.
const MOST: usize = 8;
/// Cells of a bar.
const BAR: usize = 24;

/// A line: texts with their styles, one behind the other.
pub type Line = Vec<(Style, String)>;

/// A chapter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chapter {
    /// Its heading.
    pub title: &'static str,
    /// Its lines.
    pub lines: Vec<Line>,
}

/// What is known of the names of locks' places; kept, since reading symbols takes long.
#[derive(Default)]
pub struct Details {
    names: Names,
}

impl Details {
    /// The chapters of a process, read now. None if its ledger cannot be read, or the process is not in it any more.
    pub fn of(&mut self, watched: &Watched, row: &Row, glyphs: Glyphs) -> Option<Vec<Chapter>> {
        let bytes = watched.whole().ok()?;
        let view = LedgerView::new(&bytes).ok()?;
        let slot = view
            .slots()
            .find(|slot| slot.process.number == row.process && slot.started_ns() == row.began_ns)?;
        let alive = Alive::default();
        let facts = Facts { areas: lock_areas(areas(watched.path())), ..Facts::default() };
        let mut report = Report::from_ledger(&view, facts, |slot| alive.has(slot));
        report.name_locks(&mut self.names);
        let began = slot.started_ns().saturating_sub(view.made_ns());
        let process = report
            .processes
            .iter()
            .find(|process| process.process == row.process && process.started_ns == began)?;
        let all = [
            sizes_of(&slot, glyphs),
            heaps_of(process, glyphs),
            locks_of(process, glyphs),
            switches_of(process, glyphs),
            owners_of(process, glyphs),
        ];
        Some(all.into_iter().filter(|chapter| !chapter.lines.is_empty()).collect())
    }
}

/// A name in 28 cells.
fn name(text: &str, glyphs: Glyphs) -> (Style, String) {
    (Style::Plain, format!("  {} ", fitted(&plain(text, glyphs.is_unicode), 28, false, glyphs.more)))
}

fn figures(text: String) -> (Style, String) {
    (Style::Plain, text)
}

fn bar(part: u64, whole: u64, glyphs: Glyphs) -> (Style, String) {
    (Style::Accent, format!("{:<BAR$}", glyphs.bar(part, whole, BAR)))
}

/// Requests by powers of two.
fn sizes_of(slot: &SlotView<'_>, glyphs: Glyphs) -> Chapter {
    let mut sums: Vec<(u64, u64)> = Vec::new();
    for (row, size) in sizes::TABLE.iter().enumerate() {
        let (limit, count) = (size.limit.next_power_of_two(), slot.requests(row));
        match sums.last_mut() {
            Some((last, sum)) if *last == limit => *sum = sum.saturating_add(count),
            _ => sums.push((limit, count)),
        }
    }
    let whole = sums.iter().fold(0_u64, |sum, (_, count)| sum.saturating_add(*count));
    let largest = sums.iter().map(|(_, count)| *count).max().unwrap_or(0);
    // The most frequent ones, by size.
    let mut kept: Vec<(u64, u64)> = sums.into_iter().filter(|(_, count)| *count > 0).collect();
    kept.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
    kept.truncate(MOST + 4);
    kept.sort_unstable();
    let lines = kept.into_iter().map(|(limit, count)| {
        let words = format!("  up to {:>9} ", units::bytes(limit));
        let figure = format!(" {:>15} {:>9}", units::count(count), units::share(count, whole));
        vec![(Style::Plain, words), bar(count, largest, glyphs), figures(figure)]
    });
    Chapter { title: "Requests by size", lines: lines.collect() }
}

fn heaps_of(process: &Process, glyphs: Glyphs) -> Chapter {
    let known = |figure: Option<u64>, form: fn(u64) -> String| figure.map_or("-".to_owned(), form);
    let mut heaps: Vec<_> = process.heaps.iter().filter(|heap| !heap.ended).collect();
    heaps.sort_by_key(|heap| std::cmp::Reverse(heap.counters.known(Key::HeapUsed)));
    let lines = heaps.into_iter().take(MOST).map(|heap| {
        let used = known(heap.counters.known(Key::HeapUsed), units::bytes);
        let gets = known(heap.counters.known(Key::HeapGets), units::count);
        vec![name(&heap.words(), glyphs), figures(format!("{used:>10} in use {gets:>15} requests"))]
    });
    Chapter { title: "Heaps", lines: lines.collect() }
}

fn locks_of(process: &Process, glyphs: Glyphs) -> Chapter {
    let locks = process.locks.iter().flat_map(|locks| &locks.locks);
    let lines = locks.take(MOST).map(|lock| {
        let words = format!(
            "{:>12} waits, {:>10} together, {:>10} the longest",
            units::count(lock.contended),
            units::nanoseconds(lock.wait_ns),
            units::nanoseconds(lock.wait_max_ns)
        );
        vec![name(&lock.name(), glyphs), figures(words)]
    });
    Chapter { title: "Locks by wait", lines: lines.collect() }
}

fn switches_of(process: &Process, glyphs: Glyphs) -> Chapter {
    let mut sums: Vec<(&str, u64, (&str, u64))> = Vec::new();
    for calls in process.switches.iter().flat_map(|switches| &switches.calls) {
        let most = (calls.function.as_str(), calls.count);
        match sums.iter_mut().find(|(component, ..)| *component == calls.component) {
            Some((_, sum, first)) => {
                *sum = sum.saturating_add(calls.count);
                *first = if first.1 < most.1 { most } else { *first };
            }
            None => sums.push((&calls.component, calls.count, most)),
        }
    }
    sums.sort_by_key(|&(_, count, _)| std::cmp::Reverse(count));
    let largest = sums.first().map_or(0, |&(_, count, _)| count);
    let lines = sums.into_iter().take(MOST).map(|(component, count, (function, of))| {
        let component = if component.is_empty() { "code of no module" } else { component };
        let function = plain(function, glyphs.is_unicode);
        let words = format!(" {:>15}  most: {} x {function}", units::count(count), units::count(of));
        vec![name(component, glyphs), bar(count, largest, glyphs), figures(words)]
    });
    Chapter { title: "Switches by component", lines: lines.collect() }
}

fn owners_of(process: &Process, glyphs: Glyphs) -> Chapter {
    let mut owners: Vec<_> = process.owners.iter().filter(|owner| owner.bytes > 0).collect();
    owners.sort_by_key(|owner| std::cmp::Reverse(owner.bytes));
    let lines = owners
        .into_iter()
        .take(MOST)
        .map(|owner| vec![name(&owner.name, glyphs), figures(format!("{:>10}", units::bytes(owner.bytes)))]);
    Chapter { title: "Memory of others, at the last look of the library", lines: lines.collect() }
}
