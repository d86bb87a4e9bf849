//! Advice from listings of Language Environment and z/TPF: which option or value to set, from what to what, on which lines.
//!
//! ```text
//! Item of each file -> Collected: runs of each program, options, region -> every rule -> Advice -> option text
//! ```
//!
//! The rules are in the one table, [`crate::RULES`]. Rules for z/TPF look at whole listings, since its reports name no program.
//! Invariants: a figure that is only likely, or of a report that is not sound, sets nothing. What is set names the
//! lines that it rests on. Without a region in sight nothing grows beyond 16M without the words "region unknown".
//! Not here: how listings are read (`underbar_listing`).

mod areas;
mod cells;
mod collect;
mod compare;
mod history;
mod in_sight;
pub(crate) mod le;
mod lint;
pub mod natural;
mod no_report;
mod place;
pub mod simulate;
pub mod ztpf;

pub(crate) use areas::areas_by;
pub use areas::{Area, areas};
pub use collect::{Collected, Program, Run};
pub use compare::{
    Amount, ComparedProgram, ComparedStep, Comparison, Group, Known, NO_INTERVAL, Pair, Row, Subject,
};
pub use in_sight::{InSight, Placed};
pub use le::LeCase;
pub use lint::{LE_LINTS, LeLint, Lint, lint};
pub use no_report::{no_storage_report, other_reports, run_again};
pub use simulate::simulate;

use std::collections::HashMap;

use crate::advice::{Advice, Setting};
use crate::rule::{Apply, Platform};
use crate::rules;

/// All advice: for each program in the order of the listing what each rule says.
#[must_use]
pub fn advise_listing(collected: &Collected) -> Vec<Advice> {
    let mut all = Vec::new();
    for program in &collected.programs {
        let case = LeCase { collected, program };
        let cics = case.cics();
        for rule in rules::of(Platform::LanguageEnvironment) {
            let Apply::Program(apply) = rule.apply else { continue };
            for mut found in apply(&case) {
                place::say(&case, &mut found, rule.risk);
                if let (Some(line), true) = (&cics, found.option.is_some()) {
                    // A rule's own risk is said where nothing else is.
                    found.risk =
                        format!("{CICS}{}", if found.risk.is_empty() { rule.risk } else { &found.risk });
                    found.evidence.push(line.clone().into());
                }
                let runs = program.runs.len();
                let doubts: usize = program.runs.iter().map(|run| run.report.doubts.len()).sum();
                let mut certainty = match runs {
                    0 | 1 => "low: one run only; its peak need not be the largest".to_owned(),
                    2..=9 => format!("medium: {runs} runs"),
                    _ => format!("high: {runs} runs"),
                };
                if doubts > 0 {
                    let word = if doubts == 1 { "doubt" } else { "doubts" };
                    certainty += &format!("; {doubts} {word} about the listing");
                }
                all.push(Advice {
                    target: program.name.clone(),
                    certainty,
                    ..rule.gives(Platform::LanguageEnvironment, found)
                });
            }
        }
    }
    all.extend(ztpf::advise(collected));
    all.extend(natural::advise(collected));
    all
}

/// What is to be said before each risk under CICS.
const CICS: &str = "CICS, as its step or an increment 16 bytes short of a page shows: each task takes these sizes, segments are EXEC CICS \
                    GETMAINs, CEEOPTS is not read (use CEEUOPT or CEEROPT), and automatic tuning only ever raises. ";

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
