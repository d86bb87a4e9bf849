//! `underbar diff OLD NEW`: two saved reports, figure by figure; with `--fail-on` a gate for builds. Two listings of
//! a mainframe the same way, with the timings of their steps.
//!
//! ```text
//! OLD NEW                        one run a side: figure by figure, gates without an interval
//! --base A1 A2 ... --new B1 B2   several runs a side: medians with intervals, gates that know the noise
//! ```
//!
//! Invariant: exit status 1 means only that a gate failed; if a report lacks the figure of a gate, the status is 2, and if noise
//! could explain either outcome, 3.
//! Not here: verdicts (`underbar_fleet::sides`) and annotations (`underbar_fleet::github`).

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use underbar_advise::listing::{Collected, Comparison};
use underbar_fleet::github;
use underbar_fleet::sides::{Judged, Sides, Verdict};
use underbar_report::Report;
use underbar_report::diff::Diff as Difference;
use underbar_report::gate::{Gate, Outcome};
use underbar_shown::Shown;
use underbar_shown::door::{self, Form};

use crate::exit::ExitCode;
use crate::listings::{self, Found};
use crate::printing::Printing;
use crate::saved;
use crate::say::{Kind, say};

/// The flags of `diff`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  underbar diff old.json new.json
  underbar diff --fail-on 'heap.used_peak > +5%' --fail-on 'heap.segments_allocated > 100' old.json new.json
  underbar diff --fail-on 'ecbs.SSL.high_water > +10%' old.json new.json
  underbar diff --all --json old.json new.json
  underbar diff --fail-on 'heap.used_peak > +5%' --base old-*.json --new new-*.json
  underbar diff joblog-before.txt joblog-after.txt

Listings are compared by the figures that both hold: Language Environment's storage reports and step timings; z/TPF's
request sizes, usage of the preallocated heap, sizes of available lists, instruction profiles; Natural's buffers,
parameters, switches. A comparison of one run with one run has no interval. With --base and --new there are several runs a side,
and gates take the noise into account: a gate is undecided if the interval contains its limit, or if there are too few runs.

EXPR is a key, one of > >= < <= == != and a value: 100, 64M, 2s. A value with a sign is relative to OLD: +5%, -10M.
`underbar explain` lists the keys. `ecbs.frames` is of all ECBs, `ecbs.SSL.frames` of a class.

In a job of GitHub Actions, gates that did not pass become annotations, and the comparison is added to the summary of the job.

Exit status: 0 no gate failed, 1 a gate failed, 2 wrong usage, a file that cannot be read, or a gate on a figure that
a report does not have, 3 no gate failed and one is undecided.")]
pub struct Diff {
    /// The report, or the listing, to compare with
    #[arg(required_unless_present = "base", requires = "new", conflicts_with = "base")]
    old: Option<PathBuf>,

    /// The report, or the listing, to check
    new: Option<PathBuf>,

    /// Reports of several runs to compare with
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "runs")]
    base: Vec<PathBuf>,

    /// Reports of several runs to check
    #[arg(long = "new", id = "runs", value_name = "FILE", num_args = 1.., requires = "base")]
    runs: Vec<PathBuf>,

    /// Fail if this is true of NEW; may be given several times
    #[arg(long, value_name = "EXPR", value_parser = Gate::parse, allow_hyphen_values = true)]
    fail_on: Vec<Gate>,

    /// Exit with 0 instead of 3 if a gate is undecided
    #[arg(long)]
    allow_undecided: bool,

    /// Print gates that did not pass as annotations
    #[arg(long, value_enum, value_name = "FORM", default_value_t = Annotate::Auto)]
    annotate: Annotate,

    /// Add the comparison to FILE, in Markdown [default under GitHub Actions: the summary of the job]
    #[arg(long, value_name = "FILE")]
    summary: Option<PathBuf>,

    /// Also list figures that did not change
    #[arg(long)]
    all: bool,

    /// List figures that changed by more than this many percent
    #[arg(long, value_name = "PERCENT", value_parser = percent, default_value = "1",
          allow_hyphen_values = true)]
    threshold: f64,

    /// Print nothing; the exit status is the answer
    #[arg(short, long)]
    quiet: bool,

    /// Write to FILE instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    #[command(flatten)]
    printing: Printing,
}

fn percent(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(percent) if percent.is_finite() && percent >= 0.0 => Ok(percent),
        _ => Err("this must be a number, 0 or more".to_owned()),
    }
}

/// The form of annotations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Annotate {
    /// As workflow commands in a job of GitHub Actions (GITHUB_ACTIONS is set)
    Auto,
    /// As workflow commands of GitHub: ::error and ::warning, on standard error
    Github,
    /// None
    None,
}

impl Annotate {
    fn is_on(self) -> bool {
        match self {
            Self::Auto => std::env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true"),
            Self::Github => true,
            Self::None => false,
        }
    }
}

impl Diff {
    /// Compares.
    pub fn run(self) -> ExitCode {
        match (&self.old, &self.new) {
            (Some(old), Some(new)) => self.pair(old, new),
            _ => self.sides(),
        }
    }

    /// One run, or one listing, a side.
    fn pair(&self, old: &Path, new: &Path) -> ExitCode {
        if old == new && old == Path::new("-") {
            return self.printing.fail("only one of the two can be standard input");
        }
        let [mut before, mut after] = [Collected::default(), Collected::default()];
        let read = |path, collected: &mut Collected| match listings::read(path, collected) {
            Ok(Found::Listings) => Ok(None),
            Ok(Found::Other(report)) => report.map(|report| Some(*report)),
            Err(error) => Err(error),
        };
        let (old, new) = match (read(old, &mut before), read(new, &mut after)) {
            (Ok(Some(old)), Ok(Some(new))) => (old, new),
            (Ok(None), Ok(None)) => return self.listings(&Comparison::new(&before, &after)),
            (Ok(_), Ok(_)) => return self.printing.fail("a listing and a saved report cannot be compared"),
            (old, new) => {
                let errors = [old.err(), new.err()].into_iter().flatten();
                return errors.fold(ExitCode::SUCCESS, |_, error| self.printing.fail(error));
            }
        };
        let difference = Difference::new(&old, &new, self.threshold, self.fail_on.clone());
        let judged = |(gate, outcome): &(Gate, Outcome)| {
            let why = match outcome {
                Outcome::Unknown => format!("one of the reports has no {}", gate.key),
                _ => {
                    let figure =
                        |report| gate.figure(report).map_or("?".to_owned(), |figure| figure.to_string());
                    format!("{} was {}, is {}; one run a side", gate.key, figure(&old), figure(&new))
                }
            };
            Judged { gate: gate.text.clone(), verdict: (*outcome).into(), why }
        };
        let gates: Vec<Judged> = difference.gates.iter().map(judged).collect();
        let text = if self.printing.json { difference.to_json() } else { difference.to_text(self.all) };
        self.answer(&text, &gates, difference.outcome().exit_code(), || difference.to_text(self.all))
    }

    /// Several runs a side.
    fn sides(&self) -> ExitCode {
        let mut failed = None;
        let mut read = |paths: &[PathBuf]| -> Vec<Report> {
            let read = paths.iter().map(|path| saved::read(path));
            read.filter_map(|report| report.map_err(|error| failed = Some(self.printing.fail(error))).ok())
                .collect()
        };
        let (old, new) = (read(&self.base), read(&self.runs));
        if let Some(failed) = failed {
            return failed;
        }
        let sides = Sides::new(&old, &new, self.threshold, &self.fail_on);
        let text = if self.printing.json { sides.to_json() } else { sides.to_text(self.all) };
        let code = match sides.exit_code() {
            code if code == Verdict::Undecided.exit_code() && self.allow_undecided => 0,
            code => code,
        };
        self.answer(&text, &sides.gates, code, || sides.to_text(self.all))
    }

    /// Prints the comparison, the annotations and the summary of a job.
    fn answer(&self, text: &str, gates: &[Judged], code: u8, in_words: impl FnOnce() -> String) -> ExitCode {
        for judged in gates.iter().filter(|judged| judged.verdict == Verdict::Unknown) {
            say(self.printing.color, Kind::Warning, format_args!("gate {}: {}", judged.gate, judged.why));
        }
        let is_on = self.annotate.is_on();
        if is_on {
            // A closed standard error is no failure of a gate.
            let _ = door::to_error(Form::Text, &github::annotations(gates));
        }
        let of_job = || std::env::var_os("GITHUB_STEP_SUMMARY").filter(|path| is_on && !path.is_empty());
        if let Some(path) = self.summary.clone().or_else(|| of_job().map(PathBuf::from)) {
            let summary = underbar_shown::text(&github::summary(gates, &in_words())).into_owned();
            let file = OpenOptions::new().append(true).create(true).open(&path);
            if let Err(error) = file.and_then(|mut file| file.write_all(summary.as_bytes())) {
                return self.printing.fail(format_args!("{}: {error}", path.shown()));
            }
        }
        if self.quiet && self.output.is_none() {
            return ExitCode::from(code);
        }
        self.printing.print(text, self.output.as_deref(), code)
    }

    fn listings(&self, comparison: &Comparison) -> ExitCode {
        if !self.fail_on.is_empty() {
            return self.printing.fail("gates are for saved reports; a listing has no keys");
        }
        if comparison.is_empty() {
            return self.printing.fail(
                "the listings have no program and no step in common, and nothing else that is compared",
            );
        }
        if self.quiet && self.output.is_none() {
            return ExitCode::SUCCESS;
        }
        let text = if self.printing.json { comparison.to_json() } else { Ok(comparison.to_text(self.all)) };
        match text {
            Ok(text) => self.printing.print(&text, self.output.as_deref(), 0),
            Err(error) => self.printing.fail(error),
        }
    }
}
