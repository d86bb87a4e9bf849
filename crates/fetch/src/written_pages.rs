//! Finds the written pages of a private mapping.
//!
//! ```text
//! /proc/self/pagemap ── scan (Linux 6.7) ──> runs of pages that belong neither to the file below nor to zeros
//!                    '─ read, an entry a page ──> the same, page by page
//! ```
//!
//! The file is opened each time: a descriptor from before a fork shows the parent.
//!
//! Invariant: every written page is reported; other pages may be, too.
//! Cost: three system calls, a few microseconds.
//! Not here: the use of these pages (`pool`).

use underbar_sys::syscall::{self, Errno, O_CLOEXEC, O_RDONLY, Pages};

const PAGE: usize = 4096;
/// Maximum number of runs, or of entries, per call.
const AT_ONCE: usize = 64;

/// Calls `each` with start and length of runs of pages.
///
/// # Errors
/// The kernel does not tell: there is no /proc, or this process may not read it.
pub fn each(start: usize, length: usize, mut each: impl FnMut(usize, usize)) -> Result<(), Errno> {
    let fd = syscall::open(c"/proc/self/pagemap", O_RDONLY | O_CLOEXEC, 0)?;
    let done = match scan(fd, start, length, &mut each) {
        Err(Errno::ENOTTY | Errno::EINVAL) => read(fd, start, length, &mut each),
        done => done,
    };
    let _ = syscall::close(fd);
    done
}

fn scan(fd: i32, start: usize, length: usize, each: &mut impl FnMut(usize, usize)) -> Result<(), Errno> {
    let mut found = [Pages::default(); AT_ONCE];
    let (mut at, end) = (start as u64, (start + length) as u64);
    while at < end {
        let (count, to) = syscall::pagemap_scan(fd, (at, end), &mut found)?;
        for Pages { start, end, .. } in found.iter().take(count) {
            each(*start as usize, (end - start) as usize);
        }
        if to <= at {
            return Err(Errno::EIO);
        }
        at = to;
    }
    Ok(())
}

fn read(fd: i32, start: usize, length: usize, each: &mut impl FnMut(usize, usize)) -> Result<(), Errno> {
    const OF_FILE: u64 = 1 << 61;
    const THERE: u64 = 3 << 62;
    let mut entries = [0; AT_ONCE * 8];
    let mut at = 0;
    while at < length {
        let wanted = ((length - at) / PAGE).min(AT_ONCE) * 8;
        let into = entries.get_mut(..wanted).unwrap_or_default();
        if syscall::pread(fd, into, ((start + at) / PAGE * 8) as u64)? != wanted {
            return Err(Errno::EIO);
        }
        for entry in into.as_chunks::<8>().0 {
            let entry = u64::from_ne_bytes(*entry);
            if entry & THERE != 0 && entry & OF_FILE == 0 {
                each(start + at, PAGE);
            }
            at += PAGE;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn pages_that_were_written_are_told_both_ways() {
        const LENGTH: usize = 300 * PAGE;
        let place = syscall::map_anonymous(LENGTH).expect("room");
        let written = [0, 1, 7, 120, 299];
        for page in written {
            // SAFETY: a page that this test mapped.
            unsafe { place.add(page * PAGE).write_volatile(1) };
        }
        let fd = syscall::open(c"/proc/self/pagemap", O_RDONLY | O_CLOEXEC, 0).expect("the file");
        let start = place as usize;
        let mut found = Vec::new();
        let mut note = |at: usize, length: usize| {
            found.extend((at..at + length).step_by(PAGE).map(|at| (at - start) / PAGE));
        };
        read(fd, start, LENGTH, &mut note).expect("read");
        match scan(fd, start, LENGTH, &mut note) {
            Ok(()) => assert_eq!(found, [written, written].concat()),
            Err(_) => assert_eq!(found, written),
        }
        syscall::close(fd).expect("open");
        // SAFETY: ours.
        unsafe { syscall::munmap(place, LENGTH) }.expect("ours");
    }
}
