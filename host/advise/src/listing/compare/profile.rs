//! Instruction profiles before and after: samples of each object, the share of compare-and-swap, each instruction.
//!
//! Invariant: instructions are summed up by mnemonic: displacements change whenever a program is compiled, and page layout
//! breaks them. A sum is likely if a count in it may have lost digits.
//! Not here: the share that means contention (`ztpf::contention`).

use std::collections::{BTreeMap, HashMap, HashSet};

use underbar_listing::Doubt;
use underbar_listing::model::ztpf::{Found, Profile, Sample};

use super::super::Collected;
use super::super::ztpf::contention::{is_simple_lock, is_swap};
use super::subject::{Amount, Known, Subject};
use super::{Comparison, paired};

/// The most instructions of an object with their own row.
const MOST: usize = 50;
/// The most objects of a listing that are compared; further ones are counted.
const MOST_OBJECTS: usize = 200;

/// One object of the last profile that has it.
struct Object<'a> {
    name: &'a str,
    samples: Vec<&'a Sample>,
    /// The number of profiles that have it.
    found: usize,
}

/// Compares all objects.
pub(super) fn compare(old: &Collected, new: &Collected, comparison: &mut Comparison) {
    let name = |one: &Object<'_>| {
        let object = if one.name.is_empty() { "no object named" } else { one.name };
        format!("z/TPF: instructions of {object}")
    };
    let ((one_listing, more_old), (other_listing, more_new)) = (objects(old), objects(new));
    // Print that breaks columns adds a letter to the name. If the other listing has exactly this name, it is that object.
    let has = |all: &[Object<'_>], name: &str| all.iter().any(|one| one.name == name);
    let broken: Vec<(&str, &str)> = one_listing
        .iter()
        .flat_map(|one| other_listing.iter().map(move |two| (one.name, two.name)))
        .filter(|(one, two)| is_simple_lock(one) && is_simple_lock(two))
        .filter(|(one, two)| !has(&other_listing, one) && !has(&one_listing, two))
        .collect();
    let same =
        |one: &Object<'_>, two: &Object<'_>| one.name == two.name || broken.contains(&(one.name, two.name));
    let first = comparison.subjects.len();
    for pair in paired(one_listing, other_listing, same) {
        match pair {
            (Some(old), Some(new)) => {
                let mut subject = Subject::new(&name(&old), &name(&new), [old.found, new.found]);
                one(&mut subject, &old, &new);
                comparison.subjects.push(subject);
            }
            (old, new) => comparison.alone(old.as_ref().map(name), new.as_ref().map(name)),
        }
    }
    // The object of an unread row is unknown.
    if let Some(subject) = comparison.subjects.get_mut(first) {
        subject.doubts("old", profiles(old).flat_map(doubts));
        subject.doubts("new", profiles(new).flat_map(doubts));
        for (side, more) in [("old", more_old), ("new", more_new)] {
            if more > 0 {
                subject.notes.push(format!("{side}: {more} more objects are not compared"));
            }
        }
    }
}

fn doubts(profile: &Profile) -> &[Doubt] {
    &profile.doubts
}

fn profiles(collected: &Collected) -> impl Iterator<Item = &Profile> {
    collected.ztpf.iter().filter_map(|(_, found)| match found {
        Found::Profile(profile) => Some(profile),
        _ => None,
    })
}

/// The first objects, and the number of further ones.
fn objects(collected: &Collected) -> (Vec<Object<'_>>, usize) {
    let (mut all, mut places): (Vec<Object<'_>>, HashMap<&str, usize>) = (Vec::new(), HashMap::new());
    for profile in profiles(collected) {
        let mut own: BTreeMap<&str, Vec<&Sample>> = BTreeMap::new();
        for sample in &profile.samples {
            own.entry(&sample.object).or_default().push(sample);
        }
        for (name, samples) in own {
            let place = *places.entry(name).or_insert(all.len());
            match all.get_mut(place) {
                Some(known) => (known.samples, known.found) = (samples, known.found + 1),
                None => all.push(Object { name, samples, found: 1 }),
            }
        }
    }
    let more = all.len().saturating_sub(MOST_OBJECTS);
    all.truncate(MOST_OBJECTS);
    (all, more)
}

fn one(subject: &mut Subject, old: &Object<'_>, new: &Object<'_>) {
    let sum = |object: &Object<'_>, of: &dyn Fn(&str) -> bool| {
        let own = || object.samples.iter().filter(|sample| of(&sample.mnemonic));
        let value = own().fold(0_u64, |sum, sample| sum.saturating_add(sample.count.value));
        Known::count(value).or_likely(own().any(|sample| sample.count.likely))
    };
    let swaps = |object: &Object<'_>| sum(object, &is_swap);
    let samples = |object: &Object<'_>| sum(object, &|_| true);
    let share = |object: &Object<'_>| {
        let (part, all) = (swaps(object), samples(object));
        let (Amount::Count(part), Amount::Count(whole)) = (&part.value, &all.value) else { return None };
        // If the part is 0, the share is certain, however likely the whole is.
        Some(Known::share((*part, Some(*part)), (*whole, Some(*whole)))?.or_likely(all.likely && *part > 0))
    };
    subject.group("SAMPLES");
    subject.row("All", Some(samples(old)), Some(samples(new)));
    subject.row("Of these compare-and-swap", Some(swaps(old)), Some(swaps(new)));
    subject.row("Share of compare-and-swap", share(old), share(new));
    let mut seen = HashSet::new();
    let both = old.samples.iter().chain(&new.samples).map(|sample| sample.mnemonic.as_str());
    let names: Vec<&str> = both.filter(|name| seen.insert(*name)).collect();
    subject.group("INSTRUCTIONS");
    for name in names.iter().take(MOST) {
        let of = |object: &Object<'_>| {
            let is_there = object.samples.iter().any(|sample| sample.mnemonic == *name);
            is_there.then(|| sum(object, &|other| other == *name))
        };
        subject.row(*name, of(old), of(new));
    }
    if let Some(more @ 1..) = names.len().checked_sub(MOST) {
        subject.notes.push(format!("{more} more instructions are in the sums and not listed"));
    }
}
