//! Transmissions (NETDATA, made by XMIT and read by RECEIVE): segments become control records and data records.
//!
//! ```text
//! card 80 | card 80 | ...      the stream ignores where cards end
//! card 80 | card 80 | ...      the stream ignores the ends of cards
//! INMR01 { INMR02 }.. INMR03 data.. [INMR03 data..] INMR06
//! ```
//!
//! Each file has an INMR02 for every utility that RECEIVE must run, in its order, and an INMR03 before its data. A message is
//! a file of its own (INMTERM). Nothing after INMR06 is taken for segments: it is padding, or the INMR01 of another transmission at
//! the begin of a card.
//!
//! Invariant: data is not copied; a record is a range over the pieces of its segments. The readable part of a transmission that
//! is cut or wrong is returned with the fault that ended it.
//! Not here: the content of the records (`unload`), and nested transmissions (`container`).

use std::collections::HashMap;

use super::ebcdic::CodePage;
use super::source::{Pieces, ReadError, Records, Shared, Source, Stretch, Window};
use super::unit::{self, CutUnit, Key, TextUnit};
use serde::Serialize;

/// Faults of a transmission; offsets are bytes from its start.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The bytes are no transmission at all.
    #[error("does not begin with INMR01")]
    NotNetdata,
    /// A segment with an impossibly small length.
    #[error("the segment at {at} has a length of {length}, but the least is 2")]
    Segment {
        /// Where it begins.
        at: u64,
        /// Its stated length.
        length: u8,
    },
    /// The stream ends before INMR06: it was cut.
    #[error("ends at {at} without the trailer INMR06")]
    Cut {
        /// The end of the bytes.
        at: u64,
    },
    /// A segment that continues without a start, or starts within an open record.
    #[error("the segment at {at} does not fit: {what}")]
    Sequence {
        /// Where it begins.
        at: u64,
        /// The expected segment.
        what: &'static str,
    },
    /// An unknown control record.
    #[error("the control record at {at} is named {name:?}")]
    Unknown {
        /// Where its first segment begins.
        at: u64,
        /// Its name.
        name: String,
    },
    /// A control record that is too short, or longer than control records can be.
    #[error("the control record at {at} has {length} bytes")]
    Control {
        /// Where its first segment begins.
        at: u64,
        /// Bytes of all its segments.
        length: usize,
    },
    /// A control record whose text units do not end.
    #[error("in the control record at {at}: {unit}")]
    Unit {
        /// Where its first segment begins.
        at: u64,
        /// The number of the unit.
        unit: CutUnit,
    },
    /// More, or fewer, data than the INMR02 records describe.
    #[error("INMR02 records describe {described} files, INMR03 records begin {begun}")]
    Files {
        /// By INMR02.
        described: usize,
        /// By INMR03.
        begun: usize,
    },
    /// The bytes could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// The sender, from INMR01.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Header {
    /// Node it was sent from.
    pub from_node: Option<String>,
    /// User it was sent by.
    pub from_user: Option<String>,
    /// Node it was sent to.
    pub to_node: Option<String>,
    /// User it was sent to.
    pub to_user: Option<String>,
    /// When: `yyyymmddhhmmssuuuuuu`, as far as the sender wrote it.
    pub time: Option<String>,
    /// The stated number of files.
    pub files: Option<u64>,
    /// Whether the sender wants an acknowledgement.
    pub acknowledge: bool,
}

/// A step of RECEIVE for a file, in order: IEBCOPY, INMCOPY, AMSCIPHR.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Utility {
    /// Its name.
    pub name: String,
    /// Attributes of its output.
    pub attributes: Attributes,
    /// All units, also unknown ones.
    #[serde(skip)]
    pub units: Vec<TextUnit>,
}

/// Attributes of a data set, if a control record has them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Attributes {
    /// Name of the data set.
    pub name: Option<String>,
    /// Member, if one was sent.
    pub member: Option<String>,
    /// Organisation: 0x0200 partitioned, 0x4000 sequential.
    pub organisation: Option<u16>,
    /// Record format: its first byte is that of the data set's label.
    pub record_format: Option<u16>,
    /// Record length.
    pub record_length: Option<u32>,
    /// Block size.
    pub block_size: Option<u32>,
    /// Directory blocks.
    pub directory_blocks: Option<u32>,
    /// Size in bytes, about.
    pub size: Option<u64>,
    /// INMTYPE: 0x40 a program library, 0x80 a data library.
    pub kind: Option<u8>,
}

/// One file of a transmission.
#[derive(Clone, Debug, Serialize)]
pub struct File {
    /// Its number in the INMR02 records; 0 if only data was found.
    pub number: u32,
    /// Whether it is a message, not a data set.
    pub message: bool,
    /// The utilities that RECEIVE runs.
    pub utilities: Vec<Utility>,
    /// The form of its data, from INMR03.
    pub transmitted: Attributes,
    /// The data.
    #[serde(skip)]
    pub records: Records,
}

/// A transmission, as far as it could be read.
#[derive(Clone, Debug)]
pub struct Transmission {
    /// From INMR01.
    pub header: Header,
    /// In the order of their data.
    pub files: Vec<File>,
    /// The end of INMR06; None if there is none.
    pub end: Option<u64>,
    /// The faults in the rest.
    pub faults: Vec<Fault>,
}

impl File {
    /// The attributes of the sender's data set: those of the first utility, completed from the others.
    #[must_use]
    pub fn data_set(&self) -> Attributes {
        let mut whole = Attributes::default();
        for next in self.utilities.iter().map(|utility| &utility.attributes).chain([&self.transmitted]) {
            whole.fill_up(next);
        }
        whole
    }

    /// Whether RECEIVE would load it by this utility.
    #[must_use]
    pub fn uses(&self, utility: &str) -> bool {
        self.utilities.iter().any(|one| one.name == utility)
    }
}

impl Attributes {
    fn from(units: &[TextUnit], page: CodePage) -> Attributes {
        let number = |key| unit::value(units, key);
        let narrow = |key| number(key).and_then(|value| u32::try_from(value).ok());
        // RECFM has two bytes, the first of which is the label's; some senders write only that one.
        let format =
            unit::find(units, Key::Inmrecfm).and_then(|unit| match unit.values.first()?.as_slice() {
                [one] => Some(u16::from(*one) << 8),
                [high, low] => Some(u16::from_be_bytes([*high, *low])),
                _ => None,
            });
        Attributes {
            name: unit::text(units, Key::Inmdsnam, page),
            member: unit::text(units, Key::Inmmembr, page),
            organisation: number(Key::Inmdsorg).and_then(|value| u16::try_from(value).ok()),
            record_format: format,
            record_length: narrow(Key::Inmlrecl),
            block_size: narrow(Key::Inmblksz),
            directory_blocks: narrow(Key::Inmdir),
            size: number(Key::Inmsize),
            kind: number(Key::Inmtype).and_then(|value| u8::try_from(value).ok()),
        }
    }

    fn fill_up(&mut self, next: &Attributes) {
        let own = std::mem::take(self);
        *self = Attributes {
            name: own.name.or_else(|| next.name.clone()),
            member: own.member.or_else(|| next.member.clone()),
            organisation: own.organisation.or(next.organisation),
            record_format: own.record_format.or(next.record_format),
            record_length: own.record_length.or(next.record_length),
            block_size: own.block_size.or(next.block_size),
            directory_blocks: own.directory_blocks.or(next.directory_blocks),
            size: own.size.or(next.size),
            kind: own.kind.or(next.kind),
        };
    }
}

/// `INMR01` in EBCDIC; the control records differ in the last two bytes.
const INMR: [u8; 4] = [0xC9, 0xD5, 0xD4, 0xD9];
/// The most bytes of a control record: the longest that XMIT writes is far shorter.
const CONTROL_MOST: usize = 32 * 1024;

/// Whether these first bytes begin a transmission.
#[must_use]
pub fn begins(bytes: &[u8]) -> bool {
    bytes.len() >= 8
        && bytes[0] >= 8
        && bytes[1] & 0xA0 == 0xA0
        && bytes[2..6] == INMR
        && bytes[6..8] == [0xF0, 0xF1]
}

/// The start of the next transmission after one that ended here: at a card, after cards of padding only. None if there
/// is none.
#[must_use]
pub fn next(source: &dyn Source, end: u64) -> Option<u64> {
    let (mut window, mut at) = (Window::new(source), end.next_multiple_of(CARD));
    loop {
        let card = window.get(at, CARD as usize).ok()?;
        if begins(card) {
            return Some(at);
        }
        if card.iter().any(|byte| ![0, 0x40].contains(byte)) {
            return None;
        }
        at += CARD;
    }
}

/// Bytes of a card.
const CARD: u64 = 80;

/// Reads a transmission.
///
/// # Errors
/// `NotNetdata`, and `Read` if not even the first segment can be read; all other faults are in the transmission.
pub fn read(source: &Shared, page: CodePage) -> Result<Transmission, Fault> {
    let first = super::source::some(&**source, 0, 8)?;
    if !begins(&first) {
        return Err(Fault::NotNetdata);
    }
    let mut reader = Reader::new(source, page);
    reader.run();
    Ok(reader.finish())
}

/// A described file without its INMR03 so far.
struct Described {
    number: u32,
    utilities: Vec<Utility>,
}

struct Reader<'a> {
    source: &'a Shared,
    page: CodePage,
    header: Header,
    described: Vec<Described>,
    /// Their places.
    by_number: HashMap<u32, usize>,
    /// Files whose data has begun: their attributes and records.
    begun: Vec<(Attributes, Vec<Stretch>)>,
    pieces: Pieces,
    /// The start of the open data record in the pieces.
    open: Option<u64>,
    /// The start of the open control record, and its bytes so far.
    control: Option<(u64, Vec<u8>)>,
    end: Option<u64>,
    faults: Vec<Fault>,
}

impl<'a> Reader<'a> {
    fn new(source: &'a Shared, page: CodePage) -> Reader<'a> {
        Reader {
            source,
            page,
            header: Header::default(),
            described: Vec::new(),
            by_number: HashMap::new(),
            begun: Vec::new(),
            pieces: Pieces::of(source),
            open: None,
            control: None,
            end: None,
            faults: Vec::new(),
        }
    }

    fn run(&mut self) {
        let source = &**self.source;
        let (mut window, mut at) = (Window::new(source), 0);
        while self.end.is_none() {
            let (length, flags) = match window.get(at, 2) {
                Ok(head) => (head[0], head[1]),
                Err(_) => return self.faults.push(Fault::Cut { at: source.length() }),
            };
            if length < 2 {
                return self.faults.push(Fault::Segment { at, length });
            }
            let data = match window.get(at + 2, usize::from(length) - 2) {
                Ok(data) => data,
                Err(ReadError::Beyond { .. }) => return self.faults.push(Fault::Cut { at: source.length() }),
                Err(error) => return self.faults.push(error.into()),
            };
            let went_on = match flags & 0x30 {
                0x00 => self.data(at, flags, u64::from(length) - 2),
                0x20 => self.control(at, flags, data),
                // The number of the next record: RECEIVE checks it; it is not part of the data.
                _ => Ok(()),
            };
            self.faults.extend(went_on.err());
            if self.faults.len() > FAULTS_MOST {
                return;
            }
            at += u64::from(length);
            if self.end.is_some() {
                self.end = Some(at);
            }
        }
    }

    fn data(&mut self, at: u64, flags: u8, length: u64) -> Result<(), Fault> {
        let out_of_place = |what| Fault::Sequence { at, what };
        let Some((_, stretches)) = self.begun.last_mut() else {
            return Err(out_of_place("data before any INMR03"));
        };
        let start = match (flags & 0x80 != 0, self.open) {
            (true, None) => self.pieces.so_far(),
            (true, Some(_)) => {
                self.open = Some(self.pieces.so_far());
                self.pieces.add(at + 2, length);
                return Err(out_of_place("a record begins before the last one ended"));
            }
            (false, Some(start)) => start,
            (false, None) => return Err(out_of_place("a record continues that never began")),
        };
        self.pieces.add(at + 2, length);
        self.open = Some(start);
        if flags & 0x40 != 0 {
            self.open = None;
            let length = self.pieces.so_far() - start;
            let length = u32::try_from(length).map_err(|_| out_of_place("a record of more than 4 GiB"))?;
            stretches.push(Stretch { at: start, length });
        }
        Ok(())
    }

    fn control(&mut self, at: u64, flags: u8, data: &[u8]) -> Result<(), Fault> {
        if flags & 0x80 != 0 {
            self.control = Some((at, Vec::new()));
        }
        let Some((begin, record)) = &mut self.control else {
            return Err(Fault::Sequence { at, what: "a control record continues that never began" });
        };
        record.extend(data);
        if record.len() > CONTROL_MOST {
            let fault = Fault::Control { at: *begin, length: record.len() };
            self.control = None;
            return Err(fault);
        }
        if flags & 0x40 == 0 {
            return Ok(());
        }
        let (begin, record) = self.control.take().unwrap_or_default();
        self.obey(begin, &record)
    }

    fn obey(&mut self, at: u64, record: &[u8]) -> Result<(), Fault> {
        let short = Fault::Control { at, length: record.len() };
        let (name, rest) = record.split_at_checked(6).ok_or(short.clone())?;
        if name[..4] != INMR {
            return Err(Fault::Unknown { at, name: self.page.field(name) });
        }
        match name[4..] {
            [0xF0, 0xF1] => {
                let units = self.units(at, rest);
                let text = |key| unit::text(&units, key, self.page);
                self.header = Header {
                    from_node: text(Key::Inmfnode),
                    from_user: text(Key::Inmfuid),
                    to_node: text(Key::Inmtnode),
                    to_user: text(Key::Inmtuid),
                    time: text(Key::Inmftime),
                    files: unit::value(&units, Key::Inmnumf),
                    acknowledge: unit::find(&units, Key::Inmfack).is_some(),
                };
            }
            [0xF0, 0xF2] => {
                let (number, rest) = rest.split_first_chunk::<4>().ok_or(short)?;
                let number = u32::from_be_bytes(*number);
                let units = self.units(at, rest);
                let name = unit::text(&units, Key::Inmutiln, self.page).unwrap_or_default();
                let utility = Utility { name, attributes: Attributes::from(&units, self.page), units };
                let next = self.described.len();
                match self.described.get_mut(*self.by_number.entry(number).or_insert(next)) {
                    Some(file) => file.utilities.push(utility),
                    None => self.described.push(Described { number, utilities: vec![utility] }),
                }
            }
            [0xF0, 0xF3] => {
                let units = self.units(at, rest);
                self.open = None;
                self.begun.push((Attributes::from(&units, self.page), Vec::new()));
            }
            // INMR04: added by an installation's exit. INMR07: an acknowledgement, which has no data.
            [0xF0, 0xF4 | 0xF7] => {}
            [0xF0, 0xF6] => self.end = Some(at),
            _ => return Err(Fault::Unknown { at, name: self.page.field(name) }),
        }
        Ok(())
    }

    fn units(&mut self, at: u64, bytes: &[u8]) -> Vec<TextUnit> {
        let (units, fault) = unit::read(bytes);
        self.faults.extend(fault.map(|unit| Fault::Unit { at, unit }));
        units
    }

    fn finish(mut self) -> Transmission {
        if self.end.is_some() && self.open.is_some() {
            self.faults.push(Fault::Sequence {
                at: self.end.unwrap_or_default(),
                what: "the trailer comes before the end of a data record",
            });
        }
        self.described.sort_by_key(|file| file.number);
        let (described, begun) = (self.described.len(), self.begun.len());
        if self.end.is_some() && described != begun {
            self.faults.push(Fault::Files { described, begun });
        }
        let source = self.pieces.shared();
        let mut descriptions = self.described.into_iter();
        let files = self.begun.into_iter().map(|(transmitted, stretches)| {
            let description = descriptions.next();
            let (number, utilities) =
                description.map_or((0, Vec::new()), |file| (file.number, file.utilities));
            File {
                number,
                message: utilities.iter().any(|utility| unit::find(&utility.units, Key::Inmterm).is_some()),
                utilities,
                transmitted,
                records: Records { source: source.clone(), stretches: stretches.into() },
            }
        });
        Transmission { header: self.header, files: files.collect(), end: self.end, faults: self.faults }
    }
}

/// Faults that end the reading of a transmission: the bytes after them have no meaning.
const FAULTS_MOST: usize = 100;
