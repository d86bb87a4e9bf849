//! EBCDIC: text of mainframes as text of Linux, and names of data sets and members back.
//!
//! Every code page here is a permutation of Latin-1, some with the euro sign in place of the currency sign: so a page is
//! written as its differences from 037, and both directions come from that one table. Names use letters, digits and the
//! national characters `$ # @`, whose places differ between countries: that is why the page is an option, not a constant.
//!
//! Invariant: every byte of every page has exactly one character; decoding never fails, and `encode(decode(b)) == b`.
//! Not here: double-byte pages, and Latin-9 (924).

mod pages;

use pages::{LATIN1_OF_037, PAGES, Row};
use std::fmt;
use std::str::FromStr;

/// One of the code pages that the table knows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct CodePage(&'static Row);

/// The text is no code page of the table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("code page {text:?} is unknown; known ones are {}", known())]
pub struct UnknownPage {
    /// What was given.
    pub text: String,
}

impl CodePage {
    /// 037: the page in which names of data sets and members are written unless something else is known.
    pub const US: CodePage = CodePage(&PAGES[0]);

    /// The page of this number, as 37, 1047, 500.
    #[must_use]
    pub fn numbered(number: u16) -> Option<CodePage> {
        PAGES.iter().find(|row| row.number == number).map(CodePage)
    }

    /// Every page, in the table's order.
    pub fn all() -> impl Iterator<Item = CodePage> {
        PAGES.iter().map(CodePage)
    }

    /// Its number.
    #[must_use]
    pub fn number(self) -> u16 {
        self.0.number
    }

    /// Where it is used.
    #[must_use]
    pub fn place(self) -> &'static str {
        self.0.place
    }

    /// One byte as a character.
    #[must_use]
    pub fn character(self, byte: u8) -> char {
        match self.latin1(byte) {
            CURRENCY if self.0.euro => '€',
            latin1 => char::from(latin1),
        }
    }

    /// Bytes as text; control characters stay control characters.
    #[must_use]
    pub fn decode(self, bytes: &[u8]) -> String {
        bytes.iter().map(|byte| self.character(*byte)).collect()
    }

    /// A field of fixed length as text: without the blanks and zeros that fill it, control characters as `?`.
    #[must_use]
    pub fn field(self, bytes: &[u8]) -> String {
        let text: String = self
            .decode(bytes)
            .chars()
            .map(|one| if one.is_control() && one != '\0' { '?' } else { one })
            .collect();
        text.trim_end_matches([' ', '\0']).replace('\0', "?")
    }

    /// One character as a byte, if the page has it.
    #[must_use]
    pub fn byte(self, character: char) -> Option<u8> {
        (0..=255).find(|byte| self.character(*byte) == character)
    }

    /// Text as bytes; None if a character is not in the page.
    #[must_use]
    pub fn encode(self, text: &str) -> Option<Vec<u8>> {
        text.chars().map(|one| self.byte(one)).collect()
    }

    /// Text as a field of `length` bytes, filled with blanks; None if it is longer, or not in the page.
    #[must_use]
    pub fn filled(self, text: &str, length: usize) -> Option<Vec<u8>> {
        let mut bytes = self.encode(text)?;
        (bytes.len() <= length).then(|| {
            bytes.resize(length, BLANK);
            bytes
        })
    }

    fn latin1(self, byte: u8) -> u8 {
        let differs = self.0.differs.iter().map(|pair| pair.to_be_bytes()).find(|[place, _]| *place == byte);
        differs.map_or(LATIN1_OF_037[usize::from(byte)], |[_, latin1]| latin1)
    }
}

/// The blank, in every page.
pub const BLANK: u8 = 0x40;

impl Default for CodePage {
    fn default() -> CodePage {
        CodePage::US
    }
}

impl fmt::Debug for CodePage {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "CodePage({self})")
    }
}

impl fmt::Display for CodePage {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{:03}", self.0.number)
    }
}

impl FromStr for CodePage {
    type Err = UnknownPage;

    /// `037`, `37`, `IBM-1047`, `cp500`.
    fn from_str(text: &str) -> Result<CodePage, UnknownPage> {
        let digits = text.trim_start_matches(|one: char| one.is_ascii_alphabetic() || one == '-');
        digits.parse().ok().and_then(CodePage::numbered).ok_or_else(|| UnknownPage { text: text.to_owned() })
    }
}

/// The currency sign in Latin-1.
const CURRENCY: u8 = 0xA4;

fn known() -> String {
    CodePage::all().map(|page| page.to_string()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_is_a_permutation_and_comes_back() {
        for page in CodePage::all() {
            let all: Vec<u8> = (0..=255).collect();
            let text = page.decode(&all);
            assert_eq!(page.encode(&text).as_deref(), Some(all.as_slice()), "{page}");
            assert_eq!(page.to_string().parse(), Ok(page));
        }
    }

    #[test]
    fn national_characters_stand_where_each_country_has_them() {
        let us = CodePage::US;
        assert_eq!(us.encode("$#@A9 "), Some(vec![0x5B, 0x7B, 0x7C, 0xC1, 0xF9, 0x40]));
        let germany = CodePage::numbered(273).unwrap();
        assert_eq!(germany.decode(&[0x7B, 0x7C, 0x5B, 0x4A, 0xE0, 0x5A, 0xC0, 0xD0]), "#§$ÄÖÜäü");
        let open = CodePage::numbered(1047).unwrap();
        assert_eq!(open.decode(&[0xAD, 0xBD]), "[]");
        assert_eq!(CodePage::numbered(37).unwrap().decode(&[0xBA, 0xBB]), "[]");
        assert_eq!(CodePage::numbered(500).unwrap().decode(&[0x4A, 0x5A]), "[]");
    }

    #[test]
    fn the_euro_sign_is_only_where_the_page_says_so() {
        assert_eq!(CodePage::numbered(1141).unwrap().character(0x9F), '€');
        assert_eq!(CodePage::numbered(273).unwrap().character(0x9F), '¤');
        assert_eq!(CodePage::numbered(1140).unwrap().byte('¤'), None);
    }

    #[test]
    fn fields_lose_their_filling_and_never_carry_controls() {
        let us = CodePage::US;
        assert_eq!(us.field(&[0xC1, 0xC2, 0x40, 0x40]), "AB");
        assert_eq!(us.field(&[0xC1, 0x00, 0xC2, 0x0D, 0x00]), "A?B?");
        assert_eq!(us.filled("AB", 4), Some(vec![0xC1, 0xC2, 0x40, 0x40]));
        assert_eq!(us.filled("ABCDE", 4), None);
        assert_eq!(us.filled("Ж", 4), None);
    }

    #[test]
    fn pages_are_named_as_people_write_them() {
        for text in ["37", "037", "IBM-037", "cp037"] {
            assert_eq!(text.parse::<CodePage>(), Ok(CodePage::US), "{text}");
        }
        let error = "1208".parse::<CodePage>().unwrap_err();
        assert!(error.to_string().contains("\"1208\""), "{error}");
        assert!(error.to_string().contains("1047"), "{error}");
    }
}
