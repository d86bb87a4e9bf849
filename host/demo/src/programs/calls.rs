//! A program that makes many calls, each with an array in its frame: once uninitialised, once initialised
//! by the compiler, as `-ftrivial-auto-var-init=zero` does for C and C++.
//!
//! Both functions are compiled into this binary. They make the calls that `-finstrument-functions` inserts at the
//! beginning and the end of a function, since STORAGE's fill of frames relies on these calls. They differ only in
//! the initialisation.

use std::hint::black_box;
use std::mem::MaybeUninit;

use underbar_sys::instrumented;

use super::{Parameters, say};

/// The number of calls: a multiple of the frames of one descent.
pub const CALLS: u64 = 4_500_000;
/// Bytes of the array in each frame.
pub const FRAME: usize = 256;
/// The depth of nesting.
const DEPTH: u32 = 8;
const _: () = assert!(CALLS.is_multiple_of(DEPTH as u64 + 1));

/// Uninitialised frames.
pub fn not_initialised(parameters: &Parameters) {
    repeat(parameters.seed, left_as_it_is);
}

/// Frames set to zero by the compiler's code.
pub fn initialised(parameters: &Parameters) {
    repeat(parameters.seed, set_to_zero);
}

fn repeat(seed: u64, function: fn(u32, u64) -> (u64, u64)) {
    let (mut calls, mut sum) = (0, seed);
    while calls < CALLS {
        let (more, value) = black_box(function)(black_box(DEPTH), black_box(sum));
        calls += more;
        sum = value.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1);
    }
    // If anything wrote to a live frame, the sum would change.
    say(format_args!("calls={calls} sum={sum}\n"));
}

/// One frame and those below it: their number, and the sum of the values that each kept while the deeper ones ran.
#[inline(never)]
fn left_as_it_is(depth: u32, value: u64) -> (u64, u64) {
    instrumented::entered();
    let mut frame = [MaybeUninit::<u8>::uninit(); FRAME];
    let result = descend(&mut frame, depth, value, left_as_it_is);
    instrumented::leaves();
    result
}

/// The same, with the frame set to zero first.
#[inline(never)]
fn set_to_zero(depth: u32, value: u64) -> (u64, u64) {
    instrumented::entered();
    let mut frame = [MaybeUninit::new(0_u8); FRAME];
    let result = descend(&mut frame, depth, value, set_to_zero);
    instrumented::leaves();
    result
}

#[inline(always)]
fn descend(
    frame: &mut [MaybeUninit<u8>; FRAME],
    depth: u32,
    value: u64,
    deeper: fn(u32, u64) -> (u64, u64),
) -> (u64, u64) {
    let kept = *frame[depth as usize].write((value >> depth) as u8);
    black_box(&mut *frame);
    let (calls, sum) = if depth == 0 { (0, value) } else { deeper(depth - 1, value) };
    (calls + 1, sum.wrapping_add(u64::from(black_box(kept))))
}
