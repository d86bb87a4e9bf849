//! The content of an ELF file, checked.
//!
//! ```text
//! header ──> program headers ──> Layout ──> dynamic section ──> Dynamic ──> Tables: symbols, names, versions,
//! (64 bytes)  (56 each)          segments    (16 each)          addresses    relocations, each within a segment
//! ```
//!
//! Invariant: no value of a file is used before it was compared with the bounds of its container. A file with wrong values
//! gets a [`Damage`] that names the place. No function here panics, loops forever or reads outside its bytes, whatever they
//! are.
//! Not here: mapping segments and changing them (`image`); the handling of features that we do not support.

mod dynamic;
mod header;
mod layout;
mod relocation;
mod symbols;
mod table;
mod versions;

pub use dynamic::{Dynamic, MOST_NEEDED};
pub use header::Header;
pub use layout::{Layout, MOST_SEGMENTS, PAGE, Segment, ThreadStorage};
pub use relocation::{Relocation, Relr, kind};
pub use symbols::{Symbol, Tables, gnu_hash};
pub use table::{FileBytes, LoadedBytes, Memory, Table};
pub use versions::Wanted;

use core::fmt;

/// The damage of a file that claims to be a shared object. At fault: the file, or the tool that made or cut it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Damage {
    /// Shorter than the header of ELF.
    NoHeader,
    /// The first four bytes are not those of ELF.
    NotElf,
    /// Not of 64 bits, not little-endian, or of an unknown version of ELF.
    Class,
    /// Made for another machine: its number in the header (62 is x86-64).
    OtherMachine(u16),
    /// Neither a shared object nor an executable, but of the kind with this number.
    Kind(u16),
    /// The program headers are outside the file, have another size than 56 bytes, or are more than 256.
    ProgramHeaders,
    /// It has no segment to be loaded.
    NoSegments,
    /// A segment to be loaded, with its number among the program headers: outside the file, longer in the file than in memory,
    /// out of order, at another offset in its page than in the file, or beyond 47 bits of address.
    Segment(u16),
    /// It has no dynamic section, or not within a segment.
    NoDynamic,
    /// The dynamic section has no end within its segment.
    DynamicWithoutEnd,
    /// A table of the dynamic section (its tag) is outside the segments, or has a wrong size.
    Table(u64),
    /// Thread storage: its initial bytes are outside the segments, or its alignment is no power of two.
    ThreadStorage,
    /// The range to be protected after relocation is not within a segment.
    Relro,
    /// A relocation, by its index in its table, changes bytes outside the segments.
    RelocationPlace(u32),
    /// A relocation, by its index in its table, names a symbol that is not in the table of symbols.
    RelocationSymbol(u32),
    /// The name of a symbol, with its number, has no end within the table of names.
    Name(u32),
    /// A chain of a hash table goes outside it, or in a circle.
    Hash,
    /// The tables of versions refer outside themselves.
    Versions,
    /// A symbol, with its number, has an address outside the segments.
    SymbolPlace(u32),
    /// A function for the beginning or the end is outside the code.
    Function(u64),
    /// The frames of the unwinder's table are outside it.
    Frames,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Damage::NoHeader => f.write_str("shorter than a header of ELF"),
            Damage::NotElf => f.write_str("not an ELF file"),
            Damage::Class => f.write_str("not of 64 bits and little-endian"),
            Damage::OtherMachine(machine) => write!(f, "made for another machine (number {machine})"),
            Damage::Kind(kind) => write!(f, "not a shared object (kind {kind})"),
            Damage::ProgramHeaders => f.write_str("program headers outside of the file"),
            Damage::NoSegments => f.write_str("nothing to be loaded"),
            Damage::Segment(number) => write!(f, "segment {number} outside of the file, or out of order"),
            Damage::NoDynamic => f.write_str("no dynamic section within a segment"),
            Damage::DynamicWithoutEnd => f.write_str("a dynamic section without an end"),
            Damage::Table(tag) => write!(f, "the table with tag {tag:#x} outside of its segment"),
            Damage::ThreadStorage => f.write_str("thread storage outside of the segments"),
            Damage::Relro => f.write_str("the range to be protected lies outside of the segments"),
            Damage::RelocationPlace(at) => write!(f, "relocation {at} changes what is in no segment"),
            Damage::RelocationSymbol(at) => write!(f, "relocation {at} names a symbol that is not there"),
            Damage::Name(symbol) => write!(f, "the name of symbol {symbol} has no end"),
            Damage::Hash => f.write_str("the hash table leads outside of itself"),
            Damage::Versions => f.write_str("the tables of versions lead outside of themselves"),
            Damage::SymbolPlace(symbol) => write!(f, "symbol {symbol} lies in no segment"),
            Damage::Function(address) => write!(f, "a function at {address:#x}, where no code is"),
            Damage::Frames => f.write_str("the unwinder's table leads outside of itself"),
        }
    }
}

impl core::error::Error for Damage {}
