//! A shared library whose allocator is `Alloc`, for programs that load it: a test loads it into a C program (`tests/alloc.rs`).

use std::ffi::c_char;

#[global_allocator]
static ALLOC: underbar::Alloc = underbar::Alloc;

/// The sum of the numbers below `count`, by way of a list of texts.
#[unsafe(no_mangle)]
pub extern "C" fn sum_of_texts(count: u32) -> u64 {
    let texts: Vec<String> = (0..count).map(|number| number.to_string()).collect();
    texts.iter().map(|text| text.parse::<u64>().unwrap_or_default()).sum()
}

/// A block for `free` of C, as this library's storage is that of the process.
#[unsafe(no_mangle)]
pub extern "C" fn text_for_c() -> *mut c_char {
    let text = Box::leak(Box::new(*b"from Rust\0"));
    text.as_mut_ptr().cast()
}
