//! Reports that are given again, which count once.
//!
//! Invariant: two reports are the same only if all of their figures are; places do not count. Memory is bounded: [`MOST`]
//! reports are remembered, by a hash of their contents.
//! Not here: what becomes of a repetition (`collect`).

use std::collections::HashMap;
use std::collections::hash_map::{DefaultHasher, Entry};
use std::hash::{Hash, Hasher};

use serde::Serialize;
use underbar_listing::StorageReport;
use underbar_listing::model::ztpf::{Found, Frequencies};

const MOST: usize = 20_000;

/// The number of a file, and a line.
type Place = (usize, u64);

/// The place of each report, by a hash of its contents.
#[derive(Default)]
pub(super) struct Repetitions(HashMap<u64, Place>);

impl Repetitions {
    /// The place where the same storage report was seen: same enclave, same date and time, same figures. A report without a
    /// time may be another run.
    pub fn of_storage(&mut self, name: &str, file: usize, report: &StorageReport) -> Option<Place> {
        let date = report.date.as_ref()?;
        if !report.has_time() || report.sections.is_empty() {
            return None;
        }
        let mut hasher = DefaultHasher::new();
        (name, date).hash(&mut hasher);
        for section in &report.sections {
            section.kind.title().hash(&mut hasher);
            for (field, figure) in &section.figures {
                (field.label(), figure.value, figure.likely).hash(&mut hasher);
            }
        }
        self.of_hash((file, report.lines.0), hasher.finish())
    }

    /// The place where a finding of this kind with the same figures was seen.
    pub fn of_figures(&mut self, place: Place, figures: &impl Serialize, what: &str) -> Option<Place> {
        // Figures, texts and lists of them always have a JSON form.
        let mut plain = serde_json::to_value(figures).unwrap_or_default();
        without_places(&mut plain);
        let mut hasher = DefaultHasher::new();
        (what, plain.to_string()).hash(&mut hasher);
        self.of_hash(place, hasher.finish())
    }

    fn of_hash(&mut self, place: Place, hash: u64) -> Option<Place> {
        if self.0.len() >= MOST {
            return None;
        }
        match self.0.entry(hash) {
            Entry::Occupied(known) => Some(*known.get()),
            Entry::Vacant(new) => {
                new.insert(place);
                None
            }
        }
    }
}

/// The place where the same request size report was seen: the same counts of the same collection.
pub(super) fn of_request_sizes(known: &[(usize, Found)], found: &Found) -> Option<Place> {
    let Found::Frequencies(new) = found else { return None };
    if new.read() == 0 {
        return None;
    }
    let figures = |of: &Frequencies| -> Vec<(u64, bool, u64, u64)> {
        of.rows.iter().map(|row| (row.limit, row.over, row.percent, row.count.value)).collect()
    };
    let run = |of: &Frequencies| of.run.as_ref().map(|run| run.text.clone());
    known.iter().find_map(|(file, found)| {
        let Found::Frequencies(old) = found else { return None };
        let alike = (old.table, &old.set, old.sound) == (new.table, &new.set, new.sound)
            && run(old) == run(new)
            && old
                .sizes
                .iter()
                .map(|(list, size)| (*list, size.value))
                .eq(new.sizes.iter().map(|(list, size)| (*list, size.value)))
            && figures(old) == figures(new);
        alike.then_some((*file, old.title.line))
    })
}

/// The first line of a finding that can be a repetition.
pub(super) fn first_line(found: &Found) -> u64 {
    if let Found::Frequencies(found) = found { found.title.line } else { 1 }
}

/// Removes from a report the places of its figures, and leaves its contents.
fn without_places(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::Object(fields) => {
            for place in ["line", "lines", "text", "doubts"] {
                fields.remove(place);
            }
            fields.values_mut().for_each(without_places);
        }
        serde_json::Value::Array(all) => all.iter_mut().for_each(without_places),
        _ => {}
    }
}
