//! Sizes of available lists before and after, as displays of one ECB show them (`ZDECB HAVL`).
//!
//! Invariant: a set of sizes is compared only with the same set, by its last display. The ECB does not matter: the sizes
//! belong to the set.
//! Not here: counts of requests that the lists filled: their layout is not known, and they are not read.

use underbar_listing::model::ztpf::{Found, Lists};

use super::super::Collected;
use super::super::ztpf::population::name;
use super::subject::{Known, Subject};
use super::{Comparison, paired};

/// Compares all sets.
pub(super) fn compare(old: &Collected, new: &Collected, comparison: &mut Comparison) {
    let name = |all: &Vec<&Lists>| {
        let set = all.last().and_then(|lists| lists.set.as_deref());
        format!("{}: sizes of available lists (ZDECB HAVL)", name(set))
    };
    for pair in paired(sets(old), sets(new), |one, two| one[0].set == two[0].set) {
        match pair {
            (Some(old), Some(new)) => {
                let mut subject = Subject::new(&name(&old), &name(&new), [old.len(), new.len()]);
                subject.group("SIZES (bytes)");
                let size = |all: &[&Lists], list: u8| {
                    let sizes = all.last().map_or(&[][..], |lists| &lists.sizes);
                    sizes.iter().find(|(known, _)| *known == list).map(|(_, size)| Known::from(size))
                };
                for list in 1..=9 {
                    subject.row(format!("AVL{list}"), size(&old, list), size(&new, list));
                }
                subject.doubts("old", old.iter().flat_map(|lists| &lists.doubts));
                subject.doubts("new", new.iter().flat_map(|lists| &lists.doubts));
                comparison.subjects.push(subject);
            }
            (old, new) => comparison.alone(old.as_ref().map(name), new.as_ref().map(name)),
        }
    }
}

/// The displays of each set; none is empty.
fn sets(collected: &Collected) -> Vec<Vec<&Lists>> {
    let mut all: Vec<Vec<&Lists>> = Vec::new();
    for (_, found) in &collected.ztpf {
        let Found::Lists(lists) = found else { continue };
        match all.iter_mut().find(|known| known[0].set == lists.set) {
            Some(known) => known.push(lists),
            None => all.push(vec![lists]),
        }
    }
    all
}
