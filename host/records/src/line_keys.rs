//! Keys of lines in the form of `sort -k`: positions of bytes.
//!
//! ```text
//! 1.5,1.12     bytes 5 to 12 of the line        1.5     byte 5 to the end        r behind it: descending
//! ```
//!
//! This is the part of `sort -k` in which field 1 counts, from the beginning of the line. Fields between blanks, or between the
//! characters of `-t`, are not supported, nor is any comparison but that of bytes. Lines with equal keys keep their order, as with
//! `sort -s`.
//!
//! Invariant: a text gives the order that `LC_ALL=C sort -s -k TEXT` has, or an error.

use crate::field::{Field, Kind, Order};
use crate::format::LONGEST;

/// Reads a key.
///
/// # Errors
/// What is not supported, in words.
pub fn read(text: &str) -> Result<Order, String> {
    let (start, end) = text.split_once(',').map_or((text, None), |(start, end)| (start, Some(end)));
    let (start, is_start_descending) = without_r(start);
    let (end, is_end_descending) = end.map_or((None, false), |end| {
        let (end, is_descending) = without_r(end);
        (Some(end), is_descending)
    });
    let from = position(start).ok_or_else(|| unsupported(text))?.unwrap_or(1);
    // A key that ends with the first field needs blanks to be looked for.
    let to = end.map(|end| position(end).flatten().ok_or_else(|| unsupported(text))).transpose()?;
    let (length, kind) = match to {
        Some(to) if to < from => return Err(format!("the key {text} ends before it begins")),
        Some(to) => (to - from + 1, Kind::Ch),
        None => (1, Kind::Rest),
    };
    if length > Kind::Ch.longest() {
        return Err(format!("the key {text} has more than {} bytes", Kind::Ch.longest()));
    }
    let field = Field { at: from - 1, length, kind };
    Ok(Order { field, is_descending: is_start_descending || is_end_descending })
}

fn without_r(text: &str) -> (&str, bool) {
    text.strip_suffix('r').map_or((text, false), |text| (text, true))
}

/// `1` or `1.5`: the position in the line, if there is one. None: neither.
fn position(text: &str) -> Option<Option<u32>> {
    match text.split_once('.') {
        None => (text == "1").then_some(None),
        Some((field, byte)) => {
            let is_number = !byte.is_empty() && byte.bytes().all(|byte| byte.is_ascii_digit());
            let byte = byte.parse().ok().filter(|byte| is_number && (1..=LONGEST).contains(byte))?;
            (field == "1").then_some(Some(byte))
        }
    }
}

fn unsupported(text: &str) -> String {
    format!(
        "the key {text} is not supported; keys are 1.5,1.12 for bytes 5 to 12, 1.5 for all from byte 5 on, with r for descending"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_bytes_of_the_line() {
        let key = |text: &str| {
            let Order { field, is_descending } = read(text).expect(text);
            (field.at, field.length, field.kind, is_descending)
        };
        assert_eq!(key("1.5,1.12"), (4, 8, Kind::Ch, false));
        assert_eq!(key("1.5r,1.5"), (4, 1, Kind::Ch, true));
        assert_eq!(key("1,1.3r"), (0, 3, Kind::Ch, true));
        assert_eq!(key("1.7"), (6, 1, Kind::Rest, false));
        assert_eq!(key("1r"), (0, 1, Kind::Rest, true));
    }

    #[test]
    fn other_keys_are_refused() {
        for text in [
            "",
            "2",
            "2,2",
            "1,1",
            "1.0",
            "1.+5",
            "1.5n",
            "1.9,1.8",
            "1.1,1.5000",
            "1.5,2.1",
            "1.",
            "r",
            "1.5,",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
