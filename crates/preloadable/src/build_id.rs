//! The build-id of an ELF file: the linker's fingerprint, by which an options file can name a program.
//!
//! ```text
//! program headers -> PT_NOTE -> | name size | content size | type | "GNU\0" | content | ...
//! ```
//!
//! Invariant: a malformed file has no build-id; nothing is read beyond the requested range.
//! Not here: its use (`options`).

/// Maximum length of a build-id: SHA-1 has 20 bytes, SHA-256 32.
pub const LONGEST: usize = 32;

/// Writes the build-id of a 64-bit file into `room`, and returns it; empty if it has none. `read(offset, buffer)` fills as
/// much of `buffer` as the file has there and returns how much.
pub fn build_id(mut read: impl FnMut(u64, &mut [u8]) -> usize, room: &mut [u8; LONGEST]) -> &[u8] {
    let length = find(&mut read, room).unwrap_or(0);
    room.get(..length).unwrap_or_default()
}

fn find(read: &mut impl FnMut(u64, &mut [u8]) -> usize, room: &mut [u8; LONGEST]) -> Option<usize> {
    const ENTRY: usize = 56;
    const NOTE: u32 = 4;
    let mut head = [0; 64];
    if read(0, &mut head) != head.len() || !head.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let (table, entries) = (number(&head, 32, 8)?, number(&head, 56, 2)?);
    for index in 0..entries.min(256) {
        let mut entry = [0; ENTRY];
        if read(table.checked_add(index * ENTRY as u64)?, &mut entry) != ENTRY {
            return None;
        }
        if number(&entry, 0, 4)? == u64::from(NOTE) {
            let mut notes = [0; 512];
            let size = usize::try_from(number(&entry, 32, 8)?).ok()?.min(notes.len());
            let size = read(number(&entry, 8, 8)?, notes.get_mut(..size)?);
            if let Some(length) = in_notes(notes.get(..size)?, room) {
                return Some(length);
            }
        }
    }
    None
}

fn in_notes(mut notes: &[u8], room: &mut [u8; LONGEST]) -> Option<usize> {
    const BUILD_ID: u64 = 3;
    loop {
        let (name_size, size) = (number(notes, 0, 4)? as usize, number(notes, 4, 4)? as usize);
        let content = 12 + name_size.checked_next_multiple_of(4)?;
        if number(notes, 8, 4)? == BUILD_ID && notes.get(12..16)? == b"GNU\0" && size <= LONGEST {
            room.get_mut(..size)?.copy_from_slice(notes.get(content..content.checked_add(size)?)?);
            return Some(size);
        }
        notes = notes.get(content.checked_add(size.checked_next_multiple_of(4)?)?..)?;
    }
}

/// A little-endian number of `size` bytes.
fn number(bytes: &[u8], at: usize, size: usize) -> Option<u64> {
    let field = bytes.get(at..at.checked_add(size)?)?;
    Some(field.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    fn of(file: &[u8]) -> Vec<u8> {
        let read = |offset: u64, buffer: &mut [u8]| {
            let rest = file.get(usize::try_from(offset).unwrap_or(usize::MAX)..).unwrap_or_default();
            let length = rest.len().min(buffer.len());
            buffer[..length].copy_from_slice(&rest[..length]);
            length
        };
        build_id(read, &mut [0; LONGEST]).to_vec()
    }

    /// A file with one header, of notes: one of another kind, then the build-id.
    fn file(id: &[u8]) -> Vec<u8> {
        let mut file = std::vec![0; 64 + 56];
        file[..6].copy_from_slice(b"\x7fELF\x02\x01");
        file[32] = 64;
        file[56] = 1;
        file[64] = 4;
        file[64 + 8] = 120;
        for (kind, content) in [(1_u32, &b"abcde"[..]), (3, id)] {
            file.extend([4_u32, content.len() as u32, kind].iter().flat_map(|word| word.to_le_bytes()));
            file.extend(b"GNU\0");
            file.extend(content);
            file.resize(file.len().next_multiple_of(4), 0);
        }
        file[64 + 32] = (file.len() - 120) as u8;
        file
    }

    #[test]
    fn the_note_among_others_is_found() {
        let id: Vec<u8> = (1..=20).collect();
        assert_eq!(of(&file(&id)), id);
    }

    #[test]
    fn damaged_files_have_none_or_some_and_never_more_than_fits() {
        let whole = file(&[7; 20]);
        for cut in 0..whole.len() {
            assert!(of(&whole[..cut]).len() <= LONGEST);
        }
        for at in 0..whole.len() {
            for value in [0, 0x7f, 0xff] {
                let mut damaged = whole.clone();
                damaged[at] = value;
                assert!(of(&damaged).len() <= LONGEST);
            }
        }
        assert_eq!(of(b"#!/bin/sh\n"), b"");
    }
}
