//! Numbers in untrusted bytes: every read checks that the bytes are there.
//!
//! Mainframe fields are big-endian; the headers of emulated tapes and disks are little-endian.
//! Invariant: nothing here panics, whatever the offset.

/// `length` bytes from `at`.
pub(crate) fn part(bytes: &[u8], at: usize, length: usize) -> Option<&[u8]> {
    bytes.get(at..at.checked_add(length)?)
}

/// One byte; 0 beyond the end, for flags that a short record leaves out.
pub(crate) fn flag(bytes: &[u8], at: usize) -> u8 {
    bytes.get(at).copied().unwrap_or(0)
}

/// Two bytes, the high one first.
pub(crate) fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(part(bytes, at, 2)?.try_into().ok()?))
}

/// Three bytes, the high one first.
pub(crate) fn be24(bytes: &[u8], at: usize) -> Option<u32> {
    let three = part(bytes, at, 3)?;
    Some(u32::from_be_bytes([0, three[0], three[1], three[2]]))
}

/// Four bytes, the high one first.
pub(crate) fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(part(bytes, at, 4)?.try_into().ok()?))
}

/// Two bytes, the low one first.
pub(crate) fn le16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(part(bytes, at, 2)?.try_into().ok()?))
}

/// Four bytes, the low one first.
pub(crate) fn le32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(part(bytes, at, 4)?.try_into().ok()?))
}

/// Eight bytes, the low one first.
pub(crate) fn le64(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(part(bytes, at, 8)?.try_into().ok()?))
}

/// Up to eight bytes as one number, the high one first.
pub(crate) fn number(bytes: &[u8]) -> Option<u64> {
    (bytes.len() <= 8).then(|| bytes.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
}

/// A digit in each half of each byte: 0x21 is 21. None if a half is not a digit.
pub(crate) fn packed(bytes: &[u8]) -> Option<u32> {
    bytes.iter().try_fold(0_u32, |sum, byte| {
        let (high, low) = (u32::from(byte >> 4), u32::from(byte & 15));
        (high < 10 && low < 10).then(|| sum.checked_mul(100)?.checked_add(high * 10 + low)).flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_at_and_beyond_the_end() {
        let bytes = [1, 2, 3, 4, 5, 6, 7, 8];
        assert_eq!(be16(&bytes, 0), Some(0x0102));
        assert_eq!(be24(&bytes, 5), Some(0x06_07_08));
        assert_eq!(be32(&bytes, 4), Some(0x0506_0708));
        assert_eq!(le16(&bytes, 0), Some(0x0201));
        assert_eq!(le32(&bytes, 0), Some(0x0403_0201));
        assert_eq!(le64(&bytes, 0), Some(0x0807_0605_0403_0201));
        for at in [1, 8, usize::MAX] {
            assert_eq!(le64(&bytes, at), None);
            assert_eq!(be24(&bytes, at.saturating_add(5)), None);
        }
        assert_eq!(number(&bytes[..3]), Some(0x01_02_03));
        assert_eq!(number(&[0; 9]), None);
    }

    #[test]
    fn packed_digits_are_digits() {
        assert_eq!(packed(&[0x01, 0x23]), Some(123));
        assert_eq!(packed(&[0x1A]), None);
        assert_eq!(packed(&[0x99; 9]), None);
    }
}
