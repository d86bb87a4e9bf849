//! Multi-fetch in the summary: what was read ahead, and why cursors were left alone.
//!
//! ```text
//!   fetches   20,001 rows asked for one by one: 19,999 came from 2,502 larger fetches
//!   fetches   2 cursors left alone: not READ ONLY
//!   fetches   20,001 rows asked for one by one, 300 ms in that; MULTIFETCH(100) spares up to 19,800 of the waits   (SWITCHES only)
//! ```
//!
//! Not here: the counting (`runtime`), and the rules by which cursors are left alone (`underbar_multifetch`).

use underbar_ledger::Key;
use underbar_model::switches::LARGEST_FACTOR;

use crate::figures::Figures;
use crate::model::Report;
use crate::page::{Line, labelled};
use crate::units::{count, counted, nanoseconds};

/// The counters of cursors that were left alone, in the order in which their reasons are asked.
const REASONS: [Key; 10] = [
    Key::FetchNotReadOnly,
    Key::FetchDeclaration,
    Key::FetchLimit,
    Key::FetchVolatileType,
    Key::FetchNode,
    Key::FetchTemporary,
    Key::FetchFunction,
    Key::FetchOperator,
    Key::FetchDoubtful,
    Key::FetchConnection,
];

/// The most frequent reason why cursors were left alone, with its words.
pub(crate) fn main_reason(counters: &Figures) -> Option<(Key, &'static str)> {
    let most = REASONS.into_iter().max_by_key(|&key| (counters.get(key), core::cmp::Reverse(key)))?;
    // The label of a reason is "cursors left alone: the reason".
    let reason = most.entry().label.split_once(": ").map_or("", |(_, reason)| reason);
    (counters.get(most) > 0).then_some((most, reason))
}

/// None without MULTIFETCH and SWITCHES, and where no row was asked for one by one; otherwise one or two lines.
pub(crate) fn lines(report: &Report) -> Vec<Line> {
    let of = |key| report.tree.counters.get(key);
    let asked = of(Key::FetchAsked);
    if asked == 0 {
        return Vec::new();
    }
    let rows = format!("{} asked for one by one", counted(asked, "row", "rows"));
    let mut lines = Vec::new();
    let sent = of(Key::FetchSent);
    if sent > 0 {
        let served = count(of(Key::FetchServed));
        let text = format!("{rows}: {served} came from {}", counted(sent, "larger fetch", "larger fetches"));
        lines.push(labelled("fetches", text));
    } else if of(Key::FetchWaited) > 0 {
        let spared = asked - asked.div_ceil(LARGEST_FACTOR);
        let text = format!(
            "{rows}, {} in that; MULTIFETCH({LARGEST_FACTOR}) spares up to {} of the waits",
            nanoseconds(of(Key::FetchWaited)),
            count(spared)
        );
        lines.push(labelled("fetches", text));
    } else {
        lines.push(labelled("fetches", format!("{rows}, none read ahead")));
    }
    if let Some((key, reason)) = main_reason(&report.tree.counters) {
        let all: u64 = REASONS.into_iter().map(of).fold(0, u64::saturating_add);
        let others = if all > of(key) { ", mostly" } else { "" };
        let text = format!("{} left alone{others}: {reason}", counted(all, "cursor", "cursors"));
        lines.push(labelled("fetches", text));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn text(counters: &[(Key, u64)]) -> String {
        lines(&sample::with(counters)).iter().map(Line::text).collect()
    }

    #[test]
    fn rows_and_reasons() {
        assert_eq!(text(&[]), "");
        assert_eq!(
            text(&[(Key::FetchAsked, 20_001), (Key::FetchWaited, 300_000_000)]),
            "  fetches   20,001 rows asked for one by one, 300 ms in that; MULTIFETCH(100) spares up to 19,800 of the waits\n"
        );
        assert_eq!(
            text(&[(Key::FetchAsked, 20_001), (Key::FetchServed, 19_999), (Key::FetchSent, 2_502)]),
            "  fetches   20,001 rows asked for one by one: 19,999 came from 2,502 larger fetches\n"
        );
        assert_eq!(
            text(&[
                (Key::FetchAsked, 10),
                (Key::FetchAlone, 8),
                (Key::FetchNotReadOnly, 2),
                (Key::FetchNode, 1)
            ]),
            "  fetches   10 rows asked for one by one, none read ahead\n  \
             fetches   3 cursors left alone, mostly: not READ ONLY\n"
        );
    }
}
