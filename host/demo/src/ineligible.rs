//! `demo 3gl`: a call of an ineligible program in a loop, which hands over to another thread each time.
//!
//! The document: a call of a 3GL program inside a loop forces a switch each time; such sessions are "not suitable" for the zIIP. Here the
//! function may run in one thread only, and each call goes there by a pipe and back by another (`programs/ineligible.c`). The third row
//! hands over a hundred records at a time.
//! Not here: how switches are counted (`runtime::switch`).

use underbar_report::model::Report;
use underbar_report::units::{count, nanoseconds};

use super::measure::{Arm, Machine, Problem};
use super::output::{Check, Column, Output, Table};
use super::progress::Progress;
use super::saving;
use super::workshop::{NEEDS_C, Workshop};
use super::{Parameters, arm, order, plain};

/// The smallest number of rounds with an interval.
const RUNS: usize = 6;
const HERE: &str = "called in place";
const EACH: &str = "handed over one by one";
const HUNDRED: &str = "a hundred at a time";
const RECORDS: u64 = 20_000;
/// Switches of a hand-over and back: a write and a read on each side.
const SWITCHES: u64 = 4;

/// Runs it.
pub fn run(parameters: &Parameters) -> Result<Output, Problem> {
    let runs = parameters.runs.unwrap_or(RUNS);
    let mut output =
        Output::new("3gl", "calls of a program that may run in one thread only", parameters, runs);
    let workshop = Workshop::new("3gl")?;
    let program = workshop.compiled("ineligible", include_str!("programs/ineligible.c"), &[], NEEDS_C)?;
    let machine = Machine::of_program(&program, parameters)?;
    let mut progress = Progress::new(parameters.quiet);
    progress.part("counts");
    for (name, how, hand_overs) in
        [("switches", "each", RECORDS), ("switches_of_batches", "hundred", RECORDS / 100)]
    {
        let counted = arm("SWITCHES(ON)", "SWITCHES(ON)", &[how]);
        let found = machine.once(&counted)?.report.as_ref().map_or(0, switches);
        let text = format!(
            "{}: {} switches in the loop, {SWITCHES} for each of {} hand-overs",
            of_how(how),
            count(found),
            count(hand_overs)
        );
        output.checks.push(Check::count(name, found == SWITCHES * hand_overs, text));
    }
    progress.part("times");
    let arms: Vec<Arm> = vec![plain(HERE, &["here"]), plain(EACH, &["each"]), plain(HUNDRED, &["hundred"])];
    let rounds = machine.rounds(arms, runs, &mut order(parameters), &mut progress)?;
    let figured = rounds.figured();
    let (right, all) = rounds.said_is(|said| said.get("sum").is_some_and(|sum| *sum == sum_of_all()));
    output.checks.push(Check::count(
        "sums",
        right == all,
        format!("in {right} of {all} runs the sum of the taxes is right"),
    ));
    let elapsed = |name: &str| {
        let place = rounds.place(name).unwrap_or(0);
        figured[place].said.get("elapsed_ns").copied().unwrap_or(0)
    };
    let (here, each, hundred) = (elapsed(HERE), elapsed(EACH), elapsed(HUNDRED));
    output.notes = vec![
        format!("One hand-over for a hundred records: {}.", saving::between("call", RECORDS, each, hundred)),
        verdict(here, each),
    ];
    output.tables.push(Table::new(
        format!("{} calls of a function", count(RECORDS)),
        figured,
        vec![vec![Column::OWN_ELAPSED, Column::CPU]],
    ));
    Ok(output)
}

fn of_how(how: &str) -> &'static str {
    if how == "each" { EACH } else { HUNDRED }
}

/// Reads and writes of the program, but for those of its streams.
fn switches(report: &Report) -> u64 {
    let calls =
        report.processes.iter().filter_map(|process| process.switches.as_ref()).flat_map(|all| &all.calls);
    calls.filter(|calls| matches!(calls.function.as_str(), "read" | "write")).map(|calls| calls.count).sum()
}

/// The sum that the program must print.
fn sum_of_all() -> u64 {
    let tax = |income: u64| {
        let steps = core::iter::successors(Some(10_000_u64), |step| step.checked_mul(2));
        steps.take_while(|step| income > *step).map(|step| (income - step) / 10).sum::<u64>()
    };
    (0..RECORDS).map(|record| tax(17 * record)).sum()
}

/// Whether the loop is suitable, in words. `here` is the time of the work alone.
fn verdict(here: u64, each: u64) -> String {
    let more = each.saturating_sub(here);
    let figures = format!(
        "a call takes {} of work and {} of hand-over",
        nanoseconds(here / RECORDS),
        nanoseconds(more / RECORDS)
    );
    let percent = more.saturating_mul(100) / each.max(1);
    match percent {
        0 => format!("Suitable: {figures}, less than 1 %."),
        1..50 => format!("Suitable only if the work must run elsewhere: {figures}, {percent} % of the time."),
        _ => format!(
            "Not suitable: {figures}, {percent} % of the time. Such calls do not belong into a loop; hand over many at a time."
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_verdict_is_that_of_the_share() {
        assert!(
            verdict(1_000_000, 20_000_000).starts_with("Not suitable: a call takes 50 ns of work and 950 ns")
        );
        assert!(verdict(19_000_000, 20_000_000).starts_with("Suitable only if"));
        assert!(verdict(20_000_000, 20_000_000).starts_with("Suitable: "));
        assert!(verdict(2, 1).starts_with("Suitable: "));
    }
}
