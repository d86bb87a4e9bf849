//! How far the estimates of `underbar heap` are from exact sums, for the largest sites of some programs.
//!
//! ```text
//! heaptrack ──> exact sum of each site ─────────┐
//! underbar heap --json, several runs ──> estimate and interval of the same site ──> error, and whether the interval holds the sum
//! ```
//!
//! Both count what a program requests, with one difference: a realloc that changes a size within its cell is no request for underbar, and
//! one of the new size for heaptrack.
//!
//! Invariant: rows are chosen by their exact sums alone.
//! Not here: the tables ([`super::error_table`]).

use super::exact::{self, Sums};
use super::subjects::{FIXED, Subject};
use crate::Error;
use serde_json::Value;
use std::collections::HashMap;
use std::path::Path;
use std::process::Command;
use underbar_sites::names::Function;
use underbar_sites::site::Site;
use underbar_verdict::ratios::median;

/// Rows of a program, and the least part of its whole sum that a row has.
const ROWS: usize = 10;
const LEAST: f64 = 0.001;
/// Of a site that is not in a report, less than so many means was requested, with the certainty of an interval of 95 %: the chance of
/// no sample is then 2.5 %.
const UNSAMPLED: f64 = 3.689;
/// The program next to the real ones: a workload with functions and lines.
const WORKLOAD: &str = "compiler";
/// A workload's steps are divided by this: heaptrack's record has a line for each request.
const DIVISOR: usize = 4;
/// The three sums: their keys in the report, and their headings.
pub const FIGURES: [(&str, &str); 3] = [
    ("requested", "requested in all"),
    ("most_in_use", "in use when most was"),
    ("in_use_at_end", "in use at the end"),
];

/// An estimate, with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// Bytes.
    pub bytes: f64,
    /// The low end.
    pub low: f64,
    /// The high end.
    pub high: f64,
    /// Whether a sample is in it. Without one the report does not have the site, and the high end is what could be unseen.
    pub is_sampled: bool,
}

/// A site.
#[derive(Debug, Clone)]
pub struct Row {
    /// Its name.
    pub site: String,
    /// The exact sum.
    pub exact: u64,
    /// What each run found.
    pub estimates: Vec<Estimate>,
}

/// One sum of a program.
#[derive(Debug, Clone)]
pub struct Compared {
    /// The program.
    pub name: &'static str,
    /// The place of the sum in [`FIGURES`].
    pub figure: usize,
    /// All sites together.
    pub total: Row,
    /// The largest sites.
    pub rows: Vec<Row>,
}

/// The largest and the middle error of rows, and how many intervals hold the sum.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    /// Rows in all runs.
    pub estimates: usize,
    /// Those whose interval holds the exact sum.
    pub held: usize,
    /// Those without a sample.
    pub unsampled: usize,
    /// The median of the relative errors.
    pub median: f64,
    /// The largest.
    pub largest: f64,
}

impl Estimate {
    /// Whether the interval holds a sum; its ends are rounded to bytes.
    #[must_use]
    pub fn holds(&self, exact: u64) -> bool {
        (self.low - 1.0..=self.high + 1.0).contains(&(exact as f64))
    }
}

impl Row {
    /// The relative errors of all estimates that have samples.
    pub fn errors(&self) -> impl Iterator<Item = f64> {
        let exact = self.exact.max(1) as f64;
        let sampled = self.estimates.iter().filter(|estimate| estimate.is_sampled);
        sampled.map(move |estimate| (estimate.bytes - exact).abs() / exact)
    }

    /// How many intervals hold the exact sum.
    #[must_use]
    pub fn held(&self) -> usize {
        self.estimates.iter().filter(|estimate| estimate.holds(self.exact)).count()
    }
}

/// Over these rows.
pub fn summary<'a>(rows: impl Iterator<Item = &'a Row> + Clone) -> Summary {
    let errors: Vec<f64> = rows.clone().flat_map(Row::errors).collect();
    Summary {
        estimates: rows.clone().map(|row| row.estimates.len()).sum(),
        held: rows.clone().map(Row::held).sum(),
        unsampled: rows.map(|row| row.estimates.iter().filter(|one| !one.is_sampled).count()).sum(),
        median: median(&errors),
        largest: errors.iter().copied().fold(0.0, f64::max),
    }
}

/// Compares the real programs among the subjects, and one workload.
///
/// # Errors
/// Those of both commands.
pub fn all(subjects: &[Subject], underbar: &Path, runs: usize) -> Result<Vec<Compared>, Error> {
    let mut all = Vec::new();
    for subject in subjects.iter().filter(|subject| subject.steps.is_none() || subject.name == WORKLOAD) {
        eprintln!("{}: errors", subject.name);
        let words = subject.command(DIVISOR, 1);
        let exact = exact::sums(subject, &words)?;
        let reports = (0..runs)
            .map(|_| report(subject, &words, underbar).map(|report| estimates(&report)))
            .collect::<Result<Vec<_>, Error>>()?;
        all.extend((0..FIGURES.len()).map(|figure| compare(subject.name, figure, &exact, &reports)));
    }
    Ok(all)
}

/// A report.
struct Report {
    /// What it has of each site, and of all together (None).
    sites: HashMap<Option<Site>, [Estimate; 3]>,
    /// What it says of a site that it does not have.
    unsampled: Estimate,
}

fn compare(name: &'static str, figure: usize, exact: &HashMap<Site, Sums>, reports: &[Report]) -> Compared {
    let found = |site: Option<&Site>| {
        let of = |report: &Report| {
            let found = report.sites.get(&site.cloned()).map(|all| all[figure]);
            found.filter(|estimate| estimate.is_sampled).unwrap_or(report.unsampled)
        };
        reports.iter().map(of).collect::<Vec<Estimate>>()
    };
    let total: u64 = exact.values().map(|sums| sums[figure]).sum();
    let total = Row { site: "all sites".to_owned(), exact: total, estimates: found(None) };
    let mut largest: Vec<(&Site, u64)> = exact
        .iter()
        .map(|(site, sums)| (site, sums[figure]))
        .filter(|(_, sum)| *sum as f64 > total.exact as f64 * LEAST)
        .collect();
    largest.sort_by(|(site, sum), (other, more)| more.cmp(sum).then_with(|| site.cmp(other)));
    largest.truncate(ROWS);
    let row = |(site, exact): (&Site, u64)| Row { site: named(site), exact, estimates: found(Some(site)) };
    Compared { name, figure, total, rows: largest.into_iter().map(row).collect() }
}

/// `parse at reader.rs:12`, or the file and the address.
fn named(site: &Site) -> String {
    let last = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let place = match (&site.function.file, site.function.line) {
        (Some(file), Some(line)) => format!("{}:{line}", last(file)),
        _ => last(&site.module),
    };
    match (&site.function.function, site.address) {
        (Some(function), _) => format!("{function} at {place}"),
        (None, Some(address)) => format!("{place}+{address:#x}"),
        (None, None) => place,
    }
}

/// The report of one run.
fn report(subject: &Subject, words: &[String], underbar: &Path) -> Result<Value, Error> {
    let file = subject.folder.join("errors.json");
    let _ = std::fs::remove_file(&file);
    let mut command = Command::new("env");
    command
        .args(FIXED)
        .arg(underbar)
        // Both sides without the search for wrappers, which needs the samples.
        .args(["heap", "--wrappers", "--json", "-o"])
        .arg(&file)
        .arg("--")
        .args(words);
    let wrong = |why: &str| Error::Workload(format!("{} under underbar heap: {why}", subject.name));
    subject.run(&mut command, &wrong)?;
    let text = std::fs::read_to_string(&file).map_err(|_| wrong("no report"))?;
    serde_json::from_str(&text).map_err(|error| wrong(&error.to_string()))
}

fn estimates(report: &Value) -> Report {
    let of = |row: &Value| {
        FIGURES.map(|(key, _)| {
            let number = |name: &str| row[key][name].as_f64().unwrap_or(0.0);
            let (low, high) = (number("bytes_low"), number("bytes_high"));
            Estimate { bytes: number("bytes"), low, high, is_sampled: number("samples") > 0.0 }
        })
    };
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let site = |row: &Value| Site {
        function: Function {
            function: text(&row["function"]),
            file: text(&row["file"]),
            line: row["line"].as_u64(),
        },
        module: text(&row["module"]).unwrap_or_default(),
        address: row["address"].as_u64(),
        note: text(&row["note"]).map(Into::into),
    };
    let rows = report["sites"].as_array().into_iter().flatten();
    let total = [(None, of(&report["total"]))];
    let mean = report["mean_bytes_largest"].as_f64().unwrap_or(0.0);
    Report {
        sites: rows.map(|row| (Some(site(row)), of(row))).chain(total).collect(),
        unsampled: Estimate { bytes: 0.0, low: 0.0, high: UNSAMPLED * mean, is_sampled: false },
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::{Compared, compare, estimates, summary};
    use serde_json::json;
    use std::collections::HashMap;
    use underbar_sites::names::Function;
    use underbar_sites::site::Site;

    fn site(name: &str) -> Site {
        let function = Function { function: Some(name.to_owned()), ..Function::default() };
        Site { function, module: "/opt/app".to_owned(), ..Site::default() }
    }

    pub fn compared() -> Compared {
        let exact: HashMap<Site, [u64; 3]> =
            [("load", [1000, 800, 0]), ("save", [400, 0, 0]), ("none", [90, 0, 0])]
                .map(|(name, sums)| (site(name), sums))
                .into();
        let figures = |bytes: u64| {
            let one =
                json!({ "bytes": bytes, "bytes_low": bytes / 2, "bytes_high": bytes * 3 / 2, "samples": 1 });
            json!({ "requested": one, "most_in_use": one, "in_use_at_end": one })
        };
        let row = |name: &str, bytes| {
            let mut row = figures(bytes);
            row["function"] = json!(name);
            row["module"] = json!("/opt/app");
            row
        };
        let report = json!({ "total": figures(1400), "mean_bytes_largest": 20, "sites": [row("load", 1100), row("save", 900)] });
        compare("app", 0, &exact, &[estimates(&report)])
    }

    #[test]
    fn estimates_are_compared_with_the_sum_of_the_same_site() {
        let compared = compared();
        assert_eq!(compared.total.exact, 1490);
        assert_eq!(compared.total.held(), 1);
        let held: Vec<(&str, usize)> =
            compared.rows.iter().map(|row| (row.site.as_str(), row.held())).collect();
        assert_eq!(held, [("load at app", 1), ("save at app", 0), ("none at app", 0)]);
        let summary = summary(compared.rows.iter());
        assert_eq!((summary.estimates, summary.held, summary.unsampled), (3, 1, 1));
        assert!((summary.largest - 1.25).abs() < 1e-9 && (summary.median - 0.675).abs() < 1e-9);
    }
}
