//! Sixty-four bits that stand for a text: FNV-1a.
//!
//! Not here: the fingerprint of the table of counters, which is made when the crate is compiled (`table`).

/// FNV-1a of some bytes. Who needs a value for "none" keeps one apart.
#[must_use]
pub fn fingerprint(bytes: impl IntoIterator<Item = u8>) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.into_iter().fold(0xcbf2_9ce4_8422_2325, step)
}

#[cfg(test)]
mod tests {
    use super::fingerprint;

    /// The values of the authors of the algorithm.
    #[test]
    fn it_is_that_of_its_authors() {
        assert_eq!(fingerprint(*b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fingerprint(*b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fingerprint(*b"foobar"), 0x8594_4171_f739_67e8);
    }
}
