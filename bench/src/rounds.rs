//! The request to a benchmark that always measures everything (`load`, `command`): its rounds, and whether they are recorded.

/// The request on the command line.
#[derive(Debug, Clone)]
pub struct Request {
    /// Rounds, at least one.
    pub rounds: usize,
    /// Three rounds and less work in each: a quick check.
    pub quick: bool,
    /// The seed of the order.
    pub seed: u64,
    /// Whether text, CSV and JSON are written below `bench/runs`.
    pub record: bool,
}

impl Request {
    /// This many rounds, and defaults for the rest.
    #[must_use]
    pub fn of(rounds: usize) -> Self {
        Self { rounds, quick: false, seed: 1, record: true }
    }

    /// Quickly, and unrecorded.
    pub fn quick(&mut self) {
        (self.rounds, self.quick, self.record) = (3, true, false);
    }
}
