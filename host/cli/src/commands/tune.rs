//! `underbar tune -- PROGRAM`: measure, suggest, apply, run again in rounds, verdict.
//!
//! ```text
//! two runs under the options given ─> report ─> suggestions ─> sets on trial (and those of --try)
//!   none: plain against default
//!   each: plain, default, tuned in rounds ─> the best set that was kept, on fresh runs ─> confirmed: written
//!   --live: instead, one lock's policies of waiting by turns in the running program ─> kept: written
//! ```
//!
//! Invariant: only a set that was kept twice, or a policy that was kept live, is written; everything that was tried and not
//! kept is listed.
//! Standard output holds the result; progress and messages go to standard error.
//! Not here: how a run is made (`trial`), the suggestions (`advise`), the statistics (`verdict`).

mod live;
mod others;
mod words;

use std::cell::Cell;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use underbar_shown::{Shown, line};

use clap::Args;
use serde_json::Value;
use underbar_advise::{Advice, Area, Kind as Advised, advise};
use underbar_launch::Session;
use underbar_options::WhereSet;
use underbar_report::Report;
use underbar_report::units::{self, counted};
use underbar_verdict::compare::Outcome::Better;
use underbar_verdict::compare::{Comparison, Question};
use underbar_verdict::confirm::{Confirmation, ConfirmedVerdict};
use underbar_verdict::plan::{Arm, DEFAULT_ROUNDS, MAXIMUM_ROUNDS, Plan};
use underbar_verdict::render::CompareVerdict;
use underbar_verdict::sample::{Measure, Sample};
use underbar_verdict::verdict::{TuneOutcome, TuneVerdict};

use super::report::weighed;
use super::run::interval;
use crate::exit::ExitCode;
use crate::printing::NO_ANSWER;
use crate::say::Kind;
use crate::shared::{Shared, write_report};
use crate::trial::candidate::{Candidate, candidates, frugal, lines, may_be_written, of_both};
use crate::trial::flags::{Flags, Primary, duration};
use crate::trial::lock::Wanted;
use crate::trial::progress::Progress;
use crate::trial::rounds::{Treatment, seed};
use crate::trial::single_run::{Once, Task, Way};
use crate::trial::trial_outcome::Tried;
use crate::trial::{Stop, UNDER_UNDERBAR_ONLY, say};
use crate::{embedded, off};
use others::Others;
use underbar_runner::layers::Layers;
use underbar_shown::door::{self, Form};

/// Name and version of the form that the result has in JSON.
const SCHEMA: &str = "underbar.tune/1";

/// The default name of the options file.
const FILE: &str = "underbar.opts";

/// The flags of `tune`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  underbar tune -- ./prog --its --own --flags
  underbar tune --time 5m --check out.o -- g++ -c file.cpp -o out.o
  underbar tune --try 'HEAP(64M,16M,,KEEP)' --setup 'rm -f t.db' -- sqlite3 t.db < inserts.sql
  underbar tune --ready 'redis-cli ping' --load 'redis-benchmark -q -n 20000' -- redis-server
  underbar tune --live --epochs 30 -- ./prog with threads
  underbar tune --allocators -- ./prog

Every run reads the same standard input from its start, or nothing if that is a terminal. Its standard output is captured
and compared; with --load, that of COMMAND is. Ctrl-C stops early and reports the results so far.

Exit status: 0 rounds were made, with a verdict or with too few pairs; 1 with --require-gain, no set was kept;
2 no rounds were made (usage, files, a program that fails); 125 underbar itself fails, 126 the program cannot be executed,
127 there is no such program; interrupted: 128 plus the signal's number.")]
pub struct Tune {
    /// Run-time options for every arm except plain, as in HEAP(64M,16M,,KEEP)
    #[arg(long, value_name = "TEXT")]
    opts: Option<String>,

    /// Try this set of options in addition to the suggestions; may be given several times
    #[arg(long = "try", value_name = "TEXT")]
    given: Vec<String>,

    /// Also try suggestions that could break the program, such as smaller thread stacks
    #[arg(long)]
    risky: bool,

    /// Try ways of waiting for one lock by turns in the running program, instead of options in separate runs
    #[arg(long, conflicts_with_all = ["given", "runs"])]
    live: bool,

    /// The lock to try, by its name in the lock report [default: the mutex that threads waited for longest]
    #[arg(long, value_name = "NAME", requires = "live")]
    lock: Option<String>,

    /// Epochs of each policy with --live
    #[arg(long, value_name = "N", requires = "live", default_value_t = DEFAULT_ROUNDS as u64,
          value_parser = clap::value_parser!(u64).range(1..=MAXIMUM_ROUNDS as u64))]
    epochs: u64,

    /// Length of an epoch with --live, such as 500ms [default: 20ms to 250ms, depending on how long the program runs]
    #[arg(long, value_name = "DURATION", value_parser = duration, requires = "live")]
    epoch: Option<Duration>,

    /// Afterwards also compare with the other allocators of this machine and with settings of glibc's
    #[arg(long, conflicts_with = "live")]
    allocators: bool,

    /// End with exit status 1 unless a set of options was kept and confirmed
    #[arg(long)]
    require_gain: bool,

    #[command(flatten)]
    flags: Flags,

    /// The options file to write for a set that was kept
    #[arg(short, long, value_name = "FILE", default_value = FILE)]
    output: PathBuf,

    /// Also write the result as one page for a browser
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// Also show in the page and the JSON how the heap and resident memory grew: a look in each interval of the first runs, and of one more
    /// with the set that was kept
    #[arg(long, value_name = "DURATION", value_parser = interval, conflicts_with = "live")]
    every: Option<Duration>,

    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM")]
    program: Vec<OsString>,

    /// Could the result not be written?
    #[arg(skip)]
    unprinted: Cell<bool>,
}

/// The results so far.
#[derive(Default)]
struct Outcome {
    suggestions: Vec<Advice>,
    measured: Option<Value>,
    /// The report of a run with the set that was kept, under `--every`.
    tuned: Option<Value>,
    repeatable: bool,
    default_plain: Option<CompareVerdict>,
    tried: Vec<(Candidate, TuneVerdict)>,
    confirmed: Option<ConfirmedVerdict>,
    live: Option<Tried>,
    /// Other allocators.
    others: Option<Others>,
    /// The place of the set that was confirmed, among those tried.
    best: Option<usize>,
    /// Was a set kept, and confirmed?
    kept: bool,
    /// Was the file written?
    written: bool,
    /// Could it not be?
    unwritten: bool,
    /// Why there were no more runs.
    stop: Option<Stop>,
}

/// What all comparisons have in common.
#[derive(Clone, Copy)]
struct Ground<'a> {
    task: &'a Task<'a>,
    default: &'a Layers,
    /// When `tune` began.
    begin: Instant,
    /// The time of a run, with its set-up and clean-up.
    each: Duration,
}

impl Outcome {
    /// The set that was confirmed.
    fn best(&self) -> Option<&Candidate> {
        self.best.and_then(|at| self.tried.get(at)).map(|(set, _)| set)
    }
}

impl Tune {
    /// Tunes, and prints the result.
    pub fn run(self) -> ExitCode {
        let shared = self.flags.shared(self.opts.clone());
        let page = self.html.as_deref().map_or(Ok(()), |path| {
            door::can_be_written(path).map_err(|error| format!("{}: {error}", path.shown()))
        });
        if let Err(reason) = may_be_written(&self.output).and(page) {
            shared.say(Kind::Error, reason);
            return ExitCode::from(NO_ANSWER);
        }
        let mut outcome = Outcome::default();
        if let Err(stop) = self.tune(&shared, &mut outcome) {
            outcome.stop = Some(stop);
        }
        if self.flags.json && outcome.measured.is_some() {
            self.print(Form::Json, &format!("{}\n", self.json(&outcome)));
        }
        if let (Some(path), true) = (&self.html, outcome.measured.is_some()) {
            let is_written = write_report(Form::Text, &self.page(&outcome), Some(path), self.flags.color);
            outcome.unwritten |= !is_written;
        }
        let code = match &outcome.stop {
            Some(stop) => {
                let is_early =
                    outcome.tried.is_empty() && outcome.default_plain.is_none() && outcome.live.is_none();
                shared.say(Kind::Error, stop.to_be_said(is_early));
                stop.exit_code()
            }
            None if self.require_gain && !outcome.kept => ExitCode::FAILURE,
            None => ExitCode::SUCCESS,
        };
        if outcome.unwritten || self.unprinted.get() { ExitCode::from(NO_ANSWER) } else { code }
    }

    fn tune(&self, shared: &Shared, outcome: &mut Outcome) -> Result<(), Stop> {
        let Some((program, arguments)) = self.program.split_first() else { return Ok(()) };
        if let Some(reason) = off::reason(program) {
            return Err(Stop::Off(reason));
        }
        let library = embedded::library(true).map_err(|error| Stop::NoLibrary(error.to_string()))?;
        let default = shared.layers(program);
        for warning in default.first_warnings() {
            shared.say(Kind::Warning, warning);
        }
        for text in &self.given {
            self.must_set_something(text, shared)?;
        }
        let input = self.flags.input()?;
        let session = Session::begin()?;
        let mut task = Task::new((program, arguments), &self.flags, input, &library, &session);
        task.every = self.every;
        let mut progress = Progress::new(self.flags.quiet);
        let begin = Instant::now();
        progress.say(&self.how_often());
        self.flags.warn_of_few_runs();

        let measured = self.measure(&task, &default, &mut progress, outcome)?;
        let (measured, first, report) = measured;
        outcome.suggestions = of_both(advise(&first), advise(&report));
        outcome.measured = serde_json::to_value(&report).ok();
        progress.clear();
        self.say(&self.measured_lines(&default, &measured.sample, outcome.repeatable));
        if self.live {
            // Nothing else is going to be tried.
            let of_locks = outcome.suggestions.iter().filter(|said| said.area == Some(Area::Lock));
            let of_locks: Vec<Advice> = of_locks.cloned().collect();
            self.say(&lines(&of_locks, self.risky));
            let sample = measured.sample;
            drop(measured);
            return self.try_live(&task, &default, (&report, &sample), &mut progress, outcome);
        }
        self.say(&lines(&outcome.suggestions, self.risky));
        let of_locks = |said: &Advice| {
            said.area == Some(Area::Lock) && matches!(said.kind, Advised::Change | Advised::Lower)
        };
        if outcome.suggestions.iter().any(of_locks) && Wanted::of(&report, None).is_ok() {
            let about = "--live tries ways of waiting for one lock while the program runs";
            self.say(&format!("{:<11}underbar tune {about}\n", "locks"));
        }
        let primary: Measure = self.flags.primary.into();
        let mut sets = candidates(&report, &outcome.suggestions, self.risky, &self.given, primary);
        let each = measured.all_of_it;
        let gives_back = |set: &Candidate| set.options.to_ascii_uppercase().contains("FREE");
        if !sets.iter().any(gives_back) {
            sets.extend(self.for_less_memory(&task, &measured.sample, &report, &mut progress)?);
        }
        drop((measured, report));
        let ground = Ground { task: &task, default: &default, begin, each };
        if sets.is_empty() {
            self.without(&ground, &mut progress, outcome)?;
        } else {
            self.with(&ground, sets, &mut progress, outcome)?;
        }
        if self.allocators && outcome.stop.is_none() {
            self.against_others(&ground, &mut progress, outcome)?;
        }
        Ok(())
    }

    /// The set for less memory, if memory is the primary measure or default takes clearly more of it than plain.
    fn for_less_memory(
        &self,
        task: &Task<'_>,
        default: &Sample,
        report: &Report,
        progress: &mut Progress,
    ) -> Result<Option<Candidate>, Stop> {
        let Some(set) = frugal(report) else { return Ok(None) };
        progress.phase("measuring plain, for its memory", 1);
        progress.run(Arm::PLAIN.name());
        let plain = task.once(Way::Plain)?.sample.peak_rss_bytes;
        progress.ran();
        progress.clear();
        let peak = default.peak_rss_bytes;
        let is_asked_for = self.flags.primary == Primary::Rss;
        // A smaller excess is the library itself, which no option changes.
        let is_more = peak.saturating_sub(plain) >= (plain / 20).max(1 << 20);
        if !is_asked_for && !is_more {
            return Ok(None);
        }
        let reason =
            if is_more { "under default the peak is" } else { "--primary rss; under default the peak is" };
        let (peak, plain) = (units::bytes(peak), units::bytes(plain));
        self.say(&format!("{:<11}{} to try: {reason} {peak}, plain {plain}\n", "memory", set.options));
        Ok(Some(set))
    }

    fn must_set_something(&self, text: &str, shared: &Shared) -> Result<(), Stop> {
        let mut layers = Layers::new(self.flags.opts_base.into());
        layers.add(WhereSet::CommandLine, "--try".to_owned(), text.to_owned());
        for warning in layers.first_warnings() {
            shared.say(Kind::Warning, warning);
        }
        let has_options = layers.has_options_of(WhereSet::CommandLine);
        if has_options { Ok(()) } else { Err(Stop::NoOptions(format!("--try {:.60}", line(text)))) }
    }

    /// The options of the first run: those of default, and switches are counted.
    fn counting(&self, task: &Task<'_>) -> Layers {
        let mut layers = self.flags.shared(self.opts.clone()).layers(task.program);
        layers.add(WhereSet::CommandLine, "tune".to_owned(), "SWITCHES(ON)".to_owned());
        layers
    }

    /// Two runs under the options of every arm except plain, of which the first one counts switches; the second one's figures and
    /// accounts.
    fn measure(
        &self,
        task: &Task<'_>,
        default: &Layers,
        progress: &mut Progress,
        outcome: &mut Outcome,
    ) -> Result<(Once, Report, Report), Stop> {
        progress.phase("measuring", 2);
        progress.run(Arm::DEFAULT.name());
        let counting = self.counting(task);
        let mut first = task.with_report(Way::Under(&counting))?;
        progress.ran();
        first.must_have_had_the_library()?;
        if first.fault.is_some() {
            // The program is at fault if it also fails without underbar.
            task.once(Way::Plain)?.must_have_ended_well(Arm::PLAIN.name())?;
            first.must_have_ended_well(UNDER_UNDERBAR_ONLY)?;
        }
        progress.run(Arm::DEFAULT.name());
        let mut second = task.with_report(Way::Under(default))?;
        progress.ran();
        second.must_have_ended_well(Arm::DEFAULT.name())?;
        outcome.repeatable = first.sample.output == second.sample.output;
        match (first.report.take().map(weighed), second.report.take()) {
            (Some(before), Some(report)) => Ok((second, before, report)),
            _ => Err(Stop::NoLibrary("no accounts were kept".to_owned())),
        }
    }

    fn could_not_write(&self, error: &std::io::Error, outcome: &mut Outcome) {
        outcome.unwritten = true;
        let shared = self.flags.shared(None);
        shared.say(Kind::Error, format_args!("{}: {error}", self.output.shown()));
    }

    /// Nothing to try: compares default with plain.
    fn without(
        &self,
        ground: &Ground<'_>,
        progress: &mut Progress,
        outcome: &mut Outcome,
    ) -> Result<(), Stop> {
        let Ground { task, default, begin, each } = *ground;
        let arms = [(Arm::PLAIN, Way::Plain), (Arm::DEFAULT, Way::Under(default))];
        let rounds = task.rounds(begin.elapsed() + each * 2, each * 2, 1)?;
        let plan = self.plan(&arms, rounds, each, (1, 1), progress)?;
        task.warm_up(&arms, progress)?;
        let (runs, stop) = task.book(plan, &arms, "comparing plain and default", progress);
        outcome.stop = stop;
        let question = Question::about(self.flags.primary.into());
        let verdict = CompareVerdict::of(runs, Arm::DEFAULT, Arm::PLAIN, question);
        let written = format!("{:<11}nothing: there was no set to try\n", "written");
        let alone = self.default_alone(&verdict.comparison).unwrap_or_default();
        self.say(&format!("\n{}\n{written}{alone}", verdict.text()));
        outcome.default_plain = Some(verdict);
        Ok(())
    }

    /// Each set against plain and default, and the best of those kept once more.
    fn with(
        &self,
        ground: &Ground<'_>,
        sets: Vec<Candidate>,
        progress: &mut Progress,
        outcome: &mut Outcome,
    ) -> Result<(), Stop> {
        let Ground { task, default, begin, each } = *ground;
        let phases = sets.len() + 1;
        // Each set is warmed up by a round of its own.
        let warm = each * 3 * u32::try_from(sets.len()).unwrap_or(1);
        let rounds = task.rounds(begin.elapsed() + warm, each * 3, phases)?;
        for (at, set) in sets.into_iter().enumerate() {
            let tuned = self.tuned(task, &set);
            let arms = arms(default, &tuned);
            // Each set that is left is warmed up; the confirmation is not.
            let left = phases - at;
            let plan = self.plan(&arms, rounds, each, (left, left - 1), progress)?;
            task.warm_up(&arms, progress)?;
            let phase = format!("comparing plain, default and tuned ({})", set.name);
            let (runs, stop) = task.book(plan, &arms, &phase, progress);
            let verdict = TuneVerdict::of(runs, Question::about(set.primary));
            self.say(&format!("\n{:<11}{}: {}\n{}", "tried", set.name, set.line(), verdict.text()));
            outcome.tried.push((set, verdict));
            if stop.is_some() {
                outcome.stop = stop;
                break;
            }
        }
        let ratio =
            |verdict: &TuneVerdict| verdict.tuned_plain.primary.finding.interval().map_or(1.0, |i| i.ratio);
        // A set that gains by the primary measure comes before one that saves memory.
        let rank = |(_, (set, verdict)): &(usize, &(Candidate, TuneVerdict))| {
            (set.primary != self.flags.primary.into(), ratio(verdict))
        };
        let best = outcome
            .tried
            .iter()
            .enumerate()
            .filter(|(_, (_, verdict))| self.is_kept(verdict))
            .min_by(|a, b| {
                let ((a_other, a), (b_other, b)) = (rank(a), rank(b));
                a_other.cmp(&b_other).then(a.total_cmp(&b))
            })
            .map(|(at, _)| at);
        if let (Some(best), None) = (best, &outcome.stop) {
            self.confirm(ground, best, progress, outcome)?;
            outcome.best = Some(best);
        }
        progress.clear();
        self.conclude(best, default, outcome);
        Ok(())
    }

    fn confirm(
        &self,
        ground: &Ground<'_>,
        best: usize,
        progress: &mut Progress,
        outcome: &mut Outcome,
    ) -> Result<(), Stop> {
        let Ground { task, default, .. } = *ground;
        let Some((set, first)) = outcome.tried.get(best) else { return Ok(()) };
        let tuned = self.tuned(task, set);
        let arms = arms(default, &tuned);
        let (runs, stop) = task.book(first.runs.plan().fresh(), &arms, "confirming on fresh runs", progress);
        outcome.stop = stop;
        // The set was kept and the plan has another seed, so this is never refused.
        if let Ok(confirmed) = ConfirmedVerdict::of(first.clone(), runs) {
            self.say(&format!("\n{}", confirmed.text()));
            outcome.kept =
                confirmed.confirmation == Confirmation::Confirmed && self.is_kept(&confirmed.fresh);
            outcome.confirmed = Some(confirmed);
        }
        if self.every.is_some() && outcome.kept && outcome.stop.is_none() {
            progress.phase("looking at the tuned run", 1);
            progress.run(Arm::TUNED.name());
            match task.with_report(Way::Under(&tuned)) {
                Ok(once) => {
                    progress.ran();
                    outcome.tuned = once.report.and_then(|report| serde_json::to_value(report).ok());
                }
                // The verdict holds all the same.
                Err(stop) => outcome.stop = Some(stop),
            }
        }
        Ok(())
    }

    /// A set that saves memory must not be worse by the primary measure.
    fn is_kept(&self, verdict: &TuneVerdict) -> bool {
        verdict.outcome == TuneOutcome::Kept && !self.costs_what_was_asked_for(verdict)
    }

    fn costs_what_was_asked_for(&self, verdict: &TuneVerdict) -> bool {
        let asked: Measure = self.flags.primary.into();
        verdict.tuned_plain.costs().any(|(measure, _)| measure == asked)
    }

    /// Lists the outcome of each set, and writes the file.
    fn conclude(&self, best: Option<usize>, default: &Layers, outcome: &mut Outcome) {
        let mut text = "\n".to_owned();
        for (at, (set, verdict)) in outcome.tried.iter().enumerate() {
            let is_best = Some(at) == best;
            let became = match verdict.outcome {
                TuneOutcome::Kept if is_best && outcome.kept => "kept",
                TuneOutcome::Kept if self.costs_what_was_asked_for(verdict) => {
                    "tried, saves memory but is worse by the primary measure:"
                }
                TuneOutcome::Kept if is_best && outcome.stop.is_some() => {
                    "kept once, interrupted before it was confirmed:"
                }
                TuneOutcome::Kept if is_best => "tried, no gain on fresh runs:",
                TuneOutcome::Kept => "tried, another gained more:",
                TuneOutcome::Rejected => "tried, changes the program:",
                TuneOutcome::NoVerdict => "tried, no verdict:",
                TuneOutcome::TooNoisy => "tried, too noisy:",
                TuneOutcome::OnlyBetterThanDefault => "tried, better than default but not than plain:",
                _ => "tried, no gain:",
            };
            text += &format!("{became:<10} {}\n", set.line());
        }
        if let (true, Some((set, _)), Some(confirmed)) =
            (outcome.kept, best.and_then(|best| outcome.tried.get(best)), &outcome.confirmed)
        {
            match set.write(&self.output, &confirmed.to_string(), &default.given()) {
                Ok(()) => {
                    outcome.written = true;
                    text += &self.written_lines("", "");
                }
                Err(error) => self.could_not_write(&error, outcome),
            }
        } else {
            text += &format!("{:<11}nothing: no set was kept\n", "written");
            // Every set was compared with the same default and plain, whatever measure decided about the set. The primary
            // measure decides about default.
            let question = Question::about(self.flags.primary.into());
            let mut beside = outcome
                .tried
                .iter()
                .map(|(_, verdict)| Comparison::of(&verdict.runs, Arm::DEFAULT, Arm::PLAIN, &question));
            if let Some(first) = beside.next()
                && beside.all(|other| other.outcome == Better)
            {
                text += &self.default_alone(&first).unwrap_or_default();
            }
        }
        self.say(&text);
    }

    /// The options of the arm on trial: those of default, and the set over them.
    fn tuned(&self, task: &Task<'_>, set: &Candidate) -> Layers {
        let shared = self.flags.shared(self.opts.clone());
        let mut layers = shared.layers(task.program);
        let before = layers.warnings().len();
        layers.add(WhereSet::CommandLine, set.name.clone(), set.options.clone());
        for warning in layers.warnings().into_iter().skip(before) {
            shared.say(Kind::Warning, warning);
        }
        layers
    }

    /// The plan of a comparison. Prints how long it and the remaining phases will take.
    fn plan(
        &self,
        arms: &[Treatment<'_>],
        rounds: usize,
        each: Duration,
        (phases, warmed_up): (usize, usize),
        progress: &mut Progress,
    ) -> Result<Plan, Stop> {
        let names: Vec<Arm> = arms.iter().map(|(arm, _)| *arm).collect();
        let plan = Plan::new(&names, rounds, seed(self.flags.seed))
            .map_err(|error| Stop::NoTime(error.to_string()))?;
        let runs = arms.len() * warmed_up + plan.runs() * phases;
        let time = each.saturating_mul(u32::try_from(runs).unwrap_or(u32::MAX));
        let runs = counted(runs as u64, "run", "runs");
        progress.say(&format!("at most {runs} more, about {}", say::long(time)));
        Ok(plan)
    }

    /// Writes a part of the result.
    fn say(&self, text: &str) {
        if !self.flags.json {
            self.print(Form::Text, text);
        }
    }

    fn print(&self, form: Form, text: &str) {
        // One message, however many parts fail.
        if let Err(error) = door::to_output(form, text)
            && !self.unprinted.replace(true)
        {
            self.flags.say(Kind::Error, format_args!("the result could not be written: {error}"));
        }
    }
}

fn arms<'a>(default: &'a Layers, tuned: &'a Layers) -> [Treatment<'a>; 3] {
    [(Arm::PLAIN, Way::Plain), (Arm::DEFAULT, Way::Under(default)), (Arm::TUNED, Way::Under(tuned))]
}
