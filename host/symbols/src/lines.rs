//! From addresses to lines of source, by the tables of DWARF that `-g` makes (`.debug_line`).
//!
//! ```text
//! program 1 [ sequence 0x1100..0x1180, sequence 0x2000..0x2040 ]   program 2 [ ... ]       a program for each source file
//!     once: the range of each sequence                 per question: the rows of one program, kept until another is asked for
//! ```
//!
//! The tables are sufficient alone: functions and inlining are not read.
//!
//! Invariant: the bytes are untrusted: a wrong program ends the reading, or gives no lines; the memory is less
//! than the tables for all programs, and a multiple of them for one.
//! Known limits: compressed tables, and names in files of their own (`.dwo`), are not read. Before DWARF 5 a name
//! is relative to a folder that is not in the table.

use std::cell::RefCell;
use std::ops::Range;

use gimli::{AttributeValue, DebugLine, DebugLineOffset, EndianSlice, LittleEndian};

/// Sections of a file with lines; all but the first may be empty.
#[derive(Debug, Default)]
pub struct Sections {
    /// `.debug_line`.
    pub line: Vec<u8>,
    /// `.debug_line_str`.
    pub line_str: Vec<u8>,
    /// `.debug_str`.
    pub str: Vec<u8>,
}

/// A line of source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The file, as given to the compiler.
    pub file: String,
    /// The line, from 1.
    pub line: u64,
}

/// The lines of one file.
pub struct Lines {
    sections: Sections,
    address_bytes: u8,
    /// In the order of their addresses.
    sequences: Vec<Sequence>,
    /// The program of the last question.
    last: RefCell<Option<(usize, Vec<Row>)>>,
}

struct Sequence {
    range: Range<u64>,
    program: usize,
}

/// From this address on, up to the next row. None: not code up to there.
struct Row {
    address: u64,
    line: Option<(u64, u64)>,
}

type Slice<'a> = EndianSlice<'a, LittleEndian>;

impl Lines {
    /// Reads the ranges of the sequences.
    #[must_use]
    pub fn new(sections: Sections, address_bytes: u8) -> Lines {
        let mut lines = Lines { sections, address_bytes, sequences: Vec::new(), last: RefCell::new(None) };
        let mut sequences = Vec::new();
        let mut at = 0;
        while let Some(next) = lines.each_row(at, |seen| match seen {
            Seen::Begins(address) => sequences.push(Sequence { range: address..address, program: at }),
            Seen::Ends(address) => {
                if let Some(sequence) = sequences.last_mut() {
                    sequence.range.end = address;
                }
            }
            Seen::Row(_) => {}
        }) {
            at = next;
        }
        // Functions that the linker left out are at 0.
        sequences.retain(|sequence| sequence.range.start != 0 && !sequence.range.is_empty());
        sequences.sort_by_key(|sequence| sequence.range.start);
        lines.sequences = sequences;
        lines
    }

    /// The line of the code at this address.
    #[must_use]
    pub fn find(&self, address: u64) -> Option<Line> {
        let behind = self.sequences.partition_point(|sequence| sequence.range.start <= address);
        let sequence = self.sequences.get(behind.checked_sub(1)?)?;
        if !sequence.range.contains(&address) {
            return None;
        }
        let mut last = self.last.borrow_mut();
        if last.as_ref().is_none_or(|(program, _)| *program != sequence.program) {
            *last = Some((sequence.program, self.rows(sequence.program)));
        }
        let rows = &last.as_ref()?.1;
        let behind = rows.partition_point(|row| row.address <= address);
        let (file, line) = rows.get(behind.checked_sub(1)?)?.line?;
        Some(Line { file: self.file(sequence.program, file)?, line })
    }

    /// The rows of a program in the order of their addresses.
    fn rows(&self, program: usize) -> Vec<Row> {
        let mut rows = Vec::new();
        self.each_row(program, |seen| match seen {
            Seen::Row(row) => rows.push(row),
            Seen::Ends(address) => rows.push(Row { address, line: None }),
            Seen::Begins(_) => {}
        });
        // Stable: of two rows at one address the later counts; but if one sequence ends and another begins, the latter.
        rows.sort_by_key(|row| (row.address, row.line.is_some()));
        rows
    }

    /// Calls `each` with the rows of a program; returns the start of the next one, None if there is none.
    fn each_row(&self, at: usize, mut each: impl FnMut(Seen)) -> Option<usize> {
        if at >= self.sections.line.len() {
            return None;
        }
        let program = DebugLine::new(&self.sections.line, LittleEndian)
            .program(DebugLineOffset(at), self.address_bytes, None, None)
            .ok()?;
        let header = program.header();
        let length = usize::from(header.format().initial_length_size()).checked_add(header.unit_length())?;
        let mut rows = program.rows();
        let mut is_inside = false;
        while let Ok(Some((_, row))) = rows.next_row() {
            let address = row.address();
            if row.end_sequence() {
                each(Seen::Ends(address));
                is_inside = false;
                continue;
            }
            if !is_inside {
                each(Seen::Begins(address));
                is_inside = true;
            }
            let line = row.line().map(|line| (row.file_index(), line.get()));
            each(Seen::Row(Row { address, line }));
        }
        at.checked_add(length)
    }

    /// The name of a file of a program.
    fn file(&self, program: usize, file: u64) -> Option<String> {
        let program = DebugLine::new(&self.sections.line, LittleEndian)
            .program(DebugLineOffset(program), self.address_bytes, None, None)
            .ok()?;
        let header = program.header();
        let entry = header.file(file)?;
        let name = self.text(&entry.path_name())?;
        let folder = entry.directory(header).and_then(|folder| self.text(&folder)).unwrap_or_default();
        if name.starts_with('/') || folder.is_empty() {
            return Some(name);
        }
        let root = header.directory(0).and_then(|root| self.text(&root)).unwrap_or_default();
        let whole = |folder: String| format!("{}/{name}", folder.trim_end_matches('/'));
        if folder.starts_with('/') || root.is_empty() || folder == root {
            return Some(whole(folder));
        }
        Some(format!("{}/{}", root.trim_end_matches('/'), whole(folder)))
    }

    fn text(&self, value: &AttributeValue<Slice<'_>>) -> Option<String> {
        let bytes = match value {
            AttributeValue::String(text) => text.slice(),
            AttributeValue::DebugLineStrRef(offset) => until_zero(self.sections.line_str.get(offset.0..)?),
            AttributeValue::DebugStrRef(offset) => until_zero(self.sections.str.get(offset.0..)?),
            _ => return None,
        };
        Some(String::from_utf8_lossy(bytes).replace(char::is_control, "?"))
    }
}

/// A row of a program.
enum Seen {
    /// A sequence begins at this address
    Begins(u64),
    /// and ends before this one.
    Ends(u64),
    /// In between.
    Row(Row),
}

fn until_zero(bytes: &[u8]) -> &[u8] {
    bytes.split(|&byte| byte == 0).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program of DWARF 5 for `/src/a.c`: 0x1000 line 10, 0x1004 line 12; the sequence ends at 0x1008.
    fn example() -> Sections {
        let mut header: Vec<u8> = vec![1, 1, 1, 0xfb, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1];
        // Folders: one, its name in the other section. Files: one, its name in the other section, in folder 0.
        header.extend([1, 1, 0x1f, 1, 0, 0, 0, 0]);
        header.extend([2, 1, 0x1f, 2, 0x0b, 1, 5, 0, 0, 0, 0]);
        let mut program: Vec<u8> = vec![0, 9, 2];
        program.extend(0x1000_u64.to_le_bytes());
        // File 0; nine lines on, a row; four bytes and two lines on, a row; four bytes on, the end.
        program.extend([4, 0, 3, 9, 1, 2, 4, 3, 2, 1, 2, 4, 0, 1, 1]);
        let mut unit: Vec<u8> = vec![5, 0, 8, 0];
        unit.extend((header.len() as u32).to_le_bytes());
        unit.extend(&header);
        unit.extend(&program);
        let mut line = (unit.len() as u32).to_le_bytes().to_vec();
        line.extend(&unit);
        Sections { line, line_str: b"/src\0a.c\0".to_vec(), str: Vec::new() }
    }

    #[test]
    fn addresses_have_the_line_of_the_row_before() {
        let lines = Lines::new(example(), 8);
        let line = |line| Some(Line { file: "/src/a.c".to_owned(), line });
        for (address, expected) in [
            (0xfff, None),
            (0x1000, line(10)),
            (0x1003, line(10)),
            (0x1004, line(12)),
            (0x1007, line(12)),
            (0x1008, None),
            (0, None),
        ] {
            assert_eq!(lines.find(address), expected, "{address:x}");
        }
    }

    #[test]
    fn no_bytes_make_it_panic_or_read_for_ever() {
        let good = example();
        for at in 0..good.line.len() {
            for value in [0, 1, 0x7f, 0x80, 0xff] {
                let mut line = good.line.clone();
                line[at] = value;
                let line_str = good.line_str[..at % good.line_str.len()].to_vec();
                let lines = Lines::new(Sections { line, line_str, str: Vec::new() }, 8);
                (0xff8..0x1010).for_each(|address| drop(lines.find(address)));
            }
            let cut = Sections { line: good.line[..at].to_vec(), ..Sections::default() };
            assert_eq!(Lines::new(cut, 8).find(0x1000), None);
        }
    }

    #[test]
    fn this_test_finds_itself() {
        let path = std::env::current_exe().expect("a path");
        let symbols = crate::Symbols::new();
        let image = symbols.image(&path).expect("a program");
        let address = image.code_named("this_test_finds_itself").expect("this function");
        let line = image.line(address).expect("a line");
        assert!(line.file.ends_with("src/lines.rs"), "{line:?}");
        assert!((1..2_000).contains(&line.line), "{line:?}");
    }
}
