//! The summary of a load module, whatever its size.
//!
//! Invariant: nothing here refers to the module's bytes.
//! Not here: reading it from blocks (`super::Reader`).

use super::super::bytes::part;
use serde::Serialize;

/// An entry of the external symbol dictionary.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Symbol {
    /// Its identifier, from 1.
    pub id: u16,
    /// Name; blank for private code.
    pub name: String,
    /// SD, LR, ER, PC, CM, PR, null, WX, or the type's number.
    pub kind: &'static str,
    /// Address in the module.
    pub address: u32,
    /// Overlay segment, or AMODE and RMODE.
    pub segment: u8,
    /// Length of a section; for a label the identifier of its section.
    pub length: u32,
}

impl Symbol {
    /// The kind of a type byte.
    pub(super) fn kind_of(byte: u8) -> &'static str {
        const KINDS: [&str; 16] =
            ["SD", "1", "ER", "LR", "PC", "CM", "PR", "null", "8", "9", "WX", "11", "12", "13", "14", "15"];
        KINDS[usize::from(byte & 15)]
    }

    /// Whether it is a section with text or storage of its own.
    #[must_use]
    pub fn is_section(&self) -> bool {
        matches!(self.kind, "SD" | "PC" | "CM")
    }
}

/// The program that made the module, or a part of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Maker {
    /// Program number: `5695PMB01` is the binder.
    pub program: String,
    /// Version and release.
    pub version: String,
    /// Day: `yyyy-mm-dd`.
    pub day: Option<String>,
    /// Time of day, if it was recorded: `hh:mm:ss`.
    pub time: Option<String>,
}

/// Relocation items by what they do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Relocations {
    /// All items.
    pub items: u32,
    /// Address constants.
    pub a: u32,
    /// External entry points.
    pub v: u32,
    /// Pseudo-registers.
    pub pseudo: u32,
    /// References that could not be resolved when the module was made.
    pub unresolved: u32,
}

/// A text block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Text {
    /// Address in the module.
    pub origin: u32,
    /// Bytes.
    pub length: u32,
}

/// The summary of a load module.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Symbols, in the order of the dictionary.
    pub symbols: Vec<Symbol>,
    /// The program that bound it.
    pub binder: Option<Maker>,
    /// Which compilers and assemblers made its sections, each once.
    pub translators: Vec<Maker>,
    /// Patches by SPZAP: day and recorded text.
    pub patches: Vec<(String, String)>,
    /// Data of users: day and text.
    pub user_data: Vec<(String, String)>,
    /// Text blocks in order.
    pub text: Vec<Text>,
    /// Relocation items.
    pub relocations: Relocations,
    /// Records by kind: SYM, CESD, IDR, scatter, control, text.
    pub records: [u32; 6],
    /// Whether the last control record marks the end.
    pub ended: bool,
}

impl Relocations {
    pub(super) fn add(&mut self, more: Relocations) {
        self.items += more.items;
        self.a += more.a;
        self.v += more.v;
        self.pseudo += more.pseudo;
        self.unresolved += more.unresolved;
    }

    /// Counts the items of relocation data; None if it ends within one.
    pub(super) fn of(data: &[u8]) -> Option<Relocations> {
        let (mut found, mut at, mut same) = (Relocations::default(), 0, false);
        while at < data.len() {
            if !same {
                at += 4;
            }
            let flags = *part(data, at, 4)?.first()?;
            found.items += 1;
            match flags >> 4 & 7 {
                0 => found.a += 1,
                1 => found.v += 1,
                _ => found.pseudo += 1,
            }
            found.unresolved += u32::from(flags & 0x80 != 0);
            same = flags & 1 != 0;
            at += 4;
        }
        (!same).then_some(found)
    }
}
