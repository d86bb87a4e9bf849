//! Listings before and after: each program's figures side by side, and the timings of the steps.
//!
//! ```text
//! HEAP                                     old          new     ratio
//!   Number of segments allocated         27949            8     0.000
//! ```
//!
//! Invariant: two runs have no interval, and every form says so. Likely figures, and figures of a report that is not sound, are
//! not compared. If a listing has several runs of a program, the last one is compared, and the number of runs is shown.
//! Not here: reports of z/TPF and Natural, which have their own files below; saved reports of underbar (`underbar_report::diff`).

mod buffers;
mod classes;
mod lists;
mod parameters;
mod profile;
mod subject;
mod switches;
mod tables;

use std::fmt::Write as _;

use serde::Serialize;
use underbar_listing::model::ztpf::Found;
use underbar_listing::{Field, StepTiming};

use super::collect::{Collected, Program, Run};

pub use subject::{Amount, Group, Known, Row, Subject};

/// The note in every form of a comparison.
pub const NO_INTERVAL: &str = "one run each, no interval: a small difference may be chance";

/// One figure before and after.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Pair {
    /// Section of the storage report.
    pub section: &'static str,
    /// Its label.
    pub label: &'static str,
    /// Before; None if it is missing or not certain.
    pub old: Option<u64>,
    /// After.
    pub new: Option<u64>,
}

/// One program before and after.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ComparedProgram {
    /// Its enclave's name before and after.
    pub names: [String; 2],
    /// The numbers of its runs.
    pub runs: [usize; 2],
    /// Its figures, in the order of the report.
    pub figures: Vec<Pair>,
}

/// One step before and after.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ComparedStep {
    /// Before; None if only the other listing has it.
    pub old: Option<StepTiming>,
    /// After.
    pub new: Option<StepTiming>,
}

/// Two listings, or two groups of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Comparison {
    /// Programs in both listings.
    pub programs: Vec<ComparedProgram>,
    /// Steps, in the order of the old listing, then those that are new.
    pub steps: Vec<ComparedStep>,
    /// The subjects of z/TPF and Natural in both listings.
    pub subjects: Vec<Subject>,
    /// Programs and other subjects that only the old listing has.
    pub only_old: Vec<String>,
    /// The same for the new listing.
    pub only_new: Vec<String>,
    /// Kinds of z/TPF and Natural data, in either listing, that no comparison reads.
    pub not_compared: Vec<&'static str>,
}

impl Comparison {
    /// Compares two listings.
    #[must_use]
    pub fn new(old: &Collected, new: &Collected) -> Comparison {
        let mut comparison = Comparison::default();
        let mut rest: Vec<&Program> = new.programs.iter().collect();
        let alone = old.programs.len() == 1 && new.programs.len() == 1;
        for program in &old.programs {
            let twin = rest.iter().position(|other| alone || other.name == program.name);
            match twin {
                Some(at) => comparison.programs.push(compared(program, rest.remove(at))),
                None => comparison.only_old.push(program.name.clone()),
            }
        }
        comparison.only_new = rest.into_iter().map(|program| program.name.clone()).collect();
        let mut rest: Vec<&StepTiming> = new.steps.iter().map(|(_, step)| step).collect();
        for (_, step) in &old.steps {
            let at = rest.iter().position(|other| other.names == step.names);
            let twin = at.map(|at| rest.remove(at).clone());
            comparison.steps.push(ComparedStep { old: Some(step.clone()), new: twin });
        }
        comparison
            .steps
            .extend(rest.into_iter().map(|step| ComparedStep { old: None, new: Some(step.clone()) }));
        for compare in [
            tables::compare,
            lists::compare,
            profile::compare,
            buffers::compare,
            parameters::compare,
            switches::compare,
        ] {
            compare(old, new, &mut comparison);
        }
        comparison.not_compared = not_compared(&[old, new]);
        comparison
    }

    /// Names the subjects that only one listing has.
    fn alone(&mut self, old: Option<String>, new: Option<String>) {
        self.only_old.extend(old);
        self.only_new.extend(new);
    }

    /// Whether there is nothing to compare.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.programs.is_empty()
            && self.subjects.is_empty()
            && self.steps.iter().all(|step| step.old.is_none() || step.new.is_none())
    }

    /// As JSON, followed by a line feed.
    ///
    /// # Errors
    /// The error of `serde_json`.
    pub fn to_json(&self) -> serde_json::Result<String> {
        let answer = serde_json::json!({
            "schema": "underbar.listing-diff/1",
            "note": NO_INTERVAL,
            "programs": serde_json::to_value(&self.programs)?,
            "steps": serde_json::to_value(&self.steps)?,
            "subjects": serde_json::to_value(&self.subjects)?,
            "only_old": self.only_old,
            "only_new": self.only_new,
            "not_compared": self.not_compared,
        });
        Ok(format!("{answer}\n"))
    }

    /// In words; `all`: unchanged figures, too.
    #[must_use]
    pub fn to_text(&self, all: bool) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        for program in &self.programs {
            let [old, new] = &program.names;
            let names = if old == new { old.clone() } else { format!("{old} -> {new}") };
            let _ = writeln!(text, "{names}");
            for (which, runs) in ["old", "new"].iter().zip(program.runs) {
                if runs > 1 {
                    let _ = writeln!(text, "  {which}: the last of {runs} runs");
                }
            }
            let mut section = "";
            for pair in program.figures.iter().filter(|pair| all || pair.old != pair.new) {
                if pair.section != section {
                    section = pair.section;
                    let heading = format!("{section} statistics");
                    let _ = writeln!(text, "  {heading:<47}{:>13}{:>13}{:>9}", "old", "new", "ratio");
                }
                let _ = writeln!(
                    text,
                    "    {:<45}{:>13}{:>13}{:>9}",
                    pair.label,
                    count(pair.old),
                    count(pair.new),
                    ratio(pair.old, pair.new)
                );
            }
            if section.is_empty() {
                text.push_str("  No figure changed.\n");
            }
        }
        self.step_lines(&mut text);
        for subject in &self.subjects {
            subject.write(&mut text, all);
        }
        for (which, names) in [("old", &self.only_old), ("new", &self.only_new)] {
            if !names.is_empty() {
                let _ = writeln!(text, "Only in the {which} listing: {}.", names.join(", "));
            }
        }
        if !self.not_compared.is_empty() {
            let _ = writeln!(text, "Read and not compared: {}.", self.not_compared.join(", "));
        }
        let _ = writeln!(text, "This is {NO_INTERVAL}.");
        text
    }

    /// In the form in which job logs print them.
    fn step_lines(&self, text: &mut String) {
        if self.steps.is_empty() {
            return;
        }
        text.push_str("STEP TIMINGS\n");
        let _ = writeln!(
            text,
            "       {:<26} {:>5} {:>8} {:>13} {:>13} {:>10}",
            "STEPNAME PROCSTEP PGMNAME", "CC", "USED", "CPU TIME", "ELAPSED TIME", "EXCP"
        );
        for step in &self.steps {
            for (which, one) in [("old", &step.old), ("new", &step.new)] {
                let Some(one) = one else { continue };
                let used = one.used.map_or("-".to_owned(), |used| format!("{}K", used >> 10));
                let _ = writeln!(
                    text,
                    "  {which}  {:<26} {:>5} {used:>8} {:>13} {:>13} {:>10}",
                    one.names
                        .iter()
                        .map(|name| format!("{name:<8}"))
                        .collect::<Vec<_>>()
                        .join(" ")
                        .trim_end(),
                    one.code.as_deref().unwrap_or("-"),
                    clock(one.cpu),
                    clock(one.elapsed),
                    count(one.excp)
                );
            }
            if let (Some(old), Some(new)) = (&step.old, &step.new) {
                let _ = writeln!(
                    text,
                    "  ratio{:>56} {:>13} {:>10}",
                    ratio(old.cpu, new.cpu),
                    ratio(old.elapsed, new.elapsed),
                    ratio(old.excp, new.excp)
                );
            }
        }
    }
}

fn compared(old: &Program, new: &Program) -> ComparedProgram {
    let last = |program: &'_ Program| -> Option<usize> {
        program.runs.iter().rposition(|run: &Run| run.report.is_sound())
    };
    let (old_run, new_run) = (last(old).map(|at| &old.runs[at]), last(new).map(|at| &new.runs[at]));
    let sections = old_run.into_iter().chain(new_run).flat_map(|run| &run.report.sections);
    let mut kinds: Vec<_> = sections.map(|section| section.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let mut figures = Vec::new();
    for kind in kinds {
        for field in kind.row().map_or(&[][..], |row| row.fields) {
            let value = |run: Option<&Run>, field: Field| Some(run?.report.section(kind)?.get(field)?.value);
            let (was, is) = (value(old_run, *field), value(new_run, *field));
            if was.is_some() || is.is_some() {
                figures.push(Pair { section: kind.title(), label: field.label(), old: was, new: is });
            }
        }
    }
    ComparedProgram {
        names: [old.name.clone(), new.name.clone()],
        runs: [old.runs.len(), new.runs.len()],
        figures,
    }
}

/// Data that is read but not compared.
fn not_compared(both: &[&Collected]) -> Vec<&'static str> {
    let mut all = Vec::new();
    let ztpf = both.iter().flat_map(|collected| &collected.ztpf).filter_map(|(_, found)| match found {
        Found::SystemHeap(_) => Some("the system heap (ZSTAT SYSHEAP)"),
        Found::Metrics(_) => Some("name-value pairs"),
        Found::Values(_) => Some("values of memory configurations"),
        Found::Frequencies(_) | Found::Lists(_) | Found::Profile(_) => None,
    });
    let clauses = both.iter().any(|collected| !collected.natural.clauses.is_empty());
    for name in ztpf.chain(clauses.then_some("multi-fetch clauses")) {
        if !all.contains(&name) {
            all.push(name);
        }
    }
    all
}

/// Pairs equal items, in the order of the old listing, followed by items that only the new one has.
fn paired<T>(old: Vec<T>, new: Vec<T>, same: impl Fn(&T, &T) -> bool) -> Vec<(Option<T>, Option<T>)> {
    let mut rest = new;
    let mut pairs: Vec<(Option<T>, Option<T>)> = Vec::new();
    for one in old {
        let twin = rest.iter().position(|other| same(&one, other)).map(|at| rest.remove(at));
        pairs.push((Some(one), twin));
    }
    pairs.extend(rest.into_iter().map(|one| (None, Some(one))));
    pairs
}

fn count(value: Option<u64>) -> String {
    value.map_or("-".to_owned(), |value| value.to_string())
}

/// Three digits after the point, or as many as show three significant ones.
fn ratio(old: Option<u64>, new: Option<u64>) -> String {
    match (old, new) {
        (Some(0), Some(0)) => "1.000".to_owned(),
        (Some(old), Some(new)) if old > 0 => match new as f64 / old as f64 {
            small if small > 0.0 && small < 0.000_001 => format!("{small:.1e}"),
            small if small > 0.0 && small < 0.001 => {
                // There are between 3 and 5 zeros after the point.
                let zeros = (3..6).find(|zeros| small * 10_f64.powi(zeros + 1) >= 1.0).unwrap_or(5);
                format!("{small:.*}", usize::try_from(zeros).unwrap_or(5) + 3)
            }
            value => format!("{value:.3}"),
        },
        _ => "-".to_owned(),
    }
}

/// `H:MM:SS.hh`
fn clock(hundredths: Option<u64>) -> String {
    let Some(all) = hundredths else { return "-".to_owned() };
    let (seconds, hundredths) = (all / 100, all % 100);
    format!("{}:{:02}:{:02}.{hundredths:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_has_digits_enough() {
        for (old, new, expect) in [
            (27_949, 8, "0.000286"),
            (1000, 9, "0.009"),
            (10_000, 9, "0.000900"),
            (100, 1, "0.010"),
            (3, 4, "1.333"),
            (5, 0, "0.000"),
            (2_000_000_000, 1, "5.0e-10"),
        ] {
            assert_eq!(ratio(Some(old), Some(new)), expect);
        }
    }

    fn listing(segments: u64, seconds: &str) -> Collected {
        let mut collected = Collected::default();
        collected.file("job");
        let text = format!(
            "Storage Report for Enclave main x\n\n    HEAP statistics:\n      Initial size: 32768\n      Number of segments \
             allocated: {segments}\nEnd of Storage Report\n- STEPNAME PROCSTEP PGMNAME CC USED CPU TIME ELAPSED TIME EXCP\n\
             - S1 GO PAY 00 64K {seconds} 0:01:20.00 500\n"
        );
        for item in underbar_listing::read(text.as_bytes()) {
            collected.take(item);
        }
        collected
    }

    #[test]
    fn figures_and_timings_stand_side_by_side() {
        let comparison = Comparison::new(&listing(420, "0:00:12.50"), &listing(2, "0:00:01.25"));
        assert_eq!(
            comparison.to_text(false),
            "\
main
  HEAP statistics                                          old          new    ratio
    Number of segments allocated                           420            2    0.005
STEP TIMINGS
       STEPNAME PROCSTEP PGMNAME     CC     USED      CPU TIME  ELAPSED TIME       EXCP
  old  S1       GO       PAY         00      64K    0:00:12.50    0:01:20.00        500
  new  S1       GO       PAY         00      64K    0:00:01.25    0:01:20.00        500
  ratio                                                   0.100         1.000      1.000
This is one run each, no interval: a small difference may be chance.
"
        );
        assert!(comparison.to_text(true).contains("Initial size"));
        let json = comparison.to_json().expect("it can be written");
        assert!(json.contains("\"note\":\"one run each, no interval"), "{json}");
    }

    #[test]
    fn what_only_one_of_them_has_is_named() {
        let empty = Collected::default();
        let comparison = Comparison::new(&listing(420, "0:00:12.50"), &empty);
        assert!(comparison.is_empty());
        assert!(comparison.to_text(false).contains("Only in the old listing: main."));
    }
}
