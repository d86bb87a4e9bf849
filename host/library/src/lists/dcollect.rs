//! Records of DCOLLECT, as they are transferred with their descriptors: of each, those of type D tell of a data set.
//!
//! ```text
//! length 2, zero 2 | type 2 | version 2 | system 4 | time 8 | 4 | data, by type
//! D: +24 name 44 | errors 1 | flags 3 (X'10' of the first: PDSE) | 2 | +74 DSORG 2 | RECFM 1 | extents 1 | volume 6
//!    | +84 BLKSIZE 2 | LRECL 2 | +88 allocated 4 | used 4, in KB
//! ```
//!
//! The layout is the public one of Access Method Services; fields behind these are not read.
//! Invariant: a record that is used lies within the file; the first that does not ends the reading.

use super::Listed;
use crate::mainframe::ebcdic::CodePage;
use crate::mainframe::library::RecordFormat;
use underbar_store::library::Organisation;

/// Types of records, in EBCDIC: D, A, V, M, B, C, T with a blank, and those of two letters.
const TYPES: [&str; 19] = [
    "D ", "A ", "V ", "M ", "B ", "C ", "T ", "DC", "SC", "MC", "SG", "VL", "BC", "AG", "DR", "LB", "CN",
    "AI", "TL",
];
/// Bytes of the header.
const HEADER: usize = 24;
/// A track of a 3390 holds so many bytes.
const TRACK: u64 = 56_664;

/// The data sets of these records; None where the first record is none.
#[must_use]
pub fn read(bytes: &[u8], page: CodePage) -> Option<Vec<Listed>> {
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(record) = record(bytes.get(at..)?, page) {
        at += record.len();
        if kind(record, page) == "D " {
            found.extend(data_set(record, page));
        }
    }
    (at > 0).then_some(found)
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
        let found = read(&bytes, CodePage::US).expect("a list");
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
            let some = read(&bytes[..end], CodePage::US).unwrap_or_default();
            assert!(found.starts_with(&some), "{end}");
        }
        assert_eq!(read(b"plain text that is long enough for a header", CodePage::US), None);
        assert_eq!(read(&[0; 100], CodePage::US), None);
    }
}
