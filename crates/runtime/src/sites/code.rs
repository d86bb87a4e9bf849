//! Which addresses are code: the executable parts of the program and of its libraries, as far as they are known.
//!
//! ```text
//! begins     program and libraries of the start ─> ranges, sorted        written once, at the first sample or before `main`
//! a sample   its caller is in none of them      ─> _dl_find_object ─> one more range
//! ```
//!
//! Invariant: a module is looked at only while one of its functions is being executed by the thread that looks, so that it is not
//! unloaded meanwhile. What is only found on a stack is never followed.
//! Known limits: code that no file has (made at run time) is not known. The ranges of an unloaded library stay.
//! Not here: what is on the stack (`walk`).

use core::ops::Range;
use core::sync::atomic::{AtomicUsize, Ordering};

use underbar_sys::image::{Header, LOAD};

use crate::coverage::module_around;
use crate::loaded;

/// Ranges of the start, and those that came later.
const FIRST: usize = 256;
const LATER: usize = 64;

/// Where a range begins and ends. Relaxed: a range is whole when the count covers it.
struct Span([AtomicUsize; 2]);

impl Span {
    const fn new() -> Self {
        Self([const { AtomicUsize::new(0) }; 2])
    }

    fn get(&self) -> Range<usize> {
        self.0[0].load(Ordering::Relaxed)..self.0[1].load(Ordering::Relaxed)
    }

    fn set(&self, range: Range<usize>) {
        self.0[0].store(range.start, Ordering::Relaxed);
        self.0[1].store(range.end, Ordering::Relaxed);
    }
}

static SPANS: [Span; FIRST] = [const { Span::new() }; FIRST];
/// How many there are, sorted. Written by the thread that learns them (Release); read by any (Acquire).
static COUNT: AtomicUsize = AtomicUsize::new(0);
/// The code of the C library. Written with them.
static C_LIBRARY: Span = Span::new();
static LATE: [Span; LATER] = [const { Span::new() }; LATER];
/// How many of these there are: written by the thread that has the lock below (Release), read by any (Acquire).
static LATE_COUNT: AtomicUsize = AtomicUsize::new(0);
/// 1 while a thread adds one. A thread that finds it taken goes on without.
static ADDING: AtomicUsize = AtomicUsize::new(0);

/// Learns the program and its libraries, once. Other threads run only if a library has started them: they know no code until it is whole.
pub(super) fn begin() {
    let mut count = 0;
    loaded::each(&mut |object| {
        let start = object.first_address();
        // SAFETY: the loader has mapped this module, and holds it while it is visited.
        unsafe {
            each_part(start, |part| {
                if let Some(span) = SPANS.get(count) {
                    span.set(part);
                    count += 1;
                }
            });
        }
    });
    // Few: sorted by insertion.
    for from in 1..count {
        let mut at = from;
        while at > 0 && SPANS[at].get().start < SPANS[at - 1].get().start {
            let (before, here) = (SPANS[at - 1].get(), SPANS[at].get());
            SPANS[at - 1].set(here);
            SPANS[at].set(before);
            at -= 1;
        }
    }
    COUNT.store(count, Ordering::Release);
    unsafe extern "C" {
        safe fn abort() -> !;
    }
    let of_c = abort as extern "C" fn() -> ! as usize;
    let library = SPANS[..count].iter().map(Span::get).find(|part| part.contains(&of_c));
    C_LIBRARY.set(library.unwrap_or(0..0));
}

/// Whether an address is in the code of the C library.
pub(super) fn is_c_library(address: usize) -> bool {
    C_LIBRARY.get().contains(&address)
}

/// Whether an address is in code that is known.
pub(super) fn has(address: usize) -> bool {
    let known = &SPANS[..COUNT.load(Ordering::Acquire).min(FIRST)];
    let behind = known.partition_point(|span| span.get().start <= address);
    if behind > 0 && known[behind - 1].get().contains(&address) {
        return true;
    }
    let late = &LATE[..LATE_COUNT.load(Ordering::Acquire).min(LATER)];
    late.iter().any(|span| span.get().contains(&address))
}

/// The same of an address in a function that the calling thread is executing: a module that is not known yet becomes known.
pub(super) fn has_live(address: usize) -> bool {
    has(address) || add(address)
}

#[cold]
fn add(address: usize) -> bool {
    let Some((start, ..)) = module_around(address) else { return false };
    if ADDING.swap(1, Ordering::Acquire) != 0 {
        return false;
    }
    let mut count = LATE_COUNT.load(Ordering::Relaxed);
    // SAFETY: the module is mapped: the caller executes it.
    unsafe {
        each_part(start, |part| {
            if let Some(span) = LATE.get(count) {
                span.set(part);
                count += 1;
            }
        });
    }
    LATE_COUNT.store(count, Ordering::Release);
    ADDING.store(0, Ordering::Release);
    has(address)
}

/// In a forked child: another thread may have been at it.
pub(super) fn in_child() {
    ADDING.store(0, Ordering::Relaxed);
}

/// Calls `then` with each executable part of a module.
///
/// # Safety
/// A module's first page is mapped at that address, as long as this lasts.
unsafe fn each_part(start: usize, mut then: impl FnMut(Range<usize>)) {
    const EXECUTE: u32 = 1;
    /// Offsets in the header of an ELF file: where its program headers are, and their number.
    const HEADERS: usize = 32;
    const COUNT: usize = 56;
    const MOST: usize = 64;
    // SAFETY: a module begins with the header of its file, which the loader has read there; the headers are behind it, in the same page
    // unless there are very many.
    unsafe {
        if start == 0 || *(start as *const u32) != u32::from_le_bytes(*b"\x7fELF") {
            return;
        }
        let place = *((start + HEADERS) as *const usize);
        let count = usize::from(*((start + COUNT) as *const u16));
        if count > MOST || place > 4096 || place + count * size_of::<Header>() > 4096 {
            return;
        }
        let headers = core::slice::from_raw_parts((start + place) as *const Header, count);
        // The first part of the file is mapped at the start.
        let Some(first) = headers.iter().find(|header| header.kind == LOAD) else { return };
        let base = start.wrapping_sub(first.address & !4095);
        for header in headers.iter().filter(|header| header.kind == LOAD && header.flags & EXECUTE != 0) {
            let from = base.wrapping_add(header.address);
            then(from..from.wrapping_add(header.in_memory));
        }
    }
}

/// [`begin`], for tests, which are threads of one process.
#[cfg(test)]
pub(super) fn begin_once() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(begin);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_code_and_data_is_not() {
        begin_once();
        let here = functions_are_code_and_data_is_not as fn() as usize;
        assert!(has(here) && has_live(here));
        static DATA: u64 = 7;
        let place = 0_u8;
        for other in [(&raw const DATA).addr(), (&raw const place).addr(), 0, 4096, usize::MAX] {
            assert!(!has(other), "{other:#x}");
        }
        let library = std::process::abort as fn() -> ! as usize;
        assert!(has(library));
        unsafe extern "C" {
            fn getpid() -> i32;
        }
        assert!(has(getpid as *const () as usize), "the C library");
    }
}
