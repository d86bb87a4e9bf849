//! One file: its tables of functions, variables and sections, and the mapping of its parts.
//!
//! ```text
//! file ── segments  offset in the file <-> address
//!      ├─ symbols   .symtab, else .dynsym; those of its debug file (`debug_file`) if the file has none
//!      ├─ unwind    starts of functions if there are no symbols at all
//!      └─ sections  the last resort
//! ```
//!
//! Invariant: names are read when the file is opened, at once: all of them, or those of a few addresses. Only code and lines are
//! read later, from the same open file. So a program that is replaced meanwhile does no harm.

use std::cell::OnceCell;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use object::read::elf::{ElfFile, FileHeader, ProgramHeader, SectionHeader};
use object::read::{ReadCache, ReadRef};
use object::{Architecture, Object, ObjectSection, ObjectSegment, SectionFlags, SectionKind, elf};

use crate::call_frames::{self, CallFrames};
use crate::few::Wanted;
use crate::inlined::{self, Frame};
use crate::lines::{Line, Lines, Sections};
use crate::names::{self, Names, Which};
use crate::table::Table;
use crate::{Place, debug_file, spelled, unwind};

/// The machine of a file's instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Machine {
    /// x86 with 64 bits.
    X86_64,
    /// x86 with 32 bits.
    X86,
    /// ARM with 64 bits.
    Arm64,
    /// Another.
    Other,
}

/// The tables of a file.
pub struct Image {
    content: Content,
    machine: Machine,
    segments: Vec<Segment>,
    sections: Vec<Section>,
    names: Names,
    starts: Vec<u64>,
    build_id: Option<Vec<u8>>,
    /// The place of the tables of lines: this file or its debug file.
    line_places: Option<LinePlaces>,
    lines: OnceCell<Option<Lines>>,
    /// Has this file the data for inlined functions?
    has_frames: bool,
    /// The separate file with debug data, if this one has none.
    debug_file: Option<File>,
    /// Where it is: further debug data is beside it.
    path: Option<PathBuf>,
    /// Where the kernel starts it; 0 of a library.
    start: u64,
    call_frames: OnceCell<CallFrames>,
}

/// Offsets and lengths of `.debug_line`, `.debug_line_str` and `.debug_str`; missing ones are empty.
struct LinePlaces {
    file: Option<File>,
    places: [(u64, u64); 3],
    address_bytes: u8,
}

enum Content {
    File(File),
    Bytes(Vec<u8>),
}

struct Segment {
    address: u64,
    offset: u64,
    length: u64,
}

struct Section {
    name: String,
    range: Range<u64>,
}

/// More sections than real programs have; further ones are skipped.
const MOST_SECTIONS: usize = 1 << 16;
/// More segments than real programs map.
const MOST_MAPPED: usize = 1 << 12;
/// More bytes than any function to be read has.
const MOST_CODE: u64 = 16 << 20;

impl Image {
    /// Reads a file's tables; None if it is not an ELF file, or cannot be read.
    #[must_use]
    pub fn open(path: &Path) -> Option<Image> {
        // Its name may come from others.
        Image::of(debug_file::open_regular(path)?, path)
    }

    /// Reads the names of these addresses only, which takes a large program's file a hundredth of the time. Others have no name then,
    /// and functions of stripped files no range.
    #[must_use]
    pub fn open_for(path: &Path, wanted: &Wanted) -> Option<Image> {
        let file = debug_file::open_regular(path)?;
        let cache = ReadCache::new(file.try_clone().ok()?);
        Image::read(&cache, Content::File(file), Some(path), Some(wanted))
    }

    /// Reads the tables of an open file; the path is where its debug file is looked for.
    #[must_use]
    pub fn of(file: File, path: &Path) -> Option<Image> {
        let cache = ReadCache::new(file.try_clone().ok()?);
        Image::read(&cache, Content::File(file), Some(path), None)
    }

    /// Reads the tables of a file's bytes.
    #[must_use]
    pub fn from_bytes(bytes: Vec<u8>) -> Option<Image> {
        let image = Image::read(bytes.as_slice(), Content::Bytes(Vec::new()), None, None)?;
        Some(Image { content: Content::Bytes(bytes), ..image })
    }

    fn read<'a>(
        data: impl ReadRef<'a>,
        content: Content,
        path: Option<&Path>,
        wanted: Option<&Wanted>,
    ) -> Option<Image> {
        let file = object::File::parse(data).ok()?;
        let machine = match file.architecture() {
            Architecture::X86_64 => Machine::X86_64,
            Architecture::I386 => Machine::X86,
            Architecture::Aarch64 => Machine::Arm64,
            _ => Machine::Other,
        };
        let segments = file
            .segments()
            .map(|segment| {
                let (offset, length) = segment.file_range();
                Segment { address: segment.address(), offset, length }
            })
            .collect();
        let sections = sections(&file);
        let ranges: Vec<Range<u64>> = sections.iter().map(|section| section.range.clone()).collect();
        let build_id = build_id(&file, data.len().ok()?);
        let mut line_places = line_places(&file);
        let mut names = names::read(&file, Which::All, &ranges, wanted);
        let has_frames = inlined::has_data(&file);
        let mut separate = None;
        if (names.is_none() || !has_frames)
            && let Some(path) = path
        {
            let link = file.gnu_debuglink().ok().flatten().map(|(name, crc)| (name.to_vec(), crc));
            separate = debug_file::open(path, build_id.as_deref(), link.as_ref());
        }
        if let Some(debug) = &separate
            && let Ok(again) = debug.try_clone()
        {
            let cache = ReadCache::new(again);
            let parsed = object::File::parse(&cache).ok();
            if names.is_none() {
                names = parsed.as_ref().and_then(|parsed| names::read(parsed, Which::All, &ranges, wanted));
            }
            if line_places.is_none() {
                line_places = parsed.as_ref().and_then(self::line_places);
                if let Some(places) = &mut line_places {
                    places.file = debug.try_clone().ok();
                }
            }
        }
        let names =
            names.or_else(|| names::read(&file, Which::Exported, &ranges, wanted)).unwrap_or_default();
        let starts = file
            .section_by_name(".eh_frame_hdr")
            .filter(|_| wanted.is_none())
            .and_then(|section| Some(unwind::starts(section.data().ok()?, section.address())))
            .unwrap_or_default();
        let lines = OnceCell::new();
        Some(Image {
            content,
            machine,
            segments,
            sections,
            names,
            starts,
            build_id,
            line_places,
            lines,
            has_frames,
            debug_file: separate,
            path: path.map(Path::to_owned),
            start: file.entry(),
            call_frames: OnceCell::new(),
        })
    }

    /// The machine of its instructions.
    #[must_use]
    pub fn machine(&self) -> Machine {
        self.machine
    }

    /// Its build-id, if it has one.
    #[must_use]
    pub fn build_id(&self) -> Option<&[u8]> {
        self.build_id.as_deref()
    }

    /// Whether it has a table of symbols, so that a place without a name has a meaning.
    #[must_use]
    pub fn has_symbols(&self) -> bool {
        !self.names.functions.is_empty()
    }

    /// The function at the address.
    #[must_use]
    pub fn code(&self, address: u64) -> Option<Place> {
        place(&self.names.functions, address)
    }

    /// The line of source of the code at the address.
    #[must_use]
    pub fn line(&self, address: u64) -> Option<Line> {
        self.lines.get_or_init(|| self.read_lines()).as_ref()?.find(address)
    }

    /// The functions at each of the addresses, innermost first, with those that the compiler inlined: none for an address without
    /// such data. The data is read for each call, so ask for many addresses at once.
    #[must_use]
    pub fn frames(&self, addresses: &[u64]) -> Vec<Vec<Frame>> {
        let mut frames = self.read_frames(addresses).unwrap_or_else(|| vec![Vec::new(); addresses.len()]);
        // Functions that the linker left out have data, too, at 0.
        for (frames, &address) in frames.iter_mut().zip(addresses) {
            if self.section_of(address).is_none() {
                frames.clear();
            }
        }
        frames
    }

    fn read_frames(&self, addresses: &[u64]) -> Option<Vec<Vec<Frame>>> {
        let file = match (&self.content, &self.debug_file) {
            (Content::Bytes(bytes), _) => {
                return Some(inlined::frames(&object::File::parse(bytes.as_slice()).ok()?, None, addresses));
            }
            (Content::File(file), _) if self.has_frames => file,
            (Content::File(_), Some(debug)) => debug,
            (Content::File(_), None) => return None,
        };
        let cache = ReadCache::new(file.try_clone().ok()?);
        let parsed = object::File::parse(&cache).ok()?;
        Some(inlined::frames(&parsed, self.path.as_deref(), addresses))
    }

    /// The rules by which callers are found. Other machines than x86-64 have none here.
    pub fn call_frames(&self) -> &CallFrames {
        self.call_frames.get_or_init(|| {
            if self.machine != Machine::X86_64 {
                return CallFrames::default();
            }
            let section = |name| self.section_named(name, call_frames::MOST_BYTES);
            CallFrames::new(section(".eh_frame"), section(".debug_frame")).with_start(self.start)
        })
    }

    /// A section by its name, with its address; None if it is missing, or longer than `most`.
    fn section_named(&self, name: &str, most: u64) -> Option<(u64, Vec<u8>)> {
        match &self.content {
            Content::Bytes(bytes) => section_named(&object::File::parse(bytes.as_slice()).ok()?, name, most),
            Content::File(file) => {
                let cache = ReadCache::new(file.try_clone().ok()?);
                section_named(&object::File::parse(&cache).ok()?, name, most)
            }
        }
    }

    fn read_lines(&self) -> Option<Lines> {
        let places = self.line_places.as_ref()?;
        let part = |(offset, length)| match (&places.file, &self.content) {
            (Some(file), _) | (None, Content::File(file)) => read_part(file, offset, length),
            (None, Content::Bytes(bytes)) => {
                let rest = bytes.get(usize::try_from(offset).ok()?..)?;
                rest.get(..usize::try_from(length).ok()?).map(<[u8]>::to_vec)
            }
        };
        let [line, line_str, str] = places.places.map(part);
        let sections =
            Sections { line: line?, line_str: line_str.unwrap_or_default(), str: str.unwrap_or_default() };
        Some(Lines::new(sections, places.address_bytes))
    }

    /// The address of a function whose name contains this.
    #[cfg(test)]
    pub(crate) fn code_named(&self, part: &str) -> Option<u64> {
        self.names.functions.iter().find(|found| found.name.contains(part)).map(|found| found.start)
    }

    /// The variable at the address.
    #[must_use]
    pub fn data(&self, address: u64) -> Option<Place> {
        place(&self.names.variables, address)
    }

    /// The section at the address.
    #[must_use]
    pub fn section(&self, address: u64) -> Option<Place> {
        let section = self.section_of(address)?;
        Some(Place { symbol: section.name.clone(), displacement: address - section.range.start })
    }

    /// The address of an offset in the file, if it is mapped.
    #[must_use]
    pub fn address(&self, offset: u64) -> Option<u64> {
        let holds =
            |segment: &&Segment| offset.checked_sub(segment.offset).is_some_and(|into| into < segment.length);
        let segment = self.segments.iter().find(holds)?;
        segment.address.checked_add(offset - segment.offset)
    }

    /// The range of the code around the address: that of a symbol, otherwise that of the unwind table.
    #[must_use]
    pub fn function(&self, address: u64) -> Option<Range<u64>> {
        if let Some(found) = self.names.functions.find(address) {
            return Some(found.start..found.start.saturating_add(found.size));
        }
        unwind::around(&self.starts, address, self.section_of(address)?.range.clone())
    }

    /// The bytes of a range of addresses; fewer if the file has fewer, or if more than a function's worth is
    /// requested.
    #[must_use]
    pub fn bytes(&self, addresses: Range<u64>) -> Vec<u8> {
        self.read_bytes(addresses).unwrap_or_default()
    }

    fn read_bytes(&self, addresses: Range<u64>) -> Option<Vec<u8>> {
        let start = addresses.start;
        let holds =
            |segment: &&Segment| start.checked_sub(segment.address).is_some_and(|into| into < segment.length);
        let segment = self.segments.iter().find(holds)?;
        let into = start - segment.address;
        let length = addresses.end.saturating_sub(start).min(segment.length - into).min(MOST_CODE);
        let (offset, length) = (segment.offset.checked_add(into)?, usize::try_from(length).ok()?);
        match &self.content {
            Content::Bytes(bytes) => {
                let rest = bytes.get(usize::try_from(offset).ok()?..)?;
                Some(rest[..length.min(rest.len())].to_vec())
            }
            Content::File(file) => read_part(file, offset, length as u64),
        }
    }

    fn section_of(&self, address: u64) -> Option<&Section> {
        self.sections.iter().find(|section| section.range.contains(&address))
    }
}

/// A part of a file, shorter where the file is.
fn read_part(file: &File, offset: u64, length: u64) -> Option<Vec<u8>> {
    let length = usize::try_from(length.min(file.metadata().ok()?.len())).ok()?;
    let mut bytes = vec![0; length];
    let mut read = 0;
    while read < length {
        match file.read_at(&mut bytes[read..], offset.checked_add(read as u64)?).ok()? {
            0 => break,
            more => read += more,
        }
    }
    bytes.truncate(read);
    Some(bytes)
}

/// The place of the tables of lines in a file, if it has uncompressed ones.
fn line_places<'a>(file: &object::File<'a, impl ReadRef<'a>>) -> Option<LinePlaces> {
    if !file.is_little_endian() {
        return None;
    }
    let place = |name| {
        let section = file.section_by_name(name)?;
        let is_compressed = matches!(section.flags(), SectionFlags::Elf { sh_flags, .. } if sh_flags.contains(elf::SHF_COMPRESSED));
        section.file_range().filter(|_| !is_compressed)
    };
    let line = place(".debug_line").filter(|(_, length)| *length > 0)?;
    let others = [".debug_line_str", ".debug_str"].map(|name| place(name).unwrap_or((0, 0)));
    let address_bytes = if file.is_64() { 8 } else { 4 };
    Some(LinePlaces { file: None, places: [line, others[0], others[1]], address_bytes })
}

fn place(table: &Table, address: u64) -> Option<Place> {
    let found = table.find(address)?;
    Some(Place { symbol: spelled(found.name), displacement: address - found.start })
}

/// Sections that are mapped.
fn sections<'a>(file: &object::File<'a, impl ReadRef<'a>>) -> Vec<Section> {
    let is_mapped =
        |flags| matches!(flags, SectionFlags::Elf { sh_flags, .. } if sh_flags.contains(elf::SHF_ALLOC));
    file.sections()
        .take(MOST_SECTIONS)
        .filter(|section| is_mapped(section.flags()) && section.kind() != SectionKind::UninitializedTls)
        .take(MOST_MAPPED)
        .map(|section| Section {
            name: section.name().unwrap_or_default().replace(char::is_control, "?"),
            range: section.address()..section.address().saturating_add(section.size()),
        })
        .collect()
}

/// The file's build-id. If its notes are longer together than the file, of `length` bytes, they overlap,
/// and none is read.
fn build_id<'a>(file: &object::File<'a, impl ReadRef<'a>>, length: u64) -> Option<Vec<u8>> {
    let notes = match file {
        object::File::Elf32(file) => notes(file),
        object::File::Elf64(file) => notes(file),
        _ => return None,
    };
    if notes > length {
        return None;
    }
    file.build_id().ok().flatten().map(<[u8]>::to_vec)
}

/// Bytes of all notes, those in sections or those in segments, whichever are more.
fn notes<'a, Elf: FileHeader>(file: &ElfFile<'a, Elf, impl ReadRef<'a>>) -> u64 {
    let order = file.endian();
    let sections = file.elf_section_table().iter().filter(|section| section.sh_type(order) == elf::SHT_NOTE);
    let segments = file.elf_program_headers().iter().filter(|segment| segment.p_type(order) == elf::PT_NOTE);
    let sections = sections.fold(0_u64, |sum, section| sum.saturating_add(section.sh_size(order).into()));
    let segments = segments.fold(0_u64, |sum, segment| sum.saturating_add(segment.p_filesz(order).into()));
    sections.max(segments)
}

fn section_named<'a>(
    file: &object::File<'a, impl ReadRef<'a>>,
    name: &str,
    most: u64,
) -> Option<(u64, Vec<u8>)> {
    let section = file.section_by_name(name)?;
    let (_, length) = section.file_range()?;
    (length <= most).then_some(())?;
    let data = section.compressed_data().ok()?;
    (data.format == object::CompressionFormat::None).then(|| (section.address(), data.data.to_vec()))
}
