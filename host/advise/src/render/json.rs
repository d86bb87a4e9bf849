//! Advice as JSON: one form for the accounts of a run, one for listings; and the part that the web page shares with the latter.
//!
//! ```text
//! advice[]  options[]: program, options    not_in_this_form[]    sizes[]    what_if[]       the command's
//! not_read[]: file, line, why                                                             each; the page groups them by words
//! lint[]    in_force[]    steps[]    left_out                                                both have them
//! ```
//!
//! Invariant: the common part is made here, once, so that the two cannot differ.

use serde::{Serialize, Serializer};
use underbar_listing::{OptionRow, StepTiming};

use super::forms::Form;
use super::lines::to_set;
use super::options::{OfProgram, not_in_form, options};
use crate::advice::{Advice, Evidence, Kind, Line, Setting, Value};
use crate::listing::simulate::Tried;
use crate::listing::{Area as Sized, Collected, areas_by, settings_by_program};
use crate::rule::{Area, Platform};

/// Name and version of the JSON schema of advice from accounts.
pub const SCHEMA: &str = "underbar.advice/1";

/// JSON of the accounts of a run.
#[derive(Serialize)]
struct OfAccounts<'a> {
    rule: &'static str,
    program: &'a str,
    area: &'static str,
    kind: Kind,
    option: &'a Option<Setting>,
    now: &'a str,
    suggested: String,
    evidence: &'a [Evidence],
    reason: &'a str,
    stop: &'static str,
    risk: &'a str,
    risky: bool,
    acts: bool,
}

/// JSON of a listing.
#[derive(Serialize)]
struct OfListing<'a> {
    rule: &'static str,
    program: &'a str,
    kind: Kind,
    now: &'a str,
    option: &'a Option<Setting>,
    #[serde(skip_serializing_if = "<[Value]>::is_empty")]
    values: &'a [Value],
    evidence: &'a [Evidence],
    reason: &'a str,
    effect: &'a str,
    risk: &'a str,
    confidence: &'a str,
}

impl Serialize for Advice {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Advice { rule, kind, option, now, evidence, reason, risk, .. } = self;
        let (rule, kind, program) = (*rule, *kind, self.target.as_str());
        match self.platform {
            Platform::Linux => {
                let (area, suggested) = (self.area.map_or("", Area::word), self.then());
                let (stop, risky, acts) = (self.stop, self.risky, self.acts);
                let form = OfAccounts {
                    rule,
                    program,
                    area,
                    kind,
                    option,
                    now,
                    suggested,
                    evidence,
                    reason,
                    stop,
                    risk,
                    risky,
                    acts,
                };
                form.serialize(serializer)
            }
            _ => {
                let (values, effect, confidence) = (&self.values[..], &self.effect[..], &self.certainty[..]);
                let form = OfListing {
                    rule,
                    program,
                    kind,
                    now,
                    option,
                    values,
                    evidence,
                    reason,
                    effect,
                    risk,
                    confidence,
                };
                form.serialize(serializer)
            }
        }
    }
}

/// Suggestions as JSON, one line and a line feed: all of them, and the options of those that are to be set.
#[must_use]
pub fn accounts(suggestions: &[Advice], risky: bool) -> String {
    let options: Vec<_> = to_set(suggestions, risky)
        .iter()
        .map(|program| serde_json::json!({"program": program.program, "options": program.text()}))
        .collect();
    format!("{}\n", serde_json::json!({"schema": SCHEMA, "suggestions": suggestions, "options": options}))
}

/// The fields next to the advice.
#[derive(Serialize)]
pub struct Beside<'a> {
    lint: Vec<Check<'a>>,
    in_force: Vec<InForce<'a>>,
    steps: Vec<Step<'a>>,
    left_out: u64,
}

/// A finding of a check of option texts.
#[derive(Serialize)]
struct Check<'a> {
    rule: &'a str,
    evidence: Vec<&'a Line>,
    words: &'a str,
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

#[derive(Serialize)]
struct Sizes {
    program: String,
    areas: Vec<Sized>,
}

impl<'a> Beside<'a> {
    /// All of them, with at most this many options in force.
    #[must_use]
    pub fn of(collected: &'a Collected, checks: &'a [Advice], most_in_force: usize) -> Self {
        let check = |found: &'a Advice| Check {
            rule: found.rule,
            evidence: found.evidence.iter().filter_map(Evidence::line).collect(),
            words: &found.reason,
        };
        let name = |file: usize| collected.name_of(file);
        let in_force = collected.options.in_force().into_iter().take(most_in_force);
        let in_force = in_force.map(|shown| InForce {
            file: name(shown.file),
            program: shown.enclave,
            option: shown.row,
        });
        Self {
            lint: checks.iter().map(check).collect(),
            in_force: in_force.collect(),
            steps: collected.steps.iter().map(|(file, step)| Step { file: name(*file), step }).collect(),
            left_out: collected.beyond,
        }
    }
}

/// The command's answer, on one line.
#[must_use]
pub fn listings(
    collected: &Collected,
    advice: &[Advice],
    checks: &[Advice],
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
        beside: Beside::of(collected, checks, usize::MAX),
    };
    // Numbers, texts and lists of them always have a JSON form.
    serde_json::to_string(&answer).unwrap_or_default() + "\n"
}
