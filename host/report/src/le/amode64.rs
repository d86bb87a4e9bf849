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
//! Linux programs are 64-bit programs, so this layout has the areas under the names that a 64-bit program has on z/OS. IBM's manual
//! shows the labels of stacks and user heaps; the 24-bit heap, the library's heaps and those for I/O have the same ones here. Additional
//! heaps, which no 64-bit program has there, are an area as in the 31-bit layout.
//!
//! Invariant: our own reader of listings finds the same figures (`host/listing/tests/layouts.rs`).
//! Not here: the 31-bit layout (the parent).

use std::fmt::{self, Display, Formatter, Write as _};

use underbar_ledger::Key;

use super::areas::{Asked, NONE, Row, SECTIONS, Source, figure, of_kind};
use super::date::c_date_after;
use super::{line, linked_ends, pools, render_each, title, wrap};
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

/// The storage reports of all processes of a report, in the order in which they started, and of the enclaves in them.
#[must_use]
pub fn render(report: &Report) -> String {
    render_each(report, |text, process| {
        one(text, report, process);
        for heap in process.heaps.iter().filter(|heap| heap.kind == Kind::Enclave) {
            text.push('\n');
            title(text, &heap.name, &c_date_after(report, process.started_ns), report);
            let known = |key| heap.counters.known(key).unwrap_or(0);
            user64(text, heap.created, known, known);
            linked_ends(text, process, heap);
        }
    })
}

/// The lines of a heap, by counters.
const OF_HEAP: [Key; 7] = [
    Key::HeapInitialSize,
    Key::HeapIncrementSize,
    Key::HeapUsedPeak,
    Key::HeapGets,
    Key::HeapFrees,
    Key::HeapSegmentsAllocated,
    Key::HeapSegmentsFreed,
];

/// The lines of a heap above the bar, which says what initial size it suggests.
fn above_the_bar(
    [initial, increment, total, gets, frees, allocated, freed]: [u64; 7],
) -> [(&'static str, Value); 8] {
    let label = |key: Key| key.entry().label;
    [
        ("Initial size", M(initial)),
        ("Increment size", M(increment)),
        ("Total heap storage used", Plain(total)),
        ("Suggested initial size", M(total.next_multiple_of(MIB))),
        (label(Key::HeapGets), Plain(gets)),
        (label(Key::HeapFrees), Plain(frees)),
        (label(Key::HeapSegmentsAllocated), Plain(allocated)),
        (label(Key::HeapSegmentsFreed), Plain(freed)),
    ]
}

/// The user heap above the bar of so many heaps: `set` gives sizes and the peak, `counted` requests and segments. Initial segments
/// are not counted; under AUTO none is one.
fn user64(text: &mut String, heaps: u64, set: impl Fn(Key) -> u64, counted: impl Fn(Key) -> u64) {
    let initial = set(Key::HeapInitialSize);
    let initials = if initial > 0 { heaps } else { 0 };
    let segments = counted(Key::HeapSegmentsAllocated).saturating_sub(initials);
    // An enclave that has ended gave back its initial segment, too.
    let freed = counted(Key::HeapSegmentsFreed).min(segments);
    let lines = above_the_bar([
        initial,
        set(Key::HeapIncrementSize),
        set(Key::HeapUsedPeak),
        counted(Key::HeapGets),
        counted(Key::HeapFrees),
        segments,
        freed,
    ]);
    area(text, "64bit User HEAP", None, &lines);
}

fn one(text: &mut String, report: &Report, process: &Process) {
    title(text, process.name(), &c_date_after(report, process.started_ns), report);
    let of = |source| figure(report, process, source);
    let all = |key| process.counters.get(key);
    stack(
        text,
        "STACK64",
        None,
        [
            of(Source::SubOption("STACK", 0)),
            of(Source::SubOption("STACK", 1)),
            of(Source::Governed(Key::StackConcurrent, Key::StackMain)),
            of(Source::Governed(Key::StackLargest, Key::StackMain)),
        ],
        all(Key::StackSegmentsAllocated),
    );
    stack(
        text,
        "THREADSTACK64",
        Asked::ByThreads.is_none(process),
        [
            of(Source::SubOption("THREADSTACK", 1)),
            of(Source::SubOption("THREADSTACK", 2)),
            of(Source::OthersAtOnce),
            all(Key::StackThread),
        ],
        all(Key::ThreadStackSegmentsAllocated),
    );
    // Above the bar is what no other heap has.
    let above = |key| match less(key) {
        Some(additional) => {
            of(Source::Less(key, additional)).saturating_sub(of_kind(process, Kind::Bar, key))
        }
        None => all(key),
    };
    user64(text, process.processes.max(1), all, above);
    for (title, kind, first) in [("31bit User HEAP", Kind::Bar, 3), ("24bit User HEAP", Kind::Line, 6)] {
        let none = Asked::ByHeap(kind).is_none(process);
        let mut figures = OF_HEAP.map(|key| of_kind(process, kind, key));
        if none.is_some() {
            figures[0] = of(Source::SubOption("HEAP64", first));
            figures[1] = of(Source::SubOption("HEAP64", first + 1));
        }
        below_the_bar(text, title, none, figures);
    }
    let library = above_the_bar([
        of(Source::SubOption("LIBHEAP64", 0)),
        of(Source::SubOption("LIBHEAP64", 1)),
        of(Source::Both(Key::HeapOwnBytes, Key::AnyHeapStacks)),
        all(Key::AnyHeapGets),
        all(Key::AnyHeapFrees),
        all(Key::AnyHeapSegmentsAllocated),
        all(Key::AnyHeapSegmentsFreed),
    ]);
    area(text, "64bit Library HEAP", None, &library);
    let set =
        |option, first| [of(Source::SubOption(option, first)), of(Source::SubOption(option, first + 1))];
    for (title, option, first) in [
        ("31bit Library HEAP", "LIBHEAP64", 3),
        ("24bit Library HEAP", "LIBHEAP64", 6),
        ("64bit I/O HEAP", "IOHEAP64", 0),
        ("31bit I/O HEAP", "IOHEAP64", 3),
        ("24bit I/O HEAP", "IOHEAP64", 6),
    ] {
        let [initial, increment] = set(option, first);
        let figures = [initial, increment, 0, 0, 0, 0, 0];
        match first {
            0 => area(text, title, Some(NONE), &above_the_bar(figures)),
            _ => below_the_bar(text, title, Some(NONE), figures),
        }
    }
    for section in SECTIONS.iter().filter(|section| section.title == "Additional Heap") {
        let lines: Vec<_> =
            section.rows.iter().map(|Row(label, source)| (label.text(), Plain(of(*source)))).collect();
        area(text, section.title, section.asked.is_none(process), &lines);
    }
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
        "31bit and 24bit User HEAP: programs ask for them by __malloc31 and __malloc24. 64bit Library HEAP: underbar's own tables, and first segments of the stacks that it makes for threads. 31bit and 24bit Library HEAP: none, since nothing of underbar has to be there. I/O HEAP: none, since the C library takes its buffers from the user heap.",
    );
    for note in process.pools.iter().flat_map(|of| pools::notes(process, of)) {
        wrap(text, &note);
    }
}

/// The part of a counter that additional heaps have.
fn less(key: Key) -> Option<Key> {
    match key {
        Key::HeapGets => Some(Key::AdditionalGets),
        Key::HeapFrees => Some(Key::AdditionalFrees),
        Key::HeapSegmentsAllocated => Some(Key::AdditionalSegmentsAllocated),
        Key::HeapSegmentsFreed => Some(Key::AdditionalSegmentsFreed),
        _ => None,
    }
}

fn below_the_bar(text: &mut String, title: &str, none: Option<&str>, figures: [u64; 7]) {
    let mut figures = figures.into_iter();
    let lines = OF_HEAP.map(|key| (key.entry().label, Plain(figures.next().unwrap_or(0))));
    area(text, title, none, &lines);
}

fn stack(
    text: &mut String,
    title: &str,
    none: Option<&str>,
    [initial, increment, concurrent, largest]: [u64; 4],
    increments: u64,
) {
    area(
        text,
        title,
        none,
        &[
            ("Initial size", M(initial)),
            ("Increment size", M(increment)),
            (Key::StackConcurrent.entry().label, M(concurrent)),
            (Key::StackLargest.entry().label, M(largest)),
            ("Number of increments allocated", Plain(increments)),
        ],
    );
}

/// An area; `none`: why its figures are 0.
fn area(text: &mut String, title: &str, none: Option<&str>, lines: &[(&str, Value)]) {
    let _ = writeln!(text, "    {title} statistics:");
    if let Some(why) = none {
        let _ = writeln!(text, "      {why}");
    }
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
      none: no program asked for it
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
    31bit User HEAP statistics:
      none: no program asked for it
      Initial size:                                            0
      Increment size:                                          0
      Total heap storage used (sugg. initial size):            0
      Successful Get Heap requests:                            0
      Successful Free Heap requests:                           0
      Number of segments allocated:                            0
      Number of segments freed:                                0
    24bit User HEAP statistics:
      none: no program asked for it
      Initial size:                                            0
      Increment size:                                          0
      Total heap storage used (sugg. initial size):            0
      Successful Get Heap requests:                            0
      Successful Free Heap requests:                           0
      Number of segments allocated:                            0
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
    31bit Library HEAP statistics:
      none: no program asked for it
      Initial size:                                            0
      Increment size:                                          0
      Total heap storage used (sugg. initial size):            0
      Successful Get Heap requests:                            0
      Successful Free Heap requests:                           0
      Number of segments allocated:                            0
      Number of segments freed:                                0
    24bit Library HEAP statistics:
      none: no program asked for it
      Initial size:                                            0
      Increment size:                                          0
      Total heap storage used (sugg. initial size):            0
      Successful Get Heap requests:                            0
      Successful Free Heap requests:                           0
      Number of segments allocated:                            0
      Number of segments freed:                                0
    64bit I/O HEAP statistics:
      none: no program asked for it
      Initial size:                                           0M
      Increment size:                                         0M
      Total heap storage used:                                 0
      Suggested initial size:                                 0M
      Successful Get Heap requests:                            0
      Successful Free Heap requests:                           0
      Number of segments allocated:                            0
      Number of segments freed:                                0
    31bit I/O HEAP statistics:
      none: no program asked for it
      Initial size:                                            0
      Increment size:                                          0
      Total heap storage used (sugg. initial size):            0
      Successful Get Heap requests:                            0
      Successful Free Heap requests:                           0
      Number of segments allocated:                            0
      Number of segments freed:                                0
    24bit I/O HEAP statistics:
      none: no program asked for it
      Initial size:                                            0
      Increment size:                                          0
      Total heap storage used (sugg. initial size):            0
      Successful Get Heap requests:                            0
      Successful Free Heap requests:                           0
      Number of segments allocated:                            0
      Number of segments freed:                                0
    Additional Heap statistics:
      none: no program asked for it
      Successful Create Heap requests:                         0
      Successful Discard Heap requests:                        0
      Total heap storage used:                                 0
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
