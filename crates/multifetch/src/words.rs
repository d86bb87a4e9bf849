//! The words of an SQL text.
//!
//! Invariant: the parts of a text that are read as comments or constants are those that the server reads so, with either setting of
//! `standard_conforming_strings`: a plain constant with a backslash in it, whose end depends on the setting, is [`Word::Doubtful`].
//! Not here: what the words mean together.

/// One word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Word<'a> {
    /// A keyword or a name without quotes: ASCII letters, digits, `_` and `$`.
    Plain(&'a [u8]),
    /// What is between double quotes. Two of them in a row, for one, are still two.
    Quoted(&'a [u8]),
    /// A constant in single quotes, with its prefix, or between dollars.
    Text,
    /// A number, without a sign, as it is written.
    Number(&'a [u8]),
    /// A parameter, `$1`.
    Parameter,
    /// One character of anything else.
    Symbol(u8),
    /// An end that this cannot tell, or that is missing: nothing after it is read.
    Doubtful,
}

impl Word<'_> {
    /// Is it that keyword, given in capital letters?
    pub(crate) fn is(self, keyword: &str) -> bool {
        matches!(self, Word::Plain(word) if word.eq_ignore_ascii_case(keyword.as_bytes()))
    }
}

/// The words of a text in their order.
#[derive(Clone)]
pub(crate) struct Words<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Words<'a> {
    pub(crate) fn new(text: &'a [u8]) -> Self {
        Words { text, at: 0 }
    }

    /// What has not been read.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// The next word, if it is that keyword; else it is not read.
    pub(crate) fn takes(&mut self, keyword: &str) -> bool {
        let mut ahead = self.clone();
        let is = ahead.next().is_some_and(|word| word.is(keyword));
        if is {
            *self = ahead;
        }
        is
    }

    /// Is nothing left but one semicolon at most?
    pub(crate) fn is_over(&mut self) -> bool {
        match self.next() {
            None => true,
            Some(Word::Symbol(b';')) => self.next().is_none(),
            Some(_) => false,
        }
    }

    fn byte(&self, ahead: usize) -> Option<u8> {
        self.text.get(self.at.checked_add(ahead)?).copied()
    }

    /// Goes over bytes for which `holds`, and returns them.
    fn run(&mut self, holds: impl Fn(u8) -> bool) -> &'a [u8] {
        let rest = self.rest();
        let length = rest.iter().position(|&byte| !holds(byte)).unwrap_or(rest.len());
        self.at += length;
        rest.get(..length).unwrap_or_default()
    }

    /// Goes over what ends with `end`, from after its beginning; None if that never comes.
    fn until(&mut self, end: &[u8]) -> Option<&'a [u8]> {
        let rest = self.rest();
        let length = rest.windows(end.len()).position(|bytes| bytes == end)?;
        self.at += length + end.len();
        rest.get(..length)
    }

    /// A comment that began with `/*`; comments are nested. False without an end.
    fn comment(&mut self) -> bool {
        let mut depth = 1_u32;
        while depth > 0 {
            match (self.byte(0), self.byte(1)) {
                (Some(b'*'), Some(b'/')) => {
                    depth -= 1;
                    self.at += 2;
                }
                (Some(b'/'), Some(b'*')) => {
                    depth = depth.saturating_add(1);
                    self.at += 2;
                }
                (Some(_), _) => self.at += 1,
                (None, _) => return false,
            }
        }
        true
    }

    /// A constant after its first quote. `escapes`: a backslash takes the next character with it.
    fn text(&mut self, escapes: bool) -> Word<'a> {
        loop {
            match (self.byte(0), self.byte(1)) {
                (Some(b'\''), Some(b'\'')) => self.at += 2,
                (Some(b'\''), _) => {
                    self.at += 1;
                    return Word::Text;
                }
                (Some(b'\\'), Some(_)) if escapes => self.at += 2,
                (Some(b'\\'), _) => return self.doubtful(),
                (Some(_), _) => self.at += 1,
                (None, _) => return self.doubtful(),
            }
        }
    }

    /// `$1`, or a constant between dollars.
    fn dollar(&mut self) -> Word<'a> {
        self.at += 1;
        if self.byte(0).is_some_and(|byte| byte.is_ascii_digit()) {
            self.run(|byte| byte.is_ascii_digit());
            return Word::Parameter;
        }
        let before = self.at - 1;
        let tag = self.run(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80);
        if self.byte(0) != Some(b'$') {
            return self.doubtful();
        }
        self.at += 1;
        let Some(delimiter) = self.text.get(before..before + tag.len() + 2) else { return self.doubtful() };
        match self.until(delimiter) {
            Some(_) => Word::Text,
            None => self.doubtful(),
        }
    }

    fn doubtful(&mut self) -> Word<'a> {
        self.at = self.text.len();
        Word::Doubtful
    }
}

impl<'a> Iterator for Words<'a> {
    type Item = Word<'a>;

    fn next(&mut self) -> Option<Word<'a>> {
        loop {
            // The server's blanks; a vertical tab is one since PostgreSQL 16 only.
            self.run(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0c));
            match (self.byte(0)?, self.byte(1)) {
                (b'-', Some(b'-')) => {
                    self.run(|byte| byte != b'\n' && byte != b'\r');
                }
                (b'/', Some(b'*')) => {
                    self.at += 2;
                    if !self.comment() {
                        return Some(self.doubtful());
                    }
                }
                _ => break,
            }
        }
        let (first, second) = (self.byte(0)?, self.byte(1));
        Some(match first {
            b'\'' => {
                self.at += 1;
                self.text(false)
            }
            b'e' | b'E' if second == Some(b'\'') => {
                self.at += 2;
                self.text(true)
            }
            b'b' | b'B' | b'x' | b'X' | b'n' | b'N' if second == Some(b'\'') => {
                self.at += 2;
                self.text(false)
            }
            // Names and constants with Unicode escapes.
            b'u' | b'U' if second == Some(b'&') => self.doubtful(),
            b'"' => {
                self.at += 1;
                let start = self.at;
                loop {
                    match (self.byte(0), self.byte(1)) {
                        (Some(b'"'), Some(b'"')) => self.at += 2,
                        (Some(b'"'), _) => break,
                        (Some(_), _) => self.at += 1,
                        (None, _) => return Some(self.doubtful()),
                    }
                }
                self.at += 1;
                Word::Quoted(self.text.get(start..self.at - 1).unwrap_or_default())
            }
            b'$' => self.dollar(),
            b'0'..=b'9' => {
                Word::Number(self.run(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.')))
            }
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                let word = self.run(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$'));
                // A letter beyond ASCII goes on with the name; its small form depends on the server.
                if self.byte(0).is_some_and(|byte| byte >= 0x80) {
                    self.doubtful()
                } else {
                    Word::Plain(word)
                }
            }
            0 | 0x80.. | 0x0b => self.doubtful(),
            other => {
                self.at += 1;
                Word::Symbol(other)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    fn words(text: &str) -> Vec<Word<'_>> {
        Words::new(text.as_bytes()).collect()
    }

    #[test]
    fn names_constants_and_comments() {
        use Word::*;
        assert_eq!(
            words("Fetch 1 /* a /* b */ ; */ from \"My \"\"c\" -- rest ;\n;"),
            [Plain(b"Fetch"), Number(b"1"), Plain(b"from"), Quoted(b"My \"\"c"), Symbol(b';')]
        );
        assert_eq!(
            words("'a;''b' E'\\';' $$;$$ $x$;$$;$x$ $1 b'1' a$b"),
            [Text, Text, Text, Text, Parameter, Text, Plain(b"a$b")]
        );
        assert_eq!(words("1.5e3-2"), [Number(b"1.5e3"), Symbol(b'-'), Number(b"2")]);
    }

    #[test]
    fn an_end_that_is_not_certain_ends_the_reading() {
        for text in
            ["'a\\';", "'a", "\"a", "/* a", "$x$ a", "U&'a' ;", "\u{e9}t\u{e9} ;", "\u{b}", "$ ", "a\u{e9} ;"]
        {
            let words = words(text);
            assert_eq!(words.last(), Some(&Word::Doubtful), "{text}");
            assert!(!words.contains(&Word::Symbol(b';')), "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_has_an_end(text: Vec<u8>) {
            let words = Words::new(&text).count();
            assert!(words <= text.len());
        }
    }
}
