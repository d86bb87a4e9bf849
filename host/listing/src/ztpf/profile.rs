//! The instruction profile (`ZTRAP EI`): the samples of each instruction of each object.
//!
//! ```text
//! SSU PROG DISP INST COUNT
//! BSS CFVS - slockc.goff
//! P 000000000000014C E558 (CGHSI) 149        displacement, mnemonic [immediate byte], count
//! P 000 0000000001B E CSG 7943               the same, with a displacement that print has broken
//! ```
//!
//! Invariant: the count is the last word, the mnemonic the first word after the displacement; if it is not clear
//! which word that is, the row is not read. A count that may have lost digits is only likely; lines that are all shorter than
//! any record have lost none, whatever follows them. A displacement in pieces
//! is not put together: where print breaks a word, it may repeat a letter. Repeated headers begin a page, unless
//! an earlier object begins anew: that is another profile.
//! Not here: the pages of the reduction run around it; no public source shows their headings.

use super::row::{MOST_COUNTED, is_prefix, is_time, plain, without_control};
use super::widths::Widths;
use super::{DOUBTS, Step};
use crate::lines::Line;
use crate::model::ztpf::{Found, Profile, Sample};
use crate::model::{Doubt, Doubtful, Evidence, Figure};
use crate::words::{evidence, split, tidy};
use std::collections::HashMap;

/// The most rows kept.
const MOST: usize = 20_000;
/// Hexadecimal digits of a whole displacement.
const WHOLE: usize = 8;

/// Instructions that are printed with an operand: their immediate byte.
const IMMEDIATE: [&str; 12] =
    ["TM", "TMY", "CLI", "CLIY", "MVI", "MVIY", "NI", "NIY", "OI", "OIY", "XI", "XIY"];

/// A profile that is being read.
pub(crate) struct Open {
    found: Profile,
    /// Repeated headers, and the number of rows before them.
    pages: Vec<(usize, Evidence)>,
    object: String,
    widths: Widths,
    /// Length of the headers, if their last word is whole.
    headers: Option<usize>,
    /// Each row's line: its length, blanks before its count, digits of it.
    ends: Vec<(usize, usize, usize)>,
    /// A row's displacement was broken: the doubt is added once.
    broken: bool,
}

impl Open {
    pub(crate) fn new(line: Line<'_>) -> Self {
        let mut widths = Widths::default();
        widths.seen(line.text);
        let title = evidence(line.number, line.text);
        let lines = (line.number, line.number);
        let headers = line.text.to_ascii_uppercase().ends_with(b"COUNT").then_some(line.text.len());
        let found = Profile { title, lines, samples: Vec::new(), doubts: Vec::new() };
        Self {
            found,
            pages: Vec::new(),
            object: String::new(),
            widths,
            headers,
            ends: Vec::new(),
            broken: false,
        }
    }

    pub(crate) fn line(&mut self, line: Line<'_>) -> Step {
        let text = without_marks(line.text);
        self.widths.seen(line.text);
        if let Some(object) = object(&text) {
            self.object = object;
            self.found.lines.1 = line.number;
            return Step::Taken;
        }
        let words: Vec<&[u8]> = unprefixed(split(without_control(&text)).take(16).collect());
        let [b"P" | b"p", first, ..] = words[..] else {
            if super::trigger(&text).is_none() {
                return Step::Passed;
            }
            self.pages.push((self.found.samples.len(), evidence(line.number, &text)));
            return Step::Taken;
        };
        if !first.iter().all(u8::is_ascii_hexdigit) || first.len() < 3 {
            return Step::Passed;
        }
        self.found.lines.1 = line.number;
        match row(&words[1..]) {
            _ if !line.whole => self.doubt(line.number, "the input ends in this row".to_owned()),
            Err(why) => self.doubt(line.number, format!("a row of the profile is not read: {why}")),
            Ok((displacement, mnemonic, value)) => {
                if displacement.is_none() && !self.broken {
                    self.broken = true;
                    self.doubt(line.number, "columns are broken: displacements are not read".to_owned());
                }
                if self.found.samples.len() < MOST {
                    let count = Figure { value, evidence: evidence(line.number, &text), likely: false };
                    let object = self.object.clone();
                    self.found.samples.push(Sample { object, displacement, mnemonic, count });
                    let digits = words.last().map_or(0, |word| word.len());
                    let before = &text[..text.len() - digits];
                    let gap = before.iter().rev().take_while(|byte| byte.is_ascii_whitespace()).count();
                    self.ends.push((line.text.len(), gap, digits));
                }
            }
        }
        Step::Taken
    }

    fn doubt(&mut self, line: u64, words: String) {
        if self.found.doubts.len() < DOUBTS {
            self.found.doubts.push(Doubt { kind: Doubtful::NotANumber, line, words });
        }
    }

    /// The result: one or several profiles.
    pub(crate) fn close(mut self) -> Vec<Found> {
        let column = self.column();
        for (sample, (end, _, _)) in self.found.samples.iter_mut().zip(&self.ends) {
            sample.count.likely = match column {
                Some(column) => column != *end,
                // Print with broken words may have lost letters, too.
                None if self.broken => self.widths.may_be_cut(*end),
                None => self.widths.may_be_cut_in_a_record(*end),
            };
        }
        if self.found.samples.is_empty() {
            let line = self.found.lines.1;
            let words = "the headers of a profile without a row that could be read".to_owned();
            self.found.doubts.push(Doubt { kind: Doubtful::Cut, line, words });
        }
        self.profiles().into_iter().map(Found::Profile).collect()
    }

    /// The column in which counts end, if that is also where the headers end: as headers are whole, so are counts.
    ///
    /// Counts are in a column where blanks fill what they do not need. A count elsewhere may have lost digits.
    fn column(&self) -> Option<usize> {
        let headers = self.headers?;
        // All end in one column that the headers go beyond: no line is cut there.
        if let [(first, _, _), _, ..] = self.ends[..]
            && first < headers
            && self.ends.iter().all(|(end, gap, _)| *end == first && *gap >= 2)
        {
            return Some(first);
        }
        let within: Vec<_> = self.ends.iter().filter(|(end, _, _)| *end == headers).collect();
        let (_, _, first) = within.first()?;
        let filled = within.iter().all(|(_, gap, _)| *gap >= 2);
        let differ = within.iter().any(|(_, _, digits)| digits != first);
        (filled && differ && within.len() * 10 >= self.ends.len() * 7).then_some(headers)
    }

    fn profiles(mut self) -> Vec<Profile> {
        let mut all: Vec<Profile> = Vec::new();
        let froms: Vec<usize> = self.pages.iter().map(|(from, _)| *from).collect();
        let begins = begins(&self.found.samples, &froms);
        for ((from, title), _) in self.pages.into_iter().zip(begins).rev().filter(|(_, begins)| *begins) {
            let page = self.found.samples.split_off(from);
            let (doubts, before) = self.found.doubts.into_iter().partition(|doubt| doubt.line > title.line);
            self.found.doubts = before;
            let lines = (title.line, self.found.lines.1);
            self.found.lines.1 = title.line - 1;
            all.push(Profile { title, lines, samples: page, doubts });
        }
        all.push(self.found);
        all.reverse();
        all
    }
}

/// The pages that begin another profile, by the number of rows before each.
///
/// A page continues the rows before it if no object of them begins anew: for each object that both have, every
/// displacement in the page is after the last one before it. Rows after such a page belong to it. Pages are checked
/// from the last to the first, so that each row is read once: an object of a later page that does not occur between the two
/// borders has the same row before it as in the check of that page.
fn begins(samples: &[Sample], pages: &[usize]) -> Vec<bool> {
    // For each row the previous row of the same object.
    let mut last: HashMap<&str, usize> = HashMap::new();
    let before: Vec<Option<usize>> =
        samples.iter().enumerate().map(|(at, sample)| last.insert(&sample.object, at)).collect();
    // For each object the least displacement from the page on; None if one is not known.
    let mut least: HashMap<&str, Option<u64>> = HashMap::new();
    let mut begins = vec![false; pages.len()];
    let mut end = samples.len();
    for (number, &from) in pages.iter().enumerate().rev() {
        let page = from.min(end)..end;
        end = page.start;
        for sample in &samples[page.clone()] {
            let least = least.entry(&sample.object).or_insert(sample.displacement);
            *least = least.zip(sample.displacement).map(|(least, next)| least.min(next));
        }
        let goes_on = page.clone().all(|at| {
            // The first row of each object is the one without a previous row in the page.
            let Some(last) = before[at].filter(|last| *last < page.start) else { return true };
            let least = least.get(samples[at].object.as_str()).copied().flatten();
            samples[last].displacement.zip(least).is_some_and(|(last, next)| last < next)
        });
        begins[number] = !goes_on;
        if !goes_on {
            least.clear();
        }
    }
    begins
}

/// Without the marks of underlining that text recognition leaves; an opening mark alone stays, since a word is cut.
fn without_marks(text: &[u8]) -> Vec<u8> {
    if !text.contains(&b'<') {
        return text.to_vec();
    }
    let text = String::from_utf8_lossy(text).into_owned();
    let count = |mark: &str| text.matches(mark).count();
    if count("<u>") == count("</u>") { text.replace("<u>", "").replace("</u>", "") } else { text }
        .into_bytes()
}

/// Without the prefix of a log: a time, and at most two names before a row or an object.
fn unprefixed(words: Vec<&[u8]>) -> Vec<&[u8]> {
    if !words.first().is_some_and(|word| is_time(word)) {
        return words;
    }
    let begins = |at: &usize| {
        let rest = &words[*at..];
        matches!(rest, [b"P" | b"p", ..] | [_, _, b"-", ..])
            && words[1..*at].iter().all(|word| is_prefix(word))
    };
    match (1..words.len().min(4)).find(begins) {
        Some(at) => words[at..].to_vec(),
        None => words,
    }
}

/// `BSS CFVS - slockc.goff`: subsystem user, program, object.
fn object(text: &[u8]) -> Option<String> {
    let words: Vec<&[u8]> = unprefixed(split(without_control(text)).take(12).collect());
    let name = |word: &[u8]| word.len() <= 8 && word.iter().all(u8::is_ascii_alphanumeric);
    match words[..] {
        [user, program, b"-", _, ..] if name(user) && name(program) => Some(tidy(&words[1..].join(&b' '))),
        _ => None,
    }
}

fn has_byte(name: &[u8]) -> bool {
    IMMEDIATE.iter().any(|one| name.eq_ignore_ascii_case(one.as_bytes()))
}

/// Displacement if it is whole, mnemonic, count.
fn row(words: &[&[u8]]) -> Result<(Option<u64>, String, u64), &'static str> {
    let [first, between @ .., last] = words else { return Err("it is cut") };
    let count = plain(last).ok_or("its count is not a number, or is missing")?;
    if count > MOST_COUNTED {
        return Err("its count cannot be");
    }
    let mut digits = first.len();
    let mut rest = between;
    // A piece may be followed by another piece, but a whole displacement by none.
    while first.len() < WHOLE
        && let [piece, more @ ..] = rest
        && !more.is_empty()
        && piece.iter().all(u8::is_ascii_hexdigit)
        && !more[0].starts_with(b"(")
    {
        digits += piece.len();
        rest = more;
    }
    if !(WHOLE..=17).contains(&digits) {
        return Err("its displacement is cut");
    }
    let text = String::from_utf8_lossy(first);
    let displacement = (first.len() >= WHOLE).then(|| u64::from_str_radix(&text, 16).ok()).flatten();
    let mnemonic = match rest {
        // An instruction that is printed as its code has its name in parentheses.
        [_, name] if name.starts_with(b"(") => name
            .strip_prefix(b"(")
            .and_then(|name| name.strip_suffix(b")"))
            .ok_or("its instruction is cut")?,
        // Elsewhere a word before the count may be a piece of it.
        [name, byte] if has_byte(name) && byte.len() == 2 && byte.iter().all(u8::is_ascii_hexdigit) => name,
        // For an instruction with a byte, the byte was taken for the count.
        [name] if !has_byte(name) => name,
        _ => return Err("it is not plain which word is the instruction"),
    };
    let well = mnemonic.first().is_some_and(u8::is_ascii_alphabetic)
        && mnemonic.len() <= 8
        && mnemonic.iter().all(u8::is_ascii_alphanumeric);
    if !well {
        return Err("it is not plain which word is the instruction");
    }
    Ok((displacement, String::from_utf8_lossy(mnemonic).to_ascii_uppercase(), count))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: Option<(impl Into<Option<u64>>, &str, u64)>) {
        let words: Vec<&[u8]> = split(text.as_bytes()).collect();
        let got = row(&words).ok();
        let got =
            got.as_ref().map(|(displacement, mnemonic, count)| (*displacement, mnemonic.as_str(), *count));
        assert_eq!(got, expect.map(|(at, mnemonic, count)| (at.into(), mnemonic, count)), "{text}");
    }

    #[test]
    fn rows_closed_up_and_broken() {
        check("00000000000000A4 LG 12", Some((0xa4, "LG", 12)));
        check("000000000000014C E558 (CGHSI) 149", Some((0x14c, "CGHSI", 149)));
        check("00000000000156 TM 80 1,037", Some((0x156, "TM", 1037)));
        check("000000000000015E C 54", Some((0x15e, "C", 54)));
        check("000 0000000001B E csg 7943", Some((None, "CSG", 7943)));
        check("000 00000000009 C CSG 208", Some((None, "CSG", 208)));
        check("000 0000000001C 4 BRC 67", Some((None, "BRC", 67)));
    }

    fn profile(lines: &[&str]) -> Profile {
        let line = |at: usize, text: &'static str| Line {
            number: at as u64 + 1,
            text: text.as_bytes(),
            whole: true,
        };
        let lines: Vec<&'static str> = lines.iter().map(|text| &*text.to_string().leak()).collect();
        let mut open = Open::new(line(0, lines[0]));
        for (at, text) in lines.iter().enumerate().skip(1) {
            open.line(line(at, text));
        }
        match open.close().remove(0) {
            Found::Profile(profile) => profile,
            other => panic!("{other:?}"),
        }
    }

    /// The result of `begins`, computed row by row against all earlier rows: the rows after a page that continues belong to it.
    fn begins_by_rows(samples: &[Sample], pages: &[usize]) -> Vec<bool> {
        let (mut begins, mut end) = (vec![false; pages.len()], samples.len());
        for (number, &from) in pages.iter().enumerate().rev() {
            begins[number] = !samples[from..end].iter().all(|sample| {
                let last = samples[..from].iter().rev().find(|known| known.object == sample.object);
                last.is_none_or(|last| {
                    last.displacement.zip(sample.displacement).is_some_and(|(last, next)| last < next)
                })
            });
            if begins[number] {
                end = from;
            }
        }
        begins
    }

    #[test]
    fn pages_go_on_as_if_each_row_were_compared_with_all() {
        let mut next = crate::ztpf::tests::dice();
        let (mut with, mut without) = (0, 0);
        for round in 0..3_000 {
            let samples: Vec<Sample> = (0..next(14))
                .map(|at| {
                    let evidence = evidence(1, b"");
                    Sample {
                        object: format!("O{}", next(3)),
                        // Mostly growing, sometimes not known.
                        displacement: (next(12) > 0)
                            .then(|| 4 * at + next(if round % 2 == 0 { 3 } else { 12 })),
                        mnemonic: String::new(),
                        count: Figure { value: 1, evidence, likely: false },
                    }
                })
                .collect();
            let mut pages: Vec<usize> =
                (0..next(6)).map(|_| next(samples.len() as u64 + 1) as usize).collect();
            pages.sort_unstable();
            let found = begins(&samples, &pages);
            assert_eq!(found, begins_by_rows(&samples, &pages), "{samples:?} {pages:?}");
            with += found.iter().filter(|begins| **begins).count();
            without += found.iter().filter(|begins| !**begins).count();
        }
        assert!(with > 500 && without > 500, "{with} {without}");
    }

    /// As many pages as rows are kept, each with one row of its own object: comparing each page with all rows before it
    /// would take a processor more than an hour.
    #[test]
    fn thousands_of_pages_are_no_work() {
        let mut lines = vec!["SSU PROG DISP INST COUNT".to_owned()];
        for number in 0..MOST {
            lines.push("SSU PROG DISP INST COUNT".to_owned());
            lines.push(format!("U P{number:06} - X{number}"));
            lines.push("P 0000000000000010 LR 5".to_owned());
        }
        let found = profile(&lines.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(found.samples.len(), MOST);
    }

    #[test]
    fn counts_in_one_column_that_the_headers_go_beyond_are_whole() {
        let wide = " ".repeat(40);
        let found = |headers: &str| {
            profile(&[
                &format!("{wide}{headers}"),
                "HPN IPAY - queue.o",
                &format!("{wide}P 0000000000000040    CS      512"),
                &format!("{wide}P 0000000000000046    BRC     130"),
            ])
        };
        let whole = found("SSU PROG DISP         INST   COUNT");
        assert_eq!(whole.samples.iter().map(|one| one.count.likely).collect::<Vec<_>>(), [false, false]);
        // If the headers end there, too, all may be cut at that width.
        let cut = found("SSU PROG DISP         INST  COUNT");
        assert!(cut.samples.iter().all(|one| one.count.likely));
    }

    #[test]
    fn lines_shorter_than_any_record_are_whole() {
        let lines = ["SSU PROG DISP INST COUNT", "BSS CABC - mylock.goff", "P 0000000000000010 CS 5200"];
        assert!(!profile(&lines).samples[0].count.likely);
        let mut open = Open::new(Line { number: 1, text: lines[0].as_bytes(), whole: true });
        open.line(Line { number: 2, text: lines[2].as_bytes(), whole: false });
        assert!(open.found.samples.is_empty(), "the input ends in the row");
    }

    #[test]
    fn logs_write_before_lines() {
        for log in ["09.31.02 CPU-A ", "09:31:02 ", "09.31.02 JOB00017 STEP1 "] {
            let lines = [
                format!("{log}SSU PROG DISP         INST   COUNT"),
                format!("{log}HPN IPAY - queue.o"),
                format!("{log}  P 0000000000000040    CS   512"),
                format!("{log}  P 0000000000000046    BRC  13"),
            ];
            let found = profile(&lines.iter().map(String::as_str).collect::<Vec<_>>());
            let got: Vec<_> =
                found.samples.iter().map(|one| (one.object.as_str(), one.count.value)).collect();
            assert_eq!(got, [("IPAY - queue.o", 512), ("IPAY - queue.o", 13)], "{log}{found:?}");
        }
    }

    #[test]
    fn what_is_not_plain_is_not_read() {
        for bad in [
            "000000000000014C CSG",
            "000000000000014C CSG 79 43",
            "000000000000014C TM 80 10 31",
            "000000000000014C TM 80",
            "000000000000014C CSG 79O",
            "000000000000014C E558 (CGH 149",
            "000000000000014C 149",
            "000000000000014C BC 80 FF 149",
            "000000000000014C CSG 9999999999999",
            "014C CSG 5",
            "000 CSG 5",
            "000000000000014C CSG 12 3.4",
        ] {
            check(bad, None::<(u64, &str, u64)>);
        }
    }
}
