//! The page's policy: a browser loads nothing, and runs and applies only the page's own script and style.
//!
//! Invariant: the policy names both by their hash. A script or a style that text of others smuggled in would not run or apply.
//! The hash is computed here: seven crates for one function of 40 lines would be more to review.

/// The value of `Content-Security-Policy` for a page with this script and this style.
pub fn policy(script: &str, style: &str) -> String {
    format!(
        "default-src 'none'; script-src {}; style-src {}; base-uri 'none'; form-action 'none'",
        named(script),
        named(style)
    )
}

fn named(text: &str) -> String {
    format!("'sha256-{}'", base64(&sha256(text.as_bytes())))
}

/// The 32 bits behind the point of a root of a prime, as FIPS 180-4 takes its constants.
fn root_bits(root: f64) -> u32 {
    ((root - f64::from(root as u32)) * 4_294_967_296.0) as u32
}

/// SHA-256 (FIPS 180-4).
fn sha256(bytes: &[u8]) -> [u8; 32] {
    let primes = (2_u32..)
        .filter(|number| (2..*number).take_while(|by| by * by <= *number).all(|by| number % by != 0));
    let primes: Vec<f64> = primes.take(64).map(f64::from).collect();
    let constants: Vec<u32> = primes.iter().map(|prime| root_bits(libm::cbrt(*prime))).collect();
    let mut state: Vec<u32> = primes[..8].iter().map(|prime| root_bits(libm::sqrt(*prime))).collect();

    let mut padded = bytes.to_vec();
    padded.push(0x80);
    padded.resize(padded.len().next_multiple_of(64), 0);
    if padded.len() - bytes.len() < 9 {
        padded.resize(padded.len() + 64, 0);
    }
    let end = padded.len();
    padded[end - 8..].copy_from_slice(&(8 * bytes.len() as u64).to_be_bytes());

    for block in padded.chunks_exact(64) {
        let mut words: Vec<u32> = block
            .chunks_exact(4)
            .map(|four| four.iter().fold(0, |word, byte| word << 8 | u32::from(*byte)))
            .collect();
        for at in 16..64 {
            let (near, far) = (words[at - 15], words[at - 2]);
            let near = near.rotate_right(7) ^ near.rotate_right(18) ^ (near >> 3);
            let far = far.rotate_right(17) ^ far.rotate_right(19) ^ (far >> 10);
            words.push(words[at - 16].wrapping_add(near).wrapping_add(words[at - 7]).wrapping_add(far));
        }
        let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h]: [u32; 8] =
            std::array::from_fn(|at| state[at]);
        for (word, constant) in words.iter().zip(&constants) {
            let chosen = (e & f) ^ (!e & g);
            let mixed = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
            let one = [mixed, chosen, *constant, *word].into_iter().fold(h, u32::wrapping_add);
            let most = (a & b) ^ (a & c) ^ (b & c);
            let other = (a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22)).wrapping_add(most);
            (h, g, f, e, d, c, b, a) = (g, f, e, d.wrapping_add(one), c, b, a, one.wrapping_add(other));
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

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let word = (0..3).fold(0_u32, |word, at| word << 8 | u32::from(three.get(at).copied().unwrap_or(0)));
        for at in 0..4 {
            let letter = LETTERS[(word >> (18 - 6 * at) & 63) as usize];
            text.push(if at <= three.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_browsers() {
        // Known values of the empty text and of `abc`.
        assert_eq!(named(""), "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='");
        assert_eq!(named("abc"), "'sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0='");
        // The example of two blocks in FIPS 180-4.
        let two = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
        assert_eq!(sha256(two.as_bytes())[..4], [0x24, 0x8d, 0x6a, 0x61]);
        assert!(policy("a", "b").starts_with("default-src 'none'; script-src 'sha256-"));
    }
}
