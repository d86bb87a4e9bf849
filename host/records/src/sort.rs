//! The sort: blocks are sorted by several threads while the next ones are read, and merged while the output is written.
//!
//! ```text
//! files ── blocks ──> threads: condition, keys, order ──> runs in memory ─┐
//!                                                           │ too much    ├─> merge ── sums ── buffers ──> output
//!                                                           └─> work file ┘
//! ```
//!
//! A block is small enough for the processor's caches, and its records are brought into their order at once: so the merge reads all
//! memory from its beginning to its end.
//!
//! Invariant: the output has the records that the conditions take, each once, but for sums; equal records in the order of the input.
//! Not here: what statements say (`statement`), keys (`key`), and files (`blocks`, `run`).

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::blocks::{Block, Blocks, Input};
use crate::error::Error;
use crate::field::Field;
use crate::format::Format;
use crate::key::{Keys, prefix};
use crate::merge::Merge;
use crate::run::{Layout, Run, Writer, work_file};
use crate::statement::{Statements, Sum};

/// Bytes of a block, at most and at least.
const BLOCK: usize = 8 << 20;
const LEAST_BLOCK: usize = 64 << 10;
/// Bytes of the output that are written at a time, and of work files.
const BUFFER: usize = 1 << 20;
/// Least bytes of a work file that are read at a time.
const LEAST_READ: usize = 64 << 10;
/// Work files that are merged at a time.
const MOST_FILES: usize = 256;

/// What is to be done, and with what.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The form of the input's records, and of the output's.
    pub format: Format,
    /// What to sort by, and more.
    pub statements: Statements,
    /// Bytes of memory, about: 1 MiB at least.
    pub memory: usize,
    /// Where work files are.
    pub work: PathBuf,
    /// Threads that sort; the calling one reads.
    pub threads: usize,
}

/// What was done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Figures {
    /// Bytes and records of the input.
    pub bytes: u64,
    /// Records of the input.
    pub records: u64,
    /// Records that were taken.
    pub taken: u64,
    /// Records of the output.
    pub written: u64,
    /// Calls that read the input.
    pub reads: u64,
    /// Calls that wrote the output.
    pub writes: u64,
    /// Work files, and their bytes.
    pub work_files: u64,
    /// Bytes of work files.
    pub work_bytes: u64,
}

/// A block that was sorted: its place in the input, and its run.
struct Sorted {
    number: usize,
    run: Vec<u8>,
    taken: u64,
}

/// Sorts the records of files. `look` is called after each block and each buffer.
///
/// # Errors
/// A file, a record or a work file. The output may have a part of the records.
pub fn sort(
    inputs: Vec<Input>,
    plan: &Plan,
    output: (&str, &mut (dyn Write + Send)),
    mut look: impl FnMut(&Figures),
) -> Result<Figures, Error> {
    let mut figures = Figures::default();
    let keys = Keys::new(&plan.statements.order, plan.statements.short);
    let (name, output) = output;
    let out = |error| Error::Output { name: name.to_owned(), error };
    let mut writer = Writer::new(output, BUFFER);
    let size = (plan.memory / 16).clamp(LEAST_BLOCK, BLOCK);
    let blocks = Blocks::new(inputs, plan.format, size);
    if keys.are_empty() {
        copy(blocks, plan, &mut writer, &out, &mut figures, &mut look)?;
    } else {
        let runs = collect(blocks, plan, &keys, size, &mut figures, &mut look)?;
        let work = |error| plan.work_error(figures.work_bytes, error);
        let merge = Merge::new(runs, &keys).map_err(work)?;
        let mut sums = Sums::new(plan, &keys);
        writer = write(merge, &mut sums, plan, writer, (&out, &work), figures, &mut look)?;
        figures.written = sums.written;
    }
    writer.flush().map_err(out)?;
    figures.writes = writer.writes;
    look(&figures);
    Ok(figures)
}

impl Plan {
    fn work_error(&self, bytes: u64, error: io::Error) -> Error {
        Error::Work { folder: self.work.display().to_string(), bytes, error }
    }

    /// Leaves those records of a block that are taken.
    fn choose(&self, block: &mut Block) -> Result<(), Error> {
        let Some(condition) = &self.statements.condition else { return Ok(()) };
        let mut kept = Vec::with_capacity(block.pieces.len());
        for &piece in &block.pieces {
            let is_taken = condition.holds(block.data(piece), self.statements.short);
            if is_taken.map_err(|why| Error::Field { place: block.place_of(piece), why })? {
                kept.push(piece);
            }
        }
        block.pieces = kept;
        Ok(())
    }

    /// The next block of the input, less what is passed over, and not more than is taken. None at the end.
    fn next(&self, blocks: &mut Blocks, figures: &mut Figures) -> Result<Option<Block>, Error> {
        let stop = self.statements.stop;
        if stop.is_some_and(|stop| figures.taken >= stop) {
            return Ok(None);
        }
        let block = blocks.next()?;
        figures.reads = blocks.reads;
        let Some(mut block) = block else { return Ok(None) };
        let passed = self.statements.skip.saturating_sub(figures.records).min(block.pieces.len() as u64);
        figures.records += block.pieces.len() as u64;
        figures.bytes += block.bytes.len() as u64;
        block.pieces.drain(..passed as usize);
        if let Some(stop) = stop {
            // Which records are the first ones is known in the order of the input only.
            self.choose(&mut block)?;
            block.pieces.truncate(usize::try_from(stop - figures.taken).unwrap_or(usize::MAX));
            figures.taken += block.pieces.len() as u64;
        }
        Ok(Some(block))
    }
}

fn copy<W: Write>(
    mut blocks: Blocks,
    plan: &Plan,
    writer: &mut Writer<W>,
    out: &impl Fn(io::Error) -> Error,
    figures: &mut Figures,
    look: &mut impl FnMut(&Figures),
) -> Result<(), Error> {
    while let Some(mut block) = plan.next(&mut blocks, figures)? {
        if plan.statements.stop.is_none() {
            plan.choose(&mut block)?;
            figures.taken += block.pieces.len() as u64;
        }
        for &piece in &block.pieces {
            writer.append(|to| plan.format.append(block.data(piece), to)).map_err(out)?;
        }
        figures.written += block.pieces.len() as u64;
        look(figures);
    }
    Ok(())
}

/// A block's records in their order.
fn order(mut block: Block, plan: &Plan, keys: &Keys) -> Result<(Vec<u8>, u64), Error> {
    if plan.statements.stop.is_none() {
        plan.choose(&mut block)?;
    }
    let (mut room, mut other_room) = (Vec::new(), Vec::new());
    // The prefix of the key and the number of the record: equal keys keep their order.
    let mut entries = Vec::with_capacity(block.pieces.len());
    let mut data = 0;
    for (number, &piece) in block.pieces.iter().enumerate() {
        let key = keys.key(block.data(piece), &mut room);
        let key = key.map_err(|why| Error::Field { place: block.place_of(piece), why })?;
        entries.push(prefix(key) | number as u128);
        data += piece.length as usize;
    }
    let record = |entry: u128| block.data(block.pieces[entry as u32 as usize]);
    if keys.are_short() {
        entries.sort_unstable();
    } else {
        entries.sort_unstable_by(|&one, &other| {
            (one >> 32).cmp(&(other >> 32)).then_with(|| {
                let key = keys.key(record(one), &mut room).unwrap_or(&[]);
                let other_key = keys.key(record(other), &mut other_room).unwrap_or(&[]);
                key.cmp(other_key).then(one.cmp(&other))
            })
        });
    }
    let layout = Layout::of(plan.format);
    let mut run = Vec::with_capacity(layout.bytes(entries.len(), data));
    for &entry in &entries {
        layout.append(record(entry), &mut run);
    }
    Ok((run, entries.len() as u64))
}

/// Reads the input, and has it sorted: runs in the order of the input.
fn collect(
    mut blocks: Blocks,
    plan: &Plan,
    keys: &Keys,
    size: usize,
    figures: &mut Figures,
    look: &mut impl FnMut(&Figures),
) -> Result<Vec<Run>, Error> {
    let threads = plan.threads.max(1);
    // What threads have in their hands: a block, its entries, and its run.
    let limit = plan.memory.saturating_sub((threads + 1) * 3 * size).max(size);
    let (give, take) = mpsc::sync_channel::<(usize, Block)>(1);
    let (done, results) = mpsc::channel();
    let take = Mutex::new(take);
    thread::scope(|scope| {
        for _ in 0..threads {
            let (take, done) = (&take, done.clone());
            scope.spawn(move || serve(take, &done, plan, keys));
        }
        // Only the threads hold their end: it closes with the last of them.
        drop(done);
        read(&mut blocks, plan, keys, limit, give, &results, figures, look)
    })
}

/// A thread that sorts.
fn serve(
    take: &Mutex<Receiver<(usize, Block)>>,
    done: &Sender<Result<Sorted, Error>>,
    plan: &Plan,
    keys: &Keys,
) {
    loop {
        let next = take.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok((number, block)) = next else { return };
        let sorted = order(block, plan, keys).map(|(run, taken)| Sorted { number, run, taken });
        // The reader has given up after an error.
        if done.send(sorted).is_err() {
            return;
        }
    }
}

#[allow(clippy::too_many_arguments, reason = "the ends of two channels, and what is counted")]
fn read(
    blocks: &mut Blocks,
    plan: &Plan,
    keys: &Keys,
    limit: usize,
    give: SyncSender<(usize, Block)>,
    results: &Receiver<Result<Sorted, Error>>,
    figures: &mut Figures,
    look: &mut impl FnMut(&Figures),
) -> Result<Vec<Run>, Error> {
    let mut kept = Kept { sorted: Vec::new(), bytes: 0, files: Vec::new(), plan, keys };
    let mut given = 0;
    let mut got = 0;
    let counts = plan.statements.stop.is_none();
    while let Some(block) = plan.next(blocks, figures)? {
        if give.send((given, block)).is_err() {
            break;
        }
        given += 1;
        while let Ok(sorted) = results.try_recv() {
            got += 1;
            let sorted = sorted?;
            figures.taken += if counts { sorted.taken } else { 0 };
            kept.add(sorted);
        }
        // A work file has records that follow one another in the input.
        if kept.bytes > limit {
            while got < given {
                let Ok(sorted) = results.recv() else { break };
                got += 1;
                let sorted = sorted?;
                figures.taken += if counts { sorted.taken } else { 0 };
                kept.add(sorted);
            }
            kept.spill(figures)?;
        }
        look(figures);
    }
    drop(give);
    while got < given {
        let Ok(sorted) = results.recv() else { break };
        got += 1;
        let sorted = sorted?;
        figures.taken += if counts { sorted.taken } else { 0 };
        kept.add(sorted);
        look(figures);
    }
    kept.runs()
}

/// Runs until they are merged.
struct Kept<'a> {
    sorted: Vec<Sorted>,
    bytes: usize,
    /// Work files in the order of the input, with their bytes.
    files: Vec<(std::fs::File, u64)>,
    plan: &'a Plan,
    keys: &'a Keys,
}

impl Kept<'_> {
    fn add(&mut self, sorted: Sorted) {
        self.bytes += sorted.run.len();
        self.sorted.push(sorted);
    }

    /// The runs in memory, in the order of the input.
    fn in_memory(&mut self) -> Vec<Run> {
        self.bytes = 0;
        self.sorted.sort_unstable_by_key(|sorted| sorted.number);
        let layout = Layout::of(self.plan.format);
        self.sorted.drain(..).map(|sorted| Run::in_memory(layout, sorted.run)).collect()
    }

    /// Writes what is in memory to a work file.
    fn spill(&mut self, figures: &mut Figures) -> Result<(), Error> {
        let runs = self.in_memory();
        self.write(runs, figures)?;
        if self.files.len() == MOST_FILES {
            let files = std::mem::take(&mut self.files);
            let runs = self.open(files).map_err(|error| self.plan.work_error(figures.work_bytes, error))?;
            self.write(runs, figures)?;
        }
        Ok(())
    }

    fn write(&mut self, runs: Vec<Run>, figures: &mut Figures) -> Result<(), Error> {
        let before = figures.work_bytes;
        let write = || {
            let layout = Layout::of(self.plan.format);
            let mut merge = Merge::new(runs, self.keys)?;
            let mut writer = Writer::new(work_file(&self.plan.work)?, BUFFER);
            let mut result = Ok(());
            while result.is_ok()
                && let Some(record) = merge.next()?
            {
                result = writer.append(|to| layout.append(record, to));
                figures.work_bytes = before + writer.bytes;
            }
            result.and_then(|()| writer.flush())?;
            figures.work_bytes = before + writer.bytes;
            figures.work_files += 1;
            Ok((writer.bytes, writer.into_inner()))
        };
        let written = write();
        let (bytes, file) = written.map_err(|error| self.plan.work_error(figures.work_bytes, error))?;
        self.files.push((file, bytes));
        Ok(())
    }

    fn open(&self, files: Vec<(std::fs::File, u64)>) -> io::Result<Vec<Run>> {
        let buffer = (self.plan.memory / (files.len() + 1)).clamp(LEAST_READ, BUFFER);
        let layout = Layout::of(self.plan.format);
        files.into_iter().map(|(file, bytes)| Run::in_file(layout, file, bytes, buffer)).collect()
    }

    /// All runs, in the order of the input.
    fn runs(mut self) -> Result<Vec<Run>, Error> {
        let bytes = self.files.iter().map(|file| file.1).sum();
        let files = std::mem::take(&mut self.files);
        let mut runs = self.open(files).map_err(|error| self.plan.work_error(bytes, error))?;
        runs.append(&mut self.in_memory());
        Ok(runs)
    }
}

/// Merges the runs, while another thread writes.
#[allow(clippy::type_complexity, reason = "two ways to tell an error")]
fn write<W: Write + Send>(
    mut merge: Merge<'_>,
    sums: &mut Sums<'_>,
    plan: &Plan,
    mut writer: Writer<W>,
    (out, work): (&dyn Fn(io::Error) -> Error, &dyn Fn(io::Error) -> Error),
    mut figures: Figures,
    look: &mut impl FnMut(&Figures),
) -> Result<Writer<W>, Error> {
    thread::scope(|scope| {
        let (give, take) = mpsc::sync_channel::<Vec<u8>>(2);
        let (back, empty) = mpsc::channel::<Vec<u8>>();
        let writing = scope.spawn(move || -> (Writer<W>, io::Result<()>) {
            for mut full in take {
                let written = writer.append(|to| to.append(&mut full));
                if written.is_err() {
                    return (writer, written);
                }
                // The merge has ended: nobody needs the buffer.
                let _ = back.send(full);
            }
            (writer, Ok(()))
        });
        let mut buffer = Vec::with_capacity(BUFFER);
        let mut is_open = true;
        while is_open
            && let Some(record) = merge.next().map_err(work)?
        {
            sums.take(record, plan, &mut buffer)?;
            if buffer.len() >= BUFFER {
                let next = empty.try_recv().unwrap_or_else(|_| Vec::with_capacity(BUFFER));
                is_open = give.send(std::mem::replace(&mut buffer, next)).is_ok();
                figures.written = sums.written;
                look(&figures);
            }
        }
        sums.finish(plan, &mut buffer);
        // The thread has stopped at an error: it is told below.
        let _ = give.send(buffer);
        drop(give);
        let (writer, written) = writing.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        written.map_err(out)?;
        Ok(writer)
    })
}

/// Records with equal keys become one.
struct Sums<'a> {
    keys: &'a Keys,
    fields: Option<&'a [Field]>,
    /// The record whose sums are not complete.
    pending: Vec<u8>,
    has_pending: bool,
    rooms: [Vec<u8>; 2],
    written: u64,
}

impl<'a> Sums<'a> {
    fn new(plan: &'a Plan, keys: &'a Keys) -> Sums<'a> {
        let fields = match &plan.statements.sum {
            Sum::None => None,
            Sum::Duplicates => Some(&[][..]),
            Sum::Fields(fields) => Some(&fields[..]),
        };
        Sums { keys, fields, pending: Vec::new(), has_pending: false, rooms: [Vec::new(), Vec::new()], written: 0 }
    }

    /// The next record of the output.
    #[inline]
    fn take(&mut self, record: &[u8], plan: &Plan, to: &mut Vec<u8>) -> Result<(), Error> {
        let Some(fields) = self.fields else {
            self.written += 1;
            plan.format.append(record, to);
            return Ok(());
        };
        if self.has_pending && self.is_equal(record) && add(&mut self.pending, record, fields, plan) {
            return Ok(());
        }
        self.finish(plan, to);
        self.pending.clear();
        self.pending.extend_from_slice(record);
        self.has_pending = true;
        Ok(())
    }

    fn is_equal(&mut self, record: &[u8]) -> bool {
        let [room, other_room] = &mut self.rooms;
        self.keys.key(&self.pending, room).ok() == self.keys.key(record, other_room).ok()
    }

    /// Writes the record that waits for others with its key.
    fn finish(&mut self, plan: &Plan, to: &mut Vec<u8>) {
        if std::mem::take(&mut self.has_pending) {
            self.written += 1;
            plan.format.append(&self.pending, to);
        }
    }
}

/// Adds the fields of a record to those of another one. False, with nothing done, if a sum does not fit, or a field is no number.
fn add(to: &mut [u8], record: &[u8], fields: &[Field], plan: &Plan) -> bool {
    let short = plan.statements.short;
    let mut sums = Vec::with_capacity(fields.len());
    for field in fields {
        let (Ok(Some(one)), Ok(Some(other))) = (field.number(to, short), field.number(record, short)) else {
            return false;
        };
        let Some(sum) = one.checked_add(other) else { return false };
        sums.push(sum);
    }
    let mut before = to.to_vec();
    if fields.iter().zip(&sums).all(|(field, &sum)| field.set_number(&mut before, sum)) {
        to.copy_from_slice(&before);
        return true;
    }
    false
}
