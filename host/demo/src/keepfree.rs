//! `demo keepfree`: empty increments released (FREE) or kept for later use (KEEP).

use underbar_ledger::Key;
use underbar_report::units::{bytes, count, counted};

use super::document::KEEPFREE;
use super::measure::{Figured, Machine, Problem, Rounds};
use super::output::{Check, Column, Output, Table};
use super::progress::Progress;
use super::{Parameters, arm, order, plain};
use crate::programs::storage::{AGAIN, LARGEST, PIECES, requested};

const RUNS: usize = 8;
const FREE: &str = "HEAP(32K,32K) FREE";
const KEEP: &str = "HEAP(32K,32K) KEEP";
const TUNED: &str = "HEAP(100M,100M)";

/// Runs it.
pub fn run(parameters: &Parameters) -> Result<Output, Problem> {
    let runs = parameters.runs.unwrap_or(RUNS);
    let title = format!(
        "{} gets of 1 to {} bytes, the first {} freed, as many got again, all freed",
        count(PIECES as u64),
        count(LARGEST),
        count(AGAIN as u64)
    );
    let mut output = Output::new("keepfree", &title, parameters, runs);
    let machine = Machine::new(parameters)?;
    let mut progress = Progress::new(parameters.quiet);
    progress.part("KEEP and FREE");
    let seed = parameters.seed.to_string();
    let program = ["keepfree", "--seed", &seed];
    let arms = vec![
        arm(FREE, "HEAP(32K,32K,ANYWHERE,FREE)", &program),
        arm(KEEP, "HEAP(32K,32K,ANYWHERE,KEEP)", &program),
        arm(TUNED, "HEAP(100M,100M,ANYWHERE,KEEP)", &program),
        arm("default", "", &program),
        plain("plain", &program),
    ];
    let rounds = machine.rounds(arms, runs, &mut order(parameters), &mut progress)?;
    let (total, peak) = requested(parameters.seed, true);
    let table = Table {
        title: format!("{} bytes requested, {} at a time at most", count(total), count(peak)),
        requested_bytes: Some(total),
        requested_peak_bytes: Some(peak),
        arms: rounds.figured(),
        document: KEEPFREE.to_vec(),
        blocks: vec![
            vec![
                Column::SEGMENTS,
                Column::FREED,
                Column::USED,
                Column::AT_ONE_TIME,
                Column::GETS,
                Column::FREES,
            ],
            vec![Column::CPU, Column::ELAPSED, Column::FAULTS, Column::PEAK, Column::KEPT, Column::EXCP],
        ],
        remarks: Vec::new(),
    };
    output.checks = checks(&table.arms, &rounds);
    output.notes = vec![
        "Most at a time: the most storage that backed segments at any time, of which the document says \"You can't \
         determine storage used to back segments now\"."
            .to_owned(),
        "RSS kept: by how much resident memory after the last free was larger than before the first get, as the \
         program itself reads it. What FREE keeps is underbar's own tables."
            .to_owned(),
    ];
    output.tables.push(table);
    Ok(output)
}

fn checks(arms: &[Figured], rounds: &Rounds) -> Vec<Check> {
    let [free, keep, tuned, ..] = arms else { return Vec::new() };
    let get = |arm: &Figured, key| arm.counter(key).unwrap_or(0);
    let allocated = |arm| get(arm, Key::HeapSegmentsAllocated);
    let freed = |arm| get(arm, Key::HeapSegmentsFreed);
    let resident = |arm: &Figured| arm.kept_resident().unwrap_or(0);
    let mut checks = vec![
        Check::count(
            "free_allocates_more",
            allocated(free) > allocated(keep) && freed(free) > 0 && freed(keep) == 0,
            format!(
                "FREE allocated {} segments and freed {}, KEEP allocated {} and freed {}",
                count(allocated(free)),
                count(freed(free)),
                count(allocated(keep)),
                count(freed(keep))
            ),
        ),
        Check::count(
            "free_gives_everything_back",
            allocated(free) - freed(free) <= 4,
            format!(
                "FREE: {} left, of {}",
                counted(allocated(free) - freed(free), "segment was", "segments were"),
                count(allocated(free))
            ),
        ),
        Check::count(
            "tuned_segments",
            matches!(allocated(tuned), 8 | 9) && freed(tuned) == 0,
            format!("{TUNED}: {} segments, none freed", allocated(tuned)),
        ),
        Check::count(
            "resident_after_last_free",
            resident(free) * 10 <= resident(keep) && resident(keep) * 2 >= keep.steps.peak_resident_bytes,
            format!(
                "after the last free FREE keeps {} (underbar's own tables are {}), KEEP keeps {} of a peak of {}",
                bytes(resident(free)),
                bytes(get(free, Key::HeapOwnBytes)),
                bytes(resident(keep)),
                bytes(keep.steps.peak_resident_bytes)
            ),
        ),
    ];
    if let (Some(free), Some(keep)) = (rounds.place(FREE), rounds.place(KEEP)) {
        checks.push(Check::more("free_costs_more", "CPU of FREE to KEEP", rounds.cpu_ratio(free, keep)));
    }
    checks
}
