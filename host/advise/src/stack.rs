//! Rules about stacks. All stacks are measured; stack sizes of threads are lowered only on request.

use underbar_ledger::Key;
use underbar_report::units::{bytes, count, counted, share, size};

use crate::advice::{Advice, Evidence, Kind, Setting};
use crate::case::Case;
use crate::sizes::{is_well_used, sensible};

/// The smallest default.
const FLOOR: u64 = underbar_options::LEAST_THREAD_STACK;
/// The largest PTHREAD_STACK_MIN (arm64), and an allowance for thread-local storage.
const LEAST_SAFE: u64 = (128 << 10) + (64 << 10);
const _: () = assert!(FLOOR >= LEAST_SAFE);
/// Total size of the stacks of ended threads that glibc keeps for new ones.
const KEPT_BY_GLIBC: u64 = 40 << 20;
/// With this many threads at one time or more, the address space of their stacks matters.
const MANY_THREADS: u64 = 64;

/// With fewer increments that were given back there is no pattern.
const PATTERN: u64 = 16;

/// A fact about the first stack under any option.
const NO_EFFECT: &str = "the kernel makes it, not STACK";

/// Rule `stack`.
pub fn first(case: &Case<'_>) -> Option<Advice> {
    let largest = case.stack.used.value;
    if largest == 0 {
        return None;
    }
    let found = |kind, option, now: String, reason, risky| {
        let evidence = Evidence::all([&case.stack.used]);
        Some(Advice { kind, option, now, evidence, reason, risky, ..Advice::default() })
    };
    let increment = case.stack.increment.certain();
    let Some(initial) = case.stack.initial.certain() else {
        let reason = format!("{} used at most; the kernel grows the first stack by itself.", bytes(largest));
        return found(Kind::NoAdvice, None, "STACK is not set".to_owned(), reason, false);
    };
    let now = format!("STACK({},{})", size(initial), increment.map_or(String::new(), size));
    let share = share(largest, initial);
    let fitting = largest.checked_next_multiple_of(4096).unwrap_or(largest);
    let setting = || Some(Setting::new("STACK", [Some(size(fitting)), Some(size(4096))]));
    if largest > initial {
        let reason = format!("{} used, more than the initial size; {NO_EFFECT}.", bytes(largest));
        found(Kind::Raise, setting(), now, reason, false)
    } else if !is_well_used(largest, initial) && fitting < initial {
        let reason = format!("{} of {} used ({share}); {NO_EFFECT}.", bytes(largest), bytes(initial));
        found(Kind::Lower, setting(), now, reason, true)
    } else {
        found(Kind::NoChange, None, now, format!("{share} of the initial size used."), false)
    }
}

/// Rule `threadstack`.
pub fn threads(case: &Case<'_>) -> Option<Advice> {
    // The kernel makes the first thread's stack, which may be far larger: it is no measure of the others.
    let threads = &case.threads;
    let others = threads.at_once.value.saturating_sub(1);
    if threads.deepest.value == 0 || others == 0 {
        return None;
    }
    let largest = case.thread_stacks.used.value;
    let at_once = threads.of_default_at_once.value.min(others);
    let started = threads.of_default.value;
    if started == 0 {
        let words = counted(others, "thread", "threads");
        return Some(Advice {
            kind: Kind::NoAdvice,
            evidence: Evidence::all([&threads.of_default, &threads.at_once]),
            reason: format!("{words} at once, each with a stack size of its own, which THREADSTACK leaves."),
            ..Advice::default()
        });
    }
    // No depth of them is known: they ended unmeasured, or on pages of the threads before.
    if largest == 0 {
        return None;
    }
    let set = case.thread_stacks.initial.certain();
    let default = threads.default_stack.certain();
    let increment = case.report.thread_increment();
    let now = match (set, increment) {
        // With increments a stack grows up to the default size.
        (_, Some(_)) => default.max(set),
        // A request below the floor is raised to it when a thread begins.
        _ => set.map(|set| set.max(FLOOR)).or(default),
    }?;
    let needed = sensible(largest.saturating_mul(4)).max(FLOOR);
    // Under increments underbar makes the stacks: their first segments are in ANYHEAP, which moves with them.
    let with_place = |to: Option<u64>, reason: String| match (to, increment) {
        (Some(to), Some(_)) => format!(
            "{reason} First segments of {} come out of ANYHEAP: {}.",
            counted(at_once, "thread", "threads"),
            bytes(at_once.saturating_mul(to))
        ),
        _ => reason,
    };
    let found = |kind, to: Option<u64>, reason, risky| {
        let reason = with_place(to, reason);
        let on = || Some("ON".to_owned());
        Some(Advice {
            kind,
            option: to.map(|to| Setting::new("THREADSTACK", [on(), Some(size(to))])),
            now: match (set, increment) {
                (_, Some(increment)) => {
                    format!("THREADSTACK(ON,{},{})", set.map_or(String::new(), size), size(increment))
                }
                (Some(set), _) if set < now => {
                    format!("THREADSTACK(ON,{}), raised to {}", size(set), bytes(now))
                }
                (Some(set), _) => format!("THREADSTACK(ON,{})", size(set)),
                (None, _) => format!("THREADSTACK(OFF), {} by default", bytes(now)),
            },
            evidence: Evidence::all([
                &case.thread_stacks.used,
                &threads.of_default_at_once,
                &threads.of_default,
            ]),
            reason,
            risky,
            ..Advice::default()
        })
    };
    if largest > now / 4 * 3 {
        let reason = format!("{} of {} used ({}).", bytes(largest), bytes(now), share(largest, now));
        return found(Kind::Raise, Some(needed), reason, false);
    }
    let freed = case.get(Key::ThreadStackSegmentsFreed);
    if let (Some(increment), Some(set)) = (increment, set)
        && freed >= PATTERN
        && freed >= started / 2
    {
        let words = counted(freed, "increment", "increments");
        let reason = format!("{words} came and went with {}.", counted(started, "thread", "threads"));
        // A first segment also holds what the C library keeps for the thread: with the increments of a thread it is large enough.
        let grown = set.saturating_add(increment.saturating_mul(freed.div_ceil(started)));
        let fitting = if set < largest { largest } else { grown };
        return found(Kind::Raise, Some(sensible(fitting)), reason, false);
    }
    let come_and_go = started >= at_once.saturating_mul(4) && at_once.saturating_mul(now) > KEPT_BY_GLIBC;
    // With increments, only what is used is storage.
    if increment.is_none() && now / 2 >= needed && (at_once >= MANY_THREADS || come_and_go) {
        let what = if at_once >= MANY_THREADS {
            format!("{} threads at once", count(at_once))
        } else {
            format!("{} threads in turn", count(started))
        };
        let reason = format!("{what} with {} each; at most {} were used.", bytes(now), bytes(largest));
        return found(Kind::Lower, Some(needed), reason, true);
    }
    let reason = format!("{} with {} each cost nothing.", counted(at_once, "thread", "threads"), bytes(now));
    found(Kind::NoChange, None, reason, false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounts::advise;
    use crate::advice::Advice;
    use crate::rule::Area;
    use underbar_report::sample;

    fn check(option: &str, largest: u64, at_once: u64, started: u64, rule: &str) -> Option<Advice> {
        let mut process = sample::heap("/bin/x", 1 << 20, 1, 1 << 20, (0, 0));
        process.counters.set(Key::StackLargest, largest);
        process.counters.set(Key::StackMain, if at_once == 0 { largest } else { 4_096 });
        process.counters.set(Key::StackThread, if at_once == 0 { 0 } else { largest });
        process.counters.set(Key::ThreadsPeak, at_once + 1);
        process.counters.set(Key::ThreadsStarted, started + 1);
        process.counters.set(Key::StackDefaultSize, if at_once == 0 { 0 } else { largest });
        process.counters.set(Key::ThreadsOfDefaultSizePeak, at_once);
        process.counters.set(Key::ThreadsOfDefaultSize, started);
        let mut report = sample::report(vec![process]);
        sample::in_force(&mut report, option);
        advise(&report).into_iter().find(|suggestion| suggestion.rule == rule)
    }

    fn stack(option: &str, largest: u64) -> (Kind, String, bool) {
        let suggestion = check(option, largest, 0, 0, "stack").expect("speaks");
        (suggestion.kind, suggestion.then(), suggestion.risky)
    }

    #[test]
    fn a_stack_that_is_set_follows_its_use() {
        let option = "STACK(131072,131072,ANYWHERE,KEEP,524288,131072)";
        assert_eq!(stack(option, 4_792), (Kind::Lower, "STACK(8K,4K)".to_owned(), true));
        assert_eq!(stack(option, 204_184), (Kind::Raise, "STACK(200K,4K)".to_owned(), false));
        assert_eq!(stack(option, 100_000).0, Kind::NoChange);
        assert_eq!(
            stack("STACK(8K,4K)", 4_792).0,
            Kind::NoChange,
            "what was followed is not suggested again"
        );
        assert_eq!(stack("STACK(200K,4K)", 204_184).0, Kind::NoChange);
    }

    #[test]
    fn a_stack_that_is_not_set_is_measured_only() {
        for option in ["HEAP(1M)", "STACK(AUTO,AUTO)", "STACK(0)"] {
            let suggestion = check(option, 90_000, 0, 0, "stack").expect("speaks");
            assert_eq!((suggestion.kind, suggestion.option), (Kind::NoAdvice, None), "{option}");
        }
        assert!(check("STACK(8K)", 0, 0, 0, "stack").is_none(), "not measured");
    }

    fn threadstack(option: &str, largest: u64, at_once: u64, started: u64) -> Option<(Kind, String, bool)> {
        let suggestion = check(option, largest, at_once, started, "threadstack")?;
        Some((suggestion.kind, suggestion.then(), suggestion.risky))
    }

    #[test]
    fn many_threads_get_smaller_stacks_but_never_too_small() {
        let lower = |to: &str| Some((Kind::Lower, format!("THREADSTACK(ON,{to})"), true));
        assert_eq!(threadstack("", 12_288, 1_000, 1_000), lower("256K"));
        assert_eq!(threadstack("", 100 << 10, 1_000, 1_000), lower("416K"));
        assert_eq!(threadstack("", 12_288, 8, 10_000), lower("256K"), "they come and go");
    }

    #[test]
    fn threads_with_a_size_of_their_own_are_no_reason() {
        let said = |of_default: [(Key, u64); 3], option: &str| {
            let mut process = sample::heap("/bin/x", 1 << 20, 1, 1 << 20, (0, 0));
            let all = [(Key::ThreadsPeak, 201), (Key::ThreadsStarted, 201), (Key::StackThread, 7 << 20)];
            all.into_iter().chain(of_default).for_each(|(key, figure)| process.counters.set(key, figure));
            let mut report = sample::report(vec![process]);
            sample::in_force(&mut report, option);
            let said = advise(&report).into_iter().find(|said| said.rule == "threadstack").expect("speaks");
            (said.kind, said.then(), said.reason)
        };
        let of_default = |largest, peak, started| {
            [
                (Key::StackDefaultSize, largest),
                (Key::ThreadsOfDefaultSizePeak, peak),
                (Key::ThreadsOfDefaultSize, started),
            ]
        };
        for option in ["", "THREADSTACK(ON,256K)"] {
            let (kind, then, reason) = said(of_default(0, 0, 0), option);
            assert_eq!((kind, then.as_str()), (Kind::NoAdvice, ""), "{option}");
            assert!(reason.starts_with("200 threads at once, each with a stack size of its own"), "{reason}");
        }
        let few = said(of_default(8 << 10, 2, 2), "");
        assert_eq!(few.0, Kind::NoChange, "the others may be many, and deep: {few:?}");
        assert_eq!(few.2, "2 threads with 8 MiB each cost nothing.");
        let many = said(of_default(8 << 10, 100, 100), "");
        assert_eq!((many.0, many.1.as_str()), (Kind::Lower, "THREADSTACK(ON,256K)"));
        assert_eq!(many.2, "100 threads at once with 8 MiB each; at most 8 KiB were used.");
    }

    #[test]
    fn increments_that_come_and_go_become_part_of_the_first_segment() {
        let said = |option: &str, freed: u64| {
            let mut process = sample::heap("/bin/x", 1 << 20, 1, 1 << 20, (0, 0));
            for (key, figure) in [
                (Key::ThreadsPeak, 9),
                (Key::ThreadsStarted, 1_001),
                (Key::StackThread, 150 << 10),
                (Key::StackDefaultSize, 150 << 10),
                (Key::ThreadsOfDefaultSizePeak, 8),
                (Key::ThreadsOfDefaultSize, 1_000),
                (Key::ThreadStackSegmentsFreed, freed),
            ] {
                process.counters.set(key, figure);
            }
            let mut report = sample::report(vec![process]);
            sample::in_force(&mut report, option);
            let said = advise(&report).into_iter().find(|said| said.rule == "threadstack").expect("speaks");
            (said.kind, said.then(), said.reason)
        };
        let free = "THREADSTACK(ON,65536,65536,ANYWHERE,FREE)";
        let (kind, then, reason) = said(free, 2_000);
        assert_eq!((kind, then.as_str()), (Kind::Raise, "THREADSTACK(ON,160K)"));
        let expected = "2,000 increments came and went with 1,000 threads. First segments of 8 threads come out of ANYHEAP: 1.25 MiB.";
        assert_eq!(reason, expected);
        assert_eq!(said(free, 300).0, Kind::NoChange, "few");
        // The first segment is as large as the largest use, and yet increments come: it holds more than what is measured.
        let (kind, then, _) = said("THREADSTACK(ON,163840,65536,ANYWHERE,FREE)", 1_000);
        assert_eq!((kind, then.as_str()), (Kind::Raise, "THREADSTACK(ON,224K)"));
    }

    /// It has one count of all threads, which includes the first.
    #[test]
    fn the_first_thread_is_not_counted_in_an_older_report() {
        let mut process = sample::heap("/bin/x", 1 << 20, 1, 1 << 20, (0, 0));
        process.counters = underbar_report::Figures::unknown();
        for (key, figure) in [(Key::ThreadsPeak, 64), (Key::ThreadsStarted, 64), (Key::StackThread, 12_288)] {
            process.counters.set(key, figure);
        }
        let said = advise(&sample::report(vec![process]));
        let said = said.iter().find(|said| said.rule == "threadstack").expect("speaks");
        assert_eq!(said.reason, "63 threads with 8 MiB each cost nothing.");
    }

    #[test]
    fn few_threads_and_well_sized_ones_stay() {
        for (option, largest, at_once, started) in [
            ("", 12_288, 8, 8),
            ("", 12_288, 4, 10_000),
            ("THREADSTACK(ON,256K)", 12_288, 1_000, 1_000),
            ("THREADSTACK(ON,416K)", 100 << 10, 1_000, 1_000),
            ("THREADSTACK(ON,16K)", 26 << 10, 4, 4),
            ("", 3 << 20, 1_000, 1_000),
        ] {
            let said = threadstack(option, largest, at_once, started).expect("speaks");
            assert_eq!(said.0, Kind::NoChange, "{option} {largest} {at_once} {started}");
        }
        assert_eq!(threadstack("", 12_288, 0, 0), None);
    }

    #[test]
    fn the_first_thread_and_the_others_are_told_apart() {
        let mut process = sample::heap("/bin/x", 1 << 20, 1, 1 << 20, (0, 0));
        for (key, figure) in [
            (Key::StackLargest, 3 << 20),
            (Key::StackMain, 3 << 20),
            (Key::StackThread, 12_288),
            (Key::ThreadsPeak, 1_000),
            (Key::ThreadsStarted, 1_000),
            (Key::StackDefaultSize, 12_288),
            (Key::ThreadsOfDefaultSizePeak, 999),
            (Key::ThreadsOfDefaultSize, 999),
        ] {
            process.counters.set(key, figure);
        }
        let mut report = sample::report(vec![process]);
        let figure = |evidence: &Evidence| match evidence {
            Evidence::Counter { figure, .. } => *figure,
            Evidence::Line(_) => panic!("{evidence:?}"),
        };
        let said = |report: &underbar_report::Report| {
            let all = advise(report).into_iter().filter(|s| s.area == Some(Area::Stack));
            all.map(|s| (s.rule, s.kind, s.then(), figure(&s.evidence[0]))).collect::<Vec<_>>()
        };
        sample::in_force(&mut report, "STACK(4M,4K)");
        let lower = ("threadstack", Kind::Lower, "THREADSTACK(ON,256K)".to_owned(), 12_288);
        assert_eq!(
            said(&report),
            [("stack", Kind::NoChange, "STACK(4M,4K)".to_owned(), 3 << 20), lower],
            "a deep first thread is no reason to leave the others as they are"
        );
        // Under ON, STACK does not apply to threads with deep calls.
        report.processes[0].counters.set(Key::StackMain, 12_288);
        report.processes[0].counters.set(Key::StackThread, 3 << 20);
        report.processes[0].counters.set(Key::StackDefaultSize, 3 << 20);
        sample::in_force(&mut report, "THREADSTACK(ON,16M)");
        report.options.in_force.push(underbar_report::OptionInForce {
            option: "STACK(4M,4K)".to_owned(),
            where_set: "x".to_owned(),
        });
        assert_eq!(said(&report)[0], ("stack", Kind::Lower, "STACK(12K,4K)".to_owned(), 12_288));
        assert_eq!(said(&report)[1].1, Kind::NoChange);
    }

    #[test]
    fn no_stack_is_lowered_unasked() {
        for (option, at_once) in [("STACK(1M,4K)", 0), ("", 1_000), ("THREADSTACK(ON,8M)", 1_000)] {
            let rule = if at_once == 0 { "stack" } else { "threadstack" };
            let suggestion = check(option, 12_288, at_once, at_once, rule).expect("speaks");
            assert_eq!((suggestion.kind, suggestion.risky), (Kind::Lower, true), "{option}");
            assert!(crate::lines::to_set(&[suggestion], false).is_empty(), "{option}");
        }
    }

    #[test]
    fn a_stack_nearly_used_up_is_raised() {
        let grows =
            check("THREADSTACK(ON,256K,4K,ANYWHERE,KEEP)", 200 << 10, 4, 4, "threadstack").expect("speaks");
        assert_eq!((grows.kind, grows.now.as_str()), (Kind::NoChange, "THREADSTACK(ON,256K,4K)"));
        let many =
            threadstack("THREADSTACK(ON,256K,4K,ANYWHERE,KEEP)", 12_288, 1_000, 1_000).expect("speaks");
        assert_eq!(many.0, Kind::NoChange, "only what they use is storage");
        let said = threadstack("THREADSTACK(ON,256K)", 200 << 10, 4, 4);
        assert_eq!(said, Some((Kind::Raise, "THREADSTACK(ON,832K)".to_owned(), false)));
        let raised = check("THREADSTACK(ON,16K)", 200 << 10, 4, 4, "threadstack").expect("speaks");
        assert_eq!(raised.now, "THREADSTACK(ON,16K), raised to 256 KiB");
        assert!(raised.reason.contains("of 256 KiB used (78 %)"), "of what it really has: {}", raised.reason);
        let off = threadstack("THREADSTACK(OFF,256K,4K,ANYWHERE,KEEP)", 200 << 10, 4, 4).expect("speaks");
        assert_eq!(off.0, Kind::NoChange, "OFF: the size named there has no effect");
    }
}
