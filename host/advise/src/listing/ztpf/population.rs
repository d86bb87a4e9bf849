//! Populations: ECBs whose requests for heap belong together, and their requests.
//!
//! Invariant: reports of different sets of sizes (applications, shared SSL, Java) are never added up, nor those with
//! classes of 128 with those of PJ47265. A present size that is only likely is marked as such.
//! Not here: the advice based on it (`avl`, `super::super::simulate`).

use std::collections::BTreeMap;

use underbar_listing::Figure;
use underbar_listing::model::ztpf::{Found, Frequencies, Table};
use underbar_model::{self as model, Certainty, Class, Requests, Row, Supply};

use super::super::Collected;
use super::configuration::value;
use crate::advice::Line;

/// One population.
pub(crate) struct Population<'a> {
    /// Name for people.
    pub name: String,
    /// The set of sizes that serves it; None if none is named.
    pub set: Option<String>,
    /// Whether classes are multiples of 128.
    pub coarse: bool,
    /// Its request size reports, with the number of the file.
    pub reports: Vec<(usize, &'a Frequencies)>,
    /// The titles of these reports.
    pub titles: Vec<Line>,
    /// Its requests by class.
    pub requests: Requests,
    /// Requests that are certainly in missing rows; the most of them is in `requests`.
    pub missing: u64,
    /// Present sizes from AVL1 on, if all of them are known.
    pub now: Vec<model::Figure>,
}

impl Population<'_> {
    /// Requests in the rows that were read.
    pub fn read(&self) -> u64 {
        self.requests.counted()
    }

    /// All certain requests, including those of missing rows, but without those that rounded percentages merely allow.
    pub fn all(&self) -> u64 {
        self.read().saturating_add(self.missing)
    }

    /// Its requests by class, smallest first.
    pub fn classes(&self) -> Vec<Class> {
        self.requests.classes()
    }

    /// How its requests are served by the present lists.
    pub fn supply(&self) -> Supply {
        let largest_list = self.now.iter().max_by_key(|size| size.value).cloned();
        let serves = largest_list.unwrap_or_else(|| model::Figure::absent("the present sizes are not known"));
        let above = || self.requests.rows_above(serves.value);
        let of_row = |row: &Row, value| {
            let evidence = row.count.evidence.clone();
            model::Figure { value, certainty: Certainty::AtLeast, evidence }
        };
        let none = || model::Figure::absent("every list is large enough");
        let count = self.requests.larger_than(serves.value).least;
        Supply {
            requests: self.requests.clone(),
            beyond: above().max_by_key(|row| row.count.value).map_or_else(none, |row| of_row(row, count)),
            largest: above().next_back().map_or_else(none, |row| of_row(row, row.limit)),
            serves,
        }
    }
}

/// The populations of all request size reports that can be used.
pub(crate) fn populations(collected: &Collected) -> Vec<Population<'_>> {
    let mut all: Vec<Population<'_>> = Vec::new();
    for (file, found) in &collected.ztpf {
        let Found::Frequencies(report) = found else { continue };
        if report.table != Table::RequestSizes || !report.sound || report.rows.is_empty() {
            continue;
        }
        let (set, coarse) = (report.set.clone(), report.is_coarse());
        match all.iter_mut().find(|one| one.set == set && one.coarse == coarse) {
            Some(one) => one.reports.push((*file, report)),
            None => all.push(Population {
                name: name(set.as_deref()),
                set,
                coarse,
                reports: vec![(*file, report)],
                titles: Vec::new(),
                requests: Requests::without_rows(model::Figure::absent("not added up")),
                missing: 0,
                now: Vec::new(),
            }),
        }
    }
    for one in &mut all {
        one.titles = one.reports.iter().map(|(file, report)| collected.line(*file, &report.title)).collect();
        let missing = one.reports.iter().fold((0_u64, Some(0_u64)), |sum, (_, report)| {
            let (least, most) = report.missing();
            (sum.0 + least, sum.1.zip(most).map(|(sum, most)| sum + most))
        });
        one.requests = requests(collected, &one.reports, missing.1);
        one.missing = missing.0;
        one.now = present(collected, one.set.as_deref(), &one.reports);
    }
    all
}

/// The name of a population for people.
pub(crate) fn name(set: Option<&str>) -> String {
    set.map_or("z/TPF".to_owned(), |set| format!("z/TPF, set {set}"))
}

/// Requests by class of all these reports. `missing`: at most this many are in rows that are not here.
pub(crate) fn requests(
    collected: &Collected,
    reports: &[(usize, &Frequencies)],
    missing: Option<u64>,
) -> Requests {
    // The evidence of a class is its row in the last report that has it.
    let mut rows: BTreeMap<u64, Row> = BTreeMap::new();
    for (file, report) in reports {
        let mut from = 0;
        for row in report.rows.iter().filter(|row| !row.over) {
            let certainty = if row.count.likely { Certainty::AtLeast } else { Certainty::Certain };
            let evidence = model::Evidence::Line(collected.line(*file, &row.count.evidence));
            let mut count = model::Figure { value: row.count.value, certainty, evidence };
            if let Some(before) = rows.get(&row.limit) {
                count.value = count.value.saturating_add(before.count.value);
                if before.count.certainty == Certainty::AtLeast {
                    count.certainty = Certainty::AtLeast;
                }
                from = from.min(before.from);
            }
            rows.insert(row.limit, Row { from, limit: row.limit, count });
            from = row.limit;
        }
    }
    let rows: Vec<Row> = rows.into_values().collect();
    let read = rows.iter().fold(0_u64, |sum, row| sum.saturating_add(row.count.value));
    let title = reports.last().map(|(file, report)| collected.line(*file, &report.title));
    let all = match (title, missing) {
        (Some(title), Some(most)) => model::Figure {
            value: read.saturating_add(most),
            certainty: if most == 0 { Certainty::Certain } else { Certainty::AtMost },
            evidence: model::Evidence::Line(title),
        },
        _ => model::Figure::absent("how many requests there are in all cannot be told"),
    };
    Requests { all, rows, missing }
}

/// Present sizes of a set: from the last of its reports that has them, else from a display of the same set, else from values.
pub(crate) fn present(
    collected: &Collected,
    set: Option<&str>,
    reports: &[(usize, &Frequencies)],
) -> Vec<model::Figure> {
    let from = |file: usize, sizes: &[(u8, Figure)]| -> Vec<model::Figure> {
        let now = |(_, size): &(u8, Figure)| {
            model::Figure::line(collected.line(file, &size.evidence), size.value, size.likely)
        };
        sizes.iter().map(now).collect()
    };
    let reports = reports.iter().rev().map(|(file, report)| from(*file, &report.sizes));
    let displays = collected.ztpf.iter().rev().filter_map(|(file, found)| match found {
        Found::Lists(lists) if lists.set.as_deref() == set => Some(from(*file, &lists.sizes)),
        _ => None,
    });
    let known = reports.chain(displays).find(|sizes| sizes.len() >= super::LISTS);
    known.unwrap_or_else(|| {
        let values: Vec<model::Figure> =
            (1..=9).map_while(|list| value(collected, &format!("HAVSZ{list}"))).collect();
        let grow = values.windows(2).all(|two| two[0].value < two[1].value);
        if set.is_none() && grow && values.len() >= super::LISTS { values } else { Vec::new() }
    })
}
