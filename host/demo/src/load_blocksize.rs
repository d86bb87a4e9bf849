//! `demo load-blocksize`: a large program and a tiny one, loaded from a PDS of each block size.
//!
//! The large one is cheaper in larger blocks; the tiny one is one block at any size. Past the page cache each block is a
//! request to the device, as on z/OS. Through the page cache, only the cost of the loader itself remains.
//! Not here: PDSE and dlopen (`load_pdse`), tracks of whole libraries (`tracks`).

use underbar_partitioned::attribute::FetchOptions;
use underbar_report::units::count;
use underbar_store::library::Organisation;

use super::article::{LARGE, TINY};
use super::loads::{
    BLOCK_SIZES, RUNS, all_of, at_most, counted, cpu_each, elapsed_each, equal, falling, loads, note,
    nothing_fell_back, refused, table,
};
use super::measure::{Arm, Machine, Problem, Rounds};
use super::module::Module;
use super::output::{Check, Output};
use super::progress::Progress;
use super::workshop::{Workshop, program};
use super::{Parameters, order};

/// Bytes of text of a program of 4 MB in all.
pub const LARGE_TEXT: usize = (4 << 20) - 4096;
const LARGE_NAME: &str = "ARCCTL";
const TINY_NAME: &str = "IEFBR14";
/// LOADs in a run: for the large program fewer than the article's 1,000, since each run is repeated.
const LARGE_LOADS: u64 = 50;
const LARGE_DIRECT: u64 = 5;
const TINY_LOADS: u64 = 5_000;
const TINY_DIRECT: u64 = 250;

/// Runs it.
pub fn run(parameters: &Parameters) -> Result<Output, Problem> {
    let runs = parameters.runs.unwrap_or(RUNS);
    let mut output =
        Output::new("load-blocksize", "programs loaded from a PDS, by block size", parameters, runs);
    let machine = Machine::new(parameters)?;
    let (mut progress, mut order) = (Progress::new(parameters.quiet), order(parameters));
    let workshop = Workshop::new("load-blocksize")?;
    let mut libraries = Vec::new();
    progress.part("making libraries");
    for (at, size) in BLOCK_SIZES.into_iter().enumerate() {
        progress.step(at, BLOCK_SIZES.len());
        libraries.push((format!("PDS {}", count(u64::from(size))), library(&workshop, size)?));
    }
    let arms = |member: &str, way: &str, times: u64| -> Vec<Arm> {
        libraries.iter().map(|(name, path)| loads(name, path, member, way, times)).collect()
    };
    let mut rounds = |part, member, way, times| -> Result<Rounds, Problem> {
        progress.part(part);
        machine.rounds(arms(member, way, times), runs, &mut order, &mut progress)
    };
    let large = rounds("4 MB", LARGE_NAME, "plain", LARGE_LOADS)?;
    let large_direct = rounds("4 MB past the page cache", LARGE_NAME, "direct", LARGE_DIRECT)?;
    let tiny = rounds("8 bytes", TINY_NAME, "plain", TINY_LOADS)?;
    let tiny_direct = rounds("8 bytes past the page cache", TINY_NAME, "direct", TINY_DIRECT)?;
    let title = |what: &str, how: &str| format!("{what}, {how}");
    const CACHED: &str = "through the page cache: LOAD and DELETE by our loader, nothing kept";
    const DIRECT: &str = "past the page cache: only what a LOAD reads, each block parameters of the device";
    output.tables = vec![
        table(title("a program of 4 MB", CACHED), &large, &LARGE),
        table(title("a program of 4 MB", DIRECT), &large_direct, &LARGE),
        table(title("a program of 8 bytes", CACHED), &tiny, &TINY),
        table(title("a program of 8 bytes", DIRECT), &tiny_direct, &TINY),
    ];
    output.checks = checks(&output.tables, [&large, &large_direct, &tiny, &tiny_direct]);
    output.notes.push(note());
    output.notes.push(
        "The document's program of 4 MB is another one, so its counts are others; what can be compared is how they fall from \
         the smallest blocks to the largest."
            .to_owned(),
    );
    output.notes.extend(refused(&large_direct, workshop.folder()));
    Ok(output)
}

fn library(workshop: &Workshop, block_size: u32) -> Result<String, Problem> {
    let module = Module::of;
    let members = [
        program(LARGE_NAME, &module(LARGE_NAME, LARGE_TEXT), FetchOptions::Default),
        program(TINY_NAME, &module(TINY_NAME, 8), FetchOptions::Default),
    ];
    workshop.library(&block_size.to_string(), Organisation::Pds, block_size, members, 2)
}

fn checks(tables: &[super::output::Table], rounds: [&Rounds; 4]) -> Vec<Check> {
    let of = |table: usize, figure: &str| all_of(&tables[table].arms, figure);
    let [large, large_direct, tiny, _] = rounds;
    let mut checks = vec![
        counted(
            "large_article",
            "4 MB: channel programs by the article's count",
            of(0, "programs_by_article"),
            falling,
        ),
        counted(
            "large_fetch",
            "4 MB: channel programs by the count of MVS 3.8's fetch",
            of(0, "programs_by_fetch"),
            |all| all.iter().all(|count| *count == 2),
        ),
        counted("large_blocks", "4 MB: blocks", of(0, "blocks"), falling),
        counted(
            "tiny_article",
            "8 bytes: channel programs by the article's count",
            of(2, "programs_by_article"),
            |all| all.iter().all(|count| *count == 2),
        ),
        counted("tiny_blocks", "8 bytes: blocks", of(2, "blocks"), |all| all.iter().all(|count| *count == 1)),
        nothing_fell_back(&rounds),
    ];
    // The counts are those of the library's contents, however they are read.
    for (name, what, cached, direct) in [("large_same", "4 MB", 0, 1), ("tiny_same", "8 bytes", 2, 3)] {
        if !tables[direct].arms.is_empty() {
            let same = ["programs_by_article", "programs_by_fetch", "blocks", "tracks", "directory_blocks"]
                .iter()
                .all(|figure| of(cached, figure).is_some() && of(cached, figure) == of(direct, figure));
            let text = format!(
                "{what}: counts with and without the page cache are {}",
                if same { "equal" } else { "not equal" }
            );
            checks.push(Check::count(name, same, text));
        }
    }
    if !tables[1].arms.is_empty() {
        checks.push(counted("large_reads", "4 MB: reads of the device", of(1, "device_reads"), falling));
        checks.push(counted("tiny_reads", "8 bytes: reads of the device", of(3, "device_reads"), equal));
    }
    let ends = ["PDS 32,760", "PDS 6,144"];
    let direct = (large_direct, elapsed_each as fn(&_) -> _);
    checks.extend(at_most("large_direct_elapsed", "4 MB past the page cache, elapsed", direct, ends, 0.75));
    checks.extend(at_most("large_cpu", "4 MB through the page cache, CPU", (large, cpu_each), ends, 1.00));
    checks.extend(at_most("tiny_cpu", "8 bytes through the page cache, CPU", (tiny, cpu_each), ends, 1.10));
    checks
}
