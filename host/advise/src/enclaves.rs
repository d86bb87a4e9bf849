//! The rule about programs that are LINKed: each LINK makes an enclave, with a heap of its own.
//!
//! Not here: options. None of them makes a LINK a CALL; that is a change of the program.

use underbar_report::units::{bytes, count, counted, size};

use crate::advice::{Advice, Evidence, Kind};
use crate::case::Case;

/// Fewer LINKs cost less than a millisecond in all.
const MANY: u64 = 100;

/// Rule `enclaves`.
pub fn links(case: &Case<'_>) -> Option<Advice> {
    let most = case.enclaves.iter().max_by_key(|one| one.created.value)?;
    let (first, others) = case.enclaves.split_first()?;
    let mut all = first.clone();
    others.iter().for_each(|other| all.add(other));
    let (links, initial, used) = (all.created.value, all.heap.initial.value, all.heap.used.value);
    let found = |kind, reason| {
        let heap = &all.heap;
        Some(Advice {
            kind,
            now: case.heap_now(),
            evidence: Evidence::all([&heap.segments, &heap.initial, &heap.used]),
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
        count(most.created.value)
    );
    found(Kind::Change, reason)
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
