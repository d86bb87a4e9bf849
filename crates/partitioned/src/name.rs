//! Names of members: their syntax and their order.
//!
//! A name has one to eight characters in a PDS, up to 64 in a PDSE. Allowed are graphic ASCII characters except those that
//! separate names in commands, paths and options. Names are case-sensitive.
//!
//! Invariant: no name has a `/`, is `.` or `..`, or is empty: a file of that name is always inside its directory.

use core::cmp::Ordering;
use core::fmt;
use core::hash::{Hash, Hasher};

/// Most characters of a name in a PDSE.
pub const LONGEST: usize = 64;
/// Most characters of a name in a PDS.
pub const LONGEST_IN_PDS: usize = 8;

/// The name of a member or of an alias.
#[derive(Clone, Copy)]
pub struct Name {
    length: u8,
    characters: [u8; LONGEST],
}

/// The reason why a text is no name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misnomer {
    /// It is empty.
    Empty,
    /// More characters than this.
    Long(usize),
    /// This character may not be in a name.
    Character(char),
    /// It means a directory.
    Directory,
}

impl fmt::Display for Misnomer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Misnomer::Empty => write!(f, "a name needs a character"),
            Misnomer::Long(most) => write!(f, "a name has at most {most} characters here"),
            Misnomer::Character(character) => write!(f, "{character:?} may not be in a member's name"),
            Misnomer::Directory => write!(f, "this is the name of a directory"),
        }
    }
}

impl core::error::Error for Misnomer {}

impl Name {
    /// A name of the given characters.
    ///
    /// # Errors
    /// A text that is no name in any organisation.
    pub fn new(text: &[u8]) -> Result<Name, Misnomer> {
        if text.is_empty() {
            return Err(Misnomer::Empty);
        }
        if let Some(at) = text.iter().position(|&character| !may_be_in_a_name(character)) {
            let valid = text[at..].utf8_chunks().next().map_or("", |chunk| chunk.valid());
            // A byte that is no text is named as the character of its number.
            return Err(Misnomer::Character(valid.chars().next().unwrap_or(char::from(text[at]))));
        }
        if text == b"." || text == b".." {
            return Err(Misnomer::Directory);
        }
        let mut characters = [0; LONGEST];
        characters.get_mut(..text.len()).ok_or(Misnomer::Long(LONGEST))?.copy_from_slice(text);
        Ok(Name { length: text.len() as u8, characters })
    }

    /// A name in the form of a PDS: eight characters, padded with blanks.
    ///
    /// # Errors
    /// A text that is no name.
    pub fn from_padded(padded: &[u8; 8]) -> Result<Name, Misnomer> {
        let length = padded.iter().rposition(|&character| character != b' ').map_or(0, |last| last + 1);
        Name::new(&padded[..length])
    }

    /// The name in the form of a PDS; None if it is too long for one.
    #[must_use]
    pub fn padded(&self) -> Option<[u8; 8]> {
        let mut padded = [b' '; 8];
        padded.get_mut(..self.as_bytes().len())?.copy_from_slice(self.as_bytes());
        Some(padded)
    }

    /// The characters.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.characters.get(..usize::from(self.length)).unwrap_or(&[])
    }

    /// The characters, which are ASCII.
    #[must_use]
    pub fn as_str(&self) -> &str {
        core::str::from_utf8(self.as_bytes()).unwrap_or("")
    }
}

/// Is the character graphic, and not a separator of names?
fn may_be_in_a_name(character: u8) -> bool {
    character.is_ascii_graphic() && !b"/\\(),'\"".contains(&character)
}

impl PartialEq for Name {
    fn eq(&self, other: &Name) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for Name {}

impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Name) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Name {
    fn cmp(&self, other: &Name) -> Ordering {
        self.as_bytes().cmp(other.as_bytes())
    }
}

impl Hash for Name {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_bytes().hash(state);
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_a_name() {
        for right in ["A", "IEFBR14", "libm.so.6", "a-b_c@#$", "...", ".hidden"] {
            assert_eq!(Name::new(right.as_bytes()).map(|name| std::format!("{name}")), Ok(right.into()));
        }
        assert_eq!(Name::new(b""), Err(Misnomer::Empty));
        assert_eq!(Name::new(&[b'X'; 65]), Err(Misnomer::Long(64)));
        assert!(Name::new(&[b'X'; 64]).is_ok_and(|name| name.padded().is_none()));
        for directory in [".", ".."] {
            assert_eq!(Name::new(directory.as_bytes()), Err(Misnomer::Directory));
        }
        for wrong in ["a/b", "a b", "a,b", "L(M)", "it's", "\\", "\n", "\x7f"] {
            assert!(matches!(Name::new(wrong.as_bytes()), Err(Misnomer::Character(_))), "{wrong:?}");
        }
        assert_eq!(Name::new("Gr\u{f6}\u{df}e".as_bytes()), Err(Misnomer::Character('\u{f6}')));
        assert_eq!(Name::new("A\u{200b}".as_bytes()), Err(Misnomer::Character('\u{200b}')));
        assert_eq!(Name::new(b"A\xe4B"), Err(Misnomer::Character('\u{e4}')));
    }

    #[test]
    fn blanks_behind_change_neither_name_nor_order() {
        let names = ["A", "A1", "AA", "B", "ZZZZZZZZ", "a", "~"];
        let names = names.map(|name| Name::new(name.as_bytes()).expect("a name"));
        for pair in names.windows(2) {
            assert!(pair[0] < pair[1] && pair[0].padded() < pair[1].padded(), "{pair:?}");
        }
        for name in names {
            assert_eq!(Name::from_padded(&name.padded().expect("short")), Ok(name));
        }
        assert_eq!(Name::from_padded(b"        "), Err(Misnomer::Empty));
        assert_eq!(Name::from_padded(b"A  B    "), Err(Misnomer::Character(' ')));
    }
}
