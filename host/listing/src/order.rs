//! The order of sections in a report, and the part of a report that is handed over.
//!
//! Not here: recognition of sections (`headings`), their lines (`storage`).

use crate::model::{Item, StorageReport};
use crate::sections::Kind;

/// Whether a section comes after one that it should precede.
pub(crate) fn goes_back(highest: Option<Kind>, kind: Kind) -> bool {
    !matches!(kind, Kind::XplinkStack | Kind::XplinkThreadStack)
        && highest.is_some_and(|highest| kind < highest)
}

/// Whether the second heading shows that the first, which may have lost its beginning, is whole: a report has its sections
/// in one order, in which the second does not follow any other section whose title ends like the first.
pub(crate) fn follows(first: Kind, next: Kind) -> bool {
    matches!(
        (first, next),
        (Kind::Stack, Kind::ThreadStack)
            | (Kind::ThreadStack, Kind::XplinkStack)
            | (Kind::Heap, Kind::Heap24 | Kind::AnyHeap)
            | (Kind::Stack64, Kind::ThreadStack64)
    )
}

/// Removes unusable parts: a spoiled report is handed over with its doubts only.
pub(crate) fn hand_over(mut report: StorageReport, out: &mut dyn FnMut(Item)) {
    if !report.is_sound() {
        report.sections.clear();
        report.ranges.clear();
        report.pools.clear();
        (report.threads, report.larger_than_cells) = (None, None);
    }
    out(Item::Storage(report));
}
