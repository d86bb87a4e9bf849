//! All figures of a report by their key paths, for differences and gates. Figures of a class of ECBs have a key with its name.
//!
//! Not here: two reports (`diff`), and expressions (`gate`).

use std::borrow::Cow;

use underbar_ledger::table::KEYS;
use underbar_ledger::{TABLE, Unit, sizes};

use crate::ecb_sums;
use crate::lock::columns::sums;
use crate::model::Report;
use crate::steps::STEPS;
use crate::tree::TREE;

/// One figure of a report, by its key path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Figure {
    /// Key path.
    pub key: Cow<'static, str>,
    /// The words printed for it.
    pub label: &'static str,
    /// What it counts.
    pub unit: Unit,
    /// The figure; None if the report does not know it.
    pub value: Option<u64>,
}

/// All key paths that can be compared: step timings, then the tree and its counters, its requests by size, then figures of all
/// locks together, and of all ECBs. [`ecb_sums`] has those of a class.
pub fn keys() -> impl Iterator<Item = &'static str> {
    keys_and_units().map(|(key, _)| key)
}

/// What the figure of a key counts.
pub(crate) fn unit_of(key: &str) -> Option<Unit> {
    let known = keys_and_units().find(|(known, _)| *known == key).map(|(_, unit)| unit);
    known.or_else(|| ecb_sums::parse(key).map(|(_, sum)| sum.unit))
}

fn keys_and_units() -> impl Iterator<Item = (&'static str, Unit)> {
    let steps = STEPS.iter().map(|step| (step.key, step.unit));
    let tree = TREE.iter().map(|figure| (figure.key, Unit::Count));
    let counters = TABLE.iter().map(|entry| (entry.key, entry.unit));
    let requests = sizes::TABLE.iter().map(|row| (row.key, sizes::COMMON.unit));
    let ecbs = ecb_sums::SUMS.iter().map(|sum| (sum.key, sum.unit));
    steps.chain(tree).chain(counters).chain(requests).chain(sums().map(|sum| (sum.key, sum.unit))).chain(ecbs)
}

/// All figures of a report, in the order of [`keys`].
#[must_use]
pub fn of_report(report: &Report) -> Vec<Figure> {
    let steps = STEPS.iter().map(|step| Figure {
        key: step.key.into(),
        label: step.label,
        unit: step.unit,
        value: report.steps.as_ref().and_then(step.get),
    });
    let tree = TREE.iter().map(|of| Figure {
        key: of.key.into(),
        label: of.label,
        unit: Unit::Count,
        value: Some((of.get)(&report.tree)),
    });
    let counters = KEYS.into_iter().map(|key| {
        let entry = key.entry();
        Figure {
            key: entry.key.into(),
            label: entry.label,
            unit: entry.unit,
            value: report.tree.counters.known(key),
        }
    });
    let requests = sizes::TABLE.iter().enumerate().map(|(at, row)| Figure {
        key: row.key.into(),
        label: sizes::COMMON.label,
        unit: sizes::COMMON.unit,
        value: report.tree.sizes.as_ref().map(|sizes| sizes.get(at)),
    });
    let locks = sums().map(|sum| Figure {
        key: sum.key.into(),
        label: sum.label,
        unit: sum.unit,
        value: sum.of_report(report),
    });
    let ecbs = ecb_sums::SUMS.iter().map(|sum| Figure {
        key: sum.key.into(),
        label: sum.label(),
        unit: sum.unit,
        value: sum.of_report(report),
    });
    steps.chain(tree).chain(counters).chain(requests).chain(locks).chain(ecbs).collect()
}
