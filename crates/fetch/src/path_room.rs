//! Room for a path that is put together, without storage of the heap.
//!
//! Not here: which paths ([`crate::library`], [`crate::closure`]).

use core::ffi::CStr;

const MOST_PATH: usize = 4096;

/// Room for a path.
pub struct PathRoom {
    bytes: [u8; MOST_PATH],
    length: usize,
}

impl Default for PathRoom {
    fn default() -> Self {
        Self { bytes: [0; MOST_PATH], length: 0 }
    }
}

impl PathRoom {
    /// What was put together last.
    #[must_use]
    pub fn text(&self) -> &CStr {
        let bytes = self.bytes.get(..self.length).unwrap_or_default();
        CStr::from_bytes_with_nul(bytes).unwrap_or_default()
    }

    /// The parts one after the other; nothing where they have no room, or a zero byte in them.
    pub fn join(&mut self, parts: &[&[u8]]) -> Option<&CStr> {
        self.length = 0;
        for part in parts.iter().copied().chain([&b"\0"[..]]) {
            self.bytes.get_mut(self.length..self.length + part.len())?.copy_from_slice(part);
            self.length += part.len();
        }
        CStr::from_bytes_with_nul(self.bytes.get(..self.length)?).ok()
    }
}
