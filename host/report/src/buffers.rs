//! Buffers of print and work files: their sizes and use, why they were flushed, and the sizes that would do.
//!
//! ```text
//! "buffers": [{"name": "WCACHEO", "file": "/tmp/totals", "size": 307200, "used": 0, "max_used": 306947, "files": 2,
//!              "calls": 10000, "bytes": 1330000, "passed_on": 5, "flushes": {"full": 4, "close": 1}, "between_p99": 2097152,
//!              "large": 0, "plain": {"opened for appending": 1}, "not_written": 0, "error": 0}]
//!
//! suggested size:   100 x bytes/calls ── rounded up to a power of two: then at most one of a hundred calls finds the buffer full
//!                   never above what 99 of 100 forced flushes find in it: a larger buffer would not be filled
//! ```
//!
//! Names are those of Natural: PCACHE for print files, WCACHEO for all work files that are written, WCACHE01, WCACHE02, ... for each
//! that is read. A read buffer is "flushed" when it is filled anew, or dropped.
//! Not here: the layout of the report ([`crate::bus`]).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use underbar_ledger::SlotView;
use underbar_ledger::caches::{ALL_FLUSHES, ALL_PLAINS, PRINT, READ, WRITE};
use underbar_ledger::view::CacheView;

/// The smallest size that is suggested, in bytes: options are in KB.
const SMALLEST: u64 = 1 << 10;
/// Reasons that a larger buffer would have: all others force a flush however large the buffer is.
pub const FULL: &str = "full";

/// A buffer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Buffer {
    /// Its name, as BUS has it.
    pub name: String,
    /// The end of the path of the last file that it served, or left alone.
    pub file: String,
    /// Its size, in bytes; of WCACHEO that for each file.
    pub size: u64,
    /// Bytes in it at the end.
    pub used: u64,
    /// The most bytes that were in it.
    pub max_used: u64,
    /// Files that used it.
    pub files: u64,
    /// Calls of the program that it served.
    pub calls: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Calls of the kernel in their place.
    pub passed_on: u64,
    /// Flushes, by their reason.
    pub flushes: BTreeMap<String, u64>,
    /// 99 of 100 forced flushes found at most so many bytes since the one before, a power of two; null: nothing was forced.
    pub between_p99: Option<u64>,
    /// Calls that were too large for it, and went to the kernel as they are.
    pub large: u64,
    /// Files that were left alone, or made plain again, by their reason.
    pub plain: BTreeMap<String, u64>,
    /// Bytes that the kernel refused, which the program was told.
    pub not_written: u64,
    /// The number of the last error of that kind; 0: none.
    pub error: u64,
}

/// What another size would change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suggestion {
    /// Nothing was written or read: there is nothing to go by.
    Unknown,
    /// This size, in bytes: then at most one call of a hundred finds the buffer full.
    Size(u64),
    /// This size; a larger one does not help, since 99 of 100 forced flushes find at most so many bytes.
    Bounded(u64, u64),
}

impl Suggestion {
    /// The size, in bytes.
    #[must_use]
    pub fn size(self) -> Option<u64> {
        match self {
            Self::Unknown => None,
            Self::Size(size) | Self::Bounded(size, _) => Some(size),
        }
    }
}

impl Buffer {
    /// Those of a slot; none without PRINT and WORKFILE.
    pub(crate) fn of_slot(slot: &SlotView<'_>) -> Vec<Self> {
        slot.caches().map(|row| Self::of(&row)).collect()
    }

    fn of(row: &CacheView<'_>) -> Self {
        let name = match row.number() {
            PRINT => "PCACHE".to_owned(),
            WRITE => "WCACHEO".to_owned(),
            number => format!("WCACHE{:02}", number - READ + 1),
        };
        let counted = |(reason, count): (&str, u64)| (count > 0).then(|| (reason.to_owned(), count));
        let flushes = ALL_FLUSHES.iter().map(|(_, name)| *name).zip(row.flushes());
        let plain = ALL_PLAINS.iter().map(|(_, name)| *name).zip(row.plain());
        let ((calls, bytes), (not_written, error)) = (row.taken(), row.not_written());
        Self {
            name,
            file: String::from_utf8_lossy(row.name()).into_owned(),
            size: row.size(),
            used: row.used(),
            max_used: row.most(),
            files: row.files(),
            calls,
            bytes,
            passed_on: row.kernel().0,
            flushes: flushes.filter_map(counted).collect(),
            between_p99: p99(&row.forced()),
            large: row.large(),
            plain: plain.filter_map(counted).collect(),
            not_written,
            error,
        }
    }

    /// Flushes for a reason.
    #[must_use]
    pub fn flushed(&self, reason: &str) -> u64 {
        self.flushes.get(reason).copied().unwrap_or(0)
    }

    /// All flushes.
    #[must_use]
    pub fn all_flushes(&self) -> u64 {
        self.flushes.values().fold(0, |sum, flushes| sum.saturating_add(*flushes))
    }

    /// The size that would do.
    #[must_use]
    pub fn suggestion(&self) -> Suggestion {
        if self.calls == 0 || self.bytes == 0 {
            return Suggestion::Unknown;
        }
        let hundred = u128::from(self.bytes) * 100 / u128::from(self.calls);
        let rounded = |bytes: u128| {
            u64::try_from(bytes)
                .ok()
                .and_then(u64::checked_next_power_of_two)
                .unwrap_or(1 << 63)
                .max(SMALLEST)
        };
        let wanted = rounded(hundred);
        // Without forced flushes nothing is in the buffer that was not written.
        let most = self.between_p99.unwrap_or(self.bytes);
        let bound = rounded(u128::from(most));
        match self.between_p99 {
            Some(most) if bound < wanted => Suggestion::Bounded(bound, most),
            _ => Suggestion::Size(wanted.min(bound)),
        }
    }
}

/// The power of two that 99 of 100 do not exceed, of counts by powers of two. None where nothing was counted.
fn p99(counts: &[u64]) -> Option<u64> {
    let all = counts.iter().fold(0_u64, |sum, count| sum.saturating_add(*count));
    let mut left = all - all / 100;
    for (power, count) in (0..63_u32).zip(counts) {
        left = left.saturating_sub(*count);
        if left == 0 && all > 0 {
            return Some(1 << power);
        }
    }
    None
}

/// The schema.
pub(crate) fn schema() -> Value {
    let number = |words: &str| json!({"type": "integer", "minimum": 0, "description": words});
    json!({
        "type": "array",
        "description": "Buffers of its print and work files, where options give it some (WORKFILE, PRINT); absent where it has none.",
        "items": {
            "type": "object",
            "properties": {
                "name": {"type": "string", "description":
                    "PCACHE of print files, WCACHEO of all work files that are written, WCACHE01 and so on of each that is read."},
                "file": {"type": "string", "description": "The end of the path of the last file that it served, or left alone."},
                "size": number("Its size in bytes; of WCACHEO that for each file."),
                "used": number("Bytes in it at the end."),
                "max_used": number("The most bytes that were in it."),
                "files": number("Files that used it."),
                "calls": number("Calls of the program that it served."),
                "bytes": number("Their bytes."),
                "passed_on": number("Calls of the kernel in their place."),
                "flushes": {"type": "object", "additionalProperties": {"type": "integer", "minimum": 0}, "description":
                    "Flushes by their reason; full: for a buffer that is written that it had no room, for one that is read that it was read to its end."},
                "between_p99": {"type": ["integer", "null"], "minimum": 0, "description":
                    "99 of 100 forced flushes found at most so many bytes since the one before, a power of two; null where none was forced."},
                "large": number("Calls that were too large for it, and went to the kernel as they are."),
                "plain": {"type": "object", "additionalProperties": {"type": "integer", "minimum": 0}, "description":
                    "Files that were left alone, or made plain again, by their reason."},
                "not_written": number("Bytes that the kernel refused, which the program was told."),
                "error": number("The number of the last error of that kind; 0: none."),
            },
            "required": [
                "name", "file", "size", "used", "max_used", "files", "calls", "bytes", "passed_on", "flushes", "between_p99", "large",
                "plain", "not_written", "error",
            ],
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(calls: u64, bytes: u64, between_p99: Option<u64>) -> Suggestion {
        Buffer { calls, bytes, between_p99, ..Buffer::default() }.suggestion()
    }

    #[test]
    fn at_most_one_of_a_hundred_calls_finds_it_full() {
        // 100 lines of 133 bytes, and what 10,000 of them take.
        assert_eq!(of(10_000, 1_330_000, None), Suggestion::Size(16 << 10));
        let flushes = 1_330_000 / (16 << 10);
        assert!(flushes <= 10_000 / 100 && 1_330_000 / (8 << 10) > 10_000 / 100);
        assert_eq!(of(10_478, 838_240, None), Suggestion::Size(8 << 10));
        assert_eq!(of(0, 0, None), Suggestion::Unknown);
        assert_eq!(of(1, u64::MAX, None).size(), Some(1 << 63));
    }

    #[test]
    fn ninety_nine_of_a_hundred_are_below_the_power() {
        let mut counts = [0; 28];
        assert_eq!(p99(&counts), None);
        counts[8] = 99;
        counts[20] = 1;
        assert_eq!(p99(&counts), Some(256));
        counts[20] = 2;
        assert_eq!(p99(&counts), Some(1 << 20));
        assert_eq!(p99(&[0, 0, 1 << 60, 1 << 60]), Some(8));
    }

    #[test]
    fn what_is_flushed_anyway_bounds_it() {
        assert_eq!(of(10_000, 1_330_000, Some(500_000)), Suggestion::Size(16 << 10));
        assert_eq!(of(10_000, 1_330_000, Some(3 * 133)), Suggestion::Bounded(1 << 10, 399));
        assert_eq!(of(10_000, 1_330_000, Some(5_000)), Suggestion::Bounded(8 << 10, 5_000));
        // Few lines in all: no more than they take.
        assert_eq!(of(10, 1_330, None), Suggestion::Size(2 << 10));
    }
}
