//! The size of a stack, from the largest use of any single thread, and what the stacks of threads take out of heaps.
//!
//! ```text
//! STACK      the first thread, and under THREADSTACK(OFF) every other one
//! ANYHEAP    holds the first segments of all threads but the first: its size changes with them
//! ```
//!
//! Invariant: no size is set from the sum over threads, which is the need of one thread times their number.
//! Not here: which stacks there are, and the advice on them (`stack`).

use underbar_listing::{Field, Kind as Part};
use underbar_model::Storage;

use super::super::place;
use super::{BELOW_RISK, ProgramCase, contradiction, found, lines, lost, now, setting};
use crate::advice::{Advice, Evidence, Kind, Line};
use crate::sizes::{LINE, is_well_used, rounded, written};

const K: u64 = 1 << 10;
/// Below the 16M line no stack is raised beyond this.
const BELOW: u64 = 256 * K;

/// A line that shows that threads used THREADSTACK's storage, if no option in the listings says whether it is ON or OFF.
/// Under OFF they use STACK's sizes, under ON those of THREADSTACK.
pub(super) fn switch_unknown(case: &ProgramCase<'_>) -> Option<Line> {
    let known = ["ON", "OFF"].iter().any(|word| case.is_set("THREADSTACK", 0, word));
    if known || case.cics().is_some() {
        return None;
    }
    [Part::ThreadStack, Part::XplinkThreadStack].into_iter().find_map(|part| {
        let Storage { used, used_by_all, segments, .. } = case.storage(part);
        let shown = [used, used_by_all, segments].into_iter().find(|figure| figure.value > 0)?;
        shown.evidence.line().cloned()
    })
}

/// The facts about one stack.
pub(super) struct Stack {
    /// The largest use of any thread in any run.
    pub largest: u64,
    /// What it should hold, by the history of its runs.
    pub need: u64,
    /// The present initial size.
    pub initial: u64,
    /// The lines of these figures.
    pub evidence: Vec<Line>,
    /// The use and the initial size, in words.
    pub words: String,
}

/// The facts about a stack; None if it is not used, not governed by its option, or contradictory.
pub(super) fn stack(case: &ProgramCase<'_>, part: Part) -> Option<Stack> {
    let storage = case.storage(part);
    let (largest, initial) = (storage.used.certain()?, storage.initial.certain()?);
    if largest == 0 || !governs(case, part) || contradiction::concerns(case, part) {
        return None;
    }
    let evidence = lines([&storage.used, &storage.initial, &storage.segments]);
    let history = case.history(part);
    let words = format!(
        "{}: {}, by the thread that used most; the initial size is {}",
        part.title(),
        history.words(),
        initial
    );
    Some(Stack { largest, need: history.need(), initial, evidence, words })
}

/// Whether the option of this section is in force.
fn governs(case: &ProgramCase<'_>, part: Part) -> bool {
    match part {
        Part::ThreadStack | Part::XplinkThreadStack => {
            case.is_set("THREADSTACK", 0, "ON") && case.cics().is_none()
        }
        Part::ThreadHeap => case.cics().is_none(),
        _ => true,
    }
}

/// The advice on the size of a stack, without the heap that its segments come out of.
pub(super) fn one(case: &ProgramCase<'_>, part: Part) -> Option<Advice> {
    let Stack { need, initial, evidence, words, .. } = stack(case, part)?;
    let set = now(part, initial, None);
    let enough = rounded(need.saturating_add(need / 8), 4 * K);
    if need <= initial {
        let is_small = !is_well_used(need, initial);
        if !is_small || initial.saturating_sub(enough) < 64 * K {
            return Some(found(Kind::NoChange, set, evidence, format!("{words}.")));
        }
        if let (Part::Stack | Part::XplinkStack, Some(line)) = (part, switch_unknown(case)) {
            let reason = format!(
                "{words}; but under THREADSTACK(OFF) threads take it, too, and whether that is ON or OFF cannot be seen: it \
                 stays."
            );
            let mut none = found(Kind::NoAdvice, set, evidence, reason);
            none.evidence.push(line.into());
            return Some(none);
        }
        if let Some(why) = lost::use_of(case, part, Field::AnyThread).or_else(|| lost::size(case, part)) {
            return Some(found(Kind::NoAdvice, set, evidence, format!("{words}; but {why}: it stays.")));
        }
        let mut lower = found(Kind::Lower, set, evidence, format!("{words}."));
        lower.option = setting(part, Some(enough), None);
        let each = match part {
            Part::Stack | Part::XplinkStack => {
                "for each enclave, and under THREADSTACK(OFF) for each thread."
            }
            Part::LibStack => "for each thread, below the line.",
            _ => "for each thread.",
        };
        lower.effect = format!("{} less {each}", written(initial - enough));
        return Some(lower);
    }
    if let Some(why) = lost::size(case, part) {
        return Some(found(Kind::NoAdvice, set, evidence, format!("{words}; but {why}: it stays.")));
    }
    let mut raise = found(Kind::Raise, set, evidence, format!("{words}."));
    let threads = threads(case, part);
    let all = enough.saturating_mul(threads.unwrap_or(1).max(1));
    if is_below(case, part) && all > BELOW {
        raise.kind = Kind::NoAdvice;
        raise.reason += " It lies below the 16M line, where there is too little room to take more at once.";
        return Some(raise);
    }
    let (limit, line, words) =
        if is_below(case, part) { (None, None, String::new()) } else { case.region(all) };
    if limit.is_some_and(|limit| limit / 4 < all) {
        raise.kind = Kind::NoAdvice;
        raise.reason += " The region leaves no room for a larger one.";
        return Some(raise);
    }
    raise.evidence.extend(line.map(Evidence::Line));
    raise.option = setting(part, Some(enough), None);
    raise.effect = match part {
        Part::ThreadHeap => "the heap of each task fits into its first segment.".to_owned(),
        _ => "the stack fits into its first segment.".to_owned(),
    };
    let many = match threads {
        _ if matches!(part, Part::Stack | Part::XplinkStack) && switch_unknown(case).is_some() => {
            String::new()
        }
        Some(0 | 1) => String::new(),
        Some(threads) => {
            format!("{threads} threads at one time, each with {}, are {}. ", written(enough), written(all))
        }
        None => "The number of threads is not known: each takes as much. ".to_owned(),
    };
    let mode = match part {
        _ if is_below(case, part) => BELOW_RISK.to_owned(),
        // Only if it is not known to be ON.
        Part::Stack | Part::ThreadStack if all > LINE && !case.is_set("ALL31", 0, "ON") => format!(
            "Such a stack lies above the 16M line: ALL31 must be ON, and {} ANYWHERE; programs of AMODE 24 cannot use it. ",
            part.title()
        ),
        _ => String::new(),
    };
    raise.risk = format!("{words}{many}{mode}{}", case.risk);
    Some(raise)
}

/// The number of threads with such a stack; None if it is not known.
fn threads(case: &ProgramCase<'_>, part: Part) -> Option<u64> {
    match part {
        Part::Stack | Part::XplinkStack if case.is_set("THREADSTACK", 0, "ON") => Some(1),
        Part::ThreadStack | Part::XplinkThreadStack => {
            case.threads().at_once.certain().map(|threads| threads.saturating_sub(1).max(1))
        }
        _ => case.threads().at_once.certain(),
    }
}

/// Whether the stack is below the 16M line.
pub(super) fn is_below(case: &ProgramCase<'_>, part: Part) -> bool {
    match part {
        Part::LibStack => true,
        Part::ThreadStack => case.is_set("THREADSTACK", 3, "BELOW") || case.is_set("ALL31", 0, "OFF"),
        Part::Stack => case.is_set("STACK", 2, "BELOW") || case.is_set("ALL31", 0, "OFF"),
        _ => false,
    }
}

/// The additional need of a heap that contains the stacks of threads.
pub(super) struct Moved {
    /// The number of bytes.
    pub bytes: u64,
    /// Words to add to the reason.
    pub words: String,
}

/// The additional need of ANYHEAP, or BELOWHEAP, after the stacks of threads are raised.
pub(super) fn moved(case: &ProgramCase<'_>, heap: Part) -> Option<Moved> {
    if switch_unknown(case).is_some() {
        return None;
    }
    let part = if case.is_set("THREADSTACK", 0, "ON") { Part::ThreadStack } else { Part::Stack };
    let holds = if is_below(case, part) { Part::BelowHeap } else { Part::AnyHeap };
    let others = case.threads().at_once.certain()?.checked_sub(1).filter(|others| *others > 0)?;
    if heap != holds {
        return None;
    }
    if place::fixed(case, part.row()?.option.0).is_some() {
        return None;
    }
    let before = case.storage(part).initial.certain()?;
    let option = one(case, part).filter(|advice| advice.kind == Kind::Raise)?.option?;
    let at = part.row()?.option.1;
    let after = crate::sizes::size(option.sub_options.get(at)?.as_deref()?)?;
    let bytes = after.checked_sub(before)?.saturating_mul(others);
    let words = format!(
        " {others} threads besides the first take their first stack segments from it, {} each instead of {}: {} more.",
        written(after),
        written(before),
        written(bytes)
    );
    Some(Moved { bytes, words })
}
