//! `demo bus`: the BUS report of a program that reads one work file and writes two, and a sweep of sizes.
//!
//! The document: a report with PCACHE, WCACHEO and WCACHE01; sizes set by PCWSIZE=(300,200,300); "several 100 KB are sufficient". One
//! cache serves all files that are written, one each file that is read, and none is there before it is used.
//! Not here: the layout (`underbar_report::bus`), and the caches (`underbar_filecache`).

use underbar_report::bus;
use underbar_report::model::Report;
use underbar_report::units::count;

use super::measure::{Arm, Figured, Machine, Problem, Server};
use super::output::{Check, Column, Output, Table};
use super::progress::Progress;
use super::work_file::{RECORDS, SOURCE};
use super::workshop::{NEEDS_C, Workshop};
use super::{Parameters, order, words};

/// The smallest number of rounds with an interval.
const RUNS: usize = 6;
/// Records that the program writes into two files.
const WRITTEN: u64 = 8_000;
const PLAIN: &str = "plain";
/// Sizes of the sweep, in KB.
const SIZES: [u64; 6] = [1, 4, 16, 64, 256, 1024];

/// Runs it.
pub fn run(parameters: &Parameters) -> Result<Output, Problem> {
    let runs = parameters.runs.unwrap_or(RUNS);
    let title = "buffers of work files: their use, and how large they should be";
    let mut output = Output::new("bus", title, parameters, runs);
    let workshop = Workshop::new("bus")?;
    let machine = Machine::of_program(&workshop.compiled("records", SOURCE, &[], NEEDS_C)?, parameters)?;
    let folder = workshop.folder().to_string_lossy().into_owned();
    let input = workshop.path("input")?;
    let arm =
        |name: &str, server, program: &[&str]| Arm { name: name.to_owned(), server, program: words(program) };
    machine.once(&arm("made", Server::Plain, &["write", &input]))?;
    let set = Server::Underbar(format!("PCWSIZE(300,200,300) WORKFILE('{folder}/*')"));
    let report = machine.once(&arm("buffers", set, &["buffers", &folder]))?.report;
    let report = report.ok_or_else(|| Problem::NoAccounts("no report".to_owned()))?;
    output.pages.push(bus::render(&report));
    output.checks.extend(checks(&report));
    let mut progress = Progress::new(parameters.quiet);
    progress.part("sizes");
    let mut arms = vec![arm(PLAIN, Server::Plain, &["buffers", &folder])];
    for size in SIZES {
        let options = format!("WORKFILE('{folder}/*',0,{size})");
        arms.push(arm(&sized(size), Server::Underbar(options), &["buffers", &folder]));
    }
    let rounds = machine.rounds(arms, runs, &mut order(parameters), &mut progress)?;
    let arms = rounds.figured();
    output.pages.push(enough(&arms));
    let (right, all) = rounds.said_is(|said| said.get("records") == Some(&RECORDS));
    output.checks.push(Check::count(
        "all_records",
        right == all,
        format!("{right} of {all} runs read all records"),
    ));
    output.tables.push(Table::new(
        format!("{} records of 80 bytes into two files, by the size of their cache", count(WRITTEN)),
        arms,
        vec![vec![Column::OWN_WRITES, Column::OWN_ELAPSED]],
    ));
    output.notes.push(
        "The document: \"several 100 KB are sufficient\". A write costs less than a microsecond here, so a few KB are."
            .to_owned(),
    );
    Ok(output)
}

fn sized(kilobytes: u64) -> String {
    format!("WORKFILE(,0,{kilobytes})")
}

/// Rows of the report: one for both files that are written, one for the one that is read, none for print.
fn checks(report: &Report) -> Vec<Check> {
    let buffers = || report.processes.iter().flat_map(|process| &process.buffers);
    let of = |name: &str| buffers().find(|buffer| buffer.name == name && buffer.files > 0);
    let written = of("WCACHEO").map(|buffer| (buffer.files, buffer.calls, buffer.size >> 10));
    let read = of("WCACHE01").map(|buffer| (buffer.files, buffer.size >> 10));
    let shown = |it: Option<String>| it.unwrap_or_else(|| "none".to_owned());
    vec![
        Check::count(
            "one_cache_for_all_output",
            written == Some((2, WRITTEN, 300)),
            format!(
                "WCACHEO: {}",
                shown(
                    written.map(|(files, calls, size)| format!(
                        "{files} files, {} calls, {size} KB",
                        count(calls)
                    ))
                )
            ),
        ),
        Check::count(
            "one_cache_for_each_input",
            read == Some((1, 200)),
            format!("WCACHE01: {}", shown(read.map(|(files, size)| format!("{files} file, {size} KB")))),
        ),
        Check::count(
            "none_before_use",
            of("PCACHE").is_none(),
            "nothing was printed, and there is no PCACHE".to_owned(),
        ),
    ]
}

/// From which size on more does not help: at most one record of a hundred is a write then.
fn enough(arms: &[Figured]) -> String {
    let writes = |name: &str| arms.iter().find(|arm| arm.name == name)?.said.get("writes").copied();
    let Some(plain) = writes(PLAIN) else {
        return "The kernel does not tell its counts of writes.\n".to_owned();
    };
    let is_enough =
        |size: &u64| writes(&sized(*size)).is_some_and(|writes| writes.saturating_mul(100) <= plain);
    match SIZES.into_iter().find(is_enough) {
        Some(size) => {
            format!("From {size} KB on, at most one of 100 records is a write: more saves nearly nothing.\n")
        }
        None => "With no size of these at most one of 100 records is a write.\n".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use underbar_report::buffers::Buffer;
    use underbar_report::sample;

    #[test]
    fn the_rules_of_the_document_are_checked() {
        let mut report = sample::getfree();
        assert_eq!(
            checks(&report).iter().filter(|check| check.result == super::super::output::Result::Pass).count(),
            1
        );
        let of = |name: &str, files, calls, size: u64| Buffer {
            name: name.to_owned(),
            files,
            calls,
            size: size << 10,
            ..Buffer::default()
        };
        report.processes[0].buffers = vec![of("WCACHEO", 2, WRITTEN, 300), of("WCACHE01", 1, RECORDS, 200)];
        assert!(checks(&report).iter().all(|check| check.result == super::super::output::Result::Pass));
    }
}
