//! Compare-and-swap in the instruction profile: a loop around it is contention.
//!
//! ```text
//! an object's samples = compare-and-swap + the rest;   share = compare-and-swap / samples
//! ```
//!
//! Invariant: counts that may have lost digits count as printed, which is their lower bound. If two more digits in the counts
//! of other instructions could make the share small, there is no finding about contention.

use underbar_listing::model::ztpf::{Found, Sample};
use underbar_model::{Certainty, Contention, Evidence, Figure};
use underbar_report::units::{count, counted};

use super::super::Collected;
use super::about;
use crate::advice::{Advice, Kind, Line};

/// Instructions that compare and swap.
const SWAPS: [&str; 8] = ["CS", "CSG", "CSY", "CDS", "CDSG", "CDSY", "CSST", "CSPG"];
/// The instructions in the wait loop of the improved simple locks.
const IMPROVED: [&str; 3] = ["CGHSI", "BRCTG", "TM"];
/// With fewer samples in an object there is no finding.
const FEW: u64 = 100;
/// From this share on, in percent of the samples, it is contention.
const MUCH: u64 = 25;

/// The rule for contention.
pub(crate) fn contention(collected: &Collected) -> Vec<Advice> {
    let mut all = Vec::new();
    for (file, found) in &collected.ztpf {
        let Found::Profile(profile) = found else { continue };
        let mut objects: Vec<&str> = Vec::new();
        for sample in &profile.samples {
            if !objects.contains(&sample.object.as_str()) {
                objects.push(&sample.object);
            }
        }
        let spoilt = profile.doubts.len();
        for object in objects.into_iter().take(50) {
            let samples: Vec<&Sample> =
                profile.samples.iter().filter(|sample| sample.object == object).collect();
            all.extend(one(collected, *file, object, &samples, spoilt));
        }
    }
    all
}

fn one(
    collected: &Collected,
    file: usize,
    object: &str,
    samples: &[&Sample],
    doubts: usize,
) -> Option<Advice> {
    let is_swap = |sample: &&&Sample| is_swap(&sample.mnemonic);
    let known = known(collected, file, samples);
    let (total, swaps) = (known.samples.value, known.tries.value);
    let improved = samples.iter().any(|sample| IMPROVED.contains(&sample.mnemonic.as_str())) && swaps == 0;
    if swaps == 0 && !improved {
        return None;
    }
    let hottest = samples.iter().filter(is_swap).max_by_key(|sample| sample.count.value);
    let mut evidence: Vec<Line> = Vec::new();
    let mut shown: Vec<&&Sample> = samples.iter().collect();
    shown.sort_by_key(|sample| std::cmp::Reverse(sample.count.value));
    evidence.extend(shown.iter().take(3).map(|sample| collected.line(file, &sample.count.evidence)));
    let name = if object.is_empty() { "z/TPF" } else { object };
    let mut said = about(name, Kind::NoAdvice, evidence);
    said.certainty = format!("low: one profile, {}", counted(total, "sample", "samples"));
    if doubts > 0 {
        said.certainty += &format!("; {} about the listing", counted(doubts as u64, "doubt", "doubts"));
    }
    let share = |part: u64| {
        let all = u128::from(total.max(1));
        let share = (u128::from(part) * 2000 + all) / (2 * all);
        format!("{}.{} %", share / 10, share % 10)
    };
    said.now = format!("compare-and-swap {} of {} samples ({})", count(swaps), count(total), share(swaps));
    if total < FEW {
        said.reason = "Too few samples to tell contention by.".to_owned();
        return Some(said);
    }
    if swaps.saturating_mul(100) < total.saturating_mul(MUCH) {
        said.kind = Kind::NoChange;
        said.reason = if improved {
            "Waiting reads before it swaps, as with PJ46800: no share of compare-and-swap, no sign of high contention."
                .to_owned()
        } else {
            "Most samples are of other instructions: no sign of high contention.".to_owned()
        };
        return Some(said);
    }
    if swaps.saturating_mul(100) < known.samples_at_most.value.saturating_mul(MUCH) {
        said.reason =
            "Counts of other instructions may have lost digits, so that the share could be far smaller."
                .to_owned();
        return Some(said);
    }
    let place = hottest.map_or(String::new(), |sample| {
        let at = sample.displacement.map_or(String::new(), |at| format!(" at displacement {at:X}"));
        format!(", {} on one {}{at}", share(sample.count.value), sample.mnemonic)
    });
    said.kind = Kind::Change;
    let what = if is_simple_lock(object) {
        "This is the code of simple locks: apply APAR PJ46800 (August 2022; it changes the control program and needs a TLD load), \
         with which waiting reads first and swaps only when needed."
    } else {
        "Take simple locks (sys/simplelock.h: simple_lock, simple_unlock), which give up control while they wait; or read the lock \
         word before each swap (test, then test-and-set), spin a bounded number of times, then give up control. Hold the lock for \
         less time."
    };
    said.reason = format!(
        "{} of the samples of this object are of compare-and-swap{place}: a loop that swaps while another holds the lock. {what}",
        share(swaps)
    );
    said.effect = "CPU that is spent on waiting becomes free: 99 % of CPU became 8 % in the published case of PJ46800. How much it is \
                   here the profile does not say."
        .to_owned();
    Some(said)
}

/// The samples of an object, and those of compare-and-swap, with the line of the largest count.
fn known(collected: &Collected, file: usize, samples: &[&Sample]) -> Contention {
    let swaps: Vec<&Sample> = samples.iter().copied().filter(|sample| is_swap(&sample.mnemonic)).collect();
    let figure = |of: &[&Sample]| {
        let largest = of.iter().max_by_key(|sample| sample.count.value);
        largest.map_or(Figure::absent("no sample is of it"), |largest| Figure {
            value: of.iter().fold(0, |sum, sample| sum.saturating_add(sample.count.value)),
            certainty: match of.iter().any(|sample| sample.count.likely) {
                true => Certainty::AtLeast,
                false => Certainty::Certain,
            },
            evidence: Evidence::Line(collected.line(file, &largest.count.evidence)),
        })
    };
    let all = figure(samples);
    // A count that may be cut is assumed to have two more digits.
    let cut = samples.iter().filter(|sample| sample.count.likely && !is_swap(&sample.mnemonic));
    let most = cut.fold(all.value, |sum, one| sum.saturating_add(one.count.value.saturating_mul(99) + 99));
    let samples_at_most = Figure { value: most, certainty: Certainty::AtMost, ..all.clone() };
    Contention { samples: all, samples_at_most, tries: figure(&swaps) }
}

/// Whether an instruction compares and swaps.
pub(crate) fn is_swap(mnemonic: &str) -> bool {
    SWAPS.contains(&mnemonic)
}

/// Whether an object is that of the simple locks, with its name printed correctly or with one letter too many.
pub(crate) fn is_simple_lock(object: &str) -> bool {
    const NAME: &str = "slockc.goff";
    let name: String = object.rsplit(" - ").next().unwrap_or(object).split_whitespace().collect();
    let name = name.to_ascii_lowercase();
    let without = |gone: usize| {
        name.chars().enumerate().filter(|(at, _)| *at != gone).map(|(_, c)| c).collect::<String>()
    };
    name == NAME || (0..name.chars().count()).any(|gone| without(gone) == NAME)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_object_of_simple_locks_is_known_with_a_letter_too_many() {
        for name in ["CFVS - slockc.goff", "CFVS - SLOCKC.GOFF", "CFVS - slo ockc.goff"] {
            assert!(is_simple_lock(name), "{name}");
        }
        for name in ["", "IPAY - queue.goff", "CFVS - ckc.goff", "slockc.goff - other.goff"] {
            assert!(!is_simple_lock(name), "{name}");
        }
    }
}
