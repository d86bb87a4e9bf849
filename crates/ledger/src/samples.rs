//! The sample area: the instructions at which timers interrupted a process, in a file next to the ledger.
//!
//! ```text
//! header | text: executable mappings, as /proc/PID/maps has them | samples, a ring
//!                                                                    head: taken so far, moved by the process
//!                                                                    tail: read so far, moved by the host
//! ```
//!
//! It is made when a program begins or a child is forked, if `underbar profile` asks for it. Its name consists of the ledger's
//! name, the process's number and the time. The host empties and removes it.
//!
//! Invariant: between tail and head no sample is overwritten; one that finds no room is counted. A sample is whole when its mark
//! has the round of the ring for which it was written.
//! Not here: the timers and the file (`runtime::sample`), and reading it (`host/profile`).

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The variable that asks for samples: CPU time between two of them, in nanoseconds.
pub const VARIABLE: &str = "UNDERBAR_SAMPLES";
/// The first eight bytes of every sample area.
pub const MAGIC: u64 = u64::from_le_bytes(*b"UNDERSMP");
/// Changes when a structure in this file changes.
pub const VERSION: u32 = 1;
/// Offset of the text of the mappings.
pub const TEXT_OFFSET: usize = 4096;
/// Room for that text.
pub const TEXT_ROOM: usize = 60 * 1024;
/// Offset of the samples.
pub const SAMPLES_OFFSET: usize = TEXT_OFFSET + TEXT_ROOM;
/// The least number of samples in a ring.
pub const LEAST: usize = 1 << 10;
/// The greatest number of samples in a ring.
pub const MOST: usize = 1 << 16;
/// Bytes of a sample.
pub const SAMPLE_BYTES: usize = size_of::<Sample>();

/// `state`: timers run.
pub const RUNNING: u32 = 0;
/// The program claimed the signal for itself, so the timers were stopped.
pub const GAVE_WAY: u32 = 1;
/// The program is about to forbid itself system calls, so the timers were stopped before.
pub const LOCKED_IN: u32 = 2;
/// No timer could be made.
pub const REFUSED: u32 = 3;

/// The owner of an area, and its fill level.
#[repr(C, align(64))]
pub struct Header {
    /// [`MAGIC`]; written last, with Release.
    pub magic: AtomicU64,
    /// [`VERSION`].
    pub version: AtomicU32,
    /// The process's number.
    pub process: AtomicU32,
    /// When the area was made, nanoseconds of CLOCK_BOOTTIME.
    pub made_ns: AtomicU64,
    /// How many samples the ring holds: a power of two.
    pub room: AtomicU32,
    /// The signal that the timers send.
    pub signal: AtomicU32,
    /// [`RUNNING`], or why the timers stopped.
    pub state: AtomicU32,
    /// Threads without a timer.
    pub untimed: AtomicU32,
    /// Bytes of the text; text once written stays. Moved with Release by the process.
    pub text_bytes: AtomicU32,
    /// 1 if the text found no room.
    pub text_cut: AtomicU32,
    /// 1 if the host has stopped reading: timers stop when they next fire. Written by the host.
    pub stop: AtomicU32,
    /// The process namespace in which `process` is its number: the inode of `/proc/self/ns/pid`; 0: not known.
    pub namespace: AtomicU64,
    /// Samples that found no room.
    pub lost: AtomicU64,
    /// Samples ever begun. Moved by the process's threads, by compare-and-swap.
    pub head: Line,
    /// Samples ever read. Moved by the host, after it has read them.
    pub tail: Line,
}

/// The number in the text of the link `/proc/self/ns/pid`: `pid:[4026531836]`; 0 if there is none.
#[must_use]
pub fn namespace(link: &[u8]) -> u64 {
    let digits = link.iter().filter(|byte| byte.is_ascii_digit());
    digits.fold(0, |number: u64, digit| number.wrapping_mul(10).wrapping_add(u64::from(digit - b'0')))
}

/// A word with a cache line of its own: one side writes it often, the other reads it seldom.
#[repr(C, align(64))]
pub struct Line(pub AtomicU64);

/// The position of a thread.
#[repr(C)]
pub struct Sample {
    /// The instruction that it would have executed next.
    pub address: AtomicU64,
    /// [`mark`]; written after the address, with Release.
    pub mark: AtomicU64,
}

/// The mark of a sample, by its number since the beginning: its round of the ring plus one, and the thread.
#[must_use]
pub const fn mark(number: u64, room: u64, thread: u32) -> u64 {
    ((number / room + 1) << 32) | thread as u64
}

/// The thread of a mark, if it was written for that round.
#[must_use]
pub const fn thread_of(mark: u64, number: u64, room: u64) -> Option<u32> {
    if mark >> 32 == (number / room + 1) & 0xffff_ffff { Some(mark as u32) } else { None }
}

/// Notes a sample, or counts it as lost if there is no room. It neither waits nor calls other code, so a signal handler may use it.
pub fn note(header: &Header, ring: &[Sample], address: u64, thread: u32) {
    let room = ring.len() as u64;
    let mut number = header.head.0.load(Ordering::Relaxed);
    loop {
        // Acquire: the host has read a sample before it is overwritten.
        if room == 0 || number.wrapping_sub(header.tail.0.load(Ordering::Acquire)) >= room {
            header.lost.fetch_add(1, Ordering::Relaxed);
            return;
        }
        match header.head.0.compare_exchange_weak(number, number + 1, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => break,
            Err(now) => number = now,
        }
    }
    if let Some(sample) = ring.get((number % room) as usize) {
        sample.address.store(address, Ordering::Relaxed);
        sample.mark.store(mark(number, room, thread), Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use std::vec::Vec;

    fn area(room: usize) -> (Header, Vec<Sample>) {
        let word = || AtomicU32::new(0);
        let long = || AtomicU64::new(0);
        let header = Header {
            magic: long(),
            version: word(),
            process: word(),
            made_ns: long(),
            room: word(),
            signal: word(),
            state: word(),
            untimed: word(),
            text_bytes: word(),
            text_cut: word(),
            stop: word(),
            namespace: long(),
            lost: long(),
            head: Line(long()),
            tail: Line(long()),
        };
        (header, (0..room).map(|_| Sample { address: long(), mark: long() }).collect())
    }

    #[test]
    fn the_header_fits_into_its_page() {
        assert!(size_of::<Header>() <= TEXT_OFFSET && SAMPLES_OFFSET.is_multiple_of(4096));
        assert_eq!(SAMPLE_BYTES, 16);
    }

    #[test]
    fn namespaces_are_numbers() {
        assert_eq!((namespace(b"pid:[4026531836]"), namespace(b"")), (4_026_531_836, 0));
    }

    #[test]
    fn what_finds_no_room_is_counted_and_overwrites_nothing() {
        let (header, ring) = area(4);
        for address in 0..6 {
            note(&header, &ring, address, 7);
        }
        assert_eq!((header.head.0.load(Ordering::Relaxed), header.lost.load(Ordering::Relaxed)), (4, 2));
        header.tail.0.store(3, Ordering::Relaxed);
        note(&header, &ring, 9, 8);
        let read = |number: u64| {
            let sample = &ring[(number % 4) as usize];
            let thread = thread_of(sample.mark.load(Ordering::Relaxed), number, 4)?;
            Some((sample.address.load(Ordering::Relaxed), thread))
        };
        assert_eq!((read(3), read(4)), (Some((3, 7)), Some((9, 8))));
        assert_eq!(read(5), None, "of the round before");
        note(&header, &[], 1, 1);
        assert_eq!(header.lost.load(Ordering::Relaxed), 3);
    }

    #[test]
    fn threads_and_a_reader_beside_each_other_lose_and_invent_nothing() {
        const THREADS: u64 = 3;
        const EACH: u64 = 20_000;
        let (header, ring) = area(64);
        let mut seen = Vec::new();
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let (header, ring) = (&header, &ring);
                scope.spawn(move || {
                    for count in 0..EACH {
                        note(header, ring, thread * EACH + count, thread as u32);
                    }
                });
            }
            let mut tail = 0;
            while tail + header.lost.load(Ordering::Relaxed) < THREADS * EACH {
                let sample = &ring[(tail % 64) as usize];
                if let Some(thread) = thread_of(sample.mark.load(Ordering::Acquire), tail, 64) {
                    seen.push((sample.address.load(Ordering::Relaxed), thread));
                    tail += 1;
                    header.tail.0.store(tail, Ordering::Release);
                } else {
                    std::thread::yield_now();
                }
            }
        });
        assert_eq!(seen.len() as u64 + header.lost.load(Ordering::Relaxed), THREADS * EACH);
        assert!(seen.iter().all(|(address, thread)| address / EACH == u64::from(*thread)));
        let mut addresses: Vec<u64> = seen.iter().map(|(address, _)| *address).collect();
        addresses.sort_unstable();
        addresses.dedup();
        assert_eq!(addresses.len(), seen.len(), "each once");
    }
}
