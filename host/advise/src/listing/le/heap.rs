//! Initial sizes and increments of the heaps.
//!
//! ```text
//! used <= initial   far too large? lower : no change
//! used >  initial   few segments? no change : initial holds all (or an eighth of it), increment a quarter of that
//! ```
//!
//! Invariant: suggestions depend only on certain figures. If the number of segments is missing, nothing is raised: an
//! increment is a minimum, since a larger request gets a segment of its own size.

use underbar_listing::{Field, Kind as Part};

use super::super::history::History;
use super::stack_size::{moved, switch_unknown};
use super::{BELOW_RISK, ProgramCase, contradiction, found, lines, lost, now, setting};
use crate::advice::{Advice, Evidence, Kind, Line};
use crate::heap::FEW_SEGMENTS as FEW;
use crate::sizes::{LINE, is_well_used, rounded, written};

const K: u64 = 1 << 10;
const M: u64 = 1 << 20;
/// The risk for a user heap that programs of AMODE 24 may share.
const ALL31: &str = "It lies above the 16M line: under ALL31(OFF) programs of AMODE 24 take theirs below it, from the fifth value of HEAP. ";
/// A larger need is taken in eighths.
const LARGE: u64 = 128 * M;
/// The smallest change that is worthwhile.
const WORTH: u64 = 64 * K;

/// Heaps: section, and the smallest unit of its sizes.
const HEAPS: [(Part, u64); 6] = [
    (Part::Heap, 4 * K),
    (Part::Heap24, 4 * K),
    (Part::AnyHeap, 4 * K),
    (Part::BelowHeap, 4 * K),
    (Part::User64, M),
    (Part::User31, 4 * K),
];

pub(crate) fn apply(case: &ProgramCase<'_>) -> Vec<Advice> {
    HEAPS.iter().filter_map(|(part, unit)| one(case, *part, *unit)).collect()
}

/// `1 segment`, `41 segments`.
fn counted(count: u64) -> String {
    format!("{count} segment{}", if count == 1 { "" } else { "s" })
}

/// The savings of a smaller initial size, and of a smaller increment, if there is one.
fn less(saved: u64, increment: Option<u64>, next: Option<u64>) -> String {
    let first = format!("{} less for each enclave at its start", written(saved));
    match (increment, next) {
        (Some(increment), Some(next)) => format!(
            "{first}; an increment, should one be needed, takes {} instead of {}.",
            written(next),
            written(increment)
        ),
        _ => format!("{first}."),
    }
}

/// The facts about one heap.
struct Heap<'a> {
    part: Part,
    unit: u64,
    history: History,
    /// The need of the history, and the additional need of the stacks of threads.
    need: u64,
    initial: u64,
    increment: Option<u64>,
    segments: Option<u64>,
    evidence: Vec<Line>,
    case: &'a ProgramCase<'a>,
}

/// The advice for one heap; None if it is not in the listing or not used.
pub(super) fn one(case: &ProgramCase<'_>, part: Part, unit: u64) -> Option<Advice> {
    if contradiction::concerns(case, part) {
        return None;
    }
    let storage = case.storage(part);
    let (Some(_), Some(initial)) = (storage.used.certain(), storage.initial.certain()) else { return None };
    let counted = Some(&storage.segments).filter(|segments| segments.certain().is_some());
    let evidence = lines([&storage.used, &storage.initial, &storage.suggested].into_iter().chain(counted));
    let history = case.history(part);
    let more = moved(case, part).map_or(0, |moved| moved.bytes);
    let heap = Heap {
        part,
        unit,
        need: history.need().saturating_add(more),
        history,
        initial,
        increment: storage.increment.certain(),
        segments: storage.segments.certain(),
        evidence,
        case,
    };
    let mut advice = match heap.need {
        0 => heap.unused(),
        need if heap.initial >= need => Some(heap.holds_all()),
        _ => Some(heap.too_small()),
    };
    let holds_stacks = matches!(part, Part::AnyHeap | Part::BelowHeap);
    if let (Some(lower), true, Some(line)) = (&mut advice, holds_stacks, switch_unknown(case))
        && lower.kind == Kind::Lower
    {
        lower.reason += " But whether THREADSTACK is ON or OFF, and so how much of it stacks of threads will take, cannot be \
                         seen: it stays.";
        lower.evidence.push(line.into());
        (lower.kind, lower.option) = (Kind::NoAdvice, None);
        lower.effect.clear();
    }
    if let (Some(set), Some(why)) =
        (advice.as_mut().filter(|set| set.option.is_some()), lost::size(case, part))
    {
        set.reason += &format!(" But {why}: it stays.");
        (set.kind, set.option) = (Kind::NoAdvice, None);
        set.effect.clear();
    }
    if let (Some(advice), Some(moved)) = (&mut advice, moved(case, part)) {
        advice.reason += &moved.words;
    }
    advice
}

impl Heap<'_> {
    fn say(self, kind: Kind, reason: String) -> Advice {
        let now = now(self.part, self.initial, self.increment);
        found(kind, now, self.evidence, format!("{}: {reason}", self.part.title()))
    }

    fn unused(self) -> Option<Advice> {
        let is_large = self.initial >= WORTH && self.unit < M;
        is_large.then(|| {
            if let Some(why) = lost::use_of(self.case, self.part, Field::Total) {
                let reason =
                    format!("nothing was used of an initial size of {}; but {why}: it stays.", self.initial);
                return self.say(Kind::NoAdvice, reason);
            }
            let (part, initial, unit) = (self.part, self.initial, self.unit);
            let (increment, next) = (self.increment, self.lower_increment(unit));
            let mut lower =
                self.say(Kind::Lower, format!("nothing was used of an initial size of {initial}."));
            lower.option = setting(part, Some(unit), next);
            lower.effect = less(initial - unit, increment, next);
            lower
        })
    }

    fn holds_all(self) -> Advice {
        let (part, initial) = (self.part, self.initial);
        let used = self.history.words();
        let enough = rounded(self.need.saturating_add(self.need / 8), self.unit);
        if is_well_used(self.need, initial) || initial.saturating_sub(enough) < WORTH {
            let reason = format!("the initial size holds what is used, and is not far too large: {used}.");
            return self.say(Kind::NoChange, reason);
        }
        if let Some(why) = lost::use_of(self.case, part, Field::Total) {
            return self.say(
                Kind::NoAdvice,
                format!("{used}, of an initial size of {initial}; but {why}: it stays."),
            );
        }
        let (increment, next) = (self.increment, self.lower_increment(enough));
        let mut lower = self.say(Kind::Lower, format!("{used}, of an initial size of {initial}."));
        lower.option = setting(part, Some(enough), next);
        lower.effect = less(initial - enough, increment, next);
        lower
    }

    /// A smaller increment for an initial size that is lowered to `first`, if less than a sixteenth of the present increment
    /// would be used. Otherwise a run that needs a little more than `first` would take the savings again.
    fn lower_increment(&self, first: u64) -> Option<u64> {
        let peak = self.need.max(self.history.largest);
        let increment = self.increment.filter(|increment| *increment >= M && increment / 16 > peak)?;
        let next = rounded(first.max(peak.saturating_add(peak / 8)) / 4, self.unit.max(64 * K));
        let next = if self.case.cics().is_some() { next - 16 } else { next };
        (next < increment).then_some(next)
    }

    fn too_small(self) -> Advice {
        let used = self.history.words();
        let Some(count) = self.segments else {
            let reason = format!(
                "{used}, more than the initial size holds; but the number of segments cannot be read, and the increment \
                 does not tell it: a larger request gets a larger segment."
            );
            return self.say(Kind::NoAdvice, reason);
        };
        let most = self.history.largest;
        let (limit, region, _) = self.region(most);
        if let (Some(limit), Some(region)) = (limit.filter(|limit| *limit < most), region) {
            let reason = format!(
                "{used}, more than the {} that {}: this ran in another one (IEFUSI sets limits, too), or a figure is \
                 damaged.",
                written(limit),
                if self.part == Part::User64 { "MEMLIMIT allows" } else { "the region leaves" }
            );
            let mut none = self.say(Kind::NoAdvice, reason);
            none.evidence.push(region.into());
            return none;
        }
        if self.is_wasteful(count) || (count <= FEW && !self.fits_below_the_line()) {
            return self.few(count);
        }
        let (first, larger, mut words) = match self.sizes() {
            Ok(sizes) => sizes,
            Err(why) => return self.say(Kind::NoAdvice, format!("{}, {used}; {why}", counted(count))),
        };
        let next = Some(larger).filter(|larger| Some(*larger) != self.increment);
        if first.is_none() && next.is_none() {
            let reason = format!("{}, {used}; sizes are as large as they should be.", counted(count));
            return self.say(Kind::NoChange, reason);
        }
        let peak = self.need.max(self.history.largest);
        let will = peak.saturating_sub(first.unwrap_or(self.initial)).div_ceil(larger.max(1)) + 1;
        let rarely = match self.history.is_rare() {
            true => "; the peak is rare, so the increment takes the rest",
            false => "",
        };
        let (part, region) = (self.part, self.region(first.unwrap_or(0).max(larger)));
        words += &region.2;
        if self.is_below() {
            words += BELOW_RISK;
        }
        words += self.all31(first.unwrap_or(0).max(larger));
        let each = match count {
            1 => "which does not hold all",
            _ if count <= FEW => "where one would do",
            _ => "a request to the system each",
        };
        let reason = format!("{}, {each}: {used}{rarely}.", counted(count));
        let risk = self.case.risk;
        let mut raise = self.say(Kind::Raise, reason);
        raise.evidence.extend(region.1.map(Evidence::Line));
        raise.option = setting(part, first, next);
        raise.effect = match will {
            // In this section the first segment is not counted.
            1 if part == Part::User64 => format!("no segment beside the first instead of {count}."),
            _ if part == Part::User64 => {
                format!("about {} segments beside the first instead of {count}.", will - 1)
            }
            1 if count == 1 => "one segment, as before, which holds all.".to_owned(),
            1 => format!("one segment instead of {count}."),
            _ => format!("about {will} segments instead of {count}."),
        };
        raise.risk = format!("{words}{risk}");
        raise
    }

    /// Whether one segment that holds everything is so small that the region does not matter.
    fn fits_below_the_line(&self) -> bool {
        self.need.saturating_add(self.need / 8) <= LINE
    }

    /// Whether the increments taken are far larger than their contents.
    fn is_wasteful(&self, count: u64) -> bool {
        let beyond = self.need - self.initial;
        let is_large = |increment: u64| {
            increment / 16 > beyond && increment >= M && increment / 2 > self.initial && self.unit < increment
        };
        (2..=FEW).contains(&count) && self.increment.is_some_and(is_large)
    }

    /// Few segments; but the last may be far larger than its contents.
    fn few(self, count: u64) -> Advice {
        let used = self.history.words();
        let beyond = self.need - self.initial;
        let Some(increment) = self.increment.filter(|_| self.is_wasteful(count)) else {
            return self.say(
                Kind::NoChange,
                match count {
                    1 => format!("one segment: {used}."),
                    _ => format!("{count} segments are few: {used}."),
                },
            );
        };
        let (part, initial) = (self.part, self.initial);
        let enough = rounded(beyond.saturating_mul(2), self.unit.max(64 * K));
        let reason = format!(
            "{beyond} bytes more than the initial size of {initial} are used, and an increment of {increment} is taken for \
             them: {used}."
        );
        let mut lower = self.say(Kind::Lower, reason);
        lower.option = setting(part, None, Some(enough));
        lower.effect = format!("{} less for each enclave.", written(increment - enough));
        lower
    }

    /// The initial size, if it changes, and the increment; or why none is suggested.
    fn sizes(&self) -> Result<(Option<u64>, u64, String), &'static str> {
        let room = self.need.saturating_add(self.need / 8);
        let whole = match room > LARGE {
            true => rounded(self.need.div_ceil(8), self.unit),
            false => rounded(room, self.unit),
        };
        // The rare peak should also fit into few segments.
        let peak = self.need.max(self.history.largest);
        let quarter = match room > LARGE {
            true => whole,
            false => rounded(peak.saturating_add(peak / 8) / 4, self.unit),
        };
        let mut larger = self.increment.unwrap_or(0).max(quarter);
        let (limit, _, _) = self.region(whole.max(larger));
        let limit = limit.filter(|limit| limit / 2 < whole || limit.saturating_sub(peak) < larger);
        let small_region = limit.is_some();
        let mut words = String::new();
        if let Some(limit) = limit {
            // The last increment may be nearly empty, and has to fit in addition to all used storage.
            let room = (limit / 8).min(limit.saturating_sub(peak) / 2);
            larger = larger.min(room - room % self.unit.max(64 * K));
            if larger <= self.increment.unwrap_or(0) {
                return Err("but the region leaves no room for larger ones.");
            }
            words = format!(
                "The region leaves too little for an initial size of {}, so that only the increment grows. ",
                written(whole)
            );
        }
        if self.is_below() && whole > M {
            return Err("below the line there is too little room to take more at once.");
        }
        if self.part == Part::AnyHeap && self.case.cics().is_some() && whole > 1 << 30 {
            return Err("under CICS ANYHEAP can have no more than 1G.");
        }
        let first = match (small_region, self.history.is_rare()) {
            (true, _) => None,
            (false, true) => {
                let usual = self.history.usual;
                Some(rounded(usual.saturating_add(usual / 8).min(whole), self.unit))
            }
            (false, false) => Some(whole),
        };
        let larger = match self.case.cics() {
            // The check zone of 16 bytes has to fit into the last page.
            Some(_) if larger.is_multiple_of(4 * K) => larger - 16,
            _ => larger,
        };
        Ok((first.filter(|first| *first > self.initial), larger, words))
    }

    /// Whether it is below the 16M line.
    fn is_below(&self) -> bool {
        match self.part {
            Part::Heap24 | Part::BelowHeap => true,
            Part::Heap => self.case.is_set("HEAP", 2, "BELOW"),
            Part::AnyHeap => self.case.is_set("ANYHEAP", 2, "BELOW"),
            _ => false,
        }
    }

    /// The warning about programs of AMODE 24: only if ALL31 is not known to be ON.
    fn all31(&self, bytes: u64) -> &'static str {
        let (on, off) = (self.case.is_set("ALL31", 0, "ON"), self.case.is_set("ALL31", 0, "OFF"));
        let is_said = self.part == Part::Heap && !self.is_below() && (off || (bytes > LINE && !on));
        if is_said { ALL31 } else { "" }
    }

    fn region(&self, bytes: u64) -> (Option<u64>, Option<Line>, String) {
        match self.part {
            Part::User64 => {
                let regions = &self.case.collected.regions;
                let with = regions.iter().find_map(|(file, region)| Some((*file, region, region.memlimit?)));
                let shown = with.map(|(file, region, _)| self.case.line(file, &region.evidence));
                match with.map(|(_, _, limit)| limit) {
                    Some(u64::MAX) => (None, shown, "MEMLIMIT is NOLIMIT. ".to_owned()),
                    Some(limit) => (Some(limit), shown, format!("MEMLIMIT is {}. ", written(limit))),
                    None if bytes > LINE => {
                        let words = "region unknown: MEMLIMIT is not in the listing; check it first. ";
                        (None, None, words.to_owned())
                    }
                    None => (None, None, String::new()),
                }
            }
            _ if self.is_below() => (None, None, String::new()),
            _ => self.case.region(bytes),
        }
    }
}
