//! Switches of a process (SWITCHES(ON)): entries to the kernel by component, kind of work and function.
//!
//! ```text
//! "switches": {"functions": 371, "calls": [{"component": "libstdc++.so.6", "kind": "print", "function": "write",
//!                                           "count": 10000, "bytes": 1330000}]}
//! ```
//!
//! A component is the module that called: the program, a library. What the C library enters the kernel for on its own is its own.
//!
//! Invariant: each pair of component, kind and function is there once, in the order of components, kinds and functions.
//! Not here: the time of calls ([`crate::switch_costs`]), lines for people ([`crate::switch_lines`]), the pages of the ledger
//! (`underbar_ledger::switches`).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use underbar_ledger::switch_names::{self, Function, KINDS, SwitchKind};
use underbar_ledger::switch_reset::Figure;
use underbar_ledger::switches::{FLAGS, NO_ROW, OF_PIPE, OF_WORK_FILE, PRINT, SAMPLED};
use underbar_ledger::{Key, SlotView};

use crate::figures::Figures;
use crate::library_calls::{self, LibraryCalls};
use crate::projection::{self, Projection};

/// The switches of a process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Switches {
    /// Functions of the C library whose place was taken, to count them or to note who calls them.
    pub functions: u64,
    /// The calls.
    pub calls: Vec<Calls>,
    /// Who calls components that hide their callers, by samples.
    #[serde(default)]
    pub callers: Vec<Caller>,
    /// Calls of functions of libraries that ZIIP(3GL) names, by other components.
    #[serde(default)]
    pub library_calls: Vec<LibraryCalls>,
    /// Functions of these libraries that are not counted, since there was no room.
    #[serde(default)]
    pub functions_left_out: u64,
    /// Programs of our own loader that were LINKed or CALLed, with their time.
    #[serde(default)]
    pub programs: Vec<ProgramCalls>,
    /// What could move to another class of processors; null without ZIIP(ELIGIBLE).
    #[serde(default)]
    pub projection: Option<Projection>,
    /// Whether the figures are those since a reset while the program ran. Otherwise they are those since its start.
    #[serde(default)]
    pub is_reset: bool,
    /// Read and write calls since a reset, for comparison with the kernel's count; null without a reset, or if they could not be compared.
    #[serde(default)]
    pub since_reset: Option<[Seen; 2]>,
}

/// Samples of the caller of a component that is between others and the kernel, as the C++ library does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caller {
    /// The component that hides its callers.
    pub component: String,
    /// The caller; empty: it was not found.
    pub caller: String,
    /// Samples: the first call of a thread, and one of 997 further calls.
    pub samples: u64,
}

/// LINKs or CALLs of one program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramCalls {
    /// The program.
    pub program: String,
    /// How: `LINK` or `CALL`.
    pub how: String,
    /// How often.
    pub count: u64,
    /// CPU time of the calling threads until it had ended, in nanoseconds: with what it calls itself, without its threads.
    pub cpu_ns: u64,
}

/// Calls of one function by one component for one kind of work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Calls {
    /// File name of the module that called; empty: code of no module.
    pub component: String,
    /// The kind of work.
    pub kind: String,
    /// The function.
    pub function: String,
    /// Calls.
    pub count: u64,
    /// Bytes that were asked for; null if the function has no such argument.
    pub bytes: Option<u64>,
}

impl Calls {
    /// What is known of the function.
    pub(crate) fn known(&self) -> Option<Function> {
        let number = (0..switch_names::FUNCTIONS).find(|&number| switch_names::name(number) == self.function);
        switch_names::function(number?)
    }

    /// Whether the kernel counts them as calls of the read or the write type.
    pub(crate) fn is_of_read_or_write(&self) -> bool {
        self.known().is_some_and(|function| function.is(Function::READS) || function.is(Function::WRITES))
    }
}

/// The function and the component of acquisitions of mutexes that had to wait: their places are in the report of locks.
pub(crate) const MUTEX: &str = "wait for a mutex";
const LOCKS: &str = "locks";
/// How much of the kernel's own count of one type was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// Calls that were counted.
    pub counted: u64,
    /// Calls that the kernel counted.
    pub kernel: u64,
}

impl Seen {
    /// Whether both are the same, within one of a hundred or four calls.
    #[must_use]
    pub fn is_complete(self) -> bool {
        self.counted.abs_diff(self.kernel) <= (self.kernel / 100).max(4)
    }
}

/// Read and write calls that were seen; None if they were not compared.
#[must_use]
pub fn seen(counters: &Figures) -> Option<[Seen; 2]> {
    let of = |counted, kernel| Seen { counted: counters.get(counted), kernel: counters.get(kernel) };
    let both = [of(Key::SwitchReads, Key::SwitchKernelReads), of(Key::SwitchWrites, Key::SwitchKernelWrites)];
    both.iter().any(|seen| seen.kernel > 0).then_some(both)
}

/// Calls since a reset, if they can be compared.
fn seen_since_reset(slot: &SlotView<'_>) -> Option<[Seen; 2]> {
    // As the process itself compares them: with threads, by the file of all of it.
    let is_one = slot.get(Key::ThreadsStarted) <= 1;
    let noted_calls = if is_one {
        [Figure::ReadsOfThread, Figure::WritesOfThread]
    } else {
        [Figure::ReadsOfProcess, Figure::WritesOfProcess]
    };
    let noted = |fact| {
        let of = slot
            .noted_switches()
            .filter(|noted| switch_names::function(noted.function).is_some_and(|function| function.is(fact)));
        of.fold(0_u64, |sum, noted| sum.saturating_add(noted.count))
    };
    let of = |counted, kernel, figure, fact| {
        let all: u64 = slot.get(kernel);
        Some(Seen {
            counted: slot.get(counted).saturating_sub(noted(fact)),
            kernel: all.checked_sub(slot.noted_figure(figure)?)?,
        })
    };
    let [reads, writes] = noted_calls;
    Some([
        of(Key::SwitchReads, Key::SwitchKernelReads, reads, Function::READS)?,
        of(Key::SwitchWrites, Key::SwitchKernelWrites, writes, Function::WRITES)?,
    ])
}

/// Libraries of databases, whose calls are of that kind.
const OF_DATABASES: [&str; 5] = ["libpq.so", "libmysqlclient", "libmariadb", "libsqlite3", "libclntsh"];
/// What the ledger calls the program.
const PROGRAM: &[u8] = b"the program itself";

impl Switches {
    /// Those of a slot; `program` is the name of its program. None if it counts none.
    pub(crate) fn of_slot(slot: &SlotView<'_>, program: &str) -> Option<Self> {
        if !slot.counts_switches() {
            return None;
        }
        let named = |module: &[u8]| match module {
            PROGRAM => program.to_owned(),
            module => String::from_utf8_lossy(module).into_owned(),
        };
        let mut sums = Sums::new();
        for site in slot.sites() {
            let Some(function) = switch_names::function(site.function) else { continue };
            let component = named(site.module);
            let kind = kind(function, site.first, &component);
            let sum = sums.entry((component, site.function, kind)).or_default();
            sum.0 = sum.0.saturating_add(site.count);
            sum.1 = sum.1.saturating_add(site.bytes);
        }
        let mut samples = BTreeMap::new();
        for (of, by, count) in slot.samples_of_callers() {
            *samples.entry((of, by)).or_insert(0_u64) += count;
        }
        let mut is_reset = false;
        for noted in slot.noted_switches() {
            is_reset = true;
            if noted.function == SAMPLED {
                let first = usize::try_from(noted.first).unwrap_or(NO_ROW);
                if let Some(count) = samples.get_mut(&(noted.row, first)) {
                    *count = count.saturating_sub(noted.count);
                }
                continue;
            }
            let Some(function) = switch_names::function(noted.function) else { continue };
            let component = named(slot.module_of_row(noted.row));
            let kind = kind(function, noted.first.into(), &component);
            take_off(&mut sums, (component, noted.function, kind), (noted.count, noted.bytes));
        }
        let is_program = |number: usize| [switch_names::LINK, switch_names::CALL].contains(&number);
        let of_programs = sums.iter().filter(|((_, number, _), sum)| is_program(*number) && sum.0 > 0);
        let mut programs: Vec<ProgramCalls> = of_programs
            .map(|((program, number, _), &(count, cpu_ns))| {
                let how = switch_names::name(*number).to_owned();
                ProgramCalls { program: program.clone(), how, count, cpu_ns }
            })
            .collect();
        programs.sort_by_key(|program| core::cmp::Reverse((program.cpu_ns, program.count)));
        let mut calls: Vec<Calls> = sums
            .into_iter()
            .filter(|(_, (count, _))| *count > 0)
            .map(|((component, number, kind), (count, bytes))| Calls {
                component,
                kind: kind.name().to_owned(),
                function: switch_names::name(number).to_owned(),
                count,
                bytes: switch_names::function(number)
                    .is_some_and(|function| function.is(Function::BYTES))
                    .then_some(bytes),
            })
            .collect();
        let place = |calls: &Calls| KINDS.into_iter().position(|kind| kind.name() == calls.kind);
        calls.sort_by(|a, b| (&a.component, place(a)).cmp(&(&b.component, place(b))));
        let waits =
            slot.get(Key::LockContended).saturating_sub(slot.noted_figure(Figure::Waits).unwrap_or(0));
        if waits > 0 {
            let [component, kind, function] = [LOCKS, SwitchKind::HandOver.name(), MUTEX].map(str::to_owned);
            calls.push(Calls { component, kind, function, count: waits, bytes: None });
        }
        let mut callers: Vec<Caller> = samples
            .into_iter()
            .filter(|(_, samples)| *samples > 0)
            .map(|((of, by), samples)| {
                let name = |row| named(slot.module_of_row(row));
                Caller { component: name(of), caller: name(by), samples }
            })
            .collect();
        callers
            .sort_by(|a, b| (&a.component, b.samples, &a.caller).cmp(&(&b.component, a.samples, &b.caller)));
        let projection = Projection::of_slot(slot);
        let library_calls = LibraryCalls::of_slot(slot, &named);
        let functions_left_out = slot.called_left_out();
        let functions = slot.functions_bound();
        Some(Self {
            functions,
            calls,
            callers,
            library_calls,
            functions_left_out,
            programs,
            projection,
            is_reset,
            since_reset: is_reset.then(|| seen_since_reset(slot)).flatten(),
        })
    }

    /// All calls.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.calls.iter().fold(0, |sum, calls| sum.saturating_add(calls.count))
    }
}

/// Calls and bytes of a component, a function and a kind of work.
type Sums = BTreeMap<(String, usize, SwitchKind), (u64, u64)>;

/// Takes off what was counted before a reset. The kind of a site is that of its first call, and may have been another one then: what one
/// kind does not have is taken off the others.
fn take_off(sums: &mut Sums, (component, function, kind): (String, usize, SwitchKind), off: (u64, u64)) {
    let (mut count, mut bytes) = off;
    let first = (component.clone(), function, kind);
    let others =
        KINDS.into_iter().filter(|other| *other != kind).map(|other| (component.clone(), function, other));
    for key in core::iter::once(first).chain(others) {
        let Some(sum) = sums.get_mut(&key) else { continue };
        let taken = count.min(sum.0);
        (sum.0, count) = (sum.0 - taken, count - taken);
        let taken = bytes.min(sum.1);
        (sum.1, bytes) = (sum.1 - taken, bytes - taken);
    }
}

/// The kind of work of calls of a function by a component.
fn kind(function: Function, first: u64, component: &str) -> SwitchKind {
    let (first, of_pipe, is_work_file) = (first & !FLAGS, first & OF_PIPE != 0, first & OF_WORK_FILE != 0);
    if function.kind == SwitchKind::File && function.is(Function::WRITES) && PRINT.contains(&first) {
        return SwitchKind::Print;
    }
    if of_pipe && (function.is(Function::READS) || function.is(Function::WRITES)) {
        return SwitchKind::HandOver;
    }
    if function.kind == SwitchKind::File && is_work_file {
        return SwitchKind::WorkFile;
    }
    let is_of_database = OF_DATABASES.iter().any(|library| component.starts_with(library));
    if is_of_database && matches!(function.kind, SwitchKind::Network | SwitchKind::File) {
        return SwitchKind::Database;
    }
    function.kind
}

/// The schema.
pub(crate) fn schema() -> Value {
    let text = |words: &str| json!({"type": "string", "description": words});
    let number = |words: &str| json!({"type": "integer", "minimum": 0, "description": words});
    let kinds: Vec<&str> = KINDS.into_iter().map(SwitchKind::name).collect();
    json!({
        "type": "object",
        "description": "Its entries to the kernel by component, kind of work and function; absent without SWITCHES(ON).",
        "properties": {
            "functions": number("Functions of the C library whose place was taken, to count them or to note who calls them."),
            "projection": projection::schema(),
            "programs": {"type": "array", "items": {
                "type": "object",
                "description": "LINKs or CALLs of one program by our own loader.",
                "properties": {
                    "program": text("The program."),
                    "how": {"enum": ["LINK", "CALL"], "description": "How it was started."},
                    "count": number("How often."),
                    "cpu_ns": number("CPU time of the calling threads until it had ended, in nanoseconds: with what it calls itself, without its threads."),
                },
                "required": ["program", "how", "count", "cpu_ns"],
            }},
            "library_calls": library_calls::schema(),
            "functions_left_out": number("Functions of libraries that ZIIP(3GL) names, but are not counted: there was no room."),
            "is_reset": {"type": "boolean",
                "description": "Whether the figures are those since a reset while the program ran (`underbar report --reset-switches`)."},
            "since_reset": {"type": ["array", "null"], "items": {
                "type": "object",
                "description": "Read calls, then write calls since a reset; null without one, or if they could not be compared.",
                "properties": {
                    "counted": number("Calls that were counted."),
                    "kernel": number("Calls that the kernel counted."),
                },
                "required": ["counted", "kernel"],
            }},
            "callers": {"type": "array", "items": {
                "type": "object",
                "description": "Samples of who calls a component that is between others and the kernel, as the C++ library does.",
                "properties": {
                    "component": text("The component."),
                    "caller": text("Its caller; empty: it was not found."),
                    "samples": number("The first call of each thread, and one of 997 further calls."),
                },
                "required": ["component", "caller", "samples"],
            }},
            "calls": {"type": "array", "items": {
                "type": "object",
                "description": "Calls of one function by one component for one kind of work.",
                "properties": {
                    "component": text("File name of the module that called; empty: code of no module."),
                    "kind": {"enum": kinds, "description": "The kind of work."},
                    "function": text("The function. `stream write` and the like are the C library's own, for its streams."),
                    "count": number("Calls."),
                    "bytes": {"type": ["integer", "null"], "minimum": 0,
                        "description": "Bytes that were asked for; null where the function has no such argument."},
                },
                "required": ["component", "kind", "function", "count", "bytes"],
            }},
        },
        "required": ["functions", "calls"],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_come_of_function_descriptor_and_library() {
        let of = |name: &str| {
            let number = (0..switch_names::FUNCTIONS).find(|&number| switch_names::name(number) == name);
            switch_names::function(number.expect("there")).expect("known")
        };
        assert_eq!(kind(of("write"), 2, "print"), SwitchKind::Print);
        assert_eq!(kind(of("write"), 1, "print"), SwitchKind::File, "standard input");
        assert_eq!(kind(of("read"), 2, "print"), SwitchKind::File);
        assert_eq!(kind(of("read"), 2 | OF_PIPE, "print"), SwitchKind::HandOver);
        assert_eq!(kind(of("write"), 2 | OF_PIPE, "print"), SwitchKind::Print);
        assert_eq!(kind(of("pthread_cond_wait"), 0, "print"), SwitchKind::HandOver);
        assert_eq!(kind(of("read"), 4 | OF_WORK_FILE, "print"), SwitchKind::WorkFile);
        assert_eq!(kind(of("send"), 0, "libpq.so.5"), SwitchKind::Database);
        assert_eq!(kind(of("mmap"), 0, "libpq.so.5"), SwitchKind::Storage);
    }

    #[test]
    fn what_was_counted_before_a_reset_is_taken_off() {
        let key = |function, kind| ("lib".to_owned(), function, kind);
        let mut sums = Sums::from([
            (key(1, SwitchKind::File), (10, 100)),
            (key(1, SwitchKind::Print), (5, 50)),
            (key(2, SwitchKind::File), (7, 0)),
        ]);
        take_off(&mut sums, key(1, SwitchKind::Print), (8, 80));
        take_off(&mut sums, key(3, SwitchKind::Print), (8, 80));
        assert_eq!(sums.into_values().collect::<Vec<_>>(), [(7, 70), (0, 0), (7, 0)]);
    }

    #[test]
    fn seen_is_complete_within_a_hundredth() {
        let of = |counted, kernel| Seen { counted, kernel }.is_complete();
        assert!(of(10_000, 10_064) && of(0, 3) && of(3, 1) && !of(9_000, 10_064) && !of(50, 389));
    }
}
