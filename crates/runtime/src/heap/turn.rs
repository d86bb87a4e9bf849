//! Turns of tests: the map and the default heap are the process's, so tests that use them run one at a time.
//!
//! Invariant: who ends its turn has settled its figures. Its thread may end later, and changes no figure then.

use std::sync::{Mutex, MutexGuard, PoisonError};

pub struct Turns(Mutex<()>);

pub struct Turn {
    _lock: MutexGuard<'static, ()>,
}

pub static ONE_AT_A_TIME: Turns = Turns(Mutex::new(()));

impl Turns {
    /// Waits for the turn. A test that failed has ended its own.
    pub fn lock(&'static self) -> Turn {
        Turn { _lock: self.0.lock().unwrap_or_else(PoisonError::into_inner) }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        super::settle();
    }
}

/// Settles, when no thread of another test that has just ended is in its way.
pub fn settle() {
    while !super::settle() {
        std::thread::yield_now();
    }
}
