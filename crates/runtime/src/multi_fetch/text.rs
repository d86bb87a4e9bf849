//! Statements that multi-fetch sends, put together without storage of the heap.
//!
//! Invariant: a [`Text`] ends with a zero byte; a part that does not fit makes it unusable, never shorter.
//! Not here: which statements.

use core::ffi::c_char;

use underbar_multifetch::Name;
use underbar_sys::syscall::{map_anonymous, munmap};

/// A text in a place of its own.
pub(super) struct Text<const N: usize> {
    bytes: [u8; N],
    length: usize,
    is_whole: bool,
}

impl<const N: usize> Text<N> {
    pub(super) const fn new() -> Self {
        Text { bytes: [0; N], length: 0, is_whole: true }
    }

    /// Adds bytes.
    pub(super) fn add(&mut self, part: &[u8]) -> &mut Self {
        // One byte stays zero.
        match self.bytes.get_mut(self.length..N - 1).and_then(|rest| rest.get_mut(..part.len())) {
            Some(place) => {
                place.copy_from_slice(part);
                self.length += part.len();
            }
            None => self.is_whole = false,
        }
        self
    }

    /// Adds a number in digits.
    pub(super) fn add_number(&mut self, mut number: u64) -> &mut Self {
        let mut digits = [0_u8; 20];
        let mut at = digits.len();
        for place in digits.iter_mut().rev() {
            *place = b'0' + u8::try_from(number % 10).unwrap_or(0);
            number /= 10;
            at -= 1;
            if number == 0 {
                break;
            }
        }
        self.add(digits.get(at..).unwrap_or_default())
    }

    /// Adds the name of a cursor, which has no quotes in it, in quotes.
    pub(super) fn add_name(&mut self, name: &Name) -> &mut Self {
        self.add(b"\"").add(name.bytes()).add(b"\"")
    }

    /// Its bytes, without the zero; None if something is missing.
    pub(super) fn bytes(&self) -> Option<&[u8]> {
        self.is_whole.then(|| self.bytes.get(..self.length)).flatten()
    }

    /// As C reads it; null if something is missing.
    pub(super) fn pointer(&self) -> *const c_char {
        if self.is_whole { self.bytes.as_ptr().cast() } else { core::ptr::null() }
    }
}

/// Calls `then` with a C string of both parts, in pages that exist for so long; None without pages.
pub(super) fn with_joined<R>(
    first: &[u8],
    second: &[u8],
    then: impl FnOnce(*const c_char) -> R,
) -> Option<R> {
    let length = first.len() + second.len() + 1;
    let pages = map_anonymous(length).ok()?.cast::<u8>();
    // SAFETY: new pages for so many bytes, all zero.
    unsafe {
        core::ptr::copy_nonoverlapping(first.as_ptr(), pages, first.len());
        core::ptr::copy_nonoverlapping(second.as_ptr(), pages.add(first.len()), second.len());
    }
    let result = then(pages.cast());
    // SAFETY: mapped above, and `then` has returned.
    let _ = unsafe { munmap(pages.cast(), length) };
    Some(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_joined_or_refused() {
        let mut text = Text::<16>::new();
        text.add(b"FETCH ").add_number(0).add(b" ").add_number(1024);
        assert_eq!(text.bytes(), Some(&b"FETCH 0 1024"[..]));
        assert_eq!(text.add(b"1234").bytes(), None);
        assert!(text.pointer().is_null());
        let mut full = Text::<4>::new();
        assert_eq!(full.add(b"abc").bytes(), Some(&b"abc"[..]));
        assert_eq!(Text::<32>::new().add_number(u64::MAX).bytes(), Some(&b"18446744073709551615"[..]));
    }

    #[test]
    fn a_long_statement_is_joined_in_pages() {
        let long = [b'x'; 10_000];
        let length = with_joined(b"EXPLAIN ", &long, |text| {
            // SAFETY: a C string.
            unsafe { core::ffi::CStr::from_ptr(text) }.to_bytes().len()
        });
        assert_eq!(length, Some(10_008));
    }
}
