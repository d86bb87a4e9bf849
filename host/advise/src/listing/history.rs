//! The use of several runs of one program: the largest, the usual, and a peak that fades.
//!
//! ```text
//! faded: each later run reduces the excess over its own need by a sixteenth: by half after 11 runs
//! ```
//!
//! Invariant: median <= nine in ten <= largest, and every one of them is at least the smallest of the runs.
//! Why it fades: a size that only ever grows, as in automatic storage tuning under CICS, keeps for ever what one run
//! needed once.
//! Not here: the advice based on it (`rules`).

/// The smallest number of runs for which percentiles are meaningful.
pub(crate) const ENOUGH: usize = 10;

/// One figure over all runs, in the order of the listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct History {
    /// The number of runs that have the figure.
    pub runs: usize,
    /// The largest of all.
    pub largest: u64,
    /// Half of the runs need no more.
    pub median: u64,
    /// Nine runs in ten need no more.
    pub usual: u64,
    /// The largest, with less weight for earlier runs.
    pub faded: u64,
}

impl History {
    /// From the figures of the runs, the oldest first.
    pub(crate) fn of(figures: &[u64]) -> History {
        let faded = figures.iter().fold(0_u64, |peak, &figure| {
            let excess = peak.saturating_sub(figure);
            figure.max(peak - excess.div_ceil(16))
        });
        let mut sorted = figures.to_vec();
        sorted.sort_unstable();
        let rank = |hundredths: usize| {
            let rank = (sorted.len() * hundredths).div_ceil(100).max(1);
            sorted.get(rank - 1).copied().unwrap_or(0)
        };
        History {
            runs: figures.len(),
            largest: sorted.last().copied().unwrap_or(0),
            median: rank(50),
            usual: rank(90),
            faded,
        }
    }

    /// The need to plan for: with few runs the largest, with many the fading peak, but no less than the usual.
    pub(crate) fn need(&self) -> u64 {
        if self.runs < ENOUGH { self.largest } else { self.faded.max(self.usual) }
    }

    /// Whether the largest is rare: there are ten runs or more, and nine in ten need half of it or less.
    pub(crate) fn is_rare(&self) -> bool {
        self.runs >= ENOUGH && self.largest / 2 >= self.usual
    }

    /// In words: `12 bytes used in one run`.
    pub(crate) fn words(&self) -> String {
        let Self { runs, largest, median, usual, .. } = *self;
        match runs {
            0 | 1 => format!("{largest} bytes used in one run"),
            2..ENOUGH => format!("{largest} bytes used at most in {runs} runs"),
            _ => format!(
                "{largest} bytes used at most in {runs} runs, of which half need no more than {median} and nine in ten no \
                 more than {usual}; with older peaks fading {}",
                self.need()
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_the_nearest_rank() {
        let history = History::of(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 100]);
        assert_eq!((history.median, history.usual, history.largest), (5, 9, 100));
        assert!(history.is_rare());
        assert_eq!(History::of(&[5, 1, 9]).need(), 9);
        assert_eq!(History::of(&[]).largest, 0);
    }

    #[test]
    fn a_peak_fades_and_a_new_one_counts_whole() {
        let old: Vec<u64> = std::iter::once(1600).chain(std::iter::repeat_n(160, 40)).collect();
        let new: Vec<u64> = old.iter().rev().copied().collect();
        assert!(History::of(&old).need() < 400, "{:?}", History::of(&old));
        assert_eq!(History::of(&new).need(), 1600);
        let half: Vec<u64> = std::iter::once(1600).chain(std::iter::repeat_n(0, 11)).collect();
        assert!((700..=800).contains(&History::of(&half).faded));
    }
}
