//! The door: bytes in, items out.
//!
//! Most lines of a job log are none of ours. A line is looked at closely only if something is open, or if a word of
//! it begins like one that opens something: one pass over the bytes, one table look-up for each word.
//! Cost: about a nanosecond for each byte of such lines.

use crate::carriers::Carriers;
use crate::job::Job;
use crate::lines::{Line, Lines};
use crate::model::Item;
use crate::options::Options;
use crate::storage::Storage;

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
    count: u64,
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
        lines.feed(bytes, &mut |line| state.line(line, out));
    }

    /// The input ends: what is left goes to `out`. Says how many lines there were.
    pub fn finish(mut self, out: &mut dyn FnMut(Item)) -> u64 {
        let Self { lines, state } = &mut self;
        lines.finish(&mut |line| state.line(line, out));
        state.storage.finish(out);
        state.options.finish(out);
        state.carriers.finish(out);
        state.count
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

impl State {
    fn line(&mut self, line: Line<'_>, out: &mut dyn FnMut(Item)) {
        self.count = line.number;
        let open =
            self.storage.is_open() || self.options.is_open() || self.carriers.is_open() || self.job.is_open();
        if !open && !is_of_interest(line.text) {
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

/// The first four letters, in small, of words that may open something.
const STARTS: [&[u8; 4]; 37] = [
    b"stor", b"opti", b"end ", b"stac", b"thre", b"libs", b"heap", b"anyh", b"belo", b"addi", b"xpli",
    b"bit ", b"step", b"regi", b"meml", b"pgm=", b"parm", b"ief0", b"smf3", b"ceex", b"ceed", b"ceec",
    b"ceer", b"celq", b"_cee", b"ceeo", b"rpto", b"rpts", b"all3", b"stat", b"64bi", b"31bi", b"24bi",
    b"ovr ", b"nono", b"libh", b"iohe",
];

const fn hash(four: u32) -> usize {
    (four.wrapping_mul(0x9e37_79b1) >> 22) as usize
}

const TABLE: [bool; 1024] = {
    let mut table = [false; 1024];
    let mut at = 0;
    while at < STARTS.len() {
        table[hash(u32::from_le_bytes(*STARTS[at]) | 0x2020_2020)] = true;
        at += 1;
    }
    table
};

const LETTER: [bool; 256] = {
    let mut letter = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        letter[byte] = (byte as u8).is_ascii_alphanumeric();
        byte += 1;
    }
    letter
};

fn is_of_interest(text: &[u8]) -> bool {
    let mut in_word = false;
    for (at, &byte) in text.iter().enumerate() {
        let letter = LETTER[usize::from(byte)] || byte == b'_';
        // A control character may stand before a word: a digit does not hide what follows it.
        if letter
            && !in_word
            && let Some(four) = text.get(at..at + 4)
        {
            let four = u32::from_le_bytes([four[0], four[1], four[2], four[3]]) | 0x2020_2020;
            if TABLE[hash(four)]
                && STARTS.iter().any(|start| u32::from_le_bytes(**start) | 0x2020_2020 == four)
            {
                return true;
            }
        }
        in_word = letter && !byte.is_ascii_digit();
    }
    false
}
