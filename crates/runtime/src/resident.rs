//! Which pages are in memory, as the kernel reports them.
//!
//! ```text
//! no filter of system calls ── mincore ────────────────────────> states
//! a filter from the start   ── /proc/self/pagemap ─────────────> states; msync tells what is mapped
//! ```
//!
//! `mincore` is no call of an ordinary program. A service with systemd's `SystemCallFilter=@system-service` may not make it, and a forbidden
//! call ends the process. No process can ask what a filter allows. So where there is one, calls serve that such sets have: they take some
//! microseconds more.
//!
//! Invariant: both ways give the same answers about private anonymous memory that is mapped. The callers make no query once the process has locked itself
//! in ([`crate::sandbox`]).
//! Not here: filters that the program installs itself ([`crate::seccomp`]), and pages of files (`coverage`).

use core::sync::atomic::{AtomicU8, Ordering};

use underbar_sys::syscall::{self, Errno};

use crate::ledger::own_reads;

/// Whether a filter was there before the first query. Relaxed: each thread that does not know it finds the same.
static FILTER: AtomicU8 = AtomicU8::new(UNKNOWN);
const UNKNOWN: u8 = 0;
const NONE: u8 = 1;
const SOME: u8 = 2;

const PAGE: usize = 4096;
/// Bytes of the page map for a page, and how many pages are read with one call: threads may have small stacks.
const ENTRY: usize = 8;
const AT_ONCE: usize = 256;

/// Tells which pages from `address` on are in memory: one byte for each, of which the lowest bit matters. `address` is a multiple of the
/// page size.
///
/// # Errors
/// ENOMEM: part of the range is not mapped; under a filter such pages are not in memory instead. Others: the kernel does not tell.
pub(crate) fn states(address: usize, pages: &mut [u8]) -> Result<(), Errno> {
    if is_filtered() { by_page_map(address, pages) } else { syscall::mincore(address, pages) }
}

/// Whether the page at `address`, a multiple of the page size, is mapped; None if the kernel does not tell.
pub(crate) fn is_mapped(address: usize) -> Option<bool> {
    let answer = if is_filtered() { check_mapped(address) } else { syscall::mincore(address, &mut [0]) };
    match answer {
        Ok(()) => Some(true),
        Err(Errno::ENOMEM) => Some(false),
        Err(_) => None,
    }
}

/// Whether this process began under a filter of system calls, so that a query costs more than giving pages back.
pub(crate) fn is_filtered() -> bool {
    match FILTER.load(Ordering::Relaxed) {
        UNKNOWN => ask(),
        known => known == SOME,
    }
}

#[cold]
fn ask() -> bool {
    const PR_GET_SECCOMP: u32 = 21;
    // SAFETY: the call takes and gives numbers only.
    let mode = unsafe { syscall::prctl(PR_GET_SECCOMP, 0, 0, 0, 0) };
    // A kernel without filters refuses the question: EINVAL.
    let is_some = !matches!(mode, Ok(0) | Err(Errno::EINVAL));
    FILTER.store(if is_some { SOME } else { NONE }, Ordering::Relaxed);
    is_some
}

/// ENOMEM if the page is not mapped. The call starts no writing: it has done nothing else since Linux 2.6.19.
fn check_mapped(address: usize) -> Result<(), Errno> {
    const MS_ASYNC: usize = 1;
    // SAFETY: the kernel neither reads nor writes the page.
    unsafe { syscall::syscall3(syscall::number::MSYNC, address, PAGE, MS_ASYNC) }.map(|_| ())
}

fn by_page_map(address: usize, pages: &mut [u8]) -> Result<(), Errno> {
    let map = syscall::open(c"/proc/self/pagemap", syscall::O_RDONLY | syscall::O_CLOEXEC, 0)?;
    let mut entries = [0_u8; AT_ONCE * ENTRY];
    let mut answer = Ok(());
    let mut first = address / PAGE;
    for some in pages.chunks_mut(AT_ONCE) {
        let entries = &mut entries[..some.len() * ENTRY];
        match own_reads::pread(map, entries, (first * ENTRY) as u64) {
            Ok(bytes) if bytes == entries.len() => {}
            Ok(_) => answer = Err(Errno::EIO),
            Err(error) => answer = Err(error),
        }
        if answer.is_err() {
            break;
        }
        for (state, entry) in some.iter_mut().zip(entries.chunks_exact(ENTRY)) {
            // Bit 63, "present", is the highest one of the last byte.
            *state = entry[ENTRY - 1] >> 7;
        }
        first += some.len();
    }
    let _ = syscall::close(map);
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_agree() {
        const PAGES: usize = 300;
        let start = syscall::map_anonymous(PAGES * PAGE).expect("memory") as usize;
        for page in (0..PAGES).filter(|page| page % 7 == 0 || (100..140).contains(page)) {
            // SAFETY: a page of the mapping.
            unsafe { ((start + page * PAGE) as *mut u8).write(1) };
        }
        // Only read: a page of zeros.
        // SAFETY: a page of the mapping.
        unsafe { ((start + PAGE) as *const u8).read_volatile() };
        let (mut one, mut other) = ([2; PAGES], [3; PAGES]);
        syscall::mincore(start, &mut one).expect("mapped");
        by_page_map(start, &mut other).expect("mapped");
        assert_eq!(one.map(|state| state & 1), other);
        assert_eq!(other.iter().map(|&state| usize::from(state)).sum::<usize>(), 79);
        let middle = start + 150 * PAGE;
        // SAFETY: nobody uses the page.
        unsafe { syscall::munmap(middle as *mut u8, PAGE) }.expect("mapped");
        assert_eq!(syscall::mincore(start, &mut one), Err(Errno::ENOMEM));
        for (page, mapped) in [(middle, false), (start, true)] {
            assert_eq!((is_mapped(page), check_mapped(page).is_ok()), (Some(mapped), mapped));
        }
    }
}
