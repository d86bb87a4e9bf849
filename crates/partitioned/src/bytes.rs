//! Fields at offsets of a slice, little-endian unless the name says otherwise.
//!
//! Invariant: bytes beyond the slice read as zero and are not written, so nothing here panics. Callers check lengths first
//! wherever a zero could pass for a value.

/// N bytes from an offset.
pub fn take<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut taken = [0; N];
    if let Some(found) = at.checked_add(N).and_then(|end| bytes.get(at..end)) {
        taken.copy_from_slice(found);
    }
    taken
}

pub fn u8_at(bytes: &[u8], at: usize) -> u8 {
    bytes.get(at).copied().unwrap_or(0)
}

pub fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(take(bytes, at))
}

pub fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(take(bytes, at))
}

pub fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(take(bytes, at))
}

pub fn put(bytes: &mut [u8], at: usize, field: &[u8]) {
    if let Some(place) = at.checked_add(field.len()).and_then(|end| bytes.get_mut(at..end)) {
        place.copy_from_slice(field);
    }
}
