//! The results of a run, for a person and for programs.

use super::{Run, goals};
use crate::goal::Goal;
use crate::heap::table::interval;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// The report that a person reads.
pub fn text(run: &Run) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "underbar bench sort: {} rounds, {}", run.request.rounds, run.host);
    let _ = writeln!(out, "{} records of 100 bytes; {}", run.request.records, run.gnu);
    let _ = writeln!(out, "Others used {:.0} % of the processors meanwhile.", run.others * 100.0);
    let memory = 3 * run.request.bytes();
    for (is_small, memory) in [(false, memory), (true, memory / 10)] {
        let words = format!("Memory {} MB", memory / 1_000_000);
        let _ = writeln!(
            out,
            "\n{words:<28}{:>10}{:>12}{:>10}{:>10}  ratio of seconds to the first, 95 % interval",
            "seconds", "CPU seconds", "peak MB", "entries"
        );
        let mut first = None;
        for (place, arm) in run.arms.iter().enumerate().filter(|(_, arm)| arm.is_small == is_small) {
            let base = *first.get_or_insert(place);
            let ratio = (base != place).then(|| run.against(place, base).ratio().to_string());
            let entries = run.entries[place].map_or_else(|| "-".to_owned(), |entries| entries.to_string());
            let line = format!(
                "  {:<26}{:>10.3}{:>12.3}{:>10.0}{entries:>10}  {}",
                arm.about,
                run.median(place, |sample| sample.seconds),
                run.median(place, |sample| sample.cpu),
                run.median(place, |sample| sample.peak_kib as f64) / 976.5625,
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
    let mut out = String::from("arm,round,seconds,cpu_seconds,peak_kib\n");
    for record in &run.records {
        let sample = &record.sample;
        let _ = writeln!(
            out,
            "{},{},{:.6},{:.6},{}",
            run.arms[record.arm].name, record.round, sample.seconds, sample.cpu, sample.peak_kib
        );
    }
    out
}

/// The summary.
pub fn json(run: &Run) -> String {
    let arms: Vec<Value> = (0..run.arms.len())
        .map(|place| {
            let arm = &run.arms[place];
            let first = run.arms.iter().position(|other| other.is_small == arm.is_small);
            let ratio = first.filter(|first| *first != place).map(|first| run.against(place, first));
            json!({
                "arm": arm.name, "about": arm.about,
                "median_seconds": run.median(place, |sample| sample.seconds),
                "median_cpu_seconds": run.median(place, |sample| sample.cpu),
                "median_peak_kib": run.median(place, |sample| sample.peak_kib as f64),
                "kernel_entries": run.entries[place],
                "to_first": ratio.as_ref().map_or(Value::Null, interval),
            })
        })
        .collect();
    let goals: Vec<Value> = goals::all(run).iter().map(Goal::json).collect();
    let document = json!({
        "schema": "underbar.bench.sort/1",
        "host": run.host.json(), "gnu": run.gnu,
        "records": run.request.records, "bytes": run.request.bytes(),
        "rounds": run.request.rounds, "seed": run.request.seed, "others_used": run.others,
        "arms": arms, "goals": goals,
    });
    format!("{document:#}\n")
}

#[cfg(test)]
mod tests {
    use super::{csv, json, text};
    use crate::sort::tests::run;

    #[test]
    fn every_arm_is_in_every_form() {
        let run = run(|_| 2.0, |_| 100);
        let text = text(&run);
        assert!(run.arms.iter().all(|arm| text.contains(&arm.about)), "{text}");
        assert_eq!(csv(&run).lines().count(), 1 + run.records.len());
        let document: serde_json::Value = serde_json::from_str(&json(&run)).expect("valid JSON");
        assert_eq!(document["arms"].as_array().map(Vec::len), Some(run.arms.len()));
    }
}
