//! A lock that threads waited for: their waits, and what its holders did.
//!
//! Not here: contention seen in samples of instructions (`contention`), and what to do about either (the rules).

use crate::figure::Figure;

/// The figures of one lock in one process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lock {
    /// Its variable, or the call that first waited for it.
    pub name: String,
    /// Acquisitions that did not succeed at once.
    pub contended: Figure,
    /// Their waits together, in nanoseconds.
    pub waited: Figure,
    /// The longest wait, in nanoseconds.
    pub longest: Figure,
    /// Contended acquisitions that were got by looking again, without sleep.
    pub spun: Figure,
    /// Processor time spent on looking again, in nanoseconds.
    pub spin: Figure,
    /// Times that it was unlocked while others waited.
    pub given_up: Figure,
    /// Those of them in which the same thread had also unlocked it the time before.
    pub same_holder: Figure,
    /// Times that its holder was seen in a system call.
    pub blocked: Figure,
}
