//! A storage area of a program: a heap, a stack, a cache, a thread's storage.
//!
//! ```text
//! initial │ increment │ increment │ ...      segments: how many, how many of them were freed
//! used: the most at one time              requests: how often storage was asked for
//! ```
//!
//! Invariant: the figures of several runs are those of the last run for sizes, which are settings, and the largest of any run
//! for what was used.
//! Not here: requests by size (`classes`), and how they are served (`supply`).

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
    /// Bytes that all threads used together.
    pub used_by_all: Figure,
    /// The initial size that the system itself suggests, in bytes.
    pub suggested: Figure,
    /// Segments that were allocated. A lower bound if the run with the largest use does not show its number.
    pub segments: Figure,
    /// Segments that were freed.
    pub freed: Figure,
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
            used_by_all: none(),
            suggested: none(),
            segments: none(),
            freed: none(),
            requests: none(),
        }
    }
}
