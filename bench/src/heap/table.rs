//! The results of a run: ratios to the best peer of each workload, with intervals; as text, CSV and JSON.
//!
//! The best peer of a workload is the rival with the lowest median of that figure; ours never counts as the best,
//! so a ratio below 1 means that we beat them all. Losses have the same words as gains.
//!
//! Invariant: everything printed is made from [`Run::records`] alone; `heap.csv` holds them all.

use super::{Record, Run};
use crate::measure::Sample;
use crate::results::interval;
use std::fmt::Write as _;
use underbar_verdict::ratios::{LogRatios, geometric_mean, median, paired};

/// A compared figure: its heading, its unit, and its computation from a sample.
struct Figure {
    heading: &'static str,
    key: &'static str,
    unit: &'static str,
    value: fn(&Sample) -> f64,
}

/// The figures, in the order of the report.
const FIGURES: [Figure; 2] = [
    Figure { heading: "CPU time", key: "cpu", unit: "ms", value: cpu_ms },
    Figure {
        heading: "Peak RSS",
        key: "rss",
        unit: "MiB",
        value: |sample| sample.peak_kib.max(1) as f64 / 1024.0,
    },
];

/// One workload's comparison for one figure.
struct Comparison {
    workload: &'static str,
    /// Index of the best rival among the allocators, and its median.
    best: (usize, f64),
    /// Log ratios to the best rival, in the order of the allocators.
    ratios: Vec<LogRatios>,
}

/// Compares every workload.
fn compare(run: &Run, figure: &Figure) -> Vec<Comparison> {
    run.workloads.iter().filter_map(|workload| compare_one(run, figure, workload)).collect()
}

fn compare_one(run: &Run, figure: &Figure, workload: &'static str) -> Option<Comparison> {
    let values: Vec<Vec<f64>> =
        (0..run.allocators.len()).map(|place| values(run, workload, place, figure.value)).collect();
    let best = (0..values.len())
        .filter(|place| run.allocators[*place].rival)
        .map(|place| (place, median(&values[place])))
        .min_by(|one, other| one.1.total_cmp(&other.1))?;
    let ratios = values.iter().map(|ours| paired(ours, &values[best.0])).collect();
    Some(Comparison { workload, best, ratios })
}

/// One allocator's figures of one workload, round by round.
pub(crate) fn values(run: &Run, workload: &str, allocator: usize, value: fn(&Sample) -> f64) -> Vec<f64> {
    let mut records: Vec<&Record> = run
        .records
        .iter()
        .filter(|record| record.workload == workload && record.allocator == allocator)
        .collect();
    records.sort_by_key(|record| record.round);
    records.iter().map(|record| value(&record.sample)).collect()
}

/// CPU time in ms; at least one microsecond, since a logarithm is taken.
pub(crate) fn cpu_ms(sample: &Sample) -> f64 {
    sample.cpu_us().max(1) as f64 / 1e3
}

/// The geometric mean over the workloads of one allocator's ratios.
fn overall(comparisons: &[Comparison], allocator: usize) -> LogRatios {
    let parts: Vec<LogRatios> =
        comparisons.iter().map(|comparison| comparison.ratios[allocator].clone()).collect();
    geometric_mean(&parts)
}

/// The report that a person reads.
#[must_use]
pub fn text(run: &Run) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "underbar bench heap: {} rounds{}, {}",
        run.request.rounds,
        if run.request.quick { " (quick)" } else { "" },
        run.host
    );
    for (place, allocator) in run.allocators.iter().enumerate() {
        let variables: String =
            allocator.variables.iter().map(|(name, value)| format!(" {name}={value}")).collect();
        let _ = writeln!(out, "  {} {} {}{variables}", letter(place), allocator.name, allocator.version);
    }
    for (name, reason) in &run.missing {
        let _ = writeln!(out, "  - {name} NOT MEASURED: {reason}");
    }
    let all: Vec<Vec<Comparison>> = FIGURES.iter().map(|figure| compare(run, figure)).collect();
    for (figure, comparisons) in FIGURES.iter().zip(&all) {
        grid(&mut out, run, figure, comparisons);
    }
    let _ = writeln!(
        out,
        "\nGeometric mean over {} workloads, ratio to the best peer of each, 95 % interval",
        run.workloads.len()
    );
    for (place, allocator) in run.allocators.iter().enumerate() {
        let _ = write!(out, "  {} {:<16}", letter(place), allocator.name);
        for (figure, comparisons) in FIGURES.iter().zip(&all) {
            let ratio = overall(comparisons, place).ratio();
            let _ = write!(out, "   {} {ratio}", figure.heading);
        }
        out.push('\n');
    }
    for (place, allocator) in run.allocators.iter().enumerate().filter(|(_, allocator)| !allocator.rival) {
        detail(&mut out, run, &all, place, &allocator.name);
    }
    out
}

/// One figure: workloads down, allocators across.
fn grid(out: &mut String, run: &Run, figure: &Figure, comparisons: &[Comparison]) {
    let _ = writeln!(
        out,
        "\n{}, ratio to the best peer of the workload (1.00 is the best; lower is better)",
        figure.heading
    );
    let _ = write!(out, "  {:<16}{:>9} {:<4}", "workload", format!("best {}", figure.unit), "by");
    for place in 0..run.allocators.len() {
        let _ = write!(out, "{:>7}", letter(place));
    }
    out.push('\n');
    for comparison in comparisons {
        let _ = write!(
            out,
            "  {:<16}{:>9.1} {:<4}",
            comparison.workload,
            comparison.best.1,
            letter(comparison.best.0)
        );
        for ratio in &comparison.ratios {
            let _ = write!(out, "{:>7.2}", ratio.ratio().value);
        }
        out.push('\n');
    }
    let _ = write!(out, "  {:<30}", "geometric mean");
    for place in 0..run.allocators.len() {
        let _ = write!(out, "{:>7.3}", overall(comparisons, place).ratio().value);
    }
    out.push('\n');
}

/// One of ours, workload by workload, gains and losses alike.
fn detail(out: &mut String, run: &Run, all: &[Vec<Comparison>], place: usize, name: &str) {
    let _ = writeln!(out, "\n{name}, workload by workload, against the best peer, 95 % interval");
    for row in 0..run.workloads.len() {
        let Some(first) = all[0].get(row) else { continue };
        let _ = write!(out, "  {:<16}", first.workload);
        for (figure, comparisons) in FIGURES.iter().zip(all) {
            let comparison = &comparisons[row];
            let ratio = comparison.ratios[place].ratio();
            let word = ratio.word();
            let rival = &run.allocators[comparison.best.0].name;
            let _ = write!(out, "  {} {ratio} {word:<13} vs {rival:<16}", figure.heading);
        }
        let trimmed = out.trim_end().len();
        out.truncate(trimmed);
        out.push('\n');
    }
}

/// A column's letter: A, B, ...
fn letter(place: usize) -> char {
    char::from(b'A' + (place % 26) as u8)
}

/// Every sample, one a line.
#[must_use]
pub fn csv(run: &Run) -> String {
    let mut out = String::from("workload,round,place,allocator,user_us,system_us,peak_kib,minor_faults\n");
    for record in &run.records {
        let sample = &record.sample;
        let _ = writeln!(
            out,
            "{},{},{},{},{},{},{},{}",
            record.workload,
            record.round,
            record.place,
            run.allocators[record.allocator].name,
            sample.user_us,
            sample.system_us,
            sample.peak_kib,
            sample.faults
        );
    }
    out
}

/// The summary, for programs.
#[must_use]
pub fn json(run: &Run) -> String {
    let mut figures = serde_json::Map::new();
    for figure in &FIGURES {
        let comparisons = compare(run, figure);
        let mut rows = Vec::new();
        for comparison in &comparisons {
            for (place, ratio) in comparison.ratios.iter().enumerate() {
                rows.push(serde_json::json!({
                    "workload": comparison.workload,
                    "allocator": run.allocators[place].name,
                    "best_peer": run.allocators[comparison.best.0].name,
                    "best_median": comparison.best.1,
                    "unit": figure.unit,
                    "ratio": interval(ratio),
                }));
            }
        }
        let means: serde_json::Map<String, serde_json::Value> = (0..run.allocators.len())
            .map(|place| (run.allocators[place].name.clone(), interval(&overall(&comparisons, place))))
            .collect();
        figures
            .insert(figure.key.to_owned(), serde_json::json!({ "workloads": rows, "geometric_mean": means }));
    }
    let allocators: Vec<serde_json::Value> = run
        .allocators
        .iter()
        .map(|allocator| serde_json::json!({ "name": allocator.name, "version": allocator.version, "rival": allocator.rival }))
        .collect();
    let missing: Vec<&str> = run.missing.iter().map(|(name, _)| *name).collect();
    let document = serde_json::json!({
        "schema": "underbar.bench.heap/1",
        "host": run.host.json(),
        "rounds": run.request.rounds, "quick": run.request.quick, "seed": run.request.seed,
        "allocators": allocators, "missing": missing, "figures": figures,
    });
    format!("{document:#}\n")
}

#[cfg(test)]
mod tests {
    use super::{csv, json, text};
    use crate::heap::{Record, Request, Run};
    use crate::host::Host;
    use crate::measure::Sample;
    use crate::peers::Allocator;

    /// Two rivals and one of ours over two rounds, repeated, with the CPU times given in ms.
    fn run(times: [[u64; 3]; 2]) -> Run {
        let allocator = |name: &str, rival| Allocator {
            name: name.to_owned(),
            version: "1".to_owned(),
            preload: None,
            variables: &[],
            before: Vec::new(),
            rival,
        };
        let mut records = Vec::new();
        for (round, row) in times.iter().cycle().take(6).enumerate() {
            for (place, time) in row.iter().enumerate() {
                let sample = Sample {
                    user_us: time * 1_000,
                    system_us: 0,
                    peak_kib: 2_048,
                    faults: 1,
                    printed: String::new(),
                };
                records.push(Record { round, place, workload: "lifo", allocator: place, sample });
            }
        }
        Run {
            host: Host::here(),
            request: Request { rounds: 6, seed: 1, ..Request::default() },
            workloads: vec!["lifo"],
            allocators: vec![allocator("slow", true), allocator("fast", true), allocator("ours", false)],
            missing: vec![("absent", "not installed".to_owned())],
            records,
        }
    }

    #[test]
    fn the_best_is_the_best_rival_never_ours() {
        let text = text(&run([[30, 20, 10], [60, 40, 20]]));
        assert!(text.contains("lifo                 30.0 B      1.50   1.00   0.50"), "{text}");
        assert!(text.contains("CPU time 0.500 [0.500, 0.500] gain"), "{text}");
        assert!(text.contains("absent NOT MEASURED: not installed"), "{text}");
    }

    #[test]
    fn a_loss_is_printed_like_a_gain() {
        let text = text(&run([[30, 20, 40], [60, 40, 80]]));
        assert!(text.contains("CPU time 2.000 [2.000, 2.000] loss          vs fast"), "{text}");
        assert!(text.contains("Peak RSS 1.000 [1.000, 1.000] no difference vs slow"), "{text}");
    }

    #[test]
    fn every_sample_is_in_the_csv_and_the_json_is_whole() {
        let run = run([[30, 20, 10], [60, 40, 20]]);
        assert_eq!(csv(&run).lines().count(), 1 + run.records.len());
        let document: serde_json::Value = serde_json::from_str(&json(&run)).expect("valid JSON");
        let ratio = document["figures"]["cpu"]["geometric_mean"]["ours"]["value"].as_f64();
        assert!((ratio.expect("a number") - 0.5).abs() < 1e-9);
    }
}
