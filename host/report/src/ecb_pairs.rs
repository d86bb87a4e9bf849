//! ECBs of a class by the name-value pairs that the program attached to them.
//!
//! ```text
//! "pairs": [{"name": "TRANSACTION", "value": "PAY", "ecbs": 30, "bytes": 61440, ...,
//!            "lists": [{"list": 1, "got": 40, "freed": 20}, ..., {"list": null, ...}]},
//!           {"name": null, "value": null, ...}]                        those for which there was no row left
//! ```
//!
//! All are sums of ended ECBs from the start of the process on. An ECB counts in the row of each of its pairs, so the rows of one name
//! divide the ECBs of the class, and rows of two names overlap.
//!
//! Not here: the class ([`crate::ecbs`]), and attaching pairs (`runtime`).

use serde::{Deserialize, Serialize};
use underbar_ledger::pairs::PairSum;
use underbar_ledger::view::PairView;

/// ECBs with a pair.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EcbPair {
    /// The name; None: pairs for which there was no row left.
    pub name: Option<String>,
    /// The value; None with the name.
    pub value: Option<String>,
    /// Ended ECBs that had it. [`crate::ecbs::FIGURES`] says more on this and what follows.
    pub ecbs: u64,
    /// Those with at least one buffer.
    pub with_buffer: u64,
    /// Those that made their table of names larger.
    pub expanded_tags: u64,
    /// Those with at least one frame.
    pub with_frame: u64,
    /// Frames that they obtained.
    pub frames: u64,
    /// The most bytes of storage that one of them had.
    pub high_water: u64,
    /// Bytes of the buffers that were dispensed to them.
    pub bytes: u64,
    /// Those that were alive when their class got its first pair: what they got in earlier visits is not in bytes and lists.
    #[serde(default)]
    pub late: u64,
    /// The available lists, and the others together.
    pub lists: Vec<PairList>,
}

/// What a list did for ECBs with a pair.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairList {
    /// The number of the available list; null: all other sizes.
    pub list: Option<u64>,
    /// Buffers that it dispensed to them.
    pub got: u64,
    /// Buffers that they freed.
    pub freed: u64,
}

impl EcbPair {
    /// A row of a slot.
    pub(crate) fn of(row: &PairView<'_>) -> Self {
        let words = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (name, value) = row.pair().map(|(name, value)| (words(name), words(value))).unzip();
        let [got, freed] = row.lists();
        let last = got.len() - 1;
        let list = |at: usize| PairList {
            list: (at < last).then_some(at as u64 + 1),
            got: got[at],
            freed: freed[at],
        };
        Self {
            name,
            value,
            ecbs: row.sum(PairSum::Ecbs),
            with_buffer: row.sum(PairSum::WithBuffer),
            expanded_tags: row.sum(PairSum::ExpandedTags),
            with_frame: row.sum(PairSum::WithFrame),
            frames: row.sum(PairSum::Frames),
            high_water: row.sum(PairSum::HighWater),
            bytes: row.sum(PairSum::Bytes),
            late: row.sum(PairSum::Late),
            lists: (0..=last).map(list).collect(),
        }
    }

    /// Buffers that were dispensed.
    #[must_use]
    pub fn got(&self) -> u64 {
        self.lists.iter().fold(0, |sum, list| sum.saturating_add(list.got))
    }

    /// Buffers that were freed.
    #[must_use]
    pub fn freed(&self) -> u64 {
        self.lists.iter().fold(0, |sum, list| sum.saturating_add(list.freed))
    }

    fn add(&mut self, other: &Self) {
        let pairs = [
            (&mut self.ecbs, other.ecbs),
            (&mut self.with_buffer, other.with_buffer),
            (&mut self.expanded_tags, other.expanded_tags),
            (&mut self.with_frame, other.with_frame),
            (&mut self.frames, other.frames),
            (&mut self.bytes, other.bytes),
            (&mut self.late, other.late),
        ];
        for (sum, more) in pairs {
            *sum = sum.saturating_add(more);
        }
        self.high_water = self.high_water.max(other.high_water);
        for (list, more) in self.lists.iter_mut().zip(&other.lists) {
            list.got = list.got.saturating_add(more.got);
            list.freed = list.freed.saturating_add(more.freed);
        }
    }
}

/// Adds the pairs of the same class in another process.
pub(crate) fn add(pairs: &mut Vec<EcbPair>, others: &[EcbPair]) {
    for other in others {
        match pairs.iter_mut().find(|pair| (&pair.name, &pair.value) == (&other.name, &other.value)) {
            Some(pair) => pair.add(other),
            None => pairs.push(other.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn pairs_of_several_processes_are_added_by_name_and_value() {
        let mut sum = sample::ecbs().pairs;
        let mut more = sum.clone();
        more[0].high_water += 1;
        more[1].value = Some("NEW".to_owned());
        add(&mut sum, &more);
        assert_eq!(sum.len(), 4);
        assert_eq!((sum[0].ecbs, sum[0].high_water), (2 * more[0].ecbs, more[0].high_water));
        assert_eq!((sum[0].got(), sum[0].freed()), (2 * more[0].got(), 2 * more[0].freed()));
        assert_eq!((sum[1].ecbs, sum[3].ecbs), (more[1].ecbs, more[1].ecbs));
        assert_eq!((&sum[2].name, sum[2].ecbs), (&None, 2 * more[2].ecbs));
    }
}
