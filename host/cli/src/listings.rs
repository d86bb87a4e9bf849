//! Files that may hold listings of Language Environment, read in pieces.
//!
//! Invariant: a file that begins like a saved report is none; memory does not grow with the file.
//! Not here: how listings are read (`underbar_listing`), and what is advised (`underbar_advise::listing`).

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use underbar_advise::listing::Collected;
use underbar_ledger::layout::MAGIC;
use underbar_listing::Reader;

use crate::saved::{Fault, SavedError};

const PIECE: usize = 256 << 10;

/// Reads a file into `collected`; false if it is no listing, or nothing in it is known. `-` is standard input, which is
/// taken for a saved report.
///
/// # Errors
/// Says what keeps the file from being read.
pub fn read(path: &Path, collected: &mut Collected) -> Result<bool, SavedError> {
    if path == Path::new("-") {
        return Ok(false);
    }
    let named = |error| SavedError { path: path.to_owned(), fault: Fault::Unreadable(error) };
    let mut file = File::open(path).map_err(named)?;
    let mut piece = vec![0; PIECE];
    let mut length = fill(&mut file, &mut piece).map_err(named)?;
    let start = piece[..length].trim_ascii_start();
    if start.is_empty() || start[0] == b'{' || start.starts_with(&MAGIC.to_le_bytes()) {
        return Ok(false);
    }
    let before = collected.items;
    collected.file(&path.display().to_string());
    let mut reader = Reader::new();
    while length > 0 {
        reader.feed(&piece[..length], &mut |item| collected.take(item));
        length = fill(&mut file, &mut piece).map_err(named)?;
    }
    reader.finish(&mut |item| collected.take(item));
    Ok(collected.items > before)
}

fn fill(file: &mut File, piece: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while length < piece.len() {
        match file.read(&mut piece[length..])? {
            0 => break,
            more => length += more,
        }
    }
    Ok(length)
}
