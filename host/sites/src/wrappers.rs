//! Functions that only hand a request on to malloc: they are named behind a site, and are none themselves.
//!
//! ```text
//! malloc <- xmalloc <- parse_record <- main        parse_record, by xmalloc
//!
//! known   a table of names ([`crate::wrapper_names`])
//! found   by the samples: most samples of a module come through one function that calls no other function with samples, that has
//!         many callers, none of them most of it, and whose sizes depend on the caller. Its callers are looked at in the same way.
//! ```
//!
//! A place in a stripped program counts as a function of its own, since nothing says which other places are in the same one.
//!
//! Invariant: what is found depends on the samples only, not on their order. Stacks keep all their functions.
//! Not here: malloc and its kin, which are cut off every stack, and the choice of the site ([`crate::site`]).

use std::collections::{HashMap, HashSet};

use crate::names::{Function, Location};
use crate::wrapper_names::is_known;

/// A function through which fewer samples come is not looked at.
const FEWEST_SAMPLES: u64 = 20;
/// Callers of a function that only hands on, at least.
const FEWEST_CALLERS: usize = 4;
/// Different sizes that they request, at least.
const FEWEST_SIZES: usize = 3;
/// Layers of functions that are found.
const MOST_LAYERS: usize = 4;

/// Functions that only hand requests on.
#[derive(Clone, Debug, Default)]
pub struct Wrappers {
    /// Names by module.
    found: HashMap<String, HashSet<String>>,
    /// There are none: every function may be a site.
    is_off: bool,
}

/// A stack whose innermost locations are cut, for the search.
pub struct Sampled<'a> {
    /// Its locations, innermost first.
    pub locations: &'a [&'a Location],
    /// Its samples.
    pub samples: u64,
    /// Their bytes, as requested.
    pub bytes: u64,
}

impl Wrappers {
    /// None: every function may be a site.
    #[must_use]
    pub fn off() -> Wrappers {
        Wrappers { is_off: true, ..Wrappers::default() }
    }

    /// Those of the table, and those that these stacks show.
    #[must_use]
    pub fn of(stacks: &[Sampled<'_>]) -> Wrappers {
        let mut wrappers = Wrappers::default();
        // With functions of one caller, which may be layers below one that has many.
        let mut deeper = Wrappers::default();
        for _ in 0..MOST_LAYERS {
            let (many, one) = deeper.more(stacks);
            let is_found = !many.is_empty();
            if many.is_empty() && one.is_empty() {
                break;
            }
            for (module, name) in many.into_iter().chain(one) {
                deeper.found.entry(module.to_owned()).or_default().insert(name.kept());
            }
            if is_found {
                wrappers.found.clone_from(&deeper.found);
            }
        }
        wrappers
    }

    /// Whether a function, or a place without one, only hands requests on.
    #[must_use]
    pub fn has(&self, location: &Location, function: Option<&Function>) -> bool {
        let Some(name) = name(location, function) else { return false };
        let is_in_table = matches!(name, Name::Function(name) if is_known(name));
        let is_found = || self.found.get(&location.module).is_some_and(|found| found.contains(&name.kept()));
        !self.is_off && (is_in_table || is_found())
    }

    /// Further ones above those that are there, with many callers; if there are none, those with few, which may be layers below one.
    fn more<'a>(&self, stacks: &[Sampled<'a>]) -> (Vec<Of<'a>>, Vec<Of<'a>>) {
        let mut functions: HashMap<Of<'a>, Seen<'a>> = HashMap::new();
        let mut modules: HashMap<&str, u64> = HashMap::new();
        for stack in stacks.iter().filter(|stack| stack.samples > 0) {
            let mut named = frames(stack.locations)
                .skip_while(|(location, function)| self.has(location, *function))
                .filter_map(|(location, function)| {
                    Some((location.module.as_str(), name(location, function)?))
                });
            let Some(first) = named.next() else { continue };
            *modules.entry(first.0).or_default() += stack.samples;
            let behind: Vec<Of<'a>> = named.collect();
            for name in behind.iter().collect::<HashSet<_>>() {
                functions.entry(*name).or_default().as_caller += stack.samples;
            }
            let seen = functions.entry(first).or_default();
            seen.as_first += stack.samples;
            seen.sizes.insert(stack.bytes / stack.samples);
            if let Some(caller) = behind.first() {
                *seen.callers.entry(*caller).or_default() += stack.samples;
            }
        }
        functions.retain(|(module, _), seen| {
            seen.may_hand_on() && seen.as_first * 2 >= modules.get(module).copied().unwrap_or(0)
        });
        let of = |has_many: bool| -> Vec<Of<'a>> {
            let found = functions.iter().filter(|(_, seen)| seen.has_many_callers() == has_many);
            found.map(|(name, _)| *name).collect()
        };
        let many = of(true);
        let one = if many.is_empty() { of(false) } else { Vec::new() };
        (many, one)
    }
}

/// The name of a function here. A place without a name is one call of several in its function.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Name<'a> {
    Function(&'a str),
    Place(u64),
}

/// A module, and a function there.
type Of<'a> = (&'a str, Name<'a>);

impl Name<'_> {
    /// As it is kept.
    fn kept(self) -> String {
        match self {
            Name::Function(name) => name.to_owned(),
            Name::Place(address) => format!("+0x{address:x}"),
        }
    }
}

fn name<'a>(location: &'a Location, function: Option<&'a Function>) -> Option<Name<'a>> {
    match function {
        Some(function) => function.function.as_deref().map(Name::Function),
        None => Some(Name::Place(location.address)),
    }
}

/// What stacks say of a function.
#[derive(Default)]
struct Seen<'a> {
    /// Samples of its own requests.
    as_first: u64,
    /// Those of functions that it called.
    as_caller: u64,
    /// Its own by the function that called it.
    callers: HashMap<Of<'a>, u64>,
    /// Sizes, on average of a stack.
    sizes: HashSet<u64>,
}

impl Seen<'_> {
    /// Its requests are of different sizes, and no other function requests through it.
    fn may_hand_on(&self) -> bool {
        self.as_first >= FEWEST_SAMPLES
            && self.as_caller * 19 <= self.as_first
            && self.sizes.len() >= FEWEST_SIZES
    }

    /// None of them has more than two thirds.
    fn has_many_callers(&self) -> bool {
        let most = self.callers.values().copied().max().unwrap_or(0);
        self.callers.len() >= FEWEST_CALLERS && most * 3 <= self.as_first * 2
    }
}

/// The functions of a stack, innermost first; None for a location without one.
pub fn frames<'a>(
    locations: &'a [&'a Location],
) -> impl Iterator<Item = (&'a Location, Option<&'a Function>)> {
    locations.iter().flat_map(|location| {
        let unnamed = location.functions.is_empty().then_some((*location, None));
        location.functions.iter().map(move |function| (*location, Some(function))).chain(unnamed)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn location(name: &str) -> Location {
        let function = Function { function: Some(name.to_owned()), ..Function::default() };
        Location { module: "/opt/app".to_owned(), functions: vec![function], ..Location::default() }
    }

    /// The wrappers that these stacks show: names from the innermost, samples, bytes of each.
    fn found(stacks: &[(&[&str], u64, u64)]) -> Vec<String> {
        let all: Vec<Vec<Location>> =
            stacks.iter().map(|(names, ..)| names.iter().map(|name| location(name)).collect()).collect();
        let all: Vec<Vec<&Location>> = all.iter().map(|locations| locations.iter().collect()).collect();
        let sampled: Vec<Sampled<'_>> = all
            .iter()
            .zip(stacks)
            .map(|(locations, (_, samples, size))| Sampled {
                locations,
                samples: *samples,
                bytes: size * samples,
            })
            .collect();
        let mut names: Vec<String> = Wrappers::of(&sampled).found.into_values().flatten().collect();
        names.sort();
        names
    }

    #[test]
    fn a_function_through_which_all_goes_and_that_calls_none_is_one() {
        let callers: [(&[&str], u64, u64); 5] = [
            (&["grab", "read", "main"], 10, 100),
            (&["grab", "parse", "read", "main"], 9, 40),
            (&["grab", "names", "main"], 8, 17),
            (&["grab", "index", "main"], 7, 4000),
            (&["table", "main"], 6, 9000),
        ];
        assert_eq!(found(&callers), ["grab"]);
        // Another layer above it.
        let layers = callers.map(|(names, samples, size)| {
            let names: Vec<&str> = names
                .iter()
                .flat_map(|name| if *name == "grab" { vec!["grab", "grab_zeroed"] } else { vec![*name] })
                .collect();
            (names, samples, size)
        });
        let layers: Vec<(&[&str], u64, u64)> =
            layers.iter().map(|(names, samples, size)| (&names[..], *samples, *size)).collect();
        assert_eq!(found(&layers), ["grab", "grab_zeroed"]);
        // All of the same size: it makes something.
        assert_eq!(found(&callers.map(|(names, samples, _)| (names, samples, 48))), [""; 0]);
        // One caller has most of it.
        let mut one = callers;
        one[0].1 = 1000;
        assert_eq!(found(&one), [""; 0]);
        // It calls others that request.
        let mut busy = callers.to_vec();
        busy.push((&["helper", "grab", "main"], 20, 5));
        assert_eq!(found(&busy), [""; 0]);
        // Few samples say nothing.
        assert_eq!(found(&callers.map(|(names, _, size)| (names, 1, size))), [""; 0]);
        assert_eq!(found(&[]), [""; 0]);
    }

    /// In a stripped program a place is as good as a name.
    #[test]
    fn a_place_through_which_all_goes_is_one() {
        let place = |address| Location { module: "/opt/app".to_owned(), address, ..Location::default() };
        let all: Vec<Vec<Location>> =
            (1..=4).map(|caller| vec![place(0x10), place(caller * 0x100), place(0x9000)]).collect();
        let all: Vec<Vec<&Location>> = all.iter().map(|locations| locations.iter().collect()).collect();
        let sampled: Vec<Sampled<'_>> = all
            .iter()
            .enumerate()
            .map(|(at, locations)| Sampled { locations, samples: 10, bytes: 1000 * at as u64 })
            .collect();
        let wrappers = Wrappers::of(&sampled);
        assert!(wrappers.has(&place(0x10), None) && !wrappers.has(&place(0x100), None));
        assert!(!Wrappers::off().has(&place(0x10), None));
    }
}
