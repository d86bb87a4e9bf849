//! Labels with their figures in a section, and figures that cannot be true.
//!
//! ```text
//! label and number on one line -> a pair          apart -> `place`          contradiction -> neither is kept
//! ```
//!
//! Invariant: a figure has one label; figures that contradict each other are all dropped; whatever is missing,
//! damaged or in doubt is named with its line.
//! Not here: the lines of a section (`storage`).

use crate::contradictions::refuted;
use crate::doubts::{doubt, drop_refuted};
use crate::lines::Line;
use crate::model::{Doubtful, Evidence, Figure, Section, StorageReport};
use crate::number::{Word, word};
use crate::place::place;
use crate::sections::{Field, Kind};
use crate::words::{evidence, split};

/// The distance from the start of a label to the end of its value, in every known layout.
const WIDTH: usize = 58;

/// A label, a number, or another word of a section, in the order of the text.
pub(crate) enum Mark {
    /// A label, its line, and where it begins in it.
    Label(Field, u64, usize),
    /// A number or a text in its place, and its start and end in the line.
    Value { word: Word, evidence: Evidence, begin: usize, end: usize },
    /// Another word, and its line.
    Other(u64),
}

/// The distance from the start of a label to the end of its value.
#[derive(Default)]
pub(crate) struct Widths {
    /// The one width; the inner None once they differ.
    one: Option<Option<usize>>,
    /// Where each value begins, from the start of its label.
    begins: Vec<(Kind, Field, usize)>,
    /// The start columns of values that have lost their first digits, and the first line of such a value.
    lost: Vec<(usize, u64)>,
}

impl Widths {
    fn add(&mut self, width: usize) {
        self.one = match self.one {
            None => Some(Some(width)),
            Some(Some(known)) if known == width => Some(Some(width)),
            _ => Some(None),
        };
    }

    /// Marks values whose start column is that of a value with missing first digits: these values may have lost digits, too.
    /// True if there is such a column.
    pub(crate) fn doubt_lost(&self, report: &mut StorageReport) -> bool {
        for (column, line) in &self.lost {
            let is_cut = |kind: Kind, field: Field| self.begins.contains(&(kind, field, *column));
            let mut any = false;
            for section in &mut report.sections {
                let kind = section.kind;
                for (_, figure) in section.figures.iter_mut().filter(|(field, _)| is_cut(kind, *field)) {
                    (figure.likely, any) = (true, true);
                }
            }
            if any {
                let words = "a value that begins with 0 has lost digits: others that begin in the same column may have, too";
                doubt(report, Doubtful::CutAtTheLeft, *line, words.to_owned());
            }
        }
        !self.lost.is_empty()
    }

    /// Whether all values end in one column that is left of that of every known layout.
    pub(crate) fn are_short(&self) -> bool {
        matches!(self.one, Some(Some(width)) if width < WIDTH)
    }
}

/// Makes a section of its marks; `complete`: later text shows that its last line was passed.
pub(crate) fn section(
    report: &mut StorageReport,
    widths: &mut Widths,
    kind: Kind,
    heading: Evidence,
    marks: &[Mark],
    complete: bool,
) -> Section {
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
        by_line(report, widths, &mut section, marks);
    } else {
        apart(report, &mut section, marks);
    }
    missing(report, &section, marks, complete);
    check(report, &mut section);
    section
}

/// Names missing labels before and between others; in a complete section also missing labels at its end. No source
/// lists the lines of the downward stacks.
fn missing(report: &mut StorageReport, section: &Section, marks: &[Mark], complete: bool) {
    if matches!(section.kind, Kind::XplinkStack | Kind::XplinkThreadStack) {
        return;
    }
    let fields = section.kind.row().map_or(&[][..], |row| row.fields);
    let seen =
        |field: &Field| marks.iter().any(|mark| matches!(mark, Mark::Label(known, ..) if known == field));
    let Some(last) = fields.iter().rposition(seen) else { return };
    for field in fields[..last].iter().filter(|field| !seen(field)) {
        let words = format!("{}: there is no line for {}", section.kind.title(), field.label());
        doubt(report, Doubtful::NoLabel, section.heading.line, words);
    }
    let rest: Vec<&str> = fields[last + 1..].iter().map(|field| field.label()).collect();
    if complete && !rest.is_empty() {
        let words = format!("{}: it ends without {}", section.kind.title(), rest.join(", "));
        doubt(report, Doubtful::NoLabel, section.heading.line, words);
    }
}

/// Numbers, and texts in their places, in a line or in a part of it.
pub(crate) fn values(line: Line<'_>, text: &[u8], offset: usize, beside: bool, marks: &mut Vec<Mark>) {
    let last_end = line.text.len();
    // Lines of a table, and dots before a number, are no numbers.
    let is_table = line.text.iter().filter(|byte| **byte == b'|').count() >= 2;
    let is_rule = |one: &[u8]| {
        (is_table && one == b"|")
            || (one.len() > 1 && one.iter().all(|byte| matches!(byte, b'.' | b'-' | b'_' | b'=')))
    };
    let from = marks.len();
    for one in split(text).filter(|one| !is_rule(one)) {
        let end = offset + (one.as_ptr() as usize - text.as_ptr() as usize) + one.len();
        // The input ends within this line: the number may go on.
        let kind = match word(one) {
            _ if !line.whole && end == last_end => Word::Other,
            Word::Number(_) if has_lost(one) => Word::Mark,
            kind => kind,
        };
        let control = !beside && end == 1 && matches!(one, b"0" | b"1" | b"-" | b"+");
        // After a number: its unit, and the number of a line of 80 columns.
        let behind = beside && matches!(marks[from..], [Mark::Value { .. }]);
        let is_number = end == 80 && one.len() == 8 && one.iter().all(u8::is_ascii_digit);
        match kind {
            _ if behind && (is_number || one.eq_ignore_ascii_case(b"bytes")) => {}
            _ if control || (!beside && matches!(one, b"-" | b"|" | b"#" | b"####")) => {}
            Word::Other => marks.push(Mark::Other(line.number)),
            word => {
                let (evidence, begin) = (evidence(line.number, line.text), end - one.len());
                marks.push(Mark::Value { word, evidence, begin, end });
            }
        }
    }
}

/// Several numbers on a line without a label: one number that blanks have cut, or other text. None of them is a figure.
pub(crate) fn one_number(line: Line<'_>, from: usize, marks: &mut Vec<Mark>) {
    if marks.len() > from + 1 {
        marks.truncate(from);
        let evidence = evidence(line.number, line.text);
        marks.push(Mark::Value { word: Word::Mark, evidence, begin: 0, end: line.text.len() });
    }
}

/// Whether digits before these are gone: no number of a report begins with a 0 that others follow.
fn has_lost(word: &[u8]) -> bool {
    matches!(word, [b'0', b'0'..=b'9' | b',', ..])
}

/// Pairs each label with the one number on its own line.
fn by_line(report: &mut StorageReport, widths: &mut Widths, section: &mut Section, marks: &[Mark]) {
    let order =
        |field: Field| section.kind.row().and_then(|row| row.fields.iter().position(|known| *known == field));
    let mut seen: Vec<Field> = Vec::new();
    // For each figure, from the start of its label to its end.
    let mut ends: Vec<usize> = Vec::new();
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
            doubt(report, Doubtful::Interleaved, *line, format!("{} is out of order", field.label()));
        }
        seen.push(*field);
        match beside[..] {
            [Mark::Value { word: Word::Number(value), evidence, begin, end }] => {
                widths.add(end - start);
                widths.begins.push((section.kind, *field, begin - start));
                ends.push(end - start);
                let figure = Figure { value: *value, evidence: evidence.clone(), likely: false };
                section.figures.push((*field, figure));
            }
            [] => doubt(report, Doubtful::NoValue, *line, format!("{} has no value", field.label())),
            [Mark::Other(_)] if section.kind.row().is_some() => {
                doubt(
                    report,
                    Doubtful::CutLine,
                    *line,
                    format!("{}: its value is not a number, or is cut", field.label()),
                );
            }
            _ => {
                let text = match beside[..] {
                    [Mark::Value { evidence, begin, .. }] => {
                        let column = begin.saturating_sub(*start);
                        let is_new = widths.lost.iter().all(|(known, _)| *known != column);
                        if is_new && has_lost(last_word(&evidence.text).as_bytes()) {
                            widths.lost.push((column, *line));
                        }
                        evidence.text.as_str()
                    }
                    _ => "",
                };
                doubt(report, Doubtful::NotANumber, *line, format!("{}: {}", field.label(), what(text)));
            }
        }
    }
    short(report, section, &ends);
}

fn last_word(text: &str) -> &str {
    text.rsplit([' ', ':']).next().unwrap_or_default()
}

/// Classifies the last word of a line, in the place of a number.
fn what(text: &str) -> &'static str {
    let word = last_word(text);
    let is_digits = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    match word.strip_prefix('-') {
        Some(rest) if is_digits(rest) => "it is negative, which cannot be",
        None if has_lost(word.as_bytes()) => "it begins with 0, so that digits before it are missing",
        None if is_digits(word) => "it is larger than any size or count can be",
        _ => "its value is not a number",
    }
}

/// A value that ends left of the common column of all others in its section may have lost its last digits.
fn short(report: &mut StorageReport, section: &mut Section, ends: &[usize]) {
    for (at, end) in ends.iter().enumerate() {
        let others = || ends.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, end)| *end);
        let Some(column) = others().next().filter(|column| others().all(|other| other == *column)) else {
            continue;
        };
        if *end >= column || ends.len() < 3 {
            continue;
        }
        let Some((field, figure)) = section.figures.get_mut(at) else { return };
        figure.likely = true;
        let words = format!(
            "{}: {}: {} ends left of the other values: digits may be missing",
            section.kind.title(),
            field.label(),
            figure.value
        );
        doubt(report, Doubtful::CutLine, figure.evidence.line, words);
    }
}

/// Labels and numbers that came apart.
fn apart(report: &mut StorageReport, section: &mut Section, marks: &[Mark]) {
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
            let words = "labels are out of order, and numbers are apart from them: not read".to_owned();
            doubt(report, Doubtful::NoLabel, heading, words);
        }
        return;
    }
    let gaps: Vec<usize> = values.iter().map(|value| value.0).collect();
    // A label between others is missing: any number may belong to it.
    let complete = places.iter().enumerate().all(|(at, place)| *place == Some(at));
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
            let words = "numbers are apart from their labels, and the pairs are unclear: not read";
            doubt(report, Doubtful::NoLabel, heading, words.to_owned());
        }
        return;
    };
    for ((_, word, evidence), (label, certain)) in values.iter().zip(placed) {
        let certain = certain && complete;
        let Some((field, line)) = labels.get(label) else {
            doubt(report, Doubtful::NoLabel, evidence.line, "a number whose label is missing".to_owned());
            continue;
        };
        match word {
            Word::Number(value) => {
                if !certain {
                    let words =
                        format!("{}: {value} is apart and may belong to another label", field.label());
                    doubt(report, Doubtful::Apart, evidence.line, words);
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
                report,
                Doubtful::NotANumber,
                evidence.line,
                format!("{}: {}", field.label(), what(&evidence.text)),
            ),
        }
    }
    for (field, line) in &labels {
        if section.any(*field).is_none() {
            doubt(
                report,
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

/// Fields that cannot all be true.
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
    let own = report.is_own();
    let figure = |field: Field| section.any(field).map(|figure| figure.value);
    let all = contradictions(section.kind, &figure);
    drop_refuted(report, section, all);
    let figure = |field: Field| section.any(field).map(|figure| figure.value);
    let all = refuted(section.kind, own, &figure);
    drop_refuted(report, section, all);
}
