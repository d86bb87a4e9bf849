//! The preallocated 31-bit area for a share of all ECBs.
//!
//! ```text
//! preallocated report   0KB 24KB 32KB ... 80KB | > 80KB
//! virtual report                                 88KB ... 152KB | > 152KB     of those above
//! ```
//!
//! Invariant: both reports are combined only if the first's last row holds as many ECBs as the second holds in
//! all. The area is computed in 4-KB frames.

use underbar_listing::model::ztpf::{Found, Frequencies, Table};

use super::super::Collected;
use super::super::counts::{counted, grouped};
use super::about;
use super::population::{name, value};
use crate::advice::{Advice, Kind, Line, Value};

const FRAME: u64 = 4096;
/// The area should hold this many ECBs of a hundred.
const TARGET: u64 = 95;
/// With fewer ECBs there is no advice: five of a hundred would be less than one of them.
const FEW: u64 = 20;

/// A pair of reports.
struct Pair<'a> {
    file: usize,
    first: &'a Frequencies,
    /// With its file.
    second: Option<(usize, &'a Frequencies)>,
}

/// ECBs by their use, for all pairs with the same area.
struct Use {
    /// Present area in bytes.
    now: u64,
    /// Limit in bytes, ECBs.
    classes: Vec<(u64, u64)>,
    /// ECBs above all classes.
    above: u64,
    pairs: u64,
}

impl Use {
    fn all(&self) -> u64 {
        self.classes.iter().fold(self.above, |sum, (_, count)| sum.saturating_add(*count))
    }

    /// ECBs that need more than this.
    fn exceed(&self, bytes: u64) -> u64 {
        self.classes
            .iter()
            .filter(|(limit, _)| *limit > bytes)
            .fold(self.above, |sum, (_, count)| sum + count)
    }

    /// The smallest limit that holds this many of a hundred; None if the classes do not reach so far.
    fn holding(&self, of_hundred: u64) -> Option<u64> {
        let all = u128::from(self.all());
        let mut sum = 0_u128;
        let smallest = self.classes.iter().map(|(limit, _)| *limit).find(|limit| *limit > 0)?;
        let mut reach = self.classes.iter().filter(|(_, count)| {
            sum += u128::from(*count);
            sum * 100 >= all * u128::from(of_hundred)
        });
        reach.next().map(|(limit, _)| (*limit).max(smallest))
    }
}

/// The facts about one set and one present area.
struct Known<'a> {
    set: Option<&'a str>,
    used: Use,
    lines: Vec<Line>,
    notes: Vec<String>,
}

/// The rule for the area.
pub(crate) fn area(collected: &Collected) -> Vec<Advice> {
    let mut all = Vec::new();
    let mut known: Vec<Known<'_>> = Vec::new();
    let (pairs, rest) = pairs(collected);
    for pair in pairs {
        let set = pair.first.set.as_deref();
        let mut evidence = vec![collected.line(pair.file, &pair.first.title)];
        let rows = |file: usize, report: &Frequencies| {
            let last = report.rows.last().map(|row| collected.line(file, &row.count.evidence));
            last.into_iter().collect::<Vec<_>>()
        };
        evidence.extend(rows(pair.file, pair.first));
        if let Some((file, second)) = pair.second {
            evidence.push(collected.line(file, &second.title));
            evidence.extend(rows(file, second));
        }
        match usage(&pair) {
            Err(why) => {
                let mut said = about(&name(set), Kind::NoAdvice, evidence);
                said.now = "preallocated 31-bit area".to_owned();
                said.reason = why;
                said.certainty = "none".to_owned();
                all.push(said);
            }
            Ok((used, note)) => {
                match known.iter_mut().find(|one| one.set == set && one.used.now == used.now) {
                    Some(one) => {
                        one.used.add(used);
                        if one.lines.len() < 8 {
                            one.lines.extend(evidence);
                        }
                        one.notes.extend(note);
                    }
                    None => {
                        known.push(Known { set, used, lines: evidence, notes: note.into_iter().collect() })
                    }
                }
            }
        }
    }
    all.extend(known.into_iter().map(|known| one(collected, known)));
    for (file, report) in rest.into_iter().take(20) {
        let lines = vec![collected.line(file, &report.title)];
        let mut said = about(&name(report.set.as_deref()), Kind::NoAdvice, lines);
        said.now = "a report on the virtual area alone".to_owned();
        said.reason = "The report on the preallocated area that belongs to it is missing: how many ECBs stay within the area is not \
                       known."
            .to_owned();
        said.certainty = "none".to_owned();
        all.push(said);
    }
    all
}

impl Use {
    fn add(&mut self, other: Use) {
        self.pairs += other.pairs;
        self.above += other.above;
        for (limit, count) in other.classes {
            match self.classes.binary_search_by_key(&limit, |(known, _)| *known) {
                Ok(at) => self.classes[at].1 += count,
                Err(at) => self.classes.insert(at, (limit, count)),
            }
        }
    }
}

/// Pairs, and reports on the virtual area that belong to no pair.
///
/// The second report follows the first in a file. Or they are in any order, in one file or two; then the second must hold as
/// many ECBs as exceed the first's area.
fn pairs(collected: &Collected) -> (Vec<Pair<'_>>, Vec<(usize, &Frequencies)>) {
    let (mut all, mut rest): (Vec<Pair<'_>>, Vec<(usize, &Frequencies)>) = (Vec::new(), Vec::new());
    for (file, found) in &collected.ztpf {
        let Found::Frequencies(report) = found else { continue };
        match report.table {
            Table::Preallocated => all.push(Pair { file: *file, first: report, second: None }),
            Table::Virtual => {
                let last = all.last_mut().filter(|pair| pair.file == *file && pair.second.is_none());
                match last.filter(|pair| pair.first.run == report.run) {
                    Some(pair) => pair.second = Some((*file, report)),
                    None => rest.push((*file, report)),
                }
            }
            Table::RequestSizes => {}
        }
    }
    rest.retain(|(file, report)| {
        let fits = |pair: &&mut Pair<'_>| {
            let over = pair.first.rows.last().filter(|row| row.over).map(|row| row.count.value);
            let (one, other) = (&pair.first.run, &report.run);
            // The summary with the date may be in only one of two files.
            let apart = pair.file != *file && (one.is_none() || other.is_none());
            let texts = one.as_ref().map(|run| &run.text) == other.as_ref().map(|run| &run.text);
            pair.second.is_none()
                && pair.first.set == report.set
                && over.is_some_and(|over| over > 0 && over == report.read())
                && (texts || apart)
        };
        let found = all.iter_mut().find(fits);
        let alone = found.is_none();
        if let Some(pair) = found {
            pair.second = Some((*file, *report));
        }
        alone
    });
    (all, rest)
}

/// The use that a pair shows, and a note; or why it cannot be used.
fn usage(pair: &Pair<'_>) -> Result<(Use, Option<String>), String> {
    let whole = |report: &Frequencies| {
        report.sound
            && report.missing().0 == 0
            && report.rows.last().is_some_and(|row| row.over)
            && report.doubts.is_empty()
    };
    let first = pair.first;
    if !whole(first) {
        return Err("The report on the preallocated area is cut or damaged: how many ECBs exceed the area is not certain.".to_owned());
    }
    let Some(over) = first.rows.last() else { return Err("The report has no rows.".to_owned()) };
    let rows = |report: &Frequencies| -> Vec<(u64, u64)> {
        report.rows.iter().filter(|row| !row.over).map(|row| (row.limit, row.count.value)).collect()
    };
    let mut used = Use { now: over.limit, classes: rows(first), above: over.count.value, pairs: 1 };
    let note = match pair.second {
        _ if used.above == 0 => None,
        None => Some(
            "There is no report on the virtual area: how much those that exceed the area need is not known."
                .to_owned(),
        ),
        Some((_, second)) if !whole(second) => {
            Some("The report on the virtual area is cut or damaged and not used.".to_owned())
        }
        Some((_, second)) if second.rows.first().is_some_and(|row| row.limit <= over.limit) => Some(
            "The classes of the virtual area begin within the preallocated one: that report is not used."
                .to_owned(),
        ),
        Some((_, second)) if second.read() != used.above => Some(format!(
            "{} ECBs exceed the area by one report, the other holds {}: it is not used.",
            used.above,
            second.read()
        )),
        Some((_, second)) => {
            used.above = second.rows.last().filter(|row| row.over).map_or(0, |row| row.count.value);
            used.classes.extend(rows(second));
            None
        }
    };
    Ok((used, note))
}

fn one(collected: &Collected, known: Known<'_>) -> Advice {
    let Known { set, used, lines, notes } = known;
    let mut said = about(&name(set), Kind::NoAdvice, lines);
    let frames = |bytes: u64| bytes.div_ceil(FRAME);
    let written = |bytes: u64| format!("{} KB, {} frames of 4 KB", bytes / 1024, frames(bytes));
    let all = used.all();
    said.now = format!("area of {}", written(used.now));
    if let Some((file, figure)) = value(collected, "PEH") {
        said.evidence.push(collected.line(file, &figure.evidence).into());
        if figure.value != frames(used.now) {
            said.now +=
                &format!(" by the report; PEH={} says another size, or counts in other units", figure.value);
        }
    }
    let level = match used.pairs {
        0 | 1 => "low",
        2..=9 => "medium",
        _ => "high",
    };
    said.certainty = format!(
        "{level}: {}, {}",
        counted(used.pairs, "collection", "collections"),
        counted(all, "ECB", "ECBs")
    );
    let held = |percent: u64| {
        used.holding(percent).map_or(format!("no class holds {percent} % of them"), |bytes| {
            format!("{} KB hold {percent} % of them", bytes / 1024)
        })
    };
    let exceed = used.exceed(used.now);
    let verb = if exceed == 1 { "exceeds" } else { "exceed" };
    said.reason = format!(
        "Of {} {} {verb} the area; {}, {}.",
        counted(all, "ECB", "ECBs"),
        grouped(exceed),
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
    let (old, new) = (frames(used.now), frames(bytes));
    if old == new {
        said.kind = Kind::NoChange;
        return said;
    }
    said.kind = if new > old { Kind::Raise } else { Kind::Lower };
    let change = new.abs_diff(old) * FRAME / 1024;
    let less = if new > old { "more" } else { "less" };
    said.effect = format!(
        "ECBs that exceed the area {} -> {} of {}; {change} KB {less} for every ECB that is defined, used or not.",
        grouped(used.exceed(used.now)),
        grouped(used.exceed(bytes)),
        grouped(all)
    );
    said.values = vec![Value { name: "PEH".to_owned(), value: new.to_string() }];
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_class_that_holds_the_share() {
        let mut used =
            Use { now: 64 << 10, classes: vec![(0, 90), (16 << 10, 4), (64 << 10, 5)], above: 1, pairs: 1 };
        assert_eq!(
            (used.holding(90), used.holding(95), used.holding(100)),
            (Some(16 << 10), Some(64 << 10), None)
        );
        assert_eq!((used.exceed(64 << 10), used.exceed(16 << 10), used.all()), (1, 6, 100));
        used.add(Use { now: 64 << 10, classes: vec![(16 << 10, 6), (24 << 10, 1)], above: 3, pairs: 1 });
        assert_eq!((used.exceed(16 << 10), used.all(), used.pairs), (10, 110, 2));
    }
}
