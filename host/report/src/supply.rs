//! How the heap of a program served its requests, for rules that read the model.
//!
//! Known are the number of requests of each size, the largest request, and the number of segments that were made for one request,
//! since no increment holds it.

use underbar_ledger::Key;
use underbar_ledger::sizes::{LARGEST_CELL, TABLE};
use underbar_model::{Certainty, Figure, Requests, Row, Supply};

use crate::program::Program;
use crate::sizes::Sizes;

/// Bytes of an extent, the element that holds small cells. Increments below it are raised for cells, too, so only a request
/// above it is large.
pub const EXTENT: u64 = 64 << 10;

/// The supply of one process of the program. None if the heap chooses its increments by itself.
#[must_use]
pub fn supply(program: &Program) -> Option<Supply> {
    let figure = |key: Key, value, certainty| Figure::counter(key.entry().key, value, certainty);
    let increment = program.counters.get(Key::HeapIncrementSize);
    let largest = program.counters.get(Key::HeapLargestRequest);
    if increment == 0 {
        return None;
    }
    // With small increments, a segment for cells is also larger than the increment.
    let is_own = largest > increment.max(EXTENT);
    let beyond = if is_own {
        let segments = program.each(Key::HeapOversizeSegments);
        figure(Key::HeapOversizeSegments, segments, Certainty::AtLeast)
    } else {
        Figure::absent("an increment holds every request")
    };
    let all = figure(Key::HeapGets, program.each(Key::HeapGets), Certainty::Certain);
    Some(Supply {
        requests: match &program.sizes {
            Some(sizes) => requests(sizes, all, program.processes, !program.unfinished),
            None => Requests::without_rows(all),
        },
        serves: figure(Key::HeapIncrementSize, increment, Certainty::Certain),
        beyond,
        largest: figure(Key::HeapLargestRequest, largest, Certainty::Certain),
    })
}

/// Requests by size of one process of `processes`. `is_settled`: no process runs, and none was killed. Requests without a cell are
/// counted at once, so their rows are exact also if not.
pub(crate) fn requests(sizes: &Sizes, all: Figure, processes: u64, is_settled: bool) -> Requests {
    let row = |(at, row): (usize, &underbar_ledger::sizes::Row)| {
        let is_exact = is_settled || row.from >= LARGEST_CELL as u64;
        let certainty = if is_exact { Certainty::Certain } else { Certainty::AtLeast };
        let count = Figure::counter(row.key, sizes.get(at).div_ceil(processes.max(1)), certainty);
        Row { from: row.from, limit: row.limit, count }
    };
    Requests { all, rows: TABLE.iter().enumerate().map(row).collect(), missing: Some(0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    /// Requests of several processes are one process's share. Only requests without a cell are exact while a process runs.
    #[test]
    fn requests_of_each_size_have_their_certainty() {
        let mut process = sample::heap("/bin/x", 1 << 20, 40, 1 << 20, (4096, 65_536));
        process.sizes = Some(sample::sizes(&[(64, 900), (1 << 20, 41)]));
        let mut report = sample::report(vec![process.clone(), process]);
        report.processes[1].process += 1;
        let larger = |report: &crate::Report, size| {
            let requests = supply(&report.programs()[0]).expect("sizes are set").requests;
            (requests.larger_than(size).least, requests.larger_than(size).most)
        };
        assert_eq!(larger(&report, 65_536), (41, Some(41)));
        assert_eq!(larger(&report, 1024), (41, Some(41)));
        report.processes[1].state = crate::State::Running;
        assert_eq!(larger(&report, 65_536), (41, Some(41)));
        assert_eq!(larger(&report, 1024), (41, None));
        report.processes.iter_mut().for_each(|process| process.sizes = None);
        assert_eq!(larger(&report, 65_536), (0, None));
    }

    #[test]
    fn segments_for_cells_are_no_large_requests() {
        let of = |increment, largest| {
            let mut process = sample::heap("/bin/x", 1 << 20, 40, 1 << 20, (4096, increment));
            process.counters.set(Key::HeapOversizeSegments, 40);
            process.counters.set(Key::HeapLargestRequest, largest);
            let supply = supply(&sample::report(vec![process]).programs()[0])?;
            Some(supply.beyond.at_least())
        };
        assert_eq!(of(4096, 8192), Some(None));
        assert_eq!(of(4096, 1 << 20), Some(Some(40)));
        assert_eq!(of(2 << 20, 1 << 20), Some(None));
        assert_eq!(of(0, 1 << 20), None);
    }
}
