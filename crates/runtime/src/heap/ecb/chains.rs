//! Chains of free buffers that the threads of an ECB share: what a thread leaves, another one takes as a whole.
//!
//! ```text
//! stand up, a long list:  put ──> heads[list] -> chain -> chain        under the lock of the control block
//! an empty bin:           bit of the list set? ── no ──> carve          without the lock
//!                              | yes
//!                              v
//!                         take <── heads[list]                          under the lock
//!
//! heads[0] -> chain of list 9 ──next_list──> chain of list 23 ──next_list──> nil     lists without a head of their own,
//!                 | next_chain                   | next_chain                        the one used last first
//!                 v                              v
//!             chain of list 9                   nil
//! ```
//!
//! Invariant: a chain is in one list, or one thread's. A list that has a chain has its bit set whenever nobody holds the lock, and
//! each list is among those behind `heads[0]` once at most.
//! Not here: the pieces of a chain (`piece`), and a thread's own lists (`seat`).

use core::ptr::null_mut;

use underbar_sys::lock::Lock;
use underbar_sys::planted;
use underbar_sys::sync::atomic::{AtomicU64, Ordering};

use super::piece::Piece;

/// Available lists of a class.
pub const AVAILABLE: usize = 5;

/// Which lists have chains. Written under the lock; read without it, relaxed: a hint.
pub struct Bits(AtomicU64);

impl Bits {
    /// No list has any.
    #[cfg(not(loom))]
    pub const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// No list has any.
    #[cfg(loom)]
    pub fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// All lists are empty. No thread is inside.
    pub fn clear(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// Does no list have any, as far as it is known?
    pub fn is_empty(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }

    fn has(&self, list: usize) -> bool {
        self.0.load(Ordering::Relaxed) & bit(list) != 0
    }
}

fn bit(list: usize) -> u64 {
    1 << list
}

/// The lists.
pub struct Chains {
    /// 0: of all lists that are not available lists, one chain of each.
    heads: [*mut Piece; AVAILABLE + 1],
}

// SAFETY: followed under the lock only.
unsafe impl Send for Chains {}

impl Chains {
    /// None.
    pub const NONE: Self = Self { heads: [null_mut(); AVAILABLE + 1] };

    /// Moves a list without a head of its own to the front of the others. False if it has no chain.
    ///
    /// # Safety
    /// As [`Self::put`].
    unsafe fn bring_forward(&mut self, list: usize, list_of: impl Fn(*mut Piece) -> usize) -> bool {
        let mut link: *mut *mut Piece = &raw mut self.heads[0];
        // SAFETY: chains in the lists are ours, under the lock.
        unsafe {
            while !(*link).is_null() {
                let chain = *link;
                if list_of(chain) == list {
                    *link = (*chain).next_list.get();
                    (*chain).next_list.set(self.heads[0]);
                    self.heads[0] = chain;
                    return true;
                }
                link = (*chain).next_list.place();
            }
        }
        false
    }

    /// Puts a chain into a list.
    ///
    /// # Safety
    /// The pieces are free, of that list, and the caller's. The bits are those of these lists, and `list_of` tells the list of a free
    /// piece.
    pub unsafe fn put(
        &mut self,
        bits: &Bits,
        list: usize,
        chain: *mut Piece,
        list_of: impl Fn(*mut Piece) -> usize,
    ) {
        // Threads that see the bit wait for the lock. One step both tells and sets: a look of its own would hide others from the model.
        let was_set =
            !planted!(forgotten_bit) && bits.0.fetch_or(bit(list), Ordering::Relaxed) & bit(list) != 0;
        // SAFETY: the caller's promise.
        unsafe {
            if list <= AVAILABLE {
                (*chain).next_chain.set(self.heads[list]);
                self.heads[list] = chain;
            } else {
                let first = self.heads[0];
                let is_known = was_set && self.bring_forward(list, list_of);
                let first = if is_known { self.heads[0] } else { first };
                (*chain).next_chain.set(if is_known { first } else { null_mut() });
                (*chain).next_list.set(if is_known { (*first).next_list.get() } else { first });
                self.heads[0] = chain;
            }
        }
    }

    /// Takes a chain out of a list, and whether it was the last one; null if there is none.
    fn take(&mut self, list: usize, list_of: impl Fn(*mut Piece) -> usize) -> (*mut Piece, bool) {
        // SAFETY: chains in the lists are ours, under the lock.
        unsafe {
            if list <= AVAILABLE {
                let chain = self.heads[list];
                if !chain.is_null() {
                    self.heads[list] = (*chain).next_chain.get();
                }
                return (chain, self.heads[list].is_null());
            }
            if !self.bring_forward(list, list_of) {
                return (null_mut(), true);
            }
            let chain = self.heads[0];
            let (next, others) = ((*chain).next_chain.get(), (*chain).next_list.get());
            if next.is_null() {
                self.heads[0] = others;
            } else {
                (*next).next_list.set(others);
                self.heads[0] = next;
            }
            (chain, next.is_null())
        }
    }
}

/// A chain of a list, for a thread whose bin is empty; null if there is none. `chains_of` are the lists behind the lock, and
/// `list_of` tells the list of a free piece.
#[inline]
pub fn take<S>(
    lock: &Lock<S>,
    bits: &Bits,
    list: usize,
    chains_of: impl Fn(&mut S) -> &mut Chains,
    list_of: impl Fn(*mut Piece) -> usize,
) -> *mut Piece {
    if !bits.has(list) {
        return null_mut();
    }
    let mut shared = lock.lock();
    let (chain, was_last) = chains_of(&mut shared).take(list, list_of);
    if planted!(late_clear) {
        drop(shared);
    }
    if was_last {
        bits.0.fetch_and(!bit(list), Ordering::Relaxed);
    }
    chain
}

/// The model: every interleaving of threads that leave chains and threads that take them. It must find the planted faults
/// `late_clear` (the bit is cleared when the lock is free again) and `forgotten_bit`.
#[cfg(all(test, loom))]
mod model {
    use super::super::super::cell::Cell;
    use super::*;
    use loom::sync::Arc;
    use loom::thread;
    use underbar_sys::planted::finds;
    use underbar_sys::sync::Plain;

    struct Ecb {
        lock: Lock<Chains>,
        bits: Bits,
        pieces: [Piece; 2],
    }

    // SAFETY: a piece is the thread's that leaves or took it; loom checks it.
    unsafe impl Send for Ecb {}
    // SAFETY: as above.
    unsafe impl Sync for Ecb {}

    impl Ecb {
        fn new() -> Arc<Self> {
            let piece = |_| Piece {
                cell: Cell { next: Plain::new(null_mut()) },
                depth: Plain::new(1),
                next_chain: Plain::new(null_mut()),
                next_list: Plain::new(null_mut()),
            };
            Arc::new(Self {
                lock: Lock::new(Chains::NONE),
                bits: Bits::new(),
                pieces: std::array::from_fn(piece),
            })
        }

        fn piece(&self, which: usize) -> *mut Piece {
            (&raw const self.pieces[which]).cast_mut()
        }

        /// A thread that wrote to a buffer of it, and leaves.
        fn leave(&self, which: usize, list: usize) {
            let piece = self.piece(which);
            // SAFETY: the piece is this thread's until it is put.
            unsafe {
                (*piece).depth.set(which + 10);
                self.lock.lock().put(&self.bits, list, piece, |_| list);
            }
        }

        /// Takes a chain: how many buffers it has, and which it is.
        fn take(&self, list: usize) -> Option<usize> {
            let chain = take(&self.lock, &self.bits, list, |chains| chains, |_| list);
            if chain.is_null() {
                return None;
            }
            // SAFETY: the chain is this thread's.
            let depth = unsafe {
                let depth = (*chain).depth.get();
                (*chain).depth.set(0);
                depth
            };
            assert!(chain == self.piece(depth - 10), "each chain is taken once, as it was left");
            Some(depth - 10)
        }
    }

    fn model(check: impl Fn() + Send + Sync + 'static) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        finds(&["late_clear", "forgotten_bit"], || builder.check(check));
    }

    /// Two threads leave a chain each while a third takes one; what is left is found afterwards.
    fn no_chain_is_lost(list: usize) {
        model(move || {
            let ecb = Ecb::new();
            let leaving: [_; 2] = std::array::from_fn(|which| {
                let ecb = ecb.clone();
                thread::spawn(move || ecb.leave(which, list))
            });
            let mut found: std::vec::Vec<_> = ecb.take(list).into_iter().collect();
            for thread in leaving {
                thread.join().expect("a thread");
            }
            while let Some(which) = ecb.take(list) {
                found.push(which);
            }
            found.sort_unstable();
            assert_eq!(found, [0, 1]);
        });
    }

    #[test]
    fn loom_no_chain_of_an_available_list_is_lost() {
        no_chain_is_lost(2);
    }

    #[test]
    fn loom_no_chain_of_other_sizes_is_lost() {
        no_chain_is_lost(AVAILABLE + 3);
    }
}
