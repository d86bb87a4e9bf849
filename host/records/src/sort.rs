//! SORT, MERGE and COPY, from the files to the output.
//!
//! ```text
//! SORT    files ── collect ──> runs ─┐
//! MERGE   each file, in order ─ run ─┴─> merge ── sums ──> sink ──> output
//! COPY    files ── blocks ── condition ──────────────────────┘
//! ```
//!
//! Invariant: the output has the records that the statements take, each once, but for SUM; equal records are in the order of the input.
//! Not here: the parts, each of which has a module.

use std::cell::Cell;
use std::io::Write;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use crate::blocks::{Block, Blocks, Input};
use crate::collect;
use crate::error::Error;
use crate::key::Keys;
use crate::merge::Merge;
use crate::plan::{Figures, Plan};
use crate::run::{Layout, More, Run};
use crate::sink::Sink;
use crate::statement::Verb;
use crate::sums::Sums;
use crate::work::Work;

/// Where the records go.
pub struct To<'a> {
    /// The name, for messages.
    pub name: &'a str,
    /// The bytes.
    pub bytes: &'a mut (dyn Write + Send),
}

/// Sorts, merges or copies the records of files, as the plan's statements say. `look` is called now and then with the figures so far.
///
/// # Errors
/// A file, a record, the work file or the output. Then the output may have a part of the records.
pub fn sort(
    inputs: Vec<Input>,
    plan: &Plan,
    to: To<'_>,
    look: &mut dyn FnMut(&Figures),
) -> Result<Figures, Error> {
    let keys = Keys::new(&plan.statements.order, plan.statements.short);
    let counted = Cell::new(Figures::default());
    let mut figures = Figures::default();
    let To { name, bytes } = to;
    thread::scope(|scope| {
        let mut sink = Sink::new(scope, bytes, plan.buffer());
        let mut work = None;
        match plan.statements.verb {
            Verb::Copy => copy(inputs, plan, &mut sink, &mut figures, look)?,
            Verb::Sort => {
                let blocks = Blocks::new(inputs, plan.format, plan.block());
                let made = Arc::new(Work::new(&plan.work));
                let (runs, made) = collect::runs(blocks, plan, &keys, made, &mut figures, look)?;
                figures.work = made.figures();
                work = Some(made);
                merge(runs, plan, &keys, &mut sink, &mut figures, &mut |figures, _| look(figures))?;
            }
            Verb::Merge => {
                let runs = ordered(inputs, plan, &keys, &counted);
                merge(runs, plan, &keys, &mut sink, &mut figures, &mut |figures, is_end| {
                    let read = counted.get();
                    (figures.records, figures.bytes) = (read.records, read.bytes);
                    (figures.taken, figures.reads) = (read.taken, read.reads);
                    figures.times.read = read.times.read;
                    if !is_end {
                        look(figures);
                    }
                })?;
            }
        }
        let written = sink.finish();
        (figures.written_bytes, figures.writes) = (written.bytes, written.writes);
        figures.times.write = written.time;
        if let Some(work) = work {
            figures.work = work.figures();
        }
        let records = figures.written;
        written.result.map_err(|error| Error::Output { name: name.to_owned(), records, error })
    })?;
    look(&figures);
    Ok(figures)
}

fn copy(
    inputs: Vec<Input>,
    plan: &Plan,
    sink: &mut Sink<'_, '_>,
    figures: &mut Figures,
    look: &mut dyn FnMut(&Figures),
) -> Result<(), Error> {
    let mut blocks = Blocks::new(inputs, plan.format, plan.block());
    let mut used = None;
    while let Some(mut block) = collect::next(&mut blocks, used, plan, figures)? {
        if plan.statements.stop.is_none() {
            plan.choice().choose(&mut block)?;
            figures.taken += block.pieces.len() as u64;
        }
        for &piece in &block.pieces {
            plan.format.append(block.data(piece), &mut sink.buffer);
            if sink.is_full() && !sink.hand_over() {
                return Ok(());
            }
        }
        figures.written += block.pieces.len() as u64;
        look(figures);
        used = Some(block);
    }
    Ok(())
}

/// Merges runs into the sink. `look` is called after each buffer, and at the end.
fn merge(
    runs: Vec<Run<'_>>,
    plan: &Plan,
    keys: &Keys,
    sink: &mut Sink<'_, '_>,
    figures: &mut Figures,
    look: &mut dyn FnMut(&mut Figures, bool),
) -> Result<(), Error> {
    let began = Instant::now();
    let mut merge = Merge::new(runs, keys)?;
    let mut sums = Sums::new(&plan.statements.sum, keys, plan.statements.short);
    let format = plan.format;
    while let Some(record) = merge.next()? {
        match &mut sums {
            None => {
                figures.written += 1;
                format.append(record, &mut sink.buffer);
            }
            Some(sums) => sums.take(record, |whole| {
                figures.written += 1;
                format.append(whole, &mut sink.buffer);
            }),
        }
        if sink.is_full() {
            if !sink.hand_over() {
                break;
            }
            look(figures, false);
        }
    }
    if let Some(last) = sums.as_mut().and_then(Sums::finish) {
        figures.written += 1;
        format.append(last, &mut sink.buffer);
    }
    figures.times.merge += began.elapsed();
    look(figures, true);
    Ok(())
}

/// The inputs of MERGE as runs.
fn ordered<'a>(
    inputs: Vec<Input>,
    plan: &'a Plan,
    keys: &'a Keys,
    counted: &'a Cell<Figures>,
) -> Vec<Run<'a>> {
    let layout = Layout::of(plan.format);
    // A block, and its records once more.
    let size = (plan.memory / (4 * inputs.len().max(1))).clamp(64 << 10, 1 << 20);
    let run = |input| {
        let blocks = Blocks::new(vec![input], plan.format, size);
        let (used, last, room) = Default::default();
        Run::of(layout, Ordered { blocks, plan, keys, counted, layout, used, last, room })
    };
    inputs.into_iter().map(run).collect()
}

/// An input of MERGE, whose order is checked.
struct Ordered<'a> {
    blocks: Blocks,
    plan: &'a Plan,
    keys: &'a Keys,
    /// The figures of all inputs.
    counted: &'a Cell<Figures>,
    layout: Layout,
    used: Option<Block>,
    /// The key of the last record.
    last: Option<Vec<u8>>,
    room: Vec<u8>,
}

impl Ordered<'_> {
    /// The next block, counted.
    fn next(&mut self) -> Result<Option<Block>, Error> {
        let mut all = self.counted.get();
        let (bytes, reads) = (self.blocks.bytes, self.blocks.reads);
        let began = Instant::now();
        let block = self.blocks.next(self.used.take());
        all.times.read += began.elapsed();
        all.bytes += self.blocks.bytes - bytes;
        all.reads += self.blocks.reads - reads;
        let mut block = block?;
        if let Some(block) = &mut block {
            all.records += block.pieces.len() as u64;
            self.plan.choice().choose(block)?;
            all.taken += block.pieces.len() as u64;
        }
        self.counted.set(all);
        Ok(block)
    }
}

impl More for Ordered<'_> {
    fn more(&mut self, to: &mut Vec<u8>) -> Result<bool, Error> {
        loop {
            let Some(block) = self.next()? else { return Ok(false) };
            for &piece in &block.pieces {
                let record = block.data(piece);
                let key = self.keys.key(record, &mut self.room);
                let key = key.map_err(|why| Error::Field { place: block.place_of(piece), why })?;
                if self.last.as_deref().is_some_and(|last| key < last) {
                    return Err(Error::Sequence(block.place_of(piece)));
                }
                let last = self.last.get_or_insert_default();
                last.clear();
                last.extend_from_slice(key);
                self.layout.append(record, to);
            }
            let has_some = !block.pieces.is_empty();
            self.used = Some(block);
            if has_some {
                return Ok(true);
            }
        }
    }
}
