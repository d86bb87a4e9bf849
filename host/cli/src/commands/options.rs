//! `underbar options [TEXT]`: checks an option text, and prints the options in force with it.
//!
//! ```text
//! layers of a run + TEXT ── wrong ────> warnings with carets, on standard error
//!                        └─ in force ─> options report, then meanings of the options of TEXT, on standard output
//! ```
//!
//! Invariant: the layers are those that `run` would read; nothing is run.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use underbar_options::{OPTIONS, Severity, WhereSet};
use underbar_report::model::{Run, file_name};
use underbar_report::{Facts, Report, le};

use crate::exit::ExitCode;
use crate::printing::Printing;
use crate::say::{Kind, say};
use crate::shared::OptsBase;
use underbar_launch::find;
use underbar_runner::host;
use underbar_runner::layers::Layers;

/// Name and version of the form that the answer has in JSON.
const SCHEMA: &str = "underbar.options/1";

/// Some of the text is wrong and was left out. Other codes: 0: all of it is right; 2: as in other commands.
const WRONG_TEXT: u8 = 1;

/// The flags of `options`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  underbar options
  underbar options 'HEAP(64M,16M,,KEEP),RPTSTG(ON)'
  underbar options --opts-file underbar.opts --program cc1plus
  underbar options --opts-base le --json

Exit status: 0 every option text is right, 1 one is wrong and was left out in part, 2 wrong usage.")]
pub struct Options {
    /// An option text, as for --opts
    text: Option<OsString>,

    /// A file of run-time options; TEXT overrides it
    #[arg(long, value_name = "FILE")]
    opts_file: Option<PathBuf>,

    /// Base defaults, which every other option overrides
    #[arg(long, value_enum, value_name = "BASE", default_value_t = OptsBase::Underbar)]
    opts_base: OptsBase,

    /// The program whose sections count; underbar.opts in its folder is read, too
    #[arg(long, value_name = "NAME")]
    program: Option<PathBuf>,

    /// Write to FILE instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    #[command(flatten)]
    printing: Printing,
}

impl Options {
    /// Checks, and prints the options in force.
    pub fn run(self) -> ExitCode {
        let program = self.program.as_ref().map_or(OsStr::new("*"), |program| program.as_os_str());
        let beside = self.program.as_ref().and_then(|program| find(program.as_os_str()));
        let mut layers = Layers::of_run(self.opts_base.into(), beside.as_deref());
        if let Some(path) = &self.opts_file {
            layers.add_file(WhereSet::OptionsFile, path, true);
        }
        if let Some(text) = &self.text {
            layers.add(WhereSet::CommandLine, "TEXT".to_owned(), text.to_string_lossy().into_owned());
        }
        let warnings = layers.warnings();
        let code = if warnings.is_empty() { 0 } else { WRONG_TEXT };
        let text = if self.printing.json {
            in_json(&layers, program)
        } else {
            for warning in &warnings {
                say(self.printing.color, Kind::Warning, warning);
            }
            let mut text = in_words(&layers, program);
            if self.program.is_none() && layers.may_have_sections() {
                text.push_str("For the sections of one program: --program NAME\n");
            }
            text
        };
        self.printing.print(&text, self.output.as_deref(), code)
    }
}

fn in_words(layers: &Layers, program: &OsStr) -> String {
    let settings = layers.settings(program);
    let name = program.to_string_lossy();
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = settings.write_options_report(file_name(&name), &now(), &mut text);
    let set: Vec<_> =
        (0..OPTIONS.len()).filter(|&option| settings.where_set(option) == WhereSet::CommandLine).collect();
    if !set.is_empty() {
        text.push_str("\nSet by TEXT:\n");
    }
    for option in set {
        let _ = writeln!(text, "  {:<12} {}", OPTIONS[option].name, OPTIONS[option].meaning.text());
    }
    let notes = layers.notes();
    if !notes.is_empty() {
        text.push_str("\nAccepted, but:\n");
    }
    for note in notes {
        let _ = writeln!(text, "  {note}");
    }
    let origins: Vec<&str> = layers.origins().collect();
    let _ = match origins.as_slice() {
        [] => writeln!(text, "\nNo option text was found: these are the defaults."),
        origins => writeln!(text, "\nRead, weakest first: {}", origins.join(", ")),
    };
    text.push_str("All options: underbar explain\n");
    text
}

fn in_json(layers: &Layers, program: &OsStr) -> String {
    let settings = layers.settings(program);
    let mut shortest = String::new();
    // Writing to a string cannot fail.
    let _ = settings.canonical(&mut shortest);
    let found: Vec<_> = layers
        .findings()
        .iter()
        .map(|finding| {
            json!({
                "severity": if finding.severity == Severity::Warning { "warning" } else { "note" },
                "origin": finding.origin, "line": finding.place.0, "column": finding.place.1,
                "number": finding.number, "message": finding.text, "excerpt": finding.excerpt,
            })
        })
        .collect();
    let answer = json!({
        "schema": SCHEMA, "program": program.to_string_lossy(), "shortest": shortest,
        "read": layers.origins().collect::<Vec<_>>(), "in_force": layers.for_report(program).in_force,
        "unread": layers.unread(), "found": found,
    });
    format!("{answer}\n")
}

/// The date and time now, in the form of report headings.
fn now() -> String {
    let started_unix_ns = underbar_runner::now();
    let run = Run { started_unix_ns, ..Run::default() };
    le::date(&Report::without_ledger(Facts { host: host(started_unix_ns), run, ..Facts::default() }))
}
