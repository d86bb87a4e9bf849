//! The rule about huge pages.

use underbar_ledger::Key;
use underbar_report::units::{bytes, counted};

use crate::rules::{Case, Finding};
use crate::suggestion::{Evidence, Kind, Setting};

/// Below this, a few hundred faults are all that could be saved for each page of 2M wasted.
const LARGE: u64 = 64 << 20;

/// Rule `hugepages`. Faults are the whole run's, so it speaks only about the program that has most
/// of the run's heap.
pub fn huge(case: &Case<'_>) -> Option<Finding> {
    let used = case.get(Key::HeapUsedPeak);
    let faults = case.report.steps.as_ref()?.minor_faults;
    let values = case.report.sub_options("HUGEPAGES");
    let set = values.and_then(|values| values.first().map(|value| value.to_ascii_uppercase()));
    let set = set.unwrap_or_else(|| "AUTO".to_owned());
    let on = set == "ON";
    let found = |kind, word: Option<&str>, reason| {
        Some(Finding {
            kind,
            option: word.map(|word| Setting::new("HUGEPAGES", [Some(word.to_owned())])),
            now: format!("HUGEPAGES({set})"),
            evidence: vec![
                Evidence::counter(Key::HeapUsedPeak, used),
                Evidence { key: "steps.minor_faults", figure: faults },
            ],
            reason,
            risky: false,
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
    let all: u128 = case
        .report
        .processes
        .iter()
        .map(|process| {
            u128::from(process.counters.get(Key::HeapUsedPeak)) * u128::from(process.processes.max(1))
        })
        .sum();
    if u128::from(used) * u128::from(case.program.processes.max(1)) * 2 < all {
        return None;
    }
    // Each process of the program touched its own pages.
    let faulted = u128::from(faults) * u128::from(case.report.host.page_bytes)
        / u128::from(case.program.processes.max(1));
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
    use crate::rules::advise;
    use underbar_report::sample;

    fn check(option: &str, used: u64, faults: u64, others: u64) -> Option<(Kind, String)> {
        let mut report = sample::report(vec![
            sample::heap("/bin/x", used, 4, used, (0, 0)),
            sample::heap("/bin/other", others, 4, others, (0, 0)),
        ]);
        sample::in_force(&mut report, option);
        if let Some(steps) = &mut report.steps {
            steps.minor_faults = faults;
        }
        let all = advise(&report);
        all.into_iter().find(|s| s.rule == "hugepages" && s.program == "x").map(|s| (s.kind, s.suggested))
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
        assert_eq!(check("", 64 << 20, 100_000, 65 << 20), None);
        assert_eq!(
            check("HEAP(1M,1M,,FREE)", 64 << 20, 100_000, 0),
            None,
            "what is freed is not worth huge pages"
        );
    }
}
