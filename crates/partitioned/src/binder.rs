//! The binder's rule for cutting text into blocks: a short block fills the rest of a track.
//!
//! ```text
//! one long section at a block size of 32,760, control records of 40 bytes:
//! | control 21 | text 32,760: 1,008 | control 21 | text 21,632: 672 | 7 left |   = 1,729 cells
//! ```
//!
//! 1. Before each control record, the space of a full one is reserved, however short the record will be.
//! 2. The size of a text block is the least of: the block size, rounded down to a multiple of 8; the rest of the track,
//!    rounded down likewise; the rest of the text.
//! 3. If fewer than [`SHORTEST`] bytes fit, the next track begins.
//!
//! The rule was recovered from a real library; the 1,024 of point 3 is an assumption. [`copy`] computes by this rule the
//! space of a library copied to another block size; that figure is not observed.
//!
//! Invariant: no track holds more than the device's capacity.

use crate::track::Device;

/// Bytes of a full control record; this much room is reserved for each.
pub const FULL_CONTROL: u32 = 256;
/// No block shorter than this is written to fill a track (MINBLK).
pub const SHORTEST: u32 = 1024;
/// The largest block size of a load library.
pub const LARGEST_BLOCK_SIZE: u32 = 32_760;
/// The smallest block size.
pub const SMALLEST_BLOCK_SIZE: u32 = 256;

/// The location of a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Track of the data set, from 0 (TT).
    pub track: u32,
    /// Record on the track, from 1 (R).
    pub record: u8,
}

/// Tracks as they are filled, record by record.
#[derive(Clone, Copy, Debug)]
pub struct Fill {
    device: &'static Device,
    block_size: u32,
    track: u32,
    used: u32,
    records: u8,
}

impl Fill {
    /// Begins with an empty track 0. Rounds the block size down to a multiple of 8, as the binder does, and brings it into the
    /// range that the device allows.
    #[must_use]
    pub fn new(device: &'static Device, block_size: u32) -> Fill {
        Fill::from(device, block_size, 0, 0, 0)
    }

    /// Continues after the records that a track already holds.
    #[must_use]
    pub fn from(device: &'static Device, block_size: u32, track: u32, used: u32, records: u8) -> Fill {
        let most = LARGEST_BLOCK_SIZE.min(device.largest(device.cost(FULL_CONTROL, 0), 0).unwrap_or(0));
        let block_size = block_size.clamp(SMALLEST_BLOCK_SIZE, most) & !7;
        Fill { device, block_size, track, used, records }
    }

    /// Places a record on this track, or on the next one if this track has no room for it.
    pub fn put(&mut self, data: u32, key: u32) -> Place {
        if !self.device.fits(self.used, data, key) || self.records == u8::MAX - 1 {
            self.next_track();
        }
        self.used += self.device.cost(data, key);
        self.records += 1;
        Place { track: self.track, record: self.records }
    }

    /// Bytes of the next block of text, of which `rest` are left. The caller passes this size to [`Fill::put`], after the
    /// control record. 0 only for a rest of 0.
    pub fn next_text(&mut self, rest: u64) -> u32 {
        let rest = u32::try_from(rest).unwrap_or(u32::MAX);
        let least = rest.min(SHORTEST).min(self.block_size);
        let mut fit = self.room();
        if fit < least || self.records > u8::MAX - 4 {
            self.next_track();
            fit = self.room();
        }
        rest.min(self.block_size).min(fit)
    }

    /// Bytes of text that fit after a full control record, a multiple of 8.
    fn room(&self) -> u32 {
        let used = self.used + self.device.cost(FULL_CONTROL, 0);
        self.device.largest(used, 0).unwrap_or(0) & !7
    }

    fn next_track(&mut self) {
        self.track += 1;
        self.used = 0;
        self.records = 0;
    }

    /// Tracks that hold at least one record.
    #[must_use]
    pub fn tracks(&self) -> u32 {
        self.track + u32::from(self.records > 0)
    }

    /// Units in use on the last track.
    #[must_use]
    pub fn used(&self) -> u32 {
        self.used
    }

    /// The block size after rounding.
    #[must_use]
    pub fn block_size(&self) -> u32 {
        self.block_size
    }
}

/// The properties of a member that decide how many tracks it takes.
#[derive(Clone, Copy, Debug)]
pub struct Module<'a> {
    /// Blocks that every copy keeps unchanged: symbols, sections, identification.
    pub fixed: &'a [u32],
    /// Bytes of members that are not programs. They are cut into whole blocks, without control records, and no short block
    /// fills a track. Every tool but the binder writes them so.
    pub data: u64,
    /// Lengths of its texts; each is cut into blocks separately.
    pub texts: &'a [u64],
    /// Bytes of relocation entries, spread over the texts.
    pub relocations: u64,
    /// Bytes of a control record: [`FULL_CONTROL`] if unknown, as in the reference simulation.
    pub control: u32,
}

/// The space and cost of a copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    /// Tracks, including those of the directory.
    pub tracks: u32,
    /// Blocks of text.
    pub texts: u64,
    /// Channel programs that load each member once, by the article's count, without the search. Each text except a member's
    /// first has a control record that must be read, and so has each record of relocations; each block of data counts as
    /// one.
    pub programs: u64,
}

/// The space that members would take at a block size, after a directory of so many blocks.
pub fn copy<'a>(
    device: &'static Device,
    block_size: u32,
    directory_blocks: u32,
    members: impl IntoIterator<Item = Module<'a>>,
) -> Copied {
    let mut fill = Fill::new(device, block_size);
    let mut copied = Copied::default();
    for _ in 0..directory_blocks {
        fill.put(256, 8);
    }
    fill.put(0, 0);
    for member in members {
        for fixed in member.fixed {
            fill.put(*fixed, 0);
        }
        let mut data = member.data;
        while data > 0 {
            let length = data.min(fill.block_size().into());
            fill.put(length as u32, 0);
            copied.programs += 1;
            data -= length;
        }
        let all: u64 = member.texts.iter().sum();
        let before = copied.texts;
        let mut relocations = 0;
        for text in member.texts {
            let mut rest = *text;
            while rest > 0 {
                let length = fill.next_text(rest);
                fill.put(member.control, 0);
                fill.put(length, 0);
                copied.texts += 1;
                rest -= u64::from(length);
                // This block's share of the relocations, in records of 240 bytes after a header of 16.
                let mut share =
                    (u128::from(member.relocations) * u128::from(length) / u128::from(all.max(1))) as u64;
                while share > 0 {
                    let part = share.min(240);
                    fill.put(16 + part as u32, 0);
                    share -= part;
                    relocations += 1;
                }
            }
        }
        copied.programs += (2 * (copied.texts - before)).saturating_sub(1) + relocations;
        fill.put(0, 0);
    }
    copied.tracks = fill.tracks();
    copied
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::track::{D3390, DEVICES};
    use std::vec::Vec;

    /// Texts of one long section on an empty track, after control records of 40 bytes, until the track is full.
    fn first_track(block_size: u32) -> (Vec<u32>, u32) {
        let mut fill = Fill::new(&D3390, block_size);
        let (mut texts, mut used) = (Vec::new(), 0);
        loop {
            let text = fill.next_text(1 << 30);
            if fill.put(40, 0).track > 0 {
                return (texts, used);
            }
            assert_eq!(fill.put(text, 0).track, 0, "a block stays on the track of its control record");
            texts.push(text);
            used = fill.used();
        }
    }

    #[test]
    fn the_worked_examples() {
        assert_eq!(first_track(32_760), (Vec::from([32_760, 21_632]), 1_722));
        assert_eq!(first_track(19_069).0, [19_064, 19_064, 14_904]);
        let (texts, _) = first_track(6_144);
        assert_eq!(texts, [6_144, 6_144, 6_144, 6_144, 6_144, 6_144, 6_144, 3_304]);
        assert_eq!(texts.iter().sum::<u32>(), 46_312);
    }

    #[test]
    fn tracks_never_hold_more_than_they_can() {
        let mut random = 1u64;
        for device in &DEVICES {
            for block_size in [0, 256, 800, 1_024, 6_144, 19_069, 27_998, 32_760, u32::MAX] {
                let mut fill = Fill::new(device, block_size);
                for _ in 0..300 {
                    random = random
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1_442_695_040_888_963_407);
                    let mut rest = random >> 46;
                    while rest > 0 {
                        let text = fill.next_text(rest);
                        assert!(text > 0 && (u64::from(text) == rest || text.is_multiple_of(8)));
                        let control = fill.put(40, 0);
                        assert_eq!(fill.put(text, 0).track, control.track);
                        assert!(fill.used() <= device.capacity || device.name == "2314", "{}", device.name);
                        rest -= u64::from(text);
                    }
                    fill.put(0, 0);
                }
            }
        }
    }

    #[test]
    fn large_blocks_never_need_more_tracks() {
        let texts: Vec<[u64; 1]> = (0..300u64).map(|n| [(n * n * 977) % 400_000 + 8]).collect();
        let fixed = [80, 250];
        let module =
            |texts| Module { fixed: &fixed, data: 0, texts, relocations: 900, control: FULL_CONTROL };
        let at = |size| copy(&D3390, size, 60, texts.iter().map(|texts| module(texts)));
        let [large, half, small] = [32_760, 23_440, 6_144].map(at);
        assert!(large.tracks < half.tracks && half.tracks < small.tracks, "{large:?} {half:?} {small:?}");
        assert!(large.texts < half.texts && large.programs > 2 * large.texts - 300, "{large:?}");
        let one = copy(&D3390, 32_760, 1, [module(&[8])]);
        assert_eq!((one.texts, one.programs), (1, 1 + 4), "the text, and 900 bytes in records of 240");
        let empty = copy(&D3390, 6_144, 45, []);
        assert_eq!(
            (empty.tracks, empty.texts),
            (2, 0),
            "45 blocks fill a track, the directory's end is on the next"
        );
    }

    #[test]
    fn data_lies_in_whole_blocks() {
        let data = |data| Module { fixed: &[], data, texts: &[], relocations: 0, control: FULL_CONTROL };
        let at = |size| {
            let copied = copy(&D3390, size, 1, [data(10 * 32_760), data(0)]);
            (copied.tracks, copied.programs)
        };
        // Two blocks of 27,992 bytes fill a track except for the directory's; one of 32,760 leaves half of its track free.
        assert_eq!((at(32_760), at(27_998)), ((10, 10), (7, 12)));
        assert_eq!(at(6_144).1, 54, "eight on a track, less the directory's part");
    }
}
