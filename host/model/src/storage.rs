//! A storage area of a program: a heap, a stack, a cache, a thread's storage.
//!
//! ```text
//! initial │ increment │ increment │ ...      segments: how many, how many of them were freed
//! used: the most at one time              requests: how often storage was asked for
//! ```
//!
//! Invariant: the figures of several runs are those of the last run for sizes, which are settings, and the largest of any run
//! for what was used.
//! Not here: requests by size (`classes`), how they are served (`supply`), and how many threads have a stack (`threads`).

use crate::figure::Figure;

/// The figures of a storage area, in one run or over several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Storage {
    /// Bytes of the first segment.
    pub initial: Figure,
    /// Bytes of each further segment, at least.
    pub increment: Figure,
    /// The most bytes used at one time; of stacks, by the thread that used most.
    pub used: Figure,
    /// Bytes used now, or at the end.
    pub used_last: Figure,
    /// Bytes that all threads used together.
    pub used_by_all: Figure,
    /// The initial size that the system itself suggests, in bytes.
    pub suggested: Figure,
    /// Segments that were allocated. A lower bound if the run with the largest use does not show its number.
    pub segments: Figure,
    /// Segments that were freed.
    pub freed: Figure,
    /// The most bytes of segments at one time.
    pub held: Figure,
    /// Bytes of segments now, or at the end.
    pub held_last: Figure,
    /// Bytes of all segments that were ever allocated.
    pub asked: Figure,
    /// Bytes of unused pages that were given back without freeing their segment.
    pub purged: Figure,
    /// Requests that got storage.
    pub requests: Figure,
}

impl Storage {
    /// An area of which nothing is known, for one reason.
    #[must_use]
    pub fn absent(why: &'static str) -> Self {
        let none = || Figure::absent(why);
        Self {
            initial: none(),
            increment: none(),
            used: none(),
            used_last: none(),
            used_by_all: none(),
            suggested: none(),
            segments: none(),
            freed: none(),
            held: none(),
            held_last: none(),
            asked: none(),
            purged: none(),
            requests: none(),
        }
    }

    /// Whether nine of ten segments that were allocated were freed.
    #[must_use]
    pub fn is_mostly_freed(&self) -> bool {
        u128::from(self.freed.value) * 10 >= u128::from(self.segments.value) * 9
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Certainty;

    #[test]
    fn nine_of_ten_freed_segments_are_most() {
        let of = |allocated, freed| {
            let figure = |value| Figure::counter("heap.segments", value, Certainty::Certain);
            let (segments, freed) = (figure(allocated), figure(freed));
            Storage { segments, freed, ..Storage::absent("not needed") }.is_mostly_freed()
        };
        assert!(of(10, 9) && of(u64::MAX, u64::MAX) && of(0, 0));
        assert!(!of(10, 8) && !of(u64::MAX, u64::MAX / 10 * 8));
    }
}
