//! Calls of functions that may not move, in a loop: the rule about 3GL programs of Natural, and about ZIIP(3GL(library)) of a run.
//!
//! Not here: the component switch statistics of a listing (`listing::natural::switches`), and how calls are counted (`runtime`).

use underbar_model::LoopedCall;
use underbar_report::units::{count, nanoseconds};

use crate::advice::{Advice, Evidence, Kind};
use crate::case::Case;
use crate::worth::Worth;

/// Functions that are named; the others are fewer calls.
const MOST: usize = 3;

/// Rule `natural-components`, for a run.
pub fn of_run(case: &Case<'_>) -> Vec<Advice> {
    case.switching.looped.iter().take(MOST).filter_map(|call| found(case, call)).collect()
}

fn found(case: &Case<'_>, call: &LoopedCall) -> Option<Advice> {
    let (calls, time) = (call.calls.at_least()?, call.as_hand_overs.at_least()?);
    let (worth, cpu) = (Worth::of(time, &case.switching.cpu)?, case.switching.cpu.at_least()?);
    let LoopedCall { function, library, caller, .. } = call;
    let told = format!(
        "{caller} calls {function} of {library} {} times in a loop: as hand-overs about {}, next to {} of processor time",
        count(calls),
        nanoseconds(time),
        nanoseconds(cpu)
    );
    let (kind, reason) = if worth.is_enough() {
        let why = "Not suitable for another class of processors as it is: each call would be a switch. Call it outside \
                   the loop, or hand over many at a time.";
        (Kind::NoAdvice, format!("{told}. {why}"))
    } else {
        (Kind::NoChange, format!("{told}. The loop is suitable for another class of processors."))
    };
    Some(Advice {
        kind,
        now: format!("{function} of {library}, in a loop"),
        evidence: Evidence::all([&call.calls, &call.as_hand_overs, &case.switching.cpu]),
        reason,
        ..Advice::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounts::advise;
    use underbar_report::library_calls::LibraryCalls;
    use underbar_report::sample;
    use underbar_report::steps::Steps;
    use underbar_report::switch_costs::SwitchCosts;
    use underbar_report::switches::Switches;

    /// The advice for a run of 1 s of CPU time in which a place makes so many calls.
    fn said(busiest: u64) -> Option<Advice> {
        let mut process = sample::heap("/bin/server", 1 << 20, 1, 1 << 20, (0, 0));
        let [library, function, caller] = ["lib3gl.so", "sqrt_3gl", "server"].map(str::to_owned);
        let calls = LibraryCalls { library, function, caller, count: busiest, places: 1, busiest };
        process.switches = Some(Switches { library_calls: vec![calls], ..Switches::default() });
        let mut report = sample::report(vec![process]);
        report.steps = Some(Steps { user_ns: 1_000_000_000, ..Steps::default() });
        report.host.switch_costs = Some(SwitchCosts { hand_over_ns: 4_000, ..SwitchCosts::default() });
        advise(&report).into_iter().find(|advice| advice.rule == "natural-components")
    }

    #[test]
    fn a_call_in_a_loop_is_named_with_its_count_and_cost() {
        let many = said(1_000_000).expect("advice");
        assert_eq!((many.kind, many.suggested()), (Kind::NoAdvice, None));
        assert!(
            many.reason.starts_with(
                "server calls sqrt_3gl of lib3gl.so 1,000,000 times in a loop: as hand-overs about 4.00 s, next to 1.00 s"
            ) && many.reason.contains("Not suitable"),
            "{many}"
        );
        let few = said(1_500).expect("advice");
        assert!(few.kind == Kind::NoChange && few.reason.contains("is suitable"), "{few}");
        assert_eq!(said(900), None, "not in a loop");
    }
}
