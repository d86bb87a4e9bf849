//! Sizes for a picture: for each area the present size, the largest use, and the suggested size.
//!
//! Invariant: a figure that is only likely, or from a report that is not sound, is not shown; so the picture shows only figures
//! on which the advice may be based. An area that was never used is omitted.
//! Not here: how it is drawn (`page`).

mod session;

use serde::Serialize;
use underbar_listing::sections::{Row, SECTIONS};

use super::collect::{Collected, Program};
use super::program_case::ProgramCase;
use super::settings;
use crate::advice::{Advice, Setting};
use crate::sizes;

/// One area of one program, or one buffer of a session; all sizes in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Area {
    /// Its name in the report.
    pub name: String,
    /// The present size: the initial size of the last run.
    pub now: u64,
    /// The largest use in any run; for stacks, the largest use of any thread.
    pub used: u64,
    /// The suggested size; None if there is no change.
    pub suggested: Option<u64>,
}

/// The areas of a program or session, in the order of the report.
#[must_use]
pub fn areas(collected: &Collected, advice: &[Advice], name: &str) -> Vec<Area> {
    areas_by(collected, &settings(advice, name), name)
}

/// The same, from the settings.
pub(crate) fn areas_by(collected: &Collected, set: &[Setting], name: &str) -> Vec<Area> {
    let areas = collected.program(name).map_or_else(Vec::new, |program| of_program(collected, program, set));
    areas.into_iter().chain(session::areas(collected, name, set)).collect()
}

fn of_program(collected: &Collected, program: &Program, settings: &[Setting]) -> Vec<Area> {
    let case = ProgramCase { collected, program, risk: "" };
    SECTIONS.iter().filter_map(|row| area(row, &case, settings)).collect()
}

fn area(row: &Row, case: &ProgramCase<'_>, settings: &[Setting]) -> Option<Area> {
    let storage = case.storage(row.kind);
    let used = storage.used.certain().filter(|used| *used > 0)?;
    let now = storage.initial.certain()?;
    let (option, at) = row.option;
    let setting = settings.iter().find(|setting| setting.option == option);
    let suggested = setting.and_then(|setting| sizes::size(setting.sub_options.get(at)?.as_deref()?));
    Some(Area { name: row.title.to_owned(), now, used, suggested })
}
