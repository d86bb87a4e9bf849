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

use crate::image::{DYNAMIC, Header, LOAD, Symbol, Tables};
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
    // SAFETY: the caller's promise: everything below is in the image. Its head has the offset of the program headers, their size,
    // which is that of the structure, and their number.
    unsafe {
        let first = (image + *((image + 32) as *const usize)) as *const Header;
        let headers = core::slice::from_raw_parts(first, usize::from(*((image + 56) as *const u16)));
        let at = |kind: u32| headers.iter().find(|header| header.kind == kind);
        let load = at(LOAD)?;
        let bias = (image + load.offset).wrapping_sub(load.address);
        let tables = Tables::of(image + at(DYNAMIC)?.offset, |value| bias.wrapping_add(value));
        if tables.names == 0 || tables.symbols == 0 {
            return None;
        }
        let symbols = core::slice::from_raw_parts(tables.symbols as *const Symbol, tables.count());
        let is_it = |symbol: &&Symbol| {
            let its = (tables.names + symbol.name as usize) as *const u8;
            symbol.is_defined() && name.iter().enumerate().all(|(at, byte)| *byte == *its.add(at))
        };
        symbols.iter().find(is_it).map(|symbol| bias.wrapping_add(symbol.value))
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
