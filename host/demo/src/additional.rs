//! `demo additional`: storage that ends together, freed piece by piece or discarded with its heap.
//!
//! The document has additional heaps ("defined by the user") and no figures of them, so the rows are compared with each other.
//! Not here: the services (`runtime::heap::services`).

use underbar_ledger::Key;
use underbar_report::units::count;

use super::measure::{Figured, Machine, Problem};
use super::output::{Check, Column, Output, Table};
use super::programs::additional::{PIECES, ROUNDS};
use super::progress::Progress;
use super::{Parameters, arm, order};

const RUNS: usize = 8;
/// Indexes of the rows.
const USER: usize = 0;
const EACH: usize = 1;
const DISCARD: usize = 2;

const fn counter(heading: &'static str, ours: fn(&Table, &Figured) -> Option<String>) -> Column {
    Column::new(heading, ours, |_| None)
}

const CREATES: Column = counter("creates", |_, arm| arm.counter(Key::AdditionalCreates).map(count));
const DISCARDS: Column = counter("discards", |_, arm| arm.counter(Key::AdditionalDiscards).map(count));
const GETS: Column = counter("gets there", |_, arm| arm.counter(Key::AdditionalGets).map(count));
const FREES: Column = counter("frees there", |_, arm| arm.counter(Key::AdditionalFrees).map(count));
const USED: Column = counter("used there", |_, arm| arm.counter(Key::AdditionalUsedPeak).map(count));

/// Runs it.
pub fn run(parameters: &Parameters) -> Result<Output, Problem> {
    let runs = parameters.runs.unwrap_or(RUNS);
    let title = "pieces that are freed one by one, or with their heap";
    let mut output = Output::new("additional", title, parameters, runs);
    let machine = Machine::new(parameters)?;
    let seed = parameters.seed.to_string();
    let row = |name, way| arm(name, "", &["additional", "--way", way, "--seed", &seed]);
    let rows = vec![
        row("user heap, each freed", "user"),
        row("additional heap, each freed", "each"),
        row("additional heap, discarded", "discard"),
    ];
    let rounds = machine.rounds(rows, runs, &mut order(parameters), &mut Progress::new(parameters.quiet))?;
    let arms = rounds.figured();
    output.checks = checks(&arms);
    output.checks.push(Check::more(
        "each_to_discard",
        "CPU, additional heap: each freed to discarded",
        rounds.cpu_ratio(EACH, DISCARD),
    ));
    let remarks = [EACH, DISCARD].map(|at| {
        let ratio = match rounds.cpu_ratio(at, USER) {
            Ok(interval) => format!("{interval} of the first row's CPU time"),
            Err(few) => format!("no interval: {few}"),
        };
        (rounds.name(at).to_owned(), ratio)
    });
    output.tables.push(Table {
        remarks: remarks.to_vec(),
        ..Table::new(
            format!("{} rounds of {} pieces of 1 to 512 bytes", count(ROUNDS), count(PIECES)),
            arms,
            vec![vec![CREATES, DISCARDS, GETS, FREES, USED, Column::CPU]],
        )
    });
    output.notes.push(
        "An additional heap is discarded by CEEDSHP in one step, whatever is in it. Elements that are not freed before count as freed \
         then. The document has no figures of additional heaps."
            .to_owned(),
    );
    Ok(output)
}

fn checks(arms: &[Figured]) -> Vec<Check> {
    let of = |at: usize, key| arms.get(at).and_then(|arm| arm.counter(key));
    let pieces = Some(ROUNDS * PIECES);
    let mut checks = vec![Check::count(
        "user_heap",
        of(USER, Key::AdditionalCreates) == Some(0),
        "the first row creates no heap".to_owned(),
    )];
    for (name, at) in [("each", EACH), ("discard", DISCARD)] {
        let [creates, discards, gets, frees] =
            [Key::AdditionalCreates, Key::AdditionalDiscards, Key::AdditionalGets, Key::AdditionalFrees]
                .map(|key| of(at, key));
        let shown = |figure: Option<u64>| figure.map_or_else(|| "not known".to_owned(), count);
        checks.push(Check::count(
            name,
            [creates, discards] == [Some(ROUNDS); 2] && [gets, frees] == [pieces; 2],
            format!(
                "{}: {} heaps, {} discarded; {} gets, {} frees",
                arms.get(at).map_or("", |arm| &arm.name),
                shown(creates),
                shown(discards),
                shown(gets),
                shown(frees)
            ),
        ));
    }
    checks
}
