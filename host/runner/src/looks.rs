//! Looks at a run from outside, every so often: what `run --every` shows over time.
//!
//! ```text
//! ledger: counters of each process ──┐
//! /proc/PROCESS: resident, anonymous ┴─ look, every so often ──> courses (report::course_recorder)
//! ```
//!
//! The processes do nothing for it: a look reads the pages that they write anyway, and the kernel's figures.
//!
//! Invariant: a look that fails is left out; it never disturbs the run.
//! Not here: how looks become courses with bounded memory (`underbar_report::course_recorder`).

use std::time::{Duration, Instant};

use underbar_launch::{Alive, LedgerFile};
use underbar_ledger::layout::ENDED_UNTIMED;
use underbar_ledger::{LedgerView, SlotState, SlotView};
use underbar_report::Report;
use underbar_report::course_recorder::{Counted, Recorder, Seen};
use underbar_sys::syscall::clock_nanoseconds;

/// The clock of the ledger.
const CLOCK_BOOTTIME: u32 = 7;

/// Looks that have been taken, and when the next one is due.
pub struct Looks {
    every: Duration,
    due: Option<Instant>,
    recorder: Recorder,
    /// The time of the last look, after the run began: processes that ended before it have been seen.
    last_ns: u64,
}

impl Looks {
    /// None so far, and then one in each interval.
    #[must_use]
    pub fn every(every: Duration) -> Looks {
        let every_ns = u64::try_from(every.as_nanos()).unwrap_or(u64::MAX);
        Looks { every, due: None, recorder: Recorder::new(every_ns), last_ns: 0 }
    }

    /// Takes a look if one is due. Returns the time until the next one.
    pub fn look(&mut self, ledger: &LedgerFile) -> Duration {
        let now = Instant::now();
        let due = *self.due.get_or_insert(now + self.every);
        if now < due {
            return due - now;
        }
        self.take(ledger);
        // A look that comes late is not made up for: the next one is due at the next moment of the same raster.
        let late = now - due;
        let missed = late.as_nanos() / self.every.as_nanos().max(1);
        let next =
            due + self.every.saturating_mul(u32::try_from(missed).unwrap_or(u32::MAX).saturating_add(1));
        self.due = Some(next);
        next.saturating_duration_since(Instant::now())
    }

    fn take(&mut self, ledger: &LedgerFile) {
        let bytes = ledger.read_counters().unwrap_or_default();
        let Ok(view) = LedgerView::new(&bytes) else { return };
        let began = view.made_ns();
        let now = clock_nanoseconds(CLOCK_BOOTTIME).saturating_sub(began);
        let alive = Alive::default();
        let last = std::mem::replace(&mut self.last_ns, now);
        let seen = view.slots().filter_map(|slot| seen(&slot, began, last, &alive)).collect();
        self.recorder.look(now, seen);
    }

    /// Puts the courses into the report of the run.
    pub fn finish(self, report: &mut Report) {
        report.over_time = Some(self.recorder.finish(report));
    }
}

/// A process that lives, or that ended after the last look; None for others.
fn seen(slot: &SlotView<'_>, began: u64, last: u64, alive: &Alive) -> Option<Seen> {
    let ended_ns = match slot.ended_ns() {
        0 if slot.state == SlotState::Live => None,
        // A process that became another program, or that could not tell the time.
        ended => Some(if ended > ENDED_UNTIMED {
            ended.saturating_sub(began)
        } else {
            last.max(slot.started_ns().saturating_sub(began))
        }),
    };
    let resident = match (slot.state, ended_ns) {
        (SlotState::Aggregate, _) => return None,
        (_, None) => alive.resident(slot)?,
        (_, Some(ended)) if ended < last => return None,
        _ => None,
    };
    let anonymous = resident.and_then(|_| alive.anonymous(slot));
    Some(Seen {
        program: String::from_utf8_lossy(slot.program()).into_owned(),
        process: slot.process.number,
        started_ns: slot.started_ns().saturating_sub(began),
        counters: Counted::of(|key| slot.get(key)),
        resident,
        anonymous,
        ended_ns,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_are_due_by_the_interval() {
        let ledger = LedgerFile::create(b"").expect("a ledger");
        let mut looks = Looks::every(Duration::from_secs(3_600));
        assert!(looks.look(&ledger) > Duration::from_secs(3_599));
        let mut report = Report::without_ledger(underbar_report::Facts::default());
        looks.due = Some(Instant::now());
        assert!(looks.look(&ledger) > Duration::from_secs(3_599));
        looks.finish(&mut report);
        let over = report.over_time.expect("looks were taken");
        assert_eq!((over.looks, over.every_ns, over.all.points()), (1, 3_600_000_000_000, 0));
    }
}
