//! Applies each rule of the table to the contents of listings.
//!
//! Not here: the rules, which do not depend on their caller; rules for the accounts of a run (`accounts`).

use crate::advice::Advice;
use crate::certainty;
use crate::listing::{Collected, Program, ProgramCase, natural, place, ztpf};
use crate::rule::{Apply, Platform, Rule};
use crate::rules;

/// All advice: for each program, in the order of the listing, the advice of each rule.
#[must_use]
pub fn advise_listing(collected: &Collected) -> Vec<Advice> {
    let mut all = Vec::new();
    for program in &collected.programs {
        let known = program.known();
        let cics = ProgramCase { collected, program, risk: "" }.cics();
        for rule in rules::of(Platform::LanguageEnvironment) {
            let Apply::Program(apply) = rule.apply else { continue };
            let case = ProgramCase { collected, program, risk: rule.risk };
            for mut found in apply(&case) {
                place::say(&case, &mut found);
                if let (Some(line), true) = (&cics, found.option.is_some()) {
                    // The rule's own risk applies unless the finding has one.
                    found.risk =
                        format!("{CICS}{}", if found.risk.is_empty() { rule.risk } else { &found.risk });
                    found.evidence.push(line.clone().into());
                }
                all.push(Advice {
                    target: program.name.clone(),
                    certainty: certainty::words(&known, "run"),
                    ..rule.gives(Platform::LanguageEnvironment, found)
                });
            }
        }
    }
    all.extend(system(collected));
    all.extend(sessions(collected));
    all
}

/// The text before each risk under CICS.
const CICS: &str = "CICS, as its step or an increment 16 bytes short of a page shows: each task takes these sizes, segments are EXEC CICS \
                    GETMAINs, CEEOPTS is not read (use CEEUOPT or CEEROPT), and automatic tuning only ever raises. ";

/// The advice of each rule on each session.
fn sessions(collected: &Collected) -> Vec<Advice> {
    let mut all = Vec::new();
    for session in collected.natural.sessions() {
        let program = Program { name: session.name.clone(), runs: Vec::new() };
        for rule in rules::of(Platform::Natural) {
            let (Apply::Program(apply) | Apply::Switching(_, apply)) = rule.apply else { continue };
            let case = ProgramCase { collected, program: &program, risk: rule.risk };
            for found in apply(&case) {
                let certainty = natural::certainty(rule.id, collected, &session);
                all.push(Advice {
                    target: session.name.clone(),
                    certainty,
                    ..rule.gives(Platform::Natural, found)
                });
            }
        }
    }
    all
}

/// The findings of the checks of option texts.
#[must_use]
pub fn check_texts(collected: &Collected) -> Vec<Advice> {
    let of = |rule: &'static Rule| {
        let found = if let Apply::Texts(apply) = rule.apply { apply(collected) } else { Vec::new() };
        found.into_iter().map(|found| rule.gives(Platform::LanguageEnvironment, found))
    };
    rules::checks().flat_map(of).collect()
}

/// All advice from listings of z/TPF.
fn system(collected: &Collected) -> Vec<Advice> {
    if collected.ztpf.is_empty() {
        return Vec::new();
    }
    let of = |rule: &'static Rule| {
        let found = match rule.apply {
            Apply::Listings(apply) | Apply::Ecbs(_, apply) => apply(collected),
            Apply::Supply(apply) => ztpf::avl::supplied(collected, apply),
            _ => Vec::new(),
        };
        found.into_iter().map(|found| rule.gives(Platform::Ztpf, found))
    };
    rules::of(Platform::Ztpf).flat_map(of).collect()
}
