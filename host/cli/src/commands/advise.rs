//! `underbar advise FILE...`: suggestions from saved reports, and advice from listings of Language Environment, each with
//! its evidence, reason, stop rule and risk.
//!
//! A saved report is read as one; of several of a program the text says what its runs used, and whose advice holds. Any other file is
//! searched for listings, and the advice is based on all listings together, so that several runs of a program count as such.
//! Invariant: nothing is run and nothing is set; the output is for `--opts` or for an options file.
//! Not here: the rules (`underbar_advise`), and whether a suggestion helps (`tune`).

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use underbar_shown::Shown;

use clap::{Args, ValueEnum};
use underbar_advise::advise;
use underbar_advise::listing::simulate::Tried;
use underbar_advise::listing::{Collected, simulate};
use underbar_advise::render::options::{has_values, not_in_form, options};
use underbar_advise::render::{Form, html, json, lines, text, values};
use underbar_advise::several::several;
use underbar_advise::{advise_listing, check_texts};
use underbar_report::Report;

use crate::exit::ExitCode;
use crate::listings::{self, Found};
use crate::printing::Printing;
use underbar_shown::door;

/// The flags of `advise`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  underbar run --json -o report.json -- ./prog
  underbar advise report.json
  underbar advise -o prog.opts report.json
  underbar run --opts-file prog.opts -- ./prog
  underbar advise --as ceeuopt job1.txt job2.txt
  underbar advise --simulate AVL ztpf-reduction.txt
  underbar advise --html job1.txt > advice.html

Exit status: 0 every FILE was read, with or without suggestions; 2 wrong usage, or a FILE cannot be read.")]
pub struct Advise {
    /// Reports saved with --json, ledger files, or listings of z/OS, z/TPF and Natural; - is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Also set options that could harm the program, such as a smaller stack
    #[arg(long)]
    risky: bool,

    /// The form of the options for the programs of a listing [default: ceeopts]
    #[arg(long = "as", value_enum, value_name = "FORM")]
    form: Option<As>,

    /// Replay a listing's requests with these values: HEAP(64M,16M), HEAPPOOLS(ON,16,10), sizes of z/TPF's available lists as
    /// HAVSZ1=64,HAVSZ2=128, or AVL for the suggested sizes
    #[arg(long, value_name = "OPTIONS")]
    simulate: Option<String>,

    /// Print the advice for listings as one page of HTML, with a chart of sizes
    #[arg(long, conflicts_with_all = ["json", "output"])]
    html: bool,

    /// Write an options file for one report, with the reasons as comments, or the options for one program of a listing
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    #[command(flatten)]
    printing: Printing,
}

/// The form of an option text.
#[derive(Clone, Copy, ValueEnum)]
enum As {
    /// A CEEOPTS data set
    Ceeopts,
    /// An assembler source with CEEXOPT
    Ceeuopt,
    /// PARM of a job step
    Parm,
    /// The environment variable
    #[value(name = "_cee_runopts")]
    CeeRunopts,
    /// One line for each value
    Values,
    /// Parameters of Natural, also as macros of the parameter module
    Natparm,
    /// Options of underbar, those that it honours
    Underbar,
}

impl From<As> for Form {
    fn from(form: As) -> Self {
        match form {
            As::Ceeopts => Self::Ceeopts,
            As::Ceeuopt => Self::Ceeuopt,
            As::Parm => Self::Parm,
            As::CeeRunopts => Self::CeeRunopts,
            As::Values => Self::Values,
            As::Natparm => Self::Natparm,
            As::Underbar => Self::Underbar,
        }
    }
}

impl Advise {
    /// Reads the files, and prints the suggestions. If a file cannot be read, the others still are.
    pub fn run(self) -> ExitCode {
        if self.output.is_some() && self.files.len() > 1 {
            return self.printing.fail("-o writes the options of one report; give one FILE");
        }
        let (mut words, mut failed) = (String::new(), None);
        let mut collected = Collected::default();
        let mut saved: Vec<(&Path, Report)> = Vec::new();
        for file in &self.files {
            let report = match listings::read(file, &mut collected) {
                Ok(Found::Listings) => continue,
                Ok(Found::Other(Ok(report))) => report,
                Ok(Found::Other(Err(error))) | Err(error) => {
                    failed = Some(self.printing.fail(error));
                    continue;
                }
            };
            if let Some(message) = self.of_listings_only() {
                failed = Some(
                    self.printing.fail(format_args!("{}: this is a saved report; {message}", file.shown())),
                );
                continue;
            }
            let suggestions = advise(&report);
            if self.printing.json {
                words += &json::accounts(&suggestions, self.risky);
            } else {
                if self.files.len() > 1 {
                    // Writing to a string cannot fail.
                    let _ = writeln!(words, "== {}", file.shown());
                }
                words += &text::accounts(&report, &suggestions, self.risky);
            }
            if let Some(path) = &self.output
                && let Err(error) = door::to_file(
                    path,
                    door::Form::Text,
                    &lines::options_file(&report, &suggestions, self.risky),
                )
            {
                failed = Some(self.printing.fail(format_args!("{}: {error}", path.shown())));
            }
            saved.push((file, *report));
        }
        if !self.printing.json {
            words += &self.of_runs(&saved);
        }
        let simulated = self.simulate.as_deref().map(|options| simulate(&collected, options));
        match simulated {
            Some(Err(error)) => failed = Some(self.printing.fail(format_args!("--simulate: {error}"))),
            Some(Ok(all)) if collected.items > 0 => words += &self.of_listings(&collected, &all),
            _ if collected.items > 0 => words += &self.of_listings(&collected, &[]),
            _ => {}
        }
        if let (Some(path), true) = (&self.output, collected.items > 0)
            && let Err(message) = self.write_options(path, &collected)
        {
            failed = Some(self.printing.fail(message));
        }
        // A page, and options in a form that was asked for, are for other programs: their lines are not folded.
        let printed = match (self.html, self.form) {
            (false, None) => self.printing.print_words(&words, None, 0),
            _ => self.printing.print(&words, None, 0),
        };
        failed.unwrap_or(printed)
    }

    /// What the runs of each program with several reports used, and the options of the one that is to be planned for.
    fn of_runs(&self, saved: &[(&Path, Report)]) -> String {
        let mut words = String::new();
        let reports: Vec<&Report> = saved.iter().map(|(_, report)| report).collect();
        for group in several(&reports) {
            let Some((file, report)) = saved.get(group.base) else { continue };
            let runs = group.reports.len();
            let _ = writeln!(words, "== {runs} runs of {} under the same options", group.program.shown());
            let _ = writeln!(words, "heap.used_peak: {}.", group.use_);
            let _ = writeln!(words, "Plan for {}.", file.shown());
            words += &text::to_use(report, &advise(report), self.risky);
        }
        words
    }

    fn form(&self) -> As {
        self.form.unwrap_or(As::Ceeopts)
    }

    /// Why a saved report cannot be shown as the flags ask.
    fn of_listings_only(&self) -> Option<&'static str> {
        match (self.html, &self.simulate, self.form) {
            (true, ..) => Some("--html is for listings; use `underbar report`"),
            (_, Some(_), _) => {
                Some("--simulate is for the requests of a listing; use `underbar tune` to try options")
            }
            (_, _, Some(form)) if !matches!(form, As::Underbar) => {
                Some("--as is for listings; a report has options of underbar")
            }
            _ => None,
        }
    }

    fn form_name(&self) -> String {
        self.form().to_possible_value().map_or(String::new(), |form| form.get_name().to_owned())
    }

    /// Writes the option text of the only program of a listing, or the values of the only system, into a file.
    fn write_options(&self, path: &Path, collected: &Collected) -> Result<(), String> {
        let all = advise_listing(collected);
        let form = self.form().into();
        let options = options(collected, &all, form).into_iter().map(|one| one.options);
        // Values of z/TPF have a form of their own.
        let names = if has_values(form) { values::names(&all) } else { Vec::new() };
        let values = names.into_iter().filter_map(|name| values::of(&all, name));
        let mut texts = options.chain(values);
        match (texts.next(), texts.next()) {
            (Some(text), None) => door::to_file(path, door::Form::Text, &text)
                .map_err(|error| format!("{}: {error}", path.shown())),
            (None, _) if !not_in_form(collected, &all, form).is_empty() => Err(format!(
                "-o: no setting can be written in the form {}; use --as values",
                self.form_name()
            )),
            (None, _) => Err("-o: there is nothing to set".to_owned()),
            _ => Err("-o writes the options of one program; the listing has several".to_owned()),
        }
    }

    fn of_listings(&self, collected: &Collected, what_if: &[Tried]) -> String {
        let all = advise_listing(collected);
        let form = self.form().into();
        let checks = check_texts(collected);
        if self.html {
            return html::page(collected, &all, &checks, what_if, form);
        }
        if self.printing.json {
            return json::listings(collected, &all, &checks, what_if, form);
        }
        text::listings(collected, &all, &checks, what_if, form, &self.form_name())
    }
}
