//! Callers by rules that the host has found for their return addresses: nothing of the stack is copied.
//!
//! ```text
//! rip ─> rule ─> end of the frame = rsp or rbp + n ─> word below it: the next rip      until the rule of the thread's first function
//! ```
//!
//! Invariant: another process writes the table, so a rule is not trusted: only words of this thread's stack are read, from its pointer to
//! the end, and each frame ends above the one before. A walk that meets an address without a rule has no result.
//! Cost: a line of the table and two words of the stack for each caller.
//! Known limits: while a library is unloaded and another one takes its place, a rule of the old one may be used for the new one.
//! Not here: how an entry is written (`underbar_ledger::site_rules`), and what is done without rules (`walk`).

use core::ops::Range;

use underbar_ledger::site_rules::{ENTRY_WORDS, Rule, WAYS, set_of};
use underbar_ledger::sites::MOST_FRAMES;
use underbar_sys::sync::atomic::{AtomicU64, Ordering};

use super::Call;

/// Follows the callers; their number if the walk ends at the first function of the thread. `stack` is what may be read, from the caller's
/// stack pointer on.
pub(super) fn follow(
    call: &Call,
    stack: &Range<usize>,
    table: &[AtomicU64],
    into: &mut [u64; MOST_FRAMES],
) -> Option<usize> {
    const WORD: usize = size_of::<usize>();
    let (mut rip, mut rsp, mut rbp) = (call.rip, call.rsp, call.rbp);
    for count in 1.. {
        let rule = find(table, rip as u64)?;
        if rule.is_first {
            return Some(count);
        }
        let from = if rule.is_from_rbp { rbp } else { rsp };
        let end = from.checked_add(usize::from(rule.frame) * WORD)?;
        if end <= rsp || end > stack.end || !end.is_multiple_of(WORD) {
            return None;
        }
        let read = |below: u16| {
            let at = end - usize::from(below) * WORD;
            // SAFETY: a word of this thread's stack, not below the pointer of the frame, and below the end of what may be read.
            (rsp..end).contains(&at).then(|| unsafe { *(at as *const usize) })
        };
        let next = read(1)?;
        if rule.saved_rbp > 0 {
            rbp = read(rule.saved_rbp)?;
        }
        if next == 0 {
            return Some(count);
        }
        *into.get_mut(count)? = next as u64;
        (rip, rsp) = (next, end);
    }
    None
}

fn find(table: &[AtomicU64], address: u64) -> Option<Rule> {
    let from = set_of(address) * ENTRY_WORDS;
    let (entries, _) = table.get(from..from + WAYS * ENTRY_WORDS)?.as_chunks::<ENTRY_WORDS>();
    entries.iter().find_map(|[first, second]| {
        // One that is half written fails its check, so no order is needed.
        Rule::of(address, [first.load(Ordering::Relaxed), second.load(Ordering::Relaxed)])
    })
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::vec::Vec;
    use underbar_ledger::site_rules::ENTRIES;

    fn table(rules: &[(usize, Rule)]) -> Vec<AtomicU64> {
        let table: Vec<AtomicU64> = (0..ENTRIES * ENTRY_WORDS).map(|_| AtomicU64::new(0)).collect();
        for &(address, rule) in rules {
            let free = (0..WAYS).map(|way| (set_of(address as u64) + way) * ENTRY_WORDS);
            let at = { free }.find(|at| table[*at].load(Ordering::Relaxed) == 0).expect("a free way");
            for (place, word) in rule.entry(address as u64).into_iter().enumerate() {
                table[at + place].store(word, Ordering::Relaxed);
            }
        }
        table
    }

    fn rule(is_from_rbp: bool, frame: i64, saved: Option<i64>) -> Rule {
        Rule::new(false, is_from_rbp, frame, saved).expect("room")
    }

    #[test]
    fn callers_are_followed_to_the_first_function_and_never_out_of_the_stack() {
        let mut words = [0_usize; 32];
        let at = |index: usize, words: &[usize; 32]| (&raw const words[index]).addr();
        // 101: 3 words, nothing saved. 102: up to rbp and two words, rbp saved. 103: 2 words. 104: the first function.
        let rules = [
            (101, rule(false, 24, None)),
            (102, rule(true, 16, Some(16))),
            (103, rule(false, 16, None)),
            (104, Rule::new(true, false, 0, None).expect("room")),
        ];
        let table = table(&rules);
        words[2] = 102;
        (words[9], words[10]) = (77, 103);
        words[12] = 104;
        let call = Call { rip: 101, rsp: at(0, &words), rbp: at(9, &words), ..Call::NONE };
        let end = at(31, &words);
        let mut into = [0; MOST_FRAMES];
        let found = |words: &[usize; 32], call: &Call, end: usize, into: &mut [u64; MOST_FRAMES]| {
            follow(call, &(at(0, words)..end), &table, into)
        };
        assert_eq!((found(&words, &call, end, &mut into), &into[1..4]), (Some(4), &[102, 103, 104][..]));
        // The end is before the last frame's.
        assert_eq!(found(&words, &call, at(12, &words), &mut into), None);
        // rbp is not in the frame: below it, too high, uneven.
        for rbp in [0, at(0, &words) - 16, at(1, &words), at(31, &words), usize::MAX - 7, at(9, &words) + 1] {
            assert_eq!(found(&words, &Call { rbp, ..call }, end, &mut into), None, "{rbp:#x}");
        }
        // An address without a rule; and a null is an end.
        words[12] = 105;
        assert_eq!(found(&words, &call, end, &mut into), None);
        words[12] = 0;
        assert_eq!(found(&words, &call, end, &mut into), Some(3));
        // A recursion that has more frames than a record.
        let deep = std::vec![101_usize; MOST_FRAMES * 3 + 3];
        let start = deep.as_ptr().addr();
        let call = Call { rip: 101, rsp: start, ..Call::NONE };
        assert_eq!(follow(&call, &(start..start + deep.len() * 8), &table, &mut into), None);
        assert_eq!(follow(&call, &(start..start + deep.len() * 8), &[], &mut into), None, "no table");
    }

    /// Whatever the table has, the walk stays in the stack and ends.
    #[test]
    fn any_rule_keeps_to_the_stack() {
        let mut state = 5_u64;
        let mut below = |limit: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % limit
        };
        for _ in 0..2_000 {
            let rules: Vec<(usize, Rule)> = (1..40)
                .map(|address| {
                    let [frame, saved] = [(); 2].map(|()| below(1 << 12) as u16 >> below(12));
                    let (is_first, is_from_rbp) = (below(40) == 0, below(2) == 0);
                    (address, Rule { is_first, is_from_rbp, frame, saved_rbp: saved })
                })
                .collect();
            let table = table(&rules);
            let stack: Vec<usize> = (0..64).map(|_| below(44)).collect();
            let start = stack.as_ptr().addr();
            let call = Call { rip: 1, rsp: start, rbp: start + below(600), ..Call::NONE };
            let _ = follow(&call, &(start..start + 64 * 8), &table, &mut [0; MOST_FRAMES]);
        }
    }
}
