//! The grammar: splits an option text into options, sections and flaws, all of them byte spans.
//!
//! ```text
//! text    := { blank | ',' | comment | section | option }
//! comment := '#' ... end of line                     wherever an option could begin
//!          | '*' ... end of line                     in the first column, as in CEEOPTS
//! section := '[' ( '*' | program | 'build-id:' hex ) ']'
//! option  := name [ [ '=' ] '(' body ')' ]           name: letters, digits, '_'
//! body    := sub-option { ',' sub-option }           '(' ... ')' may be nested
//! quote   := ' ... '  or  " ... "                    at the start of a sub-option; a doubled quote means one
//! ```
//!
//! Invariant: every step moves forward, and no option is longer than `LONGEST_OPTION`, so the time is proportional to the
//! length of any text. After a flaw, parsing continues at the next plausible place.
//! Not here: the meaning of names and sub-options (`apply`).

/// An option that is not closed within this many bytes counts as unclosed.
pub(crate) const LONGEST_OPTION: usize = 4096;

/// Bytes of a text: from `start` up to but not including `end`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// The byte after the last one.
    pub end: usize,
}

impl Span {
    pub(crate) fn of(self, text: &[u8]) -> &[u8] {
        text.get(self.start..self.end).unwrap_or_default()
    }

    /// Without the surrounding blanks and comment lines.
    pub(crate) fn trimmed(self, text: &[u8]) -> Span {
        let is_kept = |(_, byte, part): &(usize, u8, Part)| *part != Part::Comment && !is_blank(*byte);
        let mut kept = Bytes::of(text, self).filter(is_kept).map(|(at, ..)| at);
        let first = kept.next();
        let last = kept.last().or(first);
        Span { start: first.unwrap_or(self.end), end: last.map_or(self.end, |last| last + 1) }
    }
}

/// Does a comment line begin here: an asterisk in its first column?
fn is_comment(text: &[u8], at: usize) -> bool {
    text.get(at) == Some(&b'*') && (at == 0 || text.get(at - 1) == Some(&b'\n'))
}

/// What a byte of a text is part of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Plain,
    /// A quote, including its marks. It begins at the start of a sub-option, and nothing in it is a comment.
    Quote,
    /// A comment line, also in the middle of an option.
    Comment,
}

/// The bytes of a text one by one, each with its offset and its part.
#[derive(Clone)]
struct Bytes<'t> {
    text: &'t [u8],
    at: usize,
    end: usize,
    /// May a quote open here?
    begins: bool,
    /// The end of the last quote.
    quoted_to: usize,
    /// The mark of an unclosed quote: the rest of the text is in the quote.
    unclosed: Option<usize>,
    in_comment: bool,
}

impl<'t> Bytes<'t> {
    fn of(text: &'t [u8], span: Span) -> Self {
        let Span { start, end } = span;
        Bytes { text, at: start, end, begins: true, quoted_to: start, unclosed: None, in_comment: false }
    }
}

impl Iterator for Bytes<'_> {
    type Item = (usize, u8, Part);

    fn next(&mut self) -> Option<Self::Item> {
        let at = self.at;
        let byte = *self.text.get(at).filter(|_| at < self.end)?;
        self.at += 1;
        if at < self.quoted_to {
            return Some((at, byte, Part::Quote));
        }
        self.in_comment = is_comment(self.text, at) || (self.in_comment && byte != b'\n');
        if self.in_comment {
            return Some((at, byte, Part::Comment));
        }
        if self.begins && matches!(byte, b'\'' | b'"') {
            let close = close_of_quote(&self.text[..self.end], at, byte);
            self.quoted_to = close.map_or(self.end, |close| close + 1);
            self.unclosed = close.is_none().then_some(at);
            self.begins = false;
            return Some((at, byte, Part::Quote));
        }
        self.begins = byte == b'(' || byte == b',' || (self.begins && is_blank(byte));
        Some((at, byte, Part::Plain))
    }
}

/// The bytes of a span outside comment lines.
pub(crate) fn uncommented(text: &[u8], span: Span) -> impl Iterator<Item = u8> + Clone + '_ {
    Bytes::of(text, span).filter(|(.., part)| *part != Part::Comment).map(|(_, byte, _)| byte)
}

/// An item that the grammar finds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Item {
    Option { name: Span, body: Option<Span> },
    Section { name: Span, whole: Span },
    Flaw { span: Span, flaw: SyntaxFlaw },
}

/// A flaw in the form of a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SyntaxFlaw {
    /// A character that no option can begin with.
    StrayCharacter,
    /// A closing parenthesis that nothing opened.
    StrayParenthesis,
    /// The parenthesis that opens here is not closed.
    UnclosedParenthesis,
    /// The content of the parenthesis that opens here is longer than [`LONGEST_OPTION`].
    TooLong,
    /// The quote that opens here is not closed.
    UnclosedQuote,
    /// NAME=value without parentheses.
    ValueWithoutParentheses,
    /// The bracket that opens here is not closed on its line.
    UnclosedSection,
}

pub(crate) struct Items<'t> {
    text: &'t [u8],
    at: usize,
}

impl<'t> Items<'t> {
    pub(crate) fn new(text: &'t [u8]) -> Self {
        Self { text, at: 0 }
    }

    fn byte(&self, at: usize) -> u8 {
        self.text.get(at).copied().unwrap_or(b'\n')
    }

    /// The first offset from `at` on whose byte does not satisfy `passed`.
    fn pass(&self, at: usize, passed: impl Fn(u8) -> bool) -> usize {
        let rest = self.text.get(at..).unwrap_or_default();
        at + rest.iter().take_while(|&&byte| passed(byte)).count()
    }

    fn end_of_line(&self, at: usize) -> usize {
        self.pass(at, |byte| byte != b'\n')
    }

    fn section(&mut self, start: usize) -> Item {
        let end = self.pass(start + 1, |byte| byte != b']' && byte != b'\n');
        if self.text.get(end) == Some(&b']') {
            self.at = end + 1;
            let name = Span { start: start + 1, end }.trimmed(self.text);
            return Item::Section { name, whole: Span { start, end: end + 1 } };
        }
        self.at = end;
        Item::Flaw { span: Span { start, end }.trimmed(self.text), flaw: SyntaxFlaw::UnclosedSection }
    }

    fn option(&mut self, start: usize) -> Item {
        let end = self.pass(start, is_name);
        let name = Span { start, end };
        self.at = end;
        let mut open = self.pass(end, is_blank);
        let equals = self.text.get(open) == Some(&b'=');
        if equals {
            open = self.pass(open + 1, is_blank);
        }
        if self.text.get(open) != Some(&b'(') {
            if !equals {
                return Item::Option { name, body: None };
            }
            self.at = self.pass(open, |byte| !is_separator(byte));
            let flaw = SyntaxFlaw::ValueWithoutParentheses;
            return Item::Flaw { span: Span { start, end: self.at }, flaw };
        }
        let limit = self.text.len().min(open + LONGEST_OPTION);
        let (mut at, mut flaw) = (open, None);
        while flaw.is_none() {
            match end_of_sub_option(self.text, at + 1, limit) {
                Ok(end) if self.byte(end) == b')' => {
                    self.at = end + 1;
                    return Item::Option { name, body: Some(Span { start: open + 1, end }) };
                }
                Ok(comma) => at = comma,
                Err((SyntaxFlaw::UnclosedParenthesis, _)) => {
                    flaw = Some((SyntaxFlaw::UnclosedParenthesis, Span { start: open, end: open + 1 }));
                }
                Err((other, at)) => flaw = Some((other, Span { start: at, end: at + 1 })),
            }
        }
        // The rest of the line is probably part of it; the next line probably is not.
        self.at = self.end_of_line(open);
        let (flaw, span) = flaw.unwrap_or((SyntaxFlaw::UnclosedParenthesis, name));
        // No later byte has been examined.
        let is_unclosed = matches!(flaw, SyntaxFlaw::UnclosedParenthesis | SyntaxFlaw::UnclosedQuote);
        let flaw = if is_unclosed && limit < self.text.len() { SyntaxFlaw::TooLong } else { flaw };
        Item::Flaw { span, flaw }
    }
}

impl Iterator for Items<'_> {
    type Item = Item;

    fn next(&mut self) -> Option<Item> {
        loop {
            let start = self.pass(self.at, is_separator);
            self.at = start;
            match *self.text.get(start)? {
                b'#' => self.at = self.end_of_line(start),
                b'*' if is_comment(self.text, start) => self.at = self.end_of_line(start),
                b'[' => return Some(self.section(start)),
                b')' => {
                    self.at = start + 1;
                    let flaw = SyntaxFlaw::StrayParenthesis;
                    return Some(Item::Flaw { span: Span { start, end: start + 1 }, flaw });
                }
                byte if is_name(byte) => return Some(self.option(start)),
                _ => {
                    let stray = |byte| !is_separator(byte) && !is_name(byte) && !b"#[)".contains(&byte);
                    self.at = self.pass(start, stray);
                    let flaw = SyntaxFlaw::StrayCharacter;
                    return Some(Item::Flaw { span: Span { start, end: self.at }, flaw });
                }
            }
        }
    }
}

/// The sub-options of a body that [`Items`] found, without surrounding blanks; including empty ones.
pub(crate) fn sub_options(text: &[u8], body: Span) -> impl Iterator<Item = Span> + '_ {
    let mut start = Some(body.start);
    core::iter::from_fn(move || {
        let from = start?;
        // The body was closed, so it has neither an open quote nor an open parenthesis.
        let end = end_of_sub_option(text, from, body.end).unwrap_or(body.end).min(body.end);
        start = (end < body.end).then_some(end + 1);
        Some(Span { start: from, end }.trimmed(text))
    })
}

/// The content of the parentheses, if `span` begins with one that its last byte closes.
pub(crate) fn within_parentheses(text: &[u8], span: Span) -> Option<Span> {
    let inner = Span { start: span.start + 1, end: span.end.checked_sub(1)? };
    if span.of(text).first() != Some(&b'(') || inner.end < inner.start {
        return None;
    }
    let mut at = inner.start;
    loop {
        match end_of_sub_option(text, at, span.end) {
            Ok(comma) if text[comma] == b',' => at = comma + 1,
            Ok(close) => return (close == inner.end).then_some(inner),
            Err(_) => return None,
        }
    }
}

/// The end of the sub-option that begins at `from`: a comma or a closing parenthesis of its own level, or, within a body,
/// its `limit`.
fn end_of_sub_option(text: &[u8], from: usize, limit: usize) -> Result<usize, (SyntaxFlaw, usize)> {
    let mut depth = 0_usize;
    let mut bytes = Bytes::of(text, Span { start: from, end: limit });
    for (at, byte, part) in bytes.by_ref() {
        match byte {
            _ if part != Part::Plain => {}
            b',' | b')' if depth == 0 => return Ok(at),
            b'(' => depth += 1,
            b')' => depth -= 1,
            _ => {}
        }
    }
    match bytes.unclosed {
        Some(at) => Err((SyntaxFlaw::UnclosedQuote, at)),
        None => Err((SyntaxFlaw::UnclosedParenthesis, from)),
    }
}

/// The offset of the quote that closes the one at `open`; a doubled quote does not close it.
fn close_of_quote(text: &[u8], open: usize, quote: u8) -> Option<usize> {
    let mut at = open + 1;
    loop {
        at += text.get(at..)?.iter().position(|&byte| byte == quote)?;
        if text.get(at + 1) != Some(&quote) {
            return Some(at);
        }
        at += 2;
    }
}

fn is_blank(byte: u8) -> bool {
    byte.is_ascii_whitespace()
}

fn is_separator(byte: u8) -> bool {
    is_blank(byte) || byte == b','
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::string::{String, ToString};
    use std::vec::Vec;

    /// Each item on a separate line: its kind, then its parts between bars.
    fn items(text: &str) -> String {
        let bytes = text.as_bytes();
        let show = |span: Span| String::from_utf8_lossy(span.of(bytes)).to_string();
        let lines: Vec<String> = Items::new(bytes)
            .map(|item| match item {
                Item::Option { name, body: None } => show(name),
                Item::Option { name, body: Some(body) } => {
                    let subs: Vec<String> = sub_options(bytes, body).map(show).collect();
                    std::format!("{}|{}", show(name), subs.join("|"))
                }
                Item::Section { name, .. } => std::format!("[{}]", show(name)),
                Item::Flaw { span, flaw } => std::format!("{flaw:?} {}", show(span)),
            })
            .collect();
        lines.join("\n")
    }

    fn check(text: &str, expect: &str) {
        assert_eq!(items(text), expect, "{text}");
    }

    #[test]
    fn options_in_every_spelling() {
        check("", "");
        check(" ,\n, ", "");
        check("HEAP(1M,,,KEEP) rptstg(on),NOAIXBLD", "HEAP|1M|||KEEP\nrptstg|on\nNOAIXBLD");
        check("HEAP=(1M, 2M ),  STACK = ( ,,ANY)", "HEAP|1M|2M\nSTACK|||ANY");
        check("HEAP()", "HEAP|");
        check("HEAPP(ON,(8,2),10)", "HEAPP|ON|(8,2)|10");
        check("HEAP64=((1M,2M),OVR)", "HEAP64|(1M,2M)|OVR");
        check("HEAP(1M)RPTSTG(ON)", "HEAP|1M\nRPTSTG|ON");
        check("HEAP(\n 1M,\n 2M\n)", "HEAP|1M|2M");
    }

    #[test]
    fn quotes_hide_commas_and_parentheses() {
        check("MSGFILE('a,b)c')", "MSGFILE|'a,b)c'");
        check("MSGFILE( \"it's\" )", "MSGFILE|\"it's\"");
        check("MSGFILE(it's) X", "MSGFILE|it's\nX");
        check("STORAGE('''',',')", "STORAGE|''''|','");
        check("ENVAR(\"A=1,B\",\"C\")", "ENVAR|\"A=1,B\"|\"C\"");
    }

    #[test]
    fn comments_and_sections() {
        check("# all of it HEAP(1M)\nHEAP(2M) # more\n", "HEAP|2M");
        check("HEAP(64M,\n* inside, (it\n16M\n* behind\n,,KEEP)\n", "HEAP|64M|16M||KEEP");
        check("* before\nHEAP(64M,16M\n* at the end)\n)STACK(1K)", "HEAP|64M|16M\nSTACK|1K");
        check("HEAP(2*3)", "HEAP|2*3");
        check("MSGFILE('a\n* b')", "MSGFILE|'a\n* b'");
        check("[cc1plus] HEAP(1M)\n[ * ]\n[build-id:00ff]", "[cc1plus]\nHEAP|1M\n[*]\n[build-id:00ff]");
        check("[cc1\nHEAP(1M)", "UnclosedSection [cc1\nHEAP|1M");
        check("STORAGE(#)", "STORAGE|#");
        check("* all of it HEAP(1M)\nHEAP(2M)\n* more", "HEAP|2M");
        check("HEAP(2M) * more", "HEAP|2M\nStrayCharacter *\nmore");
    }

    #[test]
    fn flaws_do_not_hide_what_follows() {
        check("HEAP(1M,\nRPTSTG(ON)", "UnclosedParenthesis (\nRPTSTG|ON");
        check("HEAP(1M)) X", "HEAP|1M\nStrayParenthesis )\nX");
        check("/HEAP(1M)", "StrayCharacter /\nHEAP|1M");
        check("MSGFILE('abc)\nX", "UnclosedQuote '\nX");
        check("RPTSTG=ON X", "ValueWithoutParentheses RPTSTG=ON\nX");
        check("\u{2014}HEAP(1M)", "StrayCharacter \u{2014}\nHEAP|1M");
        check("((((", "StrayCharacter ((((");
        check("A=", "ValueWithoutParentheses A=");
    }

    #[test]
    fn an_option_without_end_costs_no_more_than_the_longest() {
        let text = "HEAP(".repeat(2000) + "\nRPTSTG(ON)";
        check(&text, "TooLong (\nRPTSTG|ON");
    }
}
