//! The texts of `tune`: how many runs there will be, what was measured, what to type next; and the result as JSON.
//!
//! Not here: the texts of verdicts (`verdict::render`), and the outcome of each set (`super`).

use std::ffi::OsStr;
use underbar_shown::Shown;

use serde_json::{Value, json};
use underbar_report::page::quoted;
use underbar_report::{Report, units};
use underbar_verdict::compare::{Comparison, Outcome as Compared};
use underbar_verdict::plan::{DEFAULT_ROUNDS, MINIMUM_ROUNDS};
use underbar_verdict::sample::Sample;

use super::{Outcome, SCHEMA, Tune};
use crate::html::{self, Arms, OtherRun, of_verdict};
use crate::shared::OptsBase;
use crate::trial::say;
use crate::trial::trial_outcome::Tried;
use underbar_runner::layers::Layers;

impl Tune {
    /// `at most 144 runs: 2 or 3 to measure, 2 x (3 + 3 x 15) to compare, 3 x 15 to confirm`
    pub(super) fn how_often(&self) -> String {
        if self.live {
            return "2 runs to measure, then as many as the epochs take, mostly one".to_owned();
        }
        // The suggestions, the set for less memory, and the sets of --try.
        let sets = 2 + self.given.len() as u64;
        let looks = u64::from(self.every.is_some());
        match (self.flags.runs, self.flags.time) {
            (None, Some(time)) => {
                let least = sets - 1;
                let runs = 3 + least * 3 + (least + 1) * 3 * MINIMUM_ROUNDS as u64 + looks;
                let each = time / u32::try_from(runs).unwrap_or(u32::MAX);
                format!(
                    "2 or 3 runs to measure, then as many as fit into {}: half to compare, half to confirm\n\
                     underbar: a verdict on a set needs {runs} runs or more, so the program may take {} at most",
                    say::long(time),
                    units::nanoseconds(u64::try_from(each.as_nanos()).unwrap_or(u64::MAX))
                )
            }
            (runs, _) => {
                let rounds = runs.unwrap_or(DEFAULT_ROUNDS as u64);
                let compare = format!("{sets} x (3 + 3 x {rounds})");
                let runs = 3 + sets * (3 + 3 * rounds) + 3 * rounds + looks;
                let look = if looks > 0 { ", 1 to look at" } else { "" };
                format!(
                    "at most {runs} runs: 2 or 3 to measure, {compare} to compare, 3 x {rounds} to confirm{look}"
                )
            }
        }
    }

    pub(super) fn measured_lines(&self, default: &Layers, sample: &Sample, repeatable: bool) -> String {
        let options = match (&self.opts, &self.flags.opts_file) {
            (None, None) => default.words_for_none_given(),
            _ => "the options given".to_owned(),
        };
        let mut text = format!(
            "{:<11}CPU {}, elapsed {}, peak RSS {}, {} faults, under {options}\n",
            "measured",
            units::nanoseconds(sample.cpu_ns),
            units::nanoseconds(sample.elapsed_ns),
            units::bytes(sample.peak_rss_bytes),
            units::count(sample.faults),
        );
        if !repeatable {
            text += &format!("{:<11}output not repeatable: two equal runs differ\n", "");
        }
        text
    }

    pub(super) fn written_lines(&self, option: &str, note: &str) -> String {
        let path = self.output.shown();
        let note = if note.is_empty() { String::new() } else { format!(": {option}, {note}") };
        format!("{:<11}{path}{note}\n{:<11}{}\n", "written", "use it", self.use_it(true))
    }

    /// The command that runs the program, for a shell, with the written file or without it: the base cannot be in a file.
    fn use_it(&self, with_file: bool) -> String {
        let base = match self.flags.opts_base {
            OptsBase::Underbar => "",
            OptsBase::Le => " --opts-base le",
        };
        let word = |word: &OsStr| quoted(&word.to_string_lossy());
        let program: Vec<String> = self.program.iter().map(|part| word(part)).collect();
        let mut given = String::new();
        if with_file {
            given += &format!(" --opts-file {}", word(self.output.as_os_str()));
        } else {
            if let Some(path) = &self.flags.opts_file {
                given += &format!(" --opts-file {}", word(path.as_os_str()));
            }
            if let Some(text) = &self.opts {
                given += &format!(" --opts {}", quoted(text));
            }
        }
        format!("underbar run{base}{given} -- {}", program.join(" "))
    }

    /// If default by itself is better than plain: a line that says so, and the command to use it.
    pub(super) fn default_alone(&self, default_plain: &Comparison) -> Option<String> {
        (default_plain.outcome == Compared::Better).then(|| {
            let words = format!("alone is better than plain: {default_plain}");
            format!("{:<11}{words}\n{:<11}{}\n", "default", "use it", self.use_it(false))
        })
    }

    /// The result as a page: every comparison with its intervals, and the report that they began with.
    pub(super) fn page(&self, outcome: &Outcome) -> String {
        let report_of = |json: &Value| Report::from_json(json.to_string().as_bytes()).ok();
        let report = outcome.measured.as_ref().and_then(report_of);
        let mut arms: Vec<Arms<'_>> = Vec::new();
        if let Some(confirmed) = &outcome.confirmed {
            let words = vec![confirmed.to_string()];
            arms.push(Arms {
                words,
                ..of_verdict("The best set, on fresh runs".to_owned(), &confirmed.fresh)
            });
        }
        for (set, verdict) in &outcome.tried {
            arms.push(of_verdict(format!("Tried: {}", set.line()), verdict));
        }
        if let Some(verdict) = &outcome.default_plain {
            arms.push(Arms {
                title: "Default against plain".to_owned(),
                words: vec![format!("{}: {}", verdict.comparison.candidate, verdict.comparison)],
                arms: Vec::new(),
                comparisons: vec![&verdict.comparison],
                runs: Some(&verdict.runs),
            });
        }
        if let Some(others) = &outcome.others {
            arms.push(Arms {
                title: "Other allocators".to_owned(),
                words: others.comparisons.iter().map(|one| format!("{}: {one}", one.candidate)).collect(),
                arms: Vec::new(),
                comparisons: others.comparisons.iter().collect(),
                runs: Some(&others.runs),
            });
        }
        if let Some(tried) = &outcome.live {
            arms.push(Arms {
                title: format!("Policies of waiting for {}", tried.name()),
                words: tried.text().lines().map(str::to_owned).collect(),
                arms: Vec::new(),
                comparisons: Vec::new(),
                runs: None,
            });
        }
        let title = outcome.best().map(|set| format!("Under {}", set.line())).unwrap_or_default();
        let tuned = outcome.tuned.as_ref().and_then(report_of);
        let other = tuned.as_ref().map(|report| OtherRun { before: "Under default", title: &title, report });
        html::of_comparisons(&self.program, (report.as_ref(), &outcome.suggestions), other, arms)
    }

    pub(super) fn json(&self, outcome: &Outcome) -> Value {
        let words: Vec<_> = self.program.iter().map(|word| word.to_string_lossy()).collect();
        let tried: Vec<Value> = outcome
            .tried
            .iter()
            .map(|(set, verdict)| json!({"name": set.name, "options": set.options, "verdict": verdict}))
            .collect();
        json!({
            "schema": SCHEMA,
            "command": words,
            "report": outcome.measured,
            "tuned_report": outcome.tuned,
            "output_repeatable": outcome.repeatable,
            "suggestions": outcome.suggestions,
            "tried": tried,
            "confirmed": outcome.confirmed,
            "default_plain": outcome.default_plain,
            "live": outcome.live.as_ref().map(Tried::json),
            "allocators": outcome.others,
            "kept": outcome.kept,
            "options_file": outcome.written.then(|| self.output.to_string_lossy()),
            "interrupted": outcome.stop.is_some(),
        })
    }
}
