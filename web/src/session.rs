//! Everything read since the page began: the files, piece by piece, and the items found in them.
//!
//! Invariant: [`MOST_SHOWN`] items are kept in words, and further items are counted. Figures are limited by [`Collected`].

use serde::Serialize;
use underbar_advise::listing::Collected;
use underbar_listing::{Item, Reader, shown};

/// At most this many items are kept in words.
pub const MOST_SHOWN: usize = 300;

/// A file, as far as it has been read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileRead {
    /// Its name, as the page gave it.
    pub name: String,
    /// Its bytes.
    pub bytes: u64,
    /// Its lines.
    pub lines: u64,
    /// How many items were found in it.
    pub items: u64,
    /// Whether it begins like a saved report of underbar, which is no listing.
    pub saved: bool,
}

/// An item that was found, in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Understood {
    /// The number of the file.
    pub file: usize,
    /// The first line: what it is, whose it is, and its place.
    pub title: String,
    /// The details that were read.
    pub details: Vec<String>,
}

/// Everything read so far.
#[derive(Default)]
pub struct Session {
    pub(crate) collected: Collected,
    pub(crate) files: Vec<FileRead>,
    pub(crate) understood: Vec<Understood>,
    pub(crate) understood_beyond: u64,
    reader: Option<Reader>,
}

impl Session {
    /// Begins a file.
    pub fn file(&mut self, name: &str) {
        self.end_file();
        self.collected.file(name);
        self.files.push(FileRead { name: name.to_owned(), bytes: 0, lines: 0, items: 0, saved: false });
        self.reader = Some(Reader::new());
    }

    /// Reads a piece of it.
    pub fn feed(&mut self, bytes: &[u8]) {
        let Some(mut reader) = self.reader.take() else { return };
        if let Some(file) = self.files.last_mut() {
            file.saved |= file.bytes == 0 && bytes.trim_ascii_start().first() == Some(&b'{');
            file.bytes += bytes.len() as u64;
        }
        reader.feed(bytes, &mut |item| self.take(item));
        self.reader = Some(reader);
    }

    /// Ends the file.
    pub fn end_file(&mut self) {
        let Some(reader) = self.reader.take() else { return };
        let lines = reader.finish(&mut |item| self.take(item));
        if let Some(file) = self.files.last_mut() {
            file.lines = lines;
        }
    }

    fn take(&mut self, item: Item) {
        if let Some(file) = self.files.last_mut() {
            file.items += 1;
        }
        if self.understood.len() < MOST_SHOWN {
            let words = shown(&item);
            let mut lines = words.lines();
            let title = lines.next().unwrap_or_default().to_owned();
            let details = lines.map(|line| line.trim_start().to_owned()).collect();
            self.understood.push(Understood { file: self.files.len().saturating_sub(1), title, details });
        } else {
            self.understood_beyond += 1;
        }
        self.collected.take(item);
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST_SHOWN, Session};

    #[test]
    fn pieces_make_no_difference_and_files_are_told_apart() {
        let text = "export _CEE_RUNOPTS=\"STORAGE(,,00)\"\n".repeat(3);
        let read = |size: usize| {
            let mut session = Session::default();
            for name in ["one", "two"] {
                session.file(name);
                text.as_bytes().chunks(size).for_each(|piece| session.feed(piece));
                session.end_file();
            }
            session
        };
        let (whole, pieces) = (read(usize::MAX), read(5));
        assert_eq!(whole.files, pieces.files);
        assert_eq!(whole.understood, pieces.understood);
        assert_eq!(whole.files.iter().map(|file| (file.items, file.lines)).collect::<Vec<_>>(), [(3, 3); 2]);
        assert_eq!(whole.understood.iter().map(|item| item.file).collect::<Vec<_>>(), [0, 0, 0, 1, 1, 1]);
    }

    #[test]
    fn what_is_shown_is_bounded_and_the_rest_is_counted() {
        let mut session = Session::default();
        session.file("many");
        session.feed("export _CEE_RUNOPTS=\"STORAGE(,,00)\"\n".repeat(MOST_SHOWN + 7).as_bytes());
        session.end_file();
        assert_eq!((session.understood.len(), session.understood_beyond), (MOST_SHOWN, 7));
    }

    #[test]
    fn a_piece_without_a_file_is_nobodys() {
        let mut session = Session::default();
        session.feed(b"HEAP(1M)\n");
        session.end_file();
        assert!(session.files.is_empty() && session.understood.is_empty());
        session.file("saved.json");
        session.feed(b"  {\"schema\": 1}");
        assert!(session.files[0].saved);
    }
}
