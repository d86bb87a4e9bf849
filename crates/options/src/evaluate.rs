//! The evaluation of option texts: what is in force for a program.
//!
//! ```text
//! command   base ─ file ─ file ─ UNDERBAR_OPTS ─ --opts-file ─ --opts     a text for each layer
//! library   base ─ all of them, joined                                    one text          both: `evaluate`
//! ```
//!
//! Invariant: texts one by one, and the same texts joined, each after a section `[*]`, give the same values.
//! Not here: how one text is laid over the settings (`apply`), and where texts come from (the callers).

use crate::diagnostic::Diagnostic;
use crate::program::ProgramName;
use crate::settings::{Base, Settings};
use crate::where_set::WhereSet;

impl Base {
    /// The name of a base other than underbar's, by which the command passes it to the library.
    #[must_use]
    pub const fn name(self) -> Option<&'static str> {
        match self {
            Base::Underbar => None,
            Base::LanguageEnvironment => Some("le"),
        }
    }

    /// The base of that name; underbar's for no name and for any other.
    #[must_use]
    pub fn named(name: Option<&[u8]>) -> Base {
        let other = Base::LanguageEnvironment;
        if name.is_some() && name == other.name().map(str::as_bytes) { other } else { Base::Underbar }
    }
}

impl Settings {
    /// What is in force for `program`: lays the texts, weakest first, over these settings.
    ///
    /// Never fails: `on_diagnostic` gets what is not understood. Allocates nothing. In place, since settings are 5 KiB.
    pub fn evaluate<'t>(
        &mut self,
        texts: impl IntoIterator<Item = (WhereSet, &'t [u8])>,
        program: &ProgramName<'_>,
        on_diagnostic: &mut dyn FnMut(Diagnostic<'t>),
    ) {
        for (source, text) in texts {
            self.apply(text, program, source, on_diagnostic);
        }
    }
}

/// May a section of this text name a program by its build-id? Nobody else needs to read one.
#[must_use]
pub fn may_name_build_ids(text: &[u8]) -> bool {
    const WORD: &[u8] = b"build-id:";
    text.windows(WORD.len()).any(|word| word.eq_ignore_ascii_case(WORD))
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;

    #[test]
    fn a_base_is_found_by_its_name() {
        for base in [Base::Underbar, Base::LanguageEnvironment] {
            assert_eq!(Base::named(base.name().map(str::as_bytes)), base);
        }
        for other in [None, Some(&b""[..]), Some(b"LE"), Some(b"underbar")] {
            assert_eq!(Base::named(other), Base::Underbar);
        }
    }

    #[test]
    fn texts_one_by_one_and_joined_say_the_same() {
        let last = "HEAP(,8M) LOCK(SIMPLE)";
        for first in
            ["HEAP(1M,2M) [ls] HEAP(4M)", "HEAP(3M", "HEAP(1M) /* open", "MSGFILE('x", "HEAP(1M) [ls", ",,\\"]
        {
            let joined = std::format!("{first}\n[*]\n{last}");
            for name in ["ls", "cp"] {
                let program = ProgramName { name: name.as_bytes(), ..ProgramName::default() };
                let of = |texts: &[&str]| {
                    let texts = texts.iter().map(|text| (WhereSet::CommandLine, text.as_bytes()));
                    let mut settings = Settings::new(Base::LanguageEnvironment);
                    settings.evaluate(texts, &program, &mut |_| ());
                    settings
                };
                let (one_by_one, at_once) = (of(&[first, last]), of(&[&joined]));
                assert!(one_by_one.same_values(&at_once), "{first} for {name}");
                assert_eq!(at_once.heap().increment, crate::Size::Bytes(8 << 20), "{first} for {name}");
            }
        }
    }

    #[test]
    fn build_ids_are_read_only_where_a_text_names_one() {
        assert!(may_name_build_ids(b"HEAP(1M) [Build-ID:4f0cd122] HEAP(2M)"));
        assert!(!may_name_build_ids(b"HEAP(1M) [build-i] HEAP(2M)") && !may_name_build_ids(b""));
    }
}
