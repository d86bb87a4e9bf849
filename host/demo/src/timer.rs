//! `demo timer`: program starts with a limit of CPU time: a timer for each, and none.
//!
//! ```text
//! starts timer    setitimer at each start     plain: a call each    TIMER(COALESCE): a store each
//! starts none     nothing                     MT(60): the command watches
//! LINK            a whole program             MT(60): a word each
//! starts burn     until SIGXCPU               MT(1): the limit holds
//! ```
//!
//! The document: "MT=60 sets a timer at every level-1 program start; MT=0 none". The program is in C (`programs/starts.c`).
//! Not here: what TIMER and MT do (`runtime::timer`, `launch::cpu_limit`).

use underbar_fetch::nested::By;
use underbar_ledger::Key;
use underbar_report::units::{count, nanoseconds};

use super::enclaves::library;
use super::measure::{Arm, Figured, Machine, Problem, Server};
use super::output::{Check, Column, Output, Table};
use super::progress::Progress;
use super::workshop::{NEEDS_C, Workshop};
use super::{Parameters, arm, order};

/// The smallest number of rounds with an interval.
const RUNS: usize = 6;
const STARTS: u64 = 100_000;
const LINKS: u64 = 10_000;
/// LINKs that come before those that are timed.
const WARM: u64 = 10;
const SOURCE: &str = include_str!("programs/starts.c");
const PLAIN: &str = "a timer each";
const COALESCED: &str = "a timer each, TIMER(COALESCE)";
const NONE: &str = "no timer";
const WATCHED: &str = "no timer, MT(60)";
const LINK: &str = "LINK";
const WATCHED_LINK: &str = "LINK, MT(60)";
/// Timer calls that TIMER(COALESCE) may leave: those before the timer is kept, and at its end.
const MOST: u64 = 20;

const CALLS: Column = Column::new("timer calls", |_, arm| calls(arm).map(count), |_| None);
const LIMITED: Column = Column::new(
    "limited starts",
    |_, arm| arm.counter(Key::CpuLimitStarts).filter(|&n| n > 0).map(count),
    |_| None,
);
const CPU: Column = Column::new("CPU", |_, arm| arm.said.get("cpu_ns").copied().map(nanoseconds), |_| None);
const EACH: Column = Column::new(
    "CPU of a start",
    |_, arm| {
        let starts = arm.said.get("starts").or_else(|| arm.said.get("loads"))?;
        Some(nanoseconds(arm.said.get("cpu_ns")? / (*starts).max(1)))
    },
    |_| None,
);

/// Timer calls that reached the kernel.
fn calls(arm: &Figured) -> Option<u64> {
    let set = *arm.said.get("set")?;
    Some(set.saturating_sub(arm.counter(Key::TimerSwallowed).unwrap_or(0)))
}

/// Runs it.
pub fn run(parameters: &Parameters) -> Result<Output, Problem> {
    let runs = parameters.runs.unwrap_or(RUNS);
    let title = "program starts with a limit of CPU time: a timer for each, and none";
    let mut output = Output::new("timer", title, parameters, runs);
    let workshop = Workshop::new("timer")?;
    let program = workshop.compiled("starts", SOURCE, &[], NEEDS_C)?;
    let machine = Machine::of_program(&program, parameters)?;
    let mut progress = Progress::new(parameters.quiet);
    progress.part("starts");
    let rounds = machine.rounds(arms(), runs, &mut order(parameters), &mut progress)?;
    progress.part("LINKs");
    let linking = Machine::new(parameters)?;
    let library = library(&workshop, "link", By::Link)?;
    let links = linking.rounds(link_arms(&library), runs, &mut order(parameters), &mut progress)?;
    progress.part("the limit");
    let burnt = machine.once(&arm("MT(1)", "MT(1)", &["burn", "0"]))?;
    let (arms, link_arms) = (rounds.figured(), links.figured());

    let of = |arms: &[Figured], name: &str| arms.iter().find(|arm| arm.name == name).cloned();
    let (right, all) = rounds.said_is(|said| said.get("starts") == Some(&STARTS));
    let text = format!("in {right} of {all} runs the program was started {} times", count(STARTS));
    output.checks.push(Check::count("all_starts", right == all, text));
    let left = of(&arms, COALESCED).and_then(|arm| calls(&arm)).unwrap_or(u64::MAX);
    let text = format!(
        "TIMER(COALESCE): {} of {} timer calls reach the kernel (at most {MOST})",
        count(left),
        count(STARTS)
    );
    output.checks.push(Check::count("calls_coalesced", left <= MOST, text));
    let limited = of(&link_arms, WATCHED_LINK).and_then(|arm| arm.counter(Key::CpuLimitStarts)).unwrap_or(0);
    let text = format!("MT(60): {} program starts have a limit, and none makes a timer call", count(limited));
    output.checks.push(Check::count("starts_limited", limited == LINKS + WARM + 1, text));
    let used = burnt.output.trim().strip_prefix("limited_ns=").and_then(|used| used.parse::<u64>().ok());
    let text = format!(
        "MT(1): the limit holds: SIGXCPU came after {} of CPU time",
        used.map_or("no".to_owned(), nanoseconds)
    );
    output.checks.push(Check::count("limit_holds", used.is_some_and(|used| used >= 1_000_000_000), text));
    let place = |name: &str| rounds.place(name).unwrap_or(0);
    let cpu = |said: &std::collections::BTreeMap<String, u64>| said.get("cpu_ns").map(|time| *time as f64);
    let coalesced = rounds.said_ratio(place(COALESCED), place(PLAIN), cpu);
    output.checks.push(Check::at_most(
        "coalesced_time",
        "CPU time of a timer each under TIMER(COALESCE) to plain",
        coalesced,
        0.5,
    ));
    let watched = rounds.said_ratio(place(WATCHED), place(NONE), cpu);
    output.checks.push(Check::at_most(
        "watched_time",
        "CPU time without timers under MT(60) to plain",
        watched,
        1.05,
    ));
    let link = |name: &str| links.place(name).unwrap_or(0);
    let linked = links.said_ratio(link(WATCHED_LINK), link(LINK), cpu);
    output.checks.push(Check::at_most(
        "linked_time",
        "CPU time of a LINK under MT(60) to one without",
        linked,
        1.05,
    ));

    output.notes = notes(&arms, of(&link_arms, LINK));
    let table = |title, arms, columns: &[Column]| Table::new(title, arms, vec![columns.to_vec()]);
    output.tables = vec![
        table(format!("{} starts of a function of 64 steps", count(STARTS)), arms, &[CALLS, CPU, EACH]),
        table(
            format!("{} programs LINKed one after the other", count(LINKS)),
            link_arms,
            &[LIMITED, CPU, EACH],
        ),
    ];
    Ok(output)
}

fn notes(arms: &[Figured], link: Option<Figured>) -> Vec<String> {
    let each = |name: &str| {
        let arm = arms.iter().find(|arm| arm.name == name)?;
        Some(*arm.said.get("cpu_ns")? as f64 / STARTS as f64 / 1_000.0)
    };
    let mut notes = vec![
        "The document's timer call (STIMER) leaves the zIIP. Here it is a system call, which takes a fraction of a microsecond.".to_owned(),
    ];
    if let (Some(timed), Some(plain), Some(coalesced)) = (each(PLAIN), each(NONE), each(COALESCED)) {
        notes.push(format!(
            "A timer costs {:.2} us of CPU time at each start; TIMER(COALESCE) saves {:.2} us of it, MT all.",
            timed - plain,
            timed - coalesced
        ));
        let of_link = link.and_then(|arm| Some(*arm.said.get("cpu_ns")? as f64 / LINKS as f64 / 1_000.0));
        if let Some(of_link) = of_link {
            let share = (timed - plain) / of_link * 100.0;
            let worth =
                if share < 1.0 { "not worth it here" } else { "worth it only for programs this small" };
            notes.push(format!("That is {share:.1} % of a LINK ({of_link:.1} us): {worth}."));
        }
    }
    notes
}

fn arms() -> Vec<Arm> {
    let times = STARTS.to_string();
    let arm = |name: &str, server, how: &str| Arm {
        name: name.to_owned(),
        server,
        program: super::words(&[how, &times]),
    };
    vec![
        arm(PLAIN, Server::Plain, "timer"),
        arm(COALESCED, Server::Underbar("TIMER(COALESCE)".to_owned()), "timer"),
        arm(NONE, Server::Plain, "none"),
        arm(WATCHED, Server::Underbar("MT(60)".to_owned()), "none"),
    ]
}

fn link_arms(library: &str) -> Vec<Arm> {
    let times = LINKS.to_string();
    let words = ["one-after-the-other", "--way", "link", "--library", library, "--times", &times];
    vec![arm(LINK, "", &words), arm(WATCHED_LINK, "MT(60)", &words)]
}
