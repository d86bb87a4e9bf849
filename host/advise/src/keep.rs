//! The rule about KEEP and FREE: whether an empty increment is kept or released.

use underbar_report::units::{bytes, count};

use crate::advice::{Advice, Evidence, Kind, Setting};
use crate::case::Case;
use crate::heap::WORTH_FREEING;

/// With fewer segments there is no pattern.
pub(crate) const PATTERN: u64 = 16;

/// Rule `heap-keep-free`.
pub fn free(case: &Case<'_>) -> Option<Advice> {
    let heap = &case.heap;
    let (segments, freed) = (heap.segments.value, heap.freed.value);
    let (asked, peak) = (heap.asked.value, heap.held.value);
    let disposition = case.disposition();
    let found = |kind, word: Option<&str>, reason| {
        Some(Advice {
            kind,
            option: word.map(|word| Setting::new("HEAP", [None, None, None, Some(word.to_owned())])),
            now: case.heap_now(),
            evidence: Evidence::all([&heap.segments, &heap.freed, &heap.asked, &heap.held, &heap.used_last]),
            reason,
            ..Advice::default()
        })
    };
    if disposition == "KEEP" {
        if peak < WORTH_FREEING {
            return None;
        }
        if case.idle() {
            let used = bytes(heap.used_last.value);
            return found(
                Kind::Lower,
                Some("FREE"),
                format!("{} are kept, of which {used} are in use.", bytes(peak)),
            );
        }
        return found(Kind::NoChange, None, "what is kept is used, or was freed only at the end.".to_owned());
    }
    if segments < PATTERN {
        return None;
    }
    let mostly_freed = heap.is_mostly_freed();
    let asked_again = u128::from(asked) * 4 >= u128::from(peak) * 5;
    if mostly_freed && asked_again {
        let reason = format!(
            "{} of {} segments freed; {} asked of the kernel to hold {}.",
            count(freed),
            count(segments),
            bytes(asked),
            bytes(peak)
        );
        return found(Kind::Raise, Some("KEEP"), reason);
    }
    let reason =
        if mostly_freed { "segments were freed once, at the end." } else { "few segments were freed." };
    found(Kind::NoChange, None, reason.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounts::advise;
    use crate::advice::Advice;
    use crate::heap::SECOND;
    use underbar_ledger::Key;
    use underbar_report::sample::{self, heap, report, server};
    use underbar_report::{Process, State};

    fn check_under(process: Process, disposition: &str) -> Option<Advice> {
        let mut report = report(vec![process]);
        sample::in_force(&mut report, &format!("HEAP(0,0,ANYWHERE,{disposition},8192,4096)"));
        advise(&report).into_iter().find(|suggestion| suggestion.rule == "heap-keep-free")
    }

    fn thrash(segments: u64, freed: u64, asked: u64, peak: u64) -> Process {
        let mut process = heap("/bin/keepfree", peak / 10 * 9, segments, peak, (32 << 10, 32 << 10));
        process.counters.set(Key::HeapSegmentsFreed, freed);
        process.counters.set(Key::HeapSegmentBytesTotal, asked);
        process
    }

    #[test]
    fn segments_that_come_and_go_are_kept() {
        let process = thrash(39_122, 39_120, 39_122 << 15, 27_952 << 15);
        for disposition in ["FREE", "AUTO"] {
            let suggestion = check_under(process.clone(), disposition).expect("fires");
            assert_eq!((suggestion.kind, suggestion.then().as_str()), (Kind::Raise, "HEAP(,,,KEEP)"));
        }
        let kept = check_under(process, "KEEP").expect("speaks");
        assert_eq!(kept.kind, Kind::NoChange);
    }

    #[test]
    fn segments_freed_once_at_the_end_are_no_thrash() {
        for (freed, asked) in [(1_000, 1_000 << 15), (10, 2_000 << 15)] {
            let process = thrash(1_000, freed, asked, 1_000 << 15);
            let suggestion = check_under(process, "FREE").expect("speaks");
            assert_eq!(suggestion.kind, Kind::NoChange, "{freed} {asked}");
        }
        assert!(check_under(thrash(15, 15, 30 << 15, 1 << 15), "FREE").is_none());
    }

    fn lasting(mut process: Process, seconds: u64, disposition: &str) -> Option<Advice> {
        if process.ended_ns.is_some() {
            process.ended_ns = Some(seconds * SECOND);
        }
        let mut report = report(vec![process]);
        if let Some(steps) = &mut report.steps {
            steps.elapsed_ns = seconds * SECOND;
        }
        sample::in_force(&mut report, &format!("HEAP(1048576,67108864,ANYWHERE,{disposition})"));
        advise(&report).into_iter().find(|suggestion| suggestion.rule == "heap-keep-free")
    }

    #[test]
    fn idle_storage_is_given_back() {
        let suggestion = lasting(server(), 3_600, "KEEP").expect("fires");
        assert_eq!((suggestion.kind, suggestion.then().as_str()), (Kind::Lower, "HEAP(,,,FREE)"));
        assert!(lasting(server(), 3_600, "FREE").is_none(), "free already");
        assert_eq!(lasting(server(), 5, "KEEP").map(|s| s.kind), Some(Kind::NoChange), "not for long");

        let mut batch = server();
        (batch.state, batch.ended_ns) = (State::Ended, Some(0));
        assert_eq!(lasting(batch.clone(), 30, "KEEP").map(|s| s.kind), Some(Kind::NoChange));
        assert_eq!(lasting(batch, 90, "KEEP").map(|s| s.kind), Some(Kind::Lower));

        let mut purged = server();
        purged.counters.set(Key::HeapPurgedBytes, 900 << 20);
        assert_eq!(lasting(purged, 3_600, "KEEP").map(|s| s.kind), Some(Kind::NoChange));
        let mut busy = server();
        busy.counters.set(Key::HeapUsed, 600 << 20);
        assert_eq!(lasting(busy, 3_600, "KEEP").map(|s| s.kind), Some(Kind::NoChange));
    }
}
