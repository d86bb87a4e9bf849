//! The results of a run, for a person and for programs.

use super::arms::Kind;
use super::{Run, goals};
use crate::goal::Goal;
use crate::heap::table::interval;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// The report that a person reads.
pub fn text(run: &Run) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "underbar bench command: {} rounds, {}", run.request.rounds, run.host);
    let _ = writeln!(out, "Others used {:.0} % of the processors meanwhile.", run.others * 100.0);
    for (kind, words) in [
        (Kind::Start, "Start to end, milliseconds: the middle of 25 in a round"),
        (Kind::Children, "Start to end, milliseconds: the middle of 3 in a round"),
        (Kind::Work, "CPU time of the program alone, milliseconds: the least of 8"),
    ] {
        let _ = writeln!(out, "\n{words:<64}  ratio to the first, 95 % interval");
        let mut first = None;
        for (place, arm) in run.arms.iter().enumerate().filter(|(_, arm)| arm.kind == kind) {
            let base = *first.get_or_insert(place);
            let ratio = (base != place).then(|| run.against(place, base).ratio().to_string());
            let line = format!(
                "  {:<52}{:>10.3}  {}",
                arm.about,
                run.median(place) / 1e3,
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
    let mut out = String::from("arm,round,microseconds\n");
    for record in &run.records {
        let _ = writeln!(out, "{},{},{:.1}", run.arms[record.arm].name, record.round, record.microseconds);
    }
    out
}

/// The summary.
pub fn json(run: &Run) -> String {
    let arms: Vec<Value> = (0..run.arms.len())
        .map(|place| {
            let first = run.arms.iter().position(|arm| arm.kind == run.arms[place].kind);
            let ratio = first.filter(|first| *first != place).map(|first| run.against(place, first));
            json!({
                "arm": run.arms[place].name, "about": run.arms[place].about, "median_us": run.median(place),
                "to_first": ratio.as_ref().map_or(Value::Null, interval),
            })
        })
        .collect();
    let goals: Vec<Value> = goals::all(run).iter().map(Goal::json).collect();
    let document = json!({
        "schema": "underbar.bench.command/1",
        "host": run.host.json(),
        "rounds": run.request.rounds, "seed": run.request.seed, "others_used": run.others,
        "arms": arms, "goals": goals,
    });
    format!("{document:#}\n")
}

#[cfg(test)]
mod tests {
    use super::{csv, json, text};
    use crate::command::tests::run;

    #[test]
    fn every_arm_stands_in_every_form() {
        let run = run(|_| 2_000.0);
        let text = text(&run);
        assert!(run.arms.iter().all(|arm| text.contains(&arm.about)), "{text}");
        assert_eq!(csv(&run).lines().count(), 1 + run.records.len());
        let document: serde_json::Value = serde_json::from_str(&json(&run)).expect("valid JSON");
        assert_eq!(document["arms"].as_array().map(Vec::len), Some(run.arms.len()));
    }
}
