//! Lists of data sets from a site: data about libraries that are elsewhere.
//!
//! ```text
//! dcollect  records of DCOLLECT, binary           everything but members
//! ispf      ISPF 3.4, printed or saved            everything but members
//! listcat   LISTCAT and LISTDS of TSO             LISTCAT: names and volumes only; LISTDS: the label
//! ```
//!
//! Invariant: the label gives the meaning of a value, anywhere on the line; a value that a list lacks is None.
//! Not here: libraries themselves (`mainframe`).

pub mod dcollect;
pub mod ispf;
pub mod listcat;

use crate::ebcdic::CodePage;
use underbar_store::library::Organisation;
use underbar_store::survey::Source;

/// One data set of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listed {
    /// Its name.
    pub name: String,
    /// Its organisation; None if it is not partitioned, or the list does not show it.
    pub organisation: Option<Organisation>,
    /// RECFM.
    pub record_format: Option<String>,
    /// BLKSIZE.
    pub block_size: Option<u32>,
    /// Its allocated tracks, as in the list; for DCOLLECT, which has KB, those in use as tracks of a 3390.
    pub tracks: Option<u32>,
    /// Its volume.
    pub volume: Option<String>,
}

/// A list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct List {
    /// The program that made it.
    pub kind: &'static str,
    /// Its data sets.
    pub data_sets: Vec<Listed>,
    /// The fault that ended the reading before the end of the list.
    pub ended: Option<String>,
}

/// Reads a list; None if its format is unknown.
#[must_use]
pub fn read(bytes: &[u8], page: CodePage) -> Option<List> {
    let list = |kind| move |data_sets: Vec<Listed>| List { kind, data_sets, ended: None };
    if let Some((data_sets, ended)) = dcollect::read(bytes, page) {
        return Some(List { kind: "DCOLLECT", data_sets, ended });
    }
    let text = String::from_utf8_lossy(bytes.get(..bytes.len().min(MOST))?);
    listcat::read(&text).map(list("LISTCAT")).or_else(|| ispf::read(&text).map(list("ISPF 3.4")))
}

/// The block sizes that a data set on a disk can have.
const SMALLEST: u32 = 18;
const LARGEST: u32 = 32_760;

/// The most bytes of text read of a list.
const MOST: usize = 256 << 20;

impl Listed {
    /// In the form for a survey; None unless it is a library of programs with a known block size.
    #[must_use]
    pub fn source(&self) -> Option<Source> {
        if self.wrong_block_size().is_some() {
            return None;
        }
        let is_undefined = self.record_format.as_ref().is_some_and(|format| format.starts_with('U'));
        Some(Source {
            name: self.name.clone(),
            organisation: self.organisation.filter(|_| is_undefined)?,
            block_size: self.block_size.filter(|size| *size > 0)?,
            tracks: self.tracks,
            compressed: None,
            directory_blocks: 0,
            directory_allocated: 0,
            members: 0,
            aliases: 0,
            free_pages: None,
            shapes: Vec::new(),
            listed: true,
        })
    }

    /// Its block size, if no data set can have it: such a figure was misread, or mistyped.
    #[must_use]
    pub fn wrong_block_size(&self) -> Option<u32> {
        self.block_size.filter(|size| *size > 0 && !(SMALLEST..=LARGEST).contains(size))
    }

    /// Adds the data of another list, or another screen, about the same data set. In a contradiction the first
    /// value is kept, and the contradiction is reported.
    pub fn join(&mut self, other: Listed) -> Vec<String> {
        let mut said = Vec::new();
        let mut differ = |what: &str, first: String, then: String| {
            said.push(format!("{}: {what} {first} and {then}; the first counts", self.name));
        };
        match (self.organisation, other.organisation) {
            (Some(first), Some(then)) if first != then => {
                differ("organisation", first.text().to_owned(), then.text().to_owned());
            }
            (first, then) => self.organisation = first.or(then),
        }
        match (&self.record_format, other.record_format) {
            (Some(first), Some(then)) if *first != then => differ("RECFM", first.clone(), then),
            (None, then) => self.record_format = then,
            _ => {}
        }
        for (what, first, then) in [
            ("block size", &mut self.block_size, other.block_size),
            ("tracks", &mut self.tracks, other.tracks),
        ] {
            match (*first, then) {
                (Some(first), Some(then)) if first != then => {
                    differ(what, first.to_string(), then.to_string());
                }
                (_, then) => *first = first.or(then),
            }
        }
        self.volume = self.volume.take().or(other.volume);
        said
    }

    /// Whether it can be the same data set: of the same name, and not on another known volume.
    #[must_use]
    pub fn is_same(&self, other: &Listed) -> bool {
        let elsewhere = self.volume.as_ref().zip(other.volume.as_ref()).is_some_and(|(one, two)| one != two);
        self.name == other.name && !elsewhere
    }

    /// Whether only its name and volume are known.
    #[must_use]
    pub fn is_name_only(&self) -> bool {
        self.record_format.is_none() && self.block_size.is_none() && self.organisation.is_none()
    }
}

/// DSORG in the form of lists: PO, PO-E, POU; LIBRARY means PO-E.
fn organisation(text: &str) -> Option<Organisation> {
    match text {
        "PO-E" | "POE" | "LIBRARY" => Some(Organisation::Pdse),
        "PO" | "POU" | "PO-U" | "PDS" => Some(Organisation::Pds),
        _ => None,
    }
}

/// Is this the name of a data set? Qualifiers of one to eight characters, 44 in all.
fn is_data_set_name(text: &str) -> bool {
    let is_qualifier = |part: &str| {
        (1..=8).contains(&part.len())
            && part
                .bytes()
                .all(|one| one.is_ascii_uppercase() || one.is_ascii_digit() || b"$#@-".contains(&one))
            && !part.as_bytes()[0].is_ascii_digit()
            && part.as_bytes()[0] != b'-'
    };
    text.len() <= 44 && text.split('.').all(is_qualifier)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_data_sets() {
        for good in ["SYS1.LINKLIB", "A", "$A.B#C.@D-E"] {
            assert!(is_data_set_name(good), "{good}");
        }
        for bad in ["", "a.b", "A..B", "1A.B", "-A", "ABCDEFGHI.J", "A B", "A.B(C)", &"A.".repeat(30)] {
            assert!(!is_data_set_name(bad), "{bad}");
        }
    }

    #[test]
    fn one_data_set_of_two_screens_is_joined_and_contradictions_are_said() {
        let first = Listed { name: "A.LOAD".into(), tracks: Some(600), ..Listed::default() };
        let then = Listed {
            name: "A.LOAD".into(),
            organisation: Some(Organisation::Pds),
            record_format: Some("U".into()),
            block_size: Some(6_144),
            ..Listed::default()
        };
        let mut joined = first.clone();
        assert!(joined.is_same(&then) && joined.join(then.clone()).is_empty());
        let source = joined.source().expect("a library of programs");
        assert_eq!((source.tracks, source.block_size), (Some(600), 6_144));
        assert_eq!(then.source().map(|source| source.tracks), Some(None), "unknown is not 0");
        let said = joined.join(Listed { block_size: Some(32_760), ..then.clone() });
        assert_eq!(said, ["A.LOAD: block size 6144 and 32760; the first counts"]);
        assert_eq!(joined.block_size, Some(6_144));
        let on = |volume: &str| Listed { volume: Some(volume.into()), ..then.clone() };
        assert!(!on("A").is_same(&on("B")) && on("A").is_same(&then));
        for size in [1, 17, 32_761, 99_999] {
            let wrong = Listed { block_size: Some(size), ..then.clone() };
            assert!(wrong.source().is_none() && wrong.wrong_block_size() == Some(size));
        }
    }

    #[test]
    fn only_libraries_of_programs_are_surveyed() {
        let one = Listed {
            name: "A.LOAD".into(),
            organisation: Some(Organisation::Pds),
            record_format: Some("U".into()),
            block_size: Some(6_144),
            ..Listed::default()
        };
        assert_eq!(one.source().map(|source| source.block_size), Some(6_144));
        for other in [
            Listed { organisation: None, ..one.clone() },
            Listed { record_format: Some("FB".into()), ..one.clone() },
            Listed { block_size: None, ..one.clone() },
        ] {
            assert!(other.source().is_none(), "{other:?}");
        }
        assert!(read(b"no list at all\n", CodePage::US).is_none());
        assert!(read(b"", CodePage::US).is_none());
    }
}
