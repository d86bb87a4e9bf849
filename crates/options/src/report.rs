//! Settings as text: the options report, a single option, and the shortest text that produces them.
//!
//! ```text
//! column 1                       32 34
//! LAST WHERE SET                 OPTION
//! ------------------------------------------------------------------------------- (79)
//! command line (--opts)            HEAP(67108864,16777216,ANYWHERE,KEEP)
//! options file (--opts-file)     NOAIXBLD
//! ```
//!
//! The report's columns are those of Language Environment; its second line names underbar.
//! Not here: the form of the date, which the caller passes; the storage report.

use core::fmt::{self, Display, Write};
use core::iter::once;

use crate::class_sizes::ClassSizes;
use crate::settings::Settings;
use crate::table::OPTIONS;
use crate::value::{Form, Kind, Value};
use crate::where_set::WhereSet;

/// `underbar Vvv Rrr.mm`: the second line of every report, in the form of Language Environment's.
pub struct ReleaseLine;

impl Display for ReleaseLine {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [version, release, modification] = [
            env!("CARGO_PKG_VERSION_MAJOR"),
            env!("CARGO_PKG_VERSION_MINOR"),
            env!("CARGO_PKG_VERSION_PATCH"),
        ];
        write!(out, "underbar V{version:0>2} R{release:0>2}.{modification:0>2}")
    }
}

/// A row of the options report: an option with its values, or the set of one class of AVL.
#[derive(Clone, Copy, Debug)]
pub struct Row<'s> {
    settings: &'s Settings,
    option: usize,
    class: Option<&'s ClassSizes>,
}

impl Row<'_> {
    /// The source that set it last.
    #[must_use]
    pub fn where_set(&self) -> WhereSet {
        match self.class {
            Some(class) => class.where_set(),
            None if OPTIONS[self.option].sub_options[0].kind == Kind::Lists => {
                self.settings.where_sub_option_set(self.option, 0)
            }
            None => self.settings.where_set(self.option),
        }
    }

    /// Writes the option, as [`Settings::write_option`].
    pub fn write(&self, form: Form, out: &mut dyn Write) -> fmt::Result {
        if self.is_negative() {
            out.write_str("NO")?;
        }
        self.write_name_and_values(form, out)
    }

    fn is_negative(&self) -> bool {
        self.settings.is_negative(self.option)
    }

    fn write_name_and_values(&self, form: Form, out: &mut dyn Write) -> fmt::Result {
        match self.class {
            Some(class) => class.write(form, out),
            None => self.settings.write_name_and_values(self.option, form, out),
        }
    }
}

impl Settings {
    /// Writes the options report. `enclave` is the program's name, `date` the date and time in their printed form.
    pub fn write_options_report(&self, enclave: &str, date: &str, out: &mut dyn Write) -> fmt::Result {
        writeln!(out, "Options Report for Enclave {enclave} {date}")?;
        writeln!(out, "{ReleaseLine}")?;
        writeln!(out)?;
        writeln!(out, "{:<31}OPTION", "LAST WHERE SET")?;
        writeln!(out, "{:-<79}", "")?;
        for row in self.rows() {
            let prefix = if row.is_negative() { "NO" } else { "" };
            write!(out, "{:<31}{prefix:<2}", row.where_set().label())?;
            row.write_name_and_values(Form::Exact, out)?;
            writeln!(out)?;
        }
        Ok(())
    }

    /// The rows of the options report: one for each option that has a value, and one for each class of AVL.
    pub fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        (0..OPTIONS.len()).filter(|&option| self.has_value(option)).flat_map(|option| {
            let has_classes = OPTIONS[option].sub_options[0].kind == Kind::Lists;
            let classes = if has_classes { self.class_sizes() } else { &[] };
            let row = Row { settings: self, option, class: None };
            once(row).chain(classes.iter().map(move |class| Row { class: Some(class), ..row }))
        })
    }

    /// Writes one option with its values, such as `HEAP(64M,16M,ANYWHERE,KEEP)`; unset values at the end are omitted, and sets of
    /// classes.
    pub fn write_option(&self, option: usize, form: Form, out: &mut dyn Write) -> fmt::Result {
        Row { settings: self, option, class: None }.write(form, out)
    }

    fn write_name_and_values(&self, option: usize, form: Form, out: &mut dyn Write) -> fmt::Result {
        out.write_str(OPTIONS[option].name)?;
        self.write_list(option, form, &|position| self.value(option, position) != Value::Unset, out)
    }

    /// Writes the shortest text, with full names, that turns the defaults into these values; empty if these are the defaults.
    /// The source of each value is lost. A text that is not UTF-8 is written with U+FFFD.
    pub fn canonical(&self, out: &mut dyn Write) -> fmt::Result {
        self.canonical_over(&Settings::new(self.base()), out)
    }

    /// The same, starting from the values of `below`.
    pub fn canonical_over(&self, below: &Settings, out: &mut dyn Write) -> fmt::Result {
        let mut separator = "";
        for (option, entry) in OPTIONS.iter().enumerate() {
            let differs = |position| {
                let value = self.value(option, position);
                value != Value::Unset
                    && (value != below.value(option, position)
                        || (value == Value::Text
                            && self.text(option, position) != below.text(option, position)))
            };
            if (0..entry.sub_options.len()).any(differs) {
                let prefix = if self.is_negative(option) { "NO" } else { "" };
                write!(out, "{separator}{prefix}{}", entry.name)?;
                self.write_list(option, Form::Short, &differs, out)?;
                separator = ",";
            }
            if entry.sub_options[0].kind == Kind::Lists {
                let is_new = |set: &&ClassSizes| below.classes.sizes_of(set.name()) != Some(set.sizes());
                for set in self.class_sizes().iter().filter(is_new) {
                    out.write_str(separator)?;
                    set.write(Form::Short, out)?;
                    separator = ",";
                }
            }
        }
        Ok(())
    }

    /// The parenthesis with those values that `shown` selects; commas replace the others before the last.
    fn write_list(
        &self,
        option: usize,
        form: Form,
        shown: &dyn Fn(usize) -> bool,
        out: &mut dyn Write,
    ) -> fmt::Result {
        let sub_options = OPTIONS[option].sub_options;
        let written = |position: &usize| sub_options[*position].kind != Kind::Switch;
        let positions = (0..sub_options.len()).filter(written);
        let Some(last) = positions.clone().filter(|&position| shown(position)).last() else {
            return Ok(());
        };
        let mut separator = '(';
        for position in positions.take_while(|&position| position <= last) {
            out.write_char(separator)?;
            separator = ',';
            if shown(position) {
                self.write_value(option, position, form, out)?;
            }
        }
        out.write_char(')')
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::{Base, ProgramName, WhereSet};
    use std::string::String;

    fn settings(base: Base, text: &str) -> Settings {
        let mut settings = Settings::new(base);
        settings.apply(text.as_bytes(), &ProgramName::default(), WhereSet::CommandLine, &mut |_| ());
        settings
    }

    fn canonical(text: &str) -> String {
        let mut out = String::new();
        settings(Base::Underbar, text).canonical(&mut out).unwrap();
        out
    }

    #[test]
    fn the_report_to_the_byte() {
        let mut settings = settings(Base::Underbar, "NOAIXBLD,HEAP(64M,16M,,KEEP)");
        settings.apply(b"RPTO(ON)", &ProgramName::default(), WhereSet::Environment, &mut |_| ());
        let mut out = String::new();
        settings.write_options_report("main", "11/20/26 10:15:07 AM", &mut out).unwrap();
        let release = std::format!("{ReleaseLine}");
        let expect = "\
Options Report for Enclave main 11/20/26 10:15:07 AM
RELEASE

LAST WHERE SET                 OPTION
-------------------------------------------------------------------------------
command line (--opts)          NOAIXBLD
underbar default                 ANYHEAP(AUTO,AUTO,ANYWHERE)
underbar default                 AVL(,32,64,128,256,512)
underbar default                 ECB(36864)
command line (--opts)            HEAP(67108864,16777216,ANYWHERE,KEEP,8192,4096)
underbar default                 HEAPCHK(OFF,0,0,0,,1024)
underbar default                 HEAPPOOLS(OFF)
underbar default                 HEAPPOOLS64(OFF)
underbar default                 HEAPZONES(,,0,ABEND)
underbar default                 HUGEPAGES(AUTO)
underbar default                 LOCK(COUNT)
underbar default                 MAINPR(AUTO)
underbar default                 MSGFILE(AUTO)
underbar default                 MT(0)
underbar default                 MULTIFETCH(0,262144)
underbar default                 PRINT(0)
underbar default                 PWCSIZE(0,0,0)
UNDERBAR_OPTS                    RPTOPTS(ON)
underbar default                 RPTSTG(OFF)
underbar default                 SITES(OFF,524288,16384,2)
underbar default                 STACK(AUTO,AUTO,ANYWHERE,KEEP)
underbar default                 STORAGE(NONE,NONE,NONE,0)
underbar default                 SWITCHES(OFF)
underbar default                 THREADHEAP(AUTO,AUTO,ANYWHERE,KEEP)
underbar default                 THREADSTACK(OFF,AUTO,AUTO,ANYWHERE,AUTO)
underbar default                 THSIZE(0)
underbar default                 TIMER(OFF)
underbar default                 WORKFILE(,300,200)
underbar default                 ZIIP(OFF)
"
        .replace("RELEASE", &release);
        assert_eq!(out, expect);
        assert_eq!(out.lines().nth(3).unwrap().find("OPTION"), Some(31));
        assert_eq!(out.lines().nth(4).unwrap().len(), 79);
    }

    #[test]
    fn the_release_line_has_the_columns_of_language_environments() {
        let line = std::format!("{ReleaseLine}");
        let (name, numbers) = line.split_once(' ').unwrap();
        assert_eq!(name, "underbar");
        let form: String = numbers.chars().map(|c| if c.is_ascii_digit() { '9' } else { c }).collect();
        assert_eq!(form, "V99 R99.99");
    }

    #[test]
    fn language_environments_rows() {
        let mut out = String::new();
        settings(Base::LanguageEnvironment, "HEAP64(,3G)").write_options_report("x", "d", &mut out).unwrap();
        for row in [
            "IBM-supplied default             ANYHEAP(16384,8192,ANYWHERE,FREE)\n",
            "underbar default                 HUGEPAGES(AUTO)\n",
            "underbar default                 MSGFILE(AUTO,FBA,121,0,NOENQ)\n",
            "IBM-supplied default             BELOWHEAP(8192,4096,FREE)\n",
            "IBM-supplied default             HEAP(32768,32768,ANYWHERE,KEEP,8192,4096)\n",
            "command line (--opts)            HEAP64(1M,3072M,KEEP,32768,32768,KEEP,4096,4096,FREE)\n",
            "IBM-supplied default             HEAPCHK(OFF,1,0,0,0,1024,0,1024,0)\n",
            "IBM-supplied default             HEAPPOOLS(OFF,8,10,32,10,128,10,256,10,1024,10,2048,10,0,10,0,10,0,10,\
             0,10,0,10,0,10)\n",
            "IBM-supplied default             STACK(131072,131072,ANYWHERE,KEEP,524288,131072)\n",
            "IBM-supplied default             STORAGE(NONE,NONE,NONE,0)\n",
            "IBM-supplied default             THREADSTACK(OFF,4096,4096,ANYWHERE,KEEP,131072,131072)\n",
        ] {
            assert!(out.contains(row), "{row}{out}");
        }
    }

    #[test]
    fn the_shortest_text() {
        for (text, expect) in [
            ("", ""),
            ("HEAP(AUTO,AUTO,ANY,AUTO)", ""),
            ("rpts(on) heap(67108864,16384k,any,keep)", "HEAP(64M,16M,,KEEP),RPTSTG(ON)"),
            ("HEAP(,,,FREE)", "HEAP(,,,FREE)"),
            ("HEAP(1025K,1000)", "HEAP(1025K,1000)"),
            ("STORAGE('A',,clear)", "STORAGE(41,,CLEAR)"),
            ("STACK(-8K)", "STACK(-8K)"),
            ("HEAPP(ON,(8,2),,(,3))", "HEAPPOOLS(ON,(8,2),,(0,3))"),
            ("MSGFILE(/tmp/a.%p)", "MSGFILE(/tmp/a.%p)"),
            ("MSGFILE('a b''c')", "MSGFILE('a b''c')"),
            ("NOTEST(ALL,\"*\")", "NOTEST(ALL,\"*\")"),
            ("AIXBLD NOFLOW", "AIXBLD,NOFLOW"),
        ] {
            assert_eq!(canonical(text), expect, "{text}");
            assert_eq!(canonical(&canonical(text)), expect, "{text}");
        }
    }

    #[test]
    fn the_shortest_text_over_other_settings() {
        let below = settings(Base::Underbar, "HEAP(1M,1M) MSGFILE(a)");
        let mut above = below;
        above.apply(b"HEAP(,2M) MSGFILE(b)", &ProgramName::default(), WhereSet::Tune, &mut |_| ());
        let mut out = String::new();
        above.canonical_over(&below, &mut out).unwrap();
        assert_eq!(out, "HEAP(,2M),MSGFILE(b)");
    }
}
