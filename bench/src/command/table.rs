//! The results of a run, for a person and for programs.

use super::arms::{Arm, Kind};
use super::{Run, goals};
use crate::results::{Results, to_first};
use serde_json::{Value, json};
use std::fmt::Write as _;

const KINDS: [(Kind, &str); 3] = [
    (Kind::Start, "Start to end, milliseconds: the middle of 25 in a round"),
    (Kind::Children, "Start to end, milliseconds: the middle of 3 in a round"),
    (Kind::Work, "CPU time of the program alone, milliseconds: the least of 8"),
];

/// The report that a person reads.
pub fn text(run: &Run) -> String {
    let results = results(run);
    let mut out = results.head("");
    for (kind, words) in KINDS {
        let _ = writeln!(out, "\n{words:<64}  ratio to the first, 95 % interval");
        for (place, arm) in run.arms.iter().enumerate().filter(|(_, arm)| arm.kind == kind) {
            out +=
                &results.row(place, &format!("{:<52}{:>10.3}", arm.about, run.samples.median(place) / 1e3));
        }
    }
    out + &Results::goals(&goals::all(run))
}

/// What it has in common with others.
fn results(run: &Run) -> Results<'_> {
    let groups: Vec<_> = run.arms.iter().map(|arm| arm.kind).collect();
    Results {
        bench: "command",
        host: &run.host,
        rounds: run.request.rounds,
        seed: run.request.seed,
        others: run.others,
        to_first: to_first(&groups, |arm, base| run.samples.against(arm, base)),
    }
}

/// Every sample, one a line.
pub fn csv(run: &Run) -> String {
    let mut out = String::from("arm,round,microseconds\n");
    for record in run.samples.records() {
        let _ = writeln!(out, "{},{},{:.1}", run.arms[record.arm].name, record.round, record.sample);
    }
    out
}

/// The summary.
pub fn json(run: &Run) -> String {
    let arm = |(place, arm): (usize, &Arm)| json!({ "arm": arm.name, "about": arm.about, "median_us": run.samples.median(place) });
    let arms: Vec<Value> = run.arms.iter().enumerate().map(arm).collect();
    results(run).summary(Value::Null, arms, &goals::all(run))
}

#[cfg(test)]
mod tests {
    use super::{csv, json, text};
    use crate::command::tests::run;

    #[test]
    fn every_arm_is_in_every_form() {
        let run = run(|_| 2_000.0);
        let text = text(&run);
        assert!(run.arms.iter().all(|arm| text.contains(&arm.about)), "{text}");
        assert_eq!(csv(&run).lines().count(), 1 + run.samples.records().len());
        let document: serde_json::Value = serde_json::from_str(&json(&run)).expect("valid JSON");
        assert_eq!(document["arms"].as_array().map(Vec::len), Some(run.arms.len()));
    }
}
