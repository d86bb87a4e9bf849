//! Rules for listings of z/TPF, and what they say.
//!
//! ```text
//! Collected -> populations (sets of sizes, layouts) -> every rule of TPF_RULES -> Advice -> NAME=value
//! ```
//!
//! Invariant: out comes `NAME=value`, never a command: the syntax of ZCTKA is in no public source. What cannot be seen
//! in these listings is not set, and an advice says so.
//! Not here: how listings are read (`underbar_listing::ztpf`), what-if (`simulate`).

pub(crate) mod avl;
pub(crate) mod contention;
pub(crate) mod population;
mod preallocated;
mod remarks;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use serde::Serialize;

use underbar_listing::ztpf::model::{Found, Frequencies};

use super::simulate::grouped;
use super::{Advice, Collected, Line};
use crate::rule::RuleOf;
use crate::suggestion::Kind;

/// Lists that every system has: AVL1 to AVL4.
pub(crate) const LISTS: usize = 4;
/// The rule whose proposal can be tried without changing anything.
pub(crate) const AVL_SIZE: &str = "tpf-avl-size";

/// A value to set, by its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Value {
    /// `HAVSZ1`.
    pub name: String,
    /// Its value as text.
    pub value: String,
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}={}", self.name, self.value)
    }
}

/// `1 request`, `5,000 requests`.
pub(crate) fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(count), if count == 1 { one } else { many })
}

/// A share of a hundred with two decimals, rounded.
pub(crate) fn share(part: u64, all: u64) -> String {
    let all = u128::from(all.max(1));
    let share = (u128::from(part) * 20_000 + all) / (2 * all);
    format!("{}.{:02} %", share / 100, share % 100)
}

/// Values on one line.
pub(crate) fn shown(values: &[Value]) -> String {
    values.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

/// One rule for listings of z/TPF.
pub type TpfRule = RuleOf<fn(&Collected) -> Vec<Said>>;

/// What a rule said.
pub struct Said {
    pub(crate) program: String,
    pub(crate) kind: Kind,
    pub(crate) now: String,
    pub(crate) values: Vec<Value>,
    pub(crate) evidence: Vec<Line>,
    pub(crate) reason: String,
    pub(crate) effect: String,
    pub(crate) confidence: String,
}

impl Said {
    pub(crate) fn new(program: &str, kind: Kind, evidence: Vec<Line>) -> Self {
        Self {
            program: program.to_owned(),
            kind,
            now: String::new(),
            values: Vec::new(),
            evidence,
            reason: String::new(),
            effect: String::new(),
            confidence: String::new(),
        }
    }
}

/// All rules for listings of z/TPF.
pub static TPF_RULES: [TpfRule; 8] = [
    TpfRule {
        id: "tpf-sound",
        title: "Whether a report of z/TPF can be used",
        source: "Own: no advice rather than a wrong one",
        condition: "Counts and percentages of a report contradict each other, or its classes do not grow from row to row.",
        formula: "No advice from that report.",
        stop: "Nothing of this kind was found.",
        risk: "None: nothing is set.",
        apply: remarks::sound,
    },
    TpfRule {
        id: AVL_SIZE,
        title: "Buffer sizes of the available lists of the ECB heap (HAVSZn)",
        source: "ECB heap talk, 2025 (PJ47265): the request size report has finer classes \"to help tune AVL sizes\"; z/TPF \
                 itself gives no advice on sizes. The optimisation is our own",
        condition: "A request size report of which at most one request in 100 lies in rows that are missing; the best sizes \
                    spare one byte in 100 of what is handed out, or more requests find a list.",
        formula: "Of all ways to cut the classes into as many runs as there are lists (4, or as many as the listing shows) the \
                  one with the least sum of requests times (size - class limit), found exactly by dynamic programming. The \
                  lists hold all requests but one in 1,000. Sizes are class limits, multiples of 32.",
        stop: "The present sizes waste no more for certain: no change. Of a report with classes of 128 of which the first holds half \
               of the requests no sizes are taken where the present ones are not known.",
        risk: "A report shows one interval of one system, and a system-wide one mixes applications with shared SSL and Java, \
               which ask for many small buffers: with PJ48166 these have sizes of their own. The sizes matter even where the \
               numbers of preallocated buffers (HAVLn) are 0.",
        apply: avl::sizes,
    },
    TpfRule {
        id: "tpf-avl-count",
        title: "Numbers of preallocated buffers of the available lists (HAVLn)",
        source: "z/TPF blog, questions and answers on preallocated buffers: before PJ47265 at most 150 over AVL1 to AVL4, since \
                 the first control table has 150 entries in five 4-KB frames",
        condition: "A request size report, or values of a memory configuration, are there.",
        formula: "Nothing is set: a report of requests does not show how many buffers an ECB holds at one time. Values that are \
                  there are checked: at most 150 buffers in all, and their bytes within the preallocated area.",
        stop: "Nothing is set in any case.",
        risk: "None: nothing is set.",
        apply: remarks::counts,
    },
    TpfRule {
        id: "tpf-preallocated",
        title: "The preallocated 31-bit area of an ECB (PEH)",
        source: "PJ48166: usage reports of the preallocated and of the virtual 31-bit heap, to tell which size is acceptable",
        condition: "The usage report of the preallocated area, whole, of 20 ECBs or more.",
        formula: "The smallest class that holds 95 of 100 ECBs, in 4-KB frames, over both 31-bit reports where the second holds \
                  as many ECBs as the first says exceed the area.",
        stop: "The present area is that class: no change.",
        risk: "Every ECB that is defined gets the area, used or not: a frame more is 4 KB times their number. The unit of PEH is \
               not confirmed by a public source. Buffers of the available lists come out of the area.",
        apply: preallocated::area,
    },
    TpfRule {
        id: "tpf-fine-classes",
        title: "Classes of 128 hide the sizes that matter",
        source: "ECB heap talk, 2025: 99.73 % of the requests in the one class up to 128; with PJ47265 99.29 % in that of 33 to 64",
        condition: "A report with classes of 128, of which the first holds half of all requests or more.",
        formula: "Nothing is set: collect again with APAR PJ47265 (and PJ48131), whose classes begin at 32, before sizes below 128 \
                  are chosen.",
        stop: "The report has the finer classes: nothing is said.",
        risk: "None: nothing is set. No application changes are needed for the APARs.",
        apply: remarks::fine,
    },
    TpfRule {
        id: "tpf-population",
        title: "Sets of sizes for shared SSL and Java",
        source: "ECB heap talk, 2025, and PJ48166: shared SSL and Java run in long-running ECBs and use many small buffers; \
                 applications are likely to benefit from larger sizes. Their sizes are separately tunable",
        condition: "A display of the lists of one ECB (ZDECB HAVL) is there.",
        formula: "Nothing is set: the display names the set and its sizes, the layout of its counts is not known. Its sizes are \
                  the present ones of that set, and of no other.",
        stop: "Nothing is set in any case.",
        risk: "None: nothing is set.",
        apply: remarks::sets,
    },
    TpfRule {
        id: "tpf-read-only",
        title: "What is read and not advised upon",
        source: "z/TPF documentation: layout of the name-value pair table (values are cumulative), ZSTAT SYSHEAP; neither it nor the \
                 talks hold a rule for them",
        condition: "Name-value pairs, or a display of the system heap, are there.",
        formula: "Nothing is set: no public source names the counters of the ECB heap among the name-value pairs. What changed from \
                  row to row of one ECB is shown of counters whose names hold AVL or HEAP.",
        stop: "Nothing is set in any case.",
        risk: "None: nothing is set.",
        apply: remarks::read_only,
    },
    TpfRule {
        id: "tpf-contention",
        title: "A share of compare-and-swap in the instruction profile",
        source: "Simple lock talk, 2023 (PJ46800): 99 % of CPU with most samples on CSG in slockc.goff, 8 % with the APAR, where \
                 TM, CGHSI and BRCTG take their place",
        condition: "An object with 100 samples or more, of which a quarter or more are of CS, CSG or another compare-and-swap.",
        formula: "In slockc.goff: apply PJ46800. Elsewhere: simple locks, or read before each swap, spin a bounded number of times, \
                  give up control; hold the lock for less time.",
        stop: "A smaller share: no change.",
        risk: "A profile shows where time goes, not how much of it waiting costs: compare CPU and throughput before and after. \
               Programs that refer to fields of the simple lock must be changed for PJ46800.",
        apply: contention::contention,
    },
];

/// Where a report stands that was found before: the same counts of the same collection.
pub(super) fn same(known: &[(usize, Found)], found: &Found) -> Option<(usize, u64)> {
    let Found::Frequencies(new) = found else { return None };
    if new.read() == 0 {
        return None;
    }
    let figures = |of: &Frequencies| -> Vec<(u64, bool, u64, u64)> {
        of.rows.iter().map(|row| (row.limit, row.over, row.percent, row.count.value)).collect()
    };
    let run = |of: &Frequencies| of.run.as_ref().map(|run| run.text.clone());
    known.iter().find_map(|(file, found)| {
        let Found::Frequencies(old) = found else { return None };
        let alike = (old.table, &old.set, old.sound) == (new.table, &new.set, new.sound)
            && run(old) == run(new)
            && old
                .sizes
                .iter()
                .map(|(list, size)| (*list, size.value))
                .eq(new.sizes.iter().map(|(list, size)| (*list, size.value)))
            && figures(old) == figures(new);
        alike.then_some((*file, old.title.line))
    })
}

/// The line where it begins.
pub(super) fn first_line(found: &Found) -> u64 {
    if let Found::Frequencies(found) = found { found.title.line } else { 1 }
}

/// All advice from listings of z/TPF.
pub(super) fn advise(collected: &Collected) -> Vec<Advice> {
    if collected.ztpf.is_empty() {
        return Vec::new();
    }
    let of = |rule: &'static TpfRule| {
        (rule.apply)(collected).into_iter().map(|said| Advice {
            rule: rule.id,
            program: said.program,
            kind: said.kind,
            now: said.now,
            option: None,
            values: said.values,
            evidence: said.evidence,
            reason: said.reason,
            effect: said.effect,
            risk: rule.risk.to_owned(),
            confidence: said.confidence,
        })
    };
    TPF_RULES.iter().flat_map(of).collect()
}

/// All values to set, by population, as text: one `NAME=value` a line.
#[must_use]
pub fn values_text(advice: &[Advice]) -> Option<String> {
    let mut text = String::new();
    let programs = distinct(advice.iter().filter(|one| !one.values.is_empty()));
    for program in &programs {
        // Writing to a string cannot fail.
        let _ =
            writeln!(text, "For {program} (values, not a command: check each name and its unit with HELP):");
        text += &values_of(advice, program).unwrap_or_default();
    }
    (!programs.is_empty()).then_some(text)
}

/// The values to set for one population: one `NAME=value` a line.
#[must_use]
pub fn values_of(advice: &[Advice], program: &str) -> Option<String> {
    let values = advice.iter().filter(|one| one.program == program).flat_map(|one| &one.values);
    let text: String = values.map(|value| format!("{value}\n")).collect();
    (!text.is_empty()).then_some(text)
}

/// Whom advice from these rules is for, in its order.
#[must_use]
pub fn names(advice: &[Advice]) -> Vec<&str> {
    distinct(advice.iter().filter(|one| TPF_RULES.iter().any(|rule| rule.id == one.rule)))
}

fn distinct<'a>(advice: impl Iterator<Item = &'a Advice>) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for one in advice {
        if !names.contains(&one.program.as_str()) {
            names.push(&one.program);
        }
    }
    names
}

/// What to do next.
#[must_use]
pub fn afterwards(advice: &[Advice]) -> &'static str {
    if advice.iter().any(|one| !one.values.is_empty()) {
        "Then collect again under the same load, for as long, and compare: one collection each, no interval.\n"
    } else {
        "Nothing to set.\n"
    }
}
