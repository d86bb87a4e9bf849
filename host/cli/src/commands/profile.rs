//! `underbar profile -- PROGRAM ARGUMENTS`: run, and say at which instructions the time went.
//!
//! ```text
//! sampling begun ─> program run as by `run`, samples read meanwhile ─> table | JSON, folded stacks ─> we end as it ended
//!      │ neither way: said with its reason, and nothing is run
//! ```
//!
//! Invariant: as for `run`: nothing is written while the program runs, nothing ever to standard output, and the exit
//! status is the program's. Where nothing can be sampled the program is not run, since its profile was asked for.
//! Not here: who samples (`sampling`).

use std::ffi::OsString;
use std::path::PathBuf;
use underbar_shown::Shown;

use clap::Args;
use underbar_launch::Ended;
use underbar_profile::text::DEFAULT_TOP;
use underbar_profile::{DEFAULT_RATE, Facts, MOST_RATE, folded, profile, text};
use underbar_symbols::Symbols;

use crate::OWN_FAILURE;
use crate::exit::ExitCode;
use crate::sampling::{Choice, Sampled, Sampling};
use crate::say::{Color, Kind, say};
use crate::shared::{expand, write_report};
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

The kernel samples on its clock of CPU time, in user mode only; nothing runs in the program, which may also be a static
one. Where that is forbidden (perf_event_paranoid, a container's filter), a timer in each thread samples, as often as the
kernel's tick allows: then the program carries underbar's library, so it must be dynamically linked. A sample that was taken
right behind a locked instruction or a division, for which it waited, is charged to that one and marked ~.

Exit status: the program's own; a signal that killed it kills underbar, too. 125 wrong usage, or samples cannot be taken
here (the program is not run then), 126 the program cannot be executed, 127 there is no such program.")]
pub struct Profile {
    /// Samples in a second of CPU time of each thread, 1 to 20000
    #[arg(long, value_name = "HZ", default_value_t = DEFAULT_RATE, value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_RATE)))]
    rate: u32,

    /// Who samples
    #[arg(long, value_enum, value_name = "WHO", default_value_t = Choice::Auto)]
    sampler: Choice,

    /// Leave samples at the instruction where they were taken
    #[arg(long)]
    raw: bool,

    /// Show so many instructions; in JSON there are always all
    #[arg(long, value_name = "N", default_value_t = DEFAULT_TOP)]
    top: usize,

    /// Write folded stacks to FILE, too: a line for each function, for flame graphs
    #[arg(long, value_name = "FILE")]
    folded: Option<PathBuf>,

    /// Write the profile to FILE instead of standard error; %p, %e and %h are process, program and host
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
    /// Runs the program; comes back only where it could not be run.
    pub fn run(self) -> ExitCode {
        let Some((program, arguments)) = self.program.split_first() else {
            return ExitCode::from(OWN_FAILURE);
        };
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
            Err(failure) => {
                self.say(Kind::Error, &failure);
                ExitCode::from(u8::try_from(failure.exit_code()).unwrap_or(OWN_FAILURE))
            }
        }
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
