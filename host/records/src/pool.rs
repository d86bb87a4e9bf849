//! Blocks on their way from the reader to the sorters and back.
//!
//! ```text
//! reader ── give ──> ready ── take ──> a sorter
//!    ^─── used ──── used blocks <── give_back ──┘
//! ```
//!
//! Cost: one wait and one wake for each block at most, as a sorter that waits holds no lock.
//!
//! Invariant: no more blocks exist than the reader was allowed to make.
//! Not here: what is done with a block (`collect`).

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::blocks::Block;

/// The blocks that are not in anyone's hands.
#[derive(Default)]
pub struct Pool {
    /// The reader and the sorters change it, under the lock.
    state: Mutex<State>,
    /// There is a block to sort, or there will be none.
    ready: Condvar,
    /// There is a used block, or a sorter has failed.
    freed: Condvar,
}

#[derive(Default)]
struct State {
    ready: VecDeque<(usize, Block)>,
    used: Vec<Block>,
    is_closed: bool,
    has_failed: bool,
}

/// What the reader may do next.
pub enum Next {
    /// Fill a block: a used one, or a new one.
    Fill(Option<Block>),
    /// A sorter has failed.
    Stop,
}

impl Pool {
    /// A block for the reader. It is new if it is `may_make`; otherwise the reader waits for a used one.
    pub fn next(&self, may_make: bool) -> Next {
        let mut state = self.lock();
        loop {
            if state.has_failed {
                return Next::Stop;
            }
            match state.used.pop() {
                None if !may_make => {
                    state = self.freed.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
                used => return Next::Fill(used),
            }
        }
    }

    /// Gives a block to the sorters.
    pub fn give(&self, number: usize, block: Block) {
        self.lock().ready.push_back((number, block));
        self.ready.notify_one();
    }

    /// No more blocks will be given.
    pub fn close(&self) {
        self.lock().is_closed = true;
        self.ready.notify_all();
    }

    /// A block to sort; None: there are no more.
    pub fn take(&self) -> Option<(usize, Block)> {
        let mut state = self.lock();
        loop {
            if state.has_failed {
                return None;
            }
            match state.ready.pop_front() {
                None if !state.is_closed => {
                    state = self.ready.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
                next => return next,
            }
        }
    }

    /// Gives a sorted block back to the reader.
    pub fn give_back(&self, block: Block) {
        self.lock().used.push(block);
        self.freed.notify_one();
    }

    /// A sorter has failed: all others end, and so does the reader.
    pub fn fail(&self) {
        self.lock().has_failed = true;
        self.ready.notify_all();
        self.freed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells the pool that its holder failed, unless it ended well: also by a panic.
pub struct Guard<'a> {
    pool: &'a Pool,
    is_well: bool,
}

impl<'a> Guard<'a> {
    /// For a sorter that begins.
    pub fn new(pool: &'a Pool) -> Guard<'a> {
        Guard { pool, is_well: false }
    }

    /// The sorter has ended well.
    pub fn ends_well(mut self) {
        self.is_well = true;
    }
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if !self.is_well {
            self.pool.fail();
        }
    }
}
