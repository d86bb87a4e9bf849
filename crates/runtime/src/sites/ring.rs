//! The ring of the site area, as the process's threads write it.
//!
//! ```text
//! reserve   head + words, by compare-exchange; mark without DONE
//! put       the words behind the mark                               relaxed
//! commit    mark with DONE                                          Release
//!
//! the host  reads marks from tail on; stops at the first one that is not done; tail = behind the last one       Release
//! ```
//!
//! A thread that is interrupted between reserve and commit delays the host, and no other thread: they go on behind its record. A signal
//! handler may request storage in the middle of it, for the same reason.
//!
//! Invariant: the words of a record are its writer's alone from reserve to commit. No word is written that the host has not read.
//! Not here: what records say (`underbar_ledger::sites`), and who reads them (`host/sites`).

use core::sync::atomic::AtomicUsize;

use underbar_ledger::sites::mark;
use underbar_sys::planted;
use underbar_sys::sync::atomic::{AtomicU64, Ordering};

/// The ring.
#[derive(Clone, Copy)]
pub struct Ring<'a> {
    /// Words ever reserved. Any thread moves it by compare-exchange, relaxed: the mark is what the host relies on.
    pub head: &'a AtomicU64,
    /// Words ever read. The host stores it (Release) when it has read them; threads load it (Acquire) before they write there again.
    pub tail: &'a AtomicU64,
    /// So many words from the first on have memory; the others may not be touched. It only grows, relaxed.
    pub backed: &'a AtomicUsize,
    /// The words: a power of two. Each is written by the thread that has reserved it; marks with Release, others relaxed.
    pub words: &'a [AtomicU64],
}

/// A place for a record.
#[derive(Clone, Copy, Debug)]
pub struct Reserved {
    place: u64,
    kind: u64,
    words: usize,
}

impl Ring<'_> {
    /// Reserves words for a record, its mark included; none if there is no room, or no memory yet.
    pub fn reserve(&self, kind: u64, words: usize) -> Option<Reserved> {
        let room = self.words.len() as u64;
        let tail = if planted!(early_overwrite) { Ordering::Relaxed } else { Ordering::Acquire };
        let mut place = self.head.load(Ordering::Relaxed);
        loop {
            // A tail beyond the head is not the host's: the difference is large then.
            if place.wrapping_sub(self.tail.load(tail)).saturating_add(words as u64) > room {
                return None;
            }
            let next = place.wrapping_add(words as u64);
            if !self.has_memory(next) {
                return None;
            }
            match self.head.compare_exchange_weak(place, next, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => break,
                Err(now) => place = now,
            }
        }
        self.store(place, mark(place, kind, words, false), Ordering::Release);
        Some(Reserved { place, kind, words })
    }

    /// Whether the words before a place have memory, and the mark at it, which the host looks for.
    fn has_memory(&self, place: u64) -> bool {
        let backed = self.backed.load(Ordering::Relaxed);
        place < backed as u64 || backed >= self.words.len()
    }

    /// Words that are free, as far as this thread knows.
    pub fn room(&self) -> usize {
        let used = self.head.load(Ordering::Relaxed).wrapping_sub(self.tail.load(Ordering::Relaxed));
        (self.words.len() as u64).saturating_sub(used) as usize
    }

    /// Writes a word of the record; its first one is the mark, which this leaves alone.
    #[inline]
    pub fn put(&self, record: &Reserved, at: usize, word: u64) {
        if at != 0 && at < record.words {
            self.store(record.place.wrapping_add(at as u64), word, Ordering::Relaxed);
        }
    }

    /// The record is whole.
    pub fn commit(&self, record: &Reserved) {
        let order = if planted!(early_mark) { Ordering::Relaxed } else { Ordering::Release };
        self.store(record.place, mark(record.place, record.kind, record.words, true), order);
    }

    #[inline]
    fn store(&self, place: u64, word: u64, order: Ordering) {
        let at = place & (self.words.len() as u64).wrapping_sub(1);
        if let Some(cell) = self.words.get(at as usize) {
            cell.store(word, order);
        }
    }
}

/// A ring all of which has memory, for tests.
#[cfg(test)]
static ALL: AtomicUsize = AtomicUsize::new(usize::MAX);

/// A host's reading of one record, for tests: its words without the mark; None if it is not whole.
#[cfg(test)]
fn read_one(ring: &Ring, tail: u64) -> Option<std::vec::Vec<u64>> {
    let room = ring.words.len() as u64;
    let load = |place: u64, order| ring.words[(place % room) as usize].load(order);
    let mark = underbar_ledger::sites::read_mark(load(tail, Ordering::Acquire), tail)?;
    if !mark.is_done {
        return None;
    }
    let words = (1..mark.words as u64).map(|at| load(tail + at, Ordering::Relaxed)).collect();
    ring.tail.store(tail + mark.words as u64, Ordering::Release);
    Some(words)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::vec::Vec;
    use underbar_ledger::sites::{FREED, RAW};

    fn words(count: usize) -> Vec<AtomicU64> {
        (0..count).map(|_| AtomicU64::new(0)).collect()
    }

    #[test]
    fn records_go_round_the_ring_and_full_is_full() {
        let (head, tail, words) = (AtomicU64::new(0), AtomicU64::new(0), words(8));
        let ring = Ring { head: &head, tail: &tail, backed: &ALL, words: &words };
        assert!(ring.reserve(RAW, 9).is_none(), "longer than the ring");
        for round in 0..10_u64 {
            let record = ring.reserve(FREED, 3).expect("room");
            ring.put(&record, 0, 99);
            ring.put(&record, 1, round);
            ring.put(&record, 2, round + 1);
            ring.put(&record, 3, 99);
            let at = tail.load(Ordering::Relaxed);
            assert_eq!(read_one(&ring, at), None, "not committed");
            ring.commit(&record);
            assert!(ring.reserve(FREED, 6).is_none());
            assert_eq!(read_one(&ring, at), Some(std::vec![round, round + 1]));
        }
        // A tail that the host did not write, and a ring without words.
        tail.store(u64::MAX, Ordering::Relaxed);
        tail.store(head.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        assert!(ring.reserve(FREED, 3).is_none());
        let none = Ring { words: &[], ..ring };
        assert!(none.reserve(FREED, 3).is_none());
    }

    /// The mark behind a record has memory, too, until all of the ring has.
    #[test]
    fn words_without_memory_are_not_reserved() {
        let (head, tail, words) = (AtomicU64::new(0), AtomicU64::new(0), words(8));
        let backed = AtomicUsize::new(4);
        let ring = Ring { head: &head, tail: &tail, backed: &backed, words: &words };
        assert!(ring.reserve(FREED, 4).is_none(), "the next mark");
        assert!(ring.reserve(FREED, 3).is_some() && ring.reserve(FREED, 1).is_none());
        backed.store(8, Ordering::Relaxed);
        assert!(ring.reserve(FREED, 5).is_some(), "to the end");
        tail.store(8, Ordering::Relaxed);
        assert!(ring.reserve(FREED, 3).is_some(), "the next round");
    }

    #[test]
    fn threads_and_a_reader_next_to_each_other_lose_and_invent_nothing() {
        const THREADS: u64 = 3;
        const EACH: u64 = 5_000;
        let (head, tail, words) = (AtomicU64::new(0), AtomicU64::new(0), words(64));
        let ring = Ring { head: &head, tail: &tail, backed: &ALL, words: &words };
        let lost = AtomicU64::new(0);
        let mut seen = Vec::new();
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let lost = &lost;
                scope.spawn(move || {
                    for count in 0..EACH {
                        let value = thread * EACH + count;
                        let length = 2 + (count % 5) as usize;
                        match ring.reserve(RAW, length) {
                            Some(record) => {
                                (1..length).for_each(|at| ring.put(&record, at, value));
                                ring.commit(&record);
                            }
                            None => _ = lost.fetch_add(1, Ordering::Relaxed),
                        }
                    }
                });
            }
            while seen.len() as u64 + lost.load(Ordering::Relaxed) < THREADS * EACH {
                match read_one(&ring, tail.load(Ordering::Relaxed)) {
                    Some(words) => {
                        assert!(words.iter().all(|word| *word == words[0]), "{words:?}");
                        seen.push(words[0]);
                    }
                    None => std::thread::yield_now(),
                }
            }
        });
        seen.sort_unstable();
        let all = seen.len();
        seen.dedup();
        assert_eq!(all, seen.len(), "each once");
    }
}

/// The model: two threads that write, and a host that reads, in a ring with room for two records.
#[cfg(all(test, loom))]
mod model {
    extern crate std;
    use super::*;
    use loom::sync::Arc;
    use loom::thread;
    use std::vec::Vec;
    use underbar_ledger::sites::FREED;
    use underbar_sys::planted::finds;

    struct World {
        head: AtomicU64,
        tail: AtomicU64,
        words: Vec<AtomicU64>,
    }

    impl World {
        fn ring(&self) -> Ring<'_> {
            Ring { head: &self.head, tail: &self.tail, backed: &ALL, words: &self.words }
        }

        fn write(&self, value: u64) -> bool {
            let Some(record) = self.ring().reserve(FREED, 2) else { return false };
            self.ring().put(&record, 1, value);
            self.ring().commit(&record);
            true
        }

        fn read(&self, from: u64) -> Option<u64> {
            read_one(&self.ring(), from).map(|words| words[0])
        }
    }

    fn together(first: u64) {
        loom::model(move || {
            let world = Arc::new(World {
                head: AtomicU64::new(0),
                tail: AtomicU64::new(0),
                words: (0..2).map(|_| AtomicU64::new(0)).collect(),
            });
            let mut written = u64::from(first != 0 && world.write(first));
            let writers: Vec<_> = [7, 8]
                .map(|value| {
                    let world = Arc::clone(&world);
                    thread::spawn(move || world.write(value))
                })
                .into_iter()
                .collect();
            let (mut tail, mut seen) = (0, Vec::new());
            for _ in 0..2 {
                if let Some(value) = world.read(tail) {
                    seen.push(value);
                    tail += 2;
                }
                thread::yield_now();
            }
            written +=
                writers.into_iter().map(|writer| u64::from(writer.join().expect("it ends"))).sum::<u64>();
            while let Some(value) = world.read(tail) {
                seen.push(value);
                tail += 2;
            }
            assert_eq!(seen.len() as u64, written, "each that found room is read once");
            seen.sort_unstable();
            seen.dedup();
            assert_eq!(seen.len() as u64, written);
            assert!(seen.iter().all(|value| [first, 7, 8].contains(value) && *value != 0));
        });
    }

    #[test]
    fn loom_what_is_written_is_read_whole_and_once() {
        finds(&["early_mark"], || together(0));
    }

    #[test]
    fn loom_what_is_not_read_is_not_overwritten() {
        finds(&["early_overwrite"], || together(6));
    }
}
