//! The switches of a program (small writes and reads, rows fetched one by one), for rules that read the model.
//!
//! ```text
//! switches of its processes ─> calls of few bytes by kind: print, files written, files read
//! counters fetch.*          ─> rows of cursors
//! costs of this machine     ─> what these calls cost; steps ─> the time and processor time of the run
//! ```
//!
//! Invariant: without SWITCHES(ON) calls are absent, not 0. Costs that were not measured are absent.
//! Not here: the switches as a part of the report ([`crate::switches`]).

use std::collections::BTreeMap;

use underbar_ledger::Key;
use underbar_ledger::switch_names::{Function, SwitchKind};
use underbar_model::{Certainty, Fetches, Figure, LoopedCall, Switching, Traffic};

use crate::fetch_lines;
use crate::model::Report;
use crate::program::Program;
use crate::switch_costs::SwitchCosts;
use crate::switches::{Calls, Switches};

/// Calls that move more bytes on average than this are no small ones: a cache spares them little.
const SMALL: u64 = 4096;
/// Why calls are absent.
const NOT_COUNTED: &str = "not counted without SWITCHES(ON)";
/// Why times are absent.
const NOT_MEASURED: &str = "costs of switches were not measured";

/// The switches of all processes of the program.
#[must_use]
pub fn switching(report: &Report, program: &Program) -> Switching {
    let counted: Vec<&Switches> =
        report.parts_of(program, |process| process.switches.as_ref()).map(|(_, switches)| switches).collect();
    let costs = report.host.switch_costs.as_ref();
    let certainty = if program.unfinished { Certainty::AtLeast } else { Certainty::Certain };
    let traffic = |keys, kinds: &[SwitchKind], is_of_it: fn(Function) -> bool| {
        if counted.is_empty() {
            return Traffic::absent(NOT_COUNTED);
        }
        let is_small = |calls: &&Calls| {
            calls.bytes.is_some_and(|bytes| bytes / calls.count.max(1) <= SMALL)
                && kinds.iter().any(|kind| kind.name() == calls.kind)
                && calls.known().is_some_and(is_of_it)
        };
        let calls = counted.iter().flat_map(|switches| &switches.calls).filter(is_small);
        sums(keys, calls, costs, certainty)
    };
    let step = |key, get: fn(&crate::steps::Steps) -> u64| match &report.steps {
        Some(steps) => Figure::counter(key, get(steps), Certainty::Certain),
        None => Figure::absent("no parent waited for the run"),
    };
    let files = [SwitchKind::File];
    Switching {
        print: traffic(PRINT, &[SwitchKind::Print], |function| function.is(Function::WRITES)),
        written: traffic(WRITTEN, &files, |function| {
            function.is(Function::WRITES) && !function.is(Function::READS)
        }),
        read: traffic(READ, &files, |function| {
            function.is(Function::READS) && !function.is(Function::WRITES)
        }),
        timers: if counted.is_empty() {
            Traffic::absent(NOT_COUNTED)
        } else {
            let sets = |calls: &&Calls| SETS_TIMERS.contains(&calls.function.as_str());
            sums(TIMERS, counted.iter().flat_map(|switches| &switches.calls).filter(sets), costs, certainty)
        },
        looped: looped(&counted, costs, certainty),
        fetches: fetches(report, program),
        cpu: step("steps.cpu_ns", |steps| steps.cpu_ns()),
        elapsed: step("steps.elapsed_ns", |steps| steps.elapsed_ns),
    }
}

/// Functions that set a timer.
const SETS_TIMERS: [&str; 4] = ["alarm", "ualarm", "setitimer", "timer_settime"];

/// The key paths of calls, bytes and time of a kind.
type Keys = [&'static str; 3];
const PRINT: Keys = ["switches.print.calls", "switches.print.bytes", "switches.print.time_ns"];
const TIMERS: Keys = ["switches.timer.calls", "switches.timer.bytes", "switches.timer.time_ns"];
const WRITTEN: Keys =
    ["switches.file_written.calls", "switches.file_written.bytes", "switches.file_written.time_ns"];
const READ: Keys = ["switches.file_read.calls", "switches.file_read.bytes", "switches.file_read.time_ns"];

fn sums<'a>(
    [of_calls, of_bytes, of_time]: Keys,
    all: impl Iterator<Item = &'a Calls>,
    costs: Option<&SwitchCosts>,
    certainty: Certainty,
) -> Traffic {
    let (mut calls, mut bytes, mut time) = (0_u64, 0_u64, Some(0_u64));
    for one in all {
        calls = calls.saturating_add(one.count);
        bytes = bytes.saturating_add(one.bytes.unwrap_or(0));
        time = time.zip(costs.and_then(|costs| costs.time(one))).map(|(sum, more)| sum.saturating_add(more));
    }
    Traffic {
        calls: Figure::counter(of_calls, calls, certainty),
        bytes: Figure::counter(of_bytes, bytes, certainty),
        time: match time {
            Some(time) => Figure::counter(of_time, time, certainty),
            None => Figure::absent(NOT_MEASURED),
        },
    }
}

/// Functions of libraries that are called in a loop, over all processes.
fn looped(counted: &[&Switches], costs: Option<&SwitchCosts>, certainty: Certainty) -> Vec<LoopedCall> {
    let mut all: BTreeMap<(&str, &str, &str), u64> = BTreeMap::new();
    for calls in counted.iter().flat_map(|switches| &switches.library_calls) {
        if calls.is_in_loop() && !calls.function.is_empty() {
            let sum = all.entry((&calls.library, &calls.function, &calls.caller)).or_default();
            *sum = sum.saturating_add(calls.count);
        }
    }
    let cost = costs.map(|costs| costs.hand_over_ns).filter(|cost| *cost > 0);
    let mut looped: Vec<LoopedCall> = all
        .into_iter()
        .map(|((library, function, caller), calls)| LoopedCall {
            function: function.to_owned(),
            library: library.to_owned(),
            caller: caller.to_owned(),
            calls: Figure::counter("switches.library_calls.count", calls, certainty),
            as_hand_overs: match cost {
                Some(cost) => Figure::counter("host.switch_costs", calls.saturating_mul(cost), certainty),
                None => Figure::absent(NOT_MEASURED),
            },
        })
        .collect();
    looped.sort_by_key(|call| core::cmp::Reverse(call.calls.value));
    looped
}

/// Rows of cursors that the program asked for one by one.
fn fetches(report: &Report, program: &Program) -> Fetches {
    let Some(asked) = program.counters.known(Key::FetchAsked) else {
        return Fetches::absent("the report does not show it");
    };
    let counter = |key: Key, value| Figure::counter(key.entry().key, value, Certainty::Certain);
    let of = |key: Key| counter(key, program.counters.get(key));
    let values = report.sub_options("MULTIFETCH").unwrap_or_default();
    let factor = values.first().and_then(|rows| rows.trim().parse().ok());
    // Under SWITCHES alone the time in such calls is measured. Otherwise: a fetch is sent, the server is woken, it answers, and the program is woken.
    let cost = report.host.switch_costs.map(|costs| {
        costs.hand_over_ns.saturating_add(costs.write_ns.saturating_add(costs.read_ns).saturating_mul(2))
    });
    let waited = program.counters.get(Key::FetchWaited);
    Fetches {
        factor: match factor {
            Some(rows) => Figure::counter("options.in_force", rows, Certainty::Certain),
            None => Figure::absent("the report shows no options"),
        },
        room: Figure::absent("bytes limit a fetch, whatever its factor"),
        asked: counter(Key::FetchAsked, asked),
        served: of(Key::FetchServed),
        sent: of(Key::FetchSent),
        alone: of(Key::FetchAlone),
        why_alone: fetch_lines::main_reason(&program.counters).map(|(_, why)| why),
        cost: match cost.filter(|&cost| cost > 0) {
            _ if waited > 0 => counter(Key::FetchWaited, waited / asked.max(1)),
            Some(cost) => Figure::counter("host.switch_costs", cost, Certainty::AtLeast),
            None => Figure::absent(NOT_MEASURED),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn calls(kind: &str, function: &str, count: u64, bytes: Option<u64>) -> Calls {
        let [component, kind, function] = ["prog", kind, function].map(str::to_owned);
        Calls { component, kind, function, count, bytes }
    }

    #[test]
    fn small_calls_are_added_up_by_kind() {
        let mut report = sample::getfree();
        report.processes[0].switches = Some(Switches {
            calls: vec![
                calls("print", "write", 10_000, Some(1_330_000)),
                calls("print", "stream write", 5, Some(50)),
                calls("file", "write", 100, Some(10_000)),
                calls("file", "write", 100, Some(100 << 20)),
                calls("file", "read", 7, Some(700)),
                calls("network", "send", 9, Some(90)),
                calls("file", "openat", 3, None),
            ],
            ..Switches::default()
        });
        let program = report.programs()[0].clone();
        let of = |traffic: &Traffic| (traffic.calls.value, traffic.bytes.value, traffic.time.certain());
        let found = switching(&report, &program);
        assert_eq!(of(&found.print), (10_005, 1_330_050, None), "costs were not measured");
        report.host.switch_costs =
            Some(SwitchCosts { read_ns: 300, write_ns: 400, ..SwitchCosts::default() });
        let found = switching(&report, &program);
        assert_eq!(of(&found.print), (10_005, 1_330_050, Some(4_002_000)));
        assert_eq!(of(&found.written), (100, 10_000, Some(40_000)), "large writes are none");
        assert_eq!(of(&found.read), (7, 700, Some(2_100)));
        assert_eq!(found.cpu.certain(), report.steps.as_ref().map(|steps| steps.cpu_ns()));
        report.processes[0].switches = None;
        let found = switching(&report, &program);
        assert_eq!(found.print, Traffic::absent(NOT_COUNTED));
    }

    #[test]
    fn fetches_have_their_factor_and_their_cost() {
        let mut report = sample::getfree();
        for (key, figure) in [(Key::FetchAsked, 1_000), (Key::FetchServed, 900), (Key::FetchSent, 90)] {
            report.processes[0].counters.set(key, figure);
        }
        let found = switching(&report, &report.programs()[0]).fetches;
        assert_eq!((found.calls(), found.factor.certain(), found.cost.at_least()), (Some(190), None, None));
        report.options.in_force[0].option = "MULTIFETCH(10,262144)".to_owned();
        report.host.switch_costs =
            Some(SwitchCosts { read_ns: 1, write_ns: 2, hand_over_ns: 10, ..SwitchCosts::default() });
        let found = switching(&report, &report.programs()[0]).fetches;
        assert_eq!((found.factor.certain(), found.cost.at_least()), (Some(10), Some(16)));
        report.processes[0].counters.set(Key::FetchWaited, 30_000);
        let found = switching(&report, &report.programs()[0]).fetches;
        assert_eq!(found.cost.certain(), Some(30), "as measured");
    }
}
