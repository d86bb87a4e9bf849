//! Modules of sites, and the callers of modules that hide theirs: `std::endl` enters the kernel from the C++ library.
//!
//! ```text
//! stack   ... | the C++ library's frames | return address in the program | ...   the first one outside the modules that hide
//! ```
//!
//! Libraries have no frame pointers. So the words of the stack are looked at, from the call on: the first one that follows a call in the
//! code of another module is taken for its caller. A word that a returned call left there may be taken for it; as all figures of samples,
//! this is a share, not a count.
//!
//! Invariant: nothing is read but this thread's stack above its pointer, and code of modules that are loaded.
//! Cost: one to three microseconds for a sample.
//! Not here: when a sample is taken (`sites`).

use underbar_ledger::switches::{Fixed, NO_ROW, SAMPLED, key, sample as address_of_sample};
use underbar_sys::image::{Header, LOAD};

use crate::callers;
use crate::coverage::{module_around, module_name};

/// Files, up to their versions, that stand between a program and the kernel.
const HIDING: [&[u8]; 11] = [
    // Caches of files call on for the program.
    b"libunderbar",
    b"ld-linux",
    b"libc.",
    b"libc-2",
    b"libstdc++.",
    b"libc++.",
    b"libpthread",
    b"libpq.",
    b"libssl.",
    b"libcrypto.",
    b"libresolv.",
];
/// Words of the stack that are looked at.
const WORDS: usize = 512;

/// The row of the module of an address, made if there is none. None if the address is in no module, or there is no room.
pub(super) fn row(pages: &Fixed, address: u64) -> Option<usize> {
    if let Some(row) = pages.module_of(address) {
        return Some(row);
    }
    let (start, end, _) = module_around(address as usize)?;
    pages.add_module(start as u64, end as u64, module_name(start, &mut [0; 32]));
    pages.module_of(address)
}

/// Whether the module of a row is PostgreSQL's library, also one that a package brings along.
pub(super) fn is_libpq(pages: &Fixed, row: usize) -> bool {
    pages.head.modules.get(row).is_some_and(|module| module.name.bytes().starts_with(b"libpq"))
}

/// Whether the module of a row hides its callers.
pub(super) fn hides(pages: &Fixed, row: usize) -> bool {
    pages.head.modules.get(row).is_some_and(|module| {
        let name = module.name.bytes();
        HIDING.iter().any(|hiding| name.starts_with(hiding))
    })
}

/// Counts the caller of the module that has a site. `pointer` is the stack pointer of the call.
#[cold]
pub(super) fn sample(pages: &Fixed, address: u64, pointer: usize) {
    let Some(hiding) = pages.module_of(address) else { return };
    let caller = caller(pages, pointer).unwrap_or(NO_ROW);
    pages.add(key(SAMPLED, address_of_sample(hiding, caller)), [1, 0, 0]);
}

/// The row of the first module on the stack that does not hide its callers.
fn caller(pages: &Fixed, pointer: usize) -> Option<usize> {
    let bounds = callers::bounds();
    if !bounds.contains(&pointer) || !pointer.is_multiple_of(8) {
        return None;
    }
    let last = bounds.end.saturating_sub(8).min(pointer + 8 * WORDS);
    (pointer..last).step_by(8).find_map(|at| {
        // SAFETY: a word of this thread's stack above its pointer.
        let word = unsafe { *(at as *const usize) };
        // Small numbers and places of the stack are most of the words.
        if word < 1 << 16 || word >> 47 != 0 || bounds.contains(&word) || !follows_a_call(word) {
            return None;
        }
        row(pages, word as u64).filter(|&row| !hides(pages, row))
    })
}

/// Whether an address is in the code of a module, and behind an instruction that calls.
fn follows_a_call(address: usize) -> bool {
    const EXECUTE: u32 = 1;
    /// Offsets in the header of an ELF file: where its program headers are, and their number.
    const HEADERS: usize = 32;
    const COUNT: usize = 56;
    let Some((start, _, base)) = module_around(address) else { return false };
    // SAFETY: a module begins with the header of its file, which the loader has read there; the headers are behind it.
    let is_code = unsafe {
        if *(start as *const u32) != u32::from_le_bytes(*b"\x7fELF") {
            return false;
        }
        let headers = (start + *((start + HEADERS) as *const usize)) as *const Header;
        let count = usize::from(*((start + COUNT) as *const u16));
        core::slice::from_raw_parts(headers, count).iter().any(|header| {
            let from = base.wrapping_add(header.address);
            let is_code = header.kind == LOAD && header.flags & EXECUTE != 0;
            is_code && address >= from + 8 && address < from + header.in_memory
        })
    };
    if !is_code {
        return false;
    }
    // SAFETY: eight bytes of that code.
    let before = unsafe { *((address - 8) as *const [u8; 8]) };
    // A call of a distance; of a word; of a register or of a word by a register, with a displacement or without.
    let by_register = |at: usize| before[at] == 0xff && before[at + 1] >> 3 & 7 == 2;
    before[3] == 0xe8 || [1, 2, 4, 5, 6].into_iter().any(by_register)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[inline(never)]
    fn return_address() -> usize {
        let mut found = [0; 1];
        let pointer = callers::stack_pointer();
        // The nearest word above that follows a call is this function's return address, or that of a caller.
        for at in (pointer..pointer + 4096).step_by(8) {
            // SAFETY: a word of this thread's stack.
            let word = unsafe { *(at as *const usize) };
            if word > 1 << 16 && word >> 47 == 0 && follows_a_call(word) {
                found[0] = word;
                break;
            }
        }
        found[0]
    }

    #[test]
    fn return_addresses_follow_calls_and_other_words_do_not() {
        let address = core::hint::black_box(return_address as fn() -> usize)();
        assert!(module_around(address).is_some());
        assert!(!follows_a_call(return_address as fn() -> usize as usize), "the beginning of a function");
        static DATA: [u64; 64] = [0xe8; 64];
        assert!(!follows_a_call((&raw const DATA[32]).addr()) && !follows_a_call(1 << 40));
    }
}
