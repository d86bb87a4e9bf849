//! Any bytes as an option text: no panic, spans within the text, and a canonical text that parses to the same options.
#![no_main]

use libfuzzer_sys::fuzz_target;
use underbar_options::{ProgramName, Settings, WhereSet, check, take_off_numbers};

fuzz_target!(|text: &[u8]| {
    check(text, &mut |diagnostic| {
        assert!(diagnostic.span.start <= diagnostic.span.end && diagnostic.span.end <= text.len());
        let mut shown = diagnostic.to_string();
        diagnostic.write_excerpt(&mut shown).unwrap();
    });
    let mut data_set = text.to_vec();
    if take_off_numbers(&mut data_set) {
        check(&data_set, &mut |_| ());
    }
    // A canonical text is a string, so bytes that are not UTF-8 cannot survive in it.
    if let Ok(text) = std::str::from_utf8(text) {
        let settings = apply(text);
        let mut canonical = String::new();
        settings.canonical(&mut canonical).unwrap();
        assert!(apply(&canonical).same_values(&settings), "{text:?} became {canonical:?}");
    }
});

fn apply(text: &str) -> Settings {
    let mut settings = Settings::default();
    settings.apply(text.as_bytes(), &ProgramName::default(), WhereSet::CommandLine, &mut |_| ());
    settings
}
