//! Any bytes as a program to be loaded: its tables are read, and it is mapped and relocated, but not run. No crash, and
//! nothing left mapped.
#![no_main]

use libfuzzer_sys::fuzz_target;
use underbar_fetch::content::MemoryContent;
use underbar_fetch::image::{self, Image, Surroundings};
use underbar_fetch::replaced;

#[path = "../../crates/fetch/tests/common/reading.rs"]
mod reading;

fuzz_target!(|bytes: &[u8]| {
    // Calling functions of the program, or opening libraries by its names, would run arbitrary code.
    if reading::read(bytes) != Some(true) {
        return;
    }
    let around = Surroundings { replaced: &replaced::table(), threads_ended: |_| {} };
    if let Ok(image) = image::load(&MemoryContent(bytes), c"fuzzed", b".", &around) {
        // SAFETY: the program is loaded, but never started, and nothing uses it.
        unsafe { Image::unload(image, None) };
    }
});
