//! The heap's own counts, next to what the samples say of the same storage: how much of it they cover, and what they cannot see.
//!
//! ```text
//! accounts of the run ── requests by size ──> bytes requested, at least and at most
//!                     ── in use at the end, rounded up to cells
//!                     ── other heaps, memory outside of any heap ──> not seen
//! tally ──────────────── in use when most was
//! ```
//!
//! Invariant: nothing here is estimated; what is not known is null.
//! Not here: the accounts (`underbar_report`), and the samples.

use serde::{Deserialize, Serialize};
use underbar_ledger::Key;
use underbar_report::Report as Accounts;
use underbar_report::heap::Kind;
use underbar_report::model::Process;
use underbar_report::units::{bytes, counted};

/// The counts of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeapCounts {
    /// Requests that were served.
    pub requests: Option<u64>,
    /// The bytes that they asked for, at least: requests are counted by ranges of sizes.
    pub requested_bytes_least: Option<u64>,
    /// At most.
    pub requested_bytes_most: Option<u64>,
    /// In use when most was, of all processes together, rounded up to cells.
    pub most_in_use_bytes: Option<u64>,
    /// Still in use when their processes ended, rounded up to cells. Null if one of them has storage of the process that forked it.
    pub in_use_at_end_bytes: Option<u64>,
    /// Requests for storage below 16 MiB and 2 GiB, which are not sampled; part of `requests`.
    pub requests_not_sampled: Option<u64>,
    /// What they still had in use at the end.
    pub bytes_not_sampled: Option<u64>,
    /// Memory of the process with the most of it that is in no heap of underbar, at the last look.
    pub outside_bytes: Option<u64>,
    /// All memory of that process, without files.
    pub memory_bytes: Option<u64>,
}

impl HeapCounts {
    /// Learns what the accounts of the run say.
    pub fn learn(&mut self, accounts: &Accounts) {
        let processes = &accounts.processes;
        if processes.is_empty() {
            return;
        }
        let sum = |of: &dyn Fn(&Process) -> u64| {
            Some(processes.iter().fold(0_u64, |sum, process| sum.saturating_add(of(process))))
        };
        let counter = |process: &Process, key| process.counters.get(key);
        self.requests = sum(&|process| counter(process, Key::HeapGets));
        self.requested_bytes_least = sum(&|process| requested(process).0);
        self.requested_bytes_most = sum(&|process| requested(process).1);
        let has_of_parent = processes.iter().any(|process| counter(process, Key::HeapInherited) > 0);
        self.in_use_at_end_bytes = sum(&|process| counter(process, Key::HeapUsed)).filter(|_| !has_of_parent);
        // A process that was killed had more than at its last sample. Of several, each ended at its own time.
        if let (Some(most), [_]) = (&mut self.most_in_use_bytes, processes.as_slice()) {
            *most = (*most).max(self.in_use_at_end_bytes.unwrap_or(0));
        }
        self.requests_not_sampled = sum(&|process| not_sampled(process, Key::HeapGets));
        self.bytes_not_sampled = sum(&|process| not_sampled(process, Key::HeapUsed));
        let memory = |process: &&Process| counter(process, Key::CoverageAnonymous);
        if let Some(process) = processes.iter().max_by_key(memory).filter(|process| memory(process) > 0) {
            self.memory_bytes = Some(memory(&process));
            self.outside_bytes = Some(memory(&process).saturating_sub(counter(process, Key::CoverageHeap)));
        }
    }

    /// Sentences about what no sample covers.
    #[must_use]
    pub fn not_seen(&self) -> Vec<String> {
        let mut texts = Vec::new();
        if let (Some(requests), Some(used)) =
            (self.requests_not_sampled.filter(|requests| *requests > 0), self.bytes_not_sampled)
        {
            texts.push(format!(
                "Not sampled: {} below 16 MiB or 2 GiB, with {} in use at the end.",
                counted(requests, "request", "requests"),
                bytes(used),
            ));
        }
        if let Some((outside, memory)) = self.much_outside() {
            let (outside, memory) = (bytes(outside), bytes(memory));
            texts.push(format!("Not in this heap, so not sampled: {outside} of {memory} of memory."));
        }
        texts
    }

    /// Memory outside the heap, and all memory; None if it is little.
    pub(crate) fn much_outside(&self) -> Option<(u64, u64)> {
        let (outside, memory) = self.outside_bytes.zip(self.memory_bytes)?;
        // A little is outside in any program: stacks, and data of libraries.
        (outside >= LITTLE && outside >= memory / 10).then_some((outside, memory))
    }
}

/// A count next to an estimate: `the heap counted 8.2 MiB`. None if it is not known.
#[must_use]
pub fn words(least: Option<u64>, most: Option<u64>) -> Option<String> {
    let (least, most) = (bytes(least?), bytes(most?));
    Some(if least == most {
        format!("the heap counted {least}")
    } else {
        format!("the heap counted {least} to {most}")
    })
}

/// Less memory outside the heap is not worth a line.
const LITTLE: u64 = 1 << 20;

/// The bytes that a process requested, at least and at most.
fn requested(process: &Process) -> (u64, u64) {
    let Some(sizes) = &process.sizes else { return (0, 0) };
    let largest = process.counters.get(Key::HeapLargestRequest);
    sizes.rows().fold((0, 0), |(least, most), (row, requests)| {
        let bytes = |size: u64| requests.saturating_mul(size);
        let limit = if row.from < largest { row.limit.min(largest) } else { row.limit };
        (least.saturating_add(bytes(row.from + 1)), most.saturating_add(bytes(limit)))
    })
}

/// A counter of the heaps that are not sampled, without those of ECBs: what is left out of these is a note of the report.
fn not_sampled(process: &Process, key: Key) -> u64 {
    let others = process.heaps.iter().filter(|heap| matches!(heap.kind, Kind::Line | Kind::Bar));
    others.fold(0, |sum, heap| sum.saturating_add(heap.counters.known(key).unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_a_range_only_where_there_is_one() {
        let mut counts = HeapCounts::default();
        assert_eq!(counts.not_seen(), [""; 0]);
        assert_eq!((words(None, None), words(None, Some(1))), (None, None));
        assert_eq!(words(Some(1 << 20), Some(2 << 20)).as_deref(), Some("the heap counted 1 MiB to 2 MiB"));
        assert_eq!(words(Some(100), Some(100)).as_deref(), Some("the heap counted 100 B"));
        (counts.requests_not_sampled, counts.bytes_not_sampled) = (Some(1), Some(2048));
        (counts.outside_bytes, counts.memory_bytes) = (Some(4 << 20), Some(10 << 20));
        assert_eq!(
            counts.not_seen(),
            [
                "Not sampled: 1 request below 16 MiB or 2 GiB, with 2 KiB in use at the end.",
                "Not in this heap, so not sampled: 4 MiB of 10 MiB of memory."
            ]
        );
        counts.outside_bytes = Some(1000);
        assert_eq!(counts.not_seen().len(), 1);
    }

    #[test]
    fn accounts_say_what_was_requested_and_is_in_use() {
        let mut accounts = underbar_report::sample::getfree();
        accounts.processes.truncate(1);
        let process = &mut accounts.processes[0];
        process.sizes = Some(underbar_report::sample::sizes(&[(64, 10), (1 << 20, 2)]));
        process.counters.set(Key::HeapLargestRequest, 600 << 10);
        process.counters.set(Key::HeapUsed, 5 << 20);
        process.counters.set(Key::HeapInherited, 0);
        process.counters.set(Key::CoverageAnonymous, 9 << 20);
        process.counters.set(Key::CoverageHeap, 7 << 20);
        let mut counts = HeapCounts { most_in_use_bytes: Some(4 << 20), ..HeapCounts::default() };
        counts.learn(&accounts);
        assert_eq!(counts.most_in_use_bytes, Some(5 << 20), "it was killed after its last sample");
        assert_eq!(counts.requested_bytes_least, Some(10 * 49 + 2 * ((512 << 10) + 1)));
        assert_eq!(counts.requested_bytes_most, Some(10 * 64 + 2 * (600 << 10)));
        assert_eq!(counts.in_use_at_end_bytes, Some(5 << 20));
        assert_eq!((counts.outside_bytes, counts.memory_bytes), (Some(2 << 20), Some(9 << 20)));
        accounts.processes[0].counters.set(Key::HeapInherited, 7);
        counts.learn(&accounts);
        assert_eq!(counts.in_use_at_end_bytes, None, "it has storage of its parent");
    }
}
