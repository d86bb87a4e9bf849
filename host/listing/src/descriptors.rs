//! Records with a length before each: files with RECFM=V, VB and VBS after a binary transfer.
//!
//! ```text
//! RDW        LL LL 00 00  data                              LL counts the four bytes of the descriptor, too
//! BDW, RDW   LL LL 00 00 [LL LL 00 00  data]...             the first LL is that of the block
//! SDW        LL LL 01 00  data, LL LL 03 00  data, LL LL 02 00  data         VS, VBS: a record in segments
//! ```
//! The code of a segment: 0 a whole record, 1 its first, 3 a middle, 2 the last one.
//!
//! Invariant: an impossible descriptor ends the reading with a doubt, since the bytes after it may be anything.
//! Not here: the encoding of the data (`coding`), and their lines (`lines`).

/// Bytes of a descriptor.
const DESCRIPTOR: usize = 4;
/// This many lengths, each of which points to the next, are not chance, whatever follows them.
const MANY: usize = 8;

/// A piece of the input.
pub(crate) enum Part<'a> {
    /// Bytes of a record.
    Data(&'a [u8]),
    /// The record ends.
    End,
    /// An impossible length: reading stops.
    Broken,
}

/// Cuts a stream of bytes into records.
#[derive(Clone, Copy)]
pub(crate) struct Descriptors {
    /// Whether records are in blocks.
    blocks: bool,
    /// The descriptor in progress, and the number of its bytes so far.
    read: [u8; DESCRIPTOR],
    have: usize,
    /// The bytes left in the block, and in the record.
    block: usize,
    record: usize,
    /// The current or last record continues in another segment.
    goes_on: bool,
    /// The number of segments so far; a record without segments counts as one.
    segments: usize,
    /// A length was impossible: reading stops.
    broken: bool,
}

impl Descriptors {
    /// Whether a file with this beginning has descriptors; `all`: it is the whole file.
    pub(crate) fn of(head: &[u8], all: bool) -> Option<Self> {
        let (first, code) = segment(head)?;
        // Text has no zeros: if a second descriptor follows at once, the first one is that of a block.
        let next = head.get(DESCRIPTOR..).and_then(segment);
        let blocks = code == WHOLE && next.is_some_and(|(one, _)| one + DESCRIPTOR <= first);
        let read = [0; DESCRIPTOR];
        let fresh =
            Self { blocks, read, have: 0, block: 0, record: 0, goes_on: false, segments: 0, broken: false };
        let mut walk = fresh;
        walk.feed(head, &mut |_| {});
        let ends = all && walk.is_between();
        let few = !walk.broken && (walk.segments > 1 || (walk.segments == 1 && ends));
        (few || walk.segments >= MANY).then_some(fresh)
    }

    /// Takes bytes.
    pub(crate) fn feed(&mut self, mut bytes: &[u8], to: &mut dyn FnMut(Part<'_>)) {
        while !bytes.is_empty() && !self.broken {
            if self.record > 0 {
                let (data, rest) = bytes.split_at(self.record.min(bytes.len()));
                (self.record, bytes) = (self.record - data.len(), rest);
                to(Part::Data(data));
                if self.record == 0 {
                    self.segment_ends(to);
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
        self.record == 0 && self.have == 0 && !self.goes_on
    }

    fn segment_ends(&mut self, to: &mut dyn FnMut(Part<'_>)) {
        self.segments += 1;
        if !self.goes_on {
            to(Part::End);
        }
    }

    fn descriptor(&mut self, to: &mut dyn FnMut(Part<'_>)) {
        let opens_block = self.blocks && self.block == 0;
        match segment(&self.read) {
            Some((bytes, WHOLE)) if opens_block => self.block = bytes - DESCRIPTOR,
            // A middle or last segment follows another segment; a first or a whole record does not.
            Some((bytes, code))
                if !opens_block
                    && (!self.blocks || bytes <= self.block)
                    && self.goes_on == matches!(code, MIDDLE | LAST) =>
            {
                self.block = self.block.saturating_sub(bytes);
                self.record = bytes - DESCRIPTOR;
                self.goes_on = matches!(code, FIRST | MIDDLE);
                if self.record == 0 {
                    self.segment_ends(to);
                }
            }
            _ => {
                self.broken = true;
                to(Part::Broken);
            }
        }
    }
}

/// Codes of segments.
const WHOLE: u8 = 0;
const FIRST: u8 = 1;
const LAST: u8 = 2;
const MIDDLE: u8 = 3;

/// The length in a descriptor, which includes its own bytes, and the code of the segment after it. None if it is no descriptor.
fn segment(bytes: &[u8]) -> Option<(usize, u8)> {
    let [high, low, code @ WHOLE..=MIDDLE, 0, ..] = *bytes else { return None };
    let length = usize::from(high) << 8 | usize::from(low);
    (DESCRIPTOR..=32_760).contains(&length).then_some((length, code))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The records, and whether the input broke off.
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
    fn segments_of_spanned_records_are_joined() {
        let segment = |code: u8, data: &[u8]| {
            let mut all = described(data);
            all[2] = code;
            all
        };
        let all = [
            segment(0, b"whole"),
            segment(1, b"the first, "),
            segment(3, b"the middle, "),
            segment(2, b"the last"),
            segment(1, b""),
            segment(2, b"only a last"),
        ];
        let expect: [&[u8]; 3] = [b"whole", b"the first, the middle, the last", b"only a last"];
        let blocks: Vec<u8> = all.chunks(2).flat_map(|some| described(&some.concat())).collect();
        for bytes in [all.concat(), blocks] {
            for piece in [1, 5, 1000] {
                let (records, broken) = records(&bytes, piece).expect("records");
                assert_eq!((&records[..], broken), (&expect.map(<[u8]>::to_vec)[..], false), "{piece}");
            }
        }
        // A last segment without a first one, and a record without a last segment.
        let (good, bad) = ([segment(0, b"a"), segment(0, b"b")].concat(), segment(2, b"c"));
        let mut descriptors = Descriptors::of(&good, false).expect("records");
        let mut broken = false;
        descriptors.feed(&[good, bad].concat(), &mut |part| broken |= matches!(part, Part::Broken));
        assert!(broken);
        let open = [segment(0, b"a"), segment(0, b"b"), segment(1, b"c")].concat();
        let mut descriptors = Descriptors::of(&open, true).expect("records");
        descriptors.feed(&open, &mut |_| {});
        assert!(!descriptors.is_between());
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
