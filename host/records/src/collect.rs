//! The input becomes runs: one thread reads blocks, others sort them.
//!
//! ```text
//!              ┌─ used blocks ─┐
//!              v               │
//! files ── reader ─ blocks ─> sorters ── runs ──> memory, as long as it takes them
//!                                          └────> work file, one write for each run
//! ```
//!
//! An input of one block is sorted by the reader itself.
//!
//! Invariant: runs are numbered as their blocks, so that equal records keep the order of the input wherever their runs are.
//! Not here: the order within a block (`order`), and the merge (`merge`).

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::blocks::{Block, Blocks};
use crate::error::Error;
use crate::key::Keys;
use crate::merge::Merge;
use crate::order::Sorter;
use crate::plan::{Figures, Plan};
use crate::pool::{Guard, Next, Pool};
use crate::run::{InWork, Layout, Run};
use crate::work::{Extent, Work};

/// Where a run is.
enum Kept {
    Memory(Vec<u8>),
    File(Extent),
}

/// A block that was sorted.
struct Sorted {
    number: usize,
    run: Kept,
    taken: u64,
    sort: Duration,
    spill: Duration,
}

/// What the threads share.
struct Shared<'a> {
    plan: &'a Plan,
    keys: &'a Keys,
    work: &'a Work,
    pool: Pool,
    /// Bytes of runs that memory still takes. Each sorter takes off its run; the lock orders them.
    room: Mutex<usize>,
}

/// Reads the input and sorts it. The runs are in the order of the input, and few enough for one merge.
///
/// # Errors
/// The input cannot be read, a record is bad, the work file cannot be written.
pub fn runs<'a>(
    mut blocks: Blocks,
    plan: &'a Plan,
    keys: &'a Keys,
    work: Arc<Work>,
    figures: &mut Figures,
    look: &mut dyn FnMut(&Figures),
) -> Result<(Vec<Run<'a>>, Arc<Work>), Error> {
    let first = next(&mut blocks, None, plan, figures)?;
    let second = if first.is_some() { next(&mut blocks, None, plan, figures)? } else { None };
    let (pool, room) = (Pool::default(), Mutex::new(plan.stays()));
    let shared = Shared { plan, keys, work: &work, pool, room };
    let mut sorted = match (first, second) {
        (None, _) => Vec::new(),
        (Some(only), None) => {
            let sorted = shared.sort(&mut Sorter::new(keys, plan.format), 0, only)?;
            vec![sorted]
        }
        (Some(first), Some(second)) => thread::scope(|scope| {
            let sorters: Vec<_> = (0..plan.sorters()).map(|_| scope.spawn(|| shared.sort_all())).collect();
            let read = read(&mut blocks, [first, second], &shared, figures, look);
            if read.is_err() {
                shared.pool.fail();
            }
            shared.pool.close();
            let mut all = Vec::new();
            let mut result = Ok(());
            for sorter in sorters {
                match sorter.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)) {
                    Ok(mut sorted) => all.append(&mut sorted),
                    Err(error) => result = result.and(Err(error)),
                }
            }
            // The records before a bad one may have an error of their own, which comes first in the input.
            result.and(read).map(|()| all)
        })?,
    };
    for sorted in &sorted {
        // With STOPAFT the reader has counted.
        figures.taken += if plan.statements.stop.is_none() { sorted.taken } else { 0 };
        figures.times.sort += sorted.sort;
        figures.times.spill += sorted.spill;
    }
    sorted.sort_unstable_by_key(|sorted| sorted.number);
    figures.runs = sorted.len() as u64;
    figures.work = work.figures();
    let kept = sorted.into_iter().map(|sorted| sorted.run).collect();
    let began = Instant::now();
    let runs = fewer(kept, plan, keys, work);
    figures.times.merge += began.elapsed();
    runs
}

/// The next block, less the records that SKIPREC and STOPAFT leave out. None at the end.
///
/// # Errors
/// A file cannot be read, or is not of such records; with STOPAFT, a field of the condition is bad.
pub fn next(
    blocks: &mut Blocks,
    used: Option<Block>,
    plan: &Plan,
    figures: &mut Figures,
) -> Result<Option<Block>, Error> {
    let stop = plan.statements.stop;
    if stop.is_some_and(|stop| figures.taken >= stop) {
        return Ok(None);
    }
    let began = Instant::now();
    let block = blocks.next(used);
    figures.times.read += began.elapsed();
    (figures.reads, figures.bytes) = (blocks.reads, blocks.bytes);
    let Some(mut block) = block? else { return Ok(None) };
    let passed = plan.statements.skip.saturating_sub(figures.records).min(block.pieces.len() as u64);
    figures.records += block.pieces.len() as u64;
    block.pieces.drain(..passed as usize);
    if let Some(stop) = stop {
        // The first records are only known in the order of the input.
        plan.choice().choose(&mut block)?;
        block.pieces.truncate(usize::try_from(stop - figures.taken).unwrap_or(usize::MAX));
        figures.taken += block.pieces.len() as u64;
    }
    Ok(Some(block))
}

/// The reader.
fn read(
    blocks: &mut Blocks,
    first: [Block; 2],
    shared: &Shared<'_>,
    figures: &mut Figures,
    look: &mut dyn FnMut(&Figures),
) -> Result<(), Error> {
    let mut given = 0;
    for block in first {
        shared.pool.give(given, block);
        given += 1;
    }
    // One block for each sorter, and one that is read.
    let most = shared.plan.sorters() + 1;
    while let Next::Fill(used) = shared.pool.next(given < most) {
        let Some(block) = next(blocks, used, shared.plan, figures)? else { break };
        shared.pool.give(given, block);
        given += 1;
        figures.work = shared.work.figures();
        look(figures);
    }
    Ok(())
}

impl Shared<'_> {
    /// A sorter: all blocks that it gets.
    fn sort_all(&self) -> Result<Vec<Sorted>, Error> {
        let guard = Guard::new(&self.pool);
        let mut sorter = Sorter::new(self.keys, self.plan.format);
        let mut all = Vec::new();
        while let Some((number, block)) = self.pool.take() {
            all.push(self.sort(&mut sorter, number, block)?);
        }
        guard.ends_well();
        Ok(all)
    }

    /// Sorts a block, gives its memory back, and keeps the run.
    fn sort(&self, sorter: &mut Sorter<'_>, number: usize, mut block: Block) -> Result<Sorted, Error> {
        let began = Instant::now();
        let mut run = sorter.spare();
        // With STOPAFT the reader has chosen.
        if self.plan.statements.stop.is_none() {
            self.plan.choice().choose(&mut block)?;
        }
        sorter.sort(&block, &mut run)?;
        let taken = block.pieces.len() as u64;
        self.pool.give_back(block);
        let sort = began.elapsed();
        let fits = {
            let mut room = self.room.lock().unwrap_or_else(PoisonError::into_inner);
            let fits = *room >= run.len();
            *room -= if fits { run.len() } else { 0 };
            fits
        };
        let run = if fits {
            Kept::Memory(run)
        } else {
            let extent = self.work.write(&run)?;
            sorter.keep(run);
            Kept::File(extent)
        };
        Ok(Sorted { number, run, taken, sort, spill: began.elapsed() - sort })
    }
}

/// Runs for one merge. If there are too many in the work file, neighbours are merged into a new work file first.
fn fewer<'a>(
    mut kept: Vec<Kept>,
    plan: &'a Plan,
    keys: &'a Keys,
    mut work: Arc<Work>,
) -> Result<(Vec<Run<'a>>, Arc<Work>), Error> {
    let layout = Layout::of(plan.format);
    let open = |kept: Kept, runs: usize, work: &Arc<Work>| match kept {
        Kept::Memory(bytes) => Run::in_memory(layout, bytes),
        Kept::File(extent) => Run::of(layout, InWork { extent, buffer: plan.part(runs), work: work.clone() }),
    };
    let in_file = |kept: &[Kept]| kept.iter().filter(|kept| matches!(kept, Kept::File(_))).count();
    let most = plan.most_runs();
    while in_file(&kept) > most {
        let next = Arc::new(work.another());
        let mut merged = Vec::new();
        let mut all = kept.into_iter().peekable();
        while all.peek().is_some() {
            let mut group: Vec<Kept> = all.by_ref().take(most).collect();
            if in_file(&group) == 0 {
                merged.append(&mut group);
                continue;
            }
            let count = in_file(&group);
            let group = group.into_iter().map(|kept| open(kept, count, &work)).collect();
            let mut merge = Merge::new(group, keys)?;
            let (mut buffer, mut extent) = (Vec::with_capacity(plan.buffer()), None);
            while let Some(record) = merge.next()? {
                layout.append(record, &mut buffer);
                if buffer.len() >= plan.buffer() {
                    extent = Some(next.extend(extent, &buffer)?);
                    buffer.clear();
                }
            }
            merged.push(Kept::File(next.extend(extent, &buffer)?));
        }
        (kept, work) = (merged, next);
    }
    let count = in_file(&kept);
    let runs = kept.into_iter().map(|kept| open(kept, count, &work)).collect();
    Ok((runs, work))
}
