//! Any bytes as a list of data sets: no panic, and names of data sets if it is text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use underbar_mainframe::ebcdic::CodePage;
use underbar_mainframe::lists::read;

fuzz_target!(|bytes: &[u8]| {
    if let Some(list) = read(bytes, CodePage::US) {
        for one in &list.data_sets {
            assert!(one.name.chars().count() <= 44);
            let _ = one.source();
        }
    }
});
