//! Displays that set nothing by themselves: the lists of one ECB, the buffers of a configuration, the system heap, name-value pairs.
//!
//! Not here: what is remarked about them (`remarks`).

use std::collections::BTreeMap;

use underbar_listing::model::ztpf::{
    Found, ListRow, Lists, MetricRow, Metrics, SystemHeap as FoundHeap, SystemRow,
};
use underbar_model::{AvailableList, Figure, Storage};

use super::super::Collected;
use super::configuration::value;
use super::population::Population;
use crate::advice::Line;

/// Why a figure of the system heap is absent if its row is not there.
pub(crate) const NOT_READ: &str = "its row was not read";

/// The available lists of a set of sizes, as one ECB has them.
pub(crate) struct Set {
    /// The set; None if none is named.
    pub name: Option<String>,
    /// The lists.
    pub lists: Vec<AvailableList>,
    /// Buffers that its lists dispensed: all, those of shared lists, those of new storage; None where the counts are not known.
    pub dispensed: Option<[u64; 3]>,
    /// The display's first line.
    pub title: Line,
}

/// The displays of one ECB's lists.
pub(crate) fn sets(collected: &Collected) -> impl Iterator<Item = Set> {
    collected.ztpf.iter().filter_map(|(file, found)| {
        let Found::Lists(found) = found else { return None };
        let list = |(number, size): &(u8, underbar_listing::Figure)| AvailableList {
            number: *number,
            size: Figure::line(collected.line(*file, &size.evidence), size.value, size.likely),
            buffers: Figure::absent("the display of one ECB does not show it"),
        };
        Some(Set {
            name: found.set.clone(),
            lists: found.sizes.iter().map(list).collect(),
            dispensed: dispensed(found),
            title: collected.line(*file, &found.title),
        })
    })
}

fn dispensed(found: &Lists) -> Option<[u64; 3]> {
    let sum = |of: fn(&ListRow) -> u64| found.rows.iter().map(of).fold(0, u64::saturating_add);
    let shared = sum(|row| row.shared_31.value.saturating_add(row.shared_64.value));
    (!found.rows.is_empty())
        .then(|| [sum(|row| row.dispensed.value), shared, sum(|row| row.new_storage.value)])
}

/// The lists of the system, as its memory configuration has them. If that lacks a size, the reports of the population of the system
/// have it.
pub(crate) fn configured(collected: &Collected, known: &[Population<'_>]) -> Vec<AvailableList> {
    let of_system = known.iter().find(|one| one.set.is_none());
    let list = |number: u8| {
        let buffers = value(collected, &format!("HAVL{number}"))?;
        let reported = || of_system?.now.get(usize::from(number) - 1).cloned();
        let size = value(collected, &format!("HAVSZ{number}")).or_else(reported);
        let size = size.unwrap_or_else(|| Figure::absent("neither a value nor a report shows it"));
        Some(AvailableList { number, size, buffers })
    };
    (1..=9).map_while(list).collect()
}

/// A display that is only remarked on.
pub(crate) enum Shown {
    /// Name-value pairs.
    Pairs(Pairs),
    /// The system heap.
    SystemHeap(Box<SystemHeap>),
}

/// Name-value pairs.
pub(crate) struct Pairs {
    /// The first line.
    pub title: Line,
    /// Rows.
    pub rows: u64,
    /// Rows of underbar: a class or a pair, its ECBs, and the buffers dispensed to them.
    pub of_classes: Vec<(String, u64, u64)>,
    /// Whether a row names its ECB; changes are only known within ECBs.
    pub has_ecbs: bool,
    /// Sums of the changes within ECBs, of counters with AVL or HEAP in their name.
    pub changes: Vec<(String, Figure)>,
}

/// The system heap, in bytes: the whole and its preallocated part, in 31-bit and in 64-bit storage.
pub(crate) struct SystemHeap {
    /// The first line.
    pub title: Line,
    /// The whole.
    pub whole: [Storage; 2],
    /// The preallocated part.
    pub preallocated: [Storage; 2],
}

/// The displays of name-value pairs and of the system heap.
pub(crate) fn others(collected: &Collected) -> impl Iterator<Item = Shown> {
    collected.ztpf.iter().filter_map(|(file, found)| match found {
        Found::Metrics(metrics) => Some(Shown::Pairs(pairs(collected, *file, metrics))),
        Found::SystemHeap(heap) => Some(Shown::SystemHeap(Box::new(system_heap(collected, *file, heap)))),
        _ => None,
    })
}

fn pairs(collected: &Collected, file: usize, metrics: &Metrics) -> Pairs {
    let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
    for (name, change) in metrics.steps().into_iter().flat_map(|(_, changes)| changes) {
        let capitals = name.to_ascii_uppercase();
        if capitals.contains("AVL") || capitals.contains("HEAP") {
            let sum = sums.entry(name).or_default();
            *sum = sum.saturating_add(change);
        }
    }
    let title = collected.line(file, &metrics.title);
    let figure = |sum: u64| Figure::line(title.clone(), sum, false);
    Pairs {
        rows: metrics.rows.len() as u64,
        of_classes: metrics.rows.iter().filter_map(of_class).collect(),
        has_ecbs: metrics.rows.iter().any(|row| row.ecb.is_some()),
        changes: sums.into_iter().map(|(name, sum)| (name.to_owned(), figure(sum))).collect(),
        title,
    }
}

/// A row with the names that underbar prints.
fn of_class(row: &MetricRow) -> Option<(String, u64, u64)> {
    let ecbs = row.values.iter().find(|(name, _)| name == "ECBS")?.1;
    let buffers =
        row.values.iter().filter(|(name, _)| name.ends_with("_DISPENSED") && !name.starts_with("BYTES"));
    let buffers = buffers.fold(0_u64, |sum, (_, value)| sum.saturating_add(*value));
    let owner = row.owner.as_deref().unwrap_or_default();
    let name = match &row.pair {
        None => format!("class {owner}"),
        Some((name, value)) if value.is_empty() => name.clone(),
        Some((name, value)) => format!("{name}={value}"),
    };
    Some((name, ecbs, buffers))
}

fn system_heap(collected: &Collected, file: usize, heap: &FoundHeap) -> SystemHeap {
    let figure = |row: SystemRow, column: usize| {
        let Some((_, low, high)) = heap.rows.iter().find(|(known, ..)| *known == row) else {
            return Figure::absent(NOT_READ);
        };
        let printed = if column == 0 { low } else { high };
        printed.as_ref().map_or(Figure::absent("N/A"), |figure| {
            Figure::line(collected.line(file, &figure.evidence), figure.value, figure.likely)
        })
    };
    let none = || Storage::absent("the display does not show it");
    let whole = |column| Storage {
        initial: figure(SystemRow::Size, column),
        used: figure(SystemRow::MostInUse, column),
        used_last: figure(SystemRow::InUse, column),
        ..none()
    };
    let preallocated = |column| Storage {
        initial: figure(SystemRow::PreallocatedSize, column),
        used_last: figure(SystemRow::PreallocatedInUse, column),
        ..none()
    };
    SystemHeap {
        title: collected.line(file, &heap.title),
        whole: [0, 1].map(whole),
        preallocated: [0, 1].map(preallocated),
    }
}
