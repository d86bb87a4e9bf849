//! What every lock that is measured has: one face.
//!
//! Invariant: a lock carries nothing but itself. What it protects lies in a line of its own, for all of them.
//! Not here: the locks ([`crate::locks`]).

/// A lock.
pub trait Lock: Sync + Sized {
    /// A free one.
    fn new() -> Self;
    /// Runs `work` while holding it.
    fn with<R>(&self, work: impl FnOnce() -> R) -> R;
}
