//! The values of AVL and ECB: sizes of the available lists of each class of ECBs, their area, and libraries outside of them.
//!
//! ```text
//! AVL(,32,64)         the slot of AVL    the set of each class without one
//! AVL(SSL,48,512)     `class_sizes`      up to 12 sets, each with the name of its class and its source
//! ```
//!
//! Not here: how a set is read (`apply`), and lists at work (`underbar-runtime`).

use crate::class_sizes::{ClassSets, ClassSizes};
use crate::lists::{DEFAULT_LISTS, ListSizes};
use crate::search::{option_named, slot_named};
use crate::settings::Settings;
use crate::value::Value;
use crate::where_set::WhereSet;

const AVL: usize = option_named("AVL");

/// AVL: the sizes of the available lists of all classes.
#[derive(Clone, Copy, Debug)]
pub struct AvailableLists {
    standard: ListSizes,
    sets: ClassSets,
}

impl AvailableLists {
    /// No class has a list.
    pub const NONE: Self = Self { standard: ListSizes::NONE, sets: ClassSets::NONE };

    /// The sizes of a class: its own, or those of all classes without any.
    #[must_use]
    pub fn of(&self, class: &[u8]) -> ListSizes {
        self.sets.sizes_of(class).unwrap_or(self.standard)
    }

    /// Whether all classes have the sizes that are the default.
    #[must_use]
    pub fn are_default(&self) -> bool {
        self.sets.all().is_empty() && self.standard == DEFAULT_LISTS
    }
}

/// What ECBs do without, so that `demo pj47265` can measure it: an item of the document's list.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
pub enum Without {
    /// Nothing, and requests do not go the way that the other values need.
    #[default]
    Usual = 0,
    /// Nothing, on the way that the others need: what they are compared with.
    Nothing = 1,
    /// Control entries are made when an ECB begins, not when they are needed.
    Entries = 2,
    /// Names are searched one after the other.
    Tags = 3,
    /// Threads get neighbouring buffers, which share cache lines.
    Align = 4,
    /// The buffer that was freed first is dispensed first.
    Lifo = 5,
    /// A thread that finds a lock taken calls the kernel.
    Spin = 6,
    /// All threads write into one trace table.
    Trace = 7,
    /// No thread has lists of its own.
    Lists = 8,
}

impl Without {
    const ALL: [Self; 8] = [
        Self::Nothing,
        Self::Entries,
        Self::Tags,
        Self::Align,
        Self::Lifo,
        Self::Spin,
        Self::Trace,
        Self::Lists,
    ];
}

/// The values of ECB.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ecb<'s> {
    /// Bytes of the area with which an ECB begins: a multiple of 4K.
    pub area: u64,
    /// Names of further libraries whose storage stays with the process, with commas between them.
    pub outside: &'s [u8],
    /// Bytes of ended ECBs that are kept without access; 0: none.
    pub check: u64,
    /// Last requests of each thread that are kept; 0: none.
    pub trace: u64,
    /// Bytes of a piece of the part of an ECB below 2 GiB; 0: not given.
    pub low: u64,
    /// What is left out.
    pub without: Without,
}

impl Settings {
    /// AVL.
    #[must_use]
    pub fn available_lists(&self) -> AvailableLists {
        let standard = match self.value(AVL, 0) {
            Value::Lists(sizes) => sizes,
            _ => DEFAULT_LISTS,
        };
        AvailableLists { standard, sets: self.classes }
    }

    /// ECB.
    #[must_use]
    pub fn ecb(&self) -> Ecb<'_> {
        const ECB: usize = option_named("ECB");
        const OUTSIDE: usize = slot_named("ECB", "OUTSIDE(file,file)") - slot_named("ECB", "area");
        const AREA: usize = slot_named("ECB", "area");
        const CHECK: usize = slot_named("ECB", "CHECK(size)");
        const TRACE: usize = slot_named("ECB", "TRACE(n)");
        const LOW: usize = slot_named("ECB", "LOW(size)");
        const WITHOUT: usize = slot_named("ECB", "WITHOUT(item)");
        let bytes = |slot| if let Value::Bytes(bytes) = self.at(slot) { bytes } else { 0 };
        let without = match self.at(WITHOUT) {
            Value::Word(item) => Without::ALL.get(usize::from(item)).copied().unwrap_or_default(),
            _ => Without::Usual,
        };
        Ecb {
            area: bytes(AREA),
            outside: self.text(ECB, OUTSIDE),
            check: bytes(CHECK),
            trace: self.number(TRACE),
            low: bytes(LOW),
            without,
        }
    }

    /// The sets of AVL that have a class, in the order in which they were given first.
    pub fn class_sizes(&self) -> &[ClassSizes] {
        self.classes.all()
    }

    /// Sets the sizes of a class, or, without a name, of all classes without any. False, without any change, if there is no room.
    pub(crate) fn set_sizes(&mut self, class: &[u8], sizes: ListSizes, source: WhereSet) -> bool {
        if class.is_empty() {
            self.set(AVL, 0, Value::Lists(sizes), source);
            return true;
        }
        let fits = self.classes.put(class, sizes, source);
        if fits {
            self.refer(AVL, source);
        }
        fits
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::{CLASSES_WITH_SIZES, LONGEST_CLASS, ProgramName, Severity, TEXT_ROOM};
    use std::format;
    use std::string::{String, ToString};
    use std::vec::Vec;

    fn apply(settings: &mut Settings, text: &str, source: WhereSet) -> Vec<(Severity, String)> {
        let mut found = Vec::new();
        let program = ProgramName { name: b"server", ..ProgramName::default() };
        settings.apply(text.as_bytes(), &program, source, &mut |diagnostic| {
            found.push((diagnostic.severity(), diagnostic.to_string()));
        });
        found
    }

    fn sizes(text: &str, class: &str) -> [u32; 5] {
        let mut settings = Settings::default();
        let found = apply(&mut settings, text, WhereSet::CommandLine);
        assert!(found.iter().all(|(severity, _)| *severity == Severity::Note), "{text}: {found:?}");
        settings.available_lists().of(class.as_bytes()).bytes()
    }

    #[test]
    fn a_class_has_its_own_sizes_or_those_of_all_others() {
        const STANDARD: [u32; 5] = [32, 64, 128, 256, 512];
        let two = "AVL(SSL,32,64,128,256) AVL(JAVA,48,96,512)";
        for (text, class, expect) in [
            ("", "SSL", STANDARD),
            ("AVL()", "SSL", STANDARD),
            (two, "SSL", [32, 64, 128, 256, 0]),
            (two, "JAVA", [48, 96, 512, 0, 0]),
            (two, "java", STANDARD),
            ("AVL(,64,1K) AVL(SSL,32)", "JAVA", [64, 1024, 0, 0, 0]),
            ("AVL(,64,1K) AVL(SSL,32)", "SSL", [32, 0, 0, 0, 0]),
            ("AVL(SSL,32,64),AVL(SSL,64K)", "SSL", [65_536, 0, 0, 0, 0]),
            ("AVL(SSL,32) [other] AVL(SSL,64) [server] AVL(SSL,96)", "SSL", [96, 0, 0, 0, 0]),
            ("AVL=(('a, b',32),OVR)", "a, b", [32, 0, 0, 0, 0]),
            ("AVL(SSL,,32,,64,)", "SSL", [32, 64, 0, 0, 0]),
        ] {
            assert_eq!(sizes(text, class), expect, "{class} under {text}");
        }
        let most = "x".repeat(LONGEST_CLASS);
        assert_eq!(sizes(&format!("AVL({most},33)"), &most), [48, 0, 0, 0, 0]);
    }

    #[test]
    fn each_rule_is_told() {
        let long = format!("AVL({},32)", "x".repeat(LONGEST_CLASS + 1));
        for (text, severity, says) in [
            ("AVL(A,33,64)", Severity::Note, "33 is rounded up to 48: sizes of AVL are multiples of 16"),
            ("AVL(A,64,32)", Severity::Warning, "32 is not above 64, the size before it"),
            ("AVL(A,33,48)", Severity::Warning, "48 is not above 48, the size before it"),
            ("AVL(A,16,32)", Severity::Warning, "16 is out of range; the smallest is 32"),
            ("AVL(A,0)", Severity::Warning, "0 is out of range; the smallest is 32"),
            ("AVL(A,65537)", Severity::Warning, "65537 is out of range; the largest is 65536"),
            ("AVL(A,6x)", Severity::Warning, "x does not belong in a number"),
            ("AVL(A,-64)", Severity::Warning, "-64: only STACK's init may be negative"),
            ("AVL(A,AUTO)", Severity::Warning, "AUTO is no number"),
            ("AVL(A)", Severity::Warning, "A has no size; write AVL(class,size1,size2,size3,size4,size5)"),
            ("AVL(A,32,48,64,80,96,112)", Severity::Warning, "112 is one too many: a class has at most 5"),
            ("AVL('a\tb',32)", Severity::Warning, "is no name of a class"),
            (&long, Severity::Warning, "is no name of a class; write at most 32 bytes"),
        ] {
            let mut settings = Settings::default();
            let before = settings;
            let found = apply(&mut settings, text, WhereSet::CommandLine);
            assert_eq!(found.len(), if text == "AVL(A,33,48)" { 2 } else { 1 }, "{text}: {found:?}");
            let last = found.last().expect("one");
            assert!(last.0 == severity && last.1.contains(says), "{text}: {last:?}");
            let is_taken = severity == Severity::Note || says.contains("too many");
            assert_eq!(!settings.same_values(&before), is_taken, "{text}");
        }
        assert_eq!(sizes("AVL(A,33,64)", "A"), [48, 64, 0, 0, 0]);
    }

    #[test]
    fn a_thirteenth_class_has_no_room_and_a_known_one_has() {
        let mut settings = Settings::default();
        for class in 0..CLASSES_WITH_SIZES {
            assert!(apply(&mut settings, &format!("AVL(C{class},32)"), WhereSet::UserFile).is_empty());
        }
        let found = apply(&mut settings, "AVL(D,32) AVL(C3,64) AVL(,48)", WhereSet::CommandLine);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].1.contains("D was left out: 12 classes have sizes already"), "{found:?}");
        assert_eq!(settings.available_lists().of(b"C3").bytes()[0], 64);
        assert_eq!(settings.available_lists().of(b"D").bytes()[0], 48);
    }

    #[test]
    fn each_set_is_written_with_its_source_and_read_again() {
        let mut settings = Settings::default();
        apply(&mut settings, "AVL(SSL,32,64) AVL('a (b)',1K,64K)", WhereSet::UserFile);
        apply(&mut settings, "AVL(SSL,48,2048)", WhereSet::CommandLine);
        let mut report = String::new();
        settings.write_options_report("main", "today", &mut report).unwrap();
        let rows: Vec<&str> = report.lines().filter(|line| line.contains("AVL(")).collect();
        let expect = [
            "underbar default                 AVL(,32,64,128,256,512)",
            "command line (--opts)            AVL(SSL,48,2048)",
            "user options file                AVL('a (b)',1024,65536)",
        ];
        assert_eq!(rows, expect);
        let mut text = String::new();
        settings.canonical(&mut text).unwrap();
        assert_eq!(text, "AVL(SSL,48,2K),AVL('a (b)',1K,64K)");
        let mut again = Settings::default();
        assert!(apply(&mut again, &text, WhereSet::CommandLine).is_empty());
        assert!(again.same_values(&settings));
        let mut over = settings;
        apply(&mut over, "AVL(SSL,64) AVL(,64)", WhereSet::Tune);
        let mut text = String::new();
        over.canonical_over(&settings, &mut text).unwrap();
        assert_eq!(text, "AVL(,64),AVL(SSL,64)");
    }

    #[test]
    fn the_area_and_files_of_ecbs_stand_in_any_order() {
        for (text, area, outside) in [
            ("", 36_864, ""),
            ("ECB(64K)", 65_536, ""),
            ("ECB(1)", 4_096, ""),
            ("ECB(4097)", 8_192, ""),
            ("ECB(OUTSIDE(libssl.so.3))", 36_864, "libssl.so.3"),
            ("ECB(outside ( libssl.so.3 , libfoo* ),1M)", 1 << 20, "libssl.so.3,libfoo*"),
            ("ECB(64K,OUTSIDE(gconv/))", 65_536, "gconv/"),
            ("ECB(64K,OUTSIDE(a)) ECB(OUTSIDE(b,c))", 65_536, "b,c"),
            ("ECB(,OUTSIDE(a)) ECB(OUTSIDE())", 36_864, ""),
            ("ECB=((8K,OUTSIDE(a)),OVR)", 8_192, "a"),
        ] {
            let mut settings = Settings::default();
            let found = apply(&mut settings, text, WhereSet::CommandLine);
            assert!(found.is_empty(), "{text}: {found:?}");
            let expect = Ecb { area, outside: outside.as_bytes(), ..Settings::default().ecb() };
            assert_eq!(settings.ecb(), expect, "{text}");
            let mut written = String::new();
            settings.canonical(&mut written).unwrap();
            let mut again = Settings::default();
            assert!(apply(&mut again, &written, WhereSet::CommandLine).is_empty(), "{written}");
            assert!(again.same_values(&settings), "{text}: {written}");
        }
    }

    #[test]
    fn words_stand_in_any_order() {
        for (text, area, [check, trace, low], without) in [
            ("", 36_864, [0, 0, 0], Without::Usual),
            ("ECB(CHECK)", 36_864, [64 << 20, 0, 0], Without::Usual),
            ("ECB(check ( 10K ),64K,TRACE(16))", 65_536, [12_288, 16, 0], Without::Usual),
            ("ECB(TRACE,LOW(5K),CHECK(1M)) ECB(CHECK(0))", 36_864, [0, 127, 8_192], Without::Usual),
            ("ECB(8K,WITHOUT(LISTS),OUTSIDE(a))", 8_192, [0, 0, 0], Without::Lists),
            ("ECB(WITHOUT(nothing))", 36_864, [0, 0, 0], Without::Nothing),
        ] {
            let mut settings = Settings::default();
            let found = apply(&mut settings, text, WhereSet::CommandLine);
            assert!(found.is_empty(), "{text}: {found:?}");
            let ecb = settings.ecb();
            assert_eq!(
                (ecb.area, [ecb.check, ecb.trace, ecb.low], ecb.without),
                (area, [check, trace, low], without)
            );
            let mut written = String::new();
            settings.canonical(&mut written).unwrap();
            let mut again = Settings::default();
            assert!(apply(&mut again, &written, WhereSet::CommandLine).is_empty(), "{written}");
            assert!(again.same_values(&settings), "{text}: {written}");
        }
    }

    #[test]
    fn what_is_no_area_and_no_file_is_told() {
        let long = format!("ECB(OUTSIDE({}))", "x".repeat(TEXT_ROOM));
        for (text, says) in [
            ("ECB(1025K)", "1025K is out of range; the largest is 1048576; area of ECB keeps"),
            ("ECB(-4K)", "-4K: only STACK's init may be negative"),
            ("ECB(64K,libssl.so.3)", "libssl.so.3 names no libraries; write OUTSIDE(libssl,libfoo*)"),
            ("ECB(OUTSIDE(/lib/libssl.so.3))", "names no libraries; write OUTSIDE(libssl,libfoo*)"),
            ("ECB(OUTSIDE(a,,b))", "names no libraries"),
            ("ECB(OUTSIDE(a b))", "names no libraries"),
            ("ECB(OUTSIDE(*a))", "names no libraries"),
            ("ECB(64K,OUTSIDE(a),,b)", "b is one too many"),
            ("ECB(64K,,64K)", "64K is one too many"),
            ("ECB(TRACE(128))", "TRACE(128) is out of range; the largest is 127"),
            ("ECB(CHECK( 6x))", "x does not belong in a number"),
            ("ECB(WITHOUT(x))", "write WITHOUT(NOTHING, ENTRIES, TAGS, ALIGN, LIFO, SPIN, TRACE or LISTS)"),
            (&long, "ECB was left out"),
        ] {
            let mut settings = Settings::default();
            let found = apply(&mut settings, text, WhereSet::CommandLine);
            assert_eq!(found.len(), 1, "{text}: {found:?}");
            assert!(found[0].1.contains(says), "{text}: {found:?}");
        }
    }

    #[test]
    fn the_default_of_the_table_is_the_one_that_is_compared() {
        let lists = Settings::default().available_lists();
        assert!(lists.are_default());
        assert!(!AvailableLists::NONE.are_default());
        assert_eq!(DEFAULT_LISTS.bytes().map(|bytes| bytes.to_string()).join(","), "32,64,128,256,512");
    }
}
