//! The pool's list: images that nobody uses, kept for the next LOAD.
//!
//! ```text
//! first (used longest ago) <──> ... <──> last (used last)        LOAD takes out, DELETE puts in at the end
//!   '─ of the first 32, the one that its LOADs have paid for least, by its room, goes when the bound is passed
//! ```
//!
//! Invariant: `bytes` is the sum of the programs' own; a program in the list is `is_staged`, and no other is.
//! Not here: what is kept of an image's state, and how it is brought back (`pool`).

use core::ptr::{NonNull, null_mut};

use super::{Options, Table};
use crate::program::{Form, Kind, Program};

/// Of the programs that were not used for longest, so many are compared when the pool has to give one up.
const COMPARED: usize = 32;

/// The list. Under the table's lock.
pub(super) struct Staged {
    first: *mut Program,
    last: *mut Program,
    /// What its images take.
    pub(super) bytes: u64,
}

impl Staged {
    pub(super) const EMPTY: Staged = Staged { first: null_mut(), last: null_mut(), bytes: 0 };

    /// Into the pool, as the one used last.
    pub(super) fn put_in(&mut self, program: NonNull<Program>) {
        // SAFETY: the program is in no list; neighbours in the list are there.
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

    /// Out of the pool.
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

    /// The one to be given up first; nothing where all are resident.
    fn worst(&self) -> Option<NonNull<Program>> {
        let mut worst: Option<(u128, NonNull<Program>)> = None;
        let mut at = self.first;
        let mut compared = 0;
        while let Some(program) = NonNull::new(at)
            && compared < COMPARED
        {
            // SAFETY: programs of the list, and the entries that lead to them, are there.
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
    /// Drops images until the pool keeps to a bound: of those not used for longest, the one whose LOADs have cost least for
    /// the room that it takes.
    pub(super) fn shrink(&mut self, bound: u64) {
        while self.staged.bytes > bound {
            let Some(program) = self.staged.worst() else { return };
            self.staged.take_out(program);
            Table::unlink(program);
            self.statistics.dropped += 1;
            // SAFETY: taken out of the pool just now, so nobody has it.
            unsafe { self.leave(program) };
        }
    }

    /// Is a program that nobody uses any more to be kept?
    pub(super) fn is_worth_keeping(&self, program: &Program) -> bool {
        // SAFETY: an entry stays while a program leads to it; an image as long as its program.
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
