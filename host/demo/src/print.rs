//! `demo print`: programs that pass on each line into a file, as they are and with a cache for the file.
//!
//! The document: 10,000 lines of 132 characters, 10,003 switches and 386 ms without a cache for print files, 10 and 68 ms with one. The
//! writers are unmodified: C++ (`std::endl` of a file and of cout), C (`fflush`), Python (`flush=True`), Perl (`$|`).
//! A writer of C that passes on nothing (`puts`) shows what is left to save.
//! Not here: the caches (`underbar_filecache`).

use std::path::Path;
use std::process::Command;

use underbar_report::units::{count, nanoseconds};

use super::document::PRINT;
use super::measure::{Arm, Figured, Machine, Problem, Rounds, Server};
use super::output::{Check, Column, Output, Table};
use super::progress::Progress;
use super::saving;
use super::workshop::Workshop;
use super::{Parameters, order, words};

/// The smallest number of rounds with an interval.
const RUNS: usize = 6;
pub(super) const LINES: u64 = 10_000;
pub(super) const BYTES: u64 = LINES * 133;
/// Writes for 10,000 lines, with a cache of 132,000 bytes.
pub(super) const MOST_WRITES: u64 = 11;
/// The cache, in KB.
pub(super) const CACHE: u64 = 132;
const SUM: u64 = LINES * (132 * 'x' as u64 + 10);

const ELAPSED: Column = Column::new(
    "elapsed",
    |_, arm| arm.said.get("elapsed_ns").copied().map(nanoseconds),
    |row| row.cpu_ns.map(nanoseconds),
);

/// A way of writing: its name in tables, and its program.
struct Way {
    name: &'static str,
    program: Vec<String>,
}

/// Runs it.
pub fn run(parameters: &Parameters) -> Result<Output, Problem> {
    let runs = parameters.runs.unwrap_or(RUNS);
    let title = "10,000 lines of 132 characters, each passed on at its end";
    let mut output = Output::new("print", title, parameters, runs);
    let workshop = Workshop::new("print")?;
    let file = workshop.path("lines.out")?;
    let ways = ways(&workshop, &file)?;
    // Programs of several languages: `env` becomes each of them.
    let machine = Machine::of_program(Path::new("/usr/bin/env"), parameters)?;
    let mut progress = Progress::new(parameters.quiet);
    progress.part("lines");
    let rounds = machine.rounds(arms(&ways, &file), runs, &mut order(parameters), &mut progress)?;
    let arms = rounds.figured();
    let (right, all) =
        rounds.said_is(|said| said.get("bytes") == Some(&BYTES) && said.get("sum") == Some(&SUM));
    output.checks.push(Check::count(
        "same_bytes",
        right == all,
        format!("in {right} of {all} runs the file has all lines, byte by byte"),
    ));
    output.checks.push(few_writes(&ways, &arms));
    output.pages.push(savings(&ways, &rounds, &arms));
    output.tables.push(Table {
        document: PRINT.to_vec(),
        ..Table::new(
            format!("{} lines into a file", count(LINES)),
            arms,
            vec![vec![Column::OWN_WRITES, ELAPSED]],
        )
    });
    output.notes = vec![
        "The ratio of the document's switches is that of the writes here. Its time is not: a switch took 32 us there, and a write of a \
         line into a file takes less than one here. The document's times are CPU times."
            .to_owned(),
        "Time is that inside the program, from the open to the close of the file; the start of the program is not in it.".to_owned(),
    ];
    Ok(output)
}

/// The writers that this machine can run.
fn ways(workshop: &Workshop, file: &str) -> Result<Vec<Way>, Problem> {
    let needs = "the demo compiles a program of C++ (apt-get install g++)";
    let lines = workshop.compiled_by("c++", "lines.cc", include_str!("programs/lines.cc"), &[], needs)?;
    let lines = lines.to_string_lossy();
    let compiled = |name, how: &str| Way { name, program: words(&[&lines, how, file]) };
    let mut ways = vec![
        compiled("C++ endl", "endl"),
        compiled("C++ cout", "cout"),
        compiled("C++ cout alone", "nosync"),
        compiled("C fflush", "fflush"),
        compiled("C puts", "puts"),
    ];
    for (name, interpreter, script, source) in [
        ("Python flush=True", "python3", "lines.py", include_str!("programs/lines.py")),
        ("Perl $|", "perl", "lines.pl", include_str!("programs/lines.pl")),
    ] {
        if Command::new(interpreter).args(["-c", ""]).output().is_ok() {
            let script = workshop.file(script, source)?;
            ways.push(Way { name, program: words(&[interpreter, &script, file]) });
        }
    }
    Ok(ways)
}

fn cached(way: &Way) -> String {
    format!("{}, cached", way.name)
}

fn arms(ways: &[Way], file: &str) -> Vec<Arm> {
    let both = |way: &Way| {
        let arm = |name, server| Arm { name, server, program: way.program.clone() };
        let options = format!("WORKFILE('{file}',0,{CACHE})");
        [arm(way.name.to_owned(), Server::Plain), arm(cached(way), Server::Underbar(options))]
    };
    ways.iter().flat_map(both).collect()
}

fn few_writes(ways: &[Way], arms: &[Figured]) -> Check {
    let writes = |way: &Way| {
        let arm = arms.iter().find(|arm| arm.name == cached(way))?;
        arm.said.get("writes").map(|writes| (way.name, *writes))
    };
    let all: Vec<(&str, u64)> = ways.iter().filter_map(writes).collect();
    let (name, most) = all.iter().max_by_key(|(_, writes)| *writes).copied().unwrap_or(("", 0));
    let passed = most <= MOST_WRITES;
    Check::count(
        "few_writes",
        passed,
        match name {
            "" => "the kernel does not tell its counts of writes".to_owned(),
            name => format!("with the cache at most {} writes, by {name}", count(most)),
        },
    )
}

/// The savings of each way.
fn savings(ways: &[Way], rounds: &Rounds, arms: &[Figured]) -> String {
    let line = |way: &Way| {
        let (ours, plain) = (rounds.place(&cached(way))?, rounds.place(way.name)?);
        let time = arms.get(plain)?.said.get("elapsed_ns").copied()?;
        let ratio = rounds.said_ratio(ours, plain, |said| said.get("elapsed_ns").map(|time| *time as f64));
        Some(format!("{}\n", saving::words(way.name, "line", LINES, time, &ratio)))
    };
    ways.iter().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_is_there_plain_and_cached() {
        let way = Way { name: "C", program: words(&["lines", "fflush", "/f"]) };
        let arms = arms(&[way], "/f");
        assert_eq!(arms.iter().map(|arm| arm.name.as_str()).collect::<Vec<_>>(), ["C", "C, cached"]);
        assert!(matches!(&arms[1].server, Server::Underbar(options) if options == "WORKFILE('/f',0,132)"));
    }
}
