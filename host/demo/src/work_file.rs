//! `demo workfile`: an unmodified reader of 80-byte records, as it is and with a cache for its work file.
//!
//! The document: 10,000 records read, 10,478 switches and 641 ms without a cache, 5 and 305 ms with one of 300 KB.
//! Not here: the caches (`underbar_filecache`).

use underbar_report::units::{count, nanoseconds};

use super::document::WORKFILE;
use super::measure::{Arm, Machine, Problem, Server};
use super::output::{Check, Column, Output, Table};
use super::progress::Progress;
use super::saving;
use super::workshop::{NEEDS_C, Workshop};
use super::{Parameters, order, words};

/// The smallest number of rounds with an interval.
const RUNS: usize = 6;
pub(super) const SOURCE: &str = include_str!("programs/records.c");
pub(super) const RECORDS: u64 = 10_478;
/// Reads with a cache of 300 KB.
const MOST_READS: u64 = 5;
const PLAIN: &str = "read by read";
const SIZES: [u64; 3] = [300, 32, 4];

const READS: Column =
    Column::new("reads", |_, arm| arm.said.get("reads").copied().map(count), |row| row.excp.map(count));
const ELAPSED: Column = Column::new(
    "elapsed",
    |_, arm| arm.said.get("elapsed_ns").copied().map(nanoseconds),
    |row| row.cpu_ns.map(nanoseconds),
);

/// Runs it.
pub fn run(parameters: &Parameters) -> Result<Output, Problem> {
    let runs = parameters.runs.unwrap_or(RUNS);
    let title = "10,478 records of 80 bytes, read one by one";
    let mut output = Output::new("workfile", title, parameters, runs);
    let workshop = Workshop::new("workfile")?;
    let reader = workshop.compiled("records", SOURCE, &[], NEEDS_C)?;
    let file = workshop.path("input")?;
    let machine = Machine::of_program(&reader, parameters)?;
    machine.once(&Arm {
        name: "made".to_owned(),
        server: Server::Plain,
        program: words(&["write", &file]),
    })?;
    let mut progress = Progress::new(parameters.quiet);
    progress.part("records");
    let rounds = machine.rounds(arms(&file), runs, &mut order(parameters), &mut progress)?;
    let arms = rounds.figured();
    let first = arms.first().and_then(|arm| arm.said.get("sum").copied());
    let all_read = arms
        .iter()
        .all(|arm| arm.said.get("records") == Some(&RECORDS) && arm.said.get("sum").copied() == first);
    output.checks.push(Check::count(
        "all_records",
        all_read && first.is_some(),
        format!("every run reads {} records, with the same sum", count(RECORDS)),
    ));
    let reads = |size| {
        let arm = arms.iter().find(|arm| arm.name == cached(size))?;
        arm.said.get("reads").copied()
    };
    output.checks.push(match reads(SIZES[0]) {
        Some(reads) => Check::count(
            "few_reads",
            reads <= MOST_READS,
            format!("with a cache of 300 KB: {} reads", count(reads)),
        ),
        None => Check::count("few_reads", true, "the kernel does not tell its counts of reads".to_owned()),
    });
    let time = arms.first().and_then(|arm| arm.said.get("elapsed_ns").copied()).unwrap_or(0);
    let savings = SIZES.into_iter().filter_map(|size| {
        let ratio = rounds.said_ratio(rounds.place(&cached(size))?, 0, |said| {
            said.get("elapsed_ns").map(|time| *time as f64)
        });
        Some(format!("{}\n", saving::words(&cached(size), "record", RECORDS, time, &ratio)))
    });
    output.pages.push(savings.collect());
    output.tables.push(Table {
        document: WORKFILE.to_vec(),
        ..Table::new(format!("{} records of 80 bytes", count(RECORDS)), arms, vec![vec![READS, ELAPSED]])
    });
    output.notes = vec![
        "A larger cache is not always faster: one of a few KB stays in the processor's own cache. The document's times are CPU times; a \
         switch took 32 us there, a read of a record less than one here."
            .to_owned(),
    ];
    Ok(output)
}

fn cached(size: u64) -> String {
    format!("cache of {size} KB")
}

fn arms(file: &str) -> Vec<Arm> {
    let arm = |name, server| Arm { name, server, program: words(&["read", file]) };
    let mut arms = vec![arm(PLAIN.to_owned(), Server::Plain)];
    arms.extend(
        SIZES.map(|size| arm(cached(size), Server::Underbar(format!("WORKFILE('{file}',{size},0)")))),
    );
    arms
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_size_has_a_row() {
        let names: Vec<String> = arms("/f").into_iter().map(|arm| arm.name).collect();
        assert_eq!(names, [PLAIN, "cache of 300 KB", "cache of 32 KB", "cache of 4 KB"]);
    }
}
