//! The plan of an experiment: its arms, its number of rounds, their order. All of it is fixed before the first
//! run.
//!
//! ```text
//! round 1:  tuned    plain    default
//! round 2:  default  plain    tuned       each round runs every arm once;
//! round 3:  plain    tuned    default     a pair is two runs of one round
//! ```
//!
//! Invariant: for any two arms, |rounds with the one first - rounds with the other first| <= 1.
//!
//! Random, so that no periodic event (a cron job, a fan, a neighbour) can favour an arm. Balanced, so that a
//! machine that slows down steadily harms all arms alike. The number of rounds is fixed first, because stopping
//! when the figures look good would choose the answer.
//!
//! Not here: running anything, and measuring the time of a run.

use std::fmt;

use serde::Serialize;

use crate::random::Random;
use crate::words::counted;

/// The default number of rounds.
pub const DEFAULT_ROUNDS: usize = 15;

/// The fewest rounds worth starting. Six pairs are enough for a 95 % interval and seven for the corrected ones of
/// three secondary measures; the eighth is there because a run may fail.
pub const MINIMUM_ROUNDS: usize = 8;

/// The most rounds of one plan: beyond these the interval hardly narrows, and the time is too long.
pub const MAXIMUM_ROUNDS: usize = 200;

/// One way to run the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Arm(&'static str);

impl Arm {
    /// The program alone, without the preload library.
    pub const PLAIN: Arm = Arm("plain");
    /// Under underbar with the options from before tuning.
    pub const DEFAULT: Arm = Arm("default");
    /// Under underbar with the suggested options.
    pub const TUNED: Arm = Arm("tuned");
    /// The first set of options of a comparison.
    pub const A: Arm = Arm("A");
    /// The second set of options of a comparison.
    pub const B: Arm = Arm("B");

    /// An arm of another name, for benchmarks against peers.
    pub const fn named(name: &'static str) -> Arm {
        Arm(name)
    }

    /// The word that reports use.
    pub const fn name(self) -> &'static str {
        self.0
    }
}

impl fmt::Display for Arm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// The reason why a plan cannot be made. All are faults of the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlanError {
    /// Fewer than two arms: nothing to compare.
    TooFewArms,
    /// An arm is twice in the list.
    SameArmTwice(Arm),
    /// No rounds, or more than [`MAXIMUM_ROUNDS`].
    Rounds(usize),
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlanError::TooFewArms => f.write_str("a comparison needs two arms"),
            PlanError::SameArmTwice(arm) => write!(f, "arm {arm} is named twice"),
            PlanError::Rounds(n) => write!(f, "{n} rounds: between 1 and {MAXIMUM_ROUNDS} can be planned"),
        }
    }
}

impl std::error::Error for PlanError {}

/// The arms and the order of every round.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Plan {
    arms: Vec<Arm>,
    seed: u64,
    orders: Vec<Vec<Arm>>,
}

impl Plan {
    /// Makes `rounds` rounds of `arms`, their order drawn from `seed`.
    pub fn new(arms: &[Arm], rounds: usize, seed: u64) -> Result<Plan, PlanError> {
        if arms.len() < 2 {
            return Err(PlanError::TooFewArms);
        }
        if let Some((_, &twice)) = arms.iter().enumerate().find(|(i, arm)| arms[..*i].contains(arm)) {
            return Err(PlanError::SameArmTwice(twice));
        }
        if rounds == 0 || rounds > MAXIMUM_ROUNDS {
            return Err(PlanError::Rounds(rounds));
        }
        let mut random = Random::new(seed);
        let mut orders = Vec::with_capacity(rounds + 1);
        while orders.len() < rounds {
            // A random order, its rotations (every arm at every place) and the reverse of each
            // (every arm before every other). With three arms these are all six orders.
            let mut order = arms.to_vec();
            random.shuffle(&mut order);
            for _ in 0..arms.len() {
                if orders.len() < rounds {
                    orders.push(order.clone());
                    orders.push(order.iter().rev().copied().collect());
                }
                order.rotate_left(1);
            }
        }
        // An odd number leaves one order without its reverse: the last one.
        orders.truncate(rounds);
        // Shuffled as a whole, not within blocks: blocks of an order and its reverse would coincide
        // with noise of that period.
        random.shuffle(&mut orders);
        Ok(Plan { arms: arms.to_vec(), seed, orders })
    }

    /// The plan of the runs that confirm this one: the same arms and rounds, in another order.
    pub fn fresh(&self) -> Plan {
        // 53 bits: a JSON reader that knows only floating point reads the seed unharmed.
        let seed = Random::new(self.seed).next_u64() >> 11;
        // The arms and the number of rounds were valid once, so they are valid again.
        Plan::new(&self.arms, self.orders.len(), seed).unwrap_or_else(|_| self.clone())
    }

    /// The arms, in the caller's order.
    pub fn arms(&self) -> &[Arm] {
        &self.arms
    }

    /// The seed of the order.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The rounds, each the order in which its arms run.
    pub fn orders(&self) -> &[Vec<Arm>] {
        &self.orders
    }

    /// The number of program runs.
    pub fn runs(&self) -> usize {
        self.arms.len() * self.orders.len()
    }
}

/// `15 rounds of plain, default, tuned: 45 runs, order from seed 7`
impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of ", counted(self.orders.len(), "round"))?;
        for (i, arm) in self.arms.iter().enumerate() {
            write!(f, "{}{arm}", if i == 0 { "" } else { ", " })?;
        }
        write!(f, ": {} runs, order from seed {}", self.runs(), self.seed)
    }
}

/// The number of rounds that fit into the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Rounds {
    /// This many, enough for a verdict.
    Enough(usize),
    /// The time allows only `affordable`, and a verdict needs `needed`.
    TooFew {
        /// Rounds that the time allows, possibly 0.
        affordable: usize,
        /// The fewest rounds requested.
        needed: usize,
    },
}

impl fmt::Display for Rounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rounds::Enough(n) => f.write_str(&counted(*n, "round")),
            Rounds::TooFew { affordable, needed } => {
                let affordable = counted(*affordable, "round");
                write!(f, "time for {affordable}: too few for a verdict, which needs {needed}")
            }
        }
    }
}

/// The number of rounds: `default` without a time budget, otherwise as many as fit into it, at most
/// [`MAXIMUM_ROUNDS`].
///
/// `one_run_of_each_arm_ns` is the measured time of one round; 0 counts as 1. Below `minimum`
/// ([`MINIMUM_ROUNDS`] for most callers) the answer is [`Rounds::TooFew`]. Confirming runs need additional
/// time: a caller who wants them within the budget passes half of it.
pub fn rounds_for(
    budget_ns: Option<u64>,
    one_run_of_each_arm_ns: u64,
    default: usize,
    minimum: usize,
) -> Rounds {
    let affordable = match budget_ns {
        None => default,
        Some(budget) => usize::try_from(budget / one_run_of_each_arm_ns.max(1)).unwrap_or(usize::MAX),
    };
    if affordable < minimum {
        Rounds::TooFew { affordable, needed: minimum }
    } else {
        Rounds::Enough(affordable.min(MAXIMUM_ROUNDS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TUNE: [Arm; 3] = [Arm::PLAIN, Arm::DEFAULT, Arm::TUNED];

    /// How many more rounds have `a` before `b` than `b` before `a`.
    fn lead(plan: &Plan, a: Arm, b: Arm) -> i64 {
        let place = |order: &[Arm], arm| order.iter().position(|&x| x == arm);
        plan.orders().iter().map(|order| if place(order, a) < place(order, b) { 1 } else { -1 }).sum()
    }

    #[test]
    fn any_two_arms_go_first_equally_often() {
        let six = ["a", "b", "c", "d", "e", "f"].map(Arm::named);
        for arms in [&TUNE[..2], &TUNE[..], &six[..]] {
            for rounds in 1..=40 {
                for seed in 0..20 {
                    let plan = Plan::new(arms, rounds, seed).expect("a good plan");
                    assert_eq!(plan.orders().len(), rounds);
                    for (i, &a) in arms.iter().enumerate() {
                        for &b in &arms[..i] {
                            assert!(lead(&plan, a, b).abs() <= 1, "seed {seed}: {plan:?}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn every_round_runs_every_arm_once() {
        let plan = Plan::new(&TUNE, 15, 1).expect("a good plan");
        for order in plan.orders() {
            let mut sorted = order.clone();
            sorted.sort();
            let mut arms = TUNE.to_vec();
            arms.sort();
            assert_eq!(sorted, arms);
        }
        assert_eq!(plan.runs(), 45);
    }

    #[test]
    fn the_seed_decides_the_order_and_the_confirmation_has_another() {
        let one = Plan::new(&TUNE, 15, 1).expect("a good plan");
        assert_eq!(one, Plan::new(&TUNE, 15, 1).expect("a good plan"));
        assert_ne!(one.orders(), Plan::new(&TUNE, 15, 2).expect("a good plan").orders());
        let fresh = one.fresh();
        assert_ne!(fresh.seed(), one.seed());
        assert_ne!(fresh.orders(), one.orders());
        assert_eq!((fresh.arms(), fresh.runs()), (one.arms(), one.runs()));
    }

    #[test]
    fn no_round_is_bound_to_an_order() {
        // Over many seeds each round opens with each arm about equally often: 1,000 of 3,000, deviation 26.
        let mut first = vec![std::collections::BTreeMap::new(); 15];
        for seed in 0..3_000 {
            let plan = Plan::new(&TUNE, 15, seed).expect("a good plan");
            for (round, order) in plan.orders().iter().enumerate() {
                *first[round].entry(order[0]).or_insert(0i32) += 1;
            }
        }
        for counts in first {
            assert!(counts.values().all(|n| (n - 1_000).abs() < 130), "{counts:?}");
        }
    }

    #[test]
    fn what_cannot_be_planned_is_refused() {
        assert_eq!(Plan::new(&[Arm::A], 15, 1), Err(PlanError::TooFewArms));
        assert_eq!(Plan::new(&[Arm::A, Arm::B, Arm::A], 15, 1), Err(PlanError::SameArmTwice(Arm::A)));
        assert_eq!(Plan::new(&TUNE, 0, 1), Err(PlanError::Rounds(0)));
        assert_eq!(Plan::new(&TUNE, 201, 1), Err(PlanError::Rounds(201)));
    }

    #[test]
    fn the_time_decides_the_number_of_rounds() {
        let second = 1_000_000_000;
        let rounds = |budget, one| rounds_for(budget, one, DEFAULT_ROUNDS, MINIMUM_ROUNDS);
        assert_eq!(rounds(None, second), Rounds::Enough(15));
        assert_eq!(rounds(Some(60 * second), 3 * second), Rounds::Enough(20));
        assert_eq!(rounds(Some(60 * second), 7 * second), Rounds::Enough(8));
        assert_eq!(rounds(Some(60 * second), 0), Rounds::Enough(MAXIMUM_ROUNDS));
        let too_few = rounds(Some(60 * second), 8 * second);
        assert_eq!(too_few.to_string(), "time for 7 rounds: too few for a verdict, which needs 8");
    }

    #[test]
    fn a_plan_says_how_often_the_program_will_run() {
        let plan = Plan::new(&TUNE, 15, 7).expect("a good plan");
        assert_eq!(plan.to_string(), "15 rounds of plain, default, tuned: 45 runs, order from seed 7");
    }
}
