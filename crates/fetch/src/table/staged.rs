//! The pool's list: unused images, kept for the next LOAD.
//!
//! ```text
//! first (used longest ago) <──> ... <──> last (used last)        LOAD takes out, DELETE puts in at the end
//!   '─ of the first 32, the one whose LOADs cost least for its size goes when the bound is exceeded
//! ```
//!
//! Invariant: `bytes` is the sum of the programs' sizes; a program in the list is `is_staged`, and no other is.
//! Not here: the kept state of an image, and its restoration (`pool`).

use core::ptr::{NonNull, null_mut};

use super::{Options, Table};
use crate::program::{Form, Kind, Program};

/// The number of least recently used programs that are compared when the pool has to give one up.
const COMPARED: usize = 32;

/// The list. Under the table's lock.
pub(super) struct Staged {
    first: *mut Program,
    last: *mut Program,
    /// The bytes of its images.
    pub(super) bytes: u64,
}

impl Staged {
    pub(super) const EMPTY: Staged = Staged { first: null_mut(), last: null_mut(), bytes: 0 };

    /// Adds a program to the pool, as the most recently used one.
    pub(super) fn put_in(&mut self, program: NonNull<Program>) {
        // SAFETY: the program is in no list; neighbours in the list exist.
        unsafe {
            let one = program.as_ptr();
            (*one).is_staged = true;
            ((*one).before, (*one).next) = (self.last, null_mut());
            match self.last.as_mut() {
                Some(last) => last.next = one,
                None => self.first = one,
            }
            self.last = one;
            self.bytes += (*one).bytes;
        }
    }

    /// Removes a program from the pool.
    pub(super) fn take_out(&mut self, program: NonNull<Program>) {
        // SAFETY: the program is in the pool's list, as are its neighbours.
        unsafe {
            let one = program.as_ptr();
            (*one).is_staged = false;
            let (before, next) = ((*one).before, (*one).next);
            match before.as_mut() {
                Some(before) => before.next = next,
                None => self.first = next,
            }
            match next.as_mut() {
                Some(next) => next.before = before,
                None => self.last = before,
            }
            self.bytes -= (*one).bytes;
        }
    }

    /// The program to be given up first; none if all are resident.
    fn worst(&self) -> Option<NonNull<Program>> {
        let mut worst: Option<(u128, NonNull<Program>)> = None;
        let mut at = self.first;
        let mut compared = 0;
        while let Some(program) = NonNull::new(at)
            && compared < COMPARED
        {
            // SAFETY: programs of the list, and the entries that point to them, exist.
            let one = unsafe { program.as_ref() };
            at = one.next;
            // SAFETY: the same.
            let fetches = match unsafe { one.known.as_ref() } {
                Some(known) if known.is_resident => continue,
                // It cannot go while threads have objects of it.
                _ if one.pending() > 0 => continue,
                Some(known) => known.fetches,
                None => 0,
            };
            compared += 1;
            let gain = u128::from(fetches) * u128::from(one.cost) * 4096 / u128::from(one.bytes.max(1));
            if worst.is_none_or(|(least, _)| gain < least) {
                worst = Some((gain, program));
            }
        }
        worst.map(|(_, program)| program)
    }
}

impl Table {
    /// Drops images until the pool is within a bound: of the least recently used ones, the one whose LOADs cost least for its
    /// size.
    pub(super) fn shrink(&mut self, bound: u64) {
        while self.staged.bytes > bound {
            let Some(program) = self.staged.worst() else { return };
            self.staged.take_out(program);
            Table::unlink(program);
            self.statistics.dropped += 1;
            // SAFETY: taken out of the pool just now, so it has no other user.
            unsafe { self.leave(program) };
        }
    }

    /// Should a program without users be kept?
    pub(super) fn is_worth_keeping(&self, program: &Program) -> bool {
        // SAFETY: an entry stays while a program points to it; an image as long as its program.
        unsafe {
            let (Some(known), Kind::Own(image)) = (program.known.as_ref(), program.kind) else {
                return false;
            };
            let Options { pool_bytes, keep_after, .. } = self.options;
            let is_wanted = known.is_resident
                || pool_bytes > 0 && known.fetches >= keep_after && program.bytes <= pool_bytes;
            let can_be = match program.form {
                Form::Shared => true,
                Form::Fresh => program.copy.is_some() && image.as_ref().pending() == 0,
            };
            is_wanted && can_be
        }
    }
}
