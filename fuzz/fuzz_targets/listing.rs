//! Any bytes as a listing: items, or none, but no crash; and in any pieces the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use underbar_listing::{Reader, read, shown};

fuzz_target!(|bytes: &[u8]| {
    let whole: String = read(bytes).iter().map(shown).collect();
    let mut pieces = String::new();
    let mut reader = Reader::new();
    for piece in bytes.chunks(bytes.first().map_or(1, |byte| usize::from(*byte) + 1)) {
        reader.feed(piece, &mut |item| pieces += &shown(&item));
    }
    reader.finish(&mut |item| pieces += &shown(&item));
    assert_eq!(whole, pieces);
});
