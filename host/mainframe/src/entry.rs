//! User data of directory entries: those of linkage editors for load modules, and those of ISPF for text.
//!
//! ```text
//! load module: TTRT 3 | 0 | TTRN 3 | NL | ATR1 ATR2 | STOR 3 | FTBL 2 | EPA 3 | FTB1 FTB2 FTB3
//!              [ scatter 8 ] [ alias: EPM 3, MNM 8 ] [ SSI 4, on a halfword ] [ APF: 1, AC ]
//! ISPF:        VV MM | flags, seconds | created 4 | changed 4, hh mm | lines, first lines, changed lines | user 8
//! ```
//!
//! Invariant: every value that is returned was there; an optional section with its flag set but no room for it is named.
//! Not here: the choice between the two, by the record format and the length (`read`), and the places of members.

use super::bytes::{be16, be24, be32, flag, packed, part};
use super::directory::{Name, Ttr};
use super::ebcdic::CodePage;
use serde::Serialize;
pub use underbar_store::library::Statistics;

/// The content of a member's user data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Details {
    /// None.
    Bare,
    /// Of a load module or program object.
    Program(Program),
    /// ISPF statistics of a text member.
    Text(Statistics),
    /// Something else; its bytes in hexadecimal.
    Other {
        /// Hexadecimal digits.
        user_data: String,
    },
}

/// User data of a load module.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Program {
    /// First text block.
    pub text: Ttr,
    /// Note list or scatter table, zero if none.
    pub notes: Ttr,
    /// Entries of the note list.
    pub note_entries: u8,
    /// ATR1, ATR2, FTB1, FTB2, FTB3, as the table of attributes names them.
    #[serde(skip)]
    pub bytes: [u8; 5],
    /// Names of the attributes that are set.
    pub attributes: Vec<&'static str>,
    /// Addressing mode of the entry point: 24, 31, 64, ANY.
    pub amode: &'static str,
    /// Residence mode: 24 or ANY.
    pub rmode: &'static str,
    /// Bytes of storage that the module needs.
    pub storage: u32,
    /// Length of the first text block.
    pub first_text: u16,
    /// Entry point, from the start of the module.
    pub entry_point: u32,
    /// Sizes of the scatter list and translation table, ESD identifiers of first text block and entry point.
    pub scatter: Option<[u16; 4]>,
    /// Of an alias: the member's entry point and the member's name.
    pub alias: Option<AliasData>,
    /// System status index.
    pub ssi: Option<u32>,
    /// Authorisation code.
    pub authorisation: Option<u8>,
    /// Sections whose flags are set, but which do not fit the length.
    pub missing: Vec<&'static str>,
}

/// The part that only aliases have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AliasData {
    /// Entry point of the member.
    pub entry_point: u32,
    /// Name of the member, without blanks.
    pub member: String,
    /// The stored name.
    #[serde(skip)]
    pub name: Name,
}

/// One attribute of a load module: its byte, its bit, its name in listings, its meaning.
pub struct Attribute {
    /// Index into [`Program::bytes`].
    pub byte: usize,
    /// Its bit.
    pub mask: u8,
    /// Its name.
    pub name: &'static str,
    /// Its meaning.
    pub meaning: &'static str,
}

const fn attribute(byte: usize, mask: u8, name: &'static str, meaning: &'static str) -> Attribute {
    Attribute { byte, mask, name, meaning }
}

/// Every attribute bit that has a name.
pub const ATTRIBUTES: &[Attribute] = &[
    attribute(0, 0x80, "RENT", "reentrant"),
    attribute(0, 0x40, "REUS", "reusable"),
    attribute(0, 0x20, "OVLY", "overlay"),
    attribute(0, 0x10, "TEST", "to be tested by TSO TEST"),
    attribute(0, 0x08, "LOAD", "only loadable"),
    attribute(0, 0x04, "SCTR", "scatter format"),
    attribute(0, 0x02, "EXEC", "executable"),
    attribute(0, 0x01, "1BLK", "one text block and no relocation"),
    attribute(1, 0x80, "FLVL", "only linkage editor F and later read it"),
    attribute(1, 0x40, "ORG0", "the first text block has the origin 0"),
    attribute(1, 0x20, "EP0", "the entry point is 0"),
    attribute(1, 0x10, "NRLD", "no relocation"),
    attribute(1, 0x08, "NREP", "not editable"),
    attribute(1, 0x04, "TSTN", "has symbols of TESTRAN"),
    attribute(1, 0x02, "LEF", "made by linkage editor F"),
    attribute(1, 0x01, "REFR", "refreshable"),
    attribute(2, 0x80, "AOS", "made by an AOS linkage editor"),
    attribute(2, 0x20, "PAGE", "page alignment"),
    attribute(2, 0x10, "SSI", "has a system status index"),
    attribute(2, 0x08, "APF", "has an authorisation code"),
    attribute(2, 0x04, "PGMOBJ", "program object"),
];

/// Bytes of the basic section of a load module's user data, which ends before FTB2 in the oldest.
const BASIC_LEAST: usize = 19;
const BASIC: usize = 21;

/// Reads user data. `undefined`: the library has records of undefined length, as libraries of programs do.
#[must_use]
pub fn read(user_data: &[u8], alias: bool, undefined: bool, page: CodePage) -> Details {
    if user_data.is_empty() {
        return Details::Bare;
    }
    let found = if undefined {
        program(user_data, alias, page).map(Details::Program)
    } else {
        statistics(user_data, page).map(Details::Text)
    };
    found.unwrap_or_else(|| Details::Other {
        user_data: user_data.iter().map(|byte| format!("{byte:02x}")).collect(),
    })
}

/// Reads the user data of a load module; None if it is too short.
#[must_use]
pub fn program(data: &[u8], alias: bool, page: CodePage) -> Option<Program> {
    if data.len() < BASIC_LEAST {
        return None;
    }
    let bytes = [data[8], data[9], flag(data, 18), flag(data, 19), flag(data, 20)];
    let mut program = Program {
        text: Ttr(be24(data, 0)?),
        notes: Ttr(be24(data, 4)?),
        note_entries: data[7],
        bytes,
        attributes: names(bytes),
        amode: ["24", "64", "31", "ANY"][usize::from(bytes[3] & 3)],
        rmode: if bytes[3] & 0x10 != 0 { "ANY" } else { "24" },
        storage: be24(data, 10)?,
        first_text: be16(data, 13)?,
        entry_point: be24(data, 15)?,
        ..Program::default()
    };
    if alias && data.len() >= BASIC {
        program.amode = ["24", "64", "31", "ANY"][usize::from(bytes[3] >> 2 & 3)];
    }
    let mut at = BASIC;
    if bytes[0] & 0x04 != 0 {
        program.scatter = part(data, at, 8).and_then(|_| {
            Some([be16(data, at)?, be16(data, at + 2)?, be16(data, at + 4)?, be16(data, at + 6)?])
        });
        program.note(program.scatter.is_some(), "scatter", &mut at, 8);
    }
    if alias {
        program.alias = be24(data, at).and_then(|entry_point| {
            let name = Name(part(data, at + 3, 8)?.try_into().ok()?);
            Some(AliasData { entry_point, member: name.text(page), name })
        });
        program.note(program.alias.is_some(), "alias", &mut at, 11);
    }
    if bytes[2] & 0x10 != 0 {
        // Offsets within the entry. The user data begins at 12, which is even: the parity is the same.
        at += at % 2;
        program.ssi = be32(data, at);
        program.note(program.ssi.is_some(), "SSI", &mut at, 4);
    }
    if bytes[2] & 0x08 != 0 {
        program.authorisation = (flag(data, at) == 1).then(|| data.get(at + 1).copied()).flatten();
        program.note(program.authorisation.is_some(), "APF", &mut at, 2);
    }
    Some(program)
}

fn names(bytes: [u8; 5]) -> Vec<&'static str> {
    let set = ATTRIBUTES.iter().filter(|one| bytes[one.byte] & one.mask != 0);
    set.map(|one| one.name).collect()
}

impl Program {
    fn note(&mut self, there: bool, section: &'static str, at: &mut usize, length: usize) {
        if there {
            *at += length;
        } else {
            self.missing.push(section);
        }
    }

    /// Whether the attribute of this name is set; false for names that the table does not have.
    #[must_use]
    pub fn is(&self, name: &str) -> bool {
        self.attributes.contains(&name)
    }
}

/// Reads ISPF statistics; None if the bytes are none.
#[must_use]
pub fn statistics(data: &[u8], page: CodePage) -> Option<Statistics> {
    if data.len() < 28 {
        return None;
    }
    let flags = data[2];
    // Counts of more than 65,535 lines follow the user, in four bytes each.
    let extended = flags & 0x20 != 0 && data.len() >= 40;
    let lines = |index: usize| {
        if extended { be32(data, 28 + 4 * index) } else { be16(data, 14 + 2 * index).map(u32::from) }
    };
    let (hours, minutes) = (packed(&data[12..13])?, packed(&data[13..14])?);
    let seconds = packed(&data[3..4])?;
    if data[0] > 99 || data[1] > 99 || hours > 23 || minutes > 59 || seconds > 59 {
        return None;
    }
    Some(Statistics {
        version: format!("{:02}.{:02}", data[0], data[1]),
        created: day(&data[4..8])?,
        changed: format!("{} {hours:02}:{minutes:02}:{seconds:02}", day(&data[8..12])?),
        lines: lines(0)?,
        first_lines: lines(1)?,
        changed_lines: lines(2)?,
        user: page.field(&data[20..28]),
    })
}

/// A packed day `0CYYDDDF` as `yyyy-mm-dd`; None if it is not a day.
#[must_use]
pub fn day(bytes: &[u8]) -> Option<String> {
    let (century, year) = (packed(bytes.first_chunk::<1>()?)?, packed(part(bytes, 1, 1)?)?);
    let days = packed(part(bytes, 2, 1)?)? * 10 + u32::from(flag(bytes, 3) >> 4);
    calendar(1900 + century * 100 + year, days)
}

/// The day of a year as `yyyy-mm-dd`; None if the year has no such day.
#[must_use]
pub fn calendar(year: u32, mut days: u32) -> Option<String> {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let months = [31, if leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    if days == 0 || year > 9999 {
        return None;
    }
    for (month, length) in (1..).zip(months) {
        if days <= length {
            return Some(format!("{year:04}-{month:02}-{days:02}"));
        }
        days -= length;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn basic(ftb: [u8; 3]) -> Vec<u8> {
        let mut data = vec![0, 1, 3, 0, 0, 0, 0, 0, 0xC3, 0xE2, 0, 0x20, 0, 0x10, 0, 0, 0, 8];
        data.extend(ftb);
        data
    }

    #[test]
    fn a_member_with_all_sections() {
        let mut data = basic([0x98, 0x12, 0]);
        data.extend([0, 0x12, 0x34, 0x56, 0x78, 0x01, 0x01]);
        // The basic section ends at 21, so a zero fills up to a halfword before the SSI.
        let program = program(&data, false, CodePage::US).unwrap();
        assert_eq!((program.text, program.storage, program.first_text), (Ttr(0x000103), 0x2000, 0x1000));
        assert_eq!(
            (program.entry_point, program.ssi, program.authorisation),
            (8, Some(0x1234_5678), Some(1))
        );
        assert_eq!((program.amode, program.rmode), ("31", "ANY"));
        assert!(program.is("RENT") && program.is("1BLK") && program.is("EP0") && !program.is("PGMOBJ"));
        assert_eq!(program.missing, [""; 0]);
    }

    #[test]
    fn the_alias_of_the_facts() {
        let mut data = basic([0x88, 0x00, 0]);
        data.extend([0, 0, 0, 0xD4, 0xE8, 0xD7, 0xD9, 0xD6, 0xC7, 0x40, 0x40, 1, 1]);
        let program = program(&data, true, CodePage::US).unwrap();
        assert_eq!(program.alias.as_ref().unwrap().member, "MYPROG");
        assert_eq!(program.authorisation, Some(1));
        assert_eq!(data.len(), 34);
    }

    #[test]
    fn sections_that_flags_promise_and_the_length_denies_are_named() {
        let program = program(&basic([0x18, 0, 0]), true, CodePage::US).unwrap();
        assert_eq!(program.missing, ["alias", "SSI", "APF"]);
        for end in 0..BASIC {
            let whole = basic([0x18, 0, 0]);
            let details = read(&whole[..end], true, true, CodePage::US);
            assert_eq!(matches!(details, Details::Program(_)), end >= BASIC_LEAST, "{end}");
        }
    }

    #[test]
    fn statistics_short_and_extended() {
        let mut data = vec![1, 0, 0, 0x17, 0x01, 0x21, 0x06, 0x8F, 0x01, 0x21, 0x06, 0x8F, 0x00, 0x11];
        data.extend([0, 0x53, 0, 0x52, 0, 1, 0xC8, 0xC5, 0xD9, 0xC3, 0xF0, 0xF1, 0x40, 0x40, 0x40, 0x40]);
        let Details::Text(short) = read(&data, false, false, CodePage::US) else { panic!("no statistics") };
        assert_eq!((short.version.as_str(), short.created.as_str()), ("01.00", "2021-03-09"));
        assert_eq!(short.changed, "2021-03-09 00:11:17");
        assert_eq!((short.lines, short.first_lines, short.changed_lines), (83, 82, 1));
        assert_eq!(short.user, "HERC01");
        data[2] = 0x20;
        data.truncate(28);
        data.extend([0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0]);
        let long = statistics(&data, CodePage::US).unwrap();
        assert_eq!((long.lines, long.first_lines, long.changed_lines), (0x1_0000, 0x2_0000, 0x3_0000));
    }

    #[test]
    fn bytes_that_are_no_statistics_are_shown_as_they_are() {
        let details = read(&[0xAB; 30], false, false, CodePage::US);
        assert_eq!(details, Details::Other { user_data: "ab".repeat(30) });
        assert_eq!(read(&[], false, false, CodePage::US), Details::Bare);
        assert_eq!(day(&[0x01, 0x21, 0x36, 0x6F]), None, "2021 has no day 366");
        assert_eq!(day(&[0x01, 0x20, 0x36, 0x6F]).as_deref(), Some("2020-12-31"));
        assert_eq!(calendar(1900, 60).as_deref(), Some("1900-03-01"));
    }

    #[test]
    fn attribute_bits_are_listed_once() {
        for one in ATTRIBUTES {
            let same = ATTRIBUTES.iter().filter(|other| other.name == one.name);
            assert_eq!(same.count(), 1, "{}", one.name);
            let same = ATTRIBUTES.iter().filter(|other| (other.byte, other.mask) == (one.byte, one.mask));
            assert_eq!(same.count(), 1, "{}", one.meaning);
        }
    }
}
