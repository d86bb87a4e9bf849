//! The description of an option for `underbar explain NAME`, derived from its row in the table alone.

use core::fmt::{self, Display, Write};

use crate::entry::{Effect, Entry};
use crate::message::{Accepted, Syntax};
use crate::value::{self, Form, Kind, Value};

impl Entry {
    /// Its syntax, such as `RPTSTG(OFF|ON)`.
    pub fn syntax(&'static self) -> impl Display {
        Syntax(self)
    }

    /// Writes the whole description.
    pub fn write_explanation(&'static self, out: &mut dyn Write) -> fmt::Result {
        writeln!(out, "{}", Syntax(self))?;
        writeln!(out, "{}", self.meaning)?;
        write!(out, "Shortest spelling: {}", &self.name[..usize::from(self.least)])?;
        if !self.alias.is_empty() {
            write!(out, " or {}", self.alias)?;
        }
        if self.has_negative() {
            write!(out, "; also NO{}", self.name)?;
        }
        writeln!(out)?;
        if self.written()[0].kind != Kind::Free {
            writeln!(out)?;
            for (position, sub) in self.written().iter().enumerate() {
                if self.repeats(position) {
                    continue;
                }
                writeln!(out, "  {}: {}", sub.name, sub.meaning)?;
                write!(out, "      write {}", Accepted(sub.kind))?;
                for (whose, value) in [("underbar", sub.underbar), ("IBM-supplied", sub.language_environment)]
                {
                    if value != Value::Unset {
                        write!(out, "; {whose} default ")?;
                        value::write(sub.kind, value, &[], Form::Short, out)?;
                    }
                }
                writeln!(out)?;
                if let Effect::AcceptedNoEffect(why) = sub.effect {
                    writeln!(out, "      no effect on Linux: {why}")?;
                }
            }
        }
        self.write_repeated(out)?;
        writeln!(out)?;
        writeln!(out, "{}", self.explanation)?;
        writeln!(out)?;
        match self.effect {
            Effect::Honoured => writeln!(out, "On Linux: honoured."),
            Effect::Partly(what) => writeln!(out, "On Linux: {what}."),
            Effect::AcceptedNoEffect(why) => writeln!(out, "On Linux: accepted, no effect: {why}."),
        }
    }
}

impl Entry {
    /// Whether a sub-option belongs to a further pair of the same kind, as those of HEAPPOOLS do.
    fn repeats(&self, position: usize) -> bool {
        let earlier = position.checked_sub(2).and_then(|earlier| self.written().get(earlier));
        earlier.is_some_and(|earlier| {
            let sub = &self.written()[position];
            (earlier.name, earlier.kind) == (sub.name, sub.kind) && self.written().len() > 9
        })
    }

    fn write_repeated(&self, out: &mut dyn Write) -> fmt::Result {
        let mut opening = "  and so on; IBM-supplied defaults ";
        for (_, sub) in self.written().iter().enumerate().filter(|(position, _)| self.repeats(*position)) {
            out.write_str(opening)?;
            value::write(sub.kind, sub.language_environment, &[], Form::Short, out)?;
            opening = ",";
        }
        if opening == "," { writeln!(out) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use crate::{OPTIONS, find_option};
    use std::string::String;

    fn explain(option: usize) -> String {
        let mut out = String::new();
        OPTIONS[option].write_explanation(&mut out).unwrap();
        out
    }

    #[test]
    fn every_option_is_explained() {
        for (option, entry) in OPTIONS.iter().enumerate() {
            let text = explain(option);
            assert!(text.starts_with(entry.name) && text.contains(entry.meaning.text()));
            assert!(text.contains("On Linux: "), "{text}");
            assert!(text.lines().count() < 50, "{text}");
        }
    }

    #[test]
    fn pairs_are_explained_once() {
        let text = explain(find_option(b"HEAPP").unwrap());
        assert_eq!(text.matches("  size:").count(), 1, "{text}");
        let rest = "  and so on; IBM-supplied defaults 32,10,128,10,256,10,1024,10,2048,10,0,10,0,10,0,10,0,10,0,10,0,10\n";
        assert!(text.contains(rest), "{text}");
    }

    #[test]
    fn one_to_the_byte() {
        assert_eq!(
            explain(find_option(b"RPTOPTS").unwrap()),
            "RPTOPTS(OFF|ON)\n\
             Writes the options report when the program has ended.\n\
             Shortest spelling: RPTO\n\
             \n\
             \x20 OFF|ON: whether the options report is written\n\
             \x20     write OFF or ON; underbar default OFF; IBM-supplied default OFF\n\
             \n\
             The report lists every option with its value, and where it was last set.\n\
             \n\
             On Linux: honoured.\n"
        );
    }
}
