//! Samples of the current addresses of programs: the kernel takes them on its own clock and puts them into a ring that we empty.
//!
//! ```text
//! mapped:  | head page |  data: a power of two of bytes                  |
//!            head ──────────────────────────> written by the kernel, then published by head
//!            tail ────────────> read by us, then published by tail; from tail to head the kernel writes nothing
//! ```
//!
//! One ring for each processor. A process opens it for itself, and its children inherit it at fork. It counts from their exec
//! on, so it never counts the process that opened it. It sends no signals and traces no process.
//!
//! Invariant: head only grows and belongs to the kernel; tail only grows, is ours, and never passes head.
//! Not here: the meaning of the bytes (`host/profile`).

use core::sync::atomic::{AtomicU64, Ordering};

use crate::syscall::{self, MAP_SHARED, PROT_READ, PROT_WRITE, Result, syscall6};

/// Bytes of a page.
const PAGE: usize = 4096;
/// Offsets of the fields of the head page: `struct perf_event_mmap_page`.
const DATA_HEAD: usize = 1024;
const DATA_TAIL: usize = 1032;

/// The fields of each sample, in this order: address, process and thread, time.
pub const SAMPLE_TYPE: u64 = 1 | 2 | 4;

/// `struct perf_event_attr`, in its version of 112 bytes.
pub(crate) type Attributes = [u64; 14];

/// Opens an event of this thread and its later children, on one processor or, for `usize::MAX`, on all. Returns the descriptor.
///
/// # Errors
/// The kernel's.
pub(crate) fn open_event(attributes: &Attributes, processor: usize) -> Result<i32> {
    const PERF_EVENT_OPEN: usize = 298;
    const CLOSE_ON_EXEC: usize = 8;
    const THIS_THREAD: usize = 0;
    const NO_GROUP: usize = usize::MAX;
    // SAFETY: the kernel reads as many bytes as the attributes have, as they tell it, and no other memory of ours.
    let descriptor = unsafe {
        let attributes = attributes.as_ptr() as usize;
        syscall6(PERF_EVENT_OPEN, attributes, THIS_THREAD, processor, NO_GROUP, CLOSE_ON_EXEC, 0)?
    };
    Ok(descriptor as i32)
}

/// The parameters of a ring.
#[derive(Clone, Copy, Debug)]
pub struct Sampling {
    /// CPU time of a thread between two samples, in nanoseconds.
    pub period_ns: u64,
    /// Does a record of a mapped file contain its build-id? Kernels before 5.12 do not support this.
    pub with_build_ids: bool,
    /// Pages of the ring, a power of two.
    pub pages: usize,
}

/// The ring of one processor; its samples end when it is dropped.
#[derive(Debug)]
pub struct Ring {
    fd: i32,
    start: *mut u8,
    size: usize,
    /// The number of bytes that we have read.
    tail: u64,
}

impl Ring {
    /// Samples the programs that later children of this thread execute, and the children and threads of those programs, while
    /// they run on this processor: in user mode, on the clock of CPU time.
    ///
    /// # Errors
    /// `EACCES`, `EPERM`: not allowed here (`kernel.perf_event_paranoid`, a seccomp filter), or so many pages exceed the limit
    /// of locked memory. `ENODEV`: the processor is off. `EINVAL`: this kernel does not support build-ids. `ENOSYS`,
    /// `ENOENT`: it has no such events.
    pub fn open(processor: u32, sampling: Sampling) -> Result<Ring> {
        const SOFTWARE: u64 = 1;
        const TASK_CLOCK: u64 = 1;
        const SIZE: u64 = 112;
        const DISABLED: u64 = 1;
        const INHERIT: u64 = 1 << 1;
        const EXCLUDE_KERNEL_AND_HYPERVISOR: u64 = 3 << 5;
        const MMAP: u64 = 1 << 8;
        const COMM: u64 = 1 << 9;
        const ENABLE_ON_EXEC: u64 = 1 << 12;
        const TASK: u64 = 1 << 13;
        const SAMPLE_ID_ALL: u64 = 1 << 18;
        const MMAP2: u64 = 1 << 23;
        const COMM_EXEC: u64 = 1 << 24;
        const BUILD_ID: u64 = 1 << 34;
        let mut attributes = Attributes::default();
        attributes[0] = SOFTWARE | SIZE << 32;
        attributes[1] = TASK_CLOCK;
        attributes[2] = sampling.period_ns;
        attributes[3] = SAMPLE_TYPE;
        attributes[5] = DISABLED
            | INHERIT
            | EXCLUDE_KERNEL_AND_HYPERVISOR
            | MMAP
            | COMM
            | ENABLE_ON_EXEC
            | TASK
            | SAMPLE_ID_ALL
            | MMAP2
            | COMM_EXEC
            | if sampling.with_build_ids { BUILD_ID } else { 0 };
        let fd = open_event(&attributes, processor as usize)?;
        let size = sampling.pages * PAGE;
        let (protection, nowhere) = (PROT_READ | PROT_WRITE, core::ptr::null_mut());
        // SAFETY: without MAP_FIXED a mapping replaces nothing. Only the kernel changes the content too, by the protocol that
        // `take` keeps.
        match unsafe { syscall::mmap(nowhere, PAGE + size, protection, MAP_SHARED, fd, 0) } {
            Ok(start) => Ok(Ring { fd, start, size, tail: 0 }),
            Err(reason) => {
                let _ = syscall::close(fd);
                Err(reason)
            }
        }
    }

    /// Takes the available bytes, as many as fit, and returns their number; 0 if there are none. Records follow each other
    /// without gaps; the last one may be cut and continues in the next bytes taken.
    pub fn take(&mut self, into: &mut [u8]) -> usize {
        // Acquire: a reader that sees this head sees the records before it, which the kernel wrote first.
        let head = self.word(DATA_HEAD).load(Ordering::Acquire);
        let there = usize::try_from(head.wrapping_sub(self.tail)).unwrap_or(0).min(self.size);
        let length = there.min(into.len());
        // `size` is a power of two, so the count of all bytes read so far gives the next offset.
        let from = (self.tail as usize) & (self.size - 1);
        let first = length.min(self.size - from);
        let data = self.start.wrapping_add(PAGE);
        // Both ranges are inside the data: `from + first <= size` and `length - first <= from`.
        // SAFETY: the data is mapped as long as `self`. These bytes are between tail and head, where the kernel writes nothing;
        // `into` is exclusively borrowed and has `length` bytes.
        unsafe {
            core::ptr::copy_nonoverlapping(data.add(from), into.as_mut_ptr(), first);
            core::ptr::copy_nonoverlapping(data, into.as_mut_ptr().add(first), length - first);
        }
        self.tail = self.tail.wrapping_add(length as u64);
        // Release: the bytes were read before the kernel may write there again.
        self.word(DATA_TAIL).store(self.tail, Ordering::Release);
        length
    }

    /// A word of the head page: one of the two that kernel and reader share.
    fn word(&self, offset: usize) -> &AtomicU64 {
        debug_assert!(offset == DATA_HEAD || offset == DATA_TAIL);
        // SAFETY: the offset is that of an aligned 64-bit word in the head page, mapped as long as `self`; we and the kernel access
        // it by single loads and stores only.
        unsafe { AtomicU64::from_ptr(self.start.add(offset).cast()) }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the whole mapping is ours, and no reference into it outlives a call.
        let _ = unsafe { syscall::munmap(self.start, PAGE + self.size) };
        let _ = syscall::close(self.fd);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syscall::Errno;
    use std::vec;

    /// A ring in ordinary memory, in which the test acts as the kernel.
    struct Kernel {
        ring: Ring,
        written: u64,
    }

    impl Kernel {
        fn new(pages: usize) -> Kernel {
            let start = syscall::map_anonymous(PAGE + pages * PAGE).expect("memory");
            Kernel { ring: Ring { fd: -1, start, size: pages * PAGE, tail: 0 }, written: 0 }
        }

        /// Writes bytes that count up, unless they would overwrite unread bytes.
        fn write(&mut self, count: u64) -> bool {
            let tail = self.ring.word(DATA_TAIL).load(Ordering::Acquire);
            if self.written + count - tail > self.ring.size as u64 {
                return false;
            }
            for _ in 0..count {
                let place = PAGE + self.written as usize % self.ring.size;
                // SAFETY: within the mapping; only this test uses it.
                unsafe { self.ring.start.add(place).write(self.written as u8) };
                self.written += 1;
            }
            self.ring.word(DATA_HEAD).store(self.written, Ordering::Release);
            true
        }
    }

    #[test]
    fn what_goes_in_comes_out_once_and_in_order() {
        let mut kernel = Kernel::new(1);
        let (mut read, mut refused) = (0_u64, 0);
        for round in 0..2_000_u64 {
            refused += u64::from(!kernel.write(8 * (1 + round % 97)));
            let mut bytes = vec![0; 1 + (round * 31 % 700) as usize];
            let length = kernel.ring.take(&mut bytes);
            for byte in &bytes[..length] {
                assert_eq!(*byte, read as u8, "byte {read}");
                read += 1;
            }
        }
        assert!(refused > 0 && read > 100 * PAGE as u64, "full at times, and round and round: {read}");
        let mut rest = vec![0; PAGE];
        assert_eq!(read + kernel.ring.take(&mut rest) as u64, kernel.written);
        assert_eq!(kernel.ring.take(&mut rest), 0);
    }

    #[test]
    fn the_kernel_gives_a_ring_or_a_reason() {
        let sampling = Sampling { period_ns: 1_000_000, with_build_ids: false, pages: 8 };
        match Ring::open(0, sampling) {
            // It counts from an exec on, and this test has none.
            Ok(mut ring) => assert_eq!(ring.take(&mut [0; 64]), 0),
            Err(reason) => assert!(
                [Errno::EACCES, Errno::EPERM, Errno::ENOSYS, Errno::ENOENT, Errno::ENODEV].contains(&reason),
                "{reason}"
            ),
        }
        assert!(Ring::open(u32::MAX >> 1, sampling).is_err());
    }
}
