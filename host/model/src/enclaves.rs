//! The enclaves of one program: heaps that come and go one after another, each a storage area.
//!
//! ```text
//! LINK job ─> enclave ─> its heap is freed     LINK job ─> enclave ─> ...      created: how many there were
//! ```
//!
//! Invariant: sizes, and what was used and held, are those of the largest enclave; segments, bytes and requests are those of all.
//! Not here: heaps that a program creates itself, about which no rule is.

use crate::figure::Figure;
use crate::storage::Storage;

/// The enclaves of one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Enclaves {
    /// The program that is LINKed.
    pub name: String,
    /// How many enclaves there were.
    pub created: Figure,
    /// Their heaps.
    pub heap: Storage,
}

impl Enclaves {
    /// Adds enclaves of another name or process; the name stays.
    pub fn add(&mut self, other: &Self) {
        self.created.add(&other.created);
        let (mine, theirs) = (&mut self.heap, &other.heap);
        for (mine, theirs) in [
            (&mut mine.initial, &theirs.initial),
            (&mut mine.increment, &theirs.increment),
            (&mut mine.used, &theirs.used),
            (&mut mine.held, &theirs.held),
            (&mut mine.used_by_all, &theirs.used_by_all),
            (&mut mine.suggested, &theirs.suggested),
        ] {
            mine.raise(theirs);
        }
        for (mine, theirs) in [
            (&mut mine.used_last, &theirs.used_last),
            (&mut mine.segments, &theirs.segments),
            (&mut mine.freed, &theirs.freed),
            (&mut mine.held_last, &theirs.held_last),
            (&mut mine.asked, &theirs.asked),
            (&mut mine.purged, &theirs.purged),
            (&mut mine.requests, &theirs.requests),
        ] {
            mine.add(theirs);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Certainty;

    #[test]
    fn sizes_are_those_of_the_largest_and_segments_those_of_all() {
        let figure = |value| Figure::counter("test", value, Certainty::Certain);
        let of = |name: &str, created, initial, segments| Enclaves {
            name: name.to_owned(),
            created: figure(created),
            heap: Storage { initial: figure(initial), segments, ..Storage::absent("not needed") },
        };
        let mut sum = of("first", 3, 4096, Figure::absent("not needed"));
        sum.add(&of("second", 4, 1024, figure(9)));
        sum.add(&of("third", 1, 8192, figure(1)));
        let heap = &sum.heap;
        assert_eq!((sum.created.value, heap.initial.value, heap.segments.value), (8, 8192, 10));
        assert_eq!((sum.name.as_str(), heap.used.certain()), ("first", None));
    }
}
