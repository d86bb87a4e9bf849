//! Contention for locks in the code of one object, by samples of its instructions.
//!
//! Not here: what to do about it (the rules).

use crate::figure::Figure;

/// The samples of one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contention {
    /// All samples; a lower bound if digits may be missing.
    pub samples: Figure,
    /// All samples, with the digits that may be missing: an upper bound.
    pub samples_at_most: Figure,
    /// Samples of instructions that try to take a lock.
    pub tries: Figure,
}
