//! Texts in shared memory.
//!
//! Invariant: a text is words of eight bytes, so that a reader sees each word whole.
//! Not here: which texts there are (`layout`, `heaps`).

use core::sync::atomic::{AtomicU64, Ordering};

/// A text of at most `8 * WORDS` bytes in shared memory; a longer one is cut.
#[repr(C)]
pub struct Text<const WORDS: usize>(pub [AtomicU64; WORDS]);

impl Text<4> {
    /// The text, with zeros after it.
    #[must_use]
    pub fn bytes(&self) -> [u8; 32] {
        let mut bytes = [0; 32];
        for (to, word) in bytes.as_chunks_mut().0.iter_mut().zip(&self.0) {
            *to = word.load(Ordering::Relaxed).to_le_bytes();
        }
        bytes
    }
}

impl<const WORDS: usize> Text<WORDS> {
    /// Stores a text, zero-filled. Only the slot's owner writes.
    pub fn store(&self, text: &[u8]) {
        for (at, word) in self.0.iter().enumerate() {
            let mut bytes = [0; 8];
            let rest = text.get(at * 8..).unwrap_or(&[]);
            let length = rest.len().min(8);
            bytes[..length].copy_from_slice(&rest[..length]);
            word.store(u64::from_le_bytes(bytes), Ordering::Relaxed);
        }
    }

    /// Takes another's text. Only the slot's owner, or its folder, writes.
    pub fn copy(&self, other: &Self) {
        for (mine, theirs) in self.0.iter().zip(&other.0) {
            mine.store(theirs.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }

    /// The text without its zeros, in `room`, which has at least its bytes.
    pub fn read<'a>(&self, room: &'a mut [u8]) -> &'a [u8] {
        for (bytes, word) in room.chunks_exact_mut(8).zip(&self.0) {
            bytes.copy_from_slice(&word.load(Ordering::Relaxed).to_le_bytes());
        }
        let length = room.iter().position(|byte| *byte == 0).unwrap_or(room.len());
        &room[..length]
    }

    /// True if it holds this text, cut like it.
    #[must_use]
    pub fn is(&self, text: &[u8]) -> bool {
        let other = Self([const { AtomicU64::new(0) }; WORDS]);
        other.store(text);
        self.same(&other)
    }

    /// True if there is no text.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|word| word.load(Ordering::Relaxed) == 0)
    }

    /// True if both hold the same text.
    #[must_use]
    pub fn same(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).all(|(a, b)| a.load(Ordering::Relaxed) == b.load(Ordering::Relaxed))
    }
}
