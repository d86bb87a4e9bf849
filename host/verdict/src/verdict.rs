//! Three arms: is tuned worth keeping, against plain and against default?
//!
//! ```text
//! tuned/plain     is the program better off under underbar, with these options, than without it?   asked first
//! tuned/default   do the options add anything to underbar without options?
//! default/plain   the effect of underbar alone: for information, decides nothing
//! ```
//!
//! All outputs are compared with plain's: if plain's output is not repeatable, neither arm can be blamed. Kept
//! only if tuned beats both. That needs no correction for two tests: a useless set must deceive both of them
//! to be kept (an intersection-union test, Berger 1982). A set that changes results or makes the program fail
//! is rejected.
//!
//! Not here: the source of the options; the runs made in the search for them ([`crate::confirm`] needs fresh
//! ones).

use std::fmt;

use serde::Serialize;

use crate::compare::{Comparison, Outcome, Question};
use crate::plan::Arm;
use crate::sample::Runs;

/// The name and version of the JSON form of this crate's results.
pub const SCHEMA: &str = "underbar.verdict/1";

/// The decision about a tuned set of options.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TuneOutcome {
    /// Better than plain and better than default.
    Kept,
    /// No better than the program without underbar, nor than default.
    NotBetterThanPlain,
    /// Better than default, but no better than the program without underbar.
    OnlyBetterThanDefault,
    /// Better than plain, but the options add nothing to the default.
    NotBetterThanDefault,
    /// The preload or the options changed the output or made runs fail.
    Rejected,
    /// The runs differ too much: it may be better by a tenth or more, and that is not shown.
    TooNoisy,
    /// Too few pairs, or a measure too small to compare.
    NoVerdict,
}

/// Tuned, default and plain, compared.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TuneVerdict {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// The decision.
    pub outcome: TuneOutcome,
    /// Tuned against plain.
    pub tuned_plain: Comparison,
    /// Tuned against default.
    pub tuned_default: Comparison,
    /// Default against plain.
    pub default_plain: Comparison,
    /// The question.
    pub question: Question,
    /// The plan and every run, raw: everything else can be computed again from these.
    pub runs: Runs,
}

impl TuneVerdict {
    /// Decides from `runs` of [`Arm::PLAIN`], [`Arm::DEFAULT`] and [`Arm::TUNED`]. An arm that never ran
    /// gives no verdict.
    pub fn of(runs: Runs, question: Question) -> TuneVerdict {
        let tuned_plain = Comparison::of(&runs, Arm::TUNED, Arm::PLAIN, &question);
        let tuned_default =
            Comparison::with_behaviour_of(&runs, Arm::TUNED, Arm::DEFAULT, Arm::PLAIN, &question);
        let default_plain = Comparison::of(&runs, Arm::DEFAULT, Arm::PLAIN, &question);
        let outcome = decide(&tuned_plain, &tuned_default, &default_plain);
        TuneVerdict { schema: SCHEMA, outcome, tuned_plain, tuned_default, default_plain, question, runs }
    }

    /// All three, in the order of the report.
    pub fn comparisons(&self) -> [&Comparison; 3] {
        [&self.tuned_plain, &self.tuned_default, &self.default_plain]
    }

    /// The deciding comparison, which a reader must see first.
    pub fn leading(&self) -> &Comparison {
        let first_that = |test: fn(&Comparison) -> bool| {
            // Plain comes first: default is at fault if tuned agrees with plain and default does
            // not.
            let said = [&self.tuned_plain, &self.default_plain, &self.tuned_default];
            said.into_iter().find(|c| test(c)).unwrap_or(&self.tuned_plain)
        };
        match self.outcome {
            TuneOutcome::Kept | TuneOutcome::NotBetterThanPlain | TuneOutcome::OnlyBetterThanDefault => {
                &self.tuned_plain
            }
            TuneOutcome::TooNoisy => first_that(|comparison| comparison.outcome == Outcome::TooNoisy),
            TuneOutcome::NotBetterThanDefault => &self.tuned_default,
            TuneOutcome::Rejected => first_that(changes_program),
            TuneOutcome::NoVerdict => first_that(has_no_verdict),
        }
    }
}

fn decide(tuned_plain: &Comparison, tuned_default: &Comparison, default_plain: &Comparison) -> TuneOutcome {
    let tuned = [tuned_plain, tuned_default];
    let default_differs = matches!(default_plain.outcome, Outcome::OutputDiffers { .. });
    if default_differs || tuned.into_iter().any(changes_program) {
        TuneOutcome::Rejected
    } else if tuned.into_iter().any(has_no_verdict) {
        TuneOutcome::NoVerdict
    } else if is_not_better(tuned_plain) {
        if tuned_default.outcome == Outcome::Better {
            TuneOutcome::OnlyBetterThanDefault
        } else {
            TuneOutcome::NotBetterThanPlain
        }
    } else if is_not_better(tuned_default) {
        TuneOutcome::NotBetterThanDefault
    } else if tuned.into_iter().any(|comparison| comparison.outcome == Outcome::TooNoisy) {
        TuneOutcome::TooNoisy
    } else {
        TuneOutcome::Kept
    }
}

/// Whether the runs showed that there is no gain worth having.
fn is_not_better(comparison: &Comparison) -> bool {
    matches!(comparison.outcome, Outcome::NoGain | Outcome::Worse)
}

fn changes_program(comparison: &Comparison) -> bool {
    matches!(comparison.outcome, Outcome::OutputDiffers { .. } | Outcome::Fails { .. })
}

fn has_no_verdict(comparison: &Comparison) -> bool {
    matches!(comparison.outcome, Outcome::NotEnoughRuns(_) | Outcome::NoRatio { .. })
}

/// `tuned: CPU 0.912 [0.894, 0.931] of plain, 15 pairs: kept`
impl fmt::Display for TuneVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let leading = self.leading();
        write!(f, "{}: {leading}", leading.candidate)?;
        match (self.outcome, self.default_plain.outcome) {
            // The words before are about plain; that it also beats default is equally part of it.
            (TuneOutcome::Kept | TuneOutcome::OnlyBetterThanDefault, _) => {
                let but = if self.outcome == TuneOutcome::Kept { "" } else { "but better: " };
                if let Some(interval) = self.tuned_default.primary.finding.interval() {
                    write!(f, "; {but}{interval} of default")?;
                }
                Ok(())
            }
            (TuneOutcome::NotBetterThanDefault | TuneOutcome::TooNoisy, Outcome::Better) => {
                f.write_str("; default is better than plain")?;
                self.default_plain.write_costs(f)
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Plan;
    use crate::sample::tests::{filled, sample};
    use crate::sample::{Measure, Sample};

    const ARMS: [Arm; 3] = [Arm::PLAIN, Arm::DEFAULT, Arm::TUNED];

    /// A verdict on CPU times in percent of a base that differs from round to round.
    fn verdict(rounds: usize, plain: u64, default: u64, tuned: u64) -> TuneVerdict {
        changed(rounds, |arm, s| {
            let percent = [plain, default, tuned][ARMS.iter().position(|&a| a == arm).expect("one of three")];
            Sample { cpu_ns: s.cpu_ns * percent, ..s }
        })
    }

    fn changed(rounds: usize, change: impl Fn(Arm, Sample) -> Sample) -> TuneVerdict {
        let plan = Plan::new(&ARMS, rounds, 11).expect("a good plan");
        let runs = filled(plan, |round, arm| change(arm, sample(1_000_000 + 7_000 * (round as u64 % 4))));
        TuneVerdict::of(runs, Question::about(Measure::Cpu))
    }

    fn check(v: &TuneVerdict, outcome: TuneOutcome, sentence: &str) {
        assert_eq!((v.outcome, v.to_string().as_str()), (outcome, sentence));
    }

    #[test]
    fn kept_only_if_better_than_both() {
        check(
            &verdict(15, 100, 98, 90),
            TuneOutcome::Kept,
            "tuned: CPU 0.900 [0.900, 0.900] of plain, 15 pairs: kept; 0.918 [0.918, 0.918] of default",
        );
    }

    #[test]
    fn what_is_not_better_than_plain_is_said_first() {
        check(
            &verdict(15, 100, 120, 105),
            TuneOutcome::OnlyBetterThanDefault,
            "tuned: CPU 1.050 [1.050, 1.050] of plain, 15 pairs: worse; but better: 0.875 [0.875, 0.875] of default",
        );
        check(
            &verdict(15, 100, 100, 100),
            TuneOutcome::NotBetterThanPlain,
            "tuned: CPU 1.000 [1.000, 1.000] of plain, 15 pairs: no gain",
        );
    }

    #[test]
    fn runs_that_differ_much_are_too_noisy_and_not_without_gain() {
        // The interval reaches from a gain of four fifths to a loss of as much.
        let noisy = |arm: Arm, s: Sample, round: usize| {
            let factor = if arm == Arm::TUNED && round.is_multiple_of(2) {
                20
            } else if arm == Arm::TUNED {
                500
            } else {
                100
            };
            Sample { cpu_ns: s.cpu_ns * factor, ..s }
        };
        let plan = Plan::new(&ARMS, 15, 11).expect("a good plan");
        let runs = filled(plan, |round, arm| noisy(arm, sample(1_000_000), round));
        let v = TuneVerdict::of(runs, Question::about(Measure::Cpu));
        assert_eq!((v.outcome, v.tuned_plain.outcome), (TuneOutcome::TooNoisy, Outcome::TooNoisy));
        assert!(v.to_string().ends_with("15 pairs: too noisy to tell"), "{v}");
    }

    #[test]
    fn a_noisy_side_does_not_hide_that_the_other_has_no_gain() {
        let plan = Plan::new(&ARMS, 15, 11).expect("a good plan");
        let runs = filled(plan, |round, arm| {
            let factor = if arm == Arm::PLAIN && round.is_multiple_of(2) {
                20
            } else if arm == Arm::PLAIN {
                500
            } else {
                100
            };
            sample(1_000_000 * factor)
        });
        let v = TuneVerdict::of(runs, Question::about(Measure::Cpu));
        assert_eq!(v.tuned_plain.outcome, Outcome::TooNoisy);
        assert_eq!(v.outcome, TuneOutcome::NotBetterThanDefault, "{v}");
    }

    #[test]
    fn options_that_add_nothing_to_the_default_are_not_kept() {
        check(
            &verdict(15, 100, 90, 90),
            TuneOutcome::NotBetterThanDefault,
            "tuned: CPU 1.000 [1.000, 1.000] of default, 15 pairs: no gain; default is better than plain",
        );
    }

    #[test]
    fn what_default_costs_is_said_where_it_is_better() {
        let v = changed(15, |arm, s| {
            let is_plain = arm == Arm::PLAIN;
            let cpu_ns = if is_plain { s.cpu_ns } else { s.cpu_ns * 9 / 10 };
            Sample { cpu_ns, peak_rss_bytes: if is_plain { 1 << 20 } else { 1 << 21 }, ..s }
        });
        assert_eq!(v.outcome, TuneOutcome::NotBetterThanDefault);
        let end = "default is better than plain, but peak RSS +100.0 % [+100.0, +100.0]";
        assert!(v.to_string().ends_with(end), "{v}");
    }

    #[test]
    fn a_program_that_fails_by_itself_is_not_made_to_fail_by_options() {
        let count = std::cell::Cell::new(0);
        let v = changed(15, |arm, s| {
            count.set(count.get() + 1);
            Sample { ended_well: arm == Arm::DEFAULT || count.get() > 9, ..s }
        });
        assert_eq!(v.outcome, TuneOutcome::NotBetterThanPlain, "{v}");
    }

    #[test]
    fn too_few_pairs_for_the_other_measures_are_said() {
        let v = verdict(6, 100, 100, 80);
        assert_eq!(v.outcome, TuneOutcome::Kept);
        assert!(v.to_string().contains("kept; too few pairs to judge the other measures; "), "{v}");
    }

    #[test]
    fn too_few_rounds_give_no_verdict() {
        check(
            &verdict(5, 100, 90, 50),
            TuneOutcome::NoVerdict,
            "tuned: CPU against plain, 5 pairs: no verdict, too few pairs (6 needed)",
        );
    }

    #[test]
    fn the_guilty_arm_is_named_where_the_output_changes() {
        let tuned = changed(15, |arm, s| Sample { output: Some(u64::from(arm == Arm::TUNED)), ..s });
        assert_eq!(tuned.outcome, TuneOutcome::Rejected);
        assert!(tuned.to_string().starts_with("tuned: CPU 1.000"), "{tuned}");
        assert!(tuned.to_string().ends_with("not kept, output differs in 15 runs"), "{tuned}");
        let default = changed(15, |arm, s| Sample { output: Some(u64::from(arm == Arm::DEFAULT)), ..s });
        assert_eq!(default.outcome, TuneOutcome::Rejected);
        assert!(default.to_string().starts_with("default: CPU 1.000"), "{default}");
    }

    #[test]
    fn where_plain_does_not_repeat_itself_nobody_is_blamed() {
        // Plain prints random addresses; under underbar they are the same in every run of an arm.
        let count = std::cell::Cell::new(0);
        let v = changed(15, |arm, s| {
            count.set(count.get() + 1);
            let output = if arm == Arm::PLAIN { count.get() } else { u64::from(arm == Arm::TUNED) };
            Sample {
                output: Some(output),
                cpu_ns: if arm == Arm::TUNED { s.cpu_ns / 2 } else { s.cpu_ns },
                ..s
            }
        });
        assert_eq!(v.outcome, TuneOutcome::Kept);
        assert!(v.comparisons().iter().all(|c| c.output == crate::output::OutputCheck::NotRepeatable));
    }

    #[test]
    fn a_failing_default_does_not_condemn_tuned() {
        let first = std::cell::Cell::new(true);
        let v = changed(15, |arm, s| Sample {
            ended_well: arm != Arm::DEFAULT || !first.replace(false),
            cpu_ns: if arm == Arm::TUNED { s.cpu_ns / 2 } else { s.cpu_ns },
            ..s
        });
        assert_eq!(v.default_plain.outcome, Outcome::Fails { candidate: 1, reference: 0 });
        assert_eq!((v.outcome, v.tuned_default.primary.pairs), (TuneOutcome::Kept, 14));
    }
}
