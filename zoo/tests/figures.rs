//! Every counter of the ledger's table against an independent count.
//!
//! ```text
//! program counts by itself ─────────┐
//! strace, /proc/PID/maps, its own ──┼── the same figure? ── underbar run --json
//! stack pointer, what it was told ──┘
//! ```
//!
//! [`exact`] is for what the table calls exact, and for what it calls exact within a bound once the program has ended in
//! good order; [`between`] for the bound itself, and for what is sampled. Each check names its counters and fails where
//! it did not compare one of them; a counter of the table without a check fails [`every_counter_has_a_check`].

use std::cell::{Cell, RefCell};
use std::fs;
use std::ops::RangeInclusive;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use underbar_launch::ControlPage;
use underbar_ledger::control::{Disposition, Kind, Target};
use underbar_ledger::table::KEYS;
use underbar_ledger::{Exactness, Key};
use underbar_zoo::{Left, Running, code, compiled, is_superuser, left, scratch, skip, underbar};

const MIB: u64 = 1 << 20;
const PAGE: u64 = 4096;
const KILLED: i32 = -9;
/// Used by the C library and by underbar before `main`, on the first thread's stack.
const BEFORE_MAIN: u64 = 24 << 10;

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
    a_killed_program_s_figures_keep_their_bound: HeapGets HeapFrees HeapUsed HeapUsedPeak;
    a_killed_program_s_segments_are_exact: HeapSegmentsAllocated HeapSegmentBytes HeapSegmentBytesPeak;
    segments_are_the_kernel_s_calls: HeapSegmentsAllocated HeapSegmentsFreed HeapSegmentBytes HeapSegmentBytesPeak HeapSegmentBytesTotal HeapOversizeSegments HeapOwnBytes;
    segments_are_in_the_memory_map: HeapSegmentBytes HeapOwnBytes;
    sizes_are_those_of_the_option: HeapInitialSize HeapIncrementSize;
    pages_given_back_are_the_kernel_s_calls: HeapPurges HeapPurgedBytes;
    huge_pages_are_asked_of_the_kernel_where_all_is_touched: HeapHugeBytes;
    segments_are_joined_near_the_kernel_s_limit: HeapMapFallbacks;
    threads_are_counted: ThreadsStarted ThreadsPeak;
    stacks_are_measured_to_the_page: StackLargest StackMain StackThread StackConcurrent;
    a_recycled_stack_reads_no_higher_than_it_was_used: StackThread StackConcurrent;
    memory_past_the_heap_is_seen: CoverageAnonymous CoverageHeap;
    a_running_program_obeys_what_is_changed_outside: ControlObeyed HeapSegmentsFreed;
    waits_for_locks_are_those_that_the_program_arranges: LockContended LockParked LockSpun LockWait LockWaitMax LockSpin LockLocks LockUnrecorded;
    waits_without_sleep_are_those_in_which_a_thread_stayed_on: LockSpun LockSpin LockContended;
    more_locks_than_there_are_records_are_counted: LockLocks LockUnrecorded LockContended;
    kinds_of_mutex_left_to_the_c_library_are_counted: LockPassedThrough;
    programs_not_followed_are_counted: NotFollowedStatic NotFollowedBits32 NotFollowedOtherLibc NotFollowedOtherMachine NotFollowedMalformed NotFollowedEnvironment NotFollowedByRequest;
    programs_with_other_rights_or_another_root_are_counted: NotFollowedSetUid NotFollowedCapabilities NotFollowedUnreadable NotFollowedPreloadHidden;
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

/// A program's section of a report, and what the program left.
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

    /// The number behind this word in the program's output.
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

fn text(path: &Path) -> &str {
    path.to_str().expect("a path of text")
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

// ---- the heap: what a program counts by itself -------------------------------------------------------------------

fn requests_are_those_that_the_program_counts() {
    let modes = ["small", "random", "realloc", "large", "remote", "peak"];
    let lines =
        modes.iter().map(|mode| vec![*mode]).chain([vec![], vec!["fails", "10"], vec!["threads", "20"]]);
    for mode in lines {
        let account = counted(&mode);
        assert_eq!(code(account.left.status), 0, "{mode:?}");
        exact(&account, Key::HeapGets, account.said("gets"));
        exact(&account, Key::HeapFrees, account.said("frees"));
        exact(&account, Key::HeapUsed, account.said("held"));
        exact(&account, Key::HeapMoved, account.said("moved"));
        exact(&account, Key::HeapGrownInPlace, account.said("stayed"));
        exact(&account, Key::HeapFailedGets, account.said("failed"));
    }
    // An aligned element may have some of its block before it.
    let account = counted(&["aligned"]);
    exact(&account, Key::HeapGets, 5000);
    exact(&account, Key::HeapFrees, 2500);
    let held = account.said("held");
    between(&account, Key::HeapUsed, held..=held + 2500 * 32);
}

fn the_peak_is_that_of_the_program() {
    let account = counted(&["peak"]);
    let peak = account.said("peak");
    // Cells of one size: 64 KiB that were not published, and one list of cells of at most 64 KiB.
    between(&account, Key::HeapUsedPeak, peak - 64 * 1024..=peak + 64 * 1024);
    // So little that nothing was published before all was given back; other cells are those of the C library.
    for count in ["3", "40", "300"] {
        let account = counted(&["small-peak", count]);
        let peak = account.said("peak");
        between(&account, Key::HeapUsedPeak, peak - peak / 16..=peak + peak / 16 + 512);
    }
    let account = counted(&["large"]);
    exact(&account, Key::HeapUsedPeak, account.said("peak"));
    // Frees of cells are counted when an eighth of an extent has come back.
    let account = counted(&["random"]);
    let peak = account.said("peak");
    between(&account, Key::HeapUsedPeak, peak - 64 * 1024..=peak + peak / 8);
}

fn the_largest_request_is_exact_beyond_a_kibibyte() {
    for mode in ["random", "realloc", "large", "aligned"] {
        let account = counted(&[mode]);
        let largest = account.said("largest");
        between(&account, Key::HeapLargestRequest, largest..=largest);
    }
    let account = counted(&["small"]);
    between(&account, Key::HeapLargestRequest, 0..=account.said("largest"));
}

fn cells_that_another_thread_gave_back_are_counted() {
    let account = counted(&["remote"]);
    exact(&account, Key::HeapRemoteFrees, 100_000);
    let account = counted(&["small"]);
    exact(&account, Key::HeapRemoteFrees, 0);
}

fn what_is_not_ours_is_counted() {
    let account = account("", &[&program("foreign"), "1000"]);
    assert_eq!(account.left.output, "done\n");
    exact(&account, Key::HeapForeignFrees, 1000);
}

// ---- locks -------------------------------------------------------------------------------------------------------

fn waits(how: &str, arguments: &[&str]) -> Account {
    let program = text(&compiled("figures/waits", "figures-waits", &["-pthread"])).to_owned();
    let account = account(&format!("LOCK({how})"), &[&[program.as_str()], arguments].concat());
    assert_eq!(code(account.left.status), 0, "{arguments:?}: {:?}", account.left);
    account
}

fn waits_for_locks_are_those_that_the_program_arranges() {
    for how in ["COUNT", "SIMPLE"] {
        let account = waits(how, &["asleep", "40", "7"]);
        exact(&account, Key::LockContended, 40);
        exact(&account, Key::LockLocks, 7);
        exact(&account, Key::LockUnrecorded, 0);
        exact(&account, Key::LockParked, if how == "SIMPLE" { 40 } else { 0 });
        exact(&account, Key::LockSpun, 0);
        between(&account, Key::LockWait, account.said("least")..=account.said("most"));
        between(&account, Key::LockWaitMax, account.said("longest-least")..=account.said("longest-most"));
        between(&account, Key::LockSpin, 0..=if how == "SIMPLE" { account.said("most") } else { 0 });
    }
    let account = waits("OFF", &["asleep", "40", "7"]);
    for key in [Key::LockContended, Key::LockLocks, Key::LockParked] {
        exact(&account, key, 0);
    }
}

fn waits_without_sleep_are_those_in_which_a_thread_stayed_on() {
    let account = waits("SIMPLE", &["briefly", "20000"]);
    let (contended, spun) = (account.get(Key::LockContended), account.get(Key::LockSpun));
    // One that is woken before it sleeps looks to the program like one that stayed on; that sleeps twice, like two.
    let (slept, parked) = (account.said("slept"), account.get(Key::LockParked));
    assert!(
        (contended.saturating_sub(parked)..=contended.saturating_sub(slept)).contains(&spun),
        "{contended} waits, {spun} without sleep, {slept} seen asleep, {parked} sleeps"
    );
    between(&account, Key::LockSpin, 0..=account.said("most"));
}

fn more_locks_than_there_are_records_are_counted() {
    let account = waits("COUNT", &["asleep", "400", "400"]);
    exact(&account, Key::LockContended, 400);
    let locks = account.get(Key::LockLocks);
    assert!((200..=256).contains(&locks), "{locks}");
    exact(&account, Key::LockUnrecorded, 400 - locks);
}

fn kinds_of_mutex_left_to_the_c_library_are_counted() {
    for how in ["COUNT", "SIMPLE"] {
        exact(&waits(how, &["kinds"]), Key::LockPassedThrough, 6);
    }
    exact(&waits("OFF", &["kinds"]), Key::LockPassedThrough, 0);
    exact(&waits("COUNT", &["asleep", "1", "1"]), Key::LockPassedThrough, 0);
}

// ---- after SIGKILL -----------------------------------------------------------------------------------------------

fn a_killed_program_s_figures_keep_their_bound() {
    for (count, size) in [(10, 40), (5_000, 40), (100_000, 16), (100_000, 200), (3_000, 5_000), (100_000, 0)]
    {
        let account = counted(&["killed", &count.to_string(), &size.to_string()]);
        assert_eq!((code(account.left.status), account.was_killed()), (KILLED, true));
        let (gets, held) = (account.said("gets"), account.said("held"));
        // 1,024 requests, and a list of at most 4 KiB or one cell for each size.
        let sizes = if size == 0 { 33 } else { 1 };
        let lists = if size == 0 { sizes * 256 } else { 4096 / size.max(16) + 1 };
        between(&account, Key::HeapGets, gets.saturating_sub(1024 + lists)..=gets);
        let slack = (held / 64).max(64 * 1024) + 8192 * sizes;
        between(&account, Key::HeapUsed, held.saturating_sub(slack)..=held + slack);
        between(&account, Key::HeapUsedPeak, held.saturating_sub(slack)..=held + slack);
    }
    for keep in [2, 10, 1024, 100_000] {
        let account = counted(&["freed-killed", "100000", "64", &keep.to_string()]);
        let (gets, frees, held) = (account.said("gets"), account.said("frees"), account.said("held"));
        // 98 extents of 1,023 cells: an eighth of each may not have been looked at.
        let unseen = 98 * 1023_u64.div_ceil(8) + 1024 + 1023;
        between(&account, Key::HeapGets, gets - 1024 - 1023..=gets);
        between(&account, Key::HeapFrees, frees.saturating_sub(unseen)..=frees);
        between(&account, Key::HeapUsed, held.saturating_sub(128 * 1024)..=held + unseen * 64 + 128 * 1024);
    }
}

fn a_killed_program_s_segments_are_exact() {
    let program = program("counted");
    let account = account("HEAP(64K,64K,,KEEP)", &[&program, "killed", "1000", "60000"]);
    assert!(account.was_killed());
    exact(&account, Key::HeapSegmentsAllocated, 1000);
    exact(&account, Key::HeapSegmentBytes, 1000 * 64 * 1024);
    exact(&account, Key::HeapSegmentBytesPeak, 1000 * 64 * 1024);
}

// ---- segments against the kernel ---------------------------------------------------------------------------------

/// Calls that `strace` saw the program make: name, and the numbers of its arguments as far as they are numbers.
struct Trace(Vec<String>);

impl Trace {
    /// Lengths of the private mappings without a file that the program made and kept the right to write to.
    fn mapped(&self) -> Vec<u64> {
        self.0
            .iter()
            .filter(|line| line.starts_with("mmap(NULL, ") && is_ours_to_write(line))
            .map(|line| length(line))
            .collect()
    }

    fn unmapped(&self) -> Vec<u64> {
        self.0.iter().filter(|line| line.starts_with("munmap(")).map(|line| length(line)).collect()
    }

    fn asked_for_huge(&self) -> Vec<u64> {
        let is_advice = |line: &&String| {
            line.starts_with("madvise(") && line.contains("MADV_HUGEPAGE") && line.ends_with("= 0")
        };
        self.0.iter().filter(is_advice).map(|line| length(line)).collect()
    }

    fn given_back(&self) -> Vec<u64> {
        let is_advice = |line: &&String| line.starts_with("madvise(") && line.contains("MADV_DONTNEED");
        self.0.iter().filter(is_advice).map(|line| length(line)).collect()
    }
}

fn is_ours_to_write(line: &str) -> bool {
    line.contains("PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS, -1") && !line.contains("= -1")
}

/// The second argument.
fn length(line: &str) -> u64 {
    line.split([',', ')'])
        .nth(1)
        .and_then(|length| length.trim().parse().ok())
        .unwrap_or_else(|| panic!("{line}"))
}

/// Runs a program under `strace`; None, said loudly, where there is none.
fn traced(name: &str, options: &str, line: &[&str]) -> Option<(Account, Trace)> {
    let file = scratch(name).join("trace");
    if code(left(Command::new("/bin/sh").args(["-c", "strace -o /dev/null true"])).status) != 0 {
        skipped("segments against the kernel's calls: strace does not work here");
        return None;
    }
    let filter = ["strace", "-o", text(&file), "-e", "trace=mmap,munmap,madvise", "--"];
    let account = account_of(&["--opts", options], &[&filter, line].concat(), line[0]);
    let lines = fs::read_to_string(file).expect("the trace").lines().map(str::to_owned).collect();
    Some((account, Trace(lines)))
}

fn segments_are_the_kernel_s_calls() {
    let program = program("segments");
    let Some((bare, nothing)) = traced("segments-none", "", &[&program, "0", "1"]) else { return };
    exact(&bare, Key::HeapSegmentsAllocated, 0);
    for (options, count, size, free) in [
        ("HEAP(1M,1M,,KEEP)", 1000_u64, 60_000_u64, false),
        ("HEAP(4K,4K,,KEEP)", 1000, 3_000, true),
        ("HEAP(4K,4K,,FREE)", 1000, 3_000, true),
        ("HEAP(64K,64K,,KEEP)", 100, 100_000, false),
        ("HEAP(64K,128K,,FREE)", 200, 100_000, true),
        ("HEAP(64K,1M,,KEEP)", 2_000, 700, false),
    ] {
        let (number, bytes) = (count.to_string(), size.to_string());
        let mut line = vec![program.as_str(), &number, &bytes];
        line.extend(free.then_some("free"));
        let Some((account, trace)) = traced("segments", options, &line) else { return };
        let increment = account.get(Key::HeapIncrementSize);
        let initial = account.get(Key::HeapInitialSize);
        let segments = account.get(Key::HeapSegmentsAllocated);
        // What is mapped without segments: by the C library and for tables of our own, which are larger.
        let mut mapped = trace.mapped();
        assert!((mapped.len() as u64).abs_diff(segments + nothing.mapped().len() as u64) <= 64, "{options}");
        for other in nothing.mapped() {
            let at = mapped.iter().position(|bytes| *bytes == other).expect("mapped without segments, too");
            mapped.remove(at);
        }
        let least = initial.min(increment).min(size.next_multiple_of(PAGE));
        // 64 KiB for descriptors and 2 MiB for a part of the page map.
        let own: u64 = account.get(Key::HeapOwnBytes);
        let total: u64 = mapped.iter().sum();
        exact(&account, Key::HeapSegmentBytesTotal, total - own);
        let is_own = |bytes: u64| bytes == 2 * MIB || bytes == 65_536;
        if least > 65_536 || initial != 65_536 {
            mapped.retain(|bytes| !is_own(*bytes));
            exact(&account, Key::HeapSegmentsAllocated, mapped.len() as u64);
        }
        mapped.retain(|bytes| !is_own(*bytes));
        let beyond = |bytes: &[u64], size| bytes.iter().filter(|bytes| **bytes > size).count() as u64;
        let (first, others) = mapped.split_at(usize::from(initial != 65_536 || size > initial));
        exact(&account, Key::HeapOversizeSegments, beyond(first, initial) + beyond(others, increment));
        let unmapped =
            |bytes: u64| trace.unmapped().into_iter().filter(move |other| *other == bytes).count() as u64;
        let freed = unmapped(increment);
        exact(&account, Key::HeapSegmentsFreed, freed);
        exact(&account, Key::HeapSegmentBytes, total - own - freed * increment);
        // Everything is got before anything is given back.
        exact(&account, Key::HeapSegmentBytesPeak, total - own);
    }
}

fn segments_are_in_the_memory_map() {
    let program = program("segments");
    for options in ["HEAP(1M,1M,,KEEP)", "HEAP(64K,256K,,FREE)", "HEAP(AUTO,AUTO,ANYWHERE,AUTO)"] {
        let with = |count: &str| account(options, &[&program, count, "60000"]);
        let (few, many) = (with("10"), with("2000"));
        let ours = |account: &Account| account.get(Key::HeapSegmentBytes) + account.get(Key::HeapOwnBytes);
        assert_eq!(many.said("mapped") - few.said("mapped"), ours(&many) - ours(&few), "{options}");
    }
}

fn sizes_are_those_of_the_option() {
    let program = program("segments");
    for (options, initial, increment) in
        [("HEAP(3M,5M)", 3 * MIB, 5 * MIB), ("HEAP(1,1)", 8, 8), ("HEAP(AUTO,AUTO,ANYWHERE,AUTO)", 0, 0)]
    {
        let account = account(options, &[&program, "1", "1"]);
        exact(&account, Key::HeapInitialSize, initial);
        exact(&account, Key::HeapIncrementSize, increment);
    }
}

fn pages_given_back_are_the_kernel_s_calls() {
    let Some((account, trace)) = traced("purges", "", &[&program("purges"), "25"]) else { return };
    let calls = trace.given_back();
    assert!(calls.len() >= 25, "{calls:?}");
    exact(&account, Key::HeapPurges, calls.len() as u64);
    exact(&account, Key::HeapPurgedBytes, calls.iter().sum());
}

fn huge_pages_are_asked_of_the_kernel_where_all_is_touched() {
    let (dense, sparse) = ([&program("segments"), "20000", "4000"], [&program("segments"), "4000", "20000"]);
    let has_them = fs::exists("/sys/kernel/mm/transparent_hugepage").is_ok_and(|exists| exists);
    for (options, line, asks) in [
        ("", dense, true),
        ("", sparse, false),
        ("HUGEPAGES(OFF)", dense, false),
        ("HUGEPAGES(ON)", sparse, true),
        ("HEAP(8M,8M,,KEEP)", dense, false),
        ("HEAP(8M,8M,,KEEP),HUGEPAGES(ON)", dense, true),
    ] {
        let Some((account, trace)) = traced("huge", options, &line) else { return };
        let asked = trace.asked_for_huge();
        assert_eq!(!asked.is_empty(), asks && has_them, "{options} {line:?}");
        exact(&account, Key::HeapHugeBytes, asked.iter().sum());
    }
}

fn segments_are_joined_near_the_kernel_s_limit() {
    let line = [&program("segments"), "60000", "3000"];
    let Some((account, trace)) = traced("fallbacks", "HEAP(4K,4K,,KEEP)", &line) else { return };
    assert_eq!(code(account.left.status), 0);
    let joined = trace.mapped().into_iter().filter(|bytes| *bytes == 64 * PAGE).count() as u64;
    assert!(joined > 0, "the limit was not reached");
    exact(&account, Key::HeapMapFallbacks, joined);
}

// ---- threads and stacks ------------------------------------------------------------------------------------------

fn threads_are_counted() {
    let account = counted(&["threads", "25"]);
    exact(&account, Key::ThreadsStarted, 1 + 25 * 7);
    exact(&account, Key::ThreadsPeak, 8);
    let account = counted(&[]);
    exact(&account, Key::ThreadsStarted, 1);
    exact(&account, Key::ThreadsPeak, 1);
}

fn stacks_are_measured_to_the_page() {
    let program = program("depth");
    let run = |what: &str, bytes: u64| account("", &[&program, what, &bytes.to_string()]);
    for bytes in [100_000, 1_000_000, 5_000_000] {
        let main = run("main", bytes);
        let depth = main.said("depth");
        between(&main, Key::StackMain, depth..=depth + PAGE);
        between(&main, Key::StackLargest, depth..=depth + PAGE);
        between(&main, Key::StackThread, 0..=0);
        between(&main, Key::StackConcurrent, depth..=depth + PAGE);
        let thread = run("thread", bytes);
        let depth = thread.said("depth");
        between(&thread, Key::StackThread, depth..=depth + PAGE);
        between(&thread, Key::StackLargest, depth..=depth + PAGE);
        between(&thread, Key::StackMain, 1..=BEFORE_MAIN);
        between(&thread, Key::StackConcurrent, depth..=depth + PAGE + BEFORE_MAIN);
        let together = run("together", bytes);
        let depth = together.said("depth");
        between(&together, Key::StackThread, depth / 4..=depth / 4 + PAGE);
        between(&together, Key::StackConcurrent, depth..=depth + 4 * PAGE + BEFORE_MAIN);
    }
}

fn a_recycled_stack_reads_no_higher_than_it_was_used() {
    let account = account("", &[&program("depth"), "recycled", "1000000"]);
    let depth = account.said("depth");
    between(&account, Key::StackThread, depth..=depth + PAGE);
    // One deep thread at a time, and a shallow one of a few pages on the stack of a deep one.
    between(&account, Key::StackConcurrent, depth..=depth + PAGE + BEFORE_MAIN + 5 * PAGE);
}

// ---- coverage ----------------------------------------------------------------------------------------------------

fn memory_past_the_heap_is_seen() {
    let program = program("owners");
    for (mapped, got) in [(20 * MIB, 10 * MIB), (0, 40 * MIB), (30 * MIB, MIB)] {
        // A huge page would be resident whole.
        let account = account("HUGEPAGES(OFF)", &[&program, &mapped.max(PAGE).to_string(), &got.to_string()]);
        // Every 1,000 bytes lie in a cell of 1,024, of which an extent has 63; a list of cells is touched at a time.
        let heap = (got / 1000).div_ceil(63) * 64 * 1024;
        between(&account, Key::CoverageHeap, heap - MIB / 2..=heap + MIB / 2);
        let whole = mapped + heap;
        // Tables, data of libraries, the stack.
        between(&account, Key::CoverageAnonymous, whole - MIB / 2..=whole + MIB);
        let owners = account.section["owners"].as_array().expect("owners");
        let past = owners.iter().find(|owner| owner["name"] == "the program itself");
        let past = past.map_or(0, |owner| owner["bytes"].as_u64().unwrap_or(0));
        assert!(past.abs_diff(mapped) <= PAGE, "{past} of {mapped} in {owners:?}");
    }
}

// ---- what the host changes while the program runs ----------------------------------------------------------------

fn a_running_program_obeys_what_is_changed_outside() {
    // Elements of a segment each, and cells, of which a segment has many.
    for (size, segments) in [(60_000, 1000), (400, 950)] {
        check_live(size, segments);
    }
}

/// A program that holds `segments` segments at least of what it freed, twice.
fn check_live(size: u32, segments: u64) {
    let (folder, program) = (scratch("live"), program("live"));
    let ledger = folder.join("ledger");
    let mut run = Command::new(underbar());
    run.args(["run", "--exec", "-o", text(&ledger), "--opts", "HEAP(64K,64K,,KEEP)", "--", &program])
        .arg(size.to_string());
    let mut running = Running::start(run.env_remove("LD_PRELOAD").env_remove("UNDERBAR_OPTS"));
    let process = running.child.id();
    let set = |kind, process, value| {
        let page = ControlPage::open(&ledger).expect("the ledger of a program that runs");
        page.set(Target { kind, process, object: 0 }, value).expect("room");
    };
    let mut said = |word: &str| -> u64 {
        let line = running.line();
        let bytes = line.strip_prefix(word).unwrap_or_else(|| panic!("{word}, not {line:?}"));
        bytes.trim().parse().expect("bytes")
    };
    let all = 60_000_000;
    assert!(said("held") >= all, "KEEP keeps");
    // Another process's: it must not be obeyed.
    set(Kind::HeapTrim, process + 1, 1);
    set(Kind::HeapDisposition, process, Disposition::Free as u64);
    assert!(said("fell") <= all / 4, "FREE gives back");
    set(Kind::HeapDisposition, process, Disposition::Keep as u64);
    assert!(said("held") >= all, "KEEP keeps again");
    set(Kind::HeapTrim, 0, 1);
    assert!(said("fell") <= all / 4, "a trim gives back once");
    assert_eq!(running.end(), 0);
    let left = left(Command::new(underbar()).args(["report", "--json", text(&ledger)]));
    let report: Value = serde_json::from_str(&left.output).expect("a report");
    let account = Account { section: report["processes"][0].clone(), report, left };
    exact(&account, Key::ControlObeyed, 3);
    // All but the first, and what the program uses while it waits; more where it fills its heap again before it obeys.
    let freed = account.get(Key::HeapSegmentsFreed);
    assert!(freed >= 2 * (segments - 3), "{freed}: {}", account.section);
}

// ---- not followed ------------------------------------------------------------------------------------------------

/// The first bytes of a program of this class and for this processor.
fn first_bytes(class: u8, machine: u8) -> Vec<u8> {
    let mut bytes = vec![0; 64];
    bytes[..7].copy_from_slice(&[0x7f, b'E', b'L', b'F', class, 1, 1]);
    (bytes[16], bytes[18]) = (2, machine);
    bytes
}

fn executable(folder: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, bytes).expect("written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("executable");
    path
}

/// Starts a program a few times, in this way; only this counter may have counted them.
fn not_followed(flags: &[&str], how: &str, path: &Path, key: Key) {
    let starts = program("starts");
    for count in [1, 5] {
        let number = count.to_string();
        let line = [&starts, number.as_str(), how, text(path)];
        let account = account_of(flags, &line, &starts);
        assert_eq!((code(account.left.status), account.left.error.as_str()), (0, ""), "{path:?}");
        exact(&account, key, count);
        let others =
            KEYS.into_iter().filter(|other| other.entry().key.starts_with("follow.") && *other != key);
        for other in others {
            assert_eq!(
                figure(&account.report["tree"], other),
                0,
                "{path:?} counted as {}",
                other.entry().key
            );
        }
    }
}

fn programs_not_followed_are_counted() {
    let folder = scratch("not-followed");
    let check = |path: &Path, key| not_followed(&[], "plain", path, key);
    check(&compiled("loaded", "loaded-static", &["-static"]), Key::NotFollowedStatic);
    check(&executable(&folder, "bits32", &first_bytes(1, 3)), Key::NotFollowedBits32);
    check(&executable(&folder, "machine", &first_bytes(2, 183)), Key::NotFollowedOtherMachine);
    check(&executable(&folder, "malformed", b"\x7fELF\x02\x01"), Key::NotFollowedMalformed);
    let musl = compiled("loaded", "loaded-lost", &["-Wl,--dynamic-linker=/nowhere/ld-musl-x86_64.so.1"]);
    check(&musl, Key::NotFollowedOtherLibc);
    let loaded = underbar_zoo::program("loaded");
    not_followed(&[], "empty", &loaded, Key::NotFollowedEnvironment);
    not_followed(&["--no-follow"], "plain", &loaded, Key::NotFollowedByRequest);
}

fn programs_with_other_rights_or_another_root_are_counted() {
    if !is_superuser() {
        return skipped("programs with other rights: needs the superuser");
    }
    const NOBODY: u32 = 65534;
    // In /tmp, since the way to the target folder may be closed to others.
    let folder = PathBuf::from(format!("/tmp/underbar-figures-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let bytes = fs::read(underbar_zoo::program("loaded")).expect("a program");
    let setuid = executable(&folder, "setuid", &bytes);
    chown(&setuid, Some(NOBODY), None).expect("another owner");
    fs::set_permissions(&setuid, fs::Permissions::from_mode(0o4755)).expect("setuid");
    not_followed(&[], "plain", &setuid, Key::NotFollowedSetUid);
    let hidden = executable(&folder, "hidden", &bytes);
    not_followed(&[], "root", &hidden, Key::NotFollowedPreloadHidden);
    let closed = executable(&folder, "closed", &bytes);
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o111)).expect("closed");
    not_followed(&[], "nobody", &closed, Key::NotFollowedUnreadable);
    let capable = executable(&folder, "capable", &bytes);
    let set = Command::new("setcap").arg("cap_net_bind_service=ep").arg(&capable).status();
    if set.is_ok_and(|status| status.success()) {
        not_followed(&[], "nobody", &capable, Key::NotFollowedCapabilities);
    } else {
        skipped("file capabilities: setcap does not work here");
    }
    fs::remove_dir_all(folder).expect("removed");
}

// ---- reads and writes, of the run ---------------------------------------------------------------------------------

/// What is in the figures beyond what the program did: the loader's reads are in its own account, too; ours at its end,
/// where it comes to that, are not.
const OWN_READS: u64 = 24;

#[test]
fn reads_and_writes_are_those_that_the_program_counts() {
    if fs::read("/proc/self/io").is_err() {
        return skip("reads and writes: the kernel keeps no account of them");
    }
    let loaded = program("transfers");
    let plain = compiled("figures/transfers", "figures-transfers-static", &["-static"]);
    for (line, mode, own) in [
        (loaded.as_str(), "ends", OWN_READS),
        (&loaded, "threads", OWN_READS),
        (&loaded, "child", OWN_READS),
        (&loaded, "killed", 0),
        // Without the library nothing is added.
        (text(&plain), "ends", 0),
    ] {
        for (reads, writes) in [(0_u64, 0_u64), (1000, 500), (20, 4000)] {
            let file = scratch("transfers").join("report");
            let mut run = Command::new(underbar());
            run.args(["run", "--json", "-o", text(&file), "--", line, mode])
                .args([reads.to_string(), writes.to_string()])
                .env_remove("LD_PRELOAD")
                .env_remove("UNDERBAR_OPTS");
            let left = left(&mut run);
            let report: Value = serde_json::from_slice(&fs::read(&file).expect("a report")).expect("JSON");
            let step = |name: &str| {
                report["steps"][name].as_u64().unwrap_or_else(|| panic!("{name}: {report}: {left:?}"))
            };
            let account = Account { section: Value::Null, report: Value::Null, left: left.clone() };
            // The program's own read of its account and its write of what it says come on top.
            let (read, written) = (account.said("syscr") + 1, account.said("syscw") + 1);
            assert!(read > reads && written > writes, "{left:?}");
            assert!((read..=read + own).contains(&step("read_calls")), "{mode}: {report}: {left:?}");
            assert_eq!(step("write_calls"), written, "{mode}: {report}: {left:?}");
            let written = account.said("wchar") + left.output.len() as u64;
            assert_eq!(step("written_bytes"), written, "{mode}: {report}: {left:?}");
            assert!(written >= writes * 100 + left.output.len() as u64);
            let read = account.said("rchar") + account.said("own");
            assert!((read..=read + own * PAGE).contains(&step("read_bytes")), "{mode}: {report}: {left:?}");
            assert!(read >= reads * 100);
        }
    }
}

// ---- options, by layer -------------------------------------------------------------------------------------------

#[test]
fn options_say_where_they_were_set() {
    let folder = scratch("layers");
    let write = |path: &str, text: &str| {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(&path, text).expect("written");
        path
    };
    let own = folder.join("bin/program");
    fs::create_dir_all(folder.join("bin")).expect("a folder");
    fs::copy(program("segments"), &own).expect("copied");
    write("config/underbar/opts", "HEAP(1M,1M,,KEEP),STACK(1M),THREADSTACK(ON,1M),RPTSTG(OFF)\nTRACE(OFF)\n");
    write(
        "bin/underbar.opts",
        "HEAP(2M,2M),STACK(2M),THREADSTACK(ON,2M)\n[other]\nHEAP(9M)\n[program]\nHEAP(3M)",
    );
    let file = write("asked", "HEAP(,,,FREE),THREADSTACK(,3M)");
    let mut run = Command::new(underbar());
    run.args([
        "run",
        "--json",
        "--opts-file",
        text(&file),
        "--opts",
        "HEAP(,5M)",
        "--",
        text(&own),
        "1",
        "1",
    ]);
    run.env("XDG_CONFIG_HOME", folder.join("config"))
        .env("UNDERBAR_OPTS", "STACK(4M)")
        .env_remove("LD_PRELOAD");
    let result = left(&mut run);
    let report: Value =
        serde_json::from_str(&result.error).unwrap_or_else(|error| panic!("{error}: {result:?}"));
    let in_force = report["options"]["in_force"].as_array().expect("options");
    let check = |word: &str, option: &str, place: &str| {
        let found =
            in_force.iter().find(|entry| entry["option"].as_str().is_some_and(|text| text.starts_with(word)));
        let found = found.unwrap_or_else(|| panic!("{word} in {in_force:?}"));
        assert!(found["option"].as_str().is_some_and(|text| text.starts_with(option)), "{found}");
        assert_eq!(found["where_set"], place, "{found}");
    };
    check("HEAP(", "HEAP(3145728,5242880,ANYWHERE,FREE", "command line (--opts)");
    check("STACK(", "STACK(4194304,", "UNDERBAR_OPTS");
    check("THREADSTACK(", "THREADSTACK(ON,3145728", "options file (--opts-file)");
    check("STORAGE(", "STORAGE(", "underbar default");
    let counters = &report["processes"][0]["counters"]["heap"];
    assert_eq!(
        (counters["initial_size"].as_u64(), counters["increment_size"].as_u64()),
        (Some(3 * MIB), Some(5 * MIB))
    );
}
