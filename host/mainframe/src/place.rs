//! The places of blocks on the tracks of a 3390, one after the other, for written libraries.
//!
//! Invariant: the records on one track never cost more than it has, by the arithmetic of `underbar-partitioned`.
//! Not here: that arithmetic; the binder's use of the rest of a track.

use super::directory::Ttr;
use underbar_partitioned::track::D3390;

/// Capacity of a track in bytes, as in labels and unloads.
pub const TRACK_LENGTH: u32 = 58_786;
/// The most tracks of a PDS.
pub const TRACKS_MOST: u32 = 65_535;

/// Puts records on tracks one after the other.
#[derive(Debug, Default)]
pub struct Placer {
    track: u32,
    record: u8,
    used: u32,
}

impl Placer {
    /// Continues at a place, after directory blocks on the same track, which precede a library's first block.
    #[must_use]
    pub fn from(next: Ttr) -> Placer {
        let record = next.record().saturating_sub(1);
        Placer { track: next.track(), record, used: u32::from(record) * D3390.cost(256, 8) }
    }

    /// The place of the next record. A record longer than a track gets its own track.
    pub fn put(&mut self, key: u32, data: u32) -> Ttr {
        if self.record == u8::MAX || self.used > 0 && !D3390.fits(self.used, data, key) {
            *self = Placer { track: self.track + 1, record: 0, used: 0 };
        }
        self.record += 1;
        self.used += D3390.cost(data, key);
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
    fn tracks_are_filled_and_never_overfilled() {
        let mut placer = Placer::default();
        let places: Vec<Ttr> = (0..17).map(|_| placer.put(0, 6_144)).collect();
        assert_eq!(places[7], Ttr::at(0, 8));
        assert_eq!(places[8], Ttr::at(1, 1));
        assert_eq!(placer.tracks(), 3);
        assert_eq!(placer.put(8, 256), Ttr::at(2, 2));
        assert_eq!(placer.put(0, 60_000), Ttr::at(3, 1), "too long for any track, and alone on one");
        assert_eq!(placer.put(0, 0), Ttr::at(4, 1));
    }
}
