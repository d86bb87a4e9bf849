//! The library for Rust programs.
//!
//! A [`SimpleLock`] is used like a mutex of the standard library. It needs nothing of underbar to run. If the program runs
//! under `underbar run`, the report lists the locks that threads waited for.
//!
//! ```
//! use underbar::SimpleLock;
//!
//! static COUNT: SimpleLock<u64> = SimpleLock::new(0);
//!
//! std::thread::scope(|scope| {
//!     for _ in 0..4 {
//!         scope.spawn(|| *COUNT.lock() += 1);
//!     }
//! });
//! assert_eq!(*COUNT.lock(), 4);
//! ```
//!
//! # Faults
//!
//! | error | consequence | with the feature `debug-locks` |
//! |---|---|---|
//! | lock a lock that this thread holds | it waits forever | a panic that names the place where it was taken |
//! | lock in a signal handler that interrupted the holder | the same | the same, and the signal |
//! | end a thread that holds one (by forgetting its guard) | it stays taken | a waiting thread panics, and names the holder |
//! | wait, in a child made by fork, for a lock that another thread of the parent held | waits forever | a panic that says so |
//! | unlock another thread's lock (`force_unlock` of `lock_api`) | it is released: one word has no holder | a panic, no change |
//! | unlock a lock that no thread holds (the same) | nothing | a panic |
//!
//! A lock has the same size and the same words with and without the feature; its holder is in a separate table.
//!
//! [`programs`] loads programs from libraries, runs them, and gives them back. [`heaps`] are heaps of one's own, discarded at once;
//! [`ecb`] serves all that a unit of work allocates from a heap of its own.
//! [`stack`] is a stack of frames for interpreters.
//!
//! With the feature `global-allocator`, `Alloc` is underbar's heap as the allocator of a program.
#![warn(missing_docs)]

#[cfg(feature = "global-allocator")]
mod alloc;
pub mod ecb;
mod form;
pub mod heaps;
mod library;
pub mod programs;
mod simple_lock;
pub mod stack;

#[cfg(feature = "global-allocator")]
pub use alloc::Alloc;
pub use simple_lock::{Guard, SimpleLock};
pub use stack::Stack;

/// A mutex with the guards of `lock_api`, on a simple lock; the counterpart of `parking_lot::Mutex`.
///
/// ```
/// let table = underbar::Mutex::new(vec![1, 2, 3]);
/// let last = underbar::MutexGuard::map(table.lock(), |table| table.last_mut().expect("not empty"));
/// assert_eq!(*last, 3);
/// ```
#[cfg(feature = "lock_api")]
pub type Mutex<T> = lock_api::Mutex<RawSimpleLock, T>;
/// The guard of a [`Mutex`].
#[cfg(feature = "lock_api")]
pub type MutexGuard<'a, T> = lock_api::MutexGuard<'a, RawSimpleLock, T>;
#[cfg(feature = "lock_api")]
pub use simple_lock::RawSimpleLock;
