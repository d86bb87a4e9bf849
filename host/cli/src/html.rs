//! `--html FILE`: the report of a run, or the result of a comparison, as one page for a browser.
//!
//! Not here: the page (`underbar_page`).

use std::ffi::OsString;

use underbar_advise::{Advice, advise};
pub use underbar_page::arms::Arms;
use underbar_page::{Content, render};
use underbar_report::Report;
use underbar_verdict::compare::Comparison;
use underbar_verdict::verdict::TuneVerdict;

/// The page of a report, with its suggestions.
pub fn of_report(report: &Report) -> String {
    let mut command = vec![report.run.program.clone()];
    command.extend(report.run.arguments.iter().cloned());
    render(&Content { command, report: Some(report), advice: &advise(report), ..Content::default() })
}

/// The page of comparisons; with the report and the suggestions that they began with, if there are some.
pub fn of_comparisons(
    program: &[OsString],
    (report, advice): (Option<&Report>, &[Advice]),
    arms: Vec<Arms<'_>>,
) -> String {
    let command = program.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    render(&Content { command, report, advice, arms, ..Content::default() })
}

/// The comparisons of a verdict of `tune`.
pub fn of_verdict<'a>(title: String, verdict: &'a TuneVerdict) -> Arms<'a> {
    let comparisons: Vec<&Comparison> = verdict.comparisons().into();
    Arms { title, words: vec![verdict.to_string()], arms: Vec::new(), comparisons, runs: Some(&verdict.runs) }
}
