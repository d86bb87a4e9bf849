//! The words of statements: lines, comments, remarks and continuations, as DFSORT has them.
//!
//! ```text
//! * a comment                            an asterisk in the first column
//!   SORT FIELDS=(1,10,CH,A,              a line that ends with a comma continues,
//!                21,4,PD,D)  a remark    and so does one with an open parenthesis; outside of them, a remark follows a blank
//! ```
//!
//! Of card images (80 characters with a sequence number in the last eight) the number is ignored.
//!
//! Invariant: no operand is taken for a remark: a remark that has the form of one is an error.
//! Not here: the meaning of words (`statement`).

/// What is wrong with a text.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct Wrong {
    /// Its line, from 1 on.
    pub line: usize,
    /// What is wrong.
    pub what: String,
}

/// A word, a sign, or the end of a statement, which is an empty text.
#[derive(Clone, Copy, Debug)]
pub struct Word<'a> {
    /// Its text: a name, a number, a constant `C'...'` or `X'...'`, or one of the signs `(`, `)`, `,` and `=`.
    pub text: &'a str,
    /// Its line, from 1 on.
    pub line: usize,
}

impl Word<'_> {
    /// An error at this word.
    pub fn wrong(&self, what: impl Into<String>) -> Wrong {
        Wrong { line: self.line, what: what.into() }
    }

    /// Is it the end of a statement?
    pub fn is_end(&self) -> bool {
        self.text.is_empty()
    }

    /// Is it this word, in either case?
    pub fn is(&self, text: &str) -> bool {
        self.text.eq_ignore_ascii_case(text)
    }
}

/// Words that are operands by themselves, and thus no remark.
const ALONE: [&str; 6] = ["EQUALS", "NOEQUALS", "VLSHRT", "NOVLSHRT", "COPY", "NONE"];

/// The words of a text, with an end after each statement.
pub fn words(text: &str) -> Result<Vec<Word<'_>>, Wrong> {
    let mut all: Vec<Word<'_>> = Vec::new();
    let mut depth = 0_usize;
    for (number, line) in text.lines().enumerate() {
        if line.starts_with('*') {
            continue;
        }
        let (line, number) = (without_number(line), number + 1);
        let mut rest = line.trim_start();
        let mut is_after_blank = rest.len() < line.len();
        while let Some(first) = rest.chars().next() {
            if is_after_blank && depth == 0 && ends_operands(&all, first, number) {
                check_remark(rest, number)?;
                break;
            }
            let length = length_of(rest, first).ok_or_else(|| Wrong {
                line: number,
                what: "a constant without its last apostrophe".to_owned(),
            })?;
            match first {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                _ => {}
            }
            all.push(Word { text: &rest[..length], line: number });
            let after = rest[length..].trim_start();
            is_after_blank = after.len() < rest.len() - length;
            rest = after;
        }
        let continues = depth > 0 || all.last().is_none_or(|last| last.is_end() || last.text == ",");
        if !continues {
            all.push(Word { text: "", line: number });
        }
    }
    if all.last().is_some_and(|last| !last.is_end()) {
        let line = all.last().map_or(1, |last| last.line);
        all.push(Word { text: "", line });
    }
    Ok(all)
}

/// Is the next word, after a blank of this line, a remark? The first blank of a statement is behind its name.
fn ends_operands(all: &[Word<'_>], next: char, line: usize) -> bool {
    let of_statement = all.iter().rev().take_while(|word| !word.is_end()).count();
    let Some(last) = all.last() else { return false };
    // Behind a comma, the blank of a new line is followed by operands, and that of the same line by a remark.
    of_statement > 1 && next != '=' && last.text != "=" && (last.text != "," || last.line == line)
}

/// A remark must not look like an operand or a statement.
fn check_remark(remark: &str, line: usize) -> Result<(), Wrong> {
    let first = remark.split(|c: char| c == ',' || c.is_whitespace()).next().unwrap_or_default();
    if remark.contains('=') || ALONE.iter().any(|word| word.eq_ignore_ascii_case(first)) {
        let what = format!(
            "\"{first}\" is behind a blank, where remarks are; write each statement on a line of its own"
        );
        return Err(Wrong { line, what });
    }
    Ok(())
}

/// A line without its sequence number.
fn without_number(line: &str) -> &str {
    match line.split_at_checked(72) {
        Some((text, number)) if number.len() == 8 && number.bytes().all(|byte| byte.is_ascii_digit()) => {
            text.trim_end()
        }
        _ => line,
    }
}

/// Bytes of the first word. None: a constant has no end.
fn length_of(text: &str, first: char) -> Option<usize> {
    match first {
        '(' | ')' | ',' | '=' => Some(1),
        _ if text[first.len_utf8()..].starts_with('\'') => constant(text),
        _ => Some(text.find(|c: char| "(),=".contains(c) || c.is_whitespace()).unwrap_or(text.len())),
    }
}

/// Bytes of a constant: two apostrophes within mean one.
fn constant(text: &str) -> Option<usize> {
    let mut at = text.find('\'')? + 1;
    loop {
        at += text[at..].find('\'')? + 1;
        if !text[at..].starts_with('\'') {
            return Some(at);
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(text: &str) -> String {
        let words = words(text).expect("words");
        let shown = words.iter().map(|word| if word.is_end() { ";" } else { word.text });
        shown.collect::<Vec<&str>>().join(" ")
    }

    #[test]
    fn comments_remarks_and_continuations_are_as_in_dfsort() {
        let text = "* SORT BY NAME\n SORT FIELDS=(1,10,CH,A,\n   21, 4,PD,D)  by name (and amount)\n OPTION EQUALS, as it was\n  SKIPREC=1\n\n END";
        let expect =
            "SORT FIELDS = ( 1 , 10 , CH , A , 21 , 4 , PD , D ) ; OPTION EQUALS , SKIPREC = 1 ; END ;";
        assert_eq!(joined(text), expect);
        assert_eq!((joined(""), joined("*\n\n")), (String::new(), String::new()));
        assert_eq!(joined("SORT FIELDS=(1,"), "SORT FIELDS = ( 1 , ;");
    }

    #[test]
    fn constants_are_one_word() {
        assert_eq!(joined("A B=C'it''s, (so)=',X'0f'"), "A B = C'it''s, (so)=' , X'0f' ;");
        assert_eq!(words("A B=C'it''s").map(|_| ()).expect_err("no end").line, 1);
    }

    #[test]
    fn sequence_numbers_are_ignored() {
        let card = format!("{:<72}00000100\n", "  SORT FIELDS=(1,2,CH,A)");
        assert_eq!(joined(&card), "SORT FIELDS = ( 1 , 2 , CH , A ) ;");
    }

    #[test]
    fn operands_are_no_remarks() {
        for text in [
            "SORT FIELDS=COPY SKIPREC=1",
            "OPTION SKIPREC=1 EQUALS",
            "OPTION EQUALS, SKIPREC=1",
            "SORT FIELDS=COPY OMIT COND=NONE",
        ] {
            let wrong = words(text).map(|_| ()).expect_err(text);
            assert!(wrong.what.contains("behind a blank"), "{wrong}");
        }
    }
}
