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
    /// Length of its shortest abbreviation.
    pub least: u8,
    /// A short form that is no prefix of the name, such as H64; empty if there is none.
    pub alias: &'static str,
    /// Its sub-options in order. The first may be a [`Kind::Switch`], which is not written between the parentheses.
    pub sub_options: &'static [SubOption],
    /// Its meaning, in one line.
    pub meaning: Words,
    /// Information for a person who is about to set it.
    pub explanation: Words,
    /// Its effect on Linux.
    pub effect: Effect,
}

/// One sub-option.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SubOption {
    /// Its name in the syntax: small letters, or its keywords.
    pub name: &'static str,
    /// The values that it accepts.
    pub kind: Kind,
    /// Its default in underbar.
    pub underbar: Value,
    /// The default that IBM supplies, outside CICS. Unset if Language Environment has no default that applies here: then
    /// underbar's default is used.
    pub language_environment: Value,
    /// Its meaning.
    pub meaning: Words,
    /// Its effect on Linux, if the option as a whole has one.
    pub effect: Effect,
}

/// The effect of an option or sub-option on Linux.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// The effect that its meaning describes.
    Honoured,
    /// A lesser effect than its meaning describes; the text gives the difference.
    Partly(Words),
    /// Accepted and shown, without effect; the text gives the reason.
    AcceptedNoEffect(Words),
}

/// Words for a person, who reads them outside the user's process. Inside it there are none: each would be an address that the loader
/// writes at every start, and they fill pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Words {
    #[cfg(feature = "words")]
    text: &'static str,
}

/// Words of the table.
#[must_use]
pub const fn words(text: &'static str) -> Words {
    #[cfg(not(feature = "words"))]
    let _ = text;
    Words {
        #[cfg(feature = "words")]
        text,
    }
}

impl Words {
    /// The text; without the feature `words`, nothing.
    #[must_use]
    pub const fn text(self) -> &'static str {
        #[cfg(feature = "words")]
        return self.text;
        #[cfg(not(feature = "words"))]
        return "";
    }
}

impl core::fmt::Display for Words {
    fn fmt(&self, to: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        to.write_str(self.text())
    }
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

    /// Whether `word` is the name, the short form, or a sufficiently long abbreviation.
    pub fn is_called(&self, word: &[u8]) -> bool {
        abbreviates(word, self.name, self.least)
            || (!self.alias.is_empty() && word.eq_ignore_ascii_case(self.alias.as_bytes()))
    }
}
