//! The results of a run, for a person and for programs: cost by program and profiler, instructions, goals, errors.

use super::arms::PLAIN;
use super::{Run, around, error_table, goals, peak, program};
use crate::results::{Results, interval};
use crate::samples::Record;
use serde_json::{Value, json};
use std::fmt::Write as _;
use underbar_verdict::interval::Span;
use underbar_verdict::ratios::{LogRatios, geometric_mean};

/// The report that a person reads.
pub fn text(run: &Run) -> String {
    let mut out = format!(
        "underbar bench sites: {} rounds{}, {}\nOthers used {:.0} % of the processors meanwhile.\n",
        run.request.rounds,
        match run.request.divisor {
            1 => String::new(),
            part => format!(" of 1/{part} of the steps of workloads"),
        },
        run.host,
        run.others * 100.0
    );
    for arm in &run.arms {
        let version = if arm.version.is_empty() { "of unknown version" } else { &arm.version };
        let _ = writeln!(out, "  {:<18}{version}", arm.name);
    }
    for (name, reason) in &run.missing {
        let _ = writeln!(out, "  {name:<18}NOT MEASURED: {reason}");
    }
    let profilers: Vec<usize> = (0..run.arms.len()).filter(|arm| run.base(*arm).is_some()).collect();
    if !run.rows.is_empty() {
        let own = |row: usize, arm: usize| run.base(arm).map(|base| run.cost(row, arm, base));
        ratios(
            &mut out,
            run,
            &profilers,
            "CPU of the program, ratio to the same allocator without a profiler",
            &own,
        );
        let plain = |row: usize, arm: usize| plain_of(run, arm).map(|base| run.cost(row, arm, base));
        ratios(&mut out, run, &profilers, "CPU of the program, ratio to plain", &plain);
        grid(
            &mut out,
            run,
            &profilers,
            "Peak memory, MiB more than the same allocator without a profiler",
            &|row, arm| {
                run.base(arm).map_or_else(String::new, |base| goals::difference_of(run.more(row, arm, base)))
            },
        );
        let all: Vec<usize> = (0..run.arms.len())
            .filter(|arm| run.base(*arm).is_some() || run.arms[*arm].name == "underbar")
            .collect();
        grid(&mut out, run, &all, "CPU around the program (reading, interpreting), ms", &|row, arm| {
            format!("{:.1} of {:.0}", run.median(row, arm, around), run.median(row, arm, program))
        });
    }
    if !run.counted.is_empty() {
        let _ = writeln!(
            out,
            "\nInstructions by callgrind, ratio to SITES(OFF)\n  {:<16}{:>18}{:>12}{:>18}",
            "", "without a sample", "SITES(ON)", "instructions"
        );
        for one in &run.counted {
            let (between, with) = (one.between(), one.with());
            let _ = writeln!(out, "  {:<16}{between:>18.4}{with:>12.4}{:>18}", one.name, one.without);
        }
    }
    out + &Results::goals(&goals::all(run)) + &error_table::text(&run.compared)
}

/// One program in a line, during the run.
pub fn line(run: &Run, row: usize) -> String {
    let parts = run.arms.iter().enumerate().filter_map(|(arm, one)| {
        Some(format!("{} {:.3}", one.name, run.cost(row, arm, run.base(arm)?).ratio().value))
    });
    format!("{}: {}", run.rows[row].name, parts.collect::<Vec<String>>().join(", "))
}

/// The plain arm with as much work.
fn plain_of(run: &Run, arm: usize) -> Option<usize> {
    let divisor = run.arms[arm].divisor;
    run.arms.iter().position(|other| other.divisor == divisor && other.name.starts_with(PLAIN))
}

/// A table of ratios, with their geometric means.
fn ratios(
    out: &mut String,
    run: &Run,
    arms: &[usize],
    heading: &str,
    of: &dyn Fn(usize, usize) -> Option<LogRatios>,
) {
    let cell =
        |ratios: Option<LogRatios>| ratios.map_or_else(String::new, |ratios| ratios.ratio().to_string());
    grid(out, run, arms, heading, &|row, arm| cell(of(row, arm)));
    for (is_workload, words) in [(true, "workloads, mean"), (false, "programs, mean")] {
        let rows: Vec<usize> =
            (0..run.rows.len()).filter(|row| run.rows[*row].is_workload == is_workload).collect();
        if rows.is_empty() {
            continue;
        }
        let _ = write!(out, "  {words:<16}");
        for arm in arms {
            let parts: Vec<LogRatios> = rows.iter().filter_map(|row| of(*row, *arm)).collect();
            let _ = write!(out, "  {:>24}", cell((!parts.is_empty()).then(|| geometric_mean(&parts))));
        }
        out.push('\n');
    }
}

/// A table: programs down, arms across.
fn grid(out: &mut String, run: &Run, arms: &[usize], heading: &str, cell: &dyn Fn(usize, usize) -> String) {
    let _ = write!(out, "\n{heading}\n  {:<16}", "");
    for arm in arms {
        let _ = write!(out, "  {:>24}", run.arms[*arm].name);
    }
    out.push('\n');
    for (row, one) in run.rows.iter().enumerate() {
        let _ = write!(out, "  {:<16}", one.name);
        for arm in arms {
            let _ = write!(out, "  {:>24}", cell(row, *arm));
        }
        out.push('\n');
    }
}

/// Every sample, one a line.
pub fn csv(run: &Run) -> String {
    let mut out = String::from("program,arm,round,program_us,all_us,elapsed_us,peak_kib\n");
    for row in &run.rows {
        for (place, arm) in run.arms.iter().enumerate() {
            for Record { round, sample, .. } in row.samples.of(place) {
                let _ = writeln!(
                    out,
                    "{},{},{round},{:.0},{:.0},{:.0},{:.0}",
                    row.name, arm.name, sample.program_us, sample.cpu_us, sample.elapsed_us, sample.peak_kib
                );
            }
        }
    }
    out
}

/// The summary.
pub fn json(run: &Run) -> String {
    let finite = |value: f64| if value.is_finite() { json!(value) } else { Value::Null };
    let span = |span: Span| json!({ "value": finite(span.value), "low": finite(span.low), "high": finite(span.high) });
    let cell = |row: usize, arm: usize| {
        let base = run.base(arm);
        json!({
            "arm": run.arms[arm].name,
            "program_ms": run.median(row, arm, program),
            "around_ms": run.median(row, arm, around),
            "peak_mib": run.median(row, arm, peak),
            "cpu_to_own": base.map(|base| interval(&run.cost(row, arm, base))),
            "cpu_to_plain": plain_of(run, arm).map(|base| interval(&run.cost(row, arm, base))),
            "peak_more_mib": base.map(|base| span(run.more(row, arm, base))),
        })
    };
    let row = |row: usize| {
        let arms: Vec<Value> = (0..run.arms.len()).map(|arm| cell(row, arm)).collect();
        json!({ "program": run.rows[row].name, "is_workload": run.rows[row].is_workload, "arms": arms })
    };
    let arms: Vec<Value> = run
        .arms
        .iter()
        .map(
            |arm| json!({ "arm": arm.name, "version": arm.version, "own": arm.base, "divisor": arm.divisor }),
        )
        .collect();
    let missing: Vec<Value> =
        run.missing.iter().map(|(name, reason)| json!({ "name": name, "reason": reason })).collect();
    let counted: Vec<Value> = run
        .counted
        .iter()
        .map(|one| json!({ "workload": one.name, "without": one.without, "between": one.between, "with": one.with }))
        .collect();
    let goals: Vec<Value> = goals::all(run).iter().map(crate::goal::Goal::json).collect();
    let document = json!({
        "schema": "underbar.bench.sites/1",
        "host": run.host.json(),
        "rounds": run.request.rounds, "divisor": run.request.divisor, "seed": run.request.seed, "others_used": run.others,
        "arms": arms, "missing": missing,
        "programs": (0..run.rows.len()).map(row).collect::<Vec<Value>>(),
        "instructions": counted, "errors": error_table::json(&run.compared), "goals": goals,
    });
    format!("{document:#}\n")
}

#[cfg(test)]
mod tests {
    use super::super::tests::run;
    use super::{csv, json, line, text};

    #[test]
    fn every_arm_is_in_every_form_and_missing_ones_have_their_reason() {
        let run = run(|name| if name == "heaptrack" { (20.0, 30.0) } else { (2.0, 10.0) });
        let text = text(&run);
        for arm in &run.arms {
            assert!(text.contains(arm.name), "{text}");
        }
        assert!(text.contains("bytehound         NOT MEASURED: not here"), "{text}");
        assert_eq!(csv(&run).lines().count(), 1 + run.rows.len() * run.arms.len() * 6);
        let document: serde_json::Value = serde_json::from_str(&json(&run)).expect("valid JSON");
        assert_eq!(document["programs"][1]["arms"].as_array().map(Vec::len), Some(run.arms.len()));
        if run.find("heaptrack").is_some() {
            assert!(text.contains("10.000 [10.000, 10.000]") && text.contains("+20.00"), "{text}");
            assert!(line(&run, 0).contains("heaptrack 10.000"));
        }
    }
}
