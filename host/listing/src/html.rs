//! Pages of HTML as lines of text: breaks, non-breaking blanks, characters by name; all other tags are removed.
//!
//! ```text
//! &nbsp;&nbsp;Initial size:&nbsp;32768<br>     ->     "  Initial size: 32768"
//! ```
//!
//! Invariant: memory does not grow: at most the beginning of one tag or one name is kept.
//! Not here: layout. Blanks and ends of lines are kept, as within `<pre>`.

/// The most bytes of a tag that are compared.
const TAG: usize = 16;
/// No name of a character is longer.
const NAME: usize = 10;
/// This many bytes without an end are no tag.
const LONGEST: usize = 8192;
/// Tags after which a new line begins.
const BREAKS: [&[u8]; 12] =
    [b"br", b"/p", b"/div", b"/tr", b"/li", b"/pre", b"/h1", b"/h2", b"/h3", b"/title", b"hr", b"/table"];
/// Tags that begin on a new line. The end of the element before them may be omitted.
const BEGINS: [&[u8]; 10] = [b"p", b"div", b"tr", b"li", b"pre", b"h1", b"h2", b"h3", b"table", b"dt"];
const NAMES: [(&[u8], u8); 12] = [
    (b"nbsp", b' '),
    (b"#160", b' '),
    (b"#xa0", b' '),
    (b"#32", b' '),
    (b"lt", b'<'),
    (b"gt", b'>'),
    (b"amp", b'&'),
    (b"quot", b'"'),
    (b"apos", b'\''),
    (b"#39", b'\''),
    (b"#58", b':'),
    (b"#44", b','),
];

/// The state between pieces.
#[derive(Default)]
pub(crate) struct Html {
    state: State,
    /// A line end right after a break counts as the same line end.
    after_break: bool,
    /// The last byte of the text so far; 0 at its beginning.
    last: u8,
}

#[derive(Default)]
enum State {
    #[default]
    Text,
    /// After `<`: the text so far, and its length.
    Tag(Vec<u8>, usize),
    /// After `&`.
    Name(Vec<u8>),
}

/// Whether this is the beginning of a page of HTML.
pub(crate) fn is_html(head: &[u8]) -> bool {
    let start = head.trim_ascii_start();
    let begins = |word: &[u8]| start.get(..word.len()).is_some_and(|there| there.eq_ignore_ascii_case(word));
    let first: [&[u8]; 8] =
        [b"<!doctype html", b"<html", b"<head", b"<body", b"<pre", b"<p>", b"<div", b"<table"];
    let count =
        |word: &[u8]| head.windows(word.len()).filter(|there| there.eq_ignore_ascii_case(word)).count();
    first.into_iter().any(begins) || count(b"<br") + count(b"&nbsp;") >= 3
}

impl Html {
    /// The text of a piece.
    pub(crate) fn text(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut text = Vec::with_capacity(bytes.len());
        for &byte in bytes {
            self.byte(byte, &mut text);
            self.last = *text.last().unwrap_or(&self.last);
        }
        text
    }

    /// The input ends.
    pub(crate) fn finish(&mut self) -> Vec<u8> {
        match std::mem::take(&mut self.state) {
            State::Name(name) => [b"&", &name[..]].concat(),
            _ => Vec::new(),
        }
    }

    fn byte(&mut self, byte: u8, text: &mut Vec<u8>) {
        match &mut self.state {
            State::Text => match byte {
                b'<' => self.state = State::Tag(Vec::new(), 0),
                b'&' => self.state = State::Name(Vec::new()),
                b'\r' | b'\n' if self.after_break => self.after_break = byte == b'\r',
                _ => {
                    self.after_break = false;
                    text.push(byte);
                }
            },
            State::Tag(tag, length) => {
                *length += 1;
                let opens = byte.is_ascii_alphabetic() || matches!(byte, b'/' | b'!' | b'?');
                if *length == 1 && !opens {
                    self.state = State::Text;
                    text.push(b'<');
                    return self.byte(byte, text);
                }
                if byte == b'>' {
                    let end = tag.iter().position(|byte| byte.is_ascii_whitespace()).unwrap_or(tag.len());
                    let name = tag[..end].strip_suffix(b"/").unwrap_or(&tag[..end]).to_ascii_lowercase();
                    self.state = State::Text;
                    let is_line = !matches!(self.last, 0 | b'\n');
                    if BREAKS.contains(&&name[..]) || (is_line && BEGINS.contains(&&name[..])) {
                        text.push(b'\n');
                        self.after_break = true;
                    } else if matches!(&name[..], b"td" | b"th" | b"/td" | b"/th")
                        && is_line
                        && self.last != b'\t'
                    {
                        // As a spreadsheet writes them into a text.
                        text.push(b'\t');
                    }
                } else if *length > LONGEST {
                    self.state = State::Text;
                } else if tag.len() < TAG {
                    tag.push(byte);
                }
            }
            State::Name(name) => {
                if byte == b';' {
                    let known = NAMES.iter().find(|(known, _)| name.eq_ignore_ascii_case(known));
                    match known {
                        Some((_, character)) => text.push(*character),
                        None => text.extend([b"&", &name[..], b";"].concat()),
                    }
                    (self.state, self.after_break) = (State::Text, false);
                } else if name.len() < NAME && (byte.is_ascii_alphanumeric() || byte == b'#') {
                    name.push(byte);
                } else {
                    text.extend([b"&", &name[..]].concat());
                    (self.state, self.after_break) = (State::Text, false);
                    self.byte(byte, text);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(page: &str, piece: usize) -> String {
        let mut html = Html::default();
        let mut all: Vec<u8> = page.as_bytes().chunks(piece).flat_map(|some| html.text(some)).collect();
        all.extend(html.finish());
        String::from_utf8_lossy(&all).into_owned()
    }

    #[test]
    fn tags_and_names_become_text() {
        let check = |page: &str, expect: &str| {
            for piece in [1, 2, 7, 4096] {
                assert_eq!(text(page, piece), expect, "{page}");
            }
        };
        check("&nbsp;&nbsp;Initial size:&#160;32768<br>\r\nNext<br/>x", "  Initial size: 32768\nNext\nx");
        check("<pre class=\"a b\">one\ntwo</pre>", "one\ntwo\n");
        check("<tr><td>32</td><td>9</td></tr>", "32\t9\t\n");
        // Ends of rows, cells and paragraphs may be omitted.
        check("<table><tr><td>32<td>9<tr><td>Size:<td>7<p>a<p>b", "32\t9\nSize:\t7\na\nb");
        check("<table>\n<tr><td>32</td>\n</tr><tr><th>9", "\n32\t\n\n9");
        check("a < b &lt; c &unknown; & d&", "a < b < c &unknown; & d&");
        check("one<BR >\n\ntwo", "one\n\ntwo");
        check("cut <a href=", "cut ");
    }

    #[test]
    fn what_has_no_end_takes_no_memory() {
        let mut html = Html::default();
        for _ in 0..1000 {
            html.text(b"<aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
            let State::Tag(tag, _) = &html.state else { continue };
            assert!(tag.len() <= TAG);
        }
    }

    #[test]
    fn listings_are_no_pages() {
        assert!(is_html(b"<html><body>") && is_html(b"x<br>y<br>z&nbsp;"));
        assert!(!is_html(b"Storage Report for Enclave PAY") && !is_html(b"a <br> in a sentence"));
    }
}
