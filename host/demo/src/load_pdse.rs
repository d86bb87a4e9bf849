//! `demo load-pdse`: the same programs from a PDSE, by default and with PRIME, compared with a PDS and dlopen.
//!
//! By default a large program of a PDSE is mapped, and only the part needed at its start is read; with PRIME all of it is
//! read. The block size in a PDSE's label changes nothing.
//! Not here: block sizes of a PDS (`load_blocksize`).

use underbar_partitioned::attribute::{FIRST_PAGES, FetchOptions};
use underbar_report::units::count;
use underbar_store::library::Organisation;

use super::article::{LARGE_PDSE, PDSE_BLOCK_SIZES};
use super::load_blocksize::LARGE_TEXT;
use super::loads::{
    BLOCK_SIZES, RUNS, all_of, at_most, counted, cpu_each, each, elapsed_each, equal, loads, note,
    nothing_fell_back, refused, table,
};
use super::measure::{Arm, Figured, Machine, Problem, Rounds};
use super::module::Module;
use super::output::{Check, Output, Table};
use super::progress::Progress;
use super::workshop::{Workshop, program};
use super::{Parameters, order};

const PDS: &str = "PDS 32,760";
const PDSE: &str = "PDSE";
const PRIME: &str = "PDSE, PRIME";
const KEPT: &str = "PDSE, LLA and VLF";
const SYSTEM: &str = "dlopen, dlclose";
const LARGE_NAME: &str = "ARCCTL";
/// The article's 1,000; fewer where each LOAD reads all of the program.
const LARGE_LOADS: u64 = 1_000;
const LARGE_READ: u64 = 50;
const LARGE_DIRECT: u64 = 5;
/// The article's 5,000 for the small programs.
const SMALL_LOADS: u64 = 5_000;
const RELOCATED_LOADS: u64 = 50;
/// Rows of 64 bytes with a pointer each: 4 MB of data.
const RELOCATIONS: usize = 65_544;
/// Programs whose constructor writes each page of the data: label, member name, bytes of data, number of LOADs.
const WRITTEN: [(&str, &str, usize, u64); 4] = [
    ("4 KB", "WRITES4", 4 << 10, 2_000),
    ("64 KB", "WRITES64", 64 << 10, 1_000),
    ("256 KB", "WRITE256", 256 << 10, 500),
    ("4 MB", "WRITES4M", 4 << 20, 50),
];
/// CSQLINK and CSQUDMSG.
const SMALL: [(&str, &str, usize); 2] = [("424 bytes", "CSQLINK", 424), ("264 KB", "CSQUDMSG", 264 << 10)];

/// Runs it.
pub fn run(parameters: &Parameters) -> Result<Output, Problem> {
    let runs = parameters.runs.unwrap_or(RUNS);
    let mut output =
        Output::new("load-pdse", "programs loaded from a PDSE, a PDS, and by dlopen", parameters, runs);
    let machine = Machine::new(parameters)?;
    let (mut progress, mut order) = (Progress::new(parameters.quiet), order(parameters));
    let workshop = Workshop::new("load-pdse")?;
    progress.part("making libraries");
    let arms = Arms::make(&workshop, &mut progress)?;
    let mut rounds = |part, arms: Vec<Arm>| -> Result<Rounds, Problem> {
        progress.part(part);
        machine.rounds(arms, runs, &mut order, &mut progress)
    };
    let large = rounds("4 MB", arms.large)?;
    let direct = rounds("4 MB past the page cache", arms.direct)?;
    let small = rounds("small programs", arms.small)?;
    let relocated = rounds("relocations", arms.relocated)?;
    let written = rounds("data that are written", arms.written)?;
    output.tables = vec![
        table("a program of 4 MB, through the page cache: LOAD and DELETE".to_owned(), &large, &LARGE_PDSE),
        table(
            "a program of 4 MB, past the page cache: only what a LOAD reads".to_owned(),
            &direct,
            &LARGE_PDSE,
        ),
        table(
            "PDSE members with PRIME, by the block size of the label".to_owned(),
            &small,
            &PDSE_BLOCK_SIZES,
        ),
        table(format!("4 MB of data with {} relocations", count(RELOCATIONS as u64)), &relocated, &[]),
        table("data of which each page is written, as new at each LOAD".to_owned(), &written, &[]),
    ];
    output.checks = checks(&output.tables, [&large, &direct, &small, &relocated, &written]);
    output.notes.push(note());
    output.notes.push(format!(
        "PDSE: a program of 96 KB or more is read at LOAD as far as its first {FIRST_PAGES} pages; the rest is mapped, and \
         read when it is touched, which nothing here does, nor with dlopen. PRIME reads all of it. LLA and VLF: directory \
         and image are kept, so that a LOAD reads nothing; the document had neither. dlopen counts no EXCPs: it knows \
         neither tracks nor libraries."
    ));
    output.notes.push(
        "Programs whose data are written: a constructor adds 1 to the first byte of each page. The next LOAD begins with the data \
         of the file: ours copies back the pages that were written, dlopen maps all of them anew."
            .to_owned(),
    );
    output.notes.push(
        "Of the document's two small programs two readings of the EXCPs fit the columns, so they are left out; its times are \
         the same at every block size."
            .to_owned(),
    );
    output.notes.extend(refused(&direct, workshop.folder()));
    Ok(output)
}

/// The arms of all tables.
struct Arms {
    large: Vec<Arm>,
    direct: Vec<Arm>,
    small: Vec<Arm>,
    relocated: Vec<Arm>,
    written: Vec<Arm>,
}

/// The names of the row for underbar's loader and of the row for the system's, for data of this size.
fn arms_of_written(size: &str) -> [String; 2] {
    [format!("{size}, LLA and VLF"), format!("{size}, {SYSTEM}")]
}

impl Arms {
    fn make(workshop: &Workshop, progress: &mut Progress) -> Result<Arms, Problem> {
        const STEPS: usize = 7 + WRITTEN.len();
        let mut step = 0;
        let mut one = |name: &str, organisation, block_size, member: &str, module: &Module, fetch| {
            progress.step(step, STEPS);
            step += 1;
            workshop.library(name, organisation, block_size, [program(member, module, fetch)], 1)
        };
        let module = Module::of(LARGE_NAME, LARGE_TEXT);
        let pds = one("pds", Organisation::Pds, 32_760, LARGE_NAME, &module, FetchOptions::Default)?;
        let pdse = one("pdse", Organisation::Pdse, 32_760, LARGE_NAME, &module, FetchOptions::Default)?;
        let prime = one("prime", Organisation::Pdse, 32_760, LARGE_NAME, &module, FetchOptions::Prime)?;
        let rows = Module { relocations: RELOCATIONS, ..Module::of("ROWS", 8) };
        let relocated = one("rows", Organisation::Pdse, 32_760, "ROWS", &rows, FetchOptions::Default)?;
        let mut written = Vec::new();
        for (size, name, bytes, times) in WRITTEN {
            let module = Module { written: bytes, ..Module::of(name, 8) };
            let library = one(name, Organisation::Pdse, 32_760, name, &module, FetchOptions::Default)?;
            let file = workshop.shared_object(name, &module)?;
            let [ours, system] = arms_of_written(size);
            written.push(loads(&ours, &library, name, "kept", times));
            written.push(loads(&system, &file, name, "system", times));
        }
        let mut small = Vec::new();
        for block_size in BLOCK_SIZES {
            progress.step(step, STEPS);
            step += 1;
            let members =
                SMALL.map(|(_, name, text)| program(name, &Module::of(name, text), FetchOptions::Prime));
            let path = workshop.library(
                &format!("small-{block_size}"),
                Organisation::Pdse,
                block_size,
                members,
                2,
            )?;
            small.push((block_size, path));
        }
        let file = workshop.shared_object(LARGE_NAME, &module)?;
        let file_of_rows = workshop.shared_object("ROWS", &rows)?;
        let of = |name: &str, path: &str, way, times| loads(name, path, LARGE_NAME, way, times);
        let rows = |name: &str, path: &str, way, times| loads(name, path, "ROWS", way, times);
        Ok(Arms {
            large: vec![
                of(PDS, &pds, "plain", LARGE_READ),
                of(PDSE, &pdse, "plain", LARGE_LOADS),
                of(PRIME, &prime, "plain", LARGE_READ),
                of(KEPT, &pdse, "kept", LARGE_LOADS),
                of(SYSTEM, &file, "system", LARGE_LOADS),
            ],
            direct: vec![
                of(PDS, &pds, "direct", LARGE_DIRECT),
                of(PDSE, &pdse, "direct", LARGE_DIRECT),
                of(PRIME, &prime, "direct", LARGE_DIRECT),
            ],
            small: SMALL
                .iter()
                .flat_map(|(size, name, _)| {
                    small.iter().map(move |(block_size, path)| {
                        let arm = format!("{size}, {}", count(u64::from(*block_size)));
                        loads(&arm, path, name, "plain", SMALL_LOADS)
                    })
                })
                .collect(),
            relocated: vec![
                rows(PDSE, &relocated, "plain", RELOCATED_LOADS),
                rows(KEPT, &relocated, "kept", LARGE_LOADS),
                rows(SYSTEM, &file_of_rows, "system", RELOCATED_LOADS),
            ],
            written,
        })
    }
}

fn checks(tables: &[Table], rounds: [&Rounds; 5]) -> Vec<Check> {
    let [large, direct, _, relocated, written] = rounds;
    let arms = |table: usize, names: &[&str], figure: &str| -> Option<Vec<u64>> {
        let arm = |name: &&str| tables[table].arms.iter().find(|arm| arm.name == **name);
        names.iter().map(|name| each(arm(name)?, figure)).collect()
    };
    let mut checks = vec![
        counted(
            "default_pages",
            "4 MB: pages that a LOAD reads by default, beside the rule's",
            arms(0, &[PDSE], "blocks").map(|pages| [pages, vec![u64::from(FIRST_PAGES)]].concat()),
            equal,
        ),
        counted("prime_pages", "4 MB: pages with PRIME", arms(0, &[PRIME], "blocks"), |pages| {
            pages[0] >= (LARGE_TEXT / 4096) as u64 && pages[0] <= (LARGE_TEXT / 4096) as u64 + 4
        }),
        counted(
            "default_article",
            "4 MB: channel programs by the article's count, default, PDS, PRIME",
            arms(0, &[PDSE, PDS, PRIME], "programs_by_article"),
            |programs| programs.windows(2).all(|pair| pair[0] < pair[1]),
        ),
        counted(
            "kept_reads_nothing",
            "4 MB with LLA and VLF: channel programs, blocks, directory blocks",
            ["programs_by_article", "blocks", "directory_blocks"]
                .iter()
                .map(|figure| arms(0, &[KEPT], figure).map(|all| all[0]))
                .collect(),
            |all| all.iter().all(|count| *count == 0),
        ),
        nothing_fell_back(&rounds),
    ];
    for (name, at) in [("same_424", 0), ("same_264k", BLOCK_SIZES.len())] {
        let arms: &[Figured] = tables[2].arms.get(at..at + BLOCK_SIZES.len()).unwrap_or_default();
        let same = ["programs_by_article", "programs_by_fetch", "blocks", "tracks", "directory_blocks"]
            .iter()
            .all(|figure| all_of(arms, figure).is_some_and(|all| equal(&all)));
        let text = format!(
            "{}: all counts are {} at block sizes of {}; EXCPs (article): {}",
            SMALL[at / BLOCK_SIZES.len()].0,
            if same { "equal" } else { "not equal" },
            BLOCK_SIZES.map(|size| count(u64::from(size))).join(", "),
            arms.first().and_then(|arm| each(arm, "programs_by_article")).map_or("-".to_owned(), count),
        );
        checks.push(Check::count(name, same && !arms.is_empty(), text));
    }
    if !tables[1].arms.is_empty() {
        checks.push(counted(
            "direct_reads",
            "4 MB: reads of the device, default and PDS",
            arms(1, &[PDSE, PDS], "device_reads"),
            |reads| reads[0] < reads[1],
        ));
    }
    let past = (direct, elapsed_each as fn(&_) -> _);
    checks.extend(at_most("default_to_pds", "4 MB past the page cache, elapsed", past, [PDSE, PDS], 1.0));
    checks.extend(at_most("default_to_system", "4 MB, CPU", (large, cpu_each), [PDSE, SYSTEM], 1.0));
    checks.extend(at_most("kept_to_system", "4 MB, CPU", (large, cpu_each), [KEPT, SYSTEM], 0.10));
    let relocations = (relocated, cpu_each as fn(&_) -> _);
    checks.extend(at_most("relocated_to_system", "relocations, CPU", relocations, [KEPT, SYSTEM], 0.05));
    let names = ["written_4k", "written_64k", "written_256k", "written_4m"];
    for (name, (size, ..)) in names.into_iter().zip(WRITTEN) {
        let [ours, system] = arms_of_written(size);
        checks.extend(at_most(name, "data written, CPU", (written, cpu_each), [&ours, &system], 0.2));
    }
    checks
}
