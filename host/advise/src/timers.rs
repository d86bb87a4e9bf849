//! Timers that are set again and again: the rule about MT of Natural, which sets one at each FETCH, and about the timers of a run
//! (TIMER, MT).
//!
//! Not here: MT of a listing (`listing::natural::parameters`), and the timers themselves (`runtime`).

use underbar_ledger::Key;
use underbar_report::units::{count, counted};

use crate::advice::{Advice, Evidence, Kind, Setting};
use crate::case::Case;
use crate::worth::{FEW, Worth};

/// Rule `natural-time-limit`, for a run.
pub fn of_run(case: &Case<'_>) -> Vec<Advice> {
    found(case).into_iter().collect()
}

fn found(case: &Case<'_>) -> Option<Advice> {
    let set = case.get(Key::TimerSet);
    if set > 0 {
        let told = [Key::TimerSet, Key::TimerSwallowed].map(|key| Evidence::counter(key, case.get(key)));
        let without = count(case.get(Key::TimerSwallowed));
        let reason = format!(
            "{}, {without} of them without the kernel.",
            counted(set, "timer was set", "timers were set")
        );
        let kind = Kind::NoChange;
        return Some(Advice {
            kind,
            now: "TIMER(COALESCE)".to_owned(),
            evidence: told.to_vec(),
            reason,
            ..Advice::default()
        });
    }
    let timers = &case.switching.timers;
    let (calls, time) = (timers.calls.at_least()?, timers.time.at_least()?);
    if calls < FEW {
        return None;
    }
    let worth = Worth::of(time, &case.switching.cpu)?;
    let mut advice = Advice {
        now: "TIMER(OFF)".to_owned(),
        evidence: Evidence::all([&timers.calls, &timers.time, &case.switching.cpu]),
        ..Advice::default()
    };
    let told = format!("{} calls set timers: {}", count(calls), worth.words("processor time"));
    if !worth.is_enough() {
        advice.reason = format!("Not worth it here: {told}.");
        return Some(advice);
    }
    advice.kind = Kind::Change;
    advice.option = Some(Setting::new("TIMER", [Some("COALESCE".to_owned())]));
    advice.reason = format!("{told}. A limit of CPU time needs none: MT(seconds).");
    advice.effect = "a call for the first few timers, and for those that expire.".to_owned();
    advice.risk =
        "A thread of underbar sends the signals; timers with an interval and of other clocks are left alone."
            .to_owned();
    Some(advice)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounts::advise;
    use underbar_report::sample;
    use underbar_report::steps::Steps;
    use underbar_report::switch_costs::SwitchCosts;
    use underbar_report::switches::{Calls, Switches};

    /// The advice for a run of 100 ms of CPU time with so many calls.
    fn said(function: &str, count: u64, set: u64) -> Option<Advice> {
        let mut process = sample::heap("/bin/server", 1 << 20, 1, 1 << 20, (0, 0));
        let [component, kind, function] = ["server", "timer", function].map(str::to_owned);
        let calls = vec![Calls { component, kind, function, count, bytes: None }];
        process.switches = Some(Switches { calls, ..Switches::default() });
        process.counters.set(Key::TimerSet, set);
        let mut report = sample::report(vec![process]);
        report.steps = Some(Steps { user_ns: 100_000_000, ..Steps::default() });
        report.host.switch_costs = Some(SwitchCosts { system_call_ns: 200, ..SwitchCosts::default() });
        advise(&report).into_iter().find(|advice| advice.rule == "natural-time-limit")
    }

    #[test]
    fn timers_that_are_set_again_and_again_are_kept_outside_the_kernel() {
        let change = said("setitimer", 20_000, 0).expect("advice");
        assert_eq!((change.kind, change.suggested().as_deref()), (Kind::Change, Some("TIMER(COALESCE)")));
        assert!(change.reason.starts_with("20,000 calls set timers: about 4.00 ms of 100 ms"), "{change}");
        let little = said("setitimer", 2_000, 0).expect("advice");
        assert!(little.option.is_none() && little.reason.starts_with("Not worth it here: "), "{little}");
        assert_eq!(said("nanosleep", 20_000, 0), None, "a sleep sets none");
        assert_eq!(said("alarm", 20_000, 20_000).map(|advice| advice.kind), Some(Kind::NoChange));
    }
}
