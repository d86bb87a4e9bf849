//! `underbar-bench-turns PATTERN THREADS TURNS WARM`: threads that use the heap strictly in turn, for `bench lines`.
//!
//! ```text
//! thread 0 ─ turn ─> pipe ─> thread 1 ─ turn ─> pipe ─> ... ─> thread 0
//! ```
//!
//! The first turn that counts begins with a store to MARK, and the last ends with one: the trace shows them. With `where` instead of a
//! pattern it prints the addresses of its own shared words, which are not the allocator's.
#![forbid(unsafe_code)]

use std::io::{PipeReader, PipeWriter, Read, Write, pipe};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use underbar_bench::lines::{LARGEST, PAIRS, Pattern, SLOTS, bytes_of, slot_of};

/// What the trace looks for. Written by the first and the last thread.
static MARK: AtomicUsize = AtomicUsize::new(0);
/// Blocks on their way to another thread.
static BLOCKS: [Mutex<Option<Vec<u8>>>; SLOTS] = [const { Mutex::new(None) }; SLOTS];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.first().is_some_and(|word| word == "where") {
        let blocks = (&raw const BLOCKS) as usize;
        println!("{:x} {blocks:x} {:x}", (&raw const MARK) as usize, blocks + size_of_val(&BLOCKS));
        return ExitCode::SUCCESS;
    }
    let number = |at: usize| words.get(at).and_then(|word| word.parse::<usize>().ok());
    let pattern = words.first().and_then(|word| Pattern::of(word));
    let (Some(pattern), Some(threads), Some(turns), Some(warm)) = (pattern, number(1), number(2), number(3))
    else {
        eprintln!("usage: underbar-bench-turns PATTERN THREADS TURNS WARM");
        return ExitCode::from(2);
    };
    match run(pattern, threads.clamp(1, LARGEST), turns, warm) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("underbar-bench-turns: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(pattern: Pattern, threads: usize, turns: usize, warm: usize) -> std::io::Result<()> {
    let mut readers = Vec::new();
    let mut writers = Vec::new();
    for _ in 0..threads {
        let (reader, writer) = pipe()?;
        readers.push(reader);
        writers.push(writer);
    }
    let mut first = writers.first().map(PipeWriter::try_clone).transpose()?;
    writers.rotate_left(1);
    let work = |me: usize, mut reader: PipeReader, mut writer: PipeWriter| -> std::io::Result<()> {
        // After the last turn there is one more without work, so that no thread ends before all are done.
        for turn in 0..=warm + turns {
            reader.read_exact(&mut [0])?;
            let (is_first, is_last) = (me == 0, me + 1 == threads);
            if is_first && turn == warm {
                MARK.store(1, Ordering::SeqCst);
            }
            if turn < warm + turns {
                take(pattern, me, threads, turn);
            }
            if is_last && turn + 1 == warm + turns {
                MARK.store(2, Ordering::SeqCst);
            }
            // The first thread has ended when the last one gives its last turn away.
            if !(is_last && turn == warm + turns) {
                writer.write_all(&[0])?;
            }
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let handles: Vec<_> = readers
            .into_iter()
            .zip(writers)
            .enumerate()
            .map(|(me, (reader, writer))| scope.spawn(move || work(me, reader, writer)))
            .collect();
        let begun = first.as_mut().map_or(Ok(()), |first| first.write_all(&[0]));
        let all = handles.into_iter().map(|handle| handle.join().unwrap_or(Ok(())));
        all.fold(begun, |so_far, one| so_far.and(one))
    })
}

/// One turn of a thread: [`PAIRS`] gets and as many frees.
fn take(pattern: Pattern, me: usize, threads: usize, turn: usize) {
    let get = |block: usize| {
        let mut got = vec![0_u8; 0];
        got.reserve_exact(bytes_of(block));
        got.push(1);
        got
    };
    match pattern {
        Pattern::Own => {
            let blocks: [Vec<u8>; PAIRS] = std::array::from_fn(get);
            drop(std::hint::black_box(blocks));
        }
        Pattern::Passed | Pattern::Mixed => {
            for block in 0..PAIRS {
                let slot = slot_of(pattern, me, threads, turn, block);
                let mut slot = BLOCKS[slot].lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                // The old one is freed here, whoever got it.
                *slot = None;
                *slot = Some(get(block));
            }
        }
    }
}
