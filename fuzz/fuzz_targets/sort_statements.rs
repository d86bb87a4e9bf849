//! Any text as statements: no panic, and what was read can be applied to any record.
#![no_main]

use libfuzzer_sys::fuzz_target;
use underbar_records::key::Keys;
use underbar_records::{Format, line_keys, statement};

const FORMATS: [Format; 4] = [Format::Fixed(80), Format::Variable(84), Format::Undefined(80), Format::Lines];

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let _ = line_keys::read(text);
    for format in FORMATS {
        let all = match statement::read(text, format) {
            Ok(all) => all,
            Err(wrong) => {
                assert!((1..=text.lines().count().max(1)).contains(&wrong.line), "{wrong}");
                continue;
            }
        };
        let keys = Keys::new(&all.order, all.short);
        let mut room = Vec::new();
        // The text itself, whole and cut, is as good a record as any.
        for record in [&bytes[..bytes.len().min(80)], &bytes[bytes.len() / 2..], b""] {
            let key = keys.key(record, &mut room).map(<[u8]>::to_vec);
            assert_eq!(keys.prefix(record, &mut room).is_ok(), key.is_ok());
            let _ = all.condition.as_ref().map(|condition| condition.holds(record, all.short));
        }
    }
});
