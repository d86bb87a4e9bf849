//! `demo enclaves`: programs in each other, by LINK and by CALL, and what is left for the innermost.
//!
//! ```text
//! nested --way link --times 10     underbar's heap, each program with 3,328 bytes of storage
//!    process ─ LINK ─> ONE ─ LINK ─> TWO ... ─> TEN     an enclave for each: a heap, a row of accounts
//!    process ─ CALL ─> ONE ─ CALL ─> TWO ... ─> TEN     one enclave: a program for each level
//! ```
//!
//! Invariant: both ways run the same number of programs of the same size, and each program gets the same storage.
//! Not here: enclaves (`runtime::heap::enclave`), the programs (`module`).

use underbar_ledger::Key;
use underbar_report::heap::Kind;
use underbar_report::model::Report;
use underbar_report::units::{bytes, count, nanoseconds};

use underbar_fetch::nested::By;

use super::document::{ENCLAVES, Row};
use super::loads::{RUNS, at_most, cpu_each};
use super::measure::{Arm, Figured, Machine, Problem};
use super::module::{Action, Module};
use super::output::{Check, Column, Output, Table};
use super::programs::nested::NAMES;
use super::progress::Progress;
use super::workshop::Workshop;
use super::{Parameters, arm, order};

/// How many programs are in each other.
const DEPTHS: [usize; 3] = [1, 5, 10];
/// Address space that the process may have beyond that at its start.
const LIMIT: u64 = 64 << 20;
/// Text of a program, and data that its constructor writes.
const TEXT: usize = 4 << 10;
const WRITTEN: usize = 4 << 10;
/// An enclave's own storage, at most.
const ENCLAVE_BYTES: u64 = 64 << 10;
/// How often a program, or a thread, comes and goes in a run.
const TIMES: u64 = 2_000;

const INSIDE: Column = Column::new(
    "address space",
    |_, arm| Some(bytes(arm.said.get("inside")?.saturating_sub(*arm.said.get("before")?))),
    |_| None,
);
const LEFT: Column = Column::new(
    "left for the innermost",
    |_, arm| arm.said.get("left").map(|left| format!("{}K", count(*left >> 10))),
    |row| row.left.map(|left| format!("{}K", count(left >> 10))),
);
const CPU_EACH: Column =
    Column::new("CPU each", |_, arm| cpu_each(&arm.said).map(|time| nanoseconds(time as u64)), |_| None);

/// Runs it.
pub fn run(parameters: &Parameters) -> Result<Output, Problem> {
    let runs = parameters.runs.unwrap_or(RUNS);
    let title = "programs in each other, by LINK and by CALL";
    let mut output = Output::new("enclaves", title, parameters, runs);
    let machine = Machine::new(parameters)?;
    let (mut progress, mut order) = (Progress::new(parameters.quiet), order(parameters));
    let workshop = Workshop::new("enclaves")?;
    let by_link = library(&workshop, "link", By::Link)?;
    let by_call = library(&workshop, "call", By::Call)?;
    let nests = |limit: u64| -> Vec<Arm> {
        let limit = limit.to_string();
        let ways = [("LINK", "link", &by_link), ("CALL", "call", &by_call)];
        ways.into_iter()
            .flat_map(|(name, way, library)| {
                DEPTHS.map(|depth| {
                    let times = depth.to_string();
                    let words = ["nested", "--way", way, "--library", library, "--times", &times];
                    arm(&nest(name, depth), "", &[&words[..], &["--limit", &limit]].concat())
                })
            })
            .collect()
    };
    let times = TIMES.to_string();
    let one = |name, way, library: &str| {
        let words = ["one-after-the-other", "--way", way, "--library", library, "--times", &times];
        arm(name, "", &words)
    };
    let ones = vec![
        one("a LINK", "link", &by_link),
        one("a CALL", "call", &by_call),
        one("a thread", "thread", &by_call),
    ];

    progress.part("accounts");
    let of_each =
        nests(0).iter().map(|arm| Ok(machine.once(arm)?.report)).collect::<Result<Vec<_>, Problem>>()?;
    let mut rounds = |part, arms| {
        progress.part(part);
        machine.rounds(arms, runs, &mut order, &mut progress)
    };
    let nested = rounds("programs in each other", nests(0))?;
    let limited = rounds("under a limit", nests(LIMIT))?;
    let costs = rounds("one after the other", ones)?;

    let table = |title: String, arms, document: &[Row], columns: &[Column]| Table {
        document: document.to_vec(),
        ..Table::new(title, arms, vec![columns.to_vec()])
    };
    // A page of the heap's map more or less, as addresses fall, is up to 2 MiB: so the runs decide, not one of them.
    let deepest = ["CALL", "LINK"].map(|name| limited.place(&nest(name, DEPTHS[2])));
    let (nested, limited_arms) = (nested.figured(), limited.figured());
    output.checks = checks(&nested, &of_each);
    if let [Some(call), Some(link)] = deepest {
        let left = limited.said_ratio(call, link, |said| said.get("left").map(|left| *left as f64));
        output.checks.push(Check::more("left", "left for the innermost, 10 deep, CALL to LINK", left));
    }
    output.notes = notes(&nested, &limited_arms);
    output.tables = vec![
        table(
            "programs in each other".to_owned(),
            nested,
            &[],
            &[Column::GETS, Column::SEGMENTS, Column::AT_ONE_TIME, INSIDE],
        ),
        table(
            format!("the process may have {} of address space beyond that at its start", bytes(LIMIT)),
            limited_arms,
            &ENCLAVES,
            &[LEFT],
        ),
        table(format!("{} of each, one after the other", count(TIMES)), costs.figured(), &[], &[CPU_EACH]),
    ];
    output.checks.extend(at_most("call_is_cheaper", "CPU", (&costs, cpu_each), ["a CALL", "a LINK"], 1.0));
    output.checks.extend(at_most("link_is_cheaper", "CPU", (&costs, cpu_each), ["a LINK", "a thread"], 1.0));
    Ok(output)
}

fn nest(name: &str, depth: usize) -> String {
    format!("{name}, {depth} deep")
}

/// A folder with a program for each level.
pub(super) fn library(workshop: &Workshop, name: &str, by: By) -> Result<String, Problem> {
    let module = Module { action: Action::Nest(by), written: WRITTEN, ..Module::of("main", TEXT) };
    workshop.folder_of(name, &NAMES.map(|name| (name, module)))
}

/// The bytes that each level beyond the first takes of a figure.
fn level(arms: &[Figured], name: &str, figure: impl Fn(&Figured) -> Option<u64>) -> Option<u64> {
    let of = |depth: usize| arms.iter().find(|arm| arm.name == nest(name, depth)).and_then(&figure);
    let (first, last) = (of(DEPTHS[0])?, of(DEPTHS[2])?);
    Some(last.abs_diff(first) / (DEPTHS[2] - DEPTHS[0]) as u64)
}

/// The enclaves that a report has.
fn enclaves(report: &Report) -> u64 {
    let heaps = report.processes.iter().flat_map(|process| &process.heaps);
    heaps.filter(|heap| heap.kind == Kind::Enclave).map(|heap| heap.created).sum()
}

fn checks(nested: &[Figured], reports: &[Option<Report>]) -> Vec<Check> {
    let counted: Vec<u64> = reports.iter().flatten().map(enclaves).collect();
    let shown = |figures: &[u64]| figures.iter().map(|figure| count(*figure)).collect::<Vec<_>>().join(", ");
    let depths = DEPTHS.map(|depth| depth as u64);
    let (by_link, by_call) = counted.split_at(DEPTHS.len().min(counted.len()));
    let segments = |name| level(nested, name, |arm| arm.counter(Key::HeapSegmentBytesPeak));
    let at_most = |figure: Option<u64>, limit: u64| figure.is_some_and(|figure| figure <= limit);
    let or = |figure: Option<u64>| figure.map_or_else(|| "not known".to_owned(), bytes);
    vec![
        Check::count(
            "link_enclaves",
            by_link == &depths[..],
            format!("LINK: enclaves in the ledger: {}", shown(by_link)),
        ),
        Check::count(
            "call_enclaves",
            by_call == [0; DEPTHS.len()],
            format!("CALL: enclaves in the ledger: {}", shown(by_call)),
        ),
        Check::count(
            "link_bytes",
            at_most(segments("LINK"), ENCLAVE_BYTES),
            format!(
                "LINK: a level takes {} of segments (at most {})",
                or(segments("LINK")),
                bytes(ENCLAVE_BYTES)
            ),
        ),
        Check::count(
            "call_bytes",
            segments("CALL") == Some(0),
            format!(
                "CALL: a level takes {} of segments: the caller's has room for its storage",
                or(segments("CALL"))
            ),
        ),
    ]
}

fn notes(arms: &[Figured], limited: &[Figured]) -> Vec<String> {
    let space = |name| {
        let inside =
            level(arms, name, |arm| Some(arm.said.get("inside")?.saturating_sub(*arm.said.get("before")?)));
        inside.map_or_else(|| "not known".to_owned(), bytes)
    };
    let left = |name| {
        let left = level(limited, name, |arm| arm.said.get("left").copied());
        left.map_or_else(|| "not known".to_owned(), bytes)
    };
    vec![
        format!(
            "Address space of a level: {} by LINK, {} by CALL, its program's {} of text and {} of data among it. The most at \
             one time is the ledger's figure, of storage in segments. A LINKed program's heap goes back as a whole when it ends.",
            space("LINK"),
            space("CALL"),
            bytes(TEXT as u64),
            bytes(WRITTEN as u64)
        ),
        format!(
            "The document's figures are storage below the 16M line that is left for a program; ours is what the innermost \
             program gets in pieces of 64K until a request fails. A level takes {} from it by LINK, {} by CALL; in the \
             document 196K and 14K. Its enclaves have their own stacks and control blocks, which is most of that; here a \
             LINKed program runs on its caller's stack, unless STACK has a size.",
            left("LINK"),
            left("CALL")
        ),
        "The document says that threads are not nearly as expensive as enclaves. A LINK here also loads its program and runs \
         its constructors; a CALL in the table loads, runs and deletes its program, too."
            .to_owned(),
    ]
}
