//! From addresses to functions and lines, with the functions that the compiler inlined there, by the debug data that `-g` makes.
//!
//! ```text
//! addresses of one file ── sections read once ── unit of each address ──> [ inlined, inlined, function ]   innermost first
//! ```
//!
//! Invariant: the bytes are untrusted: wrong ones give no frames, or less; the sections are read for one question and not kept, at
//! most [`MOST_BYTES`] of them. A unit whose entries are nested deeper than [`DEEPEST`] is not read, since reading is recursive.
//! Known limits: names in a shared supplement (`dwz`) are missing.
//! Not here: which file has the data ([`crate::debug_file`], [`crate::split`]).

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use addr2line::{Context, LookupContinuation as _, LookupResult};
use gimli::{DwarfFileType, EndianSlice, LittleEndian, SectionId};
use object::read::ReadRef;
use object::{Object, ObjectSection};

use crate::dwarf::{Dwarf, Slice, Unit, section};
use crate::lines::Line;
use crate::spelled;
use crate::split::{Found, Reference};

/// A function at an address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// Its name as people write it, if it is known.
    pub function: Option<String>,
    /// The line of source, if it is known: of the call, for all but the innermost.
    pub line: Option<Line>,
    /// Whether the compiler inlined it into the next one.
    pub is_inlined: bool,
    /// The data of its unit is in another file, which is missing: functions that were inlined here are unknown.
    pub lacks_file: bool,
}

/// More bytes of debug data than are read for a question.
pub const MOST_BYTES: u64 = 1 << 30;

/// Deeper nesting than compilers write.
const DEEPEST: isize = 512;

/// More frames than compilers inline at one address.
const MOST_FRAMES: usize = 128;

/// Whether a file has this data.
pub fn has_data<'a>(file: &object::File<'a, impl ReadRef<'a>>) -> bool {
    file.is_little_endian()
        && file.section_by_name(".debug_info").is_some_and(|section| {
            section.size() > 0 && section.file_range().is_some_and(|(_, length)| length > 0)
        })
}

/// The functions at each address, innermost first: none for an address without data. Files with more data are looked for beside the
/// program.
pub fn frames<'a>(
    file: &object::File<'a, impl ReadRef<'a>>,
    program: Option<&Path>,
    addresses: &[u64],
) -> Vec<Vec<Frame>> {
    read(file, program, addresses).unwrap_or_else(|| vec![Vec::new(); addresses.len()])
}

fn read<'a>(
    file: &object::File<'a, impl ReadRef<'a>>,
    program: Option<&Path>,
    addresses: &[u64],
) -> Option<Vec<Vec<Frame>>> {
    let mut left = MOST_BYTES;
    let load = |id: SectionId| -> Result<Cow<'a, [u8]>, gimli::Error> {
        Ok(section(file, id.name(), &mut left).unwrap_or_default())
    };
    let sections = gimli::DwarfSections::load(load).ok()?;
    let dwarf = sections.borrow(|bytes| EndianSlice::new(bytes, LittleEndian));
    let references = shallow(&dwarf, addresses)?;
    let split = Found::read(program, &references, &mut left);
    let context = Context::from_dwarf(dwarf).ok()?;
    Some(addresses.iter().map(|&address| at(&context, &split, address).unwrap_or_default()).collect())
}

/// The references to other files of the units with one of the addresses; None if such a unit is nested too deep.
fn shallow(dwarf: &Dwarf<'_>, addresses: &[u64]) -> Option<Vec<Reference>> {
    let mut references = Vec::new();
    let mut headers = dwarf.units();
    while let Ok(Some(header)) = headers.next() {
        let Ok(unit) = dwarf.unit(header) else { continue };
        let Ok(mut ranges) = dwarf.unit_ranges(&unit) else { continue };
        let mut has_one = false;
        while let Ok(Some(range)) = ranges.next() {
            has_one |= addresses.iter().any(|address| (range.begin..range.end).contains(address));
        }
        // A unit without ranges may have any address.
        if has_one || !has_ranges(dwarf, &unit) {
            if depth(&unit) > DEEPEST {
                return None;
            }
            references.extend(Reference::of(dwarf, &unit));
        }
    }
    Some(references)
}

/// Whether no unit is nested too deep.
fn is_shallow(dwarf: &Dwarf<'_>) -> bool {
    let mut headers = dwarf.units();
    while let Ok(Some(header)) = headers.next() {
        if dwarf.unit(header).is_ok_and(|unit| depth(&unit) > DEEPEST) {
            return false;
        }
    }
    true
}

fn has_ranges(dwarf: &Dwarf<'_>, unit: &Unit<'_>) -> bool {
    dwarf.unit_ranges(unit).is_ok_and(|mut ranges| matches!(ranges.next(), Ok(Some(_))))
}

/// How deep the entries of a unit are nested.
fn depth(unit: &Unit<'_>) -> isize {
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

fn at<'a>(context: &Context<Slice<'a>>, split: &'a Found, address: u64) -> Option<Vec<Frame>> {
    // The reader adds one to it.
    let address = (address < u64::MAX).then_some(address)?;
    let mut step = context.find_frames(address);
    let mut found = loop {
        step = match step {
            LookupResult::Output(found) => break found.ok()?,
            LookupResult::Load { load, continuation } => {
                let data = split.dwarf(load.dwo_id, &load.parent).filter(is_shallow);
                continuation.resume(data.map(Arc::new))
            }
        };
    };
    let unit = context.find_dwarf_and_unit(address).skip_all_loads();
    let lacks_file =
        unit.is_some_and(|unit| unit.dwo_id.is_some() && unit.dwarf.file_type == DwarfFileType::Main);
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
        frames.push(Frame { function, line, is_inlined: false, lacks_file });
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
