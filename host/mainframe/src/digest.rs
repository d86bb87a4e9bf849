//! SHA-256 (FIPS 180-4), by which members out of different carriers are compared.
//!
//! Invariant: the digest does not depend on how the bytes were cut into calls of `add`.
//! Not here: protection against anybody; it tells whether bytes are the same.

/// A digest that bytes are added to.
pub struct Sha256 {
    state: [u32; 8],
    /// What does not fill 64 bytes yet.
    rest: Vec<u8>,
    length: u64,
}

impl Default for Sha256 {
    fn default() -> Sha256 {
        Sha256 { state: START, rest: Vec::with_capacity(64), length: 0 }
    }
}

impl Sha256 {
    /// Adds bytes.
    pub fn add(&mut self, mut bytes: &[u8]) {
        self.length += bytes.len() as u64;
        if !self.rest.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(64 - self.rest.len()));
            self.rest.extend(now);
            bytes = later;
            if self.rest.len() < 64 {
                return;
            }
            let block: [u8; 64] = self.rest.as_slice().try_into().unwrap_or([0; 64]);
            self.block(&block);
            self.rest.clear();
        }
        let mut blocks = bytes.chunks_exact(64);
        for block in &mut blocks {
            self.block(block.try_into().unwrap_or(&[0; 64]));
        }
        self.rest.extend(blocks.remainder());
    }

    /// The digest in hexadecimal.
    #[must_use]
    pub fn finish(mut self) -> String {
        let bits = self.length * 8;
        self.add(&[0x80]);
        let zeros = (56 + 64 - self.rest.len()) % 64;
        self.add(&[0; 64][..zeros]);
        self.add(&bits.to_be_bytes());
        self.state.iter().map(|word| format!("{word:08x}")).collect()
    }

    fn block(&mut self, block: &[u8; 64]) {
        let mut schedule = [0_u32; 64];
        for (word, bytes) in schedule.iter_mut().zip(block.chunks_exact(4)) {
            *word = bytes.iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte));
        }
        for at in 16..64 {
            let (two, fifteen) = (schedule[at - 2], schedule[at - 15]);
            let low = fifteen.rotate_right(7) ^ fifteen.rotate_right(18) ^ fifteen >> 3;
            let high = two.rotate_right(17) ^ two.rotate_right(19) ^ two >> 10;
            schedule[at] =
                schedule[at - 16].wrapping_add(low).wrapping_add(schedule[at - 7]).wrapping_add(high);
        }
        let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = self.state;
        for (word, constant) in schedule.into_iter().zip(ROUNDS) {
            let high = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
            let choice = e & f ^ !e & g;
            let one = h.wrapping_add(high).wrapping_add(choice).wrapping_add(constant).wrapping_add(word);
            let low = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
            let two = low.wrapping_add(a & b ^ a & c ^ b & c);
            (h, g, f, e, d, c, b, a) = (g, f, e, d.wrapping_add(one), c, b, a, one.wrapping_add(two));
        }
        for (word, added) in self.state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
            *word = word.wrapping_add(added);
        }
    }
}

/// Fractions of the square roots of the first eight primes.
const START: [u32; 8] =
    [0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19];

/// Fractions of the cube roots of the first 64 primes.
const ROUNDS: [u32; 64] = [
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
];

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], cut: usize) -> String {
        let mut digest = Sha256::default();
        bytes.chunks(cut).for_each(|part| digest.add(part));
        digest.finish()
    }

    #[test]
    fn digests_of_the_standard() {
        for cut in [1, 3, 63, 64, 65, 1000] {
            assert_eq!(check(b"", cut), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
            assert_eq!(
                check(b"abc", cut),
                "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
            );
            assert_eq!(
                check(b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", cut),
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
            );
            assert_eq!(
                check(&[b'a'; 1_000], cut),
                "41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3"
            );
        }
    }
}
