//! Stacks, and the heaps of PL/I tasks: advice on each, and the heap that the first segments of threads come out of.
//!
//! Not here: the size of a stack (`stack_size`), the sizes of heaps (`heap`).

use underbar_listing::Kind as Part;

use super::stack_size::{Stack, is_below, moved, one, stack, switch_unknown};
use super::{ProgramCase, found, heap, lines, now, setting};
use crate::advice::{Advice, Kind};
use crate::sizes::rounded;

const K: u64 = 1 << 10;

const STACKS: [Part; 6] = [
    Part::Stack,
    Part::ThreadStack,
    Part::XplinkStack,
    Part::XplinkThreadStack,
    Part::LibStack,
    Part::ThreadHeap,
];

pub(crate) fn apply(case: &ProgramCase<'_>) -> Vec<Advice> {
    let stacks = STACKS.into_iter().filter_map(|part| match switch_unknown(case) {
        Some(_) if matches!(part, Part::ThreadStack | Part::XplinkThreadStack) => unknown(case, part),
        _ => Some(with_place(case, part, one(case, part)?)),
    });
    stacks
        .chain([Part::Stack64, Part::ThreadStack64].into_iter().filter_map(|part| above(case, part)))
        .collect()
}

/// The finding without advice on a section of THREADSTACK, and the reason.
fn unknown(case: &ProgramCase<'_>, part: Part) -> Option<Advice> {
    let storage = case.storage(part);
    let used = storage.used.certain().filter(|used| *used > 0)?;
    let initial = storage.initial.certain()?;
    let own = if part == Part::ThreadStack { Part::Stack } else { Part::XplinkStack };
    let enough = |used: u64| rounded(used.saturating_add(used / 8), 4 * K);
    let mut evidence = lines([&storage.used]);
    let on = match setting(part, Some(enough(used)), None) {
        Some(on) => format!("Under ON {on} holds what a thread used."),
        None => String::new(),
    };
    let first = case.storage(own).used;
    let off = first.certain().and_then(|of_first| {
        let set = setting(own, Some(enough(of_first.max(used))), None)?;
        evidence.extend(lines([&first]));
        Some(format!(" Under OFF threads take STACK's sizes, and {set} holds what the first thread and the others used."))
    });
    let reason = format!(
        "{}: threads used it, but nothing here tells whether THREADSTACK is ON or OFF, on which its sizes and those of \
         STACK depend. {on}{} Which it is, RPTOPTS(ON) tells.",
        part.title(),
        off.unwrap_or_default()
    );
    Some(found(Kind::NoAdvice, now(part, initial, None), evidence, reason))
}

/// Adds to the risk of a raise the storage for the threads' first segments, and whether the heap that holds them is raised.
fn with_place(case: &ProgramCase<'_>, part: Part, mut raise: Advice) -> Advice {
    let is_raise = raise.kind == Kind::Raise && matches!(part, Part::Stack | Part::ThreadStack);
    if !is_raise || case.threads().at_once.certain() == Some(1) {
        return raise;
    }
    let (heap, name) = match is_below(case, part) {
        true => (Part::BelowHeap, "BELOWHEAP"),
        false => (Part::AnyHeap, "ANYHEAP"),
    };
    let unknown = switch_unknown(case).is_some();
    let is_raised = moved(case, heap).is_some()
        && heap::one(case, heap, 4 * K)
            .is_some_and(|advice| advice.kind == Kind::Raise && advice.option.is_some());
    raise.risk += &match (is_raised, unknown) {
        (true, _) => format!(
            " First segments of all threads but the first come out of {name}, which is raised by threads times the difference."
        ),
        (false, true) => format!(
            " Whether THREADSTACK is ON or OFF cannot be seen: under OFF every thread takes as much, out of {name}, which \
             is not raised for it here."
        ),
        (false, false) if part == Part::Stack && case.is_set("THREADSTACK", 0, "ON") => String::new(),
        (false, false) => format!(
            " First segments of all threads but the first come out of {name}, which is not raised for it here: it may need \
             threads times the difference more."
        ),
    };
    raise
}

/// Stacks of 64-bit programs: reported, but not changed.
fn above(case: &ProgramCase<'_>, part: Part) -> Option<Advice> {
    let Stack { largest, initial, evidence, words, .. } = stack(case, part)?;
    let reason = match largest > initial {
        true => {
            format!("{words}. An increment asks nothing of the system, so that a larger one gains nothing.")
        }
        false => format!("{words}."),
    };
    Some(found(Kind::NoChange, now(part, initial, None), evidence, reason))
}
