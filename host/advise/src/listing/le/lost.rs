//! Whether leading digits may be lost in the figures that a value depends on: if so, the value is not changed.
//!
//! ```text
//! initial 524288   used (1)204184   segments 3     one segment would hold the use: the rest of the section shows more
//! initial (4)194304                                neither whole K nor a round number: an unlikely size to request
//! ```
//!
//! Invariant: a value is lowered only if no figure of the section indicates a larger use or another size.
//! Not here: impossible figures (`underbar_listing`'s `contradictions`).

use underbar_listing::{Field, Kind as Part, StorageReport};

use super::ProgramCase;

const K: u64 = 1 << 10;
/// Larger sizes are whole pages, as people write them.
const LARGE: u64 = 64 * K;

/// Why no value is set from a size that people would not write: a part of it may be lost.
pub(super) fn size(case: &ProgramCase<'_>, part: Part) -> Option<String> {
    [Field::Initial, Field::Increment].into_iter().find_map(|field| {
        let (_, size) = case.last(part, field).filter(|(_, figure)| !is_usual(figure.value))?;
        let words = "neither whole K nor a round number, and may have lost its first digits";
        Some(format!("{} is {}, {words}", field.label(), size.value))
    })
}

fn is_usual(size: u64) -> bool {
    let unit = if size >= LARGE { 4 * K } else { K };
    // Under CICS sizes are 16 bytes short of a whole page, and the stack of the library begins with 32.
    [unit, 500].into_iter().any(|unit| size.is_multiple_of(unit))
        || (size + 16).is_multiple_of(4 * K)
        || size == 32
}

/// Why an initial size is not lowered though little of it is used; `used`: the field that shows the use.
pub(super) fn use_of(case: &ProgramCase<'_>, part: Part, used: Field) -> Option<String> {
    case.sound().find_map(|run| of_run(&run.report, part, used))
}

fn of_run(report: &StorageReport, part: Part, used: Field) -> Option<String> {
    let section = report.section(part)?;
    let figure = |field: Field| section.get(field).map(|figure| figure.value);
    let (used, initial) = (figure(used)?, figure(Field::Initial)?);
    if used > initial {
        return None;
    }
    if let (0, Some(gets @ 1..)) = (used, figure(Field::Gets)) {
        return Some(format!("{gets} requests got something"));
    }
    let most = match part {
        // In these sections first segments are not counted.
        Part::User64 | Part::ThreadHeap => 0,
        _ => first_segments(report, figure(Field::AllThreads), used),
    };
    let segments = figure(Field::Allocated).filter(|segments| *segments > most)?;
    let plural = if segments == 1 { " was" } else { "s were" };
    Some(format!("{segments} segment{plural} allocated, more than that takes: digits may be missing"))
}

/// The number of first segments: one of a heap, and one for each thread that has a stack.
fn first_segments(report: &StorageReport, all: Option<u64>, any: u64) -> u64 {
    let Some(all) = all else { return 1 };
    let threads =
        report.threads.as_ref().filter(|threads| !threads.likely).map_or(1, |threads| threads.value);
    threads.max(all.div_ceil(any.max(1))).max(1)
}

#[cfg(test)]
mod tests {
    use super::is_usual;

    #[test]
    fn sizes_as_people_write_them() {
        for size in [0, 32, 4080, 4096, 8192, 100_000, 132 << 10, 50_500, 104_857_600, 131_072, 262_128] {
            assert!(is_usual(size), "{size}");
        }
        for size in [768, 304, 24_288, 194_304, 777_216, 4_857_600 + 96, 7_108_864] {
            assert!(!is_usual(size), "{size}");
        }
    }
}
