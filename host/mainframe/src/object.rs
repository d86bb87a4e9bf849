//! The image of a program object (`IEWPLMH`), as far as its sections are known: there is no public description.
//!
//! ```text
//! eyecatcher 8 | header length 4 | version 1, zero 3 | total 4 | sections 4 | { id 2, zero 2, offset 4, length 4 } ..
//! ```
//!
//! Invariant: a section that is returned is within the total length, which is at most that of the image.
//! Not here: the content of text and binder data.

use super::bytes::{be16, be32, flag, part};
use super::ebcdic::CodePage;
use super::source::{ReadError, Source, some};
use serde::Serialize;

/// Faults of the image of a program object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// It does not begin with the eyecatcher.
    #[error("does not begin with IEWPLMH")]
    NotObject,
    /// The header is cut, or has impossible lengths.
    #[error("the header has {says} for {what}, but there are {there}")]
    Header {
        /// Which field.
        what: &'static str,
        /// Its value.
        says: u64,
        /// The bytes available.
        there: u64,
    },
    /// A section outside of the image.
    #[error("section {id} at {offset} with {length} bytes is not within the {total} bytes of the image")]
    Section {
        /// Its number.
        id: u16,
        /// Its stated start.
        offset: u32,
        /// Its length.
        length: u32,
        /// Bytes of the image.
        total: u32,
    },
    /// The bytes could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// One section.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Section {
    /// Its number.
    pub id: u16,
    /// Its meaning, if it is known.
    pub what: &'static str,
    /// Its eyecatcher, if it has one.
    pub eyecatcher: Option<String>,
    /// Where it begins.
    pub offset: u32,
    /// Bytes.
    pub length: u32,
}

/// The summary of a program object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Object {
    /// Format version.
    pub version: u8,
    /// Bytes in all, whole pages.
    pub total: u32,
    /// The name stored in it.
    pub name: Option<String>,
    /// Sections.
    pub sections: Vec<Section>,
    /// Bytes that are loaded: the rest is for the binder.
    pub loadable: u32,
}

/// Section numbers whose meaning was found in builds of one program by six compilers.
const KNOWN: &[(u16, &str)] = &[
    (1, "header"),
    (2, "member name"),
    (3, "member attributes (PMAR)"),
    (4, "attribute table"),
    (5, "relocation"),
    (6, "index"),
    (7, "loadable text"),
    (8, "binder data"),
];

/// `IEWPLMH `.
const EYECATCHER: [u8; 8] = [0xC9, 0xC5, 0xE6, 0xD7, 0xD3, 0xD4, 0xC8, 0x40];
/// The most sections of an image; real ones have 8.
const SECTIONS_MOST: u32 = 256;

/// Whether these first bytes begin a program object.
#[must_use]
pub fn begins(bytes: &[u8]) -> bool {
    bytes.starts_with(&EYECATCHER)
}

/// Reads the sections, and the faults of unreadable ones.
///
/// # Errors
/// If it is no program object, or its header cannot be used.
pub fn read(source: &dyn Source, page: CodePage) -> Result<(Object, Vec<Fault>), Fault> {
    let head = some(source, 0, 24 + 12 * u64::from(SECTIONS_MOST))?;
    if !begins(&head) {
        return Err(Fault::NotObject);
    }
    let field = |at, what| be32(&head, at).ok_or(Fault::Header { what, says: 4, there: head.len() as u64 });
    let (total, count) = (field(16, "total length")?, field(20, "sections")?);
    if u64::from(total) > source.length() {
        return Err(Fault::Header { what: "total length", says: total.into(), there: source.length() });
    }
    if count > SECTIONS_MOST {
        return Err(Fault::Header { what: "sections", says: count.into(), there: SECTIONS_MOST.into() });
    }
    let mut object = Object { version: flag(&head, 12), total, ..Object::default() };
    let mut faults = Vec::new();
    for at in (0..count as usize).map(|index| 24 + 12 * index) {
        let (Some(id), Some(offset), Some(length)) =
            (be16(&head, at), be32(&head, at + 4), be32(&head, at + 8))
        else {
            faults.push(Fault::Header { what: "sections", says: count.into(), there: (at as u64 - 24) / 12 });
            break;
        };
        if offset.checked_add(length).is_none_or(|end| end > total) {
            faults.push(Fault::Section { id, offset, length, total });
            continue;
        }
        let start = some(source, offset.into(), length.min(8).into())?;
        match id {
            2 => object.name = Some(page.field(&start)),
            7 => object.loadable = length,
            _ => {}
        }
        let eyecatcher =
            part(&start, 0, 3).filter(|start| page.decode(start) == "IEW").map(|_| page.field(&start));
        let what = KNOWN.iter().find(|(known, _)| *known == id).map_or("unknown", |(_, what)| what);
        object.sections.push(Section { id, what, eyecatcher, offset, length });
    }
    Ok((object, faults))
}

#[cfg(test)]
mod tests {
    use super::super::source::Memory;
    use super::*;

    fn image() -> Vec<u8> {
        let mut bytes = EYECATCHER.to_vec();
        bytes.extend([0, 0, 0, 0x78, 3, 0, 0, 0, 0, 0, 0x20, 0, 0, 0, 0, 3]);
        for (id, offset, length) in [(2_u16, 0x8C_u32, 8_u32), (4, 0x11C, 40), (7, 0x1000, 0x800)] {
            bytes.extend(id.to_be_bytes());
            bytes.extend([0, 0]);
            bytes.extend(offset.to_be_bytes());
            bytes.extend(length.to_be_bytes());
        }
        bytes.resize(0x2000, 0);
        bytes[0x8C..0x94].copy_from_slice(&CodePage::US.filled("SAMOS1", 8).unwrap());
        bytes[0x11C..0x124].copy_from_slice(&CodePage::US.filled("IEWPRAT", 8).unwrap());
        bytes
    }

    fn check(bytes: Vec<u8>) -> Result<(Object, Vec<Fault>), Fault> {
        read(&*Memory::shared(bytes), CodePage::US)
    }

    #[test]
    fn sections_and_name() {
        let (object, faults) = check(image()).unwrap();
        assert_eq!(faults, []);
        assert_eq!((object.version, object.total, object.loadable), (3, 0x2000, 0x800));
        assert_eq!(object.name.as_deref(), Some("SAMOS1"));
        assert_eq!(object.sections[1].eyecatcher.as_deref(), Some("IEWPRAT"));
        assert_eq!(object.sections[2].what, "loadable text");
    }

    #[test]
    fn cuts_and_lies_are_named() {
        for end in (0..0x2000).step_by(7) {
            assert!(check(image()[..end].to_vec()).is_err(), "{end}");
        }
        let mut many = image();
        many[20] = 1;
        assert!(matches!(check(many), Err(Fault::Header { what: "sections", .. })));
        let mut beyond = image();
        beyond[28] = 0xFF;
        assert!(matches!(check(beyond).unwrap().1[..], [Fault::Section { id: 2, .. }]));
        for bit in 0..200 * 8 {
            let mut flipped = image();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let _ = check(flipped);
        }
    }
}
