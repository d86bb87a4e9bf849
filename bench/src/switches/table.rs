//! The results of a run, for a person and for programs.

use super::arms::Group;
use super::{Run, goals};
use crate::goal::Goal;
use crate::heap::table::interval;
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
    let mut out = String::new();
    let _ = writeln!(out, "underbar bench switches: {} rounds, {}", run.request.rounds, run.host);
    let _ = writeln!(out, "Others used {:.0} % of the processors meanwhile.", run.others * 100.0);
    for (group, words) in GROUPS {
        let _ = writeln!(out, "\n{words:<56}{:>12}  ratio to the first, 95 % interval", "kernel calls");
        let mut first = None;
        for (place, arm) in run.arms.iter().enumerate().filter(|(_, arm)| arm.group == group) {
            let base = *first.get_or_insert(place);
            let ratio = (base != place).then(|| run.against(place, base).ratio().to_string());
            let calls = run
                .kernel_calls
                .get(place)
                .copied()
                .flatten()
                .map_or_else(String::new, |calls| calls.to_string());
            let line = format!(
                "  {:<42}{:>12.1}{calls:>12}  {}",
                arm.about,
                run.median(place),
                ratio.unwrap_or_default()
            );
            let _ = writeln!(out, "{}", line.trim_end());
        }
    }
    out.push_str("\nGoals\n");
    for goal in goals::all(run) {
        let _ = write!(out, "{goal}");
    }
    out
}

/// Every sample, one a line.
pub fn csv(run: &Run) -> String {
    let mut out = String::from("arm,round,value\n");
    for record in &run.records {
        let _ = writeln!(out, "{},{},{:.2}", run.arms[record.arm].name, record.round, record.value);
    }
    out
}

/// The summary.
pub fn json(run: &Run) -> String {
    let arms: Vec<Value> = (0..run.arms.len())
        .map(|place| {
            let arm = &run.arms[place];
            let first = run.arms.iter().position(|other| other.group == arm.group);
            let ratio = first.filter(|first| *first != place).map(|first| run.against(place, first));
            json!({
                "arm": arm.name, "about": arm.about, "median": run.median(place),
                "unit": if arm.group == Group::Start { "microseconds" } else { "nanoseconds" },
                "kernel_calls": run.kernel_calls.get(place).copied().flatten(),
                "to_first": ratio.as_ref().map_or(Value::Null, interval),
            })
        })
        .collect();
    let goals: Vec<Value> = goals::all(run).iter().map(Goal::json).collect();
    let document = json!({
        "schema": "underbar.bench.switches/1",
        "host": run.host.json(),
        "rounds": run.request.rounds, "seed": run.request.seed, "others_used": run.others,
        "arms": arms, "goals": goals,
    });
    format!("{document:#}\n")
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
        assert_eq!(csv(&run).lines().count(), 1 + run.records.len());
        let document: serde_json::Value = serde_json::from_str(&json(&run)).expect("valid JSON");
        assert_eq!(document["arms"].as_array().map(Vec::len), Some(run.arms.len()));
    }
}
