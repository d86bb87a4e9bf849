//! Verdicts as text: at most ten lines of plain ASCII in fixed columns. As data they serialise themselves.
//!
//! ```text
//! tuned: CPU 0.912 [0.894, 0.931] of plain, 15 pairs: kept; 0.930 [0.911, 0.949] of default
//!            tuned/plain             tuned/default           default/plain
//! CPU        0.912 [0.894, 0.931] <  0.930 [0.911, 0.949] <  0.981 [0.963, 1.001]
//! elapsed    ...
//! ```
//!
//! Invariant: line 1 is the verdict's own sentence; a measure without an interval has the reason in
//! its place.
//! Not here: any decision, and colour.

use std::fmt::Write as _;

use serde::Serialize;

use crate::compare::{CONFIDENCE, Comparison, Estimate, Finding, Question};
use crate::confirm::ConfirmedVerdict;
use crate::output::OutputCheck;
use crate::plan::Arm;
use crate::sample::Runs;
use crate::verdict::{SCHEMA, TuneVerdict};
use crate::words::counted;

/// Width of the column of labels.
const LABEL: usize = 11;
/// Width of a column of ratios.
const COLUMN: usize = 24;

/// A comparison of two arms with its raw runs, for printing and saving.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CompareVerdict {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// The result.
    pub comparison: Comparison,
    /// The question.
    pub question: Question,
    /// The plan and every run, raw.
    pub runs: Runs,
}

impl CompareVerdict {
    /// Compares `candidate` with `reference`.
    pub fn of(runs: Runs, candidate: Arm, reference: Arm, question: Question) -> CompareVerdict {
        let comparison = Comparison::of(&runs, candidate, reference, &question);
        CompareVerdict { schema: SCHEMA, comparison, question, runs }
    }

    /// The verdict as text.
    pub fn text(&self) -> String {
        let headline = format!("{}: {}", self.comparison.candidate, self.comparison);
        text(&headline, &[&self.comparison], &self.runs)
    }
}

impl TuneVerdict {
    /// The verdict as text.
    pub fn text(&self) -> String {
        text(&self.to_string(), &self.comparisons(), &self.runs)
    }
}

impl ConfirmedVerdict {
    /// The fresh verdict as text, under a headline that says whether it confirmed the first.
    pub fn text(&self) -> String {
        text(&self.to_string(), &self.fresh.comparisons(), &self.fresh.runs)
    }
}

/// The headline, a table with one column per comparison, and the small print.
pub fn text(headline: &str, comparisons: &[&Comparison], runs: &Runs) -> String {
    let mut lines = vec![headline.to_owned()];
    let Some(first) = comparisons.first() else {
        return finished(&lines);
    };
    lines.push(row("", comparisons.iter().map(|c| format!("{}/{}", c.candidate, c.reference))));
    for (i, estimate) in first.estimates().enumerate() {
        // Every comparison answers the same question, so row i is the same measure in each.
        let cells = comparisons.iter().filter_map(|c| c.estimates().nth(i).map(cell));
        lines.push(row(estimate.measure.label(), cells));
    }
    lines.extend(failures(runs));
    lines.push(legend(first));
    lines.push(outputs(comparisons, runs));
    lines.push(stopped(runs));
    finished(&lines)
}

/// As [`text`], with one row per comparison and one column per measure: for many arms.
pub fn table(headline: &str, comparisons: &[&Comparison], runs: &Runs) -> String {
    let mut lines = vec![headline.to_owned()];
    let Some(first) = comparisons.first() else {
        return finished(&lines);
    };
    lines.push(row("", first.estimates().map(|estimate| estimate.measure.label().to_owned())));
    lines.extend(comparisons.iter().map(|c| row(c.candidate.name(), c.estimates().map(cell))));
    lines.extend(failures(runs));
    lines.push(legend(first).replace("other rows", "other columns"));
    lines.push(outputs(comparisons, runs));
    lines.push(stopped(runs));
    finished(&lines)
}

fn finished(lines: &[String]) -> String {
    lines.iter().fold(String::new(), |mut all, line| {
        all.push_str(line.trim_end());
        all.push('\n');
        all
    })
}

fn row(label: &str, cells: impl Iterator<Item = String>) -> String {
    cells.fold(format!("{label:<LABEL$}"), |mut line, cell| {
        // Writing to a String cannot fail.
        let _ = write!(line, "{cell:<COLUMN$}");
        line
    })
}

fn cell(estimate: &Estimate) -> String {
    match &estimate.finding {
        Finding::Better(interval) => format!("{interval} <"),
        Finding::Worse(interval) => format!("{interval} >"),
        Finding::Neither(interval) => interval.to_string(),
        Finding::TooFew(too_few) => too_few.to_string(),
        Finding::NoRatio { pairs } => format!("zero in {}", counted(*pairs, "pair")),
    }
}

/// `failed runs, in no statistic: plain 1, tuned 3`
fn failures(runs: &Runs) -> Option<String> {
    let counts = runs.plan().arms().iter().map(|&arm| (arm, runs.of(arm).filter(|s| !s.ended_well).count()));
    let failed: Vec<String> = counts.filter(|(_, n)| *n > 0).map(|(arm, n)| format!("{arm} {n}")).collect();
    (!failed.is_empty()).then(|| format!("failed runs, in no statistic: {}", failed.join(", ")))
}

/// The meaning of the marks, and the confidence of the intervals.
fn legend(comparison: &Comparison) -> String {
    let percent = |confidence: f64| 100.0 * confidence;
    let others = match comparison.secondary.len() {
        0 => String::new(),
        n => format!(", other rows {:.1} %", percent(1.0 - (1.0 - CONFIDENCE) / n as f64)),
    };
    let first = percent(CONFIDENCE);
    format!("< better, > worse: by 1 % or more and beyond chance; intervals {first:.0} %{others}")
}

/// `output equal in 30 runs`; where the candidates differ, one by one.
fn outputs(comparisons: &[&Comparison], runs: &Runs) -> String {
    let mut said: Vec<(Arm, String)> = Vec::new();
    for comparison in comparisons {
        let of_candidate = (comparison.candidate, comparison.output.to_string());
        if !said.contains(&of_candidate) {
            said.push(of_candidate);
        }
    }
    if comparisons.iter().all(|comparison| matches!(comparison.output, OutputCheck::Equal { .. })) {
        let all = runs.plan().arms().iter().flat_map(|&arm| runs.of(arm)).filter(|sample| sample.ended_well);
        return format!("output {}", OutputCheck::Equal { runs: all.count() });
    }
    match said.as_slice() {
        [(_, first), others @ ..] if others.iter().all(|(_, check)| check == first) => {
            format!("output {first}")
        }
        _ => {
            let each: Vec<String> = said.iter().map(|(arm, check)| format!("{arm} {check}")).collect();
            format!("output of {}", each.join(", "))
        }
    }
}

fn stopped(runs: &Runs) -> String {
    let (done, planned) = (runs.rounds().len(), runs.plan().orders().len());
    if done < planned {
        format!("stopped after {}; planned: {}", counted(done, "round"), runs.plan())
    } else {
        runs.plan().to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Plan;
    use crate::sample::tests::{filled, sample};
    use crate::sample::{Measure, Sample};

    fn tuned() -> TuneVerdict {
        let plan = Plan::new(&[Arm::PLAIN, Arm::DEFAULT, Arm::TUNED], 15, 7).expect("a good plan");
        let runs = filled(plan, |round, arm| {
            let noise = round as u64 * 37 % 11;
            let percent = 100 + noise - if arm == Arm::TUNED { 15 + noise / 2 } else { 0 };
            Sample {
                cpu_ns: 10_000 * percent,
                peak_rss_bytes: if arm == Arm::PLAIN { 1 << 20 } else { (1 << 20) + (1 << 17) },
                ended_well: !(arm == Arm::PLAIN && round == 2),
                ..sample(1_000_000)
            }
        });
        TuneVerdict::of(runs, Question::about(Measure::Cpu))
    }

    #[test]
    fn a_table_has_a_row_for_each_arm() {
        let verdict = tuned();
        let text = table("against plain", &[&verdict.tuned_plain, &verdict.default_plain], &verdict.runs);
        let lines: Vec<&str> = text.lines().collect();
        let columns =
            "           CPU                     elapsed                 peak RSS                faults";
        assert_eq!(lines[..2], ["against plain", columns]);
        assert!(lines[2].starts_with("tuned      0.838 [0.831, 0.844] <  1.000"), "{text}");
        assert!(lines[3].starts_with("default    1.000 [1.000, 1.000]    1.000"), "{text}");
        assert_eq!(
            lines[5],
            "< better, > worse: by 1 % or more and beyond chance; intervals 95 %, other columns 98.3 %"
        );
    }

    #[test]
    fn the_text_is_ten_lines_of_fixed_columns() {
        let expected = "\
tuned: CPU 0.838 [0.831, 0.844] of plain, 14 pairs of 15 rounds: kept, but peak RSS +12.5 % [+12.5, +12.5]; \
0.837 [0.830, 0.844] of default
           tuned/plain             tuned/default           default/plain
CPU        0.838 [0.831, 0.844] <  0.837 [0.830, 0.844] <  1.000 [1.000, 1.000]
elapsed    1.000 [1.000, 1.000]    1.000 [1.000, 1.000]    1.000 [1.000, 1.000]
peak RSS   1.125 [1.125, 1.125] >  1.000 [1.000, 1.000]    1.125 [1.125, 1.125] >
faults     1.000 [1.000, 1.000]    1.000 [1.000, 1.000]    1.000 [1.000, 1.000]
failed runs, in no statistic: plain 1
< better, > worse: by 1 % or more and beyond chance; intervals 95 %, other rows 98.3 %
output equal in 44 runs
15 rounds of plain, default, tuned: 45 runs, order from seed 7
";
        assert_eq!(tuned().text(), expected);
    }

    #[test]
    fn a_confirmed_verdict_shows_the_fresh_runs() {
        let first = tuned();
        let plan = first.runs.plan().fresh();
        let seed = plan.seed();
        let fresh = filled(plan, |_, arm| sample(if arm == Arm::TUNED { 800_000 } else { 1_000_000 }));
        let text = ConfirmedVerdict::of(first, fresh).expect("kept, and fresh").text();
        assert!(text.starts_with("confirmed on fresh runs: tuned: CPU 0.800"), "{text}");
        assert!(text.ends_with(&format!("order from seed {seed}\n")) && seed != 7, "{text}");
        assert!(text.lines().count() <= 10 && text.is_ascii(), "{text}");
    }

    #[test]
    fn an_interrupted_experiment_says_how_far_it_came() {
        let plan = Plan::new(&[Arm::A, Arm::B], 15, 7).expect("a good plan");
        let mut runs = Runs::new(plan);
        runs.record(&[sample(5); 2]).expect("the first round");
        let verdict = CompareVerdict::of(runs, Arm::B, Arm::A, Question::with(Measure::Cpu, &[]));
        let expected = "\
B: CPU against A, 1 pair of 15 rounds: no verdict, too few pairs (6 needed)
           B/A
CPU        1 pair, 6 needed
< better, > worse: by 1 % or more and beyond chance; intervals 95 %
output not checked
stopped after 1 round; planned: 15 rounds of A, B: 30 runs, order from seed 7
";
        assert_eq!(verdict.text(), expected);
    }

    #[test]
    fn a_reader_of_the_json_can_compute_the_interval_again() {
        let verdict = tuned();
        let json: serde_json::Value = serde_json::to_value(&verdict).expect("plain data");
        assert_eq!(json["schema"], SCHEMA);
        assert_eq!(json["outcome"], "kept");
        let rounds = json["runs"]["rounds"].as_array().expect("rounds");
        let logs: Vec<f64> = rounds
            .iter()
            .filter_map(|round| {
                let figure = |arm: &str| {
                    let run = round.as_array()?.iter().find(|run| run["arm"] == arm)?;
                    let good = run["sample"]["ended_well"].as_bool()?;
                    run["sample"]["cpu_ns"].as_f64().filter(|_| good)
                };
                Some(crate::logarithm::ln(figure("tuned")?) - crate::logarithm::ln(figure("plain")?))
            })
            .collect();
        let again = crate::interval::Interval::of(&logs, CONFIDENCE).expect("14 pairs");
        assert_eq!(json["tuned_plain"]["primary"]["finding"]["better"]["low"], again.low);
        assert_eq!(json["tuned_plain"]["primary"]["finding"]["better"]["high"], again.high);
    }
}
