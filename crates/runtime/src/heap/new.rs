//! operator new of C++: storage as from malloc, and the reaction that the standard demands if there is none.
//!
//! ```text
//! _Znwm ---> a ready cell ---> back
//!   | none
//!   v
//! slow (this file) ---> got some ---> back
//!   | nothing
//!   v
//! jump to the C++ library's own operator new: it tries again (and fails), calls the new-handler as long
//! as there is one, and throws
//! ```
//!
//! The exception must not pass through a frame of Rust, which would end the process there. So the slow paths
//! are written in assembly and leave by a jump, with the stack as it was at the program's call.
//!
//! Invariant: a C++ library's definition is called with the same arguments that the program passed.
//! Not here: the mangled names (`preload`), and operator delete, which is free.

use core::arch::naked_asm;
use core::ffi::CStr;

use super::{at_home, unusual};
use crate::next::Next;

/// The forms of operator new, in the order of [`NEXT`].
const NAMES: [&CStr; 8] = [
    c"_Znwm",
    c"_Znam",
    c"_ZnwmRKSt9nothrow_t",
    c"_ZnamRKSt9nothrow_t",
    c"_ZnwmSt11align_val_t",
    c"_ZnamSt11align_val_t",
    c"_ZnwmSt11align_val_tRKSt9nothrow_t",
    c"_ZnamSt11align_val_tRKSt9nothrow_t",
];

/// The C++ library's own definitions, looked up when first needed.
static NEXT: [Next; NAMES.len()] = {
    let mut next = [const { Next::new(c"") }; NAMES.len()];
    let mut at = 0;
    while at < NAMES.len() {
        next[at] = Next::new(NAMES[at]);
        at += 1;
    }
    next
};

/// Jump targets when there is no storage for a form.
extern "C" fn next(form: usize) -> usize {
    NEXT.get(form).and_then(Next::get).unwrap_or_else(|| without_loader(form))
}

/// In a program that is linked statically no function is found by its name. The forms that throw do so at once, without asking a handler
/// for more storage.
#[cfg(feature = "linked")]
fn without_loader(form: usize) -> usize {
    crate::c_library::weak! { address_of_throw = "_ZSt17__throw_bad_allocv"; }
    extern "C" fn nothing() -> usize {
        0
    }
    let is_nothrow = NAMES.get(form).is_some_and(|name| name.to_bytes().ends_with(b"nothrow_t"));
    match address_of_throw() {
        _ if is_nothrow => nothing as *const () as usize,
        0 => without_library as *const () as usize,
        throw => throw,
    }
}

#[cfg(not(feature = "linked"))]
fn without_loader(_form: usize) -> usize {
    without_library as *const () as usize
}

/// operator new was called, yet no library defines it: the program has a C++ run-time of its own inside. We cannot throw for it,
/// and it must not go on with a null pointer that it does not expect.
extern "C" fn without_library() -> ! {
    unsafe extern "C" {
        safe fn abort() -> !;
    }
    abort()
}

extern "C" fn get(size: usize) -> *mut u8 {
    // SAFETY: as malloc; this function is called by a slow path below.
    unsafe { super::malloc_for_new(size) }
}

/// Passes on the return address of operator new, which is behind the three arguments that the slow path keeps.
#[unsafe(naked)]
unsafe extern "C" fn get_aligned(_size: usize, _align: usize) -> *mut u8 {
    naked_asm!("mov rdx, qword ptr [rsp + 32]", "jmp {}", sym get_aligned_by)
}

extern "C" fn get_aligned_by(size: usize, align: usize, caller: usize) -> *mut u8 {
    if !align.is_power_of_two() {
        // The C++ library handles an invalid alignment.
        return core::ptr::null_mut();
    }
    // SAFETY: the alignment was checked.
    unsafe { unusual::aligned_from(align, size, caller) }
}

extern "C" fn get_at_home(size: usize) -> *mut u8 {
    // SAFETY: as malloc; this function is called by a slow path below.
    unsafe { at_home::malloc_for_new(size) }
}

/// As [`get_aligned`].
#[unsafe(naked)]
unsafe extern "C" fn get_aligned_at_home(_size: usize, _align: usize) -> *mut u8 {
    naked_asm!("mov rdx, qword ptr [rsp + 32]", "jmp {}", sym get_aligned_at_home_by)
}

extern "C" fn get_aligned_at_home_by(size: usize, align: usize, caller: usize) -> *mut u8 {
    if !align.is_power_of_two() {
        return core::ptr::null_mut();
    }
    // SAFETY: the alignment was checked.
    unsafe { at_home::aligned_for_new(align, size, caller) }
}

/// Defines a slow path: `get(size, second)`, and the jump if that gives nothing.
macro_rules! slow {
    ($($name:ident, $form:literal, $get:ident;)*) => { $(
        #[doc = concat!("Serves form ", $form, " of operator new, when there is no ready cell for it.")]
        ///
        /// # Safety
        /// Called like operator new.
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name(size: usize, second: usize, third: usize) -> *mut u8 {
            naked_asm!(
                ".cfi_startproc",
                crate::keep_three_arguments!(),
                "call {get}",
                "test rax, rax",
                "je 2f",
                "add rsp, 24",
                ".cfi_adjust_cfa_offset -24",
                "ret",
                "2:",
                ".cfi_adjust_cfa_offset 24",
                concat!("mov edi, ", $form),
                "call {next}",
                crate::restore_three_arguments!(),
                "jmp rax",
                ".cfi_endproc",
                get = sym $get,
                next = sym next,
            )
        }
    )* };
}

slow! {
    single, 0, get;
    array, 1, get;
    single_nothrow, 2, get;
    array_nothrow, 3, get;
    single_aligned, 4, get_aligned;
    array_aligned, 5, get_aligned;
    single_aligned_nothrow, 6, get_aligned;
    array_aligned_nothrow, 7, get_aligned;
    single_at_home, 0, get_at_home;
    array_at_home, 1, get_at_home;
    single_nothrow_at_home, 2, get_at_home;
    array_nothrow_at_home, 3, get_at_home;
    single_aligned_at_home, 4, get_aligned_at_home;
    array_aligned_at_home, 5, get_aligned_at_home;
    single_aligned_nothrow_at_home, 6, get_aligned_at_home;
    array_aligned_nothrow_at_home, 7, get_aligned_at_home;
}
