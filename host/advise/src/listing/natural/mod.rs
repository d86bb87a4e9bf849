//! Advice from listings of Natural and Adabas: parameters that avoid switches off the zIIP, and their cost.
//!
//! ```text
//! Natural items -> Sessions: reports by user, parameters, clauses, tables -> each rule -> Advice -> NAME=value
//! ```
//!
//! Invariants. No value is set from a figure that is only likely or contradicts another. Facts that a listing cannot show, such
//! as how often a session executes FETCH, are named and not assumed. A parameter that is set keeps its present keywords.
//! Not here: how listings are read (`underbar_listing::natural`), and kept (`sessions`).

pub(crate) mod caches;
pub(crate) mod fetch;
pub(crate) mod parameters;
pub(crate) mod prefetch;
pub(super) mod storage;
pub(crate) mod switches;
pub(crate) mod thread;

use super::collect::Collected;
use super::program_case::ProgramCase;
use super::sessions::Session;
use crate::advice::{Advice, Kind, Line, Setting};

/// The next step for the user.
pub const NEXT: &str = "Natural: then run the session once more, switches counted (ZIIP STAT ON), with BUS and ZIIP PRINT at its end, and \
                        compare: one run each, no interval.\n";

/// The certainty of an advice: by reports if the rule reads them.
pub(crate) fn certainty(rule: &str, collected: &Collected, session: &Session) -> String {
    let known = collected.natural.known(session);
    match rule {
        "natural-sound" => "high: it stands in the listing".to_owned(),
        "natural-switches" => "low: one run each, no interval".to_owned(),
        "natural-cache-size" | "natural-thread-size" if known.runs > 0 => {
            crate::certainty::words(&known, "session")
        }
        "natural-cache-size" | "natural-thread-size" => {
            "low: from parameters only; no report shows what was used".to_owned()
        }
        _ => "low: how often it matters is not in the listing".to_owned(),
    }
}

/// The session to which a rule is applied.
fn session(case: &ProgramCase<'_>) -> Session {
    let mut all = case.collected.natural.sessions().into_iter();
    // A session with this name exists: otherwise no rule would be applied.
    all.find(|session| session.name == case.program.name).unwrap_or_default()
}

fn found(kind: Kind, now: impl Into<String>, evidence: Vec<Line>, reason: impl Into<String>) -> Advice {
    Advice::of_lines(kind, now, evidence, reason)
}

/// The finding for a parameter whose value cannot be read.
fn unreadable(case: &ProgramCase<'_>, file: usize, row: &underbar_listing::natural::Parameter) -> Advice {
    let name = row.name;
    let reason = format!("{name} is set to a value that cannot be read: nothing is advised upon it.");
    found(Kind::NoAdvice, format!("{name} cannot be read"), vec![case.line(file, &row.evidence)], reason)
}

/// A parameter to set; its name includes the equals sign.
fn setting(name: &'static str, values: Vec<String>) -> Option<Setting> {
    Some(Setting { option: name, sub_options: values.into_iter().map(Some).collect() })
}

#[cfg(test)]
mod tests {
    use super::super::settings;
    use super::*;
    use crate::advise_listing;
    use crate::render::Form;

    /// The parameters to set, and the advice.
    pub(super) fn check(files: &[&str], expect: Option<&str>) -> Vec<Advice> {
        let mut collected = Collected::default();
        for (number, text) in files.iter().enumerate() {
            collected.file(&format!("job{}.txt", number + 1));
            for item in underbar_listing::read(text.as_bytes()) {
                collected.take(item);
            }
        }
        let all = advise_listing(&collected);
        let texts: Vec<String> = collected
            .natural
            .sessions()
            .iter()
            .filter_map(|session| Form::Ceeopts.text(&settings(&all, &session.name)))
            .collect();
        let text = texts.concat();
        assert_eq!((!text.is_empty()).then_some(text.trim_end()), expect, "{all:#?}");
        for advice in &all {
            assert!(advice.option.is_none() || !advice.evidence.is_empty(), "{advice:#?}");
            assert_eq!(advice.option.is_some(), !advice.effect.is_empty(), "{advice:#?}");
        }
        all
    }

    /// One advice by its rule.
    pub(super) fn of<'a>(all: &'a [Advice], rule: &str) -> &'a Advice {
        all.iter().find(|advice| advice.rule == rule).unwrap_or_else(|| panic!("{rule}: {all:#?}"))
    }

    /// A report: buffers as name, size, most used; the thread in K, and all buffers in bytes.
    pub(super) fn report(user: &str, buffers: &[(&str, u64, u64)], thread: Option<(u64, u64)>) -> String {
        let share = |part: u64, whole: u64| {
            let tenths = (part * 1000 + whole / 2) / whole;
            format!("{}.{}", tenths / 10, tenths % 10)
        };
        let mut text = format!(
            "10:11:12  ***** NATURAL BUS UTILITY *****  2026-10-09\nUser {user}  - Buffer Usage Statistics -  OpSYS z/OS\n\
             No. Name Type Size Used Perc. MaxUsed Perc. MaxSize Perc.\n"
        );
        for (number, (name, size, most)) in (1..).zip(buffers) {
            text +=
                &format!("{number} {name} V {size} 32 {} {most} {}\n", share(32, *size), share(*most, *size));
        }
        if let Some((thread, total)) = thread {
            let (used, most) = (total / 8, total / 2);
            let large = thread * 1024 / 50;
            let part = if thread == 0 { "0.0" } else { "2.0" };
            text += &format!(
                "ThrdSize Total {total} {used} {} {most} {} {large} {part}\n {thread}K (in KB) {}K {}K {}K {}K\n",
                share(used, total),
                share(most, total),
                total.div_ceil(1024),
                used.div_ceil(1024),
                most.div_ceil(1024),
                large.div_ceil(1024)
            );
        }
        text
    }

    #[test]
    fn sessions_of_several_users_are_apart() {
        let one = report("ANNA", &[("PCACHE", 65_536, 65_530)], Some((4000, 3_600_000)));
        let two = report("BERT", &[("PCACHE", 524_288, 524_280)], Some((4000, 3_600_000)));
        let all = check(&[&one, &two, "MT=0,THSIZE=3000\n"], None);
        assert_eq!(of(&all, "natural-cache-size").target, "Natural ANNA");
        assert_eq!(of(&all, "natural-time-limit").target, "Natural");
    }
}
