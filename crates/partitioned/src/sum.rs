//! Checksums: XXH64, as published by Yann Collet, whole or piece by piece.
//!
//! Each sum is seeded with its place (the number of the page or block, and the library's identity), so a correct page in a
//! wrong place is detected, too. Sums find damage, not malice: anyone who can write the file can write its sums.
//!
//! Cost: about a third of a nanosecond for four bytes, optimised.

const P1: u64 = 0x9E37_79B1_85EB_CA87;
const P2: u64 = 0xC2B2_AE3D_27D4_EB4F;
const P3: u64 = 0x1656_67B1_9E37_79F9;
const P4: u64 = 0x85EB_CA77_C2B2_AE63;
const P5: u64 = 0x27D4_EB2F_1656_67C5;

/// The sum of bytes that are available as a whole.
#[must_use]
pub fn sum(seed: u64, bytes: &[u8]) -> u64 {
    let mut running = Sum::new(seed);
    running.add(bytes);
    running.finish()
}

/// A sum over pieces: equal to the sum over all of them at once.
#[derive(Clone, Debug)]
pub struct Sum {
    lanes: [u64; 4],
    /// Bytes that do not fill a stripe yet; the first `held` are in use.
    rest: [u8; 32],
    held: usize,
    length: u64,
    seed: u64,
}

impl Sum {
    /// The sum of no bytes so far.
    #[must_use]
    pub fn new(seed: u64) -> Sum {
        let lanes =
            [seed.wrapping_add(P1).wrapping_add(P2), seed.wrapping_add(P2), seed, seed.wrapping_sub(P1)];
        Sum { lanes, rest: [0; 32], held: 0, length: 0, seed }
    }

    /// Adds more bytes.
    pub fn add(&mut self, mut bytes: &[u8]) {
        self.length = self.length.wrapping_add(bytes.len() as u64);
        if self.held > 0 {
            let wanted = (32 - self.held).min(bytes.len());
            let (now, later) = bytes.split_at(wanted);
            self.rest[self.held..self.held + wanted].copy_from_slice(now);
            self.held += wanted;
            bytes = later;
            if self.held < 32 {
                return;
            }
            let stripe = self.rest;
            self.stripes(&[stripe]);
            self.held = 0;
        }
        let (stripes, left) = bytes.as_chunks::<32>();
        self.stripes(stripes);
        self.rest[..left.len()].copy_from_slice(left);
        self.held = left.len();
    }

    #[inline]
    fn stripes(&mut self, stripes: &[[u8; 32]]) {
        // Each lane has its own register: the four multiplications of a stripe do not depend on each other.
        let [mut a, mut b, mut c, mut d] = self.lanes;
        for stripe in stripes {
            let (words, _) = stripe.as_chunks::<8>();
            a = round(a, u64::from_le_bytes(words[0]));
            b = round(b, u64::from_le_bytes(words[1]));
            c = round(c, u64::from_le_bytes(words[2]));
            d = round(d, u64::from_le_bytes(words[3]));
        }
        self.lanes = [a, b, c, d];
    }

    /// The sum of all bytes that were added.
    #[must_use]
    pub fn finish(&self) -> u64 {
        let [a, b, c, d] = self.lanes;
        let mut hash = if self.length >= 32 {
            let joined = a
                .rotate_left(1)
                .wrapping_add(b.rotate_left(7))
                .wrapping_add(c.rotate_left(12))
                .wrapping_add(d.rotate_left(18));
            self.lanes
                .iter()
                .fold(joined, |hash, lane| (hash ^ round(0, *lane)).wrapping_mul(P1).wrapping_add(P4))
        } else {
            self.seed.wrapping_add(P5)
        };
        hash = hash.wrapping_add(self.length);
        let (words, rest) = self.rest[..self.held].as_chunks::<8>();
        for word in words {
            hash = (hash ^ round(0, u64::from_le_bytes(*word)))
                .rotate_left(27)
                .wrapping_mul(P1)
                .wrapping_add(P4);
        }
        let (halves, rest) = rest.as_chunks::<4>();
        for half in halves {
            let half = u64::from(u32::from_le_bytes(*half));
            hash = (hash ^ half.wrapping_mul(P1)).rotate_left(23).wrapping_mul(P2).wrapping_add(P3);
        }
        for byte in rest {
            hash = (hash ^ u64::from(*byte).wrapping_mul(P5)).rotate_left(11).wrapping_mul(P1);
        }
        hash = (hash ^ (hash >> 33)).wrapping_mul(P2);
        hash = (hash ^ (hash >> 29)).wrapping_mul(P3);
        hash ^ (hash >> 32)
    }
}

#[inline]
fn round(lane: u64, word: u64) -> u64 {
    lane.wrapping_add(word.wrapping_mul(P2)).rotate_left(31).wrapping_mul(P1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_values() {
        assert_eq!(sum(0, b""), 0xEF46_DB37_51D8_E999);
        assert_eq!(sum(0, b"a"), 0xD24E_C4F1_A98C_6E5B);
        assert_eq!(sum(0, b"abc"), 0x44BC_2CF5_AD77_0999);
    }

    #[test]
    fn pieces_make_the_whole() {
        let bytes: std::vec::Vec<u8> = (0..1000u32).map(|n| (n * 7 + n / 3) as u8).collect();
        for length in [0, 1, 3, 4, 7, 8, 31, 32, 33, 63, 64, 100, 999, 1000] {
            let whole = sum(9, &bytes[..length]);
            for piece in [1, 5, 31, 32, 33, 100] {
                let mut running = Sum::new(9);
                bytes[..length].chunks(piece).for_each(|piece| running.add(piece));
                assert_eq!(running.finish(), whole, "{length} in pieces of {piece}");
            }
        }
    }

    #[test]
    fn each_flipped_bit_is_seen() {
        let mut bytes = [0x5A_u8; 96];
        let right = sum(1, &bytes);
        for bit in 0..bytes.len() * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(sum(1, &bytes), right, "bit {bit}");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }
}
