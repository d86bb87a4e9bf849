//! Programs by the bytes that they were made from.
//!
//! ```text
//! token ── hash ──> bucket ──> program ──> program ──> ...      linked by the programs themselves
//! ```
//!
//! This search finds a program that its directory entry does not point to: two handles to one library have an entry each, and a
//! program that begins only once has one for each of its names.
//!
//! Invariant: each program with a number is in one chain, once.
//! Cost: used only by a LOAD whose own entry has no program: a hash of six words.
//! Not here: the decision which of them may be used (`load`).

use core::ptr::{NonNull, null_mut};

use underbar_sys::syscall::Errno;

use crate::arena;
use crate::library::Token;
use crate::program::Program;

/// All of them. Under the table's lock.
pub(super) struct Alike {
    buckets: *mut *mut Program,
    /// A power of two; 0: no buckets yet.
    size: usize,
    count: usize,
}

impl Alike {
    pub(super) const NONE: Alike = Alike { buckets: null_mut(), size: 0, count: 0 };

    /// The first program of the chain that contains all programs of these bytes, among others; the next one is its `alike`.
    pub(super) fn first(&self, token: &Token) -> *mut Program {
        // SAFETY: a bucket, as there are some.
        if self.size == 0 { null_mut() } else { unsafe { *self.bucket(token) } }
    }

    /// Enters a program that is in no chain.
    pub(super) fn enter(&mut self, program: NonNull<Program>) -> Result<(), Errno> {
        if self.count >= self.size {
            self.grow()?;
        }
        // SAFETY: the program is there, and so are buckets.
        unsafe {
            let bucket = self.bucket(&(*program.as_ptr()).token);
            (*program.as_ptr()).alike = *bucket;
            *bucket = program.as_ptr();
        }
        self.count += 1;
        Ok(())
    }

    /// Takes a program out of its chain, if it is in one.
    pub(super) fn forget(&mut self, program: NonNull<Program>) {
        if self.size == 0 {
            return;
        }
        // SAFETY: programs in chains are there.
        unsafe {
            let mut place = self.bucket(&(*program.as_ptr()).token);
            while let Some(one) = (*place).as_mut() {
                if *place == program.as_ptr() {
                    *place = one.alike;
                    self.count -= 1;
                    return;
                }
                place = &raw mut one.alike;
            }
        }
    }

    /// # Safety
    /// There are buckets.
    unsafe fn bucket(&self, token: &Token) -> *mut *mut Program {
        let mix = |hash: u64, word: &u64| (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        let hash = token.iter().fold(0, mix);
        // SAFETY: below `size`.
        unsafe { self.buckets.add(hash as usize & (self.size - 1)) }
    }

    fn grow(&mut self) -> Result<(), Errno> {
        let size = (self.size * 2).max(256);
        let buckets = arena::get(size * size_of::<*mut Program>())?.cast::<*mut Program>().as_ptr();
        let old = core::mem::replace(self, Alike { buckets, size, count: 0 });
        // SAFETY: room for `size` buckets; programs move from chain to chain, and the old buckets go with their size.
        unsafe {
            for bucket in 0..size {
                buckets.add(bucket).write(null_mut());
            }
            for bucket in 0..old.size {
                let mut next = *old.buckets.add(bucket);
                while let Some(program) = NonNull::new(next) {
                    next = (*program.as_ptr()).alike;
                    // There is room: nothing grows.
                    self.enter(program)?;
                }
            }
            if let Some(buckets) = NonNull::new(old.buckets) {
                arena::put(buckets.cast(), old.size * size_of::<*mut Program>());
            }
        }
        Ok(())
    }
}
