//! A stack that underbar makes for a thread: reserved addresses, of which segments are counted as threads reach them.
//!
//! ```text
//!          | alternate stack     |  for a signal handler, when the stack overflows
//! top      +---------------------+  the C library's description of the thread is just below
//!          | initial segment     |
//!          +---------------------+
//!          | increment 1         |  each begins with the first page below it that a thread touches
//! lowest   +- - - - - - - - - - -+  the lowest page that is in memory, as last looked at
//!          | addresses only      |
//! low      +---------------------+
//!          | guard, no access    |
//! ```
//!
//! The kernel makes a page ready when a thread first touches it. So growing costs a thread nothing beyond what a plain stack
//! costs, and the segments are counted afterwards, from the lowest page in memory.
//! Alternatives: pages without access and a signal handler that opens the next increment would count at once, but a program
//! sees the handler; MAP_GROWSDOWN grows by pages, too, and the kernel may put other mappings into its way.
//!
//! Invariant: segments == 1 + ceil((top - lowest - initial) / increment); the ledger has been told of all of them.
//! Not here: which thread has which stack (`kept`).

use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

use underbar_ledger::Key;
use underbar_sys::syscall;

use super::PAGE;
use super::depth::used_of_locked;
use crate::{heap, ledger, overflow};

/// Sizes in bytes, as THREADSTACK gives them.
#[derive(Clone, Copy, Debug)]
pub struct Segments {
    /// The first segment.
    pub initial: usize,
    /// Each further one; 0: none.
    pub increment: usize,
    /// The counter of segments.
    pub counted_as: Key,
}

impl Segments {
    /// Segments of a stack whose lowest page in memory is so far below its top.
    pub fn of(self, depth: usize) -> u32 {
        if self.increment == 0 {
            return 1;
        }
        let increments = depth.saturating_sub(self.initial).div_ceil(self.increment);
        u32::try_from(increments).unwrap_or(u32::MAX - 1) + 1
    }
}

/// Bytes of the last page of a stack that belong to its alternate stack already: that page is in memory anyway.
const LOW_END: usize = 64;

/// A stack. Lives in storage of the runtime for as long as the stack exists.
#[repr(C)]
pub struct Segmented {
    /// The lowest address that a thread may use.
    pub low: usize,
    /// The end of its addresses.
    pub top: usize,
    /// The lowest page in memory, as last looked at; `top`: none; 0: not known. The thread that runs on the stack writes it when
    /// it ends, and any thread with the lock of the list of threads; all of them found it in memory, so the lowest is right;
    /// relaxed.
    lowest: AtomicUsize,
    /// How many segments the ledger was told of. Written as `lowest`; relaxed.
    segments: AtomicU32,
    /// Where the function of its last thread began; 0: none did. Written by that thread, read with `lowest`; relaxed, as either
    /// thread's place is right to a page or two.
    base: AtomicUsize,
    /// Threads that ended on it. Written by the thread that ends; relaxed.
    ends: AtomicU32,
    /// The last look found increments. Written and read by threads that end; relaxed.
    was_deep: AtomicBool,
    /// Nobody will join the thread. Written and read under the lock of `kept`.
    pub is_detached: bool,
    /// The C library's description of the thread; 0: it has not begun. Written by the thread as it begins (Release), read by a
    /// thread that wants to reuse the stack (Acquire), which then reads the description.
    pub thread: AtomicUsize,
    /// In a list of `kept`.
    pub next: *mut Segmented,
}

const _: () = assert!(size_of::<Segmented>() <= heap::DESCRIPTOR);

impl Segmented {
    /// Reserves addresses for a stack of `size` bytes, a multiple of pages, and a guard below them; null if there is no room. It is
    /// described in `spare`, or, if that is null, in new storage.
    ///
    /// # Safety
    /// `spare` is null, or was the description of a stack that was released.
    pub unsafe fn reserve(size: usize, spare: *mut Segmented) -> *mut Segmented {
        const MAP_STACK: u32 = 0x2_0000;
        let stack = if spare.is_null() { heap::get_descriptor().cast() } else { spare };
        if stack.is_null() {
            return stack;
        }
        let flags = syscall::MAP_PRIVATE | syscall::MAP_ANONYMOUS | syscall::MAP_NORESERVE | MAP_STACK;
        let access = syscall::PROT_READ | syscall::PROT_WRITE;
        // SAFETY: a new mapping; nobody has the guard's page yet, nor the descriptor.
        unsafe {
            match syscall::mmap(null_mut(), PAGE + size + overflow::ROOM, access, flags, -1, 0) {
                Ok(start) if syscall::mprotect(start, PAGE, syscall::PROT_NONE).is_ok() => {
                    let low = start as usize + PAGE;
                    stack.write(Segmented {
                        low,
                        top: low + size - LOW_END,
                        lowest: AtomicUsize::new(low + size - LOW_END),
                        segments: AtomicU32::new(0),
                        base: AtomicUsize::new(0),
                        ends: AtomicU32::new(0),
                        was_deep: AtomicBool::new(false),
                        is_detached: false,
                        thread: AtomicUsize::new(0),
                        next: null_mut(),
                    });
                    return stack;
                }
                Ok(start) => drop(syscall::munmap(start, PAGE + size + overflow::ROOM)),
                Err(_) => {}
            }
        }
        // Its storage is lost: that is rare, and less than a page of the stack.
        null_mut()
    }

    /// Gives its addresses back. Its description stays one of a stack for ever, for the next [`Segmented::reserve`]: a thread that
    /// ended without a word is still in the list of threads, and its stack is looked at.
    ///
    /// # Safety
    /// No thread runs on it.
    pub unsafe fn release(&self) {
        let start = self.low - PAGE;
        // SAFETY: the caller's promise.
        let _ = unsafe { syscall::munmap(start as *mut u8, self.top + LOW_END + overflow::ROOM - start) };
    }

    /// Bytes that a thread may use.
    pub fn size(&self) -> usize {
        self.top - self.low
    }

    /// Whether it was made for this size.
    pub fn is_of(&self, size: usize) -> bool {
        self.top + LOW_END - self.low == size
    }

    /// The function of a thread begins at `base`.
    pub fn begins(&self, base: usize) {
        self.base.store(base, Ordering::Relaxed);
    }

    /// A thread ends. Whether its stack is to be looked at: pages stay, so most ends tell nothing that the next look does not. If
    /// increments are to be given back, one end in four is looked at, and each one after an end that found some.
    pub fn is_worth_a_look(&self, frees_increments: bool) -> bool {
        const EXACT: u32 = 4;
        let ends = self.ends.fetch_add(1, Ordering::Relaxed);
        ends < EXACT
            || ends.is_multiple_of(if frees_increments { 4 } else { 16 })
            || (frees_increments && self.was_deep.load(Ordering::Relaxed))
    }

    /// Looks how deep it was used, below where its last thread began. 0 if that is not known.
    pub fn look(&self, segments: Segments) -> usize {
        let base = self.base.load(Ordering::Relaxed);
        if base == 0 || self.is_forgotten() {
            return 0;
        }
        let bytes = used_of_locked(self.low, base);
        let lowest = (base - bytes) & !(PAGE - 1);
        self.reached(lowest, segments);
        self.was_deep.store(segments.of(self.top - lowest) > 1, Ordering::Relaxed);
        bytes
    }

    /// Its lowest page in memory is `lowest`. Tells the ledger of new segments.
    pub fn reached(&self, lowest: usize, segments: Segments) {
        self.lowest.fetch_min(lowest, Ordering::Relaxed);
        let now = segments.of(self.top - lowest);
        let before = self.segments.fetch_max(now, Ordering::Relaxed);
        if now > before {
            ledger::add(segments.counted_as, u64::from(now - before));
        }
    }

    /// Its pages are those of a thread that this process does not have, and nobody looked at them. Its segments count in another
    /// process's ledger.
    pub fn forget(&self) {
        self.lowest.store(0, Ordering::Relaxed);
        self.segments.store(0, Ordering::Relaxed);
    }

    /// Whether [`Segmented::forget`] was called, and its pages are still there.
    pub fn is_forgotten(&self) -> bool {
        self.lowest.load(Ordering::Relaxed) == 0
    }

    /// Gives the pages of its increments back, or all pages if it is not known whose they are. The number of increments that
    /// this freed.
    ///
    /// # Safety
    /// No thread runs on it.
    pub unsafe fn free_increments(&self, segments: Segments) -> u32 {
        let lowest = self.lowest.load(Ordering::Relaxed);
        let keep =
            if lowest == 0 { 0 } else { segments.initial.next_multiple_of(PAGE).min(self.size() + LOW_END) };
        let end = (self.top + LOW_END).saturating_sub(keep);
        if lowest >= end {
            return 0;
        }
        // A function that ran after the last look may have gone deeper: so down to the end.
        // SAFETY: the caller's promise.
        let _ = unsafe { syscall::madvise(self.low as *mut u8, end - self.low, syscall::MADV_DONTNEED) };
        self.lowest.store(end, Ordering::Relaxed);
        let before = self.segments.fetch_min(1, Ordering::Relaxed);
        before.saturating_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_begins_with_the_first_byte_beyond_the_last() {
        let segments =
            Segments { initial: 64 << 10, increment: 16 << 10, counted_as: Key::StackSegmentsAllocated };
        for (depth, count) in
            [(0, 1), (64 << 10, 1), ((64 << 10) + 1, 2), (80 << 10, 2), (84 << 10, 3), (1 << 20, 61)]
        {
            assert_eq!(segments.of(depth), count, "{depth}");
        }
        assert_eq!(Segments { increment: 0, ..segments }.of(8 << 20), 1, "without increments there is one");
    }

    #[test]
    fn increments_are_given_back_and_the_first_segment_stays() {
        let segments =
            Segments { initial: 4 * PAGE, increment: 2 * PAGE, counted_as: Key::StackSegmentsAllocated };
        // SAFETY: nobody else has the stack; the pages are its own.
        unsafe {
            let stack = Segmented::reserve(64 * PAGE, null_mut());
            let page = |number: usize| ((*stack).top + LOW_END - number * PAGE) as *mut u8;
            let resident = |number: usize| {
                let mut state = [0];
                syscall::mincore(page(number) as usize, &mut state).expect("mapped");
                state[0] & 1 == 1
            };
            for number in [1, 4, 9] {
                page(number).write(1);
            }
            (*stack).reached(page(9) as usize, segments);
            assert_eq!((*stack).free_increments(segments), 3);
            assert_eq!([1, 4, 9].map(resident), [true, true, false]);
            assert_eq!((*stack).free_increments(segments), 0, "there are none left");
            (*stack).forget();
            (*stack).free_increments(segments);
            assert_eq!([1, 4].map(resident), [false; 2], "not this process's");
            let guard = (*stack).low - PAGE;
            assert!(syscall::mincore(guard, &mut [0]).is_ok(), "the guard is mapped");
            (*stack).release();
            assert!(syscall::mincore(guard, &mut [0]).is_err());
        }
    }
}
