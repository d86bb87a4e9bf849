//! Rules that set nothing: reports that cannot be used, counts, coarse classes, sets of sizes.
//!
//! Invariant: each names the data that more advice would need.

use std::collections::BTreeMap;

use underbar_listing::model::ztpf::{Found, SystemRow};
use underbar_listing::{Doubtful, Figure};

use super::super::Collected;
use super::super::counts::{counted, grouped, share};
use super::avl::too_coarse;
use super::population::{name, populations, value};
use super::{LISTS, about};
use crate::advice::{Advice, Kind};

/// Entries of the first control table.
const ENTRIES: u64 = 150;
const FRAME: u64 = 4096;

/// Reports that cannot be used.
pub(crate) fn sound(collected: &Collected) -> Vec<Advice> {
    let one = |(file, found): &(usize, Found)| {
        let Found::Frequencies(report) = found else { return None };
        if report.sound {
            return None;
        }
        let mut said =
            about(&name(report.set.as_deref()), Kind::NoAdvice, vec![collected.line(*file, &report.title)]);
        said.now = "not used".to_owned();
        let absurd = report.doubts.iter().rfind(|doubt| doubt.kind == Doubtful::Absurd);
        let why = absurd.or(report.doubts.last()).map_or("it is damaged", |doubt| doubt.words.as_str());
        let mut why = why.chars();
        let first = why.next().map(|c| c.to_ascii_uppercase());
        said.reason = first.into_iter().chain(why).chain(['.']).collect();
        said.certainty = "none".to_owned();
        Some(said)
    };
    collected.ztpf.iter().filter_map(one).take(20).collect()
}

/// Numbers of buffers.
pub(crate) fn counts(collected: &Collected) -> Vec<Advice> {
    let all: Vec<_> = (1..=9).map_while(|list| value(collected, &format!("HAVL{list}"))).collect();
    let known = populations(collected);
    if all.is_empty() && known.is_empty() {
        return Vec::new();
    }
    let mut evidence: Vec<_> = match (&all[..], known.first()) {
        ([], Some(one)) => {
            one.reports.iter().take(1).map(|(file, report)| collected.line(*file, &report.title)).collect()
        }
        _ => all.iter().map(|(file, figure)| collected.line(*file, &figure.evidence)).collect(),
    };
    evidence.dedup();
    let mut said = about(&name(None), Kind::NoAdvice, evidence);
    said.certainty = "none: nothing is set".to_owned();
    said.reason = "How many buffers an ECB holds at one time is in none of these reports, so the numbers are left as they are; \
                   name-value pairs of PJ48166 count what each list dispenses and gets back."
        .to_owned();
    if all.is_empty() {
        said.now = "HAVLn not known".to_owned();
        return vec![said];
    }
    let figures: Vec<String> =
        all.iter().enumerate().map(|(at, (_, figure))| format!("HAVL{}={}", at + 1, figure.value)).collect();
    said.now = figures.join(" ");
    let sum: u64 = all.iter().take(LISTS).fold(0, |sum, (_, figure)| sum.saturating_add(figure.value));
    if sum > ENTRIES {
        said.reason +=
            &format!(" {sum} buffers in all are more than the {ENTRIES} that were possible before PJ47265.");
    }
    let bytes = all.iter().enumerate().try_fold(0_u64, |sum, (at, (_, count))| {
        let reported = || known.iter().find(|one| one.set.is_none())?.now.get(at).map(|now| now.value);
        let size =
            value(collected, &format!("HAVSZ{}", at + 1)).map(|(_, size)| size.value).or_else(reported)?;
        Some(sum.saturating_add(count.value.saturating_mul(size)))
    });
    if let (Some(bytes), Some((_, area))) = (bytes, value(collected, "PEH"))
        && bytes > area.value.saturating_mul(FRAME)
    {
        said.reason += &format!(
            " These buffers take {bytes} bytes, more than PEH={} holds if it counts 4-KB frames: check both.",
            area.value
        );
    }
    vec![said]
}

/// Reports with classes of 128.
pub(crate) fn fine(collected: &Collected) -> Vec<Advice> {
    let all = populations(collected);
    let one = |population: &super::population::Population<'_>| {
        let first = population.classes().first().copied()?;
        let finer = all.iter().any(|other| other.set == population.set && !other.coarse);
        if !too_coarse(population) || finer || first.count == 0 {
            return None;
        }
        let (file, report) = population.reports.last()?;
        let rows = report.rows.first()?;
        let lines = vec![collected.line(*file, &report.title), collected.line(*file, &rows.count.evidence)];
        let mut said = about(&population.name, Kind::NoAdvice, lines);
        said.now = "classes of 128".to_owned();
        said.reason = format!(
            "{} of the requests are of 1 to {} bytes, and the report does not say which: whether a list of 32 or 64 would \
             serve them shows only with the classes of PJ47265.",
            share(first.count, population.all()),
            first.limit
        );
        said.certainty = "none: nothing is set".to_owned();
        Some(said)
    };
    all.iter().filter_map(one).collect()
}

/// Displays of one ECB's lists.
pub(crate) fn sets(collected: &Collected) -> Vec<Advice> {
    let one = |(file, found): &(usize, Found)| {
        let Found::Lists(lists) = found else { return None };
        let mut evidence = vec![collected.line(*file, &lists.title)];
        evidence.extend(lists.sizes.first().map(|(_, size)| collected.line(*file, &size.evidence)));
        let mut said = about(&name(lists.set.as_deref()), Kind::NoAdvice, evidence);
        let sizes: Vec<String> = lists
            .sizes
            .iter()
            .map(|(list, size)| {
                format!("AVL{list} {}{}", size.value, if size.likely { " (may be cut)" } else { "" })
            })
            .collect();
        said.now = if sizes.is_empty() { "sizes not known".to_owned() } else { sizes.join(", ") };
        said.reason = match &lists.set {
            Some(set) => format!(
                "These are the sizes of set {set} only. A request size report of the whole system does not speak for it: choose \
                 its sizes by what ECBs of that set ask for."
            ),
            None => "The display does not say to which set these sizes belong.".to_owned(),
        };
        said.certainty = "none: nothing is set".to_owned();
        Some(said)
    };
    collected.ztpf.iter().filter_map(one).take(20).collect()
}

/// Name-value pairs and the system heap.
pub(crate) fn read_only(collected: &Collected) -> Vec<Advice> {
    collected
        .ztpf
        .iter()
        .filter_map(|(file, found)| pairs_or_heap(collected, *file, found))
        .take(20)
        .collect()
}

fn pairs_or_heap(collected: &Collected, file: usize, found: &Found) -> Option<Advice> {
    let (title, now, reason) = match found {
        Found::Metrics(metrics) => {
            let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
            for (name, change) in metrics.steps().into_iter().flat_map(|(_, changes)| changes) {
                let capitals = name.to_ascii_uppercase();
                if capitals.contains("AVL") || capitals.contains("HEAP") {
                    let sum = sums.entry(name).or_default();
                    *sum = sum.saturating_add(change);
                }
            }
            let changes: Vec<String> =
                sums.iter().take(12).map(|(name, sum)| format!("{name} {}", grouped(*sum))).collect();
            let shown = if changes.is_empty() {
                "none that is called AVL or HEAP".to_owned()
            } else {
                changes.join(", ")
            };
            let rows =
                counted(metrics.rows.len() as u64, "row of name-value pairs", "rows of name-value pairs");
            let shown = if metrics.rows.iter().all(|row| row.ecb.is_none()) {
                "not known, since the rows name no ECB".to_owned()
            } else {
                shown
            };
            let reason = format!(
                "Changes within ECBs: {shown}. Which counters are about the heap of ECBs is in no public source, so nothing is \
                 set by them."
            );
            (&metrics.title, rows, reason)
        }
        Found::SystemHeap(heap) => {
            let size = |figure: &Option<Figure>| {
                figure.as_ref().map_or("-".to_owned(), |size| {
                    format!("{} KB{}", grouped(size.value / 1024), if size.likely { "?" } else { "" })
                })
            };
            let of = |row: SystemRow| {
                let (_, low, high) = heap.rows.iter().find(|(known, _, _)| *known == row)?;
                Some(format!("31-bit {}, 64-bit {}", size(low), size(high)))
            };
            let not_read = || "not read".to_owned();
            // The ratio of the first row to the second, in one column.
            let shares = |part: SystemRow, whole: SystemRow| {
                let row = |row: SystemRow| heap.rows.iter().find(|(known, _, _)| *known == row);
                let (Some((_, low, high)), Some((_, low_whole, high_whole))) = (row(part), row(whole)) else {
                    return String::new();
                };
                let share = |width: &str, part: &Option<Figure>, whole: &Option<Figure>| {
                    let (part, whole) = (part.as_ref()?, whole.as_ref().filter(|whole| whole.value > 0)?);
                    let sure = if part.likely || whole.likely { "?" } else { "" };
                    let of_10_000 = u128::from(part.value) * 10_000 / u128::from(whole.value);
                    Some(format!("{width} {}.{:02} %{sure}", of_10_000 / 100, of_10_000 % 100))
                };
                let both = [share("31-bit", low, low_whole), share("64-bit", high, high_whole)];
                both.into_iter().flatten().collect::<Vec<_>>().join(", ")
            };
            let named = |words: &str, shares: String| match shares.as_str() {
                "" => String::new(),
                shares => format!(" {words}: {shares}."),
            };
            let now = format!("system heap in use: {}", of(SystemRow::InUse).unwrap_or_else(not_read));
            let most = of(SystemRow::MostInUse).unwrap_or_else(not_read);
            let reason = format!(
                "Most in use: {most}, the least that its size has to hold.{}{}{} No source holds a rule for the system heap: \
                 nothing is set.",
                named("Of its size", shares(SystemRow::MostInUse, SystemRow::Size)),
                named("In use now of the most", shares(SystemRow::InUse, SystemRow::MostInUse)),
                named(
                    "In use of what is preallocated",
                    shares(SystemRow::PreallocatedInUse, SystemRow::PreallocatedSize)
                ),
            );
            (&heap.title, now, reason)
        }
        _ => return None,
    };
    let mut said = about(&name(None), Kind::NoAdvice, vec![collected.line(file, title)]);
    (said.now, said.reason) = (now, reason);
    said.certainty = "none: nothing is set".to_owned();
    Some(said)
}
