//! `demo directory`: a program among 2, 4,200 and 100,000 members, in both organisations, without LLA and with it.
//!
//! A PDS is searched sequentially by one channel program, however long the search takes: the count of channel programs stays
//! the same, the time grows. A PDSE has an index. With LLA neither is searched.
//! Not here: the cost of loading itself (`load_blocksize`, `load_pdse`).

use underbar_partitioned::attribute::FetchOptions;
use underbar_report::units::count;
use underbar_store::library::Organisation;

use super::article::{DIRECTORY, DIRECTORY_LARGE};
use super::load_blocksize::LARGE_TEXT;
use super::loads::{RUNS, at_most, counted, cpu_each, each, loads, note, nothing_fell_back, refused, table};
use super::measure::{Arm, Machine, Problem, Rounds};
use super::module::Module;
use super::output::{Check, Output, Table};
use super::progress::Progress;
use super::workshop::{Workshop, nothing, program};
use super::{Parameters, order};

/// The numbers of members in the libraries.
const MEMBERS: [usize; 3] = [2, 4_200, 100_000];
const TINY: &str = "IEFBR14";
const LARGE: &str = "ARCCTL";
/// LOADs of the tiny program: the article's count; fewer where each searches half of 4,200 or 100,000 names.
const LOADS: [u64; 3] = [5_000, 1_000, 50];
/// LOADs where each searches an index, or nothing.
const LOADS_BY_INDEX: u64 = 5_000;
const DIRECT: [u64; 3] = [250, 100, 5];
const LARGE_LOADS: u64 = 20;

/// Runs it.
pub fn run(parameters: &Parameters) -> Result<Output, Problem> {
    let runs = parameters.runs.unwrap_or(RUNS);
    let mut output = Output::new("directory", "a program among few members and many", parameters, runs);
    let machine = Machine::new(parameters)?;
    let (mut progress, mut order) = (Progress::new(parameters.quiet), order(parameters));
    let workshop = Workshop::new("directory")?;
    progress.part("making libraries");
    let mut libraries = Vec::new();
    for organisation in [Organisation::Pds, Organisation::Pdse] {
        for (at, members) in MEMBERS.into_iter().enumerate() {
            progress.step(libraries.len(), 2 * MEMBERS.len());
            libraries.push((organisation, at, library(&workshop, organisation, members)?));
        }
    }
    let arms = |way: &str, times: fn(Organisation, usize) -> u64| -> Vec<Arm> {
        let arm = |(organisation, at, path): &(Organisation, usize, String)| {
            loads(&named(*organisation, MEMBERS[*at]), path, TINY, way, times(*organisation, *at))
        };
        libraries.iter().map(arm).collect()
    };
    let by_search = |organisation, at: usize| match organisation {
        Organisation::Pds => LOADS[at],
        Organisation::Pdse => LOADS_BY_INDEX,
    };
    let large =
        libraries.iter().filter(|(organisation, at, _)| *organisation == Organisation::Pds && *at < 2);
    let large: Vec<Arm> = large
        .map(|(organisation, at, path)| {
            loads(&named(*organisation, MEMBERS[*at]), path, LARGE, "plain", LARGE_LOADS)
        })
        .collect();
    let mut rounds = |part, arms: Vec<Arm>| -> Result<Rounds, Problem> {
        progress.part(part);
        machine.rounds(arms, runs, &mut order, &mut progress)
    };
    let searched = rounds("without LLA", arms("plain", by_search))?;
    let direct = rounds(
        "past the page cache",
        arms("direct", |organisation, at| match organisation {
            Organisation::Pds => DIRECT[at],
            Organisation::Pdse => DIRECT[0],
        }),
    )?;
    let known = rounds("with LLA", arms("lookaside", |_, _| LOADS_BY_INDEX))?;
    let large = rounds("4 MB", large)?;
    output.tables = vec![
        table("8 bytes, without LLA, through the page cache".to_owned(), &searched, &DIRECTORY),
        table(
            "8 bytes, without LLA, past the page cache: only what a LOAD reads".to_owned(),
            &direct,
            &DIRECTORY,
        ),
        table("8 bytes, with LLA".to_owned(), &known, &[]),
        table("4 MB, without LLA, through the page cache".to_owned(), &large, &DIRECTORY_LARGE),
    ];
    output.checks = checks(&output.tables, [&searched, &direct, &known, &large]);
    output.notes.push(note());
    output.notes.push(
        "The program's name lies in the middle of the others, which hold nothing. One channel program searches the whole \
         directory of a PDS, so EXCPs stay while blocks and time grow. Of a PDSE, each page of the index on the way down is \
         an EXCP by the article's count: one, two or three, whatever the number of members."
            .to_owned(),
    );
    output.notes.push(
        "The document's 4-MB program took 426 EXCPs among 2 members and 502 among 4,200: where a program begins on its track \
         decides how its blocks are cut. By how much is an accident of the library, here as there."
            .to_owned(),
    );
    output.notes.extend(refused(&direct, workshop.folder()));
    Ok(output)
}

fn named(organisation: Organisation, members: usize) -> String {
    format!("{}, {} members", organisation.text(), count(members as u64))
}

/// Makes a library of the two programs and enough other members: half of these have names before theirs, half after.
fn library(workshop: &Workshop, organisation: Organisation, members: usize) -> Result<String, Problem> {
    let others = members.saturating_sub(2);
    let around = (0..others).map(|number| {
        let first = if number % 2 == 0 { 'A' } else { 'Z' };
        nothing(&format!("{first}{number:06}"))
    });
    let module = Module::of;
    let programs = [
        program(TINY, &module(TINY, 8), FetchOptions::Default),
        program(LARGE, &module(LARGE, LARGE_TEXT), FetchOptions::Default),
    ];
    let name = format!("{}-{members}", organisation.text());
    workshop.library(&name, organisation, 32_760, around.chain(programs), members)
}

fn checks(tables: &[Table], rounds: [&Rounds; 4]) -> Vec<Check> {
    let [searched, _, known, _] = rounds;
    let of = |table: usize, organisation: Organisation, figure: &str| -> Option<Vec<u64>> {
        let arms = tables[table]
            .arms
            .iter()
            .filter(|arm| arm.name.starts_with(&format!("{},", organisation.text())));
        arms.map(|arm| each(arm, figure)).collect()
    };
    let (pds, pdse) = (Organisation::Pds, Organisation::Pdse);
    let mut checks = vec![
        counted(
            "pds_article",
            "PDS: channel programs by the article's count",
            of(0, pds, "programs_by_article"),
            |all| all.iter().all(|count| *count == 2),
        ),
        counted("pds_searched", "PDS: directory blocks searched", of(0, pds, "directory_blocks"), |all| {
            // The program is in the middle of the names, and a block holds only a few of them.
            all.windows(2).all(|pair| pair[0] < pair[1])
                && all.iter().zip(MEMBERS).all(|(blocks, members)| *blocks <= members as u64 / 2 + 1)
                && all.iter().zip(MEMBERS).all(|(blocks, members)| *blocks * 24 >= members as u64 / 2)
        }),
        counted(
            "pdse_searched",
            "PDSE: pages of the index searched",
            of(0, pdse, "directory_blocks"),
            |all| all.iter().all(|pages| (1..=4).contains(pages)),
        ),
        counted(
            "pdse_fetch",
            "PDSE: channel programs by the count of MVS 3.8's fetch",
            of(0, pdse, "programs_by_fetch"),
            |all| all.iter().all(|count| *count == 2),
        ),
    ];
    for (name, what, organisation) in [("pds_lla", "PDS", pds), ("pdse_lla", "PDSE", pdse)] {
        let text = format!("{what} with LLA: directory blocks searched");
        checks.push(counted(name, &text, of(2, organisation, "directory_blocks"), |all| {
            all.iter().all(|count| *count == 0)
        }));
    }
    checks.push(nothing_fell_back(&rounds));
    let arm = |organisation, members| named(organisation, members);
    let mut ratio = |name, what: &str, rounds: &Rounds, organisation, at: usize, limit| {
        let (large, small) = (arm(organisation, MEMBERS[at]), arm(organisation, MEMBERS[0]));
        checks.extend(at_most(name, what, (rounds, cpu_each), [&large, &small], limit));
    };
    ratio("pdse_cpu", "without LLA, CPU", searched, pdse, 2, 1.10);
    ratio("pds_lla_cpu", "with LLA, CPU", known, pds, 2, 1.10);
    ratio("pdse_lla_cpu", "with LLA, CPU", known, pdse, 2, 1.10);
    if let (Some(large), Some(small)) =
        (searched.place(&arm(pds, MEMBERS[2])), searched.place(&arm(pds, MEMBERS[0])))
    {
        let ratio = searched.said_ratio(large, small, cpu_each);
        let what = format!("without LLA, CPU, {} to {}", searched.name(large), searched.name(small));
        checks.push(Check::more("pds_cpu", &what, ratio));
    }
    checks
}
