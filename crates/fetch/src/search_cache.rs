//! The results of searches in a PDSE that serve later ones: inner nodes of the directory, and the member found last. A search
//! then reads one page, however many members there are, and the following fetch reads none.
//!
//! ```text
//! levels of the tree     places kept
//! 0, 1                   none: the root is the leaf
//! 2                      one: the root
//! 3 and more             64, got at the first search
//! ```
//!
//! Invariant: places are allocated once, given back when the library closes, and never moved. An open library is one
//! generation, so kept nodes stay valid. No thread waits: if another thread has the places, a search works without them.
//! Not here: the format of a node, and when it is read (`underbar_partitioned::pdse::Kept`).

use core::ptr::NonNull;

use underbar_partitioned::pdse::{Kept, Member};
use underbar_sys::lock::Lock;

use crate::arena;

/// For trees of three levels and more: 100,000 members have some thirteen inner nodes.
const MOST: usize = 64;

/// Nothing at first.
pub struct Remembered {
    places: Lock<Places>,
    last: Lock<Option<Member>>,
}

#[derive(Clone, Copy)]
struct Places(Option<(NonNull<Kept>, usize)>);

// SAFETY: the places are touched under the lock alone.
unsafe impl Send for Places {}

impl Default for Remembered {
    fn default() -> Self {
        Self { places: Lock::new(Places(None)), last: Lock::new(None) }
    }
}

impl Remembered {
    /// Runs with the places for a tree of so many levels; with none if there is no storage, or if another thread
    /// searches.
    pub fn inner<R>(&self, levels: u8, work: impl FnOnce(&mut [Kept]) -> R) -> R {
        let wanted = match levels {
            0 | 1 => 0,
            2 => 1,
            _ => MOST,
        };
        let Some(mut places) = self.places.try_lock() else { return work(&mut []) };
        *places = Places(places.0.or_else(|| made(wanted)));
        let Some((first, count)) = places.0 else { return work(&mut []) };
        // SAFETY: `made` wrote so many, and no other thread has them while this one holds the lock.
        work(unsafe { core::slice::from_raw_parts_mut(first.as_ptr(), count) })
    }

    /// The member that was found last.
    pub fn last(&self) -> Option<Member> {
        *self.last.try_lock()?
    }

    /// Records that this one was found.
    pub fn found(&self, member: Option<Member>) {
        if let Some(mut last) = self.last.try_lock() {
            *last = member;
        }
    }
}

/// So many empty places; none if there is no storage.
fn made(count: usize) -> Option<(NonNull<Kept>, usize)> {
    let first = (count > 0).then(|| arena::get(count * size_of::<Kept>()).ok())??.cast::<Kept>();
    for place in 0..count {
        // SAFETY: room for `count`; pieces are aligned to their size, at most to a page.
        unsafe { first.add(place).write(Kept::EMPTY) };
    }
    Some((first, count))
}

impl Drop for Remembered {
    fn drop(&mut self) {
        // No thread has it any more; but in a forked child, a thread that does not exist there may have had it.
        if let Some(mut places) = self.places.try_lock()
            && let Some((first, count)) = places.0.take()
        {
            // SAFETY: from `made`, with this size; every user has put them back.
            unsafe { arena::put(first.cast(), count * size_of::<Kept>()) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST, Remembered};

    #[test]
    fn places_are_got_once_and_by_the_height_of_the_tree() {
        let flat = Remembered::default();
        assert_eq!(flat.inner(1, |kept| kept.len()), 0);
        let small = Remembered::default();
        assert_eq!(small.inner(2, |kept| kept.len()), 1);
        let large = Remembered::default();
        let first = large.inner(3, |kept| (kept.as_ptr(), kept.len()));
        assert_eq!((first.1, large.inner(3, |kept| (kept.as_ptr(), kept.len()))), (MOST, first));
    }
}
