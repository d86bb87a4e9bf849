//! Base64, and SHA-256 by FIPS 180-4: what a page needs that carries a program and names its own script by its hash.
//!
//! Not here: any use for secrets; what is hashed is public.

/// Base64 with padding.
pub fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let at = |place: usize| u32::from(three.get(place).copied().unwrap_or(0));
        let word = at(0) << 16 | at(1) << 8 | at(2);
        for place in 0..4 {
            let letter = LETTERS[(word >> (18 - 6 * place) & 63) as usize];
            text.push(if place <= three.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

/// The first 32 bits of the fractional parts of the square roots of the first eight primes.
const START: [u32; 8] =
    [0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19];

/// The same of the cube roots of the first sixty-four primes, made rather than copied: a wrong digit would be hard to see.
const ROUNDS: [u32; 64] = {
    let mut all = [0; 64];
    let (mut found, mut candidate) = (0, 2_u128);
    while found < 64 {
        let mut divisor = 2;
        while divisor * divisor <= candidate && !candidate.is_multiple_of(divisor) {
            divisor += 1;
        }
        if divisor * divisor > candidate {
            // The largest root with root^3 <= prime * 2^96 is the cube root with 32 binary places; it is below 2^36.
            let (mut root, mut bit) = (0_u128, 1_u128 << 35);
            while bit > 0 {
                let next = root | bit;
                if next * next * next <= candidate << 96 {
                    root = next;
                }
                bit >>= 1;
            }
            all[found] = (root & 0xffff_ffff) as u32;
            found += 1;
        }
        candidate += 1;
    }
    all
};

/// The hash.
pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    let mut message = bytes.to_vec();
    message.push(0x80);
    while message.len() % 64 != 56 {
        message.push(0);
    }
    message.extend_from_slice(&(bytes.len() as u64 * 8).to_be_bytes());
    let mut state = START;
    for block in message.chunks_exact(64) {
        let mut words = [0_u32; 64];
        for (word, four) in words.iter_mut().zip(block.chunks_exact(4)) {
            *word = four.iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte));
        }
        for at in 16..64 {
            let (early, late) = (words[at - 15], words[at - 2]);
            let one = early.rotate_right(7) ^ early.rotate_right(18) ^ early >> 3;
            let two = late.rotate_right(17) ^ late.rotate_right(19) ^ late >> 10;
            words[at] = words[at - 16].wrapping_add(one).wrapping_add(words[at - 7]).wrapping_add(two);
        }
        let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = state;
        for (word, round) in words.into_iter().zip(ROUNDS) {
            let one = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
            let choice = e & f ^ !e & g;
            let first = h.wrapping_add(one).wrapping_add(choice).wrapping_add(round).wrapping_add(word);
            let two = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
            let majority = a & b ^ a & c ^ b & c;
            (h, g, f, e, d, c, b, a) =
                (g, f, e, d.wrapping_add(first), c, b, a, first.wrapping_add(two).wrapping_add(majority));
        }
        for (sum, part) in state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
            *sum = sum.wrapping_add(part);
        }
    }
    let mut hash = [0; 32];
    for (four, word) in hash.chunks_exact_mut(4).zip(state) {
        four.copy_from_slice(&word.to_be_bytes());
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::{base64, sha256};

    #[test]
    fn base64_of_each_length() {
        // RFC 4648, section 10.
        let all = [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("foobar", "Zm9vYmFy"),
        ];
        for (text, expect) in all {
            assert_eq!(base64(text.as_bytes()), expect);
        }
        assert_eq!(base64(&[0xfb, 0xff, 0xbf]), "+/+/");
    }

    #[test]
    fn hashes_of_the_standard() {
        let hex = |bytes: &[u8]| sha256(bytes).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        assert_eq!(hex(b""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        assert_eq!(hex(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        let two_blocks = b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
        assert_eq!(hex(two_blocks), "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    }
}
