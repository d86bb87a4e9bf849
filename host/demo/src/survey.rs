//! `demo survey`: a folder of libraries and its survey: block sizes, tracks, channel programs, advice.
//!
//! The demo makes the folder with the shares of block sizes that the article found at one site; so the survey's result is
//! known beforehand.
//! Not here: the user's folders (`underbar lib survey`).

use underbar_partitioned::attribute::FetchOptions;
use underbar_report::units::count;
use underbar_store::library::Organisation;
use underbar_store::survey::BLOCK_SIZES;

use super::article::SURVEY;
use super::measure::{Figured, Machine, Problem};
use super::module::Module;
use super::output::{Check, Column, Output, Table};
use super::progress::Progress;
use super::workshop::{Workshop, program};
use super::{Parameters, order, plain};

/// The number of libraries with each block size (a multiple of 8, as the binder rounds it): 79 of 100 have 32,000 or more, 7
/// have 8K or less.
const LIBRARIES: [(Organisation, u32, usize); 9] = [
    (Organisation::Pds, 32_760, 67),
    (Organisation::Pds, 32_000, 12),
    (Organisation::Pds, 27_992, 4),
    (Organisation::Pds, 23_440, 6),
    (Organisation::Pds, 18_448, 4),
    (Organisation::Pds, 8_192, 2),
    (Organisation::Pds, 6_144, 4),
    (Organisation::Pds, 4_096, 1),
    (Organisation::Pdse, 32_760, 10),
];
/// Members of each.
const MEMBERS: usize = 12;
const DOUBLINGS: u64 = 14;

/// Runs it.
pub fn run(parameters: &Parameters) -> Result<Output, Problem> {
    let runs = parameters.runs.unwrap_or(1);
    let mut output = Output::new("survey", "all libraries of a folder", parameters, runs);
    let machine = Machine::new(parameters)?;
    let (mut progress, mut order) = (Progress::new(parameters.quiet), order(parameters));
    let workshop = Workshop::new("survey")?;
    progress.part("making libraries");
    let mut sizes = crate::programs::generator(parameters.seed);
    let (mut made, all) = (0, LIBRARIES.iter().map(|(_, _, libraries)| libraries).sum());
    for (organisation, block_size, libraries) in LIBRARIES {
        for _ in 0..libraries {
            progress.step(made, all);
            let members: Vec<_> = (0..MEMBERS)
                .map(|number| {
                    let scale = 8_u64 << sizes.below(DOUBLINGS + 1);
                    let text = (scale + sizes.below(scale)) as usize;
                    let module = Module::of("PROGRAM", text);
                    program(&format!("M{number:03}"), &module, FetchOptions::Default)
                })
                .collect();
            let name = format!("L{made:03}.{block_size}");
            workshop.library(&name, organisation, block_size, members, MEMBERS)?;
            made += 1;
        }
    }
    progress.part("survey");
    let folder = workshop.path("")?;
    let arm = plain("all", &["surveyed", "--library", folder.trim_end_matches('/')]);
    let rounds = machine.rounds(vec![arm], runs, &mut order, &mut progress)?;
    let arms = rounds.figured();
    if let Some(surveyed) = arms.first() {
        output.pages.push(page(surveyed));
        output.checks = checks(surveyed);
    }
    output.tables.push(Table {
        document: SURVEY.to_vec(),
        ..Table::new("shares of PDS libraries by block size".to_owned(), arms, vec![vec![LARGE, SMALL]])
    });
    output.notes.push(
        "The libraries are made by this demo, with about the shares that the document found at one site (\"almost 80 %\" \
         with 32,000 or more, 7 % with 8K or less), so the shares prove nothing but that they are counted. EXCP: channel \
         programs that load each program of all PDS libraries once, by the article's count. Other block sizes are computed \
         by the binder's rule. `underbar lib survey` does this to folders of one's own."
            .to_owned(),
    );
    Ok(output)
}

fn page(surveyed: &Figured) -> String {
    let of = |name: &str| surveyed.said.get(name).copied();
    let cell = |figure: Option<u64>| figure.map_or_else(|| "-".to_owned(), count);
    let mut text = format!("{} PDS and {} PDSE libraries\n\n", cell(of("pds")), cell(of("pdse")));
    text += "  block size  libraries (PDS)\n";
    for (organisation, size, _) in LIBRARIES {
        if organisation == Organisation::Pds {
            let libraries = cell(of(&format!("libraries_{size}")));
            text += &format!("  {:>10}  {libraries:>15}\n", count(u64::from(size)));
        }
    }
    text += "\n  all PDS libraries     tracks  EXCP (article)\n";
    let mut row = |name: &str, of_name: &str| {
        let (tracks, programs) = (of(&format!("tracks_{of_name}")), of(&format!("programs_{of_name}")));
        text += &format!("  {name:<17}  {:>9}  {:>14}\n", cell(tracks), cell(programs));
    };
    row("as they are", "now");
    for size in BLOCK_SIZES {
        row(&format!("copied at {}", count(u64::from(size))), &size.to_string());
    }
    text += &format!("\n  advised to be copied at 32,760: {} libraries\n", cell(of("advice_block_size")));
    text
}

fn checks(surveyed: &Figured) -> Vec<Check> {
    let of = |name: &str| surveyed.said.get(name).copied().unwrap_or(u64::MAX);
    let of_pds = |so: fn(u32) -> bool| -> u64 {
        let all = LIBRARIES
            .iter()
            .filter(|(organisation, size, _)| *organisation == Organisation::Pds && so(*size));
        all.map(|(_, _, libraries)| *libraries as u64).sum()
    };
    let found = LIBRARIES.iter().filter(|(organisation, _, _)| *organisation == Organisation::Pds);
    let (found, kinds) = found.fold((0, 0), |(found, kinds), (_, size, libraries)| {
        (found + usize::from(of(&format!("libraries_{size}")) == *libraries as u64), kinds + 1)
    });
    let (pds, pdse) = (of_pds(|_| true), LIBRARIES[LIBRARIES.len() - 1].2 as u64);
    let (large, small) = (of_pds(|size| size >= 32_000), of_pds(|size| size <= 8_192));
    let (smallest, largest) = (of("tracks_6144"), of("tracks_32760"));
    let (now, then) = (of("programs_now"), of("programs_32760"));
    vec![
        Check::count(
            "libraries",
            (of("pds"), of("pdse")) == (pds, pdse),
            format!("libraries found: {} PDS, {} PDSE, as many as were made", of("pds"), of("pdse")),
        ),
        Check::count(
            "block_sizes",
            found == kinds,
            format!("{found} of {kinds} block sizes have their number of libraries"),
        ),
        Check::count(
            "shares",
            of("large_per_mille") * pds == large * 1000 && of("small_per_mille") * pds == small * 1000,
            format!(
                "shares of large and small block sizes: {}, {} in 1,000",
                of("large_per_mille"),
                of("small_per_mille")
            ),
        ),
        Check::count(
            "tracks",
            largest < smallest && largest <= of("tracks_now"),
            format!(
                "tracks at 32,760, at 6,144, as they are: {}, {}, {}",
                count(largest),
                count(smallest),
                count(of("tracks_now"))
            ),
        ),
        Check::count(
            "programs",
            then < now,
            format!("channel programs at 32,760, as they are: {}, {}", count(then), count(now)),
        ),
        Check::count(
            "advice",
            of("advice_block_size") > 0 && of("advice_block_size") <= pds - of_pds(|size| size >= 32_760),
            format!("libraries advised to be copied: {}", of("advice_block_size")),
        ),
    ]
}

fn share(arm: &Figured, figure: &str) -> Option<String> {
    arm.said.get(figure).map(|share| percent(*share))
}

fn percent(per_mille: u64) -> String {
    format!("{:.1} %", per_mille as f64 / 10.0)
}

const LARGE: Column = Column::new(
    "32,000 or more",
    |_, arm| share(arm, "large_per_mille"),
    |row| row.per_mille.map(|shares| percent(shares[0])),
);
const SMALL: Column = Column::new(
    "8K or less",
    |_, arm| share(arm, "small_per_mille"),
    |row| row.per_mille.map(|shares| percent(shares[1])),
);
