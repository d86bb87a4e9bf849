//! The storage thread of a buffer usage report: two lines with the same figures, in bytes and in K.
//!
//! ```text
//! ThrdSize   Total  1382656    166593   12.0 ...     each figure with its share of the total, the last with that of the thread
//!   2000K  (in KB)   1351K      163K    ...          the thread's size; each figure in K, rounded up
//! ```
//!
//! Invariant: a figure is certain only if bytes, K and share agree; if two of them outvote one it is *likely*.

use crate::lines::Line;
use crate::model::{Doubt, Doubtful, Evidence, Figure};
use crate::number::{self, Word};
use crate::words::{evidence, find, split};

use super::shares::{Values, agrees};
use crate::model::natural::{BufferUsage, ThreadUse, doubt};

/// The state between the two lines.
#[derive(Default)]
pub(super) struct Thread {
    bytes: Option<InBytes>,
}

/// The line of the thread in bytes: each figure with the share after it, in tenths of a percent.
struct InBytes {
    total: Figure,
    used: Option<(Figure, u64)>,
    max_used: Option<(Figure, u64)>,
    /// Its share is of the thread, not of all buffers.
    max_size: Option<(u64, u64)>,
}

/// The kind of a line.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
    Nothing,
    InBytes,
    /// The last line of a report.
    InK,
}

impl Thread {
    /// Reads a line.
    pub fn line(
        &mut self,
        line: Line<'_>,
        words: &[&[u8]],
        labelled: bool,
        report: &mut BufferUsage,
    ) -> Seen {
        if self.in_bytes(line, words, labelled, report) {
            Seen::InBytes
        } else if self.in_k(line, report) {
            Seen::InK
        } else {
            Seen::Nothing
        }
    }

    fn in_bytes(
        &mut self,
        line: Line<'_>,
        words: &[&[u8]],
        labelled: bool,
        report: &mut BufferUsage,
    ) -> bool {
        let Some(at) = words.iter().position(|word| word.eq_ignore_ascii_case(b"thrdsize")) else {
            return false;
        };
        if !words.get(at + 1).is_some_and(|word| word.eq_ignore_ascii_case(b"total")) {
            return false;
        }
        self.close(None, report);
        let figure = |value| figure(value, evidence(line.number, line.text));
        match words.get(at + 2..).filter(|_| labelled).and_then(Values::of) {
            Some(Values { size, used, max_used, max_size }) => {
                self.bytes = Some(InBytes {
                    total: figure(size),
                    used: Some((figure(used.0), used.1)),
                    max_used: max_used.map(|(max, share)| (figure(max), share)),
                    max_size,
                });
            }
            None => {
                let words =
                    "the thread's line in bytes is damaged, cut or without labels: not read".to_owned();
                doubt(&mut report.doubts, Doubtful::NotANumber, line.number, words);
            }
        }
        true
    }

    fn in_k(&mut self, line: Line<'_>, report: &mut BufferUsage) -> bool {
        let Some(at) = find(line.text, b"(in kb)") else { return false };
        let in_k = |word: &[u8]| match word.split_last() {
            Some((b'K' | b'k', _)) => match number::word(word) {
                Word::Number(bytes) => Some(bytes),
                _ => None,
            },
            _ => None,
        };
        let thread = split(&line.text[..at]).last().and_then(in_k);
        let behind: Vec<Option<u64>> = split(&line.text[at + 7..]).map(in_k).collect();
        let size = |value| figure(value, evidence(line.number, line.text));
        // Total, used, most used, and the largest; the last may be missing, as in other lines.
        let whole: Option<Vec<Figure>> = match behind.len() {
            3 | 4 => behind.iter().map(|value| value.map(size)).collect(),
            _ => None,
        };
        if whole.is_none() || thread.is_none() {
            let words = "the thread's line in K is damaged or cut: not read".to_owned();
            doubt(&mut report.doubts, Doubtful::NotANumber, line.number, words);
        }
        let mut sound = thread.filter(|_| whole.is_some()).map(size);
        let share = self.bytes.as_ref().and_then(|bytes| bytes.max_size);
        if let Some(thread) = &mut sound {
            match share {
                Some((part, tenths)) if agrees(part, thread.value, tenths) => {}
                // Without a thread the share has no base.
                None | Some((_, 0)) if thread.value == 0 => {}
                Some(_) => {
                    thread.likely = true;
                    let words = format!(
                        "of a thread of {} bytes MaxSize is not the share that is printed",
                        thread.value
                    );
                    doubt(&mut report.doubts, Doubtful::Contradiction, line.number, words);
                }
                None => thread.likely = true,
            }
        }
        self.close(whole.as_deref(), report);
        if let (Some(thread), Some(size)) = (&mut report.thread, sound) {
            thread.thread = Some(size);
        }
        true
    }

    /// Compares the two lines.
    pub fn close(&mut self, in_k: Option<&[Figure]>, report: &mut BufferUsage) {
        let bytes = self.bytes.take();
        if bytes.is_none() && in_k.is_none() {
            return;
        }
        let doubts = &mut report.doubts;
        let k = |at: usize| in_k.and_then(|all| all.get(at));
        let Some(bytes) = bytes else {
            // Nothing confirms the line in K.
            let likely = |figure: &Figure| Figure { likely: true, ..figure.clone() };
            let one = |at: usize| k(at).map(likely);
            report.thread = Some(ThreadUse { thread: None, total: one(0), used: one(1), max_used: one(2) });
            return;
        };
        let total = match k(0) {
            Some(k) if same(bytes.total.value, k.value) => Some(bytes.total.clone()),
            Some(k) => {
                contradiction(doubts, "the total", &bytes.total, k, "");
                None
            }
            None => Some(Figure { likely: true, ..bytes.total.clone() }),
        };
        let whole = total.as_ref().map(|figure| figure.value);
        let mut share = |name: &str, bytes: Option<&(Figure, u64)>, k: Option<&Figure>| -> Option<Figure> {
            let (figure, tenths) = bytes?;
            let agrees = |value| whole.is_some_and(|whole| agrees(value, whole, *tenths));
            match k {
                Some(k) if same(figure.value, k.value) && agrees(figure.value) => Some(figure.clone()),
                // The base of the share is not certain; a doubt was added.
                Some(k) if whole.is_none() && same(figure.value, k.value) => {
                    Some(Figure { likely: true, ..figure.clone() })
                }
                Some(k) if same(figure.value, k.value) => {
                    let words = format!("{name}: {} bytes are not the share that is printed", figure.value);
                    doubt(doubts, Doubtful::Contradiction, figure.evidence.line, words);
                    None
                }
                Some(k) => {
                    let by_k = agrees(k.value) || agrees(k.value.saturating_sub(512));
                    let confirmed = match (by_k, agrees(figure.value)) {
                        (true, false) => Some("in K"),
                        (false, true) => Some("in bytes"),
                        _ => None,
                    };
                    let shown = format!("{}.{} %", tenths / 10, tenths % 10);
                    let more = confirmed.map(|which| format!("; {shown} confirms the one {which}"));
                    contradiction(doubts, name, figure, k, &more.unwrap_or_default());
                    match (by_k, agrees(figure.value)) {
                        (true, false) => Some(Figure { likely: true, ..k.clone() }),
                        (false, true) => Some(Figure { likely: true, ..figure.clone() }),
                        _ => None,
                    }
                }
                None => agrees(figure.value).then(|| Figure { likely: true, ..figure.clone() }),
            }
        };
        let used = share("used", bytes.used.as_ref(), k(1));
        let max_used = share("MaxUsed", bytes.max_used.as_ref(), k(2));
        report.thread = Some(ThreadUse { thread: None, total, used, max_used });
    }
}

fn contradiction(doubts: &mut Vec<Doubt>, name: &str, bytes: &Figure, k: &Figure, more: &str) {
    let words = format!(
        "{name} says {} bytes here and {}K on line {}: they contradict each other{more}",
        bytes.value,
        k.value >> 10,
        k.evidence.line
    );
    doubt(doubts, Doubtful::Contradiction, bytes.evidence.line, words);
}

/// Whether a size in K, rounded in any way, is that of this many bytes.
fn same(bytes: u64, k: u64) -> bool {
    bytes.abs_diff(k) < 1 << 10
}

fn figure(value: u64, evidence: Evidence) -> Figure {
    Figure { value, evidence, likely: false }
}
