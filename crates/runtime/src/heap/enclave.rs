//! The heaps of enclaves: programs that are LINKed in this process and get their storage apart.
//!
//! ```text
//! word of the thread   0: no enclave            its part of an enclave's heap
//!                      |                        |  the caller is the enclave's program
//! LINKed program ── malloc ──> the process's    '─> slot = that part ── malloc ── slot as before
//! others ────────── malloc ──> the process's heap, at any time
//! ```
//!
//! The loader binds the functions of this file in all programs that it loads. They look at the thread's word and at their return
//! address. So a program that was LOADed keeps what it gets, whoever CALLs it, and one image can serve a LINK after a LOAD. Frees need
//! nothing: they go to the heap of the block.
//!
//! A thread that is made inside an enclave is inside, too, from before it begins until it has ended: the heap does not end under it.
//!
//! Invariant: the word is 0, or the address of a heap of this thread, which is inside that heap.
//! Not here: the word (`within`), the C names (`preload`), the ends of programs (`fetch::enclave`), heaps that a program creates itself.

use core::ffi::c_void;
use core::ptr::null;

use underbar_enclave::Enclave;
use underbar_ledger::HeapKind;

use super::entering::{self, Entered};
use super::gate::Gate;
use super::numbers;
use super::object::{DEFAULT, Heap};
use super::realloc::realloc_by;
use super::registry::{self, Handle, Refused};
use super::thread::ThreadHeap;
use super::{slot, unusual, within};
use crate::ledger;
const NONE: Enclave = Enclave { heap: null(), generation: 0 };

fn handle_of(enclave: Enclave) -> Option<Handle> {
    // SAFETY: null, or the address that `begin` took from a heap. Heaps stay where they are for ever.
    let heap = unsafe { enclave.heap.cast::<Heap>().as_ref() }?;
    Some(Handle { heap, generation: enclave.generation })
}

/// Bytes of an enclave's first segment where HEAP has AUTO, with its tables 32K: most programs that are LINKed are small.
const INITIAL: usize = 24 << 10;

/// Creates the heap of an enclave with that name, under the HEAP option of the process, for a program at these addresses. The heap is
/// null if there is no memory.
pub fn begin(name: &[u8], start: usize, end: usize) -> Enclave {
    ledger::program_of_switches(name, start, end);
    let mut policy = DEFAULT.space.lock().policy();
    if policy.initial == 0 && policy.increment == 0 {
        policy.initial = INITIAL;
    }
    // With a number, so that the callable services know its elements; without, if all numbers are in use.
    let numbered = numbers::create_as(HeapKind::Enclave, name, policy).ok().map(|(_, handle)| handle);
    let Some(handle) = numbered.or_else(|| registry::create_named(HeapKind::Enclave, name, policy)) else {
        return NONE;
    };
    handle.heap.code.set(start, end);
    Enclave { heap: core::ptr::from_ref(handle.heap).cast(), generation: handle.generation }
}

/// From now on, functions of this file get storage in that enclave for the calling thread. Returns what [`leave`] needs; None if
/// the thread cannot enter it.
pub fn enter(enclave: Enclave) -> Option<usize> {
    let Entered { previous } = entering::enter(handle_of(enclave)?).ok()?;
    let inner = slot::get();
    slot::set(previous);
    let outer = within::get();
    within::set(inner as usize);
    Some(outer)
}

/// Undoes the last [`enter`] of the calling thread, which returned that value.
pub fn leave(outer: usize) {
    let inner = within::get();
    if inner != 0 {
        let previous = slot::get();
        slot::set(inner as *const ThreadHeap);
        entering::leave(Entered { previous });
        within::set(outer);
    }
}

/// The number of threads that are inside; 0 if it has ended.
pub fn threads_inside(enclave: Enclave) -> usize {
    handle_of(enclave).map_or(0, |handle| handle.heap.gate.inside(handle.generation))
}

/// The heap of the enclave that the calling thread is in.
pub fn current() -> Option<Handle> {
    let inner = within::get() as *const ThreadHeap;
    // SAFETY: null, or a heap of this thread, in an enclave that does not end while the thread is inside.
    let heap = unsafe { inner.as_ref() }?.heap;
    Some(Handle { heap, generation: heap.gate.generation() })
}

/// Ends an enclave, and the heaps that its program has created. False if threads are inside: then it goes on. After the program has
/// given up its right to return storage, the heap stays as it is.
pub fn end(enclave: Enclave) -> bool {
    if threads_inside(enclave) > 0 {
        return false;
    }
    !matches!(handle_of(enclave).map(numbers::end), Some(Err(Refused::Inside(_))))
}

/// The calling thread ends, and with it its parts of all heaps.
pub(super) fn thread_ends() {
    within::set(0);
}

/// The enclave of a thread's creator, on its way to the thread. The creator has entered the gate for it.
#[derive(Clone, Copy)]
pub struct Inherited(Enclave);

impl Inherited {
    /// Nothing.
    pub const NONE: Self = Self(NONE);

    /// By the creator, before it makes the thread.
    pub fn take() -> Self {
        match current() {
            Some(Handle { heap, generation }) if heap.gate.enter(generation) => {
                Self(Enclave { heap: core::ptr::from_ref(heap).cast(), generation })
            }
            _ => Self::NONE,
        }
    }

    /// By the new thread, before its function: it is inside, like its creator.
    pub fn receive(self) {
        enter(self.0);
        self.drop_pass();
    }

    /// Leaves the gate that [`Inherited::take`] entered: the thread is inside itself, or was not made.
    pub fn drop_pass(self) {
        if let Some(gate) = self.gate() {
            gate.leave();
        }
    }

    fn gate(self) -> Option<&'static Gate> {
        handle_of(self.0).map(|handle| &*handle.heap.gate)
    }
}

/// The calling thread's part of the heap that serves the program with code at `caller`; null outside enclaves, and for other
/// programs.
#[inline(always)]
fn of(caller: usize) -> *const ThreadHeap {
    let inner = within::get() as *const ThreadHeap;
    // An ECB that the thread has entered serves it before an enclave does.
    // SAFETY: heaps of this thread, which is inside them.
    let serves = !inner.is_null() && unsafe { (*inner).heap.code.has(caller) && !(*slot::get()).is_seat };
    if serves { inner } else { null() }
}

/// Whether the function that returns to `caller` gets storage in an enclave.
#[inline(always)]
pub fn serves(caller: usize) -> bool {
    !of(caller).is_null()
}

/// Runs `work` with the heap of an enclave in the thread's slot.
#[inline(always)]
fn inside<T>(inner: *const ThreadHeap, work: impl FnOnce() -> T) -> T {
    let outer = slot::get();
    slot::set(inner);
    let result = work();
    slot::set(outer);
    result
}

/// As [`super::malloc`], for a function that returns to `caller`.
///
/// # Safety
/// As malloc of C.
pub unsafe extern "C" fn malloc(size: usize, caller: usize) -> *mut u8 {
    let inner = of(caller);
    // SAFETY: the caller's promise.
    unsafe {
        if inner.is_null() {
            unusual::malloc_from(size, caller)
        } else {
            inside(inner, || unusual::malloc_from(size, caller))
        }
    }
}

/// As [`super::calloc`], for a function that returns to `caller`.
///
/// # Safety
/// As calloc of C.
pub unsafe extern "C" fn calloc(count: usize, size: usize, caller: usize) -> *mut u8 {
    let inner = of(caller);
    // SAFETY: the caller's promise.
    unsafe {
        if inner.is_null() {
            unusual::calloc_from(count, size, caller)
        } else {
            inside(inner, || unusual::calloc_from(count, size, caller))
        }
    }
}

/// As [`super::realloc()`], for a function that returns to `caller`. A block of another heap that moves comes to the enclave.
///
/// # Safety
/// As realloc of C.
pub unsafe extern "C" fn realloc(address: *mut u8, size: usize, caller: usize) -> *mut u8 {
    let inner = of(caller);
    // SAFETY: the caller's promise.
    unsafe {
        if inner.is_null() {
            realloc_by(address, size, caller)
        } else {
            inside(inner, || realloc_by(address, size, caller))
        }
    }
}

/// As [`super::aligned`], for a function that returns to `caller`. The alignment is a power of two.
///
/// # Safety
/// As aligned_alloc of C.
pub unsafe fn aligned(alignment: usize, size: usize, caller: usize) -> *mut u8 {
    let inner = of(caller);
    // SAFETY: the caller's promise.
    unsafe {
        if inner.is_null() {
            unusual::aligned_from(alignment, size, caller)
        } else {
            inside(inner, || unusual::aligned_from(alignment, size, caller))
        }
    }
}

/// A copy of `length` bytes, and a zero of `end` bytes after them; null if there is no storage. For functions of the C library that
/// return storage to their caller.
///
/// # Safety
/// So many bytes can be read there.
pub unsafe fn copy(bytes: *const c_void, length: usize, end: usize, caller: usize) -> *mut u8 {
    let Some(size) = length.checked_add(end) else { return super::refuse() };
    // SAFETY: the new storage has room for both.
    unsafe {
        let new = malloc(size, caller);
        if !new.is_null() {
            core::ptr::copy(bytes.cast::<u8>(), new, length);
            new.add(length).write_bytes(0, end);
        }
        new
    }
}
