//! `underbar tune --live`: one lock's policies of waiting, by turns in the running program.
//!
//! Invariant: only a policy that was kept is written, and only if the program ended as it does without the trial.
//! Not here: the epochs (`trial::live`), their results (`trial::trial_outcome`), the decision (`verdict::epochs`).

use std::time::Duration;

use underbar_report::Report;
use underbar_verdict::epochs::Figure;
use underbar_verdict::plan::DEFAULT_ROUNDS;
use underbar_verdict::sample::Sample;

use super::{Outcome, Tune};
use crate::say::Kind;
use crate::trial::Stop;
use crate::trial::candidate::write;
use crate::trial::flags::Primary;
use crate::trial::live::Live;
use crate::trial::lock::Wanted;
use crate::trial::progress::Progress;
use crate::trial::rounds::seed;
use crate::trial::single_run::{Task, Way};
use crate::trial::trial_outcome::Tried;
use underbar_runner::layers::Layers;

impl Tune {
    /// One lock's policies of waiting, by turns in the running program.
    pub(super) fn try_live(
        &self,
        task: &Task<'_>,
        default: &Layers,
        (report, sample): (&Report, &Sample),
        progress: &mut Progress,
        outcome: &mut Outcome,
    ) -> Result<(), Stop> {
        let wanted = Wanted::of(report, self.lock.as_deref()).map_err(Stop::NoLock)?;
        let rounds = usize::try_from(self.epochs).unwrap_or(DEFAULT_ROUNDS);
        let runs_for = Duration::from_nanos(sample.elapsed_ns);
        let mut live = Live::new(wanted, rounds, seed(self.flags.seed), self.epoch, runs_for, progress)
            .map_err(Stop::NoTime)?;
        let needed = live.rounds_needed();
        if rounds < needed {
            let words =
                format_args!("--epochs: so few rounds are not enough for a verdict, which needs {needed}");
            self.flags.say(Kind::Warning, words);
        }
        live.announce();
        outcome.stop = live.run(task, Way::Under(default));
        let primary = if self.flags.primary == Primary::Elapsed { Figure::Elapsed } else { Figure::Cpu };
        // With --load, there is only one output for all loads.
        let output = sample.output.filter(|_| outcome.repeatable && self.flags.load.is_none());
        let tried = Tried::of(live, primary, output);
        let mut text = format!("\n{}\n", tried.text());
        outcome.kept = tried.kept().is_some() && outcome.stop.is_none();
        if let (true, Some(kept)) = (outcome.kept, tried.kept()) {
            text += &format!("{:<11}{} for {}\n", "kept", kept.arm, tried.name());
            match tried.for_next_run() {
                Some(next) => {
                    let body = format!("# underbar tune --live\n{}", next.file);
                    match write(&self.output, &body, &default.given()) {
                        Ok(()) => {
                            outcome.written = true;
                            text += &self.written_lines(&next.option, next.note);
                        }
                        Err(error) => self.could_not_write(&error, outcome),
                    }
                }
                None => {
                    text +=
                        &format!("{:<11}nothing: no option sets this for a lock of a library\n", "written")
                }
            }
        } else {
            text += &format!("{:<11}unchanged for {}\n", "kept", tried.name());
        }
        self.say(&text);
        outcome.live = Some(tried);
        Ok(())
    }
}
