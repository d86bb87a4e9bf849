//! Sorts by another program: the rule about EXT=ON of Natural, and about `sort` in a run. Each record goes to that program and comes
//! back, by a switch at least.
//!
//! Not here: SORT of a listing (`listing::natural::parameters`), and the internal sort (`underbar_records`).

use underbar_ledger::Key;
use underbar_model::{Certainty, Figure};
use underbar_report::units::{counted, nanoseconds};

use crate::advice::{Advice, Evidence};
use crate::case::Case;
use crate::worth::Worth;

/// Rule `natural-sort`, for a run.
pub fn of_run(case: &Case<'_>) -> Vec<Advice> {
    found(case).into_iter().collect()
}

fn found(case: &Case<'_>) -> Option<Advice> {
    let program = case.program;
    // Who starts the run with `sort` itself sees its own time.
    let is_started = case.report.processes.iter().any(|process| process.name() != program.name);
    if program.name != "sort" || !is_started {
        return None;
    }
    let longest = Figure::counter("processes.ended_ns", program.longest_ns, Certainty::AtLeast);
    let worth = Worth::of(program.longest_ns, &case.switching.elapsed)?;
    let times = format!(
        "{} of sort, the longest of {}",
        counted(program.processes, "process", "processes"),
        nanoseconds(program.longest_ns)
    );
    let mut evidence = Evidence::all([&longest, &case.switching.elapsed]);
    evidence.push(Evidence::counter(Key::HeapUsedPeak, program.counters.get(Key::HeapUsedPeak)));
    let reason = if worth.is_enough() {
        format!(
            "{times}: each record goes to it and comes back. underbar sort takes a quarter of the time of GNU sort for large files, and \
             underbar-records sorts inside the program."
        )
    } else {
        format!("Not worth it here: {times}.")
    };
    Some(Advice { now: "an external sort".to_owned(), evidence, reason, ..Advice::default() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounts::advise;
    use crate::advice::Kind;
    use underbar_report::sample;

    fn said(programs: &[&str], ran: u64) -> Vec<Advice> {
        let heap = |name: &&str| sample::heap(name, 1 << 20, 1, 1 << 20, (0, 0));
        let mut report = sample::report(programs.iter().map(heap).collect());
        for process in &mut report.processes {
            process.ended_ns = Some(ran);
        }
        let steps = underbar_report::steps::Steps { elapsed_ns: 1_000_000_000, ..Default::default() };
        report.steps = Some(steps);
        advise(&report).into_iter().filter(|advice| advice.rule == "natural-sort").collect()
    }

    #[test]
    fn a_sort_that_another_program_started_is_external() {
        let all = said(&["/bin/billing", "/usr/bin/sort"], 40_000_000);
        assert_eq!((all.len(), all[0].kind, all[0].target.as_str()), (1, Kind::NoAdvice, "sort"));
        assert!(
            all[0].reason.starts_with("1 process of sort, the longest of 40.0 ms: "),
            "{}",
            all[0].reason
        );
        let all = said(&["/bin/billing", "/usr/bin/sort"], 9_000_000);
        assert!(all[0].reason.starts_with("Not worth it here: "), "{}", all[0].reason);
        assert_eq!(said(&["/usr/bin/sort"], 40_000_000), []);
        assert_eq!(said(&["/bin/billing"], 40_000_000), []);
    }
}
