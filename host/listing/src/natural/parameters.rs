//! The one table of the parameters that matter here, and the parser of their texts.
//!
//! ```text
//! MT=0,THSIZE=2000 SORT=(WRKSIZE=1000,EXT=OFF)     names, values; between them commas or blanks
//! ```
//!
//! Invariant: a value that is damaged, or not allowed by the reference, is named and not taken. Parameters that
//! are not in the table are skipped, since there are hundreds; a near match is named.
//! Not here: where these texts are (`texts`).

use crate::model::{Doubt, Doubtful};
use crate::words::{evidence, sub_options};

use crate::model::natural::{Parameter, doubt};

/// The allowed values.
#[derive(Clone, Copy)]
enum Value {
    /// A number from, to; or 0, if that is allowed as well.
    Number(u64, u64, bool),
    /// One of these words.
    Words(&'static [&'static str]),
    /// A list, whose parts are checked by name.
    List,
    /// Known, so that a text is recognised, but not checked.
    Any,
}

/// A parameter.
pub(super) struct Entry {
    pub name: &'static str,
    value: Value,
    /// Whether only Natural or Adabas has a parameter of that name.
    pub telling: bool,
}

const fn entry(name: &'static str, value: Value, telling: bool) -> Entry {
    Entry { name, value, telling }
}

const KB: u64 = 2_097_151;

/// Parameters that are checked, then those that merely identify a text of Natural.
pub(super) const TABLE: [Entry; 34] = [
    entry("MT", Value::Number(0, 9_999_999, true), false),
    entry("THSIZE", Value::Number(256, KB, true), true),
    entry("OVSIZE", Value::Number(0, KB, true), true),
    entry("WPSIZE", Value::List, true),
    entry("SORT", Value::List, false),
    entry("ZIIP", Value::List, true),
    entry("MAINPR", Value::Number(0, 31, true), true),
    entry("MFSET", Value::Words(&["NEVER", "OFF", "ON"]), true),
    entry("MFMR", Value::Number(1, 1024, false), true),
    entry("MFBS", Value::Number(1, 65_536, false), true),
    entry("PREFETCH", Value::Words(&["YES", "OLD", "NO"]), false),
    entry("PREFNREC", Value::Number(0, 32_767, true), true),
    entry("PREFSBL", Value::Number(1024, 65_535, false), true),
    entry("PREFTBL", Value::Number(6144, 16_777_215, false), true),
    entry("PROG", Value::Any, false),
    // Lengths of the format buffer and of the record buffer: not parameters, but figures for the formula.
    entry("FBL", Value::Number(1, 65_535, false), false),
    entry("RBL", Value::Number(1, 65_535, false), false),
    entry("SYS", Value::Any, false),
    entry("PROFILE", Value::Any, false),
    entry("PARM", Value::Any, false),
    entry("IM", Value::Any, false),
    entry("MADIO", Value::Any, true),
    entry("MAXCL", Value::Any, true),
    entry("FNAT", Value::Any, true),
    entry("FUSER", Value::Any, true),
    entry("FDIC", Value::Any, true),
    entry("FSEC", Value::Any, true),
    entry("ETID", Value::Any, true),
    entry("INTENS", Value::Any, true),
    entry("DATSIZE", Value::Any, true),
    entry("ESIZE", Value::Any, true),
    entry("STACK", Value::Any, false),
    entry("AUTO", Value::Any, false),
    entry("WORK", Value::Any, false),
];

/// The parameter of that name.
pub(super) fn find(name: &str) -> Option<&'static Entry> {
    TABLE.iter().find(|entry| entry.name.eq_ignore_ascii_case(name))
}

/// One piece of a text: the name before the equals sign, if there is one, the value after it, and its start.
pub(super) struct Piece {
    pub name: Option<String>,
    pub value: String,
    pub at: usize,
    /// False where its parentheses or quotes are not closed.
    pub closed: bool,
}

/// Splits a text at commas and blanks outside of parentheses and quotes.
pub(super) fn pieces(text: &str) -> Vec<Piece> {
    let (mut all, mut from, mut depth, mut quote) = (Vec::new(), None, 0_i32, None);
    let mut push = |from: &mut Option<usize>, to: usize, closed: bool| {
        let Some(at) = from.take() else { return };
        let words = &text[at..to];
        let (name, value) = match words.split_once('=') {
            Some((name, value)) if is_name(name) => (Some(name.to_ascii_uppercase()), value),
            _ => (None, words),
        };
        all.push(Piece { name, value: value.to_owned(), at, closed });
    };
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(open), _) if open == c => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => {
                quote = Some(c);
                from.get_or_insert(at);
            }
            (None, ',' | ' ' | '\t') if depth <= 0 => push(&mut from, at, true),
            (None, _) => {
                depth += i32::from(c == '(') - i32::from(c == ')');
                from.get_or_insert(at);
            }
        }
    }
    push(&mut from, text.len(), depth == 0 && quote.is_none());
    all
}

fn is_name(name: &str) -> bool {
    (1..=8).contains(&name.len())
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// The parameters of a text.
pub(super) struct Taken {
    /// Parameters with valid values.
    pub rows: Vec<Parameter>,
    /// Parameters with unreadable values.
    pub refused: Vec<Parameter>,
}

/// The parameters of the table in a text; `line_at` gives the line of a position.
///
/// `whole` is false where the text may go on: then its last value may be cut.
pub(super) fn take(
    text: &str,
    whole: bool,
    line_at: &dyn Fn(usize) -> u64,
    doubts: &mut Vec<Doubt>,
) -> Taken {
    let pieces = pieces(text);
    let mut taken = Taken { rows: Vec::new(), refused: Vec::new() };
    let last = pieces.len().saturating_sub(1);
    for (index, piece) in pieces.iter().enumerate() {
        let Some(name) = &piece.name else { continue };
        let line = line_at(piece.at);
        let parameter = |name: &'static str, value: &str| {
            let end = (piece.at + piece.name.as_ref().map_or(0, String::len) + 1 + piece.value.len())
                .min(text.len());
            let evidence = evidence(line, &text.as_bytes()[piece.at..end]);
            Parameter { name, value: value.to_owned(), evidence }
        };
        let Some(entry) = find(name) else {
            if let Some(near) = near(name) {
                let words =
                    format!("{name} is no parameter that is known here: {near} may be meant; not read");
                doubt(doubts, Doubtful::NotANumber, line, words);
            }
            continue;
        };
        if !piece.closed || (!whole && index == last && !piece.value.ends_with(')')) {
            let words = format!("{name}: its value is cut or not closed: not read");
            taken.refused.push(parameter(entry.name, &piece.value));
            doubt(doubts, Doubtful::CutLine, line, words);
            continue;
        }
        let value: String = piece.value.chars().filter(|c| !c.is_whitespace()).collect();
        let mut value = value.to_ascii_uppercase();
        if entry.name == "ZIIP" {
            value = spelt(&value, line, doubts);
        }
        match wrong(entry, &value) {
            Some(why) => {
                let shown: String = value.chars().take(60).collect();
                doubt(doubts, Doubtful::NotANumber, line, format!("{name}={shown}: {why}; not read"));
                taken.refused.push(parameter(entry.name, &value));
            }
            None => taken.rows.push(parameter(entry.name, &value)),
        }
    }
    taken
}

/// The tuning page writes PCWSIZE; the reference has PWCSIZE.
fn spelt(value: &str, line: u64, doubts: &mut Vec<Doubt>) -> String {
    if value.contains("PCWSIZE=") {
        let words =
            "PCWSIZE is spelt as in the tuning page; the reference of parameters has PWCSIZE".to_owned();
        doubt(doubts, Doubtful::Misspelt, line, words);
    }
    value.replace("PCWSIZE=", "PWCSIZE=")
}

/// The reason why a value is not valid.
fn wrong(entry: &Entry, value: &str) -> Option<String> {
    match entry.value {
        Value::Any => None,
        Value::Number(from, to, or_zero) => number(value, from, to, or_zero),
        Value::Words(words) => {
            (!words.contains(&value)).then(|| format!("it must be one of {}", words.join(", ")))
        }
        Value::List => list(entry.name, value),
    }
}

fn number(value: &str, from: u64, to: u64, or_zero: bool) -> Option<String> {
    let digits = (1..=9).contains(&value.len()) && value.bytes().all(|byte| byte.is_ascii_digit());
    match value.parse::<u64>() {
        Ok(number) if digits && ((from..=to).contains(&number) || (or_zero && number == 0)) => None,
        Ok(_) if digits => Some(format!("it must be a number from {from} to {to}")),
        _ => Some("it is not a number".to_owned()),
    }
}

fn list(name: &str, value: &str) -> Option<String> {
    let inner = value.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    let parts = sub_options(inner.unwrap_or(value));
    let keyword = |name: &str| parts.iter().find_map(|part| part.strip_prefix(name)?.strip_prefix('='));
    let on_off = |name: &str| {
        let value = keyword(name)?;
        (!["ON", "OFF"].contains(&value)).then(|| format!("{name} must be ON or OFF"))
    };
    match name {
        "SORT" => {
            let size = keyword("WRKSIZE").and_then(|size| number(size, 10, KB, true));
            let known = parts.iter().any(|part| {
                ["WRKSIZE=", "EXT=", "STORAGE=", "EXTNAME=", "EXTOPT=", "EXTEOJ="]
                    .iter()
                    .any(|known| part.starts_with(known))
            });
            size.map(|why| format!("WRKSIZE: {why}"))
                .or_else(|| on_off("EXT"))
                .or_else(|| (!known).then(|| "none of its keywords is known".to_owned()))
        }
        "ZIIP" => {
            let first = parts.first().copied().unwrap_or_default();
            let state = first.contains('=') || ["ON", "OFF", "AUTO"].contains(&first);
            if state {
                keyword("PWCSIZE").and_then(caches).map(|why| format!("PWCSIZE cannot be read: {why}"))
            } else {
                Some("ON, OFF or AUTO must come first".to_owned())
            }
        }
        // WPSIZE: sizes of work pools.
        _ => parts.iter().filter(|part| !part.is_empty()).find_map(|part| number(part, 0, KB, true)),
    }
}

/// The reason why the sizes of the caches cannot be read: they are three numbers in parentheses.
fn caches(value: &str) -> Option<String> {
    let inner = value.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    let sizes = inner.map(|inner| inner.split(',').collect::<Vec<_>>()).unwrap_or_default();
    if sizes.len() != 3 || sizes.iter().any(|size| size.is_empty()) {
        return Some("it must be three sizes in parentheses".to_owned());
    }
    sizes.into_iter().find_map(|size| number(size, 0, KB, true))
}

/// The parameter that nearly has this name: one letter differs, or digits replace letters.
fn near(name: &str) -> Option<&'static str> {
    let alike = |a: u8, b: u8| {
        a == b || matches!((a, b), (b'0', b'O') | (b'1' | b'L', b'I') | (b'5', b'S') | (b'2', b'Z'))
    };
    let sorted = |text: &str| {
        let mut bytes = text.as_bytes().to_vec();
        bytes.sort_unstable();
        bytes
    };
    TABLE
        .iter()
        .filter(|entry| entry.telling || name.bytes().any(|byte| byte.is_ascii_digit()))
        .filter(|entry| {
            entry.name.len() == name.len() && name.len() >= 4 && !matches!(entry.value, Value::Any)
        })
        .find(|entry| {
            let pairs = || name.bytes().zip(entry.name.bytes());
            pairs().all(|(a, b)| alike(a, b))
                || (entry.telling && entry.name.len() >= 6 && sorted(name) == sorted(entry.name))
        })
        .map(|entry| entry.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, rows: &[(&str, &str)], doubts: &[&str]) {
        let mut found = Vec::new();
        let taken = take(text, true, &|_| 1, &mut found).rows;
        let got: Vec<(&str, &str)> = taken.iter().map(|row| (row.name, row.value.as_str())).collect();
        assert_eq!(got, rows, "{text}: {found:?}");
        assert_eq!(found.len(), doubts.len(), "{text}: {found:?}");
        for (doubt, words) in found.iter().zip(doubts) {
            assert!(doubt.words.contains(words), "{text}: {}", doubt.words);
        }
    }

    #[test]
    fn values_are_taken_and_examined() {
        check("MT=0,THSIZE=3000", &[("MT", "0"), ("THSIZE", "3000")], &[]);
        check("mt=5 sort=(wrksize=40, ext=on)", &[("MT", "5"), ("SORT", "(WRKSIZE=40,EXT=ON)")], &[]);
        check("LS=132,CFICU=ON,MT=60", &[("MT", "60")], &[]);
        check("MT=6O", &[], &["MT=6O: it is not a number"]);
        check("MT=-1", &[], &["not a number"]);
        check("MT=99999999", &[], &["from 0 to 9999999"]);
        check("THSIZE=100", &[], &["from 256"]);
        check("THSIZE=0", &[("THSIZE", "0")], &[]);
        check("THSIZE=3,000", &[], &["from 256"]);
        check("SORT=(WRKSIZE=5)", &[], &["WRKSIZE: it must"]);
        check("SORT=(EXT=ONN)", &[], &["EXT must be ON or OFF"]);
        check("SORT=FIELDS", &[], &["none of its keywords"]);
        check("MAINPR=32,MFSET=MAYBE", &[], &["from 0 to 31", "NEVER, OFF, ON"]);
        check("ZIIP=(ON,PWCSIZE=(64,6O,64))", &[], &["PWCSIZE cannot be read: it is not a number"]);
        for sizes in ["(600,600)", "(1,2,3,4)", "(,200,)", "600"] {
            check(&format!("ZIIP=(ON,PWCSIZE={sizes})"), &[], &["cannot be read: it must be three sizes"]);
        }
        check("ZIIP=MAYBE", &[], &["must come first"]);
        check("WPSIZE=(0,0)", &[("WPSIZE", "(0,0)")], &[]);
    }

    #[test]
    fn slips_of_spelling_are_named() {
        check(
            "ZIIP=(PCWSIZE=(64,32,64))",
            &[("ZIIP", "(PWCSIZE=(64,32,64))")],
            &["the reference of parameters has PWCSIZE"],
        );
        check("TH5IZE=3000,S0RT=(EXT=ON)", &[], &["THSIZE may be meant", "SORT may be meant"]);
        check("THSZIE=3000", &[], &["THSIZE may be meant"]);
    }

    #[test]
    fn what_is_cut_is_not_taken() {
        check("THSIZE=3000,SORT=(WRKSIZE=40,EXT=ON", &[("THSIZE", "3000")], &["not closed"]);
        let mut doubts = Vec::new();
        let taken = take("MT=0,THSIZE=30", false, &|_| 1, &mut doubts);
        assert_eq!((taken.rows.len(), taken.refused[0].name), (1, "THSIZE"));
        assert_eq!(doubts[0].words, "THSIZE: its value is cut or not closed: not read");
    }
}
