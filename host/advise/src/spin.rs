//! The rules about spinning on a lock before sleeping: when it pays, and when it does not.
//!
//! Spinning pays if a wait is shorter than a sleep and a wake. In a long wait it only wastes processor time at the start.
//! Not here: which locks matter, and the tests ([`crate::lock`]).

use underbar_report::lock::{Lock, LockSort, Mode};
use underbar_report::units::{count, counted, nanoseconds, percent};

use crate::advice::{Advice, Evidence, Kind};
use crate::case::Case;
use crate::lock::{Hot, found, worth};

/// The approximate time of a sleep and a wake: for a shorter wait, spinning is cheaper.
pub const SLEEP_AND_WAKE_NS: u64 = 4_096;

/// Rule `lock-spin-pays`.
pub fn spin_pays(case: &Case<'_>) -> Option<Advice> {
    let short = |lock: &Lock| lock.p50_ns.is_some_and(|p50| p50.at_most < SLEEP_AND_WAKE_NS);
    let Hot { locks, lock, of } = worth(case).into_iter().find(|hot| short(hot.lock))?;
    let half = lock.p50_ns.map_or(0, |p50| p50.at_most);
    if locks.mode == Mode::Count && lock.sort.is_mutex() {
        let reason = format!(
            "half of the waits for {} are at most {}, less than a sleep and a wake take: looking again would pay.",
            of.name,
            nanoseconds(half)
        );
        let evidence = Evidence::all([&of.contended, &of.waited, &of.longest]);
        return found(Kind::Change, Some("SIMPLE"), locks.mode, evidence, reason);
    }
    let (spun, contended) = (of.spun.certain()?, of.contended.value);
    let reason = format!(
        "{} % of {} for {} were got without sleeping: spinning pays.",
        percent(spun.min(contended), contended),
        counted(contended, "wait", "waits"),
        of.name
    );
    let evidence = Evidence::all([&of.contended, &of.waited, &of.longest, &of.spun]);
    found(Kind::NoChange, None, locks.mode, evidence, reason)
}

/// Rule `lock-spin-does-not-pay`.
pub fn spin_does_not_pay(case: &Case<'_>) -> Option<Advice> {
    let long = |lock: &Lock| lock.p50_ns.is_some_and(|p50| p50.at_least >= SLEEP_AND_WAKE_NS);
    let Hot { locks, lock, of } = worth(case)
        .into_iter()
        .filter(|hot| long(hot.lock))
        .max_by_key(|hot| (hot.of.spin.value, hot.of.waited.value))?;
    let half = lock.p50_ns.map_or(0, |p50| p50.at_least);
    let evidence = Evidence::all([&of.contended, &of.waited, &of.spun, &of.spin]);
    let (Some(spun), Some(spin_ns)) = (of.spun.certain(), of.spin.certain()) else {
        if locks.mode != Mode::Count || lock.sort != LockSort::MutexAdaptive {
            return None;
        }
        let reason = format!(
            "half of the waits for {} are {} or longer, and the C library looks again before each: LOCK(SIMPLE) stops \
             looking once the holder is known not to run.",
            of.name,
            nanoseconds(half)
        );
        return found(Kind::Change, Some("SIMPLE"), locks.mode, evidence, reason);
    };
    let contended = of.contended.value;
    let dear = lock.spin_share_millionths.is_some_and(|share| share >= 10_000);
    if spun < contended / 10 && dear {
        let reason = format!(
            "{} of processor time to get {} of {} without sleeping: spinning does not pay for {}.",
            nanoseconds(spin_ns),
            count(spun),
            counted(contended, "wait", "waits"),
            of.name
        );
        let option = (locks.mode == Mode::Simple && lock.sort.is_mutex()).then_some("COUNT");
        let kind = if option.is_some() { Kind::Lower } else { Kind::Change };
        return found(kind, option, locks.mode, evidence, reason);
    }
    let reason =
        format!("waits for {} are long, and looking again took {} in all.", of.name, nanoseconds(spin_ns));
    found(Kind::NoChange, None, locks.mode, evidence, reason)
}
