//! Bytes to lines: LF, CRLF, CR and mixes of them, form feeds, EBCDIC, two bytes for each character, records without line ends or with their lengths.
//!
//! ```text
//! bytes -> first 4K: EBCDIC? records of which length? -> lines, each decoded, with its number
//! ```
//!
//! Invariant: at most one line of at most [`LONGEST`] bytes is kept; the rest of a longer line is dropped.
//! A last line without line end is marked as such: its last word may be cut.

use std::borrow::Cow;

use crate::coding::{Form, ascii, form};
use crate::descriptors::{Descriptors, Part};
use crate::html::Html;

/// The longest line that is read, in bytes.
pub(crate) const LONGEST: usize = 32 << 10;
const FIRST_LOOK: usize = 4096;
/// The receiver of lines.
pub(crate) trait Taker {
    /// Takes a line.
    fn line(&mut self, line: Line<'_>);

    /// The position in this text, which begins a line, of the first line of possible interest; earlier lines are not handed over.
    fn next(&self, text: &[u8]) -> Option<usize>;

    /// The input breaks off after this line: the bytes after it cannot be separated.
    fn broken(&mut self, line: u64);
}

/// Cuts a stream of bytes into lines.
pub(crate) struct Lines {
    head: Vec<u8>,
    form: Option<Form>,
    kept: Vec<u8>,
    dropping: bool,
    number: u64,
    /// The first of a character's two bytes, if a piece ended between them.
    half: Option<u8>,
    /// CR at the end of the last piece: with an LF after them they are part of its line end, else each is one.
    returns: usize,
    /// The lengths of records, if the records have them.
    records: Option<Descriptors>,
    html: Html,
}

/// One line.
#[derive(Clone, Copy)]
pub(crate) struct Line<'a> {
    /// From 1.
    pub number: u64,
    /// Without line end and trailing blanks.
    pub text: &'a [u8],
    /// False where the input ends within the line.
    pub whole: bool,
}

impl Lines {
    pub(crate) fn new() -> Self {
        let (head, kept) = (Vec::new(), Vec::new());
        let html = Html::default();
        Self {
            head,
            form: None,
            kept,
            dropping: false,
            number: 0,
            half: None,
            returns: 0,
            records: None,
            html,
        }
    }

    /// Takes more bytes, and hands over the complete lines.
    pub(crate) fn feed(&mut self, bytes: &[u8], to: &mut dyn Taker) {
        if self.form.is_none() {
            self.head.extend_from_slice(bytes);
            if self.head.len() < FIRST_LOOK {
                return;
            }
            self.look(false, to);
            return;
        }
        self.cut(bytes, to);
    }

    /// The number of lines.
    pub(crate) fn count(&self) -> u64 {
        self.number
    }

    /// Hands over the rest.
    pub(crate) fn finish(&mut self, to: &mut dyn Taker) {
        if self.form.is_none() {
            self.look(true, to);
        }
        if self.records.is_some_and(|records| !records.is_between()) {
            let kept = std::mem::take(&mut self.kept);
            self.hand_over(&kept, false, to);
        }
        let ends = vec![b'\n'; std::mem::take(&mut self.returns)];
        self.cut_ends(&ends, Form::PLAIN, to);
        let rest = self.html.finish();
        self.keep(&rest);
        if !self.kept.is_empty() {
            let kept = std::mem::take(&mut self.kept);
            let whole = self.form.is_some_and(|form| form.record == Some(kept.len()));
            self.hand_over(&kept, whole, to);
        }
    }

    /// `all`: nothing follows.
    fn look(&mut self, all: bool, to: &mut dyn Taker) {
        let head = std::mem::take(&mut self.head);
        let start = &head[..head.len().min(FIRST_LOOK)];
        let is_wide = form(start).wide.is_some();
        self.records = Descriptors::of(start, all).filter(|_| !is_wide);
        if let Some(mut records) = self.records {
            let mut data = Vec::new();
            records.feed(start, &mut |part| {
                if let Part::Data(some) = part {
                    data.extend_from_slice(some);
                }
            });
            self.form = Some(Form { ebcdic: form(&data).ebcdic, ..Form::PLAIN });
            return self.cut(&head, to);
        }
        self.form = Some(form(start));
        let marks: [&[u8]; 3] = [b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff"];
        let text = marks.iter().find_map(|mark| head.strip_prefix(*mark));
        self.cut(text.unwrap_or(&head), to);
    }

    fn cut(&mut self, bytes: &[u8], to: &mut dyn Taker) {
        let form = self.form.unwrap_or(Form::PLAIN);
        if let Some(mut records) = self.records.take() {
            records.feed(bytes, &mut |part| match part {
                Part::Data(data) => self.keep(data),
                Part::End => {
                    let record = std::mem::take(&mut self.kept);
                    self.dropping = false;
                    self.hand_over(&record, true, to);
                }
                Part::Broken => to.broken(self.number),
            });
            self.records = Some(records);
            return;
        }
        match form.wide {
            Some(low_first) => {
                let narrow = self.narrow(bytes, low_first);
                self.cut_bytes(&narrow, form, to);
            }
            None if form.html => {
                let text = self.html.text(bytes);
                self.cut_bytes(&text, form, to);
            }
            None => self.cut_bytes(bytes, form, to),
        }
    }

    /// One byte for each character of two.
    fn narrow(&mut self, bytes: &[u8], low_first: bool) -> Vec<u8> {
        let mut narrow = Vec::with_capacity(bytes.len() / 2 + 1);
        for &byte in bytes {
            match self.half.take() {
                None => self.half = Some(byte),
                Some(first) => {
                    let (low, high) = if low_first { (first, byte) } else { (byte, first) };
                    narrow.push(if high == 0 { low } else { b'?' });
                }
            }
        }
        narrow
    }

    fn cut_bytes(&mut self, bytes: &[u8], form: Form, to: &mut dyn Taker) {
        if form.ebcdic || form.record.is_some() {
            self.cut_ends(bytes, form, to);
        } else {
            let bytes = self.with_one_end(bytes);
            self.cut_ends(&bytes, form, to);
        }
    }

    /// The bytes with LF alone as line end. CR before an LF, several too, are one end with it; any other CR is an end of its own.
    fn with_one_end<'b>(&mut self, bytes: &'b [u8]) -> Cow<'b, [u8]> {
        /// More in a row are ends of lines, whatever follows: nothing is kept for them.
        const MOST: usize = 64;
        let is_next_of_end = |two: &[u8]| two[0] != b'\r' || matches!(two[1], b'\r' | b'\n');
        let has_one_end = self.returns == 0
            && (!bytes.contains(&b'\r')
                || bytes.last() != Some(&b'\r') && bytes.windows(2).all(is_next_of_end));
        if has_one_end {
            return Cow::Borrowed(bytes);
        }
        let mut text = Vec::with_capacity(bytes.len() + self.returns);
        for &byte in bytes {
            match byte {
                b'\r' if self.returns == MOST => text.push(b'\n'),
                b'\r' => self.returns += 1,
                _ => {
                    let ends = std::mem::take(&mut self.returns);
                    text.extend(std::iter::repeat_n(b'\n', if byte == b'\n' { 0 } else { ends }));
                    text.push(byte);
                }
            }
        }
        Cow::Owned(text)
    }

    fn cut_ends(&mut self, mut bytes: &[u8], form: Form, to: &mut dyn Taker) {
        if let Some(length) = form.record {
            while !bytes.is_empty() {
                let take = (length - self.kept.len()).min(bytes.len());
                self.kept.extend_from_slice(&bytes[..take]);
                bytes = &bytes[take..];
                if self.kept.len() == length {
                    let record = std::mem::take(&mut self.kept);
                    self.hand_over(&record, true, to);
                }
            }
            return;
        }
        loop {
            let at_start = self.kept.is_empty() && !self.dropping;
            let mut from = 0;
            if at_start && !form.ebcdic {
                let (passed, hit) = self.pass_over(bytes, to);
                (bytes, from) = (&bytes[passed..], hit - passed);
            }
            let Some(at) = bytes[from..].iter().position(|byte| form.is_end(*byte)) else { break };
            let (start, rest) = bytes.split_at(from + at);
            bytes = &rest[1..];
            if self.kept.is_empty() && !self.dropping {
                self.hand_over(&start[..start.len().min(LONGEST)], true, to);
            } else {
                self.keep(start);
                let whole = std::mem::take(&mut self.kept);
                self.dropping = false;
                self.hand_over(&whole, true, to);
            }
        }
        self.keep(bytes);
    }

    /// The number of bytes of whole lines without interest, and the position after them of the first line of possible interest.
    fn pass_over(&mut self, bytes: &[u8], to: &mut dyn Taker) -> (usize, usize) {
        let hit = to.next(bytes).unwrap_or(bytes.len());
        let passed = bytes[..hit].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        self.number += bytes[..passed].iter().filter(|byte| **byte == b'\n').count() as u64;
        (passed, hit)
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = LONGEST - self.kept.len();
        self.dropping |= bytes.len() > room;
        self.kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn hand_over(&mut self, text: &[u8], whole: bool, to: &mut dyn Taker) {
        self.number += 1;
        let number = self.number;
        if self.form.is_some_and(|form| form.ebcdic) {
            let decoded: Vec<u8> = text.iter().map(|&byte| ascii(byte)).collect();
            to.line(Line { number, text: decoded.trim_ascii_end(), whole });
        } else if text.contains(&0xa0) {
            to.line(Line { number, text: without_hard_blanks(text).trim_ascii_end(), whole });
        } else {
            to.line(Line { number, text: text.trim_ascii_end(), whole });
        }
    }
}

/// Replaces non-breaking blanks, of UTF-8 and of Latin 1, with blanks.
fn without_hard_blanks(text: &[u8]) -> Vec<u8> {
    let mut plain = text.to_vec();
    for at in 0..plain.len() {
        let of_a_letter = at > 0 && plain[at - 1] > 0xc2;
        if plain[at] == 0xa0 && !of_a_letter {
            plain[at] = b' ';
            if at > 0 && plain[at - 1] == 0xc2 {
                plain[at - 1] = b' ';
            }
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coding::to_ebcdic;

    /// Takes all lines, or those that have this letter.
    struct All(Vec<(u64, String, bool)>, Option<u8>);

    impl Taker for All {
        fn line(&mut self, line: Line<'_>) {
            self.0.push((line.number, String::from_utf8_lossy(line.text).into_owned(), line.whole));
        }

        fn next(&self, text: &[u8]) -> Option<usize> {
            self.1.map_or(Some(0), |letter| text.iter().position(|byte| *byte == letter))
        }

        fn broken(&mut self, line: u64) {
            self.0.push((line, "broken".to_owned(), false));
        }
    }

    fn lines(bytes: &[u8], chunk: usize) -> Vec<(u64, String, bool)> {
        having(bytes, chunk, None)
    }

    fn having(bytes: &[u8], chunk: usize, letter: Option<u8>) -> Vec<(u64, String, bool)> {
        let (mut all, mut lines) = (All(Vec::new(), letter), Lines::new());
        for part in bytes.chunks(chunk) {
            lines.feed(part, &mut all);
        }
        lines.finish(&mut all);
        all.0
    }

    #[test]
    fn lines_of_no_interest_are_counted_and_passed_over() {
        let text = "one\ntwo\n\nthree with q\nfour\nq\nsix\n".repeat(300);
        let whole: Vec<_> =
            lines(text.as_bytes(), 4096).into_iter().filter(|line| line.1.contains('q')).collect();
        assert_eq!(whole.len(), 600);
        for chunk in [1, 5, 64, 4096, usize::MAX] {
            let mut some = having(text.as_bytes(), chunk, Some(b'q'));
            // A line in several pieces is handed over, whether it is of interest or not.
            some.retain(|line| line.1.contains('q'));
            assert_eq!(some, whole, "{chunk}");
        }
    }

    #[test]
    fn lines_do_not_depend_on_pieces() {
        let text = "one\r\n\n three  \nfour".repeat(400);
        let whole = lines(text.as_bytes(), usize::MAX);
        assert_eq!(whole[0], (1, "one".into(), true));
        assert_eq!(whole.last().map(|line| line.2), Some(false));
        for chunk in [1, 7, 4096, 5000] {
            assert_eq!(lines(text.as_bytes(), chunk), whole);
        }
    }

    #[test]
    fn line_ends_of_all_kinds_may_be_mixed() {
        let kinds = ["\n", "\r\n", "\r", "\r\r\n"];
        let text = |end: &dyn Fn(usize) -> &'static str| {
            (0..900).map(|at| format!("line {at} with some words{}", end(at))).collect::<String>()
        };
        let expect = lines(text(&|_| "\n").as_bytes(), usize::MAX);
        assert_eq!(expect.len(), 900);
        let all_of = |kind: &'static str| text(&|_| kind);
        let mixes = kinds.map(all_of).into_iter().chain([
            text(&|at| kinds[at % 4]),
            text(&|at| kinds[at / 300]),
            // The first 4K have one kind, the rest another.
            text(&|at| kinds[usize::from(at < 600) * 2]),
        ]);
        for mixed in mixes {
            for chunk in [1, 7, 4096, usize::MAX] {
                assert_eq!(lines(mixed.as_bytes(), chunk), expect, "{chunk} {:?}", &mixed[..80]);
            }
        }
        let blank = lines(b"one\r\r\rtwo", 2);
        assert_eq!(blank.iter().map(|line| line.0).collect::<Vec<_>>(), [1, 2, 3, 4]);
        assert_eq!(lines(&[b'\r'; 1000], 100).len(), 1000, "nothing is kept for them");
    }

    #[test]
    fn ebcdic_with_line_ends_and_as_records() {
        let text = "    HEAP statistics:\n      Initial size:     32768\n";
        assert_eq!(lines(&to_ebcdic(text), 9)[1].1, "      Initial size:     32768");
        let records: String = text.repeat(9).lines().map(|line| format!("{line:<121}")).collect();
        for bytes in [to_ebcdic(&records), records.into_bytes()] {
            let all = lines(&bytes, 100);
            assert_eq!(all.len(), 18);
            assert_eq!(all[17], (18, "      Initial size:     32768".into(), true));
        }
    }

    #[test]
    fn records_of_every_usual_length_without_line_ends() {
        let text = "1   HEAP statistics:\n       Initial size:     32768\n       Increment size:     32768\n"
            .repeat(9);
        for length in [80, 121, 132, 133] {
            let records: String = text.lines().map(|line| format!("{line:<length$}")).collect();
            let all = lines(&to_ebcdic(&records), 100);
            assert_eq!((all.len(), all[26].1.trim_start()), (27, "Increment size:     32768"), "{length}");
        }
    }

    #[test]
    fn records_with_descriptors_are_lines() {
        let described = |data: &[u8]| {
            let length = u16::try_from(data.len() + 4).expect("a record");
            [&length.to_be_bytes()[..], &[0, 0], data].concat()
        };
        let text = "    HEAP statistics:\n\n      Initial size:     32768\n".repeat(60);
        let records: Vec<Vec<u8>> = text.lines().map(|line| described(&to_ebcdic(line))).collect();
        let blocks =
            |blocks: &[Vec<u8>]| blocks.chunks(50).flat_map(|some| described(&some.concat())).collect();
        let in_blocks: Vec<u8> = blocks(&records);
        let expect = lines(text.as_bytes(), 4096);
        // RECFM=VBS: records in segments; the last record of a block continues in the next.
        let segments = |record: &Vec<u8>| -> Vec<u8> {
            let data = &record[4..];
            let (one, two) = data.split_at(data.len() / 2);
            let coded = |code: u8, data: &[u8]| {
                let mut segment = described(data);
                segment[2] = code;
                segment
            };
            [coded(1, one), coded(3, b""), coded(2, two)].concat()
        };
        let spanned: Vec<u8> = records.iter().flat_map(segments).collect();
        for bytes in [records.concat(), in_blocks, spanned] {
            for chunk in [1, 100, 5000] {
                assert_eq!(lines(&bytes, chunk), expect);
            }
            let cut = lines(&bytes[..bytes.len() - 3], 4096);
            assert_eq!(cut.last(), Some(&(180, "      Initial size:     32".to_owned(), false)));
            let torn = [&bytes[..], b"\xff\xff\x40\x40", &bytes].concat();
            assert_eq!(lines(&torn, 64)[180], (180, "broken".to_owned(), false));
        }
        assert_eq!(lines(&described(b"one"), 9), [(1, "one".to_owned(), true)]);
    }

    #[test]
    fn a_line_without_end_takes_no_memory() {
        let mut lines = Lines::new();
        for _ in 0..1000 {
            lines.feed(&[b'x'; 4096], &mut All(Vec::new(), None));
            assert!(lines.kept.len() <= LONGEST);
        }
    }
}
