//! How many records or rows one call returns: the rule for a clause MULTI-FETCH of a listing, and for the cursors of a run
//! (MULTIFETCH).
//!
//! ```text
//! Fetches of a clause ─┐
//!                      ├─> judge: Single, TooLarge, Seldom, Few, Fits ─> words and settings of each platform
//! Fetches of a run ────┘
//! ```
//!
//! Not here: which cursors may be read ahead (`underbar_multifetch`), and PREFSBL (`listing::natural::prefetch`).

use underbar_ledger::Key;
use underbar_model::Fetches;
use underbar_model::switches::LARGEST_FACTOR;
use underbar_report::units::{count, counted};

use crate::advice::{Advice, Evidence, Kind, Setting};
use crate::case::Case;
use crate::worth::{FEW, Worth};

/// The factor that experts recommend.
pub const USUAL: u64 = 10;

/// What is to be said of a factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judged {
    /// One call for each record.
    Single,
    /// So many records do not fit into a call; this many do.
    TooLarge(u64),
    /// The calls are few already.
    Seldom,
    /// It spares less than nine calls of ten.
    Few,
    /// It is right.
    Fits,
}

/// Judges a factor; None if it is not known for certain.
pub fn judge(fetches: &Fetches) -> Option<Judged> {
    let factor = fetches.factor.certain()?;
    Some(match (factor, fetches.room.certain()) {
        (0 | 1, _) => Judged::Single,
        (_, Some(room)) if factor > room => Judged::TooLarge(room),
        _ if factor > LARGEST_FACTOR => Judged::Seldom,
        _ if factor < USUAL => Judged::Few,
        _ => Judged::Fits,
    })
}

/// Rule `natural-multi-fetch`, for a run.
pub fn of_run(case: &Case<'_>) -> Vec<Advice> {
    found(case).into_iter().collect()
}

fn found(case: &Case<'_>) -> Option<Advice> {
    let fetches = &case.switching.fetches;
    let (asked, alone) = (fetches.asked.at_least()?, fetches.alone.value);
    let (calls, judged) = (fetches.calls()?, judge(fetches)?);
    if asked < FEW {
        return None;
    }
    let figures = [&fetches.asked, &fetches.served, &fetches.sent, &fetches.alone];
    let told = figures.into_iter().filter(|figure| figure.value > 0);
    let mut advice = Advice {
        now: format!("MULTIFETCH({})", fetches.factor.value),
        evidence: Evidence::all(told.chain([&fetches.factor])),
        ..Advice::default()
    };
    if case.get(Key::FetchWaited) > 0 {
        advice.evidence.push(Evidence::counter(Key::FetchWaited, case.get(Key::FetchWaited)));
    }
    let rows = format!("{} asked for one by one", counted(asked, "row", "rows"));
    if alone > 0 && asked - alone.min(asked) < FEW {
        let why = fetches.why_alone.map_or(String::new(), |why| format!(", mostly: {why}"));
        advice.reason = format!("{rows}; {} are of cursors that must be left alone{why}.", count(alone));
        return Some(advice);
    }
    let spared = calls.saturating_sub(fetches.calls_under(LARGEST_FACTOR)?);
    // Each call waits for an answer, so the time of the run counts, not its processor time.
    let cost = fetches.cost.at_least();
    let worth = cost.and_then(|cost| Worth::of(cost.saturating_mul(spared), &case.switching.elapsed));
    let is_worth = worth.is_none_or(Worth::is_enough);
    let times = worth.map_or(String::new(), |worth| format!(": {}", worth.words("the run")));
    match judged {
        Judged::Single | Judged::Few if spared < FEW || !is_worth => {
            advice.reason =
                format!("Not worth it here: larger fetches would spare {} calls{times}.", count(spared));
        }
        Judged::Single | Judged::Few => {
            advice.kind = Kind::Raise;
            advice.risk = "Messages of the server come with the next larger fetch, and its statistics show such fetches. A program that \
                           stops early reads rows in vain."
                .to_owned();
            advice.option = Some(Setting::new("MULTIFETCH", [Some(LARGEST_FACTOR.to_string())]));
            advice.reason = format!("{rows} take {} calls of the server{times}.", count(calls));
            if fetches.factor.value <= 1 {
                advice.reason += " Under the option, a cursor that must be left alone stays as it is.";
            }
            let under = fetches.calls_under(LARGEST_FACTOR).unwrap_or(0);
            advice.effect = format!("about {} calls instead of {}.", count(under), count(calls));
        }
        Judged::Seldom => {
            advice.reason =
                format!("{rows} take {} calls: a factor above {LARGEST_FACTOR} seldom pays.", count(calls));
        }
        Judged::Fits | Judged::TooLarge(_) => {
            advice.kind = Kind::NoChange;
            advice.reason = format!("{rows} take {} calls of the server.", count(calls));
        }
    }
    Some(advice)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounts::advise;
    use underbar_model::{Certainty, Figure};
    use underbar_report::sample;
    use underbar_report::switch_costs::SwitchCosts;

    #[test]
    fn factors_are_judged_whatever_told_them() {
        let judged = |factor: u64, room: Option<u64>| {
            let figure = |value| Figure::counter("options.in_force", value, Certainty::Certain);
            let absent = Fetches::absent("not told");
            let room = room.map_or(absent.room.clone(), figure);
            judge(&Fetches { factor: figure(factor), room, ..absent }).expect("known")
        };
        assert_eq!(judge(&Fetches::absent("a variable")), None);
        assert_eq!([0, 1].map(|factor| judged(factor, None)), [Judged::Single; 2]);
        assert_eq!(judged(20, Some(8)), Judged::TooLarge(8));
        assert_eq!((judged(8, Some(8)), judged(9, None)), (Judged::Few, Judged::Few));
        assert_eq!((judged(10, None), judged(100, None)), (Judged::Fits, Judged::Fits));
        assert_eq!(judged(101, None), Judged::Seldom);
    }

    /// The advice for a run of 10 s under a factor, with these counters.
    fn said(factor: u64, counters: &[(Key, u64)]) -> Option<Advice> {
        let mut process = sample::heap("/bin/export", 1 << 20, 1, 1 << 20, (0, 0));
        for &(key, figure) in counters {
            process.counters.set(key, figure);
        }
        let mut report = sample::report(vec![process]);
        sample::in_force(&mut report, &format!("MULTIFETCH({factor},262144)"));
        report.steps = Some(underbar_report::steps::Steps {
            elapsed_ns: 10_000_000_000,
            ..underbar_report::steps::Steps::default()
        });
        let (read_ns, write_ns, hand_over_ns) = (250, 250, 9_000);
        report.host.switch_costs =
            Some(SwitchCosts { read_ns, write_ns, hand_over_ns, ..SwitchCosts::default() });
        advise(&report).into_iter().find(|advice| advice.rule == "natural-multi-fetch")
    }

    #[test]
    fn rows_one_by_one_are_fetched_in_larger_steps() {
        let raise = said(0, &[(Key::FetchAsked, 100_001)]).expect("advice");
        assert_eq!(raise.kind, Kind::Raise);
        assert_eq!(raise.suggested().as_deref(), Some("MULTIFETCH(100)"));
        assert!(raise.reason.contains("100,001 rows asked for one by one take 100,001 calls"), "{raise}");
        assert!(raise.reason.contains(": about 990 ms of 10.0 s of the run, 9.9 %"), "{raise}");
        assert_eq!(raise.effect, "about 1,001 calls instead of 100,001.");
        let few =
            said(8, &[(Key::FetchAsked, 200_000), (Key::FetchServed, 199_998), (Key::FetchSent, 25_000)]);
        assert_eq!(few.expect("advice").kind, Kind::Raise);
        // A rule says "no change" after its advice is followed.
        let after =
            said(100, &[(Key::FetchAsked, 100_001), (Key::FetchServed, 99_999), (Key::FetchSent, 1_006)]);
        assert_eq!(after.expect("advice").kind, Kind::NoChange);
    }

    #[test]
    fn what_is_little_is_not_worth_it() {
        assert_eq!(said(0, &[(Key::FetchAsked, 900)]), None);
        let little = said(0, &[(Key::FetchAsked, 9_000)]).expect("advice");
        assert_eq!((little.kind, &little.option), (Kind::NoAdvice, &None));
        assert!(little.reason.starts_with("Not worth it here: "), "{little}");
    }

    #[test]
    fn cursors_that_must_be_left_alone_set_nothing() {
        let counters = [
            (Key::FetchAsked, 50_000),
            (Key::FetchAlone, 50_000),
            (Key::FetchNotReadOnly, 1),
            (Key::FetchNode, 3),
        ];
        let alone = said(100, &counters).expect("advice");
        assert_eq!((alone.kind, &alone.option), (Kind::NoAdvice, &None));
        assert!(alone.reason.contains("mostly: the plan does more"), "{alone}");
    }
}
