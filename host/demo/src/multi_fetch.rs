//! `demo multifetch`: a table of PostgreSQL that is read row by row through libpq, and the same program under MULTIFETCH.
//!
//! The document: "100,000 records", 100,000 switches without multi-fetch and 12,500 with factor 8, 5,389 and 958 ms of CPU time. The
//! client is a program of C (`programs/fetches.c`), compiled here and unchanged between the rows. Two more rows are clients that fetch
//! 100 rows at a time, or the whole result, by themselves: they show what is left to gain.
//! Not here: which cursors may be read ahead (`underbar_multifetch`).

use std::path::PathBuf;

use underbar_ledger::Key;
use underbar_report::units::{count, nanoseconds};

use super::document::MULTIFETCH;
use super::measure::{Arm, Figured, Machine, Problem, Server};
use super::output::{Check, Column, Output, Table};
use super::postgres;
use super::progress::Progress;
use super::workshop::Workshop;
use super::{Parameters, order};

/// The smallest number of rounds with an interval.
const RUNS: usize = 6;
const ROWS: u64 = 100_000;
const SOURCE: &str = include_str!("programs/fetches.c");
const PLAIN: &str = "FETCH 1";
const HUNDRED: &str = "FETCH 100, by the program";
const WHOLE: &str = "no cursor";
const FACTORS: [u64; 3] = [8, 100, 1_000];
/// Fetches that 100,000 rows may take at factor 8: with the messages that begin and end the work, 12,510 are sent.
const MOST_AT_8: u64 = 12_505;

const FETCHES: Column =
    Column::new("fetches sent", |_, arm| fetches(arm).map(count), |row| row.excp.map(count));
const CPU: Column = Column::new(
    "CPU of the client",
    |_, arm| arm.said.get("cpu_ns").copied().map(nanoseconds),
    |row| row.cpu_ns.map(nanoseconds),
);

/// Runs it.
pub fn run(parameters: &Parameters) -> Result<Output, Problem> {
    let runs = parameters.runs.unwrap_or(RUNS);
    let title = "100,000 rows of a cursor, fetched one by one";
    let mut output = Output::new("multifetch", title, parameters, runs);
    let workshop = Workshop::new("multifetch")?;
    let client = compiled(&workshop)?;
    let mut progress = Progress::new(parameters.quiet);
    progress.part("server");
    let server = postgres::Server::start(workshop.folder())?;
    server.execute(&format!(
        "create table fetched(id int primary key, pad text); \
         insert into fetched select g, repeat('x', 80) from generate_series(1, {ROWS}) g; analyze fetched"
    ))?;
    let machine = Machine::of_program(&client, parameters)?;
    let folder = server.folder().to_string_lossy().into_owned();
    progress.part("rows");
    let rounds = machine.rounds(arms(&folder), runs, &mut order(parameters), &mut progress)?;
    let arms = rounds.figured();
    let (right, all) = rounds
        .said_is(|said| said.get("rows") == Some(&ROWS) && said.get("sum") == Some(&(ROWS * (ROWS + 1) / 2)));
    output.checks.push(Check::count(
        "all_rows",
        right == all,
        format!("in {right} of {all} runs the client got all rows, with the right sum"),
    ));
    let place = |name: &str| rounds.place(name).unwrap_or(0);
    let at_8 = arms.get(place(&name_of(8))).and_then(fetches).unwrap_or(u64::MAX);
    output.checks.push(Check::count(
        "fetches_at_8",
        at_8 <= MOST_AT_8,
        format!("factor 8: {} fetches are sent for {} rows", count(at_8), count(ROWS)),
    ));
    for (factor, least) in [(8, 5.0), (100, 15.0)] {
        let what = format!("elapsed time under MULTIFETCH({factor}) to that of the same program without");
        let ratio = rounds.said_ratio(place(&name_of(factor)), place(PLAIN), |said| {
            said.get("elapsed_ns").map(|time| *time as f64)
        });
        let name = if factor == 8 { "time_at_8" } else { "time_at_100" };
        output.checks.push(Check::at_most(name, &what, ratio, 1.0 / least));
    }
    output.tables.push(Table {
        document: MULTIFETCH.to_vec(),
        ..Table::new(
            format!("{} rows of a number and 80 characters, on a socket of this machine", count(ROWS)),
            arms,
            vec![vec![FETCHES, Column::OWN_ELAPSED, CPU]],
        )
    });
    output.notes = vec![
        "The document's switches are calls of Adabas that leave the zIIP; here they are messages to the server. The ratio of their numbers \
         is the factor on both systems. The ratio of times depends on the way to the server: over a network it is larger."
            .to_owned(),
        format!(
            "Clients that gain nothing: those that fetch many rows by themselves, as in the row \"{HUNDRED}\" (psycopg2's iteration takes \
             2,000 at a time, pgjdbc has defaultRowFetchSize), those without a cursor, as in \"{WHOLE}\", and those without libpq."
        ),
    ];
    Ok(output)
}

/// Compiles the client with the user's compiler, against the user's libpq.
fn compiled(workshop: &Workshop) -> Result<PathBuf, Problem> {
    workshop.compiled(
        "fetches",
        SOURCE,
        &["-lpq"],
        "the demo compiles a client of C over libpq (apt-get install gcc libpq-dev postgresql)",
    )
}

fn name_of(factor: u64) -> String {
    format!("{PLAIN}, MULTIFETCH({factor})")
}

fn arms(folder: &str) -> Vec<Arm> {
    let arm = |name: String, server, how: &str| Arm { name, server, program: super::words(&[folder, how]) };
    let mut arms = vec![arm(PLAIN.to_owned(), Server::Plain, "one")];
    for factor in FACTORS {
        arms.push(arm(name_of(factor), Server::Underbar(format!("MULTIFETCH({factor})")), "one"));
    }
    arms.push(arm(HUNDRED.to_owned(), Server::Plain, "hundred"));
    arms.push(arm(WHOLE.to_owned(), Server::Plain, "whole"));
    arms
}

/// Fetches that the server got: those of the program that no larger fetch answered, and the larger ones.
fn fetches(arm: &Figured) -> Option<u64> {
    let of = |key| arm.counter(key).unwrap_or(0);
    let calls = *arm.said.get("calls")?;
    Some(calls.saturating_sub(of(Key::FetchServed)) + of(Key::FetchSent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_has_a_name_of_its_own() {
        let names: Vec<String> = arms("/socket").into_iter().map(|arm| arm.name).collect();
        let mut different = names.clone();
        different.dedup();
        assert_eq!(names, different);
        assert!(names.contains(&name_of(8)) && names.len() == 6);
    }
}
