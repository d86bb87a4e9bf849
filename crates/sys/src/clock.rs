//! Clocks of the kernel, read by its own code in this process (the vDSO).
//!
//! ```text
//! auxiliary vector ─> vDSO: program headers ─> dynamic section ─> symbols ─> __vdso_clock_gettime    found once
//!        none ──────> a system call                                                                (valgrind, a kernel without it)
//! ```
//!
//! Not by the C library's `clock_gettime`: a program or another preloaded library may define that name. Such a function may ask for
//! storage, and a reader of clocks may hold a lock of the heap. It may also return a time of its own.
//!
//! Invariant: no function outside the kernel's is called, but `getauxval` at the first reading.
//! Cost: 20 to 30 nanoseconds; the coarse clock a few.

use core::sync::atomic::{AtomicUsize, Ordering};

use crate::syscall::{CLOCK_MONOTONIC, Timespec, clock_nanoseconds};

/// The monotonic clock with the grain of the kernel's ticks, a few milliseconds.
const CLOCK_MONOTONIC_COARSE: u32 = 6;

/// Nanoseconds of the monotonic clock.
#[must_use]
pub fn monotonic() -> u64 {
    read(CLOCK_MONOTONIC)
}

/// Nanoseconds of the monotonic clock, a few milliseconds late.
#[must_use]
pub fn coarse() -> u64 {
    read(CLOCK_MONOTONIC_COARSE)
}

type Read = unsafe extern "C" fn(clock: i32, time: *mut Timespec) -> i32;

/// The kernel's function; [`UNKNOWN`] or [`NONE`]. Relaxed: all threads find the same.
static READ: AtomicUsize = AtomicUsize::new(UNKNOWN);
const UNKNOWN: usize = 0;
const NONE: usize = 1;

#[inline]
fn read(clock: u32) -> u64 {
    let function = match READ.load(Ordering::Relaxed) {
        UNKNOWN => look(),
        known => known,
    };
    if function == NONE {
        return clock_nanoseconds(clock);
    }
    let mut time = Timespec::default();
    // SAFETY: the kernel's function of that name, whose signature this is.
    unsafe { core::mem::transmute::<usize, Read>(function)(clock as i32, &raw mut time) };
    time.in_nanoseconds()
}

#[cold]
fn look() -> usize {
    const AT_SYSINFO_EHDR: u64 = 33;
    unsafe extern "C" {
        safe fn getauxval(kind: u64) -> u64;
    }
    let image = getauxval(AT_SYSINFO_EHDR) as usize;
    // SAFETY: the kernel's image in this process, whole and never unmapped; or none.
    let found = if image == 0 { None } else { unsafe { find(image, b"__vdso_clock_gettime\0") } };
    let found = found.unwrap_or(NONE);
    READ.store(found, Ordering::Relaxed);
    found
}

/// The address of a function of the kernel's image. The name ends in a zero.
///
/// # Safety
/// A valid ELF image is mapped there.
unsafe fn find(image: usize, name: &[u8]) -> Option<usize> {
    const PT_LOAD: u32 = 1;
    const PT_DYNAMIC: u32 = 2;
    const DT_HASH: usize = 4;
    const DT_STRTAB: usize = 5;
    const DT_SYMTAB: usize = 6;
    const DT_GNU_HASH: usize = 0x6fff_fef5;
    const SYMBOL_BYTES: usize = 24;
    // SAFETY: the caller's promise: everything below is in the image.
    unsafe {
        let word = |at: usize| (at as *const usize).read_unaligned();
        let half = |at: usize| (at as *const u32).read_unaligned();
        let quarter = |at: usize| (at as *const u16).read_unaligned();
        let headers = image + word(image + 32);
        let (size, count) = (usize::from(quarter(image + 54)), usize::from(quarter(image + 56)));
        let (mut bias, mut dynamic) = (None, None);
        for header in (0..count).map(|number| headers + number * size) {
            let (offset, address) = (word(header + 8), word(header + 16));
            match half(header) {
                PT_LOAD if bias.is_none() => bias = Some((image + offset).wrapping_sub(address)),
                PT_DYNAMIC => dynamic = Some(image + offset),
                _ => (),
            }
        }
        let (bias, mut at) = (bias?, dynamic?);
        let (mut hash, mut gnu_hash, mut names, mut symbols) = (None, None, None, None);
        while word(at) != 0 {
            let value = bias.wrapping_add(word(at + 8));
            match word(at) {
                DT_HASH => hash = Some(value),
                DT_GNU_HASH => gnu_hash = Some(value),
                DT_STRTAB => names = Some(value),
                DT_SYMTAB => symbols = Some(value),
                _ => (),
            }
            at += 16;
        }
        let (names, symbols) = (names?, symbols?);
        let count = match (hash, gnu_hash) {
            (Some(table), _) => half(table + 4) as usize,
            (None, Some(table)) => {
                let (buckets, first, filter) = (half(table), half(table + 4), half(table + 8) as usize);
                let lists = table + 16 + 8 * filter;
                let chains = lists + 4 * buckets as usize;
                let mut last = (0..buckets as usize).map(|bucket| half(lists + 4 * bucket)).max()?;
                while last >= first && half(chains + 4 * (last - first) as usize) & 1 == 0 {
                    last += 1;
                }
                last as usize + 1
            }
            (None, None) => return None,
        };
        for symbol in (0..count).map(|number| symbols + number * SYMBOL_BYTES) {
            let its = names + half(symbol) as usize;
            let is_it = name.iter().enumerate().all(|(at, byte)| *byte == *((its + at) as *const u8));
            if is_it && quarter(symbol + 6) != 0 {
                return Some(bias.wrapping_add(word(symbol + 8)));
            }
        }
        None
    }
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;

    #[test]
    fn clocks_are_the_kernel_s() {
        for (clock, now) in [(CLOCK_MONOTONIC, monotonic as fn() -> u64), (CLOCK_MONOTONIC_COARSE, coarse)] {
            let (before, between, after) = (clock_nanoseconds(clock), now(), clock_nanoseconds(clock));
            assert!(before <= between && between <= after, "{clock}: {before} {between} {after}");
        }
    }

    /// A virtual machine or a container may hide the image: then there is nothing to find.
    #[test]
    fn the_kernel_s_function_is_found_if_there_is_one() {
        let _ = monotonic();
        let maps = std::fs::read_to_string("/proc/self/maps").expect("maps");
        let image = maps.lines().find(|line| line.ends_with("[vdso]"));
        let found = READ.load(Ordering::Relaxed);
        match image.and_then(|line| line.split_once(' ')?.0.split_once('-')) {
            None => assert_eq!(found, NONE),
            Some((start, end)) => {
                let number = |text| usize::from_str_radix(text, 16).expect("an address");
                assert!((number(start)..number(end)).contains(&found), "{found:x}");
                // SAFETY: the kernel's image.
                unsafe { assert_eq!(find(number(start), b"__vdso_no_such_function\0"), None) };
            }
        }
    }
}
