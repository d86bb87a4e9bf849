//! Where blocks go on a track of a 3390: the arithmetic that a written library's places follow.
//!
//! A track has 1,729 cells of 34 bytes. Invariant: the cells of the records on one track are never more than that.
//! Not here: other devices; what a binder makes of the rest of a track.

use super::directory::Ttr;

/// Cells of a track.
pub const CELLS: u32 = 1_729;
/// Capacity of a track in bytes, as labels and unloads give it.
pub const TRACK_LENGTH: u32 = 58_786;
/// Tracks of a cylinder.
pub const HEADS: u32 = 15;
/// Tracks that a PDS may have.
pub const TRACKS_MOST: u32 = 65_535;

/// Cells that a record takes: its count, its key if it has one, its data.
#[must_use]
pub fn cells(key: u32, data: u32) -> u32 {
    let part = |length: u32| 9 + (length + 6 + 6 * (length + 6).div_ceil(232)).div_ceil(34);
    10 + if key > 0 { part(key) } else { 0 } + part(data)
}

/// Puts records on tracks one after the other.
#[derive(Debug, Default)]
pub struct Placer {
    track: u32,
    record: u8,
    used: u32,
}

impl Placer {
    /// The place of the next record. A record longer than a track gets one of its own.
    pub fn put(&mut self, key: u32, data: u32) -> Ttr {
        let cells = cells(key, data);
        if self.record == u8::MAX || self.used + cells > CELLS && self.used > 0 {
            *self = Placer { track: self.track + 1, record: 0, used: 0 };
        }
        self.record += 1;
        self.used += cells;
        Ttr::at(self.track, self.record)
    }

    /// Tracks in use.
    #[must_use]
    pub fn tracks(&self) -> u32 {
        self.track + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_of_known_lengths() {
        for (data, expected) in [
            (0, 20),
            (8, 20),
            (256, 28),
            (6_144, 205),
            (18_452, 576),
            (27_998, 864),
            (27_999, 865),
            (32_760, 1_008),
            (56_664, 1_729),
            (56_665, 1_730),
        ] {
            assert_eq!(cells(0, data), expected, "{data}");
        }
        assert_eq!(cells(8, 256), 38);
    }

    #[test]
    fn tracks_are_filled_and_never_overfilled() {
        let mut placer = Placer::default();
        let places: Vec<Ttr> = (0..17).map(|_| placer.put(0, 6_144)).collect();
        assert_eq!(places[7], Ttr::at(0, 8));
        assert_eq!(places[8], Ttr::at(1, 1));
        assert_eq!(placer.tracks(), 3);
    }
}
