//! How the heap of a program served its requests, for rules that read the model.
//!
//! Requests that cells hold are not counted by size. Known are the number of requests, the largest request, and the number of
//! requests that took a segment of their own since no increment holds them.

use underbar_ledger::Key;
use underbar_model::{Certainty, Figure, Requests, Supply};

use crate::model::Program;

/// Bytes of an extent, the element that holds small cells. Increments below it are raised for cells, too, so only a request
/// above it is large.
pub const EXTENT: u64 = 64 << 10;

/// The supply of one process of the program. None if the heap chooses its increments by itself.
#[must_use]
pub fn supply(program: &Program) -> Option<Supply> {
    let figure = |key: Key, value, certainty| Figure::counter(key.entry().key, value, certainty);
    let increment = program.counters.get(Key::HeapIncrementSize);
    let largest = program.counters.get(Key::HeapLargestRequest);
    if increment == 0 {
        return None;
    }
    // With small increments, a segment for cells is also larger than the increment.
    let is_own = largest > increment.max(EXTENT);
    let beyond = if is_own {
        let segments = program.each(Key::HeapOversizeSegments);
        figure(Key::HeapOversizeSegments, segments, Certainty::AtLeast)
    } else {
        Figure::absent("an increment holds every request")
    };
    Some(Supply {
        requests: Requests::without_rows(figure(
            Key::HeapGets,
            program.each(Key::HeapGets),
            Certainty::Certain,
        )),
        serves: figure(Key::HeapIncrementSize, increment, Certainty::Certain),
        beyond,
        largest: figure(Key::HeapLargestRequest, largest, Certainty::Certain),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn segments_for_cells_are_no_large_requests() {
        let of = |increment, largest| {
            let mut process = sample::heap("/bin/x", 1 << 20, 40, 1 << 20, (4096, increment));
            process.counters.set(Key::HeapOversizeSegments, 40);
            process.counters.set(Key::HeapLargestRequest, largest);
            let supply = supply(&sample::report(vec![process]).programs()[0])?;
            Some(supply.beyond.at_least())
        };
        assert_eq!(of(4096, 8192), Some(None));
        assert_eq!(of(4096, 1 << 20), Some(Some(40)));
        assert_eq!(of(2 << 20, 1 << 20), Some(None));
        assert_eq!(of(0, 1 << 20), None);
    }
}
