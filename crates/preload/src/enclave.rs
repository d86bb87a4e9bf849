//! The table for the program loader: functions that get storage for a program that is LINKed.
//!
//! They have the meaning of the C and C++ functions of their names, in the heap of the calling thread's enclave. Each passes its
//! return address on: only the enclave's program gets storage there. Here are all functions of the heap that return storage, and those
//! of the C library that do nothing but fill it. What other functions of the C library return (`getline`, `asprintf`) is in the
//! process's heap: they also get storage that the C library keeps. One more function tells the program its stack.
//! Not here: the heap of an enclave (`runtime::heap::enclave`).
#![cfg_attr(not(feature = "artifact"), allow(dead_code, reason = "called by the loader only"))]

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr::null_mut;

use underbar_enclave::{Enclave, Enclaves, Function, Sizes, VERSION};
use underbar_runtime::cpu_limit;
use underbar_runtime::errno;
use underbar_runtime::heap::{self, enclave, new};
use underbar_runtime::linked_programs;
use underbar_runtime::stack::{self, Attributes};

const EINVAL: c_int = 22;
const ENOMEM: c_int = 12;

unsafe extern "C" fn begin(name: *const u8, length: usize, start: usize, end: usize) -> Enclave {
    // SAFETY: the loader's promise.
    enclave::begin(unsafe { core::slice::from_raw_parts(name, length) }, start, end)
}

unsafe extern "C" fn enter(enclave: Enclave, outer: *mut usize) -> bool {
    let Some(entered) = enclave::enter(enclave) else { return false };
    // SAFETY: the loader's variable.
    unsafe { *outer = entered };
    true
}

unsafe extern "C" fn leave(outer: usize) {
    enclave::leave(outer);
}

unsafe extern "C" fn inside(enclave: Enclave) -> usize {
    enclave::threads_inside(enclave)
}

unsafe extern "C" fn end(enclave: Enclave) -> bool {
    enclave::end(enclave)
}

unsafe extern "C" fn stack_sizes(sizes: *mut Sizes) {
    // SAFETY: the caller's variable.
    unsafe { *sizes = stack::sizes() };
}

unsafe extern "C" fn stack_begins(low: *mut usize) -> usize {
    let (begin, end) = stack::linked::begins();
    // SAFETY: the caller's word.
    unsafe { low.write(begin) };
    end
}

unsafe extern "C" fn stack_ends(top: usize) {
    stack::linked::ends(top);
}

unsafe extern "C" fn getattr_np(thread: usize, attributes: *mut Attributes) -> c_int {
    // SAFETY: the caller's contract is that of the C library.
    unsafe { stack::attributes_of(thread, attributes) }
}

unsafe extern "C" fn stack_segments(allocated: u64, freed: u64) {
    stack::count_segments(allocated, freed);
}

unsafe extern "C" fn program_starts() -> usize {
    cpu_limit::starts().map_or(0, |start| core::ptr::from_ref(start) as usize)
}

unsafe extern "C" fn program_ends(start: usize) {
    // SAFETY: a word of `cpu_limit::starts`, in a page that stays mapped.
    cpu_limit::ends(unsafe { &*(start as *const core::sync::atomic::AtomicU64) });
}

unsafe extern "C" fn program_is_at(name: *const u8, length: usize, start: usize, end: usize) {
    // SAFETY: the loader's name.
    linked_programs::is_at(unsafe { core::slice::from_raw_parts(name, length) }, start, end);
}

unsafe extern "C" fn call_begins(entry: usize, is_link: bool) -> u64 {
    linked_programs::begins(entry, is_link)
}

unsafe extern "C" fn call_ends(entry: usize, is_link: bool, began: u64) {
    linked_programs::ends(entry, is_link, began);
}

/// Functions that pass their return address to another one, in the register of the next argument.
macro_rules! with_caller {
    ($($name:ident $register:literal => $function:path;)*) => { $(
        #[unsafe(naked)]
        unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                ".cfi_startproc",
                concat!("mov ", $register, ", qword ptr [rsp]"),
                "jmp {function}",
                ".cfi_endproc",
                function = sym $function,
            )
        }
    )* };
}

with_caller! {
    malloc "rsi" => enclave::malloc;
    calloc "rdx" => enclave::calloc;
    realloc "rdx" => enclave::realloc;
    reallocarray "rcx" => reallocarray_by;
    memalign "rdx" => memalign_by;
    posix_memalign "rcx" => posix_memalign_by;
    valloc "rsi" => valloc_by;
    pvalloc "rsi" => pvalloc_by;
    strdup "rsi" => strdup_by;
    strndup "rdx" => strndup_by;
    wcsdup "rsi" => wcsdup_by;
    new_single "rdx" => new_single_by;
    new_array "rdx" => new_array_by;
    new_single_nothrow "rdx" => new_single_nothrow_by;
    new_array_nothrow "rdx" => new_array_nothrow_by;
    new_single_aligned "rcx" => new_single_aligned_by;
    new_array_aligned "rcx" => new_array_aligned_by;
    new_single_aligned_nothrow "rcx" => new_single_aligned_nothrow_by;
    new_array_aligned_nothrow "rcx" => new_array_aligned_nothrow_by;
}

unsafe extern "C" fn reallocarray_by(address: *mut u8, count: usize, size: usize, caller: usize) -> *mut u8 {
    let Some(bytes) = count.checked_mul(size) else { return heap::refuse() };
    // SAFETY: the caller's contract is that of C.
    unsafe { enclave::realloc(address, bytes, caller) }
}

unsafe extern "C" fn memalign_by(alignment: usize, size: usize, caller: usize) -> *mut u8 {
    let Some(alignment) = alignment.checked_next_power_of_two() else {
        errno::set_errno(EINVAL);
        return null_mut();
    };
    // SAFETY: the caller's contract is that of C.
    unsafe { enclave::aligned(alignment, size, caller) }
}

unsafe extern "C" fn posix_memalign_by(
    result: *mut *mut u8,
    alignment: usize,
    size: usize,
    caller: usize,
) -> c_int {
    if !alignment.is_power_of_two() || !alignment.is_multiple_of(size_of::<*mut u8>()) {
        return EINVAL;
    }
    // SAFETY: the caller's contract is that of C.
    unsafe {
        let address = enclave::aligned(alignment, size, caller);
        if address.is_null() {
            return ENOMEM;
        }
        *result = address;
    }
    0
}

unsafe extern "C" fn valloc_by(size: usize, caller: usize) -> *mut u8 {
    // SAFETY: the caller's contract is that of C.
    unsafe { enclave::aligned(4096, size, caller) }
}

unsafe extern "C" fn pvalloc_by(size: usize, caller: usize) -> *mut u8 {
    let Some(size) = size.max(1).checked_next_multiple_of(4096) else { return heap::refuse() };
    // SAFETY: the caller's contract is that of C.
    unsafe { enclave::aligned(4096, size, caller) }
}

unsafe extern "C" fn strdup_by(text: *const c_char, caller: usize) -> *mut u8 {
    // SAFETY: the caller's contract is that of C.
    unsafe { enclave::copy(text.cast(), CStr::from_ptr(text).count_bytes(), 1, caller) }
}

unsafe extern "C" fn strndup_by(text: *const c_char, most: usize, caller: usize) -> *mut u8 {
    let mut length = 0;
    // SAFETY: the caller's contract is that of C.
    unsafe {
        while length < most && *text.add(length) != 0 {
            length += 1;
        }
        enclave::copy(text.cast(), length, 1, caller)
    }
}

unsafe extern "C" fn wcsdup_by(text: *const i32, caller: usize) -> *mut u8 {
    let mut length = 0;
    // SAFETY: the caller's contract is that of C.
    unsafe {
        while *text.add(length) != 0 {
            length += 1;
        }
        enclave::copy(text.cast(), 4 * length, 4, caller)
    }
}

/// operator new: where an enclave has no storage, and outside enclaves, as in `crate::new`.
macro_rules! news {
    ($($name:ident else $slow:ident;)*) => { $(
        unsafe extern "C" fn $name(size: usize, second: usize, caller: usize) -> *mut u8 {
            // SAFETY: the caller's contract is that of C++. The slow path may leave by a jump into the C++
            // library; it is the last thing done here.
            unsafe {
                let cell = if enclave::serves(caller) {
                    enclave::malloc(size, caller)
                } else {
                    heap::ready(size)
                };
                if cell.is_null() { new::$slow(size, second, 0) } else { cell }
            }
        }
    )* };
}

macro_rules! aligned_news {
    ($($name:ident else $slow:ident;)*) => { $(
        unsafe extern "C" fn $name(size: usize, alignment: usize, nothrow: usize, caller: usize) -> *mut u8 {
            // SAFETY: as above.
            unsafe {
                if enclave::serves(caller) && alignment.is_power_of_two() {
                    let block = enclave::aligned(alignment, size, caller);
                    if !block.is_null() {
                        return block;
                    }
                }
                new::$slow(size, alignment, nothrow)
            }
        }
    )* };
}

news! {
    new_single_by else single;
    new_array_by else array;
    new_single_nothrow_by else single_nothrow;
    new_array_nothrow_by else array_nothrow;
}

aligned_news! {
    new_single_aligned_by else single_aligned;
    new_array_aligned_by else array_aligned;
    new_single_aligned_nothrow_by else single_aligned_nothrow;
    new_array_aligned_nothrow_by else array_aligned_nothrow;
}

macro_rules! functions {
    ($($name:literal => $function:path;)*) => {
        [$(Function::new($name, $function as *const c_void),)*]
    };
}

static FUNCTIONS: [Function; 23] = functions! {
    "malloc" => malloc;
    "calloc" => calloc;
    "realloc" => realloc;
    "reallocarray" => reallocarray;
    "memalign" => memalign;
    "aligned_alloc" => memalign;
    "posix_memalign" => posix_memalign;
    "valloc" => valloc;
    "pvalloc" => pvalloc;
    "strdup" => strdup;
    "__strdup" => strdup;
    "strndup" => strndup;
    "__strndup" => strndup;
    "wcsdup" => wcsdup;
    "pthread_getattr_np" => getattr_np;
    "_Znwm" => new_single;
    "_Znam" => new_array;
    "_ZnwmRKSt9nothrow_t" => new_single_nothrow;
    "_ZnamRKSt9nothrow_t" => new_array_nothrow;
    "_ZnwmSt11align_val_t" => new_single_aligned;
    "_ZnamSt11align_val_t" => new_array_aligned;
    "_ZnwmSt11align_val_tRKSt9nothrow_t" => new_single_aligned_nothrow;
    "_ZnamSt11align_val_tRKSt9nothrow_t" => new_array_aligned_nothrow;
};

/// The loader in a program finds it.
#[allow(non_upper_case_globals, reason = "a name of C")]
#[cfg_attr(feature = "artifact", unsafe(no_mangle))]
#[used]
pub static underbar_enclaves: Enclaves = Enclaves {
    version: VERSION,
    count: FUNCTIONS.len() as u32,
    functions: FUNCTIONS.as_ptr(),
    begin,
    enter,
    leave,
    inside,
    end,
    stack_sizes,
    stack_begins,
    stack_ends,
    stack_segments,
    program_starts,
    program_ends,
    program_is_at,
    call_begins,
    call_ends,
};
