//! Many small enclaves in one listing: a hint that LINK is used where CALL would suffice.

use super::super::collect::Run;
use super::{ProgramCase, found};
use crate::advice::{Advice, Kind};

/// From this number on, enclaves are many.
const MANY: usize = 8;
/// Enclaves that use no more heap than this are small.
const SMALL: u64 = 64 << 10;

/// Gives the advice once for each listing, for its first program.
pub(crate) fn apply(case: &ProgramCase<'_>) -> Vec<Advice> {
    let Some(file) = case.sound().next().map(|run| run.file) else { return Vec::new() };
    let programs = || case.collected.programs.iter();
    let of_file = |run: &&Run| run.file == file && run.report.enclave.is_some();
    let is_first = programs()
        .find(|program| program.runs.iter().any(|run| of_file(&run)))
        .is_some_and(|first| std::ptr::eq(first, case.program));
    let is_small = |run: &&Run| {
        run.report.is_sound() && case.heap_of(run).used.certain().is_some_and(|used| used <= SMALL)
    };
    if !is_first {
        return Vec::new();
    }
    let runs: Vec<&Run> = programs().flat_map(|program| &program.runs).filter(of_file).collect();
    if runs.len() < MANY || !runs.iter().all(is_small) {
        return Vec::new();
    }
    let evidence = runs
        .iter()
        .take(2)
        .filter_map(|run| Some(case.line(run.file, &run.report.sections.first()?.heading)))
        .collect();
    let reason = format!(
        "{} enclaves that use little: where programs LINK to each other, dynamic CALL spares an enclave each.",
        runs.len()
    );
    vec![found(Kind::NoAdvice, "LINK or CALL cannot be seen in a listing".to_owned(), evidence, reason)]
}
