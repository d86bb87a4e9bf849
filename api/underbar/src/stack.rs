//! A stack of frames in segments, for interpreters: last in, first out.
//!
//! ```text
//! initial segment        increment            increment
//! +------------------+   +----------------+   +----------------+
//! | frame 1          |   | frame 4        |   | empty: the     |
//! | frame 2          |   | frame 5 <- top |   | spare, at most |
//! | frame 3     |gap |   |          | free|   | one under Free |
//! +------------------+   +----------------+   +----------------+
//! ```
//!
//! ```
//! use underbar::stack::Stack;
//!
//! # fn main() -> Result<(), underbar::stack::NoStorage> {
//! let mut stack = Stack::new()?;
//! stack.push(100)?[0] = 1;
//! stack.push(200)?[0] = 2;
//! assert_eq!(stack.top().map(|frame| (frame.len(), frame[0])), Some((200, 2)));
//! stack.pop();
//! assert_eq!(stack.nth(0).map(|frame| frame[0]), Some(1));
//! # Ok(())
//! # }
//! ```
//!
//! Its sizes are those of the option STACK, if the program runs under `underbar run`, and its segments count in the report's
//! `stack.segments_allocated` and `stack.segments_freed`. Elsewhere it is the same without accounts.
//!
//! Under [`Disposition::Free`] an empty increment goes back to the kernel when the increment below it is empty, too. So a loop that
//! pushes and pops across the end of a segment makes no calls of the kernel.
//!
//! Invariant: a frame is in one segment, and borrows the stack; all segments above that of the top frame are empty.
//! Cost: a push or pop within a segment is a dozen instructions.
//! Not here: the stacks of threads (THREADSTACK).

use std::fmt;
use std::ptr::{NonNull, null_mut};

use underbar_enclave::{Sizes, enclaves};
use underbar_sys::syscall;

/// The machine has no storage for a segment, or the size cannot be expressed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoStorage;

impl fmt::Display for NoStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no storage for a segment of a stack")
    }
}

impl std::error::Error for NoStorage {}

/// What becomes of an empty increment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Disposition {
    /// It stays for the next frames.
    Keep,
    /// It goes back to the kernel.
    Free,
}

/// The account of one stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Account {
    /// Segments got from the kernel, the first one included.
    pub allocated: u64,
    /// Segments given back.
    pub freed: u64,
    /// Bytes in segments now.
    pub bytes: usize,
    /// The most bytes in segments at one time.
    pub most_bytes: usize,
}

/// The initial segment and the increments where STACK sets none, as on z/OS.
const DEFAULT: usize = 128 << 10;
const PAGE: usize = 4096;
/// Frames are aligned to this.
const ALIGNMENT: usize = 16;

/// At the beginning of a segment.
struct Segment {
    below: *mut Segment,
    /// The empty one above it, or the one that is in use above it; null: none.
    above: *mut Segment,
    /// Bytes of the segment.
    bytes: usize,
}

/// Before each frame.
struct Head {
    below: *mut Head,
    bytes: usize,
}

const SEGMENT_HEAD: usize = size_of::<Segment>().next_multiple_of(ALIGNMENT);
const FRAME_HEAD: usize = size_of::<Head>();
const _: () = assert!(FRAME_HEAD.is_multiple_of(ALIGNMENT));

/// A stack of frames, until it is dropped.
#[derive(Debug)]
pub struct Stack {
    /// The segment of the top frame, or the initial one.
    segment: *mut Segment,
    /// The top frame; null: none.
    top: *mut Head,
    frames: usize,
    increment: usize,
    disposition: Disposition,
    account: Account,
}

// SAFETY: it owns its segments, and a shared reference only reads them.
unsafe impl Send for Stack {}
// SAFETY: as above.
unsafe impl Sync for Stack {}

impl Stack {
    /// A stack as the option STACK says; otherwise with segments of 128 KiB, which stay.
    ///
    /// # Errors
    /// There is no storage.
    pub fn new() -> Result<Stack, NoStorage> {
        let mut sizes = Sizes { initial: 0, increment: 0, frees: 0 };
        if let Some(table) = enclaves() {
            // SAFETY: the table's function; it fills the sizes.
            unsafe { (table.stack_sizes)(&raw mut sizes) };
        }
        let or_default = |size: usize| if size == 0 { DEFAULT } else { size };
        let disposition = if sizes.frees != 0 { Disposition::Free } else { Disposition::Keep };
        Stack::with_sizes(or_default(sizes.initial), or_default(sizes.increment), disposition)
    }

    /// A stack whose initial segment and increments have these sizes in bytes, rounded up to pages. A larger frame gets an
    /// increment of its size.
    ///
    /// # Errors
    /// There is no storage.
    pub fn with_sizes(
        initial: usize,
        increment: usize,
        disposition: Disposition,
    ) -> Result<Stack, NoStorage> {
        let increment = increment.max(1).checked_next_multiple_of(PAGE).ok_or(NoStorage)?;
        let account = Account::default();
        let mut stack =
            Stack { segment: null_mut(), top: null_mut(), frames: 0, increment, disposition, account };
        stack.segment = stack.allocate(initial)?;
        Ok(stack)
    }

    /// Puts a frame of that many bytes on the stack, aligned to 16. Its bytes are zero, or those of an earlier frame.
    ///
    /// # Errors
    /// There is no storage for a segment. The stack is as before.
    pub fn push(&mut self, bytes: usize) -> Result<&mut [u8], NoStorage> {
        let room = bytes
            .checked_next_multiple_of(ALIGNMENT)
            .and_then(|bytes| bytes.checked_add(FRAME_HEAD + SEGMENT_HEAD))
            .filter(|room| isize::try_from(*room).is_ok())
            .ok_or(NoStorage)?
            - SEGMENT_HEAD;
        let mut place = self.end_of_frames();
        if self.segment_end() - place < room {
            place = self.next_segment(room)?;
        }
        let head = place as *mut Head;
        // SAFETY: the segment has room for the head and the frame, and no frame is there. The bytes were zeroed by the kernel.
        unsafe {
            head.write(Head { below: self.top, bytes });
            self.top = head;
            self.frames += 1;
            Ok(std::slice::from_raw_parts_mut(head.add(1).cast(), bytes))
        }
    }

    /// Takes the top frame away. False if there is none.
    pub fn pop(&mut self) -> bool {
        // SAFETY: null, or the top frame.
        let Some(head) = (unsafe { self.top.as_ref() }) else { return false };
        self.top = head.below;
        self.frames -= 1;
        // SAFETY: segments of this stack.
        unsafe {
            let below = (*self.segment).below;
            if !below.is_null() && !self.has(self.top) {
                // This segment is empty now, and stays as the spare. One above it is not needed.
                if self.disposition == Disposition::Free {
                    self.free_above(self.segment);
                }
                self.segment = below;
            }
        }
        true
    }

    /// The top frame.
    #[must_use]
    pub fn top(&self) -> Option<&[u8]> {
        self.nth(0)
    }

    /// The top frame, to be changed.
    pub fn top_mut(&mut self) -> Option<&mut [u8]> {
        self.nth_mut(0)
    }

    /// The n-th frame below the top one; 0 is the top one.
    #[must_use]
    pub fn nth(&self, n: usize) -> Option<&[u8]> {
        let head = self.head(n)?;
        // SAFETY: a frame of this stack, which is borrowed.
        unsafe { Some(std::slice::from_raw_parts(head.as_ptr().add(1).cast(), head.as_ref().bytes)) }
    }

    /// The same, to be changed.
    pub fn nth_mut(&mut self, n: usize) -> Option<&mut [u8]> {
        let head = self.head(n)?;
        // SAFETY: a frame of this stack, which is borrowed by this alone.
        unsafe { Some(std::slice::from_raw_parts_mut(head.as_ptr().add(1).cast(), head.as_ref().bytes)) }
    }

    /// The number of frames.
    #[must_use]
    pub fn len(&self) -> usize {
        self.frames
    }

    /// Whether there is no frame.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.frames == 0
    }

    /// The account of this stack.
    #[must_use]
    pub fn account(&self) -> Account {
        self.account
    }

    fn head(&self, n: usize) -> Option<NonNull<Head>> {
        let mut head = NonNull::new(self.top)?;
        for _ in 0..n {
            // SAFETY: a frame of this stack.
            head = NonNull::new(unsafe { head.as_ref() }.below)?;
        }
        Some(head)
    }

    /// Whether a frame is in the segment of the top frame.
    fn has(&self, head: *mut Head) -> bool {
        (self.segment as usize..self.segment_end()).contains(&(head as usize))
    }

    fn segment_end(&self) -> usize {
        // SAFETY: a segment of this stack.
        self.segment as usize + unsafe { (*self.segment).bytes }
    }

    /// Where the next frame of this segment begins.
    fn end_of_frames(&self) -> usize {
        // SAFETY: null, or the top frame.
        match unsafe { self.top.as_ref() } {
            Some(head) if self.has(self.top) => {
                self.top as usize + FRAME_HEAD + head.bytes.next_multiple_of(ALIGNMENT)
            }
            _ => self.segment as usize + SEGMENT_HEAD,
        }
    }

    /// Goes on in the next segment, with room for that many bytes: where its first frame begins.
    fn next_segment(&mut self, room: usize) -> Result<usize, NoStorage> {
        // SAFETY: segments of this stack; those above are empty.
        unsafe {
            let mut next = (*self.segment).above;
            if next.is_null() || (*next).bytes - SEGMENT_HEAD < room {
                let bytes = self.increment.max(room.checked_add(SEGMENT_HEAD).ok_or(NoStorage)?);
                let new = self.allocate(bytes)?;
                // An empty one that is too small would never be used.
                self.free_above(self.segment);
                (*new).below = self.segment;
                (*self.segment).above = new;
                next = new;
            }
            self.segment = next;
            Ok(next as usize + SEGMENT_HEAD)
        }
    }

    fn allocate(&mut self, bytes: usize) -> Result<*mut Segment, NoStorage> {
        let bytes = bytes.max(1).checked_next_multiple_of(PAGE).ok_or(NoStorage)?;
        let segment: *mut Segment = syscall::map_anonymous(bytes).map_err(|_| NoStorage)?.cast();
        // SAFETY: new memory of a page or more.
        unsafe { segment.write(Segment { below: null_mut(), above: null_mut(), bytes }) };
        self.account.allocated += 1;
        self.account.bytes += bytes;
        self.account.most_bytes = self.account.most_bytes.max(self.account.bytes);
        tell(1, 0);
        Ok(segment)
    }

    /// Gives the segments above one back.
    ///
    /// # Safety
    /// No frame is in them.
    unsafe fn free_above(&mut self, segment: *mut Segment) {
        // SAFETY: the caller's promise; segments of this stack.
        unsafe {
            let mut at = std::mem::replace(&mut (*segment).above, null_mut());
            while !at.is_null() {
                let Segment { above, bytes, .. } = at.read();
                let _ = syscall::munmap(at.cast(), bytes);
                self.account.freed += 1;
                self.account.bytes -= bytes;
                tell(0, 1);
                at = above;
            }
        }
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        // SAFETY: no frame is borrowed any more.
        unsafe {
            while !(*self.segment).below.is_null() {
                self.segment = (*self.segment).below;
            }
            self.free_above(self.segment);
            let bytes = (*self.segment).bytes;
            let _ = syscall::munmap(self.segment.cast(), bytes);
        }
        tell(0, 1);
    }
}

/// Counts segments in the report, if there is one.
fn tell(allocated: u64, freed: u64) {
    if let Some(table) = enclaves() {
        // SAFETY: the table's function.
        unsafe { (table.stack_segments)(allocated, freed) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_back_in_reverse_order_with_their_bytes() {
        for disposition in [Disposition::Keep, Disposition::Free] {
            let mut stack = Stack::with_sizes(4096, 4096, disposition).expect("storage");
            let sizes = [0, 1, 16, 4000, 10_000, 3, 4096, 100_000, 7];
            for round in 0..50_u8 {
                for at in 0..40 {
                    let bytes = sizes[at % sizes.len()];
                    let frame = stack.push(bytes).expect("storage");
                    assert_eq!((frame.len(), frame.as_ptr() as usize % 16), (bytes, 0));
                    frame.fill(at as u8 ^ round);
                }
                assert_eq!(stack.nth(39).map(<[u8]>::len), Some(sizes[0]));
                assert!(stack.nth(40).is_none());
                for at in (0..40).rev() {
                    let bytes = sizes[at % sizes.len()];
                    let frame = stack.top_mut().expect("a frame");
                    assert_eq!(frame.len(), bytes);
                    assert!(frame.iter().all(|&byte| byte == at as u8 ^ round));
                    assert!(stack.pop());
                }
                assert!(!stack.pop() && stack.is_empty() && stack.top().is_none());
            }
            let Account { allocated, freed, bytes, most_bytes } = stack.account();
            match disposition {
                Disposition::Free => assert!(allocated - freed <= 2 && bytes < most_bytes),
                // Increments that the same frames need again are there.
                Disposition::Keep => assert!(freed == 0 && bytes == most_bytes, "{:?}", stack.account()),
            }
        }
    }

    /// At each place where a loop may go up and down.
    #[test]
    fn a_loop_across_the_end_of_a_segment_asks_the_kernel_for_nothing() {
        let mut stack = Stack::with_sizes(8192, 4096, Disposition::Free).expect("storage");
        for _ in 0..60 {
            stack.push(1000).expect("storage");
            let before = stack.account();
            for _ in 0..1000 {
                stack.push(1000).expect("storage");
                stack.push(1000).expect("storage");
                stack.pop();
                stack.pop();
            }
            let asked = stack.account().allocated - before.allocated;
            assert!(asked <= 1, "{asked} at {} frames", stack.len());
        }
        while stack.pop() {}
        assert_eq!(stack.account().allocated - stack.account().freed, 2, "the first, and one spare");
    }

    #[test]
    fn a_size_that_cannot_be_is_refused_and_nothing_changes() {
        let mut stack = Stack::new().expect("storage");
        stack.push(5).expect("storage").fill(9);
        for bytes in [usize::MAX, usize::MAX - 60, isize::MAX as usize, 1 << 46] {
            assert_eq!(stack.push(bytes), Err(NoStorage), "{bytes:#x}");
        }
        assert_eq!((stack.len(), stack.top()), (1, Some(&[9_u8; 5][..])));
        assert_eq!(stack.account().allocated, 1);
    }
}
