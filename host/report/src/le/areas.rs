//! The areas of the storage report and their lines, in the order in which they are printed.
//!
//! Invariant: a line's figure is a counter, a sub-option, or in the table of absent figures. A line for a counter has the
//! layout's label, which may differ from the counter's own.
//! Not here: heap pools ([`super::pools`]), and the format of a line.

use underbar_ledger::Key;

use crate::absent::{self, Label};
use crate::heap::Kind;
use crate::model::{Process, Report};
use crate::units::parse_size;

/// The source of a figure in the layout.
#[derive(Clone, Copy)]
pub(super) enum Source {
    /// A counter.
    Counter(Key),
    /// The first counter less its part in the second, and less that of enclaves, of threads' heaps and of the heap below the line:
    /// what is left for the default heap.
    Less(Key, Key),
    /// Two counters together.
    Both(Key, Key),
    /// A counter of the heaps of this kind.
    Of(Kind, Key),
    /// The first counter under THREADSTACK(OFF), where STACK applies to all threads; the second under ON, where STACK applies to
    /// the first thread.
    Governed(Key, Key),
    /// The most that all threads but the first used at one time, as far as that is certain.
    OthersAtOnce,
    /// A sub-option that is a size, by its position; 0 if the option is AUTO or not known.
    SubOption(&'static str, usize),
    /// There is no counterpart: a key of [`absent::ABSENT`].
    Absent(&'static str),
}

impl Source {
    /// The counter that a single heap has for this line.
    pub fn of_heap(self) -> Option<Key> {
        match self {
            Counter(key) | Less(key, _) => Some(key),
            Governed(..) | Both(..) | Of(..) | OthersAtOnce | SubOption(..) | Absent(_) => None,
        }
    }
}

use Source::{Absent, Both, Counter, Governed, Less, Of, OthersAtOnce, SubOption};

/// One line: its label and the source of its figure.
pub(super) struct Row(pub Label, pub Source);

/// One area.
pub(super) struct Section {
    pub title: &'static str,
    /// Who asks for it.
    pub asked: Asked,
    pub rows: &'static [Row],
}

/// Who asks for an area.
#[derive(Clone, Copy)]
pub(super) enum Asked {
    /// Every program has it.
    Always,
    /// No program on Linux can.
    Never,
    /// A program with threads.
    ByThreads,
    /// A program with a heap of this kind.
    ByHeap(Kind),
    /// A program with this counter.
    ByCounter(Key),
}

use Asked::{Always, ByCounter, ByHeap, ByThreads, Never};

/// The line of an area for which no program asked: its figures are 0 for that reason. Our reader of listings knows it.
pub(super) const NONE: &str = "none: no program asked for it";
/// The line of an area whose figures are in rows of heaps, which are not kept of several ended processes.
pub(super) const NOT_KEPT: &str = "not kept of several ended processes together";

impl Asked {
    /// Why the area's figures are 0 in this process; None if it has figures.
    pub fn is_none(self, process: &Process) -> Option<&'static str> {
        let counters = &process.counters;
        let is_asked = match self {
            Always => true,
            Never => false,
            ByThreads => counters.get(Key::ThreadsPeak) > 1 || counters.get(Key::StackThread) > 0,
            ByHeap(kind) => process.heaps.iter().any(|heap| heap.kind == kind),
            ByCounter(key) => counters.get(key) > 0,
        };
        let is_lost = matches!(self, ByHeap(_)) && process.processes > 1 && process.heaps.is_empty();
        if is_asked {
            None
        } else if is_lost {
            Some(NOT_KEPT)
        } else {
            Some(NONE)
        }
    }
}

/// The areas for which this process did not ask.
pub(crate) fn none(process: &Process) -> Vec<String> {
    let none = |section: &&Section| section.asked.is_none(process) == Some(NONE);
    SECTIONS.iter().filter(none).map(|section| section.title.to_owned()).collect()
}

macro_rules! stack_rows {
    ($option:literal, $initial:literal, $concurrent:expr, $largest:expr, $allocated:expr, $freed:expr) => {
        &[
            Row(Label::Of(Key::HeapInitialSize), SubOption($option, $initial)),
            Row(Label::Of(Key::HeapIncrementSize), SubOption($option, $initial + 1)),
            Row(Label::Of(Key::StackConcurrent), $concurrent),
            Row(Label::Of(Key::StackLargest), $largest),
            Row(Label::Of(Key::HeapSegmentsAllocated), $allocated),
            Row(Label::Of(Key::HeapSegmentsFreed), $freed),
        ]
    };
}

macro_rules! heap_rows {
    ($initial:expr, $increment:expr, $total:expr, $gets:expr, $frees:expr, $allocated:expr, $freed:expr) => {
        &[
            Row(Label::Of(Key::HeapInitialSize), $initial),
            Row(Label::Of(Key::HeapIncrementSize), $increment),
            Row(Label::Of(Key::HeapUsedPeak), $total),
            Row(Label::Of(Key::HeapGets), $gets),
            Row(Label::Of(Key::HeapFrees), $frees),
            Row(Label::Of(Key::HeapSegmentsAllocated), $allocated),
            Row(Label::Of(Key::HeapSegmentsFreed), $freed),
        ]
    };
}

/// All areas but those of heap pools.
pub(super) static SECTIONS: [Section; 9] = [
    Section {
        title: "STACK",
        asked: Always,
        rows: stack_rows!(
            "STACK",
            0,
            Governed(Key::StackConcurrent, Key::StackMain),
            Governed(Key::StackLargest, Key::StackMain),
            Counter(Key::StackSegmentsAllocated),
            Counter(Key::StackSegmentsFreed)
        ),
    },
    Section {
        title: "THREADSTACK",
        asked: ByThreads,
        rows: stack_rows!(
            "THREADSTACK",
            1,
            OthersAtOnce,
            Counter(Key::StackThread),
            Counter(Key::ThreadStackSegmentsAllocated),
            Counter(Key::ThreadStackSegmentsFreed)
        ),
    },
    Section {
        title: "LIBSTACK",
        asked: Never,
        rows: stack_rows!(
            "LIBSTACK",
            0,
            Absent("libstack.concurrent"),
            Absent("libstack.largest"),
            Absent("libstack.segments_allocated"),
            Absent("libstack.segments_freed")
        ),
    },
    Section {
        title: "THREADHEAP",
        asked: ByHeap(Kind::Thread),
        rows: &[
            Row(Label::Of(Key::HeapInitialSize), SubOption("THREADHEAP", 0)),
            Row(Label::Of(Key::HeapIncrementSize), SubOption("THREADHEAP", 1)),
            Row(Label::Of(Key::StackConcurrent), Of(Kind::Thread, Key::HeapUsedPeak)),
            Row(Label::Of(Key::ThreadHeapLargest), Counter(Key::ThreadHeapLargest)),
            Row(Label::Of(Key::HeapGets), Of(Kind::Thread, Key::HeapGets)),
            Row(Label::Of(Key::HeapFrees), Of(Kind::Thread, Key::HeapFrees)),
            Row(Label::Of(Key::HeapSegmentsAllocated), Of(Kind::Thread, Key::HeapSegmentsAllocated)),
            Row(Label::Of(Key::HeapSegmentsFreed), Of(Kind::Thread, Key::HeapSegmentsFreed)),
        ],
    },
    Section {
        title: "HEAP",
        asked: Always,
        rows: heap_rows!(
            Counter(Key::HeapInitialSize),
            Counter(Key::HeapIncrementSize),
            Counter(Key::HeapUsedPeak),
            Less(Key::HeapGets, Key::AdditionalGets),
            Less(Key::HeapFrees, Key::AdditionalFrees),
            Less(Key::HeapSegmentsAllocated, Key::AdditionalSegmentsAllocated),
            Less(Key::HeapSegmentsFreed, Key::AdditionalSegmentsFreed)
        ),
    },
    Section {
        title: "HEAP24",
        asked: ByHeap(Kind::Line),
        rows: heap_rows!(
            SubOption("HEAP", 4),
            SubOption("HEAP", 5),
            Of(Kind::Line, Key::HeapUsedPeak),
            Of(Kind::Line, Key::HeapGets),
            Of(Kind::Line, Key::HeapFrees),
            Of(Kind::Line, Key::HeapSegmentsAllocated),
            Of(Kind::Line, Key::HeapSegmentsFreed)
        ),
    },
    Section {
        title: "ANYHEAP",
        asked: Always,
        rows: heap_rows!(
            SubOption("ANYHEAP", 0),
            SubOption("ANYHEAP", 1),
            Both(Key::HeapOwnBytes, Key::AnyHeapStacks),
            Counter(Key::AnyHeapGets),
            Counter(Key::AnyHeapFrees),
            Counter(Key::AnyHeapSegmentsAllocated),
            Counter(Key::AnyHeapSegmentsFreed)
        ),
    },
    Section {
        title: "BELOWHEAP",
        asked: Never,
        rows: heap_rows!(
            SubOption("BELOWHEAP", 0),
            SubOption("BELOWHEAP", 1),
            Absent("belowheap.used_peak"),
            Absent("belowheap.gets"),
            Absent("belowheap.frees"),
            Absent("belowheap.segments_allocated"),
            Absent("belowheap.segments_freed")
        ),
    },
    Section {
        title: "Additional Heap",
        asked: ByCounter(Key::AdditionalCreates),
        rows: &[
            Row(Label::Of(Key::AdditionalCreates), Counter(Key::AdditionalCreates)),
            Row(Label::Of(Key::AdditionalDiscards), Counter(Key::AdditionalDiscards)),
            Row(Label::Of(Key::AdditionalUsedPeak), Counter(Key::AdditionalUsedPeak)),
            Row(Label::Of(Key::HeapGets), Counter(Key::AdditionalGets)),
            Row(Label::Of(Key::HeapFrees), Counter(Key::AdditionalFrees)),
            Row(Label::Of(Key::HeapSegmentsAllocated), Counter(Key::AdditionalSegmentsAllocated)),
            Row(Label::Of(Key::HeapSegmentsFreed), Counter(Key::AdditionalSegmentsFreed)),
        ],
    },
];

/// The figure in a line of this process.
pub(super) fn figure(report: &Report, process: &Process, source: Source) -> u64 {
    let counters = &process.counters;
    match source {
        Counter(key) => counters.get(key),
        Less(all, part) => less(process, all, part) + if all == Key::HeapGets { had(process) } else { 0 },
        Both(one, other) => counters.get(one).saturating_add(counters.get(other)),
        Of(kind, key) => of_kind(process, kind, key),
        Governed(all, first) => counters.get(if report.threads_are_governed() { first } else { all }),
        OthersAtOnce => {
            // When all threads together used the most, the first thread had not used more than at the end.
            let beside_the_first =
                counters.get(Key::StackConcurrent).saturating_sub(counters.get(Key::StackMain));
            match counters.known(Key::StackThread) {
                Some(0) | None => 0,
                Some(largest) => largest.max(beside_the_first),
            }
        }
        SubOption(option, place) => report
            .sub_options(option)
            .and_then(|values| values.get(place).and_then(|value| parse_size(value)))
            .unwrap_or(0),
        Absent(key) => {
            debug_assert!(absent::find(key).is_some(), "{key}");
            0
        }
    }
}

/// A counter less its part in another one, and less that of other heaps.
fn less(process: &Process, all: Key, part: Key) -> u64 {
    let kinds = [Kind::Enclave, Kind::Thread, Kind::Line];
    let apart = kinds.into_iter().map(|kind| of_kind(process, kind, all)).fold(0, u64::saturating_add);
    process.counters.get(all).saturating_sub(process.counters.get(part)).saturating_sub(apart)
}

/// The elements that a child by fork had of its parent, if it freed more than it got: they were got, too.
pub(super) fn had(process: &Process) -> u64 {
    let gets = less(process, Key::HeapGets, Key::AdditionalGets);
    let frees = less(process, Key::HeapFrees, Key::AdditionalFrees);
    if frees > gets { process.counters.get(Key::HeapInherited) } else { 0 }
}

/// A counter of all heaps of a kind; 0 if the process has none.
pub(super) fn of_kind(process: &Process, kind: Kind, key: Key) -> u64 {
    let heaps = process.heaps.iter().filter(|heap| heap.kind == kind);
    heaps.filter_map(|heap| heap.counters.known(key)).fold(0, u64::saturating_add)
}

/// Does a line of this process have a figure that was not measured?
pub(super) fn lacks(report: &Report, process: &Process) -> bool {
    let sources = SECTIONS.iter().flat_map(|section| section.rows).map(|Row(_, source)| *source);
    let mut keys = sources.filter_map(|source| match source {
        Counter(key) | Less(key, _) => Some(key),
        Governed(all, first) => Some(if report.threads_are_governed() { first } else { all }),
        Both(..) | Of(..) | OthersAtOnce | SubOption(..) | Absent(_) => None,
    });
    keys.any(|key| process.counters.known(key).is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_area_without_figures_says_who_did_not_ask() {
        let mut process = crate::sample::getfree().processes.remove(0);
        let expect = ["THREADSTACK", "LIBSTACK", "THREADHEAP", "HEAP24", "BELOWHEAP", "Additional Heap"];
        assert_eq!(none(&process), expect);
        process.counters.set(Key::ThreadsPeak, 2);
        process.counters.set(Key::AdditionalCreates, 1);
        // Rows of heaps are not kept of folded processes: so nobody knows.
        process.processes = 3;
        assert_eq!(none(&process), ["LIBSTACK", "BELOWHEAP"]);
        assert_eq!(ByHeap(Kind::Line).is_none(&process), Some(NOT_KEPT));
        let absent = SECTIONS.iter().filter(|section| {
            let is_counted = |row: &Row| !matches!(row.1, Absent(_) | SubOption(..));
            !section.rows.iter().any(is_counted)
        });
        assert!(
            absent.clone().count() > 0 && absent.into_iter().all(|section| matches!(section.asked, Never))
        );
    }

    #[test]
    fn a_child_that_frees_what_it_had_of_its_parent_got_it() {
        let mut report = crate::sample::getfree();
        let gets =
            |report: &Report| figure(report, &report.processes[0], Less(Key::HeapGets, Key::AdditionalGets));
        report.processes[0].counters.set(Key::HeapInherited, 700);
        assert_eq!(gets(&report), 50_002);
        report.processes[0].counters.set(Key::HeapGets, 49_500);
        assert_eq!(gets(&report), 50_200);
    }

    #[test]
    fn what_is_0_here_or_in_a_row_is_null_in_json_and_the_other_way_round() {
        let rows = SECTIONS.iter().flat_map(|section| section.rows);
        let zeros: Vec<&str> = rows
            .filter_map(|Row(label, source)| match source {
                Absent(key) => {
                    let table = absent::find(key).expect(key);
                    assert_eq!(table.label.text(), label.text(), "{key}");
                    Some(*key)
                }
                // In JSON the figure is that of one of the process's heaps.
                Of(kind, key) => {
                    let area = if *kind == Kind::Line { "heap24" } else { "threadheap" };
                    let (_, name) = key.entry().key.split_once('.').expect("an area and a name");
                    let name =
                        if label.text() == Key::StackConcurrent.entry().label { "concurrent" } else { name };
                    let absent = absent::find(&format!("{area}.{name}")).expect(name);
                    assert_eq!(absent.label.text(), label.text(), "{name}");
                    Some(absent.key)
                }
                _ => None,
            })
            .collect();
        assert_eq!(zeros, absent::ABSENT.map(|absent| absent.key));
    }
}
