//! Classes of ECBs of a process: what JSON has of them.
//!
//! ```text
//! "ecbs": [{"name": "SSL", "sizes": [32, 64, 128, 256, 512], "area": 32768, "created": 900, ...,
//!           "lists": [{"list": 1, "got": 40, ...}, ..., {"list": null, ...}],
//!           "uses": {"up_to_4096": 880, "above_516096": 2}, "requests": {"up_to_48": 40}}]
//! ```
//!
//! All are sums from the start of the process on. Requests are counted one by one in some of the ECBs only, of which `counted` is
//! the number; under RPTSTG(ON) in all of them.
//!
//! Invariant: absent for a process that made no class.
//! Not here: ECBs by name-value pairs ([`crate::ecb_pairs`]), the layouts of z/TPF ([`crate::ztpf`]), lines for people
//! ([`crate::ecb_lines`]).

use std::collections::BTreeMap;

use serde::de::{Deserialize, Deserializer};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value, json};
use underbar_ledger::classes::{OfList, Sum, low_limit, request_limit, use_limit};
use underbar_ledger::view::{ClassView, SlotView};

use crate::ecb_pairs::{self, EcbPair};

/// One class.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct EcbClass {
    /// Its name.
    pub name: String,
    /// Bytes of a buffer of each available list, from AVL1 on.
    pub sizes: Vec<u64>,
    /// Bytes of the preallocated area of an ECB.
    pub area: u64,
    /// ECBs that were created. The table [`FIGURES`] says more on this and what follows.
    pub created: u64,
    /// ECBs that ended.
    pub ended: u64,
    /// Ended ECBs with at least one buffer.
    pub with_buffer: u64,
    /// Ended ECBs that made their table of names larger.
    pub expanded_tags: u64,
    /// Ended ECBs with at least one frame.
    pub with_frame: u64,
    /// Frames that were obtained.
    pub frames: u64,
    /// The most bytes of storage of one ECB.
    pub high_water: u64,
    /// ECBs whose requests were counted one by one.
    pub counted: u64,
    /// One ECB in so many is counted so.
    pub counted_one_in: u64,
    /// Bytes of a piece of an ECB's part below 2 GiB.
    #[serde(default)]
    pub low: u64,
    /// Ended ECBs that had storage there.
    #[serde(default)]
    pub with_low: u64,
    /// The most bytes of one of them there.
    #[serde(default)]
    pub low_high_water: u64,
    /// Buffers there that were dispensed.
    #[serde(default)]
    pub low_got: u64,
    /// Those that the program freed.
    #[serde(default)]
    pub low_freed: u64,
    /// Ended ECBs by the most storage that they had there.
    #[serde(default)]
    pub low_uses: Rows,
    /// Classes that have their figures here, as there was no room for more of them; 0 if it is one class.
    #[serde(default)]
    pub sharing: u64,
    /// The available lists, and the others together.
    pub lists: Vec<EcbList>,
    /// Ended ECBs by the most storage that they had.
    pub uses: Rows,
    /// Requests of the ECBs that were counted.
    pub requests: Rows,
    /// Its ECBs by the name-value pairs that the program attached to them; absent without any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pairs: Vec<EcbPair>,
}

/// What a list did.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct EcbList {
    /// The number of the available list; null: all other sizes.
    pub list: Option<u64>,
    /// Buffers that it dispensed. The table [`FIGURES`] says more on this and what follows.
    pub got: u64,
    /// Buffers that the program freed.
    pub freed: u64,
    /// Requests filled by buffers that were left to all threads.
    pub shared: u64,
    /// Requests for which new buffers were made.
    pub carved: u64,
}

impl EcbList {
    /// Requests that were filled by a list of the thread's own.
    #[must_use]
    pub fn own(&self) -> u64 {
        self.got.saturating_sub(self.shared).saturating_sub(self.carved)
    }
}

/// Numbers by an upper limit; rows without a number are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    /// By the limit, in bytes.
    pub up_to: BTreeMap<u64, u64>,
    /// Above the largest limit that can be told.
    pub above: Option<(u64, u64)>,
}

impl Rows {
    fn of(figures: &[u64], limit: impl Fn(usize) -> Option<u64>) -> Self {
        let mut rows = Self::default();
        for (at, &figure) in figures.iter().enumerate().filter(|(_, figure)| **figure > 0) {
            match (limit(at), at.checked_sub(1).and_then(&limit)) {
                (Some(limit), _) => drop(rows.up_to.insert(limit, figure)),
                (None, below) => rows.above = Some((below.unwrap_or(0), figure)),
            }
        }
        rows
    }

    /// All together.
    #[must_use]
    pub fn all(&self) -> u64 {
        self.up_to.values().copied().chain(self.above.map(|above| above.1)).fold(0, u64::saturating_add)
    }

    /// Those above a limit of a row.
    #[must_use]
    pub fn beyond(&self, limit: u64) -> u64 {
        let rows = self.up_to.range(limit.saturating_add(1)..).map(|row| *row.1);
        rows.chain(self.above.map(|above| above.1)).fold(0, u64::saturating_add)
    }

    /// Those above a limit, up to another one.
    #[must_use]
    pub fn between(&self, from: u64, to: u64) -> u64 {
        let rows = self.up_to.range(from.saturating_add(1)..).take_while(|row| *row.0 <= to);
        rows.fold(0, |sum, row| sum.saturating_add(*row.1))
    }

    fn add(&mut self, other: &Self) {
        for (limit, figure) in &other.up_to {
            let sum = self.up_to.entry(*limit).or_default();
            *sum = sum.saturating_add(*figure);
        }
        if let Some((limit, figure)) = other.above {
            let sum = self.above.get_or_insert((limit, 0));
            sum.1 = sum.1.saturating_add(figure);
        }
    }
}

const UP_TO: &str = "up_to_";
const ABOVE: &str = "above_";

impl Serialize for Rows {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (limit, figure) in &self.up_to {
            map.serialize_entry(&format!("{UP_TO}{limit}"), figure)?;
        }
        if let Some((limit, figure)) = self.above {
            map.serialize_entry(&format!("{ABOVE}{limit}"), &figure)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Rows {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut rows = Self::default();
        for (name, figure) in BTreeMap::<String, u64>::deserialize(deserializer)? {
            let limit = |prefix| name.strip_prefix(prefix).and_then(|limit: &str| limit.parse().ok());
            if let Some(limit) = limit(UP_TO) {
                rows.up_to.insert(limit, figure);
            } else if let Some(limit) = limit(ABOVE) {
                rows.above = Some((limit, figure));
            }
        }
        Ok(rows)
    }
}

impl EcbClass {
    /// A class of a slot.
    #[must_use]
    pub fn of(class: &ClassView<'_>) -> Self {
        let [got, freed, shared, carved] =
            [OfList::Got, OfList::Freed, OfList::Shared, OfList::Carved].map(|of| class.of_lists(of));
        let available = class.sizes().len();
        let list = |at: usize| EcbList {
            list: (at < available).then_some(at as u64 + 1),
            got: got[at],
            freed: freed[at],
            shared: shared[at],
            carved: carved[at],
        };
        Self {
            name: String::from_utf8_lossy(class.name()).into_owned(),
            sizes: class.sizes().into_iter().take_while(|size| *size > 0).collect(),
            area: class.area(),
            created: class.sum(Sum::Created),
            ended: class.sum(Sum::Ended),
            with_buffer: class.sum(Sum::WithBuffer),
            expanded_tags: class.sum(Sum::ExpandedTags),
            with_frame: class.sum(Sum::WithFrame),
            frames: class.sum(Sum::Frames),
            high_water: class.sum(Sum::HighWater),
            counted: class.sum(Sum::Counted),
            counted_one_in: class.counted_one_in(),
            low: class.low(),
            with_low: class.sum(Sum::WithLow),
            low_high_water: class.sum(Sum::LowHighWater),
            low_got: class.sum(Sum::LowGot),
            low_freed: class.sum(Sum::LowFreed),
            low_uses: Rows::of(&class.low_uses(), low_limit),
            lists: (0..got.len()).map(list).collect(),
            uses: Rows::of(&class.uses(), use_limit),
            requests: Rows::of(&class.requests(), request_limit),
            sharing: class.sharing(),
            pairs: Vec::new(),
        }
    }

    /// The classes of a slot.
    pub(crate) fn of_slot(slot: &SlotView<'_>) -> Vec<Self> {
        let with_pairs = |class: ClassView<'_>| {
            let rows = slot.pairs().filter(|row| row.class() == class.index() as u64);
            let mut pairs: Vec<EcbPair> = rows.map(|row| EcbPair::of(&row)).collect();
            pairs.sort_by_key(|pair| pair.name.is_none());
            Self { pairs, ..Self::of(&class) }
        };
        slot.classes().map(with_pairs).collect()
    }

    /// Adds the figures of the same class in another process.
    pub fn add(&mut self, other: &Self) {
        let pairs = [
            (&mut self.created, other.created),
            (&mut self.ended, other.ended),
            (&mut self.with_buffer, other.with_buffer),
            (&mut self.expanded_tags, other.expanded_tags),
            (&mut self.with_frame, other.with_frame),
            (&mut self.frames, other.frames),
            (&mut self.counted, other.counted),
            (&mut self.with_low, other.with_low),
            (&mut self.low_got, other.low_got),
            (&mut self.low_freed, other.low_freed),
        ];
        for (sum, more) in pairs {
            *sum = sum.saturating_add(more);
        }
        self.high_water = self.high_water.max(other.high_water);
        self.low_high_water = self.low_high_water.max(other.low_high_water);
        self.low_uses.add(&other.low_uses);
        self.sharing = self.sharing.max(other.sharing);
        ecb_pairs::add(&mut self.pairs, &other.pairs);
        for (list, more) in self.lists.iter_mut().zip(&other.lists) {
            list.got = list.got.saturating_add(more.got);
            list.freed = list.freed.saturating_add(more.freed);
            list.shared = list.shared.saturating_add(more.shared);
            list.carved = list.carved.saturating_add(more.carved);
        }
        self.uses.add(&other.uses);
        self.requests.add(&other.requests);
    }

    /// Ended ECBs that had more than their area: by their use, or, if the area is larger than what is counted by steps, by their frames.
    #[must_use]
    pub fn exceeded(&self) -> u64 {
        match self.uses.above {
            Some((limit, _)) if limit < self.area => self.with_frame,
            _ => self.uses.beyond(self.area),
        }
    }

    /// Whether another class has the same name, sizes and area, so that both may be added.
    #[must_use]
    pub fn is_as(&self, other: &Self) -> bool {
        (&self.name, &self.sizes, self.area, self.low) == (&other.name, &other.sizes, other.area, other.low)
    }
}

/// A figure of a class or of its lists, for explanations and the schema.
#[derive(Clone, Copy, Debug)]
pub struct EcbFigure {
    /// Its key path: `ecbs.` and its name in JSON.
    pub key: &'static str,
    /// Its label in the report.
    pub label: &'static str,
    /// Its meaning.
    pub meaning: &'static str,
    /// What it is of.
    pub of: Of,
}

/// What a figure is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// A class.
    Class,
    /// A list of a class.
    List,
    /// The ECBs of a class with a name-value pair.
    Pair,
    /// A list, of these ECBs.
    PairList,
}

impl Of {
    /// In words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Class => "class",
            Self::List => "list",
            Self::Pair => "pair",
            Self::PairList => "list of a pair",
        }
    }
}

macro_rules! figures {
    ($($key:literal, $label:literal, $of:ident, $meaning:literal;)*) => {
        /// All figures.
        pub static FIGURES: [EcbFigure; [$($key),*].len()] =
            [$(EcbFigure { key: $key, label: $label, meaning: $meaning, of: Of::$of }),*];
    };
}

figures! {
    "ecbs.area", "preallocated", Class, "Bytes of the preallocated area with which an ECB begins.";
    "ecbs.created", "created", Class, "ECBs that were created. A child by fork begins with those that are alive in it.";
    "ecbs.ended", "ended", Class, "ECBs that ended: exact when the threads that ended them have ended or settled, else within 64 of each.";
    "ecbs.with_buffer", "with a buffer", Class, "Ended ECBs that had at least one buffer.";
    "ecbs.expanded_tags", "tag tables expanded", Class, "Ended ECBs whose table of names was made larger.";
    "ecbs.with_frame", "with a frame", Class, "Ended ECBs that had at least one frame of 1 MiB.";
    "ecbs.frames", "frames", Class, "Frames of 1 MiB that were obtained.";
    "ecbs.high_water", "high-water mark", Class, "The most bytes of storage that one ended ECB had: what was handed out of its area and its frames, and the pages of large buffers.";
    "ecbs.low", "below 2 GiB", Class, "Bytes that the part of an ECB below 2 GiB takes at a time.";
    "ecbs.with_low", "with storage below 2 GiB", Class, "Ended ECBs that had storage below 2 GiB (__malloc31).";
    "ecbs.low_high_water", "high-water mark below 2 GiB", Class, "The most bytes below 2 GiB that one ended ECB had: what was handed out of its part there. Buffers with pages of their own are in the other high-water mark.";
    "ecbs.low_got", "dispensed below 2 GiB", Class, "Buffers below 2 GiB that were dispensed. They count under the other sizes of the lists, too.";
    "ecbs.low_freed", "freed below 2 GiB", Class, "Buffers below 2 GiB that the program freed; not those that were in use when their ECB ended.";
    "ecbs.counted", "counted one by one", Class, "ECBs whose requests were counted by size: a sample, or all of them under RPTSTG(ON).";
    "ecbs.counted_one_in", "one in", Class, "One ECB in so many is counted request by request; 1 under RPTSTG(ON).";
    "ecbs.sharing", "classes together", Class, "Classes whose figures are in this row: it is the last one, of all classes beyond the first 15. Counted up to 64; 0 in other rows.";
    "ecbs.got", "dispensed", List, "Buffers that the list dispensed.";
    "ecbs.freed", "freed", List, "Buffers that the program freed; not those that were in use when their ECB ended.";
    "ecbs.shared", "by shared lists", List, "Requests that were filled by buffers that another thread, or an earlier visit, left to all threads of the ECB.";
    "ecbs.carved", "new storage", List, "Requests for which the thread made room for new buffers. Its own list, or what is left of that room, filled all others.";
    "ecbs.pairs.ecbs", "ECBs", Pair, "Ended ECBs that had the pair. An ECB counts in the row of each of its pairs.";
    "ecbs.pairs.with_buffer", "with a buffer", Pair, "Those that had at least one buffer.";
    "ecbs.pairs.expanded_tags", "tag tables expanded", Pair, "Those whose table of names was made larger.";
    "ecbs.pairs.with_frame", "with a frame", Pair, "Those that had at least one frame of 1 MiB.";
    "ecbs.pairs.frames", "frames", Pair, "Frames of 1 MiB that they obtained.";
    "ecbs.pairs.high_water", "high-water mark", Pair, "The most bytes of storage that one of them had.";
    "ecbs.pairs.bytes", "bytes dispensed", Pair, "Bytes of the buffers that were dispensed to them: a list's buffer counts as it is, one with pages of its own or below 2 GiB as what was asked for.";
    "ecbs.pairs.late", "counted late", Pair, "Those that were alive when their class got its first pair: what they got in earlier visits is missing in bytes and lists. From that pair on, each ECB of the class is counted from its beginning.";
    "ecbs.pairs.lists.got", "dispensed", PairList, "Buffers that the list dispensed to them.";
    "ecbs.pairs.lists.freed", "freed", PairList, "Buffers that they freed; not those that were in use when their ECB ended.";
}

/// The explanation of a figure; None if there is no such key.
#[must_use]
pub fn explain(key: &str) -> Option<String> {
    let figure = FIGURES.iter().find(|figure| figure.key == key)?;
    let of = match figure.of {
        Of::Class => "each class of ECBs",
        Of::List => "each list of a class of ECBs",
        Of::Pair => "each name-value pair of the ECBs of a class",
        Of::PairList => "each list, for the ECBs of a class with a name-value pair",
    };
    Some(format!("{key}: {}\nOf {of}\n\n{}\n", figure.label, figure.meaning))
}

/// The schema of the classes.
pub(crate) fn schema() -> Value {
    let of = |of: Of| -> Map<String, Value> {
        let figures = FIGURES.iter().filter(|figure| figure.of == of);
        figures
            .map(|figure| {
                let name = figure.key.split('.').next_back().unwrap_or_default().to_owned();
                (name, json!({"type": "integer", "minimum": 0, "description": figure.meaning}))
            })
            .collect()
    };
    let rows = |words: &str| {
        json!({
            "type": "object",
            "description": words,
            "propertyNames": {"pattern": "^(up_to|above)_[0-9]+$"},
            "additionalProperties": {"type": "integer", "minimum": 0},
        })
    };
    let with_number = |mut list: Map<String, Value>| {
        list.insert(
            "list".to_owned(),
            json!({"type": ["integer", "null"], "minimum": 1,
                "description": "The number of the available list; null for all other sizes together."}),
        );
        let names: Vec<String> = list.keys().cloned().collect();
        json!({"type": "array", "items": {"type": "object", "description": "A list.", "properties": list, "required": names}})
    };
    let mut class = of(Of::Class);
    class.insert("name".to_owned(), json!({"type": "string", "description": "Its name."}));
    class.insert(
        "sizes".to_owned(),
        json!({"type": "array", "items": {"type": "integer", "minimum": 0},
            "description": "Bytes of a buffer of each available list, from AVL1 on."}),
    );
    class.insert("lists".to_owned(), with_number(of(Of::List)));
    class.insert(
        "uses".to_owned(),
        rows("Ended ECBs by the most storage that they had, in steps of 4 KiB. A row without ECBs is left out."),
    );
    class.insert(
        "low_uses".to_owned(),
        rows("Ended ECBs by the most storage that they had below 2 GiB, in steps of 4 KiB. A row without ECBs is left out."),
    );
    class.insert(
        "requests".to_owned(),
        rows(
            "Requests of the ECBs that were counted, larger than the limit below it, up to this many bytes: in steps of 16 up to \
             4096, then by powers of two. A row without requests is left out.",
        ),
    );
    // Reports of the first form have no `sharing`.
    let names: Vec<String> = class.keys().filter(|name| *name != "sharing").cloned().collect();
    let mut pair = of(Of::Pair);
    for (name, words) in [("name", "The name"), ("value", "The value")] {
        let words = format!("{words}; null: pairs for which there was no row left.");
        pair.insert(name.to_owned(), json!({"type": ["string", "null"], "description": words}));
    }
    pair.insert("lists".to_owned(), with_number(of(Of::PairList)));
    let pair_names: Vec<String> = pair.keys().cloned().collect();
    class.insert(
        "pairs".to_owned(),
        json!({"type": "array",
            "description": "Its ended ECBs by the name-value pairs that the program attached to them; absent without any, and where a \
                            process without pairs is folded with others. An ECB counts in each of its pairs. Under no name: pairs \
                            for which there was no row left.",
            "items": {"type": "object", "description": "A pair.", "properties": pair, "required": pair_names}}),
    );
    json!({
        "type": "array",
        "description": "Its classes of ECBs; absent where it made none, and where processes with other classes are folded.",
        "items": {"type": "object", "description": "A class.", "properties": class, "required": names},
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn json_is_read_as_it_was_written() {
        let class = sample::ecbs();
        let json = serde_json::to_value(&class).expect("plain");
        assert_eq!((&json["requests"]["up_to_48"], &json["uses"]["above_516096"]), (&json!(900), &json!(1)));
        assert_eq!(serde_json::from_value::<EcbClass>(json).expect("what was written"), class);
    }

    /// The table has each figure of JSON, and no other.
    #[test]
    fn every_figure_of_a_class_is_explained() {
        let json = serde_json::to_value(sample::ecbs()).expect("plain");
        let of = |value: &Value| value.as_object().expect("an object").clone();
        let pair = &json["pairs"][0];
        let parts = [
            ("ecbs", of(&json)),
            ("ecbs", of(&json["lists"][0])),
            ("ecbs.pairs", of(pair)),
            ("ecbs.pairs.lists", of(&pair["lists"][0])),
        ];
        let all =
            parts.into_iter().flat_map(|(prefix, part)| part.into_iter().map(move |field| (prefix, field)));
        let numbers = all.filter(|(_, (name, value))| value.is_number() && name != "list");
        let mut keys: Vec<String> = numbers.map(|(prefix, (name, _))| format!("{prefix}.{name}")).collect();
        keys.sort();
        let mut known: Vec<&str> = FIGURES.iter().map(|figure| figure.key).collect();
        known.sort_unstable();
        assert_eq!(keys, known);
        assert!(explain("ecbs.frames").is_some_and(|text| text.contains("each class")));
        assert!(explain("ecbs.pairs.bytes").is_some_and(|text| text.contains("each name-value pair")));
        assert_eq!(explain("ecbs"), None);
    }

    #[test]
    fn classes_of_several_processes_are_added() {
        let (mut sum, one) = (sample::ecbs(), sample::ecbs());
        assert!(sum.is_as(&one));
        sum.add(&one);
        assert_eq!(
            (sum.ended, sum.high_water, sum.uses.all()),
            (2 * one.ended, one.high_water, 2 * one.uses.all())
        );
        assert_eq!(
            (sum.uses.beyond(32_768), sum.lists[1].own()),
            (2 * one.uses.beyond(32_768), 2 * one.lists[1].own())
        );
        assert_eq!(one.requests.between(32, 64), 900 + 60);
        let large = EcbClass { area: 1 << 20, ..one.clone() };
        assert_eq!((one.exceeded(), large.exceeded()), (4, one.with_frame));
    }
}
