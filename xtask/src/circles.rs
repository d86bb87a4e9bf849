//! Circles among modules: two siblings, or a row of them, that use each other. `cargo xtask ci` refuses new ones.
//!
//! ```text
//! files of a crate ── paths that begin with crate, super, self ── re-exports followed ──> module uses module
//!                                                          siblings of a folder ──> a circle?
//! ```
//!
//! Each module is taken with all that is below it, and compared with its siblings; a module may use what its own folder's file
//! holds, and the other way round. Tests do not count.
//!
//! Invariant: without the uses of the table no module is in a circle; and each use of the table is in one.
//! Not here: circles among crates, which Cargo refuses; their order ([`crate::order`]).

mod uses;

use std::collections::{BTreeMap, BTreeSet};

use crate::steps::{Sum, root};

/// Uses that make a circle by design: crate and folder, user, used, and the reason.
const BY_DESIGN: &[(&str, &str, &str, &str)] = &[
    (
        "crates/runtime",
        "heap",
        "start",
        "the first request may come before any constructor: it begins the start",
    ),
    ("crates/runtime/heap", "object", "space", "a heap has segments, and a segment names its heap"),
    (
        "crates/runtime/heap",
        "object",
        "thread",
        "a heap has the heaps of its threads, and each of them names it",
    ),
    (
        "crates/runtime/heap",
        "space",
        "check",
        "damage that is found here ends the program, in words about blocks",
    ),
    (
        "crates/runtime/heap",
        "thread",
        "check",
        "damage that is found here ends the program, in words about cells",
    ),
    (
        "crates/runtime/heap",
        "check",
        "ecb",
        "the words about storage of an ended ECB name it, and ECBs end the program for wrong frees",
    ),
    (
        "crates/runtime/heap",
        "ecb",
        "watch",
        "damage that a request in an ECB finds has the reaction of all zones, and walks look at those of ECBs",
    ),
    (
        "crates/runtime/switch",
        "called_stubs",
        "called",
        "the code of a stub calls what names its function, and is found by its number",
    ),
];

/// The uses of the table.
fn known() -> Vec<(&'static str, &'static str, &'static str)> {
    BY_DESIGN.iter().map(|&(place, user, used, _)| (place, user, used)).collect()
}

/// One use among siblings: crate and folder, user, used.
type Use = (String, String, String);

/// Checks all crates of the workspace.
pub fn check(sum: &mut Sum) {
    let known = known();
    let (new, gone) = compare(&all(), &known);
    for circle in &new {
        println!("new circle among modules: {circle}");
    }
    for (place, user, used) in &gone {
        println!(
            "in no circle any more, so it goes: (\"{place}\", \"{user}\", \"{used}\") of xtask/src/circles.rs"
        );
    }
    sum.check("circles among modules", new.is_empty() && gone.is_empty());
}

/// The uses among siblings in all crates.
fn all() -> BTreeSet<Use> {
    let text = std::fs::read_to_string(root().join("Cargo.toml")).unwrap_or_default();
    let mut found = BTreeSet::new();
    for member in crate::order::members(&text) {
        found.extend(among_siblings(&member, &uses::of_crate(&root().join(&member).join("src"))));
    }
    found
}

/// Uses among siblings, each with all that is below it.
fn among_siblings(member: &str, uses: &BTreeSet<(Vec<String>, Vec<String>)>) -> BTreeSet<Use> {
    let mut found = BTreeSet::new();
    for (user, used) in uses {
        let common = user.iter().zip(used).take_while(|(one, other)| one == other).count();
        if let (Some(user), Some(name)) = (user.get(common), used.get(common)) {
            let place = [&[member.to_owned()], &used[..common]].concat().join("/");
            found.insert((place, user.clone(), name.clone()));
        }
    }
    found
}

/// Circles that the known uses do not explain, and known uses that are in no circle.
fn compare<'a>(
    uses: &BTreeSet<Use>,
    known: &[(&'a str, &'a str, &'a str)],
) -> (Vec<String>, Vec<(&'a str, &'a str, &'a str)>) {
    let owned = |(place, user, used): &(&str, &str, &str)| ((*place).into(), (*user).into(), (*used).into());
    let known_uses: BTreeSet<Use> = known.iter().map(owned).collect();
    let rest: BTreeSet<Use> = uses.difference(&known_uses).cloned().collect();
    let new = circles(&rest).into_iter().map(|(place, circle)| format!("{place}: {}", circle.join(" -> ")));
    let is_gone = |one: &&(&str, &str, &str)| {
        let (place, user, used): Use = owned(one);
        !uses.contains(&(place.clone(), user.clone(), used.clone()))
            || way(&graph(uses, &place), &used, &user).is_none()
    };
    (new.collect(), known.iter().filter(is_gone).copied().collect())
}

/// For each folder, a circle for each module that is in one; none twice.
fn circles(uses: &BTreeSet<Use>) -> Vec<(String, Vec<String>)> {
    let places: BTreeSet<&String> = uses.iter().map(|(place, ..)| place).collect();
    let mut found = Vec::new();
    for place in places {
        let graph = graph(uses, place);
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        for (user, used) in graph.iter().flat_map(|(user, used)| used.iter().map(move |used| (*user, *used)))
        {
            if let Some(way) = way(&graph, used, user).filter(|_| !seen.contains(user)) {
                seen.extend(way.iter().copied());
                let circle = [&[user], way.as_slice()].concat().into_iter().map(str::to_owned);
                found.push((place.clone(), circle.collect()));
            }
        }
    }
    found
}

type Graph<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

fn graph<'a>(uses: &'a BTreeSet<Use>, place: &str) -> Graph<'a> {
    let mut graph = Graph::new();
    for (_, user, used) in uses.iter().filter(|(of, ..)| of == place) {
        graph.entry(user).or_default().insert(used);
    }
    graph
}

/// A shortest way by uses, with both ends.
fn way<'a>(graph: &Graph<'a>, from: &'a str, to: &str) -> Option<Vec<&'a str>> {
    let mut ways = vec![vec![from]];
    let mut seen = BTreeSet::from([from]);
    while !ways.is_empty() {
        let mut next = Vec::new();
        for way in ways {
            let last = *way.last()?;
            if last == to {
                return Some(way);
            }
            for name in graph.get(last).into_iter().flatten() {
                if seen.insert(name) {
                    next.push([way.as_slice(), &[*name]].concat());
                }
            }
        }
        ways = next;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uses(pairs: &[(&str, &str)]) -> BTreeSet<Use> {
        let path = |text: &str| text.split("::").map(str::to_owned).collect::<Vec<_>>();
        among_siblings("c", &pairs.iter().map(|(user, used)| (path(user), path(used))).collect())
    }

    #[test]
    fn siblings_are_compared_with_all_that_is_below_them() {
        let found = uses(&[("a::x", "b"), ("b::y", "a"), ("a", "a::x"), ("a::x", "a"), ("a::x", "a::z")]);
        let names: Vec<String> =
            found.iter().map(|(place, user, used)| format!("{place} {user} {used}")).collect();
        assert_eq!(names, ["c a b", "c b a", "c/a x z"]);
    }

    #[test]
    fn a_circle_is_refused_until_it_is_known_and_a_known_one_until_it_is_open() {
        let found = uses(&[("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")]);
        let (new, gone) = compare(&found, &[]);
        assert_eq!((new, gone), (vec!["c: a -> b -> c -> a".to_owned()], vec![]));
        assert_eq!(compare(&found, &[("c", "c", "a")]), (vec![], vec![]));
        // A use that is in no circle, one that is not there, and one of another folder.
        let wrong = [("c", "c", "d"), ("c", "d", "a"), ("e", "c", "a")];
        let (new, gone) = compare(&found, &wrong);
        assert_eq!((new.len(), gone), (1, wrong.to_vec()));
    }

    #[test]
    fn no_module_is_in_a_new_circle() {
        let uses = all();
        assert!(BY_DESIGN.iter().all(|(.., reason)| !reason.is_empty()));
        assert!(uses.len() > 500, "{}", uses.len());
        assert_eq!(compare(&uses, &known()), (vec![], vec![]));
    }
}
