//! Whether a report can be used at all, and whether options agree with it.

use underbar_listing::Evidence;

use super::{ProgramCase, contradiction, found};
use crate::advice::{Advice, Kind};

pub(crate) fn apply(case: &ProgramCase<'_>) -> Vec<Advice> {
    let bad = case.program.runs.iter().filter_map(|run| {
        let doubt = run.report.doubts.iter().find(|doubt| doubt.kind.spoils_the_report())?;
        let line = case.line(run.file, &Evidence { line: doubt.line, text: doubt.words.clone() });
        Some(found(Kind::NoAdvice, "not used".to_owned(), vec![line], format!("{}.", doubt.words)))
    });
    bad.take(20).chain(contradiction::all(case)).collect()
}
