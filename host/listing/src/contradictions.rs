//! Figures that the rest of their section refutes: storage used against segments, requests, threads.
//!
//! ```text
//! 41 segments of 32K, none freed, 126,464 bytes used     a digit is missing, or a line is another report's
//! ```
//!
//! Invariant: a figure is refuted only if no program can produce it, with room for headers, packing and fragments: the
//! published 27,949 segments of 32K that held 819,229,056 bytes are sound.
//! Not here: contradictions that also decide the label of a number (`figures`).

use crate::doubts::drop_refuted;
use crate::model::StorageReport;
use crate::sections::{Field, Kind};

/// Segments that are full or fragmented hold at most this multiple of the storage used.
const FRAGMENTS: u64 = 8;
const M: u64 = 1 << 20;

type Refuted = Vec<(Vec<Field>, String)>;

/// The contradictions within a section: the fields, and the reason.
///
/// `own`: of a report of underbar. There the total has the storage of enclaves and additional heaps, whose segments are elsewhere, and a
/// segment of HEAP(AUTO) has any size.
pub(crate) fn refuted(kind: Kind, own: bool, figure: &dyn Fn(Field) -> Option<u64>) -> Refuted {
    let mut found = Refuted::new();
    for field in [Field::Initial, Field::Increment, Field::Total] {
        if let Some(value) = figure(field).filter(|value| !value.is_multiple_of(8)) {
            found.push((vec![field], format!("{} is {value}, no multiple of 8", field.label())));
        }
    }
    // The library's own heaps are not always counted by requests.
    let is_counted =
        !own && matches!(kind, Kind::Heap | Kind::Heap24 | Kind::User64 | Kind::User31 | Kind::User24);
    if let (true, Some(total), Some(gets)) = (is_counted, figure(Field::Total), figure(Field::Gets))
        && (total == 0) != (gets == 0)
    {
        let words = format!("{total} bytes used in {gets} requests: both cannot be");
        found.push((vec![Field::Total, Field::Gets], words));
    }
    let segments = figure(Field::Allocated).filter(|_| !own || !is_heap(kind));
    if let (Some(total), Some(increment), Some(segments), Some(0)) =
        (figure(Field::Total), figure(Field::Increment), segments, figure(Field::Freed))
        && segments.saturating_sub(2).saturating_mul(increment) / FRAGMENTS > total
    {
        let words = format!("{segments} segments of {increment} bytes, none freed, cannot hold only {total}");
        found.push((vec![Field::Total, Field::Allocated, Field::Increment], words));
    }
    // Without the number of freed ones only requests bound the number of segments: each but the first is got for a request.
    if let (true, Some(gets), Some(segments), None) =
        (is_counted, figure(Field::Gets), segments, figure(Field::Freed))
        && segments.saturating_sub(2) > gets
    {
        let words = format!("{segments} segments for {gets} requests: both cannot be");
        found.push((vec![Field::Allocated, Field::Gets], words));
    }
    if let (Some(total), Some(initial), Some(1)) = (figure(Field::Total), figure(Field::Initial), segments)
        && total / 2 > initial
        // Of HEAP with an initial size of 0 the first segment has the size of the increment.
        && !(initial == 0 && kind != Kind::User64 && figure(Field::Increment).is_some_and(|next| total <= next))
    {
        let words = format!("one segment of {initial} bytes cannot hold {total}");
        found.push((vec![Field::Total, Field::Allocated, Field::Initial], words));
    }
    if let (Some(total), Some(suggested)) = (figure(Field::Total), figure(Field::Suggested))
        && (suggested / 2 > total.saturating_add(M) || suggested.saturating_add(M) < total / 2)
    {
        let words = format!("{total} bytes used do not make an initial size of {suggested}: both cannot be");
        found.push((vec![Field::Total, Field::Suggested], words));
    }
    if let (Kind::Stack, Some(0), Some(segments @ 1..)) = (kind, figure(Field::AnyThread), segments) {
        let words = format!("nothing used in {segments} segments: both cannot be");
        found.push((vec![Field::AnyThread, Field::AllThreads, Field::Allocated], words));
    }
    found
}

/// Whether the section is one of a heap with a total.
fn is_heap(kind: Kind) -> bool {
    kind.row().is_some_and(|row| row.fields.contains(&Field::Total))
}

/// The contradictions between the number of threads and stacks: the sum is at most the largest times the number.
pub(crate) fn by_threads(report: &mut StorageReport) {
    let Some(threads) =
        report.threads.as_ref().filter(|threads| !threads.likely).map(|threads| threads.value)
    else {
        return;
    };
    let mut sections = std::mem::take(&mut report.sections);
    let stacks = |kind: Kind| matches!(kind, Kind::Stack | Kind::ThreadStack | Kind::LibStack);
    for section in sections.iter_mut().filter(|section| stacks(section.kind)) {
        let figure = |field: Field| section.any(field).map(|figure| figure.value);
        if let (Some(all), Some(any)) = (figure(Field::AllThreads), figure(Field::AnyThread))
            && all > any.saturating_mul(threads)
        {
            let words = format!("{threads} threads of at most {any} bytes each do not use {all} together");
            drop_refuted(report, section, vec![(vec![Field::AllThreads, Field::AnyThread], words)]);
        }
    }
    report.sections = sections;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(kind: Kind, figures: &[(Field, u64)], expect: usize) {
        let figure =
            |field: Field| figures.iter().find(|(known, _)| *known == field).map(|(_, value)| *value);
        assert_eq!(refuted(kind, false, &figure).len(), expect, "{figures:?}");
    }

    fn heap(initial: u64, increment: u64, total: u64, gets: u64, allocated: u64, expect: usize) {
        let figures = [
            (Field::Initial, initial),
            (Field::Increment, increment),
            (Field::Total, total),
            (Field::Gets, gets),
            (Field::Allocated, allocated),
            (Field::Freed, 0),
        ];
        check(Kind::Heap, &figures, expect);
    }

    /// Where the number of freed segments cannot be read.
    fn segments(gets: u64, allocated: u64) -> [(Field, u64); 3] {
        [(Field::Total, 818_334_944), (Field::Gets, gets), (Field::Allocated, allocated)]
    }

    #[test]
    fn what_no_program_can_bring_about_is_refuted() {
        heap(32768, 32768, 130_048, 4_800, 44, 1);
        heap(32768, 32768, 1_048, 4_800, 44, 1);
        heap(32768, 32768, 1_300_480, 0, 44, 1);
        heap(32768, 32768, 0, 4_800, 1, 1);
        heap(3276, 32768, 30_000, 10, 2, 1);
        heap(0, 32768, 200_000, 10, 1, 1);
        heap(32768, 32768, 900_000, 10, 1, 1);
        let bar = |total, suggested| [(Field::Total, total), (Field::Suggested, suggested)];
        check(Kind::Heap, &segments(50_002, 60_000), 1);
        check(Kind::User64, &bar(3_000_000, 50 << 20), 1);
        check(Kind::Stack, &[(Field::AnyThread, 0), (Field::Allocated, 2)], 1);
    }

    /// A program whose enclaves have most of its storage.
    #[test]
    fn the_total_of_our_own_heap_has_that_of_other_heaps() {
        let figures =
            [(Field::Initial, 0), (Field::Increment, 0), (Field::Total, 5 << 20), (Field::Allocated, 1)];
        let figure =
            |field: Field| figures.iter().find(|(known, _)| *known == field).map(|(_, value)| *value);
        assert_eq!(
            (refuted(Kind::Heap, false, &figure).len(), refuted(Kind::Heap, true, &figure).len()),
            (1, 0)
        );
    }

    #[test]
    fn what_can_be_is_not() {
        heap(32768, 32768, 819_229_056, 50_002, 27_949, 0);
        heap(32768, 32768, 1_300_480, 4_800, 44, 0);
        // The last segment may be nearly empty, and a segment may be as large as a request.
        heap(32768, 16 << 20, 40_000, 70, 2, 0);
        heap(32768, 32768, 64 << 20, 3, 4, 0);
        heap(32768, 32768, 0, 0, 0, 0);
        heap(0, 32768, 20_000, 5, 1, 0);
        let bar = |total, suggested| [(Field::Total, total), (Field::Suggested, suggested)];
        check(Kind::Heap, &segments(4, 6), 0);
        check(Kind::AnyHeap, &segments(4, 60), 0);
        check(Kind::User64, &bar(3_000_000, 3 << 20), 0);
        check(Kind::User64, &bar(0, 1 << 20), 0);
        check(Kind::LibStack, &[(Field::AnyThread, 0), (Field::Allocated, 1)], 0);
    }
}
