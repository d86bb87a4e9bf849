//! Records with their lengths before them, as RECFM=V and VB files have them that were carried over in binary.
//!
//! ```text
//! RDW        LL LL 00 00  data                              LL counts the four bytes of the descriptor, too
//! BDW, RDW   LL LL 00 00 [LL LL 00 00  data]...             the first LL is that of the block
//! ```
//!
//! Invariant: a descriptor that cannot be ends the reading, and that is said: what stands behind it may be anything.
//! Not here: what the data are written in (`coding`), and lines of them (`lines`).

/// Bytes of a descriptor.
const DESCRIPTOR: usize = 4;
/// So many lengths that lead to one another are no chance, whatever follows them.
const MANY: usize = 8;

/// What a piece of input was found to be.
pub(crate) enum Part<'a> {
    /// Bytes of a record.
    Data(&'a [u8]),
    /// The record ends.
    End,
    /// A length that cannot be: nothing more is read.
    Broken,
}

/// Cuts a stream of bytes into records.
#[derive(Clone, Copy)]
pub(crate) struct Descriptors {
    /// Whether records stand in blocks.
    blocks: bool,
    /// The descriptor that is being read, and how much of it there is.
    read: [u8; DESCRIPTOR],
    have: usize,
    /// What is left of the block, and of the record.
    block: usize,
    record: usize,
    broken: bool,
}

impl Descriptors {
    /// Whether a file that begins so has descriptors; `all`: it is the whole file.
    pub(crate) fn of(head: &[u8], all: bool) -> Option<Self> {
        let first = length(head)?;
        // Text has no zeros: where a second descriptor follows at once, the first is that of a block.
        let blocks = head.get(DESCRIPTOR..).and_then(length).is_some_and(|one| one + DESCRIPTOR <= first);
        let fresh = Self { blocks, read: [0; DESCRIPTOR], have: 0, block: 0, record: 0, broken: false };
        let (mut walk, mut records, mut broken) = (fresh, 0, false);
        walk.feed(head, &mut |part| match part {
            Part::End => records += 1,
            Part::Broken => broken = true,
            Part::Data(_) => {}
        });
        let ends = all && walk.record == 0 && walk.have == 0;
        let few = !broken && (records > 1 || (records == 1 && ends));
        (few || records >= MANY).then_some(fresh)
    }

    /// Takes bytes.
    pub(crate) fn feed(&mut self, mut bytes: &[u8], to: &mut dyn FnMut(Part<'_>)) {
        while !bytes.is_empty() && !self.broken {
            if self.record > 0 {
                let (data, rest) = bytes.split_at(self.record.min(bytes.len()));
                (self.record, bytes) = (self.record - data.len(), rest);
                to(Part::Data(data));
                if self.record == 0 {
                    to(Part::End);
                }
                continue;
            }
            (self.read[self.have], bytes) = (bytes[0], &bytes[1..]);
            self.have += 1;
            if self.have == DESCRIPTOR {
                self.have = 0;
                self.descriptor(to);
            }
        }
    }

    /// Whether the input may end here: not within a record or a descriptor.
    pub(crate) fn is_between(&self) -> bool {
        self.record == 0 && self.have == 0
    }

    fn descriptor(&mut self, to: &mut dyn FnMut(Part<'_>)) {
        let opens_block = self.blocks && self.block == 0;
        match length(&self.read) {
            Some(bytes) if opens_block => self.block = bytes - DESCRIPTOR,
            Some(bytes) if !self.blocks || bytes <= self.block => {
                self.block = self.block.saturating_sub(bytes);
                self.record = bytes - DESCRIPTOR;
                if self.record == 0 {
                    to(Part::End);
                }
            }
            _ => {
                self.broken = true;
                to(Part::Broken);
            }
        }
    }
}

/// The length in a descriptor, if it is one. Those of segments of a spanned record are none.
fn length(bytes: &[u8]) -> Option<usize> {
    let [high, low, 0, 0, ..] = *bytes else { return None };
    let length = usize::from(high) << 8 | usize::from(low);
    (DESCRIPTOR..=32_760).contains(&length).then_some(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The records, and whether it broke off.
    fn records(bytes: &[u8], piece: usize) -> Option<(Vec<Vec<u8>>, bool)> {
        let mut descriptors = Descriptors::of(bytes, true)?;
        let (mut all, mut one, mut broken) = (Vec::new(), Vec::new(), false);
        for piece in bytes.chunks(piece) {
            descriptors.feed(piece, &mut |part| match part {
                Part::Data(data) => one.extend_from_slice(data),
                Part::End => all.push(std::mem::take(&mut one)),
                Part::Broken => broken = true,
            });
        }
        Some((all, broken))
    }

    fn described(data: &[u8]) -> Vec<u8> {
        let length = (data.len() + DESCRIPTOR) as u16;
        [&length.to_be_bytes()[..], &[0, 0], data].concat()
    }

    #[test]
    fn records_alone_and_in_blocks_are_the_same_in_any_pieces() {
        let data: [&[u8]; 4] = [b"one", b"", b"three and more", b"4"];
        let plain: Vec<u8> = data.iter().flat_map(|data| described(data)).collect();
        let blocks = [described(&plain), described(&described(b"5"))].concat();
        for piece in [1, 3, 7, 1000] {
            let (all, broken) = records(&plain, piece).expect("records");
            assert_eq!((&all[..], broken), (&data.map(<[u8]>::to_vec)[..], false), "{piece}");
            let (all, broken) = records(&blocks, piece).expect("blocks");
            assert_eq!((all.len(), &all[4][..], broken), (5, &b"5"[..], false), "{piece}");
        }
    }

    #[test]
    fn text_has_no_descriptors_and_a_wrong_length_ends_the_reading() {
        for text in [&b"Storage Report"[..], b"\0\0\0\0\0\0\0\0", b"\0\x08\0\0ab", b"", b"\0\x04\0"] {
            assert!(Descriptors::of(text, true).is_none(), "{text:?}");
        }
        let good = [described(b"one"), described(b"two")].concat();
        let mut descriptors = Descriptors::of(&good, false).expect("records");
        let mut broken = 0;
        let bad = [&good[..], b"\x01\x02\x03\x04", &good].concat();
        descriptors.feed(&bad, &mut |part| broken += usize::from(matches!(part, Part::Broken)));
        assert_eq!(broken, 1);
    }
}
