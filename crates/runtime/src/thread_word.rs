//! A word of this library's own in each thread.
//!
//! Rust's own thread-local storage in a shared library costs a call to `__tls_get_addr` for each access, and may allocate.
//! Such a word is defined in assembly and read through the global offset table, which the loader fills with its distance
//! from the thread pointer (the initial-exec model): two instructions, no call. Two words always fit into what the loader
//! keeps spare for libraries that come late.
//!
//! Invariant: a thread's word holds the value that the thread last wrote, and before that its first value, which the loader
//! writes.
//! Not here: the individual words (`heap::slot`, `lock::mutex`).

/// Defines two functions, which read and write a word with this label and first value; that may be the address of a static.
macro_rules! thread_word {
    ($get:ident, $set:ident, $label:literal, $first:literal $(, $name:ident = $static:path)?) => {
        core::arch::global_asm!(
            concat!(".section .tdata.", $label, ",\"awT\",@progbits"),
            ".p2align 3",
            concat!(".hidden ", $label),
            concat!(".globl ", $label),
            concat!(".type ", $label, ",@object"),
            concat!(".size ", $label, ",8"),
            concat!($label, ":"),
            concat!(".quad ", $first),
            ".text",
            $($name = sym $static,)?
        );

        #[inline(always)]
        fn $get() -> usize {
            let word: usize;
            // SAFETY: reads the word. Not `pure`: a slow path may have changed it between two reads.
            unsafe {
                core::arch::asm!(
                    concat!("mov {offset}, qword ptr [rip + ", $label, "@GOTTPOFF]"),
                    "mov {word}, qword ptr fs:[{offset}]",
                    offset = out(reg) _,
                    word = lateout(reg) word,
                    options(readonly, nostack, preserves_flags)
                );
            }
            word
        }

        #[inline]
        fn $set(word: usize) {
            // SAFETY: writes the word.
            unsafe {
                core::arch::asm!(
                    concat!("mov {offset}, qword ptr [rip + ", $label, "@GOTTPOFF]"),
                    "mov qword ptr fs:[{offset}], {word}",
                    offset = out(reg) _,
                    word = in(reg) word,
                    options(nostack, preserves_flags)
                );
            }
        }
    };
}
pub(crate) use thread_word;
