//! The vocabulary of the option table: kinds of values, values, and short forms of rows.
//!
//! Not here: the rows (`table`), their structure (`entry`), how values are read (`read`).

use crate::entry::Effect::{AcceptedNoEffect, Honoured};
use crate::entry::{Entry, SubOption, words};
use crate::value::Value::{Bytes, Number, Unset, Word};
use crate::value::{Kind, LARGEST_SIZE, M, Value, Word as Keyword};

pub(crate) const K: u64 = 1 << 10;

pub(crate) const SIZE: Kind =
    Kind::Size { unit: 8, least: 0, most: LARGEST_SIZE, auto: false, negative: false };
pub(crate) const SIZE_AUTO: Kind =
    Kind::Size { unit: 8, least: 0, most: LARGEST_SIZE, auto: true, negative: false };
pub(crate) const SIZE_STACK: Kind =
    Kind::Size { unit: 8, least: 0, most: LARGEST_SIZE, auto: true, negative: true };
pub(crate) const SIZE64: Kind =
    Kind::Size { unit: M, least: 0, most: LARGEST_SIZE, auto: false, negative: false };
/// STACK64(0) and THREADSTACK64(,0) are raised to 1M.
pub(crate) const SIZE64_STACK: Kind =
    Kind::Size { unit: M, least: M, most: LARGEST_SIZE, auto: false, negative: false };
/// The area of an ECB: whole pages, up to a frame.
pub(crate) const SIZE_OF_AREA: Kind =
    Kind::Size { unit: 4 * K, least: 4 * K, most: M, auto: false, negative: false };
/// `CHECK(size)` of ECB: storage of ended ECBs that is kept, 64M for the word alone.
pub(crate) const CHECK: Kind = Kind::Named {
    word: "CHECK",
    inner: &Kind::Size { unit: 4 * K, least: 0, most: LARGEST_SIZE, auto: false, negative: false },
    alone: Bytes(64 * M),
};
/// `TRACE(n)` of ECB: the requests of a page.
pub(crate) const TRACE: Kind =
    Kind::Named { word: "TRACE", inner: &Kind::Number { most: MOST_TRACED }, alone: Number(MOST_TRACED) };
/// Bytes of one fetch of MULTIFETCH.
pub(crate) const SIZE_OF_FETCH: Kind =
    Kind::Size { unit: 8, least: 4096, most: 1 << 30, auto: false, negative: false };
/// The mean distance between samples of SITES.
pub(crate) const SIZE_OF_DISTANCE: Kind =
    Kind::Size { unit: 8, least: K, most: 1 << 30, auto: false, negative: false };
/// The part of a stack that SITES copies.
pub(crate) const SIZE_OF_COPY: Kind =
    Kind::Size { unit: 8, least: 512, most: 64 * K, auto: false, negative: false };
/// `LOW(size)` of ECB: the part below 2 GiB.
pub(crate) const LOW: Kind = Kind::Named { word: "LOW", inner: &SIZE_OF_AREA, alone: Unset };
/// `WITHOUT(item)` of ECB: an item of PJ47265 that is left out.
pub(crate) const WITHOUT: Kind = Kind::Named {
    word: "WITHOUT",
    inner: &Kind::Words(&[
        word("NOTHING"),
        word("ENTRIES"),
        word("TAGS"),
        word("ALIGN"),
        word("LIFO"),
        word("SPIN"),
        word("TRACE"),
        word("LISTS"),
    ]),
    alone: Unset,
};
/// Requests in the trace table of a thread, at most.
pub const MOST_TRACED: u64 = 127;
pub(crate) const COUNT: Kind = Kind::Number { most: u32::MAX as u64 };
pub(crate) const PERCENT: Kind = Kind::Number { most: 90 };
pub(crate) const PERMILLE: Kind = Kind::Number { most: 1000 };

/// A keyword without an abbreviation.
pub(crate) const fn word(name: &'static str) -> Keyword {
    Keyword { name, least: name.len() as u8 }
}

pub(crate) const OFF_ON: Kind = Kind::Words(&[word("OFF"), word("ON")]);
pub(crate) const WITH_KERNEL: Kind = Kind::Words(&[word("KERNEL")]);
pub(crate) const OFF_COALESCE: Kind = Kind::Words(&[word("OFF"), word("COALESCE")]);
pub(crate) const OFF_STAT: Kind = Kind::Words(&[word("OFF"), word("STAT")]);
pub(crate) const OFF_ON_AUTO: Kind = Kind::Words(&[word("OFF"), word("ON"), word("AUTO")]);
pub(crate) const OFF_COUNT_SIMPLE: Kind = Kind::Words(&[word("OFF"), word("COUNT"), word("SIMPLE")]);
pub(crate) const COUNT_SIMPLE_SLEEP: Kind = Kind::Words(&[word("COUNT"), word("SIMPLE"), word("SLEEP")]);
pub(crate) const OFF_ON_ALIGN: Kind = Kind::Words(&[word("OFF"), word("ON"), word("ALIGN")]);
pub(crate) const LOCATION: Kind = Kind::Words(&[Keyword { name: "ANYWHERE", least: 3 }, word("BELOW")]);
/// The reason why a location has no effect.
pub(crate) const NO_LINE: &str = "Linux has no 16M line; storage may be anywhere";
pub(crate) const KEEP_FREE: Kind = Kind::Words(&[word("KEEP"), word("FREE")]);
pub(crate) const KEEP_FREE_AUTO: Kind = Kind::Words(&[word("KEEP"), word("FREE"), word("AUTO")]);
pub(crate) const KEEP_FREE_FILL: Kind = Kind::Words(&[word("KEEP"), word("FREE"), word("FILL")]);
pub(crate) const ZONE: Kind = Kind::Words(&[word("ABEND"), word("QUIET"), word("MSG"), word("TRACE")]);
pub(crate) const RECORD_FORM: Kind = Kind::Words(&[
    word("F"),
    word("FA"),
    word("FB"),
    word("FBA"),
    word("FBS"),
    word("FBSA"),
    word("U"),
    word("UA"),
    word("V"),
    word("VA"),
    word("VB"),
    word("VBA"),
]);
/// A cache of a file.
pub(crate) const CACHE: Kind = Kind::Kilobytes { most: 64 * M };
pub(crate) const ENQUEUE: Kind = Kind::Words(&[word("ENQ"), word("NOENQ")]);

// Indexes into the lists of keywords above.
pub(crate) const OFF: Value = Word(0);
pub(crate) const ON: Value = Word(1);
pub(crate) const ANYWHERE: Value = Word(0);
pub(crate) const KEEP: Value = Word(0);
pub(crate) const FREE: Value = Word(1);
pub(crate) const KEEP_OR_FREE_AUTO: Value = Word(2);
pub(crate) const OFF_OR_ON_AUTO: Value = Word(2);
pub(crate) const LOCKS_COUNT: Value = Word(1);
pub(crate) const ABEND: Value = Word(0);
pub(crate) const FBA: Value = Word(3);
pub(crate) const NOENQ: Value = Word(1);

/// A sub-option that is honoured, with both defaults.
pub(crate) const fn sub(
    name: &'static str,
    kind: Kind,
    here: Value,
    ibm: Value,
    meaning: &'static str,
) -> SubOption {
    let meaning = words(meaning);
    SubOption { name, kind, underbar: here, language_environment: ibm, meaning, effect: Honoured }
}

/// A sub-option without effect here. `reason` says why, or its option if that has no effect either.
pub(crate) const fn idle(
    name: &'static str,
    kind: Kind,
    ibm: Value,
    meaning: &'static str,
    reason: &'static str,
) -> SubOption {
    let (meaning, effect) = (words(meaning), AcceptedNoEffect(words(reason)));
    SubOption { name, kind, underbar: Unset, language_environment: ibm, meaning, effect }
}

/// A sub-option of an option that has no effect here.
pub(crate) const fn of_idle(name: &'static str, kind: Kind, ibm: Value, meaning: &'static str) -> SubOption {
    let meaning = words(meaning);
    SubOption { name, kind, underbar: Unset, language_environment: ibm, meaning, effect: Honoured }
}

pub(crate) const SWITCH: SubOption =
    of_idle("switch", Kind::Switch, Unset, "whether the option was given without NO");
pub(crate) const VALUES: SubOption = of_idle("...", Kind::Free, Unset, "kept as written, not examined");

/// An option of Language Environment that has no effect here and whose sub-options are not examined.
pub(crate) const fn other(
    name: &'static str,
    least: u8,
    meaning: &'static str,
    reason: &'static str,
) -> Entry {
    let explanation = words("Accepted, so that texts for z/OS need no change. The options report shows it.");
    let (meaning, effect) = (words(meaning), AcceptedNoEffect(words(reason)));
    Entry { name, least, alias: "", sub_options: &[VALUES], meaning, explanation, effect }
}

/// The same, with a form that begins with NO.
pub(crate) const fn other_with_no(
    name: &'static str,
    least: u8,
    meaning: &'static str,
    reason: &'static str,
) -> Entry {
    Entry { sub_options: &[SWITCH, VALUES], ..other(name, least, meaning, reason) }
}

/// The twelve pairs of HEAPPOOLS and HEAPPOOLS64, after OFF|ON|ALIGN. A pair that is not set has the value that IBM supplies: the
/// options report shows only pairs that were set.
macro_rules! pools {
    ($kind:expr, $what:literal, $(($cell:literal, $share:literal)),*) => {
        &[
            sub("OFF|ON|ALIGN", OFF_ON_ALIGN, OFF, OFF, "whether small requests come from pools of cells"),
            $(
                of_idle("size", Kind::Cell, Value::Cell { size: $cell, pools: 0 }, "bytes per cell, or (size,pools)"),
                of_idle($what, $kind, Value::Number($share), "size of an extent"),
            )*
        ]
    };
}
pub(crate) use pools;
