//! The figures of a sample: each once, with its heading, its name in JSON, and its computation.
//!
//! Not here: medians and ratios (`table`), the goals for a figure (`goals`).

use super::{OPEN, UNCONTENDED};
use underbar_contention::Figures;

/// A figure of a sample.
#[derive(Debug)]
pub struct Figure {
    /// Its name in JSON.
    pub key: &'static str,
    /// Its heading.
    pub heading: &'static str,
    /// Its computation from a sample.
    pub value: fn(&Figures) -> Option<f64>,
}

fn number(figures: &Figures, name: &str) -> Option<f64> {
    figures.get(name).map(|figure| figure as f64)
}

/// `name` for each operation, at least one: a logarithm is taken.
fn each(figures: &Figures, name: &str) -> Option<f64> {
    Some((number(figures, name)? / number(figures, "operations")?.max(1.0)).max(1.0))
}

/// CPU time for each operation, in nanoseconds.
pub const CPU: Figure =
    Figure { key: "cpu_ns_per_operation", heading: "CPU ns", value: |figures| each(figures, "cpu_ns") };
/// Elapsed time for each operation, in nanoseconds: the reciprocal of throughput, so that lower is better here too.
pub const TIME: Figure = Figure {
    key: "elapsed_ns_per_operation",
    heading: "ns/op",
    value: |figures| each(figures, "elapsed_ns"),
};
/// Operations in a second.
pub const RATE: Figure = Figure {
    key: "operations_per_second",
    heading: "op/s",
    value: |figures| Some(number(figures, "operations")? * 1e9 / number(figures, "elapsed_ns")?.max(1.0)),
};
/// The longest wait that was timed, in nanoseconds.
pub const WORST: Figure = Figure {
    key: "wait_worst_ns",
    heading: "worst us",
    value: |figures| Some(number(figures, "wait_worst_ns")?.max(1.0)),
};
/// The longest wait without the time in which its thread could run and had no processor, in nanoseconds.
pub const WORST_QUEUED: Figure = Figure {
    key: "queued_worst_ns",
    heading: "queued us",
    value: |figures| Some(number(figures, "queued_worst_ns")?.max(1.0)),
};
/// The wait that one in a thousand exceeds, in nanoseconds.
pub const P999: Figure = Figure {
    key: "wait_p999_ns",
    heading: "p99.9 us",
    value: |figures| Some(number(figures, "wait_p999_ns")?.max(1.0)),
};
/// Jain's index.
pub const FAIRNESS: Figure = Figure {
    key: "fairness",
    heading: "Jain",
    value: |figures| Some(number(figures, "fairness_ppm")? / 1e6),
};
/// Time from the request of the lock to the lock, for each operation, in nanoseconds.
pub const QUEUED: Figure = Figure {
    key: "queued_ns_per_operation",
    heading: "queued ns",
    value: |figures| each(figures, "queued_ns"),
};
/// Time during which a thread could run and had no processor, for each operation, in nanoseconds.
pub const RUNNABLE: Figure = Figure {
    key: "runnable_ns_per_operation",
    heading: "runnable ns",
    value: |figures| each(figures, "runnable_ns"),
};
/// Sleeps for each thousand operations.
pub const SLEPT: Figure = Figure {
    key: "sleeps_per_1000_operations",
    heading: "sleeps/k",
    value: |figures| Some(number(figures, "slept")? * 1e3 / number(figures, "operations")?.max(1.0)),
};
/// The fewest operations of a thread.
pub const FEWEST: Figure =
    Figure { key: "fewest", heading: "min", value: |figures| number(figures, "fewest") };
/// The most operations of a thread.
pub const MOST: Figure = Figure { key: "most", heading: "max", value: |figures| number(figures, "most") };
/// One lock and unlock of an uncontended lock, in nanoseconds.
pub const PAIR: Figure =
    Figure { key: "pair_ns", heading: "ns/pair", value: |figures| Some(number(figures, "pair_ps")? / 1e3) };

/// Records appended in a second.
pub const RECORDS: Figure = Figure {
    key: "records_per_second",
    heading: "records/s",
    value: |figures| Some(number(figures, "records")? * 1e9 / number(figures, "elapsed_ns")?.max(1.0)),
};
/// Processors' time in percent of one: the reader knows their number.
pub const BUSY: Figure = Figure {
    key: "cpu_percent_of_one_processor",
    heading: "CPU %",
    value: |figures| Some(number(figures, "cpu_ns")? * 100.0 / number(figures, "elapsed_ns")?.max(1.0)),
};
/// CPU time for each record, in nanoseconds.
pub const RECORD_CPU: Figure = Figure {
    key: "cpu_ns_per_record",
    heading: "CPU us/record",
    value: |figures| Some(number(figures, "cpu_ns")? / number(figures, "records")?.max(1.0)),
};
/// The median delay of a record, in nanoseconds.
pub const LATE: Figure =
    Figure { key: "late_p50_ns", heading: "late p50 us", value: |figures| number(figures, "late_p50_ns") };
/// The latest record, in nanoseconds.
pub const LATEST: Figure =
    Figure { key: "late_worst_ns", heading: "latest us", value: |figures| number(figures, "late_worst_ns") };

/// The figures of a section, in the order of the table.
#[must_use]
pub fn figures(section: &str) -> &'static [&'static Figure] {
    match section {
        UNCONTENDED => &[&PAIR],
        OPEN => &[&RECORDS, &BUSY, &RECORD_CPU, &LATE, &LATEST],
        _ => &[
            &RATE,
            &CPU,
            &WORST,
            &WORST_QUEUED,
            &P999,
            &FAIRNESS,
            &QUEUED,
            &RUNNABLE,
            &SLEPT,
            &FEWEST,
            &MOST,
        ],
    }
}
