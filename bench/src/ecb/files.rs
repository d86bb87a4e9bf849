//! A run for programs: every figure of every sample as CSV, and the summary as JSON.

use super::{Run, goals};
use crate::goal::Goal;
use crate::results::interval;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Every figure, one a line.
pub fn csv(run: &Run) -> String {
    let mut out = String::from("row,arm,round,place,figure,value\n");
    for record in &run.records {
        for (name, figure) in &record.figures {
            let _ = writeln!(
                out,
                "{},\"{}\",{},{},{name},{figure}",
                run.rows[record.row].key, run.arms[record.arm].name, record.round, record.place
            );
        }
    }
    out
}

/// The summary.
pub fn json(run: &Run) -> String {
    let mut rows = Vec::new();
    for (at, row) in run.rows.iter().enumerate() {
        for figure in row.figures {
            for arm in run.arms_of(at) {
                let ratio = run.ours(at).map(|ours| run.against(at, figure, ours, arm));
                rows.push(json!({
                    "row": row.key, "figure": figure.key, "unit": figure.unit, "arm": run.arms[arm].name,
                    "median": run.median(at, arm, figure),
                    "ecb_to_it": ratio.as_ref().map_or(Value::Null, interval),
                }));
            }
        }
    }
    let arms: Vec<Value> =
        run.arms.iter().map(|arm| json!({ "name": arm.name, "version": arm.version })).collect();
    let missing: Vec<&str> = run.missing.iter().map(|(name, _)| name.as_str()).collect();
    let share = run.share.as_ref().ok();
    let calls: Vec<Value> = (run.calls.iter().flatten())
        .map(|(arm, calls)| json!({ "arm": run.arms[*arm].name, "turns": calls.turns, "calls": calls.calls }))
        .collect();
    let goals: Vec<Value> = goals::all(run).iter().map(Goal::json).collect();
    let document = json!({
        "schema": "underbar.bench.ecb/1",
        "host": run.host.json(),
        "rounds": run.request.rounds, "quick": run.request.quick, "seed": run.request.seed,
        "others_used": run.others, "arms": arms, "missing": missing,
        "handshake_requests": run.handshake_requests,
        "heap_share": share.map(|share| json!({ "handshake": share.handshake, "message": share.message })),
        "kernel_calls": calls, "rows": rows, "goals": goals,
    });
    format!("{document:#}\n")
}

#[cfg(test)]
mod tests {
    use super::{csv, json};
    use crate::ecb::tests::run;

    #[test]
    fn every_figure_is_in_the_csv_and_the_json_is_whole() {
        let run = run([20, 10, 5]);
        let figures: usize = run.records.iter().map(|record| record.figures.len()).sum();
        assert_eq!(csv(&run).lines().count(), 1 + figures);
        let document: serde_json::Value = serde_json::from_str(&json(&run)).expect("valid JSON");
        let figures: usize = run.rows.iter().map(|row| row.figures.len()).sum();
        assert_eq!(document["rows"].as_array().map(Vec::len), Some(4 * figures));
        assert!(document["heap_share"].is_null());
    }
}
