//! THSIZE: one reservation that serves a program's buffers, for a session of a listing and for a run.
//!
//! ```text
//! a listing: all buffers together, and the thread     ─┐
//!                                                      ├─> judge: Small, Large, Enough
//! a run under THSIZE: what it reached, what was beside ─┘
//! a run without: pages that came back, by what they cost here ─> whether a reservation pays
//! ```
//!
//! Not here: how buffers are read in listings (`listing::natural::thread`), and the reservation itself (`runtime`).

use underbar_ledger::Key;
use underbar_model::thread_storage::ThreadStorage;
use underbar_report::units::{bytes, count, counted, size};

use crate::advice::{Advice, Evidence, Kind, Setting};
use crate::case::Case;
use crate::sizes::is_well_used;
use crate::worth::{FEW, Worth};

/// Sizes that differ by less are the same.
const STEP: u64 = 64 << 10;
/// The bytes of a page, as faults count them.
const PAGE: u64 = 4096;
/// Pages that came so many times as often as they were held at most came back.
const OFTEN: u64 = 4;

/// What is to be said of a reservation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judged {
    /// The buffers do not fit.
    Small,
    /// It is far larger than what they need.
    Large,
    /// It holds them.
    Enough,
}

/// Judges a reservation of `now` bytes for buffers of `all` bytes, for which `need` bytes would be advised.
pub fn judge(all: u64, need: u64, now: u64) -> Judged {
    if all > now {
        return Judged::Small;
    }
    if !is_well_used(need, now) && now.saturating_sub(need) >= STEP { Judged::Large } else { Judged::Enough }
}

/// Rule `natural-thread-size`, for a run.
pub fn of_run(case: &Case<'_>) -> Vec<Advice> {
    let storage = ThreadStorage {
        size: case.get(Key::ThreadStorageSize),
        reached: case.get(Key::ThreadStorageReached),
        segments_peak: case.get(Key::HeapSegmentBytesPeak),
        outside: case.get(Key::ThreadStorageOutside),
    };
    let found = if storage.size > 0 { Some(with(case, storage)) } else { without(case, storage) };
    found.into_iter().collect()
}

/// A run that had a reservation.
fn with(case: &Case<'_>, storage: ThreadStorage) -> Advice {
    let ThreadStorage { size: now, reached, segments_peak, outside } = storage;
    let told = [
        Key::ThreadStorageSize,
        Key::ThreadStorageReached,
        Key::ThreadStorageOutside,
        Key::HeapSegmentBytesPeak,
    ];
    let evidence = told.map(|key| Evidence::counter(key, case.get(key))).to_vec();
    let mut advice = Advice { now: format!("THSIZE({})", size(now)), evidence, ..Advice::default() };
    let then = storage.suggested();
    let all = if outside > 0 { segments_peak } else { reached };
    let option = Setting::new("THSIZE", [Some(size(then))]);
    match judge(all, then, now) {
        Judged::Small => {
            advice.kind = Kind::Raise;
            advice.option = Some(option);
            let besides = counted(outside, "segment", "segments");
            advice.reason = format!("{besides} did not fit: all of them together are {}.", bytes(all));
            advice.effect = "buffers get the same pages again, without calls of the kernel.".to_owned();
        }
        Judged::Large => {
            advice.kind = Kind::Lower;
            advice.option = Some(option);
            advice.reason = format!("{} of it were reached.", bytes(reached));
            advice.effect = format!("{} less of address space.", bytes(now.saturating_sub(then)));
        }
        Judged::Enough => {
            advice.kind = Kind::NoChange;
            advice.reason = format!("It holds all buffers: {} of it were reached.", bytes(reached));
        }
    }
    advice
}

/// A run without: pages that are given back and come again cost a fault each.
fn without(case: &Case<'_>, storage: ThreadStorage) -> Option<Advice> {
    let (held, purged) = (case.heap.held.at_least()?, case.heap.purged.at_least()?);
    let faults = case.get(Key::ProcessFaults);
    let again = purged.saturating_sub(held) / PAGE;
    // Under sizes of HEAP the first segment is one reservation already.
    if case.heap.initial.value > 0 || again < FEW || purged / OFTEN < held || faults < again {
        return None;
    }
    let each = case.report.host.switch_costs.map(|costs| costs.mapping_ns).filter(|&each| each > 0)?;
    let worth = Worth::of(each.saturating_mul(again), &case.switching.cpu)?;
    let mut evidence = Evidence::all([&case.heap.held, &case.heap.purged, &case.switching.cpu]);
    evidence.push(Evidence::counter(Key::ProcessFaults, faults));
    let told = format!(
        "{} pages were given back and came again, where {} are held at most: {}",
        count(again),
        bytes(held),
        worth.words("processor time")
    );
    let mut advice = Advice { now: "no THSIZE".to_owned(), evidence, ..Advice::default() };
    if !worth.is_enough() {
        advice.reason = format!("Not worth it here: {told}.");
        return Some(advice);
    }
    let then = ThreadStorage { outside: 1, ..storage }.suggested();
    advice.kind = Kind::Change;
    advice.option = Some(Setting::new("THSIZE", [Some(size(then))]));
    advice.reason = format!("{told}.");
    advice.effect =
        "buffers get the same pages again, without calls of the kernel and without faults.".to_owned();
    advice.risk = format!("As much as {} may stay resident.", bytes(then));
    Some(advice)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounts::advise;
    use underbar_report::sample;
    use underbar_report::steps::Steps;
    use underbar_report::switch_costs::SwitchCosts;

    const MIB: u64 = 1 << 20;

    #[test]
    fn reservations_are_judged_whatever_told_them() {
        assert_eq!(judge(1_600_000, 1_800_000, 1_024_000), Judged::Small);
        assert_eq!(judge(1_600_000, 1_800_000, 4_096_000), Judged::Large);
        assert_eq!(judge(1_600_000, 1_800_000, 1_843_200), Judged::Enough);
        assert_eq!(judge(1, 2, 60_000), Judged::Enough, "less than 64K would be spared");
    }

    /// The advice for a run of 1 s with these counters.
    fn said(counters: &[(Key, u64)]) -> Option<Advice> {
        let mut process = sample::heap("/bin/churn", 4 * MIB, 4, 8 * MIB, (0, 0));
        for &(key, figure) in counters {
            process.counters.set(key, figure);
        }
        let mut report = sample::report(vec![process]);
        report.steps = Some(Steps { user_ns: 1_000_000_000, elapsed_ns: 1 << 40, ..Steps::default() });
        report.host.switch_costs = Some(SwitchCosts { mapping_ns: 1_000, ..SwitchCosts::default() });
        advise(&report).into_iter().find(|advice| advice.rule == "natural-thread-size")
    }

    #[test]
    fn a_reservation_is_raised_lowered_or_left() {
        let of = |size: u64, reached: u64, outside: u64| {
            let storage = [
                (Key::ThreadStorageSize, size * MIB),
                (Key::ThreadStorageReached, reached * MIB),
                (Key::ThreadStorageOutside, outside),
                (Key::HeapSegmentBytesPeak, 45 * MIB),
            ];
            let advice = said(&storage).expect("advice");
            (advice.kind, advice.suggested())
        };
        assert_eq!(of(8, 8, 9), (Kind::Raise, Some("THSIZE(45M)".to_owned())));
        assert_eq!(of(64, 9, 0), (Kind::Lower, Some("THSIZE(9M)".to_owned())));
        assert_eq!(of(45, 42, 0), (Kind::NoChange, None), "after the advice is followed");
    }

    #[test]
    fn pages_that_come_again_are_reserved_where_it_pays() {
        let purged = |pages: u64| [(Key::HeapPurgedBytes, pages * PAGE), (Key::ProcessFaults, pages)];
        let change = said(&purged(60_000)).expect("advice");
        assert_eq!((change.kind, change.suggested().as_deref()), (Kind::Change, Some("THSIZE(8M)")));
        assert!(change.reason.starts_with("57,952 pages were given back and came again"), "{change}");
        let little = said(&purged(11_000)).expect("advice");
        assert!(little.option.is_none() && little.reason.starts_with("Not worth it here: "), "{little}");
        assert_eq!(said(&purged(2_000)), None);
    }
}
