//! The cost of a block on a track, and the space left after it, for seven disks.
//!
//! ```text
//! 3390 track: 1,729 cells of 34 bytes
//! | R0, home address: outside | count + key + data | count + key + data | ...        left |
//!                               10 + (9 + key) + 9 + data, each in cells
//! ```
//!
//! A track is measured in the device's own unit: cells on a 3390, bytes elsewhere.
//!
//! Invariant: used + cost of a block <= capacity, or the block begins the next track.
//! Not here: how blocks are chosen ([`crate::binder`]).

/// Bytes of a track's image in our PDS files: 14 pages, which hold any track of a 3390 with our counts.
pub const TRACK_IMAGE: usize = 14 * 4096;

/// A disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device {
    /// Its usual name.
    pub name: &'static str,
    /// The same as a number, as files carry it: 0x3390.
    pub code: u16,
    /// The device type byte of disk images.
    pub kind: u8,
    /// Tracks of a cylinder.
    pub heads: u16,
    /// Cylinders of the smallest model.
    pub cylinders: u16,
    /// Units of a track.
    pub capacity: u32,
    /// Bytes of the largest block, without a key.
    pub largest_block: u32,
    formula: Formula,
}

/// The formula for the cost of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Formula {
    /// Cells of 34 bytes, with six bytes more for each 232 (3390).
    Cells,
    /// Multiples of 32 bytes, with an addition to the data and to the key (3375, 3380).
    Rounded { data: u32, key: u32 },
    /// Bytes plus an overhead for each block and for a key (3330, 3350).
    Plain { block: u32, key: u32 },
    /// The last block of a track costs less than those before it (2314).
    Tolerant,
}

/// The disk that every installation has or emulates.
pub const D3390: Device = DEVICES[0];

/// All devices; the first is the usual one.
pub const DEVICES: [Device; 6] = [
    device("3390", 0x3390, 0x90, 15, 1113, 1729, 56_664, Formula::Cells),
    device("3380", 0x3380, 0x80, 15, 885, 47_968, 47_476, Formula::Rounded { data: 492, key: 236 }),
    device("3375", 0x3375, 0x75, 12, 959, 36_000, 35_616, Formula::Rounded { data: 384, key: 160 }),
    device("3350", 0x3350, 0x50, 30, 555, 19_254, 19_069, Formula::Plain { block: 185, key: 82 }),
    device("3330", 0x3330, 0x30, 19, 404, 13_165, 13_030, Formula::Plain { block: 135, key: 56 }),
    device("2314", 0x2314, 0x14, 20, 200, 7_294, 7_294, Formula::Tolerant),
];

#[allow(clippy::too_many_arguments, reason = "a row of the table")]
const fn device(
    name: &'static str,
    code: u16,
    kind: u8,
    heads: u16,
    cylinders: u16,
    capacity: u32,
    largest_block: u32,
    formula: Formula,
) -> Device {
    Device { name, code, kind, heads, cylinders, capacity, largest_block, formula }
}

impl Device {
    /// The device of a number such as 0x3390.
    #[must_use]
    pub fn of_code(code: u16) -> Option<&'static Device> {
        DEVICES.iter().find(|device| device.code == code)
    }

    /// The cost in units of a block that is not the last of its track; lengths in bytes.
    #[must_use]
    pub const fn cost(&self, data: u32, key: u32) -> u32 {
        // A length beyond any device costs more than any track has, and no sum overflows.
        let data = if data > 1 << 20 { 1 << 20 } else { data };
        let key = if key > 256 { 256 } else { key };
        match self.formula {
            Formula::Cells => 10 + if key > 0 { 9 + cells_of(key) } else { 0 } + 9 + cells_of(data),
            Formula::Rounded { data: more, key: more_for_key } => {
                (data + more).next_multiple_of(32)
                    + if key > 0 { (key + more_for_key).next_multiple_of(32) } else { 0 }
            }
            Formula::Plain { block, key: more_for_key } => {
                key + data + block + if key > 0 { more_for_key } else { 0 }
            }
            Formula::Tolerant => {
                let length = (key + data) as u64 * 2137 / 2048;
                length as u32 + 101 + if key > 0 { 45 } else { 0 }
            }
        }
    }

    /// Does a block still fit after `used` units?
    #[must_use]
    pub const fn fits(&self, used: u32, data: u32, key: u32) -> bool {
        let cost = match self.formula {
            Formula::Tolerant if data <= 1 << 20 && key <= 256 => key + data + if key > 0 { 45 } else { 0 },
            _ => self.cost(data, key),
        };
        used <= self.capacity && cost <= self.capacity - used
    }

    /// Blocks of one size on a track.
    #[must_use]
    pub fn blocks_per_track(&self, data: u32, key: u32) -> u32 {
        let (mut used, mut blocks) = (0, 0);
        while self.fits(used, data, key) {
            used += self.cost(data, key);
            blocks += 1;
        }
        blocks
    }

    /// The most bytes of data that fit after `used` units, with a key of so many bytes; None if not even an empty block
    /// fits.
    #[must_use]
    pub fn largest(&self, used: u32, key: u32) -> Option<u32> {
        if !self.fits(used, 0, key) {
            return None;
        }
        // Costs only rise with the length, so a binary search finds the last length that fits.
        let (mut fits, mut not) = (0, self.largest_block + 1);
        while not - fits > 1 {
            let middle = fits + (not - fits) / 2;
            if self.fits(used, middle, key) { fits = middle } else { not = middle }
        }
        Some(fits)
    }
}

/// Cells for so many bytes of data or key, without the fixed cells.
const fn cells_of(length: u32) -> u32 {
    (length + 6 + 6 * (length + 6).div_ceil(232)).div_ceil(34)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_table_of_the_3390() {
        for (data, cells, blocks) in [
            (8, 20, 86),
            (80, 22, 78),
            (256, 28, 61),
            (1_024, 51, 33),
            (3_120, 114, 15),
            (4_096, 143, 12),
            (6_144, 205, 8),
            (6_160, 206, 8),
            (6_233, 208, 8),
            (8_906, 288, 6),
            (9_040, 292, 5),
            (11_476, 366, 4),
            (13_312, 421, 4),
            (13_682, 432, 4),
            (15_476, 487, 3),
            (18_432, 576, 3),
            (18_452, 576, 3),
            (19_069, 595, 2),
            (23_440, 727, 2),
            (27_920, 862, 2),
            (27_998, 864, 2),
            (27_999, 865, 1),
            (32_760, 1_008, 1),
            (56_664, 1_729, 1),
            (56_665, 1_730, 0),
        ] {
            assert_eq!(D3390.cost(data, 0), cells, "{data}");
            assert_eq!(D3390.blocks_per_track(data, 0), blocks, "{data}");
        }
        assert_eq!((D3390.cost(256, 8), D3390.blocks_per_track(256, 8)), (38, 45), "a directory block");
        assert_eq!(D3390.cost(0, 0), 20, "an end of file");
    }

    #[test]
    fn the_largest_block_for_each_number_on_a_track() {
        let without_key = [
            56_664, 27_998, 18_452, 13_682, 10_796, 8_906, 7_548, 6_518, 5_726, 5_064, 4_566, 4_136, 3_768,
            3_440, 3_174, 2_942, 2_710, 2_546, 2_376, 2_212,
        ];
        let with_key = [56_336, 27_664, 18_118, 13_348, 10_462, 8_578, 7_214, 6_190, 5_392, 4_730];
        for (key, table) in [(0, &without_key[..]), (8, &with_key[..])] {
            for (number, largest) in (1..).zip(table) {
                assert_eq!(D3390.blocks_per_track(*largest, key), number, "{largest}");
                assert_eq!(D3390.blocks_per_track(largest + 1, key), number - 1, "{}", largest + 1);
            }
        }
    }

    #[test]
    fn what_still_fits_on_a_started_track() {
        for (blocks, size, left, largest) in
            [(1, 32_760, 721, 23_256), (2, 23_440, 275, 8_476), (8, 6_144, 89, 2_314)]
        {
            let used = blocks * D3390.cost(size, 0);
            assert_eq!(D3390.capacity - used, left);
            assert_eq!(D3390.largest(used, 0), Some(largest));
        }
        assert_eq!(D3390.largest(0, 0), Some(56_664));
        assert_eq!(
            D3390.largest(1_729 - 20, 0),
            Some(22),
            "twenty cells: an end of file, and what its last cell holds"
        );
        assert_eq!(D3390.largest(1_729 - 19, 0), None);
        assert_eq!(D3390.largest(2_000, 0), None);
    }

    #[test]
    fn other_devices() {
        let by_name = |name| DEVICES.iter().find(|device| device.name == name).expect("in the table");
        for device in &DEVICES {
            assert_eq!(device.blocks_per_track(device.largest_block, 0), 1, "{}", device.name);
            assert_eq!(device.blocks_per_track(device.largest_block + 1, 0), 0, "{}", device.name);
            assert_eq!(Device::of_code(device.code), Some(device));
        }
        assert_eq!(by_name("3380").blocks_per_track(23_476, 0), 2);
        assert_eq!(by_name("3380").blocks_per_track(23_477, 0), 1);
        assert_eq!(by_name("3380").blocks_per_track(6_233, 0), 7);
        assert_eq!(
            by_name("2314").blocks_per_track(3_520, 0),
            2,
            "the last block of a track is dearer to place first"
        );
        assert_eq!(Device::of_code(0x1234), None);
    }

    #[test]
    fn no_length_is_too_long_to_be_measured() {
        for device in &DEVICES {
            for length in [1 << 20, u32::MAX - 1, u32::MAX] {
                assert!(!device.fits(0, length, 0) && !device.fits(0, length, u32::MAX));
                assert!(device.cost(length, length) > device.capacity);
            }
            assert!(!device.fits(u32::MAX, 0, 0));
        }
    }
}
