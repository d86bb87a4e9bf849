//! Storage reports: heading, sections, end; whole, cut, without heading, or two in one another.
//!
//! ```text
//! heading -> [section heading -> labels and numbers]... -> end -> StorageReport
//! ```
//!
//! Invariant: a figure has one label on its own line, or is placed by `place`; figures that contradict each other are
//! dropped, both. A report that begins before another ended is held back until it is plain that their lines are
//! not mixed.
//! Not here: heap pools (`pools`), which lines are worth a look (`reader`).

use crate::lines::Line;
use crate::model::{Doubt, Doubtful, Evidence, Figure, Item, Section, StorageReport};
use crate::number::{Word, word};
use crate::place::place;
use crate::pools;
use crate::sections::{Field, Kind, LABELS, SECTIONS};
use crate::words::{evidence, find, has, split, tidy};

/// So many lines without a word of the section end it.
const QUIET: u64 = 400;
/// So many reports are held back at most.
const HELD: usize = 8;
/// So many doubts are kept for one report.
const DOUBTS: usize = 100;
/// So many marks are kept for one section.
const MARKS: usize = 64;
/// From the start of a label to the end of its value, in every layout that is known.
const WIDTH: usize = 58;

const HEADING: &str = "storage report for enclave";
const END: &str = "end of storage report";
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
    /// Began before the report before it ended.
    after_unended: bool,
    highest: Option<Kind>,
    /// Where values end, from the start of their labels; None once they differ.
    width: Option<Option<usize>>,
    widths: usize,
    last_seen: u64,
}

struct OpenSection {
    /// None: a section whose layout is not known.
    kind: Option<Kind>,
    heading: Evidence,
    marks: Vec<Mark>,
}

enum Mark {
    Label(Field, u64, usize),
    Value { word: Word, evidence: Evidence, end: usize },
    Other(u64),
}

impl Storage {
    /// Whether every line should be shown.
    pub(crate) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Looks at a line; true if it is part of a report.
    pub(crate) fn line(&mut self, line: Line<'_>, out: &mut dyn FnMut(Item)) -> bool {
        if let Some(at) = find(line.text, HEADING.as_bytes()) {
            self.begin(line, &line.text[at + HEADING.len()..], out);
            return true;
        }
        if has(line.text, END) {
            self.end(line, out);
            return true;
        }
        let mut rest = line.text;
        let mut part = false;
        // Several headings may have run into one line.
        while let Some((before, title, behind)) = heading(rest) {
            self.marks(line, before, false);
            self.section(line, title, out);
            (rest, part) = (behind, true);
        }
        let Some(open) = &mut self.open else { return part };
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
            }
            open.seen(line.number);
            self.close_section();
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

    fn begin(&mut self, line: Line<'_>, behind: &[u8], out: &mut dyn FnMut(Item)) {
        let unended = self.open.as_ref().is_some_and(|open| open.report.enclave.is_some());
        if unended {
            self.close_report();
            if self.held.len() > HELD {
                out(Item::Storage(self.held.remove(0)));
            }
        } else {
            self.leave(out);
            self.flush(out);
        }
        let release = find(behind, b"language environment v");
        let (named, release) = behind.split_at(release.unwrap_or(behind.len()));
        let mut words = split(named);
        let name = words.next().map_or(String::new(), |name| String::from_utf8_lossy(name).into_owned());
        let date = words.map(|word| String::from_utf8_lossy(word)).collect::<Vec<_>>().join(" ");
        let report = StorageReport {
            enclave: Some(name.chars().take(64).collect()),
            date: (!date.is_empty()).then(|| date.chars().take(64).collect()),
            release: (!release.is_empty()).then(|| tidy(release)),
            lines: (line.number, line.number),
            ..StorageReport::default()
        };
        self.open = Some(Open { report, after_unended: unended, last_seen: line.number, ..Open::default() });
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
            out(Item::Storage(report));
        }
    }

    /// Two reports' lines are mixed: none of those that may be concerned is to be used.
    fn mixed(&mut self, line: u64) {
        let open = self.open.as_mut().filter(|open| open.after_unended).map(|open| &mut open.report);
        for report in self.held.iter_mut().chain(open) {
            doubt(
                report,
                Doubtful::Interleaved,
                line,
                "lines of two reports stand in one another".to_owned(),
            );
        }
    }

    fn section(&mut self, line: Line<'_>, title: Title, out: &mut dyn FnMut(Item)) {
        self.close_section();
        let own =
            |open: &Open| open.report.release.as_ref().is_some_and(|words| words.starts_with("underbar"));
        let known = match title {
            Title::Known(Kind::AdditionalHeap) => {
                self.open.as_ref().is_some_and(own).then_some(Kind::AdditionalHeap)
            }
            Title::Known(kind) => Some(kind),
            Title::Unknown(_) => None,
        };
        let repeated =
            |open: &Open| known.is_some_and(|kind| open.report.section(kind).is_some() || back(open, kind));
        if self.open.as_ref().is_some_and(repeated) {
            let after_unended = self.open.as_ref().is_some_and(|open| open.after_unended);
            if after_unended || !self.held.is_empty() {
                self.mixed(line.number);
            } else {
                self.leave(out);
            }
        }
        if self.open.is_none() {
            if self.held.is_empty() {
                let report = StorageReport { lines: (line.number, line.number), ..StorageReport::default() };
                self.open = Some(Open { report, last_seen: line.number, ..Open::default() });
            } else {
                // A section behind an end, and a report before it without end: theirs are mixed.
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
        let words = match (title, known) {
            (Title::Unknown(words), _) => Some(words),
            (Title::Known(kind), None) => Some(kind.title().to_owned()),
            _ => None,
        };
        if let Some(words) = words {
            let words = format!("{words}: layout not known, not read");
            doubt(&mut open.report, Doubtful::LayoutNotKnown, line.number, words);
        }
        open.section =
            Some(OpenSection { kind: known, heading: evidence(line.number, line.text), marks: Vec::new() });
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
            let heap = open
                .report
                .section(Kind::Heap)
                .and_then(|heap| heap.get(Field::Initial))
                .map(|figure| figure.value);
            let seen = line.whole && pools::line(&mut open.report, line.number, text, heap);
            if seen {
                open.seen(line.number);
            }
            return seen;
        }
        let from = section.marks.len();
        if from > MARKS {
            return false;
        }
        let (mut at, mut found) = (0, false);
        let offset = text.as_ptr() as usize - line.text.as_ptr() as usize;
        for (start, end, field) in labels(text) {
            // What a job log puts before a line is none of ours.
            let ours = |one: &[u8]| matches!(word(one), Word::Number(_)) || matches!(one, [b'$' | b'\\', ..]);
            if found || split(&text[..start]).all(ours) {
                values(line, &text[at..start], offset + at, found, &mut section.marks);
            }
            section.marks.push(Mark::Label(field, line.number, offset + start));
            (at, found) = (end, true);
        }
        values(line, &text[at..], offset + at, found, &mut section.marks);
        if !found && section.marks[from..].iter().any(|mark| !matches!(mark, Mark::Value { .. })) {
            // A line of something else; behind the last label no number can follow any more.
            section.marks.truncate(from);
            let last = kind.row().and_then(|row| row.fields.last());
            let seen = |mark: &Mark| matches!(mark, Mark::Label(field, ..) if Some(field) == last);
            if section.marks.iter().any(seen) {
                self.close_section();
                return false;
            }
        }
        let any = section.marks.len() > from;
        if any {
            open.seen(line.number);
        }
        found || any
    }

    fn close_section(&mut self) {
        let Some(open) = &mut self.open else { return };
        let Some(OpenSection { kind: Some(kind), heading, marks }) = open.section.take() else { return };
        if kind == Kind::Pools {
            return;
        }
        let mut section = Section { kind, heading, figures: Vec::new() };
        let one_line = marks.windows(2).any(|two| match two {
            [Mark::Label(_, line, _), Mark::Label(_, other, _)] => line == other,
            [Mark::Value { evidence, .. }, Mark::Label(_, line, _)] => evidence.line == *line,
            _ => false,
        });
        let beside = marks.windows(2).any(|two| {
            matches!(two, [Mark::Label(_, line, _), Mark::Value { evidence, .. }] if evidence.line == *line)
        });
        if beside && !one_line {
            by_line(open, &mut section, &marks);
        } else {
            apart(open, &mut section, &marks);
        }
        check(&mut open.report, &mut section);
        open.report.sections.push(section);
    }

    fn close_report(&mut self) {
        self.close_section();
        let Some(mut open) = self.open.take() else { return };
        let report = &mut open.report;
        if !report.ended {
            let words = match report.enclave {
                Some(_) => "the report has no end line",
                None => "a fragment: neither heading nor end line belongs to it",
            };
            let line = report.lines.1;
            doubt(report, Doubtful::Cut, line, words.to_owned());
        }
        let missing = report.doubts.iter().any(|doubt| doubt.kind == Doubtful::NoValue);
        if let (Some(Some(width)), true) = (open.width, missing && open.widths >= 1)
            && width < WIDTH
        {
            let line = report.lines.0;
            let words =
                "all values end in one column, and some are missing: lines were cut at the right, so that \
                         digits may be missing"
                    .to_owned();
            doubt(report, Doubtful::CutAtTheRight, line, words);
        }
        self.held.push(open.report);
    }
}

impl Open {
    fn seen(&mut self, line: u64) {
        self.last_seen = line;
        self.report.lines.1 = line;
    }
}

/// Whether a section stands before one that was there already.
fn back(open: &Open, kind: Kind) -> bool {
    !matches!(kind, Kind::XplinkStack | Kind::XplinkThreadStack)
        && open.highest.is_some_and(|highest| kind < highest)
}

fn doubt(report: &mut StorageReport, kind: Doubtful, line: u64, words: String) {
    let doubt = Doubt { kind, line, words };
    let room = report.doubts.len() < DOUBTS && !report.doubts.contains(&doubt);
    // What spoils a report is said once, even where there is no more room.
    if room || (kind.spoils_the_report() && report.is_sound()) {
        report.doubts.push(doubt);
    }
}

enum Title {
    Known(Kind),
    Unknown(String),
}

/// The first heading of a section in a line: what stands before it, its title, what stands behind.
fn heading(text: &[u8]) -> Option<(&[u8], Title, &[u8])> {
    let (at, length) = match find(text, b"statistics") {
        Some(at) => (at, 10),
        None => (find(text, b"heappools summary")? + 10, 7),
    };
    let behind = text[at + length..].trim_ascii_start().strip_prefix(b":")?;
    let before = text[..at].trim_ascii_end();
    let words = &before[before.iter().rposition(|&byte| byte == b':').map_or(0, |at| at + 1)..];
    let words = words.trim_ascii_start();
    let words = words.strip_prefix(b"#").map_or(words, |words| words.trim_ascii_start_matches());
    let front = &text[..words.as_ptr() as usize - text.as_ptr() as usize];
    let matches = |title: &str| {
        let plain = words.eq_ignore_ascii_case(title.as_bytes());
        plain
            || matches!(words, [b'0' | b'1' | b'-' | b'+' | b' ', rest @ ..] if rest.trim_ascii_start().eq_ignore_ascii_case(title.as_bytes()))
    };
    let ends = |title: &str| {
        let Some(cut) = words.len().checked_sub(title.len() + 1) else { return false };
        let last = split(&words[..cut]).last().unwrap_or_default().to_ascii_lowercase();
        words[cut] == b' '
            && words[cut + 1..].eq_ignore_ascii_case(title.as_bytes())
            && !matches!(&last[..], b"user" | b"library" | b"i/o" | b"additional" | b"xplink" | b"ipt")
    };
    if matches("HEAPPOOLS") || ends("HEAPPOOLS") || matches("HEAPPOOLS64") || ends("HEAPPOOLS64") {
        return Some((front, Title::Known(Kind::Pools), behind));
    }
    let exact = SECTIONS.iter().find(|row| matches(row.title));
    let row =
        exact.or_else(|| SECTIONS.iter().filter(|row| ends(row.title)).max_by_key(|row| row.title.len()));
    if let Some(row) = row {
        return Some((front, Title::Known(row.kind), behind));
    }
    let is_like = ["HEAP", "STACK", "HEAP24"]
        .iter()
        .any(|end| split(words).last().is_some_and(|word| word.eq_ignore_ascii_case(end.as_bytes())));
    is_like.then(|| (front, Title::Unknown(format!("section {}", tidy(words))), behind))
}

trait TrimMarks {
    fn trim_ascii_start_matches(&self) -> &[u8];
}

impl TrimMarks for [u8] {
    fn trim_ascii_start_matches(&self) -> &[u8] {
        let at = self.iter().position(|byte| *byte != b'#' && *byte != b' ').unwrap_or(self.len());
        &self[at..]
    }
}

/// All labels of a text: where each begins, where its colon ends, and which it is. A letter may be misread.
fn labels(text: &[u8]) -> impl Iterator<Item = (usize, usize, Field)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < text.len() {
            let start = at;
            at += 1;
            if !text[start].is_ascii_alphabetic() || (start > 0 && text[start - 1].is_ascii_alphabetic()) {
                continue;
            }
            for (label, field) in LABELS {
                let Some(there) = text.get(start..start + label.len()) else { continue };
                let differ =
                    there.iter().zip(label.bytes()).filter(|(a, b)| !a.eq_ignore_ascii_case(b)).count();
                if differ > label.len() / 16 {
                    continue;
                }
                let blanks = text[start + label.len()..].iter().take_while(|byte| **byte == b' ').count();
                let colon = start + label.len() + blanks;
                if text.get(colon) == Some(&b':') {
                    at = colon + 1;
                    return Some((start, at, field));
                }
            }
        }
        None
    })
}

fn values(line: Line<'_>, text: &[u8], offset: usize, beside: bool, marks: &mut Vec<Mark>) {
    let last_end = line.text.len();
    for one in split(text) {
        let end = offset + (one.as_ptr() as usize - text.as_ptr() as usize) + one.len();
        // The input ends within this line: the number may go on.
        let kind = if !line.whole && end == last_end { Word::Other } else { word(one) };
        let control = !beside && end == 1 && matches!(one, b"0" | b"1" | b"-" | b"+");
        match kind {
            _ if control || (!beside && matches!(one, b"-" | b"|" | b"#" | b"####")) => {}
            Word::Other => marks.push(Mark::Other(line.number)),
            word => marks.push(Mark::Value { word, evidence: evidence(line.number, line.text), end }),
        }
    }
}

/// Each label with the one number on its own line.
fn by_line(open: &mut Open, section: &mut Section, marks: &[Mark]) {
    let order =
        |field: Field| section.kind.row().and_then(|row| row.fields.iter().position(|known| *known == field));
    let mut seen: Vec<Field> = Vec::new();
    let mut at = 0;
    while let Some(mark) = marks.get(at) {
        at += 1;
        let Mark::Label(field, line, start) = mark else { continue };
        let rest = marks[at..].iter().take_while(|mark| match mark {
            Mark::Value { evidence, .. } => evidence.line == *line,
            Mark::Other(other) => other == line,
            Mark::Label(..) => false,
        });
        let beside: Vec<&Mark> = rest.collect();
        if seen.contains(field) || seen.last().is_some_and(|last| order(*last) > order(*field)) {
            doubt(
                &mut open.report,
                Doubtful::Interleaved,
                *line,
                format!("{} stands out of its order", field.label()),
            );
        }
        seen.push(*field);
        match beside[..] {
            [Mark::Value { word: Word::Number(value), evidence, end, .. }] => {
                let width = end - start;
                open.widths += 1;
                open.width = match open.width {
                    None => Some(Some(width)),
                    Some(Some(known)) if known == width => Some(Some(width)),
                    _ => Some(None),
                };
                let figure = Figure { value: *value, evidence: evidence.clone(), likely: false };
                section.figures.push((*field, figure));
            }
            [] => {
                doubt(&mut open.report, Doubtful::NoValue, *line, format!("{} has no value", field.label()))
            }
            [Mark::Other(_)] if section.kind.row().is_some() => {
                doubt(
                    &mut open.report,
                    Doubtful::CutLine,
                    *line,
                    format!("{}: what stands there is no number, or is cut", field.label()),
                );
            }
            _ => doubt(
                &mut open.report,
                Doubtful::NotANumber,
                *line,
                format!("{}: what stands there is no number", field.label()),
            ),
        }
    }
}

/// Labels and numbers that came apart.
fn apart(open: &mut Open, section: &mut Section, marks: &[Mark]) {
    let (mut labels, mut values) = (Vec::new(), Vec::new());
    for mark in marks {
        match mark {
            Mark::Label(field, line, _) => labels.push((*field, *line)),
            Mark::Value { word, evidence, .. } => values.push((labels.len(), *word, evidence)),
            Mark::Other(_) => {}
        }
    }
    let heading = section.heading.line;
    let fields = section.kind.row().map_or(&[][..], |row| row.fields);
    let places: Vec<Option<usize>> =
        labels.iter().map(|(field, _)| fields.iter().position(|known| known == field)).collect();
    if places.windows(2).any(|two| two[0] >= two[1]) || places.contains(&None) {
        if !values.is_empty() {
            let words = "labels stand out of their order, and numbers apart from them: not read".to_owned();
            doubt(&mut open.report, Doubtful::NoLabel, heading, words);
        }
        return;
    }
    let gaps: Vec<usize> = values.iter().map(|value| value.0).collect();
    let unfinished = labels.last().map(|(field, _)| field) != fields.last();
    let possible = |way: &[usize]| {
        let figure = |field: Field| {
            let label = labels.iter().position(|(known, _)| *known == field)?;
            let at = way.iter().position(|to| *to == label)?;
            if let Word::Number(value) = values[at].1 { Some(value) } else { None }
        };
        contradictions(section.kind, &figure).is_empty()
    };
    let Some(placed) = place(&gaps, labels.len(), unfinished, &possible) else {
        if !values.is_empty() {
            let words =
                "numbers stand apart from their labels, and it is not plain which belongs to which: not read";
            doubt(&mut open.report, Doubtful::NoLabel, heading, words.to_owned());
        }
        return;
    };
    for ((_, word, evidence), (label, certain)) in values.iter().zip(placed) {
        let Some((field, line)) = labels.get(label) else {
            doubt(
                &mut open.report,
                Doubtful::NoLabel,
                evidence.line,
                "a number whose label is missing".to_owned(),
            );
            continue;
        };
        match word {
            Word::Number(value) => {
                if !certain {
                    let words =
                        format!("{}: {value} stands apart and may belong to another label", field.label());
                    doubt(&mut open.report, Doubtful::Apart, evidence.line, words);
                }
                let text = format!("{}: {}", labels_text(*field, *line), evidence.text);
                let figure = Figure {
                    value: *value,
                    evidence: Evidence { line: evidence.line, text },
                    likely: !certain,
                };
                section.figures.push((*field, figure));
            }
            _ => doubt(
                &mut open.report,
                Doubtful::NotANumber,
                evidence.line,
                format!("{}: what stands there is no number", field.label()),
            ),
        }
    }
    for (field, line) in &labels {
        if section.any(*field).is_none() {
            doubt(
                &mut open.report,
                Doubtful::NoValue,
                *line,
                format!("{} has no value that is certain", field.label()),
            );
        }
    }
}

fn labels_text(field: Field, line: u64) -> String {
    format!("(label in line {line}) {}", field.label())
}

/// Fields of which not all can be true.
fn contradictions(kind: Kind, figure: &dyn Fn(Field) -> Option<u64>) -> Vec<(Vec<Field>, String)> {
    let mut found = Vec::new();
    for field in kind.row().map_or(&[][..], |row| row.fields) {
        if let Some(value) = figure(*field)
            && value > if field.is_bytes() { kind.most_bytes() } else { 1 << 50 }
        {
            found.push((vec![*field], format!("{} cannot be {value}", field.label())));
        }
    }
    for (less, more) in [
        (Field::Freed, Field::Allocated),
        (Field::Frees, Field::Gets),
        (Field::AnyThread, Field::AllThreads),
        (Field::Discarded, Field::Created),
    ] {
        if let (Some(a), Some(b)) = (figure(less), figure(more))
            && a > b
        {
            found.push((
                vec![less, more],
                format!("{} is {a}, {} is {b}: both cannot be", less.label(), more.label()),
            ));
        }
    }
    if let (Some(increment), Some(allocated), Some(freed)) =
        (figure(Field::Increment), figure(Field::Allocated), figure(Field::Freed))
        && allocated.saturating_sub(freed).saturating_sub(1).saturating_mul(increment) > kind.most_bytes()
    {
        let words =
            format!("{allocated} segments less {freed} of {increment} bytes and more are more than there is");
        found.push((vec![Field::Increment, Field::Allocated, Field::Freed], words));
    }
    found
}

fn check(report: &mut StorageReport, section: &mut Section) {
    let title = section.kind.title();
    let figure = |field: Field| section.any(field).map(|figure| figure.value);
    for (fields, words) in contradictions(section.kind, &figure) {
        let line = fields
            .first()
            .and_then(|field| section.any(*field))
            .map_or(section.heading.line, |figure| figure.evidence.line);
        let kind = if fields.len() == 1 { Doubtful::Absurd } else { Doubtful::Contradiction };
        doubt(report, kind, line, format!("{title}: {words}; not used"));
        section.figures.retain(|(field, _)| !fields.contains(field));
    }
}
