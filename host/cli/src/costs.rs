//! Costs on this machine of the things that suggestions change: the first touch of a page, an entry to the kernel, a
//! hand-over between threads.
//!
//! ```text
//! a cost   BATCHES x (prepare, then a number of operations timed together) ─> median of their means, fastest
//! ```
//!
//! Invariant: only the operations are timed, not their preparation. A cost that this machine does not have gets a reason
//! instead of a figure. All costs together take some tens of milliseconds.
//! Not here: costs of the heap itself, which the benchmarks measure.

use std::fs::{File, OpenOptions};
use std::hint::black_box;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use underbar_launch::LedgerFile;
use underbar_report::switch_costs::SwitchCosts;
use underbar_report::units::nanoseconds;
use underbar_sys::mapping::{ALIGNMENT, Mapping, PAGE};
use underbar_sys::process::fork_for_nothing;
use underbar_sys::syscall::{fallocate, futex_wait, futex_wake, geteuid};

/// The number of batches for each cost. It is odd, so that one of them is the median.
const BATCHES: usize = 9;

/// One cost: its name, how it is measured, and where underbar pays it.
pub struct Cost {
    /// Its name.
    pub name: &'static str,
    /// How many operations one batch times together.
    operations: u32,
    /// How it is measured.
    method: &'static str,
    /// Where underbar pays it.
    matters: &'static str,
    /// One batch: the time of its operations, or why they cannot be measured.
    batch: fn(u32) -> Result<Duration, String>,
}

/// All costs.
pub const COSTS: [Cost; 12] = [
    Cost {
        name: "page of 4K",
        operations: 512,
        method: "first write to each page of a new mapping, huge pages off",
        matters: "a fault: each page that the heap takes, and takes again after FREE",
        batch: small_pages,
    },
    Cost {
        name: "page of 2M",
        operations: 4,
        method: "first write to each huge page of a new mapping, huge pages on",
        matters: "HUGEPAGES(ON): one of them instead of 512 of 4K",
        batch: huge_pages,
    },
    Cost {
        name: "system call",
        operations: 2_000,
        method: "geteuid, which does nothing in the kernel",
        matters: "the least that a segment, a purge or a FREE costs",
        batch: system_calls,
    },
    Cost {
        name: "read",
        operations: 1_000,
        method: "80 bytes from the same place of a file in memory",
        matters: "SWITCHES(ON): the time of a read of a work file",
        batch: reads,
    },
    Cost {
        name: "write",
        operations: 1_000,
        method: "132 bytes, a line of print, to the same place of a file in memory",
        matters: "SWITCHES(ON): the time of a line that is flushed",
        batch: writes,
    },
    Cost {
        name: "mapping",
        operations: 200,
        method: "64K mapped, its first page written, and unmapped again; half of that",
        matters: "SWITCHES(ON): the time of a call for storage",
        batch: mappings,
    },
    Cost {
        name: "clock read",
        operations: 2_000,
        method: "clock_gettime(CLOCK_MONOTONIC) of the C library",
        matters: "times of the report and of verdicts",
        batch: clock_reads,
    },
    Cost {
        name: "hand-over",
        operations: 200,
        method: "futex wake and wait, there and back between two threads",
        matters: "a wait for a lock that another thread holds",
        batch: hand_overs,
    },
    Cost {
        name: "thread",
        operations: 20,
        method: "a thread of the C library made, and its end waited for",
        matters: "SWITCHES(ON): the time of a pthread_create",
        batch: threads,
    },
    Cost {
        name: "fork",
        operations: 10,
        method: "fork of this command, a small process, whose child ends at once",
        matters: "SWITCHES(ON): the time of a fork; more for a process with more memory",
        batch: forks,
    },
    Cost {
        name: "start",
        operations: 3,
        method: "/bin/true started, and its end waited for",
        matters: "SWITCHES(ON): the time of an exec, with what is needed to start a program",
        batch: starts,
    },
    Cost {
        name: "ledger page",
        operations: 256,
        method: "first write to each page of a mapped ledger file whose space is allocated",
        matters: "accounts: each process touches its few pages once",
        batch: ledger_pages,
    },
];

/// The result for one cost.
pub struct Measured {
    cost: &'static Cost,
    /// Nanoseconds of one operation: the median over the batches, and the fastest.
    figures: Result<(u64, u64), String>,
}

/// Measures all costs.
pub fn measure() -> Vec<Measured> {
    COSTS.iter().map(|cost| Measured { cost, figures: cost.measure() }).collect()
}

/// The costs by which a report weighs switches; 0: not measured. Those of threads and processes take long, and are measured only if there
/// are such calls.
///
/// What one thread does by itself has the cost of the fastest batch: on a busy machine the others have the time of other programs in them,
/// up to ten times as much. A hand-over waits for another thread, as it does in a program: there it is the median.
pub fn of_switches(starts_processes: bool) -> SwitchCosts {
    let of = |name: &str| {
        if !starts_processes && ["thread", "fork", "start"].contains(&name) {
            return 0;
        }
        let cost = COSTS.iter().find(|cost| cost.name == name);
        cost.and_then(|cost| cost.measure().ok()).map_or(0, |figures| weight(name, figures))
    };
    SwitchCosts {
        system_call_ns: of("system call"),
        read_ns: of("read"),
        write_ns: of("write"),
        mapping_ns: of("mapping"),
        hand_over_ns: of("hand-over"),
        thread_ns: of("thread"),
        fork_ns: of("fork"),
        start_ns: of("start"),
    }
}

/// The cost by which a switch is weighed, of the median and the fastest.
fn weight(name: &str, (median, fastest): (u64, u64)) -> u64 {
    if ["hand-over", "thread", "fork", "start"].contains(&name) { median } else { fastest }
}

impl Cost {
    fn measure(&self) -> Result<(u64, u64), String> {
        let mut means = Vec::with_capacity(BATCHES);
        for _ in 0..BATCHES {
            let took = (self.batch)(self.operations)?;
            let nanoseconds = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
            means.push(nanoseconds.div_ceil(u64::from(self.operations)));
        }
        means.sort_unstable();
        Ok((means[BATCHES / 2], means[0]))
    }
}

impl Measured {
    /// As text: the figure and the method, and below them where it matters.
    pub fn text(&self) -> String {
        let Cost { name, operations, method, matters, .. } = self.cost;
        match &self.figures {
            Ok((median, fastest)) => format!(
                "{:<8} {name:<14} {}, at best {}: {method}; {BATCHES} x {operations}\n{:<24}{matters}\n",
                "cost",
                nanoseconds(*median),
                nanoseconds(*fastest),
                ""
            ),
            Err(reason) => format!("{:<8} {name:<14} not measured: {reason}\n", "cost"),
        }
    }

    /// The same as JSON, in nanoseconds.
    pub fn json(&self) -> Value {
        let figure = |pick: fn(&(u64, u64)) -> u64| self.figures.as_ref().ok().map(pick);
        json!({
            "name": self.cost.name,
            "nanoseconds": figure(|both| both.0),
            "fastest_nanoseconds": figure(|both| both.1),
            "operations": self.cost.operations,
            "batches": BATCHES,
            "method": self.cost.method,
            "matters": self.cost.matters,
            "not_measured": self.figures.as_ref().err(),
        })
    }
}

/// The time of this many operations.
fn timed(operations: u32, mut one: impl FnMut(usize)) -> Duration {
    let begin = Instant::now();
    for at in 0..operations as usize {
        one(at);
    }
    begin.elapsed()
}

fn small_pages(operations: u32) -> Result<Duration, String> {
    let mapping = map(operations as usize * PAGE, false)?;
    Ok(timed(operations, |at| mapping.touch(at * PAGE)))
}

fn huge_pages(operations: u32) -> Result<Duration, String> {
    let mapping = map(operations as usize * ALIGNMENT, true)?;
    let took = timed(operations, |at| mapping.touch(at * ALIGNMENT));
    let all = (0..operations as usize).all(|at| mapping.resident_from(at * ALIGNMENT) == ALIGNMENT / PAGE);
    if all { Ok(took) } else { Err("the kernel gave small pages instead".to_owned()) }
}

fn map(length: usize, huge: bool) -> Result<Mapping, String> {
    Mapping::anonymous(length, huge).map_err(|error| format!("no such memory: {error:?}"))
}

fn system_calls(operations: u32) -> Result<Duration, String> {
    Ok(timed(operations, |_| {
        black_box(geteuid());
    }))
}

fn reads(operations: u32) -> Result<Duration, String> {
    let (_ledger, file) = a_file()?;
    let mut record = [0; 80];
    Ok(timed(operations, |_| {
        let _ = black_box(file.read_at(&mut record, 0));
    }))
}

fn writes(operations: u32) -> Result<Duration, String> {
    let (_ledger, file) = a_file()?;
    Ok(timed(operations, |_| {
        let _ = black_box(file.write_at(&[b' '; 132], 1 << 16));
    }))
}

fn mappings(operations: u32) -> Result<Duration, String> {
    const BYTES: usize = 64 << 10;
    map(BYTES, false)?;
    let took = timed(operations, |_| {
        if let Ok(mapping) = Mapping::anonymous(BYTES, false) {
            mapping.touch(0);
        }
    });
    Ok(took / 2)
}

/// A ledger, which is removed again, and its file, open for other use.
fn a_file() -> Result<(LedgerFile, File), String> {
    let ledger = LedgerFile::create(b"").map_err(|error| format!("no ledger: {error}"))?;
    let file = OpenOptions::new().read(true).write(true).open(ledger.path());
    Ok((ledger, file.map_err(|error| format!("no ledger: {error}"))?))
}

fn clock_reads(operations: u32) -> Result<Duration, String> {
    Ok(timed(operations, |_| {
        black_box(Instant::now());
    }))
}

/// Two threads; each waits for its own word and then sets the other's. A word has one writer and one reader. As in a lock,
/// everything done before a store is visible after the load that finds it.
fn hand_overs(operations: u32) -> Result<Duration, String> {
    let (there, back) = (AtomicU32::new(0), AtomicU32::new(0));
    thread::scope(|scope| {
        let other = thread::Builder::new().spawn_scoped(scope, || {
            for turn in 1..=operations {
                wait_for(&there, turn);
                set(&back, turn);
            }
        });
        other.map_err(|error| format!("no second thread: {error}"))?;
        Ok(timed(operations, |at| {
            let turn = u32::try_from(at).map_or(operations, |at| at + 1);
            set(&there, turn);
            wait_for(&back, turn);
        }))
    })
}

fn set(word: &AtomicU32, turn: u32) {
    word.store(turn, Ordering::Release);
    // It is no error if the other thread does not sleep yet.
    let _ = futex_wake(word, 1);
}

fn wait_for(word: &AtomicU32, turn: u32) {
    loop {
        let seen = word.load(Ordering::Acquire);
        if seen == turn {
            return;
        }
        // The loop checks the word again, for any end of the wait.
        let _ = futex_wait(word, seen, None);
    }
}

fn threads(operations: u32) -> Result<Duration, String> {
    thread::Builder::new().spawn(|| {}).map_err(|error| format!("no second thread: {error}"))?;
    Ok(timed(operations, |_| {
        let _ = thread::Builder::new().spawn(|| {}).map(thread::JoinHandle::join);
    }))
}

fn forks(operations: u32) -> Result<Duration, String> {
    fork_for_nothing().map_err(|error| format!("no child: {error:?}"))?;
    Ok(timed(operations, |_| {
        let _ = fork_for_nothing();
    }))
}

fn starts(operations: u32) -> Result<Duration, String> {
    let start = || Command::new("/bin/true").env_clear().stdin(Stdio::null()).status();
    start().map_err(|error| format!("/bin/true: {error}"))?;
    Ok(timed(operations, |_| {
        let _ = start();
    }))
}

fn ledger_pages(operations: u32) -> Result<Duration, String> {
    let length = operations as usize * PAGE;
    let (_ledger, file) = a_file()?;
    let fd = file.as_raw_fd();
    fallocate(fd, 0, 0, length as u64).map_err(|error| format!("no space for the ledger: {error:?}"))?;
    let mapping = Mapping::of_file(fd, length).map_err(|error| format!("not mapped: {error:?}"))?;
    Ok(timed(operations, |at| mapping.touch(at * PAGE)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cost_has_a_figure_or_a_reason() {
        let all = measure();
        assert_eq!(all.len(), COSTS.len());
        for measured in &all {
            let json = measured.json();
            assert_eq!(json["nanoseconds"].is_u64(), json["not_measured"].is_null(), "{json}");
            if let Ok((median, fastest)) = measured.figures {
                assert!(median >= fastest && fastest > 0, "{json}");
            }
            assert!(measured.text().starts_with("cost     "), "{}", measured.text());
        }
        let known =
            |name: &str| all.iter().find(|m| m.cost.name == name).and_then(|m| m.figures.clone().ok());
        // Every machine has these. A fault enters the kernel and clears a page; a hand-over enters it four times.
        let (page, call) = (known("page of 4K").expect("pages"), known("system call").expect("calls"));
        assert!(known("clock read").is_some() && known("hand-over").is_some());
        assert!(page.1 > 0 && call.1 > 0);
    }

    /// On a busy machine a median had ten times the cost, and caches would have spared more time than a program took.
    #[test]
    fn what_a_thread_does_by_itself_is_weighed_by_the_fastest() {
        for name in ["system call", "read", "write", "mapping"] {
            assert_eq!(weight(name, (5_000, 500)), 500, "{name}");
        }
        for name in ["hand-over", "thread", "fork", "start"] {
            assert_eq!(weight(name, (5_000, 500)), 5_000, "{name}");
        }
    }

    #[test]
    fn a_cost_that_cannot_be_measured_says_why() {
        static NONE: Cost = Cost {
            name: "nothing",
            operations: 1,
            method: "none",
            matters: "nowhere",
            batch: |_| Err("there is none".to_owned()),
        };
        let measured = Measured { cost: &NONE, figures: NONE.measure() };
        assert_eq!(measured.text(), "cost     nothing        not measured: there is none\n");
        assert_eq!(measured.json()["nanoseconds"], Value::Null);
        assert_eq!(measured.json()["not_measured"], "there is none");
    }

    #[test]
    fn only_operations_are_timed_and_all_of_them() {
        let mut places = Vec::new();
        timed(3, |at| places.push(at));
        assert_eq!(places, [0, 1, 2]);
    }
}
