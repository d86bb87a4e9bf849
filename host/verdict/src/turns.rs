//! Rounds in which every arm has its turns: the loop of the trials, of the demos and of the benchmarks.
//!
//! ```text
//! round 1   arm 2, arm 0, arm 1
//! round 2   arm 0, arm 1, arm 2
//! ```
//!
//! Why by rounds: whatever disturbs the machine meets all arms of a round alike, so ratios are taken within rounds ([`crate::ratios`]).
//! The orders of a trial are those of its plan, balanced and saved with the verdict ([`crate::plan`]); those of demos and benchmarks
//! are drawn here, round by round.
//! Not here: what a turn measures.

use crate::random::Random;

/// One turn of an arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn<A = usize> {
    /// Its round, from 0.
    pub round: usize,
    /// Its place in the round, from 0.
    pub place: usize,
    /// Whose turn it is: one of the arms that were given.
    pub arm: A,
}

/// Runs rounds in these orders. The first error ends them.
///
/// # Errors
/// Those of `run`.
pub fn run<A: Copy, E>(orders: &[Vec<A>], mut run: impl FnMut(Turn<A>) -> Result<(), E>) -> Result<(), E> {
    for (round, order) in orders.iter().enumerate() {
        for (place, &arm) in order.iter().enumerate() {
            run(Turn { round, place, arm })?;
        }
    }
    Ok(())
}

/// Runs so many rounds in orders drawn by lot; an arm that is given twice has two turns in each. The first error ends them.
///
/// # Errors
/// Those of `run`.
pub fn rounds<E>(
    rounds: usize,
    arms: &[usize],
    order: &mut Random,
    turn: impl FnMut(Turn) -> Result<(), E>,
) -> Result<(), E> {
    let mut orders = vec![arms.to_vec(); rounds];
    orders.iter_mut().for_each(|turns| order.shuffle(turns));
    run(&orders, turn)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_arm_has_its_turns_in_every_round_and_the_seed_decides_the_order() {
        let turns = |seed| {
            let mut seen = Vec::new();
            let done = rounds(20, &[0, 1, 1, 4], &mut Random::new(seed), |turn| {
                seen.push(turn);
                Ok::<(), ()>(())
            });
            assert_eq!(done, Ok(()));
            seen
        };
        let seen = turns(3);
        for (round, of_round) in seen.chunks(4).enumerate() {
            assert!(
                of_round.iter().enumerate().all(|(place, turn)| (turn.round, turn.place) == (round, place))
            );
            let mut arms: Vec<usize> = of_round.iter().map(|turn| turn.arm).collect();
            arms.sort_unstable();
            assert_eq!(arms, [0, 1, 1, 4]);
        }
        assert_eq!((seen.len(), turns(3) == seen, turns(4) == seen), (80, true, false));
    }

    #[test]
    fn the_first_error_ends_it() {
        let mut ran = 0;
        let done = rounds(5, &[0, 1], &mut Random::new(1), |turn| {
            ran += 1;
            if turn.round == 1 { Err("stopped") } else { Ok(()) }
        });
        assert_eq!((done, ran), (Err("stopped"), 3));
    }
}
