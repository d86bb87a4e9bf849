//! The C functions that start a program, replaced so that it can be followed.
//!
//! Not here: `system` and `popen`, which the C library implements without these symbols.
#![cfg_attr(not(feature = "artifact"), allow(dead_code, reason = "called by their C names only"))]

use core::ffi::{c_char, c_int, c_void};
use underbar_runtime::follow::calls::{self, Arguments};

/// Defines C functions, each as one call of the function of the same name in the runtime.
macro_rules! symbols {
    ($($name:ident($($argument:ident: $type:ty),*);)*) => { $(
        #[doc = concat!("C's `", stringify!($name), "`.")]
        ///
        /// # Safety
        /// As C's.
        #[cfg_attr(feature = "artifact", unsafe(no_mangle))]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> c_int {
            // SAFETY: the caller's promise is passed on.
            unsafe { calls::$name($($argument),*) }
        }
    )* };
}

type Strings = *const *const c_char;

symbols! {
    execve(path: *const c_char, arguments: Strings, environment: Strings);
    underbar_execve(path: *const c_char, arguments: Strings, environment: Strings);
    execv(path: *const c_char, arguments: Strings);
    execvp(file: *const c_char, arguments: Strings);
    execvpe(file: *const c_char, arguments: Strings, environment: Strings);
    fexecve(fd: c_int, arguments: Strings, environment: Strings);
    execveat(directory: c_int, path: *const c_char, arguments: Strings, environment: Strings, flags: c_int);
    posix_spawn(pid: *mut c_int, path: *const c_char, actions: *const c_void, attributes: *const c_void,
        arguments: Strings, environment: Strings);
    posix_spawnp(pid: *mut c_int, file: *const c_char, actions: *const c_void, attributes: *const c_void,
        arguments: Strings, environment: Strings);
}

/// Defines C functions with a variable number of arguments, which Rust cannot declare. The first instructions store the six
/// argument registers next to each other and pass on the addresses of these and of the arguments on the
/// stack.
///
/// ```text
/// stack:  [rdi rsi rdx rcx r8 r9 | 8 bytes | return address | seventh argument ...]
///          ^ registers                                        ^ stack
/// ```
///
/// At entry rsp is 8 above a multiple of 16; 56 less is a multiple, as the call requires.
macro_rules! variadic_symbols {
    ($($name:ident => $to:ident;)*) => { $(
        #[doc = concat!("C's `", stringify!($name), "`.")]
        ///
        /// # Safety
        /// As C's.
        #[cfg_attr(feature = "artifact", unsafe(no_mangle))]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                ".cfi_startproc",
                "sub rsp, 56",
                ".cfi_adjust_cfa_offset 56",
                "mov qword ptr [rsp], rdi",
                "mov qword ptr [rsp + 8], rsi",
                "mov qword ptr [rsp + 16], rdx",
                "mov qword ptr [rsp + 24], rcx",
                "mov qword ptr [rsp + 32], r8",
                "mov qword ptr [rsp + 40], r9",
                "mov rdi, rsp",
                "lea rsi, [rsp + 64]",
                "call {to}",
                "add rsp, 56",
                ".cfi_adjust_cfa_offset -56",
                "ret",
                ".cfi_endproc",
                to = sym $to,
            )
        }

        unsafe extern "C" fn $to(registers: Strings, stack: Strings) -> c_int {
            // SAFETY: the instructions above pass the arguments' addresses; the caller's promise is passed on.
            unsafe { calls::$name(Arguments { registers, stack }) }
        }
    )* };
}

variadic_symbols! {
    execl => execl_from;
    execlp => execlp_from;
    execle => execle_from;
}
