//! Rules about the heap: coverage and sizes. KEEP and FREE are in [`crate::keep`].

use underbar_ledger::Key;
use underbar_model::Supply;
use underbar_report::Role;
use underbar_report::memory::mostly_elsewhere;
use underbar_report::supply::EXTENT;
use underbar_report::units::{bytes, counted, share, size as size_text};

use crate::advice::{Advice, Evidence, Kind, Setting};
use crate::case::Case;
use crate::sizes::{is_well_used, sensible};

/// Up to this many segments have no measurable cost: the documents' tuned run had 8.
pub(crate) const FEW_SEGMENTS: u64 = 8;
/// AUTO grows its increments, so more than this many means that it started far too small.
const FEW_UNDER_AUTO: u64 = 64;
/// The largest increment suggested: enough that few are needed, little enough to waste.
const LARGEST_INCREMENT: u64 = 64 << 20;
/// Kept storage below this is not worth a suggestion.
pub(crate) const WORTH_FREEING: u64 = 64 << 20;
/// A second, in nanoseconds.
pub(crate) const SECOND: u64 = 1_000_000_000;

impl Case<'_> {
    /// True if the process ran for a long time and in the end used a quarter of its peak or less. A
    /// program that ended has usually freed everything just then, so it must have run longer for
    /// its last figures to mean anything.
    fn peak_was_rare(&self) -> bool {
        let peak = self.heap.held.value;
        let long = if self.program.unfinished { 10 * SECOND } else { 60 * SECOND };
        peak >= WORTH_FREEING && self.program.longest_ns >= long && self.heap.used_last.value <= peak / 4
    }

    /// True if, in addition, the storage of the peak is still held.
    pub(crate) fn idle(&self) -> bool {
        let peak = self.heap.held.value;
        self.peak_was_rare() && self.heap.held_last.value >= peak / 4 * 3 && self.heap.purged.value < peak / 2
    }

    /// An initial size for the storage that is in use after the peak.
    fn usual(&self) -> u64 {
        need(self.heap.used_last.value.max(4096), u64::MAX)
    }
}

/// Rule `coverage`.
pub fn coverage(case: &Case<'_>) -> Option<Advice> {
    if let Some(allocator) = case.program.served_by() {
        let reason = if allocator.role == Role::Serves {
            format!("malloc is served by {}, which is loaded before underbar.", allocator.name)
        } else {
            format!("{} is inside the program, and what calls it does not reach this heap.", allocator.name)
        };
        return Some(Advice {
            kind: Kind::NoAdvice,
            now: case.heap_now(),
            evidence: vec![Evidence::counter(Key::HeapGets, case.get(Key::HeapGets))],
            reason,
            ..Advice::default()
        });
    }
    if !mostly_elsewhere(case.program) {
        return None;
    }
    let (anonymous, heap) = (case.get(Key::CoverageAnonymous), case.get(Key::CoverageHeap));
    let owner = case.program.owners.first().filter(|owner| owner.bytes > 0);
    let owner =
        owner.map_or(String::new(), |owner| format!("; {} belong to {}", bytes(owner.bytes), owner.name));
    Some(Advice {
        kind: Kind::NoAdvice,
        now: case.heap_now(),
        evidence: vec![
            Evidence::counter(Key::CoverageAnonymous, anonymous),
            Evidence::counter(Key::CoverageHeap, heap),
        ],
        reason: format!("only {} of {} is in this heap{owner}.", share(heap, anonymous), bytes(anonymous)),
        ..Advice::default()
    })
}

/// The size that would have held everything: the use and an eighth of it for packing, but no more than
/// all segments together, which did hold it.
fn need(used: u64, held: u64) -> u64 {
    let with_margin = used.saturating_add(used / 8);
    sensible(if held >= used { held.min(with_margin) } else { with_margin })
}

/// A quarter of the initial size, in whole pages.
fn growth(initial: u64) -> u64 {
    (initial / 4 / 4096 * 4096).clamp(4096, LARGEST_INCREMENT)
}

/// An increment that holds the largest request and the segment's own needs. 0 if the request is no larger than an extent of
/// cells, or if such an increment would be too large.
fn holding(largest: u64) -> u64 {
    let fits = largest > EXTENT && largest < LARGEST_INCREMENT;
    if fits { sensible(largest + 4096) } else { 0 }
}

/// The advice of a rule about requests on the heap of a program.
pub(crate) fn supplied(case: &Case<'_>, rule: fn(&Supply) -> Option<Advice>) -> Option<Advice> {
    let supply = case.supply.as_ref()?;
    let increment = holding(supply.largest.value);
    let found = rule(supply).filter(|_| increment > 0)?;
    let option = Setting::new("HEAP", [None, Some(size_text(increment)), None, None]);
    Some(Advice { option: Some(option), now: case.heap_now(), ..found })
}

/// An increment with which `FEW_SEGMENTS` segments reach the peak.
fn step_to(peak: u64) -> u64 {
    sensible(peak / FEW_SEGMENTS)
}

/// Rule `heap-size`.
pub fn size(case: &Case<'_>) -> Option<Advice> {
    let heap = &case.heap;
    let used = heap.used.value;
    if used == 0 {
        return None;
    }
    let (initial, increment) = (heap.initial.value, heap.increment.value);
    let (segments, held) = (heap.segments.value, heap.held.value);
    let automatic = initial == 0 && increment == 0;
    // An initial size of 0 means that the first segment comes on first use, sized by the increment.
    let first = if initial == 0 { increment } else { initial };
    let evidence = Evidence::all([&heap.used, &heap.segments, &heap.held, &heap.initial, &heap.increment]);
    let found = |kind, sizes: Option<(u64, u64)>, reason| {
        let option = sizes.map(|(initial, increment)| {
            let increment = (increment > 0).then(|| size_text(increment));
            Setting::new("HEAP", [Some(size_text(initial)), increment, None, None])
        });
        Some(Advice {
            kind,
            option,
            now: case.heap_now(),
            evidence: evidence.clone(),
            reason,
            ..Advice::default()
        })
    };

    let many = if automatic { FEW_UNDER_AUTO } else { FEW_SEGMENTS };
    if segments > many && used > first {
        let (sizes, why) = raised(case, used, held, first);
        // A limit may leave no room for a raise.
        if sizes.0 > initial || sizes.1 > increment {
            let reason = format!(
                "{}, a kernel call each, to hold {}{why}.",
                counted(segments, "segment", "segments"),
                bytes(used)
            );
            return found(Kind::Raise, Some(sizes), reason);
        }
        let reason = "larger sizes would not fit into memory, or would be held for a rare peak.".to_owned();
        return found(Kind::NoChange, None, reason);
    }
    if automatic {
        let reason = format!("AUTO needed {}.", counted(segments, "segment", "segments"));
        return found(Kind::NoChange, None, reason);
    }
    let usual = case.usual();
    if case.idle() && usual < first / 2 {
        let used_now = bytes(heap.used_last.value);
        let reason =
            format!("{used_now} of {} are in use; the initial size is never given back.", bytes(held));
        return found(Kind::Lower, Some((usual, step_to(need(used, held)))), reason);
    }
    let taken = held.max(first);
    let share = share(used, taken);
    let lower = need(used, u64::MAX);
    let largest = case.supply.as_ref().map_or(0, |supply| supply.largest.value);
    let holds = growth(lower).max(holding(largest));
    if !is_well_used(used, taken) && (lower < first || holds < increment) {
        // AUTO is unchanged; advice to lower the initial size never raises a set increment.
        let smaller = if increment == 0 { 0 } else { holds.min(increment) };
        let sizes = (lower.min(first), smaller);
        let reason = format!("only {} of {} were used ({share}).", bytes(used), bytes(taken));
        return found(Kind::Lower, Some(sizes), reason);
    }
    let reason = format!("{} held it, {share} used.", counted(segments.max(1), "segment", "segments"));
    found(Kind::NoChange, None, reason)
}

/// Sizes for a heap that had too many segments, and words to add to the reason.
fn raised(case: &Case<'_>, used: u64, held: u64, first: u64) -> ((u64, u64), &'static str) {
    let whole = need(used, held);
    let half_of_memory = case.report.host.memory_limit_bytes.map_or(u64::MAX, |limit| limit / 2);
    let step = step_to(whole);
    if case.peak_was_rare() {
        return ((case.usual().max(first), step), "; a rare peak, so the increment is raised");
    }
    if whole > half_of_memory {
        let step = step.min(half_of_memory / 4096 * 4096);
        return ((first.max(4096), step), "; memory is short, so the increment is raised");
    }
    ((whole, growth(whole)), "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounts::advise;
    use crate::advice::Advice;
    use crate::rule::Area;
    use underbar_report::Process;
    use underbar_report::sample::{self, heap, report, server};

    fn check(process: Process, rule: &str) -> Option<Advice> {
        advise(&report(vec![process])).into_iter().find(|suggestion| suggestion.rule == rule)
    }

    fn size_of(process: Process) -> (Kind, String) {
        let suggestion = check(process, "heap-size").expect("the rule speaks");
        (suggestion.kind, suggestion.then())
    }

    #[test]
    fn the_documents_experiment_is_raised() {
        let process = heap("/bin/getfree", 819_229_056, 27_949, 915_832_832, (32 << 10, 32 << 10));
        let suggestion = check(process, "heap-size").expect("fires");
        assert_eq!((suggestion.kind, suggestion.then().as_str()), (Kind::Raise, "HEAP(896M,64M)"));
        assert_eq!(
            suggestion.to_string(),
            "\
HEAP(896M,64M): raise, for getfree (heap-size)
  reason     27,949 segments, a kernel call each, to hold 781 MiB.
  now        HEAP(32K,32K,,AUTO)
  suggested  HEAP(896M,64M)
  evidence   heap.used_peak 781 MiB, heap.segments_allocated 27,949, heap.segment_bytes_peak 873 MiB, heap.initial_size 32 KiB, heap.increment_size 32 KiB
  stop rule  8 segments or fewer and 62 % or more of them used; under AUTO, 64 segments or fewer: no change.
  risk       One run's peak may not be the largest. Address space of the initial size is taken at once; memory is taken only where it is touched. The initial segment is kept to the end, also under FREE.
"
        );
    }

    #[test]
    fn the_documents_tuned_run_needs_no_change() {
        let process = heap("/bin/getfree", 818_334_944, 8, 838_860_800, (100 << 20, 100 << 20));
        assert_eq!(size_of(process).0, Kind::NoChange);
    }

    #[test]
    fn the_documents_simple_program_is_lowered() {
        let process = heap("/bin/simple", 3_328, 1, 32 << 10, (32 << 10, 32 << 10));
        assert_eq!(size_of(process), (Kind::Lower, "HEAP(4K,4K)".to_owned()));
        let process = heap("/bin/simple", 3_328, 1, 4096, (4096, 4096));
        assert_eq!(size_of(process).0, Kind::NoChange);
        let grows_by_itself = heap("/bin/x", 3_328, 1, 1 << 20, (1 << 20, 0));
        assert_eq!(size_of(grows_by_itself), (Kind::Lower, "HEAP(4K)".to_owned()));
        let unused_increment = heap("/bin/x", 40 << 10, 2, (1 << 30) + (32 << 10), (32 << 10, 1 << 30));
        assert_eq!(size_of(unused_increment), (Kind::Lower, "HEAP(32K,12K)".to_owned()));
    }

    #[test]
    fn sixty_two_percent_is_the_border() {
        let mib = 1 << 20;
        assert_eq!(size_of(heap("/bin/x", 62 * mib, 1, 100 * mib, (100 * mib, mib))).0, Kind::NoChange);
        assert_eq!(
            size_of(heap("/bin/x", 61 * mib, 1, 100 * mib, (100 * mib, mib))),
            (Kind::Lower, "HEAP(72M,1M)".to_owned())
        );
    }

    #[test]
    fn auto_is_left_alone_while_it_needs_few_segments() {
        assert_eq!(size_of(heap("/bin/x", 800 << 20, 64, 900 << 20, (0, 0))).0, Kind::NoChange);
        assert_eq!(
            size_of(heap("/bin/x", 800 << 20, 65, 880 << 20, (0, 0))),
            (Kind::Raise, "HEAP(896M,64M)".to_owned())
        );
        assert!(check(heap("/bin/x", 0, 1, 1, (0, 0)), "heap-size").is_none());
    }

    #[test]
    fn what_was_followed_is_not_suggested_again() {
        for (used, packing) in
            (12..36).flat_map(|shift| [(1_u64 << shift) + 777, 3 << (shift - 1)].map(|u| (u, u / 9)))
        {
            let segments = used / 4096 + 10;
            let before = heap("/bin/x", used, segments, used + packing, (4096, 4096));
            let Some(option) = check(before, "heap-size").and_then(|suggestion| suggestion.option) else {
                continue;
            };
            let sizes: Vec<u64> = option
                .sub_options
                .iter()
                .flatten()
                .filter_map(|text| underbar_report::units::parse_size(text))
                .collect();
            let (initial, increment) = (sizes[0], sizes[1]);
            // The new run may need one increment more than foreseen.
            for extra in [0, 1] {
                let held = initial + extra * increment;
                let after = heap("/bin/x", used, 1 + extra, held, (initial, increment));
                let again = check(after, "heap-size").expect("the rule speaks");
                assert_eq!(again.kind, Kind::NoChange, "{used}: {option}, then {}", again.then());
            }
        }
    }

    #[test]
    fn a_small_memory_raises_the_increment_instead() {
        let process = heap("/bin/x", 800 << 20, 6_400, 820 << 20, (128 << 10, 128 << 10));
        let mut small = report(vec![process]);
        small.host.memory_limit_bytes = Some(1 << 30);
        let suggestions = advise(&small);
        let suggestion = suggestions.iter().find(|s| s.rule == "heap-size").expect("fires");
        assert_eq!(suggestion.then(), "HEAP(128K,104M)");
        assert!(suggestion.reason.contains("memory is short"));
        small.host.memory_limit_bytes = Some(100 << 10);
        let suggestions = advise(&small);
        let suggestion = suggestions.iter().find(|s| s.rule == "heap-size").expect("speaks");
        assert_eq!((suggestion.kind, &suggestion.option), (Kind::NoChange, &None));
    }

    #[test]
    fn little_coverage_means_no_heap_advice_at_all() {
        let mut process = heap("/bin/java", 819_229_056, 27_949, 915_832_832, (32 << 10, 32 << 10));
        process.counters.set(Key::CoverageAnonymous, 1000 << 20);
        process.counters.set(Key::CoverageHeap, 499 << 20);
        process.owners.push(underbar_report::model::Owner {
            name: "libjvm.so".to_owned(),
            bytes: 400 << 20,
            peak_bytes: 400 << 20,
        });
        let said = advise(&report(vec![process.clone()]));
        let about_heap: Vec<_> =
            said.iter().filter(|s| s.area == Some(Area::Heap)).map(|s| (s.rule, s.kind)).collect();
        assert_eq!(about_heap, [("coverage", Kind::NoAdvice)]);
        assert_eq!(said[0].reason, "only 49 % of 1000 MiB is in this heap; 400 MiB belong to libjvm.so.");
        process.counters.set(Key::CoverageHeap, 500 << 20);
        assert!(check(process.clone(), "coverage").is_none());
        assert!(check(process, "heap-size").is_some());
    }

    #[test]
    fn a_rare_peak_raises_the_increment() {
        let mut process = server();
        process.counters.set(Key::HeapSegmentsAllocated, 200);
        let mut report = report(vec![process]);
        if let Some(steps) = &mut report.steps {
            steps.elapsed_ns = 3_600 * SECOND;
        }
        sample::in_force(&mut report, "HEAP(1M,5M,ANYWHERE,KEEP)");
        let suggestions = advise(&report);
        let sizes = suggestions.iter().find(|s| s.rule == "heap-size").expect("fires");
        assert_eq!(sizes.then(), "HEAP(24M,128M)");
        assert!(sizes.reason.contains("a rare peak"), "{}", sizes.reason);

        // The advice is followed, with FREE: the storage of each peak comes and goes, which is right.
        let followed = &mut report.processes[0].counters;
        followed.set(Key::HeapInitialSize, 24 << 20);
        followed.set(Key::HeapIncrementSize, 128 << 20);
        followed.set(Key::HeapSegmentsFreed, 199);
        followed.set(Key::HeapSegmentBytes, 24 << 20);
        sample::in_force(&mut report, "HEAP(24M,128M,ANYWHERE,FREE)");
        let again = advise(&report).into_iter().find(|s| s.rule == "heap-size").expect("speaks");
        assert_eq!(again.kind, Kind::NoChange, "{again}");
    }

    #[test]
    fn an_initial_size_held_for_a_rare_peak_is_lowered() {
        let mut process = server();
        process.counters.set(Key::HeapSegmentsAllocated, 1);
        process.counters.set(Key::HeapInitialSize, 1 << 30);
        let mut report = report(vec![process]);
        if let Some(steps) = &mut report.steps {
            steps.elapsed_ns = 3_600 * SECOND;
        }
        sample::in_force(&mut report, "HEAP(1G,64M,ANYWHERE,KEEP)");
        let text = crate::lines::to_set(&advise(&report), false)[0].text();
        assert_eq!(text, "HEAP(24M,128M,,FREE)");
    }
}
