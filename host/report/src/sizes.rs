//! Requests by size: the rows of one process, or of several added up.
//!
//! ```text
//! "sizes": {"up_to_64": 40000, "up_to_1024": 2}       larger than the row below it, up to so many bytes
//! ```
//!
//! In JSON a row has the key of the ledger's table, and rows without requests are left out. A row that is not in the table counts
//! in the row that holds its limit, so a report with other rows can be read.
//!
//! Invariant: after an orderly end the rows together are `heap.gets`.
//! Not here: the table of rows (`underbar_ledger::sizes`), and lines for people ([`crate::request_sizes`]).

use std::collections::BTreeMap;

use serde::de::{Deserialize, Deserializer};
use serde::ser::{Serialize, SerializeMap, Serializer};
use underbar_ledger::SlotView;
use underbar_ledger::sizes::{ROWS, Row, TABLE};

/// The beginning of a row's name; its limit follows.
const UP_TO: &str = "up_to_";

/// Requests of each row of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sizes([u64; ROWS]);

impl Sizes {
    /// No requests.
    #[must_use]
    pub fn none() -> Self {
        Self([0; ROWS])
    }

    /// The requests of a slot.
    #[must_use]
    pub fn of_slot(slot: &SlotView<'_>) -> Self {
        Self(std::array::from_fn(|row| slot.requests(row)))
    }

    /// The requests of a row of the table; 0 if there is no such row.
    #[must_use]
    pub fn get(&self, row: usize) -> u64 {
        self.0.get(row).copied().unwrap_or(0)
    }

    /// Adds requests to the row that holds this size.
    pub fn add(&mut self, size: u64, requests: u64) {
        let row = TABLE.iter().position(|row| size <= row.limit).unwrap_or(ROWS - 1);
        self.0[row] = self.0[row].saturating_add(requests);
    }

    /// Adds the requests of another process.
    pub fn fold(&mut self, other: &Sizes) {
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine = mine.saturating_add(*theirs);
        }
    }

    /// All requests.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.iter().fold(0, |sum, row| sum.saturating_add(*row))
    }

    /// The rows with requests, smallest first.
    pub fn rows(&self) -> impl DoubleEndedIterator<Item = (&'static Row, u64)> {
        TABLE.iter().zip(self.0).filter(|(_, requests)| *requests > 0)
    }
}

/// Adds figures that may not be known: what one of the two does not know is taken from the other.
pub fn fold(mine: &mut Option<Sizes>, theirs: Option<&Sizes>) {
    match (mine, theirs) {
        (Some(mine), Some(theirs)) => mine.fold(theirs),
        (mine @ None, Some(theirs)) => *mine = Some(theirs.clone()),
        (_, None) => {}
    }
}

/// The name of a row in its object.
fn name(row: &Row) -> &'static str {
    crate::figures::split(row.key).1
}

impl Serialize for Sizes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (row, requests) in self.rows() {
            map.serialize_entry(name(row), &requests)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Sizes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut sizes = Sizes::none();
        for (name, requests) in BTreeMap::<String, u64>::deserialize(deserializer)? {
            if let Some(limit) = name.strip_prefix(UP_TO).and_then(|limit| limit.parse().ok()) {
                sizes.add(limit, requests);
            }
        }
        Ok(sizes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::sizes as of;

    #[test]
    fn json_has_the_rows_with_requests_by_their_names() {
        let sizes = of(&[(64, 7), (49, 1), (1_000_000, 2), (u64::MAX, u64::MAX)]);
        let json = serde_json::to_value(&sizes).expect("plain");
        let expect =
            serde_json::json!({"up_to_64": 8, "up_to_1048576": 2, "up_to_140737488355328": u64::MAX});
        assert_eq!(json, expect);
        assert_eq!(serde_json::from_value::<Sizes>(json).expect("what was written"), sizes);
    }

    #[test]
    fn rows_of_another_table_are_in_the_row_that_holds_them() {
        let json = r#"{"up_to_24": 5, "up_to_32": 6, "from_9": 1, "up_to_x": 1}"#;
        assert_eq!(serde_json::from_str::<Sizes>(json).expect("tolerant"), of(&[(32, 11)]));
        for wrong in [r#"{"up_to_32": -1}"#, r#"{"up_to_32": "many"}"#, "[1]"] {
            assert!(serde_json::from_str::<Sizes>(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn processes_are_added() {
        let mut sum = None;
        fold(&mut sum, None);
        assert_eq!(sum, None);
        fold(&mut sum, Some(&of(&[(16, 3), (64, u64::MAX)])));
        fold(&mut sum, None);
        fold(&mut sum, Some(&of(&[(16, 4), (64, 1), (4096, 1)])));
        assert_eq!(sum, Some(of(&[(16, 7), (64, u64::MAX), (4096, 1)])));
        assert_eq!(sum.map(|sum| (sum.get(0), sum.get(ROWS), sum.total())), Some((7, 0, u64::MAX)));
    }
}
