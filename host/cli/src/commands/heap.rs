//! `underbar heap -- PROGRAM ARGUMENTS`: run, and show which lines request the storage.
//!
//! ```text
//! SITES(ON) ─> program run as by `run`, samples read meanwhile ─> tables | JSON, page, folded stacks, pprof ─> the command ends as it ended
//! ```
//!
//! Invariant: as for `run`: nothing is written while the program runs, nothing is ever written to standard output, and the exit status is
//! the program's. If the program cannot carry the library, it is not run, since its call sites were asked for.
//! Not here: samples (`site_record`), and what they mean (`sites`).

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use underbar_launch::{Failure, LOOK_AGAIN};
use underbar_report::model::{End, Later};
use underbar_report::units::counted;
use underbar_report::{remedies, timing};
use underbar_runner::layers::Layers;
use underbar_runner::{Finished, Runner};
use underbar_shown::door::{self, Form};
use underbar_sites::flame::{Which, folded};
use underbar_sites::pprof;
use underbar_sites::report::Report;
use underbar_sites::text::{DEFAULT_TOP, Page, render};

use crate::exit::ExitCode;
use crate::say::Kind;
use crate::shared::{Shared, expand, unwritable};
use crate::site_record::SiteRecord;
use crate::{OWN_FAILURE, embedded, html, off};

/// The flags of `heap`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  underbar heap -- ./prog --its --own --flags
  underbar heap --top 30 -o sites.txt -- ./prog
  underbar heap --mean 64K -- ./prog             up to eight times as many samples
  underbar heap --json -o sites.json -- ./prog
  underbar heap --html sites.html -- ./prog      tables and flame graphs, for a browser
  underbar heap --pprof prog.pb -- ./prog        then: go tool pprof -http=: prog.pb
  underbar heap --folded prog.folded -- ./prog   then: flamegraph.pl prog.folded

One request in each 512 KiB on average is sampled by chance, with its callers. Sums are estimates with intervals of 95 %. Three tables show
the sites with most in use, those that requested most, and those whose storage was still in use at the end. A site is the innermost
function with a line in your own code that is no wrapper of malloc; compile with -g to see lines. docs/heap-sites.md says more.
Tables and JSON go to standard error, if -o names no FILE: standard output is the program's.

Exit status: the program's own; a signal that killed it kills underbar, too. 125 wrong usage, a FILE that cannot be written, or
a program that cannot carry underbar's library (it is not run), 126 the program cannot be executed, 127 there is no such program.")]
pub struct Heap {
    #[command(flatten)]
    pub shared: Shared,

    /// Mean distance between samples, in bytes requested
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub mean: Option<u64>,

    /// Show N sites in each table; JSON always has all
    #[arg(long, value_name = "N", default_value_t = DEFAULT_TOP)]
    pub top: usize,

    /// Show functions that only hand requests on to malloc (xmalloc, g_malloc) as sites, not their callers
    #[arg(long)]
    pub wrappers: bool,

    /// Also write folded stacks to FILE: a line for each stack, for flame graphs
    #[arg(long, value_name = "FILE")]
    pub folded: Option<PathBuf>,

    /// The bytes in folded stacks
    #[arg(long, value_enum, value_name = "BYTES", default_value_t = Bytes::MostInUse)]
    pub folded_bytes: Bytes,

    /// Also write tables and flame graphs as one page for a browser; %p, %e and %h become process, program and host
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// Also write a profile for pprof to FILE
    #[arg(long, value_name = "FILE")]
    pub pprof: Option<PathBuf>,

    /// Follow only the program itself, not the programs that its children execute
    #[arg(long)]
    pub no_follow: bool,

    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM")]
    pub program: Vec<OsString>,
}

/// Which bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Bytes {
    /// In use when most was in use
    MostInUse,
    /// Requested in all
    Requested,
    /// Still in use at the end
    AtEnd,
}

impl From<Bytes> for Which {
    fn from(bytes: Bytes) -> Which {
        match bytes {
            Bytes::MostInUse => Which::MostInUse,
            Bytes::Requested => Which::Requested,
            Bytes::AtEnd => Which::AtEnd,
        }
    }
}

fn size(text: &str) -> Result<u64, String> {
    underbar_report::units::parse_size(text)
        .filter(|bytes| (1024..=1 << 40).contains(bytes))
        .ok_or_else(|| "a size from 1K to 1024G, such as 64K".to_owned())
}

impl Heap {
    /// Runs the program; returns only if it could not be run.
    pub fn run(self) -> ExitCode {
        let Some((program, arguments)) = self.program.split_first() else {
            return ExitCode::from(OWN_FAILURE);
        };
        let tell = |words: &str| self.shared.say(Kind::Warning, words);
        if let Some(failure) = off::leave_alone(program, arguments, tell) {
            return self.failed(&failure);
        }
        let places = [&self.shared.output, &self.folded, &self.html, &self.pprof].map(Option::as_deref);
        if let Some(why) = unwritable(&places, program) {
            return self.nothing_was_run(format_args!("{why}"));
        }
        let library = match embedded::library(true) {
            Ok(library) => library,
            Err(error) => {
                return self
                    .nothing_was_run(format_args!("there is no place for underbar's library: {error}"));
            }
        };
        let layers = layers(&self.shared, program, self.mean);
        let runner = Runner {
            library: Some(&library),
            layers: &layers,
            follow: !self.no_follow,
            leaves: true,
            streams: [None; 3],
        };
        if let Some(reason) = runner.launch(program, arguments, None).not_carried() {
            let words = reason.texts().1;
            return self
                .nothing_was_run(format_args!("the program cannot carry underbar's library: {words}"));
        }
        let mut sites = None;
        let ran = runner.run_by(program, arguments, |launch, ledger| {
            let mut record = SiteRecord::begin();
            let tell = |expired: &_| self.shared.say(Kind::Warning, expired);
            let ended = runner.attend_looking(launch, ledger, tell, &mut || {
                ledger.map_or(LOOK_AGAIN, |ledger| record.look(ledger))
            })?;
            sites = Some(record.end(ledger, program, arguments, self.wrappers));
            Ok::<_, Failure>(ended)
        });
        match ran {
            Ok(Finished { ended, report: accounts, no_accounts, kept }) => {
                for warning in layers.first_warnings() {
                    self.shared.say(Kind::Warning, warning);
                }
                if let Some(reason) = no_accounts {
                    self.shared.say(Kind::Warning, format_args!("no accounts were kept: {reason}"));
                }
                for warning in kept.warnings() {
                    self.shared.say(Kind::Warning, warning);
                }
                // What reads the JSON from standard error learns it from the exit status.
                if let Some(signal @ End::Signal(_)) = accounts.run.end
                    && !self.shared.json
                {
                    let how = timing::end(Some(signal));
                    self.shared.say(Kind::Warning, format_args!("the program was {how}"));
                }
                if let Some(mut report) = sites {
                    report.heap.learn(&accounts);
                    report.facts.notes.extend(remedies::sentences(&accounts));
                    report.facts.notes.extend(accounts.run.later.as_ref().map(still_running));
                    self.write(&report, ended.pid);
                }
                ended.leave()
            }
            Err(failure) => self.failed(&failure),
        }
    }

    fn failed(&self, failure: &Failure) -> ExitCode {
        self.shared.say(Kind::Error, failure);
        ExitCode::from(u8::try_from(failure.exit_code()).unwrap_or(OWN_FAILURE))
    }

    fn nothing_was_run(&self, why: std::fmt::Arguments<'_>) -> ExitCode {
        self.shared.say(Kind::Error, format_args!("nothing was run: {why}"));
        ExitCode::from(OWN_FAILURE)
    }

    fn write(&self, report: &Report, pid: i32) {
        let program = &self.program[0];
        let place = |name: &Path| expand(name, pid, program);
        let output = self.shared.output.as_deref().map(place);
        let text = if self.shared.json {
            report.to_json()
        } else {
            let columns = if output.is_none() { door::error_columns() } else { None };
            let columns = columns.map_or(Page::default().columns, usize::from);
            render(report, Page { columns, has_utf8: output.is_some() || door::has_blocks() }, self.top)
        };
        self.shared.report(Form::of(self.shared.json), &text, output.as_deref());
        if let Some(path) = self.folded.as_deref().map(place) {
            let text = folded(report, self.folded_bytes.into());
            self.written("the stacks", &path, door::to_file(&path, Form::Text, &text));
        }
        if let Some(path) = self.html.as_deref().map(place) {
            let page = html::of_sites(report);
            self.written("the page", &path, door::to_file(&path, Form::Text, &page));
        }
        if let Some(path) = self.pprof.as_deref().map(place) {
            self.written("the profile", &path, door::bytes_to_file(&path, &pprof::render(report)));
        }
    }

    fn written(&self, what: &str, path: &Path, result: io::Result<()>) {
        if let Err(error) = result {
            let place = door::name_of(path);
            self.shared.say(Kind::Warning, format_args!("{what} could not be written to {place}: {error}"));
        }
    }
}

/// A sentence about processes that the program has left behind.
fn still_running(later: &Later) -> String {
    format!(
        "Still running: {}. What they had in use then counts as in use at the end; later requests are not sampled. Accounts: underbar report {}.",
        counted(later.running, "process", "processes"),
        later.name,
    )
}

/// The layers of a run that samples: what the user gives on the command line overrides it.
pub fn layers(shared: &Shared, program: &OsString, mean: Option<u64>) -> Layers {
    let text = mean.map_or_else(|| "SITES(ON)".to_owned(), |mean| format!("SITES(ON,{mean})"));
    shared.layers_with(program, Some(text))
}
