//! Several saved reports of one program: the use over all runs, and the run whose advice holds for them.
//!
//! ```text
//! 11 reports of tclsh under the same options ─> heap.used_peak: largest, half, nine in ten, faded ─> the run at that use
//! ```
//!
//! The advice itself is that for one report: the one that used as much as is to be planned for. A peak that is rare is none of it.
//! Invariant: reports under other options, or with another program in the first place, are of another group.
//! Not here: listings of several runs, which the rules read together ([`crate::listing`]).

use underbar_ledger::Key;
use underbar_report::Report;

use crate::listing::history::History;

/// Reports that can be judged together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Several {
    /// The program with the most memory in each of them.
    pub program: String,
    /// Their places among the reports, in their order.
    pub reports: Vec<usize>,
    /// The place of the one whose advice holds for all.
    pub base: usize,
    /// What they used, in words.
    pub use_: String,
}

/// A group: its program and options, and for each report its place and what was used.
type Group<'a> = ((String, Vec<&'a str>), Vec<(usize, u64)>);

/// The groups of two reports and more, in the order of their first report: the oldest run first.
#[must_use]
pub fn several(reports: &[&Report]) -> Vec<Several> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for (at, report) in reports.iter().enumerate() {
        let Some(program) = report.programs().into_iter().next() else { continue };
        let options = report.options.in_force.iter().map(|option| option.option.as_str()).collect();
        let (key, used) = ((program.name.clone(), options), program.counters.get(Key::HeapUsedPeak));
        match groups.iter_mut().find(|(of, _)| *of == key) {
            Some((_, runs)) => runs.push((at, used)),
            None => groups.push((key, vec![(at, used)])),
        }
    }
    groups.into_iter().filter(|(_, runs)| runs.len() > 1).filter_map(of_group).collect()
}

fn of_group(((program, _), runs): Group<'_>) -> Option<Several> {
    let figures: Vec<u64> = runs.iter().map(|(_, used)| *used).collect();
    let history = History::of(&figures);
    let wanted = if history.is_rare() { history.usual } else { history.need() };
    let (base, _) = runs.iter().filter(|(_, used)| *used >= wanted).min_by_key(|(_, used)| *used)?;
    let rare = if history.is_rare() { "; the largest is rare" } else { "" };
    let use_ = format!("{}{rare}", history.words());
    Some(Several { program, reports: runs.iter().map(|(at, _)| *at).collect(), base: *base, use_ })
}

#[cfg(test)]
mod tests {
    use super::*;
    use underbar_report::sample;

    fn run(used: u64) -> Report {
        sample::report(vec![sample::heap("batch", used, 100, used, (32 << 10, 32 << 10))])
    }

    fn check(used: &[u64]) -> Several {
        let reports: Vec<Report> = used.iter().map(|used| run(*used)).collect();
        let found = several(&reports.iter().collect::<Vec<_>>());
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].reports, (0..used.len()).collect::<Vec<_>>());
        found[0].clone()
    }

    #[test]
    fn a_few_runs_are_planned_for_by_the_largest() {
        let few = check(&[5 << 20, 9 << 20, 7 << 20]);
        assert_eq!((few.base, few.use_.as_str()), (1, "9437184 bytes used at most in 3 runs"));
    }

    #[test]
    fn a_rare_peak_of_many_runs_is_left_out() {
        let mut used = vec![10 << 20; 11];
        (used[4], used[7]) = (150 << 20, (10 << 20) + 1);
        let many = check(&used);
        assert_eq!(many.base, 7, "the one at nine in ten");
        let words = "157286400 bytes used at most in 11 runs, of which half need no more than 10485760 and nine in ten no more \
                     than 10485761";
        assert!(
            many.use_.starts_with(words) && many.use_.ends_with("; the largest is rare"),
            "{}",
            many.use_
        );
    }

    #[test]
    fn other_options_or_programs_are_other_groups() {
        let mut other = run(1 << 20);
        sample::in_force(&mut other, "HEAP(1M,1M,ANYWHERE,KEEP)");
        let third = sample::report(vec![sample::heap("server", 1 << 20, 1, 1 << 20, (0, 0))]);
        let (first, again) = (run(2 << 20), run(3 << 20));
        let found = several(&[&first, &other, &third, &again]);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].reports.as_slice(), found[0].base), ([0, 3].as_slice(), 3));
    }
}
