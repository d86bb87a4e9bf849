//! A run for programs: every sample as CSV, and the summary as JSON.

use super::{Run, goals};
use crate::goal::Goal;
use crate::results::interval;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Every sample, one a line; organisation and members are empty for a file.
pub fn csv(run: &Run) -> String {
    let mut out = String::from("program,organisation,members,way,round,place,microseconds\n");
    for record in run.samples.records() {
        let row = &run.rows[record.arm];
        let library = row
            .library
            .map_or_else(|| ",".to_owned(), |at| format!("{},{}", at.organisation.text(), at.members));
        let _ = writeln!(
            out,
            "{},{library},{},{},{},{:.4}",
            row.program.name, row.way.name, record.round, record.place, record.sample
        );
    }
    out
}

/// The summary.
pub fn json(run: &Run) -> String {
    let rows: Vec<Value> = (0..run.rows.len())
        .map(|place| {
            let row = &run.rows[place];
            let ratio = run.base(place).map(|base| run.samples.against(place, base));
            json!({
                "program": row.program.name, "way": row.way.name,
                "organisation": row.library.map(|at| at.organisation.text()),
                "members": row.library.map(|at| at.members),
                "median_us": run.samples.median(place),
                "to_dlopen": ratio.as_ref().map_or(Value::Null, interval),
            })
        })
        .collect();
    let goals: Vec<Value> = goals::all(run).iter().map(Goal::json).collect();
    let document = json!({
        "schema": "underbar.bench.load/1",
        "host": run.host.json(),
        "rounds": run.request.rounds, "seed": run.request.seed, "others_used": run.others,
        "rows": rows, "goals": goals,
    });
    format!("{document:#}\n")
}

#[cfg(test)]
mod tests {
    use super::{csv, json};
    use crate::load::tests::run;

    #[test]
    fn every_sample_is_in_the_csv_and_the_json_is_whole() {
        let run = run(|_| 2.0);
        let lines: Vec<String> = csv(&run).lines().map(str::to_owned).collect();
        assert_eq!(lines.len(), 1 + run.samples.records().len());
        assert!(lines.iter().all(|line| line.matches(',').count() == 6));
        let document: serde_json::Value = serde_json::from_str(&json(&run)).expect("valid JSON");
        assert_eq!(document["rows"].as_array().map(Vec::len), Some(run.rows.len()));
    }
}
