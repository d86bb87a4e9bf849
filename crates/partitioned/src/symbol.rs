//! The name of the function that is an entry point.
//!
//! Not here: where it lies; that is an address of the entry.

/// The name of a function: up to 184 bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Symbol {
    length: u8,
    bytes: [u8; Symbol::LONGEST],
}

impl Symbol {
    /// Most bytes of one.
    pub const LONGEST: usize = 184;
    /// None.
    pub const NONE: Symbol = Symbol { length: 0, bytes: [0; Symbol::LONGEST] };

    /// Of the given bytes; None if they are too many.
    #[must_use]
    pub fn new(name: &[u8]) -> Option<Symbol> {
        let mut bytes = [0; Symbol::LONGEST];
        bytes.get_mut(..name.len())?.copy_from_slice(name);
        Some(Symbol { length: name.len() as u8, bytes })
    }

    /// Its bytes; empty for none.
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
