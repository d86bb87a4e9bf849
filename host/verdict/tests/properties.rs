//! Properties that must hold for all data: drawn from seeds that a failure prints.

mod common;

use common::{EVERY_NOISE, plan, sample, simulate};
use underbar_verdict::compare::{Comparison, Finding, Outcome, Question};
use underbar_verdict::interval::Interval;
use underbar_verdict::plan::Arm;
use underbar_verdict::random::Random;
use underbar_verdict::sample::{Measure, Runs, Sample};

const AB: [Arm; 2] = [Arm::A, Arm::B];

/// Experiments of all kinds of noise, sizes and effects, ties among them.
fn experiments() -> impl Iterator<Item = (u64, Runs)> {
    (0..2_000).map(|seed| {
        let mut random = Random::new(seed);
        let noise = EVERY_NOISE[random.below(5) as usize];
        let rounds = 1 + random.below(25) as usize;
        let truth = 0.8 + random.below(400) as f64 / 1_000.0;
        let coarse = 1 + random.below(3) * 50_000_000;
        let runs =
            simulate(plan(&AB, rounds, seed), noise, !seed, |arm| if arm == Arm::B { truth } else { 1.0 });
        (seed, changed(&runs, |_, s| Sample { cpu_ns: s.cpu_ns / coarse * coarse, ..s }))
    })
}

/// The same plan with every sample changed.
fn changed(runs: &Runs, change: impl Fn(Arm, Sample) -> Sample) -> Runs {
    let mut new = Runs::new(runs.plan().clone());
    for round in runs.rounds() {
        let samples: Vec<Sample> = round.iter().map(|run| change(run.arm, run.sample)).collect();
        new.record(&samples).expect("the same rounds fit the same plan");
    }
    new
}

fn compared(runs: &Runs, candidate: Arm, reference: Arm) -> Comparison {
    Comparison::of(runs, candidate, reference, &Question::about(Measure::Cpu))
}

fn near(a: f64, b: f64) -> bool {
    (a / b - 1.0).abs() < 1e-9
}

#[test]
fn swapping_the_arms_inverts_ratio_interval_and_finding() {
    for (seed, runs) in experiments() {
        let there = compared(&runs, Arm::B, Arm::A);
        let back = compared(&runs, Arm::A, Arm::B);
        for (one, other) in there.estimates().zip(back.estimates()) {
            match (one.finding, other.finding) {
                (Finding::Better(a), Finding::Worse(b))
                | (Finding::Worse(a), Finding::Better(b))
                | (Finding::Neither(a), Finding::Neither(b)) => assert!(
                    near(a.ratio, 1.0 / b.ratio) && near(a.low, 1.0 / b.high) && near(a.high, 1.0 / b.low),
                    "seed {seed}: {a:?} {b:?}"
                ),
                (a, b) => assert_eq!(a, b, "seed {seed}"),
            }
        }
    }
}

#[test]
fn scaling_every_figure_changes_nothing() {
    for (seed, runs) in experiments() {
        let before = compared(&runs, Arm::B, Arm::A);
        let scaled = changed(&runs, |_, s| Sample { cpu_ns: 37 * s.cpu_ns, ..s });
        let after = compared(&scaled, Arm::B, Arm::A);
        assert_eq!(before.outcome, after.outcome, "seed {seed}");
        if let (Some(a), Some(b)) = (before.primary.finding.interval(), after.primary.finding.interval()) {
            assert!(
                near(a.ratio, b.ratio) && near(a.low, b.low) && near(a.high, b.high),
                "seed {seed}: {a:?} {b:?}"
            );
        }
    }
}

#[test]
fn scaling_one_arm_scales_ratio_and_interval() {
    for (seed, runs) in experiments() {
        let tripled =
            changed(&runs, |arm, s| Sample { cpu_ns: s.cpu_ns * if arm == Arm::B { 3 } else { 1 }, ..s });
        let (before, after) = (compared(&runs, Arm::B, Arm::A), compared(&tripled, Arm::B, Arm::A));
        if let (Some(a), Some(b)) = (before.primary.finding.interval(), after.primary.finding.interval()) {
            let scaled =
                near(3.0 * a.ratio, b.ratio) && near(3.0 * a.low, b.low) && near(3.0 * a.high, b.high);
            assert!(scaled, "seed {seed}: {a:?} {b:?}");
        }
    }
}

#[test]
fn the_estimate_lies_in_its_interval_and_more_confidence_is_wider() {
    for (seed, runs) in experiments() {
        let of_pairs = underbar_verdict::pairs::pairs(&runs, Measure::Cpu, Arm::B, Arm::A);
        let logs: Vec<f64> = of_pairs.iter().filter_map(|p| p.log_ratio()).collect();
        let Ok(narrow) = Interval::of(&logs, 0.95) else {
            assert!(logs.len() < 6, "seed {seed}");
            continue;
        };
        assert!(narrow.low <= narrow.ratio && narrow.ratio <= narrow.high, "seed {seed}: {narrow:?}");
        if let Ok(wide) = Interval::of(&logs, 0.99) {
            assert!(wide.low <= narrow.low && narrow.high <= wide.high, "seed {seed}: {wide:?} {narrow:?}");
        }
    }
}

#[test]
fn the_figures_of_failed_runs_change_nothing() {
    for (seed, runs) in experiments() {
        // Both arms fail in the same rounds, so that the figures still decide the outcome.
        let failing = |figure: u64| {
            let mut new = Runs::new(runs.plan().clone());
            for (i, round) in runs.rounds().iter().enumerate() {
                let fails = i % 4 == 1;
                let samples: Vec<Sample> = round
                    .iter()
                    .map(|run| {
                        if fails { Sample { ended_well: false, ..sample(figure as f64) } } else { run.sample }
                    })
                    .collect();
                new.record(&samples).expect("the same rounds fit the same plan");
            }
            compared(&new, Arm::B, Arm::A)
        };
        let (small, large) = (failing(0), failing(1_000));
        assert_eq!(small, large, "seed {seed}");
        assert_eq!(small.primary.pairs + small.dropped.rounds, runs.rounds().len(), "seed {seed}");
    }
}

#[test]
fn a_verdict_needs_six_pairs_whatever_they_say() {
    for (seed, runs) in experiments() {
        let c = compared(&runs, Arm::B, Arm::A);
        let too_few = matches!(c.outcome, Outcome::NotEnoughRuns(_));
        assert_eq!(too_few, c.primary.pairs < 6, "seed {seed}: {c}");
    }
}
