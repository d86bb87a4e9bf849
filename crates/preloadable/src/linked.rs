//! The note of a program that has underbar's runtime in itself, by its static library for C: it keeps accounts without the preload
//! library.
//!
//! ```text
//! PT_NOTE -> | length of owner | length of content | type | "underbar\0" | content | next note ...
//! ```
//!
//! Invariant: any bytes get an answer.
//! Not here: the writer of the note (`cargo xtask static-library`).

/// The owner's name, with its zero byte and padding.
const OWNER: &[u8; 12] = b"underbar\0\0\0\0";

/// Whether one of these notes is that of underbar's runtime.
#[must_use]
pub fn is_in(mut notes: &[u8]) -> bool {
    while let Some((lengths, rest)) = notes.split_at_checked(12) {
        let length = |at: usize| {
            let bytes = lengths.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
            u32::from_le_bytes(bytes.unwrap_or_default()) as usize
        };
        let owner = length(0).next_multiple_of(4);
        if rest.get(..owner) == Some(OWNER) {
            return true;
        }
        notes = rest.get(owner.saturating_add(length(4).next_multiple_of(4))..).unwrap_or_default();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_note_is_found_among_others_and_no_bytes_lead_astray() {
        let note = |owner: &[u8], about: &[u8]| {
            let mut bytes = Vec::new();
            for number in [owner.len() as u32, about.len() as u32, 1] {
                bytes.extend(number.to_ne_bytes());
            }
            for part in [owner, about] {
                bytes.extend(part);
                bytes.resize(bytes.len().next_multiple_of(4), 0);
            }
            bytes
        };
        let [gnu, ours] = [note(b"GNU\0", &[7; 21]), note(b"underbar\0", &[1, 0, 0, 0])];
        let both = [&gnu[..], &ours].concat();
        assert!(is_in(&ours) && is_in(&both) && !is_in(&gnu));
        assert!((0..gnu.len() + 24).all(|length| !is_in(&both[..length])), "cut");
        assert!(!is_in(&[0xff; 64]) && !is_in(&[]));
    }
}
