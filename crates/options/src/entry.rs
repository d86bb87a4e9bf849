//! What one row of the table of options is made of, and how the table is searched.
//!
//! Every sub-option of every option has a number of its own, its *slot*: slots are numbered through the
//! table, so that the settings are one flat array and need no code per option.
//!
//! ```text
//! OPTIONS[i].sub_options[j]   <->   slot = START[i] + j        0 <= slot < SLOTS
//! ```
//!
//! Not here: the rows themselves (`table`).

use crate::read::abbreviates;
use crate::table::OPTIONS;
use crate::value::{Kind, Value};

/// One run-time option.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry {
    /// Its name, in capitals.
    pub name: &'static str,
    /// How many letters of the name suffice.
    pub least: u8,
    /// A short form that is no start of the name, such as H64; empty if there is none.
    pub alias: &'static str,
    /// Its sub-options in order. The first may be a [`Kind::Switch`], which is not written among them.
    pub sub_options: &'static [SubOption],
    /// What it means, in one line.
    pub meaning: &'static str,
    /// What a person should know before setting it.
    pub explanation: &'static str,
    /// What it does on Linux.
    pub effect: Effect,
}

/// One sub-option.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SubOption {
    /// Its name in the syntax: small letters, or its keywords.
    pub name: &'static str,
    /// What it accepts.
    pub kind: Kind,
    /// Its default in underbar.
    pub underbar: Value,
    /// Its default as IBM supplies it, outside CICS. Unset if Language Environment has none that could be
    /// meant here: then underbar's own holds.
    pub language_environment: Value,
    /// What it means.
    pub meaning: &'static str,
    /// What it does on Linux, if the option as a whole does something.
    pub effect: Effect,
}

/// What an option or sub-option does on Linux.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// What its meaning says.
    Honoured,
    /// Less than its meaning says, and what.
    Partly(&'static str),
    /// It is accepted and shown, and does nothing: why.
    AcceptedNoEffect(&'static str),
}

impl Entry {
    /// Whether the option has a form with the prefix NO.
    pub const fn has_negative(&self) -> bool {
        matches!(self.sub_options, [SubOption { kind: Kind::Switch, .. }, ..])
    }

    /// The sub-options that are written between the parentheses.
    pub fn written(&self) -> &'static [SubOption] {
        &self.sub_options[usize::from(self.has_negative())..]
    }

    /// Whether `word` is the name, the short form, or an abbreviation that is long enough.
    pub fn is_called(&self, word: &[u8]) -> bool {
        abbreviates(word, self.name, self.least)
            || (!self.alias.is_empty() && word.eq_ignore_ascii_case(self.alias.as_bytes()))
    }
}

/// The place in [`OPTIONS`] of the option that `word` names or abbreviates, without regard to case.
pub fn find_option(word: &[u8]) -> Option<usize> {
    let first = word.first()?.to_ascii_uppercase();
    OPTIONS.iter().position(|entry| entry.name.as_bytes()[0] == first && entry.is_called(word))
}

/// How many sub-options all options have together.
pub const SLOTS: usize = START[OPTIONS.len()];

/// The slot of the first sub-option of each option, and the end.
pub(crate) const START: [usize; OPTIONS.len() + 1] = {
    let mut start = [0; OPTIONS.len() + 1];
    let mut index = 0;
    while index < OPTIONS.len() {
        start[index + 1] = start[index] + OPTIONS[index].sub_options.len();
        index += 1;
    }
    start
};

/// The place in the table of the option of exactly this name. Only for constants: a wrong name does not build.
pub(crate) const fn option_named(name: &str) -> usize {
    let mut index = 0;
    while index < OPTIONS.len() {
        if same(OPTIONS[index].name, name) {
            return index;
        }
        index += 1;
    }
    panic!("no such option")
}

/// The slot of a sub-option by exact names. Only for constants: a wrong name does not build.
pub(crate) const fn slot_named(option: &str, sub_option: &str) -> usize {
    let index = option_named(option);
    let mut position = 0;
    while position < OPTIONS[index].sub_options.len() {
        if same(OPTIONS[index].sub_options[position].name, sub_option) {
            return START[index] + position;
        }
        position += 1;
    }
    panic!("no such sub-option")
}

const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut index = 0;
    while index < a.len() && index < b.len() && a[index] == b[index] {
        index += 1;
    }
    index == a.len() && index == b.len()
}
