//! Mutexes of every kind behave the same in every way of waiting, and in every fault.
//!
//! ```text
//! programs/locks/kinds.c  CASE ──┬─ bare
//! programs/locks/faults.c CASE   └─ underbar run --opts LOCK(OFF | COUNT | SIMPLE)      the same output
//! ```
//!
//! Not here: real programs (`lock_programs`).

use std::fs;
use std::mem::offset_of;
use std::process::Command;

use underbar_ledger::locks::{Area, Call, EDGES, Edge, LOCKS, LockRecord, MODULES, Module, Site, Sort};
use underbar_zoo::locks::{MODES, Run, sum};
use underbar_zoo::{Way, code, command, compiled, folder, left, scratch, skip, text, underbar};

/// Runs a case plain and under each mode: the results are the same. If its mutexes are ours and contend, waits are recorded.
fn alike(source: &str, case: &str, is_seen: bool) {
    let program = compiled(&format!("locks/{source}"), &format!("locks-{source}"), &["-pthread"]);
    let line = [text(&program), case];
    let plain = left(&mut command(Way::Bare, &line));
    assert_eq!((code(plain.status), plain.error.as_str()), (0, ""), "{case} by itself: {plain:?}");
    assert!(plain.output.ends_with("done\n"), "{case}: {plain:?}");
    for mode in MODES {
        let report = folder().join(format!("locks-{case}-{mode}-{}.json", std::process::id()));
        let run = Run { underbar: underbar(), mode, folder: folder(), report: &report, user: None };
        let (left, report) = run.of(&line);
        assert_eq!(left, plain, "{case} under LOCK({mode})");
        let contended = sum(&report, None, "contended");
        if mode == "OFF" {
            assert_eq!(contended, 0, "{case} under LOCK(OFF)");
        } else if is_seen {
            assert!(contended > 0, "{case} under LOCK({mode}): no wait was seen");
        }
    }
}

// ---- kinds -------------------------------------------------------------------------------------------------------

/// Each case is a test.
macro_rules! cases {
    ($source:literal: $($name:ident: $case:literal, $is_seen:literal;)*) => {
        $(#[test] fn $name() { alike($source, $case, $is_seen); })*
    };
}

cases! {
    "kinds":
    normal_mutexes: "normal", true;
    mutexes_of_the_default_kind: "default", true;
    adaptive_mutexes: "adaptive", true;
    recursive_mutexes_are_the_c_library_s: "recursive", false;
    error_checking_mutexes_are_the_c_library_s: "errorcheck", false;
    static_initialisers_of_all_kinds: "static", true;
    owners_are_checked_where_they_are: "owners", false;
    owners_follow_the_number_that_the_c_library_has: "renumbered", false;
    robust_mutexes_outlive_their_holders: "robust", false;
    shared_mutexes_are_shared_by_processes: "shared", false;
    priority_inheritance_and_protection: "protocols", false;
    times_that_come_that_are_over_and_that_are_none: "timed", false;
    condition_variables: "conditions", true;
    mutexes_of_c11: "c11", false;
    forks_while_held_and_contended: "forks", true;
    unmapped_right_after_unlock: "unmaps", false;
    after_thread_specific_destructors_began: "ends", false;
    interrupted_by_signals: "interrupted", true;
}

// ---- faults ------------------------------------------------------------------------------------------------------

cases! {
    "faults":
    unlock_of_a_free_mutex: "free", true;
    unlock_of_a_mutex_that_another_thread_holds: "another", true;
    lock_of_a_mutex_that_this_thread_holds: "again", false;
    a_thread_that_ends_while_it_holds: "ended", true;
    use_of_a_mutex_that_was_destroyed: "destroyed", true;
    locks_in_signal_handlers_and_jumps_out_of_waits: "handlers", true;
    threads_that_are_cancelled_while_they_wait: "cancelled", true;
    forks_while_another_thread_holds: "forked", true;
    a_process_that_is_stopped_while_its_threads_hold_and_wait: "stopped", true;
    a_holder_that_alone_is_stopped: "holder", true;
    threads_that_are_moved_while_they_hold_and_wait: "moved", true;
}

// ---- the area ----------------------------------------------------------------------------------------------------

/// A lock area of a program, next to its own ledger.
struct Recorded {
    bytes: Vec<u8>,
    output: String,
}

impl Recorded {
    fn of(mode: &str, case: &str) -> Recorded {
        Recorded::by(&["env"], mode, case)
    }

    /// The area of a case that a command starts, with `-E NAME=VALUE` or `NAME=VALUE` for its environment.
    fn by(runner: &[&str], mode: &str, case: &str) -> Recorded {
        let folder = scratch(&format!("area-{}-{mode}-{case}", runner[0]));
        let ledger = folder.join("ledger");
        let program = compiled("locks/seen", "locks-seen", &["-pthread"]);
        let mut run = Command::new(runner[0]);
        run.args(&runner[1..]).env_remove("LD_PRELOAD").env_remove("UNDERBAR_OPTS");
        let library = underbar_zoo::heap::preload();
        for variable in [
            format!("LD_PRELOAD={}", text(library)),
            format!("UNDERBAR_OPTS=MSGFILE('{}'),LOCK({mode})", text(&ledger)),
        ] {
            run.args(if runner[0] == "env" { &[][..] } else { &["-E"] }).arg(variable);
        }
        let left = left(run.arg(&program).arg(case));
        assert_eq!((code(left.status), left.error.as_str()), (0, ""), "{mode} {case}");
        let areas: Vec<_> = fs::read_dir(&folder)
            .expect("a folder")
            .map(|entry| entry.expect("an entry").path())
            .filter(|path| path.extension().is_some_and(|end| end == "locks"))
            .collect();
        assert_eq!(areas.len(), 1, "{mode} {case}: {areas:?}");
        let bytes = fs::read(&areas[0]).expect("an area");
        assert_eq!(bytes.len(), size_of::<Area>());
        fs::remove_dir_all(folder).expect("removed");
        Recorded { bytes, output: left.output }
    }

    fn wide(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.bytes[at..at + 8].try_into().expect("eight bytes"))
    }

    fn half(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.bytes[at..at + 4].try_into().expect("four bytes"))
    }

    /// The address after this word in the program's output.
    fn said(&self, word: &str) -> u64 {
        let mut words = self.output.split_whitespace().skip_while(|other| *other != word);
        let address = words.nth(1).and_then(|address| address.strip_prefix("0x")).expect("an address");
        u64::from_str_radix(address, 16).expect("an address")
    }

    /// Number of the record of the lock at this address, and its offset.
    fn record(&self, address: u64) -> (usize, usize) {
        let place = |number: usize| offset_of!(Area, locks) + number * size_of::<LockRecord>();
        let is_it = |number: &usize| self.wide(place(*number) + offset_of!(LockRecord, address)) == address;
        let number = (0..LOCKS).find(is_it).unwrap_or_else(|| panic!("no record of {address:x}"));
        (number, place(number))
    }

    /// Whether this address is in a module that is the program itself.
    fn is_in_the_program(&self, address: u64) -> bool {
        (0..MODULES).map(|number| offset_of!(Area, modules) + number * size_of::<Module>()).any(|at| {
            let (start, end) =
                (self.wide(at + offset_of!(Module, start)), self.wide(at + offset_of!(Module, end)));
            (start..end).contains(&address) && self.bytes[at + offset_of!(Module, path)] == 0
        })
    }
}

#[test]
fn a_holder_that_reads_while_others_wait_is_seen_there() {
    for mode in ["COUNT", "SIMPLE"] {
        let area = Recorded::of(mode, "blocked");
        let hot = area.said("hot");
        let (_, at) = area.record(hot);
        assert_eq!(area.half(at + offset_of!(LockRecord, sort)), Sort::MutexNormal as u32);
        assert_eq!(area.wide(at + offset_of!(LockRecord, contended)), 1, "{mode}");
        assert_eq!(area.half(at + offset_of!(LockRecord, waiting)), 0, "{mode}");
        let wait = area.wide(at + offset_of!(LockRecord, wait_ns));
        assert!(wait >= 1_000_000, "{mode}: {wait}");
        assert_eq!(wait, area.wide(at + offset_of!(LockRecord, wait_max_ns)));
        let waiters = at + offset_of!(LockRecord, waiters);
        let site = area.wide(waiters + offset_of!(Site, address));
        assert_eq!(site, area.wide(at + offset_of!(LockRecord, first_site)));
        assert!(area.is_in_the_program(site) && area.is_in_the_program(hot), "{mode}: {site:x}");
        assert_eq!(area.wide(waiters + offset_of!(Site, ns)), wait);
        // The holder causes most of it, from another place.
        let holders = at + offset_of!(LockRecord, holders);
        let blamed = area.wide(holders + offset_of!(Site, ns));
        assert!(blamed >= 1_000_000 && blamed <= wait, "{mode}: {blamed} of {wait}");
        let holder = area.wide(holders + offset_of!(Site, address));
        assert!(area.is_in_the_program(holder) && holder != site);
        let blocked = at + offset_of!(LockRecord, blocked);
        assert_eq!(area.half(blocked + offset_of!(Call, number)), 1, "{mode}: read, and one");
        assert!(area.half(blocked + offset_of!(Call, count)) > 0);
        let intervals = at + offset_of!(LockRecord, histogram);
        assert_eq!(area.half(intervals + 4 * wait.ilog2() as usize), 1);
    }
}

#[test]
fn locks_that_two_threads_take_in_different_orders_are_seen() {
    crossed_by(&["env"]);
}

/// The two threads begin to wait at the same time, and the one that makes the area takes long: a delayed call.
#[test]
fn a_wait_that_begins_before_the_area_is_made_is_recorded_too() {
    if Command::new("strace").arg("-V").output().is_err() {
        return skip("waits while the area is made: needs strace");
    }
    let delay = "inject=fallocate:delay_exit=50000";
    crossed_by(&[
        "strace",
        "-f",
        "-qq",
        "--seccomp-bpf",
        "-o",
        "/dev/null",
        "-e",
        "trace=fallocate",
        "-e",
        delay,
    ]);
}

fn crossed_by(runner: &[&str]) {
    for mode in ["COUNT", "SIMPLE"] {
        let area = Recorded::by(runner, mode, "crossed");
        let (first, second) = (area.record(area.said("first")).0, area.record(area.said("second")).0);
        let pairs: Vec<_> = (0..EDGES)
            .filter_map(|n| Edge::locks_of(area.wide(offset_of!(Area, edges) + n * size_of::<Edge>())))
            .collect();
        for edge in [(first, second), (second, first)] {
            assert!(pairs.contains(&edge), "{mode}: {edge:?} in {pairs:?}");
        }
        assert_eq!(pairs.len(), 2, "{mode}");
    }
}
