//! The settings: the value of every sub-option, and its last source.
//!
//! ```text
//! defaults -> system file -> user file -> program file -> UNDERBAR_OPTS -> --opts
//!             each applied to the one before; an omitted sub-option keeps its value
//! ```
//!
//! A plain value that may be copied and stored anywhere: one flat array by slot (see `entry`), so an option added to the
//! table is at once parsed, stored, reported and explained. Options with an effect have a typed view.
//! Not here: how a text is applied (`apply`), and how settings are written (`report`, `canonical`).

use core::fmt::{self, Write};

use crate::ecb::ClassSets;
use crate::file_name::FileName;
use crate::search::{SLOTS, START, slot_named};
use crate::table::OPTIONS;
use crate::texts::Texts;
use crate::value::{self, FILL_CLEAR, Form, Value};

/// The base defaults, overridden by all layers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Base {
    /// underbar's: HEAP(AUTO,AUTO,ANYWHERE,AUTO), and nothing for options without effect.
    #[default]
    Underbar,
    /// Those that IBM supplies with Language Environment, outside CICS: HEAP(32K,32K,ANYWHERE,KEEP,8K,4K).
    LanguageEnvironment,
}

/// The source that last set a value, weakest layer first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum WhereSet {
    /// underbar's default.
    UnderbarDefault,
    /// The default that IBM supplies with Language Environment.
    LanguageEnvironmentDefault,
    /// `/etc/underbar.opts`.
    SystemFile,
    /// The user's options file.
    UserFile,
    /// The options file that belongs to the program.
    ProgramFile,
    /// The environment variable UNDERBAR_OPTS.
    Environment,
    /// A file named on the command line.
    OptionsFile,
    /// A text on the command line.
    CommandLine,
    /// A suggestion under trial.
    Tune,
}

impl WhereSet {
    /// The layers that are read from files without being named by the user.
    pub const UNASKED_FILES: [WhereSet; 3] = [Self::SystemFile, Self::UserFile, Self::ProgramFile];

    /// As printed in the options report; at most 29 columns.
    pub const fn label(self) -> &'static str {
        match self {
            Self::UnderbarDefault => "underbar default",
            Self::LanguageEnvironmentDefault => "IBM-supplied default",
            Self::SystemFile => "/etc/underbar.opts",
            Self::UserFile => "user options file",
            Self::ProgramFile => "program options file",
            Self::Environment => "UNDERBAR_OPTS",
            Self::OptionsFile => "options file (--opts-file)",
            Self::CommandLine => "command line (--opts)",
            Self::Tune => "underbar tune",
        }
    }
}

/// A size, or AUTO.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Size {
    /// underbar decides.
    Auto,
    /// This many bytes, a multiple of 8.
    Bytes(u64),
}

impl Size {
    /// How many bytes; None where underbar decides.
    #[must_use]
    pub const fn bytes(self) -> Option<u64> {
        match self {
            Size::Auto => None,
            Size::Bytes(bytes) => Some(bytes),
        }
    }
}

/// What becomes of an emptied increment. The numbers are those of the ledger's control page, where 0 means never set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u64)]
pub enum Disposition {
    /// Kept while the heap is busy, given back when it has been idle for a while.
    Auto = 1,
    /// Kept for later use.
    Keep = 2,
    /// Given back to the kernel at once.
    Free = 3,
}

impl Disposition {
    /// The disposition with that number; noise reads as None.
    #[must_use]
    pub const fn from_number(number: u64) -> Option<Disposition> {
        match number {
            1 => Some(Disposition::Auto),
            2 => Some(Disposition::Keep),
            3 => Some(Disposition::Free),
            _ => None,
        }
    }
}

/// Which segments of the heap ask for transparent huge pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HugePages {
    /// None.
    Off,
    /// All that are large enough.
    On,
    /// Those of a program that touches all it gets, where a trial shows them cheap.
    Auto,
}

/// How threads wait for a mutex that another one holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Locks {
    /// As the C library does, unseen.
    Off = 0,
    /// As the C library does, recorded.
    Count = 1,
    /// As simple locks do, recorded.
    Simple = 2,
}

/// How threads wait for the one mutex that LOCK names. The numbers are the ledger's policies of a lock, of which 0 follows [`Locks`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum OneLock {
    /// As the C library does.
    Count = 1,
    /// As simple locks do.
    Simple = 2,
    /// In their sleep, without looking.
    Sleep = 3,
}

/// The values of HEAP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Heap {
    /// Bytes of the first segment; 0: it is taken on first use, sized by the increment.
    pub init: Size,
    /// The minimum size of each further segment in bytes.
    pub increment: Size,
    /// The treatment of an emptied increment.
    pub disposition: Disposition,
}

/// The values of HEAP for storage below the line, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeapBelow {
    /// The first segment; 0: as large as a further one.
    pub init: u64,
    /// The minimum size of each further segment.
    pub increment: u64,
}

/// The values of THREADHEAP, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ThreadHeap {
    /// The first segment.
    pub init: u64,
    /// The minimum size of each further segment.
    pub increment: u64,
    /// Whether an emptied increment goes back to the kernel.
    pub frees: bool,
}

/// The values of STORAGE.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Storage {
    /// The fill of new elements.
    pub getheap: Option<u8>,
    /// The fill of freed elements.
    pub freeheap: Option<u8>,
    /// The fill of stack frames.
    pub dsa: Dsa,
    /// Bytes that are kept for when the kernel refuses storage; 0: none.
    pub reserve: u64,
}

/// The third value of STORAGE.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dsa {
    /// No fill.
    None,
    /// The unused stack is cleared once, before main.
    Clear,
    /// Stack frames are filled with this byte.
    Byte(u8),
}

/// The values of HEAPCHK.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeapCheck {
    /// Whether the other sub-options apply.
    pub on: bool,
    /// Requests between two walks over the whole heap; 0: no walks.
    pub frequency: u64,
    /// Requests before the first walk.
    pub delay: u64,
    /// Callers that a message names, beyond the first.
    pub call_depth: u64,
    /// Requests in the trace table; 0: there is none.
    pub entries: u64,
}

/// The values of HEAPZONES for 64-bit storage.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeapZones {
    /// Bytes of the zone behind each element; 0: there are none.
    pub bytes: u64,
    /// What happens when a zone is found damaged.
    pub reaction: Reaction,
}

/// The reaction to a damaged zone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Reaction {
    /// A message, and the end of the program.
    Abend = 0,
    /// It is counted.
    Quiet = 1,
    /// A message.
    Message = 2,
    /// A message with the callers.
    Trace = 3,
}

/// The values of STACK, for stacks that underbar makes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stack {
    /// The first segment.
    pub init: StackSize,
    /// The minimum size of each further segment in bytes.
    pub increment: Size,
    /// What becomes of empty increments: kept, or freed.
    pub disposition: Disposition,
}

/// The first size of STACK.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StackSize {
    /// The size that the kernel or the C library chooses.
    Auto,
    /// This many bytes; 0 has a special meaning on z/OS.
    Bytes(u64),
    /// All that is available minus this many bytes.
    AllBut(u64),
}

/// THREADSTACK makes no thread's stack smaller than this many bytes: the safe minimum if nothing else is known.
pub const LEAST_THREAD_STACK: u64 = 256 << 10;

/// The values of THREADSTACK.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ThreadStack {
    /// Whether the other sub-options apply.
    pub on: bool,
    /// The first segment, for threads that ask for the default size; without increments, the whole stack, not yet raised to the
    /// safe minimum. Auto: the C library's.
    pub init: Size,
    /// Further segments. Auto: none.
    pub increment: Size,
    /// What becomes of increments. Auto without increments: the C library makes the stacks.
    pub disposition: Disposition,
}

impl ThreadStack {
    /// Whether underbar makes the stacks, rather than the C library.
    #[must_use]
    pub fn is_made_here(&self) -> bool {
        self.on && (self.increment != Size::Auto || self.disposition != Disposition::Auto)
    }
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

    /// The base defaults.
    pub const fn base(&self) -> Base {
        self.base
    }

    /// HEAP.
    pub fn heap(&self) -> Heap {
        const INIT: usize = slot_named("HEAP", "init");
        const INCREMENT: usize = slot_named("HEAP", "incr");
        const DISPOSITION: usize = slot_named("HEAP", "KEEP|FREE|AUTO");
        Heap {
            init: self.size(INIT),
            increment: self.size(INCREMENT),
            disposition: self.disposition(DISPOSITION),
        }
    }

    /// HEAP, for storage below the line.
    pub fn heap_below(&self) -> HeapBelow {
        const INIT: usize = slot_named("HEAP", "init24");
        const INCREMENT: usize = slot_named("HEAP", "incr24");
        let bytes = |slot| self.size(slot).bytes().unwrap_or(0);
        HeapBelow { init: bytes(INIT), increment: bytes(INCREMENT) }
    }

    /// STORAGE.
    pub fn storage(&self) -> Storage {
        const GETHEAP: usize = slot_named("STORAGE", "getheap");
        const FREEHEAP: usize = slot_named("STORAGE", "freeheap");
        const DSA: usize = slot_named("STORAGE", "dsa");
        const RESERVE: usize = slot_named("STORAGE", "reserve");
        let byte = |slot: usize| match self.values[slot] {
            Value::Byte(byte) => Some(byte),
            _ => None,
        };
        Storage {
            getheap: byte(GETHEAP),
            freeheap: byte(FREEHEAP),
            dsa: match self.values[DSA] {
                Value::Byte(byte) => Dsa::Byte(byte),
                FILL_CLEAR => Dsa::Clear,
                _ => Dsa::None,
            },
            reserve: self.size(RESERVE).bytes().unwrap_or(0),
        }
    }

    /// STACK.
    pub fn stack(&self) -> Stack {
        const INIT: usize = slot_named("STACK", "init");
        const INCREMENT: usize = slot_named("STACK", "incr");
        const DISPOSITION: usize = slot_named("STACK", "KEEP|FREE");
        Stack {
            init: match self.values[INIT] {
                Value::Bytes(bytes) => StackSize::Bytes(bytes),
                Value::AllBut(bytes) => StackSize::AllBut(bytes),
                _ => StackSize::Auto,
            },
            increment: self.size(INCREMENT),
            disposition: self.disposition(DISPOSITION),
        }
    }

    /// HEAPCHK.
    pub fn heap_check(&self) -> HeapCheck {
        const ON: usize = slot_named("HEAPCHK", "OFF|ON");
        const FREQUENCY: usize = slot_named("HEAPCHK", "frequency");
        const DELAY: usize = slot_named("HEAPCHK", "delay");
        const DEPTH: usize = slot_named("HEAPCHK", "call depth");
        const ENTRIES: usize = slot_named("HEAPCHK", "entries");
        HeapCheck {
            on: self.is_on(ON),
            frequency: self.number(FREQUENCY),
            delay: self.number(DELAY),
            call_depth: self.number(DEPTH),
            entries: self.number(ENTRIES),
        }
    }

    /// HEAPZONES.
    pub fn heap_zones(&self) -> HeapZones {
        const BYTES: usize = slot_named("HEAPZONES", "size64");
        // The last of two sub-options with this name.
        const REACTION: usize = BYTES + 1;
        HeapZones {
            bytes: self.size(BYTES).bytes().unwrap_or(0),
            reaction: match self.values[REACTION] {
                Value::Word(1) => Reaction::Quiet,
                Value::Word(2) => Reaction::Message,
                Value::Word(3) => Reaction::Trace,
                _ => Reaction::Abend,
            },
        }
    }

    /// THREADSTACK.
    pub fn thread_stack(&self) -> ThreadStack {
        const ON: usize = slot_named("THREADSTACK", "OFF|ON");
        const INIT: usize = slot_named("THREADSTACK", "init");
        const INCREMENT: usize = slot_named("THREADSTACK", "incr");
        const DISPOSITION: usize = slot_named("THREADSTACK", "KEEP|FREE|AUTO");
        ThreadStack {
            on: self.is_on(ON),
            init: self.size(INIT),
            increment: self.size(INCREMENT),
            disposition: self.disposition(DISPOSITION),
        }
    }

    /// THREADHEAP; None if no text gives it a size. The defaults of Language Environment do not count: there they apply to PL/I
    /// tasks alone.
    pub fn thread_heap(&self) -> Option<ThreadHeap> {
        const INIT: usize = slot_named("THREADHEAP", "init");
        const INCREMENT: usize = slot_named("THREADHEAP", "incr");
        const DISPOSITION: usize = slot_named("THREADHEAP", "KEEP|FREE");
        const LEAST: u64 = 4096;
        let given = |slot: usize| {
            self.size(slot) != Size::Auto && self.sub_options_set[slot] > WhereSet::LanguageEnvironmentDefault
        };
        if !given(INIT) && !given(INCREMENT) {
            return None;
        }
        let of = |slot, other| self.size(slot).bytes().or(self.size(other).bytes()).unwrap_or(0).max(LEAST);
        Some(ThreadHeap {
            init: of(INIT, INCREMENT),
            increment: of(INCREMENT, INIT),
            frees: self.disposition(DISPOSITION) == Disposition::Free,
        })
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

    /// HUGEPAGES: which segments ask for transparent huge pages.
    pub fn huge_pages(&self) -> HugePages {
        const WHICH: usize = slot_named("HUGEPAGES", "OFF|ON|AUTO");
        match self.values[WHICH] {
            Value::Word(1) => HugePages::On,
            Value::Word(2) => HugePages::Auto,
            _ => HugePages::Off,
        }
    }

    /// LOCK: how threads wait for mutexes.
    pub fn locks(&self) -> Locks {
        const HOW: usize = slot_named("LOCK", "OFF|COUNT|SIMPLE");
        match self.values[HOW] {
            Value::Word(0) => Locks::Off,
            Value::Word(2) => Locks::Simple,
            _ => Locks::Count,
        }
    }

    /// LOCK: the one mutex with its own waiting, by its place in the program's file.
    pub fn one_lock(&self) -> Option<(u64, OneLock)> {
        const PLACE: usize = slot_named("LOCK", "place");
        const HOW: usize = slot_named("LOCK", "COUNT|SIMPLE|SLEEP");
        let how = match self.values[HOW] {
            Value::Word(0) => OneLock::Count,
            Value::Word(1) => OneLock::Simple,
            Value::Word(2) => OneLock::Sleep,
            _ => return None,
        };
        match self.values[PLACE] {
            Value::Number(place) if place > 0 => Some((place, how)),
            _ => None,
        }
    }

    /// MSGFILE: the destination of reports; none for AUTO.
    pub fn message_file(&self) -> Option<FileName<'_>> {
        const FILE: usize = slot_named("MSGFILE", "file");
        (self.values[FILE] == Value::Text).then(|| FileName(self.texts.get(FILE)))
    }

    fn size(&self, slot: usize) -> Size {
        match self.values[slot] {
            Value::Bytes(bytes) => Size::Bytes(bytes),
            _ => Size::Auto,
        }
    }

    fn disposition(&self, slot: usize) -> Disposition {
        match self.values[slot] {
            Value::Word(0) => Disposition::Keep,
            Value::Word(1) => Disposition::Free,
            _ => Disposition::Auto,
        }
    }

    fn number(&self, slot: usize) -> u64 {
        match self.values[slot] {
            Value::Number(number) => number,
            _ => 0,
        }
    }

    fn is_on(&self, slot: usize) -> bool {
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
    fn underbars_defaults() {
        let settings = Settings::default();
        let auto = Heap { init: Size::Auto, increment: Size::Auto, disposition: Disposition::Auto };
        assert_eq!(settings.heap(), auto);
        assert_eq!(settings.storage(), Storage { getheap: None, freeheap: None, dsa: Dsa::None, reserve: 0 });
        assert_eq!(
            settings.stack(),
            Stack { init: StackSize::Auto, increment: Size::Auto, disposition: Disposition::Keep }
        );
        let auto = ThreadStack {
            on: false,
            init: Size::Auto,
            increment: Size::Auto,
            disposition: Disposition::Auto,
        };
        assert_eq!(settings.thread_stack(), auto);
        assert!(
            !settings.report_storage()
                && !settings.report_options()
                && settings.huge_pages() == HugePages::Auto
        );
        assert!(settings.message_file().is_none());
        assert_eq!(settings.locks(), Locks::Count);
    }

    #[test]
    fn language_environments_defaults() {
        let settings = Settings::new(Base::LanguageEnvironment);
        let size = Size::Bytes(32768);
        assert_eq!(settings.heap(), Heap { init: size, increment: size, disposition: Disposition::Keep });
        let stack = Stack {
            init: StackSize::Bytes(131_072),
            increment: Size::Bytes(131_072),
            disposition: Disposition::Keep,
        };
        assert_eq!(settings.stack(), stack);
        let threads = ThreadStack {
            on: false,
            init: Size::Bytes(4096),
            increment: Size::Bytes(4096),
            disposition: Disposition::Keep,
        };
        assert_eq!(settings.thread_stack(), threads);
        let source =
            |name: &str| crate::find_option(name.as_bytes()).map(|option| settings.where_set(option));
        assert_eq!(source("HEAP"), Some(WhereSet::LanguageEnvironmentDefault));
        assert_eq!(source("HUGEPAGES"), Some(WhereSet::UnderbarDefault), "IBM supplies none");
        assert_eq!(source("MSGFILE"), Some(WhereSet::UnderbarDefault), "SYSOUT means nothing here");
    }

    #[test]
    fn threads_have_heaps_where_a_text_says_so() {
        let of = |base, text: &str| {
            let mut settings = Settings::new(base);
            let whose = crate::ProgramName::default();
            settings.apply(text.as_bytes(), &whose, WhereSet::CommandLine, &mut |_| ());
            settings.thread_heap()
        };
        let some = |init, increment, frees| Some(ThreadHeap { init, increment, frees });
        for (text, is) in [
            ("", None),
            ("THREADHEAP(,,,FREE)", None),
            ("THREADHEAP(64K)", some(65_536, 65_536, false)),
            ("THREADHEAP(8,8K,,FREE)", some(4_096, 8_192, true)),
            ("THREADHEAP(64K),THREADHEAP(AUTO)", None),
        ] {
            assert_eq!(of(Base::Underbar, text), is, "{text}");
        }
        assert_eq!(of(Base::LanguageEnvironment, ""), None, "for PL/I tasks only");
        assert_eq!(of(Base::LanguageEnvironment, "THREADHEAP(,8K)"), some(4_096, 8_192, false));
    }

    #[test]
    fn checks_and_zones_are_those_of_64_bit_storage() {
        let of = |text: &str| {
            let mut settings = Settings::default();
            let whose = crate::ProgramName::default();
            settings.apply(text.as_bytes(), &whose, WhereSet::CommandLine, &mut |_| ());
            (settings.heap_check(), settings.heap_zones())
        };
        let off = HeapCheck { on: false, frequency: 0, delay: 0, call_depth: 0, entries: 1024 };
        let none = HeapZones { bytes: 0, reaction: Reaction::Abend };
        assert_eq!(of(""), (off, none));
        assert_eq!(of("HEAPCHK(ON)"), (HeapCheck { on: true, ..off }, none));
        let all = HeapCheck { on: true, frequency: 100, delay: 7, call_depth: 4, entries: 10 };
        assert_eq!(of("HEAPCHK(ON,100,7,4,,10)"), (all, none));
        assert_eq!(of("HEAPZONES(16,MSG)"), (off, none), "of storage below the bar");
        let zones = |bytes, reaction| HeapZones { bytes, reaction };
        assert_eq!(of("HEAPZONES(8,,13,TRACE)"), (off, zones(16, Reaction::Trace)));
        assert_eq!(of("HEAPZONES(,,8,MSG)").1, zones(8, Reaction::Message));
        assert_eq!(of("HEAPZONES(,,8,QUIET)").1, zones(8, Reaction::Quiet));
        let of_ibm = Settings::new(Base::LanguageEnvironment);
        assert_eq!(of_ibm.heap_check(), HeapCheck { frequency: 1, ..off });
    }

    #[test]
    fn one_lock_needs_a_place_and_a_way() {
        let of = |text: &str| {
            let mut settings = Settings::default();
            let whose = crate::ProgramName::default();
            settings.apply(text.as_bytes(), &whose, WhereSet::CommandLine, &mut |_| ());
            (settings.locks(), settings.one_lock())
        };
        assert_eq!(of("LOCK(,16480,SLEEP)"), (Locks::Count, Some((16480, OneLock::Sleep))));
        assert_eq!(of("LOCK(SIMPLE,1,COUNT)"), (Locks::Simple, Some((1, OneLock::Count))));
        assert_eq!(of("LOCK(,7,SIMPLE),LOCK(SIMPLE)"), (Locks::Simple, Some((7, OneLock::Simple))));
        for none in ["LOCK(SIMPLE)", "LOCK(,16480)", "LOCK(,,SLEEP)", "LOCK(,0,SLEEP)", "LOCK(,7,OFF)"] {
            assert_eq!(of(none).1, None, "{none}");
        }
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
