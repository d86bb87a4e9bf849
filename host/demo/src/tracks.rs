//! `demo tracks`: a library copied at several block sizes, and the tracks that the copies occupy.
//!
//! The article copied SYS1.LINKLIB, which must not be distributed. Here a library of programs replaces it; their sizes come
//! from a seed: many small ones, few large. The demo shows the work of the binder: short blocks fill each track.
//!
//! Invariant: tracks are counted on the copies; the figures that a survey computes from the original are next to them.
//! Not here: the user's libraries (`underbar lib survey`).

use underbar_partitioned::attribute::FetchOptions;
use underbar_partitioned::track::D3390;
use underbar_report::units::count;
use underbar_store::library::Organisation;
use underbar_store::survey::BLOCK_SIZES;

use super::article::TRACKS;
use super::loads::counted;
use super::measure::{Machine, Problem};
use super::module::Module;
use super::output::{Check, Column, Output, Table};
use super::progress::Progress;
use super::workshop::{Workshop, program};
use super::{Parameters, order, plain};

/// The number of members in the library.
const MEMBERS: usize = 400;
/// The original's block size.
const BEFORE: u32 = 6_144;
/// The limit on the doublings in their text sizes: 8 bytes, doubled at most this often, plus a remainder.
const DOUBLINGS: u64 = 16;

/// Runs it.
pub fn run(parameters: &Parameters) -> Result<Output, Problem> {
    let runs = parameters.runs.unwrap_or(1);
    let mut output = Output::new("tracks", "a library copied at several block sizes", parameters, runs);
    let machine = Machine::new(parameters)?;
    let (mut progress, mut order) = (Progress::new(parameters.quiet), order(parameters));
    let workshop = Workshop::new("tracks")?;
    progress.part("making the library");
    let mut sizes = crate::programs::generator(parameters.seed);
    let members = (0..MEMBERS).map(|number| {
        progress.step(number, MEMBERS);
        let scale = 8_u64 << sizes.below(DOUBLINGS + 1);
        let text = (scale + sizes.below(scale)) as usize;
        program(&format!("M{number:05}"), &Module::of("PROGRAM", text), FetchOptions::Default)
    });
    let library = workshop.library("library", Organisation::Pds, BEFORE, members, MEMBERS)?;
    progress.part("copies");
    let to = workshop.path("copy")?;
    let arm = |size: &u32| {
        let words = ["copied", "--library", &library, "--to", &to, "--block-size", &size.to_string()];
        plain(&count(u64::from(*size)), &words)
    };
    let rounds = machine.rounds(BLOCK_SIZES.iter().map(arm).collect(), runs, &mut order, &mut progress)?;
    let table = Table {
        document: TRACKS.to_vec(),
        ..Table::new(
            format!("a PDS of {} programs, copied; by block size", count(MEMBERS as u64)),
            rounds.figured(),
            vec![vec![ON_TRACKS, COMPUTED, TEXTS, LONGEST, SHORTENED, USED, FULLEST, PROGRAMS]],
        )
    };
    output.checks = checks(&table);
    output.tables.push(table);
    output.notes.push(
        "Tracks: of the whole data set, its directory among them, counted on the copy. Computed: what a survey of the \
         original says of that block size; it takes each member's first record as the shortest there is. Filling: blocks of \
         text that are shorter than the longest although their program goes on. In use: cells of all tracks that hold \
         blocks. Fullest: the most of them on one track, of 1,729. EXCP: channel programs that load each program once, by \
         the article's count, a search each. A size in between can take a track more than a smaller one; the largest never \
         takes more than the smallest. The document's library is another, so that only the shape can be compared."
            .to_owned(),
    );
    Ok(output)
}

fn checks(table: &Table) -> Vec<Check> {
    let all = |figure: &str| -> Option<Vec<u64>> {
        table.arms.iter().map(|arm| arm.said.get(figure).copied()).collect()
    };
    let (tracks, computed) = (all("tracks"), all("tracks_computed"));
    let near = |pair: (&u64, &u64)| pair.0.abs_diff(*pair.1) * 100 <= *pair.0;
    let same = tracks.iter().flatten().zip(computed.iter().flatten()).filter(|pair| near(*pair)).count();
    let same = Check::count(
        "computed_as_copied",
        same == BLOCK_SIZES.len(),
        format!(
            "{same} of {} figures that a survey computes are within 1 % of the copy's tracks",
            BLOCK_SIZES.len()
        ),
    );
    vec![
        counted("largest_is_smallest", "tracks, smallest to largest block size", tracks, |tracks| {
            tracks.first() > tracks.last() && tracks.iter().min() == tracks.last()
        }),
        counted("capacity", "the fullest track of each, in cells of 1,729", all("fullest"), |fullest| {
            fullest.iter().all(|cells| *cells <= u64::from(D3390.capacity))
        }),
        counted(
            "programs",
            "channel programs by the article's count",
            all("programs_by_article"),
            |programs| programs.first() > programs.last(),
        ),
        counted("short_blocks", "blocks that fill a track", all("shortened"), |blocks| {
            blocks.iter().all(|blocks| *blocks > 0)
        }),
        counted("same_members", "members of each copy", all("members"), |members| {
            members.iter().all(|count| *count == MEMBERS as u64)
        }),
        counted("verified", "problems that a verification finds", all("problems"), |problems| {
            problems.iter().all(|count| *count == 0)
        }),
        same,
    ]
}

fn figure(arm: &super::measure::Figured, name: &str) -> Option<String> {
    arm.said.get(name).copied().map(count)
}

const ON_TRACKS: Column = Column::new("tracks", |_, arm| figure(arm, "tracks"), |row| row.tracks.map(count));
const COMPUTED: Column = Column::new("computed", |_, arm| figure(arm, "tracks_computed"), |_| None);
const TEXTS: Column = Column::new("blocks of text", |_, arm| figure(arm, "blocks"), |_| None);
const LONGEST: Column = Column::new("longest", |_, arm| figure(arm, "longest"), |_| None);
const SHORTENED: Column = Column::new("filling", |_, arm| figure(arm, "shortened"), |_| None);
const USED: Column = Column::new(
    "in use",
    |_, arm| {
        let (used, all) = (*arm.said.get("cells_used")? as f64, *arm.said.get("cells")? as f64);
        Some(format!("{:.1} %", used * 100.0 / all.max(1.0)))
    },
    |_| None,
);
const FULLEST: Column = Column::new("fullest", |_, arm| figure(arm, "fullest"), |_| None);
const PROGRAMS: Column = Column::new("EXCP (article)", |_, arm| figure(arm, "programs_by_article"), |_| None);
