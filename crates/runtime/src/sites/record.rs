//! A sample, as words of the ring; see the drawing of `underbar_ledger::sites`.
//!
//! Invariant: a record that finds no room leaves no trace, and its stack does not become known.
//! Not here: the ring's steps (`ring`).

use underbar_ledger::sites::{
    FRAMES, FREED, FREED_WORDS, GOT_WORDS, KNOWN, MOST_FRAMES, MOST_STACK, RAW, REGISTERS, WHOLE,
};

use super::ring::{Reserved, Ring};
use super::walk::{self, Found};
use super::{Call, Got, known};

/// Writes a request. False if there was no room.
pub(super) fn got(ring: &Ring, time: u64, got: &Got, call: &Call, copy: usize) -> bool {
    let mut frames = [0; MOST_FRAMES];
    match walk::look(call, &mut frames, copy.min(MOST_STACK * 8)) {
        Found::Frames(count, is_whole) => {
            let frames = &frames[..count.min(MOST_FRAMES)];
            let number = walk::number_of_frames(frames, is_whole);
            write(ring, time, got, number, if is_whole { WHOLE } else { 0 }, FRAMES, frames.len(), |record| {
                put_all(ring, record, GOT_WORDS, frames);
            })
        }
        Found::Stack(range) => {
            let words = range.end.saturating_sub(range.start) / 8;
            // SAFETY: words of this thread's stack, above its pointer: they stay as they are while this lasts.
            let stack = unsafe { core::slice::from_raw_parts(range.start as *const u64, words) };
            let number = walk::number_of(call, stack);
            write(ring, time, got, number, 0, RAW, REGISTERS + words, |record| {
                let [r12, r13, r14, r15] = call.r12_to_15;
                let registers = [call.rip, call.rsp, call.rbp, call.rbx, r12, r13, r14, r15];
                put_all(ring, record, GOT_WORDS, &registers.map(|register| register as u64));
                put_all(ring, record, GOT_WORDS + REGISTERS, stack);
            })
        }
    }
}

#[allow(clippy::too_many_arguments, reason = "the words of a record")]
fn write(
    ring: &Ring,
    time: u64,
    got: &Got,
    number: u64,
    flags: u64,
    kind: u64,
    more: usize,
    put_stack: impl FnOnce(&Reserved),
) -> bool {
    let is_known = known::has(number);
    let (kind, more) = if is_known { (KNOWN, 0) } else { (kind, more) };
    let Some(record) = ring.reserve(kind, GOT_WORDS + more) else { return false };
    let (thread, used) = (u64::from(got.thread) | flags, super::in_use(got));
    put_all(ring, &record, 1, &[time, got.address as u64, got.size as u64, got.mean, thread, number, used]);
    if !is_known {
        put_stack(&record);
    }
    ring.commit(&record);
    if !is_known {
        known::add(number);
    }
    true
}

fn put_all(ring: &Ring, record: &Reserved, from: usize, words: &[u64]) {
    for (at, &word) in words.iter().enumerate() {
        ring.put(record, from + at, word);
    }
}

/// Writes a free. False if there was no room.
pub(super) fn freed(ring: &Ring, time: u64, address: usize) -> bool {
    let Some(record) = ring.reserve(FREED, FREED_WORDS) else { return false };
    put_all(ring, &record, 1, &[time, address as u64]);
    ring.commit(&record);
    true
}
