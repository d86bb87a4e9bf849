//! Switches for people: a section of each process that counted them (`--report switches`).
//!
//! ```text
//! switches  10,015, about 3.51 ms; most: 10,000 x write of print                                 the line of the summary
//!
//! print, process 4711: 10,015 switches
//!   coverage  complete: 10,000 of 10,000 write calls, 3 of 3 read calls
//!   component                kind      function               count      bytes    about
//!   print                    print     write                 10,000   1.27 MiB  3.40 ms
//! ```
//!
//! The order is that of time: a count alone tells nothing, since kinds cost differently. Time is count times the cost of the kind on this
//! machine. It has no waits in it, and nothing of what a program does that a call starts.
//!
//! Not here: the figures ([`crate::switches`]).

use crate::hand_over_lines;
use crate::library_call_lines;
use crate::model::{Process, Report, State};
use crate::page::{Line, Page, Tone, clean, clip, labelled, paint};
use crate::switch_costs::SwitchCosts;
use crate::switches::{Calls, ProgramCalls, Seen, Switches, seen};
use crate::units::{bytes, count, counted, nanoseconds, share};

/// The order of the rows of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The longest time first.
    Time,
    /// By the name of the function.
    Name,
    /// By component.
    Product,
    /// The most switches first.
    Switches,
}

/// The line of the summary: the switches of all processes, and those that take longest, or are most where times are not known.
pub(crate) fn line(report: &Report) -> Option<Line> {
    let costs = report.host.switch_costs.as_ref();
    let all: Vec<&Switches> =
        report.processes.iter().filter_map(|process| process.switches.as_ref()).collect();
    let calls = || all.iter().flat_map(|switches| &switches.calls);
    let time = |calls: &Calls| costs.and_then(|costs| costs.time(calls));
    let most = calls().max_by_key(|calls| (time(calls), calls.count))?;
    let sum = all.iter().fold(0_u64, |sum, switches| sum.saturating_add(switches.count()));
    let about = calls().filter_map(time).fold(0_u64, u64::saturating_add);
    let about = if about > 0 { format!(", about {}", nanoseconds(about)) } else { String::new() };
    let name = if most.component.is_empty() { "code of no module" } else { &most.component };
    let (function, name) = (&most.function, clip(&clean(name), 24));
    Some(labelled(
        "switches",
        format!("{}{about}; most: {} x {function} of {name}", count(sum), count(most.count)),
    ))
}

/// The sections of all processes.
#[must_use]
pub fn render(report: &Report, order: Order, page: Page<'_>) -> String {
    let mut lines = sections_by(report, order);
    if lines.is_empty() {
        let words = "No process counted its switches. Put SWITCHES(ON) into the options.";
        lines.push(Line(vec![(Tone::Plain, words.to_owned())]));
    }
    paint(&lines, page, usize::MAX)
}

/// A section for each process that counted, the longest time first.
pub(crate) fn sections(report: &Report) -> Vec<Line> {
    sections_by(report, Order::Time)
}

fn sections_by(report: &Report, order: Order) -> Vec<Line> {
    let sections: Vec<Line> = report
        .processes
        .iter()
        .filter_map(|process| Some((process, process.switches.as_ref()?)))
        .flat_map(|(process, switches)| section(process, switches, report.host.switch_costs.as_ref(), order))
        .collect();
    let whole = kernel(report).filter(|_| !sections.is_empty()).map(|text| labelled("kernel", text));
    whole.into_iter().chain(sections).collect()
}

/// The kernel's own count for the whole run, next to what was counted here.
fn kernel(report: &Report) -> Option<String> {
    let entries = report.steps.as_ref()?.kernel_entries?;
    let all = report.processes.iter().filter_map(|process| process.switches.as_ref());
    let counted = all.fold(0_u64, |sum, switches| sum.saturating_add(switches.count()));
    Some(format!(
        "{} of the whole run, by the kernel's own tracing; {} counted here",
        self::counted(entries, "entry", "entries"),
        count(counted)
    ))
}

fn section(process: &Process, switches: &Switches, costs: Option<&SwitchCosts>, order: Order) -> Vec<Line> {
    let who = match process.processes {
        0 | 1 => format!("process {}", process.process),
        several => counted(several, "process", "processes"),
    };
    let time = |calls: &Calls| costs.and_then(|costs| costs.time(calls));
    let all = switches.calls.iter().filter_map(time).fold(0_u64, u64::saturating_add);
    let about = if all > 0 { format!(", about {}", nanoseconds(all)) } else { String::new() };
    let head = format!(
        "{}, {who}: {}{about}",
        clean(process.name()),
        counted(switches.count(), "switch", "switches")
    );
    let head = if switches.is_reset { format!("{head} since the reset") } else { head };
    let mut lines = vec![Line(vec![(Tone::Label, head)]), labelled("coverage", coverage(process))];
    let row = |component: &str, kind: &str, function: &str, count: &str, bytes: &str, time: &str| {
        let component = clip(&clean(component), 24);
        let figures = format!("{count:>11} {bytes:>9} {time:>9}");
        Line(vec![(Tone::Plain, format!("  {component:<24} {kind:<9} {function:<21} {figures}"))])
    };
    if !switches.calls.is_empty() {
        lines.push(row("component", "kind", "function", "count", "bytes", "about"));
    }
    let mut calls: Vec<&Calls> = switches.calls.iter().collect();
    match order {
        Order::Time if costs.is_none() => {}
        Order::Time => calls.sort_by_key(|calls| std::cmp::Reverse((time(calls), calls.count))),
        Order::Name => calls.sort_by_key(|calls| (&calls.function, &calls.component)),
        Order::Product => calls.sort_by_key(|calls| (&calls.component, &calls.kind, &calls.function)),
        Order::Switches => calls.sort_by_key(|calls| std::cmp::Reverse(calls.count)),
    }
    for calls in calls {
        let name = if calls.component.is_empty() { "code of no module" } else { &calls.component };
        let asked = calls.bytes.map_or(String::new(), bytes);
        let time = time(calls).map_or(String::new(), nanoseconds);
        lines.push(row(name, &calls.kind, &calls.function, &count(calls.count), &asked, &time));
    }
    lines.extend(hand_over_lines::line(switches, costs).map(|text| labelled("hand-over", text)));
    lines.extend(programs(switches).into_iter().map(|text| labelled("program", text)));
    lines.extend(library_call_lines::lines(switches, costs).into_iter().map(|text| labelled("3gl", text)));
    lines.extend(projection(switches, costs).into_iter().map(|text| labelled("project", text)));
    lines.extend(callers(switches).into_iter().map(|text| labelled("callers", text)));
    lines
}

/// Programs that have a line.
const PROGRAMS: usize = 12;

/// Programs that were LINKed or CALLed, the longest time first.
fn programs(switches: &Switches) -> Vec<String> {
    let line = |it: &ProgramCalls| {
        let name = if it.program.is_empty() { "code of no module".to_owned() } else { clean(&it.program) };
        format!(
            "{name}: {}, {} CPU time, {} each",
            counted(it.count, &it.how, &format!("{}s", it.how)),
            nanoseconds(it.cpu_ns),
            nanoseconds(it.cpu_ns / it.count.max(1))
        )
    };
    let mut lines: Vec<String> = switches.programs.iter().take(PROGRAMS).map(line).collect();
    if switches.programs.len() > PROGRAMS {
        lines.push(format!("{} more", switches.programs.len() - PROGRAMS));
    }
    lines
}

/// What could move to another class of processors, and what the hand-overs would cost, in words.
fn projection(switches: &Switches, costs: Option<&SwitchCosts>) -> Vec<String> {
    let Some(projection) = &switches.projection else { return Vec::new() };
    let all = projection.eligible_ns.saturating_add(projection.ineligible_ns);
    let eligible = projection.eligible_ns;
    let mut lines = vec![format!(
        "{} of {} CPU time is before switches of eligible components ({}): code counts for the next component that makes one",
        nanoseconds(eligible),
        nanoseconds(all),
        share(eligible, all)
    )];
    if let (Some(half), Some(most)) = (projection.half_below_ns, projection.most_below_ns) {
        let runs = counted(projection.runs, "run", "runs");
        lines.push(format!(
            "in {runs} between switches of others: half below {}, 99 % below {}",
            nanoseconds(half),
            nanoseconds(most)
        ));
    }
    if let Some(costs) = costs.filter(|costs| costs.hand_over_ns > 0 && projection.runs > 0) {
        let hand_overs = projection.runs.saturating_mul(costs.hand_over_ns);
        let verdict = match hand_overs.saturating_mul(100) / eligible.max(1) {
            _ if eligible == 0 => "nothing can move",
            0 => "suitable",
            1..50 => "suitable where the other class gains more than that",
            _ => "not suitable: hand over less often, many units at a time",
        };
        lines.push(format!(
            "hand-overs there and back would take {} ({} of it), with 10 runs at a time {}: {verdict}",
            nanoseconds(hand_overs),
            share(hand_overs, eligible),
            nanoseconds(hand_overs / 10)
        ));
    }
    lines
}

/// Who calls the components that hide their callers, in words: shares, with their error.
fn callers(switches: &Switches) -> Vec<String> {
    let mut lines = Vec::new();
    for of in switches.callers.chunk_by(|a, b| a.component == b.component) {
        let all = of.iter().fold(0_u64, |sum, caller| sum.saturating_add(caller.samples));
        let parts = of.iter().map(|caller| {
            let name = if caller.caller.is_empty() { "not found" } else { &caller.caller };
            format!("{} {}", clean(name), share(caller.samples, all))
        });
        let parts: Vec<String> = parts.collect();
        let component = of.first().map_or("", |caller| &caller.component);
        // The error of a share is largest for a half: 1 / sqrt(n), for 19 of 20 such runs.
        let error = 100_u64.checked_div(all.isqrt()).unwrap_or(100).clamp(1, 100);
        let samples = counted(all, "sample", "samples");
        lines.push(format!("of {}: {} ({samples}, +-{error} %)", clean(component), parts.join(", ")));
    }
    lines
}

/// How much of the kernel's own count was seen, in words.
fn coverage(process: &Process) -> String {
    let switches = process.switches.as_ref();
    let compared = match switches {
        Some(switches) if switches.is_reset => switches.since_reset,
        _ => seen(&process.counters),
    };
    let Some([reads, writes]) = compared else {
        let is_empty = |calls: &Calls| !calls.is_of_read_or_write();
        if process.state == State::Ended && switches.is_some_and(|it| it.calls.iter().all(is_empty)) {
            return "complete: no read or write calls".to_owned();
        }
        return "not known: the kernel's count of calls could not be compared".to_owned();
    };
    let of =
        |seen: Seen, what: &str| format!("{} of {} {what} calls", count(seen.counted), count(seen.kernel));
    let both = format!("{}, {}", of(writes, "write"), of(reads, "read"));
    if reads.is_complete() && writes.is_complete() {
        return format!("complete: {both}");
    }
    if reads.counted > reads.kernel || writes.counted > writes.kernel {
        return format!(
            "more than the kernel's: {both}; children by vfork, and calls that failed at once, are in ours only"
        );
    }
    let counted = reads.counted.saturating_add(writes.counted);
    let kernel = reads.kernel.saturating_add(writes.kernel);
    let seen = share(counted, kernel);
    format!(
        "partial: {seen} seen, {both}; the rest is the loader's, inside the C library, or system calls of its own"
    )
}

#[cfg(test)]
mod tests {
    use underbar_ledger::Key;

    use super::*;
    use crate::sample;

    fn report() -> Report {
        let mut report = sample::getfree();
        let calls = |component: &str, kind: &str, function: &str, count, bytes| Calls {
            component: component.to_owned(),
            kind: kind.to_owned(),
            function: function.to_owned(),
            count,
            bytes,
        };
        report.processes[0].switches = Some(Switches {
            functions: 300,
            calls: vec![
                calls("getfree", "process", "fork", 1, None),
                calls("libstdc++.so.6", "print", "write", 10_000, Some(1_330_000)),
                calls("libstdc++.so.6", "other", "getpid", 12_000, None),
            ],
            callers: [("getfree", 9), ("", 1)]
                .map(|(caller, samples)| crate::switches::Caller {
                    component: "libstdc++.so.6".to_owned(),
                    caller: caller.to_owned(),
                    samples,
                })
                .to_vec(),
            ..Switches::default()
        });
        let costs =
            SwitchCosts { system_call_ns: 150, read_ns: 300, write_ns: 400, ..SwitchCosts::default() };
        report.host.switch_costs = Some(costs);
        for (key, figure) in [(Key::SwitchWrites, 10_000), (Key::SwitchKernelWrites, 10_050)] {
            report.processes[0].counters.set(key, figure);
        }
        report
    }

    #[test]
    fn time_comes_first_and_a_count_alone_does_not_rank() {
        let text = render(&report(), Order::Time, Page::of_terminal(None, false));
        let at = |words: &str| text.find(words).unwrap_or_else(|| panic!("{words}: {text}"));
        assert!(
            at("22,001 switches, about 5.80 ms") < at("complete: 10,000 of 10,050 write calls"),
            "{text}"
        );
        assert!(at("4.00 ms") < at("getpid") && at("getpid") < at("fork"), "{text}");
        assert!(
            text.contains("of libstdc++.so.6: getfree 90 %, not found 10 % (10 samples, +-33 %)"),
            "{text}"
        );
        let text = render(&report(), Order::Switches, Page::of_terminal(None, false));
        assert!(text.find("getpid") < text.find("print "), "{text}");
        let text = crate::summary::render(&report(), &[], false);
        assert!(
            text.contains("  switches  22,001, about 5.80 ms; most: 10,000 x write of libstdc++.so.6\n"),
            "{text}"
        );
    }

    #[test]
    fn programs_have_their_time() {
        let mut report = report();
        let program = |how: &str, count, cpu_ns| ProgramCalls {
            program: "PAYROLL".to_owned(),
            how: how.to_owned(),
            count,
            cpu_ns,
        };
        report.processes[0].switches.as_mut().expect("some").programs =
            vec![program("LINK", 1_000, 812_000_000), program("CALL", 1, 0)];
        let text = render(&report, Order::Time, Page::of_terminal(None, false));
        assert!(text.contains("program   PAYROLL: 1,000 LINKs, 812 ms CPU time, 812 us each\n"), "{text}");
        assert!(text.contains("program   PAYROLL: 1 CALL, 0 ns CPU time, 0 ns each\n"), "{text}");
    }

    #[test]
    fn a_projection_says_whether_it_is_worth_it() {
        let mut report = report();
        let words = |report: &Report| render(report, Order::Time, Page::of_terminal(None, false));
        assert!(!words(&report).contains("project"));
        let projected = |runs| crate::projection::Projection {
            eligible_ns: 800_000_000,
            ineligible_ns: 200_000_000,
            runs,
            half_below_ns: Some(40_960),
            most_below_ns: Some(163_840),
        };
        report.host.switch_costs = Some(SwitchCosts { hand_over_ns: 4_000, ..SwitchCosts::default() });
        for (runs, verdict) in [
            (100, ": suitable\n"),
            (20_000, "(10 % of it), with 10 runs at a time 8.00 ms: suitable where"),
            (150_000, ": not suitable"),
        ] {
            report.processes[0].switches.as_mut().expect("some").projection = Some(projected(runs));
            let text = words(&report);
            // Long lines are broken.
            let text = text.replace("\n            ", " ");
            assert!(
                text.contains("800 ms of 1.00 s CPU time is before switches of eligible components (80 %)"),
                "{text}"
            );
            assert!(
                text.contains("half below 41.0 us, 99 % below 164 us") && text.contains(verdict),
                "{text}"
            );
        }
    }

    #[test]
    fn coverage_says_what_is_missing() {
        let mut report = report();
        let words = |report: &Report| coverage(&report.processes[0]);
        report.processes[0].counters.set(Key::SwitchKernelWrites, 20_000);
        assert!(
            words(&report).starts_with("partial: 50 % seen, 10,000 of 20,000 write calls"),
            "{}",
            words(&report)
        );
        report.processes[0].counters.set(Key::SwitchKernelWrites, 5_000);
        assert!(words(&report).starts_with("more than the kernel's: "), "{}", words(&report));
        report.processes[0].counters.set(Key::SwitchKernelWrites, 0);
        assert!(words(&report).starts_with("not known: "), "{}", words(&report));
        report.processes[0].switches.as_mut().expect("some").calls.remove(1);
        assert_eq!(words(&report), "complete: no read or write calls");
    }
}
