//! Option texts of programs and sessions, as their steps need them.
//!
//! Not here: how one text is written (`forms`, `parameters`), and the step of a program (`listing::Steps`).

use serde::Serialize;

use super::forms::Form;
use super::steps::Steps;
use crate::advice::Advice;
use crate::listing::{Collected, settings_by_program};

/// The settings for one program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OfProgram {
    /// The program or session.
    pub program: String,
    /// Its options in one form.
    pub options: String,
}

/// The option text of each program and session with settings in this form.
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

/// Programs with settings but without a text of their own in a step's form, each with the program of its step.
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

/// Programs and sessions with settings, none of which has this form.
#[must_use]
pub fn not_in_form(collected: &Collected, advice: &[Advice], form: Form) -> Vec<String> {
    let (settings, steps) = (settings_by_program(advice), Steps::of(collected));
    let has_no_parm = |name: &str| {
        let has_none = steps.launcher_of(name).is_some() || steps.is_of_any(name);
        form == Form::Parm && has_none && !steps.is_linked(name)
    };
    let lacks = |name: &String| {
        let has_no_text = |all: &Vec<_>| form.text(all).is_none() || has_no_parm(name);
        settings.get(name.as_str()).is_some_and(has_no_text)
    };
    let mut names: Vec<String> = collected.names().into_iter().filter(lacks).collect();
    if !has_values(form) {
        let others = advice.iter().filter(|one| !one.values.is_empty()).map(|one| one.target.clone());
        names.extend(others);
        names.dedup();
    }
    names
}

/// Whether values of z/TPF are shown in this form. They have only one form; it is shown if requested, or if no form is.
#[must_use]
pub fn has_values(form: Form) -> bool {
    matches!(form, Form::Values | Form::Ceeopts)
}
