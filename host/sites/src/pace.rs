//! How soon the rings are looked at again: before the fullest of them is a quarter full, if samples come as they did.
//!
//! ```text
//! words in use at a look, and the time since the one before ─> time until a quarter is in use ─> FLOOR ..= twice the last pause, CEILING
//! ```
//!
//! Copies of stacks are long: some tens of them fill a ring. A program that samples little is looked at five times a second, which costs
//! nothing that can be seen.
//!
//! Invariant: a pause is in [`FLOOR`]..=[`CEILING`].
//! Not here: looking (`ring_sources`).

use std::time::Duration;

use underbar_ledger::sites::RING_WORDS;

/// The shortest pause.
pub const FLOOR: Duration = Duration::from_millis(2);
/// The longest pause.
pub const CEILING: Duration = Duration::from_millis(200);
/// The first one: nothing is known of the program yet.
const FIRST: Duration = FLOOR;
/// The part of a ring that may be in use at a look.
const WANTED: usize = RING_WORDS / 4;

/// The pauses of one run.
#[derive(Clone, Copy, Debug)]
pub struct Pace(Duration);

impl Default for Pace {
    fn default() -> Self {
        Self(FIRST)
    }
}

impl Pace {
    /// The next pause, if the fullest ring had so many words in use, `since` the look before.
    pub fn next(&mut self, words: usize, since: Duration) -> Duration {
        let longest = (self.0 * 2).min(CEILING);
        let wanted = since.as_secs_f64() * WANTED as f64 / words.max(1) as f64;
        // A conversion that does not fit, and a time without an end, are both long.
        let wanted = Duration::try_from_secs_f64(wanted).unwrap_or(CEILING);
        self.0 = if words == 0 { longest } else { wanted.clamp(FLOOR, longest.max(FLOOR)) };
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_that_fills_is_looked_at_sooner() {
        let mut pace = Pace::default();
        // Half full in 2 ms.
        assert_eq!(pace.next(RING_WORDS / 2, FIRST), FLOOR);
        assert_eq!(pace.next(RING_WORDS, FLOOR), FLOOR);
        // An eighth: twice as long is soon enough.
        let next = pace.next(RING_WORDS / 8, Duration::from_millis(3));
        assert_eq!(next, FLOOR * 2, "it grows twofold at most");
        assert_eq!(pace.next(RING_WORDS / 8, Duration::from_millis(3)), Duration::from_millis(6));
    }

    #[test]
    fn a_program_without_samples_is_left_alone() {
        let mut pace = Pace::default();
        let pauses: Vec<u128> = (0..8).map(|_| pace.next(0, FIRST).as_millis()).collect();
        assert_eq!(pauses, [4, 8, 16, 32, 64, 128, 200, 200]);
        for (words, since) in [(usize::MAX, Duration::MAX), (1, Duration::MAX), (1, Duration::ZERO)] {
            assert!((FLOOR..=CEILING).contains(&pace.next(words, since)), "{words} {since:?}");
        }
    }
}
