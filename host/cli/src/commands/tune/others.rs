//! `tune --allocators`: the program under underbar against the other allocators of this machine.
//!
//! ```text
//! after everything else: tuned if a set was kept, default otherwise ── against plain, jemalloc, tcmalloc, ... in the same rounds
//! ```
//!
//! Invariant: an allocator is called better only beyond chance; what it costs in other measures is told with it.
//! Not here: what is installed (`trial::peers`).

use std::ffi::OsStr;
use std::time::Duration;

use underbar_report::page::quoted;
use underbar_verdict::compare::{Comparison, Outcome as Compared, Question};
use underbar_verdict::plan::Arm;
use underbar_verdict::render;
use underbar_verdict::sample::Runs;

use serde::Serialize;

use super::{Ground, Outcome, Tune};
use crate::trial::Stop;
use crate::trial::peers::{Peer, installed};
use crate::trial::progress::Progress;
use crate::trial::rounds::Treatment;
use crate::trial::single_run::Way;
use underbar_runner::layers::Layers;

/// The comparison with other allocators.
#[derive(Serialize)]
pub(super) struct Others {
    /// The arm that they are compared with.
    pub reference: Arm,
    /// The best of those that are better; None: none is.
    pub better: Option<Arm>,
    /// The words before the program's that use it.
    pub before: Option<String>,
    /// Each of them.
    pub comparisons: Vec<Comparison>,
    /// Every run.
    pub runs: Runs,
}

impl Tune {
    /// Compares underbar, with the set that was kept, with the other allocators.
    pub(super) fn against_others(
        &self,
        ground: &Ground<'_>,
        progress: &mut Progress,
        outcome: &mut Outcome,
    ) -> Result<(), Stop> {
        let Ground { task, default, begin, each } = *ground;
        let peers = installed()?;
        let kept = outcome.confirmed.as_ref().filter(|_| outcome.kept);
        let tuned: Option<Layers> = kept.and_then(|_| outcome.best()).map(|set| self.tuned(task, set));
        let (reference, ours) = tuned.as_ref().map_or((Arm::DEFAULT, default), |tuned| (Arm::TUNED, tuned));
        let mut arms: Vec<Treatment<'_>> = vec![(reference, Way::Under(ours)), (Arm::PLAIN, Way::Plain)];
        arms.extend(peers.iter().map(|peer| (peer.arm, Way::Beside(&peer.beside))));
        let round = each.saturating_mul(u32::try_from(arms.len()).unwrap_or(u32::MAX));
        // With a limit of time, what is left of it; at least the fewest rounds that give a verdict.
        let spent = begin.elapsed().min(self.flags.time.map_or(Duration::MAX, |time| time / 2));
        let rounds = task.rounds(spent, round, 1)?;
        let plan = self.plan(&arms, rounds, each, (1, 1), progress)?;
        task.warm_up(&arms, progress)?;
        let (runs, stop) = task.book(plan, &arms, "comparing allocators", progress);
        outcome.stop = stop;
        let question = Question::about(self.flags.primary.into());
        let others = arms.iter().skip(1).map(|&(arm, _)| Comparison::of(&runs, arm, reference, &question));
        let comparisons: Vec<Comparison> = others.collect();
        let best = best(&comparisons);
        let before = best.and_then(|best| peers.iter().find(|peer| peer.arm == best.candidate));
        let found = Others {
            reference,
            better: best.map(|best| best.candidate),
            before: before.map(|peer| peer.before.clone()),
            comparisons: comparisons.clone(),
            runs,
        };
        progress.clear();
        self.say(&self.others_text(&found, best, &peers));
        outcome.others = Some(found);
        Ok(())
    }

    fn others_text(&self, found: &Others, best: Option<&Comparison>, peers: &[Peer]) -> String {
        let names: Vec<&str> = peers.iter().map(|peer| peer.arm.name()).collect();
        let headline = format!("allocators: {} against plain, {}", found.reference, names.join(", "));
        let rows: Vec<&Comparison> = found.comparisons.iter().collect();
        let table = render::table(&headline, &rows, &found.runs);
        let verdict = match best {
            None => format!("{:<11}none is better than {} for this program\n", "allocator", found.reference),
            Some(best) => {
                let word = |word: &OsStr| quoted(&word.to_string_lossy());
                let program: Vec<String> = self.program.iter().map(|part| word(part)).collect();
                let before = found.before.as_ref().map_or(String::new(), |before| format!("{before} "));
                format!(
                    "{:<11}{} is better for this program: {best}\n{:<11}{before}{}\n",
                    "allocator",
                    best.candidate,
                    "use it",
                    program.join(" ")
                )
            }
        };
        format!("\n{table}\n{verdict}")
    }
}

/// The best of those that are better by the primary measure.
fn best(comparisons: &[Comparison]) -> Option<&Comparison> {
    let ratio =
        |comparison: &&Comparison| comparison.primary.finding.interval().map_or(1.0, |found| found.ratio);
    comparisons
        .iter()
        .filter(|comparison| comparison.outcome == Compared::Better)
        .min_by(|one, other| ratio(one).total_cmp(&ratio(other)))
}
