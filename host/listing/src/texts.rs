//! Single lines of option texts: their columns, and their form.
//!
//! Not here: the lines of a text (`carriers`).

use crate::options::{named, option_at};
use crate::words::{Nesting, find, split};

/// Options whose names make a bare line an option text.
const BARE: [&str; 20] = [
    "ALL31",
    "ANYHEAP",
    "BELOWHEAP",
    "HEAP",
    "HEAP64",
    "HEAPCHK",
    "HEAPPOOLS",
    "HEAPPOOLS64",
    "HEAPZONES",
    "IOHEAP64",
    "LIBHEAP64",
    "LIBSTACK",
    "RPTOPTS",
    "RPTSTG",
    "STACK",
    "STACK64",
    "STORAGE",
    "THREADHEAP",
    "THREADSTACK",
    "THREADSTACK64",
];

/// The position after the parenthesis that closes the first one of the text; parentheses in quotes do not count. None if
/// there is none, or it is not closed.
pub(crate) fn closed_at(text: &[u8]) -> Option<usize> {
    let mut nesting = Nesting::default();
    let closing = text.iter().position(|&byte| nesting.take(byte));
    closing.filter(|_| text.starts_with(b"(")).map(|at| at + 1)
}

/// Columns 1 to 72 of fixed records: filled up with blanks, so that words stay apart.
pub(crate) fn columns(text: &[u8]) -> Vec<u8> {
    let text = text.get(..72).unwrap_or(text);
    let mut kept = text.to_vec();
    if !text.ends_with(b",") && !text.ends_with(b"(") {
        kept.push(b' ');
    }
    kept
}

/// The text of a macro's line from a column on, without the mark of continuation in column 72, and whether there is one.
pub(crate) fn macro_line(text: &[u8], from: usize) -> (Vec<u8>, bool) {
    if text.len() >= 72 && text[71] != b' ' {
        return (text[from.min(71)..71].trim_ascii().to_vec(), true);
    }
    let body = text[from.min(text.len())..].trim_ascii();
    match body.split_last() {
        Some((b'X' | b'x', rest)) if rest.ends_with(b" ") => (rest.trim_ascii().to_vec(), true),
        _ => (body.to_vec(), false),
    }
}

/// The text after the variable's name where it is first set.
pub(crate) fn variable(text: &[u8]) -> Option<&[u8]> {
    variables(text, b"_cee_runopts").find_map(|(before, behind)| {
        let is_c_shell = || split(before).last().is_some_and(|word| word.eq_ignore_ascii_case(b"setenv"));
        // The last is that of YAML.
        let named = behind.strip_prefix(b"=").or_else(|| behind.strip_prefix(b" ").filter(|_| is_c_shell()));
        named.or_else(|| behind.strip_prefix(b": "))
    })
}

/// The text before and after each occurrence of a variable's name, in small letters, that is not the end of a longer name.
fn variables<'t>(text: &'t [u8], name: &'static [u8]) -> impl Iterator<Item = (&'t [u8], &'t [u8])> {
    let mut from = 0;
    let places = std::iter::from_fn(move || {
        let at = from + find(&text[from..], name)?;
        from = at + name.len();
        Some((&text[..at], &text[from..]))
    });
    // A digit in the first column is a control character.
    places.filter(|(before, _)| match before {
        [only] => !(only.is_ascii_alphabetic() || *only == b'_'),
        [.., last] => !(last.is_ascii_alphanumeric() || *last == b'_'),
        [] => true,
    })
}

/// Options in a source: `#pragma runopts(...)` of C, PLIXOPT of PL/I; and whether they are closed.
pub(crate) fn in_source(text: &[u8]) -> Option<(&[u8], bool)> {
    const PRAGMA: &[u8] = b"#pragma runopts";
    if let Some(at) = find(text, PRAGMA) {
        let alone = text[..at].trim_ascii().is_empty();
        let rest = text[at + PRAGMA.len()..].trim_ascii_start();
        let open = rest.strip_prefix(b"(").filter(|_| alone)?;
        // After both parentheses, of which `open` lacks one.
        return Some(closed_at(rest).map_or((open, false), |end| (&open[..end - 2], true)));
    }
    let at = find(text, b"plixopt")?;
    let init = at + find(&text[at..], b"init")? + 4;
    let rest = text[init..].trim_ascii_start().strip_prefix(b"(")?.trim_ascii_start().strip_prefix(b"'")?;
    let end = rest.iter().position(|byte| *byte == b'\'');
    Some((&rest[..end.unwrap_or(rest.len())], end.is_some()))
}

/// The state of a value at the end of a shell's line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shell {
    /// It ends before the line does.
    Closed,
    /// It ends with the line.
    AtEnd,
    /// Its quotes, of this kind, are not closed.
    Quoted(u8),
}

/// A value as a shell reads it, up to its end, with a blank for each other variable. `quote`: the open quote of the line before.
///
/// Outside of quotes, options have no parentheses in a shell: a text with some is not a shell's line, and a blank does not end it.
pub(crate) fn shell_value(text: &[u8], mut quote: Option<u8>) -> (Vec<u8>, Shell) {
    let (mut value, mut at) = (Vec::new(), 0);
    let text = text.trim_ascii();
    while let Some(&byte) = text.get(at) {
        at += 1;
        match (byte, quote) {
            (b'"' | b'\'', None) => quote = Some(byte),
            (_, Some(open)) if byte == open => quote = None,
            (b' ', None) => {
                // All blanks at once: there may be many.
                let next = text.len() - text[at..].trim_ascii_start().len();
                if !(value.contains(&b'(') && option_at(&text[next..]) == Some(0)) {
                    return (value, Shell::Closed);
                }
                value.extend_from_slice(&text[at - 1..next]);
                at = next;
            }
            (b';' | b'&', None) => return (value, Shell::Closed),
            (b'\\', Some(b'"')) if at == text.len() => {}
            (b'$', None | Some(b'"')) => {
                let is_name = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'_';
                let name = &text[at..];
                let braced = name.iter().position(|byte| *byte == b'}').filter(|_| name.starts_with(b"{"));
                at += braced.map_or_else(|| name.iter().take_while(is_name).count(), |end| end + 1);
                value.push(b' ');
            }
            _ => value.push(byte),
        }
    }
    (value, quote.map_or(Shell::AtEnd, Shell::Quoted))
}

/// The variable without its last letter, set or used.
pub(crate) fn is_misspelt(text: &[u8]) -> bool {
    variables(text, b"_cee_runopt").any(|(before, behind)| {
        let used = before.ends_with(b"$") || before.ends_with(b"${");
        behind.starts_with(b"=") || (used && !behind.first().is_some_and(u8::is_ascii_alphanumeric))
    })
}

/// Whether a line consists of options only, by its first word.
pub(crate) fn is_bare(text: &[u8]) -> bool {
    let text = text.trim_ascii_start();
    let end = text.iter().position(|byte| !byte.is_ascii_alphanumeric()).unwrap_or(text.len());
    text.get(end) == Some(&b'(')
        && end >= 4
        && named(&text[..end]).is_some_and(|(name, _)| BARE.contains(&name))
        && text[end..].iter().all(|byte| byte.is_ascii_graphic() || *byte == b' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_in_sources_are_found() {
        let check = |line: &str, expect: Option<(&str, bool)>| {
            let got = in_source(line.as_bytes());
            let got = got.map(|(text, closed)| (String::from_utf8_lossy(text).into_owned(), closed));
            assert_eq!(got, expect.map(|(text, closed)| (text.to_owned(), closed)), "{line}");
        };
        check("#pragma runopts(HEAP(2M,500K) STACK(,,ANY))", Some(("HEAP(2M,500K) STACK(,,ANY)", true)));
        check("  #pragma runopts ( HEAP(2M) ) /* large */", Some((" HEAP(2M) ", true)));
        check("#pragma runopts(HEAP(2M),", Some(("HEAP(2M),", false)));
        check("#pragma runopts(HEAP(2M)", Some(("HEAP(2M)", false)));
        check("#pragma runopts(ENVAR('A=)'),HEAP(2M))", Some(("ENVAR('A=)'),HEAP(2M)", true)));
        check("#pragma runopts()", Some(("", true)));
        check("#pragma runopts(", Some(("", false)));
        check(
            " DCL PLIXOPT CHAR(40) VAR STATIC EXTERNAL INIT('HEAP(2M),RPTSTG(ON)');",
            Some(("HEAP(2M),RPTSTG(ON)", true)),
        );
        for other in
            ["// #pragma runopts(HEAP(2M))", "#pragma runopts", " CALL PLIXOPT;", " DCL PLIXOPT CHAR(40);"]
        {
            check(other, None);
        }
    }

    #[test]
    fn values_are_read_as_shells_read_them() {
        let check = |line: &str, expect: Option<(&str, Shell)>| {
            let got = variable(line.as_bytes()).map(|value| shell_value(value, None));
            let got = got.map(|(value, shell)| (String::from_utf8_lossy(&value).trim().to_owned(), shell));
            assert_eq!(got, expect.map(|(value, shell)| (value.to_owned(), shell)), "{line}");
        };
        check("export _CEE_RUNOPTS=\"HEAP(1M) RPTSTG(ON)\"; x", Some(("HEAP(1M) RPTSTG(ON)", Shell::Closed)));
        check("_CEE_RUNOPTS=HEAP(1M) ./prog", Some(("HEAP(1M)", Shell::Closed)));
        check("_CEE_RUNOPTS=HEAP(1M) STACK(32K)", Some(("HEAP(1M) STACK(32K)", Shell::AtEnd)));
        check("_CEE_RUNOPTS=$_CEE_RUNOPTS\" STACK(32K)\"", Some(("STACK(32K)", Shell::AtEnd)));
        check("_CEE_RUNOPTS=\"${_CEE_RUNOPTS} STACK(32K)\"", Some(("STACK(32K)", Shell::AtEnd)));
        check("  _CEE_RUNOPTS: \"HEAP(1M) STACK(32K)\"", Some(("HEAP(1M) STACK(32K)", Shell::AtEnd)));
        check("setenv _CEE_RUNOPTS 'HEAPP(ON)'", Some(("HEAPP(ON)", Shell::AtEnd)));
        check("_CEE_RUNOPTS=\"HEAP(1M", Some(("HEAP(1M", Shell::Quoted(b'"'))));
        check("_CEE_RUNOPTS=\"HEAP(1M) \\", Some(("HEAP(1M)", Shell::Quoted(b'"'))));
        check("_CEE_RUNOPTS=\"${BASE}HEAP(1M)\"", Some(("HEAP(1M)", Shell::AtEnd)));
        check("_CEE_RUNOPTS=\"${BASE:-STACK(64K)} HEAP(1M)\"", Some(("HEAP(1M)", Shell::AtEnd)));
        check("_CEE_RUNOPTS=\"$BASE}HEAP(1M)\"", Some(("}HEAP(1M)", Shell::AtEnd)));
        check("_CEE_RUNOPTS=HEAP(1M)  STACK(32K)   x", Some(("HEAP(1M)  STACK(32K)", Shell::Closed)));
        check("echo $_CEE_RUNOPTS", None);
        let again = "unset _CEE_RUNOPTS; export _CEE_RUNOPTS=\"HEAP(1M)\"";
        check(again, Some(("HEAP(1M)", Shell::AtEnd)));
        check("1_CEE_RUNOPTS=HEAP(1M)", Some(("HEAP(1M)", Shell::AtEnd)));
        for other in ["MY_CEE_RUNOPTS=HEAP(1M)", "A2_CEE_RUNOPTS=HEAP(1M)", "__CEE_RUNOPTS=HEAP(1M)"] {
            check(other, None);
        }
        let more = shell_value(b"  STACK(32K)\" ./prog", Some(b'"'));
        assert_eq!(more, (b"STACK(32K)".to_vec(), Shell::Closed));
    }

    #[test]
    fn the_name_without_its_last_letter_is_misspelt() {
        for text in ["_CEE_RUNOPT=HEAP(1M)", "unset _CEE_RUNOPT; _CEE_RUNOPT=x", "echo ${_CEE_RUNOPT}"] {
            assert!(is_misspelt(text.as_bytes()), "{text}");
        }
        for text in ["_CEE_RUNOPTS=HEAP(1M)", "MY_CEE_RUNOPT=HEAP(1M)", "echo $_CEE_RUNOPTS"] {
            assert!(!is_misspelt(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn parentheses_in_quotes_are_none() {
        let check = |text: &str, expect: Option<usize>| {
            assert_eq!(closed_at(text.as_bytes()), expect, "{text}");
        };
        check("(1M,(2),3) (4)", Some(10));
        check("('A=('),HEAP(1M)", Some(7));
        check("('A=)HEAP(1M)')", Some(15));
        check("(\"it's (\")x", Some(10));
        for other in ["", "1M)", "x(1M)", "(1M", "('1M)"] {
            check(other, None);
        }
    }
}
