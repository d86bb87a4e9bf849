//! The storage areas of a program (heap, heaps of enclaves, stacks) and its threads, for rules that read the model.
//!
//! ```text
//! counters: a sum -> one process's share, a maximum -> the largest of any process     options in force -> sizes that are set
//! ```
//!
//! Invariant: a counter that a process keeps exactly while it runs is certain. Each other one is certain after an orderly end, and before
//! it a lower bound; the storage in use may then be more or less.
//! Not here: requests by size, and how they are served ([`crate::supply`]); areas of ECBs ([`crate::ecb_figures`]).

use underbar_ledger::{Exactness, Fold, Key};
use underbar_model::{Certainty, Enclaves, Figure, Storage, Threads};

use crate::heap::{Heap, Kind};
use crate::model::Report;
use crate::program::Program;
use crate::units::parse_size;

/// The key path of the options in force.
const IN_FORCE: &str = "options.in_force";
/// The key path of the default size of thread stacks.
const DEFAULT_STACK: &str = "host.thread_stack_bytes";
/// Why a figure of a stack is absent.
const NOT_OF_STACKS: &str = "not counted for stacks";
/// The key path of the number of heaps of one kind and name.
const HEAPS: &str = "heaps.created";

/// The heap of one process of the program.
#[must_use]
pub fn heap(program: &Program) -> Storage {
    area(|key| figure(program, key))
}

/// The area of a heap, with its figures by their counters.
fn area(of: impl Fn(Key) -> Figure) -> Storage {
    let mut used_last = of(Key::HeapUsed);
    // What is not counted yet may be gets or frees.
    if used_last.certainty == Certainty::AtLeast {
        used_last.certainty = Certainty::Likely;
    }
    Storage {
        initial: of(Key::HeapInitialSize),
        increment: of(Key::HeapIncrementSize),
        used: of(Key::HeapUsedPeak),
        used_last,
        segments: of(Key::HeapSegmentsAllocated),
        freed: of(Key::HeapSegmentsFreed),
        held: of(Key::HeapSegmentBytesPeak),
        held_last: of(Key::HeapSegmentBytes),
        asked: of(Key::HeapSegmentBytesTotal),
        purged: of(Key::HeapPurgedBytes),
        requests: of(Key::HeapGets),
        used_by_all: Figure::absent("all threads use one heap"),
        suggested: Figure::absent("a rule suggests it"),
    }
}

/// The enclaves of the program, a name in a process at a time.
#[must_use]
pub fn enclaves(report: &Report, program: &Program) -> Vec<Enclaves> {
    let heaps = report.parts_of(program, |process| Some(&process.heaps).filter(|heaps| !heaps.is_empty()));
    heaps
        .flat_map(|(_, heaps)| heaps)
        .filter(|heap| heap.kind == Kind::Enclave)
        .map(|heap| Enclaves {
            name: heap.name.clone(),
            created: Figure::counter(HEAPS, heap.created, Certainty::Certain),
            heap: row(heap, program),
        })
        .collect()
}

/// The storage area of a row of heaps. A heap that has ended is counted as exactly as a process that has.
fn row(heap: &Heap, program: &Program) -> Storage {
    area(|key| match heap.counters.known(key) {
        Some(value) => counter(key, value, heap.ended || !program.unfinished),
        None => Figure::absent("the report does not show it"),
    })
}

/// The stacks that STACK sets: the first thread's under THREADSTACK(ON), else those of all threads.
#[must_use]
pub fn stack(report: &Report, program: &Program) -> Storage {
    let key = if report.threads_are_governed() { Key::StackMain } else { Key::StackLargest };
    let values = report.sub_options("STACK").unwrap_or_default();
    let initial = size_of(&values, 0).filter(|&bytes| bytes > 0);
    Storage {
        increment: set(size_of(&values, 1).filter(|_| initial.is_some())),
        initial: set(initial),
        used: figure(program, key),
        ..Storage::absent(NOT_OF_STACKS)
    }
}

/// The stacks that THREADSTACK sets, of threads that ask for no size. A report of an older underbar does not tell them from the others.
#[must_use]
pub fn thread_stacks(report: &Report, program: &Program) -> Storage {
    let values = report.sub_options("THREADSTACK").filter(|_| report.threads_are_governed());
    let initial = size_of(&values.unwrap_or_default(), 1).filter(|&bytes| bytes > 0);
    let used = figure(program, of_default(program, Key::StackDefaultSize, Key::StackThread));
    Storage { initial: set(initial), used, ..Storage::absent(NOT_OF_STACKS) }
}

/// The threads of one process of the program.
#[must_use]
pub fn threads(report: &Report, program: &Program) -> Threads {
    let own_or_all = |own, all| figure(program, of_default(program, own, all));
    let default_stack = report.host.thread_stack_bytes;
    Threads {
        at_once: figure(program, Key::ThreadsPeak),
        deepest: figure(program, Key::StackThread),
        of_default: own_or_all(Key::ThreadsOfDefaultSize, Key::ThreadsStarted),
        of_default_at_once: own_or_all(Key::ThreadsOfDefaultSizePeak, Key::ThreadsPeak),
        default_stack: default_stack.map_or(Figure::absent("the report does not show it"), |bytes| {
            Figure::counter(DEFAULT_STACK, bytes, Certainty::Certain)
        }),
    }
}

/// The counter of threads with the default stack size, or that of all threads if the report does not know it.
fn of_default(program: &Program, own: Key, all: Key) -> Key {
    if program.counters.known(Key::ThreadsOfDefaultSize).is_some() { own } else { all }
}

fn size_of(values: &[&str], at: usize) -> Option<u64> {
    parse_size(values.get(at)?)
}

/// A size that an option sets.
fn set(bytes: Option<u64>) -> Figure {
    bytes.map_or(Figure::absent("no option sets it"), |bytes| {
        Figure::counter(IN_FORCE, bytes, Certainty::Certain)
    })
}

/// A counter of one process: its share of a sum, or the largest figure of any process.
fn figure(program: &Program, key: Key) -> Figure {
    let value = match key.entry().fold {
        Fold::Sum => program.each(key),
        Fold::Max => program.counters.get(key),
    };
    counter(key, value, !program.unfinished)
}

/// A counter. `is_settled`: after an orderly end.
fn counter(key: Key, value: u64, is_settled: bool) -> Figure {
    let entry = key.entry();
    let is_exact = matches!((entry.live, entry.killed), (Exactness::Exact, Exactness::Exact));
    let certainty = if is_exact || is_settled { Certainty::Certain } else { Certainty::AtLeast };
    Figure::counter(entry.key, value, certainty)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn program(counters: &[(Key, u64)], processes: u64) -> (Report, Program) {
        let mut process = sample::heap("/bin/x", 900, 8, 4096, (1024, 512));
        counters.iter().for_each(|&(key, figure)| process.counters.set(key, figure));
        process.processes = processes;
        let report = sample::report(vec![process]);
        let program = report.programs().remove(0);
        (report, program)
    }

    #[test]
    fn sums_are_shared_and_maxima_are_not() {
        let heap = heap(&program(&[(Key::HeapSegmentsFreed, 5), (Key::HeapUsed, 7)], 2).1);
        let certain = |figure: &Figure| figure.certain().expect("an orderly end");
        assert_eq!([&heap.segments, &heap.freed, &heap.used_last].map(certain), [4, 3, 4]);
        assert_eq!([&heap.used, &heap.held, &heap.initial].map(certain), [900, 4096, 1024]);
    }

    #[test]
    fn figures_of_a_running_process_have_their_certainty() {
        let (mut report, _) = program(&[], 1);
        report.processes[0].state = crate::State::Running;
        let heap = heap(&report.programs()[0]);
        assert_eq!(heap.segments.certainty, Certainty::Certain, "under a lock");
        assert_eq!((heap.used.certainty, heap.used_last.certainty), (Certainty::AtLeast, Certainty::Likely));
    }

    #[test]
    fn an_enclave_is_an_area_of_its_own() {
        let mut process = sample::heap("/bin/x", 900, 8, 4096, (1024, 512));
        process.state = crate::State::Running;
        let of = |kind: &str, ended: bool| {
            let counters =
                serde_json::json!({"heap": {"segments_allocated": 5, "used_peak": 700, "used": 20}});
            let heap = serde_json::json!({
                "kind": kind, "name": "job", "ended": ended, "created": 4, "counters": counters
            });
            serde_json::from_value::<Heap>(heap).expect("a heap")
        };
        process.heaps = vec![of("additional", true), of("enclave", true), of("enclave", false)];
        let report = sample::report(vec![process, sample::heap("/bin/other", 1, 1, 1, (0, 0))]);
        let program = &report.programs()[0];
        let all = enclaves(&report, program);
        let [ended, alive] = &all[..] else { panic!("{all:?}") };
        assert_eq!((ended.name.as_str(), ended.created.certain()), ("job", Some(4)));
        let heap = &ended.heap;
        assert_eq!(heap.used, Figure::counter("heap.used_peak", 700, Certainty::Certain));
        assert_eq!((heap.used_last.certain(), heap.initial.certain()), (Some(20), None));
        let heap = &alive.heap;
        assert_eq!(
            (heap.segments.certain(), heap.used.certain(), heap.used.at_least()),
            (Some(5), None, Some(700))
        );
        assert_eq!(heap.used_last.certainty, Certainty::Likely);
    }

    #[test]
    fn stacks_have_the_sizes_of_their_options() {
        let (mut report, of) = program(&[(Key::StackLargest, 9_000), (Key::StackMain, 5_000)], 1);
        let of_stack = |report: &Report| {
            let stack = stack(report, &of);
            (stack.initial.certain(), stack.increment.certain(), stack.used.value)
        };
        assert_eq!(of_stack(&report), (None, None, 9_000));
        sample::in_force(&mut report, "STACK(8K,4K)");
        assert_eq!(of_stack(&report), (Some(8 << 10), Some(4 << 10), 9_000));
        sample::in_force(&mut report, "STACK(AUTO,4K)");
        assert_eq!(of_stack(&report), (None, None, 9_000));
        sample::in_force(&mut report, "THREADSTACK(ON,256K)");
        assert_eq!(of_stack(&report).2, 5_000);
        assert_eq!(thread_stacks(&report, &of).initial.certain(), Some(256 << 10));
        sample::in_force(&mut report, "THREADSTACK(OFF,256K)");
        assert_eq!(thread_stacks(&report, &of).initial.certain(), None);
    }

    #[test]
    fn an_old_report_counts_all_threads() {
        let counters = [(Key::ThreadsStarted, 9), (Key::StackThread, 700), (Key::ThreadsPeak, 3)];
        let (report, mut of) = program(&counters, 1);
        of.counters = crate::Figures::unknown();
        counters.iter().for_each(|&(key, figure)| of.counters.set(key, figure));
        let old = (threads(&report, &of), thread_stacks(&report, &of));
        assert_eq!((old.0.of_default.value, old.0.of_default_at_once.value, old.1.used.value), (9, 3, 700));
        of.counters.set(Key::ThreadsOfDefaultSize, 2);
        let new = (threads(&report, &of), thread_stacks(&report, &of));
        assert_eq!((new.0.of_default.value, new.0.of_default_at_once.value, new.1.used.value), (2, 0, 0));
        assert_eq!((new.0.at_once.value, new.0.deepest.value), (3, 700));
    }
}
