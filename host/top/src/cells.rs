//! A text as cells of a terminal: which characters it may have, and how wide they are.
//!
//! Invariant: no character of a cell controls the terminal or changes the direction of others, and a text takes exactly the cells that
//! [`width`] says.

use underbar_shown::is_hostile;

/// The cells that a character takes: 0, 1 or 2. Ranges of East Asian and pictorial characters, and of marks that join the one before.
#[must_use]
pub fn width(character: char) -> usize {
    match u32::from(character) {
        0x300..=0x36f | 0x483..=0x489 | 0x591..=0x5bd | 0x610..=0x61a | 0x64b..=0x65f | 0x200b..=0x200d => 0,
        0x20d0..=0x20ff | 0x2060..=0x2064 | 0xfe00..=0xfe0f | 0xfe20..=0xfe2f | 0xfeff | 0xe0000.. => 0,
        0x1100..=0x115f | 0x231a..=0x231b | 0x23e9..=0x23f3 | 0x2614..=0x2615 | 0x267f | 0x26a1 => 2,
        0x2705 | 0x274c | 0x2753..=0x2757 | 0x2795..=0x2797 | 0x2b1b..=0x2b1c | 0x2b50 | 0x2b55 => 2,
        0x2e80..=0x303e | 0x3041..=0xa4cf | 0xa960..=0xa97f | 0xac00..=0xd7a3 | 0xf900..=0xfaff => 2,
        0xfe30..=0xfe6f | 0xff01..=0xff60 | 0xffe0..=0xffe6 | 0x16fe0..=0x18aff | 0x1b000..=0x1b2ff => 2,
        0x1f004 | 0x1f0cf | 0x1f18e..=0x1f2ff | 0x1f300..=0x1f64f | 0x1f680..=0x1f6ff | 0x1f7e0..=0x1faff => {
            2
        }
        0x20000..=0x3fffd => 2,
        _ => 1,
    }
}

/// The text with nothing that steers a terminal: `\x1b` for such a character. Marks that have no cell of their own are left out, and
/// without Unicode a question mark is shown for what is not ASCII.
#[must_use]
pub fn plain(text: &str, is_unicode: bool) -> String {
    if text.bytes().all(|byte| (0x20..0x7f).contains(&byte)) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if is_hostile(character) {
            let mut room = [0; 4];
            out += &underbar_shown::line(character.encode_utf8(&mut room));
        } else if !is_unicode && !character.is_ascii() {
            out.push('?');
        } else if width(character) > 0 {
            out.push(character);
        }
    }
    out
}

/// The cells of a text that has passed [`plain`].
#[must_use]
pub fn cells(text: &str) -> usize {
    text.chars().map(width).sum()
}

/// The text in at most so many cells; one that is longer ends with `more`.
#[must_use]
pub fn clipped(text: &str, most: usize, more: char) -> String {
    if cells(text) <= most {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut left = most.saturating_sub(1);
    for character in text.chars() {
        let Some(rest) = left.checked_sub(width(character)) else { break };
        (left, _) = (rest, out.push(character));
    }
    if most > 0 {
        out.push(more);
    }
    out
}

/// The text in exactly so many cells, at the left or the right of them.
#[must_use]
pub fn fitted(text: &str, wide: usize, is_right: bool, more: char) -> String {
    let text = clipped(text, wide, more);
    let blanks = " ".repeat(wide - cells(&text).min(wide));
    if is_right { blanks + &text } else { text + &blanks }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_steers_and_all_fits() {
        assert_eq!(plain("a\u{1b}[2J\n\u{202e}é", true), "a\\x1b[2J\\n\\u{202e}é");
        assert_eq!(plain("aé漢", false), "a??");
        assert_eq!(plain("e\u{301}\u{200d}x", true), "ex", "marks have no cell of their own");
        assert_eq!(
            (cells("漢a"), clipped("漢字x", 4, '~'), clipped("漢字", 3, '~')),
            (3, "漢~".to_owned(), "漢~".to_owned())
        );
        assert_eq!((clipped("abc", 0, '~'), clipped("abc", 1, '~')), (String::new(), "~".to_owned()));
        assert_eq!(
            (fitted("ab", 4, true, '~'), fitted("漢字", 3, false, '~')),
            ("  ab".into(), "漢~".into())
        );
        assert_eq!(cells(&fitted("漢字", 2, false, '~')), 2);
    }
}
