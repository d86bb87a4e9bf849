//! What the keys of reports differ in from this version: counters and step figures that they lack, or have besides.
//!
//! Invariant: reports that differ alike are counted together, and memory is bounded, whatever keys they have.
//! Not here: reports that cannot be read ([`crate::collect`]).

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;
use underbar_report::figures::split;
use underbar_report::steps::STEPS;

/// The most different sets of keys that are told apart.
const MOST: usize = 100;
/// The most names of one set that are kept, and the characters of a name.
const NAMES: usize = 5;
const LENGTH: usize = 60;

/// Only the keys of a report.
#[derive(Deserialize)]
struct Shape {
    underbar: String,
    #[serde(default)]
    steps: Option<BTreeMap<String, IgnoredAny>>,
    tree: TreeShape,
}

#[derive(Deserialize)]
struct TreeShape {
    #[serde(default)]
    counters: BTreeMap<String, BTreeMap<String, IgnoredAny>>,
}

/// The keys in which reports differ from this version.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Keys {
    underbar: String,
    lacks: Vec<String>,
    lacked: usize,
    also: Vec<String>,
    more: usize,
}

/// All differences so far.
#[derive(Default)]
pub(crate) struct Differences {
    sets: BTreeMap<Keys, (u64, String)>,
    beyond: u64,
}

impl Differences {
    /// Notes the keys of a report that can be read.
    pub(crate) fn note(&mut self, known: &[&'static str], bytes: &[u8], place: impl FnOnce() -> String) {
        let Ok(shape) = serde_json::from_slice::<Shape>(bytes) else { return };
        let mut keys = Keys { underbar: clipped(&shape.underbar), ..Keys::default() };
        let has = |key: &'static str| {
            let (area, name) = split(key);
            if area == "steps" {
                return shape.steps.as_ref().is_none_or(|steps| steps.contains_key(name));
            }
            shape.tree.counters.get(area).is_some_and(|area| area.contains_key(name))
        };
        for key in known.iter().filter(|key| !has(key)) {
            keys.lacked += 1;
            if keys.lacks.len() < NAMES {
                keys.lacks.push((*key).to_owned());
            }
        }
        let counters = shape
            .tree
            .counters
            .iter()
            .flat_map(|(area, names)| names.keys().map(move |name| format!("{area}.{name}")));
        let steps = shape.steps.iter().flat_map(|steps| steps.keys()).map(|name| format!("steps.{name}"));
        for key in counters.chain(steps).filter(|key| known.binary_search(&key.as_str()).is_err()) {
            keys.more += 1;
            if keys.also.len() < NAMES {
                keys.also.push(clipped(&key));
            }
        }
        if keys.lacked + keys.more == 0 {
            return;
        }
        if let Some((count, _)) = self.sets.get_mut(&keys) {
            *count += 1;
        } else if self.sets.len() < MOST {
            self.sets.insert(keys, (1, place()));
        } else {
            self.beyond += 1;
        }
    }

    /// One line for each set of keys, the most frequent first.
    pub(crate) fn told(self) -> Vec<String> {
        let mut sets: Vec<_> = self.sets.into_iter().collect();
        sets.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
        let mut lines: Vec<String> =
            sets.iter().map(|(keys, (count, place))| told(keys, *count, place)).collect();
        if self.beyond > 0 {
            lines.push(format!("{} more reports differ in other keys", self.beyond));
        }
        lines
    }
}

fn told(keys: &Keys, count: u64, place: &str) -> String {
    let named = |names: &[String], all: usize| {
        let rest = all - names.len();
        let rest = if rest > 0 { format!(" and {rest} more") } else { String::new() };
        format!("{}{rest}", names.join(", "))
    };
    let lacks =
        (keys.lacked > 0).then(|| format!("lacks {}, which become null", named(&keys.lacks, keys.lacked)));
    let also = (keys.more > 0)
        .then(|| format!("has {}, which this version does not know", named(&keys.also, keys.more)));
    let words: Vec<String> = lacks.into_iter().chain(also).collect();
    let reports = if count == 1 { "report" } else { "reports" };
    format!("{count} {reports} of underbar {} (first {place}): {}", keys.underbar, words.join("; "))
}

fn clipped(text: &str) -> String {
    text.chars().take(LENGTH).collect()
}

/// The keys that this version knows, sorted.
pub(crate) fn known() -> Vec<&'static str> {
    let counters = underbar_ledger::TABLE.iter().map(|entry| entry.key);
    let absent = underbar_report::figures::absent();
    let mut keys: Vec<&'static str> =
        counters.chain(STEPS.iter().map(|step| step.key)).chain(absent).collect();
    keys.sort_unstable();
    keys
}

#[cfg(test)]
mod tests {
    use super::*;
    use underbar_report::sample;

    fn check(text: &str, expect: &[&str]) {
        let mut differences = Differences::default();
        for _ in 0..2 {
            differences.note(&known(), text.as_bytes(), || "r.json:1".to_owned());
        }
        assert_eq!(differences.told(), expect);
    }

    #[test]
    fn missing_and_unknown_keys_are_named_once_for_all_reports() {
        let text = sample::getfree().to_json();
        check(&text, &[]);
        check(
            &text.replace("\"segment_bytes_peak\":", "\"weather\":"),
            &[
                "2 reports of underbar 0.1.0 (first r.json:1): lacks heap.segment_bytes_peak, which become null; \
             has heap.weather, which this version does not know",
            ],
        );
        check("no report", &[]);
    }

    #[test]
    fn memory_is_bounded_whatever_keys_there_are() {
        let text = sample::getfree().to_json();
        let mut differences = Differences::default();
        for number in 0..MOST + 7 {
            let long = format!("\"{}{number}\":1,\"purges\":", "x".repeat(10));
            let text = text.replace("\"purges\":", &long);
            differences.note(&known(), text.as_bytes(), String::new);
        }
        let told = differences.told();
        assert_eq!(
            (told.len(), told.last().map(String::as_str)),
            (MOST + 1, Some("7 more reports differ in other keys"))
        );
    }
}
