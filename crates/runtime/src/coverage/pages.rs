//! How many pages of a range are in memory.
//!
//! | memory | query | answer |
//! |---|---|---|
//! | anonymous | mincore ([`crate::resident`]) | which pages are there, and pages of zeros that were only read, which take no memory |
//! | a file, private | /proc/self/pagemap | which pages are there, and whether they are the file's or were written to |
//!
//! For a file's page, mincore reports whether the machine has it in its cache, and nothing about this process.
//!
//! A page takes the kernel some nanoseconds, which adds up for a heap of gigabytes. There a sample is queried: an eighth of each
//! 2 MiB, at a place that differs from one to the next. The parent module compares the sum with the kernel's total.
//!
//! Invariant: the number of queried pages is bounded. A query beyond it gets 0, and the caller learns of it at the end.
//! Not here: whose the pages are (the parent module).

use core::ops::Range;

use underbar_sys::syscall;

use super::PAGE;
use crate::ledger::own_reads;
use crate::resident;

/// Bytes of answers per call: threads may have small stacks.
const AT_ONCE: usize = 1024;
/// Entries of the page map per call: most, and least. A page that is there costs the kernel a thirtieth of a call.
const ENTRIES: usize = AT_ONCE / 8;
const FEW: usize = 16;

/// A sample is this many neighbouring pages of a stratum.
const SAMPLE: usize = STRATUM / 8;
/// Pages of which one sample is queried.
const STRATUM: usize = 512;

/// The kernel's answers about pages.
pub(super) struct Pages {
    /// Whether a sample of this heap's pages is enough.
    is_sampled: bool,
    /// The descriptor of /proc/self/pagemap, opened when a file is first queried.
    descriptor: Option<i32>,
    /// The last entries that were read, and the pages that they describe: the mappings of a file, and of many libraries, are next to
    /// each other, and most have few pages.
    entries: [[u8; 8]; ENTRIES],
    read: Range<usize>,
    /// How many more pages of others may be queried. A program that reserves terabytes must not wait for this.
    others_left: usize,
    /// How many more pages of this heap may be queried.
    ours_left: usize,
}

impl Pages {
    /// All pages of this heap are queried, or a sample.
    pub(super) fn open(is_sampled: bool) -> Self {
        Self {
            is_sampled,
            descriptor: None,
            entries: [[0; 8]; ENTRIES],
            read: 0..0,
            others_left: 1 << 22,
            ours_left: 1 << 24,
        }
    }

    /// Whether a page was not queried.
    pub(super) fn were_too_many(&self) -> bool {
        self.others_left == 0 || self.ours_left == 0
    }

    /// Resident bytes of a range of this heap, or an estimate from samples.
    pub(super) fn ours(&mut self, start: usize, end: usize) -> u64 {
        let mut at = start;
        let mut bytes = 0;
        while self.is_sampled && end - at >= STRATUM * PAGE {
            let sample = at + sample_of(at) * PAGE;
            let resident = resident_in(sample, sample + SAMPLE * PAGE, &mut self.ours_left);
            bytes += resident * (STRATUM / SAMPLE) as u64;
            at += STRATUM * PAGE;
        }
        if at < end {
            bytes += resident_in(at, end, &mut self.ours_left);
        }
        bytes
    }

    /// Resident bytes of another anonymous range.
    pub(super) fn others(&mut self, start: usize, end: usize) -> u64 {
        resident_in(start, end, &mut self.others_left)
    }

    /// Resident bytes in a private mapping of a file that were written to, so that they are no longer the file's. 0 if the
    /// kernel does not report it.
    pub(super) fn written(&mut self, start: usize, end: usize) -> u64 {
        let descriptor = *self.descriptor.get_or_insert_with(|| {
            syscall::open(c"/proc/self/pagemap", syscall::O_RDONLY | syscall::O_CLOEXEC, 0).unwrap_or(-1)
        });
        if descriptor < 0 {
            return 0;
        }
        let (mut page, end) = (start / PAGE, end.div_ceil(PAGE));
        let mut written = 0;
        while page < end {
            if !self.read.contains(&page) {
                let wanted = (end - page).clamp(FEW, ENTRIES);
                self.others_left = self.others_left.saturating_sub(wanted);
                let entries = self.entries[..wanted].as_flattened_mut();
                if self.others_left == 0 {
                    break;
                }
                let bytes = own_reads::pread(descriptor, entries, (page * 8) as u64).unwrap_or(0);
                if bytes < 8 {
                    break;
                }
                self.read = page..page + bytes / 8;
            }
            let until = end.min(self.read.end);
            let entries = &self.entries[page - self.read.start..until - self.read.start];
            written += entries.iter().filter(|entry| is_written(u64::from_ne_bytes(**entry))).count();
            page = until;
        }
        (written * PAGE) as u64
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        if let Some(descriptor) = self.descriptor.filter(|&descriptor| descriptor >= 0) {
            let _ = syscall::close(descriptor);
        }
    }
}

/// The first page of a stratum's sample: spread by the stratum's address, since equal places would all be heads of segments.
const fn sample_of(start: usize) -> usize {
    /// 2^64 divided by the golden ratio: its multiples are spread evenly.
    const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
    let spread = ((start / PAGE) as u64).wrapping_mul(SPREAD) >> 32;
    spread as usize % (STRATUM / SAMPLE) * SAMPLE
}

/// Whether an entry of the page map describes a page in memory that does not belong to a file.
const fn is_written(entry: u64) -> bool {
    const PRESENT: u64 = 1 << 63;
    const OF_FILE_OR_SHARED: u64 = 1 << 61;
    entry & (PRESENT | OF_FILE_OR_SHARED) == PRESENT
}

/// Resident bytes of an anonymous range.
fn resident_in(start: usize, end: usize, pages_left: &mut usize) -> u64 {
    let mut states = [0_u8; AT_ONCE];
    let mut bytes = 0;
    let mut at = start;
    if (end - start).div_ceil(PAGE) >= *pages_left {
        *pages_left = 0;
    }
    while at < end {
        let pages = (end - at).div_ceil(PAGE).min(states.len());
        let states = &mut states[..pages];
        *pages_left = pages_left.saturating_sub(pages);
        if *pages_left == 0 || resident::states(at, states).is_err() {
            return bytes;
        }
        bytes += set_in(states) as u64 * PAGE as u64;
        at += pages * PAGE;
    }
    bytes
}

/// The number of states that are resident. Sums in bytes, over as many states as a byte can count: the compiler adds
/// sixteen at once.
fn set_in(states: &[u8]) -> usize {
    states.chunks(128).map(|some| usize::from(some.iter().map(|state| state & 1).sum::<u8>())).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::ptr::null_mut;

    #[test]
    fn resident_pages_are_counted() {
        let start = syscall::map_anonymous(64 * PAGE).expect("memory") as usize;
        for page in [0, 7, 63] {
            // SAFETY: a page of the mapping.
            unsafe { ((start + page * PAGE) as *mut u8).write(1) };
        }
        let mut pages = Pages::open(false);
        assert_eq!(pages.others(start, start + 64 * PAGE), 3 * PAGE as u64);
        assert_eq!(pages.ours(start, start + 63 * PAGE + 1), 3 * PAGE as u64);
        assert!(!pages.were_too_many());
        pages.others_left = 10;
        assert_eq!(pages.others(start, start + 64 * PAGE), 0);
        assert!(pages.were_too_many(), "no more pages than allowed are asked for");
    }

    #[test]
    fn a_sample_of_an_even_range_is_right_and_cheap() {
        let length = 5 * STRATUM + 100;
        let start = syscall::map_anonymous(length * PAGE).expect("memory") as usize;
        for page in (0..length).step_by(4) {
            // SAFETY: a page of the mapping.
            unsafe { ((start + page * PAGE) as *mut u8).write(1) };
        }
        let mut pages = Pages::open(true);
        let before = pages.ours_left;
        let written = length.div_ceil(4) * PAGE;
        assert_eq!(pages.ours(start, start + length * PAGE), written as u64);
        assert_eq!(before - pages.ours_left, 5 * SAMPLE + 100);
    }

    #[test]
    fn samples_are_at_all_places() {
        let mut strata = [0; STRATUM / SAMPLE];
        for stratum in 0..800 {
            strata[sample_of(stratum * STRATUM * PAGE) / SAMPLE] += 1;
        }
        assert!(strata.iter().all(|&number| (90..=110).contains(&number)), "{strata:?}");
    }

    /// mincore reports all of a file that was just read as present.
    #[test]
    fn of_a_file_those_are_counted_that_were_written_to() {
        let program = std::env::current_exe().expect("this program");
        let path = std::ffi::CString::new(program.to_str().expect("text")).expect("no zero");
        let fd = syscall::open(&path, syscall::O_RDONLY | syscall::O_CLOEXEC, 0).expect("readable");
        let protection = syscall::PROT_READ | syscall::PROT_WRITE;
        // SAFETY: a new private mapping.
        let start = unsafe { syscall::mmap(null_mut(), 64 * PAGE, protection, syscall::MAP_PRIVATE, fd, 0) };
        let start = start.expect("mapped");
        for page in 0..64 {
            // SAFETY: a page of the mapping.
            let byte = unsafe { start.add(page * PAGE).read_volatile() };
            if page % 16 == 3 {
                // SAFETY: as above.
                unsafe { start.add(page * PAGE).write_volatile(byte) };
            }
        }
        let at = start as usize;
        let mut pages = Pages::open(false);
        assert_eq!(pages.written(at, at + 64 * PAGE), 4 * PAGE as u64);
        // Parts are counted as the whole, whether their entries were read before or not.
        for parts in [1, 3, 64] {
            let each = (0..64).step_by(parts).map(|first| (first, (first + parts).min(64)));
            let sum: u64 = each.map(|(from, to)| pages.written(at + from * PAGE, at + to * PAGE)).sum();
            assert_eq!(sum, 4 * PAGE as u64);
        }
        syscall::close(fd).expect("closed");
    }

    #[test]
    fn states_are_counted_to_the_last() {
        for length in [0, 1, 127, 128, 129, 1024] {
            // Only the lowest bit has a meaning.
            assert_eq!(set_in(&std::vec![0xff; length]), length);
            assert_eq!(set_in(&std::vec![0xfe; length]), 0);
        }
    }
}
