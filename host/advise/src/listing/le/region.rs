//! Initial sizes against the region.

use underbar_listing::Kind as Part;
use underbar_model::Figure;

use super::{ProgramCase, found, lines};
use crate::advice::{Advice, Kind};
use crate::sizes::{above_the_line, written};

pub(crate) fn apply(case: &ProgramCase<'_>) -> Vec<Advice> {
    let Some((file, region)) = case.collected.region_of(&case.program.name) else { return Vec::new() };
    let Some(limit) = above_the_line(region) else { return Vec::new() };
    let parts = [Part::Heap, Part::AnyHeap, Part::Stack];
    let initial = parts.map(|part| case.storage(part).initial);
    let sum = initial.iter().filter_map(Figure::certain).fold(0, u64::saturating_add);
    if sum < limit / 2 {
        return Vec::new();
    }
    let mut evidence = vec![case.line(file, &region.evidence)];
    evidence.extend(lines(&initial));
    let reason = format!(
        "The initial sizes of heap, stack and library heap are {} together, of {} above the line: a program that cannot \
         have them ends.",
        written(sum),
        written(limit)
    );
    vec![found(Kind::NoAdvice, "REGION".to_owned(), evidence, reason)]
}
