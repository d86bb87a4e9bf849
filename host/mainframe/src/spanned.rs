//! Records of variable length, spanned or not (V, VB, VS, VBS): blocks become records.
//!
//! ```text
//! block:   BDW 4 { SDW 4 | data } ...      BDW: length of the block 2, zero 2; or, with X'80', length in 4
//! segment: length 2 | code 1 | zero 1      code 00 whole record, 01 first, 02 last, 03 in the middle
//! ```
//!
//! Invariant: data is not copied, and a record that is returned had all its segments.
//! A cut record is named, and reading continues with the next block.
//! Not here: the source of the blocks.

use super::bytes::{be16, be32};
use super::source::{Pieces, ReadError, Records, Shared, Stretch, Window};

/// Faults of blocks or segments; offsets are in the source of the blocks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The block descriptor has a length that differs from the block's.
    #[error("the block at {at} has {there} bytes, but its descriptor has {says}")]
    Block {
        /// Where the block begins.
        at: u64,
        /// Bytes available.
        there: u64,
        /// Its stated length.
        says: u64,
    },
    /// A segment descriptor that points out of its block, or is shorter than itself.
    #[error("the segment at {at} has a length of {says} bytes, but its block has {left}")]
    Segment {
        /// Where the segment begins.
        at: u64,
        /// Its stated length.
        says: u16,
        /// Bytes from there to the end of its block.
        left: u64,
    },
    /// A segment that continues without a start, or starts within an open record.
    #[error("the segment at {at} has the code {code:02X}: {what}")]
    Sequence {
        /// Where the segment begins.
        at: u64,
        /// Its code.
        code: u8,
        /// The expected segment.
        what: &'static str,
    },
    /// The last record has no last segment: the data was cut.
    #[error("the record that begins at {at} does not end")]
    Unended {
        /// Where its first segment begins.
        at: u64,
    },
    /// The bytes could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// The blocks of a file that consists of blocks, each after its descriptor; and the faults of the rest.
#[must_use]
pub fn blocks(source: &Shared) -> (Records, Option<Fault>) {
    let (mut stretches, mut at, mut window) = (Vec::new(), 0, Window::new(&**source));
    let mut fault = None;
    while at < source.length() {
        let there = source.length() - at;
        let says = match window.get(at, 4.min(there as usize)) {
            Ok(head) => descriptor(head),
            Err(error) => {
                fault = Some(error.into());
                break;
            }
        };
        if says < 8 || says > there {
            fault = Some(Fault::Block { at, there, says });
            break;
        }
        // A descriptor is at most 31 bits.
        stretches.push(Stretch { at, length: says as u32 });
        at += says;
    }
    (Records { source: source.clone(), stretches: stretches.into() }, fault)
}

/// Bytes of the block, its descriptor included; 0 if there is none.
fn descriptor(bytes: &[u8]) -> u64 {
    match be32(bytes, 0) {
        Some(large) if large & 0x8000_0000 != 0 => u64::from(large & 0x7FFF_FFFF),
        Some(small) => u64::from(small >> 16),
        None => 0,
    }
}

/// The records of these blocks, and the faults of the others.
#[must_use]
pub fn records(blocks: &Records) -> (Records, Vec<Fault>) {
    let mut reader =
        Reader { pieces: Pieces::of(&blocks.source), open: None, stretches: Vec::new(), faults: Vec::new() };
    let mut window = Window::new(&*blocks.source);
    for block in blocks.stretches.iter() {
        if let Err(fault) = reader.block(&mut window, *block) {
            reader.faults.push(fault);
            reader.open = None;
            if reader.faults.len() > FAULTS_MOST {
                break;
            }
        }
    }
    reader.faults.extend(reader.open.map(|(at, _)| Fault::Unended { at }));
    (Records { source: reader.pieces.shared(), stretches: reader.stretches.into() }, reader.faults)
}

/// The records of a file that has descriptors of records, but none of blocks.
#[must_use]
pub fn unblocked(source: &Shared) -> (Records, Vec<Fault>) {
    let mut reader =
        Reader { pieces: Pieces::of(source), open: None, stretches: Vec::new(), faults: Vec::new() };
    let mut window = Window::new(&**source);
    if let Err(fault) = reader.segments(&mut window, 0, source.length()) {
        reader.faults.push(fault);
        reader.open = None;
    }
    reader.faults.extend(reader.open.map(|(at, _)| Fault::Unended { at }));
    (Records { source: reader.pieces.shared(), stretches: reader.stretches.into() }, reader.faults)
}

/// Faults that end the reading: the bytes are no blocks then.
const FAULTS_MOST: usize = 100;

struct Reader {
    pieces: Pieces,
    /// The open record: the start of its first segment in the blocks, and of its data in the pieces.
    open: Option<(u64, u64)>,
    stretches: Vec<Stretch>,
    faults: Vec<Fault>,
}

impl Reader {
    fn block(&mut self, window: &mut Window<'_>, block: Stretch) -> Result<(), Fault> {
        let there = u64::from(block.length);
        let says = if there < 4 { 0 } else { descriptor(window.get(block.at, 4)?) };
        if says < 4 || says > there {
            return Err(Fault::Block { at: block.at, there, says });
        }
        self.segments(window, block.at + 4, block.at + says)
    }

    fn segments(&mut self, window: &mut Window<'_>, mut at: u64, end: u64) -> Result<(), Fault> {
        while at < end {
            let left = end - at;
            let head = window.get(at, 4.min(left as usize))?;
            let (says, code) = (be16(head, 0).unwrap_or(0), head.get(2).copied().unwrap_or(0));
            if says < 4 || u64::from(says) > left {
                return Err(Fault::Segment { at, says, left });
            }
            self.segment(at, code & 3, u64::from(says) - 4)?;
            at += u64::from(says);
        }
        Ok(())
    }

    fn segment(&mut self, at: u64, code: u8, length: u64) -> Result<(), Fault> {
        let begins = code == 0 || code == 1;
        let start = match (begins, self.open) {
            (true, None) => (at, self.pieces.so_far()),
            (false, Some(start)) => start,
            (true, Some(_)) => {
                return Err(Fault::Sequence { at, code, what: "a record begins before the last one ended" });
            }
            (false, None) => {
                return Err(Fault::Sequence { at, code, what: "a record continues that never began" });
            }
        };
        self.pieces.add(at + 4, length);
        self.open = Some(start);
        if code == 0 || code == 2 {
            self.open = None;
            let length = u32::try_from(self.pieces.so_far() - start.1).map_err(|_| Fault::Sequence {
                at,
                code,
                what: "a record of less than 4 GiB",
            })?;
            self.stretches.push(Stretch { at: start.1, length });
        }
        Ok(())
    }
}

/// Writes records as spanned blocks (VS): every record begins a block, as in the unloads of IEBCOPY.
///
/// `block_size` is that of the file, at least 9, descriptors included; None if it is less, or more than 32,760.
#[must_use]
pub fn write<'a>(records: impl IntoIterator<Item = &'a [u8]>, block_size: u16) -> Option<Vec<Vec<u8>>> {
    let most = usize::from(block_size).checked_sub(8).filter(|most| *most > 0 && block_size <= 32_760)?;
    let mut blocks = Vec::new();
    for record in records {
        let count = record.len().div_ceil(most).max(1);
        for index in 0..count {
            let part = &record[index * most..record.len().min((index + 1) * most)];
            let code = match (index == 0, index + 1 == count) {
                (true, true) => 0,
                (true, false) => 1,
                (false, true) => 2,
                (false, false) => 3,
            };
            // At most `block_size`, which is a u16.
            let length = (part.len() + 4) as u16;
            let mut block = Vec::with_capacity(part.len() + 8);
            block.extend((length + 4).to_be_bytes());
            block.extend([0, 0]);
            block.extend(length.to_be_bytes());
            block.extend([code, 0]);
            block.extend(part);
            blocks.push(block);
        }
    }
    Some(blocks)
}

#[cfg(test)]
mod tests {
    use super::super::source::Memory;
    use super::*;

    fn check(file: Vec<u8>) -> (Vec<Vec<u8>>, Vec<Fault>) {
        let source = Memory::shared(file);
        let (found, fault) = blocks(&source);
        let (found, mut faults) = records(&found);
        faults.extend(fault);
        ((0..found.count()).map(|index| found.read(index).unwrap()).collect(), faults)
    }

    fn data() -> Vec<Vec<u8>> {
        [0_usize, 1, 91, 92, 93, 500, 92].iter().map(|length| vec![*length as u8; *length]).collect()
    }

    #[test]
    fn records_come_back_however_they_were_spanned() {
        let data = data();
        for size in [9, 100, 32_760] {
            let file = write(data.iter().map(Vec::as_slice), size).unwrap().concat();
            assert_eq!(check(file), (data.clone(), vec![]), "{size}");
        }
        assert_eq!(write([], 8), None);
        assert_eq!(write([], 32_761), None);
    }

    #[test]
    fn several_records_in_one_block() {
        let file = [0, 15, 0, 0, 0, 5, 0, 0, 7, 0, 6, 0, 0, 8, 9].to_vec();
        assert_eq!(check(file), (vec![vec![7], vec![8, 9]], vec![]));
    }

    #[test]
    fn every_cut_is_a_fault_or_ends_between_blocks() {
        let data = data();
        let written = write(data.iter().map(Vec::as_slice), 100).unwrap();
        let file = written.concat();
        for end in 0..file.len() {
            let (found, faults) = check(file[..end].to_vec());
            assert!(data.starts_with(&found), "{end}");
            assert!(found.len() < data.len());
            let mut border = 0;
            let between = written.iter().any(|block| {
                border += block.len();
                border == end
            });
            assert!(!faults.is_empty() || between || end == 0, "{end}");
        }
    }

    #[test]
    fn lies_are_named() {
        assert_eq!(check(vec![0, 20, 0, 0, 0, 5, 0, 0, 7]).1, [Fault::Block { at: 0, there: 9, says: 20 }]);
        assert_eq!(check(vec![0, 9, 0, 0, 0, 6, 0, 0, 7]).1, [Fault::Segment { at: 4, says: 6, left: 5 }]);
        assert_eq!(check(vec![0, 9, 0, 0, 0, 3, 0, 0, 7]).1, [Fault::Segment { at: 4, says: 3, left: 5 }]);
        assert!(matches!(check(vec![0, 9, 0, 0, 0, 5, 2, 0, 7]).1[..], [Fault::Sequence { code: 2, .. }]));
        assert_eq!(check(vec![0, 9, 0, 0, 0, 5, 1, 0, 7]).1, [Fault::Unended { at: 4 }]);
    }
}
