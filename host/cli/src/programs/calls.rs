//! A program that makes many calls, each with an array in its frame: once as the compiler leaves it, once
//! initialised by the compiler, as `-ftrivial-auto-var-init=zero` does it for C and C++.
//!
//! Both functions were compiled with this binary; they differ in the initialisation alone.

use std::hint::black_box;
use std::mem::MaybeUninit;

use super::{Parameters, say};

/// How many calls: a multiple of the frames of one descent.
pub const CALLS: u64 = 36_000_000;
/// Bytes of the array in each frame.
pub const FRAME: usize = 256;
/// How deep the calls are nested.
const DEPTH: u32 = 8;
const _: () = assert!(CALLS.is_multiple_of(DEPTH as u64 + 1));

/// Frames as they are found.
pub fn not_initialised(parameters: &Parameters) {
    let calls = repeat(parameters.seed, left_as_it_is);
    say(format_args!("calls={calls}\n"));
}

/// Frames set to zero by the compiler's code.
pub fn initialised(parameters: &Parameters) {
    let calls = repeat(parameters.seed, set_to_zero);
    say(format_args!("calls={calls}\n"));
}

fn repeat(seed: u64, function: fn(u32, u64) -> u64) -> u64 {
    let mut calls = 0;
    while calls < CALLS {
        calls += black_box(function)(black_box(DEPTH), black_box(seed));
    }
    calls
}

/// One frame, and those below it; returns how many.
#[inline(never)]
fn left_as_it_is(depth: u32, value: u64) -> u64 {
    let mut frame = [MaybeUninit::<u8>::uninit(); FRAME];
    frame[depth as usize].write(value as u8);
    black_box(&mut frame);
    if depth == 0 { 1 } else { 1 + left_as_it_is(depth - 1, value) }
}

/// The same, with the frame set to zero first.
#[inline(never)]
fn set_to_zero(depth: u32, value: u64) -> u64 {
    let mut frame = [MaybeUninit::new(0_u8); FRAME];
    frame[depth as usize].write(value as u8);
    black_box(&mut frame);
    if depth == 0 { 1 } else { 1 + set_to_zero(depth - 1, value) }
}
