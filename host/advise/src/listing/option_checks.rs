//! Errors and contradictions in option texts: the functions of the rules that check them.
//!
//! Invariant: a check uses only the contents of the listings, and names the lines; it sets nothing.
//! Not here: whether a text can be parsed (`underbar_options::check`, whose words are passed on), good sizes (`le`), and the
//! words of the checks (`crate::rules`).

#[cfg(test)]
mod tests;
mod values;

pub(crate) use values::{under_cics, values};

use underbar_listing::{IN, OptionRow};

use super::collect::Collected;
use super::known_options::Placed;
use super::le::fill::is_fill;
use crate::advice::{Advice, Kind, Line};
use crate::sizes::{above_the_line, size, written};

/// A finding: the lines at fault, and the error. A check sets nothing.
fn found(evidence: Vec<Line>, words: impl Into<String>) -> Advice {
    Advice::of_lines(Kind::NoAdvice, "", evidence, words)
}

/// Options whose storage is above the bar, and options whose storage is not.
const ABOVE: [&str; 6] = ["HEAP64", "HEAPPOOLS64", "IOHEAP64", "LIBHEAP64", "STACK64", "THREADSTACK64"];
const NOT_ABOVE: [&str; 8] =
    ["ANYHEAP", "BELOWHEAP", "HEAP", "HEAPPOOLS", "LIBSTACK", "STACK", "THREADHEAP", "THREADSTACK"];

fn line(collected: &Collected, placed: &Placed) -> Line {
    collected.line(placed.file, &placed.row.evidence)
}

pub(crate) fn text(collected: &Collected) -> Vec<Advice> {
    let flaws = collected.flaws.iter().map(|(file, line, words)| {
        let file = collected.name_of(*file).to_owned();
        let (words, shown) = words.split_once(IN).unwrap_or((words, ""));
        let (column, words) = match words.split_once(": ") {
            Some((at, what)) if at.starts_with("column") => (at, what),
            _ => ("", words),
        };
        let text = match (column, shown) {
            ("", shown) => shown.to_owned(),
            (column, "") => column.to_owned(),
            (column, shown) => format!("{shown} ({column})"),
        };
        found(vec![Line { file, line: *line, text }], words)
    });
    flaws.chain(values::misread(collected)).collect()
}

/// The options of one file and one enclave, or of the texts of one file: the last of each name.
fn groups(collected: &Collected) -> Vec<Vec<&Placed>> {
    let mut groups: Vec<Vec<&Placed>> = Vec::new();
    for placed in collected.options.rows() {
        let is_one = |known: &Placed| (known.file, &known.enclave) == (placed.file, &placed.enclave);
        // Groups follow one another, so the right one is among the last.
        let at = groups.iter().rposition(|group| group.iter().any(|known| is_one(known)));
        let at = at.unwrap_or_else(|| {
            groups.push(Vec::new());
            groups.len() - 1
        });
        groups[at].push(placed);
        groups[at].retain(|known| known.row.name != placed.row.name || std::ptr::eq(*known, placed));
    }
    groups
}

fn is_word(placed: &Placed, at: usize, words: &[&str]) -> bool {
    let all = placed.row.sub_options();
    all.get(at).is_some_and(|value| words.iter().any(|word| value.trim().eq_ignore_ascii_case(word)))
}

pub(crate) fn together(collected: &Collected) -> Vec<Advice> {
    let mut all = Vec::new();
    for group in groups(collected) {
        let get = |name: &str| group.iter().find(|placed| placed.row.name == name).copied();
        let mut say = |rows: &[&Placed], words: String| {
            let evidence = rows.iter().map(|placed| line(collected, placed)).collect();
            all.push(found(evidence, words));
        };
        let all31 = get("ALL31");
        let off = all31.filter(|placed| is_word(placed, 0, &["OFF"]));
        let on = all31.filter(|placed| is_word(placed, 0, &["ON"]));
        for (name, at) in [("STACK", 2), ("THREADSTACK", 3)] {
            let row = get(name);
            if name == "THREADSTACK" && !row.is_some_and(|row| is_word(row, 0, &["ON"])) {
                continue;
            }
            match (off, on, row) {
                (Some(off), _, Some(row)) if is_word(row, at, &["ANY", "ANYWHERE"]) => {
                    say(&[off, row], format!("ALL31(OFF) needs {name} BELOW."));
                }
                // A report shows every option with every value: a missing value was cut, and may have been BELOW.
                (Some(off), _, Some(row)) if row.row.is_in_a_text() && !is_word(row, at, &["BELOW"]) => {
                    say(&[off, row], format!("ALL31(OFF) needs {name} BELOW, which is not set here."));
                }
                (Some(off), _, None) if name == "STACK" && off.row.is_in_a_text() => {
                    say(&[off], "ALL31(OFF) needs STACK BELOW, which is not set here.".to_owned());
                }
                (_, Some(on), Some(row)) if is_word(row, at, &["BELOW"]) => say(
                    &[on, row],
                    format!(
                        "{name} BELOW takes scarce storage below the 16M line, and under ALL31(ON) nothing needs it."
                    ),
                ),
                _ => {}
            }
        }
        // A report shows all sub-options: only in a text did the author choose them.
        if let Some(row) =
            get("THREADSTACK").filter(|row| row.row.is_in_a_text() && is_word(row, 0, &["OFF"]))
            && row.row.sub_options().iter().skip(1).any(|value| !value.trim().is_empty())
        {
            say(&[row], "Under THREADSTACK(OFF) its sizes are ignored: those of STACK are used.".to_owned());
        }
        let below = [
            get("STACK").filter(|row| is_word(row, 2, &["BELOW"])).map(|row| (row, 0)),
            get("HEAP").filter(|row| is_word(row, 2, &["BELOW"])).map(|row| (row, 0)),
            get("ANYHEAP").filter(|row| is_word(row, 2, &["BELOW"])).map(|row| (row, 0)),
            get("HEAP").map(|row| (row, 4)),
            get("BELOWHEAP").map(|row| (row, 0)),
            get("LIBSTACK").map(|row| (row, 0)),
        ];
        let sized: Vec<_> = below
            .into_iter()
            .flatten()
            .filter_map(|(row, at)| Some((row, size(row.row.sub_options().get(at)?)?)))
            .collect();
        let sum = sized.iter().fold(0_u64, |sum, (_, bytes)| sum.saturating_add(*bytes));
        if sum > 8 << 20 {
            let rows: Vec<_> = sized.iter().map(|(row, _)| *row).collect();
            say(&rows, format!("{} of initial sizes are below the 16M line.", written(sum)));
        }
    }
    all
}

pub(crate) fn mode(collected: &Collected) -> Vec<Advice> {
    let reports = || collected.programs.iter().flat_map(|program| &program.runs).map(|run| &run.report);
    let (above, below) = (
        reports().any(|report| report.is_64bit()),
        reports().any(|report| !report.sections.is_empty() && !report.is_64bit()),
    );
    let (wrong, why): (&[&str], &str) = match (above, below) {
        (false, true) => (&ABOVE, "the reports here are of 31-bit programs, which reject it (CEE3611I)."),
        (true, false) => (&NOT_ABOVE, "the reports here are of 64-bit programs, which do not use it."),
        _ => return Vec::new(),
    };
    let texts = collected.options.in_texts();
    texts
        .filter(|placed| wrong.contains(&placed.row.name.as_str()))
        .map(|placed| found(vec![line(collected, placed)], format!("{}: {why}", placed.row.name)))
        .collect()
}

pub(crate) fn fill(collected: &Collected) -> Vec<Advice> {
    let fills = |placed: &&Placed| placed.row.sub_options().get(2).is_some_and(|value| is_fill(value));
    let rows = collected.options.named("STORAGE").filter(|_| collected.programs.is_empty()).filter(fills);
    rows.take(20)
        .map(|placed| {
            let words = format!(
                "Every stack frame is filled with {} as it is made; in the talk's program that took 2.15 s of CPU, NONE 0.56 s.",
                placed.row.sub_options()[2].trim()
            );
            found(vec![line(collected, placed)], words)
        })
        .collect()
}

pub(crate) fn nonovr(collected: &Collected) -> Vec<Advice> {
    let fixed = collected.options.rows().iter().filter(|placed| placed.row.overridable == Some(false));
    let mut all = Vec::new();
    for placed in fixed {
        let row = &placed.row;
        let others = collected.options.named(&row.name);
        let others = others.filter(|other| other.row.overridable != Some(false) && differ(row, &other.row));
        for other in others.take(20) {
            let words = format!("{} has NONOVR: the values of the other line are ignored.", row.name);
            all.push(found(vec![line(collected, placed), line(collected, other)], words));
        }
        if all.len() > 100 {
            break;
        }
    }
    all
}

pub(crate) fn elsewhere(collected: &Collected) -> Vec<Advice> {
    let mut all = Vec::new();
    for text in collected.options.in_texts() {
        let report = collected.options.named(&text.row.name).rfind(|placed| !placed.row.is_in_a_text());
        let Some(report) = report.filter(|report| differ(&report.row, &text.row)) else { continue };
        let row = &report.row;
        let words = format!("In force is {}({}), last set by {}.", row.name, row.values, row.source);
        all.push(found(vec![line(collected, text), line(collected, report)], words));
        if all.len() > 100 {
            break;
        }
    }
    all
}

/// Whether the second sets a sub-option to another value than the first.
fn differ(row: &OptionRow, other: &OptionRow) -> bool {
    let theirs = row.sub_options();
    row.negative != other.negative
        || other.sub_options().iter().enumerate().any(|(at, value)| {
            let value = value.trim();
            let known = theirs.get(at).map_or("", |value| value.trim());
            let same_size = size(value).is_some_and(|bytes| size(known) == Some(bytes));
            let same_place = |word: &str| matches!(word.to_ascii_uppercase().as_str(), "ANY" | "ANYWHERE");
            let same = value.eq_ignore_ascii_case(known) || (same_place(value) && same_place(known));
            !value.is_empty() && !same && !same_size
        })
}

pub(crate) fn beyond(collected: &Collected) -> Vec<Advice> {
    let limits =
        collected.regions.iter().filter_map(|(file, region)| Some((*file, region, above_the_line(region)?)));
    // The region of a text is not always clear: a size that fits into one region may run there.
    if collected.regions.iter().any(|(_, region)| region.region == Some(0)) {
        return Vec::new();
    }
    let Some((region_file, region, limit)) = limits.max_by_key(|(_, _, limit)| *limit) else {
        return Vec::new();
    };
    let texts = collected.options.rows().iter();
    texts
        .filter_map(|placed| {
            // The region also limits the storage of 64-bit programs below the bar.
            let (at, part) = match placed.row.name.as_str() {
                "HEAP" | "ANYHEAP" => (0, ""),
                "HEAP64" | "LIBHEAP64" | "IOHEAP64" => (3, " of its 31-bit part"),
                _ => return None,
            };
            let bytes = size(placed.row.sub_options().get(at)?).filter(|bytes| *bytes >= limit)?;
            let shown = collected.line(region_file, &region.evidence);
            let words = format!(
                "An initial size{part} of {} does not fit: the region leaves {}.",
                written(bytes),
                written(limit)
            );
            Some(found(vec![line(collected, placed), shown], words))
        })
        .take(100)
        .collect()
}
