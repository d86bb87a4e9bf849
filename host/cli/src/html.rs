//! `--html FILE`: the report of a run, its call sites, or the result of a comparison, as one page for a browser.
//!
//! Not here: the page (`underbar_page`).

use std::ffi::OsString;

use underbar_advise::{Advice, advise};
use underbar_ledger::Unit;
pub use underbar_page::arms::Arms;
pub use underbar_page::course::OtherRun;
use underbar_page::flame::{Flame, Sites as Graph};
use underbar_page::site_rows::Row;
use underbar_page::{Content, render};
use underbar_report::Report;
use underbar_sites::flame::{Flame as Node, Which, flame};
use underbar_sites::report::Report as Sites;
use underbar_sites::text::{self, TABLES};
use underbar_sites::words;
use underbar_verdict::compare::Comparison;
use underbar_verdict::verdict::TuneVerdict;

/// Sites in each table.
const TOP: usize = 10;
/// Characters of a site, and of its callers, in a row.
const ROOM: usize = 160;

/// The page of a report, with its suggestions, and its call sites if they were sampled.
pub fn of_report(report: &Report, sites: Option<&Sites>) -> String {
    let mut command = vec![report.run.program.clone()];
    command.extend(report.run.arguments.iter().cloned());
    render(&Content {
        command,
        report: Some(report),
        advice: &advise(report),
        sites: sites.map(graphs).unwrap_or_default(),
        sites_notes: sites.map(text::notes).unwrap_or_default(),
        ..Content::default()
    })
}

/// The page of call sites alone.
pub fn of_sites(sites: &Sites) -> String {
    let mut command = vec![sites.facts.program.clone()];
    command.extend(sites.facts.arguments.iter().cloned());
    let sites_notes = text::notes(sites);
    render(&Content { command, sites: graphs(sites), sites_notes, ..Content::default() })
}

/// A graph for each table of the text, with the rows of the table.
fn graphs(sites: &Sites) -> Vec<Graph> {
    let graph = |(title, which, empty): (&str, Which, &str)| {
        let note = text::whole(sites, which, empty);
        let rows = text::largest(sites, which).into_iter().take(TOP);
        Graph {
            title: title.to_owned(),
            note,
            unit: Unit::Bytes,
            root: tree(flame(sites, which)),
            rows: rows.map(|(at, _)| row(sites, at, which)).collect(),
        }
    };
    TABLES.into_iter().map(graph).collect()
}

fn tree(node: Node) -> Flame {
    let children = node.children.into_iter().map(tree).collect();
    Flame { name: node.name, value: node.value, children }
}

fn row(sites: &Sites, at: usize, which: Which) -> Row {
    let site = &sites.sites[at];
    let estimate = which.of(&site.figures);
    let of = match which {
        Which::MostInUse => "most_in_use",
        Which::Requested => "requested",
        Which::AtEnd => "in_use_at_end",
    };
    Row {
        name: words::site_in(site, ROOM),
        callers: text::callers(sites, at, which, ROOM).unwrap_or_default(),
        path: format!("sites.{at}.{of}"),
        value: estimate.bytes,
        range: [estimate.bytes_low, estimate.bytes_high],
        percent: estimate.percent,
        percent_range: [estimate.percent_low, estimate.percent_high],
    }
}

/// The page of comparisons; with the report and the suggestions that they began with, if there are some, and with a run under what they
/// ended with.
pub fn of_comparisons(
    program: &[OsString],
    (report, advice): (Option<&Report>, &[Advice]),
    other_run: Option<OtherRun<'_>>,
    arms: Vec<Arms<'_>>,
) -> String {
    let command = program.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    render(&Content { command, report, other_run, advice, arms, ..Content::default() })
}

/// The comparisons of a verdict of `tune`.
pub fn of_verdict<'a>(title: String, verdict: &'a TuneVerdict) -> Arms<'a> {
    let comparisons: Vec<&Comparison> = verdict.comparisons().into();
    Arms { title, words: vec![verdict.to_string()], arms: Vec::new(), comparisons, runs: Some(&verdict.runs) }
}
