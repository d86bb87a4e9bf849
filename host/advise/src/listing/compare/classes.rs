//! Classes of two tables of frequencies, cut into the ranges that both know.
//!
//! ```text
//! old   (..128]              (128..256] (256..384] (384..512]
//! new   (..32](32..64](64..128] (128..256] (256....512]
//! both  (..128]              (128..256] (256....512]           sums of whole classes, never parts of one
//! ```
//!
//! Invariant: a range is compared only if classes of both tables fill it without a gap. The start of a class is known only if
//! the row before it was read: a row after a damaged one belongs to no range. If percentages show that rows are missing, and no
//! published layout excludes rows between two given ones, the count is a span.
//! Not here: the choice of the two tables.

use std::collections::BTreeSet;

use underbar_listing::model::ztpf::{Class, Frequencies, Table};
use underbar_listing::{Doubt, Doubtful};

/// Observations above `from`, up to `limit`; None means no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    /// None: from the lowest value.
    pub from: Option<u64>,
    /// None: without limit.
    pub limit: Option<u64>,
    /// Observations before and after: at least, at most.
    pub counts: [(u64, Option<u64>); 2],
}

/// The common ranges of two tables.
pub(super) struct Common<'a> {
    /// Smallest first.
    pub ranges: Vec<Range>,
    /// Whether a range consists of several classes of one of them.
    pub merged: bool,
    /// Rows of each that are in no range.
    pub left: [Vec<&'a Class>; 2],
}

/// A point on a scale that also has a point below and a point above all limits.
type At = (u8, u64);
const BELOW: At = (0, 0);
const ABOVE: At = (2, 0);

struct Piece {
    from: At,
    limit: At,
    count: u64,
    /// No row can be missing within it.
    whole: bool,
}

/// The classes that fill a range.
struct Filled {
    count: u64,
    pieces: usize,
    whole: bool,
}

/// Compares the classes of two tables.
pub(super) fn common<'a>(old: &'a Frequencies, new: &'a Frequencies) -> Common<'a> {
    let pieces = [pieces(old), pieces(new)];
    let [old_limits, new_limits] =
        [&pieces[0], &pieces[1]].map(|all| all.iter().flat_map(|(_, one)| [one.from, one.limit]).collect());
    let both: Vec<At> = BTreeSet::intersection(&old_limits, &new_limits).copied().collect();
    let (mut ranges, mut merged) = (Vec::new(), false);
    let mut within: Vec<(At, At)> = Vec::new();
    for (from, limit) in both.windows(2).map(|two| (two[0], two[1])) {
        let (Some(one), Some(two)) = (fill(&pieces[0], from, limit), fill(&pieces[1], from, limit)) else {
            continue;
        };
        merged |= one.pieces > 1 || two.pieces > 1;
        within.push((from, limit));
        let value = |at: At| (at.0 == 1).then_some(at.1);
        ranges.push(Range {
            from: value(from),
            limit: value(limit),
            counts: [span(old, &one), span(new, &two)],
        });
    }
    let left = |report: &'a Frequencies, pieces: &[(usize, Piece)]| -> Vec<&'a Class> {
        let is_used = |(_, one): &&(usize, Piece)| {
            within.iter().any(|(from, limit)| *from <= one.from && one.limit <= *limit)
        };
        let used: BTreeSet<usize> = pieces.iter().filter(is_used).map(|(at, _)| *at).collect();
        report.rows.iter().enumerate().filter(|(at, _)| !used.contains(at)).map(|(_, row)| row).collect()
    };
    let left = [left(old, &pieces[0]), left(new, &pieces[1])];
    Common { ranges, merged, left }
}

fn span(report: &Frequencies, filled: &Filled) -> (u64, Option<u64>) {
    let most = match report.missing() {
        _ if filled.whole => Some(0),
        (0, Some(_)) => Some(0),
        (_, most) => most,
    };
    (filled.count, most.map(|most| filled.count.saturating_add(most)))
}

/// Whether these limits are adjacent in a published layout.
fn neighbours(report: &Frequencies, from: At, limit: At) -> bool {
    const FINE: [u64; 8] = [0, 32, 64, 128, 256, 512, 768, 1024];
    const KB: u64 = 1024;
    let is_there = |limit: u64| report.rows.iter().any(|row| !row.over && row.limit == limit);
    let two = [from, limit].map(|at| at.1);
    match report.table {
        Table::RequestSizes if is_there(32) => FINE.windows(2).any(|known| known == two),
        // Classes of 128 are the only ones with this limit.
        Table::RequestSizes => is_there(384) && two[1] - two[0] == 128,
        Table::Preallocated | Table::Preallocated64 if from == BELOW => limit == (1, 0),
        Table::Virtual | Table::Virtual64 if from == BELOW => false,
        _ => two == [0, 24 * KB] || two[1] - two[0] == 8 * KB,
    }
}

/// The rows whose limits are both certain, with their numbers.
fn pieces(report: &Frequencies) -> Vec<(usize, Piece)> {
    let (mut all, mut before, mut line) = (Vec::new(), Some(BELOW), report.title.line);
    for (at, row) in report.rows.iter().enumerate() {
        let here = row.count.evidence.line;
        let lost = report.doubts.iter().any(|doubt| line < doubt.line && doubt.line < here && is_row(doubt));
        // The row above the last class states its own start.
        let from = if row.over { Some((1, row.limit)) } else { before.filter(|_| !lost) };
        let limit = if row.over { ABOVE } else { (1, row.limit) };
        if let Some(from) = from {
            let whole = row.over || neighbours(report, from, limit);
            all.push((at, Piece { from, limit, count: row.count.value, whole }));
        }
        (before, line) = (Some((1, row.limit)), here);
    }
    all
}

/// Whether a doubt can be about a row: all except those that apply only to present sizes.
fn is_row(doubt: &Doubt) -> bool {
    !matches!(doubt.kind, Doubtful::CutLine | Doubtful::NoValue)
}

/// The classes that fill a range, if there is no gap.
fn fill(pieces: &[(usize, Piece)], from: At, limit: At) -> Option<Filled> {
    let (mut at, mut filled) = (from, Filled { count: 0, pieces: 0, whole: true });
    for (_, one) in pieces.iter().filter(|(_, one)| from <= one.from && one.limit <= limit) {
        if one.from != at {
            return None;
        }
        at = one.limit;
        filled.count = filled.count.saturating_add(one.count);
        filled.pieces += 1;
        filled.whole &= one.whole;
    }
    (at == limit).then_some(filled)
}

impl Range {
    /// In bytes, or in KB if `kb`.
    pub(super) fn label(self, kb: bool) -> String {
        let value = |bytes: u64| if kb { format!("{} KB", bytes >> 10) } else { bytes.to_string() };
        match (self.from, self.limit) {
            (None, Some(limit)) => format!("up to {}", value(limit)),
            (Some(from), Some(limit)) => format!("above {}, up to {}", value(from), value(limit)),
            (Some(from), None) => format!("above {}", value(from)),
            (None, None) => "all".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use underbar_listing::Item;
    use underbar_listing::model::ztpf::Found;

    fn table(rows: &str) -> Frequencies {
        let text = format!(
            "TPF ECB HEAP REQUEST SIZE REPORT\nCLASS UPPER FREQUENCY PERCENT\nLIMIT OBSERVED OF TOTAL\n{rows}"
        );
        let found = underbar_listing::read(text.as_bytes()).into_iter().find_map(|item| match item {
            Item::Ztpf(Found::Frequencies(found)) => Some(found),
            _ => None,
        });
        found.expect("a table")
    }

    fn check(old: &str, new: &str, ranges: &[(&str, [u64; 2])], left: [&[u64]; 2]) {
        let (old, new) = (table(old), table(new));
        let common = common(&old, &new);
        let counts = |range: &Range| range.counts.map(|(least, _)| least);
        let got: Vec<_> = common.ranges.iter().map(|range| (range.label(false), counts(range))).collect();
        let expect: Vec<_> = ranges.iter().map(|(label, counts)| ((*label).to_owned(), *counts)).collect();
        assert_eq!(got, expect);
        let limits = common.left.map(|rows| rows.iter().map(|row| row.limit).collect::<Vec<_>>());
        assert_eq!(limits, left);
    }

    const FINE: &str = "32 10 10.00%\n64 20 20.00%\n128 30 30.00%\n256 40 40.00%\n";

    #[test]
    fn classes_of_two_layouts_are_summed_up_to_limits_that_both_have() {
        check(
            FINE,
            FINE,
            &[
                ("up to 32", [10, 10]),
                ("above 32, up to 64", [20, 20]),
                ("above 64, up to 128", [30, 30]),
                ("above 128, up to 256", [40, 40]),
            ],
            [&[], &[]],
        );
        let coarse = "128 50 50.00%\n256 45 45.00%\n384 5 5.00%\n";
        check(coarse, FINE, &[("up to 128", [50, 60]), ("above 128, up to 256", [45, 40])], [&[384], &[]]);
    }

    #[test]
    fn a_row_behind_a_damaged_one_is_in_no_range() {
        let damaged = FINE.replace("64 20 20", "64 2O 20");
        check(
            &damaged,
            FINE,
            &[("up to 32", [10, 10]), ("above 128, up to 256", [40, 40])],
            [&[128], &[64, 128]],
        );
        // The remaining rows begin like the old layout, but are not taken for it.
        let damaged = damaged.replace("32 10 10", "32 l0 10");
        let coarse = "128 50 50.00%\n256 50 50.00%\n";
        check(&damaged, coarse, &[("above 128, up to 256", [40, 50])], [&[128], &[128]]);
    }

    #[test]
    fn rows_that_may_be_missing_in_between_make_spans() {
        // 30 of 100, or 31 of 101, are missing: between 32 and 128, or after the last row.
        let lost = table("32 10 10.00%\n128 30 30.00%\n256 30 30.00%\n");
        let fine = table(FINE);
        let common = common(&lost, &fine);
        let counts: Vec<_> = common.ranges.iter().map(|range| range.counts[0]).collect();
        assert_eq!(counts, [(10, Some(10)), (30, Some(61)), (30, Some(30))]);
        // Its first rows are gone: the start of its first class is unknown.
        let lost = table("128 30 30.00%\n256 30 30.00%\n512 10 10.00%\n");
        let coarse = table("128 50 50.00%\n256 45 45.00%\n384 5 5.00%\n");
        let counts: Vec<_> = super::common(&lost, &coarse).ranges.iter().map(|range| range.counts).collect();
        assert_eq!(counts[0], [(30, Some(61)), (50, Some(50))]);
    }
}
