//! Standard labels of tapes, in EBCDIC or ASCII: the data set in each file of a tape, and the records in its blocks.
//!
//! ```text
//! VOL1 .. HDR1 HDR2 | mark | data | mark | EOF1 EOF2 | mark | HDR1 ...
//! EOV1 in place of EOF1: the data set continues on the next volume, after a HDR1 that counts its part
//! ```
//!
//! Invariant: a file without labels is returned as it is, without a fault.
//! Not here: the meaning of the data (`container`).

use super::ebcdic::CodePage;
use super::entry::calendar;
use super::library::RecordFormat;
use super::source::Records;
use serde::Serialize;

/// One data set of a tape.
#[derive(Clone, Debug, Serialize)]
pub struct File {
    /// Number of the tape's file, from 1, labels included.
    pub number: usize,
    /// Name; a tape keeps its last 17 characters.
    pub name: Option<String>,
    /// Day of creation.
    pub created: Option<String>,
    /// RECFM.
    pub record_format: Option<RecordFormat>,
    /// LRECL.
    pub record_length: Option<u32>,
    /// BLKSIZE.
    pub block_size: Option<u32>,
    /// The block count of its trailer; None if the tape was cut before it.
    pub blocks_said: Option<u32>,
    /// The number of this part of the data set, from 1; more than 1 if it begins on another volume.
    pub part: u32,
    /// Whether it continues on the next volume.
    pub goes_on: bool,
    /// The blocks.
    #[serde(skip)]
    pub records: Records,
}

/// A tape by its labels.
#[derive(Clone, Debug, Default)]
pub struct Labelled {
    /// Serial of the volume, if it has one.
    pub serial: Option<String>,
    /// Its data sets.
    pub files: Vec<File>,
}

/// The labels show that a data set is incomplete or different.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// A trailer that disagrees with the data.
    #[error("file {number} has {there} blocks, but its label has {says}")]
    Blocks {
        /// Number of the tape's file.
        number: usize,
        /// Blocks found.
        there: usize,
        /// Blocks by EOF1.
        says: u32,
    },
    /// Its rest is on another volume.
    #[error("file {number} continues on another volume: the rest is not read")]
    GoesOn {
        /// Number of the tape's file.
        number: usize,
    },
    /// Its beginning is on another volume.
    #[error(
        "file {number} is part {part} of a data set that begins on another volume: the earlier part is not read"
    )]
    Begun {
        /// Number of the tape's file.
        number: usize,
        /// The number of the part.
        part: u32,
    },
}

/// Finds labels among the files of a tape.
#[must_use]
pub fn read(files: Vec<Records>, page: CodePage) -> Labelled {
    let (mut tape, mut header) = (Labelled::default(), None);
    for (index, records) in files.into_iter().enumerate() {
        let labels = labels(&records, page);
        if labels.is_empty() {
            let mut file: File = header.take().unwrap_or_else(|| File::empty(&records));
            file.number = index + 1;
            file.records = records;
            tape.files.push(file);
            continue;
        }
        for label in labels {
            match &label[..4] {
                "VOL1" => tape.serial = Some(field(&label, 4, 6)),
                "HDR1" => {
                    let mut file = File::empty(&records);
                    file.name = Some(field(&label, 4, 17));
                    file.created = created(&label[41..47]);
                    file.part = field(&label, 27, 4).parse().unwrap_or(1);
                    header = Some(file);
                }
                "HDR2" => {
                    if let Some(file) = &mut header {
                        file.record_format = Some(format(label.as_bytes()));
                        file.block_size = field(&label, 5, 5).parse().ok();
                        file.record_length = field(&label, 10, 5).parse().ok();
                    }
                }
                "EOF1" | "EOV1" => {
                    if let Some(file) = tape.files.last_mut() {
                        file.blocks_said = field(&label, 54, 6).parse().ok();
                        file.goes_on = label.starts_with("EOV");
                    }
                }
                _ => {}
            }
        }
    }
    tape
}

impl Labelled {
    /// Incomplete files, and those whose trailer counts other blocks.
    #[must_use]
    pub fn faults(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        for file in &self.files {
            let number = file.number;
            if file.part > 1 {
                faults.push(Fault::Begun { number, part: file.part });
            }
            // Six digits: the count begins again after a million.
            let there = file.records.count();
            let says = file.blocks_said.filter(|says| there % 1_000_000 != *says as usize);
            faults.extend(says.map(|says| Fault::Blocks { number, there, says }));
            if file.goes_on {
                faults.push(Fault::GoesOn { number });
            }
        }
        faults
    }
}

impl File {
    fn empty(like: &Records) -> File {
        File {
            number: 0,
            name: None,
            created: None,
            record_format: None,
            record_length: None,
            block_size: None,
            blocks_said: None,
            part: 1,
            goes_on: false,
            records: Records { source: like.source.clone(), stretches: Default::default() },
        }
    }
}

/// Does this block begin the labels that follow a data set, in EBCDIC or ASCII?
#[must_use]
pub fn is_trailer(block: &[u8]) -> bool {
    // The same in every code page of EBCDIC.
    const EBCDIC: [[u8; 4]; 2] = [[0xC5, 0xD6, 0xC6, 0xF1], [0xC5, 0xD6, 0xE5, 0xF1]];
    const ASCII: [[u8; 4]; 2] = [*b"EOF1", *b"EOV1"];
    block.len() == 80 && EBCDIC.iter().chain(&ASCII).any(|start| block.starts_with(start))
}

/// The blocks of a file as labels, if it holds nothing else: 80 characters each.
fn labels(records: &Records, page: CodePage) -> Vec<String> {
    const KNOWN: [&str; 4] = ["VOL", "HDR", "EOF", "EOV"];
    const USERS: [&str; 2] = ["UHL", "UTL"];
    if records.count() > 20 || records.stretches.iter().any(|one| one.length != 80) {
        return Vec::new();
    }
    let mut found = Vec::new();
    for index in 0..records.count() {
        let text: String = match records.read(index) {
            // A label has no characters outside of ASCII; they would make its columns uncertain.
            Ok(bytes) => {
                let is_ascii = KNOWN.iter().chain(&USERS).any(|known| bytes.starts_with(known.as_bytes()));
                let text = if is_ascii {
                    bytes.iter().map(|byte| char::from(*byte)).collect()
                } else {
                    page.decode(&bytes)
                };
                text.chars().map(|one| if one.is_ascii() { one } else { '?' }).collect()
            }
            Err(_) => return Vec::new(),
        };
        let user = USERS.iter().any(|user| text.starts_with(user));
        if !(KNOWN.iter().any(|known| text.starts_with(known)) || user && !found.is_empty()) {
            return Vec::new();
        }
        found.push(text);
    }
    found
}

/// Columns of a label, without blanks.
fn field(label: &str, at: usize, length: usize) -> String {
    label[at..at + length].trim().to_owned()
}

/// RECFM of HDR2: a letter, and whether blocks are spanned.
fn format(label: &[u8]) -> RecordFormat {
    let kind = match label[4] {
        b'F' => 0x80,
        b'V' => 0x40,
        b'U' => 0xC0,
        _ => 0,
    };
    let blocks = match label[38] {
        b'B' => 0x10,
        b'S' => 0x08,
        b'R' => 0x18,
        _ => 0,
    };
    let control = match label[36] {
        b'A' => 0x04,
        b'M' => 0x02,
        _ => 0,
    };
    RecordFormat(kind | blocks | control)
}

/// `cyyddd`: a blank century is that of 1900, `0` that of 2000. Old systems went on writing blanks after 2000, and no tape
/// was written before 1960.
fn created(text: &str) -> Option<String> {
    let century = match text.as_bytes().first()? {
        b' ' if text.get(1..3)? < "60" => 2000,
        b' ' => 1900,
        digit => 2000 + 100 * u32::from(digit.checked_sub(b'0').filter(|digit| *digit < 10)?),
    };
    calendar(century + text.get(1..3)?.parse::<u32>().ok()?, text.get(3..6)?.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::super::inflate::Method;
    use super::super::source::Memory;
    use super::super::tape;
    use super::*;

    fn label(text: &str) -> Vec<u8> {
        CodePage::US.filled(text, 80).unwrap()
    }

    #[test]
    fn a_labelled_tape_names_its_data_sets() {
        let labels = [
            label("VOL1XMILIB"),
            label("HDR1PYTHON.XMI.PDS   XMILIB00010001       21068000000"),
            label("HDR2F032000008000000                  B"),
            label("EOF1PYTHON.XMI.PDS   XMILIB00010001       21068000000000002"),
        ];
        let data = vec![0x40; 3200];
        let blocks = [
            Some(labels[0].as_slice()),
            Some(&labels[1]),
            Some(&labels[2]),
            None,
            Some(&data),
            None,
            Some(&labels[3]),
            None,
            Some(&data),
            None,
            None,
        ];
        let image = tape::write(&blocks, Method::Plain, 65_535);
        let files = tape::read(&Memory::shared(image), 0).unwrap().files;
        let tape = read(files, CodePage::US);
        assert_eq!(tape.serial.as_deref(), Some("XMILIB"));
        assert_eq!(tape.files.len(), 2);
        let first = &tape.files[0];
        assert_eq!((first.number, first.name.as_deref()), (2, Some("PYTHON.XMI.PDS")));
        assert_eq!(first.record_format, Some(RecordFormat(0x90)));
        assert_eq!((first.block_size, first.record_length), (Some(3200), Some(80)));
        assert_eq!(tape.faults(), [Fault::Blocks { number: 2, there: 1, says: 2 }]);
        assert_eq!(tape.files[1].name, None, "no header stood before it");
    }

    #[test]
    fn a_data_set_on_several_volumes_and_labels_in_ascii() {
        let (data, ascii) = ([0x40; 80], |text: &str| format!("{text:<80}").into_bytes());
        for label in [label as fn(&str) -> Vec<u8>, ascii] {
            let labels = [
                label("VOL1SECOND"),
                label("HDR1MY.LOAD          FIRST 00020001       21068000000"),
                label("EOV1MY.LOAD          FIRST 00020001       21068000000000001"),
            ];
            let blocks = [
                Some(&labels[0][..]),
                Some(&labels[1]),
                None,
                Some(&data),
                None,
                Some(&labels[2]),
                None,
                None,
            ];
            let image = tape::write(&blocks, Method::Plain, 65_535);
            let tape = read(tape::read(&Memory::shared(image), 0).unwrap().files, CodePage::US);
            assert_eq!(tape.serial.as_deref(), Some("SECOND"));
            assert_eq!((tape.files.len(), tape.files[0].name.as_deref()), (1, Some("MY.LOAD")));
            assert_eq!(tape.faults(), [Fault::Begun { number: 2, part: 2 }, Fault::GoesOn { number: 2 }]);
        }
    }

    #[test]
    fn centuries() {
        assert_eq!(created(" 21068").as_deref(), Some("2021-03-09"));
        assert_eq!(created(" 85001").as_deref(), Some("1985-01-01"));
        assert_eq!(created("021068").as_deref(), Some("2021-03-09"));
        assert_eq!(created("      "), None);
        assert_eq!(created(""), None);
    }
}
