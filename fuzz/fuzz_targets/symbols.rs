//! Any bytes as a program file: no panic, and no name outside the requested range.
#![no_main]

use libfuzzer_sys::fuzz_target;
use underbar_symbols::Image;

fuzz_target!(|bytes: &[u8]| {
    let Some(image) = Image::from_bytes(bytes.to_vec()) else { return };
    for address in [0, 0x1000, 0x1139, 0x40_1000, bytes.len() as u64, u64::MAX] {
        let _ = (image.data(address), image.section(address), image.address(address), image.line(address));
        if image.code(address).is_some() {
            let range = image.function(address).unwrap();
            assert!(range.contains(&address));
            let _ = image.bytes(range);
        }
    }
});
