//! The preallocated 31-bit area for a share of all ECBs.
//!
//! Invariant: the area is computed in 4-KB frames.
//! Not here: which reports show the use of the area (`area_use`).

use underbar_report::units::{count, counted};

use super::super::Collected;
use super::about;
use super::area_use::{Used, known};
use super::configuration::value;
use super::population::name;
use super::unusable::Unusable;
use crate::advice::{Advice, Evidence, Kind, Value};

const FRAME: u64 = 4096;
/// The area should hold this many ECBs of a hundred.
const TARGET: u64 = 95;
/// With fewer ECBs there is no advice: five of a hundred would be less than one of them.
const FEW: u64 = 20;

/// The rule for the area.
pub(crate) fn area(collected: &Collected) -> Vec<Advice> {
    let known = known(collected);
    let damaged = known.damaged.into_iter().map(Unusable::said);
    let advised = known.uses.into_iter().map(|used| one(collected, used));
    damaged.chain(advised).chain(known.alone.into_iter().map(Unusable::said)).collect()
}

fn one(collected: &Collected, used: Used) -> Advice {
    let Used { set, area: used, lines, notes } = used;
    let mut said = about(&name(set.as_deref()), Kind::NoAdvice, lines);
    let frames = |bytes: u64| bytes.div_ceil(FRAME);
    let written = |bytes: u64| format!("{} KB, {} frames of 4 KB", bytes / 1024, frames(bytes));
    let (all, present) = (used.all(), used.area.value);
    said.now = format!("area of {}", written(present));
    if let Some(figure) = value(collected, "PEH") {
        said.evidence.extend(Evidence::of(&figure));
        if figure.value != frames(present) {
            said.now +=
                &format!(" by the report; PEH={} says another size, or counts in other units", figure.value);
        }
    }
    let level = match used.collections {
        0 | 1 => "low",
        2..=9 => "medium",
        _ => "high",
    };
    said.certainty = format!(
        "{level}: {}, {}",
        counted(used.collections, "collection", "collections"),
        counted(all, "ECB", "ECBs")
    );
    let held = |percent: u64| {
        used.holding(percent).map_or(format!("no class holds {percent} % of them"), |bytes| {
            format!("{} KB hold {percent} % of them", bytes / 1024)
        })
    };
    let exceed = used.exceed(present);
    let verb = if exceed == 1 { "exceeds" } else { "exceed" };
    said.reason = format!(
        "Of {} {} {verb} the area; {}, {}.",
        counted(all, "ECB", "ECBs"),
        count(exceed),
        held(90),
        held(TARGET)
    );
    for note in notes {
        said.reason += &format!(" {note}");
    }
    if all < FEW {
        said.reason += &format!(" {} are too few to set anything by them.", counted(all, "ECB", "ECBs"));
        return said;
    }
    let Some(bytes) = used.holding(TARGET) else { return said };
    let (old, new) = (frames(present), frames(bytes));
    if old == new {
        said.kind = Kind::NoChange;
        return said;
    }
    said.kind = if new > old { Kind::Raise } else { Kind::Lower };
    let change = new.abs_diff(old) * FRAME / 1024;
    let less = if new > old { "more" } else { "less" };
    said.effect = format!(
        "ECBs that exceed the area {} -> {} of {}; {change} KB {less} for every ECB that is defined, used or not.",
        count(exceed),
        count(used.exceed(bytes)),
        count(all)
    );
    said.values = vec![Value { name: "PEH".to_owned(), value: new.to_string() }];
    said
}
