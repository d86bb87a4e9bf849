//! Bytes as text: base64, in which a page carries a program, and hexadecimal, in which hashes are shown.
//!
//! Not here: the hash itself (the crate `sha2`).

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

/// A hash in hexadecimal.
pub fn hexadecimal(hash: &[u8]) -> String {
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::{base64, hexadecimal};
    use sha2::{Digest, Sha256};

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

    fn check(bytes: &[u8], cut: usize) -> String {
        let mut digest = Sha256::new();
        bytes.chunks(cut).for_each(|part| digest.update(part));
        hexadecimal(&digest.finalize())
    }

    /// FIPS 180-4.
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

    #[test]
    fn hashes_of_the_standard() {
        let hex = |bytes: &[u8]| hexadecimal(&Sha256::digest(bytes));
        assert_eq!(hex(b""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        assert_eq!(hex(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        let two_blocks = b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
        assert_eq!(hex(two_blocks), "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    }
}
