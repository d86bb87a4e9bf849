//! A sample, as words of the ring; see the drawing of `underbar_ledger::sites`.
//!
//! Invariant: a record that finds no room leaves no trace, and its stack does not become known. Neither does one that is cut for lack of
//! room: its number is 0.
//! Not here: the ring's steps (`ring`).

use underbar_ledger::sites::{
    FRAMES, FREED, FREED_WORDS, GOT_WORDS, KNOWN, MOST_FRAMES, MOST_STACK, RAW, REGISTERS, WHOLE,
};

use super::ring::{Reserved, Ring};
use super::walk::{self, Found};
use super::{Call, Got, area, known};

/// Words that are copied in any case.
const LEAST_COPY: usize = 128;

/// Writes a request. False if there was no room.
pub(super) fn got(ring: &Ring, time: u64, got: &Got, call: &Call, copy: usize) -> bool {
    let mut frames = [0; MOST_FRAMES];
    match walk::look(call, &mut frames, copy.min(MOST_STACK * 8), area::rules()) {
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
            // Of the whole piece, so that a stack that is known needs no room.
            let mut number = walk::number_of(call, stack);
            let copied = if known::has(number) { words } else { words.min(room_for_copy(ring, copy / 8)) };
            if copied < words {
                number = 0;
            }
            let (stack, words) = (&stack[..copied], copied);
            write(ring, time, got, number, 0, RAW, REGISTERS + words, |record| {
                let [r12, r13, r14, r15] = call.r12_to_15;
                let registers = [call.rip, call.rsp, call.rbp, call.rbx, r12, r13, r14, r15];
                put_all(ring, record, GOT_WORDS, &registers.map(|register| register as u64));
                put_all(ring, record, GOT_WORDS + REGISTERS, stack);
            })
        }
    }
}

/// Words of a stack that may be copied now: of those that the options allow, as large a part as is free of the ring. The innermost callers
/// of many samples are worth more than all callers of few.
fn room_for_copy(ring: &Ring, most: usize) -> usize {
    let part = most.saturating_mul(ring.room()) / ring.words.len().max(1);
    part.max(LEAST_COPY)
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
    let Some(record) = reserve(ring, kind, GOT_WORDS + more) else { return false };
    let (thread, size) = (u64::from(got.thread) | flags, got.size as u64);
    let used = super::in_use(got.unpublished).max(size);
    let most = super::most_in_use().max(used);
    put_all(ring, &record, 1, &[time, got.address as u64, size, got.mean, thread, number, used, most]);
    if !is_known {
        put_stack(&record);
    }
    ring.commit(&record);
    if !is_known && number != 0 {
        known::add(number);
    }
    true
}

/// Reserves a place. A ring without memory for it gets some.
fn reserve(ring: &Ring, kind: u64, words: usize) -> Option<Reserved> {
    loop {
        let record = ring.reserve(kind, words);
        if record.is_some() || !area::back_more() {
            return record;
        }
    }
}

fn put_all(ring: &Ring, record: &Reserved, from: usize, words: &[u64]) {
    for (at, &word) in words.iter().enumerate() {
        ring.put(record, from + at, word);
    }
}

/// Writes a free. False if there was no room.
pub(super) fn freed(ring: &Ring, time: u64, address: usize, unpublished: i64) -> bool {
    let Some(record) = reserve(ring, FREED, FREED_WORDS) else { return false };
    let most = super::most_in_use().max(super::in_use(unpublished));
    put_all(ring, &record, 1, &[time, address as u64, most]);
    ring.commit(&record);
    true
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::callers;
    use core::sync::atomic::AtomicUsize;
    use std::vec::Vec;
    use underbar_ledger::sites::{MOST_WORDS, RING_WORDS};
    use underbar_sys::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn the_fuller_the_ring_the_less_is_copied_and_only_whole_copies_become_known() {
        super::super::code::begin_once();
        known::forget();
        let (head, tail) = (AtomicU64::new(0), AtomicU64::new(0));
        let words: Vec<AtomicU64> = (0..RING_WORDS).map(|_| AtomicU64::new(0)).collect();
        let backed = AtomicUsize::new(RING_WORDS);
        let ring = Ring { head: &head, tail: &tail, backed: &backed, words: &words };
        let mut stack = [0_usize; 1000];
        let start = stack.as_ptr().addr();
        let code = putting as *const () as usize;
        fn putting(ring: &Ring, stack: &[usize; 1000]) -> u64 {
            let start = stack.as_ptr().addr();
            let call =
                Call { rip: putting as *const () as usize + 1, rsp: start, is_complete: true, ..Call::NONE };
            let request = Got { address: 32, size: 100, mean: 4096, thread: 7, unpublished: 0 };
            let before = ring.head.load(Ordering::Relaxed);
            assert!(super::got(ring, 1, &request, &call, MOST_STACK * 8));
            ring.head.load(Ordering::Relaxed) - before
        }
        // The high bound is below that of the array, since some words above it are copied, too.
        callers::set_bounds(start..start + 900 * 8);
        let all = (GOT_WORDS + REGISTERS + 924) as u64;
        assert_eq!(
            [room_for_copy(&ring, 2048), room_for_copy(&ring, MOST_STACK)],
            [2048, MOST_STACK],
            "as allowed"
        );
        assert_eq!([putting(&ring, &stack), putting(&ring, &stack)], [all, GOT_WORDS as u64]);
        // An old return address: another stack, as far as can be seen.
        stack[5] = code;
        assert_eq!(putting(&ring, &stack), all);
        while ring.room() > 14_000 {
            let record = ring.reserve(RAW, MOST_WORDS).expect("room");
            ring.commit(&record);
        }
        stack[5] = 0;
        assert_eq!(putting(&ring, &stack), GOT_WORDS as u64, "a known stack is not cut");
        stack[6] = code;
        for _ in 0..2 {
            let taken = putting(&ring, &stack);
            assert!(taken < all && taken >= (GOT_WORDS + REGISTERS + LEAST_COPY) as u64, "{taken}");
        }
        callers::set_bounds(0..0);
    }
}
