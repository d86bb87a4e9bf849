//! From addresses to functions and lines, with the functions that the compiler inlined there, by the debug data that `-g` makes.
//!
//! ```text
//! addresses of one file ── sections read once ── unit of each address ──> [ inlined, inlined, function ]   innermost first
//! ```
//!
//! Invariant: the bytes are untrusted: wrong ones give no frames, or less; the sections are read for one question and not kept, at
//! most [`MOST_BYTES`] of them. A unit whose entries are nested deeper than [`DEEPEST`] is not read, since reading is recursive.
//! Known limits: names in files of their own (`.dwo`) and in a shared supplement (`dwz`) are missing.
//! Not here: which file has the data ([`crate::debug_file`]).

use std::borrow::Cow;

use addr2line::Context;
use gimli::{Dwarf, EndianSlice, LittleEndian, SectionId};
use object::read::{ReadRef, Section};
use object::{CompressionFormat, Object, ObjectSection};

use crate::lines::Line;
use crate::spelled;

/// A function at an address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// Its name as people write it, if it is known.
    pub function: Option<String>,
    /// The line of source, if it is known: of the call, for all but the innermost.
    pub line: Option<Line>,
    /// Whether the compiler inlined it into the next one.
    pub is_inlined: bool,
}

/// More bytes of debug data than are read for a question.
pub const MOST_BYTES: u64 = 1 << 30;

/// Deeper nesting than compilers write.
const DEEPEST: isize = 512;

/// More frames than compilers inline at one address.
const MOST_FRAMES: usize = 128;

type Slice<'a> = EndianSlice<'a, LittleEndian>;

/// Whether a file has this data.
pub fn has_data<'a>(file: &object::File<'a, impl ReadRef<'a>>) -> bool {
    file.is_little_endian()
        && file.section_by_name(".debug_info").is_some_and(|section| {
            section.size() > 0 && section.file_range().is_some_and(|(_, length)| length > 0)
        })
}

/// The functions at each address, innermost first: none for an address without data.
pub fn frames<'a>(file: &object::File<'a, impl ReadRef<'a>>, addresses: &[u64]) -> Vec<Vec<Frame>> {
    read(file, addresses).unwrap_or_else(|| vec![Vec::new(); addresses.len()])
}

fn read<'a>(file: &object::File<'a, impl ReadRef<'a>>, addresses: &[u64]) -> Option<Vec<Vec<Frame>>> {
    let mut left = MOST_BYTES;
    let load = |id: SectionId| -> Result<Cow<'a, [u8]>, gimli::Error> {
        let bytes = file.section_by_name(id.name()).and_then(|section| content(&section, &mut left));
        Ok(bytes.unwrap_or_default())
    };
    let sections = gimli::DwarfSections::load(load).ok()?;
    let dwarf = sections.borrow(|bytes| EndianSlice::new(bytes, LittleEndian));
    if !is_shallow(&dwarf, addresses) {
        return None;
    }
    let context = Context::from_dwarf(dwarf).ok()?;
    Some(addresses.iter().map(|&address| at(&context, address).unwrap_or_default()).collect())
}

/// The bytes of a section, also of a compressed one.
fn content<'a>(section: &Section<'a, '_, impl ReadRef<'a>>, left: &mut u64) -> Option<Cow<'a, [u8]>> {
    let data = section.compressed_data().ok()?;
    *left = left.checked_sub(data.uncompressed_size)?;
    match data.format {
        CompressionFormat::None => Some(Cow::Borrowed(data.data)),
        CompressionFormat::Zlib => {
            let most = usize::try_from(data.uncompressed_size).ok()?;
            miniz_oxide::inflate::decompress_to_vec_zlib_with_limit(data.data, most).ok().map(Cow::Owned)
        }
        _ => None,
    }
}

/// Whether no unit with one of the addresses is nested too deep.
fn is_shallow(dwarf: &Dwarf<Slice<'_>>, addresses: &[u64]) -> bool {
    let mut headers = dwarf.units();
    while let Ok(Some(header)) = headers.next() {
        let Ok(unit) = dwarf.unit(header) else { continue };
        let Ok(mut ranges) = dwarf.unit_ranges(&unit) else { continue };
        let mut has_one = false;
        while let Ok(Some(range)) = ranges.next() {
            has_one |= addresses.iter().any(|address| (range.begin..range.end).contains(address));
        }
        // A unit without ranges may have any address.
        if (has_one || !has_ranges(dwarf, &unit)) && depth(&unit) > DEEPEST {
            return false;
        }
    }
    true
}

fn has_ranges(dwarf: &Dwarf<Slice<'_>>, unit: &gimli::Unit<Slice<'_>>) -> bool {
    dwarf.unit_ranges(unit).is_ok_and(|mut ranges| matches!(ranges.next(), Ok(Some(_))))
}

/// How deep the entries of a unit are nested.
fn depth(unit: &gimli::Unit<Slice<'_>>) -> isize {
    let Ok(mut entries) = unit.entries_raw(None) else { return 0 };
    let mut deepest = 0;
    while !entries.is_empty() {
        deepest = deepest.max(entries.next_depth());
        match entries.read_abbreviation() {
            Ok(Some(abbreviation)) => {
                if entries.skip_attributes(abbreviation.attributes()).is_err() {
                    break;
                }
            }
            Ok(None) => {}
            Err(_) => break,
        }
    }
    deepest
}

fn at(context: &Context<Slice<'_>>, address: u64) -> Option<Vec<Frame>> {
    // The reader adds one to it.
    let address = (address < u64::MAX).then_some(address)?;
    let mut found = context.find_frames(address).skip_all_loads().ok()?;
    let mut frames: Vec<Frame> = Vec::new();
    while let Ok(Some(frame)) = found.next() {
        let function = frame
            .function
            .and_then(|function| Some(spelled(&function.raw_name().ok()?)))
            .filter(|name| !name.is_empty());
        let line = frame.location.and_then(|location| {
            let file = location.file?.replace(char::is_control, "?");
            Some(Line { file, line: location.line.filter(|line| *line > 0)?.into() })
        });
        if let Some(inner) = frames.last_mut() {
            inner.is_inlined = true;
        }
        frames.push(Frame { function, line, is_inlined: false });
        if frames.len() == MOST_FRAMES {
            break;
        }
    }
    Some(frames)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[inline(never)]
    fn outer_of_test(value: u64) -> u64 {
        inner_of_test(value)
    }

    #[inline(always)]
    fn inner_of_test(value: u64) -> u64 {
        std::hint::black_box(value).wrapping_mul(3)
    }

    #[test]
    fn inlined_functions_come_before_the_one_that_has_them() {
        assert_eq!(outer_of_test(2), 6);
        let path = std::env::current_exe().expect("a path");
        let image = crate::Image::open(&path).expect("a program");
        let start = image.code_named("outer_of_test").expect("the function");
        let range = image.function(start).expect("its range");
        let addresses: Vec<u64> = range.collect();
        let frames = image.frames(&addresses);
        assert_eq!(frames.len(), addresses.len());
        let name = |frame: &Frame| frame.function.clone().unwrap_or_default();
        let both = frames.iter().find(|frames| frames.len() >= 2).expect("something was inlined");
        let last = both.len() - 1;
        assert!(name(&both[last]).ends_with("outer_of_test") && !both[last].is_inlined, "{both:?}");
        assert!(name(&both[last - 1]).ends_with("inner_of_test") && both[last - 1].is_inlined, "{both:?}");
        let line = both[last].line.as_ref().expect("the line of the call");
        assert!(line.file.ends_with("src/inlined.rs") && line.line > 0, "{line:?}");
        assert_eq!(image.frames(&[0, u64::MAX]), [Vec::new(), Vec::new()]);
    }
}
