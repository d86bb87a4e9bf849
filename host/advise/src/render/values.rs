//! Values of z/TPF by their names, as text: one `NAME=value` a line, grouped by their set of sizes.

use std::fmt::Write as _;

use crate::advice::Advice;
use crate::rule::Platform;

/// All values to set, by population, as text: one `NAME=value` a line.
#[must_use]
pub fn text(advice: &[Advice]) -> Option<String> {
    let mut text = String::new();
    let programs = distinct(advice.iter().filter(|one| !one.values.is_empty()));
    for program in &programs {
        // Writing to a string cannot fail.
        let _ =
            writeln!(text, "For {program} (values, not a command: check each name and its unit with HELP):");
        text += &of(advice, program).unwrap_or_default();
    }
    (!programs.is_empty()).then_some(text)
}

/// The values to set for one population: one `NAME=value` a line.
#[must_use]
pub fn of(advice: &[Advice], program: &str) -> Option<String> {
    let values = advice.iter().filter(|one| one.target == program).flat_map(|one| &one.values);
    let text: String = values.map(|value| format!("{value}\n")).collect();
    (!text.is_empty()).then_some(text)
}

/// The targets of advice from these rules, in its order.
#[must_use]
pub fn names(advice: &[Advice]) -> Vec<&str> {
    distinct(advice.iter().filter(|one| one.platform == Platform::Ztpf))
}

fn distinct<'a>(advice: impl Iterator<Item = &'a Advice>) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for one in advice {
        if !names.contains(&one.target.as_str()) {
            names.push(&one.target);
        }
    }
    names
}

/// The next step for the user.
#[must_use]
pub fn afterwards(advice: &[Advice]) -> &'static str {
    if advice.iter().any(|one| !one.values.is_empty()) {
        "Then collect again under the same load, for as long, and compare: one collection each, no interval.\n"
    } else {
        "Nothing to set.\n"
    }
}
