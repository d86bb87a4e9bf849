//! The encoding of a listing: ASCII, EBCDIC or two bytes for each character; its line ends, or records.
//!
//! Invariant: only the first 4K decide, so that memory does not grow; if they do not decide, the listing is lines of ASCII.

use crate::html::is_html;

/// Lengths of records of listings, with and without control character.
const RECORDS: [usize; 7] = [121, 133, 80, 132, 120, 137, 125];

/// How bytes become lines.
#[derive(Clone, Copy)]
pub(crate) struct Form {
    /// Code page 1047 or 037, with its own line ends.
    pub ebcdic: bool,
    /// Two bytes for each character; true if the low byte comes first.
    pub wide: Option<bool>,
    /// Records of this length, without line ends.
    pub record: Option<usize>,
    /// A page of HTML.
    pub html: bool,
}

impl Form {
    /// Lines of ASCII.
    pub(crate) const PLAIN: Form = Form { ebcdic: false, wide: None, record: None, html: false };

    /// Whether this byte ends a line. CR is made LF before that (`lines`).
    pub(crate) fn is_end(self, byte: u8) -> bool {
        if self.ebcdic { matches!(byte, 0x15 | 0x25 | 0x0c) } else { byte == b'\n' }
    }
}

/// Looks at the first bytes.
pub(crate) fn form(head: &[u8]) -> Form {
    match head {
        [0xff, 0xfe, ..] => return Form { wide: Some(true), ..Form::PLAIN },
        [0xfe, 0xff, ..] => return Form { wide: Some(false), ..Form::PLAIN },
        _ => {}
    }
    if let Some(low_first) = wide(head) {
        return Form { wide: Some(low_first), ..Form::PLAIN };
    }
    let count = |of: fn(&u8) -> bool| head.iter().filter(|byte| of(byte)).count();
    let blanks = count(|byte| *byte == 0x40);
    let letters = count(
        |byte| matches!(byte, 0x81..=0x89 | 0x91..=0x99 | 0xa2..=0xa9 | 0xc1..=0xc9 | 0xd1..=0xd9 | 0xe2..=0xe9 | 0xf0..=0xf9),
    );
    let ebcdic = blanks + letters > head.len() / 2 && blanks > count(|byte| *byte == 0x20);
    let has_ends = if ebcdic {
        head.iter().any(|byte| matches!(byte, 0x15 | 0x25))
    } else {
        head.iter().any(|byte| matches!(byte, b'\n' | b'\r'))
    };
    let blank = if ebcdic { 0x40 } else { b' ' };
    // Records end in blanks. With a wrong length the cuts seldom fall on blanks.
    let record = (!has_ends && head.len() > 160)
        .then(|| {
            RECORDS
                .into_iter()
                .map(|length| {
                    let all = head.chunks_exact(length);
                    let share = all.clone().filter(|record| record.ends_with(&[blank, blank])).count() * 1000;
                    // With a wrong length the text moves on from record to record.
                    let mut indents: Vec<usize> = all
                        .clone()
                        .map(|record| record.iter().take_while(|byte| **byte == blank).count())
                        .collect();
                    indents.sort_unstable();
                    indents.dedup();
                    (share / all.len().max(1), indents.len(), length)
                })
                .filter(|(share, _, _)| *share > 600)
                .min_by_key(|(share, indents, _)| (*indents, 1000 - share))
                .map(|(_, _, length)| length)
        })
        .flatten();
    if !ebcdic && is_html(head) {
        return Form { html: true, ..Form::PLAIN };
    }
    Form { ebcdic, wide: None, record, html: false }
}

/// Two bytes for each character, without a byte order mark: nearly every other byte is 0. True if the low byte comes first.
fn wide(head: &[u8]) -> Option<bool> {
    let pairs = head.chunks_exact(2);
    let (all, mut high_first, mut low_first) = (pairs.len(), 0, 0);
    for pair in pairs {
        match pair {
            [0, other] if *other != 0 => high_first += 1,
            [other, 0] if *other != 0 => low_first += 1,
            _ => {}
        }
    }
    let most = |some: usize, other: usize| all >= 8 && some * 10 >= all * 8 && other * 20 <= all;
    match (most(low_first, high_first), most(high_first, low_first)) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    }
}

/// The character of code page 1047 or 037, as far as listings have it.
pub(crate) fn ascii(byte: u8) -> u8 {
    // For 1047 and for 037, whose brackets and ^ have different codes: listings have none of the letters with those codes.
    const PUNCTUATION: [(u8, u8); 38] = [
        (0x40, b' '),
        (0x05, b' '),
        (0x4b, b'.'),
        (0x4c, b'<'),
        (0x4d, b'('),
        (0x4e, b'+'),
        (0x4f, b'|'),
        (0x50, b'&'),
        (0x5a, b'!'),
        (0x5b, b'$'),
        (0x5c, b'*'),
        (0x5d, b')'),
        (0x5e, b';'),
        (0x5f, b'^'),
        (0x60, b'-'),
        (0x61, b'/'),
        (0x6b, b','),
        (0x6c, b'%'),
        (0x6d, b'_'),
        (0x6e, b'>'),
        (0x6f, b'?'),
        (0x79, b'`'),
        (0x7a, b':'),
        (0x7b, b'#'),
        (0x7c, b'@'),
        (0x7d, b'\''),
        (0x7e, b'='),
        (0x7f, b'"'),
        (0xa1, b'~'),
        (0xad, b'['),
        (0xb0, b'^'),
        (0xba, b'['),
        (0xbb, b']'),
        (0xbd, b']'),
        (0xc0, b'{'),
        (0xd0, b'}'),
        (0xe0, b'\\'),
        (0x0d, b' '),
    ];
    match byte {
        0x81..=0x89 => byte - 0x81 + b'a',
        0x91..=0x99 => byte - 0x91 + b'j',
        0xa2..=0xa9 => byte - 0xa2 + b's',
        0xc1..=0xc9 => byte - 0xc1 + b'A',
        0xd1..=0xd9 => byte - 0xd1 + b'J',
        0xe2..=0xe9 => byte - 0xe2 + b'S',
        0xf0..=0xf9 => byte - 0xf0 + b'0',
        _ => PUNCTUATION.iter().find(|(code, _)| *code == byte).map_or(0x1a, |(_, character)| *character),
    }
}

/// For tests: the text in EBCDIC.
#[cfg(test)]
pub(crate) fn to_ebcdic(text: &str) -> Vec<u8> {
    text.bytes()
        .map(|c| {
            if c == b'\n' {
                0x15
            } else {
                (0..=255).find(|&byte| ascii(byte) == c && byte != 5 && byte != 0x0d).unwrap_or(0x6f)
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_code_pages_are_read() {
        // `[^]` in 1047, then in 037, then a character with the same code in both.
        let read = |bytes: &[u8]| bytes.iter().map(|byte| char::from(ascii(*byte))).collect::<String>();
        assert_eq!(read(b"\xad\x5f\xbd"), "[^]");
        assert_eq!(read(b"\xba\xb0\xbb"), "[^]");
        assert_eq!(read(b"\x79\xa1\x4f\x5a\xc0\xd0\xe0"), "`~|!{}\\");
        let all: String = (b' '..=b'~').map(char::from).collect();
        let back: Vec<u8> = to_ebcdic(&all).into_iter().map(ascii).collect();
        assert_eq!(String::from_utf8_lossy(&back), all, "every character of ASCII has a place");
    }
}
