//! The counters of one process, or of several folded into one.
//!
//! In JSON a key path becomes nested objects: `heap.gets` is `{"heap": {"gets": 5}}`. The keys
//! come from the ledger's table, so a new counter is in the report as soon as it is in the table.
//!
//! Figures without a counterpart ([`crate::absent`]) are null.
//!
//! Invariant: None means "this report does not know", never zero. It occurs if no process kept accounts, if a process's stacks
//! or mappings were not measured while it ran ([`Figures::of_slot`]), and if the report is of an underbar with fewer counters.

use serde::de::{Deserialize, Deserializer, Error as _};
use serde::ser::{Serialize, Serializer};
use serde_json::Value;
use underbar_ledger::table::KEYS;
use underbar_ledger::{COUNTERS, Key, SlotView, TABLE};

use crate::absent::ABSENT;

/// One figure for each counter of the ledger's table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Figures([Option<u64>; COUNTERS]);

impl Figures {
    /// All figures zero.
    #[must_use]
    pub fn zero() -> Self {
        Self([Some(0); COUNTERS])
    }

    /// All figures unknown: the start of a fold.
    #[must_use]
    pub fn unknown() -> Self {
        Self([None; COUNTERS])
    }

    /// The figures of a slot.
    ///
    /// Every thread uses its stack, and every program uses anonymous memory: if these are 0, they were not measured.
    #[must_use]
    pub fn of_slot(slot: &SlotView<'_>) -> Self {
        let mut figures = Self(std::array::from_fn(|at| Some(slot.get(KEYS[at]))));
        let is_one_thread = figures.get(Key::ThreadsPeak) <= 1;
        let is_none_of_default = figures.get(Key::ThreadsOfDefaultSizePeak) == 0;
        for (seen, keys) in [
            (Key::StackMain, [Key::StackMain].as_slice()),
            (Key::StackLargest, &[Key::StackLargest, Key::StackConcurrent]),
            (Key::StackThread, if is_one_thread { &[] } else { &[Key::StackThread] }),
            (Key::StackDefaultSize, if is_none_of_default { &[] } else { &[Key::StackDefaultSize] }),
            (Key::CoverageAnonymous, &[Key::CoverageAnonymous, Key::CoverageHeap]),
        ] {
            if figures.get(seen) == 0 {
                keys.iter().for_each(|&key| figures.0[key as usize] = None);
            }
        }
        figures
    }

    /// A counter's figure; 0 if the report does not know it.
    #[must_use]
    pub fn get(&self, key: Key) -> u64 {
        self.known(key).unwrap_or(0)
    }

    /// A counter's figure; None if the report does not know it.
    #[must_use]
    pub fn known(&self, key: Key) -> Option<u64> {
        self.0[key as usize]
    }

    /// Sets a counter's figure.
    pub fn set(&mut self, key: Key, figure: u64) {
        self.0[key as usize] = Some(figure);
    }

    /// Takes the figures of coverage as not measured.
    pub fn forget_coverage(&mut self) {
        self.0[Key::CoverageAnonymous as usize] = None;
        self.0[Key::CoverageHeap as usize] = None;
    }

    /// Adds another process's figures, each by its fold rule. A figure that one of them does not know is taken from the other.
    ///
    /// The memory in this heap is that of the process with the most memory, so that the part and the whole are of one measurement.
    pub fn fold(&mut self, other: &Figures) {
        let has_more = other.get(Key::CoverageAnonymous) > self.get(Key::CoverageAnonymous);
        let heap = if has_more { other.known(Key::CoverageHeap) } else { self.known(Key::CoverageHeap) };
        for (entry, (mine, theirs)) in TABLE.iter().zip(self.0.iter_mut().zip(&other.0)) {
            *mine = match (*mine, *theirs) {
                (Some(a), Some(b)) => Some(entry.fold.apply(a, b)),
                (a, b) => a.or(b),
            };
        }
        self.0[Key::CoverageHeap as usize] = heap.or(other.known(Key::CoverageHeap));
    }
}

impl Default for Figures {
    fn default() -> Self {
        Self::zero()
    }
}

/// Splits a key path at its dot: area and name.
#[must_use]
pub const fn split(key: &'static str) -> (&'static str, &'static str) {
    let mut dot = 0;
    while dot < key.len() && key.as_bytes()[dot] != b'.' {
        dot += 1;
    }
    if dot == key.len() {
        return (key, "");
    }
    let (area, name) = key.split_at(dot);
    (area, name.split_at(1).1)
}

/// The key paths that are null in each report, with a reason in the schema.
pub fn absent() -> impl Iterator<Item = &'static str> {
    ABSENT.iter().map(|absent| absent.key)
}

/// The areas in the tables of counters and of absent figures, in the order in which they first appear.
pub fn areas() -> impl Iterator<Item = &'static str> {
    ROWS.chunk_by(|one, next| one.area == next.area).map(|rows| rows[0].area)
}

/// A figure's place in JSON.
#[derive(Clone, Copy)]
struct Row {
    area: &'static str,
    name: &'static str,
    /// The counter; None for an absent figure.
    key: Option<Key>,
}

/// The counters, then the absent figures; those of an area next to each other. The compiler sorts them, since each run writes two or
/// more sets of figures.
static ROWS: [Row; COUNTERS + ABSENT.len()] = by_area();

const fn by_area() -> [Row; COUNTERS + ABSENT.len()] {
    let mut rows = [Row { area: "", name: "", key: None }; COUNTERS + ABSENT.len()];
    let mut at = 0;
    while at < rows.len() {
        let (path, key) =
            if at < COUNTERS { (TABLE[at].key, Some(KEYS[at])) } else { (ABSENT[at - COUNTERS].key, None) };
        let (area, name) = split(path);
        // Behind the last one of its area, or behind all.
        let mut place = at;
        let mut before = at;
        while before > 0 {
            before -= 1;
            if is_same(rows[before].area, area) {
                place = before + 1;
                break;
            }
        }
        let mut moved = at;
        while moved > place {
            rows[moved] = rows[moved - 1];
            moved -= 1;
        }
        rows[place] = Row { area, name, key };
        at += 1;
    }
    rows
}

const fn is_same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}

/// The counters of one area, as an object.
struct Area<'a> {
    figures: &'a Figures,
    rows: &'static [Row],
}

impl Serialize for Area<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let figure = |row: &Row| row.key.and_then(|key| self.figures.known(key));
        serializer.collect_map(self.rows.iter().map(|row| (row.name, figure(row))))
    }
}

impl Serialize for Figures {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let areas = ROWS.chunk_by(|one, next| one.area == next.area);
        serializer.collect_map(areas.map(|rows| (rows[0].area, Area { figures: self, rows })))
    }
}

impl<'de> Deserialize<'de> for Figures {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let object = Value::deserialize(deserializer)?;
        let mut figures = Figures::unknown();
        for key in KEYS {
            let path = key.entry().key;
            let (area, name) = split(path);
            figures.0[key as usize] = match object.get(area).and_then(|area| area.get(name)) {
                None | Some(Value::Null) => None,
                Some(value) => Some(value.as_u64().ok_or_else(|| {
                    D::Error::custom(format_args!("{path} is {value}, not an integer of 0 or more"))
                })?),
            };
        }
        Ok(figures)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_path_becomes_nested_objects() {
        let mut figures = Figures::zero();
        figures.set(Key::HeapGets, u64::MAX);
        let json = serde_json::to_value(&figures).expect("figures are plain");
        assert_eq!(json["heap"]["gets"], serde_json::json!(u64::MAX));
        assert_eq!(json["libstack"]["segments_allocated"], Value::Null);
        let count: usize =
            json.as_object().expect("an object").values().map(|a| a.as_object().map_or(0, |a| a.len())).sum();
        assert_eq!(count, COUNTERS + ABSENT.len());
        assert_eq!(serde_json::from_value::<Figures>(json).expect("what was written"), figures);
    }

    #[test]
    fn unknown_keys_are_passed_over_and_missing_ones_are_not_zero() {
        let figures: Figures =
            serde_json::from_str(r#"{"heap": {"gets": 7, "colour": "red"}, "lock": [1]}"#).expect("tolerant");
        assert_eq!((figures.known(Key::HeapGets), figures.known(Key::HeapFrees)), (Some(7), None));
        let error = serde_json::from_str::<Figures>(r#"{"heap": {"gets": -7}}"#).expect_err("negative");
        assert!(error.to_string().contains("heap.gets is -7"), "{error}");
    }

    #[test]
    fn folding_follows_the_table() {
        let (mut a, mut b) = (Figures::zero(), Figures::zero());
        a.set(Key::HeapGets, 3);
        b.set(Key::HeapGets, 4);
        a.set(Key::HeapUsedPeak, 3);
        b.set(Key::HeapUsedPeak, 4);
        a.fold(&b);
        assert_eq!((a.get(Key::HeapGets), a.get(Key::HeapUsedPeak)), (7, 4));
        let look = |anonymous, heap| {
            let mut figures = Figures::zero();
            figures.set(Key::CoverageAnonymous, anonymous);
            figures.set(Key::CoverageHeap, heap);
            figures
        };
        for (first, then) in [(look(100, 10), look(50, 50)), (look(50, 50), look(100, 10))] {
            let mut sum = first;
            sum.fold(&then);
            let found = (sum.get(Key::CoverageAnonymous), sum.get(Key::CoverageHeap));
            assert_eq!(found, (100, 10), "of one look");
        }
    }
}
