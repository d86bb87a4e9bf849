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
//! [`programs`] loads programs from libraries, runs them, and gives them back.
#![warn(missing_docs)]

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
