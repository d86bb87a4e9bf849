//! PRINT, WORKFILE, PWCSIZE and MAINPR: which files are cached, and by how many bytes.
//!
//! ```text
//! the text of WORKFILE:   (pattern,read,write),(pattern,,),...      as in the options report; sizes in KiB, absent: those for all files
//! ```
//!
//! Invariant: the text holds whole entries, no two of one pattern.
//! Not here: what a cache does (`underbar_filecache`).

use crate::Settings;
use crate::file_name::FileName;
use crate::read::unquoted;
use crate::search::{START, option_named, slot_named};
use crate::value::Value;
use crate::where_set::WhereSet;

/// The cache of MAINPR's file, in bytes, unless another size is given: a thousand lines of a printer.
const OF_MAIN_PRINTER: u64 = 132 << 10;

/// Sizes of the caches of files, in bytes; 0: none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheSizes {
    /// Of standard output and standard error.
    pub print: u64,
    /// Of a work file that is read.
    pub read: u64,
    /// Of work files that are written.
    pub write: u64,
}

/// A pattern of WORKFILE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkFile<'a> {
    /// The pattern as it was written, perhaps in quotes.
    written: &'a [u8],
    /// Bytes of the cache of each file that is read; 0: none.
    pub read: u64,
    /// Bytes of the cache of files that are written; 0: none.
    pub write: u64,
}

impl<'a> WorkFile<'a> {
    /// The bytes of the pattern.
    pub fn pattern(&self) -> impl Iterator<Item = u8> + Clone + use<'a> {
        unquoted(self.written)
    }
}

/// The work files of a text in the form of WORKFILE's. Sizes that it has not are `read` and `write`.
pub fn work_files(text: &[u8], read: u64, write: u64) -> impl Iterator<Item = WorkFile<'_>> {
    Entries(text).map(move |entry| {
        let mut sizes = entry.sizes;
        let mut size = |otherwise: u64| {
            let at = sizes.iter().position(|byte| *byte == b',').unwrap_or(sizes.len());
            let (digits, rest) = sizes.split_at(at);
            sizes = rest.get(1..).unwrap_or_default();
            let number = digits.iter().try_fold(0_u64, |sum, digit| {
                sum.checked_mul(10)?.checked_add(u64::from(digit.checked_sub(b'0')?))
            });
            if digits.is_empty() { otherwise } else { number.unwrap_or(0) << 10 }
        };
        let read = size(read);
        WorkFile { written: entry.pattern, read, write: size(write) }
    })
}

/// One entry of the text.
#[derive(Clone, Copy)]
struct Entry<'a> {
    pattern: &'a [u8],
    /// `read,write`.
    sizes: &'a [u8],
}

struct Entries<'a>(&'a [u8]);

impl<'a> Iterator for Entries<'a> {
    type Item = Entry<'a>;

    fn next(&mut self) -> Option<Entry<'a>> {
        let text = self.0.strip_prefix(b",").unwrap_or(self.0).strip_prefix(b"(")?;
        let quote = text.first().copied().filter(|byte| matches!(byte, b'\'' | b'"'));
        // A doubled quote opens again at once.
        let mut is_quoted = false;
        let end = text.iter().position(|&byte| {
            is_quoted ^= Some(byte) == quote;
            byte == b',' && !is_quoted
        })?;
        let (pattern, rest) = text.split_at(end);
        let close = rest.iter().position(|byte| *byte == b')')?;
        self.0 = rest.get(close + 1..)?;
        Some(Entry { pattern, sizes: rest.get(1..close)? })
    }
}

/// The decimal digits of a number.
#[derive(Clone)]
struct Digits(u64, u64);

impl Digits {
    fn of(number: Option<u64>) -> Self {
        let Some(number) = number else { return Self(0, 0) };
        let mut divisor = 1;
        while number / divisor >= 10 {
            divisor *= 10;
        }
        Self(number, divisor)
    }
}

impl Iterator for Digits {
    type Item = u8;

    fn next(&mut self) -> Option<u8> {
        let digit = self.0.checked_div(self.1)? % 10;
        self.1 /= 10;
        Some(b'0' + digit as u8)
    }
}

impl Settings {
    /// PRINT, WORKFILE and PWCSIZE: the sizes of caches of files that have none of their own. A file of MAINPR has a cache unless PRINT
    /// or PWCSIZE says otherwise.
    #[must_use]
    pub fn cache_sizes(&self) -> CacheSizes {
        const PRINT: usize = slot_named("PRINT", "size");
        const ALL: [usize; 3] =
            [slot_named("PWCSIZE", "print"), slot_named("PWCSIZE", "read"), slot_named("PWCSIZE", "write")];
        const PRINT_OPTION: usize = option_named("PRINT");
        const ALL_OPTION: usize = option_named("PWCSIZE");
        const READ: usize = slot_named("WORKFILE", "read");
        const WRITE: usize = slot_named("WORKFILE", "write");
        let size = |slot| if let Value::Bytes(bytes) = self.at(slot) { bytes } else { 0 };
        let first = |one, other| if size(one) > 0 { size(one) } else { size(other) };
        let is_said = [PRINT_OPTION, ALL_OPTION]
            .iter()
            .any(|option| self.where_set(*option) != WhereSet::UnderbarDefault);
        let print = match first(PRINT, ALL[0]) {
            0 if !is_said && self.main_printer().is_some() => OF_MAIN_PRINTER,
            size => size,
        };
        CacheSizes { print, read: first(ALL[1], READ), write: first(ALL[2], WRITE) }
    }

    /// WORKFILE: its text, for [`work_files`]; empty: there are none.
    #[must_use]
    pub fn work_files_text(&self) -> &[u8] {
        const FILES: usize = slot_named("WORKFILE", "pattern");
        self.text_at(FILES)
    }

    /// Whether any file may be cached.
    #[must_use]
    pub fn caches_files(&self) -> bool {
        self.cache_sizes().print > 0 || !self.work_files_text().is_empty()
    }

    /// MAINPR: the file that gets standard output; none for AUTO.
    #[must_use]
    pub fn main_printer(&self) -> Option<FileName<'_>> {
        const FILE: usize = slot_named("MAINPR", "file");
        (self.at(FILE) == Value::Text).then(|| FileName(self.text_at(FILE)))
    }

    /// Adds a work file, or replaces the one of the same pattern. `sizes` are bytes. False, without any change, if there is no room.
    pub(crate) fn add_work_file(
        &mut self,
        option: usize,
        pattern: &[u8],
        sizes: [Option<u64>; 2],
        source: WhereSet,
    ) -> bool {
        let mut copy = [0; crate::texts::TEXT_ROOM];
        let old = self.text_at(START[option]);
        let Some(copy) = copy.get_mut(..old.len()) else { return false };
        copy.copy_from_slice(old);
        let kept = Kept { entries: copy, pattern };
        let [read, write] = sizes.map(|size| Digits::of(size.map(|bytes| bytes >> 10)));
        let comma = (!kept.clone().eq([])).then_some(b',');
        let new = comma
            .into_iter()
            .chain([b'('])
            .chain(quoted(pattern))
            .chain([b','])
            .chain(read)
            .chain([b','])
            .chain(write)
            .chain([b')']);
        self.set_text(option, 0, kept.into_iter().chain(new), source)
    }
}

/// A pattern in quotes, unless the grammar needs none.
fn quoted(written: &[u8]) -> impl Iterator<Item = u8> + Clone {
    let is_plain = |byte: u8| byte.is_ascii_graphic() && !b"(),'\"=".contains(&byte) || !byte.is_ascii();
    let mut is_star_next = false;
    // What begins a comment is quoted, too.
    let begins_comment = unquoted(written).any(|byte| {
        let begins = byte == b'*' && is_star_next;
        is_star_next = byte == b'/';
        begins
    });
    let quote = (begins_comment || !unquoted(written).all(is_plain)).then_some(b'\'');
    let doubled = |byte: u8| [Some(byte), (byte == b'\'').then_some(byte)].into_iter().flatten();
    quote.into_iter().chain(unquoted(written).flat_map(doubled)).chain(quote)
}

/// The entries of other patterns, as text.
#[derive(Clone)]
struct Kept<'a> {
    entries: &'a [u8],
    pattern: &'a [u8],
}

impl<'a> Kept<'a> {
    fn into_iter(self) -> impl Iterator<Item = u8> + Clone + use<'a> {
        let mut rest = self.entries;
        let mut piece: &'a [u8] = &[];
        let mut is_first = true;
        core::iter::from_fn(move || {
            loop {
                if let Some((byte, more)) = piece.split_first() {
                    piece = more;
                    return Some(*byte);
                }
                let mut entries = Entries(rest);
                let entry = entries.next()?;
                let whole = rest.get(..rest.len() - entries.0.len())?;
                rest = entries.0;
                if !unquoted(entry.pattern).eq(unquoted(self.pattern)) {
                    let from = usize::from(is_first && whole.first() == Some(&b','));
                    piece = whole.get(from..)?;
                    is_first = false;
                }
            }
        })
    }

    fn eq(self, other: [u8; 0]) -> bool {
        self.into_iter().eq(other)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::ProgramName;
    use std::string::{String, ToString};
    use std::vec::Vec;

    fn settings(text: &str) -> (Settings, Vec<String>) {
        let mut settings = Settings::default();
        let mut found = Vec::new();
        settings.apply(text.as_bytes(), &ProgramName::default(), WhereSet::CommandLine, &mut |diagnostic| {
            found.push(diagnostic.to_string());
        });
        (settings, found)
    }

    fn files(settings: &Settings) -> Vec<(String, u64, u64)> {
        let sizes = settings.cache_sizes();
        work_files(settings.work_files_text(), sizes.read, sizes.write)
            .map(|file| {
                (
                    String::from_utf8(file.pattern().collect()).expect("text"),
                    file.read >> 10,
                    file.write >> 10,
                )
            })
            .collect()
    }

    #[test]
    fn work_files_add_up_and_have_sizes_of_their_own_or_those_of_all() {
        for (text, expect) in [
            ("", "[]"),
            ("WORKFILE(a)", r#"[("a", 300, 200)]"#),
            ("WORKFILE(a,1,2) WORK(b,,3)", r#"[("a", 1, 2), ("b", 300, 3)]"#),
            ("WORKFILE(a,1,2),WORKFILE(b),WORKFILE('a',0,1M)", r#"[("b", 300, 200), ("a", 0, 1024)]"#),
            ("WORKFILE(a,1,2),WORKFILE(a)", r#"[("a", 300, 200)]"#),
            ("WORKFILE((a,1,2),(b,,),10,20)", r#"[("a", 1, 2), ("b", 10, 20)]"#),
            ("WORKFILE(,10,20) WORKFILE(a)", r#"[("a", 10, 20)]"#),
            ("PWCSIZE(300,500,600) WORKFILE(a,,7)", r#"[("a", 500, 7)]"#),
            ("WORKFILE('/t/*,(x)',1,2)", r#"[("/t/*,(x)", 1, 2)]"#),
        ] {
            let (settings, found) = settings(text);
            assert!(found.is_empty(), "{text}: {found:?}");
            assert_eq!(std::format!("{:?}", files(&settings)), expect, "{text}");
            assert_eq!(settings.caches_files(), expect != "[]", "{text}");
        }
    }

    #[test]
    fn sizes_of_print_have_two_spellings() {
        for (text, print) in
            [("", 0), ("PRINT(132)", 132), ("PCWSIZE(300,200,300)", 300), ("PWCSIZE(9) PRINT(1M)", 1024)]
        {
            let (settings, found) = settings(text);
            assert!(found.is_empty(), "{text}: {found:?}");
            assert_eq!(settings.cache_sizes().print, print << 10, "{text}");
        }
    }

    #[test]
    fn a_work_file_that_is_not_understood_is_none() {
        for text in
            ["WORKFILE('')", "WORKFILE(a,x)", "WORKFILE(a,1,2,3)", "WORKFILE(a,-1)", "WORKFILE(a,,65537)"]
        {
            let (settings, found) = settings(text);
            assert_eq!((found.len(), files(&settings).len()), (1, 0), "{text}: {found:?}");
        }
    }

    #[test]
    fn what_the_options_report_writes_is_read_back() {
        let (first, _) = settings("WORKFILE('b (1)',1,2) WORKFILE(c,,9) WORKFILE(,4)");
        let option = crate::find_option(b"WORKFILE").expect("a row");
        let mut text = String::from("WORKFILE(");
        for position in 0..3 {
            text.push_str(if position > 0 { "," } else { "" });
            first.write_value(option, position, crate::Form::Exact, &mut text).expect("written");
        }
        text.push(')');
        let (second, found) = settings(&text);
        assert!(found.is_empty(), "{text}: {found:?}");
        assert_eq!(files(&first), files(&second), "{text}");
        assert!(first.same_values(&second));
    }

    #[test]
    fn main_printer_is_a_file_name() {
        let print = |text: &str| settings(text).0.cache_sizes().print;
        assert_eq!(
            ["MAINPR(out)", "MAINPR(out),PRINT(8)", "MAINPR(out),PRINT(0)", ""].map(print),
            [132 << 10, 8 << 10, 0, 0]
        );
        assert!(settings("MAINPR(AUTO)").0.main_printer().is_none());
        assert_eq!(settings("MAINPR(out.%p)").0.main_printer(), Some(FileName(b"out.%p")));
    }
}
