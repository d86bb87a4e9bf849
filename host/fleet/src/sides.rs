//! Reports of several runs of two sides: medians with intervals, and gates that know the noise.
//!
//! ```text
//! old: a1 a2 a3 a4 ─┐                 ┌─ all of the interval beyond the limit ─────── failed
//!                   ├─ shift: interval┼─ none of it beyond the limit ──────────────── passed
//! new: b1 b2 b3 b4 ─┘                 └─ the limit is inside, or there is no interval ─ undecided
//! ```
//!
//! Runs of the two sides are not paired ([`underbar_verdict::groups`]). A limit that does not depend on the old side is compared
//! with the interval of the new side's figure alone. A figure that is the same in all of three or more runs of each side has no
//! noise, and is compared as it is. The intervals of all gates hold together (Bonferroni's correction).
//!
//! Invariant: a verdict never rests on one run; and with an interval, `passed` and `failed` are wrong at most as often as the
//! confidence says.
//! Not here: expressions (`gate` of the report), one run a side (`diff` of the report), annotations ([`crate::github`]).

use std::fmt::Write as _;

use serde_json::json;
use underbar_ledger::{Unit, sizes};
use underbar_report::Report;
use underbar_report::diff::{command, of_report};
use underbar_report::gate::{Comparison, Gate, Outcome, Value};
use underbar_report::units;
use underbar_verdict::groups::shift;
use underbar_verdict::interval::{Span, pairs_needed};
use underbar_verdict::logarithm::{exp, ln};
use underbar_verdict::ratios::median;

/// Name and version of the form in JSON.
pub const SCHEMA: &str = "underbar.diff-runs/1";

/// The confidence of all gates together, and of each interval in the table.
const CONFIDENCE: f64 = 0.95;
/// Runs that must agree before a figure counts as one without noise.
const AGREE: usize = 3;

/// The verdict on a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The expression is false.
    Passed,
    /// Noise could explain either.
    Undecided,
    /// The expression is true.
    Failed,
    /// A report does not know the figure.
    Unknown,
}

impl Verdict {
    /// The word for reports.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Undecided => "undecided",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
        }
    }

    /// The exit status: 0, 1 for a failed gate, 2 for an unknown figure, 3 for an undecided gate.
    #[must_use]
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Passed => 0,
            Self::Failed => 1,
            Self::Unknown => 2,
            Self::Undecided => 3,
        }
    }
}

impl From<Outcome> for Verdict {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Passed => Self::Passed,
            Outcome::Failed => Self::Failed,
            Outcome::Unknown => Self::Unknown,
        }
    }
}

/// A gate with its verdict.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The gate, as written.
    pub gate: String,
    /// The verdict.
    pub verdict: Verdict,
    /// Its reason, in words.
    pub why: String,
}

/// A figure on both sides.
#[derive(Clone, Debug)]
struct Row {
    key: String,
    unit: Unit,
    /// Medians.
    old: f64,
    new: f64,
    ratio: Option<Ratio>,
    is_changed: bool,
}

/// New divided by old, with an interval if there are enough runs.
#[derive(Clone, Copy, Debug)]
struct Ratio {
    value: f64,
    interval: Option<(f64, f64)>,
}

/// Two sides, compared.
pub struct Sides {
    runs: [usize; 2],
    commands: [String; 2],
    rows: Vec<Row>,
    threshold_percent: f64,
    /// The gates with their verdicts.
    pub gates: Vec<Judged>,
}

impl Sides {
    /// Compares; each side has a report. Figures that changed by more than `threshold_percent` are listed first.
    #[must_use]
    pub fn new(old: &[Report], new: &[Report], threshold_percent: f64, gates: &[Gate]) -> Self {
        let confidence = 1.0 - (1.0 - CONFIDENCE) / gates.len().max(1) as f64;
        let gates = gates.iter().map(|gate| judge(gate, old, new, confidence));
        let gates = gates.collect();
        let mut rows = rows(old, new, threshold_percent);
        let distance = |row: &Row| row.ratio.map_or(f64::INFINITY, |ratio| ln(ratio.value).abs());
        // Stable: figures that did not change stay in the order of the tables.
        rows.sort_by(|a, b| {
            let distances = || distance(b).total_cmp(&distance(a));
            b.is_changed
                .cmp(&a.is_changed)
                .then_with(|| if a.is_changed { distances() } else { std::cmp::Ordering::Equal })
        });
        let command = |reports: &[Report]| reports.first().map_or(String::new(), command);
        Self {
            runs: [old.len(), new.len()],
            commands: [command(old), command(new)],
            rows,
            threshold_percent,
            gates,
        }
    }

    /// The exit status of all gates together: an unknown figure before a failed gate, that before an undecided one.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        let all = |verdict| self.gates.iter().any(|judged| judged.verdict == verdict);
        let worst =
            [Verdict::Unknown, Verdict::Failed, Verdict::Undecided].into_iter().find(|verdict| all(*verdict));
        worst.map_or(0, Verdict::exit_code)
    }

    /// As text; with `all`, also the figures that did not change.
    #[must_use]
    pub fn to_text(&self, all: bool) -> String {
        let [old, new] = self.runs.map(|runs| units::counted(runs as u64, "run", "runs"));
        let [from, to] = &self.commands;
        // Writing to a string cannot fail.
        let mut text = format!("old: {from} ({old})\nnew: {to} ({new})\n");
        let has_intervals =
            self.rows.iter().any(|row| row.ratio.is_some_and(|ratio| ratio.interval.is_some()));
        text += if has_intervals {
            "Medians; new/old with its 95 % interval from rank sums. Of 20 figures, one may be off by chance.\n\n"
        } else {
            "Medians; no interval: 4 runs on each side are needed.\n\n"
        };
        let _ = writeln!(text, "{:<32} {:>12} {:>12}   new/old", "figure", "old", "new");
        let is_listed = |row: &&Row| row.is_changed || all && (row.old, row.new) != (0.0, 0.0);
        for row in self.rows.iter().filter(is_listed) {
            let shown = |figure: f64| units::figure(row.unit, figure.round() as u64);
            let ratio = row.ratio.map_or("-".to_owned(), Ratio::shown);
            let _ = writeln!(text, "{:<32} {:>12} {:>12}   {ratio}", row.key, shown(row.old), shown(row.new));
        }
        if !all {
            let changed = self.rows.iter().filter(|row| row.is_changed).count();
            let (rows, percent) = (self.rows.len(), self.threshold_percent);
            let _ = writeln!(text, "{changed} of {rows} figures changed by more than {percent} %.");
        }
        for Judged { gate, verdict, why } in &self.gates {
            let _ = writeln!(text, "gate {gate}: {}: {why}", verdict.word());
        }
        text
    }

    /// As JSON, one line and a line feed.
    #[must_use]
    pub fn to_json(&self) -> String {
        let figures = self.rows.iter().map(|row| {
            let interval = row.ratio.and_then(|ratio| ratio.interval);
            json!({
                "key": row.key, "unit": row.unit.name(), "old": row.old, "new": row.new,
                "ratio": row.ratio.map(|ratio| ratio.value), "low": interval.map(|ends| ends.0),
                "high": interval.map(|ends| ends.1), "changed": row.is_changed,
            })
        });
        let gates = self.gates.iter().map(
            |judged| json!({"expression": judged.gate, "outcome": judged.verdict.word(), "why": judged.why}),
        );
        let diff = json!({
            "schema": SCHEMA, "runs": {"old": self.runs[0], "new": self.runs[1]}, "confidence": CONFIDENCE,
            "threshold_percent": self.threshold_percent, "figures": figures.collect::<Vec<_>>(),
            "gates": gates.collect::<Vec<_>>(),
        });
        format!("{diff}\n")
    }
}

impl Ratio {
    fn shown(self) -> String {
        match self.interval {
            Some((low, high)) => format!("{:.3} [{low:.3}, {high:.3}]", self.value),
            None => format!("{:.3}", self.value),
        }
    }
}

/// The figures of both sides, in the order of the tables; requests by size are left out.
fn rows(old: &[Report], new: &[Report], threshold_percent: f64) -> Vec<Row> {
    let least = 1.0 + threshold_percent.max(0.0) / 100.0;
    let all = |reports: &[Report]| reports.iter().map(of_report).collect::<Vec<_>>();
    let (old, new) = (all(old), all(new));
    let Some(first) = old.first() else { return Vec::new() };
    let rows = first.iter().enumerate().filter(|(_, figure)| sizes::find(&figure.key).is_none());
    rows.filter_map(|(at, figure)| {
        let values = |side: &[Vec<underbar_report::diff::Figure>]| -> Option<Vec<f64>> {
            side.iter().map(|figures| figures[at].value.map(|value| value as f64)).collect()
        };
        let (old, new) = (values(&old)?, values(&new)?);
        let (before, after) = (median(&old), median(&new));
        let is_positive = |values: &[f64]| values.iter().all(|value| *value > 0.0);
        let ratio = if is_positive(&old) && is_positive(&new) {
            let logs = |values: &[f64]| values.iter().map(|value| ln(*value)).collect::<Vec<_>>();
            let span = shift(&logs(&new), &logs(&old), CONFIDENCE).ok();
            let ends = span.map(|span| (exp(span.low), exp(span.high)));
            Some(Ratio { value: span.map_or(after / before, |span| exp(span.value)), interval: ends })
        } else {
            (before == after).then_some(Ratio { value: 1.0, interval: None })
        };
        let is_changed = match ratio {
            // A figure that is 0 in some runs has no ratio, and may differ by chance as well as any other.
            None => shift(&new, &old, CONFIDENCE)
                .map_or(before != after, |span| span.low > 0.0 || span.high < 0.0),
            Some(Ratio { value, interval }) => {
                let is_far = value.max(1.0 / value) > least;
                is_far && interval.is_none_or(|(low, high)| low > 1.0 || high < 1.0)
            }
        };
        Some(Row {
            key: figure.key.to_string(),
            unit: figure.unit,
            old: before,
            new: after,
            ratio,
            is_changed,
        })
    })
    .collect()
}

fn judge(gate: &Gate, old: &[Report], new: &[Report], confidence: f64) -> Judged {
    let judged = |verdict, why: String| Judged { gate: gate.text.clone(), verdict, why };
    let figures =
        |reports: &[Report]| reports.iter().map(|report| gate.figure(report)).collect::<Option<Vec<_>>>();
    let needs_old = !matches!(gate.value, Value::Absolute(_));
    let (before, after) = match (figures(old), figures(new)) {
        (Some(before), Some(after)) => (before, after),
        (None, Some(after)) if !needs_old => (Vec::new(), after),
        _ => return judged(Verdict::Unknown, format!("one of the reports has no {}", gate.key)),
    };
    let (Some(first), Some(last)) = (old.first(), new.first()) else {
        return judged(Verdict::Unknown, "a side has no report".to_owned());
    };
    let agree =
        |figures: &[u64]| figures.len() >= AGREE && figures.iter().all(|figure| *figure == figures[0]);
    if agree(&after) && (!needs_old || agree(&before)) {
        let unit = of_report(last)
            .iter()
            .find(|figure| figure.key == gate.key)
            .map_or(Unit::Count, |figure| figure.unit);
        let shown = |figure: u64| units::figure(unit, figure);
        let was = before.first().filter(|_| needs_old).map(|old| format!(", {} before", shown(*old)));
        let why = format!("{} in every run{}", shown(after[0]), was.unwrap_or_default());
        return judged(gate.decide(first, last).into(), why);
    }
    let floats = |figures: &[u64]| figures.iter().map(|figure| *figure as f64).collect::<Vec<_>>();
    let (before, after) = (floats(&before), floats(&after));
    // What the new figure has more than its limit.
    let beyond = match gate.value {
        Value::Absolute(limit) => {
            let beyond: Vec<f64> = after.iter().map(|figure| figure - limit as f64).collect();
            Span::of(&beyond, confidence).map_err(|_| {
                format!(
                    "{}; {} are needed",
                    units::counted(after.len() as u64, "run", "runs"),
                    pairs_needed(confidence)
                )
            })
        }
        Value::Plus(more) => {
            let limits: Vec<f64> = before.iter().map(|figure| figure + more as f64).collect();
            shift(&after, &limits, confidence).map_err(|few| few.to_string())
        }
        Value::Millionths(more) => {
            let factor = 1.0 + more as f64 / 1e6;
            let limits: Vec<f64> = before.iter().map(|figure| figure * factor).collect();
            shift(&after, &limits, confidence).map_err(|few| few.to_string())
        }
    };
    match beyond {
        Err(few) => judged(Verdict::Undecided, few),
        Ok(span) => {
            let verdict = by_interval(gate.comparison, span);
            let (unit, runs) = (unit_of(last, gate), [old.len(), new.len()]);
            judged(verdict, why(gate, unit, span, verdict, runs))
        }
    }
}

fn unit_of(report: &Report, gate: &Gate) -> Unit {
    of_report(report).iter().find(|figure| figure.key == gate.key).map_or(Unit::Count, |figure| figure.unit)
}

/// The verdict by the interval of what the figure has more than its limit.
fn by_interval(comparison: Comparison, Span { low, high, .. }: Span) -> Verdict {
    use Verdict::{Failed, Passed, Undecided};
    let decided = |is_true: bool, is_false: bool| match (is_true, is_false) {
        (true, _) => Failed,
        (_, true) => Passed,
        _ => Undecided,
    };
    match comparison {
        Comparison::Above => decided(low > 0.0, high <= 0.0),
        Comparison::AtLeast => decided(low >= 0.0, high < 0.0),
        Comparison::Below => decided(high < 0.0, low >= 0.0),
        Comparison::AtMost => decided(high <= 0.0, low > 0.0),
        Comparison::Equal => decided(low == 0.0 && high == 0.0, low > 0.0 || high < 0.0),
        Comparison::Unequal => decided(low > 0.0 || high < 0.0, low == 0.0 && high == 0.0),
    }
}

fn why(gate: &Gate, unit: Unit, span: Span, verdict: Verdict, runs: [usize; 2]) -> String {
    let signed = |value: f64| {
        let sign = if value < 0.0 { "-" } else { "+" };
        format!("{sign}{}", units::figure(unit, value.abs().round() as u64))
    };
    let [low, value, high] = [span.low, span.value, span.high].map(signed);
    let more = if verdict == Verdict::Undecided { "; more runs narrow it" } else { "" };
    let of = match gate.value {
        Value::Absolute(_) => format!("{} runs", runs[1]),
        _ => format!("{} and {} runs", runs[0], runs[1]),
    };
    format!("{value} [{low}, {high}] from the limit, {of}{more}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use underbar_ledger::Key;
    use underbar_report::sample;

    fn side(peaks: &[u64]) -> Vec<Report> {
        let of = |peak: &u64| {
            let mut report = sample::getfree();
            report.tree.counters.set(Key::HeapUsedPeak, *peak);
            report
        };
        peaks.iter().map(of).collect()
    }

    #[track_caller]
    fn check(old: &[u64], new: &[u64], expression: &str, expect: Verdict) -> String {
        let gate = Gate::parse(expression).expect(expression);
        let sides = Sides::new(&side(old), &side(new), 1.0, &[gate]);
        assert_eq!(sides.gates[0].verdict, expect, "{expression}: {}", sides.gates[0].why);
        assert_eq!(sides.exit_code(), expect.exit_code());
        sides.gates[0].why.clone()
    }

    const OLD: [u64; 5] = [1000, 1010, 990, 1005, 995];

    #[test]
    fn a_gate_passes_or_fails_beyond_the_noise_only() {
        use Verdict::{Failed, Passed, Undecided};
        let gate = "heap.used_peak > +5%";
        check(&OLD, &[1000, 1005, 995, 1010, 990], gate, Passed);
        check(&OLD, &[1100, 1105, 1095, 1110, 1090], gate, Failed);
        let why = check(&OLD, &[1050, 1055, 1045, 1060, 1040], gate, Undecided);
        assert!(why.contains("5 and 5 runs; more runs narrow it"), "{why}");
        // One wild run on either side changes nothing at ten runs.
        let ten: Vec<u64> = OLD.iter().chain(&OLD).copied().collect();
        let mut wild = ten.clone();
        wild[3] = 90_000;
        check(&ten, &wild, gate, Passed);
        check(&OLD, &[1100, 1105, 1095, 1110, 1090], "heap.used_peak > +50", Failed);
        check(&OLD, &[1100, 1105, 1095, 1110, 1090], "heap.used_peak > +200", Passed);
        check(&OLD, &[900, 905, 895, 890, 910], "heap.used_peak < -5%", Failed);
        check(&OLD, &[900, 905, 895, 890, 910], "heap.used_peak >= -5%", Passed);
        check(&OLD, &[0, 1, 2, 3, 4], "heap.used_peak <= -90%", Failed);
    }

    #[test]
    fn too_few_runs_decide_nothing_unless_all_agree() {
        use Verdict::{Failed, Passed, Undecided};
        let why = check(&OLD[..3], &[2000, 2001, 2002], "heap.used_peak > +5%", Undecided);
        assert_eq!(why, "3 runs and 3; 4 on each side are needed");
        check(&[1000; 3], &[1000; 3], "heap.used_peak > +5%", Passed);
        let why = check(&[1000; 3], &[1051; 3], "heap.used_peak > +5%", Failed);
        assert_eq!(why, "1.03 KiB in every run, 1000 B before");
        check(&[1000; 3], &[1050; 3], "heap.used_peak > +5%", Passed);
        check(&[1000; 2], &[9000; 2], "heap.used_peak > +5%", Undecided);
        check(&[1000; 3], &[1000; 3], "heap.used_peak != +0", Passed);
    }

    #[test]
    fn a_limit_of_its_own_needs_six_runs_of_the_new_side() {
        use Verdict::{Failed, Passed, Undecided};
        check(&OLD, &[10, 11, 12, 13, 14, 15], "heap.used_peak > 20", Passed);
        check(&OLD, &[30, 31, 32, 33, 34, 35], "heap.used_peak > 20", Failed);
        check(&OLD, &[10, 11, 12, 33, 34, 35], "heap.used_peak > 20", Undecided);
        let why = check(&OLD, &[10, 11, 12, 13, 14], "heap.used_peak > 20", Undecided);
        assert_eq!(why, "5 runs; 6 are needed");
        check(&OLD, &[10, 10, 10], "heap.used_peak > 20", Passed);
    }

    #[test]
    fn several_gates_hold_together_and_the_worst_decides() {
        let gates =
            |texts: &[&str]| texts.iter().map(|text| Gate::parse(text).expect(text)).collect::<Vec<_>>();
        let (old, new) = (side(&[1, 2, 3, 4]), side(&[101, 102, 103, 104]));
        let one = Sides::new(&old, &new, 1.0, &gates(&["heap.used_peak > +5%"]));
        assert_eq!(one.exit_code(), 1);
        // Four runs a side are enough for one gate, and not for two that shall hold together.
        let two = Sides::new(&old, &new, 1.0, &gates(&["heap.used_peak > +5%", "heap.gets > +5%"]));
        let verdicts: Vec<_> = two.gates.iter().map(|judged| judged.verdict).collect();
        assert_eq!((verdicts, two.exit_code()), (vec![Verdict::Undecided, Verdict::Passed], 3));
        let mut unknown = new.clone();
        unknown[1].steps = None;
        let all =
            Sides::new(&old, &unknown, 1.0, &gates(&["steps.elapsed_ns > +5%", "heap.used_peak > +5%"]));
        assert_eq!(all.exit_code(), 2);
    }

    /// The kernel counts user time by ticks on some machines, so that short runs have none now and then.
    #[test]
    fn a_figure_that_is_0_in_some_runs_changed_only_beyond_the_noise() {
        let is_listed = |old: &[u64], new: &[u64]| {
            Sides::new(&side(old), &side(new), 1.0, &[]).to_text(false).contains("heap.used_peak")
        };
        assert!(!is_listed(&[800, 610, 886, 652, 949], &[1123, 0, 1133, 687, 534]));
        assert!(is_listed(&[800, 610, 886, 652, 949], &[0; 5]) && is_listed(&[0; 5], &OLD));
        assert!(!is_listed(&[0; 5], &[0; 5]) && is_listed(&[0], &[5]), "one run has no noise to go by");
    }

    #[test]
    fn the_text_lists_what_changed_beyond_the_noise() {
        let sides = Sides::new(&side(&OLD), &side(&[1100, 1105, 1095, 1110, 1090]), 1.0, &[]);
        let text = sides.to_text(false);
        assert!(
            text.starts_with("old: ./getfree --seed 7 (5 runs)\nnew: ./getfree --seed 7 (5 runs)\n"),
            "{text}"
        );
        assert!(
            text.contains("\nheap.used_peak                         1000 B     1.07 KiB   1.100 [1.0"),
            "{text}"
        );
        assert!(text.contains("\n1 of "), "{text}");
        let noise = Sides::new(&side(&OLD), &side(&[1090, 900, 1100, 905, 1000]), 1.0, &[]);
        assert!(noise.to_text(false).contains("\n0 of "), "{}", noise.to_text(false));
        assert!(noise.to_text(true).contains("\nheap.used_peak "));
        let json: serde_json::Value = serde_json::from_str(&sides.to_json()).expect("JSON");
        assert_eq!((&json["schema"], &json["runs"]["new"]), (&json!(SCHEMA), &json!(5)));
        assert_eq!(json["figures"][0]["key"], "heap.used_peak");
    }
}
