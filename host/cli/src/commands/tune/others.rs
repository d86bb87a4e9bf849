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
use underbar_verdict::compare::{Comparison, Finding, Outcome as Compared, Question};
use underbar_verdict::interval::Interval;
use underbar_verdict::plan::Arm;
use underbar_verdict::render;
use underbar_verdict::sample::{Measure, Runs};

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
    /// Another one that takes less memory, and no more of the primary measure; None: none does.
    pub less_memory: Option<Arm>,
    /// The words before the program's that use that one.
    pub less_memory_before: Option<String>,
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
        let less_memory = thriftiest(&comparisons, best).map(|(thrifty, _)| thrifty.candidate);
        let before = |arm: Arm| peers.iter().find(|peer| peer.arm == arm).map(|peer| peer.before.clone());
        let found = Others {
            reference,
            better: best.map(|best| best.candidate),
            before: best.and_then(|best| before(best.candidate)),
            less_memory,
            less_memory_before: less_memory.and_then(before),
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
        let word = |word: &OsStr| quoted(&word.to_string_lossy());
        let program: Vec<String> = self.program.iter().map(|part| word(part)).collect();
        let use_it = |arm: Arm| {
            let before = peers.iter().find(|peer| peer.arm == arm).map_or("", |peer| &peer.before);
            let space = if before.is_empty() { "" } else { " " };
            format!("{:<11}{before}{space}{}\n", "use it", program.join(" "))
        };
        let verdict = match best {
            None => format!("{:<11}none is better than {} for this program\n", "allocator", found.reference),
            Some(best) => {
                let headline =
                    format!("{:<11}{} is better for this program: {best}\n", "allocator", best.candidate);
                headline + &use_it(best.candidate)
            }
        };
        let memory = thriftiest(&found.comparisons, best).map_or(String::new(), |(thrifty, peak)| {
            let primary = &thrifty.primary;
            let ratio = primary.finding.interval().map_or(String::new(), |ratio| format!(" {ratio}"));
            let headline = format!(
                "{:<11}{} takes less, and no more {}: peak RSS {peak} of {}, {}{ratio}\n",
                "memory", thrifty.candidate, primary.measure, found.reference, primary.measure
            );
            headline + &use_it(thrifty.candidate)
        });
        format!("\n{table}\n{verdict}{memory}")
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

/// The end of an interval up to which a measure is no worse.
const NO_WORSE: f64 = 1.02;

/// The one that takes least memory, if it is none other than the best one, no worse by the primary measure, and takes a tenth less than
/// the reference beyond chance. The best one may take much more.
fn thriftiest<'c>(
    comparisons: &'c [Comparison],
    best: Option<&Comparison>,
) -> Option<(&'c Comparison, &'c Interval)> {
    let peak = |comparison: &'c Comparison| {
        comparison.secondary.iter().find_map(|estimate| match &estimate.finding {
            Finding::Better(interval) if estimate.measure == Measure::PeakRss => Some(interval),
            _ => None,
        })
    };
    comparisons
        .iter()
        .filter(|comparison| matches!(comparison.outcome, Compared::Better | Compared::NoGain))
        .filter(|comparison| {
            comparison.primary.finding.interval().is_some_and(|found| found.high <= NO_WORSE)
        })
        .filter_map(|comparison| Some((comparison, peak(comparison)?)))
        .min_by(|(_, one), (_, other)| one.ratio.total_cmp(&other.ratio))
        .filter(|(comparison, peak)| {
            peak.ratio <= 0.9 && best.is_none_or(|best| best.candidate != comparison.candidate)
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use underbar_verdict::plan::Plan;
    use underbar_verdict::sample::Sample;

    const FAST: Arm = Arm::named("tcmalloc");
    const SMALL: Arm = Arm::named("jemalloc");

    /// Twelve rounds in which the two have so many hundredths of the default's CPU time and memory.
    fn compared(fast: (u64, u64), small: (u64, u64)) -> Vec<Comparison> {
        let mut runs = Runs::new(Plan::new(&[Arm::DEFAULT, FAST, SMALL], 12, 1).expect("a plan"));
        while let Some(order) = runs.next_order() {
            let samples: Vec<Sample> = order
                .iter()
                .map(|&arm| {
                    let (cpu, peak) = if arm == FAST {
                        fast
                    } else if arm == SMALL {
                        small
                    } else {
                        (100, 100)
                    };
                    Sample {
                        cpu_ns: cpu * 1_000_000,
                        elapsed_ns: 100_000_000,
                        peak_rss_bytes: peak << 20,
                        faults: 1000,
                        ended_well: true,
                        output: None,
                    }
                })
                .collect();
            runs.record(&samples).expect("a round");
        }
        let question = Question::about(Measure::Cpu);
        [FAST, SMALL].map(|arm| Comparison::of(&runs, arm, Arm::DEFAULT, &question)).into()
    }

    fn chosen(fast: (u64, u64), small: (u64, u64)) -> (Option<Arm>, Option<Arm>) {
        let comparisons = compared(fast, small);
        let best = best(&comparisons);
        let thriftiest = thriftiest(&comparisons, best);
        (best.map(|best| best.candidate), thriftiest.map(|(thrifty, _)| thrifty.candidate))
    }

    #[test]
    fn one_that_takes_much_less_memory_is_named_next_to_the_fastest() {
        assert_eq!(chosen((65, 101), (89, 18)), (Some(FAST), Some(SMALL)));
        assert_eq!(chosen((100, 101), (100, 18)), (None, Some(SMALL)), "none is faster");
        assert_eq!(chosen((65, 18), (89, 50)), (Some(FAST), None), "the fastest takes least");
        assert_eq!(chosen((65, 101), (110, 18)), (Some(FAST), None), "it takes more CPU");
        assert_eq!(chosen((65, 101), (89, 95)), (Some(FAST), None), "too little");
    }
}
