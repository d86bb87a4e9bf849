//! Storage reports: heading, sections, end; whole, cut, without heading, or two in one another.
//!
//! ```text
//! heading -> [section heading -> labels and numbers]... -> end -> StorageReport
//! ```
//!
//! Invariant: a label belongs to the heading above it; without that heading it belongs to none. A report that begins
//! before another ended is held back until it is clear that their lines are not mixed. A heading that is repeated in the
//! middle, with the same date and time, as on a new page, begins no other report if the sections go on after it.
//! Not here: recognition of headings and labels (`headings`), the figure of a label (`figures`), heap pools (`pools`).

use crate::contradictions;
use crate::doubts::doubt;
use crate::figures::{self, Mark, Widths, values};
use crate::headings::{Title, heading, labels};
use crate::lines::Line;
use crate::model::{Doubtful, Evidence, Figure, Item, StorageReport};
use crate::number::{Word, word};
use crate::order::{follows, goes_back, hand_over};
use crate::pools;
use crate::sections::{Field, Kind};
use crate::words::{evidence, find, has, name_and_rest, split, tidy};

/// This many lines without a word of the section end it.
const QUIET: u64 = 400;
/// The most reports held back.
const HELD: usize = 8;
/// The most marks kept for one section.
const MARKS: usize = 64;

const HEADING: &str = "storage report for enclave";
const END: &str = "end of storage report";
/// What underbar prints above the zeros of an area for which no program asked, or whose figures it did not keep.
const WITHOUT_FIGURES: [&str; 2] =
    ["none: no program asked for it", "not kept of several ended processes together"];
const THREADS: &str = "largest number of threads concurrently active";

/// The state between lines.
#[derive(Default)]
pub(crate) struct Storage {
    open: Option<Open>,
    held: Vec<StorageReport>,
}

#[derive(Default)]
struct Open {
    report: StorageReport,
    section: Option<OpenSection>,
    /// Began before the previous report ended.
    after_unended: bool,
    highest: Option<Kind>,
    widths: Widths,
    last_seen: u64,
    /// A section of another report follows: the text before it is not a text that breaks off.
    another_follows: bool,
    /// Its own heading was repeated; later text will show whether that began a page or another report.
    again: Option<StorageReport>,
    /// It has pages: a section that occurs twice is of another report, whose lines are mixed with these.
    has_pages: bool,
}

struct OpenSection {
    /// None: a section of an unknown layout.
    kind: Option<Kind>,
    heading: Evidence,
    marks: Vec<Mark>,
    /// The heading may have lost its beginning: later text will show it.
    cut: bool,
}

impl Storage {
    /// Whether every line is needed.
    pub(crate) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Reads a line; true if it is part of a report.
    pub(crate) fn line(&mut self, line: Line<'_>, out: &mut dyn FnMut(Item)) -> bool {
        let line = Line { text: without_number(line.text), ..line };
        if let Some(at) = find(line.text, HEADING.as_bytes()) {
            self.heading(report_of(line, &line.text[at + HEADING.len()..]), out);
            return true;
        }
        if has(line.text, END) {
            self.end(line, out);
            return true;
        }
        let mut rest = line.text;
        let mut part = false;
        // Several headings may be on one line.
        while let Some((before, title, behind)) = heading(rest, line.number == 1 && !part) {
            self.marks(line, before, false);
            self.section(line, title, out);
            (rest, part) = (behind, true);
        }
        let Some(open) = &mut self.open else { return part };
        let again = open.again.as_ref().map_or(u64::MAX, |again| again.lines.0);
        let is_below = line.number > again && line.number - again <= 4;
        if !part && is_below && has(line.text, "language environment v") {
            open.seen(line.number);
            return true;
        }
        if !part && open.report.release.is_none() && line.number <= open.report.lines.0 + 4 {
            let own = line.text.trim_ascii_start().starts_with(b"underbar V");
            if own || has(line.text, "language environment v") {
                open.report.release = Some(tidy(line.text));
                open.report.lines.1 = line.number;
                return true;
            }
        }
        if let Some(at) = find(line.text, THREADS.as_bytes()) {
            let behind: Vec<&[u8]> =
                split(&line.text[at + THREADS.len()..]).filter(|word| *word != b":").collect();
            if let ([one], true) = (&behind[..], line.whole)
                && let Word::Number(value) = word(one)
            {
                open.report.threads =
                    Some(Figure { value, evidence: evidence(line.number, line.text), likely: false });
            } else if line.whole {
                let words = "the number of threads: its value is not a number".to_owned();
                doubt(&mut open.report, Doubtful::NotANumber, line.number, words);
            }
            open.seen(line.number);
            self.close_section(true);
            return true;
        }
        if let Some(open) = &mut self.open
            && open.section.is_some()
            && WITHOUT_FIGURES.iter().any(|words| line.text.trim_ascii() == words.as_bytes())
        {
            open.seen(line.number);
            return true;
        }
        let marked = self.marks(line, rest, !part);
        if let Some(open) = &mut self.open
            && !marked
            && !part
            && line.number > open.last_seen + QUIET
        {
            self.leave(out);
        }
        part || marked
    }

    /// The input ends.
    pub(crate) fn finish(&mut self, out: &mut dyn FnMut(Item)) {
        self.leave(out);
        self.flush(out);
    }

    /// A heading: of a report, or of a page of the open report.
    fn heading(&mut self, report: StorageReport, out: &mut dyn FnMut(Item)) {
        match &mut self.open {
            Some(open) if open.is_headed_by(&report) => {
                open.seen(report.lines.0);
                open.again = Some(report);
            }
            _ => self.begin(report, out),
        }
    }

    fn begin(&mut self, report: StorageReport, out: &mut dyn FnMut(Item)) {
        let unended = self.open.as_ref().is_some_and(|open| open.report.enclave.is_some());
        if unended {
            self.close_report();
            if self.held.len() > HELD {
                hand_over(self.held.remove(0), out);
            }
        } else {
            self.leave(out);
            self.flush(out);
        }
        let last_seen = report.lines.0;
        self.open = Some(Open { report, after_unended: unended, last_seen, ..Open::default() });
    }

    /// After a repeated heading comes a section: true if it continues the open report.
    fn turns_the_page(&mut self, next: Option<Kind>, out: &mut dyn FnMut(Item)) -> bool {
        let Some(open) = &mut self.open else { return false };
        let Some(again) = open.again.take() else { return false };
        let goes_on = next.is_some() && open.section.as_ref().is_some_and(|section| section.kind == next);
        if !goes_on && next.is_some_and(|kind| open.is_passed(kind)) {
            self.begin(again, out);
            return false;
        }
        open.has_pages = true;
        goes_on
    }

    fn end(&mut self, line: Line<'_>, out: &mut dyn FnMut(Item)) {
        if self.open.is_none() {
            self.mixed(line.number);
            return;
        }
        if let Some(open) = &mut self.open {
            open.report.ended = true;
            open.seen(line.number);
        }
        let wait = !self.held.is_empty();
        self.close_report();
        if !wait {
            self.flush(out);
        }
    }

    /// A report without end, and nothing that follows it at once.
    fn leave(&mut self, out: &mut dyn FnMut(Item)) {
        let wait = !self.held.is_empty();
        self.close_report();
        if !wait {
            self.flush(out);
        }
    }

    fn flush(&mut self, out: &mut dyn FnMut(Item)) {
        for report in self.held.drain(..) {
            hand_over(report, out);
        }
    }

    /// The lines of two reports are mixed: none of those that may be concerned is used.
    fn mixed(&mut self, line: u64) {
        let open = self.open.as_mut().filter(|open| open.after_unended).map(|open| &mut open.report);
        for report in self.held.iter_mut().chain(open) {
            doubt(report, Doubtful::Interleaved, line, "lines of two reports are mixed".to_owned());
        }
    }

    fn section(&mut self, line: Line<'_>, title: Title, out: &mut dyn FnMut(Item)) {
        if let (Title::Known(next), Some(section)) =
            (&title, self.open.as_mut().and_then(|open| open.section.as_mut()))
        {
            section.cut &= !section.kind.is_some_and(|kind| follows(kind, *next));
        }
        let own = |open: &Open| open.report.is_own();
        let known = match title {
            Title::Known(kind) if kind.is_ours() => self.open.as_ref().is_some_and(own).then_some(kind),
            Title::Known(kind) | Title::Cut(kind) => Some(kind),
            Title::Unknown(_) => None,
        };
        if self.turns_the_page(known, out) {
            return;
        }
        self.close_section(true);
        let repeated = |open: &Open| known.is_some_and(|kind| open.is_passed(kind));
        if self.open.as_ref().is_some_and(repeated) {
            self.open.iter_mut().for_each(|open| open.after_unended |= open.has_pages);
            let after_unended = self.open.as_ref().is_some_and(|open| open.after_unended);
            if after_unended || !self.held.is_empty() {
                self.mixed(line.number);
            } else {
                self.open.iter_mut().for_each(|open| open.another_follows = true);
                self.leave(out);
            }
        }
        if self.open.is_none() {
            if self.held.is_empty() {
                let report = StorageReport { lines: (line.number, line.number), ..StorageReport::default() };
                self.open = Some(Open { report, last_seen: line.number, ..Open::default() });
            } else {
                // A section after an end, and an earlier report without end: their lines are mixed.
                self.mixed(line.number);
                let report = StorageReport { lines: (line.number, line.number), ..StorageReport::default() };
                self.open =
                    Some(Open { report, after_unended: true, last_seen: line.number, ..Open::default() });
                self.mixed(line.number);
            }
        }
        let Some(open) = &mut self.open else { return };
        open.seen(line.number);
        let first = open.report.sections.is_empty() && open.highest.is_none();
        let odd_start = open.after_unended && first && !matches!(known, Some(Kind::Stack | Kind::Stack64));
        open.highest = open
            .highest
            .max(known.filter(|kind| !matches!(kind, Kind::XplinkStack | Kind::XplinkThreadStack)));
        let cut = matches!(title, Title::Cut(_));
        let words = match (title, known) {
            (Title::Unknown(words), _) => Some(words),
            (Title::Known(kind @ Kind::AdditionalHeap), None) => {
                Some(format!("{}: layout not known, not read", kind.title()))
            }
            (Title::Known(kind), None) => {
                Some(format!("section {}: layout not known, not read", kind.title()))
            }
            _ => None,
        };
        if let Some(words) = words {
            doubt(&mut open.report, Doubtful::LayoutNotKnown, line.number, words);
        }
        open.section = Some(OpenSection {
            kind: known,
            heading: evidence(line.number, line.text),
            marks: Vec::new(),
            cut,
        });
        if odd_start {
            self.mixed(line.number);
        }
    }

    /// Takes labels and numbers of a line, or of a part of it. True if there were any.
    fn marks(&mut self, line: Line<'_>, text: &[u8], all: bool) -> bool {
        let Some(open) = &mut self.open else { return false };
        let Some(section) = &mut open.section else {
            if all && labels(text).next().is_some() {
                let words = format!("a label without the heading of its section: {}", tidy(text));
                doubt(&mut open.report, Doubtful::NoSection, line.number, words);
            }
            return false;
        };
        let Some(kind) = section.kind else { return labels(text).next().is_some() };
        if kind == Kind::Pools {
            let heap = (open.report.section(Kind::Heap))
                .or(open.report.section(Kind::User64))
                .and_then(|heap| heap.get(Field::Initial))
                .map(|figure| figure.value);
            let seen = line.whole && pools::line(&mut open.report, line.number, text, heap);
            if seen {
                open.seen(line.number);
            }
            return seen;
        }
        if self.held.is_empty() && open.is_without_heading(kind, text) {
            self.without_heading(line);
            return true;
        }
        let Some(open) = &mut self.open else { return false };
        if labels(text).next().is_some() && open.again.take().is_some() {
            open.has_pages = true;
        }
        let Some(section) = &mut open.section else { return false };
        let from = section.marks.len();
        if from > MARKS {
            return false;
        }
        let (mut at, mut found) = (0, false);
        let offset = text.as_ptr() as usize - line.text.as_ptr() as usize;
        for (start, end, field) in labels(text) {
            // The prefix of a job log is not part of the report.
            let ours = |one: &[u8]| matches!(word(one), Word::Number(_)) || matches!(one, [b'$' | b'\\', ..]);
            if found || split(&text[..start]).all(ours) {
                values(line, &text[at..start], offset + at, found, &mut section.marks);
            }
            section.marks.push(Mark::Label(field, line.number, offset + start));
            (at, found) = (end, true);
        }
        values(line, &text[at..], offset + at, found, &mut section.marks);
        if !found && section.marks[from..].iter().any(|mark| !matches!(mark, Mark::Value { .. })) {
            // A line of something else; after the last label no number can follow any more.
            section.marks.truncate(from);
            let last = kind.row().and_then(|row| row.fields.last());
            let seen = |mark: &Mark| matches!(mark, Mark::Label(field, ..) if Some(field) == last);
            if section.marks.iter().any(seen) && !section.cut {
                self.close_section(true);
                return false;
            }
        }
        if !found && all {
            figures::one_number(line, from, &mut section.marks);
        }
        let any = section.marks.len() > from;
        if let (true, Some(open)) = (any, &mut self.open) {
            open.seen(line.number);
        }
        found || any
    }

    /// Labels begin anew after a section with all its labels: they belong to an unknown section.
    fn without_heading(&mut self, line: Line<'_>) {
        self.close_section(true);
        let Some(open) = &mut self.open else { return };
        let words = "labels begin anew: the heading of their section is missing; not read".to_owned();
        doubt(&mut open.report, Doubtful::NoSection, line.number, words);
        open.section = Some(OpenSection {
            kind: None,
            heading: evidence(line.number, line.text),
            marks: Vec::new(),
            cut: false,
        });
        open.seen(line.number);
    }

    /// `complete`: another part of the report, or its end, follows it.
    fn close_section(&mut self, complete: bool) {
        let Some(open) = &mut self.open else { return };
        let Some(OpenSection { kind: Some(kind), heading, marks, cut }) = open.section.take() else { return };
        if cut {
            let words =
                format!("section {}, whose heading may have lost its beginning: not read", kind.title());
            doubt(&mut open.report, Doubtful::NoSection, heading.line, words);
            return;
        }
        if kind == Kind::Pools {
            return;
        }
        let section = figures::section(&mut open.report, &mut open.widths, kind, heading, &marks, complete);
        open.report.sections.push(section);
    }

    fn close_report(&mut self) {
        let ended = self.open.as_ref().is_some_and(|open| open.report.ended);
        self.close_section(ended);
        let Some(mut open) = self.open.take() else { return };
        let report = &mut open.report;
        if !report.ended {
            if !open.another_follows {
                last_is_likely(report);
            }
            let words = match report.enclave {
                Some(_) => "the report has no end line",
                None => "a fragment: neither heading nor end line belongs to it",
            };
            let line = report.lines.1;
            doubt(report, Doubtful::Cut, line, words.to_owned());
        }
        contradictions::by_threads(report);
        pools::complete(report);
        let lost = open.widths.doubt_lost(report);
        let missing = lost || report.doubts.iter().any(|doubt| doubt.kind == Doubtful::NoValue);
        if missing && !lost && open.widths.are_short() {
            let line = report.lines.0;
            let words =
                "all values end in one column, and some are missing: lines were cut at the right, so that \
                         digits may be missing"
                    .to_owned();
            doubt(report, Doubtful::CutAtTheRight, line, words);
        }
        let pools =
            !report.pools.is_empty() || !report.ranges.is_empty() || report.larger_than_cells.is_some();
        if missing && pools {
            let line = report.lines.0;
            let words =
                "values of sections are missing, so that of heap pools digits may be: those are not read"
                    .to_owned();
            doubt(report, Doubtful::NoValue, line, words);
            report.ranges.clear();
            report.pools.clear();
            report.larger_than_cells = None;
        }
        self.held.push(open.report);
    }
}

/// A line without the sequence number in the last eight of 80 columns. After a label, or alone, it may be a value.
fn without_number(text: &[u8]) -> &[u8] {
    match text.split_at_checked(72) {
        Some((before, number)) if number.len() == 8 && number.iter().all(u8::is_ascii_digit) => {
            let before = before.trim_ascii_end();
            let is_label = before.ends_with(b":") && heading(before, false).is_none();
            let may_be_a_value = before.is_empty() || is_label || before.len() == 72;
            if may_be_a_value { text } else { before }
        }
        _ => text,
    }
}

/// The data of a heading: `behind` is the text after its words.
fn report_of(line: Line<'_>, behind: &[u8]) -> StorageReport {
    let release = find(behind, b"language environment v");
    let (named, release) = behind.split_at(release.unwrap_or(behind.len()));
    let (name, words) = name_and_rest(named);
    let date = words.into_iter().map(String::from_utf8_lossy).collect::<Vec<_>>().join(" ");
    StorageReport {
        enclave: Some(name),
        date: (!date.is_empty()).then(|| date.chars().take(64).collect()),
        release: (!release.is_empty()).then(|| tidy(release)),
        lines: (line.number, line.number),
        ..StorageReport::default()
    }
}

/// Without the end, the value in the last line may be cut within its digits, with or without a line end after it.
fn last_is_likely(report: &mut StorageReport) {
    let figures = report.sections.iter_mut().flat_map(|section| &mut section.figures);
    let figures = figures.map(|(_, figure)| figure).chain(report.threads.as_mut());
    let figures = figures.chain(report.larger_than_cells.as_mut());
    let figures = figures.chain(report.ranges.iter_mut().map(|(_, _, figure)| figure));
    // A line of the report after it, a label or another value, shows that it is whole.
    let end = report.lines.1;
    let last = figures.max_by_key(|figure| figure.evidence.line);
    if let Some(last) = last.filter(|figure| figure.evidence.line >= end) {
        last.likely = true;
    }
}

impl Open {
    /// Whether a complete section is followed by the first label of another one. Only if the report's own
    /// heading was seen, and no other report is open: otherwise it may be another report's line.
    fn is_without_heading(&self, kind: Kind, text: &[u8]) -> bool {
        let last = kind.row().and_then(|row| row.fields.last());
        let (Some(last), Some(section)) = (last, &self.section) else { return false };
        let complete = |mark: &Mark| matches!(mark, Mark::Label(field, ..) if field == last);
        self.report.enclave.is_some()
            && !self.after_unended
            && section.marks.iter().any(complete)
            && labels(text)
                .next()
                .is_some_and(|(_, _, field)| matches!(field, Field::Initial | Field::Created))
    }

    /// Whether a heading is this report's own: same program, date and time.
    fn is_headed_by(&self, again: &StorageReport) -> bool {
        let report = &self.report;
        again.has_time() && (&report.enclave, &report.date) == (&again.enclave, &again.date)
    }

    /// Whether a section of this kind was there, or its place in the order is passed.
    fn is_passed(&self, kind: Kind) -> bool {
        let is_open = self.section.as_ref().is_some_and(|section| section.kind == Some(kind));
        // Heap pools have two headings.
        (is_open && kind != Kind::Pools)
            || self.report.section(kind).is_some()
            || goes_back(self.highest, kind)
    }

    fn seen(&mut self, line: u64) {
        self.last_seen = line;
        self.report.lines.1 = line;
    }
}
