//! Libraries opened with RTLD_DEEPBIND: they also use this heap.
//!
//! Such a library finds the functions of its own dependencies first, the C library among them, and only then those of the
//! program and of preloaded libraries. So its `malloc` is glibc's, while the rest of the program has underbar's. A block
//! that one side gets and the other frees ends the process. PHP loads its extensions in this way, and apache its modules.
//!
//! ```text
//! program, other libraries ── malloc ──> libunderbar.so
//! library with RTLD_DEEPBIND ─ malloc ──> libc.so.6's symbol table ── value changed ──> libunderbar.so
//! ```
//!
//! Before the first such library is opened, this module changes the symbol tables in memory: each definition that
//! underbar's replaces for the program (the next one in the loader's order) gets the address of underbar's function as its
//! value. This holds for every name that this library has, so what a deeply bound library starts, locks or maps is followed
//! and counted as the program's is. Other names keep the flag's meaning. Later lookups by the loader find the new value:
//! constructors, calls bound at their first use, `dlsym`.
//!
//! Alternatives considered: changing the library's references after `dlopen` is too late for its constructors, and misses
//! calls that are bound later. Without the flag, all its names would be bound otherwise. LD_AUDIT sees each binding, but it
//! loads a second C library into every process and slows each start. Passing foreign blocks on to glibc helps in one
//! direction only.
//!
//! The same is done when the C library itself is opened by its name, as `ctypes.CDLL("libc.so.6")` does: functions
//! requested by its handle would be glibc's, and `free` of a block that `strdup` got from underbar's heap would end the
//! process.
//!
//! A name that an earlier object serves (the program itself, an earlier preload) is left alone: there the program behaves
//! as without underbar.
//!
//! Invariant: a changed value is the address of the function here that does the same. Functions that this library itself
//! calls by the old name are known before the change ([`crate::originals`]), so such a call never comes back to this library.
//! Cost: none until a library is opened in this way; then once about 0.1 ms, and 72 KiB for a private copy of glibc's
//! symbols.
//! Not here: namespaces of `dlmopen`, which have a C library of their own: its blocks are foreign to this heap
//! ([`crate::heap`]).

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr::{null, null_mut};
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use underbar_ledger::Key;
use underbar_sys::image::Symbol;
use underbar_sys::lock::Lock;
use underbar_sys::syscall::{PROT_EXEC, PROT_READ, PROT_WRITE, mprotect};

use crate::ledger;
use crate::linked;
use crate::loaded::{self, Object};
use crate::next::Next;
use crate::originals::{MOST, remember};

const DEEPBIND: c_int = 8;
/// Opens a new namespace.
const NEW_NAMESPACE: isize = -1;

static DLOPEN: Next = Next::new(c"dlopen");
static DLMOPEN: Next = Next::new(c"dlmopen");

/// All changes are made. Stored with Release by the thread that made them.
static BOUND: AtomicBool = AtomicBool::new(false);
/// Held by the thread that looks names up and writes their values, from before it takes a lock of the loader, and by a
/// thread that forks. So no child has half of the changes, or the loader's lock held by this thread, which it could never
/// give up.
static BINDING: Lock<()> = Lock::new(());
/// Maximum wait for that lock, in nanoseconds. All changes take a tenth of a millisecond. But a thread that forks, or opens
/// a library, in a callback of `dl_iterate_phdr` has the lock of the loader that the other one needs.
pub(crate) const PATIENCE: u64 = 1_000_000_000;
/// A namespace was opened, so there may be blocks of another C library.
static NAMESPACES: AtomicBool = AtomicBool::new(false);

/// The function that continues `dlopen` of that file with that mode: the next library's, which sees its caller's address.
///
/// # Safety
/// `file` is null or a C string.
pub(crate) unsafe fn before_dlopen(file: *const c_char, mode: c_int) -> usize {
    if mode & DEEPBIND != 0 {
        ledger::add(Key::DeepbindOpens, 1);
        bind();
    // SAFETY: the caller's promise.
    } else if !file.is_null() && is_c_library(unsafe { CStr::from_ptr(file) }) {
        bind();
    }
    DLOPEN.get().unwrap_or(cannot_open as *const () as usize)
}

/// As [`before_dlopen`], for `dlmopen`.
pub extern "C" fn before_dlmopen(namespace: isize, mode: c_int) -> usize {
    if namespace == NEW_NAMESPACE {
        NAMESPACES.store(true, Ordering::Relaxed);
        ledger::add(Key::NamespacesOpened, 1);
    } else if mode & DEEPBIND != 0 {
        ledger::add(Key::DeepbindOpens, 1);
        bind();
    }
    DLMOPEN.get().unwrap_or(cannot_open as *const () as usize)
}

/// A program that opens the C library by its name gets functions by its handle, `free` among them.
fn is_c_library(file: &CStr) -> bool {
    let name = file.to_bytes().rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    name.starts_with(b"libc.so") || name.starts_with(b"libc-2.")
}

/// Used if no library has the function.
extern "C" fn cannot_open() -> *mut c_void {
    null_mut()
}

/// Whether a namespace was opened, so that this heap may receive blocks of another C library's heap.
pub(crate) fn has_namespaces() -> bool {
    NAMESPACES.load(Ordering::Relaxed)
}

/// Runs `work` under the lock of this module, for others that change words of libraries. False if another thread keeps it for too
/// long, or if this thread is in the middle of a change, interrupted by a signal.
pub(crate) fn under_lock(patience: u64, work: impl FnOnce()) -> bool {
    if !BINDING.hold_within(patience) {
        return false;
    }
    // SAFETY: this thread holds it.
    unsafe {
        let is_free = !BINDING.was_held();
        if is_free {
            work();
        }
        BINDING.release();
        is_free
    }
}

/// Takes the lock for the time of a fork. False if another thread keeps it for too long.
pub(crate) fn before_fork() -> bool {
    BINDING.hold_within(PATIENCE)
}

/// After a fork, in the parent.
///
/// # Safety
/// This thread called [`before_fork`]; `held` is its result.
pub(crate) unsafe fn after_fork(held: bool) {
    if held {
        // SAFETY: the caller's promise.
        unsafe { BINDING.release() }
    }
}

/// After a fork, in the child. If [`before_fork`] did not get the lock, the thread that had it is not here: the thread that
/// opens the next library makes all changes again.
///
/// # Safety
/// The parent's thread, of which this one is the copy, called [`before_fork`]; `held` is its result.
pub(crate) unsafe fn after_fork_in_child(held: bool) {
    // SAFETY: the caller's promise.
    unsafe { if held { BINDING.release() } else { BINDING.forget_owner() } }
}

// ---- the change ---------------------------------------------------------------------------------------------------

/// The owner of the first definition of one of this library's names, in the loader's order.
#[derive(Clone, Copy, PartialEq, Eq)]
enum First {
    Nobodys,
    /// An object before this library: the program does not use this library's function.
    Anothers,
    /// This library, and no other definition was met since.
    Ours,
    /// This library, also in place of the next definition.
    Replaced,
}

/// Makes the names that this library replaces resolve to it wherever the loader finds them, once.
fn bind() {
    if BOUND.load(Ordering::Acquire) {
        return;
    }
    if !BINDING.hold_within(PATIENCE) {
        return ledger::add(Key::DeepbindUnbound, 1);
    }
    // SAFETY: this thread holds it. A signal handler that opens libraries may have interrupted it just here.
    unsafe {
        if !BINDING.was_held() && !BOUND.load(Ordering::Acquire) {
            bind_all();
        }
        BINDING.release();
    }
}

/// Under [`BINDING`].
fn bind_all() {
    let here = before_dlopen as *const () as usize;
    let mut ours = None;
    loaded::each(&mut |object| {
        if object.holds(here) {
            ours = Some(*object);
        }
    });
    let Some(ours) = ours else { return ledger::add(Key::DeepbindUnbound, 1) };
    let mut firsts = [First::Nobodys; MOST];
    let mut all_done = true;
    // The functions of such a program lead here.
    let program_has_runtime = loaded::program_has_runtime();
    loaded::each(&mut |object| {
        if object.holds(here) {
            for first in firsts.iter_mut().filter(|first| **first == First::Nobodys) {
                *first = First::Ours;
            }
        } else if !(program_has_runtime && object.path().is_empty()) {
            all_done &= replace(object, &ours, &mut firsts);
        }
    });
    if all_done {
        BOUND.store(true, Ordering::Release);
    } else {
        ledger::add(Key::DeepbindUnbound, 1);
    }
}

/// A symbol to be changed.
#[derive(Clone, Copy)]
struct Change {
    symbol: *const Symbol,
    value: usize,
    name: &'static CStr,
    is_default: bool,
}

/// Changes symbols of one library, for others that take the place of functions: each to a value that is relative to the library's base.
/// Their old values are not looked up here. Under the lock of this module. False if they cannot be changed.
pub(crate) fn change_symbols(object: &Object, changes: &[(*const Symbol, usize)]) -> bool {
    let unnamed =
        |&(symbol, value): &(*const Symbol, usize)| Change { symbol, value, name: c"", is_default: false };
    write(object, changes.iter().map(unnamed))
}

/// Looks for all of this library's names in one library, and changes those that come next after its own. False if they
/// cannot be changed.
fn replace(object: &Object, ours: &Object, firsts: &mut [First; MOST]) -> bool {
    let mut changes = [const { Change { symbol: null(), value: 0, name: c"", is_default: false } }; MOST];
    let mut count = 0;
    let mut index = 0;
    ours.exports(&mut |name, address| {
        // A program exports functions of its own, too.
        if !linked::is_function(address) {
            return;
        }
        let Some(first) = firsts.get_mut(index) else { return };
        index += 1;
        if !matches!(*first, First::Nobodys | First::Ours) {
            return;
        }
        let value = address.wrapping_sub(object.base);
        let mut is_met = false;
        object.functions(name, &mut |symbol, is_default| {
            is_met = true;
            if *first == First::Ours
                && let Some(change) = changes.get_mut(count)
            {
                *change = Change { symbol, value, name, is_default };
                count += 1;
            }
        });
        if is_met {
            *first = if *first == First::Ours { First::Replaced } else { First::Anothers };
        }
    });
    write(object, changes[..count].iter().copied())
}

/// Writes the new values, for which the pages of the table become writable meanwhile. Under [`BINDING`].
fn write(object: &Object, changes: impl Iterator<Item = Change> + Clone) -> bool {
    const PAGE: usize = 4096;
    const EXECUTE: u32 = 1;
    let addresses = || changes.clone().map(|change| change.symbol as usize);
    let (Some(low), Some(high)) = (addresses().min(), addresses().max()) else { return true };
    let start = low & !(PAGE - 1);
    let length = (high + size_of::<Symbol>()).next_multiple_of(PAGE) - start;
    // Old linkers put code into the same pages; it may run meanwhile.
    let may = if object.flags & EXECUTE == 0 { PROT_READ } else { PROT_READ | PROT_EXEC };
    // SAFETY: pages of a library that stays loaded, as `loaded::each` says; they lose none of their access rights: the
    // loader leaves the table as its headers say, readable and no more.
    let done = unsafe { mprotect(start as *mut u8, length, may | PROT_WRITE).is_ok() };
    if done {
        for change in changes {
            // SAFETY: as above; the word is aligned, and a lookup meanwhile sees the old address or this library's, either
            // of them a function of that meaning.
            unsafe {
                let value = AtomicUsize::from_ptr((&raw const (*change.symbol).value).cast_mut());
                let before = value.load(Ordering::Relaxed);
                if before != change.value {
                    if change.is_default {
                        remember(change.name, object.base.wrapping_add(before));
                    }
                    value.store(change.value, Ordering::Release);
                }
            }
        }
        // SAFETY: as above. If it fails the pages stay writable, which does no harm.
        let _ = unsafe { mprotect(start as *mut u8, length, may) };
    }
    done
}
