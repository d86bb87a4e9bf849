//! `underbar advise FILE...`: suggestions from saved reports, each with its evidence, reason, stop rule and risk.
//!
//! Invariant: nothing is run and nothing is set; what is printed is for `--opts` or for an options file.
//! Not here: the rules (`underbar_advise`), and whether a suggestion helps (`tune`).

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use underbar_advise::{Suggestion, advise, lines};
use underbar_report::Report;

use crate::printing::Printing;
use crate::saved;

/// The flags of `advise`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  underbar run --json -o report.json -- ./prog
  underbar advise report.json
  underbar advise -o underbar.opts report.json
  underbar run --opts-file underbar.opts -- ./prog

Exit status: 0 read, with suggestions or without; 2 wrong usage, or a FILE cannot be read.")]
pub struct Advise {
    /// Reports saved with --json, or ledger files; - is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Set what could harm the program, too: a smaller stack, for instance
    #[arg(long)]
    risky: bool,

    /// Write an options file, with the reasons as comments; for one report
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    #[command(flatten)]
    printing: Printing,
}

impl Advise {
    /// Reads, and says what it suggests; a file that cannot be read does not keep it from the others.
    pub fn run(self) -> ExitCode {
        if self.output.is_some() && self.files.len() > 1 {
            return self.printing.fail("-o writes the options of one report; give one FILE");
        }
        let (mut text, mut failed) = (String::new(), None);
        for file in &self.files {
            let report = match saved::read(file) {
                Ok(report) => report,
                Err(error) => {
                    failed = Some(self.printing.fail(error));
                    continue;
                }
            };
            let suggestions = advise(&report);
            if self.printing.json {
                text += &lines::to_json(&suggestions);
            } else {
                if self.files.len() > 1 {
                    // Writing to a string cannot fail.
                    let _ = writeln!(text, "== {}", file.display());
                }
                text += &self.in_words(&report, &suggestions);
            }
            if let Some(path) = &self.output
                && let Err(error) = fs::write(path, lines::options_file(&report, &suggestions, self.risky))
            {
                failed = Some(self.printing.fail(format_args!("{}: {error}", path.display())));
            }
        }
        let printed = self.printing.print(&text, None, 0);
        failed.unwrap_or(printed)
    }

    fn in_words(&self, report: &Report, suggestions: &[Suggestion]) -> String {
        let mut text = String::new();
        if suggestions.is_empty() {
            let reason = match report.processes.len() {
                0 => "no accounts were kept: `underbar doctor` says why",
                _ => "no storage was asked for",
            };
            // Writing to a string cannot fail.
            let _ = writeln!(text, "Nothing to advise upon: {reason}.");
            return text;
        }
        for suggestion in suggestions {
            let _ = writeln!(text, "{suggestion}");
        }
        let withheld = suggestions.iter().filter(|suggestion| suggestion.risky && !self.risky).count();
        match option_line(report, suggestions, self.risky) {
            Some(line) => {
                let _ = writeln!(text, "Use: --opts '{}'", line.replace('\'', "'\\''"));
            }
            None if withheld == 0 => text.push_str("Nothing to set.\n"),
            None => {}
        }
        if withheld > 0 {
            let _ = writeln!(text, "Left out, since it could harm: {withheld}; --risky sets it.");
        }
        text
    }
}

/// All settings as one option text: with a section for each program, unless there is only one program.
///
/// Made from the options file, so that the two cannot disagree.
fn option_line(report: &Report, suggestions: &[Suggestion], risky: bool) -> Option<String> {
    let file = lines::options_file(report, suggestions, risky);
    let alone = report.programs().len() == 1;
    let mut line = String::new();
    let mut section = None;
    for words in file.lines().filter(|words| !words.is_empty() && !words.starts_with('#')) {
        if words.starts_with('[') {
            section = Some(words);
            continue;
        }
        let separator = if line.is_empty() {
            ""
        } else if section.is_some() && !alone {
            " "
        } else {
            ","
        };
        line += separator;
        if let Some(section) = section.take()
            && !alone
        {
            line += section;
            line.push(' ');
        }
        line += words;
    }
    (!line.is_empty()).then_some(line)
}
