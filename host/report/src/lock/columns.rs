//! The one table of a lock's figures: keys, words, and which LOCK fills each.
//!
//! Chapters, `explain`, the manual, `diff` and gates, and the evidence of suggestions take their words from here.
//!
//! Invariant: a key is `locks.` and the name of a field of [`Lock`], or names a figure of all locks together.
//! Not here: the counters of the ledger (`lock.`), which count all locks, recorded or not.

use underbar_ledger::{Fold, Key, Unit};

use crate::locks::{Lock, LockSort, Missing, Mode};
use crate::model::Report;
use crate::spread::Spread;

/// One figure.
pub struct Column {
    /// Its key.
    pub key: &'static str,
    /// The words printed for it.
    pub label: &'static str,
    /// What it counts.
    pub unit: Unit,
    /// What it means.
    pub meaning: &'static str,
    /// Where it comes from.
    pub get: Get,
    /// Which locks can have it, and under which LOCK.
    seen: Seen,
    /// Does a counter of the ledger hold the same figure for all locks together?
    counted: bool,
}

/// Where a figure comes from.
pub enum Get {
    /// Each lock has it; the figures of several locks are folded by this rule.
    Each(fn(&Lock) -> Option<u64>, Fold),
    /// Only all locks together have it.
    All(fn(&Report) -> u64),
}

/// Where a figure can be filled.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Seen {
    /// Under every LOCK under which the lock is seen at all.
    Always,
    /// Only where underbar itself waits: simple locks, and mutexes under LOCK(SIMPLE).
    Waiting,
    /// Only for locks that record their holder: mutexes.
    Owned,
}

const INSIDE: &str = "threads wait inside the C library, which does not tell; LOCK(SIMPLE) would fill it";
const NO_OWNER: &str = "a simple lock does not say who holds it";
/// Figures that no LOCK fills, and why.
pub const NEVER: &str = "Acquisitions that did not wait, and hold times, are not counted under any LOCK: that would\n\
                         cost each of them more than it takes.";

macro_rules! columns {
    ($($key:literal, $label:literal, $unit:ident, $get:expr, $seen:ident, $counted:literal, $meaning:literal;)*) => {
        /// All figures, in the order of the chapter.
        pub static COLUMNS: [Column; [$($key),*].len()] = [$(Column {
            key: concat!("locks.", $key), label: $label, unit: Unit::$unit, get: $get, seen: Seen::$seen,
            counted: $counted, meaning: $meaning,
        }),*];
    };
}

use Fold::{Max, Sum};
use Get::{All, Each};

columns! {
    "contended", "Contended acquisitions", Count, Each(|lock| Some(lock.contended), Sum), Always, true,
        "Acquisitions that did not succeed at once, of locks that have a record.";
    "spun", "of them without sleeping", Count, Each(|lock| lock.spun, Sum), Waiting, true,
        "Contended acquisitions that were got by looking again, without sleeping.";
    "parked", "Sleeps", Count, Each(|lock| lock.parked, Sum), Waiting, true,
        "Times that a thread slept for the lock.";
    "woken", "Wakes", Count, Each(|lock| lock.woken, Sum), Always, false,
        "Times that the thread that unlocked woke another thread. Under LOCK(COUNT) only while a wait is recorded: of more than 2,500 waits a \
         second, a share is.";
    "wait_ns", "Waited", Nanoseconds, Each(|lock| Some(lock.wait_ns), Sum), Always, true,
        "From the first try to the acquisition, summed over the contended ones.";
    "wait_max_ns", "Longest wait", Nanoseconds, Each(|lock| Some(lock.wait_max_ns), Max), Always, true,
        "The longest of these waits.";
    "spin_ns", "CPU burnt waiting", Nanoseconds, Each(|lock| lock.spin_ns, Sum), Waiting, true,
        "Processor time spent looking again.";
    "runnable_ns", "Runnable, not running", Nanoseconds, Each(|lock| lock.runnable_ns, Sum), Waiting, false,
        "From being woken, or from the lock being given up, to running again: the part of the wait that is the \
         scheduler's and not the lock's.";
    "given_up", "Given up while others waited", Count, Each(|lock| Some(lock.given_up), Sum), Always, false,
        "Times that the lock was given up while others waited for it. Under LOCK(COUNT) only while a wait is recorded, as with locks.woken.";
    "same_holder", "by the same thread again", Count, Each(|lock| Some(lock.same_holder), Sum), Always, false,
        "Of these: by the thread that had also given it up the time before.";
    "blocked", "Holder seen in a system call", Count,
        Each(|lock| Some(lock.blocked.iter().fold(0, |sum, call| sum.saturating_add(call.count))), Sum), Owned, false,
        "Times that a thread that had waited for a millisecond or longer found the holder in a system call.";
    "looked", "Looks at what the holder does", Count, Each(|lock| lock.looked, Sum), Owned, false,
        "Times that a thread that had waited for a millisecond or longer looked what the holder does, in a call or not.";
    "wait_p99_ns", "99 of 100 waits are at most", Nanoseconds, All(p99), Always, false,
        "The upper bound of the interval with the 99th percentile of all waits.";
    "circles", "Circles in the order of locks", Count, All(circles), Always, false,
        "Circles among the locks that were held while another was waited for: possible deadlocks.";
}

fn p99(report: &Report) -> u64 {
    let mut histogram = Vec::new();
    let mut longest = 0;
    for lock in report.locks().flat_map(|locks| &locks.locks) {
        histogram.resize(histogram.len().max(lock.histogram.len()), 0_u64);
        for (sum, waits) in histogram.iter_mut().zip(&lock.histogram) {
            *sum = sum.saturating_add(*waits);
        }
        longest = longest.max(lock.wait_max_ns);
    }
    Spread::of(&histogram, 99, longest).map_or(0, |spread| spread.at_most)
}

fn circles(report: &Report) -> u64 {
    report.locks().map(|locks| locks.circles.len() as u64).sum()
}

impl Column {
    /// Its figure over all locks of a report. None if no lock has it, or if the report is older than locks.
    #[must_use]
    pub fn of_report(&self, report: &Report) -> Option<u64> {
        if report.locks().next().is_none() {
            // Counters of locks are as old as locks. A report that has the counters but no locks had no contention.
            let knows =
                Key::find("lock.contended").is_none_or(|key| report.tree.counters.known(key).is_some());
            return knows.then_some(0);
        }
        match self.get {
            All(get) => Some(get(report)),
            Each(get, fold) => {
                report.locks().flat_map(|locks| &locks.locks).filter_map(get).reduce(|a, b| fold.apply(a, b))
            }
        }
    }

    /// Why locks of this sort do not have it under this LOCK; None if they do.
    #[must_use]
    pub fn missing(&self, mode: Mode, sort: LockSort) -> Option<&'static str> {
        match self.seen {
            Seen::Waiting if sort.is_mutex() && mode != Mode::Simple => Some(INSIDE),
            Seen::Owned if !sort.is_mutex() => Some(NO_OWNER),
            _ => None,
        }
    }
}

/// The figure of that key.
#[must_use]
pub fn find(key: &str) -> Option<&'static Column> {
    COLUMNS.iter().find(|column| column.key == key)
}

/// Figures that each lock has.
pub fn of_each() -> impl Iterator<Item = &'static Column> {
    COLUMNS.iter().filter(|column| matches!(column.get, Each(..)))
}

/// Figures of all locks together that no counter of the ledger has: those that are compared and gated.
pub fn sums() -> impl Iterator<Item = &'static Column> {
    COLUMNS.iter().filter(|column| !column.counted)
}

/// The figures that are missing for locks of these sorts, with these ways of waiting.
#[must_use]
pub fn missing(ways: &[(Mode, LockSort)]) -> Vec<Missing> {
    let missing = COLUMNS.iter().filter_map(|column| {
        let why = ways.iter().find_map(|&(mode, sort)| column.missing(mode, sort))?;
        Some(Missing { key: column.key.to_owned(), why: why.to_owned() })
    });
    missing.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lock::sample;

    #[test]
    fn keys_are_unique_and_name_fields_of_a_lock() {
        let report = sample::report();
        let json: serde_json::Value = serde_json::from_str(&report.to_json()).expect("JSON");
        let lock = &json["processes"][0]["locks"]["locks"][0];
        for (at, column) in COLUMNS.iter().enumerate() {
            assert!(COLUMNS[..at].iter().all(|other| other.key != column.key), "{}", column.key);
            assert!(column.meaning.ends_with('.'), "{}", column.key);
            if let Each(..) = column.get {
                let field = column.key.trim_start_matches("locks.");
                assert!(lock.get(field).is_some(), "{field}");
            }
        }
    }

    #[test]
    fn sums_are_those_of_all_locks() {
        let report = sample::report();
        let sum = |key| find(key).expect(key).of_report(&report);
        assert_eq!(sum("locks.contended"), Some(1_500));
        assert_eq!(sum("locks.wait_max_ns"), Some(5_010_000));
        assert_eq!(sum("locks.runnable_ns"), Some(210_000_000));
        assert_eq!(sum("locks.circles"), Some(1));
        assert_eq!(sum("locks.wait_p99_ns"), Some(4_194_303));
        assert_eq!(find("locks.circles").map(|c| c.of_report(&crate::sample::getfree())), Some(Some(0)));
        let counted = report.processes[0].locks.as_ref().expect("locks");
        let mut report = report.clone();
        let mut locks = counted.clone();
        locks.locks.iter_mut().for_each(|lock| lock.runnable_ns = None);
        report.processes[0].locks = Some(locks);
        assert_eq!(
            find("locks.runnable_ns").map(|c| c.of_report(&report)),
            Some(None),
            "not known is not zero"
        );
    }

    #[test]
    fn what_waits_inside_the_c_library_says_less() {
        use LockSort::{MutexAdaptive, MutexNormal, Simple};
        let keys = |mode, sort| -> Vec<String> {
            missing(&[(mode, sort)]).into_iter().map(|missing| missing.key).collect()
        };
        for sort in [MutexNormal, MutexAdaptive] {
            assert_eq!(
                keys(Mode::Count, sort),
                ["locks.spun", "locks.parked", "locks.spin_ns", "locks.runnable_ns"]
            );
            assert_eq!(keys(Mode::Simple, sort), [""; 0]);
        }
        for mode in [Mode::Count, Mode::Simple] {
            assert_eq!(keys(mode, Simple), ["locks.blocked", "locks.looked"]);
        }
    }
}
