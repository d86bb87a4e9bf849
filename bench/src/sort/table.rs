//! The results of a run, for a person and for programs.

use super::arms::Arm;
use super::{Run, goals};
use crate::results::{Results, to_first};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// The report that a person reads.
pub fn text(run: &Run) -> String {
    let results = results(run);
    let mut out = results.head(&format!("{} records of 100 bytes; {}\n", run.request.records, run.gnu));
    let memory = 3 * run.request.bytes();
    for (is_small, memory) in [(false, memory), (true, memory / 10)] {
        let words = format!("Memory {} MB", memory / 1_000_000);
        let _ = writeln!(
            out,
            "\n{words:<28}{:>10}{:>12}{:>10}{:>10}  ratio of seconds to the first, 95 % interval",
            "seconds", "CPU seconds", "peak MB", "entries"
        );
        for (place, arm) in run.arms.iter().enumerate().filter(|(_, arm)| arm.is_small == is_small) {
            let entries = run.entries[place].map_or_else(|| "-".to_owned(), |entries| entries.to_string());
            let columns = format!(
                "{:<26}{:>10.3}{:>12.3}{:>10.0}{entries:>10}",
                arm.about,
                run.median(place, |sample| sample.seconds),
                run.median(place, |sample| sample.cpu),
                run.median(place, |sample| sample.peak_kib as f64) / 976.5625,
            );
            out += &results.row(place, &columns);
        }
    }
    out + &Results::goals(&goals::all(run))
}

/// What it has in common with others.
fn results(run: &Run) -> Results<'_> {
    let groups: Vec<_> = run.arms.iter().map(|arm| arm.is_small).collect();
    Results {
        bench: "sort",
        host: &run.host,
        rounds: run.request.rounds,
        seed: run.request.seed,
        others: run.others,
        to_first: to_first(&groups, |arm, base| run.against(arm, base)),
    }
}

/// Every sample, one a line.
pub fn csv(run: &Run) -> String {
    let mut out = String::from("arm,round,seconds,cpu_seconds,peak_kib\n");
    for record in run.samples.records() {
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
    let arm = |(place, arm): (usize, &Arm)| {
        json!({
            "arm": arm.name, "about": arm.about,
            "median_seconds": run.median(place, |sample| sample.seconds),
            "median_cpu_seconds": run.median(place, |sample| sample.cpu),
            "median_peak_kib": run.median(place, |sample| sample.peak_kib as f64),
            "kernel_entries": run.entries[place],
        })
    };
    let arms: Vec<Value> = run.arms.iter().enumerate().map(arm).collect();
    let more = json!({ "gnu": run.gnu, "records": run.request.records, "bytes": run.request.bytes() });
    results(run).summary(more, arms, &goals::all(run))
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
        assert_eq!(csv(&run).lines().count(), 1 + run.samples.records().len());
        let document: serde_json::Value = serde_json::from_str(&json(&run)).expect("valid JSON");
        assert_eq!(document["arms"].as_array().map(Vec::len), Some(run.arms.len()));
    }
}
