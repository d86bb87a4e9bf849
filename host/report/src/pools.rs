//! Heap pools (HEAPPOOLS) of a process, and its requests by ranges of 8 bytes.
//!
//! ```text
//! "pools": {"initial_size": 32768, "larger_requests": 3, "each": [{"cell": 32, "element": 32, "percent": 10, ...}]}
//! "ranges": {"up_to_8": 40, "up_to_24": 2}          more than the range below it, up to so many bytes
//! ```
//!
//! Both are absent for a process without HEAPPOOLS; ranges are counted under RPTSTG(ON) only.
//!
//! Invariant: the pools are in the order of their sizes, and those of one size follow each other.
//! Not here: the sections of the storage report ([`crate::le`]), requests by sizes of cells ([`crate::sizes`]).

use std::collections::BTreeMap;

use serde::de::{Deserialize, Deserializer};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value, json};
use underbar_ledger::SlotView;
use underbar_ledger::pools::STEP;
use underbar_model::cells::{Range, suggested};
use underbar_model::{Certainty, Figure};

/// The pools of a process.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Pools {
    /// The initial size of HEAP of which extents are a percentage; null for HEAPPOOLS64, whose extents are a number of cells.
    pub initial_size: Option<u64>,
    /// Requests that were larger than the largest cell.
    pub larger_requests: u64,
    /// The pools.
    pub each: Vec<Pool>,
}

/// One pool.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Pool {
    /// Bytes of a cell as it was set.
    pub cell: u64,
    /// Bytes that a cell takes.
    pub element: u64,
    /// The percentage that was set; null for HEAPPOOLS64.
    pub percent: Option<u64>,
    /// Cells of an extent.
    pub cells_per_extent: u64,
    /// Requests that it served.
    pub gets: u64,
    /// Extents that were allocated.
    pub extents: u64,
    /// The most cells in use at one time.
    pub used_peak: u64,
    /// Cells in use.
    pub used: u64,
}

/// Cells of Linux are multiples of this many bytes.
pub const UNIT: u64 = 16;

impl Pools {
    /// The pools of a slot; None without HEAPPOOLS.
    #[must_use]
    pub fn of_slot(slot: &SlotView<'_>) -> Option<Self> {
        let (initial, larger_requests) = slot.pools_head()?;
        let initial_size = (initial > 0).then_some(initial);
        let each = slot.pools().map(|pool| Pool {
            cell: pool.cell,
            element: pool.element,
            percent: initial_size.map(|_| pool.percent),
            cells_per_extent: pool.cells_per_extent,
            gets: pool.gets,
            extents: pool.extents,
            used_peak: pool.used_peak,
            used: pool.used,
        });
        Some(Self { initial_size, larger_requests, each: each.collect() })
    }

    /// One pool for each size, with its cells of all pools: what suggestions are for.
    pub fn by_size(&self) -> impl Iterator<Item = Pool> {
        self.each.chunk_by(|one, other| one.cell == other.cell).filter_map(|same| {
            let sum =
                |of: fn(&Pool) -> u64| same.iter().fold(0_u64, |sum, pool| sum.saturating_add(of(pool)));
            Some(Pool {
                gets: sum(|pool| pool.gets),
                extents: sum(|pool| pool.extents),
                used_peak: sum(|pool| pool.used_peak),
                used: sum(|pool| pool.used),
                ..same.first()?.clone()
            })
        })
    }

    /// The sizes to suggest for requests by ranges: those of least waste. None if there are no requests that a cell can hold.
    #[must_use]
    pub fn suggested_sizes(&self, ranges: &Ranges) -> Option<Vec<u64>> {
        let rows: Vec<Range> = ranges.0.iter().map(|(&to, &count)| Range { to, count }).collect();
        suggested(&rows, self.each.last()?.cell, UNIT)
    }
}

impl Pool {
    /// The pool as rules read it.
    #[must_use]
    pub fn model(&self) -> underbar_model::Pool {
        let exact = |key, value| Figure::counter(key, value, Certainty::Certain);
        let percent = self.percent.map(|percent| exact("pools.percent", percent));
        underbar_model::Pool {
            cell: exact("pools.cell", self.cell),
            element: exact("pools.element", self.element),
            percent: percent.unwrap_or(Figure::absent("extents are no share of the heap")),
            cells_per_extent: exact("pools.cells_per_extent", self.cells_per_extent),
            extents: exact("pools.extents", self.extents),
            used: Figure::counter("pools.used_peak", self.used_peak, Certainty::AtLeast),
            in_use: exact("pools.used", self.used),
        }
    }
}

/// Requests by ranges of 8 bytes: for the largest size of each range with requests, their number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ranges(pub BTreeMap<u64, u64>);

/// So many ranges are shown.
const MOST: usize = 5;

/// The beginning of a range's name; its largest size follows.
const UP_TO: &str = "up_to_";

impl Ranges {
    /// The requests of a slot; None if they are not counted.
    #[must_use]
    pub fn of_slot(slot: &SlotView<'_>) -> Option<Self> {
        Some(Self::of_steps(slot.steps()?))
    }

    /// The requests by step, the smallest sizes first.
    pub(crate) fn of_steps(steps: impl Iterator<Item = u64>) -> Self {
        let counted = steps.zip(1_u64..).filter(|(requests, _)| *requests > 0);
        Self(counted.map(|(requests, step)| (step * STEP as u64, requests)).collect())
    }

    /// The ranges with the most requests, as words.
    pub(crate) fn most(&self) -> String {
        let mut all: Vec<(u64, u64)> = self.0.iter().map(|(&limit, &requests)| (requests, limit)).collect();
        all.sort_unstable_by_key(|&(requests, limit)| (std::cmp::Reverse(requests), limit));
        let words = all.iter().take(MOST).map(|&(requests, limit)| {
            format!("{}-{limit}: {}", limit.saturating_sub(STEP as u64 - 1), crate::units::count(requests))
        });
        words.collect::<Vec<_>>().join(", ")
    }

    /// The ranges in which sizes above `from`, up to `to`, are: smallest and largest size, and requests.
    pub fn between(&self, from: u64, to: u64) -> impl Iterator<Item = (u64, u64, u64)> {
        let ranges = self.0.range(from.saturating_add(1)..=to.max(from.saturating_add(1)));
        ranges.map(|(&limit, &requests)| (limit.saturating_sub(STEP as u64 - 1), limit, requests))
    }
}

impl Serialize for Ranges {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (limit, requests) in &self.0 {
            map.serialize_entry(&format!("{UP_TO}{limit}"), requests)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Ranges {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let named = BTreeMap::<String, u64>::deserialize(deserializer)?;
        let limit = |name: &str| name.strip_prefix(UP_TO)?.parse().ok();
        Ok(Self(named.iter().filter_map(|(name, &requests)| Some((limit(name)?, requests))).collect()))
    }
}

/// A figure of a pool, for explanations and the schema.
#[derive(Clone, Copy, Debug)]
pub struct PoolFigure {
    /// Its key path: `pools.` and its name in JSON.
    pub key: &'static str,
    /// Its label in the storage report.
    pub label: &'static str,
    /// Its meaning.
    pub meaning: &'static str,
    /// Whether it may be unknown: then it is null.
    may_be_null: bool,
}

macro_rules! figures {
    ($($key:literal, $label:literal, $null:literal, $meaning:literal;)*) => {
        /// All figures of a pool; the last one is of all pools together.
        pub static FIGURES: [PoolFigure; [$($key),*].len()] =
            [$(PoolFigure { key: $key, label: $label, meaning: $meaning, may_be_null: $null }),*];
    };
}

figures! {
    "pools.cell", "Specified Cell Size", false, "Bytes of a cell as it was set.";
    "pools.element", "Element Size", false, "Bytes that a cell takes: its size rounded up to its alignment.";
    "pools.percent", "Extent Percent", true, "The percentage that was set; null for HEAPPOOLS64.";
    "pools.cells_per_extent", "Cells Per Extent", false, "Cells of an extent.";
    "pools.gets", "Get requests", false, "Requests that it served: exact after an orderly end, else within 1,024 of every thread.";
    "pools.extents", "Extents Allocated", false, "Extents that were allocated. Each thread has its own.";
    "pools.used_peak", "Maximum Cells Used", false, "The most cells in use at one time, within a list of cells of each thread, and an eighth of each extent.";
    "pools.used", "Cells In Use", false, "Cells in use: exact after an orderly end.";
    "pools.larger_requests", "Requests greater than the largest cell size", false, "Requests that were larger than the largest cell, of all pools together.";
}

/// The explanation of a figure; None if there is no such key.
#[must_use]
pub fn explain(key: &str) -> Option<String> {
    let figure = FIGURES.iter().find(|figure| figure.key == key)?;
    Some(format!("{key}: {}\nOf each pool, under HEAPPOOLS(ON)\n\n{}\n", figure.label, figure.meaning))
}

/// The schema of the pools.
pub(crate) fn schema() -> Value {
    let number = |figure: &PoolFigure| {
        let kind = if figure.may_be_null { json!(["integer", "null"]) } else { json!("integer") };
        let name = figure.key.split('.').next_back().unwrap_or_default().to_owned();
        (name, json!({"type": kind, "minimum": 0, "description": figure.meaning}))
    };
    let (of_all, of_each) = FIGURES.split_last().map_or((None, &[][..]), |(last, each)| (Some(last), each));
    let each: Map<String, Value> = of_each.iter().map(number).collect();
    let names: Vec<String> = each.keys().cloned().collect();
    let mut properties: Map<String, Value> = of_all.into_iter().map(number).collect();
    let initial = "The initial size of HEAP of which extents are a percentage; null for HEAPPOOLS64.";
    properties.insert(
        "initial_size".to_owned(),
        json!({"type": ["integer", "null"], "minimum": 0, "description": initial}),
    );
    let pool = json!({
        "type": "object",
        "description": "One pool. Pools of one size follow each other.",
        "properties": each,
        "required": names,
    });
    properties.insert("each".to_owned(), json!({"type": "array", "items": pool}));
    json!({
        "type": "object",
        "description": "The pools of HEAPPOOLS; absent where it is off.",
        "properties": properties,
        "required": ["initial_size", "larger_requests", "each"],
    })
}

/// The schema of the ranges.
pub(crate) fn ranges_schema() -> Value {
    json!({
        "type": "object",
        "description": "Requests of up to 4096 bytes by ranges of 8 bytes, each counted at once: larger than the range before it, up to \
                        this many bytes. A range without requests is left out. Absent without RPTSTG(ON).",
        "propertyNames": {"pattern": "^up_to_[0-9]+$"},
        "additionalProperties": {"type": "integer", "minimum": 0},
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pools() -> Pools {
        let pool = |cell, element, gets, used_peak| Pool {
            cell,
            element,
            percent: Some(10),
            cells_per_extent: 32_768 / 10 / element,
            gets,
            extents: 1,
            used_peak,
            used: 1,
        };
        Pools {
            initial_size: Some(32_768),
            larger_requests: 2,
            each: vec![pool(8, 16, 50, 20), pool(32, 32, 9, 4), pool(32, 32, 7, 3)],
        }
    }

    #[test]
    fn json_is_read_as_it_was_written() {
        let json = serde_json::to_value(pools()).expect("plain");
        assert_eq!(json["each"][0]["used_peak"], 20);
        assert_eq!(serde_json::from_value::<Pools>(json).expect("what was written"), pools());
        let ranges = Ranges([(8, 40), (24, 2)].into_iter().collect());
        let json = serde_json::to_value(&ranges).expect("plain");
        assert_eq!(json, json!({"up_to_8": 40, "up_to_24": 2}));
        assert_eq!(serde_json::from_value::<Ranges>(json).expect("what was written"), ranges);
        assert!(serde_json::from_str::<Ranges>(r#"{"up_to_8": -1}"#).is_err());
    }

    /// The table has each key of JSON, and no other.
    #[test]
    fn every_figure_of_a_pool_is_explained() {
        let json = serde_json::to_value(pools()).expect("plain");
        let mut names: Vec<&str> =
            json["each"][0].as_object().expect("a pool").keys().map(String::as_str).collect();
        names.push("larger_requests");
        let mut keys: Vec<String> = names.iter().map(|name| format!("pools.{name}")).collect();
        keys.sort();
        let mut known: Vec<&str> = FIGURES.iter().map(|figure| figure.key).collect();
        known.sort_unstable();
        assert_eq!(keys, known);
        assert!(explain("pools.extents").is_some_and(|text| text.contains("Extents Allocated")));
        assert_eq!(explain("pools"), None);
    }

    #[test]
    fn pools_of_one_size_are_one_for_suggestions() {
        let sizes: Vec<Pool> = pools().by_size().collect();
        assert_eq!(
            sizes.iter().map(|pool| (pool.cell, pool.gets, pool.used_peak)).collect::<Vec<_>>(),
            [(8, 50, 20), (32, 16, 7)]
        );
    }

    #[test]
    fn sizes_are_those_that_waste_least_in_cells_of_linux() {
        let ranges = Ranges([(8, 40), (24, 2), (1_000, 1)].into_iter().collect());
        assert_eq!(pools().suggested_sizes(&ranges), Some(vec![16, 32, 1_008]));
        let small = Ranges([(8, 40)].into_iter().collect());
        assert_eq!(pools().suggested_sizes(&small), Some(vec![16, 32]));
        assert_eq!(pools().suggested_sizes(&Ranges::default()), None);
        assert_eq!(ranges.between(8, 32).collect::<Vec<_>>(), [(17, 24, 2)]);
        assert_eq!(ranges.between(0, 8).collect::<Vec<_>>(), [(1, 8, 40)]);
        assert_eq!(ranges.between(32, 32).count(), 0);
    }
}
