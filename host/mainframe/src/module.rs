//! Records of a load module: each block of the member is one record, and its first byte gives its kind.
//!
//! ```text
//! SYM(40)..  CESD(20)..  IDR(80)..  scatter(10)  { control, RLD(01-0F) ; text ; RLD.. }..
//! control and RLD: kind | 0 3 | bytes of list 2 | bytes of RLD 2 | channel command 8 | RLD data | list { id 2, length 2 }
//! ```
//!
//! Only the control record before a text record identifies it and gives its length. So the borders of a member whose blocks
//! were glued into one file can be found again (`record`).
//!
//! Invariant: only the summary is kept: a module of any size is read block by block.
//! Not here: program objects (`object`), relocation.

mod record;
mod summary;

pub use record::{Kind, borders, is_module};
pub use summary::{Maker, Relocations, Summary, Symbol, Text};

use super::bytes::{be16, be24, flag, packed, part};
use super::ebcdic::CodePage;
use super::entry::calendar;
pub(super) use record::kind;
use record::length;

/// Faults of a load module; offsets are within the named block.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// A block whose first byte is not that of a record.
    #[error("block {block} begins with {byte:02X}, which is not a load module record")]
    Unknown {
        /// Which block, from 0.
        block: usize,
        /// Its first byte.
        byte: u8,
    },
    /// A record that is shorter or longer than its stated length.
    #[error("block {block} has {there} bytes, but its {record} record has {says}")]
    Length {
        /// Which block.
        block: usize,
        /// What kind of record.
        record: Kind,
        /// Bytes of the block.
        there: usize,
        /// Its stated length.
        says: usize,
    },
    /// RLD data that ends within an item.
    #[error("the relocation data of block {block} ends within an item")]
    Relocation {
        /// Which block.
        block: usize,
    },
    /// Blocks after the end of the module.
    #[error("the module ends before block {block}")]
    Behind {
        /// Which block.
        block: usize,
    },
    /// No control or RLD record marked the end of the module.
    #[error("the module has no end after {blocks} blocks")]
    Unended {
        /// The number of blocks.
        blocks: usize,
    },
    /// More sections than identifiers exist for.
    #[error("more than {most} entries in the external symbol dictionary")]
    TooMany {
        /// The limit.
        most: usize,
    },
}

/// Entries of a dictionary: identifiers are 15 bits.
const SYMBOLS_MOST: usize = 32_767;
/// The most faults kept for one module.
const FAULTS_MOST: usize = 20;

/// Reads a module block by block.
pub struct Reader {
    page: CodePage,
    block: usize,
    /// Origin and length of the text in the next block.
    awaited: Option<Text>,
    ended: bool,
    summary: Summary,
    faults: Vec<Fault>,
}

impl Reader {
    /// Before the first block.
    #[must_use]
    pub fn new(page: CodePage) -> Reader {
        Reader {
            page,
            block: 0,
            awaited: None,
            ended: false,
            summary: Summary::default(),
            faults: Vec::new(),
        }
    }

    /// The next block.
    pub fn block(&mut self, bytes: &[u8]) {
        let block = self.block;
        self.block += 1;
        if self.ended && self.awaited.is_none() {
            return self.fault(Fault::Behind { block });
        }
        if let Some(text) = self.awaited.take() {
            self.count(Kind::Text);
            let there = bytes.len();
            if there != text.length as usize {
                self.fault(Fault::Length { block, record: Kind::Text, there, says: text.length as usize });
            }
            self.summary.text.push(Text { origin: text.origin, length: there as u32 });
            return;
        }
        let Some(kind) = kind(flag(bytes, 0)) else {
            return self.fault(Fault::Unknown { block, byte: flag(bytes, 0) });
        };
        self.count(kind);
        let says = length(kind, bytes).unwrap_or(usize::MAX);
        if says > bytes.len() {
            self.fault(Fault::Length {
                block,
                record: kind,
                there: bytes.len(),
                says: says.min(bytes.len() + 1),
            });
        }
        match kind {
            Kind::Cesd => self.symbols(bytes),
            Kind::Idr => self.identification(bytes),
            Kind::Control => self.control(bytes),
            Kind::Sym | Kind::Scatter | Kind::Text => {}
        }
    }

    /// After the last block.
    #[must_use]
    pub fn finish(mut self) -> (Summary, Vec<Fault>) {
        if !self.ended || self.awaited.is_some() {
            self.fault(Fault::Unended { blocks: self.block });
        }
        self.summary.ended = self.ended;
        (self.summary, self.faults)
    }

    fn fault(&mut self, fault: Fault) {
        if self.faults.len() < FAULTS_MOST {
            self.faults.push(fault);
        }
    }

    fn count(&mut self, kind: Kind) {
        self.summary.records[kind as usize] += 1;
    }

    fn symbols(&mut self, bytes: &[u8]) {
        let first = be16(bytes, 4).unwrap_or(1);
        let count = usize::from(be16(bytes, 6).unwrap_or(0)) / 16;
        for index in 0..count {
            let at = 8 + 16 * index;
            let Some(entry) = part(bytes, at, 16) else { break };
            if self.summary.symbols.len() >= SYMBOLS_MOST {
                return self.fault(Fault::TooMany { most: SYMBOLS_MOST });
            }
            self.summary.symbols.push(Symbol {
                id: first.wrapping_add(index as u16),
                name: self.page.field(&entry[..8]),
                kind: Symbol::kind_of(entry[8]),
                address: be24(entry, 9).unwrap_or(0),
                segment: entry[12],
                length: be24(entry, 13).unwrap_or(0),
            });
        }
    }

    fn control(&mut self, bytes: &[u8]) {
        let flags = flag(bytes, 0);
        // Relocation data comes first, then the list of identifiers and lengths.
        let rld = usize::from(be16(bytes, 6).unwrap_or(0));
        if flags & 0x02 != 0 {
            let data = bytes.get(16..).unwrap_or(&[]);
            match Relocations::of(&data[..rld.min(data.len())]) {
                Some(found) => self.summary.relocations.add(found),
                None => self.fault(Fault::Relocation { block: self.block - 1 }),
            }
        }
        if flags & 0x01 != 0 {
            let (origin, length) = (be24(bytes, 9).unwrap_or(0), be16(bytes, 14).unwrap_or(0).into());
            self.awaited = Some(Text { origin, length });
        }
        self.ended |= flags & 0x08 != 0;
    }

    fn identification(&mut self, bytes: &[u8]) {
        let end = (usize::from(flag(bytes, 1)) + 1).min(bytes.len());
        let data = bytes.get(3..end).unwrap_or(&[]);
        match flag(bytes, 2) & 0x7F {
            0x01 => {
                // A count comes first; entries that were never used are zero.
                let entries = data.get(1..).unwrap_or(&[]).chunks_exact(13);
                for entry in entries.filter(|entry| entry.iter().any(|byte| *byte != 0)) {
                    let patch = (short_day(&entry[2..5]).unwrap_or_default(), self.page.field(&entry[5..]));
                    self.summary.patches.push(patch);
                }
            }
            0x02 => {
                let time = data.get(15..19).and_then(|time| {
                    let digits = packed(time.get(..3)?)? * 10 + u32::from(time[3] >> 4);
                    Some(format!("{:02}:{:02}:{:02}", digits / 10_000, digits / 100 % 100, digits % 100))
                });
                self.summary.binder = self.maker(data).map(|maker| Maker { time, ..maker });
            }
            0x04 => self.translators(data),
            0x08 => {
                let mut at = 0;
                while let (Some(day), Some(length)) = (part(data, at + 2, 3), data.get(at + 5)) {
                    let text = data.get(at + 6..).unwrap_or(&[]);
                    let text = &text[..usize::from(*length).min(text.len())];
                    let entry = (short_day(day).unwrap_or_default(), self.page.field(text));
                    self.summary.user_data.push(entry);
                    at += 6 + usize::from(*length);
                }
            }
            _ => {}
        }
    }

    /// Identifiers of sections, the last with its first bit set; a count; one maker, or two if a preprocessor came first.
    fn translators(&mut self, data: &[u8]) {
        let mut at = 0;
        loop {
            while let Some(id) = be16(data, at) {
                at += 2;
                if id & 0x8000 != 0 {
                    break;
                }
            }
            let Some(two) = data.get(at) else { return };
            for _ in 0..=(two & 1) {
                let Some(maker) = data.get(at + 1..).and_then(|rest| self.maker(rest)) else { return };
                if !self.summary.translators.contains(&maker) && self.summary.translators.len() < 1000 {
                    self.summary.translators.push(maker);
                }
                at += 15;
            }
            at += 1;
        }
    }

    fn maker(&self, data: &[u8]) -> Option<Maker> {
        let data = part(data, 0, 15)?;
        Some(Maker {
            program: self.page.field(&data[..10]),
            version: version(&data[10..12], self.page),
            day: short_day(&data[12..15]),
            time: None,
        })
    }
}

/// `yydddF` as a day: years below 60 are of this century.
fn short_day(bytes: &[u8]) -> Option<String> {
    let year = packed(bytes.get(..1)?)?;
    let days = packed(bytes.get(1..2)?)? * 10 + u32::from(flag(bytes, 2) >> 4);
    calendar(if year < 60 { 2000 + year } else { 1900 + year }, days)
}

/// Version and release: two digits each as characters, or packed.
fn version(bytes: &[u8], page: CodePage) -> String {
    match packed(bytes) {
        Some(digits) => format!("{:02}.{:02}", digits / 100, digits % 100),
        None => page.field(bytes),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::ops::Range;

    fn name(text: &str) -> Vec<u8> {
        CodePage::US.filled(text, 8).unwrap()
    }

    /// A module of two sections, with relocations and every kind of record.
    pub(crate) fn blocks() -> Vec<Vec<u8>> {
        let mut cesd = vec![0x20, 0, 0, 0, 0, 1, 0, 64];
        for (text, kind, address, length) in
            [("MAIN", 0, 0, 0x100), ("ENTRY", 3, 0x10, 1), ("", 4, 0x100, 0x20), ("OTHER", 2, 0, 0)]
        {
            cesd.extend(name(text));
            cesd.extend([
                kind,
                0,
                (address >> 8) as u8,
                address as u8,
                0,
                0,
                (length >> 8) as u8,
                length as u8,
            ]);
        }
        let mut binder = vec![0x80, 21, 2];
        binder.extend(CodePage::US.filled("5695PMB01", 10).unwrap());
        binder.extend([0x01, 0x08, 0x26, 0x17, 0x0F, 0x00, 0x14, 0x55, 0x0F]);
        let mut translator = vec![0x80, 22, 0x84, 0, 1, 0x80, 3, 0];
        translator.extend(CodePage::US.filled("5741SC103", 10).unwrap());
        translator.extend([0x02, 0x01, 0x99, 0x36, 0x5F]);
        let mut zap = vec![0x80, 0xFA, 1, 1, 0, 1, 0x70, 0x00, 0x1F];
        zap.extend(name("AZ12345"));
        zap.resize(251, 0);
        let sym = vec![0x40, 0, 0, 2, 1, 2];
        let control = vec![1, 0, 0, 0, 0, 4, 0, 0, 6, 0, 0, 0, 0x40, 0, 0, 4, 0, 1, 0, 4];
        let text = vec![0x20; 4];
        let mut last = vec![0x0F, 0, 0, 0, 0, 4, 0, 20, 6, 0, 0, 4, 0x40, 0, 0, 3];
        last.extend([0, 1, 0, 1, 0x0D, 0, 0, 4, 0x0C, 0, 0, 8]);
        last.extend([0, 4, 0, 1, 0x9C, 0, 0, 0]);
        // The list of identifiers and lengths follows the relocation data.
        last.extend([0, 3, 0, 0x20]);
        vec![sym, cesd, zap, binder, translator, control, text, last, vec![0x80; 3]]
    }

    fn summary(blocks: &[Vec<u8>]) -> (Summary, Vec<Fault>) {
        let mut reader = Reader::new(CodePage::US);
        blocks.iter().for_each(|block| reader.block(block));
        reader.finish()
    }

    #[test]
    fn a_module_is_told_in_short() {
        let (summary, faults) = summary(&blocks());
        assert_eq!(faults, []);
        assert!(summary.ended);
        assert_eq!(summary.records, [1, 1, 3, 0, 2, 2]);
        let sections: Vec<_> = summary
            .symbols
            .iter()
            .filter(|one| one.is_section())
            .map(|one| (one.id, one.address, one.length))
            .collect();
        assert_eq!(sections, [(1, 0, 0x100), (3, 0x100, 0x20)]);
        let binder = summary.binder.unwrap();
        assert_eq!((binder.program.as_str(), binder.version.as_str()), ("5695PMB01", "01.08"));
        assert_eq!((binder.day.as_deref(), binder.time.as_deref()), (Some("2026-06-19"), Some("01:45:50")));
        assert_eq!(summary.translators.len(), 1);
        assert_eq!(summary.translators[0].day.as_deref(), Some("1999-12-31"));
        assert_eq!(summary.patches, [("1970-01-01".to_owned(), "AZ12345".to_owned())]);
        assert_eq!(summary.text, [Text { origin: 0, length: 4 }, Text { origin: 4, length: 3 }]);
        let expected = Relocations { items: 3, a: 2, v: 1, pseudo: 0, unresolved: 1 };
        assert_eq!(summary.relocations, expected);
    }

    #[test]
    fn borders_are_found_again_in_glued_bytes() {
        let blocks = blocks();
        let glued = blocks.concat();
        let (found, rest) = borders(&glued);
        assert!(rest.is_empty());
        let lengths: Vec<usize> = found.iter().map(Range::len).collect();
        assert_eq!(lengths, blocks.iter().map(Vec::len).collect::<Vec<_>>());
        assert!(is_module(&glued));
        for end in 0..glued.len() {
            let (found, rest) = borders(&glued[..end]);
            assert!(found.iter().all(|range| range.end <= end) && rest.end == end);
            assert!(!is_module(&glued[..end]), "{end}");
        }
    }

    #[test]
    fn cuts_and_flipped_bits_are_faults_or_other_figures_but_no_panic() {
        let whole = blocks();
        for (index, block) in whole.iter().enumerate() {
            for end in 0..block.len() {
                let mut cut = whole.clone();
                cut[index].truncate(end);
                let (_, faults) = summary(&cut);
                assert!(!faults.is_empty(), "block {index} cut at {end}");
            }
            for bit in 0..block.len() * 8 {
                let mut flipped = whole.clone();
                flipped[index][bit / 8] ^= 1 << (bit % 8);
                let _ = summary(&flipped);
            }
            assert!(!summary(&whole[..index]).1.is_empty(), "blocks up to {index}");
        }
    }

    #[test]
    fn what_follows_the_end_is_named() {
        let mut blocks = blocks();
        blocks.push(vec![0x20; 16]);
        assert_eq!(summary(&blocks).1, [Fault::Behind { block: 9 }]);
        assert_eq!(summary(&[vec![0xC1]]).1[0], Fault::Unknown { block: 0, byte: 0xC1 });
    }

    #[test]
    fn relocation_data_must_end_with_an_item() {
        assert_eq!(Relocations::of(&[0, 1, 0, 1, 0x0D, 0, 0, 4]), None);
        assert_eq!(Relocations::of(&[0, 1, 0]), None);
        assert_eq!(Relocations::of(&[]), Some(Relocations::default()));
    }
}
