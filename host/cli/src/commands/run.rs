//! `underbar run -- PROGRAM ARGUMENTS`: run, and report when the program has ended.
//!
//! ```text
//! library placed ─> program run, accounts kept (runner) ─> report ─> the command ends as the program ended
//!      │ no place: plain run, one warning at the end
//! ```
//!
//! Invariant: nothing is written while the program runs, nothing is ever written to standard output, and no failure
//! here changes how the program runs or what it returns.

use std::ffi::OsString;
use std::mem::ManuallyDrop;
use std::path::PathBuf;
use std::time::Duration;
use underbar_shown::Shown;

use clap::{Args, Command, FromArgMatches};
use underbar_launch::file_keeper::Kept;
use underbar_launch::{Expired, Failure, LOOK_AGAIN, LedgerFile, Library, LibraryError, last};
use underbar_options::Settings;
use underbar_report::le;
use underbar_report::model::file_name;
use underbar_report::page::Page;

use super::report::Form;
use crate::exit::ExitCode;
use crate::say::Kind;
use crate::shared::{Shared, write_report};
use crate::site_record::SiteRecord;
use crate::table::with_opposites;
use crate::trial::flags::duration;
use crate::{OWN_FAILURE, embedded, html, off};
use underbar_runner::layers::Layers;
use underbar_runner::looks::Looks;
use underbar_runner::{Finished, Runner};
use underbar_shown::door;
use underbar_sites::report::Report as Sites;
use underbar_sites::text::summary_line;

/// The flags of `run`.
#[derive(Args, Debug, Default)]
#[command(after_help = "\
Examples:
  underbar run -- ./prog --its --own --flags
  underbar run --opts 'HEAP(64M,16M,,KEEP)' -- ./prog
  underbar run --json -o report.json -- ./prog
  underbar run --report le -- ./prog
  underbar run --exec -- ./server           prints where the accounts are
  underbar run --report lock -- ./prog
  underbar run -q --openmetrics /var/lib/node_exporter/prog.prom -- ./prog
  underbar run --every 100ms -- ./prog      also how heap and resident memory grew
  underbar run --every 100ms --sites --html report.html -- ./prog
  underbar run --exec -o accounts.ledger -- ./server    then: underbar report accounts.ledger

Exit status: the program's own; a signal that killed it kills underbar, too. 125 wrong usage or a failure of
underbar itself, 126 the program cannot be executed, 127 there is no such program.")]
pub struct Run {
    #[command(flatten)]
    pub shared: Shared,

    /// Form of the report: a summary, every figure, the storage report of Language Environment, or the lock report
    #[arg(long, value_enum, value_name = "FORM", conflicts_with = "json")]
    pub report: Option<Form>,

    /// Also write the figures to FILE, as an OpenMetrics text; it is put into its place whole. %p, %e and %h as for -o
    #[arg(long, value_name = "FILE", conflicts_with = "exec")]
    pub openmetrics: Option<PathBuf>,

    /// Follow only the program itself, not the programs that its children execute
    #[arg(long)]
    pub no_follow: bool,

    /// Also show the heap, resident memory and segments over time: a look from outside in each interval, such as 100ms (at least 10ms)
    #[arg(long, value_name = "DURATION", value_parser = interval, conflicts_with = "exec")]
    pub every: Option<Duration>,

    /// Also write the report as one page for a browser; %p, %e and %h become process, program and host
    #[arg(long, value_name = "FILE", conflicts_with = "exec")]
    pub html: Option<PathBuf>,

    /// Become the program, under the same process number; underbar does not stay as its parent
    #[arg(long)]
    pub exec: bool,

    /// Sample requests, and show the site with most in use as a line of the summary; `underbar heap` shows all
    #[arg(long)]
    pub sites: bool,

    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM")]
    pub program: Vec<OsString>,
}

/// Parses `underbar run`; `words` are those after `underbar`. It uses only the part of the table for `run`, since making
/// all of it costs as much as everything else before the program starts. None if it is not `run`, or if there is something
/// to print (help, wrong usage): then the whole table finds the words for it.
pub fn told(words: &[OsString]) -> Option<Run> {
    if let Some(plain) = plain_run(words) {
        return Some(plain);
    }
    // Its memory goes with the process.
    let mut part = ManuallyDrop::new(with_opposites(Run::augment_args(Command::new(RUN))));
    let is_run = words.first().is_some_and(|word| word == RUN);
    let matches = is_run.then(|| part.try_get_matches_from_mut(words).ok())??;
    Run::from_arg_matches(&matches).ok()
}

/// The same if there are no flags but `-q` and `--opts TEXT`, once each, and `--` stands before the program. Most runs are called so,
/// and even the part of the table for `run` takes much of the time before the program starts.
fn plain_run(words: &[OsString]) -> Option<Run> {
    let (run, mut rest) = words.split_first()?;
    let mut shared = Shared::default();
    let program = loop {
        rest = match rest {
            [dashes, program @ ..] if dashes == "--" => break program,
            [quiet, behind @ ..] if quiet == "-q" && !shared.quiet => {
                shared.quiet = true;
                behind
            }
            [opts, text, behind @ ..]
                if opts == "--opts"
                    && shared.opts.is_none()
                    && !text.as_encoded_bytes().starts_with(b"-") =>
            {
                shared.opts = Some(text.to_string_lossy().into_owned());
                behind
            }
            _ => return None,
        };
    };
    let is_plain = run == RUN && !program.is_empty();
    is_plain.then(|| Run { shared, program: program.to_vec(), ..Run::default() })
}

/// An interval between looks. A shorter one would cost more than it shows.
pub fn interval(text: &str) -> Result<Duration, String> {
    const LEAST: Duration = Duration::from_millis(10);
    duration(text).and_then(|every| if every < LEAST { Err("at least 10ms".to_owned()) } else { Ok(every) })
}

/// The command that [`told`] parses.
pub const RUN: &str = "run";

impl Run {
    /// Runs the program; returns only if it could not be run.
    pub fn run(self) -> ExitCode {
        let Some((program, arguments)) = self.program.split_first() else {
            return ExitCode::from(OWN_FAILURE);
        };
        let tell = |words: &str| self.shared.say(Kind::Warning, words);
        if let Some(failure) = off::leave_alone(program, arguments, tell) {
            return self.failed(&failure);
        }
        let library = embedded::library(!self.exec);
        let layers = if self.sites {
            super::heap::layers(&self.shared, program, None)
        } else {
            self.shared.layers(program)
        };
        let runner = Runner {
            library: library.as_ref().ok(),
            layers: &layers,
            follow: !self.no_follow,
            leaves: true,
            streams: [None; 3],
        };
        if self.exec {
            self.say_if_plain(&library);
            if self.shared.json || self.report.is_some() {
                let about = "--json and --report have no effect with --exec; `underbar report FILE` prints the accounts that -o FILE keeps";
                self.shared.say(Kind::Warning, about);
            }
            let settings = layers.settings(program);
            let ledger = self.kept_ledger(&layers.text_with_base(), &settings);
            let failure = runner.launch(program, arguments, ledger.as_ref()).exec();
            return self.failed(&failure);
        }
        let tell = |expired: &Expired| self.shared.say(Kind::Warning, expired);
        if self.shared.is_without_report() && self.openmetrics.is_none() && self.html.is_none() {
            return match runner
                .run_unread(program, arguments, |launch, ledger| runner.attend(launch, ledger, tell))
            {
                Ok((ended, no_accounts, kept)) => {
                    self.say_what_is_missing(&library, &layers, no_accounts, &kept);
                    ended.leave()
                }
                Err(failure) => self.failed(&failure),
            };
        }
        let mut sites = None;
        let mut looks = self.every.map(Looks::every);
        let ran = runner.run_by(program, arguments, |launch, ledger| {
            let Some(ledger) = ledger.filter(|_| self.sites || looks.is_some()) else {
                return runner.attend(launch, ledger, tell);
            };
            let mut record = self.sites.then(SiteRecord::begin);
            let ended = runner.attend_looking(launch, Some(ledger), tell, &mut || {
                let next = record.as_mut().map_or(LOOK_AGAIN, |record| record.look(ledger));
                looks.as_mut().map_or(LOOK_AGAIN, |looks| looks.look(ledger)).min(next)
            })?;
            sites = record.map(|record| record.end(Some(ledger), program, arguments, false));
            Ok(ended)
        });
        match ran {
            Ok(mut finished) => {
                if let Some(looks) = looks {
                    looks.finish(&mut finished.report);
                }
                self.say_what_is_missing(&library, &layers, finished.no_accounts.take(), &finished.kept);
                if let Some(sites) = &mut sites {
                    sites.heap.learn(&finished.report);
                }
                self.ended(&layers.settings(program), finished, sites.as_ref())
            }
            Err(failure) => self.failed(&failure),
        }
    }

    /// The ledger of a program without a parent: at the place that -o names; else at the place that MSGFILE names, where the
    /// library makes it; else among the ledgers of runs, under a name that is printed.
    fn kept_ledger(&self, options: &str, settings: &Settings) -> Option<LedgerFile> {
        let Some(path) = &self.shared.output else { return self.left_ledger(options, settings) };
        if door::is_output(path) {
            let about = "no accounts: with --exec, -o must name a file that keeps them";
            self.shared.say(Kind::Warning, about);
            return None;
        }
        let path = crate::shared::expand(path, std::process::id().cast_signed(), &self.program[0]);
        match LedgerFile::create_at(&path, options.as_bytes(), true) {
            Ok(ledger) => Some(ledger),
            Err(error) => {
                self.shared.say(Kind::Warning, format_args!("no accounts: {}: {error}", path.shown()));
                None
            }
        }
    }

    fn left_ledger(&self, options: &str, settings: &Settings) -> Option<LedgerFile> {
        if self.shared.quiet {
            return None;
        }
        let place = self.shared.place(settings, std::process::id().cast_signed(), &self.program[0]);
        if let Some(path) = place {
            self.note(format_args!("accounts: {}, named by MSGFILE", path.shown()));
            return None;
        }
        match LedgerFile::create(options.as_bytes()) {
            Ok(mut ledger) => {
                ledger.leave();
                let name = ledger.name();
                self.note(format_args!(
                    "accounts: underbar report {name} (kept for a day after the program has ended)"
                ));
                Some(ledger)
            }
            Err(error) => {
                self.shared.say(Kind::Warning, format_args!("no accounts: no place for the ledger: {error}"));
                None
            }
        }
    }

    /// A line that is neither error nor warning. A closed standard error is no failure.
    fn note(&self, words: std::fmt::Arguments<'_>) {
        let _ = door::to_error(door::Form::Text, &format!("underbar: {words}\n"));
    }

    fn ended(&self, settings: &Settings, finished: Finished, sites: Option<&Sites>) -> ExitCode {
        let Finished { ended, report, .. } = finished;
        let mut report = super::report::weighed(report);
        report.sites = sites.map(Sites::to_value);
        if let Some(path) = &self.openmetrics {
            let path = crate::shared::expand(path, ended.pid, &self.program[0]);
            if let Err(error) = crate::shared::write_openmetrics(&path, &report) {
                self.shared.say(Kind::Warning, format_args!("{}: {error}", path.shown()));
            }
        }
        if let Some(path) = &self.html {
            let path = crate::shared::expand(path, ended.pid, &self.program[0]);
            write_report(door::Form::Text, &html::of_report(&report, sites), Some(&path), self.shared.color);
        }
        let mut text = String::new();
        if settings.report_options() && !self.shared.json {
            let date = le::date(&report);
            // Writing to a string cannot fail.
            let _ = settings.write_options_report(file_name(&report.run.program), &date, &mut text);
            text.push('\n');
        }
        let form = self.report.unwrap_or(if settings.report_storage() { Form::Le } else { Form::Summary });
        let place = self.shared.place(settings, ended.pid, &self.program[0]);
        let colour = place.is_none() && self.shared.color.is_on();
        let columns = if place.is_none() { door::error_columns() } else { None };
        let kept = last::keep(report.to_json().as_bytes()).is_ok().then_some("");
        let pictures = columns.is_some() && door::has_blocks();
        let page = Page { kept, pictures, ..Page::of_terminal(columns, colour) };
        text += &super::report::rendered(&report, form, self.shared.json, page);
        if let Some(line) =
            sites.filter(|_| !self.shared.json).and_then(|sites| summary_line(sites, page.columns))
        {
            text += &line;
            text.push('\n');
        }
        let form =
            if colour && !self.shared.json { door::Form::Coloured } else { door::Form::of(self.shared.json) };
        self.shared.report(form, &text, place.as_deref());
        ended.leave()
    }

    /// The warnings of a run that has ended, quiet or not.
    fn say_what_is_missing(
        &self,
        library: &Result<Library, LibraryError>,
        layers: &Layers,
        no_accounts: Option<String>,
        kept: &Kept,
    ) {
        self.say_if_plain(library);
        for warning in layers.first_warnings() {
            self.shared.say(Kind::Warning, warning);
        }
        if let Some(reason) = no_accounts {
            self.shared.say(Kind::Warning, format_args!("no accounts were kept: {reason}"));
        }
        for warning in kept.warnings() {
            self.shared.say(Kind::Warning, warning);
        }
    }

    fn say_if_plain(&self, library: &Result<Library, LibraryError>) {
        if let Err(error) = library {
            self.shared.say(Kind::Warning, format_args!("the program runs plain: {error}"));
        }
    }

    fn failed(&self, failure: &Failure) -> ExitCode {
        self.shared.say(Kind::Error, failure);
        ExitCode::from(u8::try_from(failure.exit_code()).unwrap_or(OWN_FAILURE))
    }
}
