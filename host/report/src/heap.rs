//! One heap of a process: its purpose, its name, and the counters that heaps have.
//!
//! Invariant: a heap has the counters with the scope of a heap, by the same keys as its process; unknown figures are null.
//! Not here: their lines in reports (`heaps`), and where rows are (`underbar_ledger::heaps`).

use serde::de::Error as _;
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};
use underbar_ledger::table::{HEAP_COUNTERS, KEYS};
use underbar_ledger::view::HeapView;
use underbar_ledger::{HeapKind, Key, RowState, Scope};

use crate::figures::split;
use crate::page::clean;
use crate::pools::Ranges;
use crate::units::count;

/// One heap.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heap {
    /// Its purpose.
    pub kind: Kind,
    /// Its name; empty: it has none. Bytes that are no UTF-8 are replaced.
    pub name: String,
    /// Has it ended, so that all of its storage was freed?
    pub ended: bool,
    /// How many heaps of this kind and name there were, one after the other. The counters are those of all.
    #[serde(default = "one")]
    pub created: u64,
    /// Its counters.
    pub counters: HeapFigures,
    /// Its requests by ranges of 8 bytes; absent without RPTSTG(ON).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranges: Option<Ranges>,
}

const fn one() -> u64 {
    1
}

/// The purpose of a heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The heap in which each thread starts.
    Default,
    /// Created by the program.
    Additional,
    /// The heap of an enclave.
    Enclave,
    /// The heap for a class of ECBs.
    Class,
    /// Several heaps for which the ledger had no room.
    Others,
    /// Storage below 16 MiB.
    #[serde(rename = "below_16m")]
    Line,
    /// Storage below 2 GiB.
    #[serde(rename = "below_2g")]
    Bar,
    /// The heaps of threads.
    Thread,
}

/// Every kind, with its word.
pub(crate) const KINDS: [(Kind, &str); 8] = [
    (Kind::Default, "default"),
    (Kind::Additional, "additional"),
    (Kind::Enclave, "enclave"),
    (Kind::Class, "class"),
    (Kind::Others, "others"),
    (Kind::Line, "below_16m"),
    (Kind::Bar, "below_2g"),
    (Kind::Thread, "thread"),
];

/// The counters of a heap; None: not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeapFigures([Option<u64>; HEAP_COUNTERS]);

/// The counters that heaps have, in the order of the table.
pub(crate) fn keys() -> impl Iterator<Item = Key> {
    KEYS.into_iter().filter(|key| key.entry().scope == Scope::Heap)
}

impl HeapFigures {
    /// A counter's figure; None if it is not known, or if heaps do not have this counter.
    #[must_use]
    pub fn known(&self, key: Key) -> Option<u64> {
        self.0.get(key as usize).copied().flatten()
    }
}

impl Serialize for HeapFigures {
    /// As for a process: areas of names.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut areas: Vec<(&str, Map<String, Value>)> = Vec::new();
        for key in keys() {
            let (area, name) = split(key.entry().key);
            if areas.last().is_none_or(|(last, _)| *last != area) {
                areas.push((area, Map::new()));
            }
            if let Some((_, names)) = areas.last_mut() {
                names.insert(name.to_owned(), self.known(key).into());
            }
        }
        let mut map = serializer.serialize_map(Some(areas.len()))?;
        for (area, names) in &areas {
            map.serialize_entry(area, names)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for HeapFigures {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let object = Value::deserialize(deserializer)?;
        let mut figures = [None; HEAP_COUNTERS];
        for key in keys() {
            let path = key.entry().key;
            let (area, name) = split(path);
            figures[key as usize] = match object.get(area).and_then(|area| area.get(name)) {
                None | Some(Value::Null) => None,
                Some(value) => Some(value.as_u64().ok_or_else(|| {
                    D::Error::custom(format_args!("{path} is {value}, not an integer of 0 or more"))
                })?),
            };
        }
        Ok(HeapFigures(figures))
    }
}

impl Heap {
    pub(crate) fn of(heap: &HeapView<'_>) -> Heap {
        let mut figures = [None; HEAP_COUNTERS];
        for key in keys() {
            figures[key as usize] = heap.get(key);
        }
        Heap {
            kind: match heap.kind {
                HeapKind::Default => Kind::Default,
                HeapKind::Additional => Kind::Additional,
                HeapKind::Enclave => Kind::Enclave,
                HeapKind::Class => Kind::Class,
                HeapKind::Others => Kind::Others,
                HeapKind::Line => Kind::Line,
                HeapKind::Bar => Kind::Bar,
                HeapKind::Thread => Kind::Thread,
            },
            name: String::from_utf8_lossy(heap.name()).into_owned(),
            ended: heap.state == RowState::Ended,
            created: heap.created,
            counters: HeapFigures(figures),
            ranges: heap.steps().map(Ranges::of_steps),
        }
    }

    /// Its name, and its purpose if the name does not say it.
    #[must_use]
    pub fn words(&self) -> String {
        let kind = KINDS.iter().find(|(kind, _)| *kind == self.kind).map_or("", |(_, word)| word);
        let words = match (self.kind, self.name.is_empty()) {
            (Kind::Additional, false) => clean(&self.name),
            (_, true) => kind.to_owned(),
            (_, false) => format!("{} ({kind})", clean(&self.name)),
        };
        if self.created > 1 { format!("{} x {words}", count(self.created)) } else { words }
    }
}
