//! Two reports, figure by figure: old, new, ratio.
//!
//! The figures are those of the whole tree and the step timings, by their key paths. Figures that changed by more than the
//! threshold come first, the largest change on top. A row of requests by size counts as changed if it changed by more than the
//! threshold of all requests.
//! Invariant: a difference of two single runs has no interval, and every form of it says so.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde_json::{Value, json};
use underbar_ledger::{Key, Unit, sizes};

use crate::ecb_sums;
pub use crate::figure_paths::{Figure, keys, of_report};
use crate::gate::{Gate, Outcome};
use crate::heap_sizes;
use crate::model::Report;
use crate::sizes::Sizes;
use crate::units::figure as in_units;

/// Name and version of the form that a difference has in JSON.
pub const SCHEMA: &str = "underbar.diff/1";

/// The note in every form of a difference.
pub const NO_INTERVAL: &str =
    "One run each, no interval: a small difference may be chance. `underbar compare` gives one.";

/// One figure in two reports.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Key path.
    pub key: Cow<'static, str>,
    /// What it counts.
    pub unit: Unit,
    /// In the old report.
    pub old: Option<u64>,
    /// In the new report.
    pub new: Option<u64>,
}

impl Change {
    /// New divided by old. None if one is not known, or if the old one is 0 and the new one is not.
    #[must_use]
    pub fn ratio(&self) -> Option<f64> {
        match (self.old?, self.new?) {
            (0, 0) => Some(1.0),
            (0, _) => None,
            (old, new) => Some(new as f64 / old as f64),
        }
    }

    /// The factor between old and new, 1 or more: a doubling and a halving give the same. Infinite if the figures differ and
    /// there is no ratio.
    fn distance(&self) -> f64 {
        match (self.old, self.new) {
            (old, new) if old == new => 1.0,
            // A ratio of 0 is infinitely far.
            _ => self.ratio().map_or(f64::INFINITY, |ratio| ratio.max(1.0 / ratio)),
        }
    }
}

/// The difference of two reports.
#[derive(Clone, Debug)]
pub struct Diff {
    /// Figures that changed by more than the threshold, the largest change first.
    pub changed: Vec<Change>,
    /// All others, in the order of the tables.
    pub rest: Vec<Change>,
    /// The gates with their outcomes.
    pub gates: Vec<(Gate, Outcome)>,
    threshold_percent: f64,
    commands: [String; 2],
}

impl Diff {
    /// Compares two reports. Figures that changed by more than `threshold_percent` are listed first; 1 is a good threshold.
    #[must_use]
    pub fn new(old: &Report, new: &Report, threshold_percent: f64, gates: Vec<Gate>) -> Diff {
        let least = 1.0 + threshold_percent.max(0.0) / 100.0;
        let of_report = of_report(old).into_iter().zip(of_report(new)).map(|(old, new)| Change {
            key: old.key,
            unit: old.unit,
            old: old.value,
            new: new.value,
        });
        let of_parts = ecb_sums::of_classes(old, new).into_iter().chain(heap_sizes::of_heaps(old, new));
        let of_parts = of_parts.map(|(key, unit, [old, new])| Change { key: key.into(), unit, old, new });
        let changes = of_report.chain(of_parts);
        // underbar's own reads say nothing about the program.
        let own = Key::OwnReads.entry().key;
        // Requests by size: a few more or less of a rare size are no change. The threshold is of all requests.
        let of = |report: &Report| report.tree.sizes.as_ref().map_or(0, Sizes::total);
        let requests = of(old).max(of(new)) as f64 * (least - 1.0);
        let is_many = |change: &Change| {
            (sizes::find(&change.key).is_none() && !heap_sizes::is_row(&change.key))
                || change.old.zip(change.new).is_none_or(|(old, new)| old.abs_diff(new) as f64 > requests)
        };
        let (mut changed, rest): (Vec<_>, Vec<_>) =
            changes.partition(|change| change.distance() > least && change.key != own && is_many(change));
        changed.sort_by(|a, b| b.distance().total_cmp(&a.distance()));
        let gates = gates.into_iter().map(|gate| {
            let outcome = gate.decide(old, new);
            (gate, outcome)
        });
        Diff {
            changed,
            rest,
            gates: gates.collect(),
            threshold_percent,
            commands: [command(old), command(new)],
        }
    }

    /// The outcome of all gates together.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        crate::gate::worst(self.gates.iter().map(|(_, outcome)| *outcome))
    }

    /// As text; with `all`, also the figures that did not change, but no size that neither report has.
    #[must_use]
    pub fn to_text(&self, all: bool) -> String {
        let mut text = format!("old: {}\nnew: {}\n{NO_INTERVAL}\n\n", self.commands[0], self.commands[1]);
        let listed = |text: &mut String, changes: &[&Change]| {
            for change in changes {
                let shown = |figure: Option<u64>| {
                    figure.map_or("-".to_owned(), |figure| in_units(change.unit, figure))
                };
                let ratio = change.ratio().map_or("-".to_owned(), |ratio| format!("{ratio:.3}"));
                // Writing to a String cannot fail.
                let _ = writeln!(
                    text,
                    "{:<32} {:>16} {:>16} {ratio:>9}",
                    change.key,
                    shown(change.old),
                    shown(change.new)
                );
            }
        };
        let _ = writeln!(text, "{:<32} {:>16} {:>16} {:>9}", "figure", "old", "new", "new/old");
        listed(&mut text, &self.changed.iter().collect::<Vec<_>>());
        if all {
            let is_row =
                |change: &&Change| sizes::find(&change.key).is_none() || change.old.max(change.new) > Some(0);
            let rest: Vec<&Change> = self.rest.iter().filter(is_row).collect();
            listed(&mut text, &rest);
        } else {
            let _ = writeln!(
                text,
                "{} of {} figures changed by more than {} %.",
                self.changed.len(),
                self.changed.len() + self.rest.len(),
                self.threshold_percent
            );
        }
        for (gate, outcome) in &self.gates {
            let _ = writeln!(text, "gate {}: {}", gate.text, outcome.word());
        }
        text
    }

    /// As JSON, one line and a line feed.
    #[must_use]
    pub fn to_json(&self) -> String {
        let figures: Vec<Value> = self
            .changed
            .iter()
            .chain(&self.rest)
            .map(|change| {
                json!({
                    "key": change.key, "unit": change.unit.name(),
                    "old": change.old, "new": change.new, "ratio": change.ratio(),
                })
            })
            .collect();
        let gates: Vec<Value> = self
            .gates
            .iter()
            .map(|(gate, outcome)| json!({"expression": gate.text, "outcome": outcome.word()}))
            .collect();
        let diff = json!({
            "schema": SCHEMA, "note": NO_INTERVAL, "threshold_percent": self.threshold_percent,
            "changed": self.changed.len(), "figures": figures, "gates": gates,
        });
        format!("{diff}\n")
    }
}

/// The program and its arguments, as comparisons show them: at most 90 characters, without control characters.
#[must_use]
pub fn command(report: &Report) -> String {
    let words = std::iter::once(&report.run.program).chain(&report.run.arguments);
    let text = words.map(String::as_str).collect::<Vec<_>>().join(" ");
    crate::page::clip(&crate::page::clean(&text), 90)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn pair() -> (Report, Report) {
        let (old, mut new) = (sample::getfree(), sample::getfree());
        new.tree.counters.set(Key::HeapSegmentsAllocated, 8);
        new.tree.counters.set(Key::HeapUsedPeak, 818_334_944);
        new.tree.counters.set(Key::HeapPurges, 3);
        if let Some(steps) = &mut new.steps {
            steps.elapsed_ns = 725_000_000;
            steps.read_calls = None;
        }
        (old, new)
    }

    #[test]
    fn what_changed_comes_first_largest_on_top() {
        let (old, new) = pair();
        let gates = vec![Gate::parse("heap.segments_allocated > 100").expect("a gate")];
        let diff = Diff::new(&old, &new, 1.0, gates);
        assert_eq!(
            diff.to_text(false),
            "\
old: ./getfree --seed 7
new: ./getfree --seed 7
One run each, no interval: a small difference may be chance. `underbar compare` gives one.

figure                                        old              new   new/old
steps.read_calls                               56                -         -
heap.purges                                     0                3         -
heap.segments_allocated                    27,949                8     0.000
steps.elapsed_ns                           1.45 s           725 ms     0.500
4 of 46 figures changed by more than 1 %.
gate heap.segments_allocated > 100: passed
"
            .replace("46", &keys().count().to_string())
        );
        assert_eq!(diff.outcome(), Outcome::Passed);
        // Of requests by size only those of a report.
        let without = sizes::ROWS - old.tree.sizes.as_ref().map_or(0, |sizes| sizes.rows().count());
        assert_eq!(diff.to_text(true).lines().count(), 5 + keys().count() - without + 1);
    }

    #[test]
    fn json_has_every_figure_exactly() {
        let (old, new) = pair();
        let diff = Diff::new(&old, &new, 0.0, vec![Gate::parse("heap.used_peak < +0").expect("a gate")]);
        let json: Value = serde_json::from_str(&diff.to_json()).expect("JSON");
        let figures = json["figures"].as_array().expect("a list");
        assert_eq!(figures.len(), keys().count());
        let peak = figures.iter().find(|figure| figure["key"] == "heap.used_peak").expect("the peak");
        assert_eq!((peak["old"].as_u64(), peak["new"].as_u64()), (Some(819_229_056), Some(818_334_944)));
        assert_eq!(json["changed"], 5);
        assert_eq!(json["gates"][0]["outcome"], "failed");
        assert!(json["note"].as_str().is_some_and(|note| note.contains("no interval")));
        assert_eq!(diff.outcome().exit_code(), 1);
    }

    /// A few requests more of a rare size are no change; of a frequent one they are.
    #[test]
    fn sizes_of_requests_are_compared_by_all_requests() {
        let report = |rare, frequent| {
            let mut report = sample::getfree();
            report.tree.sizes = Some(sample::sizes(&[(16, rare), (64, frequent), (4096, 9_000)]));
            report
        };
        let (old, new) = (report(3, 1_000), report(90, 1_200));
        let keys = |threshold| -> Vec<String> {
            let diff = Diff::new(&old, &new, threshold, Vec::new());
            diff.changed.iter().map(|change| change.key.to_string()).collect()
        };
        assert_eq!(keys(1.0), ["sizes.up_to_64"]);
        assert_eq!(keys(0.0), ["sizes.up_to_16", "sizes.up_to_64"]);
        let gate = Gate::parse("sizes.up_to_64 > +10%").expect("a gate");
        assert_eq!(Diff::new(&old, &new, 1.0, vec![gate]).outcome(), Outcome::Failed);
        // A report of an underbar that did not count them.
        let mut unknown = old.clone();
        unknown.tree.sizes = None;
        let diff = Diff::new(&unknown, &new, 1.0, Vec::new());
        assert_eq!(diff.changed.len(), sizes::ROWS);
    }

    #[test]
    fn classes_of_ecbs_are_compared() {
        let (mut old, mut new) = (sample::getfree(), sample::getfree());
        old.processes[0].ecbs = vec![sample::ecbs()];
        new.processes[0].ecbs = vec![sample::ecbs(), sample::ecbs()];
        new.processes[0].ecbs[0].high_water *= 2;
        new.processes[0].ecbs[1].name = "JAVA-1".to_owned();
        let decide = |text: &str| {
            let gate = Gate::parse(text).expect(text);
            Diff::new(&old, &new, 1.0, vec![gate]).outcome()
        };
        for (text, outcome) in [
            ("ecbs.high_water > +50%", Outcome::Failed),
            ("ecbs.SSL.high_water > +100%", Outcome::Passed),
            ("ecbs.SSL.high_water > 2M", Outcome::Failed),
            ("ecbs.SSL.frames > +0", Outcome::Passed),
            ("ecbs.frames > +0", Outcome::Failed),
            ("ecbs.SSL.got >= 10020", Outcome::Failed),
            ("ecbs.JAVA-1.frames > 4", Outcome::Failed),
            ("ecbs.JAVA-1.frames > +5%", Outcome::Unknown),
            ("ecbs.HTTP.frames > 4", Outcome::Unknown),
        ] {
            assert_eq!(decide(text), outcome, "{text}");
        }
        let text = Diff::new(&old, &new, 1.0, Vec::new()).to_text(false);
        let lines = [
            "\necbs.SSL.high_water                      1.34 MiB         2.67 MiB     2.000\n",
            "\necbs.JAVA-1.frames                              -                5         -\n",
        ];
        for line in lines {
            assert!(text.contains(line), "{line}{text}");
        }
    }

    #[test]
    fn equal_reports_differ_in_nothing() {
        let report = sample::tree();
        let diff = Diff::new(&report, &report, 0.0, Vec::new());
        assert!(diff.changed.is_empty());
        assert!(diff.rest.iter().all(|change| change.ratio().is_none_or(|ratio| ratio == 1.0)));
    }

    #[test]
    fn keys_are_unique() {
        let mut all: Vec<_> = keys().collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), keys().count());
    }
}
