//! The rules about spinning on a lock before sleeping: when it pays, and when it does not.
//!
//! Spinning pays if a wait is shorter than a sleep and a wake. In a long wait it only wastes processor time at the start.
//! Not here: which locks matter, and the tests ([`crate::lock`]).

use underbar_report::lock::{Lock, LockSort, Mode};
use underbar_report::units::{count, counted, nanoseconds, percent};

use crate::advice::{Advice, Evidence, Kind};
use crate::case::Case;
use crate::lock::{evidence, found, worth};

/// The approximate time of a sleep and a wake: for a shorter wait, spinning is cheaper.
pub const SLEEP_AND_WAKE_NS: u64 = 4_096;

/// Rule `lock-spin-pays`.
pub fn spin_pays(case: &Case<'_>) -> Option<Advice> {
    let short = |lock: &Lock| lock.p50_ns.is_some_and(|p50| p50.at_most < SLEEP_AND_WAKE_NS);
    let worth = worth(case);
    let (locks, lock) = worth.iter().copied().find(|(_, lock)| short(lock))?;
    let mut evidence = vec![
        evidence("locks.contended", lock.contended),
        evidence("locks.wait_ns", lock.wait_ns),
        evidence("locks.wait_max_ns", lock.wait_max_ns),
    ];
    let half = lock.p50_ns.map_or(0, |p50| p50.at_most);
    if locks.mode == Mode::Count && lock.sort.is_mutex() {
        let reason = format!(
            "half of the waits for {} are at most {}, less than a sleep and a wake take: looking again would pay.",
            lock.name(),
            nanoseconds(half)
        );
        return found(Kind::Change, Some("SIMPLE"), locks.mode, evidence, reason);
    }
    let spun = lock.spun?;
    evidence.push(Evidence::Counter { key: "locks.spun", figure: spun });
    let reason = format!(
        "{} % of {} for {} were got without sleeping: spinning pays.",
        percent(spun.min(lock.contended), lock.contended),
        counted(lock.contended, "wait", "waits"),
        lock.name()
    );
    found(Kind::NoChange, None, locks.mode, evidence, reason)
}

/// Rule `lock-spin-does-not-pay`.
pub fn spin_does_not_pay(case: &Case<'_>) -> Option<Advice> {
    let long = |lock: &Lock| lock.p50_ns.is_some_and(|p50| p50.at_least >= SLEEP_AND_WAKE_NS);
    let worth = worth(case);
    let (locks, lock) = worth
        .iter()
        .copied()
        .filter(|(_, lock)| long(lock))
        .max_by_key(|(_, lock)| (lock.spin_ns.unwrap_or(0), lock.wait_ns))?;
    let half = lock.p50_ns.map_or(0, |p50| p50.at_least);
    let mut evidence =
        vec![evidence("locks.contended", lock.contended), evidence("locks.wait_ns", lock.wait_ns)];
    let (Some(spun), Some(spin_ns)) = (lock.spun, lock.spin_ns) else {
        if locks.mode != Mode::Count || lock.sort != LockSort::MutexAdaptive {
            return None;
        }
        let reason = format!(
            "half of the waits for {} are {} or longer, and the C library looks again before each: LOCK(SIMPLE) stops \
             looking once the holder is known not to run.",
            lock.name(),
            nanoseconds(half)
        );
        return found(Kind::Change, Some("SIMPLE"), locks.mode, evidence, reason);
    };
    evidence.extend([
        Evidence::Counter { key: "locks.spun", figure: spun },
        Evidence::Counter { key: "locks.spin_ns", figure: spin_ns },
    ]);
    let rarely = spun < lock.contended / 10;
    let dear = lock.spin_share_millionths.is_some_and(|share| share >= 10_000);
    if rarely && dear {
        let reason = format!(
            "{} of processor time to get {} of {} without sleeping: spinning does not pay for {}.",
            nanoseconds(spin_ns),
            count(spun),
            counted(lock.contended, "wait", "waits"),
            lock.name()
        );
        let option = (locks.mode == Mode::Simple && lock.sort.is_mutex()).then_some("COUNT");
        return found(
            if option.is_some() { Kind::Lower } else { Kind::Change },
            option,
            locks.mode,
            evidence,
            reason,
        );
    }
    let reason = format!(
        "waits for {} are long, and looking again took {} in all.",
        lock.name(),
        nanoseconds(spin_ns)
    );
    found(Kind::NoChange, None, locks.mode, evidence, reason)
}
