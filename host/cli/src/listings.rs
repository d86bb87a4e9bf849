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
use underbar_report::Report;

use crate::saved::{self, Fault, SavedError};

const PIECE: usize = 256 << 10;

/// What a file turned out to be.
pub enum Found {
    /// Listings, which are collected.
    Listings,
    /// A saved report, or nothing that is known.
    Other(Result<Box<Report>, SavedError>),
}

/// Reads a file; `-` is standard input.
///
/// # Errors
/// Says what keeps the file from being read.
pub fn read(path: &Path, collected: &mut Collected) -> Result<Found, SavedError> {
    let named = |error| SavedError { path: path.to_owned(), fault: Fault::Unreadable(error) };
    let is_input = path == Path::new("-");
    let mut file: Box<dyn Read> =
        if is_input { Box::new(io::stdin().lock()) } else { Box::new(File::open(path).map_err(named)?) };
    let mut piece = vec![0; PIECE];
    let mut length = fill(&mut file, &mut piece).map_err(named)?;
    let start = piece[..length].trim_ascii_start();
    let is_saved = start.is_empty() || start[0] == b'{' || start.starts_with(&MAGIC.to_le_bytes());
    if !is_saved {
        let first = piece[..length].to_vec();
        let before = collected.items;
        collected.file(&path.display().to_string());
        let mut reader = Reader::new();
        while length > 0 {
            reader.feed(&piece[..length], &mut |item| collected.take(item));
            length = fill(&mut file, &mut piece).map_err(named)?;
        }
        reader.finish(&mut |item| collected.take(item));
        if collected.items > before {
            return Ok(Found::Listings);
        }
        let saved = if is_input { saved::read_on(path, &first, io::empty()) } else { saved::read(path) };
        return Ok(Found::Other(saved.map(Box::new).map_err(|error| match error.fault {
            Fault::Other => SavedError { fault: Fault::NoListing, ..error },
            _ => error,
        })));
    }
    let saved = if is_input { saved::read_on(path, &piece[..length], file) } else { saved::read(path) };
    Ok(Found::Other(saved.map(Box::new)))
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
