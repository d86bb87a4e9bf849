//! Initial sizes against the region.

use underbar_listing::{Field, Kind as Part};

use super::{ProgramCase, found};
use crate::advice::{Advice, Kind};
use crate::sizes::{above_the_line, written};

pub(crate) fn apply(case: &ProgramCase<'_>) -> Vec<Advice> {
    let Some((file, region)) = case.collected.region_of(&case.program.name) else { return Vec::new() };
    let Some(limit) = above_the_line(region) else { return Vec::new() };
    let parts = [Part::Heap, Part::AnyHeap, Part::Stack];
    let initial: Vec<_> = parts.iter().filter_map(|part| case.last(*part, Field::Initial)).collect();
    let sum = initial.iter().fold(0_u64, |sum, (_, figure)| sum.saturating_add(figure.value));
    if sum < limit / 2 {
        return Vec::new();
    }
    let mut evidence = vec![case.line(file, &region.evidence)];
    evidence.extend(initial.iter().map(|(file, figure)| case.line(*file, &figure.evidence)));
    let reason = format!(
        "The initial sizes of heap, stack and library heap are {} together, of {} above the line: a program that cannot \
         have them ends.",
        written(sum),
        written(limit)
    );
    vec![found(Kind::NoAdvice, "REGION".to_owned(), evidence, reason)]
}
