//! The settings: the value of every sub-option, and its last source.
//!
//! ```text
//! defaults -> system file -> user file -> program file -> UNDERBAR_OPTS -> --opts
//!             each applied to the one before; an omitted sub-option keeps its value
//! ```
//!
//! A plain value that may be copied and stored anywhere: one flat array by slot (see `entry`), so an option added to the
//! table is at once parsed, stored, reported and explained. Options with an effect have a typed view, in the file of their kind.
//! Not here: those views (`heap`, `stacks`, `locks`, `pools`), how a text is applied (`apply`), and how settings are written (`report`,
//! `canonical`).

use core::fmt::{self, Write};

use crate::class_sizes::ClassSets;
use crate::file_name::FileName;
use crate::search::{SLOTS, START, option_named, slot_named};
use crate::table::OPTIONS;
use crate::texts::Texts;
use crate::value::{self, Form, Value};
use crate::where_set::WhereSet;

/// The base defaults, overridden by all layers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Base {
    /// underbar's: HEAP(AUTO,AUTO,ANYWHERE,AUTO), and nothing for options without effect.
    #[default]
    Underbar,
    /// Those that IBM supplies with Language Environment, outside CICS: HEAP(32K,32K,ANYWHERE,KEEP,8K,4K).
    LanguageEnvironment,
}

/// All run-time options with their values, each with its last source.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    base: Base,
    values: [Value; SLOTS],
    texts: Texts,
    pub(crate) classes: ClassSets,
    sub_options_set: [WhereSet; SLOTS],
    options_set: [WhereSet; OPTIONS.len()],
}

impl Settings {
    /// The defaults alone.
    pub const fn new(base: Base) -> Self {
        let mut settings = Self {
            base,
            values: [Value::Unset; SLOTS],
            texts: Texts::EMPTY,
            classes: ClassSets::NONE,
            sub_options_set: [WhereSet::UnderbarDefault; SLOTS],
            options_set: [WhereSet::UnderbarDefault; OPTIONS.len()],
        };
        let mut option = 0;
        while option < OPTIONS.len() {
            let sub_options = OPTIONS[option].sub_options;
            // In reverse order, so that the first sub-option decides where the option was set.
            let mut position = sub_options.len();
            while position > 0 {
                position -= 1;
                let (value, source) = match (base, sub_options[position].language_environment) {
                    (Base::Underbar, _) | (_, Value::Unset) => {
                        (sub_options[position].underbar, WhereSet::UnderbarDefault)
                    }
                    (Base::LanguageEnvironment, value) => (value, WhereSet::LanguageEnvironmentDefault),
                };
                settings.values[START[option] + position] = value;
                settings.sub_options_set[START[option] + position] = source;
                settings.options_set[option] = source;
            }
            option += 1;
        }
        settings
    }

    /// The defaults alone, made by the compiler.
    #[must_use]
    pub fn defaults(base: Base) -> &'static Settings {
        static UNDERBAR: Settings = Settings::new(Base::Underbar);
        static LANGUAGE_ENVIRONMENT: Settings = Settings::new(Base::LanguageEnvironment);
        match base {
            Base::Underbar => &UNDERBAR,
            Base::LanguageEnvironment => &LANGUAGE_ENVIRONMENT,
        }
    }

    /// The base defaults.
    pub const fn base(&self) -> Base {
        self.base
    }

    /// RPTSTG: whether the storage report is to be written.
    pub fn report_storage(&self) -> bool {
        const ON: usize = slot_named("RPTSTG", "OFF|ON");
        self.is_on(ON)
    }

    /// RPTOPTS: whether the options report is to be written.
    pub fn report_options(&self) -> bool {
        const ON: usize = slot_named("RPTOPTS", "OFF|ON");
        self.is_on(ON)
    }

    /// SWITCHES(,KERNEL): whether the kernel's own tracing counts system calls.
    #[must_use]
    pub fn traces_the_kernel(&self) -> bool {
        const KERNEL: usize = slot_named("SWITCHES", "KERNEL");
        self.values[KERNEL] != Value::Unset
    }

    /// SWITCHES, or ZIIP(STAT): whether switches are counted.
    pub fn counts_switches(&self) -> bool {
        const ON: usize = slot_named("SWITCHES", "OFF|ON");
        const STAT: usize = slot_named("ZIIP", "OFF|STAT");
        self.is_on(ON) || self.is_on(STAT)
    }

    /// ZIIP(ELIGIBLE(file,file)): the components whose CPU time is projected, with commas between them; empty: there is no projection.
    pub fn eligible(&self) -> &[u8] {
        const ZIIP: usize = option_named("ZIIP");
        const ELIGIBLE: usize = slot_named("ZIIP", "ELIGIBLE(file,file)") - slot_named("ZIIP", "OFF|STAT");
        self.text(ZIIP, ELIGIBLE)
    }

    /// ZIIP(3GL(file,file)): the libraries whose functions are counted, with commas between them; empty: none.
    pub fn counted_libraries(&self) -> &[u8] {
        const ZIIP: usize = option_named("ZIIP");
        const LIBRARIES: usize = slot_named("ZIIP", "3GL(file,file)") - slot_named("ZIIP", "OFF|STAT");
        self.text(ZIIP, LIBRARIES)
    }

    /// ZIIP(CPUS(list)): processors as `0,2-5`; empty: no thread is placed.
    pub fn class_processors(&self) -> &[u8] {
        const ZIIP: usize = option_named("ZIIP");
        const CPUS: usize = slot_named("ZIIP", "CPUS(list)") - slot_named("ZIIP", "OFF|STAT");
        self.text(ZIIP, CPUS)
    }

    /// MSGFILE: the destination of reports; none for AUTO.
    pub fn message_file(&self) -> Option<FileName<'_>> {
        const FILE: usize = slot_named("MSGFILE", "file");
        (self.values[FILE] == Value::Text).then(|| FileName(self.texts.get(FILE)))
    }

    /// Where the sub-option in a slot of the flat array was set.
    pub(crate) fn where_slot_set(&self, slot: usize) -> WhereSet {
        self.sub_options_set[slot]
    }

    /// The value in a slot of the flat array.
    pub(crate) fn at(&self, slot: usize) -> Value {
        self.values[slot]
    }

    /// The bytes of the text in a slot of the flat array.
    pub(crate) fn text_at(&self, slot: usize) -> &[u8] {
        self.texts.get(slot)
    }

    pub(crate) fn number(&self, slot: usize) -> u64 {
        match self.values[slot] {
            Value::Number(number) => number,
            _ => 0,
        }
    }

    pub(crate) fn is_on(&self, slot: usize) -> bool {
        self.values[slot] == Value::Word(1)
    }
}

/// By index in the table: `option` is an index into [`OPTIONS`], `position` into its sub-options. Panics on a wrong index.
impl Settings {
    /// The value of a sub-option.
    pub fn value(&self, option: usize, position: usize) -> Value {
        self.values[slot(option, position)]
    }

    /// The bytes of a sub-option whose value is [`Value::Text`]; empty for all others.
    pub fn text(&self, option: usize, position: usize) -> &[u8] {
        self.texts.get(slot(option, position))
    }

    /// The source that last referred to any part of an option, even if nothing changed.
    pub fn where_set(&self, option: usize) -> WhereSet {
        self.options_set[option]
    }

    /// The source that last set a sub-option, even if its value stayed the same.
    pub fn where_sub_option_set(&self, option: usize, position: usize) -> WhereSet {
        self.sub_options_set[slot(option, position)]
    }

    /// Whether any sub-option has a value; the options report omits the other options.
    pub fn has_value(&self, option: usize) -> bool {
        self.values[START[option]..START[option + 1]].iter().any(|value| *value != Value::Unset)
    }

    /// Whether the option was given with the prefix NO.
    pub fn is_negative(&self, option: usize) -> bool {
        OPTIONS[option].has_negative() && self.value(option, 0) == value::SWITCH_OFF
    }

    /// Whether all values are equal, whatever their sources.
    pub fn same_values(&self, other: &Settings) -> bool {
        let same_text = |slot| self.texts.get(slot) == other.texts.get(slot);
        self.values == other.values
            && self.classes.same_values(&other.classes)
            && (0..SLOTS).all(|slot| self.values[slot] != Value::Text || same_text(slot))
    }

    /// Writes one value; nothing if it is unset.
    pub fn write_value(
        &self,
        option: usize,
        position: usize,
        form: Form,
        out: &mut dyn Write,
    ) -> fmt::Result {
        let kind = OPTIONS[option].sub_options[position].kind;
        value::write(kind, self.value(option, position), self.text(option, position), form, out)
    }

    pub(crate) fn set(&mut self, option: usize, position: usize, value: Value, source: WhereSet) {
        let slot = slot(option, position);
        self.values[slot] = value;
        self.sub_options_set[slot] = source;
        self.options_set[option] = source;
    }

    /// Sets a text; false, without any change, if there is no room for it.
    pub(crate) fn set_text(
        &mut self,
        option: usize,
        position: usize,
        text: impl Iterator<Item = u8> + Clone,
        source: WhereSet,
    ) -> bool {
        let fits = self.texts.put(slot(option, position), text);
        if fits {
            self.set(option, position, Value::Text, source);
        }
        fits
    }

    /// Records that an option was referred to, possibly without a value.
    pub(crate) fn refer(&mut self, option: usize, source: WhereSet) {
        self.options_set[option] = source;
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self::new(Base::Underbar)
    }
}

fn slot(option: usize, position: usize) -> usize {
    assert!(position < OPTIONS[option].sub_options.len(), "an option has no such sub-option");
    START[option] + position
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_and_their_sources() {
        let settings = Settings::default();
        assert!(!settings.report_storage() && !settings.report_options());
        assert!(settings.message_file().is_none());
        let settings = Settings::new(Base::LanguageEnvironment);
        let source =
            |name: &str| crate::find_option(name.as_bytes()).map(|option| settings.where_set(option));
        assert_eq!(source("HEAP"), Some(WhereSet::LanguageEnvironmentDefault));
        assert_eq!(source("HUGEPAGES"), Some(WhereSet::UnderbarDefault), "IBM supplies none");
        assert_eq!(source("MSGFILE"), Some(WhereSet::UnderbarDefault), "SYSOUT means nothing here");
    }

    #[test]
    fn labels_fit_their_column() {
        use WhereSet::*;
        for source in [
            UnderbarDefault,
            LanguageEnvironmentDefault,
            SystemFile,
            UserFile,
            ProgramFile,
            Environment,
            OptionsFile,
            CommandLine,
            Tune,
        ] {
            assert!((1..30).contains(&source.label().len()), "{}", source.label());
        }
    }
}
