//! A model of a library's contents, for tests: a library and the model get the same edits.
//!
//! Not here: their comparison (the tests of `pds` and `pdse`).

use std::collections::BTreeMap;

use underbar_partitioned::name::Name;

use crate::change::{Addition, Edit};
use crate::simulated::Random;

/// The contents of a library.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Model(pub BTreeMap<Name, Held>);

#[derive(Clone, Debug, PartialEq)]
pub enum Held {
    Member(Vec<u8>),
    Alias(Name),
}

impl Model {
    /// The same edit; false if it cannot be made.
    pub fn edit(&mut self, edit: &Edit) -> bool {
        let model = &mut self.0;
        match edit {
            Edit::Add(addition) => {
                if !addition.replace && model.contains_key(&addition.name) {
                    return false;
                }
                model.insert(addition.name, Held::Member(addition.bytes.clone()));
            }
            Edit::Delete(name) => {
                if model.remove(name).is_none() {
                    return false;
                }
                model.retain(|_, held| *held != Held::Alias(*name));
            }
            Edit::Rename { from, to } => {
                if model.contains_key(to) || !model.contains_key(from) {
                    return false;
                }
                let held = model.remove(from).expect("it is there");
                model
                    .values_mut()
                    .filter(|held| **held == Held::Alias(*from))
                    .for_each(|held| *held = Held::Alias(*to));
                model.insert(*to, held);
            }
            Edit::Alias { alias, of, .. } => {
                if model.contains_key(alias) || !matches!(model.get(of), Some(Held::Member(_))) {
                    return false;
                }
                model.insert(*alias, Held::Alias(*of));
            }
        }
        true
    }
}

pub fn name(text: &str) -> Name {
    Name::new(text.as_bytes()).expect("a name")
}

pub fn add(text: &str, length: usize, replace: bool) -> Edit {
    let bytes: Vec<u8> = (0..length).map(|index| (index / 7 + length + text.len()) as u8).collect();
    let addition = Addition::new(name(text), bytes, None, 3).expect("data");
    Edit::Add(Box::new(Addition { replace, ..addition }))
}

pub fn alias(alias: &str, of: &str) -> Edit {
    Edit::Alias { alias: name(alias), of: name(of), function: None }
}

/// A random edit, of few names.
pub fn any_edit(random: &mut Random, names: u64, longest: u64) -> Edit {
    let mut any = || format!("N{}", random.below(names));
    let (one, other) = (any(), any());
    match random.below(10) {
        0 => Edit::Delete(name(&one)),
        1 => Edit::Rename { from: name(&one), to: name(&other) },
        2 => alias(&one, &other),
        3 => add(&one, random.below(longest) as usize, false),
        _ => add(&one, random.below(longest) as usize, true),
    }
}

/// Cut at every 512 bytes, a library has problems, and no member has wrong bytes. `read` returns the number of members with
/// wrong bytes, and whether there are problems.
pub fn cut_anywhere(bytes: &[u8], read: impl Fn(&[u8]) -> (usize, bool)) {
    for length in (0..bytes.len()).step_by(512) {
        let (wrong, has_problems) = read(&bytes[..length]);
        assert!(wrong == 0 && has_problems, "cut at {length}");
    }
}

/// With one bit flipped, no member has wrong bytes. Returns the number of flips without a problem.
pub fn flip_bits(bytes: &[u8], times: usize, read: impl Fn(&[u8]) -> (usize, bool)) -> usize {
    let mut random = Random(8);
    let mut unseen = 0;
    for _ in 0..times {
        let mut bytes = bytes.to_vec();
        let bit = random.below(bytes.len() as u64 * 8) as usize;
        bytes[bit / 8] ^= 1 << (bit % 8);
        let (wrong, has_problems) = read(&bytes);
        assert_eq!(wrong, 0, "bit {bit}");
        unseen += usize::from(!has_problems);
    }
    unseen
}
