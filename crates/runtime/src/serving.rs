//! The allocator that serves malloc: this heap, or another that the program brings along.
//!
//! ```text
//! the loader's order:   program ─> preloads ─> libraries ─> C library
//! malloc is found in    one before underbar's: it serves  one between underbar's and the C library's: underbar's has replaced it
//! ```
//!
//! Invariant: determined once, at the start, when all libraries of the program are loaded and nothing else runs. Without
//! `_dl_find_object` (before glibc 2.35) libraries have no names, and nothing is reported.
//! Not here: allocators inside a program, under names of their own: nothing in the process reveals them (`host/cli`).

use underbar_ledger::AllocatorRole;

use crate::coverage::{module_name, module_start};
use crate::ledger::allocator;
use crate::next::Next;
use crate::{errno, loaded};

static NEXT: Next = Next::new(c"malloc");

/// The loader's answer for the name in this library: this library's function, unless an earlier object defines it. Rust
/// would take the definition that it sees, so the table of the loader's answers is read.
#[unsafe(naked)]
extern "C" fn address_of_malloc() -> usize {
    core::arch::naked_asm!("mov rax, qword ptr [rip + malloc@GOTPCREL]", "ret")
}

/// Determines the allocator, and writes it to the slot.
pub(crate) fn at_start() {
    let before = errno::errno();
    if let Some((role, address)) = find()
        && !(role == AllocatorRole::Serves && is_of_linked_runtime())
    {
        allocator::found(role, module_name(address, &mut [0; 32]));
    }
    errno::set_errno(before);
}

/// Whether the program has a runtime in itself: its malloc jumps into this library, or it is this runtime, which serves what Rust code
/// requests.
fn is_of_linked_runtime() -> bool {
    loaded::is_in_program(at_start as fn() as usize) || loaded::program_has_runtime()
}

/// Another allocator's role, and an address in it.
fn find() -> Option<(AllocatorRole, usize)> {
    let ours = module_start(at_start as fn() as usize)?;
    let is_ours = |address| module_start(address) == Some(ours);
    // A program with a fixed address may have its own entry for a malloc that is this library's: then the definition
    // decides.
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

/// `libc.so.6`, or in old versions `libc-2.31.so`.
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
        assert!(is_of_linked_runtime(), "this test has it");
    }
}
