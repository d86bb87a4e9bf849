//! Stacks of the model checker's threads, kept from one order of events to the next.
//!
//! ```text
//! checker: a coroutine for each thread of a model, in each of a million orders
//!   mmap, mprotect ──> here: a kept stack, its guard page as it was      munmap ──> kept
//! ```
//!
//! The checker maps, protects and unmaps each stack anew: that, and the page faults, took more than half of the models' time. It calls
//! functions of C, so functions of these names serve it in programs of models.
//!
//! Invariant: what is kept was mapped here as a stack, and is handed out again only after it was given back. All other calls are the
//! kernel's.
//! Not here: anything of a shipped program: this file is compiled under `--cfg loom` alone.

use core::ffi::{c_int, c_void};
use std::sync::{Mutex, PoisonError};

use crate::syscall::{self, Errno};

/// More stacks than the models that run at one time have threads; others are the kernel's.
const MOST: usize = 64;
const MAP_STACK: c_int = 0x2_0000;
const PROT_NONE: c_int = 0;
const MAP_FAILED: *mut c_void = core::ptr::without_provenance_mut(usize::MAX);

/// A mapping that was made here as a stack.
#[derive(Clone, Copy)]
struct Stack {
    address: usize,
    bytes: usize,
    is_used: bool,
    has_guard: bool,
}

const NONE: Stack = Stack { address: 0, bytes: 0, is_used: false, has_guard: false };

static STACKS: Mutex<[Stack; MOST]> = Mutex::new([NONE; MOST]);

/// Calls `of` with the stacks; no call is made inside it.
fn with<R>(of: impl FnOnce(&mut [Stack; MOST]) -> R) -> R {
    of(&mut STACKS.lock().unwrap_or_else(PoisonError::into_inner))
}

unsafe extern "C" {
    fn __errno_location() -> *mut c_int;
}

/// The result of C for an error.
fn failed<R>(error: Errno, result: R) -> R {
    // SAFETY: the C library's word of this thread.
    unsafe { *__errno_location() = error.number() };
    result
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mmap(
    hint: *mut c_void,
    bytes: usize,
    protection: c_int,
    flags: c_int,
    fd: c_int,
    offset: i64,
) -> *mut c_void {
    let is_stack = hint.is_null() && fd == -1 && flags & MAP_STACK != 0;
    let kept = with(|stacks| {
        let kept = stacks.iter_mut().find(|stack| is_stack && stack.bytes == bytes && !stack.is_used)?;
        kept.is_used = true;
        Some(kept.address)
    });
    if let Some(address) = kept {
        return address as *mut c_void;
    }
    // SAFETY: the caller's promise.
    let mapped =
        unsafe { syscall::mmap(hint.cast(), bytes, protection as u32, flags as u32, fd, offset as u64) };
    let address = match mapped {
        Ok(address) => address,
        Err(error) => return failed(error, MAP_FAILED),
    };
    if is_stack {
        with(|stacks| {
            if let Some(room) = stacks.iter_mut().find(|stack| stack.bytes == 0) {
                *room = Stack { address: address as usize, bytes, is_used: true, has_guard: false };
            }
        });
    }
    address.cast()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mprotect(address: *mut c_void, bytes: usize, protection: c_int) -> c_int {
    let had = with(|stacks| {
        let is_guard = |stack: &&mut Stack| protection == PROT_NONE && stack.address == address as usize;
        let stack = stacks.iter_mut().find(is_guard)?;
        Some(core::mem::replace(&mut stack.has_guard, true))
    });
    if had == Some(true) {
        return 0;
    }
    // SAFETY: the caller's promise.
    match unsafe { syscall::mprotect(address.cast(), bytes, protection as u32) } {
        Ok(()) => 0,
        Err(error) => failed(error, -1),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn munmap(address: *mut c_void, bytes: usize) -> c_int {
    let is_kept = with(|stacks| {
        let is_it = |stack: &&mut Stack| stack.bytes == bytes && stack.address == address as usize;
        stacks.iter_mut().find(is_it).map(|stack| stack.is_used = false)
    });
    if is_kept.is_some() {
        return 0;
    }
    // SAFETY: the caller's promise.
    match unsafe { syscall::munmap(address.cast(), bytes) } {
        Ok(()) => 0,
        Err(error) => failed(error, -1),
    }
}
