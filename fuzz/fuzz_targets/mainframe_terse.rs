//! Any bytes as codes of AMATERSE, by both methods: no more output than allowed.
#![no_main]

use libfuzzer_sys::fuzz_target;
use underbar_mainframe::source::Memory;
use underbar_mainframe::terse;

fuzz_target!(|bytes: &[u8]| {
    for method in [2, 5] {
        let mut file = vec![method, bytes.first().map_or(0, |byte| byte & 1), 0, 80, 4, 0, 0, 0, 0, 0, 0, 0];
        file.extend(bytes);
        let found = terse::read(&Memory::shared(file), 1_000_000).unwrap();
        assert!(found.records.bytes() <= 1_000_001);
    }
});
