//! The call stack of a request: by rules of the host or by frame pointers if they hold, otherwise what an unwinder outside needs.
//!
//! ```text
//! caller's rsp -> | words of its frame | saved rbp | return address | words ... | saved rbp | return address | ... first frame
//!                   no address of code      \---------------------------------------^
//! ```
//!
//! Frame pointers hold if the chain of saved ones rises, each return address is in code, and the chain ends at the first frame of the
//! thread. A function that keeps no frame pointer, and leaves the register alone, does not break the chain, but hides its caller. Its
//! frame has a return address between two links. So an address of code there means that frame pointers are not to be trusted. An old
//! one that is still in an unused word has the same effect: then the stack is copied although the chain is whole.
//!
//! Invariant: only words of this thread's own stack are read, from the caller's stack pointer to the high bound. A thread whose bounds
//! are not known, or that is on another stack, has one caller.
//! Cost: a search among some tens of ranges for each word that may be an address of code.
//! Not here: names, the walk by rules (`rules`), and the walk by unwind tables (`host/sites`).

use core::ops::Range;
use core::sync::atomic::{AtomicUsize, Ordering};

use underbar_ledger::sites::MOST_FRAMES;

use super::Call;
use super::{code, rules};
use crate::callers;
use underbar_sys::sync::atomic::AtomicU64;

/// The address of the number of arguments, which the kernel put above the first thread's frames; 0: not known. Written at
/// the first sample, or before `main`; relaxed.
static ARGUMENTS: AtomicUsize = AtomicUsize::new(0);
/// The first frame of the first thread is `main`'s, which the C library calls: its frame is at most so far below the arguments.
const ABOVE_MAIN: usize = 1024;
/// Words that are looked at between links, at most.
const MOST_WORDS: usize = 4096;
/// Bytes above a thread's first frame that belong to the C library's frames. They are copied, so that an unwinder reaches its end.
const ABOVE_START: usize = 192;

/// What was found of a stack.
pub(super) enum Found {
    /// So many return addresses, and whether the last one is that of the first frame.
    Frames(usize, bool),
    /// The words from the caller's stack pointer upwards.
    Stack(Range<usize>),
}

/// More arguments than are looked at.
const MOST_ARGUMENTS: usize = 1 << 16;

/// Learns where the first thread's frames begin, and its bounds if it is the one that calls, before the program's libraries begin: by a word
/// of the loader. If the words there are not what the kernel puts, nothing is known until `main`.
pub(super) fn begin_early() {
    unsafe extern "C" {
        /// The loader's: the address of the number of arguments.
        static __libc_stack_end: *const usize;
    }
    // SAFETY: the loader has written it before any code of a library runs. The search ends at a word that is no pointer, and the last word
    // of the stack is 0.
    let environment = unsafe {
        let arguments = __libc_stack_end;
        let mut at = arguments;
        if arguments.is_null() || *arguments > MOST_ARGUMENTS {
            return;
        }
        for _ in 0..*arguments {
            at = at.add(1);
            if *at <= arguments.addr() {
                return;
            }
        }
        if *at.add(1) != 0 {
            return;
        }
        at.add(2).addr()
    };
    begin(environment);
    // Mappings, other threads' stacks among them, are further away from this one.
    const NEAR: usize = 64 << 20;
    let pointer = callers::stack_pointer();
    if pointer < environment && environment - pointer < NEAR {
        callers::set_bounds_of_first(environment);
    }
}

/// Learns where the first thread's frames begin. The environment is as `main` gets it.
pub(super) fn begin(environment: usize) {
    if environment == 0 {
        return;
    }
    // Arguments and a null are below the environment, and below them their number.
    for count in 0..MOST_ARGUMENTS {
        let at = environment - (count + 2) * size_of::<usize>();
        // SAFETY: the kernel put these words there; the search ends at the number at the latest, since a pointer is not a small number.
        if unsafe { *(at as *const usize) } == count {
            ARGUMENTS.store(at, Ordering::Relaxed);
            return;
        }
    }
}

/// Looks at the callers of a request. `into` gets return addresses, the innermost first. `most`: bytes of a copy.
/// `rules`: the host's table.
pub(super) fn look(call: &Call, into: &mut [u64; MOST_FRAMES], most: usize, rules: &[AtomicU64]) -> Found {
    let bounds = callers::bounds();
    into[0] = call.rip as u64;
    if !call.is_complete || !bounds.contains(&call.rsp) || !call.rsp.is_multiple_of(size_of::<usize>()) {
        return Found::Frames(usize::from(call.rip != 0), false);
    }
    let is_first_thread =
        bounds.end > ARGUMENTS.load(Ordering::Relaxed) && bounds.contains(&ARGUMENTS.load(Ordering::Relaxed));
    let end = if is_first_thread { bounds.end } else { bounds.end + ABOVE_START };
    if let Some(count) = rules::follow(call, &(call.rsp..end), rules, into) {
        return Found::Frames(count, true);
    }
    if let Some(found) = follow(call, into, &bounds) {
        return found;
    }
    Found::Stack(call.rsp..end.min(call.rsp + most))
}

/// Follows frame pointers; None if they do not hold.
fn follow(call: &Call, into: &mut [u64; MOST_FRAMES], bounds: &Range<usize>) -> Option<Found> {
    if !code::has_live(call.rip) {
        return None;
    }
    let (mut low, mut frame, mut words, mut count) = (call.rsp, call.rbp, 0, 1);
    loop {
        if frame < low || !frame.is_multiple_of(size_of::<usize>()) || frame > bounds.end - size_of::<usize>()
        {
            return None;
        }
        words += (frame - low) / size_of::<usize>();
        if words > MOST_WORDS {
            return None;
        }
        // SAFETY: words of this thread's stack, above its pointer and below its high bound; the word at the bound is there, too: it
        // belongs to the function that called the thread's first one.
        let (is_hiding, [next, address]) = unsafe {
            let between =
                core::slice::from_raw_parts(low as *const usize, (frame - low) / size_of::<usize>());
            (between.iter().any(|&word| is_code(word, bounds)), *(frame as *const [usize; 2]))
        };
        if is_hiding || !code::has(address) {
            return None;
        }
        let Some(place) = into.get_mut(count) else { return Some(Found::Frames(count, false)) };
        *place = address as u64;
        count += 1;
        if is_first(frame, address, bounds) {
            return Some(Found::Frames(count, true));
        }
        (low, frame) = (frame + 2 * size_of::<usize>(), next);
    }
}

/// Whether a frame is the first one of its thread.
fn is_first(frame: usize, address: usize, bounds: &Range<usize>) -> bool {
    let arguments = ARGUMENTS.load(Ordering::Relaxed);
    frame + size_of::<usize>() == bounds.end
        || bounds.contains(&arguments)
            && (arguments.saturating_sub(ABOVE_MAIN)..arguments).contains(&frame)
            && code::is_c_library(address)
}

/// Whether a word may be a return address.
#[inline]
fn is_code(word: usize, bounds: &Range<usize>) -> bool {
    // Small numbers and places of the stack are most of the words.
    word >= 1 << 16 && word >> 47 == 0 && !bounds.contains(&word) && code::has(word)
}

/// A number of a stack that follows from the addresses of code in it, and their places, and from rbp if that may be a frame pointer: a loop
/// may count in it.
pub(super) fn number_of(call: &Call, stack: &[u64]) -> u64 {
    let bounds = callers::bounds();
    let is_frame = (call.rsp..=bounds.end).contains(&call.rbp);
    let frame = if is_frame { call.rbp - call.rsp } else { usize::MAX };
    let mut hash = mix(mix(SEED, call.rip as u64), frame as u64);
    for (at, &word) in stack.iter().enumerate() {
        if is_code(word as usize, &bounds) {
            hash = mix(mix(hash, at as u64), word);
        }
    }
    hash
}

/// The same of return addresses.
pub(super) fn number_of_frames(frames: &[u64], is_whole: bool) -> u64 {
    frames.iter().fold(mix(SEED, u64::from(is_whole)), |hash, &address| mix(hash, address))
}

const SEED: u64 = 0xcbf2_9ce4_8422_2325;

#[inline]
fn mix(hash: u64, word: u64) -> u64 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let product = (hash ^ word).wrapping_mul(ODD);
    product ^ product >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn here() -> usize {
        here as *const () as usize + 1
    }

    /// Frames in an array on this stack, as a thread's whole stack.
    fn found(words: &[usize], call: &Call, end: usize, into: &mut [u64; MOST_FRAMES]) -> Found {
        let start = words.as_ptr().addr();
        callers::set_bounds(start..end);
        let found = look(call, into, 16 << 10, &[]);
        callers::set_bounds(0..0);
        found
    }

    #[test]
    fn a_chain_holds_if_it_reaches_the_first_frame_and_hides_nothing() {
        code::begin_once();
        let mut words = [0_usize; 32];
        let at = |index: usize, words: &[usize; 32]| (&raw const words[index]).addr();
        // Frames at 4, 10 and 20; the last one is the first of the thread.
        for (frame, next) in [(4, 10), (10, 20)] {
            words[frame] = at(next, &words);
            words[frame + 1] = here() + frame;
        }
        (words[20], words[21]) = (7, here());
        let end = at(21, &words);
        let call = Call { rip: here(), rsp: at(0, &words), rbp: at(4, &words), ..Call::NONE };
        let call = Call { is_complete: true, ..call };
        let mut into = [0; MOST_FRAMES];
        let expected = [here(), here() + 4, here() + 10, here()].map(|address| address as u64);
        assert!(matches!(found(&words, &call, end, &mut into), Found::Frames(4, true)));
        assert_eq!(into[..4], expected);

        // Its end is not reached.
        assert!(matches!(found(&words, &call, end + 64, &mut into), Found::Stack(_)));
        // It turns back.
        words[10] = at(4, &words);
        assert!(matches!(found(&words, &call, end, &mut into), Found::Stack(_)));
        words[10] = at(20, &words);
        // A return address between two links, and one that is not in code.
        words[7] = here();
        assert!(matches!(found(&words, &call, end, &mut into), Found::Stack(_)));
        words[7] = at(9, &words);
        assert!(matches!(found(&words, &call, end, &mut into), Found::Frames(4, true)));
        words[11] = 1;
        let Found::Stack(range) = found(&words, &call, end, &mut into) else { panic!("not code") };
        assert_eq!(range, at(0, &words)..end + ABOVE_START);

        // A stack that is not the thread's, and a call of which nothing is known.
        let elsewhere = Call { rsp: 4096, ..call };
        assert!(matches!(found(&words, &elsewhere, end, &mut into), Found::Frames(1, false)));
        assert!(matches!(found(&words, &Call::NONE, end, &mut into), Found::Frames(0, false)));
    }

    #[test]
    fn numbers_depend_on_code_and_its_places_only() {
        code::begin_once();
        let call = Call { rip: here(), ..Call::NONE };
        let stack = [1, here() as u64, 5, 0];
        let number = number_of(&call, &stack);
        assert_eq!(number, number_of(&call, &[9, here() as u64, 6, 1]));
        assert_ne!(number, number_of(&call, &[here() as u64, 1, 5, 0]));
        assert_ne!(number, number_of(&Call { rip: here() + 1, ..Call::NONE }, &stack));
        // rbp is a place in the stack, or a number that counts.
        let start = stack.as_ptr().addr();
        callers::set_bounds(start..start + 32);
        let by = |rbp| number_of(&Call { rip: here(), rsp: start, rbp, ..Call::NONE }, &stack);
        assert_ne!(by(start + 8), by(start + 16));
        assert!(by(5) == by(6) && by(5) == by(start + 64));
        callers::set_bounds(0..0);
        assert_ne!(number_of_frames(&[1, 2], true), number_of_frames(&[2, 1], true));
        assert_ne!(number_of_frames(&[1, 2], true), number_of_frames(&[1, 2], false));
    }
}
