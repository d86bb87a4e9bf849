//! The use of the preallocated 31-bit area by ECBs, from the two reports that show it.
//!
//! ```text
//! preallocated report   0KB 24KB 32KB ... 80KB | > 80KB
//! virtual report                                 88KB ... 152KB | > 152KB     of those above
//! ```
//!
//! Invariant: both reports are combined only if the first's last row holds as many ECBs as the second holds in all.
//! Not here: the advised size of the area (`preallocated`).

use underbar_listing::model::ztpf::{Class, Found, Frequencies, Table};
use underbar_model::{AreaUse, Figure, Need};

use super::super::Collected;
use super::population::name;
use super::unusable::Unusable;
use crate::advice::Line;

/// At most this many reports on the virtual area alone are named.
const MOST_ALONE: usize = 20;

/// All that is known about the area.
pub(crate) struct Known {
    /// Pairs of reports that cannot be used.
    pub damaged: Vec<Unusable>,
    /// The use for each set of sizes and each present area.
    pub uses: Vec<Used>,
    /// Reports on the virtual area that belong to no other.
    pub alone: Vec<Unusable>,
}

/// The use for one set and one present area.
pub(crate) struct Used {
    /// The set of sizes; None if none is named.
    pub set: Option<String>,
    /// ECBs by their need.
    pub area: AreaUse,
    /// Lines to show.
    pub lines: Vec<Line>,
    /// What could not be used, in sentences.
    pub notes: Vec<String>,
}

/// A pair of reports.
struct Pair<'a> {
    file: usize,
    first: &'a Frequencies,
    /// With its file.
    second: Option<(usize, &'a Frequencies)>,
}

/// The use of the area over all reports.
pub(crate) fn known(collected: &Collected) -> Known {
    let (pairs, rest) = pairs(collected);
    let (mut damaged, mut uses): (Vec<Unusable>, Vec<Used>) = (Vec::new(), Vec::new());
    for pair in pairs {
        let set = &pair.first.set;
        let mut lines = vec![collected.line(pair.file, &pair.first.title)];
        let last = |file: usize, report: &Frequencies| {
            report.rows.last().map(|row| collected.line(file, &row.count.evidence))
        };
        lines.extend(last(pair.file, pair.first));
        if let Some((file, second)) = pair.second {
            lines.push(collected.line(file, &second.title));
            lines.extend(last(file, second));
        }
        match usage(collected, &pair) {
            Err(why) => {
                let (target, now) = (name(set.as_deref()), "preallocated 31-bit area");
                damaged.push(Unusable { target, now, why: why.to_owned(), lines });
            }
            Ok((area, note)) => {
                let same = |one: &&mut Used| one.set == *set && one.area.area.value == area.area.value;
                match uses.iter_mut().find(same) {
                    Some(one) => {
                        one.area.add(area);
                        if one.lines.len() < 8 {
                            one.lines.extend(lines);
                        }
                        one.notes.extend(note);
                    }
                    None => {
                        let notes = note.into_iter().collect();
                        uses.push(Used { set: set.clone(), area, lines, notes });
                    }
                }
            }
        }
    }
    let alone = |(file, report): (usize, &Frequencies)| {
        Unusable {
        target: name(report.set.as_deref()),
        now: "a report on the virtual area alone",
        why: "The report on the preallocated area that belongs to it is missing: how many ECBs stay within the area is not \
              known."
            .to_owned(),
        lines: vec![collected.line(file, &report.title)],
    }
    };
    Known { damaged, uses, alone: rest.into_iter().take(MOST_ALONE).map(alone).collect() }
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
            // PEH is the size of the 31-bit area.
            Table::RequestSizes | Table::Preallocated64 | Table::Virtual64 => {}
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
fn usage(collected: &Collected, pair: &Pair<'_>) -> Result<(AreaUse, Option<String>), &'static str> {
    let whole = |report: &Frequencies| {
        report.sound
            && report.missing().0 == 0
            && report.rows.last().is_some_and(|row| row.over)
            && report.doubts.is_empty()
    };
    let first = pair.first;
    if !whole(first) {
        return Err(
            "The report on the preallocated area is cut or damaged: how many ECBs exceed the area is not certain.",
        );
    }
    let Some(over) = first.rows.last() else { return Err("The report has no rows.") };
    let figure = |file: usize, row: &Class, value: u64| {
        Figure::line(collected.line(file, &row.count.evidence), value, row.count.likely)
    };
    let rows = |file: usize, report: &Frequencies| -> Vec<Need> {
        let below = report.rows.iter().filter(|row| !row.over);
        below.map(|row| Need { limit: row.limit, users: figure(file, row, row.count.value) }).collect()
    };
    let mut used = AreaUse {
        area: figure(pair.file, over, over.limit),
        rows: rows(pair.file, first),
        above: figure(pair.file, over, over.count.value),
        collections: 1,
    };
    let note = match pair.second {
        _ if used.above.value == 0 => None,
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
        Some((_, second)) if second.read() != used.above.value => Some(format!(
            "{} ECBs exceed the area by one report, the other holds {}: it is not used.",
            used.above.value,
            second.read()
        )),
        Some((file, second)) => {
            let last = second.rows.last().filter(|row| row.over);
            used.above =
                last.map_or(Figure { value: 0, ..used.above }, |row| figure(file, row, row.count.value));
            used.rows.extend(rows(file, second));
            None
        }
    };
    Ok((used, note))
}
