//! The first three arguments of a C call, kept over a call of this library: for functions that continue by a jump to the
//! next library's, which then finds everything as its caller left it.
//!
//! Invariant: the stack is aligned for a call after `keep_three_arguments`, and restored after `restore_three_arguments`.
//! Not here: the function that is called between the two (`heap::new`, and `open` of the preload library).

/// Instructions that put them on the stack, and tell the unwinder so.
#[macro_export]
macro_rules! keep_three_arguments {
    () => {
        "push rdi
        .cfi_adjust_cfa_offset 8
        push rsi
        .cfi_adjust_cfa_offset 8
        push rdx
        .cfi_adjust_cfa_offset 8"
    };
}

/// Instructions that take them from there.
#[macro_export]
macro_rules! restore_three_arguments {
    () => {
        "pop rdx
        .cfi_adjust_cfa_offset -8
        pop rsi
        .cfi_adjust_cfa_offset -8
        pop rdi
        .cfi_adjust_cfa_offset -8"
    };
}
