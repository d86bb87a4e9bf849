//! Advice and what belongs to it as JSON: for the command, and what the web page has in common with it.
//!
//! ```text
//! advice[]  options[]: program, options    not_in_this_form[]    sizes[]    what_if[]       the command's
//! not_read[]: file, line, why                                                             each; the page has them by words
//! lint[]    in_force[]    steps[]    left_out                                                both have them
//! ```
//!
//! Invariant: what both have is made here, once, so that they cannot differ.

use serde::Serialize;
use underbar_listing::{OptionRow, StepTiming};

use super::areas::areas_by;
use super::simulate::Tried;
use super::steps::Steps;
use super::{Area, Collected, Form, Lint, settings_by_program};
use crate::advice::Advice;

/// What stands beside the advice.
#[derive(Serialize)]
pub struct Beside<'a> {
    lint: &'a [Lint],
    in_force: Vec<InForce<'a>>,
    steps: Vec<Step<'a>>,
    left_out: u64,
}

#[derive(Serialize)]
struct InForce<'a> {
    file: &'a str,
    program: Option<String>,
    option: OptionRow,
}

#[derive(Serialize)]
struct Step<'a> {
    file: &'a str,
    #[serde(flatten)]
    step: &'a StepTiming,
}

#[derive(Serialize)]
struct NotRead<'a> {
    file: &'a str,
    line: u64,
    why: &'a str,
}

#[derive(Serialize)]
struct Answer<'a> {
    schema: &'static str,
    advice: &'a [Advice],
    options: Vec<OfProgram>,
    not_in_this_form: Vec<String>,
    sizes: Vec<Sizes>,
    what_if: &'a [Tried],
    not_read: Vec<NotRead<'a>>,
    #[serde(flatten)]
    beside: Beside<'a>,
}

/// What one program is to set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OfProgram {
    /// The program or session.
    pub program: String,
    /// Its options in one form.
    pub options: String,
}

#[derive(Serialize)]
struct Sizes {
    program: String,
    areas: Vec<Area>,
}

impl<'a> Beside<'a> {
    /// All of it, with no more options in force than this many.
    #[must_use]
    pub fn of(collected: &'a Collected, lint: &'a [Lint], most_in_force: usize) -> Self {
        let name = |file: usize| collected.name_of(file);
        let in_force = collected.options.in_force().into_iter().take(most_in_force);
        let in_force = in_force.map(|shown| InForce {
            file: name(shown.file),
            program: shown.enclave,
            option: shown.row,
        });
        Self {
            lint,
            in_force: in_force.collect(),
            steps: collected.steps.iter().map(|(file, step)| Step { file: name(*file), step }).collect(),
            left_out: collected.beyond,
        }
    }
}

/// The option text of each program and session that has something to set in this form.
#[must_use]
pub fn options(collected: &Collected, advice: &[Advice], form: Form) -> Vec<OfProgram> {
    let (settings, steps) = (settings_by_program(advice), Steps::of(collected));
    let of = |program: String| {
        let own = settings.get(program.as_str()).map_or(&[][..], Vec::as_slice);
        let options = steps.text(advice, &program, own, form)?;
        Some(OfProgram { program, options })
    };
    collected.names().into_iter().filter_map(of).collect()
}

/// Programs that have something to set and no text of their own in a step's form, each with the program of its step.
#[must_use]
pub fn linked(collected: &Collected, advice: &[Advice], form: Form) -> Vec<(String, String)> {
    if !matches!(form, Form::Parm | Form::Ceeopts | Form::CeeRunopts) {
        return Vec::new();
    }
    let (settings, steps) = (settings_by_program(advice), Steps::of(collected));
    let of = |name: String| {
        let main = settings.get(name.as_str()).and_then(|_| steps.main_of(&name))?;
        Some((name, main.to_owned()))
    };
    collected.names().into_iter().filter_map(of).collect()
}

/// Programs and sessions that have something to set, and nothing of it in this form.
#[must_use]
pub fn not_in_form(collected: &Collected, advice: &[Advice], form: Form) -> Vec<String> {
    let settings = settings_by_program(advice);
    let lacks = |name: &String| settings.get(name.as_str()).is_some_and(|all| form.text(all).is_none());
    let mut names: Vec<String> = collected.names().into_iter().filter(lacks).collect();
    if !has_values(form) {
        let others = advice.iter().filter(|one| !one.values.is_empty()).map(|one| one.target.clone());
        names.extend(others);
        names.dedup();
    }
    names
}

/// Whether values of z/TPF, which have one form only, are shown in this one: it, or where none was asked for.
#[must_use]
pub fn has_values(form: Form) -> bool {
    matches!(form, Form::Values | Form::Ceeopts)
}

/// The command's answer, on one line.
#[must_use]
pub fn json(
    collected: &Collected,
    advice: &[Advice],
    lint: &[Lint],
    what_if: &[Tried],
    form: Form,
) -> String {
    let settings = settings_by_program(advice);
    let sizes = |program: String| {
        let set = settings.get(program.as_str()).map_or(&[][..], Vec::as_slice);
        Sizes { areas: areas_by(collected, set, &program), program }
    };
    let mut unread: Vec<_> = collected.unread.iter().collect();
    unread.sort_by_key(|(file, line, _)| (*file, *line));
    let name = |file: usize| collected.name_of(file);
    let not_read = unread.into_iter();
    let not_read = not_read.map(|(file, line, why)| NotRead { file: name(*file), line: *line, why });
    let answer = Answer {
        schema: "underbar.listing-advice/1",
        advice,
        options: options(collected, advice, form),
        not_in_this_form: not_in_form(collected, advice, form),
        sizes: collected.names().into_iter().map(sizes).collect(),
        what_if,
        not_read: not_read.collect(),
        beside: Beside::of(collected, lint, usize::MAX),
    };
    // Numbers, texts and lists of them have a JSON form, always.
    serde_json::to_string(&answer).unwrap_or_default() + "\n"
}
