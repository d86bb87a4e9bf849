//! `underbar compare --opts A --opts B -- PROGRAM`: which options, or which allocator, are better, and by how much.
//!
//! ```text
//! arms A, B, ... ─> warm-up ─> rounds, all arms in each ─> B against A, C against A, ... ─> standard output
//! ```
//!
//! Invariant: A is the reference. `plain` runs without the library; `default`, or an empty text, runs without further options.
//! Not here: suggestions (`tune`), and whether to keep a winner: without a search, nothing has to be confirmed by new runs.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use underbar_shown::{Shown, line};

use clap::Args;
use serde_json::json;
use underbar_launch::Session;
use underbar_options::WhereSet;
use underbar_report::units::counted;
use underbar_verdict::compare::{Comparison, Question};
use underbar_verdict::plan::{Arm, Plan};
use underbar_verdict::render;
use underbar_verdict::sample::Runs;

use crate::exit::ExitCode;
use crate::html;
use crate::printing::NO_ANSWER;
use crate::say::Kind;
use crate::shared::{Shared, write_report};
use crate::trial::arms::{Arms, Beside, Given, Kind as ArmKind};
use crate::trial::flags::Flags;
use crate::trial::progress::Progress;
use crate::trial::rounds::{Treatment, seed};
use crate::trial::single_run::{Task, Way};
use crate::trial::{Stop, say};
use crate::{embedded, off};
use underbar_runner::layers::Layers;
use underbar_shown::door::{self, Form};

/// The arms, in the order of `--opts`.
const ARMS: [Arm; 8] = [
    Arm::A,
    Arm::B,
    Arm::named("C"),
    Arm::named("D"),
    Arm::named("E"),
    Arm::named("F"),
    Arm::named("G"),
    Arm::named("H"),
];

/// Name and version of the form that the result has in JSON.
const SCHEMA: &str = "underbar.compare/1";

/// The flags of `compare`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  underbar compare --opts plain --opts default -- ./prog
  underbar compare --opts 'HEAP(32K,32K,,FREE)' --opts 'HEAP(64M,16M,,KEEP)' --primary rss -- ./prog
  underbar compare --runs 30 --json -o result.json --opts plain --opts '' -- perl script.pl
  underbar compare --opts default --preload libjemalloc.so.2 --env GLIBC_TUNABLES=glibc.malloc.arena_max=1 -- ./prog
  underbar compare --opts plain --command './prog.new input' -- ./prog input

Each of --opts, --env, --preload and --command is an arm; the first one is the reference. For several variables in one arm,
--command has them before the program. Every run reads the same standard input from its start, or nothing if that is a
terminal. Ctrl-C stops early and reports the results so far.

Exit status: 0 there is a result, even if it has too few pairs; 2 there is no result (usage, files, a program that fails);
125 underbar itself fails, 126 the program cannot be executed, 127 there is no such program; interrupted: 128 plus the
signal's number.")]
pub struct Compare {
    #[command(flatten)]
    arms: Arms,

    #[command(flatten)]
    flags: Flags,

    /// Write the result to FILE instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Also write the result as one page for a browser
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

/// How the program of an arm runs.
enum Owned {
    Plain,
    Under(Layers),
    Beside(Beside),
}

impl Owned {
    fn way(&self) -> Way<'_> {
        match self {
            Self::Plain => Way::Plain,
            Self::Under(layers) => Way::Under(layers),
            Self::Beside(beside) => Way::Beside(beside),
        }
    }
}

impl Compare {
    /// Compares, and prints the result.
    pub fn run(self) -> ExitCode {
        let shared = self.flags.shared(None);
        if !(2..=ARMS.len()).contains(&self.arms.0.len()) {
            let many = format!(
                "between 2 and {} arms can be compared: repeat --opts, --env, --preload or --command",
                ARMS.len()
            );
            shared.say(Kind::Error, many);
            return ExitCode::from(NO_ANSWER);
        }
        match self.compare(&shared) {
            Ok(code) => code,
            Err(stop) => {
                shared.say(Kind::Error, &stop);
                stop.exit_code()
            }
        }
    }

    fn compare(&self, shared: &Shared) -> Result<ExitCode, Stop> {
        let Some((program, arguments)) = self.program.split_first() else {
            return Ok(ExitCode::from(NO_ANSWER));
        };
        if let Some(reason) = off::reason(program) {
            return Err(Stop::Off(reason));
        }
        let owned: Vec<Owned> =
            self.arms.0.iter().map(|given| self.owned(given, shared)).collect::<Result<_, _>>()?;
        if let Some((one, other)) = self.equal() {
            let words = format!("{one} and {other} are the same, so any difference is chance");
            shared.say(Kind::Warning, words);
        }
        let library = embedded::library(true).map_err(|error| Stop::NoLibrary(error.to_string()))?;
        for path in self.output.iter().chain(&self.html) {
            door::can_be_written(path).map_err(|error| Stop::NoFile(format!("{}: {error}", path.shown())))?;
        }
        let input = self.flags.input()?;
        let session = Session::begin()?;
        let task = Task::new((program, arguments), &self.flags, input, &library, &session);
        let mut progress = Progress::new(self.flags.quiet);
        let arms: Vec<Treatment<'_>> = ARMS.into_iter().zip(owned.iter().map(Owned::way)).collect();

        let (begin, count) = (Instant::now(), arms.len());
        progress.say(&match (self.flags.runs, self.flags.time) {
            (None, Some(time)) => {
                format!(
                    "{count} runs to warm up, then as many rounds of {count} as fit into {}",
                    say::long(time)
                )
            }
            (runs, _) => {
                format!("at most {count} + {count} x {} runs", runs.unwrap_or(15))
            }
        });
        self.flags.warn_of_few_runs();
        let round = task.warm_up(&arms, &mut progress)?;
        let rounds = task.rounds(begin.elapsed(), round, 1)?;
        let names: Vec<Arm> = arms.iter().map(|(arm, _)| *arm).collect();
        let plan = Plan::new(&names, rounds, seed(self.flags.seed))
            .map_err(|error| Stop::NoTime(error.to_string()))?;
        let expected = round * u32::try_from(rounds).unwrap_or(u32::MAX);
        progress.say(&format!(
            "{} to compare, about {}",
            counted(plan.runs() as u64, "run", "runs"),
            say::long(expected.max(Duration::from_millis(1)))
        ));
        let (runs, stop) = task.book(plan, &arms, "comparing", &mut progress);
        drop(progress);

        let question = Question::about(self.flags.primary.into());
        let comparisons: Vec<Comparison> =
            names[1..].iter().map(|&arm| Comparison::of(&runs, arm, Arm::A, &question)).collect();
        let text = if self.flags.json {
            self.json(&comparisons, &question, &runs, stop.is_some())
        } else {
            self.text(&owned, &comparisons, &runs)
        };
        if let Err(error) = self.write(&text) {
            let file = self.output.as_ref().map_or(String::new(), |path| format!("{}: ", path.shown()));
            shared.say(Kind::Error, format_args!("{file}the result could not be written: {error}"));
            // It may have taken hours, so it goes to standard error instead.
            if self.output.is_some() {
                let _ = door::to_error(Form::of(self.flags.json), &text);
            }
            return Ok(ExitCode::from(NO_ANSWER));
        }
        if let Some(path) = &self.html {
            let page = self.page(&owned, &comparisons, &runs);
            if !write_report(Form::Text, &page, Some(path), shared.color) {
                return Ok(ExitCode::from(NO_ANSWER));
            }
        }
        stop.map_or(Ok(ExitCode::SUCCESS), Err)
    }

    fn page(&self, owned: &[Owned], comparisons: &[Comparison], runs: &Runs) -> String {
        let arms = html::Arms {
            title: "Each arm against A".to_owned(),
            words: comparisons
                .iter()
                .map(|comparison| format!("{}: {comparison}", comparison.candidate))
                .collect(),
            arms: self.named(owned).collect(),
            comparisons: comparisons.iter().collect(),
            runs: Some(runs),
        };
        html::of_comparisons(&self.program, (None, &[]), None, vec![arms])
    }

    /// An arm; options are over those that all arms have.
    fn owned(&self, arm: &Given, shared: &Shared) -> Result<Owned, Stop> {
        if arm.kind != ArmKind::Opts {
            return Beside::of(arm).map(Owned::Beside);
        }
        let text = arm.text.as_str();
        let given = match text.trim() {
            "plain" => return Ok(Owned::Plain),
            "default" => None,
            text => Some(text.to_owned()).filter(|text| !text.is_empty()),
        };
        let is_given = given.is_some();
        let layers = self.flags.shared(given).layers(&self.program[0]);
        for warning in layers.first_warnings() {
            shared.say(Kind::Warning, warning);
        }
        if is_given && !layers.has_options_of(WhereSet::CommandLine) {
            return Err(Stop::NoOptions(format!("--opts {:.60}", line(text))));
        }
        Ok(Owned::Under(layers))
    }

    /// The first two arms that are the same.
    fn equal(&self) -> Option<(Arm, Arm)> {
        let arms = || ARMS.into_iter().zip(self.arms.0.iter().map(|arm| (arm.kind, arm.text.trim())));
        arms().enumerate().find_map(|(at, (arm, text))| {
            let (first, _) = arms().take(at).find(|(_, before)| *before == text)?;
            Some((first, arm))
        })
    }

    fn named(&self, owned: &[Owned]) -> impl Iterator<Item = (Arm, String)> {
        let words = self.arms.0.iter().zip(owned).map(|(given, owned)| match (given.text.trim(), owned) {
            (_, Owned::Plain) => "plain, without underbar".to_owned(),
            ("" | "default", Owned::Under(layers)) => layers.words_for_none_given(),
            (text, Owned::Under(_)) => text.to_owned(),
            (text, Owned::Beside(_)) => format!("plain, with --{} {text}", given.kind.flag()),
        });
        ARMS.into_iter().zip(words)
    }

    fn text(&self, owned: &[Owned], comparisons: &[Comparison], runs: &Runs) -> String {
        let mut text = String::new();
        for (arm, options) in self.named(owned) {
            text += &format!("{:<11}{}\n", arm.name(), options.replace('\n', " "));
        }
        text.push('\n');
        let headlines: Vec<String> =
            comparisons.iter().map(|comparison| format!("{}: {comparison}", comparison.candidate)).collect();
        let comparisons: Vec<&Comparison> = comparisons.iter().collect();
        // Columns for more comparisons are wider than most terminals.
        let shown = if comparisons.len() > 3 { render::table } else { render::text };
        text + &shown(&headlines.join("\n"), &comparisons, runs)
    }

    fn json(
        &self,
        comparisons: &[Comparison],
        question: &Question,
        runs: &Runs,
        interrupted: bool,
    ) -> String {
        let words: Vec<_> = self.program.iter().map(|word| word.to_string_lossy()).collect();
        let arms: Vec<_> = ARMS
            .iter()
            .zip(&self.arms.0)
            .map(|(arm, given)| json!({"arm": arm, (given.kind.flag()): given.text}))
            .collect();
        let all = json!({
            "schema": SCHEMA,
            "command": words,
            "arms": arms,
            "comparisons": comparisons,
            "question": question,
            "interrupted": interrupted,
            "runs": runs,
        });
        format!("{all}\n")
    }

    fn write(&self, text: &str) -> std::io::Result<()> {
        let form = Form::of(self.flags.json);
        match &self.output {
            Some(path) => door::to_file(path, form, text),
            None => door::to_output(form, text),
        }
    }
}
