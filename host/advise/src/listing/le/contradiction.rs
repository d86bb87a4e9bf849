//! Options in the listings compared with the sizes in the storage report.
//!
//! ```text
//! options report or text:  HEAP(32768,...)      storage report:  Initial size: 4194304      one of them is of another run
//! ```
//!
//! Invariant: if they differ, there is no advice on the option, and both lines are named. Language Environment rounds
//! sizes up by less than a page.
//! Not here: texts that an options report refutes (`option_checks`).

use underbar_listing::sections::SECTIONS;
use underbar_listing::{Field, Kind as Part};

use super::{ProgramCase, found};
use crate::advice::{Advice, Kind};
use crate::sizes::size;

const PAGE: u64 = 4096;

/// The findings for every option that the storage report contradicts.
pub(super) fn all<'a>(case: &'a ProgramCase<'a>) -> impl Iterator<Item = Advice> + 'a {
    SECTIONS.iter().filter_map(|row| of(case, row.kind))
}

/// Whether the report contradicts the sizes of this section's option, in this section or in another one of the same option.
pub(super) fn concerns(case: &ProgramCase<'_>, part: Part) -> bool {
    let option = part.row().map_or("", |row| row.option.0);
    // Most listings contain no options.
    case.option(option).is_some()
        && SECTIONS.iter().filter(|row| row.option.0 == option).any(|row| of(case, row.kind).is_some())
}

/// The finding for the option of this section, if the report contradicts its sizes.
fn of(case: &ProgramCase<'_>, part: Part) -> Option<Advice> {
    let (option, place) = part.row()?.option;
    let (option_file, row) = case.option(option).filter(|(_, row)| !row.negative)?;
    // Under THREADSTACK(OFF) the report shows sizes that are not in force.
    if option == "THREADSTACK" && !case.is_set(option, 0, "ON") {
        return None;
    }
    let values = row.sub_options();
    let differs = |(field, at): (Field, usize)| {
        let (file, figure) = case.last(part, field).filter(|(file, _)| *file == option_file)?;
        let said = values.get(at).and_then(|value| size(value)).filter(|said| *said > 0)?;
        // Under CICS sizes are 16 bytes short of a whole page.
        let is_same = figure.value.saturating_add(16) >= said && figure.value < said.saturating_add(PAGE);
        (!is_same).then_some((file, figure, said))
    };
    let (file, figure, said) =
        [(Field::Initial, place), (Field::Increment, place + 1)].into_iter().find_map(differs)?;
    let place = if row.is_in_a_text() { "an option text" } else { "the options report" };
    let reason = format!(
        "{}: {place} says {said}, the storage report shows {}: one of them is of another run or damaged, or the text is not in \
         force. Nothing is advised upon {option}.",
        part.title(),
        figure.value
    );
    let evidence = vec![case.line(option_file, &row.evidence), case.line(file, &figure.evidence)];
    Some(found(Kind::NoAdvice, format!("{option}({})", row.values), evidence, reason))
}
