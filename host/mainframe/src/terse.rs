//! AMATERSE files, both methods: codes of 12 bits become records.
//!
//! ```text
//! method 1 | variable 1 | record length 2 | flags 1 | ratio 1 | block size 2 | record length 4 | codes of 12 bits ...
//! 02 PACK, 05 SPACK;  code 0 ends, 1..=256 a byte, 257 the end of a record, 258..=4095 an entry of the table
//! ```
//!
//! A partitioned data set is unloaded by IEBCOPY before it is packed: the unpacked data is an unload.
//!
//! Invariant: output is at most the caller's limit, and every step of decoding either reads a code or writes a byte, or
//! is one of at most 4,096 in a row that do neither.
//! Not here: the native form of the workstation programs (methods 01 and 07).

mod pack;
mod spack;

use super::bytes::{be16, be32};
use super::library::RecordFormat;
use super::source::{Memory, ReadError, Records, Shared, Stretch, Window, some};

/// Faults of an AMATERSE file; offsets are bytes from its start.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The header is not that of AMATERSE.
    #[error("does not begin with the header of an AMATERSE file")]
    NotTerse,
    /// A code that the table cannot have at this place.
    #[error("the code {code} at {at} is not valid there")]
    Code {
        /// Where its bits begin.
        at: u64,
        /// The code.
        code: u16,
    },
    /// The file ends without its end code.
    #[error("ends at {at} without an end code")]
    Cut {
        /// The end of the bytes.
        at: u64,
    },
    /// More output than the limit.
    #[error("unpacks to more than {most} bytes, at {at} of the file")]
    TooLong {
        /// The bytes read so far.
        at: u64,
        /// The limit.
        most: u64,
    },
    /// The bytes could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// The method of packing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// PACK.
    Pack,
    /// SPACK.
    Spack,
}

/// The header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Method.
    pub method: Method,
    /// RECFM of the packed data set, as far as the flags give it.
    pub record_format: RecordFormat,
    /// LRECL.
    pub record_length: u32,
    /// BLKSIZE; 0 if it is not given.
    pub block_size: u16,
}

/// The unpacked data, as far as it could be read.
pub struct Unpacked {
    /// The header.
    pub header: Header,
    /// Records; if they are of one length, the last may be shorter.
    pub records: Records,
    /// The reason for an end without the end code.
    pub fault: Option<Fault>,
    /// The part of the limit that it used, with that of records without bytes, and of codes that write nothing.
    pub took: u64,
}

const HEADER: usize = 12;
/// The meaning of a flag: packed on MVS, and special formats.
const MVS: u8 = 0x04;
const UNDEFINED: u8 = 0x80;
const SPANNED: u8 = 0x18;
/// The code that ends a record; the code of a byte is its value plus one.
const RECORD_END: u16 = 257;
/// Codes there are.
const CODES: usize = 4096;

/// The header, if these first bytes are one.
#[must_use]
pub fn header(bytes: &[u8]) -> Option<Header> {
    let method = match bytes.first()? {
        2 => Method::Pack,
        5 => Method::Spack,
        _ => return None,
    };
    let (variable, flags, ratio) = (*bytes.get(1)?, *bytes.get(4)?, *bytes.get(5)?);
    let (short, block_size, long) = (be16(bytes, 2)?, be16(bytes, 6)?, be32(bytes, 8)?);
    let lengths = match (u32::from(short), long) {
        (0, 0) => None,
        (0, one) | (one, 0) => Some(one),
        (one, other) => (one == other).then_some(one),
    };
    let elsewhere = flags & MVS == 0 && (flags != 0 || ratio != 0 || block_size != 0);
    if variable > 1 || elsewhere {
        return None;
    }
    let kind = match (flags & UNDEFINED != 0, variable) {
        (true, _) => 0xC0,
        (false, 1) => 0x40,
        (false, _) => 0x80,
    };
    // A length of records that memory cannot hold means no records.
    let record_length = lengths.filter(|length| *length <= 0x00FF_FFFF)?;
    let spanned = if flags & SPANNED != 0 { 0x08 } else { 0 };
    Some(Header { method, record_format: RecordFormat(kind | spanned), record_length, block_size })
}

/// Unpacks a file to at most `most` bytes.
///
/// # Errors
/// `NotTerse`, and `Read` if not even the header can be read; all other faults are returned with the records.
pub fn read(source: &Shared, most: u64) -> Result<Unpacked, Fault> {
    let head = some(&**source, 0, HEADER as u64)?;
    let header = header(&head).ok_or(Fault::NotTerse)?;
    let mut codes = Codes { window: Window::new(&**source), at: HEADER as u64 * 2, end: source.length() * 2 };
    let variable = !header.record_format.fixed();
    let mut output = Output {
        bytes: Vec::new(),
        stretches: Vec::new(),
        begun: 0,
        fixed: (!variable).then_some(header.record_length as usize),
        idle: 0,
        most,
    };
    let done = match header.method {
        Method::Pack => pack::unpack(&mut codes, &mut output),
        Method::Spack => spack::unpack(&mut codes, &mut output),
    };
    if output.bytes.len() > output.begun {
        output.record();
    }
    let took = output.took();
    let records = Records { source: Memory::shared(output.bytes), stretches: output.stretches.into() };
    Ok(Unpacked { header, records, fault: done.err(), took })
}

/// Codes of 12 bits, counted in halves of a byte.
struct Codes<'a> {
    window: Window<'a>,
    at: u64,
    end: u64,
}

impl Codes<'_> {
    /// The next code; None at the code that ends the file.
    fn next(&mut self) -> Result<Option<u16>, Fault> {
        if self.end - self.at.min(self.end) < 3 {
            return Err(Fault::Cut { at: self.end / 2 });
        }
        let two = self.window.get(self.at / 2, 2)?;
        let word = u16::from_be_bytes([two[0], two[1]]);
        let code = if self.at.is_multiple_of(2) { word >> 4 } else { word & 0x0FFF };
        self.at += 3;
        Ok((code != 0).then_some(code))
    }

    fn fault(&self, code: u16) -> Fault {
        Fault::Code { at: self.at.saturating_sub(3) / 2, code }
    }
}

/// Bytes and the records that they make.
struct Output {
    bytes: Vec<u8>,
    stretches: Vec<Stretch>,
    /// The start of the open record.
    begun: usize,
    /// Length of all records, if they have one.
    fixed: Option<usize>,
    /// Ends of records without meaning, since all records are of one length: they are work without output.
    idle: u64,
    most: u64,
}

impl Output {
    /// A byte, or the end of a record.
    fn put(&mut self, code: u16, codes: &Codes<'_>) -> Result<(), Fault> {
        if code == RECORD_END {
            // Records of one length carry no information in their ends.
            if self.fixed.is_none() {
                self.record();
            } else {
                self.idle += 1;
            }
        } else {
            // 1..=256, as the callers have checked.
            self.bytes.push((code - 1) as u8);
            if self.fixed.is_some_and(|length| self.bytes.len() - self.begun >= length.max(1)) {
                self.record();
            }
        }
        if self.took() > self.most {
            return Err(Fault::TooLong { at: codes.at / 2, most: self.most });
        }
        Ok(())
    }

    /// The count against `most`: a range takes as much memory as sixteen bytes.
    fn took(&self) -> u64 {
        self.bytes.len() as u64 + 16 * self.stretches.len() as u64 + self.idle
    }

    fn record(&mut self) {
        // The caller's limit may be more than 4 GiB, one record of it is not.
        let length = u32::try_from(self.bytes.len() - self.begun).unwrap_or(u32::MAX);
        self.stretches.push(Stretch { at: self.begun as u64, length });
        self.begun = self.bytes.len();
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn pack_codes(codes: &[u16]) -> Vec<u8> {
        let mut halves: Vec<u8> = codes
            .iter()
            .flat_map(|code| [code >> 8, code >> 4 & 15, code & 15])
            .map(|half| half as u8)
            .collect();
        if halves.len() % 2 == 1 {
            halves.push(0);
        }
        halves.chunks(2).map(|two| two[0] << 4 | two[1]).collect()
    }

    pub(crate) fn file(method: u8, variable: u8, length: u16, codes: &[u16]) -> Vec<u8> {
        let mut file = vec![method, variable];
        file.extend(length.to_be_bytes());
        file.extend([MVS, 0, 0x0C, 0x80, 0, 0, 0, 0]);
        file.extend(pack_codes(codes));
        file
    }

    fn check(bytes: Vec<u8>, most: u64) -> (Vec<Vec<u8>>, Option<Fault>) {
        let found = read(&Memory::shared(bytes), most).map_err(|fault| fault.to_string()).unwrap();
        let records = (0..found.records.count()).map(|index| found.records.read(index).unwrap());
        (records.collect(), found.fault)
    }

    /// Packs by the literal codes alone, which either method can read.
    pub(crate) fn literal<B: AsRef<[u8]>>(data: &[B], ends: bool) -> Vec<u16> {
        let mut codes = Vec::new();
        for record in data {
            codes.extend(record.as_ref().iter().map(|byte| u16::from(*byte) + 1));
            codes.extend(ends.then_some(RECORD_END));
        }
        codes.push(0);
        codes
    }

    #[test]
    fn literals_by_both_methods() {
        let data: [&[u8]; 4] = [b"one", b"", b"\x00\xFF", b"three"];
        for method in [2, 5] {
            let (found, fault) = check(file(method, 1, 84, &literal(&data, true)), 1000);
            assert_eq!((found, fault), (data.iter().map(|one| one.to_vec()).collect(), None));
            let (found, _) = check(file(method, 0, 4, &literal(&[b"aaaabbbbcc"], false)), 1000);
            assert_eq!(found, [b"aaaa".to_vec(), b"bbbb".to_vec(), b"cc".to_vec()]);
        }
    }

    /// Worked by hand: after a, b the pair (a b) is 258, after 258 the pair (b 258) is 259: a b 258 259 = a b ab bab.
    #[test]
    fn pairs_of_spack() {
        let (a, b) = (u16::from(b'a') + 1, u16::from(b'b') + 1);
        let (found, fault) = check(file(5, 1, 84, &[a, b, 258, 259, 0]), 1000);
        assert_eq!((found, fault), (vec![b"ababbab".to_vec()], None));
    }

    /// Worked by hand: PACK's table begins as blanks, and each code adds the previous output with one byte more. The
    /// first entry to be replaced is 4095; code 4095 then means the first code and the byte after it.
    #[test]
    fn strings_of_pack() {
        let (a, b) = (u16::from(b'a') + 1, u16::from(b'b') + 1);
        let (found, fault) = check(file(2, 1, 84, &[a, b, 4095, 4094, 0]), 1000);
        assert_eq!((found, fault), (vec![b"ababba".to_vec()], None));
        // 258 is two blanks at the beginning, 259 three.
        let (found, _) = check(file(2, 1, 84, &[258, 259, 0]), 1000);
        assert_eq!(found, [vec![0x40; 5]]);
    }

    #[test]
    fn random_codes_never_panic_and_never_exceed_the_limit() {
        let mut state = 1_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as u16
        };
        for method in [2, 5] {
            for round in 0..300 {
                // In half of the rounds most codes are of the table: many steps for little input.
                let high = if round % 2 == 0 { 4096 } else { 300 };
                let codes: Vec<u16> = (0..2000).map(|_| 1 + next() % (high - 1)).collect();
                let (found, _) = check(file(method, 1, 84, &codes), 50_000);
                assert!(found.iter().map(Vec::len).sum::<usize>() <= 50_001);
            }
        }
    }

    #[test]
    fn doubling_pairs_are_stopped_at_the_limit() {
        // Each code is the pair of the last two: lengths grow as Fibonacci's numbers.
        let mut codes = vec![2, 2];
        codes.extend(258..900);
        let (_, fault) = check(file(5, 1, 84, &codes), 1_000_000);
        assert!(matches!(fault, Some(Fault::TooLong { most: 1_000_000, .. })));
        // The same of ends of records, which write nothing where all records are of one length.
        codes[..2].fill(RECORD_END);
        let (found, fault) = check(file(5, 0, 84, &codes), 1_000_000);
        assert!(found.is_empty() && matches!(fault, Some(Fault::TooLong { most: 1_000_000, .. })));
    }

    #[test]
    fn cuts_and_headers() {
        let whole = file(5, 1, 84, &literal(&[b"some text"], true));
        for end in HEADER..whole.len() - 1 {
            assert!(check(whole[..end].to_vec(), 1000).1.is_some(), "{end}");
        }
        for end in 0..HEADER {
            assert!(read(&Memory::shared(whole[..end].to_vec()), 1000).is_err());
        }
        for (at, value) in [(0, 3), (1, 2), (4, 0), (8, 9)] {
            let mut wrong = whole.clone();
            wrong[at] = value;
            assert_eq!(header(&wrong), None, "{at}");
        }
    }
}
