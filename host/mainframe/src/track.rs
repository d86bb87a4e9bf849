//! Records on a track: count, key and data, one after the other.
//!
//! ```text
//! home address 5 | R0 { CC 2 | HH 2 | R 1 | KL 1 | DL 2 | key | data } | R1 ... | 8 x FF
//! ```
//!
//! Invariant: a record that is returned is within the track; R0 is left out.
//! Not here: the source of tracks (`image`).

use super::bytes::{be16, part};

/// Faults of a track; offsets are bytes from its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// A record that does not end within the track.
    #[error("the record at {at} has a length of {says} bytes, but the track has {left} more")]
    Record {
        /// Where its count begins.
        at: usize,
        /// Bytes of count, key and data.
        says: usize,
        /// Bytes from there to the end of the track.
        left: usize,
    },
    /// More records than record numbers.
    #[error("the track has more than 255 records, at {at}")]
    Many {
        /// The start of the first one beyond the limit.
        at: usize,
    },
    /// The end of the track is not marked: it was cut.
    #[error("the track has no end after {length} bytes")]
    Unended {
        /// Bytes of the track.
        length: usize,
    },
}

/// One record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Number on the track.
    pub number: u8,
    /// Where its key begins on the track.
    pub key: usize,
    /// Bytes of key.
    pub key_length: usize,
    /// Bytes of data, after the key; 0 marks the end of a file or member.
    pub length: usize,
}

impl Record {
    /// Where its data begins on the track.
    #[must_use]
    pub fn data(&self) -> usize {
        self.key + self.key_length
    }
}

const END: [u8; 8] = [0xFF; 8];

/// The records of a track, and the faults of the rest.
#[must_use]
pub fn records(track: &[u8]) -> (Vec<Record>, Option<Fault>) {
    let (mut found, mut at) = (Vec::new(), 5);
    loop {
        let Some(count) = part(track, at, 8) else {
            return (found, Some(Fault::Unended { length: track.len() }));
        };
        if count == END {
            return (found, None);
        }
        let (key_length, length) = (usize::from(count[5]), usize::from(be16(count, 6).unwrap_or(0)));
        let says = 8 + key_length + length;
        if says > track.len() - at {
            return (found, Some(Fault::Record { at, says, left: track.len() - at }));
        }
        if found.len() == usize::from(u8::MAX) {
            return (found, Some(Fault::Many { at }));
        }
        if count[4] != 0 {
            found.push(Record { number: count[4], key: at + 8, key_length, length });
        }
        at += says;
    }
}

/// Writes a track image.
#[cfg(test)]
pub(crate) fn write(cylinder: u16, head: u16, records: &[(u8, &[u8], &[u8])]) -> Vec<u8> {
    let address = [cylinder.to_be_bytes(), head.to_be_bytes()].concat();
    let mut track = vec![0];
    track.extend(&address);
    for (number, key, data) in [(0, &[][..], &[0; 8][..])].iter().chain(records) {
        track.extend(&address);
        track.extend([*number, key.len() as u8]);
        track.extend((data.len() as u16).to_be_bytes());
        track.extend(*key);
        track.extend(*data);
    }
    track.extend(END);
    track
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_back_and_cuts_are_named() {
        let track = write(3, 4, &[(1, b"KEY", b"some data"), (2, b"", b""), (7, b"", b"more")]);
        let (found, fault) = records(&track);
        assert_eq!(fault, None);
        assert_eq!(found.iter().map(|record| record.number).collect::<Vec<_>>(), [1, 2, 7]);
        assert_eq!(&track[found[0].data()..][..found[0].length], b"some data");
        assert_eq!(&track[found[0].key..][..3], b"KEY");
        let many: Vec<(u8, &[u8], &[u8])> = (0..300).map(|_| (1, &b""[..], &b""[..])).collect();
        let (found_of_many, fault) = records(&write(0, 0, &many));
        assert!(found_of_many.len() == 255 && matches!(fault, Some(Fault::Many { .. })));
        for end in 0..track.len() {
            let (some, fault) = records(&track[..end]);
            assert!(found.starts_with(&some) && fault.is_some(), "{end}");
        }
    }
}
