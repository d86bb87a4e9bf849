//! Two forms of z/OS that lay options out by columns, turned into plain option texts.
//!
//! ```text
//! CEEOPTS   1......................72 73....80      '*' in column 1: a comment, even inside an option
//!           text                      ignored       records are joined with no blank added
//!
//! CEEXOPT   1......................71 72            '*' in column 1: a comment
//!           text                      X = goes on   from the word CEEXOPT to the last continued line
//! ```
//!
//! Records are fixed: a line that ends early, as text files have it, is taken as filled with blanks.
//! Without any line end, records of 80 bytes follow each other, as a transferred data set has them.
//! The result lies in the caller's room; diagnostics then point into it.

/// How much of a CEEOPTS data set is read, in bytes of text: 3K.
pub const CEEOPTS_ROOM: usize = 3072;

/// What a CEEOPTS data set held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ceeopts<'r> {
    /// The option text, for [`crate::Settings::apply`].
    pub text: &'r [u8],
    /// Whether there was more than 3K; the rest is ignored, as Language Environment does.
    pub cut: bool,
}

/// Reads a CEEOPTS data set.
pub fn ceeopts<'r>(data_set: &[u8], room: &'r mut [u8; CEEOPTS_ROOM]) -> Ceeopts<'r> {
    let mut used = 0;
    let mut cut = false;
    for record in records(data_set).filter(|record| record.first() != Some(&b'*')) {
        for column in 0..72 {
            let byte = record.get(column).copied().unwrap_or(b' ');
            match room.get_mut(used) {
                Some(place) => {
                    *place = byte;
                    used += 1;
                }
                None => cut |= byte != b' ',
            }
        }
    }
    Ceeopts { text: room[..used].trim_ascii_end(), cut }
}

/// Reads the options of the macro CEEXOPT from an assembler source (CEEUOPT, CEEROPT) to `room`.
/// None if there is no such macro, or if `room` is too small.
pub fn ceexopt<'r>(source: &[u8], room: &'r mut [u8]) -> Option<&'r [u8]> {
    const MACRO: &[u8] = b"CEEXOPT";
    let mut used = 0;
    let mut started = false;
    for record in records(source).filter(|record| record.first() != Some(&b'*')) {
        let mut columns = record.get(..71).unwrap_or(record);
        if !started {
            let Some(at) = columns.windows(MACRO.len()).position(|word| word.eq_ignore_ascii_case(MACRO))
            else {
                continue;
            };
            started = true;
            columns = &columns[at + MACRO.len()..];
        }
        let text = columns.trim_ascii();
        room.get_mut(used..used + text.len())?.copy_from_slice(text);
        used += text.len();
        if matches!(record.get(71), None | Some(b' ')) {
            break;
        }
    }
    started.then(|| &room[..used])
}

fn records(data_set: &[u8]) -> impl Iterator<Item = &[u8]> {
    let has_lines = data_set.contains(&b'\n');
    let mut rest = data_set;
    core::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let length = if has_lines {
            rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len())
        } else {
            rest.len().min(80)
        };
        let (record, behind) = rest.split_at(length);
        rest = if has_lines { behind.get(1..).unwrap_or_default() } else { behind };
        Some(record.strip_suffix(b"\r").unwrap_or(record))
    })
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::{Disposition, HugePages, ProgramName, Settings, Size, WhereSet};
    use std::string::String;
    use std::{format, vec};

    fn settings(text: &[u8]) -> (Settings, usize) {
        let (mut settings, mut warnings) = (Settings::default(), 0);
        settings.apply(text, &ProgramName::default(), WhereSet::UserFile, &mut |diagnostic| {
            warnings += usize::from(diagnostic.severity() == crate::Severity::Warning);
        });
        (settings, warnings)
    }

    fn record(text: &str, number: u32) -> String {
        format!("{text:<72}{number:08}")
    }

    #[test]
    fn ceeopts_with_comments_and_a_split_option() {
        let lines = [
            record("* a comment", 10),
            record("RPTSTG(ON),HEAP(2M,", 20),
            record("* a comment within an option: HEAP(9M)", 30),
            record("3M", 40),
            record(",,KEEP)", 50),
        ];
        for data_set in [lines.join("\n"), lines.join("\r\n") + "\r\n", lines.concat()] {
            let mut room = [0; CEEOPTS_ROOM];
            let found = ceeopts(data_set.as_bytes(), &mut room);
            let (settings, warnings) = settings(found.text);
            assert_eq!((found.cut, warnings), (false, 0));
            assert!(settings.report_storage());
            let heap = settings.heap();
            assert_eq!(heap.init, Size::Bytes(2 << 20));
            assert_eq!(heap.increment, Size::Bytes(3 << 20));
            assert_eq!(heap.disposition, Disposition::Keep);
        }
    }

    #[test]
    fn a_word_that_fills_its_record_goes_on_in_the_next() {
        let mut room = [0; CEEOPTS_ROOM];
        let data_set = format!("{:>72}12345678\nTG(ON)\nHUGEPAGES(ON)", "RPTS");
        let (settings, warnings) = settings(ceeopts(data_set.as_bytes(), &mut room).text);
        assert_eq!(warnings, 0);
        assert!(settings.report_storage() && settings.huge_pages() == HugePages::On);
    }

    #[test]
    fn no_more_than_3k_is_read() {
        let mut room = [0; CEEOPTS_ROOM];
        let blank = record("", 1) + "\n";
        let full = blank.repeat(42) + "RPTSTG(ON)" + &" ".repeat(38) + "HUGEPAGES(ON)";
        let found = ceeopts(full.as_bytes(), &mut room);
        assert!(found.cut);
        let (settings, warnings) = settings(found.text);
        assert!(settings.report_storage() && settings.huge_pages() == HugePages::Auto);
        assert_eq!(warnings, 0);
        assert!(!ceeopts(&vec![b' '; 80 * 60], &mut room).cut, "blanks are no loss");
        assert_eq!(ceeopts(b"", &mut room).text, b"");
    }

    #[test]
    fn the_options_of_an_assembler_source() {
        let go_on = |text: &str| format!("{text:<71}X00000010\n");
        let source = String::from("CEEUOPT  CSECT\n* CEEXOPT HEAP=(9M)\n")
            + &go_on("         CEEXOPT ABPERC=(NONE),")
            + &go_on("               AIXBLD=(OFF),")
            + &go_on("               HEAP=(64K,32K,ANYWHERE,FREE,")
            + "* in between\n"
            + &go_on("               8K,4K),")
            + "               RPTSTG=(ON)\n         END\n";
        let mut room = [0; 200];
        let text = ceexopt(source.as_bytes(), &mut room).unwrap();
        assert!(text.starts_with(b"ABPERC=(NONE),AIXBLD=(OFF),HEAP=(64K"));
        let (settings, warnings) = settings(text);
        assert_eq!(warnings, 0);
        assert_eq!(settings.heap().init, Size::Bytes(65536));
        assert_eq!(settings.heap().disposition, Disposition::Free);
        assert!(settings.report_storage());
        assert!(ceexopt(source.as_bytes(), &mut [0; 20]).is_none());
        assert!(ceexopt(b"         END\n", &mut room).is_none());
    }
}
