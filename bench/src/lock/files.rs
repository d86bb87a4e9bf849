//! A run for programs: every sample as CSV, and the summary as JSON.

use super::figure::{CPU, PAIR, TIME, figures};
use super::table::{against, best, overall, to_best};
use super::{OPEN, Run, UNCONTENDED, goals};
use crate::goal::Goal;
use crate::results::interval;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use underbar_verdict::ratios::median;

/// Every sample, one a line; a missing figure is empty.
pub fn csv(run: &Run) -> String {
    let names: BTreeSet<&str> =
        run.records.iter().flat_map(|record| record.figures.all()).map(|(name, _)| name).collect();
    let mut out = String::from("section,threads,round,place,lock");
    names.iter().for_each(|name| {
        let _ = write!(out, ",{name}");
    });
    out.push('\n');
    for record in &run.records {
        let (cell, lock) = (run.cells[record.cell], &run.locks[record.lock].name);
        let _ = write!(out, "{},{},{},{},{lock}", cell.section, cell.threads, record.round, record.place);
        for name in &names {
            let figure = record.figures.get(name).map_or_else(String::new, |figure| figure.to_string());
            let _ = write!(out, ",{figure}");
        }
        out.push('\n');
    }
    out
}

/// The summary.
pub fn json(run: &Run) -> String {
    let cells: Vec<Value> = (0..run.cells.len()).map(|cell| one(run, cell)).collect();
    let mean = |lock: usize, figure| overall(run, lock, figure).as_ref().map_or(Value::Null, interval);
    let means: Vec<Value> = (0..run.locks.len())
        .map(|lock| json!({ "lock": run.locks[lock].name, "cpu": mean(lock, &CPU), "time": mean(lock, &TIME) }))
        .collect();
    let goals: Vec<Value> = goals::all(run).iter().map(Goal::json).collect();
    let document = json!({
        "schema": "underbar.bench.lock/1",
        "host": run.host.json(),
        "rounds": run.request.rounds, "milliseconds": run.request.milliseconds, "seed": run.request.seed,
        "steps_per_millisecond": run.rate.0, "others_used": run.others,
        "cells": cells, "geometric_mean": means, "goals": goals,
    });
    format!("{document:#}\n")
}

fn one(run: &Run, cell: usize) -> Value {
    let section = run.cells[cell].section;
    let ratios = |lock: usize| match section {
        UNCONTENDED => {
            let std = run.lock("std").map(|std| against(run, cell, lock, std, &PAIR));
            json!({ "pair_to_std": std.as_ref().map_or(Value::Null, interval) })
        }
        OPEN => json!({}),
        _ => {
            let ratio = |figure| to_best(run, cell, lock, figure).as_ref().map_or(Value::Null, interval);
            json!({ "cpu_to_best": ratio(&CPU), "time_to_best": ratio(&TIME) })
        }
    };
    let measured = |lock: &usize| !run.values(cell, *lock, figures(section)[0]).is_empty();
    let locks: Vec<Value> = (0..run.locks.len())
        .filter(measured)
        .map(|lock| {
            let medians: serde_json::Map<String, Value> = figures(section)
                .iter()
                .map(|figure| (figure.key.to_owned(), json!(median(&run.values(cell, lock, figure)))))
                .collect();
            json!({ "lock": run.locks[lock].name, "medians": medians, "ratios": ratios(lock) })
        })
        .collect();
    let name = |figure| best(run, cell, figure).map(|(peer, _)| &run.locks[peer].name);
    let best = match section {
        UNCONTENDED | OPEN => Value::Null,
        _ => json!({ "cpu": name(&CPU), "time": name(&TIME) }),
    };
    json!({ "section": section, "threads": run.cells[cell].threads, "best_peer": best, "locks": locks })
}

#[cfg(test)]
mod tests {
    use super::{csv, json};
    use crate::lock::tests::run;

    #[test]
    fn every_sample_is_in_the_csv_and_the_json_is_whole() {
        let run = run([[300, 200, 100, 50]; 2]);
        let lines: Vec<String> = csv(&run).lines().map(str::to_owned).collect();
        assert_eq!(lines.len(), 1 + run.records.len());
        assert!(lines.iter().all(|line| line.matches(',').count() == lines[0].matches(',').count()));
        let document: serde_json::Value = serde_json::from_str(&json(&run)).expect("valid JSON");
        let ratio = &document["cells"][0]["locks"][2]["ratios"]["cpu_to_best"]["value"];
        assert!((ratio.as_f64().expect("a number") - 0.5).abs() < 1e-9, "{document}");
        assert_eq!(document["cells"][0]["best_peer"]["cpu"], "naive");
    }
}
