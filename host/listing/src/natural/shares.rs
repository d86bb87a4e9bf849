//! Sizes with their shares of a whole, as Natural prints them behind names of buffers and threads.
//!
//! Not here: whose they are (`buffers`, `thread`).

use crate::number::{self, Word};

/// Size; used, most used and largest size, each with its share.
pub(super) struct Values {
    pub size: u64,
    pub used: (u64, u64),
    pub max_used: Option<(u64, u64)>,
    pub max_size: Option<(u64, u64)>,
}

impl Values {
    /// None where the values are not of this form.
    pub fn of(words: &[&[u8]]) -> Option<Self> {
        let share = |at: usize| -> Option<Option<(u64, u64)>> {
            match words.get(at..at + 2) {
                Some([value, share]) => Some(Some((whole(value)?, tenths(share)?))),
                _ => words.get(at).is_none().then_some(None),
            }
        };
        let size = whole(words.first()?)?;
        let used = share(1)??;
        let max_used = share(3)?;
        let max_size = share(5)?;
        (words.len() <= 7).then_some(Self { size, used, max_used, max_size })
    }
}

/// Whether a part is so many tenths of a percent of the whole, rounded in any way.
pub(super) fn agrees(part: u64, whole: u64, tenths: u64) -> bool {
    let exact = u128::from(part) * 1000;
    exact.abs_diff(u128::from(tenths) * u128::from(whole)) <= u128::from(whole)
}

/// A number without unit.
fn whole(word: &[u8]) -> Option<u64> {
    match number::word(word) {
        Word::Number(number) if word.last().is_some_and(u8::is_ascii_digit) => Some(number),
        _ => None,
    }
}

/// `54.9` as 549.
fn tenths(word: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(word).ok()?;
    let text = text.strip_suffix('%').unwrap_or(text);
    let (whole, tenth) = text.split_once('.')?;
    let digits = |part: &str, most: usize| {
        (1..=most).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    let number = digits(whole, 3) && digits(tenth, 1);
    number.then(|| format!("{whole}{tenth}").parse().ok()).flatten()
}
