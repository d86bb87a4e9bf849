//! `underbar diff OLD NEW`: two saved reports, figure by figure; with `--fail-on` a gate for builds. Two listings of
//! a mainframe the same way, with the timings of their steps.
//!
//! Invariant: exit status 1 means only that a gate failed; if a gate cannot decide, the status is 2.

use std::path::{Path, PathBuf};

use clap::Args;
use underbar_advise::listing::{Collected, Comparison};
use underbar_report::diff::Diff as Difference;
use underbar_report::gate::{Gate, Outcome};

use crate::exit::ExitCode;
use crate::listings::{self, Found};
use crate::printing::Printing;
use crate::say::{Kind, say};

/// The flags of `diff`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  underbar diff old.json new.json
  underbar diff --fail-on 'heap.used_peak > +5%' --fail-on 'heap.segments_allocated > 100' old.json new.json
  underbar diff --fail-on 'ecbs.SSL.high_water > +10%' old.json new.json
  underbar diff --all --json old.json new.json
  underbar diff joblog-before.txt joblog-after.txt

Listings are compared by the figures that both hold: Language Environment's storage reports and step timings; z/TPF's
request sizes, usage of the preallocated heap, sizes of available lists, instruction profiles; Natural's buffers,
parameters, switches. A comparison of one run with one run has no interval.

EXPR is a key, one of > >= < <= == != and a value: 100, 64M, 2s. A value with a sign is relative to OLD: +5%, -10M.
`underbar explain` lists the keys. `ecbs.frames` is of all ECBs, `ecbs.SSL.frames` of a class.

Exit status: 0 no gate failed, 1 a gate failed, 2 wrong usage, a file that cannot be read, or a gate on a figure that
a report does not have.")]
pub struct Diff {
    /// The report, or the listing, to compare with
    old: PathBuf,

    /// The report, or the listing, to check
    new: PathBuf,

    /// Fail if this is true of NEW; may be given several times
    #[arg(long, value_name = "EXPR", value_parser = Gate::parse, allow_hyphen_values = true)]
    fail_on: Vec<Gate>,

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

impl Diff {
    /// Compares.
    pub fn run(self) -> ExitCode {
        if self.old == self.new && self.old == Path::new("-") {
            return self.printing.fail("only one of the two can be standard input");
        }
        let [mut before, mut after] = [Collected::default(), Collected::default()];
        let read = |path, collected: &mut Collected| match listings::read(path, collected) {
            Ok(Found::Listings) => Ok(None),
            Ok(Found::Other(report)) => report.map(|report| Some(*report)),
            Err(error) => Err(error),
        };
        let (old, new) = match (read(&self.old, &mut before), read(&self.new, &mut after)) {
            (Ok(Some(old)), Ok(Some(new))) => (old, new),
            (Ok(None), Ok(None)) => return self.listings(&Comparison::new(&before, &after)),
            (Ok(_), Ok(_)) => return self.printing.fail("a listing and a saved report cannot be compared"),
            (old, new) => {
                let errors = [old.err(), new.err()].into_iter().flatten();
                return errors.fold(ExitCode::SUCCESS, |_, error| self.printing.fail(error));
            }
        };
        let difference = Difference::new(&old, &new, self.threshold, self.fail_on);
        for (gate, outcome) in &difference.gates {
            if *outcome == Outcome::Unknown {
                let message = format!("gate {}: one of the reports has no {}", gate.text, gate.key);
                say(self.printing.color, Kind::Warning, message);
            }
        }
        let code = difference.outcome().exit_code();
        if self.quiet && self.output.is_none() {
            return ExitCode::from(code);
        }
        let text = if self.printing.json { difference.to_json() } else { difference.to_text(self.all) };
        self.printing.print(&text, self.output.as_deref(), code)
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
