//! A run of `bench accounts` as text and as JSON.
//!
//! Invariant: everything printed is made from [`Run`] alone; every sample of the times is in `accounts.csv`.
//! Not here: the meaning of the figures (`summary`).

use super::summary::{Goal, NOTHING, Summary, mean, ratio};
use super::{Both, Run, WITH, WITHOUT};
use crate::heap::table::{cpu_ms, values};
use crate::results::interval;
use serde_json::{Value, json};
use std::fmt::Write as _;
use underbar_verdict::ratios::median;

/// The report that a person reads.
#[must_use]
pub fn text(run: &Run) -> String {
    let summary = Summary::of(run);
    let mut out = String::new();
    let request = &run.times.request;
    let _ = writeln!(
        out,
        "underbar bench accounts: {} rounds{}, {}",
        request.rounds,
        if request.quick { " (quick)" } else { "" },
        run.times.host
    );
    let version = &run.times.allocators[WITH].version;
    let _ = writeln!(out, "  with     underbar {version}: the library that the command carries, preloaded");
    let _ = writeln!(
        out,
        "  without  the same, built with the feature underbar-runtime/no-accounts: nothing is counted"
    );
    for (name, version) in &run.others {
        let _ = writeln!(out, "  {name:<8} {version}");
    }
    for (name, reason) in &run.times.missing {
        let _ = writeln!(out, "  - {name} NOT MEASURED: {reason}");
    }
    pairs(&mut out, run);
    instructions(&mut out, run, &summary);
    times(&mut out, run, &summary);
    let _ = writeln!(out, "\nGoals, by the figures above");
    for goal in &summary.goals {
        let _ = writeln!(out, "{}", goal.line());
    }
    out
}

/// Instructions per pair.
fn pairs(out: &mut String, run: &Run) {
    if run.pairs.is_empty() {
        return;
    }
    let _ = writeln!(out, "\nInstructions per malloc and free pair, with the workload's loop (callgrind)");
    let _ = write!(out, "  {:<16}{:>12}{:>12}{:>12}", "workload", "with", "without", "added");
    for (name, _) in &run.others {
        let _ = write!(out, "{name:>17}");
    }
    out.push('\n');
    for pairs in &run.pairs {
        let Both { with, without } = pairs.instructions;
        let _ = write!(out, "  {:<16}{with:>12.3}{without:>12.3}{:>12.3}", pairs.workload, with - without);
        for other in &pairs.others {
            let cell = other.map_or_else(|| "NOT COUNTED".to_owned(), |figure| format!("{figure:.3}"));
            let _ = write!(out, "{cell:>17}");
        }
        out.push('\n');
    }
}

/// Instructions of every workload.
fn instructions(out: &mut String, run: &Run, summary: &Summary) {
    let _ = writeln!(
        out,
        "\nInstructions of a few steps (callgrind, which runs one thread at a time); net: start and end taken off"
    );
    let _ = writeln!(
        out,
        "  {:<16}{:>10}{:>14}{:>14}{:>9}{:>9}",
        "workload", "steps", "with", "without", "ratio", "net"
    );
    for (counted, (_, net)) in run.counted.iter().zip(&summary.instructions) {
        let Both { with, without } = counted.instructions;
        let _ = writeln!(
            out,
            "  {:<16}{:>10}{with:>14}{without:>14}{:>9.4}{net:>9.4}",
            counted.workload,
            counted.steps,
            ratio(counted, &NOTHING)
        );
    }
    let Both { with, without } = run.start;
    let _ = writeln!(out, "  {:<16}{:>10}{with:>14}{without:>14}", "start and end", 0);
    let _ = writeln!(
        out,
        "  {:<54}{:>9.4}{:>9.4}",
        "geometric mean",
        mean(run.counted.iter().map(|counted| ratio(counted, &NOTHING))),
        summary.mean_instructions()
    );
}

/// CPU times.
fn times(out: &mut String, run: &Run, summary: &Summary) {
    let _ = writeln!(
        out,
        "\nCPU time, with and without side by side in random order, {} rounds, 95 % interval",
        run.times.request.rounds
    );
    let _ = writeln!(out, "  {:<16}{:>10}{:>12}   with/without", "workload", "with ms", "without ms");
    for (workload, mean) in &summary.times {
        let of = |place| median(&values(&run.times, workload, place, cpu_ms));
        let ratio = mean.ratio();
        let _ = writeln!(
            out,
            "  {workload:<16}{:>10.1}{:>12.1}   {ratio} {}",
            of(WITH),
            of(WITHOUT),
            ratio.word()
        );
    }
    let _ = writeln!(out, "  {:<38}   {}", "geometric mean", summary.mean_time().ratio());
    if let Some((workload, ratio)) = summary.worst_time() {
        let _ = writeln!(out, "  {:<38}   {ratio}", format!("worst: {workload}"));
        let _ = writeln!(
            out,
            "  The worst of {} is picked by chance too; its interval is not widened for that.",
            summary.times.len()
        );
    }
}

/// The same, for programs.
#[must_use]
pub fn json(run: &Run) -> String {
    let summary = Summary::of(run);
    let names: Vec<&str> = run.others.iter().map(|(name, _)| name.as_str()).collect();
    let pairs: Vec<Value> = run
        .pairs
        .iter()
        .map(|pairs| {
            let Both { with, without } = pairs.instructions;
            let others: serde_json::Map<String, Value> = names
                .iter()
                .zip(&pairs.others)
                .map(|(name, figure)| ((*name).to_owned(), json!(figure)))
                .collect();
            json!({
                "workload": pairs.workload, "with": with, "without": without, "added": with - without,
                "others": others,
            })
        })
        .collect();
    let counted: Vec<Value> = run
        .counted
        .iter()
        .zip(&summary.instructions)
        .map(|(counted, (_, net))| {
            let Both { with, without } = counted.instructions;
            json!({
                "workload": counted.workload, "steps": counted.steps, "with": with, "without": without,
                "ratio": ratio(counted, &NOTHING), "net": net,
            })
        })
        .collect();
    let times: Vec<Value> = summary
        .times
        .iter()
        .map(|(workload, mean)| {
            let of = |place| values(&run.times, workload, place, cpu_ms);
            json!({
                "workload": workload, "with_median": median(&of(WITH)), "without_median": median(&of(WITHOUT)),
                "unit": "ms", "ratio": interval(mean),
            })
        })
        .collect();
    let others: Vec<Value> =
        run.others.iter().map(|(name, version)| json!({ "name": name, "version": version })).collect();
    let goals: Vec<Value> = summary.goals.iter().map(Goal::json).collect();
    let document = json!({
        "schema": "underbar.bench.accounts/1",
        "host": run.times.host.json(),
        "rounds": run.times.request.rounds, "quick": run.times.request.quick, "seed": run.times.request.seed,
        "version": run.times.allocators[WITH].version,
        "others": others,
        "instructions_per_pair": pairs,
        "instructions": {
            "start_and_end": { "with": run.start.with, "without": run.start.without },
            "workloads": counted,
            "geometric_mean_net": summary.mean_instructions(),
            "worst_net": summary.worst_instructions().map(|(workload, _)| workload),
        },
        "cpu": {
            "workloads": times,
            "geometric_mean": interval(&summary.mean_time()),
            "worst": summary.worst_time().map(|(workload, _)| workload),
        },
        "goals": goals,
    });
    format!("{document:#}\n")
}

#[cfg(test)]
mod tests {
    use super::{json, text};
    use crate::accounts::summary::tests::run;

    #[test]
    fn what_was_missed_is_said_like_what_was_held() {
        let missed = text(&run(1.25));
        for line in [
            "  lifo                  55.000      30.000      25.000           91.500      NOT COUNTED",
            "  lifo                     7         13500         10900   1.2385   1.2500",
            "  lifo                 250.0       200.0   1.250 [1.250, 1.250] loss",
            "  server               180.0       200.0   0.900 [0.900, 0.900] gain",
            "  - absent NOT MEASURED: not installed",
        ] {
            assert!(missed.contains(line), "{line}\n{missed}");
        }
        let goals = |text: &str, word: &str| text.lines().filter(|line| line.starts_with(word)).count();
        assert_eq!((goals(&missed, "  missed "), goals(&missed, "  held ")), (5, 0), "{missed}");
        let held = text(&run(1.02));
        assert_eq!((goals(&held, "  missed "), goals(&held, "  held ")), (0, 5), "{held}");
        assert!(held.contains("CPU time, worst workload: lifo"), "{held}");
        assert!(held.contains("geometric mean of 2 of 12 workloads"), "{held}");
    }

    #[test]
    fn the_json_is_whole() {
        let document: serde_json::Value = serde_json::from_str(&json(&run(1.25))).expect("valid JSON");
        assert_eq!(document["instructions_per_pair"][0]["added"], 25.0);
        assert_eq!(document["instructions_per_pair"][0]["others"]["other"], serde_json::Value::Null);
        assert_eq!(document["cpu"]["worst"], "lifo");
        let ratio = document["cpu"]["workloads"][1]["ratio"]["value"].as_f64();
        assert!((ratio.expect("a number") - 0.9).abs() < 1e-9);
        assert_eq!(document["goals"].as_array().map(Vec::len), Some(5));
        assert_eq!(document["goals"][0]["held"], false);
    }
}
