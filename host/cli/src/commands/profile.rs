//! `underbar profile -- PROGRAM ARGUMENTS`: run, and show which instructions took the time.
//!
//! ```text
//! sampling begun ─> program run as by `run`, samples read meanwhile ─> table | JSON, folded stacks ─> the command ends as it ended
//!      │ neither way: an error with its reason, and nothing is run
//! ```
//!
//! Invariant: as for `run`: nothing is written while the program runs, nothing is ever written to standard output, and the
//! exit status is the program's. If nothing can be sampled, the program is not run, since its profile was asked for.
//! Not here: the samplers (`sampling`).

use std::ffi::OsString;
use std::path::PathBuf;
use underbar_shown::Shown;

use clap::Args;
use underbar_launch::{Ended, Failure};
use underbar_profile::text::DEFAULT_TOP;
use underbar_profile::{DEFAULT_RATE, Facts, MOST_RATE, folded, profile, text};
use underbar_symbols::Symbols;

use crate::exit::ExitCode;
use crate::sampling::{Choice, Sampled, Sampling};
use crate::say::{Color, Kind, say};
use crate::shared::{expand, unwritable, write_report};
use crate::{OWN_FAILURE, off};
use underbar_runner::steps;
use underbar_shown::door::{self, Form};

/// The flags of `profile`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  underbar profile -- ./prog --its --own --flags
  underbar profile --top 50 -o profile.txt -- ./prog
  underbar profile --json -o profile.json -- ./prog
  underbar profile --sampler timer -- ./prog
  underbar profile --folded prog.folded -- ./prog    then: flamegraph.pl prog.folded

The kernel takes the samples by its clock of CPU time, in user mode only. Nothing of underbar runs in the program, which may
be linked statically. If the kernel refuses (perf_event_paranoid, a container's filter), a timer in each thread takes them,
at most once per kernel tick. The program then carries underbar's library, so it must be linked dynamically. A sample
directly after a locked instruction or a division is charged to that instruction, which the CPU waited for, and marked ~.

Exit status: the program's own; a signal that killed it kills underbar, too. 125 wrong usage, or no samples can be taken
here (the program is not run), 126 the program cannot be executed, 127 there is no such program.")]
pub struct Profile {
    /// Samples per second of CPU time of each thread, 1 to 20000
    #[arg(long, value_name = "HZ", default_value_t = DEFAULT_RATE, value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_RATE)))]
    rate: u32,

    /// The sampler
    #[arg(long, value_enum, value_name = "WHO", default_value_t = Choice::Auto)]
    sampler: Choice,

    /// Leave each sample at the instruction where it was taken
    #[arg(long)]
    raw: bool,

    /// Show N instructions; JSON always has all
    #[arg(long, value_name = "N", default_value_t = DEFAULT_TOP)]
    top: usize,

    /// Also write folded stacks to FILE: a line for each function, for flame graphs
    #[arg(long, value_name = "FILE")]
    folded: Option<PathBuf>,

    /// Write the profile to FILE instead of standard error; %p, %e and %h become process, program and host
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Print the profile as one JSON object
    #[arg(long)]
    json: bool,

    /// Print no profile; warnings and errors only
    #[arg(short, long)]
    quiet: bool,

    /// When messages are coloured
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = Color::Auto)]
    color: Color,

    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM")]
    pub program: Vec<OsString>,
}

impl Profile {
    /// Runs the program; returns only if it could not be run.
    pub fn run(self) -> ExitCode {
        let Some((program, arguments)) = self.program.split_first() else {
            return ExitCode::from(OWN_FAILURE);
        };
        if let Some(failure) = off::leave_alone(program, arguments, |words| self.say(Kind::Warning, words)) {
            return self.failed(&failure);
        }
        let places = [&self.output, &self.folded].map(Option::as_deref);
        if let Some(why) = unwritable(&places, program) {
            self.say(Kind::Error, format_args!("nothing was run: {why}"));
            return ExitCode::from(OWN_FAILURE);
        }
        let mut sampling = match Sampling::begin(self.sampler, self.rate, program) {
            Ok(sampling) => sampling,
            Err(neither) => {
                self.say(Kind::Error, format_args!("nothing was run: {neither}"));
                return ExitCode::from(OWN_FAILURE);
            }
        };
        match sampling.run(program, arguments) {
            Ok(ended) => {
                self.report(sampling.end(), &ended);
                ended.leave()
            }
            Err(failure) => self.failed(&failure),
        }
    }

    fn failed(&self, failure: &Failure) -> ExitCode {
        self.say(Kind::Error, failure);
        ExitCode::from(u8::try_from(failure.exit_code()).unwrap_or(OWN_FAILURE))
    }

    fn report(&self, sampled: Sampled, ended: &Ended) {
        let steps = steps(ended);
        let mut words = self.program.iter().map(|word| word.to_string_lossy().into_owned());
        let facts = Facts {
            program: words.next().unwrap_or_default(),
            arguments: words.collect(),
            rate_hz: u64::from(self.rate),
            sampler: sampled.by,
            notes: sampled.notes,
            raw: self.raw,
            elapsed_ns: steps.elapsed_ns,
            user_ns: steps.user_ns,
            system_ns: steps.system_ns,
        };
        let profile = profile(&sampled.tally, &Symbols::new(), &sampled.maps, facts);
        let shown = if self.json { profile.to_json() } else { text::render(&profile, self.top) };
        if self.output.is_some() || !self.quiet {
            let place = self.output.as_ref().map(|name| expand(name, ended.pid, &self.program[0]));
            write_report(Form::of(self.json), &shown, place.as_deref(), self.color);
        }
        if let Some(name) = &self.folded {
            let path = expand(name, ended.pid, &self.program[0]);
            if let Err(error) = door::to_file(&path, Form::Text, &folded::render(&profile)) {
                let place = path.shown();
                self.say(Kind::Warning, format_args!("the stacks could not be written to {place}: {error}"));
            }
        }
    }

    fn say(&self, kind: Kind, message: impl std::fmt::Display) {
        say(self.color, kind, message);
    }
}
