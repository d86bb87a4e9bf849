//! Sizes of the available lists with the least waste.
//!
//! Invariant: sizes are in ascending order, are class limits rounded up to [`UNIT`], and hold all requests but one in [`RARE`].
//! Not here: how the best sizes are found (`underbar_model::Requests::fitting`).

use underbar_model::requests::RARE;
use underbar_model::{Class, Figure, Supply};
use underbar_report::units::{count, counted};

use super::super::Collected;
use super::super::available_lists::serve;
use super::super::shares::share;
use super::configuration::value;
use super::population::{Population, populations};
use super::{AVL_SIZE, LISTS, about};
use crate::advice::{Advice, Evidence, Kind, Line, Value, shown};

/// The smallest known size on z/TPF: sizes are its multiples.
const UNIT: u64 = 32;
/// With fewer requests there is no advice.
const FEW: u64 = 100;
/// One request in this many may be in missing rows.
const MISSING: u64 = 100;
/// A change that saves less than one byte in this many is not worthwhile.
const WORTH: u64 = 100;

/// The reason if the last of the present sizes may have lost digits.
const LIKELY: &str = ", if the line that ends in the last of them is not cut there";

/// The choice for a population.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// Sizes from AVL1 on.
    Sizes(Vec<u64>),
    /// No sizes, and why.
    None(String),
}

/// Whether classes of 128 are too coarse to show the sizes of most requests.
pub(crate) fn too_coarse(population: &Population<'_>) -> bool {
    let first = population.requests.rows.first().map_or(0, |row| row.count.value);
    population.coarse && first.saturating_mul(2) >= population.all()
}

/// Chooses the sizes of a population's lists.
pub(crate) fn choose(population: &Population<'_>) -> Choice {
    let read = population.read();
    match population.requests.missing {
        None => {
            return Choice::None(
                "How many requests there are in all cannot be told from the rows that were read.".to_owned(),
            );
        }
        Some(most) if most.saturating_mul(MISSING) > read.saturating_add(most) => {
            return Choice::None(format!(
                "Of {} requests up to {} lie in rows that are not here: too many to choose sizes by the others.",
                count(read.saturating_add(most)),
                count(most)
            ));
        }
        _ => {}
    }
    if read < FEW {
        return Choice::None(format!(
            "{} are too few to choose sizes by.",
            counted(read, "request", "requests")
        ));
    }
    let lists = population.now.len().max(LISTS);
    Choice::Sizes(population.requests.fitting(lists, UNIT))
}

/// The rule for sizes.
pub(crate) fn sizes(collected: &Collected) -> Vec<Advice> {
    let all = populations(collected);
    all.iter().map(|population| one(collected, population, &all)).collect()
}

fn one(collected: &Collected, population: &Population<'_>, all: &[Population<'_>]) -> Advice {
    let now: Vec<u64> = population.now.iter().map(|now| now.value).collect();
    let mut said = about(&population.name, Kind::NoAdvice, evidence(collected, population));
    said.now = if now.is_empty() {
        "sizes not known: the listing does not hold all of them".to_owned()
    } else {
        shown(&values(&now))
    };
    if population.now.iter().any(Figure::is_likely) {
        said.now += LIKELY;
    }
    for (at, size) in now.iter().enumerate().filter(|_| population.set.is_none()) {
        let name = format!("HAVSZ{}", at + 1);
        if let Some(figure) = value(collected, &name)
            && figure.value != *size
        {
            said.now += &format!("; {name}={} elsewhere contradicts that", figure.value);
            said.evidence.extend(Evidence::of(&figure));
        }
    }
    said.certainty = confidence(population);
    if too_coarse(population) && now.is_empty() {
        said.reason = "Half of the requests or more lie in the one class up to 128, and the present sizes are not known: sizes by \
                       these classes could be worse than they are."
            .to_owned();
    }
    if population.coarse && all.iter().any(|other| other.set == population.set && !other.coarse) {
        said.reason = "A report with the finer classes of PJ47265 is there: this one is not used.".to_owned();
    }
    if !said.reason.is_empty() {
        return said;
    }
    let sizes = match choose(population) {
        Choice::Sizes(sizes) => sizes,
        Choice::None(why) => {
            said.reason = why;
            return said;
        }
    };
    let requests = population.classes();
    let proposed = serve("proposed", &requests, &sizes);
    let classes = requests.iter().filter(|class| class.count > 0).count();
    said.reason = format!(
        "{} requests lie in {classes} classes{}; of all ways to cut them into {} lists, these sizes, which hold all requests but one in 1,000 at most, waste least: {} bytes \
         beyond the classes' limits, at most {} beyond the requests. Too large for all lists: {}.",
        count(population.read()),
        top(population),
        population.now.len().max(LISTS),
        count(proposed.together.wasted.least),
        count(proposed.together.wasted.most),
        proposed.beyond.requests,
    );
    let spare = population.now.len().max(LISTS).saturating_sub(sizes.len());
    if spare > 0 {
        said.reason += &format!(
            " Lists that are not needed for them: {spare}; leave those as they are, but larger than {}.",
            sizes.last().copied().unwrap_or(0)
        );
    }
    if now.is_empty() {
        said.kind = Kind::Change;
        said.effect = format!(
            "{} bytes handed out for these requests; the present sizes are not known, so neither is what this spares.",
            proposed.together.bytes
        );
        said.values = values(&sizes);
        return said;
    }
    let present = serve("now", &requests, &now);
    let held = (present.beyond.requests, proposed.beyond.requests);
    let spared = spared(&requests, &now, &sizes);
    let holds_more = held.0.least.saturating_sub(held.1.most).saturating_mul(RARE) > population.all();
    let worth = spared.saturating_mul(i128::from(WORTH)) > i128::from(present.together.bytes.least);
    if !holds_more && !worth {
        said.kind = Kind::NoChange;
        said.reason = format!(
            "The present sizes waste {} bytes of {}, and of {} requests {} are too large for all lists; the best sizes ({}) \
             would not spare one byte in {WORTH} for certain.",
            present.together.wasted,
            present.together.bytes,
            count(population.read()),
            held.0,
            shown(&values(&sizes)),
        );
        return said;
    }
    said.kind = if holds_more {
        Kind::Raise
    } else if sizes.iter().zip(&now).all(|(new, old)| new <= old) {
        Kind::Lower
    } else {
        Kind::Change
    };
    said.effect = format!(
        "bytes handed out {} -> {}, of these wasted {} -> {}; requests too large for all lists {} -> {}.",
        present.together.bytes,
        proposed.together.bytes,
        present.together.wasted,
        proposed.together.wasted,
        held.0,
        held.1
    );
    said.values = values(&sizes);
    said
}

/// The advice of a rule about requests on each population. The rule for sizes sets all sizes together.
pub(crate) fn supplied(collected: &Collected, rule: fn(&Supply) -> Option<Advice>) -> Vec<Advice> {
    let of = |population: &Population<'_>| {
        let found = rule(&population.supply())?;
        let now: Vec<u64> = population.now.iter().map(|now| now.value).collect();
        let reason =
            format!("{} {AVL_SIZE} names sizes that hold all but one in {}.", found.reason, count(RARE));
        let (target, certainty) = (population.name.clone(), confidence(population));
        Some(Advice { target, certainty, now: shown(&values(&now)), reason, ..found })
    };
    populations(collected).iter().filter_map(of).collect()
}

/// Bytes that new sizes save for any sizes of the requests within a class, over the classes that both hold.
///
/// A present size within a class may serve all its requests; the class then gains nothing, or loses.
fn spared(classes: &[Class], now: &[u64], new: &[u64]) -> i128 {
    let of = |class: &Class| {
        now.iter().find(|size| **size >= class.limit)?;
        let least = now.iter().find(|size| **size > class.from)?;
        let new = new.iter().find(|size| **size >= class.limit)?;
        Some((i128::from(*least) - i128::from(*new)) * i128::from(class.count))
    };
    classes.iter().filter_map(of).sum()
}

fn values(sizes: &[u64]) -> Vec<Value> {
    sizes
        .iter()
        .enumerate()
        .map(|(at, size)| Value { name: format!("HAVSZ{}", at + 1), value: size.to_string() })
        .collect()
}

/// The class with most requests, and its share.
fn top(population: &Population<'_>) -> String {
    let Some(class) = population.classes().into_iter().max_by_key(|class| class.count) else {
        return String::new();
    };
    format!(
        ", {} of them in that of {} to {}",
        share(class.count, population.all()),
        class.from + 1,
        class.limit
    )
}

fn confidence(population: &Population<'_>) -> String {
    let reports = population.reports.len();
    let level = match reports {
        0 | 1 => "low",
        2..=9 => "medium",
        _ => "high",
    };
    let runs = counted(reports as u64, "report", "reports");
    let more = match population.requests.missing {
        Some(0) => String::new(),
        Some(most) if population.missing == 0 => {
            format!("; rounded percentages allow up to {} more in rows that are not here", count(most))
        }
        Some(most) => format!("; up to {} more lie in rows that are not here", count(most)),
        None => "; how many more there are is not known".to_owned(),
    };
    format!("{level}: {runs}, {}{more}", counted(population.read(), "request", "requests"))
}

fn evidence(collected: &Collected, population: &Population<'_>) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for (file, report) in population.reports.iter().rev().take(3) {
        lines.extend(report.run.iter().map(|run| collected.line(*file, run)));
        lines.push(collected.line(*file, &report.title));
        let mut rows: Vec<_> = report.rows.iter().filter(|row| row.count.value > 0).collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.count.value));
        lines.extend(rows.iter().take(3).map(|row| collected.line(*file, &row.count.evidence)));
    }
    for line in population.now.iter().filter_map(|now| now.evidence.line()) {
        if !lines.contains(line) {
            lines.push(line.clone());
        }
    }
    lines
}
