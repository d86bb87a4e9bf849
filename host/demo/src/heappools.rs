//! `demo heappools`: cell sizes and percentages of HEAPPOOLS, by the documented procedure.
//!
//! ```text
//! run 1   the 12 documented sizes, RPTSTG(ON) ──> percentages for them, and the sizes that waste least
//!                                             └─> cells of the new sizes, predicted from this one run
//! run 2   the new sizes                       ──> percentages for them; the cells, measured
//! run 3   the new sizes with their percentages    one extent each
//! ```
//!
//! Invariant: the sizes of runs 2 and 3 come from the reports of the runs before them; nothing is known beforehand.

use std::fmt::Write as _;

use underbar_model::cells::{MOST, Range, waste};
use underbar_report::Report;
use underbar_report::le;
use underbar_report::pools::{Pool, Pools, Ranges};
use underbar_report::units::{bytes, count};

use super::measure::{Arm, Machine, Once, Problem};
use super::output::{Check, Column, Output, Table};
use super::progress::Progress;
use super::{Parameters, arm, order, plain};

/// The sizes and percentages of the first run in the documented procedure.
const DOCUMENTED: &str =
    "8,10,32,10,128,10,256,10,1024,10,2048,10,3072,1,4096,1,8192,1,16384,1,32768,1,65536,1";
const HEAP: &str = "HEAP(4M,1M,ANYWHERE,KEEP)";
const INITIAL: u64 = 4 << 20;
const DOCUMENTED_SIZES: &str = "the documented sizes";
const OFF: &str = "HEAPPOOLS(OFF)";

/// Runs it.
pub fn run(parameters: &Parameters) -> Result<Output, Problem> {
    let runs = parameters.runs.unwrap_or(1);
    let title = "pools of cells: the documented sizes, and those of least waste";
    let mut output = Output::new("heappools", title, parameters, runs);
    let machine = Machine::new(parameters)?;
    let seed = parameters.seed.to_string();
    let program = ["pooled", "--seed", &seed];
    let pooled = |name: &str, pools: &str| arm(name, &format!("{HEAP},HEAPPOOLS(ON,{pools})"), &program);

    let mut first = pooled(DOCUMENTED_SIZES, DOCUMENTED);
    if let super::measure::Server::Underbar(options) = &mut first.server {
        options.push_str(",RPTSTG(ON)");
    }
    let first = machine.once(&first)?;
    let Some((before, ranges)) = first.report.as_ref().and_then(pools_and_ranges) else { return Ok(output) };
    let Some(sizes) = before.suggested_sizes(&ranges) else { return Ok(output) };
    let second = machine.once(&pooled("the suggested sizes", &pairs(sizes.iter().map(|&size| (size, 1)))))?;
    let Some(after) = second.report.as_ref().and_then(pools) else { return Ok(output) };
    let percentages = pairs(after.by_size().map(|pool| (pool.cell, pool.model().percent_of(INITIAL))));
    let third = machine.once(&pooled("with percentages", &percentages))?;
    let Some(last) = third.report.as_ref().and_then(pools) else { return Ok(output) };

    let predicted = predicted(&before, &ranges, &sizes);
    output.pages.push(format!("Run 1, HEAPPOOLS(ON,{DOCUMENTED})\n{}", sections(&first)));
    output.pages.push(comparison(&after, &predicted));
    output.pages.push(format!("Run 3, HEAPPOOLS(ON,{percentages})\n{}", sections(&third)));
    output.checks = checks([&first, &second, &third], [&before, &after, &last], &ranges, &predicted);
    let arms: Vec<Arm> = vec![
        pooled(DOCUMENTED_SIZES, DOCUMENTED),
        pooled("the suggested sizes", &percentages),
        arm(OFF, HEAP, &program),
        plain("plain", &program),
    ];
    let rounds = machine.rounds(arms, runs, &mut order(parameters), &mut Progress::new(parameters.quiet))?;
    output.tables.push(Table::new(
        format!("{HEAP}, without RPTSTG"),
        rounds.figured(),
        vec![vec![
            Column::SEGMENTS,
            Column::USED,
            Column::GETS,
            Column::CPU,
            Column::ELAPSED,
            Column::FAULTS,
            Column::PEAK,
        ]],
    ));
    output.notes = vec![
        "IBM's manual prints no sample of these sections. Its procedure is the one above: a run with the twelve sizes, one with \
         the suggested sizes, then the suggested percentages. Its formulas are public; its choice of sizes is not: here it is the \
         least waste for the requests of run 1."
            .to_owned(),
        "Cells on Linux are multiples of 16 bytes without control bytes, so fewer sizes are of use than on z/OS. HEAPPOOLS(OFF) has \
         72 sizes of cells."
            .to_owned(),
    ];
    Ok(output)
}

/// The pools of the program, which is the first process.
fn pools(report: &Report) -> Option<Pools> {
    report.processes.first()?.pools.clone()
}

fn pools_and_ranges(report: &Report) -> Option<(Pools, Ranges)> {
    Some((pools(report)?, report.processes.first()?.ranges.clone()?))
}

/// Pairs of sizes and percentages, and a size of 0 if there are fewer than twelve.
fn pairs(all: impl Iterator<Item = (u64, u64)>) -> String {
    let all: Vec<String> = all.map(|(size, share)| format!("{size},{share}")).collect();
    let end = if all.len() < MOST { ",0" } else { "" };
    format!("{}{end}", all.join(","))
}

/// The sections of heap pools of a storage report.
fn sections(once: &Once) -> String {
    let text = once.report.as_ref().map(le::render).unwrap_or_default();
    let from = text.find("    HEAPPOOLS Statistics:").unwrap_or(text.len());
    let to = text.find("    Largest number of threads").unwrap_or(text.len());
    text.get(from..to).unwrap_or_default().to_owned()
}

/// The cells of each new size that are used at most, as far as the first run tells: of each pool the part that its requests of
/// such sizes are of all its requests.
fn predicted(before: &Pools, ranges: &Ranges, sizes: &[u64]) -> Vec<(u64, u64)> {
    let mut predicted: Vec<(u64, u64)> = sizes.iter().map(|size| (*size, 0)).collect();
    let mut below = 0;
    for pool in before.by_size() {
        let in_pool: Vec<(u64, u64, u64)> = ranges.between(below, pool.element).collect();
        let all: u64 = in_pool.iter().map(|(_, _, requests)| requests).sum();
        for (_, to, requests) in in_pool {
            if let Some((_, cells)) = predicted.iter_mut().find(|(size, _)| *size >= to) {
                *cells += (pool.used_peak * requests).div_ceil(all.max(1));
            }
        }
        below = below.max(pool.element);
    }
    predicted
}

/// Predicted and measured cells of each size.
fn comparison(after: &Pools, predicted: &[(u64, u64)]) -> String {
    let mut text =
        "Run 2, the suggested sizes: most cells in use\n  size   from run 1 alone   measured\n".to_owned();
    for pool in after.by_size() {
        let from_first = predicted.iter().find(|(size, _)| *size == pool.cell).map_or(0, |(_, cells)| *cells);
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{:>6} {:>18} {:>10}", pool.cell, count(from_first), count(pool.used_peak));
    }
    text
}

/// Bytes beyond the requests, and of all cells, with these pools.
fn wasted(pools: &Pools, ranges: &Ranges) -> (u64, u64) {
    let rows: Vec<Range> = ranges.0.iter().map(|(&to, &count)| Range { to, count }).collect();
    let cells: Vec<u64> = pools.each.iter().map(|pool| pool.element).collect();
    waste(&rows, &cells).unwrap_or_default()
}

fn checks(
    once: [&Once; 3],
    [before, after, last]: [&Pools; 3],
    ranges: &Ranges,
    predicted: &[(u64, u64)],
) -> Vec<Check> {
    let [first, second, third] = once.map(|once| once.output.as_str());
    let ((more, of), (less, _)) = (wasted(before, ranges), wasted(after, ranges));
    let gets = |pools: &Pools| pools.each.iter().map(|pool| pool.gets).sum::<u64>() + pools.larger_requests;
    let counted: u64 = ranges.0.values().sum();
    let extents = |pools: &Pools| pools.by_size().map(|pool| pool.extents).max().unwrap_or(0);
    let used = |pools: &Pools| pools.each.iter().map(|pool| pool.used_peak).sum::<u64>();
    let (all_predicted, all_used) = (predicted.iter().map(|(_, cells)| cells).sum::<u64>(), used(after));
    let is_whole = |pool: Pool| pool.used_peak <= pool.extents * pool.cells_per_extent;
    vec![
        Check::count(
            "same_output",
            first == second && second == third && !first.is_empty(),
            "the program wrote the same".to_owned(),
        ),
        Check::count(
            "requests_are_counted_once",
            gets(before) == gets(after) && gets(after) == gets(last) && counted <= gets(before),
            format!(
                "pools served the same {} requests in all three runs, and {} of them are in ranges of 8 bytes",
                count(gets(before)),
                count(counted)
            ),
        ),
        Check::count(
            "sizes_waste_less",
            less < more,
            format!(
                "beyond what was asked for are {} of {} with the documented sizes, {} with those of least waste",
                bytes(more),
                bytes(of),
                bytes(less)
            ),
        ),
        Check::count(
            "one_extent_each",
            extents(last) <= 2 && last.by_size().all(is_whole),
            format!(
                "with percentages from run 2 a pool needs at most {} extents; with 1 % each it was {}",
                extents(last),
                extents(after)
            ),
        ),
        Check::count(
            "cells_are_predicted",
            all_predicted * 4 >= all_used * 3 && all_predicted * 3 <= all_used * 4,
            format!(
                "run 1 alone tells {} cells of the new sizes, run 2 used {} at most",
                count(all_predicted),
                count(all_used)
            ),
        ),
    ]
}
