//! The choice of an existing program for a LOAD.
//!
//! ```text
//! the entry of its name ──> its two programs, that of the requested form first
//!            '─ none usable ──> those of the same bytes (alike): LOADed by this name, or beginning only once
//! ```
//!
//! Another handle to the same library has separate entries, and a program that begins only once serves all of its names. So
//! the search covers bytes, too. A name other than the program's first name has a separate entry point.
//!
//! Invariant: a program is not given out if it belongs to a LINK alone, is ended, or is broken.
//! Not here: the next step if there is none (`load`).

use core::ptr::NonNull;

use super::Table;
use crate::library::Member;
use crate::program::{Form, Known, Program};

/// A program with one more user.
pub(super) struct Had {
    pub(super) program: NonNull<Program>,
    /// The member under its requested name, if this is not the program's name: its entry point has to be found.
    pub(super) stranger: Option<Member>,
}

impl Had {
    pub(super) fn of(program: NonNull<Program>) -> Had {
        Had { program, stranger: None }
    }
}

impl Table {
    /// A program of an entry, or of the same bytes, with one more user.
    pub(super) fn there(&mut self, known: &mut Known, form: Form, is_alone: bool) -> Option<Had> {
        let [shared, fresh] = known.programs;
        let (first, second) = if form == Form::Shared { (shared, fresh) } else { (fresh, shared) };
        for program in [first, second].into_iter().filter_map(NonNull::new) {
            if self.again(program, form, is_alone) {
                return Some(Had::of(program));
            }
        }
        let member = known.member?;
        let name = hash_of(known.name());
        for is_of_form in [true, false] {
            let mut next = self.alike.first(&member.token);
            while let Some(program) = NonNull::new(next) {
                // SAFETY: under the lock, a program in a chain exists.
                let one = unsafe { program.as_ref() };
                next = one.alike;
                let is_own = one.name == name && one.entry_at == member.entry_at;
                if one.token == member.token
                    && !one.is_broken
                    && (one.form == form) == is_of_form
                    && (one.is_for_ever() || one.name == name && !one.is_alone)
                    && self.again(program, form, is_alone)
                {
                    if is_own {
                        Table::link(program, known);
                    }
                    return Some(Had { program, stranger: (!is_own).then_some(member) });
                }
            }
        }
        None
    }

    /// Makes the entry the program's, if neither has another.
    pub(super) fn link(program: NonNull<Program>, known: &mut Known) {
        // SAFETY: under the lock; the program has a user.
        let one = unsafe { &mut *program.as_ptr() };
        if one.known.is_null()
            && let Some(place) = known.programs.get_mut(one.form as usize)
            && place.is_null()
        {
            *place = program.as_ptr();
            one.known = known;
        }
    }

    /// Adds a user to an existing program; fails if its form does not match, if another thread is ending it, or if it is in use and
    /// wanted alone. A program that begins only once serves all.
    fn again(&mut self, program: NonNull<Program>, form: Form, is_alone: bool) -> bool {
        // SAFETY: under the lock; no reference lives on.
        let one = unsafe { &mut *program.as_ptr() };
        if one.is_staged {
            if one.form != form {
                return false;
            }
            self.staged.take_out(program);
            self.statistics.hits_in_pool += 1;
        } else if one.uses == 0 && !one.is_waiting || is_alone && !one.is_for_ever() {
            return false;
        } else {
            one.is_waiting = false;
            self.statistics.hits_in_use += 1;
        }
        self.statistics.fetches += 1;
        one.uses += 1;
        one.is_alone = is_alone;
        true
    }
}

/// A name, for comparison with another name of the same bytes.
pub(super) fn hash_of(name: &[u8]) -> u64 {
    name.iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
