//! Records of DCOLLECT, transferred with their descriptors: records of type D are about data sets.
//!
//! ```text
//! length 2, zero 2 | type 2 | version 2 | system 4 | time 8 | 4 | data, by type
//! D: +24 name 44 | errors 1 | flags 3 (X'10' of the first: PDSE) | 2 | +74 DSORG 2 | RECFM 1 | extents 1 | volume 6
//!    | +84 BLKSIZE 2 | LRECL 2 | +88 allocated 4 | used 4, in KB
//! ```
//!
//! The layout is the public one of Access Method Services; later fields are not read.
//! A transfer may put a descriptor of its own before each record, or before each block:
//! four bytes of the same form, which are skipped if a record follows them.
//!
//! Invariant: a record that is used is within the file; the first record that is not ends the reading, and is named.

use super::Listed;
use crate::ebcdic::CodePage;
use crate::library::RecordFormat;
use underbar_store::library::Organisation;

/// Types of records, in EBCDIC: D, A, V, M, B, C, T with a blank, and those of two letters.
const TYPES: [&str; 19] = [
    "D ", "A ", "V ", "M ", "B ", "C ", "T ", "DC", "SC", "MC", "SG", "VL", "BC", "AG", "DR", "LB", "CN",
    "AI", "TL",
];
/// Bytes of the header.
const HEADER: usize = 24;
/// The bytes of a track of a 3390.
const TRACK: u64 = 56_664;

/// The data sets of these records, and the fault that ended the reading early; None if the first record is not one of these.
#[must_use]
pub fn read(bytes: &[u8], page: CodePage) -> Option<(Vec<Listed>, Option<String>)> {
    let (mut found, mut at, mut number) = (Vec::new(), 0, 1u64);
    while let Some((passed, record)) = next(&bytes[at..], page) {
        at += passed + record.len();
        number += 1;
        if kind(record, page) == "D " {
            found.extend(data_set(record, page));
        }
    }
    let rest = &bytes[at..];
    let ended = (!rest.is_empty()).then(|| {
        let why = match rest.first_chunk().map(|length| usize::from(u16::from_be_bytes(*length))) {
            Some(length) if length < HEADER => {
                format!("has a length of {length} bytes, which is too short")
            }
            Some(length) if length <= rest.len() => "is of an unknown type".to_owned(),
            _ => format!("is cut after {} bytes", rest.len()),
        };
        format!("record {number}, at byte {at}, {why}; this record and the rest are not read")
    });
    (at > 0).then_some((found, ended))
}

/// The most descriptors before a record: that of a block, and that of the record.
const DESCRIPTORS: usize = 2;

/// The next record, and the bytes of descriptors before it. The length of each descriptor covers its content.
fn next(bytes: &[u8], page: CodePage) -> Option<(usize, &[u8])> {
    let mut least = usize::MAX;
    for passed in (0..=DESCRIPTORS).map(|count| 4 * count) {
        let here = bytes.get(passed..)?;
        if let Some(record) = record(here, page) {
            return (record.len() < least).then_some((passed, record));
        }
        let length = usize::from(u16::from_be_bytes(*here.first_chunk()?));
        if here.get(2..4)? != [0, 0] || length >= least {
            return None;
        }
        // Its content begins after its four bytes.
        least = length.checked_sub(3)?;
    }
    None
}

fn kind(record: &[u8], page: CodePage) -> String {
    record.get(4..6).map(|kind| page.decode(kind)).unwrap_or_default()
}

fn record(bytes: &[u8], page: CodePage) -> Option<&[u8]> {
    let length = usize::from(u16::from_be_bytes(*bytes.first_chunk()?));
    let record = bytes.get(..length).filter(|record| record.len() >= HEADER)?;
    (record[2..4] == [0, 0] && TYPES.contains(&&*kind(record, page))).then_some(record)
}

fn data_set(record: &[u8], page: CodePage) -> Option<Listed> {
    let half = |at: usize| Some(u16::from_be_bytes(record.get(at..at + 2)?.try_into().ok()?));
    let word = |at: usize| Some(u32::from_be_bytes(record.get(at..at + 4)?.try_into().ok()?));
    let (flags, organisation, format) = (*record.get(69)?, half(74)?, *record.get(76)?);
    let (allocated, used) = (word(88)?, word(92)?);
    let space = u64::from(if used > 0 { used } else { allocated }) * 1024;
    let partitioned = organisation & 0x0200 != 0;
    Some(Listed {
        name: page.field(record.get(24..68)?),
        organisation: partitioned.then_some(if flags & 0x10 != 0 {
            Organisation::Pdse
        } else {
            Organisation::Pds
        }),
        record_format: Some(RecordFormat(format).to_string()),
        block_size: Some(half(84)?.into()),
        // At most 2^32 KB in tracks of 55.
        tracks: u32::try_from(space.div_ceil(TRACK)).ok(),
        volume: Some(page.field(record.get(78..84)?)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(kind: &str, name: &str, pdse: bool, organisation: u16, format: u8, size: u16) -> Vec<u8> {
        let page = CodePage::US;
        let mut record = vec![0, 0, 0, 0];
        record.extend(page.encode(kind).expect("in the page"));
        record.resize(24, 0);
        record.extend(page.filled(name, 44).expect("in the page"));
        record.extend([0, if pdse { 0x50 } else { 0x40 }, 0, 0, 0, 0]);
        record.extend(organisation.to_be_bytes());
        record.extend([format, 1]);
        record.extend(page.filled("VOL001", 6).expect("in the page"));
        record.extend(size.to_be_bytes());
        record.extend([0, 0]);
        record.extend(1_000u32.to_be_bytes());
        record.extend(500u32.to_be_bytes());
        record.resize(200, 0);
        record[1] = 200;
        record
    }

    #[test]
    fn data_sets_are_read_and_other_records_passed() {
        let bytes = [
            made("V ", "X", false, 0, 0, 0),
            made("D ", "A.LOAD", false, 0x0200, 0xC0, 6_144),
            made("D ", "A.LOAD2", true, 0x0200, 0xC0, 32_760),
            made("D ", "A.TEXT", false, 0x4000, 0x90, 27_920),
        ]
        .concat();
        let (found, ended) = read(&bytes, CodePage::US).expect("a list");
        assert_eq!(ended, None);
        assert_eq!(
            found.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(),
            ["A.LOAD", "A.LOAD2", "A.TEXT"]
        );
        assert_eq!(
            found[0],
            Listed {
                name: "A.LOAD".into(),
                organisation: Some(Organisation::Pds),
                record_format: Some("U".into()),
                block_size: Some(6_144),
                tracks: Some(10),
                volume: Some("VOL001".into()),
            }
        );
        assert_eq!((found[1].organisation, found[2].organisation), (Some(Organisation::Pdse), None));
        assert_eq!(found[2].record_format.as_deref(), Some("FB"));
        for end in 0..bytes.len() {
            let (some, ended) = read(&bytes[..end], CodePage::US).unwrap_or_default();
            assert!(found.starts_with(&some), "{end}");
            assert_eq!(ended.is_some(), end > 200 && end % 200 != 0, "{end}: {ended:?}");
        }
        assert_eq!(read(b"plain text that is long enough for a header", CodePage::US), None);
        assert_eq!(read(&[0; 100], CodePage::US), None);
    }

    #[test]
    fn the_record_that_ends_the_reading_is_named() {
        let record = |name: &str| made("D ", name, false, 0x0200, 0xC0, 6_144);
        let mut bytes = [record("A.LOAD"), record("B.LOAD"), record("C.LOAD")].concat();
        bytes[201] = 0;
        let (found, ended) = read(&bytes, CodePage::US).expect("a list");
        assert_eq!(found.len(), 1);
        assert!(ended.is_some_and(|why| why.starts_with("record 2, at byte 200, has a length of 0 bytes")));
        bytes[201] = 200;
        bytes[404] = 0;
        let (_, ended) = read(&bytes, CodePage::US).expect("a list");
        assert!(ended.is_some_and(|why| why.starts_with("record 3, at byte 400, is of an unknown type")));
        let (_, ended) = read(&bytes[..399], CodePage::US).expect("a list");
        assert!(ended.is_some_and(|why| why.starts_with("record 2, at byte 200, is cut after 199 bytes")));
    }

    #[test]
    fn descriptors_of_records_and_blocks_are_passed() {
        let record = |name: &str| made("D ", name, false, 0x0200, 0xC0, 6_144);
        let described = |bytes: Vec<u8>| {
            let length = (bytes.len() + 4) as u16;
            [&length.to_be_bytes()[..], &[0, 0], &bytes].concat()
        };
        let records = ["A.LOAD", "B.LOAD", "C.LOAD"].map(record);
        let each = records.clone().map(described).concat();
        for bytes in [
            each.clone(),
            described(records.concat()),
            [described(records[..2].concat()), described(records[2].clone())].concat(),
            described(each),
        ] {
            let (found, ended) = read(&bytes, CodePage::US).expect("a list");
            assert_eq!((found.len(), ended), (3, None));
        }
    }
}
