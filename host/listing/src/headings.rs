//! Headings of sections and labels of figures, anywhere in a line.
//!
//! ```text
//! "    THREADSTACK statistics:"          "      Initial size:      4096"
//!      ^ heading                               ^ label
//! ```
//!
//! Invariant: a title that is the end of another one (`STACK` of `THREADSTACK`, `HEAP` of `Additional Heap`) counts only
//! where nothing can have been lost before it: after the blanks of the layout, at the start of a whole line, or after the
//! prefix of a job log. If the input begins with it, the next heading has to confirm it.
//! Not here: the lines of a section (`storage`), and the figure of a label (`figures`).

use crate::sections::{Field, Kind, LABELS, SECTIONS};
use crate::words::{find, last, tidy};

/// Which section a heading opens.
pub(crate) enum Title {
    /// One of the table.
    Known(Kind),
    /// One of the table, if nothing is missing before it: the input begins here.
    Cut(Kind),
    /// A section of an unknown layout, or with a title that is damaged or may be cut: the reason why it is not read.
    Unknown(String),
}

/// A title of a section that is recognised but not read.
const OTHERS: [&str; 1] = ["IPT STACK"];
/// The endings of the last word of a heading whose start may be damaged.
const LIKE: [&str; 6] = ["HEAP", "STACK", "HEAP24", "STACK64", "HEAPPOOLS", "HEAPPOOLS64"];
/// What text recognition and markup put before a heading.
const MARKUP: &[u8] = b"#*|>`";

/// The first heading in a text: the text before it, its title, the text after it.
///
/// `cut`: the text begins with the first byte of the input, which may be the middle of a line.
pub(crate) fn heading(text: &[u8], cut: bool) -> Option<(&[u8], Title, &[u8])> {
    let (at, length) = match find(text, b"statistics") {
        Some(at) => (at, 10),
        None => (find(text, b"heappools summary")? + 10, 7),
    };
    let behind = text[at + length..].trim_ascii_start().strip_prefix(b":")?;
    let before = text[..at].trim_ascii_end();
    let start = before.iter().rposition(|&byte| byte == b':').map_or(0, |at| at + 1);
    let skipped =
        before[start..].iter().take_while(|byte| byte.is_ascii_whitespace() || MARKUP.contains(byte)).count();
    let (front, words) = before.split_at(start + skipped);
    let cut = cut && start == 0;
    let all = || SECTIONS.iter().map(|row| (row.title, Some(row.kind))).chain(POOLS);
    let found = all()
        .filter_map(|(title, kind)| Some((title, kind, position(words, title)?)))
        .max_by_key(|(title, _, _)| title.len());
    let likewise = words.split(u8::is_ascii_whitespace).next_back().unwrap_or_default();
    let ends = |with: &&str| {
        let end = likewise.len().checked_sub(with.len()).map(|from| &likewise[from..]);
        end.is_some_and(|end| end.eq_ignore_ascii_case(with.as_bytes()))
    };
    match found {
        Some((title, Some(kind), place)) if is_whole(front, &words[..place], title, cut) => {
            // After a label on the same line, the text before the title is that label's number.
            let front = if start > 0 { &text[..front.len() + place] } else { front };
            Some((front, Title::Known(kind), behind))
        }
        Some((_, Some(kind), 0)) if cut => Some((front, Title::Cut(kind), behind)),
        _ if LIKE.iter().any(ends) => {
            let words = format!("section {}: layout not known, not read", tidy(words));
            Some((front, Title::Unknown(words), behind))
        }
        _ => None,
    }
}

const POOLS: [(&str, Option<Kind>); 2] =
    [("HEAPPOOLS", Some(Kind::Pools)), ("HEAPPOOLS64", Some(Kind::Pools))];

/// The start of a title at the end of the words; None if it is only the end of a word.
fn position(words: &[u8], title: &str) -> Option<usize> {
    let at = words.len().checked_sub(title.len())?;
    let free = at == 0 || !words[at - 1].is_ascii_alphabetic();
    (free && words[at..].eq_ignore_ascii_case(title.as_bytes())).then_some(at)
}

/// Whether nothing of the title can be missing before it. `before`: the text there, after the blanks.
fn is_whole(front: &[u8], before: &[u8], title: &str, cut: bool) -> bool {
    let others = SECTIONS.iter().map(|row| row.title).chain(OTHERS);
    let is_end = others.filter(|other| other.len() > title.len()).any(|other| {
        let end = &other.as_bytes()[other.len() - title.len()..];
        end.eq_ignore_ascii_case(title.as_bytes())
    });
    let blanks = |text: &[u8]| text.iter().rev().take_while(|byte| matches!(byte, b' ' | b'\t')).count() >= 2;
    let tab = |text: &[u8]| text.ends_with(b"\t");
    if before.is_empty() {
        let marked = front.iter().any(|byte| !byte.is_ascii_whitespace());
        return !cut || !is_end || marked || blanks(front) || tab(front);
    }
    if blanks(before) || tab(before) {
        return !is_part_of_a_title(before);
    }
    // "0STACK": only a control character may touch the title, and only in the first column.
    let touches = !before.ends_with(b" ");
    let control = before.len() == 1 && front.is_empty() && matches!(before, b"0" | b"1" | b"-" | b"+");
    !cut && (if touches { control } else { is_none_of_ours(last(before)) })
}

/// Whether the text before a title ends in a word that begins another title.
fn is_part_of_a_title(before: &[u8]) -> bool {
    let last = last(before).to_ascii_lowercase();
    matches!(&last[..], b"user" | b"library" | b"i/o" | b"additional" | b"xplink" | b"ipt")
}

/// Whether a label may begin after this text: no word directly before it could be the label's own beginning.
fn stands_alone(before: &[u8]) -> bool {
    let blanks = before.iter().rev().take_while(|byte| byte.is_ascii_whitespace()).count();
    let word = last(before);
    let ends_another = word.ends_with(b":") || word.starts_with(b"$") || word.starts_with(b"\\");
    match blanks {
        _ if word.is_empty() => true,
        0 => !word.ends_with(b"'") && !word[word.len() - 1].is_ascii_alphabetic(),
        1 => ends_another || is_none_of_ours(word),
        _ => true,
    }
}

/// A time, a number, a mark, the number of a job: no word that could belong to a title or a label.
pub(crate) fn is_none_of_ours(word: &[u8]) -> bool {
    let is_job = word.len() >= 6
        && word[..3].iter().all(u8::is_ascii_alphabetic)
        && word[3..].iter().all(u8::is_ascii_digit);
    is_job || !word.iter().any(u8::is_ascii_alphabetic)
}

/// All labels of a text: the start of each, the end of its colon, and the label. A letter may be misread.
pub(crate) fn labels(text: &[u8]) -> impl Iterator<Item = (usize, usize, Field)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < text.len() {
            let start = at;
            at += 1;
            if !text[start].is_ascii_alphabetic() || !stands_alone(&text[..start]) {
                continue;
            }
            // "initial size" without capital may be the end of "Suggested initial size".
            if text[start].is_ascii_lowercase() && start < 2 {
                continue;
            }
            for (label, field) in LABELS {
                let Some(there) = text.get(start..start + label.len()) else { continue };
                let differ =
                    there.iter().zip(label.bytes()).filter(|(a, b)| !a.eq_ignore_ascii_case(b)).count();
                if differ > label.len() / 16 {
                    continue;
                }
                let blanks = text[start + label.len()..].iter().take_while(|byte| **byte == b' ').count();
                let colon = start + label.len() + blanks;
                if text.get(colon) == Some(&b':') {
                    at = colon + 1;
                    return Some((start, at, field));
                }
            }
        }
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, cut: bool, expect: Option<Option<Kind>>) {
        let got = heading(text.as_bytes(), cut).map(|(_, title, _)| match title {
            Title::Known(kind) => Some(kind),
            Title::Cut(_) | Title::Unknown(_) => None,
        });
        assert_eq!(got, expect, "{text}");
    }

    #[test]
    fn headings_of_every_form() {
        for (text, kind) in [
            ("    STACK statistics:", Kind::Stack),
            ("0   STACK statistics:", Kind::Stack),
            ("0STACK statistics:", Kind::Stack),
            ("STACK STATISTICS:", Kind::Stack),
            ("    THREADSTACK statistics :", Kind::ThreadStack),
            ("    XPLINK STACK statistics:", Kind::XplinkStack),
            ("10.15.07 JOB01234  HEAP statistics:", Kind::Heap),
            ("10.15.07 JOB01234 HEAP statistics:", Kind::Heap),
            ("| HEAP statistics: |", Kind::Heap),
            ("#### **HEAP statistics:**", Kind::Heap),
            ("    64bit User HEAP statistics:", Kind::User64),
            ("freed: THREADHEAP statistics: Initial", Kind::ThreadHeap),
            ("    HEAPPOOLS Summary:", Kind::Pools),
        ] {
            check(text, false, Some(Some(kind)));
        }
    }

    #[test]
    fn a_title_that_may_be_the_end_of_another_is_none() {
        for text in [
            "    IPT STACK statistics:",
            "    16bit User HEAP statistics:",
            "    Add1tional HEAP statistics:",
            "    THREAD STACK statistics:",
            "    BSTACK statistics:",
            "    4STACK statistics:",
            "    XPLINK  STACK statistics:",
        ] {
            check(text, false, Some(None));
        }
        for title in ["STACK", "HEAP", "STACK64", "THREADSTACK", " STACK", "K STACK", "l Heap", "0STACK"] {
            check(&format!("{title} statistics:"), true, Some(None));
        }
        check("# STACK statistics:", true, Some(Some(Kind::Stack)));
        check("  STACK statistics:", true, Some(Some(Kind::Stack)));
        check("ANYHEAP statistics:", true, Some(Some(Kind::AnyHeap)));
        check("Run statistics:", false, None);
    }
}
