//! A word that may be a number: digits, with commas between groups of three, with K, M or G.
//!
//! Invariant: nothing is repaired. A letter O among digits, a sign, or a mark of text recognition is not part of a number.

/// The kind of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    /// A number.
    Number(u64),
    /// A text in the place of a number.
    Mark,
    /// Neither.
    Other,
}

/// Classifies a word.
pub(crate) fn word(text: &[u8]) -> Word {
    if text.is_empty() {
        return Word::Other;
    }
    let (digits, unit) = match text.last() {
        Some(b'K' | b'k') => (&text[..text.len() - 1], 1 << 10),
        Some(b'M' | b'm') => (&text[..text.len() - 1], 1 << 20),
        Some(b'G' | b'g') => (&text[..text.len() - 1], 1 << 30),
        _ => (text, 1),
    };
    if let Some(number) = plain(digits).and_then(|number| number.checked_mul(unit)) {
        return Word::Number(number);
    }
    let counted = |of: fn(&u8) -> bool| text.iter().filter(|byte| of(byte)).count();
    let number_like =
        counted(u8::is_ascii_digit) * 2 >= text.len().max(2) - 1 && counted(u8::is_ascii_digit) > 0;
    let recognition =
        text.starts_with(b"$") || text.starts_with(b"\\") || matches!(text, b"O" | b"o" | b"l" | b"|" | b"?");
    if number_like || recognition || text[0] >= 0x80 || matches!(text, b"-" | b"n" | b"()" | b"[]") {
        Word::Mark
    } else {
        Word::Other
    }
}

fn plain(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 26 {
        return None;
    }
    let groups: Vec<&[u8]> = digits.split(|&byte| byte == b',').collect();
    let well = groups.iter().all(|group| !group.is_empty() && group.iter().all(u8::is_ascii_digit))
        && (groups.len() == 1 || (groups[0].len() <= 3 && groups[1..].iter().all(|group| group.len() == 3)));
    if !well {
        return None;
    }
    groups
        .concat()
        .iter()
        .try_fold(0_u64, |sum, digit| sum.checked_mul(10)?.checked_add(u64::from(digit - b'0')))
}

/// A size in the form of options and job control: digits with K, M, G, T, P.
pub(crate) fn size(text: &str, bare_unit: u64) -> Option<u64> {
    let text = text.trim();
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..split].parse().ok()?;
    let unit = match text[split..].to_ascii_uppercase().as_str() {
        "" => bare_unit,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        "T" => 1 << 40,
        "P" => 1 << 50,
        _ => return None,
    };
    number.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_marks_and_words() {
        let check = |text: &str, expect| assert_eq!(word(text.as_bytes()), expect, "{text}");
        check("32768", Word::Number(32768));
        check("819,229,056", Word::Number(819_229_056));
        check("1M", Word::Number(1 << 20));
        for mark in [
            "1O48576",
            "-5",
            "$\\cap$",
            "\\cap",
            "O",
            "8,19",
            "99999999999999999999999",
            "3276S",
            "1.264.640",
        ] {
            check(mark, Word::Mark);
        }
        for other in ["HEAP", "", "requests:", "BILLING7"] {
            check(other, Word::Other);
        }
        assert_eq!(size("72K", 1), Some(72 << 10));
        assert_eq!(size("0M", 1), Some(0));
        assert_eq!(size("1Q", 1), None);
    }
}
