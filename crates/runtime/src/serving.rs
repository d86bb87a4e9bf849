//! Who serves malloc: this heap, or another allocator that the program brings along.
//!
//! ```text
//! the loader's order:   program ─> preloads ─> libraries ─> C library
//! malloc is found in    one before ours: it serves     one between ours and the C library's: ours has replaced it
//! ```
//!
//! Invariant: this is found out once, at the start, when all libraries of the program are loaded and nothing else runs. Without
//! `_dl_find_object` (before glibc 2.35) libraries have no names, and nothing is told.
//! Not here: allocators inside a program, under names of their own: nothing in the process tells of them (`host/cli`).

use core::sync::atomic::{AtomicU64, Ordering};

use underbar_ledger::layout::Text;
use underbar_ledger::{AllocatorRole, Slot};

use crate::coverage::{module_name, module_start};
use crate::next::Next;
use crate::{ledger, loaded, start};

static NEXT: Next = Next::new(c"malloc");

/// What children tell their slots, too. Written by the first thread at the start, read by anybody later; relaxed.
static ROLE: AtomicU64 = AtomicU64::new(0);
static NAME: Text<4> = Text([const { AtomicU64::new(0) }; 4]);

/// What the loader found for the name in this library: ours, unless somebody comes before us. Rust would take the definition that it
/// sees; the table of the loader's answers is asked.
#[unsafe(naked)]
extern "C" fn address_of_malloc() -> usize {
    core::arch::naked_asm!("mov rax, qword ptr [rip + malloc@GOTPCREL]", "ret")
}

/// Finds out, and tells the slot.
pub(crate) fn at_start() {
    let before = start::errno();
    if let Some((role, address)) = find() {
        NAME.store(module_name(address, &mut [0; 32]));
        ROLE.store(role as u64, Ordering::Relaxed);
        tell(ledger::slot());
    }
    start::set_errno(before);
}

/// Tells a slot of this process.
pub(crate) fn tell(slot: &Slot) {
    slot.allocator.copy(&NAME);
    slot.allocator_role.store(ROLE.load(Ordering::Relaxed), Ordering::Relaxed);
}

/// Another allocator's role, and an address in it.
fn find() -> Option<(AllocatorRole, usize)> {
    let ours = module_start(at_start as fn() as usize)?;
    let is_ours = |address| module_start(address) == Some(ours);
    // A program with a fixed address may have an entry of its own for a malloc that is ours: then the definition tells.
    if !is_ours(address_of_malloc())
        && let Some(first) = first_malloc()
        && !is_ours(first)
    {
        return Some((AllocatorRole::Serves, first));
    }
    let next = NEXT.get()?;
    (!is_c_library(module_name(next, &mut [0; 32]))).then_some((AllocatorRole::Replaced, next))
}

/// The first definition in the loader's order.
fn first_malloc() -> Option<usize> {
    let mut first = None;
    loaded::each(&mut |object| {
        object.functions(c"malloc", &mut |symbol, _| {
            // SAFETY: a symbol of a library that is loaded.
            let address = object.base.wrapping_add(unsafe { (*symbol).value });
            first = first.or(Some(address));
        });
    });
    first
}

/// `libc.so.6`, or of old `libc-2.31.so`.
fn is_c_library(name: &[u8]) -> bool {
    name.starts_with(b"libc.so") || name.starts_with(b"libc-2.")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In a test, where nothing is preloaded, the C library serves.
    #[test]
    fn the_first_malloc_is_the_c_librarys() {
        let (role, address) = find().expect("glibc of 2.35 or later");
        assert_eq!(role, AllocatorRole::Serves);
        assert!(is_c_library(module_name(address, &mut [0; 32])));
        assert_eq!(first_malloc(), Some(address));
    }
}
