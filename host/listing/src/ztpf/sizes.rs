//! Buffer sizes of the available lists: `AVL1 32 , AVL2 64 , ...` after their label.
//!
//! Invariant: the lists are numbered from 1 without a gap, and their sizes grow; a size at the end of a line that may
//! be cut is only likely.

use super::text::{squeezed, stands};
use super::widths::Widths;
use crate::lines::Line;
use crate::model::{Doubt, Doubtful, Figure};
use crate::number::Word;
use crate::words::{evidence, split};

const LABELS: [&[u8]; 2] = [b"BUFFERSIZESINBYTES:", b"LISTBUFFERSIZES:"];
/// The most lists of a report.
const MOST: usize = 9;
/// The most lines of sizes.
const LINES: u64 = 3;
/// All sizes are multiples of this.
const UNIT: u64 = 8;

/// Sizes that are being read.
#[derive(Default)]
pub(crate) struct Sizes {
    label: Option<u64>,
    /// List, size, length of the line if the size ends it.
    all: Vec<(u8, Figure, Option<usize>)>,
    doubts: Vec<Doubt>,
    open: bool,
}

impl Sizes {
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(crate) fn same(&self, other: &Self) -> bool {
        let values =
            |sizes: &Self| sizes.all.iter().map(|(list, size, _)| (*list, size.value)).collect::<Vec<_>>();
        values(self) == values(other)
    }

    /// Reads a line; true if it has sizes.
    pub(crate) fn line(&mut self, line: Line<'_>, widths: &mut Widths) -> bool {
        let label = line.text.contains(&b':')
            && LABELS.iter().any(|label| stands(&squeezed(line.text), label, 1).is_some());
        let behind = if label && self.label.is_none() {
            self.label = Some(line.number);
            let colon = line.text.iter().rposition(|byte| *byte == b':').unwrap_or(0);
            &line.text[colon + 1..]
        } else if self.open && line.number <= self.label.unwrap_or(0) + LINES && begins(line.text) {
            line.text
        } else {
            return false;
        };
        widths.seen(line.text);
        self.open = true;
        self.take(line, behind);
        true
    }

    fn take(&mut self, line: Line<'_>, behind: &[u8]) {
        // A comma between digits is part of a number.
        let digit = |at: Option<usize>| at.and_then(|at| behind.get(at)).is_some_and(u8::is_ascii_digit);
        let apart = |at: usize| match behind[at] {
            b'=' => true,
            b',' => !(digit(at.checked_sub(1)) && digit(Some(at + 1))),
            _ => false,
        };
        let free: Vec<u8> = (0..behind.len()).map(|at| if apart(at) { b' ' } else { behind[at] }).collect();
        let mut words = split(&free).peekable();
        let ends = !matches!(behind.trim_ascii_end().last(), Some(b','));
        while let Some(name) = words.next() {
            let named = list(name);
            let wrong = match (named, words.next()) {
                (Some(list), Some(size)) => match crate::number::word(size) {
                    Word::Number(value) if super::row::plain(size).is_some() => {
                        let last = words.peek().is_none() && ends;
                        let cut = last && !line.whole;
                        if !cut && self.all.len() < MOST {
                            let figure =
                                Figure { value, evidence: evidence(line.number, line.text), likely: false };
                            self.all.push((list, figure, last.then_some(line.text.len())));
                        }
                        cut
                    }
                    _ => true,
                },
                _ => true,
            };
            if wrong {
                // A text in the place of a list may be a piece of the size before it.
                if named.is_none() {
                    self.all.pop();
                }
                let words = "the sizes of the available lists are cut or damaged here".to_owned();
                self.doubts.push(Doubt { kind: Doubtful::CutLine, line: line.number, words });
                self.open = false;
                return;
            }
        }
    }

    /// The result.
    pub(crate) fn close(mut self, widths: Widths) -> (Vec<(u8, Figure)>, Vec<Doubt>) {
        let mut good: Vec<(u8, Figure)> = Vec::new();
        if let (Some(line), true, true) = (self.label, self.all.is_empty(), self.doubts.is_empty()) {
            let words = "no size follows its label".to_owned();
            self.doubts.push(Doubt { kind: Doubtful::NoValue, line, words });
        }
        for (list, mut size, end) in std::mem::take(&mut self.all) {
            let follows = usize::from(list) == good.len() + 1
                && good.last().is_none_or(|(_, last)| size.value > last.value)
                && size.value.is_multiple_of(UNIT)
                && size.value > 0;
            if !follows {
                let words =
                    format!("AVL{list} {} does not continue the sizes before it: not used", size.value);
                self.doubts.push(Doubt { kind: Doubtful::Contradiction, line: size.evidence.line, words });
                break;
            }
            size.likely = end.is_some_and(|end| widths.may_be_cut(end));
            good.push((list, size));
        }
        (good, self.doubts)
    }
}

/// `AVL3` as 3.
fn list(word: &[u8]) -> Option<u8> {
    match word {
        [a, v, l, digit @ b'1'..=b'9'] if [*a, *v, *l].eq_ignore_ascii_case(b"AVL") => Some(digit - b'0'),
        _ => None,
    }
}

/// Whether a line begins with a list.
fn begins(text: &[u8]) -> bool {
    let text = super::row::without_control(text).trim_ascii_start();
    let text = text.strip_prefix(b",").unwrap_or(text);
    text.trim_ascii_start().get(..4).is_some_and(|word| list(word).is_some()) && !text.contains(&b':')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(lines: &[&str], expect: &[u64], doubts: usize) {
        let (mut sizes, mut widths) = (Sizes::default(), Widths::default());
        widths.seen(&[b'x'; 200]);
        for (at, text) in lines.iter().enumerate() {
            let line = Line { number: at as u64 + 1, text: text.as_bytes(), whole: true };
            assert!(sizes.line(line, &mut widths), "{text}");
        }
        let (found, said) = sizes.close(widths);
        assert_eq!(found.iter().map(|(_, size)| size.value).collect::<Vec<_>>(), expect, "{lines:?}");
        assert_eq!(said.len(), doubts, "{said:?}");
    }

    #[test]
    fn sizes_by_label() {
        check(&["CURRENT BUFFER SIZES IN BYTES: AVL1 48 , AVL2 96 , AVL3 1,024"], &[48, 96, 1024], 0);
        check(&["ecb heap avl list buffer sizes: avl1=48,", "avl2=96"], &[48, 96], 0);
        check(&["CURRENT BUFFER\tSIZES IN BYT\tES: A"], &[], 1);
        check(&["BUFFER SIZES IN BYTES: AVL1 48 , AVL2 9O , AVL3 128"], &[48], 1);
        check(&["BUFFER SIZES IN BYTES: AVL1 48 , AVL2 40 , AVL3 128"], &[48], 1);
        check(&["BUFFER SIZES IN BYTES: AVL1 48 , AVL3 128"], &[48], 1);
        check(&["BUFFER SIZES IN BYTES: AVL1 48 , AVL2 128 0 , AVL3 4096"], &[48], 1);
        check(&["BUFFER SIZES IN BYTES:"], &[], 1);
    }

    #[test]
    fn the_end_of_the_longest_line_is_only_likely() {
        let (mut sizes, mut widths) = (Sizes::default(), Widths::default());
        widths.seen(b"TPF");
        let text = "BUFFER SIZES IN BYTES: AVL1 48 , AVL2 128";
        sizes.line(Line { number: 1, text: text.as_bytes(), whole: true }, &mut widths);
        let (found, _) = sizes.close(widths);
        assert_eq!(found.iter().map(|(_, size)| size.likely).collect::<Vec<_>>(), [false, true]);
    }
}
