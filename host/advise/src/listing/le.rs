//! Rules for listings of Language Environment: their findings, and their settings.
//!
//! Not here: the table (`crate::rules`), their input (`program_case`), and the functions, each in its own file below.

mod contradiction;
pub(crate) mod fill;
pub(crate) mod heap;
pub(crate) mod keep;
pub(crate) mod link;
mod lost;
pub(crate) mod pools;
pub(crate) mod region;
pub(crate) mod sound;
pub(crate) mod stack;
mod stack_size;
#[cfg(test)]
mod tests;

use underbar_listing::Kind as Part;
use underbar_model::Figure;

use super::program_case::ProgramCase;
use crate::advice::{Advice, Kind, Line, Setting};
use crate::sizes::written;

/// The risk of growth below the 16M line.
const BELOW_RISK: &str = "It lies below the 16M line, where there is little storage. ";

/// The lines of these figures, as far as they have one.
fn lines<'a>(figures: impl IntoIterator<Item = &'a Figure>) -> Vec<Line> {
    figures.into_iter().filter_map(|figure| figure.evidence.line().cloned()).collect()
}

/// The findings of a rule, without a setting.
pub(super) fn found(kind: Kind, now: String, evidence: Vec<Line>, reason: String) -> Advice {
    Advice::of_lines(kind, now, evidence, reason)
}

/// A setting with sizes at the position of a section's initial size.
fn setting(part: Part, initial: Option<u64>, increment: Option<u64>) -> Option<Setting> {
    let (option, at) = part.row()?.option;
    let mut words: Vec<Option<String>> = vec![None; at];
    if matches!(option, "THREADSTACK" | "THREADSTACK64") && at > 0 {
        words[0] = Some("ON".to_owned());
    }
    words.push(initial.map(written));
    words.push(increment.map(written));
    Some(Setting { option, sub_options: words })
}

/// The present setting, as the report shows it. The report does not show whether THREADSTACK is ON.
fn now(part: Part, initial: u64, increment: Option<u64>) -> String {
    let setting = setting(part, Some(initial), increment);
    setting.map_or(String::new(), |setting| setting.to_string().replace("(ON,", "(,"))
}
