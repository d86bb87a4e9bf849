//! Suggestions from the accounts of a run: the application of its rules.
//!
//! Invariant: without coverage no rule about the heap is applied.
//! Not here: the rules (`rules`), and their functions (`heap`, `keep`, `stack`, `pages`, `lock`, `spin`).

use underbar_report::Report;

use crate::advice::Advice;
use crate::case::Case;
use crate::rule::{Apply, Area, Platform};
use crate::{heap, rules};

/// All suggestions for a report: the result of each rule for each program. The program with the most
/// memory comes first.
#[must_use]
pub fn advise(report: &Report) -> Vec<Advice> {
    let mut suggestions = Vec::new();
    for program in &report.programs() {
        let case = Case::new(report, program);
        let (mut elsewhere, mut is_sized) = (false, false);
        for rule in rules::of(Platform::Linux) {
            let found = match rule.apply {
                // Without coverage there is no advice about the heap, however plain the figures look.
                Apply::Accounts { area: Area::Heap, .. } | Apply::Supply(_) | Apply::Ecbs(..)
                    if elsewhere =>
                {
                    Vec::new()
                }
                Apply::Accounts { rule: apply, .. } => apply(&case).into_iter().collect(),
                Apply::Ecbs(apply, _) | Apply::Switching(apply, _) => apply(&case),
                // The advised sizes hold all requests.
                Apply::Supply(apply) if !is_sized => heap::supplied(&case, apply).into_iter().collect(),
                _ => Vec::new(),
            };
            for found in found {
                elsewhere |= rule.id == "coverage";
                is_sized |= rule.id == "heap-size" && found.option.is_some();
                suggestions
                    .push(Advice { target: program.name.clone(), ..rule.gives(Platform::Linux, found) });
            }
        }
    }
    suggestions
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advice::{Evidence, Kind};
    use underbar_ledger::Key;
    use underbar_report::sample;

    #[test]
    fn each_program_of_a_tree_has_its_own_suggestions() {
        let mut report = sample::report(vec![
            sample::heap("/usr/bin/driver", 1 << 20, 1, 1 << 20, (0, 0)),
            sample::heap("/usr/libexec/cc1plus", 200 << 20, 6_400, 210 << 20, (32 << 10, 32 << 10)),
        ]);
        report.processes[1].processes = 2;
        let suggestions = advise(&report);
        let said: Vec<_> = suggestions
            .iter()
            .filter(|s| s.rule == "heap-size")
            .map(|s| (s.target.as_str(), s.kind))
            .collect();
        assert_eq!(said, [("cc1plus", Kind::Raise), ("driver", Kind::NoChange)]);
        assert_eq!(
            suggestions[0].evidence[1],
            Evidence::counter(Key::HeapSegmentsAllocated, 3_200),
            "one process's share of a sum"
        );
    }

    #[test]
    fn noise_gives_suggestions_or_none_but_no_crash() {
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        for round in 0..500 {
            let mut process = sample::heap("/bin/x", 1, 1, 1, (0, 0));
            for key in underbar_ledger::table::KEYS {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                process.counters.set(key, if round % 2 == 0 { state } else { state >> (state % 64) });
            }
            process.processes = state % 3;
            let mut report = sample::report(vec![process]);
            report.host.thread_stack_bytes = Some(state);
            report.host.memory_limit_bytes = Some(state >> (state % 60));
            for suggestion in advise(&report) {
                assert!(!suggestion.to_string().is_empty());
            }
        }
    }
}
