//! Blocks: how a segment is divided into elements and free storage.
//!
//! ```text
//!  header 8   payload, 16-aligned                      next header
//! +---------+---------------------------------------+---------+--
//! | size|FP | element: all of it is the program's    | size|FP |
//! +---------+---------------------------------------+---------+--
//! | size|F. | next free | previous free | ... | start | size|.P |    free: links first, its address last
//! +---------+---------------------------------------+---------+--
//! ```
//! F: this block is free. P: the block before it is free, so the word before this header is that block's address. S: its request was
//! sampled. N: its size was new when it was got.
//!
//! The upper sixteen bits of a header are a checksum of the rest of it and its address. A write past the end of an element changes the
//! next header, and the checksum no longer matches. It detects every change within sixteen neighbouring bits; any other change passes
//! once in 65,536 cases, and the size must be a possible one, too. When a block ceases to exist, its header is wiped: an old one
//! in the middle of a block would look valid.
//!
//! Invariants: blocks cover a segment from its first header to its end without a gap; no two neighbours
//! are both free; sizes are multiples of 16, at least [`SMALLEST`].
//! Not here: finding a free block (`index`), and when to split and join (`space`).

/// Bytes before an element.
pub const HEADER: usize = 8;
/// A free block has room for its header, two links and its own address.
pub const SMALLEST: usize = 32;

const FREE: usize = 1;
const AFTER_FREE: usize = 2;
const SAMPLED: usize = 4;
const NEW_SIZE: usize = 8;
const FLAGS: usize = 15;
/// No segment ends above this address, so no size needs more bits; the checksum is above them.
const SUM_SHIFT: u32 = 48;
const PAYLOAD: usize = (1 << SUM_SHIFT) - 1;

/// A place in this library: the loader chooses its address.
static HERE: u8 = 0;

/// A block, by the address of its header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Block(pub usize);

/// Bytes of a block that holds an element of `bytes`; None if the sum overflows.
#[inline]
pub fn block_bytes(bytes: usize) -> Option<usize> {
    Some((bytes.checked_add(HEADER + 15)? & !15).max(SMALLEST))
}

/// All methods: the block is in a live segment, and the caller holds the space's lock, or (for an element's size) owns the element.
#[allow(clippy::missing_safety_doc, reason = "one contract for all, stated above")]
impl Block {
    #[inline]
    unsafe fn word(self, at: usize) -> *mut usize {
        (self.0 + at) as *mut usize
    }

    #[inline]
    unsafe fn header(self) -> usize {
        // SAFETY: a block begins with its header.
        unsafe { *self.word(0) }
    }

    /// Writes size and flags, with their checksum.
    #[inline]
    unsafe fn set_header(self, size_and_flags: usize) {
        // SAFETY: the contract above.
        unsafe { *self.word(0) = size_and_flags | self.sum(size_and_flags) << SUM_SHIFT }
    }

    /// Folds to sixteen bits, so that a change of neighbouring bits shows. The address and this library's load address are mixed
    /// in, so that no text that a program writes is a valid header.
    #[inline]
    fn sum(self, size_and_flags: usize) -> usize {
        const ODD: usize = 0x9e37_79b9_7f4a_7c15;
        let folded = size_and_flags ^ size_and_flags >> 16 ^ size_and_flags >> 32;
        let place = (self.0 ^ (&raw const HERE).addr()).wrapping_mul(ODD) >> SUM_SHIFT;
        (folded ^ place) & 0xffff
    }

    /// Is this a header that was written here, for a block that ends at `end` or before? The word must be readable; nothing else
    /// is assumed.
    #[inline]
    pub unsafe fn is_sound(self, end: usize) -> bool {
        // SAFETY: the caller's promise.
        let header = unsafe { self.header() };
        let size = header & PAYLOAD & !FLAGS;
        header >> SUM_SHIFT == self.sum(header & PAYLOAD)
            && size >= SMALLEST
            && self.0 < end
            && size <= end - self.0
    }

    /// Wipes the header: there is no block here any more.
    #[inline]
    pub unsafe fn wipe(self) {
        // SAFETY: the contract above.
        unsafe { *self.word(0) = 0 }
    }

    /// The block around an element.
    #[inline]
    pub fn of_element(address: usize) -> Self {
        Self(address - HEADER)
    }

    /// The address of the element in it.
    #[inline]
    pub fn element(self) -> usize {
        self.0 + HEADER
    }

    /// Bytes from this header to the next.
    #[inline]
    pub unsafe fn size(self) -> usize {
        // SAFETY: the contract above.
        unsafe { self.header() & PAYLOAD & !FLAGS }
    }

    /// Bytes that the program may use of the element.
    #[inline]
    pub unsafe fn usable(self) -> usize {
        // SAFETY: the contract above.
        unsafe { self.size() - HEADER }
    }

    #[inline]
    pub unsafe fn is_free(self) -> bool {
        // SAFETY: the contract above.
        unsafe { self.header() & FREE != 0 }
    }

    #[inline]
    pub unsafe fn is_after_free(self) -> bool {
        // SAFETY: the contract above.
        unsafe { self.header() & AFTER_FREE != 0 }
    }

    /// Whether the request that it serves was sampled.
    #[inline]
    pub unsafe fn is_sampled(self) -> bool {
        // SAFETY: the contract above.
        unsafe { self.header() & SAMPLED != 0 }
    }

    /// Marks an element's block as that of a sampled request, or no longer. The mark stays until the block is freed or resized. Under the
    /// lock: what is freed next to it changes the same word.
    #[inline]
    pub unsafe fn set_sampled(self, is_sampled: bool) {
        // SAFETY: the contract above.
        unsafe {
            let rest = self.header() & PAYLOAD & !SAMPLED;
            self.set_header(rest | if is_sampled { SAMPLED } else { 0 });
        }
    }

    /// Whether no block of about its size had been freed when it was got.
    #[inline]
    pub unsafe fn is_of_new_size(self) -> bool {
        // SAFETY: the contract above.
        unsafe { self.header() & NEW_SIZE != 0 }
    }

    /// Marks an element's block as one of a new size. The mark stays until the block is freed or resized.
    #[inline]
    pub unsafe fn set_of_new_size(self) {
        // SAFETY: the contract above.
        unsafe { self.set_header(self.header() & PAYLOAD | NEW_SIZE) }
    }

    /// The free block before this one, if `is_after_free`.
    #[inline]
    pub unsafe fn previous_free(self) -> Block {
        // SAFETY: a free block's last word is its own address.
        Block(unsafe { *((self.0 - 8) as *const usize) })
    }

    /// Makes this an element's block of `size` bytes. The flag for the block before it stays as it is.
    #[inline]
    pub unsafe fn set_used(self, size: usize, after_free: bool) {
        // SAFETY: the contract above.
        unsafe { self.set_header(size | if after_free { AFTER_FREE } else { 0 }) }
    }

    /// Makes this a free block of `size` bytes that ends before `end`, and updates the next block's header. Nothing is written at
    /// `end`, so a segment's last page stays untouched until used.
    #[inline]
    pub unsafe fn set_free(self, size: usize, end: usize) {
        // SAFETY: the contract above; the words are inside the block, or in the next block's header.
        unsafe {
            self.set_header(size | FREE);
            if self.0 + size != end {
                *self.word(size - 8) = self.0;
                let next = Block(self.0 + size);
                next.set_header(next.header() & PAYLOAD | AFTER_FREE);
            }
        }
    }

    /// Clears the flag that the block before this one is free.
    #[inline]
    pub unsafe fn clear_after_free(self) {
        // SAFETY: the contract above.
        unsafe { self.set_header(self.header() & PAYLOAD & !AFTER_FREE) }
    }

    /// Links of a free block: the one after it and the one before it in its list.
    #[inline]
    pub unsafe fn links(self) -> (*mut usize, *mut usize) {
        // SAFETY: a free block has room for both.
        unsafe { (self.word(8), self.word(16)) }
    }
}
