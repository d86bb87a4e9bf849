//! Sites and functions in words, in few characters.
//!
//! Invariant: every name from a program passes `shown`, so none steers a terminal; a text that is cut keeps its end, where the line is.

use underbar_profile::text::file_name;

pub use crate::name_words::{place, without_arguments};
use crate::names::{CPYTHON, Function, Location};
use crate::report::SiteRow;

/// Characters of the name of a wrapper, at most.
const LONGEST_WRAPPER: usize = 32;

/// A site in words: `parse_record at reader.c:212`, `stripped: libx.so+0x1234`.
#[must_use]
pub fn site(row: &SiteRow) -> String {
    let (head, tail) = parts(row);
    head + &tail + &wrapper(row)
}

/// The same in at most this many characters. If there is no room, the function's arguments go first, then its wrapper, then the middle
/// of its name.
#[must_use]
pub fn site_in(row: &SiteRow, most: usize) -> String {
    let (head, tail) = parts(row);
    let bare = without_arguments(&head);
    let wrapper = wrapper(row);
    for text in [format!("{head}{tail}{wrapper}"), format!("{bare}{tail}{wrapper}"), format!("{bare}{tail}")]
    {
        if text.chars().count() <= most {
            return text;
        }
    }
    let room = most.saturating_sub(tail.chars().count());
    if room < 8 {
        return shortened(&(head + &tail), most);
    }
    shortened(bare, room) + &tail
}

/// The wrapper of malloc by which a site requests: `, by xmalloc`.
fn wrapper(row: &SiteRow) -> String {
    row.by.as_ref().map_or(String::new(), |by| {
        let by = underbar_shown::line(by).into_owned();
        format!(", by {}", shortened(without_arguments(&by), LONGEST_WRAPPER))
    })
}

fn parts(row: &SiteRow) -> (String, String) {
    let module = underbar_shown::line(file_name(&row.module)).into_owned();
    let Some(function) = &row.function else {
        let place = match row.address {
            Some(address) if module.is_empty() => format!("0x{address:x}"),
            Some(address) => format!("{module}+0x{address:x}"),
            None => module,
        };
        return match row.note.as_deref() {
            // That of a saved report may be anything.
            Some(note) if place.is_empty() => (underbar_shown::line(note).into_owned(), String::new()),
            Some(note) => (format!("{}: {place}", underbar_shown::line(note)), String::new()),
            None => (place, String::new()),
        };
    };
    let function = underbar_shown::line(function).into_owned();
    let file = row.file.as_deref().map(|file| underbar_shown::line(file_name(file)).into_owned());
    let tail = match (file, row.line) {
        (Some(file), Some(line)) => format!(" at {file}:{line}"),
        (Some(file), None) => format!(" in {file}"),
        (None, _) if row.note.as_deref() == Some(CPYTHON) => format!(" ({CPYTHON})"),
        (None, _) if module.is_empty() => " (made at run time)".to_owned(),
        (None, _) => format!(" in {module}"),
    };
    (function, tail)
}

/// A function of a location in words, without its line.
#[must_use]
pub fn function(location: &Location, function: &Function) -> String {
    match &function.function {
        Some(name) => underbar_shown::line(name).into_owned(),
        None => place(location),
    }
}

/// At most this many characters; three dots in the middle of longer texts.
#[must_use]
pub fn shortened(text: &str, most: usize) -> String {
    let length = text.chars().count();
    if length <= most {
        return text.to_owned();
    }
    let Some(room) = most.checked_sub(3) else { return text.chars().take(most).collect() };
    let head = room - room / 3;
    let tail = room - head;
    text.chars().take(head).chain("...".chars()).chain(text.chars().skip(length - tail)).collect()
}

/// Without characters that a terminal may lack.
#[must_use]
pub fn ascii(text: &str) -> String {
    text.chars().map(|character| if character.is_ascii() { character } else { '?' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::example;

    #[test]
    fn sites_are_words() {
        let report = example();
        let all: Vec<String> = report.sites.iter().map(site).collect();
        assert_eq!(
            all,
            [
                "parse_record at reader.c:212",
                "load in job.py",
                "stripped: libx.so+0x1234",
                "\\x1b[31mevil\\n at e\\u{202e}.c:1"
            ]
        );
        assert_eq!(site_in(&report.sites[0], 100), all[0]);
        assert_eq!(site_in(&report.sites[0], 27), "parse_...rd at reader.c:212");
        let mut long = report.sites[2].clone();
        long.function = Some("os::malloc(unsigned long, NativeCallStack const&)".to_owned());
        assert_eq!(site_in(&long, 40), "os::malloc in libx.so");
        assert_eq!(site_in(&report.sites[0], 12).chars().count(), 12);
        let mut wrapped = report.sites[0].clone();
        wrapped.by = Some("os::malloc(unsigned long, MEMFLAGS)".to_owned());
        assert_eq!(site(&wrapped), "parse_record at reader.c:212, by os::malloc");
        assert_eq!(site_in(&wrapped, 43), site(&wrapped));
        assert_eq!(site_in(&wrapped, 42), "parse_record at reader.c:212");
        wrapped.by = Some("x".repeat(300));
        assert!(site(&wrapped).chars().count() < 80);
        assert_eq!(
            (shortened("abcdef", 2), shortened("abcdefgh", 6)),
            ("ab".to_owned(), "ab...h".to_owned())
        );
        assert_eq!(ascii("aä…"), "a??");
    }
}
