//! The door: bytes in, items out.
//!
//! A line is looked at closely only if something is open, or if it has a word that may open something (`interest`); as long
//! as nothing is open, whole stretches without such a word are passed over.

use crate::carriers::Carriers;
use crate::interest;
use crate::job::Job;
use crate::lines::{Line, Lines, Taker};
use crate::lists::Lists;
use crate::model::{Evidence, Item, Unread};
use crate::natural;
use crate::options::Options;
use crate::storage::Storage;
use crate::words::{unquoted, without_number};
use crate::ztpf::Ztpf;

/// Reads a listing piece by piece.
pub struct Reader {
    lines: Lines,
    state: State,
}

#[derive(Default)]
struct State {
    storage: Storage,
    options: Options,
    carriers: Carriers,
    job: Job,
    ztpf: Ztpf,
    natural: natural::Reader,
    lists: Lists,
}

impl Default for Reader {
    fn default() -> Self {
        Self::new()
    }
}

impl Reader {
    /// A reader that has seen nothing.
    #[must_use]
    pub fn new() -> Self {
        Self { lines: Lines::new(), state: State::default() }
    }

    /// Takes more bytes; items that are complete go to `out`.
    pub fn feed(&mut self, bytes: &[u8], out: &mut dyn FnMut(Item)) {
        let Self { lines, state } = self;
        lines.feed(bytes, &mut Looking { state, out });
    }

    /// The input ends: what is left goes to `out`. Says how many lines there were.
    pub fn finish(mut self, out: &mut dyn FnMut(Item)) -> u64 {
        let Self { lines, state } = &mut self;
        lines.finish(&mut Looking { state, out });
        state.storage.finish(out);
        state.options.finish(out);
        state.carriers.finish(out);
        state.job.finish(out);
        state.ztpf.finish(out);
        state.natural.finish(out);
        lines.count()
    }
}

/// Reads a listing that is all there.
#[must_use]
pub fn read(bytes: &[u8]) -> Vec<Item> {
    let mut items = Vec::new();
    let mut reader = Reader::new();
    reader.feed(bytes, &mut |item| items.push(item));
    reader.finish(&mut |item| items.push(item));
    items
}

/// Lines on their way to the state.
struct Looking<'a> {
    state: &'a mut State,
    out: &'a mut dyn FnMut(Item),
}

impl Taker for Looking<'_> {
    fn line(&mut self, line: Line<'_>) {
        self.state.line(line, self.out);
    }

    fn next(&self, text: &[u8]) -> Option<usize> {
        if self.state.is_open() { Some(0) } else { interest::first(text) }
    }

    fn broken(&mut self, line: u64) {
        let text = "nothing behind it was read".to_owned();
        let why = "a record of variable length, whose length cannot be".to_owned();
        (self.out)(Item::Unread(Unread { evidence: Evidence { line: line + 1, text }, why }));
    }
}

impl State {
    /// Whether every line has to be looked at.
    fn is_open(&self) -> bool {
        self.storage.is_open()
            || self.options.is_open()
            || self.carriers.is_open()
            || self.job.is_open()
            || self.ztpf.is_open()
            || self.natural.is_open()
    }

    fn line(&mut self, line: Line<'_>, out: &mut dyn FnMut(Item)) {
        if !self.is_open() && !interest::is_of_interest(line.text) {
            return;
        }
        let line = Line { text: without_number(unquoted(line.text)), ..line };
        // Beside the others: it takes no line away from them. Operands of CEEXOPT, which are written NAME=value too, are not
        // Natural's.
        if !self.carriers.is_macro(line.text) {
            self.natural.line(line, out);
        }
        self.lists.line(line, out);
        if self.ztpf.line(line, out) {
            return;
        }
        if self.storage.line(line, out) {
            self.options.finish(out);
            self.carriers.interrupted(false, out);
        } else if self.options.line(line, out) {
            self.carriers.interrupted(true, out);
        } else if !self.carriers.line(line, out) {
            self.job.line(line, out);
        }
    }
}
