//! The place where an option has to be changed, so that a change is not ignored.
//!
//! ```text
//! NONOVR               only the place itself: the values are named, but are not part of an option text
//! PARM, _CEE_RUNOPTS   outrank CEEOPTS, CEEUOPT and members: the values are advised, and the risk names the place
//! ```
//!
//! Invariant: if an option in the listings would outrank the option text, the advice says so.
//! Not here: which of several texts is in force (`known_options`).

use underbar_listing::Carrier;

use super::known_options::Placed;
use super::program_case::ProgramCase;
use crate::advice::{Advice, Kind};

/// Adds the place to a rule's findings.
pub(crate) fn say(case: &ProgramCase<'_>, found: &mut Advice) {
    let Some(setting) = &found.option else { return };
    if let Some(Placed { file, row, .. }) = fixed(case, setting.option) {
        found.reason += &format!(
            " {setting} would be right; but {} stands with NONOVR, so that it can be changed only there, or after OVR was put \
             there: it is not among the options to set.",
            row.name
        );
        found.evidence.push(case.line(*file, &row.evidence).into());
        (found.kind, found.option) = (Kind::NoAdvice, None);
        return;
    }
    let places = rows(case, setting.option).filter_map(|placed| Some((placed, outranks(placed)?)));
    let Some((placed, place)) = places.last() else { return };
    let known = if found.risk.is_empty() { case.risk } else { &found.risk };
    found.risk = format!(
        "{} is set by {place}, which outranks CEEOPTS, CEEUOPT and CEEPRMxx: change it there, or it stays as it is. {known}",
        placed.row.name
    );
    let line = case.line(placed.file, &placed.row.evidence).into();
    if !found.evidence.contains(&line) {
        found.evidence.push(line);
    }
}

/// The place where this option is set so that it cannot be overridden.
pub(super) fn fixed<'a>(case: &'a ProgramCase<'_>, option: &str) -> Option<&'a Placed> {
    rows(case, option).find(|placed| placed.row.overridable == Some(false))
}

/// All places of an option that may concern the program.
fn rows<'a>(case: &'a ProgramCase<'_>, option: &str) -> impl Iterator<Item = &'a Placed> {
    let own = |placed: &&Placed| placed.enclave.as_ref().is_none_or(|name| *name == case.program.name);
    case.collected.options.named(option).filter(own)
}

/// The source of an option that outranks a CEEOPTS data set, in words.
fn outranks(placed: &Placed) -> Option<&'static str> {
    let source = placed.row.source.to_ascii_lowercase();
    match placed.carrier {
        Some(Carrier::Parm) => Some("PARM"),
        Some(Carrier::CeeRunopts) => Some("_CEE_RUNOPTS"),
        Some(_) => None,
        None if source.starts_with("invocation command") => Some("the invocation command (PARM)"),
        None if source.starts_with("_cee_runopts") => Some("_CEE_RUNOPTS"),
        None if source.contains("user exit") => Some("an assembler user exit"),
        None => None,
    }
}
