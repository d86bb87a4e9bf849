//! The report: one run with its program, its resources, and the accounts of its processes.
//!
//! ```text
//! Report
//!   run        program, arguments, how it ended
//!   steps      CPU, elapsed, faults: the kernel's figures for the whole run
//!   options    text, what was in force and where set, errors
//!   host       processors, page size, kernel, limits
//!   tree       all processes folded into one
//!   processes  one section each: identity, counters, owners of other memory
//!   over_time  figures over time, if they were asked for
//! ```
//!
//! Invariant: tree.counters is the fold of all sections, and of programs that the launcher itself could not follow. Integers are
//! bytes and nanoseconds; no floats.
//! Not here: the processes of one program together ([`crate::program`]), how a report is made ([`crate::gather`], [`crate::read`]) and
//! printed.

use serde::{Deserialize, Serialize};
use underbar_options::WhereSet;

pub use crate::file_name::file_name;

use crate::buffers::Buffer;
use crate::ecb_trace::EcbTrace;
use crate::ecbs::EcbClass;
use crate::fault::Fault;
use crate::figures::Figures;
use crate::heap::Heap;
use crate::locks::Locks;
use crate::over_time::OverTime;
use crate::pools::{Pools, Ranges};
use crate::sizes::Sizes;
use crate::steps::Steps;
use crate::switch_costs::SwitchCosts;
use crate::switches::{Calls, Switches};

/// Name and version of the form that a report has in JSON.
pub const SCHEMA: &str = "underbar.report/1";

/// A whole report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: String,
    /// Version of underbar that made it, such as `0.1.0`.
    pub underbar: String,
    /// The machine.
    pub host: Host,
    /// The program that was started.
    pub run: Run,
    /// The resources that the run used; null if no parent waited for it (`run --exec`, a bare preload).
    pub steps: Option<Steps>,
    /// The run-time options.
    #[serde(default)]
    pub options: Options,
    /// Everything together.
    pub tree: Tree,
    /// One section for each process, or for the ended processes of one program.
    #[serde(default)]
    pub processes: Vec<Process>,
    /// Figures over time; absent without `run --every`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over_time: Option<OverTime>,
    /// Call sites, as `underbar heap --json` has them; absent without `run --sites`. Nothing here reads it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sites: Option<serde_json::Value>,
}

/// The facts of the machine on which the figures depend.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// The name of the machine; absent in reports of an older underbar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Kernel name and release, such as `Linux 6.1.0`.
    pub kernel: String,
    /// Processors that the run could use.
    pub cores: u64,
    /// Bytes of a page.
    pub page_bytes: u64,
    /// The lowest limit on this run's memory: RLIMIT_AS, the control group, or the machine's own memory.
    pub memory_limit_bytes: Option<u64>,
    /// Stack of a thread that asks for no size (RLIMIT_STACK, as a rule).
    pub thread_stack_bytes: Option<u64>,
    /// Seconds to add to UTC for the local time that reports print.
    #[serde(default)]
    pub utc_offset_seconds: i64,
    /// Costs of switches; absent if none were counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switch_costs: Option<SwitchCosts>,
}

/// The program that was started, and how it ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// As on the command line. Bytes that are no UTF-8 are replaced.
    pub program: String,
    /// Its arguments, without the program itself.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// Its process; 0 where not known.
    pub process: u32,
    /// When it was started: nanoseconds since 1970-01-01 00:00 UTC.
    pub started_unix_ns: u64,
    /// How it ended; null while it runs, or if no parent waited.
    pub end: Option<End>,
    /// The name by which `underbar report` finds the accounts of processes that are still running; null if there are none.
    #[serde(default)]
    pub later: Option<Later>,
}

/// Processes of a run that were still running when the program ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Later {
    /// Their number.
    pub running: u64,
    /// The name to give to `underbar report`.
    pub name: String,
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// It returned this exit status.
    Exit(i32),
    /// It died by this signal.
    Signal(i32),
}

/// Run-time options, in the words of their parser.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Options {
    /// The text that the run was started with.
    #[serde(default)]
    pub text: String,
    /// The options in force at the end, one entry for each option.
    #[serde(default)]
    pub in_force: Vec<OptionInForce>,
    /// Options that are accepted without effect here, each with the reason: `ALL31(ON): ...`.
    #[serde(default)]
    pub without_effect: Vec<String>,
    /// Mistakes in the option text, in words.
    #[serde(default)]
    pub errors: Vec<String>,
    /// The texts that were read, from weak to strong.
    #[serde(default)]
    pub sources: Vec<OptionSource>,
}

impl Options {
    /// Was an option that is in force set there?
    #[must_use]
    pub fn has_set(&self, place: WhereSet) -> bool {
        self.in_force.iter().any(|option| option.where_set == place.label())
    }

    /// Are the defaults those of Language Environment?
    #[must_use]
    pub fn has_le_defaults(&self) -> bool {
        self.has_set(WhereSet::LanguageEnvironmentDefault)
    }
}

/// A text with options.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OptionSource {
    /// Its layer, such as `user options file`.
    pub where_set: String,
    /// Its file, variable or flag.
    pub origin: String,
    /// The text.
    pub text: String,
}

/// One option, and the place where it was set last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OptionInForce {
    /// Such as `HEAP(67108864,16777216,ANYWHERE,KEEP,8192,4096)`.
    pub option: String,
    /// Such as `Invocation command`.
    pub where_set: String,
}

/// All processes together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tree {
    /// Processes that kept accounts. A process that becomes another program is one process.
    pub processes: u64,
    /// Different programs that they ran.
    pub programs: u64,
    /// Programs for which the ledger had no room.
    pub unrecorded: u64,
    /// Their counters, each folded by its rule: sums, and the largest of peaks.
    pub counters: Figures,
    /// Their requests by size, added; null if not known.
    #[serde(default)]
    pub sizes: Option<Sizes>,
    /// Locks of processes without a section of their own: they were folded with others.
    #[serde(default)]
    pub other_locks: Vec<Locks>,
}

/// The state of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It had not ended when the report was made.
    Running,
    /// It ended, or became another program, and settled its counts.
    Ended,
    /// It was killed before it could settle its counts.
    Killed,
    /// Several ended processes of one program, folded together.
    Folded,
}

/// One process, or several ended processes of one program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// Path of the program's file. Bytes that are no UTF-8 are replaced. If the path has more than 256 bytes, only its last
    /// parts are kept, without a slash before them.
    pub program: String,
    /// The name by which it was started, if that is another name of the file, such as a link; else null.
    #[serde(default)]
    pub started_as: Option<String>,
    /// Its arguments, beginning with its own name, cut to the room in the ledger.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// Its number; if several processes are folded, that of the last.
    pub process: u32,
    /// Its parent.
    pub parent: u32,
    /// The number of processes in these figures. A process that ran the program twice, by exec, counts twice.
    pub processes: u64,
    /// Its state.
    pub state: State,
    /// When it started: nanoseconds after the run began.
    pub started_ns: u64,
    /// When it ended; null while it runs or if it was killed.
    pub ended_ns: Option<u64>,
    /// Mistakes that the runtime found in its options.
    #[serde(default)]
    pub option_errors: u64,
    /// The heading that it gave to its storage report (CEE3RPH); absent if it gave none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub heading: String,
    /// Its counters.
    pub counters: Figures,
    /// Its requests by size; null if not known.
    #[serde(default)]
    pub sizes: Option<Sizes>,
    /// Its heap pools; absent without HEAPPOOLS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pools: Option<Pools>,
    /// Its requests by ranges of 8 bytes; absent without RPTSTG(ON).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranges: Option<Ranges>,
    /// Its classes of ECBs, in the order in which they were made; absent without ECBs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ecbs: Vec<EcbClass>,
    /// The last requests of its threads in ECBs; absent without ECB(TRACE).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ecb_traces: Vec<EcbTrace>,
    /// Threads that made requests under ECB(TRACE(n)) while all trace tables were in use.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub ecb_threads_without_trace: u64,
    /// Its entries to the kernel by component; absent without SWITCHES(ON).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switches: Option<Switches>,
    /// Its buffers of print and work files; absent if it has none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub buffers: Vec<Buffer>,
    /// Its heaps, the default one first; absent if it has no other heap, or if several processes are folded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub heaps: Vec<Heap>,
    /// The areas of the storage report for which it did not ask, such as LIBSTACK: their figures are null or 0 for that reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub none: Vec<String>,
    /// Other owners of anonymous memory in it.
    #[serde(default)]
    pub owners: Vec<Owner>,
    /// Another allocator in it; null if none is known.
    #[serde(default)]
    pub allocator: Option<Allocator>,
    /// Its locks; null if none was waited for, or if several processes are folded.
    #[serde(default)]
    pub locks: Option<Locks>,
    /// Why underbar ended it; null if it did not. If several processes are folded, the first reason.
    #[serde(default)]
    pub fault: Option<Fault>,
}

/// An allocator other than this heap.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Allocator {
    /// File name of its library, or another description.
    pub name: String,
    /// Its role in the program.
    pub role: Role,
}

/// The role of another allocator in a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The program brings it along; this heap serves malloc instead.
    Replaced,
    /// It serves malloc, since the loader finds it before this heap.
    Serves,
    /// It is linked into the program under its own function names: calls of these do not reach this heap.
    Inside,
}

/// A library or program that mapped anonymous memory past the heap.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// File name of the library, or another description.
    pub name: String,
    /// Resident bytes, in the measurement with the most memory.
    pub bytes: u64,
    /// The most in any measurement.
    pub peak_bytes: u64,
}

impl Process {
    /// The requests by ranges of 8 bytes that its pools serve: those of its default heap.
    #[must_use]
    pub fn ranges_of_pools(&self) -> Option<&Ranges> {
        let default = self.heaps.iter().find(|heap| heap.kind == crate::heap::Kind::Default);
        default.and_then(|heap| heap.ranges.as_ref()).or(self.ranges.as_ref())
    }

    /// The program's name: the name by which it was started, or its file's name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.started_as.as_deref().unwrap_or_else(|| file_name(&self.program))
    }
}

impl Report {
    /// Whether a process counted its switches.
    #[must_use]
    pub fn counts_switches(&self) -> bool {
        self.processes.iter().any(|process| process.switches.is_some())
    }

    /// Whether a process that counted its switches made threads, processes or programs.
    #[must_use]
    pub fn starts_processes(&self) -> bool {
        let all = self.processes.iter().filter_map(|process| process.switches.as_ref());
        all.flat_map(|switches| &switches.calls).any(Calls::starts_process)
    }

    /// The locks of all processes.
    pub fn locks(&self) -> impl Iterator<Item = &Locks> {
        self.processes.iter().filter_map(|process| process.locks.as_ref()).chain(&self.tree.other_locks)
    }

    /// The sub-options in force of an option, such as `HEAP`, as they were printed; an omitted one is empty. None if the report
    /// does not know the option.
    #[must_use]
    pub fn sub_options(&self, name: &str) -> Option<Vec<&str>> {
        self.options.in_force.iter().find_map(|entry| {
            let (option, rest) = entry.option.split_once('(')?;
            let inner = rest.trim_end().strip_suffix(')')?;
            option.trim().eq_ignore_ascii_case(name).then(|| split_outside(inner))
        })
    }

    /// The increment of threads' stacks under THREADSTACK(ON). None: each is one segment.
    #[must_use]
    pub fn thread_increment(&self) -> Option<u64> {
        let values = self.sub_options("THREADSTACK").filter(|_| self.threads_are_governed())?;
        crate::units::parse_size(values.get(2)?).filter(|&bytes| bytes > 0)
    }

    /// True under THREADSTACK(ON): then STACK applies to the first thread only, and otherwise to all threads.
    #[must_use]
    pub fn threads_are_governed(&self) -> bool {
        self.sub_options("THREADSTACK")
            .is_some_and(|values| values.first().is_some_and(|on| on.eq_ignore_ascii_case("ON")))
    }

    /// The report as JSON, one line and a line feed.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Plain structs with string keys: writing them into memory cannot fail.
        let mut text = serde_json::to_string(self).expect("a report is plain data");
        text.push('\n');
        text
    }
}

/// Splits at commas outside of parentheses.
fn split_outside(text: &str) -> Vec<&str> {
    let mut depth = 0_i32;
    let parts = text.split(move |character| {
        depth += i32::from(character == '(') - i32::from(character == ')');
        character == ',' && depth == 0
    });
    parts.map(str::trim).collect()
}

/// For figures that are left out when there is nothing to tell.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_zero(figure: &u64) -> bool {
    *figure == 0
}

#[cfg(test)]
mod tests {
    use crate::sample;

    #[test]
    fn sub_options_keep_omitted_ones() {
        let mut report = sample::getfree();
        report.options.in_force[0].option = "Heap( 1M,,ANYWHERE, KEEP )".to_owned();
        assert_eq!(report.sub_options("HEAP"), Some(vec!["1M", "", "ANYWHERE", "KEEP"]));
        assert_eq!(report.sub_options("LIBSTACK"), None);
        report.options.in_force[0].option = "HEAPPOOLS(ON,(16,4), 20,32)".to_owned();
        assert_eq!(report.sub_options("HEAPPOOLS"), Some(vec!["ON", "(16,4)", "20", "32"]));
    }
}
