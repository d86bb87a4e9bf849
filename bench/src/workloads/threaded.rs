//! Workloads of several threads: one gets and another frees, threads that come and go, and a server's mix.

use super::{add, get};
use crate::random::Random;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// Blocks that are got by one thread and may be freed by another.
type Blocks = Vec<Vec<u8>>;

/// One thread gets batches of 256 blocks, the other frees them; at most eight batches wait between them.
pub(super) fn cross_thread(steps: usize, seed: u64) -> u64 {
    const BATCH: usize = 256;
    let (give, take) = sync_channel::<Blocks>(8);
    thread::scope(|scope| {
        scope.spawn(move || {
            let mut random = Random::new(seed);
            for step in 0..steps {
                let batch = (0..BATCH).map(|_| get(random.between(16, 512), step as u8)).collect();
                if give.send(batch).is_err() {
                    return; // the taker ended, and its panic is what will be seen
                }
            }
        });
        take.iter()
            .fold(seed, |sum, batch| batch.iter().fold(sum, |sum, block| add(sum, u64::from(block[0]))))
    })
}

/// Threads two at a time, `steps` of them: each gets 400 blocks, frees most, and leaves 40 for a later one to free.
pub(super) fn thread_churn(steps: usize, seed: u64) -> u64 {
    let estate: Mutex<Blocks> = Mutex::new(Vec::new());
    let mut sum = seed;
    for pair in 0..steps / 2 {
        sum = thread::scope(|scope| {
            let lives = [0, 1].map(|which| {
                let estate = &estate;
                scope.spawn(move || life(seed ^ ((2 * pair + which) as u64) << 20, estate))
            });
            lives.into_iter().fold(sum, |sum, life| match life.join() {
                Ok(value) => add(sum, value),
                Err(panic) => std::panic::resume_unwind(panic),
            })
        });
    }
    sum
}

/// The work of one thread of [`thread_churn`]; returns the bytes requested.
fn life(seed: u64, estate: &Mutex<Blocks>) -> u64 {
    let mut random = Random::new(seed);
    let mut bytes = 0;
    let mut blocks: Blocks = (0..400)
        .map(|_| {
            let size = random.size_between(16, 4_096);
            bytes += size as u64;
            get(size, 3)
        })
        .collect();
    random.shuffle(&mut blocks);
    let left = blocks.split_off(360);
    // A poisoned lock means that another thread panicked already; its panic is the one to show.
    let inherited = match estate.lock() {
        Ok(mut estate) => std::mem::replace(&mut *estate, left),
        Err(_) => Vec::new(),
    };
    drop(inherited);
    bytes
}

/// Two threads, each with a table of 1,000 blocks: one replacement at random a step, and after each 20,000 they swap
/// tables, so that a thread frees many blocks that the other got.
pub(super) fn server(steps: usize, seed: u64) -> u64 {
    const THREADS: usize = 2;
    const TABLE: usize = 1_000;
    const TURN: usize = 20_000;
    let mut tables: Vec<Blocks> = (0..THREADS).map(|_| (0..TABLE).map(|_| get(16, 0)).collect()).collect();
    let ways: Vec<_> = (0..THREADS).map(|_| sync_channel::<Blocks>(1)).collect();
    let (gives, takes): (Vec<_>, Vec<_>) = ways.into_iter().unzip();
    thread::scope(|scope| {
        let mut gives: Vec<_> = gives.into_iter().map(Some).collect();
        let mut threads = Vec::new();
        for (which, take) in takes.into_iter().enumerate() {
            let table = std::mem::take(&mut tables[which]);
            // Each gives to the next and takes from the one before.
            let give = gives[(which + 1) % THREADS].take();
            threads.push(scope.spawn(move || {
                worker(steps / THREADS / TURN, TURN, seed + which as u64, table, &take, give)
            }));
        }
        threads.into_iter().fold(seed, |sum, thread| match thread.join() {
            Ok(value) => add(sum, value),
            Err(panic) => std::panic::resume_unwind(panic),
        })
    })
}

/// One thread of [`server`]; returns the bytes requested.
fn worker(
    turns: usize,
    turn: usize,
    seed: u64,
    mut table: Blocks,
    take: &Receiver<Blocks>,
    give: Option<SyncSender<Blocks>>,
) -> u64 {
    let mut random = Random::new(seed);
    let mut bytes = 0;
    for _ in 0..turns.max(1) {
        for _ in 0..turn {
            let slot = random.below(table.len());
            let size = random.size_between(16, 32_768);
            bytes += size as u64;
            table[slot] = get(size, slot as u8);
        }
        let Some(give) = &give else { return bytes };
        if give.send(table).is_err() {
            return bytes;
        }
        match take.recv() {
            Ok(next) => table = next,
            Err(_) => return bytes,
        }
    }
    bytes
}
