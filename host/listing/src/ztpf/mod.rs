//! Listings of z/TPF: heap of ECBs, system heap, name-value pairs, instruction profile.
//!
//! ```text
//! line -> a title, a message, headers? -> the reader of that table, until another begins or lines are quiet
//!      \-> known by name, but its layout by no source -> "layout not known, not read"
//! ```
//!
//! | module | reads |
//! |---|---|
//! | `frequency`, `row`, `total` | request size reports, usage reports of the preallocated and the virtual heap |
//! | `sizes` | buffer sizes of available lists, in reports and displays |
//! | `displays` | `ZDECB HAVL`, `ZSTAT SYSHEAP` |
//! | `metrics` | tables of name-value pairs |
//! | `profile` | instructions by samples (`ZTRAP EI`) |
//! | `values` | `PEH=`, `HAVLn=`, `HAVSZn=` |
//!
//! Invariant: one table is open at a time; only a table of frequencies is held back, until it is clear that the next
//! one is not its next page.
//! Not here: output of ZMOWN, ZECBM and ZCTKA, which no public source shows.

mod display;
mod displays;
mod frequency;
mod metrics;
mod profile;
mod row;
mod sizes;
mod text;
mod total;
mod values;
mod widths;

use crate::lines::Line;
use crate::model::ztpf::{Found, Table};
use crate::model::{Evidence, Item, Unread};
use crate::words::{evidence, find, has};
use text::{squeezed, stands};

pub(crate) use display::shown;

/// The most doubts kept for one table.
const DOUBTS: usize = 100;
/// This many lines without a row end a table.
const QUIET: u64 = 90;
/// The summary before a report has no more lines.
const SUMMARY: u64 = 30;
/// Messages whose layout no source shows, and their command.
const UNKNOWN: [(&[u8], &str); 4] =
    [(b"MOWN", "ZMOWN"), (b"ECBM", "ZECBM"), (b"CTKA", "ZCTKA"), (b"DECB", "ZDECB")];

/// The column of counters in a table of name-value pairs.
const METRICS: &[u8] = b"integer_metrics";

/// Commands whose answer may appear without its message number.
const COMMANDS: [(&[u8], &str); 2] = [(b"ZMOWN", "ZMOWN"), (b"ZECBM", "ZECBM")];
/// For this many lines after a command its message is not named again.
const ANSWER: u64 = 5;

/// A reader's answer about a line.
pub(crate) enum Step {
    /// It is part of the table.
    Taken,
    /// It is something else; the table goes on.
    Passed,
    /// The table has ended before this line.
    Ended,
}

enum Open {
    Frequency(Box<frequency::Open>),
    Lists(displays::Lists),
    SystemHeap(displays::SystemHeap),
    Metrics(metrics::Open),
    Profile(profile::Open),
}

enum Trigger {
    Title(Table, bool),
    /// A report of another kind; true if it is about the heap of ECBs.
    OtherTitle(bool),
    Summary,
    Lists,
    SystemHeap,
    Unknown(&'static str),
    /// The heading of a page of the profiler.
    ProfilePage,
    Metrics,
    /// Name-value pairs in a form that no source shows.
    OtherPairs,
    Profile,
    Values,
    /// Columns of a table of frequencies.
    Columns,
}

/// The state between lines.
#[derive(Default)]
pub(crate) struct Ztpf {
    open: Option<Open>,
    /// The table before the open one, which may be its next page.
    held: Option<Box<frequency::Open>>,
    last: u64,
    /// The line with the time of collection.
    run: Option<Evidence>,
    /// The first line of a summary.
    summary: Option<u64>,
    /// The title of a report of another kind.
    other: Option<u64>,
    /// Pairs of another form were named.
    pairs: bool,
    /// The last command whose answer was named, and its place.
    command: Option<(&'static str, u64)>,
    /// A page of the profiler was named.
    page: bool,
}

impl Ztpf {
    /// Whether every line is needed.
    pub(crate) fn is_open(&self) -> bool {
        self.open.is_some() || self.summary.is_some()
    }

    /// Reads a line; true if it is part of something.
    pub(crate) fn line(&mut self, line: Line<'_>, out: &mut dyn FnMut(Item)) -> bool {
        if let Some(trigger) = trigger(line.text)
            && self.begins(trigger, line, out)
        {
            self.last = line.number;
            return true;
        }
        if let Some(first) = self.summary {
            if line.number > first + SUMMARY {
                self.summary = None;
            } else if has(line.text, "date collected") {
                self.run = Some(evidence(line.number, line.text));
                return true;
            }
        }
        let step = match &mut self.open {
            None => return false,
            Some(Open::Frequency(open)) => open.line(line),
            Some(Open::Lists(open)) => open.line(line),
            Some(Open::SystemHeap(open)) => open.line(line),
            Some(Open::Metrics(open)) => open.line(line, out),
            Some(Open::Profile(open)) => open.line(line),
        };
        match step {
            Step::Taken => self.last = line.number,
            Step::Passed if line.number <= self.last + QUIET => return false,
            Step::Passed | Step::Ended => {
                self.close(out);
                return false;
            }
        }
        true
    }

    /// The input ends.
    pub(crate) fn finish(&mut self, out: &mut dyn FnMut(Item)) {
        self.close(out);
    }

    /// Whether a line begins something; false if it is part of the open table.
    fn begins(&mut self, trigger: Trigger, line: Line<'_>, out: &mut dyn FnMut(Item)) -> bool {
        match trigger {
            Trigger::Title(table, alone) => {
                self.hold(out);
                let run = self.run.clone();
                self.open = Some(Open::Frequency(Box::new(frequency::Open::new(table, alone, line, run))));
            }
            Trigger::OtherTitle(ours) => {
                self.close(out);
                self.other = Some(line.number);
                if ours {
                    not_read("a report on the heap of ECBs: layout not known, not read", line, out);
                }
                return ours;
            }
            Trigger::Summary => {
                self.close(out);
                (self.summary, self.run) = (Some(line.number), None);
            }
            Trigger::Lists => {
                self.close(out);
                self.open = Some(Open::Lists(displays::Lists::new(line)));
            }
            Trigger::SystemHeap => {
                self.close(out);
                self.open = Some(Open::SystemHeap(displays::SystemHeap::new(line)));
            }
            Trigger::Unknown(command) => {
                self.close(out);
                let said = |(known, at): (&str, u64)| known == command && line.number <= at + ANSWER;
                if !self.command.is_some_and(said) {
                    not_read(&format!("output of {command}: layout not known, not read"), line, out);
                }
                self.command = is_command(line.text).map(|command| (command, line.number));
            }
            // It is between the rows of a profile, which goes on.
            Trigger::ProfilePage => {
                if !std::mem::replace(&mut self.page, true) {
                    not_read("heading of a page of ZTRAP: layout not known, not read", line, out);
                }
            }
            Trigger::Metrics => {
                self.close(out);
                self.open = Some(Open::Metrics(metrics::Open::new(line)));
            }
            Trigger::OtherPairs if matches!(self.open, Some(Open::Metrics(_))) => return false,
            Trigger::OtherPairs => {
                if !std::mem::replace(&mut self.pairs, true) {
                    not_read("name-value pairs without headers: layout not known, not read", line, out);
                }
            }
            // The headers are on each page.
            Trigger::Profile if matches!(self.open, Some(Open::Profile(_))) => return false,
            Trigger::Profile => {
                self.close(out);
                self.open = Some(Open::Profile(profile::Open::new(line)));
            }
            Trigger::Values => return values::line(line, out),
            Trigger::Columns => {
                let known = matches!(self.open, Some(Open::Frequency(_)));
                let others = self.other.is_some_and(|other| line.number <= other + SUMMARY);
                if known || others {
                    return false;
                }
                self.close(out);
                not_read("a table of frequencies without its title: not read", line, out);
            }
        }
        true
    }

    /// Holds a table of frequencies back until it is clear that it has no next page; any other table ends.
    fn hold(&mut self, out: &mut dyn FnMut(Item)) {
        match self.open.take() {
            Some(Open::Frequency(open)) => {
                let open = self.joined(open, out);
                self.held = Some(open);
            }
            other => {
                self.open = other;
                self.close(out);
            }
        }
    }

    /// Joins the held table and this one, if this is its next page; otherwise the held table goes out.
    fn joined(&mut self, open: Box<frequency::Open>, out: &mut dyn FnMut(Item)) -> Box<frequency::Open> {
        match self.held.take() {
            Some(mut held) if open.continues(&held) => {
                held.join(*open);
                held
            }
            Some(held) => {
                give(held.close(), out);
                open
            }
            None => open,
        }
    }

    fn close(&mut self, out: &mut dyn FnMut(Item)) {
        let found = match self.open.take() {
            None => None,
            Some(Open::Frequency(open)) => self.joined(open, out).close(),
            Some(Open::Lists(open)) => Some(open.close()),
            Some(Open::SystemHeap(open)) => Some(open.close()),
            Some(Open::Metrics(open)) => open.close(),
            Some(Open::Profile(open)) => {
                for found in open.close() {
                    give(Some(found), out);
                }
                None
            }
        };
        give(found, out);
    }
}

fn give(found: Option<Found>, out: &mut dyn FnMut(Item)) {
    if let Some(found) = found {
        out(Item::Ztpf(found));
    }
}

fn not_read(why: &str, line: Line<'_>, out: &mut dyn FnMut(Item)) {
    out(Item::Unread(Unread { evidence: evidence(line.number, line.text), why: why.to_owned() }));
}

/// The table that a line may begin: one pass over the line, one comparison for each word.
///
/// A word is checked once if its answer holds for all its later occurrences, because it depends on the whole line or on the
/// text after the word. Otherwise a line of nothing but `TPF` takes a second.
fn trigger(text: &[u8]) -> Option<Trigger> {
    let mut before = b' ';
    let mut asked: Vec<&[u8]> = Vec::new();
    // The position of the line's last brace, and of the last column of counters.
    let mut lasts: Option<(Option<usize>, Option<usize>)> = None;
    for (at, &byte) in text.iter().enumerate() {
        let starts = !before.is_ascii_alphabetic() && before != b'_';
        before = byte;
        if !starts || !byte.is_ascii_alphabetic() {
            continue;
        }
        let four = text.get(at..at + 4)?;
        let rest = &text[at..];
        let mut first = |word: &'static [u8]| {
            let is_first = !asked.contains(&word);
            if is_first {
                asked.push(word);
            }
            is_first
        };
        let found = match &[four[0], four[1], four[2], four[3]].map(|byte| byte.to_ascii_lowercase()) {
            b"tpf " | b"tpf\t" if first(b"tpf") => report(text),
            b"clas" if first(b"clas") => {
                (has(rest, "upper") && has(rest, "freq")).then_some(Trigger::Columns)
            }
            b"coll" if begins(rest, b"collection_id") => {
                let (brace, metrics) = *lasts.get_or_insert_with(|| {
                    let is_metrics = |there: &[u8]| there.eq_ignore_ascii_case(METRICS);
                    let brace = text.iter().rposition(|byte| *byte == b'{');
                    (brace, text.windows(METRICS.len()).rposition(is_metrics))
                });
                let well =
                    brace.is_none_or(|brace| brace < at) && metrics.is_some_and(|metrics| metrics > at);
                well.then_some(Trigger::Metrics)
            }
            b"inte" if begins(rest, METRICS) && first(b"inte") => {
                if metrics::is_headers(text) {
                    Some(Trigger::Metrics)
                } else {
                    (rest.contains(&b'{') && rest.contains(&b'"')).then_some(Trigger::OtherPairs)
                }
            }
            b"ssu " | b"ssu\t" => {
                // The label, and its possible error.
                const LABEL: &[u8] = b"SSUPROGDISPINSTCOUNT";
                let rest = squeezed(rest);
                let label = stands(&rest[..rest.len().min(LABEL.len() + 2)], LABEL, 1);
                label.is_some_and(|(start, _)| start <= 1).then_some(Trigger::Profile)
            }
            b"peh=" | b"havl" | b"havs" => values::stands(rest).then_some(Trigger::Values),
            b"decb" | b"stat" | b"mown" | b"ecbm" | b"ctka" => message(rest),
            b"zmow" | b"zecb" if first(b"command") => is_command(text).map(Trigger::Unknown),
            b"ztra" if first(b"ztra") => (is_shouted(text, b"ZTRAP")
                && [&b"report"[..], b"reduction", b"page"].iter().any(|word| find(rest, word).is_some()))
            .then_some(Trigger::ProfilePage),
            _ => None,
        };
        if found.is_some() {
            return found;
        }
    }
    None
}

/// Whether a text begins with a name in small letters, without regard to case.
fn begins(text: &[u8], name: &[u8]) -> bool {
    text.get(..name.len()).is_some_and(|there| there.eq_ignore_ascii_case(name))
}

/// The command at the start of a line, in capitals like the whole line, after the prefix of a log.
fn is_command(text: &[u8]) -> Option<&'static str> {
    COMMANDS.iter().find(|(name, _)| is_shouted(text, name)).map(|(_, command)| *command)
}

fn is_shouted(text: &[u8], name: &[u8]) -> bool {
    let mut words = crate::words::split(row::without_control(text))
        .skip_while(|word| *word != name && row::is_prefix(word));
    words.next() == Some(name) && !text.iter().any(u8::is_ascii_lowercase)
}

/// A title.
fn report(text: &[u8]) -> Option<Trigger> {
    let text = squeezed(text);
    // Even if damaged, one half of the word is there. Most lines with TPF end here.
    if !text.windows(4).any(|four| matches!(four, b"REPO" | b"PORT")) {
        return None;
    }
    let is = |label: &str| stands(&text, label.as_bytes(), 1).is_some();
    match frequency::title(&text) {
        Some((table, alone)) => Some(Trigger::Title(table, alone)),
        None if is("TPFENVIRONMENTSUMMARYREPORT") => Some(Trigger::Summary),
        None if is("REPORT") => {
            Some(Trigger::OtherTitle(is("ECBHEAP") && !text.ends_with(b".") && text.starts_with(b"TPF")))
        }
        None => None,
    }
}

/// The number of a message: four letters, four digits, a letter.
fn message(text: &[u8]) -> Option<Trigger> {
    let (id, behind) = text.split_at_checked(9)?;
    let well = id[4..8].iter().all(u8::is_ascii_digit)
        && id[8].is_ascii_alphabetic()
        && !behind.first().is_some_and(u8::is_ascii_alphanumeric);
    let name = id[..4].to_ascii_uppercase();
    match (well, &name[..], &id[4..8]) {
        (false, _, _) => None,
        (_, b"DECB", b"0125") => Some(Trigger::Lists),
        (_, b"STAT", b"0126") => Some(Trigger::SystemHeap),
        (_, b"STAT", _) => None,
        (_, name, _) => {
            UNKNOWN.iter().find(|(known, _)| *known == name).map(|(_, command)| Trigger::Unknown(command))
        }
    }
}

/// The name after `SETNAME =`.
fn set_name(text: &[u8]) -> Option<String> {
    let at = find(text, b"setname")?;
    let value = text[at + 7..].trim_ascii_start().strip_prefix(b"=")?;
    let name = crate::words::split(value).next()?;
    let well = name.len() <= 16 && name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    well.then(|| String::from_utf8_lossy(name).to_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers below a bound, the same in every run.
    pub(super) fn dice() -> impl FnMut(u64) -> u64 {
        let mut state = 1_u64;
        move |below| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        }
    }

    fn check(text: &str, expect: &str) {
        let got = match trigger(text.as_bytes()) {
            None => "nothing",
            Some(Trigger::Title(_, true)) => "title",
            Some(Trigger::Title(_, false)) => "mention",
            Some(Trigger::OtherTitle(true)) => "unknown title",
            Some(Trigger::OtherTitle(false)) => "other title",
            Some(Trigger::Summary) => "summary",
            Some(Trigger::Lists) => "lists",
            Some(Trigger::SystemHeap) => "system heap",
            Some(Trigger::Unknown(command)) => command,
            Some(Trigger::ProfilePage) => "page",
            Some(Trigger::Metrics) => "metrics",
            Some(Trigger::OtherPairs) => "other pairs",
            Some(Trigger::Profile) => "profile",
            Some(Trigger::Values) => "values",
            Some(Trigger::Columns) => "columns",
        };
        assert_eq!(got, expect, "{text}");
    }

    #[test]
    fn reports_are_read_from_ebcdic() {
        let text = "1TPF ECB HEAP REQUEST SIZE REPORT\n0CLASS UPPER   FREQUENCY   PERCENT\n         32    5   100.00%\n";
        let text = format!("{}{text}", "JOB01234 ALL IS WELL\n".repeat(20));
        let items = crate::read(&crate::coding::to_ebcdic(&text));
        assert!(
            matches!(&items[..], [Item::Ztpf(Found::Frequencies(found))] if found.read() == 5),
            "{items:?}"
        );
    }

    #[test]
    fn pages_that_are_joined_are_one_table_with_no_more_rows_than_one_has() {
        let page = |from: u64, rows: u64| {
            let row = |at: u64| format!("{} 0 0.00%\n", 32 * (from + at));
            let rows: String = (1..=rows).map(row).collect();
            format!("TPF ECB HEAP REQUEST SIZE REPORT\nCLASS UPPER LIMIT FREQUENCY\n{rows}")
        };
        let rows = |text: &str| -> Vec<usize> {
            let rows = |item: &Item| match item {
                Item::Ztpf(Found::Frequencies(found)) => found.rows.len(),
                other => panic!("{other:?}"),
            };
            crate::read(text.as_bytes()).iter().map(rows).collect()
        };
        assert_eq!(rows(&[page(0, 30), page(30, 20)].concat()), [50]);
        let many: String = (0..2_500).map(|number| page(number, 1)).collect();
        assert_eq!(rows(&many), [1_000, 1_000, 500]);
    }

    /// If each word were checked with all of the line after it, one of these lines would take hours.
    #[test]
    fn words_that_come_again_and_again_are_no_work() {
        for (first, word) in [
            ("", "tpf "),
            ("REPOXXX ", "tpf "),
            ("", "clas "),
            ("upper ", "clas "),
            ("{ ", "collection_id "),
            ("", "collection_id integer_metrics { "),
            ("", "integer_metrics x; "),
            ("", "integer_metrics x{ "),
            ("x ", "ZTRAP "),
            ("x ", "ZMOWN "),
            ("", "ssu "),
            ("", "havl "),
        ] {
            let text = format!("x {first}{}", word.repeat((1 << 20) / word.len()));
            assert!(trigger(text.as_bytes()).is_none(), "{first}{word}");
        }
    }

    #[test]
    fn what_a_line_begins() {
        check("1TPF ECB HEAP REQUEST SIZE REPORT      SYSTEM  WIDE", "title");
        check("tpf 31-bit virtual ecb heap storage usage report", "title");
        check("A new TPF 31-BIT VIRTUAL ECB HEAP STORAGE USAGE REPORT comes soon.", "mention");
        check("TPF 64-BIT ECB HEAP STORAGE USAGE REPORT", "unknown title");
        check("TPF MESSAGE SIZE REPORT   SYSTEM WIDE", "other title");
        check("TPF ENVIRONMENT SUMMARY REPORT", "summary");
        check("DECB0125I 10.15.07 COUNT OF ECB HEAP", "lists");
        check("User: STAT0126I 10.15.07 SYSTEM HEAP", "system heap");
        check("MOWN0001I 10.15.07", "ZMOWN");
        check("DECB0011I 10.15.07", "ZDECB");
        check("STAT0014I", "nothing");
        check(" 09.10.11 ZMOWN USER", "ZMOWN");
        check("ZECBM DISPLAY", "ZECBM");
        check("ZMOWN shows owners", "nothing");
        check("ZTRAP REDUCTION REPORT  PAGE 1", "page");
        check("ZTRAP EI", "nothing");
        check("ssu\tprog disp\tinst\tcount", "profile");
        check("COLLECTION_ID,UOWID,COUNT1,INTEGER_METRICS", "metrics");
        check("TIMESTAMP   OWNER   INTEGER_METRICS", "metrics");
        check("ROW 1 INTEGER_METRICS: {\"FIND\":1}", "other pairs");
        check("The column INTEGER_METRICS holds JSON.", "nothing");
        check("HAVSZ1=64 HAVSZ2=128", "values");
        check("   CLASS UPPER   FREQUENCY   PERCENT", "columns");
        check("HAVLOCK, STATUS, DECBAR, STATISTICS", "nothing");
        // Repeated words, of which the first ones begin nothing.
        check("COLLECTION_ID { COLLECTION_ID INTEGER_METRICS", "metrics");
        check("COLLECTION_ID { COLLECTION_ID INTEGER_METRICS {", "nothing");
        check("INTEGER_METRICS { COLLECTION_IDS, COLLECTION_ID", "nothing");
        check("the class of a class: CLASS UPPER LIMIT FREQUENCY", "columns");
        check("tpf or tpf and tpf PEH=5", "values");
        check("SSU of the SSU PROG DISP INST COUNT", "profile");
        check("SSU PROG DISP INST CUNT", "profile");
    }
}
