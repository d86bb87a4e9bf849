//! The input becomes runs: one thread reads blocks, others sort them.
//!
//! ```text
//!              ┌──────────── used blocks ───────────┐
//!              v                                    │
//! files ── reader ── blocks ──> sorters ── runs ──> memory, as long as it takes them
//!                                            └────> work file, one write for each run
//! ```
//!
//! An input of one block is sorted by the reader itself.
//!
//! Invariant: runs are numbered as their blocks, so that equal records keep the order of the input wherever their runs are.
//! Not here: the order within a block (`order`), and the merge (`merge`).

use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::blocks::{Block, Blocks};
use crate::error::Error;
use crate::key::Keys;
use crate::merge::Merge;
use crate::order::Sorter;
use crate::plan::{Figures, Plan};
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
    /// Blocks for the sorters. The reader gives; each sorter takes one at a time.
    blocks: Mutex<Receiver<(usize, Block)>>,
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
    let (give, take) = mpsc::sync_channel(1);
    let room = Mutex::new(plan.stays());
    let shared = Shared { plan, keys, work: &work, blocks: Mutex::new(take), room };
    let mut sorted = match (first, second) {
        (None, _) => Vec::new(),
        (Some(only), None) => {
            let one = shared.sort(&mut Sorter::new(keys, plan.format), 0, only, None)?;
            count(figures, &one, plan);
            vec![one]
        }
        (Some(first), Some(second)) => thread::scope(|scope| {
            let (done, results) = mpsc::channel();
            let (back, used) = mpsc::channel();
            for _ in 0..plan.sorters() {
                let (shared, done, back) = (&shared, done.clone(), back.clone());
                scope.spawn(move || serve(shared, &done, &back));
            }
            // Only the sorters hold their ends, so that an end closes with the last of them.
            drop((done, back));
            let ends = Ends { give, results, used };
            read(&mut blocks, [first, second], plan, ends, figures, look)
        })?,
    };
    sorted.sort_unstable_by_key(|sorted| sorted.number);
    figures.runs = sorted.len() as u64;
    figures.work = work.figures();
    let kept = sorted.into_iter().map(|sorted| sorted.run).collect();
    let began = Instant::now();
    let runs = fewer(kept, plan, keys, work);
    figures.times.merge += began.elapsed();
    runs
}

/// The reader's ends of its channels.
struct Ends {
    give: SyncSender<(usize, Block)>,
    results: Receiver<Result<Sorted, Error>>,
    used: Receiver<Block>,
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

/// Adds a sorted block to the figures.
fn count(figures: &mut Figures, sorted: &Sorted, plan: &Plan) {
    // With STOPAFT the reader has counted.
    figures.taken += if plan.statements.stop.is_none() { sorted.taken } else { 0 };
    figures.times.sort += sorted.sort;
    figures.times.spill += sorted.spill;
}

/// The reader.
fn read(
    blocks: &mut Blocks,
    first: [Block; 2],
    plan: &Plan,
    ends: Ends,
    figures: &mut Figures,
    look: &mut dyn FnMut(&Figures),
) -> Result<Vec<Sorted>, Error> {
    let Ends { give, results, used } = ends;
    let mut all = Vec::new();
    let mut take = |figures: &mut Figures, sorted: Result<Sorted, Error>| {
        let sorted = sorted?;
        count(figures, &sorted, plan);
        all.push(sorted);
        Ok::<(), Error>(())
    };
    // One block for each sorter, one that waits, and one that is read.
    let most = plan.sorters() + 2;
    let mut given = 0;
    let mut waiting = Vec::from(first);
    waiting.reverse();
    loop {
        let block = match waiting.pop() {
            Some(block) => Some(block),
            None => {
                let free = if given < most { used.try_recv().ok() } else { used.recv().ok() };
                next(blocks, free, plan, figures)?
            }
        };
        let Some(block) = block else { break };
        if give.send((given, block)).is_err() {
            break;
        }
        given += 1;
        while let Ok(sorted) = results.try_recv() {
            take(figures, sorted)?;
        }
        look(figures);
    }
    drop(give);
    for sorted in results {
        take(figures, sorted)?;
        look(figures);
    }
    Ok(all)
}

/// A sorter.
fn serve(shared: &Shared<'_>, done: &Sender<Result<Sorted, Error>>, back: &Sender<Block>) {
    let mut sorter = Sorter::new(shared.keys, shared.plan.format);
    loop {
        let next = shared.blocks.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok((number, block)) = next else { return };
        let sorted = shared.sort(&mut sorter, number, block, Some(back));
        // The reader has given up after an error.
        if done.send(sorted).is_err() {
            return;
        }
    }
}

impl Shared<'_> {
    /// Sorts a block, gives its memory back, and keeps the run.
    fn sort(
        &self,
        sorter: &mut Sorter<'_>,
        number: usize,
        mut block: Block,
        back: Option<&Sender<Block>>,
    ) -> Result<Sorted, Error> {
        let began = Instant::now();
        let mut run = Vec::new();
        let choice = self.plan.choice();
        let is_chosen = self.plan.statements.stop.is_some();
        let result = if is_chosen { Ok(()) } else { choice.choose(&mut block) };
        let result = result.and_then(|()| sorter.sort(&block, &mut run));
        let taken = block.pieces.len() as u64;
        if let Some(back) = back {
            // The reader has ended if it takes no block back.
            let _ = back.send(block);
        }
        result?;
        let sort = began.elapsed();
        let fits = {
            let mut room = self.room.lock().unwrap_or_else(PoisonError::into_inner);
            let fits = *room >= run.len();
            *room -= if fits { run.len() } else { 0 };
            fits
        };
        let run = if fits { Kept::Memory(run) } else { Kept::File(self.work.write(&run)?) };
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
