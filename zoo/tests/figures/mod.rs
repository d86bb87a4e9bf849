//! Every counter of the ledger's table against an independent count.
//!
//! ```text
//! program counts by itself ─────────┐
//! strace, /proc/PID/maps, its own ──┼── the same figure? ── underbar run --json
//! stack pointer, its arguments ─────┘
//! ```
//!
//! [`exact`] is for counters that the table calls exact, and for those that it calls exact within a bound after a
//! program's good end; [`between`] is for the bound itself, and for sampled ones. Each check names its counters and fails if
//! it did not compare one of them; a counter of the table without a check fails [`every_counter_has_a_check`].

mod caches;
mod fetches;
mod follow;
mod heap;
mod later;
mod live;
mod locks;
mod namespaces;
mod opens;
mod options;
mod parts;
mod program_starts;
mod segments;
mod services;
mod stacks;
mod switches;
mod thread_heaps;
mod transfers;
mod used;

use std::cell::{Cell, RefCell};
use std::fs;
use std::ops::RangeInclusive;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use underbar_launch::ControlPage;
use underbar_ledger::control::{Disposition, Kind, Target};
use underbar_ledger::table::KEYS;
use underbar_ledger::{Exactness, Key};
use underbar_zoo::{
    Left, Running, code, compiled, executable, is_superuser, left, scratch, skip, text, underbar,
};

use caches::*;
use fetches::*;
use follow::*;
use heap::*;
use live::*;
use locks::*;
use opens::*;
use program_starts::*;
use segments::*;
use services::*;
use stacks::*;
use switches::*;
use thread_heaps::*;
use transfers::*;

const MIB: u64 = 1 << 20;
const PAGE: u64 = 4096;
const KILLED: i32 = -9;
const SIGABRT: i32 = 6;

// ---- comparing ---------------------------------------------------------------------------------------------------

thread_local! {
    static COMPARED: RefCell<Vec<Key>> = const { RefCell::new(Vec::new()) };
    static SKIPPED: Cell<bool> = const { Cell::new(false) };
}

macro_rules! checks {
    ($($name:ident: $($key:ident)+;)*) => {
        const CHECKED: &[Key] = &[$($(Key::$key),+),*];
        mod checks {
            use super::Key;
            $(#[test] fn $name() { super::run_check(super::$name, &[$(Key::$key),+]) })*
        }
    };
}

checks! {
    requests_are_those_that_the_program_counts: HeapGets HeapFrees HeapUsed HeapGrownInPlace HeapMoved HeapFailedGets;
    the_peak_is_that_of_the_program: HeapUsedPeak;
    the_largest_request_is_exact_beyond_a_kibibyte: HeapLargestRequest;
    cells_that_another_thread_gave_back_are_counted: HeapRemoteFrees;
    what_is_not_ours_is_counted: HeapForeignFrees;
    processes_that_the_heap_ended_are_those_with_sigabrt: HeapFaults;
    a_killed_program_s_figures_keep_their_bound: HeapGets HeapFrees HeapUsed HeapUsedPeak;
    a_killed_program_s_segments_are_exact: HeapSegmentsAllocated HeapSegmentBytes HeapSegmentBytesPeak;
    segments_are_the_kernel_s_calls: HeapSegmentsAllocated HeapSegmentsFreed HeapSegmentBytes HeapSegmentBytesPeak HeapSegmentBytesTotal HeapOversizeSegments HeapOwnBytes AnyHeapSegmentsAllocated;
    segments_are_in_the_memory_map: HeapSegmentBytes HeapOwnBytes;
    sizes_are_those_of_the_option: HeapInitialSize HeapIncrementSize;
    pages_given_back_are_the_kernel_s_calls: HeapPurges HeapPurgedBytes;
    huge_pages_are_asked_of_the_kernel_where_all_is_touched: HeapHugeBytes;
    segments_are_joined_near_the_kernel_s_limit: HeapMapFallbacks;
    additional_heaps_are_those_that_the_program_counts: AdditionalCreates AdditionalDiscards AdditionalGets AdditionalFrees AdditionalUsed AdditionalUsedPeak AdditionalSegmentsAllocated AdditionalSegmentsFreed;
    heaps_of_threads_are_those_that_the_program_counts: ThreadHeapLargest ThreadHeapsLeft;
    threads_are_counted: ThreadsStarted ThreadsPeak ThreadsOfDefaultSize ThreadsOfDefaultSizePeak;
    stacks_are_measured_to_the_page: StackLargest StackMain StackThread StackConcurrent;
    locked_stacks_are_what_was_used_of_them: StackThread StackMain;
    a_size_that_was_asked_for_is_given_though_it_is_the_default: StackThread StackFallbacks StackDefaultSize ThreadsOfDefaultSize;
    stacks_for_which_there_is_no_room_are_counted: StackFallbacks;
    stacks_that_the_program_brings_are_measured_while_they_are_fresh: StackThread StackReused;
    segments_of_threads_are_those_that_they_reach: ThreadStackSegmentsAllocated ThreadStackSegmentsFreed;
    what_underbar_requests_for_threads_is_counted: AnyHeapGets AnyHeapFrees AnyHeapSegmentsFreed AnyHeapStacks;
    segments_of_stacks_of_programs_are_those_that_they_count: StackSegmentsAllocated StackSegmentsFreed;
    a_recycled_stack_reads_no_higher_than_it_was_used: StackThread StackConcurrent;
    reads_of_underbar_are_those_that_the_program_does_not_make: OwnReads OwnReadBytes;
    what_a_child_has_from_its_parent_is_told: HeapInherited ProcessContinued;
    opens_beside_the_preload_are_counted: DeepbindOpens DeepbindUnbound NamespacesOpened;
    page_faults_are_those_of_the_program_itself: ProcessFaults;
    writes_past_the_end_are_counted: HeapDamagedZones;
    walks_are_one_for_each_request: HeapWalks;
    a_reserve_that_is_used_is_counted: HeapReserveUsed;
    filled_frames_are_the_returns_of_the_program: StackFilledFrames StackFilledBytes;
    memory_past_the_heap_is_seen: CoverageAnonymous CoverageHeap;
    a_running_program_obeys_what_is_changed_outside: ControlObeyed HeapSegmentsFreed;
    waits_for_locks_are_those_that_the_program_arranges: LockContended LockParked LockSpun LockWait LockWaitMax LockSpin LockLocks LockUnrecorded;
    waits_without_sleep_are_those_in_which_a_thread_stayed_on: LockSpun LockSpin LockContended;
    more_locks_than_there_are_records_are_counted: LockLocks LockUnrecorded LockContended;
    kinds_of_mutex_left_to_the_c_library_are_counted: LockPassedThrough;
    read_and_write_calls_are_those_of_the_kernel: SwitchReads SwitchWrites SwitchKernelReads SwitchKernelWrites;
    time_of_components_is_that_of_the_threads: SwitchEligible SwitchIneligible SwitchRuns;
    time_of_placed_threads_is_that_of_their_clocks: ClassThreads ClassRefused ClassTime ClassOtherTime;
    a_reservation_holds_the_buffers_that_fit: ThreadStorageSize ThreadStorageReached ThreadStorageOutside;
    limits_are_those_of_the_processes: CpuLimit CpuLimitStarts CpuLimitByKernel;
    timers_are_those_that_the_program_sets: TimerSet TimerSwallowed TimerEarly TimerSent;
    fetches_are_the_messages_to_the_server: FetchAsked FetchServed FetchSent FetchAlone FetchNotReadOnly FetchDeclaration FetchLimit FetchVolatileType FetchNode FetchTemporary FetchFunction FetchOperator FetchDoubtful FetchConnection FetchWaited;
    calls_of_caches_are_the_program_s_and_the_kernel_s: CacheCalls CacheKernelCalls CacheBytes CacheNotWritten CacheLeftPlain;
    programs_not_followed_are_counted: NotFollowedStatic NotFollowedBits32 NotFollowedOtherLibc NotFollowedSanitizer NotFollowedOtherMachine NotFollowedMalformed NotFollowedEnvironment NotFollowedByRequest NotFollowedLittleMemory NotFollowedFiltered;
    programs_of_another_underbar_are_counted: NotFollowedOtherRun;
    programs_with_other_rights_or_another_root_are_counted: NotFollowedSetUid NotFollowedCapabilities NotFollowedUnreadable NotFollowedPreloadHidden NotFollowedLedger;
}

fn run_check(check: fn(), keys: &[Key]) {
    check();
    for key in keys {
        let was_compared = COMPARED.with_borrow(|all| all.contains(key));
        assert!(was_compared || SKIPPED.get(), "{} was not compared", key.entry().key);
    }
}

#[test]
fn every_counter_has_a_check() {
    for key in KEYS {
        assert!(CHECKED.contains(&key), "nothing compares {} with an independent count", key.entry().key);
    }
}

/// A program's section of a report, and the program's result.
struct Account {
    section: Value,
    report: Value,
    left: Left,
}

impl Account {
    fn get(&self, key: Key) -> u64 {
        COMPARED.with_borrow_mut(|all| all.push(key));
        figure(&self.section, key)
    }

    fn was_killed(&self) -> bool {
        self.section["state"] == "killed"
    }

    /// The number after this word in the program's output.
    fn said(&self, word: &str) -> u64 {
        let mut words = self.left.output.split_whitespace().skip_while(|other| *other != word);
        words
            .nth(1)
            .and_then(|number| number.parse().ok())
            .unwrap_or_else(|| panic!("{word}: {:?}", self.left))
    }
}

fn figure(section: &Value, key: Key) -> u64 {
    let (area, name) = key.entry().key.split_once('.').expect("an area and a name");
    section["counters"][area][name].as_u64().unwrap_or_else(|| panic!("{} in {section}", key.entry().key))
}

#[track_caller]
fn exact(account: &Account, key: Key, expected: u64) {
    let promise = if account.was_killed() { key.entry().killed } else { key.entry().live };
    assert!(
        promise == Exactness::Exact || !account.was_killed() && matches!(promise, Exactness::Within(_)),
        "{} does not claim to be exact",
        key.entry().key
    );
    assert_eq!(account.get(key), expected, "{}", key.entry().key);
}

#[track_caller]
fn between(account: &Account, key: Key, expected: RangeInclusive<u64>) {
    assert_ne!(key.entry().killed, Exactness::Exact, "{} claims to be exact", key.entry().key);
    let found = account.get(key);
    assert!(expected.contains(&found), "{} is {found}, not in {expected:?}", key.entry().key);
}

/// Runs a program with these options, and picks its section of the report.
fn account(options: &str, line: &[&str]) -> Account {
    account_of(&["--opts", options], line, line[0])
}

fn account_of(flags: &[&str], line: &[&str], program: &str) -> Account {
    static NUMBER: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let file = underbar_zoo::folder().join(format!("figures-{}-{number}.json", std::process::id()));
    let mut run = Command::new(underbar());
    run.args(["run", "--json", "-o"]).arg(&file).args(flags).arg("--").args(line);
    let left = left(run.env_remove("LD_PRELOAD").env_remove("UNDERBAR_OPTS"));
    let text = fs::read(&file).unwrap_or_else(|error| panic!("{line:?}: {error}: {left:?}"));
    fs::remove_file(file).expect("removed");
    let report: Value = serde_json::from_slice(&text).expect("a report");
    let sections = report["processes"].as_array().expect("processes");
    let section = sections.iter().find(|section| section["program"] == *program);
    Account { section: section.unwrap_or_else(|| panic!("{program} in {report}")).clone(), report, left }
}

fn program(name: &str) -> String {
    text(&compiled(&format!("figures/{name}"), &format!("figures-{name}"), &[])).to_owned()
}

fn counted(mode: &[&str]) -> Account {
    let program = program("counted");
    let account = account("", &[&[program.as_str()], mode].concat());
    assert_eq!(account.left.error, "", "{mode:?}");
    account
}

fn skipped(what: &str) {
    skip(what);
    SKIPPED.set(true);
}
