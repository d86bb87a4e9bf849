//! The one table of rules. What `explain` and the manual say of a rule stands here, beside the
//! function that applies it.
//!
//! To add a rule, add an entry: its id, its words, its function, and a test that it fires, that
//! it says "no change", and that it goes down where it can.

use underbar_report::{Program, Report};

use crate::rule::RuleOf;
use crate::suggestion::{Evidence, Kind, Setting, Suggestion};
use crate::{heap, keep, lock, pages, spin, stack};

/// One rule for our own reports.
pub type Rule = RuleOf<Own>;

/// Where a rule for our own reports belongs, and how it is applied.
pub struct Own {
    /// The area of the report that it belongs to: `HEAP`, `STACK` or `LOCK`.
    pub area: &'static str,
    /// Applies it. None where it has nothing to say about the program.
    pub apply: fn(&Case<'_>) -> Option<Finding>,
    /// Does an option that it suggests do anything on Linux? Else it is shown, and neither counted nor tried.
    pub acts: bool,
}

/// What a rule looks at.
pub struct Case<'a> {
    /// The whole report.
    pub report: &'a Report,
    /// The program in question, all of its processes folded.
    pub program: &'a Program,
}

/// What a rule found; with the rule's own words it becomes a [`Suggestion`].
pub struct Finding {
    /// Which way.
    pub kind: Kind,
    /// The option to set.
    pub option: Option<Setting>,
    /// What is set now.
    pub now: String,
    /// The figures.
    pub evidence: Vec<Evidence>,
    /// One sentence.
    pub reason: String,
    /// See [`Suggestion::risky`].
    pub risky: bool,
}

/// All rules, in the order in which they are applied.
pub static RULES: [Rule; 12] = [
    Rule {
        id: "coverage",
        title: "Whether this heap is worth tuning",
        source: "Language Environment, storage report: storage of vendor heap managers is not counted",
        condition: "Less than half of the program's resident anonymous memory lies in this heap, or another allocator serves \
                    its malloc.",
        formula: "No heap advice; the largest other owner is named.",
        stop: "Half or more of the memory is in this heap.",
        risk: "None: nothing is set.",
        apply: Own { area: "HEAP", apply: heap::coverage, acts: true },
    },
    Rule {
        id: "heap-size",
        title: "Initial size and increment of HEAP",
        source: "Language Environment, \"Total heap storage used (sugg. initial size)\", and the storage tuning talk: \
                 27,949 segments of 32K took 129 times the CPU of 8 segments of 100M",
        condition: "Sizes are set: more than 8 segments were needed and the first did not hold everything (raise), or \
                    less than 62 % of what was taken was used, or a large initial size is held for a rare peak (lower). \
                    Under AUTO: more than 64 segments.",
        formula: "Initial size: the most that was used and an eighth of it for packing, but no more than all segments \
                  together; rounded up to four binary digits and to whole pages. Increment: a quarter of that, from \
                  4K to 64M. Where memory is limited to less than twice the initial size, or the peak is rare in a \
                  long run, the increment is raised instead.",
        stop: "8 segments or fewer and 62 % or more of them used; under AUTO, 64 segments or fewer: no change.",
        risk: "One run's peak may not be the largest. Address space of the initial size is taken at once; memory is \
               taken only where it is touched. The initial segment is kept to the end, also under FREE.",
        apply: Own { area: "HEAP", apply: heap::size, acts: true },
    },
    Rule {
        id: "heap-keep-free",
        title: "KEEP or FREE for increments of HEAP",
        source: "Storage tuning talk: 39,122 segments allocated and 39,120 freed under FREE took 25.79 s, KEEP 22.34 s",
        condition: "At least 16 segments, nine of ten freed, and a quarter more storage asked of the kernel than was ever \
                    held at one time (KEEP). Or: kept segments of 64M or more, three quarters of them in place at the \
                    end, a quarter of them or less in use, in a process that ran for long (FREE).",
        formula: "HEAP(,,,KEEP) in the first case, HEAP(,,,FREE) in the second.",
        stop: "Segments are freed once, at the end, or stay in use: no change.",
        risk: "KEEP holds storage that others could use; FREE costs a kernel call for each increment that comes and goes.",
        apply: Own { area: "HEAP", apply: keep::free, acts: true },
    },
    Rule {
        id: "hugepages",
        title: "Huge pages for the heap",
        source: "Own: a page fault for each 4K of a large heap that is kept",
        condition: "64M or more used at most, segments kept, one program that has most of the run's heap, and page faults \
                    that make up half of that storage or more.",
        formula: "HUGEPAGES(ON); HUGEPAGES(AUTO) where it is on and the heap stays below 64M.",
        stop: "Fewer faults than half of the heap's pages, or already on: no change.",
        risk: "Resident storage may grow by what is left empty in pages of 2M.",
        apply: Own { area: "HEAP", apply: pages::huge, acts: true },
    },
    Rule {
        id: "stack",
        title: "STACK: the first thread, and all threads under THREADSTACK(OFF)",
        source: "Language Environment, storage report: Largest used by any thread (not the maximum of all threads, which \
                 popular advice takes and which is wrong for threaded programs)",
        condition: "STACK has sizes, and less than 62 % of the initial size was used (lower), or more than all of it (raise).",
        formula: "Initial size: the largest use of any thread, under THREADSTACK(ON) of the first one, rounded up to whole \
                  pages; increment 4K.",
        stop: "62 % or more of the initial size used: no change. Where STACK is not set the use is measured only: the \
               kernel grows the first stack by itself.",
        risk: "The next run may call deeper.",
        apply: Own { area: "STACK", apply: stack::first, acts: false },
    },
    Rule {
        id: "threadstack",
        title: "THREADSTACK: the default size of threads' stacks",
        source: "Language Environment, THREADSTACK(ON,...); and glibc, which keeps 40M of stacks of ended threads for new ones",
        condition: "Threads, and a default at least twice as large as needed where that matters: 64 threads or more at one \
                    time, or threads that come and go while their stacks exceed 40M (lower). Or more than three quarters \
                    of the default used (raise).",
        formula: "Four times the largest use of any thread but the first, at least 256K, which is above PTHREAD_STACK_MIN and 64K of \
                  thread-local storage; rounded up to four binary digits.",
        stop: "Few threads, or a default below twice the need: no change.",
        risk: "A thread that needs more than four times the largest use seen would overflow its stack and die; lowering is \
               done only on request.",
        apply: Own { area: "STACK", apply: stack::threads, acts: true },
    },
    Rule {
        id: "lock-holder-blocks",
        title: "A lock is held over a call that blocks",
        source: "Own: waiters look what the holder does; blame by who gives the lock up, as in Go's mutex profile",
        condition: "Threads waited for a lock 10 ms or longer together, and a hundredth of the run; its holder was found in \
                    system calls three times or more; and that accounts for a quarter of the wait or more.",
        formula: "Share of the wait: the time in waits of a millisecond or longer, times the part of the looks that found the \
                  holder in a call. Nothing is set; the call and the holder's place are named: copy under the \
                  lock, and make the call after giving it up.",
        stop: "Less than a quarter of the wait: no change.",
        risk: "Work that is moved out of the lock is no longer ordered by it.",
        apply: Own { area: "LOCK", apply: lock::holder_blocks, acts: true },
    },
    Rule {
        id: "lock-same-line",
        title: "Two hot locks in one cache line",
        source: "Own: addresses of locks",
        condition: "Two locks of one process that are worth a change (10 ms of waits and a hundredth of the run each) lie \
                    in the same 64 bytes.",
        formula: "Nothing is set; both are named: align each to 64 bytes.",
        stop: "Each lock that is waited for has a line of its own: no change.",
        risk: "Each lock takes 64 bytes.",
        apply: Own { area: "LOCK", apply: lock::same_line, acts: true },
    },
    Rule {
        id: "lock-starves",
        title: "One thread takes a lock again and again",
        source: "Own measurement: under the C library's mutex a thread waited 414 ms, and 2.7 ms with waiting of our own",
        condition: "A lock was given up to waiters 100 times or more, 80 % of these by the thread that did so the time \
                    before, and the longest wait is a millisecond or longer and eight times the median.",
        formula: "LOCK(SIMPLE) for mutexes under LOCK(COUNT), which serves who starves; otherwise nothing is set: take \
                  the lock once for several operations.",
        stop: "Less than 80 %, or no wait that stands out: no change.",
        risk: "Who is served in turn runs on a cold cache: throughput may fall.",
        apply: Own { area: "LOCK", apply: lock::starves, acts: true },
    },
    Rule {
        id: "lock-spin-pays",
        title: "Waits that are shorter than a sleep",
        source: "Own measurement: a sleep and a wake take about 4 us",
        condition: "Half of the waits for a mutex that is worth a change are shorter than 4,096 ns, under LOCK(COUNT).",
        formula: "LOCK(SIMPLE): look again before sleeping.",
        stop: "We wait in the C library's place already: no change.",
        risk: "Looking again takes processor time that others could use.",
        apply: Own { area: "LOCK", apply: spin::spin_pays, acts: true },
    },
    Rule {
        id: "lock-spin-does-not-pay",
        title: "Processor time burnt on waits that are long",
        source: "z/TPF simple locks: 99 % of the processor before, 8 % after waiters gave up control",
        condition: "Half of the waits are 4,096 ns or longer; and either looking again took a hundredth of the run's \
                    processor time and got less than one acquisition in ten, or an adaptive mutex waits under LOCK(COUNT).",
        formula: "LOCK(COUNT) in the first case, for a mutex; LOCK(SIMPLE) in the second, which stops looking once the \
                  holder is known not to run.",
        stop: "Looking again takes less than a hundredth, or gets one in ten: no change.",
        risk: "A sleep and a wake for each wait.",
        apply: Own { area: "LOCK", apply: spin::spin_does_not_pay, acts: true },
    },
    Rule {
        id: "lock-order",
        title: "Locks taken in a circle",
        source: "Own: pairs of a lock that was held and one that was waited for",
        condition: "The pairs make a circle: A was held while B was waited for, and B, directly or by others, while A was.",
        formula: "Nothing is set; locks and places are named: take them in one order everywhere.",
        stop: "Pairs that make no circle: no change. Pairs are seen only where a thread had to wait for the second lock.",
        risk: "None: nothing is set.",
        apply: Own { area: "LOCK", apply: lock::order, acts: true },
    },
];

/// All suggestions for a report: for each program, the one with the most memory first, what each
/// rule says.
#[must_use]
pub fn advise(report: &Report) -> Vec<Suggestion> {
    let mut suggestions = Vec::new();
    for program in &report.programs() {
        let case = Case { report, program };
        let mut elsewhere = false;
        for rule in &RULES {
            // Without coverage nothing is said about the heap, however plain the figures look.
            if elsewhere && rule.apply.area == "HEAP" {
                continue;
            }
            let Some(finding) = (rule.apply.apply)(&case) else { continue };
            elsewhere |= rule.id == "coverage";
            suggestions.push(Suggestion {
                rule: rule.id,
                program: program.name.clone(),
                area: rule.apply.area,
                kind: finding.kind,
                suggested: finding.option.as_ref().map_or(finding.now.clone(), ToString::to_string),
                option: finding.option,
                now: finding.now,
                evidence: finding.evidence,
                reason: finding.reason,
                stop: rule.stop,
                risk: rule.risk,
                risky: finding.risky,
                acts: rule.apply.acts,
            });
        }
    }
    suggestions
}

/// Rounds up to four binary digits and whole pages: at most an eighth more.
#[must_use]
pub fn sensible(bytes: u64) -> u64 {
    const PAGE: u64 = 4096;
    let step = (1_u64 << bytes.max(1).ilog2().saturating_sub(3)).max(PAGE);
    bytes.max(1).checked_next_multiple_of(step).unwrap_or(u64::MAX - (PAGE - 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use underbar_report::sample;

    #[test]
    fn rules_have_unique_ids_and_full_words() {
        for (at, rule) in RULES.iter().enumerate() {
            assert!(RULES[..at].iter().all(|other| other.id != rule.id));
            assert!(matches!(rule.apply.area, "HEAP" | "STACK" | "LOCK"));
            for words in [rule.condition, rule.formula, rule.stop, rule.risk] {
                assert!(words.ends_with('.') && words.len() > 15, "{}: {words}", rule.id);
            }
        }
    }

    #[test]
    fn sensible_sizes_are_close_and_few() {
        let check = |n, expected| assert_eq!(sensible(n), expected, "{n}");
        check(0, 4096);
        check(3_744, 4096);
        check(4097, 8192);
        check(915_832_832, 896 << 20);
        check(64 << 20, 64 << 20);
        for shift in 16..60 {
            for n in [(1_u64 << shift) + 1, (3 << (shift - 1)) - 5] {
                let rounded = sensible(n);
                assert!(
                    rounded >= n && rounded - n <= n / 8 && rounded.is_multiple_of(4096),
                    "{n} {rounded}"
                );
                assert_eq!(sensible(rounded), rounded);
            }
        }
        assert!(sensible(u64::MAX).is_multiple_of(4096));
    }

    #[test]
    fn each_program_of_a_tree_has_its_own_suggestions() {
        let mut report = sample::report(vec![
            sample::heap("/usr/bin/driver", 1 << 20, 1, 1 << 20, (0, 0)),
            sample::heap("/usr/libexec/cc1plus", 200 << 20, 6_400, 210 << 20, (32 << 10, 32 << 10)),
        ]);
        report.processes[1].processes = 2;
        let suggestions = advise(&report);
        let said: Vec<_> = suggestions
            .iter()
            .filter(|s| s.rule == "heap-size")
            .map(|s| (s.program.as_str(), s.kind))
            .collect();
        assert_eq!(said, [("cc1plus", Kind::Raise), ("driver", Kind::NoChange)]);
        assert_eq!(suggestions[0].evidence[1].figure, 3_200, "one process's share of a sum");
    }

    #[test]
    fn noise_gives_suggestions_or_none_but_no_crash() {
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        for round in 0..500 {
            let mut process = sample::heap("/bin/x", 1, 1, 1, (0, 0));
            for key in underbar_ledger::table::KEYS {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                process.counters.set(key, if round % 2 == 0 { state } else { state >> (state % 64) });
            }
            process.processes = state % 3;
            let mut report = sample::report(vec![process]);
            report.host.thread_stack_bytes = Some(state);
            report.host.memory_limit_bytes = Some(state >> (state % 60));
            for suggestion in advise(&report) {
                assert!(!suggestion.to_string().is_empty());
            }
        }
    }
}
