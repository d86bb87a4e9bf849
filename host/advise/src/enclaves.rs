//! The rule about programs that are LINKed: each LINK makes an enclave, with a heap of its own.
//!
//! Not here: options. None of them makes a LINK a CALL; that is a change of the program.

use underbar_ledger::Key;
use underbar_report::heap::{Heap, Kind as HeapKind};
use underbar_report::units::{bytes, counted, size};

use crate::advice::{Advice, Evidence, Kind};
use crate::case::Case;

/// Fewer LINKs cost less than a millisecond in all.
const MANY: u64 = 100;

/// Rule `enclaves`.
pub fn links(case: &Case<'_>) -> Option<Advice> {
    let processes = case.report.processes.iter().filter(|process| process.name() == case.program.name);
    let enclaves = || processes.clone().flat_map(|process| &process.heaps).filter(is_enclave);
    let most = enclaves().max_by_key(|heap| heap.created)?;
    let links = enclaves().map(|heap| heap.created).fold(0, u64::saturating_add);
    let figure = |key| enclaves().filter_map(move |heap| heap.counters.known(key));
    let initial = figure(Key::HeapInitialSize).max().unwrap_or(0);
    let used = figure(Key::HeapUsedPeak).max().unwrap_or(0);
    let segments = figure(Key::HeapSegmentsAllocated).fold(0, u64::saturating_add);
    let found = |kind, reason| {
        Some(Advice {
            kind,
            now: case.heap_now(),
            evidence: vec![
                Evidence::counter(Key::HeapSegmentsAllocated, segments),
                Evidence::counter(Key::HeapInitialSize, initial),
                Evidence::counter(Key::HeapUsedPeak, used),
            ],
            reason,
            ..Advice::default()
        })
    };
    if case.heap.initial.value > 0 && initial >= 4 * used.max(4096) {
        let reason = format!(
            "{}: each takes the initial size of {}, and used at most {}. A smaller initial size, or CALL, leaves more to the others.",
            counted(links, "enclave", "enclaves"),
            size(initial),
            bytes(used)
        );
        return found(Kind::Lower, reason);
    }
    if links < MANY {
        return None;
    }
    let name = &most.name;
    let reason = format!(
        "{}, {} of them of {name}: each makes an enclave, which gets its heap from the kernel and returns it. CALL runs a \
         program in its caller's.",
        counted(links, "LINK", "LINKs"),
        underbar_report::units::count(most.created)
    );
    found(Kind::Change, reason)
}

fn is_enclave(heap: &&Heap) -> bool {
    heap.kind == HeapKind::Enclave
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounts::advise;
    use underbar_report::sample;

    /// A program whose enclaves were so many, with an initial size, and the most that one of them used.
    fn check(created: u64, set: u64, initial: u64, used: u64) -> Option<(Kind, String)> {
        let mut process = sample::heap("/bin/server", 40 << 20, 4, 64 << 20, (set, set));
        let heap = serde_json::json!({
            "kind": "enclave", "name": "job", "ended": true, "created": created,
            "counters": {"heap": {"segments_allocated": created, "initial_size": initial, "used_peak": used}}
        });
        process.heaps.push(serde_json::from_value(heap).expect("a heap"));
        let report = sample::report(vec![process]);
        let found = advise(&report).into_iter().find(|advice| advice.rule == "enclaves")?;
        assert_eq!((found.option, found.acts), (None, false));
        Some((found.kind, found.reason))
    }

    #[test]
    fn many_links_are_named() {
        let (kind, reason) = check(10_000, 0, 24 << 10, 3_328).expect("advice");
        assert_eq!(kind, Kind::Change);
        assert!(reason.starts_with("10,000 LINKs, 10,000 of them of job: "), "{reason}");
    }

    #[test]
    fn an_initial_size_that_each_enclave_takes_is_lowered() {
        let (kind, reason) = check(10, 64 << 20, 64 << 20, 3_328).expect("advice");
        assert_eq!(kind, Kind::Lower);
        assert!(
            reason.starts_with("10 enclaves: each takes the initial size of 64M, and used at most 3.25 KiB"),
            "{reason}"
        );
    }

    #[test]
    fn few_links_and_enclaves_that_use_what_they_take_are_no_advice() {
        assert_eq!(check(99, 0, 24 << 10, 3_328), None);
        assert_eq!(check(10, 1 << 20, 1 << 20, 900 << 10), None);
    }
}
