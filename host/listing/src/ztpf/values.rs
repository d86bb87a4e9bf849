//! Values of a memory configuration, as `NAME=value`: the form in which this project writes them.
//!
//! Invariant: only `PEH`, `HAVLn` and `HAVSZn`, each followed by `=` and a whole number. Only the end of a line
//! that may be a full record can have been cut: these lines are written by people and by this project, not printed.
//! Not here: the display of ZCTKA, which no public source shows.

use super::row::plain;
use crate::lines::Line;
use crate::model::ztpf::{Found, Values};
use crate::model::{Doubt, Doubtful, Figure, Item};
use crate::words::{evidence, split};

/// A line of such a length may be a full record.
const FULL: [usize; 7] = [71, 72, 79, 80, 120, 121, 132];

/// Whether a text begins with a name and its equals sign.
pub(crate) fn stands(text: &[u8]) -> bool {
    name(text).is_some()
}

/// Reads all values of a line; true if there are any.
pub(crate) fn line(line: Line<'_>, out: &mut dyn FnMut(Item)) -> bool {
    let mut found =
        Values { values: Vec::new(), evidence: evidence(line.number, line.text), doubts: Vec::new() };
    let free: Vec<u8> =
        line.text.iter().map(|byte| if matches!(byte, b',' | b';') { b' ' } else { *byte }).collect();
    let mut last = false;
    for word in split(&free) {
        let Some((name, value)) = name(word) else {
            if last && word.iter().any(u8::is_ascii_digit) {
                found.values.pop();
                let words = "a number follows a value, and may be a piece of it: not read".to_owned();
                found.doubts.push(Doubt { kind: Doubtful::NotANumber, line: line.number, words });
            }
            last = false;
            continue;
        };
        match plain(value) {
            Some(value) => {
                last = true;
                let figure = Figure { value, evidence: found.evidence.clone(), likely: false };
                found.values.push((name, figure));
            }
            None => {
                last = false;
                let words = format!("{name}: its value is not a number");
                found.doubts.push(Doubt { kind: Doubtful::NotANumber, line: line.number, words });
            }
        }
    }
    if last && !line.whole {
        found.values.pop();
        let words = "the last value may be cut: not read".to_owned();
        found.doubts.push(Doubt { kind: Doubtful::CutLine, line: line.number, words });
    } else if last
        && FULL.contains(&line.text.len())
        && let Some((_, figure)) = found.values.last_mut()
    {
        figure.likely = true;
    }
    let any = !found.values.is_empty() || !found.doubts.is_empty();
    if any {
        out(Item::Ztpf(Found::Values(found)));
    }
    any
}

/// A name in capitals, and the text after its equals sign.
fn name(text: &[u8]) -> Option<(String, &[u8])> {
    let at = text.iter().take(8).position(|byte| *byte == b'=')?;
    let name = text[..at].to_ascii_uppercase();
    let known = match &name[..] {
        b"PEH" => true,
        [b'H', b'A', b'V', b'L', digit] | [b'H', b'A', b'V', b'S', b'Z', digit] => {
            matches!(digit, b'1'..=b'9')
        }
        _ => false,
    };
    known.then(|| (String::from_utf8_lossy(&name).into_owned(), &text[at + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, whole: bool, expect: &[(&str, u64)], doubts: usize) {
        let mut all = Vec::new();
        line(Line { number: 3, text: text.as_bytes(), whole }, &mut |item| {
            if let Item::Ztpf(Found::Values(values)) = item {
                all.push(values);
            }
        });
        let values: Vec<(&str, u64)> = all
            .iter()
            .flat_map(|found| found.values.iter().map(|(name, figure)| (name.as_str(), figure.value)))
            .collect();
        assert_eq!(values, expect, "{text}");
        assert_eq!(all.iter().map(|found| found.doubts.len()).sum::<usize>(), doubts, "{text}");
    }

    #[test]
    fn names_and_values() {
        check("peh=24 HAVL1=10,HAVSZ1=48", true, &[("PEH", 24), ("HAVL1", 10), ("HAVSZ1", 48)], 0);
        check("PEH=24 HAVSZ1=48", false, &[("PEH", 24)], 1);
        check("PEH=2A HAVSZ1=48 and more", false, &[("HAVSZ1", 48)], 1);
        check("PEH=2 4 HAVSZ1=48", true, &[("HAVSZ1", 48)], 1);
        let long = format!("{} HAVSZ1=48", " ".repeat(80));
        line(Line { number: 1, text: long.as_bytes(), whole: true }, &mut |item| {
            let Item::Ztpf(Found::Values(found)) = item else { return };
            assert!(!found.values[0].1.likely, "no record ends there");
        });
        check("HAVSZ0=1 HAVLX=3 PEHX=5", true, &[], 0);
    }
}
