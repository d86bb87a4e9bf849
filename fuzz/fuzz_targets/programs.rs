//! Any bytes as a program to be loaded: its tables are read, and it is mapped and relocated, but not run. No crash, and
//! nothing left behind.
#![no_main]

use libfuzzer_sys::fuzz_target;
use underbar_fetch::content::MemoryContent;
use underbar_fetch::image::{self, Image};

#[path = "../../crates/fetch/tests/common/reading.rs"]
mod reading;

fuzz_target!(|bytes: &[u8]| {
    // What asks functions of the program, or opens libraries by its names, would run what the bytes say.
    if reading::read(bytes) != Some(true) {
        return;
    }
    if let Ok(image) = image::load(&MemoryContent(bytes), c"fuzzed", b".") {
        // SAFETY: loaded, never begun, and used by nobody.
        unsafe { Image::unload(image, None) };
    }
});
