//! `clone` of C, where it makes a process with a copy of this one's memory: like `fork`, but the C library calls no fork
//! handlers.
//!
//! ```text
//! locks taken ─> clone ─┬─> parent: locks given back
//!                       └─> child, on the stack that it was given: locks given back, accounts of its own ─> its function
//! ```
//!
//! Otherwise the child would have copies of locks that other threads held, and no thread to give them back.
//! Invariant: a call that shares the memory or sets other thread storage, or that is not of the C library, is passed on
//! untouched.
//! Not here: `clone` by `syscall`, which is not seen; `fork`, for which the C library calls handlers ([`crate::fork`]).

use core::ffi::{c_int, c_void};

use crate::errno::set_errno;
use crate::next::Next;
use crate::resources::{self, Before};

/// The function that the child runs.
pub type Function = unsafe extern "C" fn(*mut c_void) -> c_int;

type Clone = unsafe extern "C" fn(
    Option<Function>,
    *mut c_void,
    c_int,
    *mut c_void,
    *mut c_int,
    *mut c_void,
    *mut c_int,
) -> isize;

static CLONE: Next = Next::new(c"clone");
/// The C library has it under two names. The first name may be another library's function, with another meaning.
static THE_C_LIBRARYS: Next = Next::new(c"__clone");

/// Memory is shared: a thread, or a child as by vfork.
const CLONE_VM: c_int = 0x100;
/// The caller waits for the child: it must not hold locks meanwhile.
const CLONE_VFORK: c_int = 0x4000;
/// The child has thread storage that this library does not know.
const CLONE_SETTLS: c_int = 0x8_0000;

/// The data that the child finds in its copy of the parent's stack.
struct Child {
    function: Function,
    argument: *mut c_void,
    before: Before,
}

/// Looks both up: `clone` may be called in a signal handler.
pub(crate) fn at_start() {
    let _ = (CLONE.get(), THE_C_LIBRARYS.get());
}

/// `clone`, whose last three arguments are present if the flags say so. Returns the whole register, as a function of that
/// name that is not the C library's may return more than an int.
///
/// # Safety
/// As C's.
pub unsafe fn clone(
    (function, argument): (Option<Function>, *mut c_void),
    stack: *mut c_void,
    flags: c_int,
    (parent_id, storage, child_id): (*mut c_int, *mut c_void, *mut c_int),
) -> isize {
    const ENOSYS: i32 = 38;
    let Some(address) = CLONE.get() else {
        set_errno(ENOSYS);
        return -1;
    };
    // SAFETY: the next library's `clone` takes these arguments, the last three in the positions of a call with as many.
    let clone = unsafe { core::mem::transmute::<usize, Clone>(address) };
    let is_like_fork = flags & (CLONE_VM | CLONE_VFORK | CLONE_SETTLS) == 0;
    let (Some(begun), true) = (function, is_like_fork && THE_C_LIBRARYS.get() == Some(address)) else {
        // SAFETY: the caller's promise.
        return unsafe { clone(function, stack, flags, argument, parent_id, storage, child_id) };
    };
    let before = resources::before_fork();
    let mut child = Child { function: begun, argument, before };
    // SAFETY: the caller's promise; the child has a copy of this frame, with the data passed to it.
    let made =
        unsafe { clone(Some(begins), stack, flags, (&raw mut child).cast(), parent_id, storage, child_id) };
    // SAFETY: called above.
    unsafe { resources::after_fork(before) };
    if made < 0 {
        resources::fork_failed(before);
    }
    made
}

/// The first function of the child.
unsafe extern "C" fn begins(child: *mut c_void) -> c_int {
    // SAFETY: `clone` was given a child; its function is the caller's, with the caller's argument.
    let status = unsafe {
        let child = &*child.cast::<Child>();
        resources::after_fork_in_child(child.before);
        (child.function)(child.argument)
    };
    // The C library ends the process without calling its own `_exit`.
    resources::end();
    status
}
