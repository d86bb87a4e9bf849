//! One value of one sub-option: its kinds, and its conversion to text.
//!
//! ```text
//! "32K" --read--> Value::Bytes(32768) --write(Exact)--> "32768"   the options report
//!                                     --write(Short)--> "32K"     the form that a person types
//! ```
//!
//! Invariant: for every value that a kind can hold, read(write(value, Short)) == value.
//! Not here: the conversion from text to a value (`read`), the sub-options (`table`), and text values, whose bytes are
//! in `texts`.

use core::fmt::{self, Write};

use crate::display::Shown;
use crate::lists::{LIST_UNIT, ListSizes};

/// The largest size that is accepted, 128T: the whole user half of a 47-bit address space.
pub const LARGEST_SIZE: u64 = 1 << 47;

/// One mebibyte, the unit of the 64-bit sizes.
pub const M: u64 = 1 << 20;

/// The value of one sub-option.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Value {
    /// No value was given, and there is no default.
    Unset,
    /// AUTO: underbar decides.
    Auto,
    /// A size in bytes, already rounded.
    Bytes(u64),
    /// A negative STACK size: all that is available minus this many bytes.
    AllBut(u64),
    /// A plain number.
    Number(u64),
    /// A keyword: its index in the list of the sub-option's [`Kind`].
    Word(u8),
    /// A fill byte.
    Byte(u8),
    /// A heap pool: cell size in bytes, and how many pools of it (0: not given, which means one).
    Cell {
        /// Bytes per cell; 0 ends the list of pools.
        size: u32,
        /// Pools of this size; 0 when the plain form without parentheses was used.
        pools: u16,
    },
    /// The sizes of the available lists of a class of ECBs.
    Lists(ListSizes),
    /// A text: [`crate::Settings::text`] has its bytes.
    Text,
}

/// One keyword of a sub-option.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Word {
    /// The whole keyword, in capitals.
    pub name: &'static str,
    /// Length of its shortest abbreviation.
    pub least: u8,
}

/// The values that a sub-option accepts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A size: `n`, `nK`, `nM`, `nG`.
    Size {
        /// Sizes are rounded up to a multiple of this: 8, or 1M for the 64-bit forms.
        unit: u64,
        /// Smaller sizes are raised to this.
        least: u64,
        /// The largest size accepted.
        most: u64,
        /// Whether AUTO is accepted.
        auto: bool,
        /// Whether a negative size is accepted ("all available minus n").
        negative: bool,
    },
    /// A number from 0 to `most`.
    Number {
        /// The largest number accepted.
        most: u64,
    },
    /// One of some keywords.
    Words(&'static [Word]),
    /// NONE, two hexadecimal digits, or a quoted character; CLEAR where `clear`.
    Fill {
        /// Whether CLEAR is accepted.
        clear: bool,
    },
    /// A cell size, or (size,pools).
    Cell,
    /// AUTO or a file name, with `%p`, `%e`, `%h` for process id, program and host.
    File,
    /// `WORD(file,file)` with this word, at any place among the sub-options.
    Files(&'static str),
    /// `CPUS(list)`, a list of processors as `0,2-5`, at any place among the sub-options.
    Processors,
    /// `WORD(value)`, at any place among the sub-options, and at no other one.
    Named {
        /// The word, in capitals.
        word: &'static str,
        /// The value between the parentheses.
        inner: &'static Kind,
        /// The value of the word alone; Unset: it needs its parentheses.
        alone: Value,
    },
    /// All that is between the parentheses of AVL: the name of a class, or nothing, and sizes. The option may be given for
    /// several classes; [`crate::Settings::class_sizes`] has those with names.
    Lists,
    /// A size in KiB: `n` is nK here; `nK`, `nM` and `nG` are accepted, too.
    Kilobytes {
        /// The largest size accepted, in bytes.
        most: u64,
    },
    /// The first part of WORKFILE: the work files named so far, `(pattern,read,write)` each. The option may be given for several patterns;
    /// [`crate::Settings::work_files_text`] has them.
    WorkFiles,
    /// Any text between the parentheses, kept as written.
    Free,
    /// Not written between the parentheses: whether the option was given as NAME or as NONAME.
    Switch,
}

/// NO and yes, as a [`Kind::Switch`] holds them.
pub const SWITCH_OFF: Value = Value::Word(0);
/// See [`SWITCH_OFF`].
pub const SWITCH_ON: Value = Value::Word(1);
/// NONE, as a [`Kind::Fill`] holds it.
pub const FILL_NONE: Value = Value::Word(0);
/// CLEAR, as a [`Kind::Fill`] holds it.
pub const FILL_CLEAR: Value = Value::Word(1);
pub(crate) const FILL_WORDS: &[Word] = &[Word { name: "NONE", least: 4 }, Word { name: "CLEAR", least: 5 }];
pub(crate) const SWITCH_WORDS: &[Word] = &[Word { name: "OFF", least: 3 }, Word { name: "ON", least: 2 }];
pub(crate) const AUTO_WORD: &[Word] = &[Word { name: "AUTO", least: 4 }];
/// Cells are at most this large, in bytes.
pub const LARGEST_CELL: u64 = 65536;

/// The form in which a value is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// The form of the options report: sizes in bytes, 64-bit sizes in M.
    Exact,
    /// The shortest form: sizes in the largest unit that divides them.
    Short,
}

/// Writes `value`, a value of `kind`; `text` has the bytes of a [`Value::Text`].
pub(crate) fn write(kind: Kind, value: Value, text: &[u8], form: Form, out: &mut dyn Write) -> fmt::Result {
    match (kind, value) {
        (_, Value::Unset) => Ok(()),
        (Kind::Named { word, inner, .. }, value) => {
            write!(out, "{word}(")?;
            write(*inner, value, text, form, out)?;
            out.write_char(')')
        }
        (_, Value::Auto) => out.write_str("AUTO"),
        (Kind::Words(words), Value::Word(index)) => {
            out.write_str(words.get(usize::from(index)).map_or("", |word| word.name))
        }
        (Kind::Switch, Value::Word(index)) => out.write_str(if index == 0 { "OFF" } else { "ON" }),
        (_, Value::Word(index)) => {
            out.write_str(FILL_WORDS.get(usize::from(index)).map_or("", |word| word.name))
        }
        (Kind::Size { unit, .. }, Value::Bytes(bytes)) => write_size(bytes, unit, form, out),
        (Kind::Size { unit, .. }, Value::AllBut(bytes)) => {
            out.write_char('-')?;
            write_size(bytes, unit, form, out)
        }
        (Kind::Kilobytes { .. }, Value::Bytes(bytes)) => write!(out, "{}", bytes >> 10),
        (_, Value::Bytes(bytes) | Value::AllBut(bytes)) => write_size(bytes, 1, form, out),
        (_, Value::Number(number)) => write!(out, "{number}"),
        (_, Value::Byte(byte)) => write!(out, "{byte:02X}"),
        (_, Value::Cell { size, pools: 0 }) => write!(out, "{size}"),
        (_, Value::Cell { size, pools }) => write!(out, "({size},{pools})"),
        (_, Value::Lists(sizes)) => write_lists(&sizes, form, out),
        (Kind::Processors, Value::Text) => write!(out, "CPUS({})", Shown(text)),
        (Kind::Files(word), Value::Text) => write!(out, "{word}({})", Shown(text)),
        (Kind::File, Value::Text) => write_file(text, out),
        (_, Value::Text) => write!(out, "{}", Shown(text)),
    }
}

/// Writes sizes of lists as sub-options, each after a comma.
pub(crate) fn write_lists(sizes: &ListSizes, form: Form, out: &mut dyn Write) -> fmt::Result {
    for bytes in sizes.bytes().into_iter().take_while(|bytes| *bytes > 0) {
        out.write_char(',')?;
        write_size(bytes.into(), LIST_UNIT, form, out)?;
    }
    Ok(())
}

pub(crate) fn write_size(bytes: u64, unit: u64, form: Form, out: &mut dyn Write) -> fmt::Result {
    if form == Form::Exact && unit < M {
        return write!(out, "{bytes}");
    }
    let units = [(30, 'G'), (20, 'M'), (10, 'K')];
    // The report gives 64-bit sizes in M and never in G.
    let units = if form == Form::Exact { &units[1..2] } else { &units[..] };
    for &(shift, letter) in units {
        if bytes > 0 && bytes.trailing_zeros() >= shift {
            return write!(out, "{}{letter}", bytes >> shift);
        }
    }
    write!(out, "{bytes}")
}

/// A file name, quoted if the grammar would otherwise read it differently.
fn write_file(name: &[u8], out: &mut dyn Write) -> fmt::Result {
    let is_reserved = name.eq_ignore_ascii_case(b"AUTO") || name.eq_ignore_ascii_case(b"SYSOUT");
    if is_reserved { write_quoted(name, out) } else { write_name(name, out) }
}

/// A name, quoted if the grammar would otherwise read it differently.
pub(crate) fn write_name(name: &[u8], out: &mut dyn Write) -> fmt::Result {
    let is_plain = |byte: &u8| !byte.is_ascii_whitespace() && !b"(),'\"=".contains(byte);
    if name.iter().all(is_plain) { write!(out, "{}", Shown(name)) } else { write_quoted(name, out) }
}

fn write_quoted(name: &[u8], out: &mut dyn Write) -> fmt::Result {
    out.write_char('\'')?;
    for (index, part) in name.split(|&byte| byte == b'\'').enumerate() {
        write!(out, "{}{}", if index > 0 { "''" } else { "" }, Shown(part))?;
    }
    out.write_char('\'')
}
