//! The bytes of a file or a loaded program at an address, read by copying.
//!
//! ```text
//! Memory::table(address, length) ──> Table ──> read::<u32>(at) ──> Some(value), or None beyond the end
//! ```
//!
//! A loaded program's tables may be in memory that the program can write (patchelf puts them there), and relocation writes
//! next to them. So there are no references to those bytes, only copies made by [`Table::read`].
//!
//! Invariant: a [`Table`] is within bytes that stay readable for its lifetime.
//! Not here: the meaning of the bytes.

use core::marker::PhantomData;

use super::Layout;

/// Readable bytes: of a slice, or of a loaded program's segment.
#[derive(Clone, Copy, Debug)]
pub struct Table<'a> {
    start: *const u8,
    length: usize,
    of: PhantomData<&'a [u8]>,
}

/// A type for which any bytes are a valid value.
///
/// # Safety
/// Every pattern of bits is a value of the type.
pub unsafe trait Plain: Copy {}
// SAFETY: integers, and arrays and structures of integers without padding.
unsafe impl Plain for u8 {}
// SAFETY: as above.
unsafe impl Plain for u16 {}
// SAFETY: as above.
unsafe impl Plain for u32 {}
// SAFETY: as above.
unsafe impl Plain for u64 {}
// SAFETY: as above.
unsafe impl<T: Plain, const N: usize> Plain for [T; N] {}

impl<'a> Table<'a> {
    /// No bytes.
    pub const EMPTY: Table<'static> = Table { start: core::ptr::dangling(), length: 0, of: PhantomData };

    /// The bytes of a slice.
    #[must_use]
    pub fn of(bytes: &'a [u8]) -> Self {
        Self { start: bytes.as_ptr(), length: bytes.len(), of: PhantomData }
    }

    /// The bytes at an address of this process.
    ///
    /// # Safety
    /// They stay readable for the time `'a`; only this thread may write them meanwhile, between reads.
    #[must_use]
    pub unsafe fn at(start: *const u8, length: usize) -> Self {
        Self { start, length, of: PhantomData }
    }

    /// Bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Is it empty?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The value at this offset.
    #[inline]
    #[must_use]
    pub fn read<T: Plain>(&self, at: usize) -> Option<T> {
        let end = at.checked_add(size_of::<T>())?;
        // SAFETY: the bytes are within the table, which can be read; any bytes are a value of T, at any alignment.
        (end <= self.length).then(|| unsafe { self.start.add(at).cast::<T>().read_unaligned() })
    }

    /// A part of it.
    #[must_use]
    pub fn part(&self, at: usize, length: usize) -> Option<Table<'a>> {
        let end = at.checked_add(length)?;
        // The sum stays within the table.
        (end <= self.length).then(|| Self { start: self.start.wrapping_add(at), length, of: PhantomData })
    }

    /// From an offset to the end.
    #[must_use]
    pub fn after(&self, at: usize) -> Option<Table<'a>> {
        self.part(at, self.length.checked_sub(at)?)
    }

    /// The length of the text at this offset, without the zero byte after it; none if the text has no end.
    #[must_use]
    pub fn text_length(&self, at: usize) -> Option<usize> {
        let mut length = 0;
        loop {
            match self.read::<u8>(at.checked_add(length)?)? {
                0 => return Some(length),
                _ => length += 1,
            }
        }
    }

    /// Is there a text that ends with a zero byte at this offset?
    #[must_use]
    pub fn is_text(&self, at: usize, text: &[u8]) -> bool {
        let Some(end) = at.checked_add(text.len()) else { return false };
        self.read::<u8>(end) == Some(0)
            && text.iter().zip(at..).all(|(byte, at)| self.read::<u8>(at) == Some(*byte))
    }

    /// The address of the byte at this offset.
    #[must_use]
    pub fn address(&self, at: usize) -> *const u8 {
        self.start.wrapping_add(at)
    }
}

/// A source of bytes by addresses of a file.
pub trait Memory {
    /// The bytes from an address on, up to the end of the file's part of that segment.
    fn from(&self, address: u64) -> Option<Table<'_>>;

    /// So many bytes from an address on.
    fn table(&self, address: u64, length: u64) -> Option<Table<'_>> {
        self.from(address)?.part(0, usize::try_from(length).ok()?)
    }
}

/// The bytes of a file that is not loaded.
#[derive(Clone, Copy, Debug)]
pub struct FileBytes<'a> {
    /// All of it.
    pub bytes: &'a [u8],
    /// Its segments.
    pub layout: &'a Layout,
}

impl Memory for FileBytes<'_> {
    fn from(&self, address: u64) -> Option<Table<'_>> {
        let segment = self.layout.segment(address, 1).filter(|segment| segment.is_readable())?;
        let into = address - segment.address;
        let (at, length) = (segment.offset + into, segment.in_file.checked_sub(into)?);
        Table::of(self.bytes).part(usize::try_from(at).ok()?, usize::try_from(length).ok()?)
    }
}

/// The bytes of a program that is loaded.
#[derive(Clone, Copy, Debug)]
pub struct LoadedBytes<'a> {
    bias: usize,
    layout: &'a Layout,
}

impl<'a> LoadedBytes<'a> {
    /// A program whose addresses are its file's plus `bias`.
    ///
    /// # Safety
    /// All readable segments of the layout are mapped there as long as `'a`, and only this thread writes them while they are
    /// read through this.
    #[must_use]
    pub unsafe fn new(bias: usize, layout: &'a Layout) -> Self {
        Self { bias, layout }
    }
}

impl Memory for LoadedBytes<'_> {
    fn from(&self, address: u64) -> Option<Table<'_>> {
        let segment = self.layout.segment(address, 1).filter(|segment| segment.is_readable())?;
        let length = segment.in_file.checked_sub(address - segment.address)?;
        let start = self.bias.wrapping_add(address as usize) as *const u8;
        // SAFETY: `new`'s promise: the segment is mapped and readable, and contains these bytes.
        Some(unsafe { Table::at(start, length as usize) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_beyond_the_end_is_read() {
        let table = Table::of(b"abcd\0ef");
        assert_eq!(table.read::<u32>(0), Some(u32::from_le_bytes(*b"abcd")));
        assert_eq!(table.read::<u32>(4), None);
        assert_eq!(table.read::<u8>(usize::MAX), None);
        assert_eq!(table.text_length(1), Some(3));
        assert_eq!(table.text_length(5), None, "a text without an end");
        assert!(table.is_text(0, b"abcd") && !table.is_text(0, b"abc") && !table.is_text(5, b"ef"));
        assert!(table.part(3, 5).is_none() && table.part(7, 0).is_some() && table.after(8).is_none());
    }
}
