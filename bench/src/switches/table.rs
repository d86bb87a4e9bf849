//! The results of a run, for a person and for programs.

use super::arms::{Arm, Group};
use super::{Run, goals};
use crate::results::{Results, to_first};
use serde_json::{Value, json};
use std::fmt::Write as _;

const GROUPS: [(Group, &str); 5] = [
    (Group::Start, "Start to end, microseconds: the middle of 15 in a round"),
    (Group::Call, "A call that does next to nothing, nanoseconds"),
    (Group::Unnamed, "A line to a file that no option names, nanoseconds"),
    (Group::Print, "A line of print to a file, nanoseconds"),
    (Group::WorkFile, "A record of a work file, nanoseconds"),
];

/// The report that a person reads.
pub fn text(run: &Run) -> String {
    let results = results(run);
    let mut out = results.head("");
    for (group, words) in GROUPS {
        let _ = writeln!(out, "\n{words:<56}{:>12}  ratio to the first, 95 % interval", "kernel calls");
        for (place, arm) in run.arms.iter().enumerate().filter(|(_, arm)| arm.group == group) {
            let calls = kernel_calls(run, place).map_or_else(String::new, |calls| calls.to_string());
            let columns = format!("{:<42}{:>12.1}{calls:>12}", arm.about, run.samples.median(place));
            out += &results.row(place, &columns);
        }
    }
    out + &Results::goals(&goals::all(run))
}

fn kernel_calls(run: &Run, place: usize) -> Option<u64> {
    run.kernel_calls.get(place).copied().flatten()
}

/// What it has in common with others.
fn results(run: &Run) -> Results<'_> {
    let groups: Vec<_> = run.arms.iter().map(|arm| arm.group).collect();
    Results {
        bench: "switches",
        host: &run.host,
        rounds: run.request.rounds,
        seed: run.request.seed,
        others: run.others,
        to_first: to_first(&groups, |arm, base| run.samples.against(arm, base)),
    }
}

/// Every sample, one a line.
pub fn csv(run: &Run) -> String {
    let mut out = String::from("arm,round,value\n");
    for record in run.samples.records() {
        let _ = writeln!(out, "{},{},{:.2}", run.arms[record.arm].name, record.round, record.sample);
    }
    out
}

/// The summary.
pub fn json(run: &Run) -> String {
    let arm = |(place, arm): (usize, &Arm)| {
        json!({
            "arm": arm.name, "about": arm.about, "median": run.samples.median(place),
            "unit": if arm.group == Group::Start { "microseconds" } else { "nanoseconds" },
            "kernel_calls": kernel_calls(run, place),
        })
    };
    let arms: Vec<Value> = run.arms.iter().enumerate().map(arm).collect();
    results(run).summary(Value::Null, arms, &goals::all(run))
}

#[cfg(test)]
mod tests {
    use super::{csv, json, text};
    use crate::switches::tests::run;

    #[test]
    fn every_arm_is_in_every_form() {
        let run = run(|_| 200.0, |_| 4);
        let text = text(&run);
        assert!(run.arms.iter().all(|arm| text.contains(&arm.about)), "{text}");
        assert_eq!(csv(&run).lines().count(), 1 + run.samples.records().len());
        let document: serde_json::Value = serde_json::from_str(&json(&run)).expect("valid JSON");
        assert_eq!(document["arms"].as_array().map(Vec::len), Some(run.arms.len()));
    }
}
