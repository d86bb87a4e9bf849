//! The order of sections in a report, and what of a report is handed over.
//!
//! Not here: how sections are told apart (`headings`), which lines they have (`storage`).

use crate::model::{Item, StorageReport};
use crate::sections::Kind;

/// Whether a section stands behind one that it should stand before.
pub(crate) fn goes_back(highest: Option<Kind>, kind: Kind) -> bool {
    !matches!(kind, Kind::XplinkStack | Kind::XplinkThreadStack)
        && highest.is_some_and(|highest| kind < highest)
}

/// Whether the second heading shows that the first, which may have lost its beginning, has not: a report has its sections in
/// one order, in which the second does not follow any other whose title ends like the first.
pub(crate) fn follows(first: Kind, next: Kind) -> bool {
    matches!(
        (first, next),
        (Kind::Stack, Kind::ThreadStack)
            | (Kind::ThreadStack, Kind::XplinkStack)
            | (Kind::Heap, Kind::Heap24 | Kind::AnyHeap)
            | (Kind::Stack64, Kind::ThreadStack64)
    )
}

/// What nothing may be built upon is not handed over: of a report that is spoiled there are only its doubts.
pub(crate) fn hand_over(mut report: StorageReport, out: &mut dyn FnMut(Item)) {
    if !report.is_sound() {
        report.sections.clear();
        report.ranges.clear();
        report.pools.clear();
        (report.threads, report.larger_than_cells) = (None, None);
    }
    out(Item::Storage(report));
}
