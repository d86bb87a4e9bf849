//! EBCDIC: text of mainframes as text of Linux, and names of data sets and members back.
//!
//! Every code page here is a permutation of Latin-1, some with the euro sign in place of the currency sign: so a page is
//! written as its differences from 037, and both directions come from that one table. Names use letters, digits and the
//! national characters `$ # @`, whose places differ between countries: that is why the page is an option, not a constant.
//!
//! Invariant: every byte of every page has exactly one character; decoding never fails, and `encode(decode(b)) == b`.
//! Not here: double-byte pages, and Latin-9 (924).

use std::fmt;
use std::str::FromStr;

/// One of the code pages that the table knows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct CodePage(&'static Row);

/// The text is no code page of the table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("code page {text:?} is not known; known are {}", known())]
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

    /// Text as bytes; None where a character is not in the page.
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
        let differs = self.0.differs.iter().find(|(place, _)| *place == byte);
        differs.map_or(LATIN1_OF_037[usize::from(byte)], |(_, latin1)| *latin1)
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

fn known() -> String {
    CodePage::all().map(|page| page.to_string()).collect::<Vec<_>>().join(" ")
}

/// A code page: its number, who uses it, whether the euro sign stands where Latin-1 has the currency sign, and the
/// bytes at which it differs from 037, each with its character in Latin-1.
#[derive(PartialEq, Eq)]
struct Row {
    number: u16,
    place: &'static str,
    euro: bool,
    differs: &'static [(u8, u8)],
}

const CURRENCY: u8 = 0xA4;

const LATIN1_OF_037: [u8; 256] = [
    0x00, 0x01, 0x02, 0x03, 0x9C, 0x09, 0x86, 0x7F, 0x97, 0x8D, 0x8E, 0x0B, 0x0C, 0x0D, 0x0E, 0x0F, 0x10,
    0x11, 0x12, 0x13, 0x9D, 0x85, 0x08, 0x87, 0x18, 0x19, 0x92, 0x8F, 0x1C, 0x1D, 0x1E, 0x1F, 0x80, 0x81,
    0x82, 0x83, 0x84, 0x0A, 0x17, 0x1B, 0x88, 0x89, 0x8A, 0x8B, 0x8C, 0x05, 0x06, 0x07, 0x90, 0x91, 0x16,
    0x93, 0x94, 0x95, 0x96, 0x04, 0x98, 0x99, 0x9A, 0x9B, 0x14, 0x15, 0x9E, 0x1A, 0x20, 0xA0, 0xE2, 0xE4,
    0xE0, 0xE1, 0xE3, 0xE5, 0xE7, 0xF1, 0xA2, 0x2E, 0x3C, 0x28, 0x2B, 0x7C, 0x26, 0xE9, 0xEA, 0xEB, 0xE8,
    0xED, 0xEE, 0xEF, 0xEC, 0xDF, 0x21, 0x24, 0x2A, 0x29, 0x3B, 0xAC, 0x2D, 0x2F, 0xC2, 0xC4, 0xC0, 0xC1,
    0xC3, 0xC5, 0xC7, 0xD1, 0xA6, 0x2C, 0x25, 0x5F, 0x3E, 0x3F, 0xF8, 0xC9, 0xCA, 0xCB, 0xC8, 0xCD, 0xCE,
    0xCF, 0xCC, 0x60, 0x3A, 0x23, 0x40, 0x27, 0x3D, 0x22, 0xD8, 0x61, 0x62, 0x63, 0x64, 0x65, 0x66, 0x67,
    0x68, 0x69, 0xAB, 0xBB, 0xF0, 0xFD, 0xFE, 0xB1, 0xB0, 0x6A, 0x6B, 0x6C, 0x6D, 0x6E, 0x6F, 0x70, 0x71,
    0x72, 0xAA, 0xBA, 0xE6, 0xB8, 0xC6, 0xA4, 0xB5, 0x7E, 0x73, 0x74, 0x75, 0x76, 0x77, 0x78, 0x79, 0x7A,
    0xA1, 0xBF, 0xD0, 0xDD, 0xDE, 0xAE, 0x5E, 0xA3, 0xA5, 0xB7, 0xA9, 0xA7, 0xB6, 0xBC, 0xBD, 0xBE, 0x5B,
    0x5D, 0xAF, 0xA8, 0xB4, 0xD7, 0x7B, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48, 0x49, 0xAD, 0xF4,
    0xF6, 0xF2, 0xF3, 0xF5, 0x7D, 0x4A, 0x4B, 0x4C, 0x4D, 0x4E, 0x4F, 0x50, 0x51, 0x52, 0xB9, 0xFB, 0xFC,
    0xF9, 0xFA, 0xFF, 0x5C, 0xF7, 0x53, 0x54, 0x55, 0x56, 0x57, 0x58, 0x59, 0x5A, 0xB2, 0xD4, 0xD6, 0xD2,
    0xD3, 0xD5, 0x30, 0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38, 0x39, 0xB3, 0xDB, 0xDC, 0xD9, 0xDA,
    0x9F,
];

const PAGES: &[Row] = &[
    Row { number: 37, place: "United States, Canada, Brazil", euro: false, differs: &[] },
    Row {
        number: 1140,
        place: "United States, Canada, Brazil; with the euro sign",
        euro: true,
        differs: &[],
    },
    Row {
        number: 1047,
        place: "open systems: the code page of Unix System Services",
        euro: false,
        differs: &[(0x5F, 0x5E), (0xAD, 0x5B), (0xB0, 0xAC), (0xBA, 0xDD), (0xBB, 0xA8), (0xBD, 0x5D)],
    },
    Row {
        number: 500,
        place: "international",
        euro: false,
        differs: &[
            (0x4A, 0x5B),
            (0x4F, 0x21),
            (0x5A, 0x5D),
            (0x5F, 0x5E),
            (0xB0, 0xA2),
            (0xBA, 0xAC),
            (0xBB, 0x7C),
        ],
    },
    Row {
        number: 1148,
        place: "international; with the euro sign",
        euro: true,
        differs: &[
            (0x4A, 0x5B),
            (0x4F, 0x21),
            (0x5A, 0x5D),
            (0x5F, 0x5E),
            (0xB0, 0xA2),
            (0xBA, 0xAC),
            (0xBB, 0x7C),
        ],
    },
    Row {
        number: 273,
        place: "Germany, Austria",
        euro: false,
        differs: &[
            (0x43, 0x7B),
            (0x4A, 0xC4),
            (0x4F, 0x21),
            (0x59, 0x7E),
            (0x5A, 0xDC),
            (0x5F, 0x5E),
            (0x63, 0x5B),
            (0x6A, 0xF6),
            (0x7C, 0xA7),
            (0xA1, 0xDF),
            (0xB0, 0xA2),
            (0xB5, 0x40),
            (0xBA, 0xAC),
            (0xBB, 0x7C),
            (0xC0, 0xE4),
            (0xCC, 0xA6),
            (0xD0, 0xFC),
            (0xDC, 0x7D),
            (0xE0, 0xD6),
            (0xEC, 0x5C),
            (0xFC, 0x5D),
        ],
    },
    Row {
        number: 1141,
        place: "Germany, Austria; with the euro sign",
        euro: true,
        differs: &[
            (0x43, 0x7B),
            (0x4A, 0xC4),
            (0x4F, 0x21),
            (0x59, 0x7E),
            (0x5A, 0xDC),
            (0x5F, 0x5E),
            (0x63, 0x5B),
            (0x6A, 0xF6),
            (0x7C, 0xA7),
            (0xA1, 0xDF),
            (0xB0, 0xA2),
            (0xB5, 0x40),
            (0xBA, 0xAC),
            (0xBB, 0x7C),
            (0xC0, 0xE4),
            (0xCC, 0xA6),
            (0xD0, 0xFC),
            (0xDC, 0x7D),
            (0xE0, 0xD6),
            (0xEC, 0x5C),
            (0xFC, 0x5D),
        ],
    },
    Row {
        number: 278,
        place: "Finland, Sweden",
        euro: false,
        differs: &[
            (0x43, 0x7B),
            (0x47, 0x7D),
            (0x4A, 0xA7),
            (0x4F, 0x21),
            (0x51, 0x60),
            (0x5A, 0xA4),
            (0x5B, 0xC5),
            (0x5F, 0x5E),
            (0x63, 0x23),
            (0x67, 0x24),
            (0x6A, 0xF6),
            (0x79, 0xE9),
            (0x7B, 0xC4),
            (0x7C, 0xD6),
            (0x9F, 0x5D),
            (0xA1, 0xFC),
            (0xB0, 0xA2),
            (0xB5, 0x5B),
            (0xBA, 0xAC),
            (0xBB, 0x7C),
            (0xC0, 0xE4),
            (0xCC, 0xA6),
            (0xD0, 0xE5),
            (0xDC, 0x7E),
            (0xEC, 0x40),
        ],
    },
    Row {
        number: 280,
        place: "Italy",
        euro: false,
        differs: &[
            (0x44, 0x7B),
            (0x48, 0x5C),
            (0x4A, 0xB0),
            (0x4F, 0x21),
            (0x51, 0x5D),
            (0x54, 0x7D),
            (0x58, 0x7E),
            (0x5A, 0xE9),
            (0x5F, 0x5E),
            (0x6A, 0xF2),
            (0x79, 0xF9),
            (0x7B, 0xA3),
            (0x7C, 0xA7),
            (0x90, 0x5B),
            (0xA1, 0xEC),
            (0xB0, 0xA2),
            (0xB1, 0x23),
            (0xB5, 0x40),
            (0xBA, 0xAC),
            (0xBB, 0x7C),
            (0xC0, 0xE0),
            (0xCD, 0xA6),
            (0xD0, 0xE8),
            (0xDD, 0x60),
            (0xE0, 0xE7),
        ],
    },
    Row {
        number: 1144,
        place: "Italy; with the euro sign",
        euro: true,
        differs: &[
            (0x44, 0x7B),
            (0x48, 0x5C),
            (0x4A, 0xB0),
            (0x4F, 0x21),
            (0x51, 0x5D),
            (0x54, 0x7D),
            (0x58, 0x7E),
            (0x5A, 0xE9),
            (0x5F, 0x5E),
            (0x6A, 0xF2),
            (0x79, 0xF9),
            (0x7B, 0xA3),
            (0x7C, 0xA7),
            (0x90, 0x5B),
            (0xA1, 0xEC),
            (0xB0, 0xA2),
            (0xB1, 0x23),
            (0xB5, 0x40),
            (0xBA, 0xAC),
            (0xBB, 0x7C),
            (0xC0, 0xE0),
            (0xCD, 0xA6),
            (0xD0, 0xE8),
            (0xDD, 0x60),
            (0xE0, 0xE7),
        ],
    },
    Row {
        number: 284,
        place: "Spain, Latin America",
        euro: false,
        differs: &[
            (0x49, 0xA6),
            (0x4A, 0x5B),
            (0x5A, 0x5D),
            (0x69, 0x23),
            (0x6A, 0xF1),
            (0x7B, 0xD1),
            (0xA1, 0xA8),
            (0xB0, 0xA2),
            (0xBA, 0x5E),
            (0xBB, 0x21),
            (0xBD, 0x7E),
        ],
    },
    Row {
        number: 1145,
        place: "Spain, Latin America; with the euro sign",
        euro: true,
        differs: &[
            (0x49, 0xA6),
            (0x4A, 0x5B),
            (0x5A, 0x5D),
            (0x69, 0x23),
            (0x6A, 0xF1),
            (0x7B, 0xD1),
            (0xA1, 0xA8),
            (0xB0, 0xA2),
            (0xBA, 0x5E),
            (0xBB, 0x21),
            (0xBD, 0x7E),
        ],
    },
    Row {
        number: 285,
        place: "United Kingdom",
        euro: false,
        differs: &[
            (0x4A, 0x24),
            (0x5B, 0xA3),
            (0xA1, 0xAF),
            (0xB0, 0xA2),
            (0xB1, 0x5B),
            (0xBA, 0x5E),
            (0xBC, 0x7E),
        ],
    },
    Row {
        number: 1146,
        place: "United Kingdom; with the euro sign",
        euro: true,
        differs: &[
            (0x4A, 0x24),
            (0x5B, 0xA3),
            (0xA1, 0xAF),
            (0xB0, 0xA2),
            (0xB1, 0x5B),
            (0xBA, 0x5E),
            (0xBC, 0x7E),
        ],
    },
    Row {
        number: 297,
        place: "France",
        euro: false,
        differs: &[
            (0x44, 0x40),
            (0x48, 0x5C),
            (0x4A, 0xB0),
            (0x4F, 0x21),
            (0x51, 0x7B),
            (0x54, 0x7D),
            (0x5A, 0xA7),
            (0x5F, 0x5E),
            (0x6A, 0xF9),
            (0x79, 0xB5),
            (0x7B, 0xA3),
            (0x7C, 0xE0),
            (0x90, 0x5B),
            (0xA0, 0x60),
            (0xA1, 0xA8),
            (0xB0, 0xA2),
            (0xB1, 0x23),
            (0xB5, 0x5D),
            (0xBA, 0xAC),
            (0xBB, 0x7C),
            (0xBD, 0x7E),
            (0xC0, 0xE9),
            (0xD0, 0xE8),
            (0xDD, 0xA6),
            (0xE0, 0xE7),
        ],
    },
    Row {
        number: 1147,
        place: "France; with the euro sign",
        euro: true,
        differs: &[
            (0x44, 0x40),
            (0x48, 0x5C),
            (0x4A, 0xB0),
            (0x4F, 0x21),
            (0x51, 0x7B),
            (0x54, 0x7D),
            (0x5A, 0xA7),
            (0x5F, 0x5E),
            (0x6A, 0xF9),
            (0x79, 0xB5),
            (0x7B, 0xA3),
            (0x7C, 0xE0),
            (0x90, 0x5B),
            (0xA0, 0x60),
            (0xA1, 0xA8),
            (0xB0, 0xA2),
            (0xB1, 0x23),
            (0xB5, 0x5D),
            (0xBA, 0xAC),
            (0xBB, 0x7C),
            (0xBD, 0x7E),
            (0xC0, 0xE9),
            (0xD0, 0xE8),
            (0xDD, 0xA6),
            (0xE0, 0xE7),
        ],
    },
];

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
