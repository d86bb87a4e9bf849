//! Advice from listings of Language Environment and z/TPF: options and values to set, with old and new setting and the lines
//! of evidence.
//!
//! ```text
//! Item of each file -> Collected: runs of each program, options, region -> every rule -> Advice -> option text
//! ```
//!
//! The rules are in the one table, [`crate::RULES`]; [`crate::walk`] applies each. Rules for z/TPF read whole listings, since its reports
//! name no program.
//! Invariants: no value is set from a figure that is only likely, or from a report that is not sound. A setting names the
//! lines that it is based on. If the region is unknown, advice to grow beyond 16M includes the words "region unknown".
//! Not here: how listings are read (`underbar_listing`).

mod areas;
mod available_lists;
mod collect;
mod compare;
pub(crate) mod history;
mod known_options;
pub(crate) mod le;
pub mod natural;
mod no_report;
pub(crate) mod option_checks;
pub(crate) mod place;
mod program_case;
mod repetitions;
mod report_requests;
pub mod sessions;
mod shares;
pub mod simulate;
pub mod ztpf;

pub(crate) use areas::areas_by;
pub use areas::{Area, areas};
pub use collect::{Collected, Program, Run};
pub use compare::{
    Amount, ComparedProgram, ComparedStep, Comparison, Group, Known, NO_INTERVAL, Pair, Row, Subject,
};
pub use known_options::{InSight, Placed};
pub use no_report::{no_storage_report, other_reports, run_again};
pub use program_case::ProgramCase;
pub use simulate::simulate;

use std::collections::HashMap;

use crate::advice::{Advice, Setting};

/// The options of one program as settings, one for each option.
#[must_use]
pub fn settings(advice: &[Advice], program: &str) -> Vec<Setting> {
    settings_of(advice.iter().filter(|advice| advice.target == program))
}

/// The same for all programs at once, since there may be thousands.
pub(crate) fn settings_by_program(advice: &[Advice]) -> HashMap<&str, Vec<Setting>> {
    let mut by_program: HashMap<&str, Vec<&Advice>> = HashMap::new();
    for one in advice.iter().filter(|one| one.option.is_some()) {
        by_program.entry(&one.target).or_default().push(one);
    }
    by_program.into_iter().map(|(program, advice)| (program, settings_of(advice.into_iter()))).collect()
}

pub(crate) fn settings_of<'a>(advice: impl Iterator<Item = &'a Advice>) -> Vec<Setting> {
    let mut settings: Vec<Setting> = Vec::new();
    for setting in advice.filter_map(|advice| advice.option.as_ref()) {
        match settings.iter_mut().find(|known| known.option == setting.option) {
            Some(known) => known.merge(setting),
            None => settings.push(setting.clone()),
        }
    }
    settings
}
