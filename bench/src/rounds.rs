//! What is asked of a benchmark that always measures all it has (`load`, `command`): how many rounds, and whether they count.

/// What the command line asks for.
#[derive(Debug, Clone)]
pub struct Request {
    /// Rounds, at least one.
    pub rounds: usize,
    /// Three rounds and less work in each: to see that it runs.
    pub quick: bool,
    /// The seed of the order.
    pub seed: u64,
    /// Whether text, CSV and JSON are written below `bench/runs`.
    pub record: bool,
}

impl Request {
    /// So many rounds, and the rest as usual.
    #[must_use]
    pub fn of(rounds: usize) -> Self {
        Self { rounds, quick: false, seed: 1, record: true }
    }

    /// Quickly, and unrecorded.
    pub fn quick(&mut self) {
        (self.rounds, self.quick, self.record) = (3, true, false);
    }
}
