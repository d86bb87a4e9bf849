//! The marks that mail puts before lines that it quotes.
//!
//! ```text
//! > TPF ECB HEAP REQUEST SIZE REPORT        quoted once
//! >        32     1210     3.04%
//! > > 80KB         3                        the row of everything above 80 KB, quoted once
//! > 80KB           3                        the same row, not quoted
//! ```
//!
//! Invariant: a row that begins with `>` and a size keeps its own mark; lines around it show the number of the other marks.

/// The number of quotation levels.
#[derive(Default)]
pub(crate) struct Quotes {
    marks: usize,
}

impl Quotes {
    /// The line without the marks before it.
    pub(crate) fn without<'t>(&mut self, text: &'t [u8]) -> &'t [u8] {
        let (marks, rest) = taken(text, usize::MAX);
        if marks == 0 {
            if !text.trim_ascii().is_empty() {
                self.marks = 0;
            }
            return text;
        }
        if is_size(rest) {
            return taken(text, self.marks.min(marks)).1;
        }
        self.marks = marks;
        rest
    }
}

/// The number of marks taken off, and the rest.
fn taken(text: &[u8], most: usize) -> (usize, &[u8]) {
    let (mut marks, mut rest) = (0, text);
    while marks < most
        && let Some(behind) = rest.strip_prefix(b">")
    {
        marks += 1;
        rest = behind.strip_prefix(b" ").unwrap_or(behind);
    }
    (marks, rest)
}

/// A number, with a unit or without: a row for everything above a size begins with one, too.
fn is_size(text: &[u8]) -> bool {
    text.trim_ascii_start().first().is_some_and(u8::is_ascii_digit)
}

#[cfg(test)]
mod tests {
    use super::Quotes;

    #[test]
    fn marks_are_taken_off_and_rows_keep_their_own() {
        let mut quotes = Quotes::default();
        let mut check = |text: &str, expect: &str| {
            let got = quotes.without(text.as_bytes());
            assert_eq!(String::from_utf8_lossy(got), expect, "{text}");
        };
        check("> 80KB  3", "> 80KB  3");
        check("> 1024  3", "> 1024  3");
        check("> A", "A");
        check(">    32", "   32");
        check("> 24KB  3", "24KB  3");
        check("> > 80KB  3", "> 80KB  3");
        check(">", "");
        check("> > B", "B");
        check(">> > 80KB", "> 80KB");
        check("", "");
        check("> > 24KB", "24KB");
        check("C", "C");
        check("> 80KB  3", "> 80KB  3");
    }
}
