//! The rule about requests that are too large for the sizes that serve them. It reads the model, so it applies to a live run
//! and to a listing.

use underbar_model::{Certainty, Supply};
use underbar_report::units::{bytes, count};

use crate::advice::{Advice, Evidence, Kind};

/// With fewer requests there is no advice.
const FEW: u64 = 100;
/// Up to this many requests that are too large have no measurable cost.
const FEW_BEYOND: u64 = 8;
/// One request in this many may be too large.
const RARE: u64 = 1_000;

/// Rule `large-requests`.
pub fn large(supply: &Supply) -> Option<Advice> {
    let Supply { requests, serves, beyond, largest } = supply;
    let (all, size) = (requests.all.at_most()?, serves.at_most()?);
    // Storage of its own is also got for other reasons. Requests that the rows hold are not among those that are too large.
    let possible = requests.larger_than(size).most.unwrap_or(u64::MAX);
    let (count_beyond, needed) = (beyond.at_least()?.min(possible), largest.at_least()?);
    if all < FEW || count_beyond <= FEW_BEYOND || count_beyond.saturating_mul(RARE) <= all || needed <= size {
        return None;
    }
    let row = requests.rows_above(size).max_by_key(|row| row.count.value).map(|row| &row.count);
    let mut evidence: Vec<Evidence> = Vec::new();
    for one in [&requests.all, serves, beyond, largest].into_iter().chain(row).filter_map(Evidence::of) {
        if !evidence.contains(&one) {
            evidence.push(one);
        }
    }
    let up_to = if requests.all.certainty == Certainty::AtMost { "at most " } else { "" };
    let reason = format!(
        "{} of {up_to}{} requests were larger than {}, the largest size that serves them; the largest was {}.",
        count(count_beyond),
        count(all),
        bytes(size),
        bytes(needed)
    );
    Some(Advice { kind: Kind::Raise, evidence, reason, ..Advice::default() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounts::advise;
    use crate::advise_listing;
    use crate::listing::Collected;
    use underbar_ledger::Key;
    use underbar_report::sample;

    const SMALL: u64 = 64 << 10;
    const LARGE: u64 = 1 << 20;

    /// A run under HEAP(4M,64K) with this many requests, and this many of more than 64K.
    fn run(requests: u64, beyond: u64, increment: u64) -> Vec<Advice> {
        let mut process = sample::heap("/bin/x", 3_900_000, 1 + beyond, 5 << 20, (4 << 20, increment));
        let counters = [
            (Key::HeapGets, requests),
            (Key::HeapOversizeSegments, beyond),
            (Key::HeapLargestRequest, LARGE),
        ];
        for (key, figure) in counters {
            process.counters.set(key, figure);
        }
        advise(&sample::report(vec![process]))
    }

    /// A request size report of the same figures: the largest list is of 64K.
    fn listing(requests: u64, beyond: u64) -> Vec<Advice> {
        let row = |limit: u64, count: u64| {
            let percent = (count * 20_000 / requests).div_ceil(2);
            format!("{limit:>12} {count:>12} {:>9}.{:02}%\n", percent / 100, percent % 100)
        };
        let text = format!(
            "TPF ECB HEAP REQUEST SIZE REPORT                                                 SYSTEM  WIDE\n\
             CURRENT BUFFER SIZES IN BYTES: AVL1 64 , AVL2 128 , AVL3 256 , AVL4 {SMALL}\n   CLASS UPPER   FREQUENCY   PERCENT\n      \
             LIMIT      OBSERVED    OF TOTAL\n{}{}{}",
            row(64, requests / 2),
            row(SMALL, requests - requests / 2 - beyond),
            row(LARGE, beyond)
        );
        let mut collected = Collected::default();
        collected.file("reduction.txt");
        underbar_listing::read(text.as_bytes()).into_iter().for_each(|item| collected.take(item));
        advise_listing(&collected)
    }

    fn said(all: Vec<Advice>) -> Option<Advice> {
        all.into_iter().find(|one| one.rule == "large-requests")
    }

    #[test]
    fn the_same_figures_fire_for_a_run_and_for_a_request_size_report() {
        let words =
            "requests were larger than 64 KiB, the largest size that serves them; the largest was 1 MiB.";
        let of_run = said(run(20_000, 40, SMALL)).expect("of a run");
        let of_listing = said(listing(20_000, 40)).expect("of a listing");
        for one in [&of_run, &of_listing] {
            assert!(
                one.kind == Kind::Raise && one.reason.starts_with("40 of ") && one.reason.contains(words),
                "{one:#?}"
            );
        }
        assert_eq!(of_run.suggested().as_deref(), Some("HEAP(,1152K)"));
        assert!(of_run.evidence.contains(&Evidence::counter(Key::HeapOversizeSegments, 40)));
        let lines: Vec<u64> = of_listing.evidence.iter().filter_map(|at| Some(at.line()?.line)).collect();
        assert_eq!((of_listing.suggested(), lines), (None, vec![1, 2, 7]));
        assert!(of_listing.reason.contains("tpf-avl-size"));
    }

    /// Some of the segments were not made for requests that are larger: the requests by size say how many.
    #[test]
    fn requests_by_size_limit_the_count() {
        let with_sizes = |larger| {
            let mut process = sample::heap("/bin/x", 3_900_000, 61, 5 << 20, (4 << 20, SMALL));
            let counters =
                [(Key::HeapGets, 20_000), (Key::HeapOversizeSegments, 60), (Key::HeapLargestRequest, LARGE)];
            for (key, figure) in counters {
                process.counters.set(key, figure);
            }
            process.sizes = Some(sample::sizes(&[(64, 20_000 - larger), (LARGE, larger)]));
            said(advise(&sample::report(vec![process])))
        };
        let found = with_sizes(40).expect("advice");
        assert!(found.reason.starts_with("40 of 20,000 requests were larger"), "{found:#?}");
        assert!(found.evidence.iter().any(|one| one.to_string() == "sizes.up_to_1048576 40"), "{found:#?}");
        assert!(with_sizes(100).is_some_and(|found| found.reason.starts_with("60 of 20,000 ")));
        assert_eq!(with_sizes(20), None);
    }

    #[test]
    fn few_large_requests_fire_for_neither() {
        for (requests, beyond) in [(99, 40), (20_000, 8), (20_000, 20)] {
            let both = [run(requests, beyond, SMALL), listing(requests, beyond)];
            assert_eq!(both.map(said), [None, None], "{beyond} of {requests}");
        }
    }

    #[test]
    fn what_was_followed_is_no_more_advised_and_not_taken_back() {
        let all = run(20_000, 0, 1152 << 10);
        assert!(all.iter().all(|one| one.option.is_none()), "{all:#?}");
        // The sizes of a heap with little use are lowered, but not below the needs of its requests.
        let mut process = sample::heap("/bin/x", 1_200_000, 1, 4 << 20, (4 << 20, 2 << 20));
        process.counters.set(Key::HeapLargestRequest, LARGE);
        let all = advise(&sample::report(vec![process]));
        let lower = all.iter().find(|one| one.rule == "heap-size").expect("speaks");
        assert_eq!(lower.suggested().as_deref(), Some("HEAP(1408K,1152K)"));
    }

    #[test]
    fn sizes_that_are_advised_are_enough() {
        let mut process = sample::heap("/bin/x", 30 << 20, 400, 40 << 20, (64 << 10, SMALL));
        for (key, figure) in
            [(Key::HeapGets, 20_000), (Key::HeapOversizeSegments, 40), (Key::HeapLargestRequest, LARGE)]
        {
            process.counters.set(key, figure);
        }
        let all = advise(&sample::report(vec![process]));
        assert!(all.iter().any(|one| one.rule == "heap-size" && one.option.is_some()));
        assert_eq!(said(all), None);
    }
}
