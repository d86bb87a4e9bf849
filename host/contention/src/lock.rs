//! The interface of every lock that is measured.
//!
//! Invariant: a lock contains nothing but itself. The data that it protects has a cache line of its own, for all locks.
//! Not here: the locks ([`crate::locks`]).

/// A lock.
pub trait Lock: Sync + Sized {
    /// Makes a free lock.
    fn new() -> Self;
    /// Runs `work` while holding it.
    fn with<R>(&self, work: impl FnOnce() -> R) -> R;
}
