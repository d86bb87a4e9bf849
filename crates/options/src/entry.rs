//! What one row of the table of options is made of.
//!
//! Not here: the rows themselves (`table`), and how they are searched (`search`).

use crate::read::abbreviates;
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
