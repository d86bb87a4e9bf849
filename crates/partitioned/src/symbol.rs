//! The name of the function at an entry point.
//!
//! Not here: its address, which is in the entry.

/// The name of a function: up to 184 bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Symbol {
    length: u8,
    bytes: [u8; Symbol::LONGEST],
}

impl Symbol {
    /// Maximum length in bytes.
    pub const LONGEST: usize = 184;
    /// No name.
    pub const NONE: Symbol = Symbol { length: 0, bytes: [0; Symbol::LONGEST] };

    /// A symbol of the given bytes; None if there are too many.
    #[must_use]
    pub fn new(name: &[u8]) -> Option<Symbol> {
        let mut bytes = [0; Symbol::LONGEST];
        bytes.get_mut(..name.len())?.copy_from_slice(name);
        Some(Symbol { length: name.len() as u8, bytes })
    }

    /// Its bytes; empty if there is no name.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.length)).unwrap_or(&[])
    }
}

impl core::fmt::Debug for Symbol {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "\"{}\"", self.as_bytes().escape_ascii())
    }
}
