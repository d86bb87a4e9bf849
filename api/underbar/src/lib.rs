//! What Rust programs build on.
//!
//! A [`SimpleLock`] is used like a mutex of the standard library. It needs nothing of underbar to run; when the program
//! runs under `underbar run`, the locks that somebody waited for stand in the report.
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
//! | what must not be done | what comes of it | with the feature `debug-locks` |
//! |---|---|---|
//! | lock what this thread holds | it waits for ever | a panic that says where it was taken |
//! | lock in a signal handler that interrupted the holder | the same | the same, and the signal |
//! | end a thread that holds one (by forgetting its guard) | it stays taken | who waits for it panics, and says whose it was |
//! | wait, in a child made by fork, for what another thread of the parent held | waits for ever | a panic that says so |
//! | unlock what another thread holds (`force_unlock` of `lock_api`) | it is given up: one word cannot tell whose it is | a panic, and nothing is done |
//! | unlock what nobody holds (the same) | nothing | a panic |
//!
//! A lock has the same size and the same words with and without the feature; who holds it stands in a table beside it.
//!
//! [`programs`] loads programs from libraries, runs them, and gives them back.
#![warn(missing_docs)]

mod form;
pub mod programs;
mod simple_lock;

pub use simple_lock::{Guard, SimpleLock};

/// A mutex with the guards of `lock_api`, on a simple lock: what `parking_lot::Mutex` is on its own.
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
