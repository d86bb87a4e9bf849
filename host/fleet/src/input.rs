//! A stream as JSON documents, each with the line in which it begins.
//!
//! ```text
//! {"schema":...}      a line that is one object: a document
//! {                   a line of one brace begins a document ...
//!   "schema": ...
//! }                   ... that a line of one brace ends; or the next document, where this one was cut
//! ```
//!
//! Invariant: memory is bounded by the longest document, and that by [`MOST`]. Any bytes give documents or faults.
//! Not here: what is in a document ([`crate::collect`]).

use std::io::{self, BufRead, Read as _};

/// No report is longer: one with all slots in use has 4 MiB.
pub const MOST: usize = 64 << 20;

/// A document, or what is in its place.
#[derive(Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// The bytes of a document, not yet checked.
    Document(&'a [u8]),
    /// Longer than any report; its bytes were passed over.
    TooLong,
}

/// Hands each document to `take`, with its first line, counted from 1.
///
/// # Errors
/// The stream cannot be read on.
pub fn each(mut stream: impl BufRead, mut take: impl FnMut(u64, Piece<'_>)) -> io::Result<()> {
    let mut line = Vec::new();
    // A document of several lines: its first line, and its bytes.
    let mut open: Option<(u64, Vec<u8>)> = None;
    let mut number = 0;
    while let Some(whole) = next_line(&mut stream, &mut line)? {
        number += 1;
        let words = line.trim_ascii();
        if let Some((first, document)) = &mut open {
            let is_next = line.starts_with(b"{");
            let fits = whole && document.len() + line.len() <= MOST;
            if fits && !is_next {
                document.extend_from_slice(&line);
                if line.starts_with(b"}") {
                    take(*first, Piece::Document(document));
                    open = None;
                }
                continue;
            }
            take(*first, if fits { Piece::Document(document) } else { Piece::TooLong });
            open = None;
            if !is_next {
                continue;
            }
        }
        match words {
            _ if !whole => take(number, Piece::TooLong),
            b"" => {}
            b"{" => open = Some((number, line.clone())),
            _ => take(number, Piece::Document(words)),
        }
    }
    if let Some((first, document)) = open {
        take(first, Piece::Document(&document));
    }
    Ok(())
}

/// Reads a line with its line feed. None at the end; false: it is longer than [`MOST`], and its rest was passed over.
fn next_line(stream: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<Option<bool>> {
    line.clear();
    stream.by_ref().take(MOST as u64 + 1).read_until(b'\n', line)?;
    if line.len() <= MOST {
        return Ok((!line.is_empty()).then_some(true));
    }
    while line.last() != Some(&b'\n') {
        line.clear();
        if stream.by_ref().take(1 << 20).read_until(b'\n', line)? == 0 {
            break;
        }
    }
    line.clear();
    Ok(Some(false))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(bytes: &[u8]) -> Vec<(u64, String)> {
        let mut found = Vec::new();
        let taken = each(bytes, |line, piece| {
            let text = match piece {
                Piece::Document(bytes) => String::from_utf8_lossy(bytes).into_owned(),
                Piece::TooLong => "too long".to_owned(),
            };
            found.push((line, text));
        });
        taken.expect("bytes can be read");
        found
    }

    #[test]
    fn lines_and_documents_of_several_lines_may_be_mixed() {
        let found = pieces(b"\n{\"a\":1}\r\n{\n  \"b\": {\n  }\n}\n{\"c\":3}\n{\n \"d\":4\n}");
        let expect =
            [(2, "{\"a\":1}"), (3, "{\n  \"b\": {\n  }\n}\n"), (7, "{\"c\":3}"), (8, "{\n \"d\":4\n}")];
        assert_eq!(found, expect.map(|(line, text)| (line, text.to_owned())));
    }

    #[test]
    fn a_cut_document_does_not_take_the_next_one_with_it() {
        let found = pieces(b"{\n \"a\": 1,\n{\"b\":2}\n{\"c\n{\n");
        let expect = [(1, "{\n \"a\": 1,\n"), (3, "{\"b\":2}"), (4, "{\"c"), (5, "{\n")];
        assert_eq!(found, expect.map(|(line, text)| (line, text.to_owned())));
        assert_eq!(pieces(b""), []);
    }

    #[test]
    fn a_line_without_end_is_passed_over() {
        let endless = io::repeat(b'x').take(MOST as u64 + 9).chain(&b"\n{\"a\":1}\n"[..]);
        let mut found = Vec::new();
        each(io::BufReader::new(endless), |line, piece| found.push((line, piece == Piece::TooLong)))
            .expect("it can be read");
        assert_eq!(found, [(1, true), (2, false)]);
    }
}
