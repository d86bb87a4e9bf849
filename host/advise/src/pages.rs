//! The rule about huge pages.

use underbar_ledger::Key;
use underbar_report::units::{bytes, counted};

use crate::advice::{Advice, Evidence, Kind, Setting};
use crate::case::Case;

/// Below this, huge pages could save at most a few hundred faults for each wasted page of 2M.
const LARGE: u64 = 64 << 20;

/// Rule `hugepages`. If a report lacks each process's own faults, it takes those of the run, if that was one process.
pub fn huge(case: &Case<'_>) -> Option<Advice> {
    let used = case.heap.used.value;
    let own = Some(case.program.each(Key::ProcessFaults)).filter(|&faults| faults > 0);
    let of_the_run = || {
        case.report
            .steps
            .as_ref()
            .filter(|_| (case.report.tree.processes, case.report.tree.programs) == (1, 1))
    };
    let (key, faults) = match own {
        Some(faults) => (Key::ProcessFaults.entry().key, faults),
        None => ("steps.minor_faults", of_the_run()?.minor_faults),
    };
    let values = case.report.sub_options("HUGEPAGES");
    let set = values.and_then(|values| values.first().map(|value| value.to_ascii_uppercase()));
    let set = set.unwrap_or_else(|| "AUTO".to_owned());
    let on = set == "ON";
    let found = |kind, word: Option<&str>, reason| {
        Some(Advice {
            kind,
            option: word.map(|word| Setting::new("HUGEPAGES", [Some(word.to_owned())])),
            now: format!("HUGEPAGES({set})"),
            evidence: Evidence::of(&case.heap.used)
                .into_iter()
                .chain([Evidence::Counter { key, figure: faults }])
                .collect(),
            reason,
            ..Advice::default()
        })
    };
    if on {
        if used < LARGE {
            return found(
                Kind::Lower,
                Some("AUTO"),
                format!("{} used at most is little for pages of 2M.", bytes(used)),
            );
        }
        return found(Kind::NoChange, None, "already on.".to_owned());
    }
    if used < LARGE || case.disposition() == "FREE" {
        return None;
    }
    let faulted = u128::from(faults) * u128::from(case.report.host.page_bytes);
    if faulted * 2 >= u128::from(used) {
        let reason =
            format!("{} to touch {}, page by page.", counted(faults, "fault", "faults"), bytes(used));
        return found(Kind::Change, Some("ON"), reason);
    }
    found(Kind::NoChange, None, format!("only {} for {}.", counted(faults, "fault", "faults"), bytes(used)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounts::advise;
    use underbar_report::sample;

    /// `others` are faults of other processes of the run.
    fn check(option: &str, used: u64, faults: u64, others: u64) -> Option<(Kind, String)> {
        let mut this = sample::heap("/bin/x", used, 4, used, (0, 0));
        this.counters.set(Key::ProcessFaults, faults);
        let mut report = sample::report(vec![this, sample::heap("/bin/other", 0, 4, 0, (0, 0))]);
        sample::in_force(&mut report, option);
        if let Some(steps) = &mut report.steps {
            steps.minor_faults = faults + others;
        }
        let all = advise(&report);
        all.into_iter().find(|s| s.rule == "hugepages" && s.target == "x").map(|s| (s.kind, s.then()))
    }

    #[test]
    fn a_large_heap_touched_page_by_page_gets_huge_pages() {
        assert_eq!(check("", 64 << 20, 8_192, 0), Some((Kind::Change, "HUGEPAGES(ON)".to_owned())));
        assert_eq!(check("HEAP(1M,1M,,KEEP)", 1 << 30, 300_000, 1 << 20).map(|s| s.0), Some(Kind::Change));
    }

    #[test]
    fn few_faults_mean_no_change() {
        assert_eq!(check("", 64 << 20, 8_191, 0).map(|s| s.0), Some(Kind::NoChange));
        assert_eq!(check("HUGEPAGES(ON)", 64 << 20, 100, 0).map(|s| s.0), Some(Kind::NoChange));
    }

    #[test]
    fn a_small_heap_goes_back_to_small_pages() {
        assert_eq!(
            check("HUGEPAGES(ON)", 63 << 20, 100_000, 0),
            Some((Kind::Lower, "HUGEPAGES(AUTO)".to_owned()))
        );
        assert_eq!(check("", 63 << 20, 100_000, 0), None);
    }

    #[test]
    fn faults_of_others_are_not_this_programs() {
        let of_others = check("", 64 << 20, 100, 1_000_000);
        assert_eq!(of_others.map(|s| s.0), Some(Kind::NoChange), "it touched little of what it got");
        assert_eq!(check("", 64 << 20, 0, 100_000), None, "whose they are is not known");
        assert_eq!(
            check("HEAP(1M,1M,,FREE)", 64 << 20, 100_000, 0),
            None,
            "what is freed is not worth huge pages"
        );
    }

    #[test]
    fn of_one_process_the_faults_of_the_run_are_its_own() {
        let mut report = sample::report(vec![sample::heap("/bin/x", 64 << 20, 4, 64 << 20, (0, 0))]);
        report.tree.processes = 1;
        if let Some(steps) = &mut report.steps {
            steps.minor_faults = 20_000;
        }
        let said = advise(&report).into_iter().find(|said| said.rule == "hugepages").expect("speaks");
        let faults = Evidence::Counter { key: "steps.minor_faults", figure: 20_000 };
        assert_eq!((said.kind, &said.evidence[1]), (Kind::Change, &faults));
    }
}
