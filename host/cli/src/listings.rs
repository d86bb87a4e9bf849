//! Files that may hold listings of Language Environment, read in pieces.
//!
//! ```text
//! begins with the mark of a ledger ─────────────────────> saved
//! one JSON object with a schema of underbar ────────────> saved
//! anything else ─────────────────────────────────────────> listings; if it has none, the error of a saved report;
//!                                                           reading stops after 64 MiB without one
//! ```
//!
//! Invariant: only a saved report is read as one: a listing may begin with a line of JSON, or with an EBCDIC `#`, which is
//! the byte of `{`. Memory does not grow with a listing.
//! Not here: how listings are read (`underbar_listing`), and the advice (`underbar_advise::listing`).

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use underbar_shown::Shown;

use serde::Deserialize;
use serde::de::IgnoredAny;
use underbar_advise::listing::Collected;
use underbar_ledger::layout::MAGIC;
use underbar_listing::Reader;
use underbar_report::Report;

use crate::saved::{self, Fault, SavedError};

const PIECE: usize = 256 << 10;
/// The most bytes that are read before the first line of a listing. A file may have none, and no end.
const MOST_WITHOUT: u64 = 64 << 20;

/// What a file is.
pub enum Found {
    /// Listings, which are collected.
    Listings,
    /// A saved report, or a file of no known kind.
    Other(Result<Box<Report>, SavedError>),
}

/// Reads a file; `-` is standard input.
///
/// # Errors
/// Why the file cannot be read.
pub fn read(path: &Path, collected: &mut Collected) -> Result<Found, SavedError> {
    let named = |error| SavedError { path: path.to_owned(), fault: Fault::Unreadable(error) };
    let is_input = path == Path::new("-");
    let mut file: Box<dyn Read> =
        if is_input { Box::new(io::stdin().lock()) } else { Box::new(File::open(path).map_err(named)?) };
    let mut piece = vec![0; PIECE];
    let mut length = fill(&mut file, &mut piece).map_err(named)?;
    let look = look(&piece[..length], length < PIECE);
    if look != Look::Saved {
        let first = piece[..length].to_vec();
        let before = collected.items;
        let mut begun = length as u64;
        collected.file(&path.shown().to_string());
        let mut reader = Reader::new();
        while length > 0 {
            reader.feed(&piece[..length], &mut |item| collected.take(item));
            if collected.items == before && begun >= MOST_WITHOUT {
                return Ok(Found::Other(Err(SavedError {
                    path: path.to_owned(),
                    fault: Fault::NoListingSoFar,
                })));
            }
            begun = begun.saturating_add(length as u64);
            length = fill(&mut file, &mut piece).map_err(named)?;
        }
        reader.finish(&mut |item| collected.take(item));
        if collected.items > before {
            return Ok(Found::Listings);
        }
        let saved = if is_input { saved::read_on(path, &first, io::empty()) } else { saved::read(path) };
        return Ok(Found::Other(saved.map(Box::new).map_err(|error| match error.fault {
            Fault::Other => SavedError { fault: Fault::NoListing, ..error },
            Fault::Report(_) if look == Look::Text => SavedError { fault: Fault::NoListing, ..error },
            _ => error,
        })));
    }
    let saved = if is_input { saved::read_on(path, &piece[..length], file) } else { saved::read(path) };
    Ok(Found::Other(saved.map(Box::new)))
}

/// What the first piece of a file looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Look {
    /// A saved report, or one that is damaged.
    Saved,
    /// JSON that may not be underbar's.
    Json,
    /// Neither.
    Text,
}

/// The key that identifies a report; the keys may be in any order.
#[derive(Deserialize)]
struct Named {
    schema: Option<String>,
}

fn look(piece: &[u8], all: bool) -> Look {
    let start = piece.trim_ascii_start();
    if start.is_empty() {
        // A file of blanks is empty. If the file goes on, the blanks may precede a listing.
        return if all { Look::Saved } else { Look::Text };
    }
    if start.starts_with(&MAGIC.to_le_bytes()) {
        return Look::Saved;
    }
    if start[0] != b'{' {
        return Look::Text;
    }
    let mut values = serde_json::Deserializer::from_slice(start).into_iter::<IgnoredAny>();
    match values.next() {
        Some(Ok(_)) => {
            let (object, rest) = start.split_at(values.byte_offset());
            let named = serde_json::from_slice::<Named>(object).ok().and_then(|named| named.schema);
            match named {
                _ if !rest.trim_ascii().is_empty() => Look::Text,
                Some(schema) if schema.starts_with("underbar.") => Look::Saved,
                _ => Look::Json,
            }
        }
        // Cut short: the first key tells whether it is underbar's. JSON for a whole piece is no listing.
        Some(Err(error)) if error.is_eof() && (!all || names_schema(start)) => Look::Saved,
        Some(Err(error)) if error.is_eof() => Look::Json,
        // Damaged: the same.
        _ if names_schema(start) => Look::Saved,
        _ => Look::Text,
    }
}

/// Is the first key of the object that of a schema of underbar?
fn names_schema(start: &[u8]) -> bool {
    let after = |text: &'_ [u8], word: &[u8]| -> Option<usize> {
        let rest = text.trim_ascii_start();
        rest.starts_with(word).then(|| text.len() - rest.len() + word.len())
    };
    let mut at = 0;
    [&b"{"[..], b"\"schema\"", b":", b"\"underbar."].into_iter().all(|word| match after(&start[at..], word) {
        Some(length) => {
            at += length;
            true
        }
        None => false,
    })
}

fn fill(file: &mut dyn Read, piece: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while length < piece.len() {
        match file.read(&mut piece[length..])? {
            0 => break,
            more => length += more,
        }
    }
    Ok(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_report_of_ours_is_json() {
        let check = |bytes: &[u8], expect| {
            assert_eq!(look(bytes, true), expect, "{}", String::from_utf8_lossy(bytes));
        };
        check(b"{\"schema\": \"underbar.report/1\", \"host\": {}}\n", Look::Saved);
        check(b"\n{ \"host\": {}, \"schema\": \"underbar.report/1\"}\n", Look::Saved);
        check(b"{\n  \"schema\" : \"underbar.report/1\",\n  \"ho", Look::Saved);
        check(b"{\"schema\":\"underbar.report/1\",\"host\":}", Look::Saved);
        check(b"", Look::Saved);
        assert_eq!(look(b" \n \n", false), Look::Text);
        check(b"{", Look::Json);
        check(b"{\"schema\":\"another/1\"}", Look::Json);
        check(b"{\"msg\":\"started\"}\nStorage Report for Enclave main\n", Look::Text);
        check(b"{\"schema\":\"underbar.report/1\"}\nStorage Report for Enclave main\n", Look::Text);
        // EBCDIC: # comment.
        check(&[0x7b, 0x40, 0x83, 0x96, 0x94, 0x25], Look::Text);
        check(b"{ of a text }", Look::Text);
        // Longer than a piece, and JSON throughout.
        assert_eq!(look(b"{\"processes\":[1,2", false), Look::Saved);
    }
}
