//! The heap pools of a program, for rules that read the model.
//!
//! Invariant: the pools are those of one process, since each process has a heap of its own: of that whose cells took most.
//! Not here: the pools as a part of the report ([`crate::pools`]).

use underbar_ledger::Key;
use underbar_model::{Certainty, Figure, Pools, Requests, Row};

use crate::model::{Process, Report};
use crate::pools::{self, Pool, Ranges};
use crate::program::Program;

/// The pools of the program; None without HEAPPOOLS.
#[must_use]
pub fn pools(report: &Report, program: &Program) -> Option<Pools> {
    let with_pools = report.parts_of(program, |process| process.pools.as_ref());
    with_pools.map(|(process, pools)| of_process(process, pools)).max_by_key(Pools::taken)
}

fn of_process(process: &Process, pools: &pools::Pools) -> Pools {
    let certain = |key, value| Figure::counter(key, value, Certainty::Certain);
    let initial = pools.initial_size.map(|bytes| certain("pools.initial_size", bytes));
    let ranges = process.ranges_of_pools();
    Pools {
        initial: initial.unwrap_or(Figure::absent("extents are no share of the heap")),
        threads: certain(Key::ThreadsPeak.entry().key, process.counters.get(Key::ThreadsPeak)),
        each: pools.each.iter().map(Pool::model).collect(),
        requests: ranges
            .map_or_else(|| Requests::without_rows(Figure::absent("RPTSTG(ON) counts them")), requests),
    }
}

/// Requests by ranges; larger ones are not counted so.
fn requests(ranges: &Ranges) -> Requests {
    let mut from = 0;
    let rows = ranges.0.iter().map(|(&limit, &requests)| {
        let row = Row { from, limit, count: Figure::counter("ranges", requests, Certainty::Certain) };
        from = limit;
        row
    });
    Requests { all: Figure::absent("larger ones are not in ranges"), rows: rows.collect(), missing: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn the_process_whose_cells_took_most_has_the_pools() {
        let process = |used_peak, percent: Option<u64>| {
            let mut process = sample::heap("/bin/x", 1, 1, 1, (0, 0));
            let pool = Pool {
                cell: 40,
                element: 48,
                percent,
                cells_per_extent: 9,
                gets: 90,
                extents: 3,
                used_peak,
                used: 1,
            };
            let initial_size = percent.map(|_| 4096);
            process.pools = Some(pools::Pools { initial_size, larger_requests: 0, each: vec![pool] });
            process
        };
        let mut large = process(20, Some(7));
        large.counters.set(Key::ThreadsPeak, 3);
        large.ranges = Some(Ranges([(8, 5), (40, 9)].into_iter().collect()));
        let report = sample::report(vec![process(10, None), large, process(20, None)]);
        let of = |at: usize| pools(&report, &report.programs()[at]);
        let found = of(0).expect("pools");
        assert_eq!((found.taken(), found.initial.certain()), (20 * 48, None), "the last of several");
        let report = sample::report(report.processes[..2].to_vec());
        let found = pools(&report, &report.programs()[0]).expect("pools");
        assert_eq!((found.initial.value, found.threads.value, found.each[0].percent.value), (4096, 3, 7));
        assert_eq!(found.each[0].used, Figure::counter("pools.used_peak", 20, Certainty::AtLeast));
        let rows: Vec<_> =
            found.requests.rows.iter().map(|row| (row.from, row.limit, row.count.value)).collect();
        assert_eq!(rows, [(0, 8, 5), (8, 40, 9)]);
        let none = sample::report(vec![sample::heap("/bin/x", 1, 1, 1, (0, 0))]);
        assert_eq!(pools(&none, &none.programs()[0]), None);
    }
}
