//! Buffer usage statistics (BUS): the sizes of a session's buffers and of its storage thread.
//!
//! ```text
//!  No. Name    Type    Size      Used   Perc.  MaxUsed   Perc.  MaxSize   Perc.     labels, in this order
//!  18  PCACHE    V   512000        32    0.0    511958  100.0                       values, in the same order
//! ThrdSize   Total  1382656    166593   12.0 ...                                    in bytes
//!   2000K  (in KB)   1351K      163K    ...                                         the same in K, rounded up
//! ```
//!
//! Invariant: a value counts only if a second value confirms it: a share of the size, printed with one
//! decimal, or the same figure in K. So a line that is cut or damaged loses figures and makes none up.
//! Two figures that cannot both be true are a doubt; a figure that a third confirms is *likely*, never more.
//! Not here: the meaning of the sizes.

use crate::lines::Line;
use crate::model::Doubtful;
use crate::words::{evidence, find, has, split};

use super::shares::{Values, agrees};
use super::thread::{Seen, Thread};
use crate::model::natural::{BufferRow, BufferUsage, Natural, doubt};

/// This many lines without a part of it end a report.
const QUIET: u64 = 80;
/// The most buffers kept of one report.
const ROWS: usize = 400;

/// The state between lines.
#[derive(Default)]
pub(crate) struct Buffers {
    open: Option<Open>,
}

struct Open {
    report: BufferUsage,
    /// Whether the labels of the columns were seen.
    labelled: bool,
    last_number: u64,
    thread: Thread,
    last_seen: u64,
    finished: bool,
    /// A heading since the last buffer: of another page, or of another report.
    again: Option<(u64, Option<String>)>,
}

impl Buffers {
    pub(crate) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Reads a line; true if it is part of a report.
    pub(crate) fn line(&mut self, line: Line<'_>, out: &mut dyn FnMut(Natural)) -> bool {
        if has(line.text, "natural bus utility") || has(line.text, "buffer usage statistics") {
            self.heading(line, out);
            return true;
        }
        let words: Vec<&[u8]> = split(line.text).collect();
        self.begin_again(&words, out);
        let Some(open) = &mut self.open else { return false };
        let seen = if is_labels(&words) {
            open.labelled = true;
            true
        } else {
            let seen = open.thread.line(line, &words, open.labelled, &mut open.report);
            open.finished = seen == Seen::InK;
            seen != Seen::Nothing || open.row(line, &words)
        };
        if seen {
            open.last_seen = line.number;
            open.report.lines.1 = line.number;
        }
        if open.finished || line.number > open.last_seen + QUIET {
            self.finish(out);
        }
        seen
    }

    pub(crate) fn finish(&mut self, out: &mut dyn FnMut(Natural)) {
        let Some(mut open) = self.open.take() else { return };
        open.thread.close(None, &mut open.report);
        let report = &mut open.report;
        if report.rows.is_empty() && report.thread.is_none() && report.doubts.is_empty() {
            return;
        }
        if !open.finished {
            let line = report.lines.1;
            let words = "the buffer usage report is cut: its thread size in K is missing".to_owned();
            doubt(&mut report.doubts, Doubtful::Cut, line, words);
        }
        let inside = |row: &&BufferRow| matches!(row.kind, 'V' | 'F');
        // The sum of the printed sizes may exceed 64 bits.
        let sum = report.rows.iter().filter(inside).fold(0_u64, |sum, row| sum.saturating_add(row.size));
        if let Some(total) = report.thread.as_mut().and_then(|thread| thread.total.as_mut())
            && sum > total.value
        {
            total.likely = true;
            let (line, all) = (total.evidence.line, total.value);
            let words = format!("the buffers are {sum} bytes together, and their total says {all}");
            doubt(&mut report.doubts, Doubtful::Contradiction, line, words);
        }
        out(Natural::Buffers(Box::new(open.report)));
    }

    /// The first or second line of a heading, or of a page.
    fn heading(&mut self, line: Line<'_>, out: &mut dyn FnMut(Natural)) {
        let user = after(line.text, b"user ");
        let other = |open: &Open| {
            let known = open.report.user.as_ref();
            user.as_ref().is_some_and(|user| known.is_some_and(|known| known != user))
        };
        if self.open.as_ref().is_some_and(other) {
            self.finish(out);
        }
        let open = self.open.get_or_insert_with(|| Open::new(line.number));
        open.last_seen = line.number;
        open.report.is_of_linux |= has(line.text, "opsys linux");
        if let Some(user) = user {
            open.report.user.get_or_insert(user);
        }
        if has(line.text, "natural bus utility") {
            let words = split(line.text).filter(|word| is_date(word));
            // A control character may directly precede the time of day.
            let plain = |word: &[u8]| {
                let skip = usize::from(word.get(3) == Some(&b':'));
                String::from_utf8_lossy(&word[skip..]).into_owned()
            };
            let date: Vec<_> = words.map(plain).collect();
            let date = (!date.is_empty()).then(|| date.join(" "));
            if open.last_number == 0 {
                open.report.date = open.report.date.take().or(date);
            } else {
                open.again = Some((line.number, date));
            }
        }
    }

    /// After a heading, numbers either continue, on another page, or begin anew, in another report.
    fn begin_again(&mut self, words: &[&[u8]], out: &mut dyn FnMut(Natural)) {
        let Some(open) = &mut self.open else { return };
        let Some(at) = row_at(words) else { return };
        if let Some((line, date)) = open.again.take()
            && plain(words[at]).is_some_and(|number| number <= open.last_number)
        {
            let (labelled, user) = (open.labelled, open.report.user.clone());
            let is_of_linux = open.report.is_of_linux;
            self.finish(out);
            let open = self.open.insert(Open::new(line));
            open.report.is_of_linux = is_of_linux;
            (open.labelled, open.report.user, open.report.date) = (labelled, user, date);
        }
    }
}

impl Open {
    fn new(line: u64) -> Self {
        Self {
            report: BufferUsage { lines: (line, line), ..BufferUsage::default() },
            labelled: false,
            last_number: 0,
            thread: Thread::default(),
            last_seen: line,
            finished: false,
            again: None,
        }
    }

    /// A buffer: number, name, type, and values.
    fn row(&mut self, line: Line<'_>, words: &[&[u8]]) -> bool {
        let Some(at) = row_at(words) else { return false };
        let (number, name) = (plain(words[at]).unwrap_or(0), words[at + 1]);
        let name = String::from_utf8_lossy(name).to_ascii_uppercase();
        if !self.labelled {
            let words = format!("the buffer {name} without the labels of its columns: not read");
            doubt(&mut self.report.doubts, Doubtful::NoSection, line.number, words);
            self.report.rows_left += 1;
            return true;
        }
        if number <= self.last_number {
            let words = "lines of two reports are mixed".to_owned();
            doubt(&mut self.report.doubts, Doubtful::Interleaved, line.number, words);
        }
        self.last_number = number;
        let Some(values) = Values::of(&words[at + 3..]) else {
            let words = format!("the line of the buffer {name} is damaged or cut: not read");
            doubt(&mut self.report.doubts, Doubtful::NotANumber, line.number, words);
            self.report.rows_left += 1;
            return true;
        };
        let Values { size, used, max_used, .. } = values;
        if !agrees(used.0, size, used.1) || max_used.is_some_and(|(max, share)| !agrees(max, size, share)) {
            let words = format!("{name}: its use does not match the printed share of its size: not read");
            doubt(&mut self.report.doubts, Doubtful::Contradiction, line.number, words);
            self.report.rows_left += 1;
            return true;
        }
        if used.0 > size || max_used.is_some_and(|(max, _)| max > size || max < used.0) {
            let words = format!("{name}: more is used than there is or was: not read");
            doubt(&mut self.report.doubts, Doubtful::Absurd, line.number, words);
            self.report.rows_left += 1;
            return true;
        }
        if self.report.rows.len() < ROWS {
            self.report.rows.push(BufferRow {
                name,
                kind: char::from(words[at + 2][0].to_ascii_uppercase()),
                size,
                used: used.0,
                max_used: max_used.map(|(max, _)| max),
                evidence: evidence(line.number, line.text),
            });
        }
        true
    }
}

/// Where number, name and type of a buffer stand in a line.
fn row_at(words: &[&[u8]]) -> Option<usize> {
    let is_row = |at: &usize| {
        let [number, name, kind, _, ..] = words[*at..] else { return false };
        plain(number).is_some()
            && name.first().is_some_and(u8::is_ascii_alphabetic)
            && matches!(kind, [b'V' | b'v' | b'F' | b'f' | b'P' | b'p'])
    };
    (0..words.len()).find(is_row)
}

fn is_labels(words: &[&[u8]]) -> bool {
    let wanted = ["name", "type", "size", "used", "maxused"];
    let mut all = wanted.iter();
    let mut next = all.next();
    for word in words {
        if next.is_some_and(|label| word.eq_ignore_ascii_case(label.as_bytes())) {
            next = all.next();
        }
    }
    next.is_none()
}

fn plain(word: &[u8]) -> Option<u64> {
    let digits = word.len() <= 4 && word.iter().all(u8::is_ascii_digit);
    digits.then(|| String::from_utf8_lossy(word).parse().ok()).flatten()
}

fn is_date(word: &[u8]) -> bool {
    let digits = word.iter().filter(|byte| byte.is_ascii_digit()).count();
    digits >= 4 && word.iter().all(|byte| byte.is_ascii_digit() || b":-/.".contains(byte))
}

/// The word after one.
fn after(text: &[u8], label: &[u8]) -> Option<String> {
    let at = find(text, label)?;
    let word = split(&text[at + label.len()..]).next()?;
    let name =
        word.len() <= 8 && word.iter().all(|byte| byte.is_ascii_alphanumeric() || b"$#@".contains(byte));
    name.then(|| String::from_utf8_lossy(word).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Figure;

    const HEAD: &str = "09:14:02   ***** NATURAL BUS UTILITY *****   2026-03-30\nUser KLARA  - Buffer Usage Statistics -  \
                        OpSYS z/OS\n No. Name  Type  Size  Used  Perc.  MaxUsed  Perc.  MaxSize  Perc.\n";

    fn check(text: &str) -> BufferUsage {
        let (mut buffers, mut all) = (Buffers::default(), Vec::new());
        let mut out = |found| match found {
            Natural::Buffers(report) => all.push(*report),
            other => panic!("{other:?}"),
        };
        for (number, text) in (1..).zip(text.lines()) {
            buffers.line(Line { number, text: text.as_bytes(), whole: true }, &mut out);
        }
        buffers.finish(&mut out);
        assert_eq!(all.len(), 1, "{all:#?}");
        all.remove(0)
    }

    #[test]
    fn buffers_of_more_bytes_than_can_be_counted_contradict_their_total() {
        let report = check(
            "NATURAL BUS UTILITY  User ABC\n  Nr Name Type Size Used % MaxUsed\n\
             1 AAAA V 9223372036854775808 0 0.0% 0 0.0%\n 2 BBBB V 9223372036854775808 0 0.0% 0 0.0%\n \
             THRDSIZE TOTAL 100 0 0.0% 0 0.0% 100 100.0%\n",
        );
        assert!(report.thread.and_then(|thread| thread.total).is_some_and(|total| total.likely));
        let contradictions = report.doubts.iter().filter(|doubt| doubt.kind == Doubtful::Contradiction);
        assert_eq!(contradictions.count(), 1, "{:?}", report.doubts);
    }

    #[test]
    fn a_whole_report() {
        let text = format!(
            "{HEAD} 3  PCACHE V 65536 64 0.1 65530 100.0\nThrdSize Total 819200 81920 10.0 409600 50.0 20480 2.0\n \
             1000K (in KB) 800K 80K 400K 20K\n"
        );
        let report = check(&text);
        assert_eq!(
            (report.user.as_deref(), report.date.as_deref()),
            (Some("KLARA"), Some("09:14:02 2026-03-30"))
        );
        assert_eq!((report.rows[0].size, report.rows[0].max_used), (65_536, Some(65_530)));
        let thread = report.thread.expect("a thread");
        let value = |figure: Option<Figure>| figure.map(|figure| (figure.value, figure.likely));
        assert_eq!(value(thread.thread), Some((1000 << 10, false)));
        assert_eq!(value(thread.total), Some((819_200, false)));
        assert_eq!(value(thread.max_used), Some((409_600, false)));
        assert_eq!(report.doubts, []);
    }

    #[test]
    fn what_contradicts_itself_is_likely_at_most() {
        let text = format!(
            "{HEAD}ThrdSize Total 819200 81920 10.0 1000 50.0 20480 2.0\n 1000K (in KB) 800K 80K 400K 20K\n"
        );
        let report = check(&text);
        let max = report.thread.and_then(|thread| thread.max_used).expect("likely");
        assert_eq!((max.value, max.likely, max.evidence.line), (409_600, true, 5));
        assert_eq!(report.doubts[0].kind, Doubtful::Contradiction);
        let text = text.replace("400K", "300K");
        assert_eq!(check(&text).thread.and_then(|thread| thread.max_used), None);
    }

    #[test]
    fn damaged_lines_are_named_and_not_read() {
        for row in [
            "3 PCACHE V 65S36 64 0.1 65530 100.0",
            "3 PCACHE V 65536 64 0.1 65530",
            "3 PCACHE V 65536 64 0.1 65530 100.",
            "3 PCACHE V 65536 64 0.1 6553 100.0",
            "3 PCACHE V 65536 64",
            "3 PCACHE V 65536 0.1 65530 100.0",
            "3 PCACHE V 65536 $\\cap$ 0.1 65530 100.0",
            "3 PCACHE V 65536 64 0.1 70000 106.8",
        ] {
            let report = check(&format!("{HEAD}{row}\n"));
            assert_eq!(report.rows, [], "{row}");
            assert_eq!(report.doubts[0].line, 4, "{row}");
        }
        assert_eq!(check(&format!("{HEAD}3 PCACHE V 65536 64 0.1\n")).rows[0].max_used, None);
        assert_eq!(check(&format!("{HEAD}- 3 pcache v 65,536 64 0.1\n")).rows[0].name, "PCACHE");
    }

    #[test]
    fn without_labels_nothing_is_read() {
        let text: String = HEAD.lines().take(2).map(|line| format!("{line}\n")).collect();
        let report = check(&format!("{text}3 PCACHE V 65536 64 0.1 65530 100.0\n"));
        assert_eq!((report.rows.len(), report.doubts[0].kind), (0, Doubtful::NoSection));
    }

    #[test]
    fn numbers_that_go_back_are_two_reports() {
        let row = |number: u64| format!("{number} B{number} V 65536 64 0.1 65530 100.0\n");
        assert!(check(&format!("{HEAD}{}{HEAD}{}", row(1), row(2))).is_sound(), "two pages");
        assert!(!check(&format!("{HEAD}{}{}", row(2), row(1))).is_sound());
        let (mut buffers, mut count) = (Buffers::default(), 0);
        for (number, text) in (1..).zip(format!("{HEAD}{}{HEAD}{}", row(2), row(1)).lines()) {
            let line = Line { number, text: text.as_bytes(), whole: true };
            buffers.line(line, &mut |_| count += 1);
        }
        assert!(count == 1 && buffers.is_open(), "the first was cut, the second is another one");
    }
}
