//! Any bytes as fields: keys have the order of the numbers, and a number that was written is read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use underbar_records::field::{Field, Kind, Short};

fuzz_target!(|bytes: &[u8]| {
    let Some((&first, rest)) = bytes.split_first() else { return };
    let kind = [Kind::Bi, Kind::Fi, Kind::Pd, Kind::Zd][usize::from(first & 3)];
    let length = (rest.len() / 2).min(16);
    if length == 0 {
        return;
    }
    let field = Field { at: 0, length: length as u32, kind };
    let of = |record: &[u8]| {
        let mut key = Vec::new();
        let keyed = field.append_key(record, Short::Refused, &mut key);
        let number = field.number(record, Short::Refused);
        assert_eq!(keyed.is_ok(), number.is_ok());
        number.ok().flatten().map(|number| (key, number))
    };
    let (one, two) = rest.split_at(length);
    if let (Some((key, number)), Some((other_key, other))) = (of(one), of(&two[..length])) {
        assert_eq!(key.cmp(&other_key), number.cmp(&other));
        let mut again = one.to_vec();
        if field.set_number(&mut again, other) {
            assert_eq!(field.number(&again, Short::Refused), Ok(Some(other)));
        }
    }
});
