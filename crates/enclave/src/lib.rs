//! Enclaves, as the program loader and the heap see them: a table of functions that the preload library exports.
//!
//! ```text
//! loader (in the program)                              preload library
//!   LINK   begin ─────────────────────────────────────> a heap of its own, a row of accounts
//!          enter                                        this thread's word = its part of that heap
//!          program_starts                               its CPU time is limited (MT)
//!          call_begins, call_ends                       CALLs and LINKs count, with their CPU time (SWITCHES)
//!          stack_begins                                 a stack, if STACK gives a size: main runs on it
//!          main ── malloc, bound to `functions` ──────> word set, and called by that program? that heap : the process's
//!                └─ strftime ── the C library's malloc ─────────────────────> the process's heap
//!          leave                                        word as before
//!          inside ───────────────────────────────────> the number of its threads that have not ended
//!          end ──────────────────────────────────────> all storage goes back to the kernel
//! ```
//!
//! The caller decides: storage that the program itself gets is in its enclave; storage that the C library, the system's loader
//! and other shared libraries get for themselves is in the process's heap, since they keep it.
//!
//! Invariant: the table is static and never changes. Without the preload library there is none, and all programs of a process
//! share its heap.
//! Not here: the heap (`runtime::heap::enclave`), the end of a program (`fetch::enclave`).
#![no_std]

use core::ffi::c_void;

/// Changes when [`Enclaves`] changes.
pub const VERSION: u32 = 6;

/// A function for programs that are LINKed, in place of the C or C++ function of that name.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Function {
    /// Its name.
    pub name: *const u8,
    /// Bytes of the name.
    pub length: usize,
    /// Its address.
    pub address: *const c_void,
}

impl Function {
    /// A row of the table.
    #[must_use]
    pub const fn new(name: &'static str, address: *const c_void) -> Self {
        Self { name: name.as_ptr(), length: name.len(), address }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &'static [u8] {
        // SAFETY: a static text of that length, see `new`.
        unsafe { core::slice::from_raw_parts(self.name, self.length) }
    }
}

// SAFETY: addresses of a static text and of a function.
unsafe impl Sync for Function {}

/// An enclave. Its heap may have ended: then every function refuses it.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Enclave {
    /// Its heap; null: none could be created.
    pub heap: *const c_void,
    /// The generation of that heap.
    pub generation: u32,
}

/// The sizes of stacks, as the option STACK gives them.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    /// Bytes of the first segment; 0: not set.
    pub initial: usize,
    /// Bytes of each further one; 0: not set.
    pub increment: usize,
    /// Whether empty increments go back to the kernel: 1, or 0.
    pub frees: u32,
}

/// The functions of the preload library.
#[repr(C)]
pub struct Enclaves {
    /// [`VERSION`] of the library that made the table.
    pub version: u32,
    /// Number of [`Enclaves::functions`].
    pub count: u32,
    /// Functions that get storage.
    pub functions: *const Function,
    /// Begins an enclave with a name of that many bytes, for the program whose code is at these addresses.
    pub begin: unsafe extern "C" fn(name: *const u8, length: usize, start: usize, end: usize) -> Enclave,
    /// The calling thread's program gets its storage in the enclave from now on. False if it cannot. `outer` receives the argument
    /// of the call of [`Enclaves::leave`].
    pub enter: unsafe extern "C" fn(enclave: Enclave, outer: *mut usize) -> bool,
    /// Undoes the last [`Enclaves::enter`] of the calling thread.
    pub leave: unsafe extern "C" fn(outer: usize),
    /// The number of threads that are inside: the callers of [`Enclaves::enter`], and the threads that these have made.
    pub inside: unsafe extern "C" fn(enclave: Enclave) -> usize,
    /// Ends an enclave. False if threads are inside: then it goes on.
    pub end: unsafe extern "C" fn(enclave: Enclave) -> bool,
    /// Tells the sizes of stacks that programs make for themselves.
    pub stack_sizes: unsafe extern "C" fn(sizes: *mut Sizes),
    /// A stack for a program that is about to be LINKed: its end; 0 where it runs on its caller's. `low` receives where it begins.
    pub stack_begins: unsafe extern "C" fn(low: *mut usize) -> usize,
    /// The program with the stack of that end has ended.
    pub stack_ends: unsafe extern "C" fn(top: usize),
    /// Counts segments of such stacks, allocated and freed.
    pub stack_segments: unsafe extern "C" fn(allocated: u64, freed: u64),
    /// A program is about to be LINKed by the calling thread: its CPU time is limited from now on (MT). Returns the argument of
    /// [`Enclaves::program_ends`]; 0: it is not limited by itself.
    pub program_starts: unsafe extern "C" fn() -> usize,
    /// It has ended.
    pub program_ends: unsafe extern "C" fn(start: usize),
    /// A program with a name of that many bytes, which begins no enclave, has its code at these addresses from now on.
    pub program_is_at: unsafe extern "C" fn(name: *const u8, length: usize, start: usize, end: usize),
    /// The program with that entry is LINKed, or CALLed, by the calling thread: it counts as a switch. Returns the argument of
    /// [`Enclaves::call_ends`]; 0: switches are not counted.
    pub call_begins: unsafe extern "C" fn(entry: usize, is_link: bool) -> u64,
    /// It has returned, or has ended otherwise.
    pub call_ends: unsafe extern "C" fn(entry: usize, is_link: bool, began: u64),
}

// SAFETY: static tables of functions.
unsafe impl Sync for Enclaves {}

impl Enclaves {
    /// The functions that get storage.
    #[must_use]
    pub fn functions(&self) -> &'static [Function] {
        // SAFETY: a static array of so many.
        unsafe { core::slice::from_raw_parts(self.functions, self.count as usize) }
    }
}

#[unsafe(naked)]
extern "C" fn address() -> *const Enclaves {
    core::arch::naked_asm!(
        // Weak if this file does not define it; the preload library does.
        ".weakref underbar_enclaves_or_none, underbar_enclaves",
        "mov rax, qword ptr [rip + underbar_enclaves_or_none@GOTPCREL]",
        "ret"
    )
}

/// The table; None without the preload library, or if that is of another version.
#[must_use]
pub fn enclaves() -> Option<&'static Enclaves> {
    // SAFETY: if the symbol exists, it is a static table; the version shows that it is this one.
    unsafe { address().as_ref() }.filter(|table| table.version == VERSION)
}

#[cfg(test)]
mod tests {
    #[test]
    fn without_the_library_there_is_no_table() {
        assert!(super::enclaves().is_none());
    }
}
