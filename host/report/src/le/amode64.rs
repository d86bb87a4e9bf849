//! The Language Environment's storage report, AMODE 64 layout.
//!
//! ```text
//! Storage Report for Enclave <name> Mon Sep 17 09:26:22 2012     the date as C prints it
//!     64bit User HEAP statistics:
//!       Initial size:                                      1M     sizes above the bar in M, or in bytes
//!       Total heap storage used:                      3211264     in bytes
//!       Suggested initial size:                            4M
//!       Number of segments allocated:                       3     without the initial one
//! ```
//!
//! Linux programs are 64-bit programs, so this layout has the areas under the names that a 64-bit program has on z/OS. Only those
//! areas are printed whose labels IBM's manual shows.
//!
//! Invariant: our own reader of listings finds the same figures (`host/listing/tests/layouts.rs`).
//! Not here: the 31-bit layout (the parent).

use std::fmt::{self, Display, Formatter, Write as _};

use underbar_ledger::Key;

use super::areas::{Source, figure, of_kind};
use super::date::c_date_after;
use super::{line, pools, render_each, title, wrap};
use crate::heap::Kind;
use crate::model::{Process, Report};

/// One line's value.
enum Value {
    /// A size above the bar: in M, or in bytes if it is not a multiple. z/OS has only whole M.
    M(u64),
    /// Bytes, or a number.
    Plain(u64),
}

use Value::{M, Plain};

const MIB: u64 = 1 << 20;

impl Display for Value {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        match *self {
            M(bytes) if bytes.is_multiple_of(MIB) => to.pad(&format!("{}M", bytes / MIB)),
            M(figure) | Plain(figure) => figure.fmt(to),
        }
    }
}

/// The storage reports of all processes of a report, in the order in which they started.
#[must_use]
pub fn render(report: &Report) -> String {
    render_each(report, |text, process| one(text, report, process))
}

fn one(text: &mut String, report: &Report, process: &Process) {
    title(text, process.name(), &c_date_after(report, process.started_ns), report);
    let of = |source| figure(report, process, source);
    let all = |key| process.counters.get(key);
    stack(
        text,
        "STACK64",
        [
            of(Source::SubOption("STACK", 0)),
            of(Source::SubOption("STACK", 1)),
            of(Source::Governed(Key::StackConcurrent, Key::StackMain)),
            of(Source::Governed(Key::StackLargest, Key::StackMain)),
        ],
        0,
    );
    stack(
        text,
        "THREADSTACK64",
        [
            of(Source::SubOption("THREADSTACK", 1)),
            of(Source::SubOption("THREADSTACK", 2)),
            of(Source::OthersAtOnce),
            all(Key::StackThread),
        ],
        all(Key::ThreadStackSegmentsAllocated),
    );
    let initial = all(Key::HeapInitialSize);
    // Above the bar is what no other heap has.
    let above =
        |all, additional| of(Source::Less(all, additional)).saturating_sub(of_kind(process, Kind::Bar, all));
    let segments = above(Key::HeapSegmentsAllocated, Key::AdditionalSegmentsAllocated);
    let peak = all(Key::HeapUsedPeak);
    area(
        text,
        "64bit User HEAP",
        &[
            ("Initial size", M(initial)),
            ("Increment size", M(all(Key::HeapIncrementSize))),
            ("Total heap storage used", Plain(peak)),
            ("Suggested initial size", M(peak.next_multiple_of(MIB))),
            (Key::HeapGets.entry().label, Plain(above(Key::HeapGets, Key::AdditionalGets))),
            (Key::HeapFrees.entry().label, Plain(above(Key::HeapFrees, Key::AdditionalFrees))),
            (
                Key::HeapSegmentsAllocated.entry().label,
                // Under AUTO no segment is the initial one.
                Plain(segments.saturating_sub(u64::from(initial > 0))),
            ),
            (
                Key::HeapSegmentsFreed.entry().label,
                Plain(above(Key::HeapSegmentsFreed, Key::AdditionalSegmentsFreed)),
            ),
        ],
    );
    for (title, kind) in [("31bit User HEAP", Kind::Bar), ("24bit User HEAP", Kind::Line)] {
        if process.heaps.iter().any(|heap| heap.kind == kind) {
            let keys = [
                Key::HeapInitialSize,
                Key::HeapIncrementSize,
                Key::HeapUsedPeak,
                Key::HeapGets,
                Key::HeapFrees,
                Key::HeapSegmentsAllocated,
                Key::HeapSegmentsFreed,
            ];
            area(text, title, &keys.map(|key| (key.entry().label, Plain(of_kind(process, kind, key)))));
        }
    }
    let own = of(Source::Both(Key::HeapOwnBytes, Key::AnyHeapStacks));
    area(
        text,
        "64bit Library HEAP",
        &[
            ("Initial size", M(of(Source::SubOption("LIBHEAP64", 0)))),
            ("Increment size", M(of(Source::SubOption("LIBHEAP64", 1)))),
            ("Total heap storage used", Plain(own)),
            ("Suggested initial size", M(own.next_multiple_of(MIB))),
            (Key::HeapGets.entry().label, Plain(all(Key::AnyHeapGets))),
            (Key::HeapFrees.entry().label, Plain(all(Key::AnyHeapFrees))),
            (Key::HeapSegmentsAllocated.entry().label, Plain(all(Key::AnyHeapSegmentsAllocated))),
            (Key::HeapSegmentsFreed.entry().label, Plain(all(Key::AnyHeapSegmentsFreed))),
        ],
    );
    if let Some(of) = &process.pools {
        pools::write(text, process, of);
    }
    line(text, 4, Key::ThreadsPeak.entry().label, all(Key::ThreadsPeak));
    text.push_str("End of Storage Report\n\n");
    let stacks = match all(Key::ThreadStackSegmentsAllocated) {
        0 => "Stacks are one mapping each, which grows without increments.",
        _ => "THREADSTACK64: increments with the first segment of each stack.",
    };
    wrap(text, &format!("Sizes of 0M are AUTO or not set. {stacks}"));
    wrap(
        text,
        "31bit and 24bit User HEAP: none, unless the program asked for them (__malloc31, __malloc24). 64bit Library HEAP: underbar's own tables, and first segments of the stacks that it makes for threads. 31bit and 24bit Library HEAP: none, since nothing of underbar has to be there. I/O HEAP: none, since the C library takes its buffers from the user heap.",
    );
    for note in process.pools.iter().flat_map(|of| pools::notes(process, of)) {
        wrap(text, &note);
    }
}

fn stack(
    text: &mut String,
    title: &str,
    [initial, increment, concurrent, largest]: [u64; 4],
    increments: u64,
) {
    area(
        text,
        title,
        &[
            ("Initial size", M(initial)),
            ("Increment size", M(increment)),
            (Key::StackConcurrent.entry().label, M(concurrent)),
            (Key::StackLargest.entry().label, M(largest)),
            ("Number of increments allocated", Plain(increments)),
        ],
    );
}

fn area(text: &mut String, title: &str, lines: &[(&str, Value)]) {
    let _ = writeln!(text, "    {title} statistics:");
    for (label, value) in lines {
        line(text, 6, label, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    const GETFREE: &str = "\
Storage Report for Enclave getfree Fri Nov 20 10:15:07 2026
underbar V00 R01.00

    STACK64 statistics:
      Initial size:                                       131072
      Increment size:                                     131072
      Maximum used by all concurrent threads:             204800
      Largest used by any thread:                         204800
      Number of increments allocated:                          0
    THREADSTACK64 statistics:
      Initial size:                                           0M
      Increment size:                                         0M
      Maximum used by all concurrent threads:                 0M
      Largest used by any thread:                             0M
      Number of increments allocated:                          0
    64bit User HEAP statistics:
      Initial size:                                        32768
      Increment size:                                      32768
      Total heap storage used:                         819229056
      Suggested initial size:                               782M
      Successful Get Heap requests:                        50002
      Successful Free Heap requests:                       50000
      Number of segments allocated:                        27948
      Number of segments freed:                                0
    64bit Library HEAP statistics:
      Initial size:                                           0M
      Increment size:                                         0M
      Total heap storage used:                           1048576
      Suggested initial size:                                 1M
      Successful Get Heap requests:                            0
      Successful Free Heap requests:                           0
      Number of segments allocated:                            0
      Number of segments freed:                                0
    Largest number of threads concurrently active:             1
End of Storage Report
";

    #[test]
    fn getfree_byte_for_byte() {
        let text = render(&sample::getfree());
        assert!(text.starts_with(GETFREE), "{text}");
        assert_eq!(render(&sample::tree()).matches("End of Storage Report\n").count(), 3);
        let mut pooled = sample::getfree();
        pooled.processes[0].pools = Some(crate::pools::Pools {
            initial_size: None,
            larger_requests: 7,
            each: vec![crate::pools::Pool {
                cell: 24,
                element: 32,
                percent: None,
                cells_per_extent: 4_000,
                gets: 9,
                extents: 1,
                used_peak: 5,
                used: 2,
            }],
        });
        let text = render(&pooled);
        let (areas, notes) = text.split_once("End of Storage Report").expect("its end");
        assert!(
            areas.contains("    HEAPPOOLS64 Statistics:\n") && areas.contains("HP64(ON,24,5,0)"),
            "{text}"
        );
        assert!(notes.contains("* HEAPPOOLS: a cell takes"), "{text}");
    }
}
