//! What is wrong with option texts, or cannot hold together: the table of checks, and what they found.
//!
//! Invariant: a check speaks of what is in sight only, and names the lines; it sets nothing.
//! Not here: whether a text can be read at all (`underbar_options::check`, whose words are handed on), and what sizes are
//! good (`rules`).

#[cfg(test)]
mod tests;
mod values;

use serde::Serialize;
use underbar_listing::OptionRow;

use super::Line;
use super::collect::Collected;
use super::rules::fill::is_fill;
use super::sizes::{above_the_line, size, written};

/// One check.
pub struct LeLint {
    /// Its name for `explain` and in what it says.
    pub id: &'static str,
    /// What it is about.
    pub title: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// When it speaks, in words.
    pub condition: &'static str,
    /// What to do then, in words.
    pub formula: &'static str,
    /// Applies it.
    apply: fn(&Collected) -> Vec<Lint>,
}

/// What a check found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Lint {
    /// The check, by its id in [`LE_LINTS`].
    pub rule: &'static str,
    /// The lines that are to blame.
    pub evidence: Vec<Line>,
    /// What is wrong.
    pub words: String,
}

/// All checks of option texts.
pub static LE_LINTS: [LeLint; 8] = [
    LeLint {
        id: "le-opt-text",
        title: "Option texts that cannot be read as they stand",
        source: "CEE3611I, CEE3614I; a letter O typed for 0 and a missing sub-option fell back without a word \
                 (zowe/community#1852)",
        condition: "A name that is no option, a letter among digits (in options reports, too), a sub-option at another's \
                    place, a parenthesis that is not closed, or a misspelt _CEE_RUNOPTS.",
        formula: "Write it as the message says; until then the value of the level below is in force.",
        apply: text,
    },
    LeLint {
        id: "le-opt-values",
        title: "Values that an option cannot have",
        source: "Language Environment: sizes are n, nK or nM; cells of heap pools are multiples of 8; 2G below the bar, 16M \
                 below the line",
        condition: "A size as large as all there is where it lies, one in G or AUTO, a cell of HEAPPOOLS that is no multiple of \
                    8, or one that is not larger than the one before it.",
        formula: "Write a size that can be had, in K or M; write cells in growing order.",
        apply: values::values,
    },
    LeLint {
        id: "le-opt-together",
        title: "Values that cannot hold together",
        source: "Language Environment, ALL31 and THREADSTACK",
        condition: "ALL31(OFF) without STACK BELOW, STACK BELOW with ALL31(ON), sizes behind THREADSTACK(OFF), or more than \
                    8M of initial sizes below the 16M line.",
        formula: "Change one of them: ALL31(OFF) needs STACK(,,BELOW); ALL31(ON) needs no storage below the line.",
        apply: together,
    },
    LeLint {
        id: "le-opt-mode",
        title: "Options of the other addressing mode",
        source: "CEE3611I; 31-bit programs reject HEAP64 (zowe/zss#685)",
        condition: "HEAP64 and its kin beside reports of 31-bit programs only, or HEAP and its kin beside reports of 64-bit \
                    programs only.",
        formula: "Write HEAP for HEAP64, or the other way round.",
        apply: mode,
    },
    LeLint {
        id: "le-opt-fill",
        title: "STORAGE that fills every stack frame",
        source: "Storage tuning talk: 0.56 s of CPU under NONE, 2.15 s under 00, 0.57 s under CLEAR",
        condition: "The third value of STORAGE is neither NONE nor CLEAR, and there is no storage report, of which \
                    le-storage-fill would speak.",
        formula: "STORAGE(,,NONE), or CLEAR for programs that use variables before they set them.",
        apply: fill,
    },
    LeLint {
        id: "le-opt-nonovr",
        title: "Options that cannot be overridden",
        source: "Language Environment: NONOVR at a lower level beats everything above it",
        condition: "An option stands with NONOVR in one place and with other values in another.",
        formula: "Change it where it has NONOVR, or have OVR put there.",
        apply: nonovr,
    },
    LeLint {
        id: "le-opt-where",
        title: "Texts that are not in force",
        source: "Language Environment, options report: LAST WHERE SET",
        condition: "The options report shows other values than a text in the same listing sets.",
        formula: "Look at where the report says it was set: exits, then PARM and _CEE_RUNOPTS, then CEEOPTS, then CEEUOPT, \
                  then region and system members.",
        apply: elsewhere,
    },
    LeLint {
        id: "le-opt-region",
        title: "Initial sizes that the region cannot hold",
        source: "An initial heap of 256M where about 125M was free ended in abend 0C4 (zowe/zowe-common-c#505)",
        condition: "An initial size of HEAP or ANYHEAP in a text is as large as the region or larger.",
        formula: "Lower the size or raise REGION.",
        apply: beyond,
    },
];

/// Everything that the checks find.
#[must_use]
pub fn lint(collected: &Collected) -> Vec<Lint> {
    LE_LINTS.iter().flat_map(|check| (check.apply)(collected)).collect()
}

impl std::fmt::Display for Lint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for line in &self.evidence {
            writeln!(f, "  {}:{}: {}", line.file, line.line, line.text)?;
        }
        writeln!(f, "    {}   ({})", self.words, self.rule)
    }
}

/// Options whose storage is above the bar, and those whose is not.
const ABOVE: [&str; 6] = ["HEAP64", "HEAPPOOLS64", "IOHEAP64", "LIBHEAP64", "STACK64", "THREADSTACK64"];
const NOT_ABOVE: [&str; 8] =
    ["ANYHEAP", "BELOWHEAP", "HEAP", "HEAPPOOLS", "LIBSTACK", "STACK", "THREADHEAP", "THREADSTACK"];

fn line(collected: &Collected, file: usize, row: &OptionRow) -> Line {
    let name = collected.files.get(file).cloned().unwrap_or_default();
    Line { file: name, line: row.evidence.line, text: row.evidence.text.clone() }
}

fn text(collected: &Collected) -> Vec<Lint> {
    let flaws = collected.flaws.iter().map(|(file, line, words)| {
        let file = collected.files.get(*file).cloned().unwrap_or_default();
        let (words, shown) = words.split_once("; in: ").unwrap_or((words, ""));
        let (column, words) = match words.split_once(": ") {
            Some((at, what)) if at.starts_with("column") => (at, what),
            _ => ("", words),
        };
        let text = match (column, shown) {
            ("", shown) => shown.to_owned(),
            (column, "") => column.to_owned(),
            (column, shown) => format!("{shown} ({column})"),
        };
        Lint {
            rule: "le-opt-text",
            evidence: vec![Line { file, line: *line, text }],
            words: words.to_owned(),
        }
    });
    flaws.chain(values::misread(collected)).collect()
}

/// A file, an enclave, and their options.
type Group<'a> = (usize, Option<&'a str>, Vec<(usize, &'a OptionRow)>);

/// The options of one file and one enclave, or of the texts of one file: the last of each name.
fn groups(collected: &Collected) -> Vec<Vec<(usize, &OptionRow)>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for (file, enclave, row) in &collected.options {
        let key = (*file, enclave.as_deref());
        // Groups follow one another, so that the right one is among the last.
        let group = match groups.iter().rposition(|(file, enclave, _)| (*file, *enclave) == key) {
            Some(at) => &mut groups[at].2,
            None => {
                groups.push((key.0, key.1, Vec::new()));
                let last = groups.len() - 1;
                &mut groups[last].2
            }
        };
        group.retain(|(_, known)| known.name != row.name);
        group.push((*file, row));
    }
    groups.into_iter().map(|(_, _, rows)| rows).collect()
}

fn is_word(row: &OptionRow, at: usize, words: &[&str]) -> bool {
    let all = row.sub_options();
    all.get(at).is_some_and(|value| words.iter().any(|word| value.trim().eq_ignore_ascii_case(word)))
}

fn together(collected: &Collected) -> Vec<Lint> {
    let mut found = Vec::new();
    for group in groups(collected) {
        let get = |name: &str| group.iter().find(|(_, row)| row.name == name).copied();
        let mut say = |rows: &[(usize, &OptionRow)], words: String| {
            let evidence = rows.iter().map(|(file, row)| line(collected, *file, row)).collect();
            found.push(Lint { rule: "le-opt-together", evidence, words });
        };
        let all31 = get("ALL31");
        let off = all31.filter(|(_, row)| is_word(row, 0, &["OFF"]));
        let on = all31.filter(|(_, row)| is_word(row, 0, &["ON"]));
        for (name, at) in [("STACK", 2), ("THREADSTACK", 3)] {
            let row = get(name);
            if name == "THREADSTACK" && !row.is_some_and(|(_, row)| is_word(row, 0, &["ON"])) {
                continue;
            }
            match (off, on, row) {
                (Some(off), _, Some(row)) if is_word(row.1, at, &["ANY", "ANYWHERE"]) => {
                    say(&[off, row], format!("ALL31(OFF) needs {name} BELOW."));
                }
                (Some(off), _, Some(row)) if !is_word(row.1, at, &["BELOW"]) => {
                    say(&[off, row], format!("ALL31(OFF) needs {name} BELOW, which is not set here."));
                }
                (Some(off), _, None) if name == "STACK" => {
                    say(&[off], "ALL31(OFF) needs STACK BELOW, which is not set here.".to_owned());
                }
                (_, Some(on), Some(row)) if is_word(row.1, at, &["BELOW"]) => say(
                    &[on, row],
                    format!(
                        "{name} BELOW takes scarce storage below the 16M line, and under ALL31(ON) nothing needs it."
                    ),
                ),
                _ => {}
            }
        }
        // A report shows all sub-options: only in a text do they mean something to whoever wrote it.
        let is_text = |row: &OptionRow| row.source.is_empty();
        if let Some(row) = get("THREADSTACK").filter(|(_, row)| is_text(row) && is_word(row, 0, &["OFF"]))
            && row.1.sub_options().iter().skip(1).any(|value| !value.trim().is_empty())
        {
            say(&[row], "Under THREADSTACK(OFF) its sizes are ignored: those of STACK are used.".to_owned());
        }
        let below = [
            get("STACK").filter(|(_, row)| is_word(row, 2, &["BELOW"])).map(|row| (row, 0)),
            get("HEAP").filter(|(_, row)| is_word(row, 2, &["BELOW"])).map(|row| (row, 0)),
            get("ANYHEAP").filter(|(_, row)| is_word(row, 2, &["BELOW"])).map(|row| (row, 0)),
            get("HEAP").map(|row| (row, 4)),
            get("BELOWHEAP").map(|row| (row, 0)),
            get("LIBSTACK").map(|row| (row, 0)),
        ];
        let sized: Vec<_> = below
            .into_iter()
            .flatten()
            .filter_map(|(row, at)| Some((row, size(row.1.sub_options().get(at)?)?)))
            .collect();
        let sum = sized.iter().fold(0_u64, |sum, (_, bytes)| sum.saturating_add(*bytes));
        if sum > 8 << 20 {
            let rows: Vec<_> = sized.iter().map(|(row, _)| *row).collect();
            say(&rows, format!("{} of initial sizes lie below the 16M line.", written(sum)));
        }
    }
    found
}

fn mode(collected: &Collected) -> Vec<Lint> {
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
    let texts = collected.options.iter().filter(|(_, _, row)| row.source.is_empty());
    texts
        .filter(|(_, _, row)| wrong.contains(&row.name.as_str()))
        .map(|(file, _, row)| Lint {
            rule: "le-opt-mode",
            evidence: vec![line(collected, *file, row)],
            words: format!("{}: {why}", row.name),
        })
        .collect()
}

fn fill(collected: &Collected) -> Vec<Lint> {
    let fills = |row: &OptionRow| {
        row.name == "STORAGE" && row.sub_options().get(2).is_some_and(|value| is_fill(value))
    };
    let rows = collected.options.iter().filter(|(_, _, row)| collected.programs.is_empty() && fills(row));
    rows.take(20)
        .map(|(file, _, row)| Lint {
            rule: "le-opt-fill",
            evidence: vec![line(collected, *file, row)],
            words: format!(
                "Every stack frame is filled with {} as it is made; in the talk's program that took 2.15 s of CPU, NONE 0.56 s.",
                row.sub_options()[2].trim()
            ),
        })
        .collect()
}

fn nonovr(collected: &Collected) -> Vec<Lint> {
    let all = || collected.options.iter();
    let fixed = all().filter(|(_, _, row)| row.overridable == Some(false));
    let mut found = Vec::new();
    for (file, _, row) in fixed {
        let others = all().filter(|(_, _, other)| {
            other.name == row.name && other.overridable != Some(false) && differ(row, other)
        });
        for (other_file, _, other) in others.take(20) {
            found.push(Lint {
                rule: "le-opt-nonovr",
                evidence: vec![line(collected, *file, row), line(collected, *other_file, other)],
                words: format!("{} stands with NONOVR: what the other line sets is ignored.", row.name),
            });
        }
        if found.len() > 100 {
            break;
        }
    }
    found
}

fn elsewhere(collected: &Collected) -> Vec<Lint> {
    let all = || collected.options.iter();
    let mut found = Vec::new();
    for (file, _, text) in all().filter(|(_, _, row)| row.source.is_empty()) {
        let report = all().rfind(|(_, _, row)| !row.source.is_empty() && row.name == text.name);
        let Some((report_file, _, row)) = report.filter(|(_, _, row)| differ(row, text)) else { continue };
        found.push(Lint {
            rule: "le-opt-where",
            evidence: vec![line(collected, *file, text), line(collected, *report_file, row)],
            words: format!("In force is {}({}), last set by {}.", row.name, row.values, row.source),
        });
        if found.len() > 100 {
            break;
        }
    }
    found
}

/// Whether the second sets a sub-option otherwise than the first has it.
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

fn beyond(collected: &Collected) -> Vec<Lint> {
    let limits =
        collected.regions.iter().filter_map(|(file, region)| Some((*file, region, above_the_line(region)?)));
    let Some((region_file, region, limit)) = limits.min_by_key(|(_, _, limit)| *limit) else {
        return Vec::new();
    };
    let file_name = |file: usize| collected.files.get(file).cloned().unwrap_or_default();
    let texts =
        collected.options.iter().filter(|(_, _, row)| matches!(row.name.as_str(), "HEAP" | "ANYHEAP"));
    texts
        .filter_map(|(file, _, row)| {
            let bytes = size(row.sub_options().first()?).filter(|bytes| *bytes >= limit)?;
            let shown = Line {
                file: file_name(region_file),
                line: region.evidence.line,
                text: region.evidence.text.clone(),
            };
            let words = format!(
                "An initial size of {} does not fit: the region leaves {}.",
                written(bytes),
                written(limit)
            );
            Some(Lint { rule: "le-opt-region", evidence: vec![line(collected, *file, row), shown], words })
        })
        .take(100)
        .collect()
}
