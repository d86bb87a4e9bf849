//! The calling thread's own stack: its bounds, and the callers in it, by frame pointers.
//!
//! ```text
//! frame pointer -> | previous frame pointer | return address |      in code compiled with -fno-omit-frame-pointer
//!                       \-> | previous one  | return address | ...  up to the high bound
//! ```
//!
//! Invariant: only words between the stack pointer and the high bound of the thread's own stack are read. A program that switches
//! stacks runs outside the bounds, and has no callers here.
//! Cost: a load and three comparisons for each caller.
//! Not here: the names of callers (`coverage::code_at`), and how much of a stack was used (`stack`).

use core::arch::asm;
use core::ops::Range;

use crate::thread_word::thread_word;

// Until the bounds are known the range is empty. Only the thread itself reads and writes its words.
thread_word!(low, set_low, "underbar_stack_low", "-1");
thread_word!(high, set_high, "underbar_stack_high", "0");

/// Sets the bounds of the calling thread's stack.
pub fn set_bounds(bounds: Range<usize>) {
    set_low(bounds.start);
    set_high(bounds.end);
}

/// Sets those of the first thread, which calls this. Its frames are below `base`, where the kernel put the environment.
pub fn set_bounds_of_first(base: usize) {
    const DEEPEST: usize = 64 << 20;
    set_bounds(base.saturating_sub(DEEPEST)..base);
}

/// The bounds of the calling thread's stack: an empty range if they are not known.
pub fn bounds() -> Range<usize> {
    low()..high()
}

/// The stack pointer of the calling function.
#[inline(always)]
pub fn stack_pointer() -> usize {
    let pointer: usize;
    // SAFETY: reads a register.
    unsafe { asm!("mov {}, rsp", out(reg) pointer, options(nomem, nostack, preserves_flags)) };
    pointer
}

/// Writes the return addresses above a frame into `into`, the innermost first. Returns how many there are: 0 if the frame pointer
/// is used for something else.
pub fn above(frame: usize, into: &mut [usize]) -> usize {
    const WORDS: usize = 2 * size_of::<usize>();
    let bounds = bounds();
    let mut least = stack_pointer();
    if !bounds.contains(&least) {
        return 0;
    }
    let mut frame = frame;
    for (count, caller) in into.iter_mut().enumerate() {
        if frame < least || !frame.is_multiple_of(size_of::<usize>()) || frame > bounds.end - WORDS {
            return count;
        }
        // SAFETY: two words of this thread's stack, which is mapped from its pointer up to its high bound.
        let [next, address] = unsafe { *(frame as *const [usize; 2]) };
        *caller = address;
        (frame, least) = (next, frame + WORDS);
    }
    into.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three frames in an array on this stack, which the walk sees as its own.
    #[test]
    fn a_chain_ends_where_it_leaves_the_stack_or_turns_back() {
        let mut frames = [[0usize; 2]; 4];
        let at = |index: usize, frames: &[[usize; 2]; 4]| (&raw const frames[index]).addr();
        for (index, address) in [(0, 0x1000), (1, 0x2000), (2, 0x3000)] {
            frames[index] = [at(index + 1, &frames), address];
        }
        let first = at(0, &frames);
        let mut found = [0; 8];
        assert_eq!(above(first, &mut found), 0, "the bounds are not known");
        set_bounds(stack_pointer() - 65536..at(3, &frames));
        assert_eq!((above(first, &mut found), &found[..3]), (3, &[0x1000, 0x2000, 0x3000][..]));
        assert_eq!(above(first, &mut found[..2]), 2);
        assert_eq!(above(first + 4, &mut found), 0);
        assert_eq!(above(0, &mut found), 0);
        frames[1][0] = first;
        assert_eq!(above(core::hint::black_box(first), &mut found), 2, "turns back");
        assert!(core::hint::black_box(&frames).len() == 4);
        set_bounds(0..0);
    }
}
