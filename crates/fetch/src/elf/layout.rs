//! The segments of a program: their addresses in memory and their offsets in the file.
//!
//! ```text
//! file    |headers, tables |  code     | constants |  data  |
//! memory  |r               |rx         |r          |rw      |  zeros |
//!         low                                                        high    span = high - low, whole pages
//! ```
//!
//! Invariant: segments ascend without overlap, each is within the file and within [low, high), and high is below 2^47. The
//! ranges of thread storage, RELRO and the unwinder are within segments.
//! Not here: their addresses in the process (`image`).

use super::header::{PROGRAM_HEADER, giant, word};
use super::{Damage, Header};

/// Bytes of a page.
pub const PAGE: u64 = 4096;
/// Maximum number of segments to be loaded; real files have 2 to 6.
pub const MOST_SEGMENTS: usize = 16;
/// The upper limit of a program's addresses.
const HIGHEST: u64 = 1 << 47;
/// The largest alignment of a segment that is honoured: 1 GiB, a page of the largest kind.
const MOST_ALIGNMENT: u64 = 1 << 30;

/// A segment to be loaded. Addresses are those in the file, to which the program's bias is added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Its first byte.
    pub address: u64,
    /// Its bytes in memory; those that the file does not have are zeros.
    pub size: u64,
    /// Its offset in the file.
    pub offset: u64,
    /// Its bytes in the file, at most `size`.
    pub in_file: u64,
    /// Bit 0: may be executed; 1: written; 2: read.
    pub rights: u32,
}

impl Segment {
    /// The byte after its last one in memory.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.address + self.size
    }

    /// May its bytes be read?
    #[must_use]
    pub fn is_readable(&self) -> bool {
        self.rights & 4 != 0
    }

    /// May its bytes be written?
    #[must_use]
    pub fn is_writable(&self) -> bool {
        self.rights & 2 != 0
    }

    /// May its bytes be executed?
    #[must_use]
    pub fn is_executable(&self) -> bool {
        self.rights & 1 != 0
    }

    /// Does it contain these bytes?
    #[must_use]
    pub fn holds(&self, address: u64, length: u64) -> bool {
        address >= self.address && length <= self.size && address - self.address <= self.size - length
    }
}

/// Thread storage: the initial content of each thread's copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadStorage {
    /// Address of its initial bytes.
    pub address: u64,
    /// Number of its initial bytes.
    pub in_file: u64,
    /// Its size; the rest is zeros.
    pub size: u64,
    /// A power of two.
    pub alignment: u64,
}

/// The addresses of all parts.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    segments: [Segment; MOST_SEGMENTS],
    count: usize,
    /// The first page.
    pub low: u64,
    /// After the last page.
    pub high: u64,
    /// Alignment of `low` in memory, relative to its value in the file: a power of two, a page or more.
    pub alignment: u64,
    /// The dynamic section: address and bytes.
    pub dynamic: (u64, u64),
    /// Thread storage.
    pub threads: Option<ThreadStorage>,
    /// The range that is read-only after relocation: address and bytes, whole pages within a writable segment.
    pub relro: Option<(u64, u64)>,
    /// The unwinder's table of contents: address and bytes.
    pub frames: Option<(u64, u64)>,
    /// It wants executable stacks.
    pub wants_executable_stack: bool,
    /// It has more segments than are kept.
    pub has_more: bool,
}

impl Layout {
    /// Reads the program headers, given completely, of a file that is `length` bytes long.
    ///
    /// # Errors
    /// The damage of the headers.
    pub fn read(header: &Header, bytes: &[u8], length: u64) -> Result<Layout, Damage> {
        if bytes.len() < header.size() {
            return Err(Damage::ProgramHeaders);
        }
        let mut layout = Layout {
            segments: [Segment::default(); MOST_SEGMENTS],
            count: 0,
            low: 0,
            high: 0,
            alignment: PAGE,
            dynamic: (0, 0),
            threads: None,
            relro: None,
            frames: None,
            wants_executable_stack: false,
            has_more: false,
        };
        let headers = || bytes.chunks_exact(PROGRAM_HEADER).take(usize::from(header.count)).zip(0_u16..);
        for (bytes, number) in headers().filter(|(bytes, _)| word(bytes, 0) == 1) {
            layout.take(bytes, number, length)?;
        }
        let segments = layout.segments();
        let (Some(first), Some(last)) = (segments.first(), segments.last()) else {
            return Err(Damage::NoSegments);
        };
        (layout.low, layout.high) = (first.address & !(PAGE - 1), last.end().next_multiple_of(PAGE));
        for (bytes, _) in headers() {
            layout.note(bytes)?;
        }
        Ok(layout)
    }

    /// The segments, in the order of their addresses.
    #[must_use]
    pub fn segments(&self) -> &[Segment] {
        self.segments.get(..self.count).unwrap_or_default()
    }

    /// Bytes from the first page to the last, including gaps between segments.
    #[must_use]
    pub fn span(&self) -> u64 {
        self.high - self.low
    }

    /// The segment that contains all these bytes.
    #[must_use]
    pub fn segment(&self, address: u64, length: u64) -> Option<&Segment> {
        self.segments().iter().find(|segment| segment.holds(address, length))
    }

    /// A header of a segment to be loaded.
    fn take(&mut self, bytes: &[u8], number: u16, length: u64) -> Result<(), Damage> {
        let segment = Segment {
            address: giant(bytes, 16),
            size: giant(bytes, 40),
            offset: giant(bytes, 8),
            in_file: giant(bytes, 32),
            rights: word(bytes, 4) & 7,
        };
        let alignment = giant(bytes, 48).max(1);
        let end = segment.address.checked_add(segment.size).filter(|end| *end < HIGHEST);
        let file_end = segment.offset.checked_add(segment.in_file).filter(|end| *end <= length);
        if end.is_none()
            || file_end.is_none()
            || segment.in_file > segment.size
            || segment.offset % PAGE != segment.address % PAGE
            || !alignment.is_power_of_two()
            || alignment > MOST_ALIGNMENT
        {
            return Err(Damage::Segment(number));
        }
        if segment.size == 0 {
            return Ok(());
        }
        let before = self.segments().last().map_or(0, Segment::end);
        if segment.address < before {
            return Err(Damage::Segment(number));
        }
        let Some(place) = self.segments.get_mut(self.count) else {
            self.has_more = true;
            return Ok(());
        };
        *place = segment;
        self.count += 1;
        self.alignment = self.alignment.max(alignment);
        Ok(())
    }

    /// A header of a range within the segments.
    fn note(&mut self, bytes: &[u8]) -> Result<(), Damage> {
        const DYNAMIC: u32 = 2;
        const THREADS: u32 = 7;
        const FRAMES: u32 = 0x6474_e550;
        const STACK: u32 = 0x6474_e551;
        const RELRO: u32 = 0x6474_e552;
        let (address, in_file, size) = (giant(bytes, 16), giant(bytes, 32), giant(bytes, 40));
        let in_segment = |layout: &Layout, length| {
            layout.segment(address, length).filter(|segment| segment.is_readable()).copied()
        };
        match word(bytes, 0) {
            DYNAMIC => {
                in_segment(self, size).ok_or(Damage::NoDynamic)?;
                self.dynamic = (address, size);
            }
            THREADS if size > 0 => {
                let alignment = giant(bytes, 48).max(1);
                let lies = in_file == 0 || in_segment(self, in_file).is_some();
                if !lies
                    || in_file > size
                    || size >= HIGHEST
                    || !alignment.is_power_of_two()
                    || alignment > PAGE
                {
                    return Err(Damage::ThreadStorage);
                }
                self.threads = Some(ThreadStorage { address, in_file, size, alignment });
            }
            FRAMES => {
                in_segment(self, size).ok_or(Damage::Frames)?;
                self.frames = Some((address, size));
            }
            STACK => self.wants_executable_stack = word(bytes, 4) & 1 != 0,
            RELRO if size > 0 => self.relro = self.protected(address, size)?,
            _ => {}
        }
        Ok(())
    }

    /// The whole pages to be protected; linkers let this range end anywhere in its segment, or one page after it.
    fn protected(&self, address: u64, size: u64) -> Result<Option<(u64, u64)>, Damage> {
        let end = address.checked_add(size).ok_or(Damage::Relro)?;
        let segment =
            self.segments().iter().find(|segment| segment.holds(address, 1)).ok_or(Damage::Relro)?;
        if !segment.is_writable() || end > segment.end().next_multiple_of(PAGE) {
            return Err(Damage::Relro);
        }
        // Like the system's loader: start and end are rounded down, so nothing that others write is protected.
        let (start, end) = (address & !(PAGE - 1), end & !(PAGE - 1));
        Ok((end > start && start >= segment.address & !(PAGE - 1)).then(|| (start, end - start)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    /// Kind, rights, offset, address, bytes in the file, bytes, alignment.
    type Row = (u32, u32, u64, u64, u64, u64, u64);

    fn read(rows: &[Row]) -> Result<Layout, Damage> {
        let mut bytes = Vec::new();
        for (kind, rights, offset, address, in_file, size, alignment) in rows {
            bytes.extend(kind.to_le_bytes());
            bytes.extend(rights.to_le_bytes());
            for value in [offset, address, address, in_file, size, alignment] {
                bytes.extend(value.to_le_bytes());
            }
        }
        let header = Header { is_fixed: false, entry: 0, offset: 64, count: rows.len() as u16 };
        Layout::read(&header, &bytes, 0x4000)
    }

    const CODE: Row = (1, 5, 0, 0, 0x1000, 0x1000, 0x1000);
    const DATA: Row = (1, 6, 0x1100, 0x2100, 0x300, 0x2000, 0x1000);

    #[test]
    fn two_segments_make_a_layout() {
        let layout = read(&[CODE, DATA, (2, 6, 0x1100, 0x2100, 0x100, 0x100, 8)]).expect("a layout");
        assert_eq!((layout.low, layout.high, layout.span()), (0, 0x5000, 0x5000));
        assert_eq!(layout.dynamic, (0x2100, 0x100));
        assert!(layout.segment(0x1000, 1).is_none(), "between the segments");
        assert!(layout.segment(0x40ff, 1).is_some_and(Segment::is_writable));
        assert!(layout.segment(0x40ff, 2).is_none());
        assert!(layout.segment(u64::MAX, 2).is_none());
    }

    #[test]
    fn what_lies_is_named() {
        let segment = |row| read(&[CODE, row]).map(|_| ()).expect_err("a lie");
        assert_eq!(segment((1, 6, 0x1101, 0x2100, 1, 1, 1)), Damage::Segment(1), "another place in its page");
        assert_eq!(segment((1, 6, 0x3100, 0x2100, 0x1000, 0x1000, 1)), Damage::Segment(1), "beyond the file");
        assert_eq!(segment((1, 6, 0x1000, 0x2000, 2, 1, 1)), Damage::Segment(1), "longer in the file");
        assert_eq!(segment((1, 6, 0, 0, 1, 1, 1)), Damage::Segment(1), "over another");
        assert_eq!(segment((1, 6, 0, 1 << 47, 1, 1, 1)), Damage::Segment(1), "too high");
        assert_eq!(segment((1, 6, 0, 0x2000, 1, u64::MAX, 1)), Damage::Segment(1), "round the end");
        assert_eq!(segment((1, 6, 0, 0x2000, 1, 1, 3)), Damage::Segment(1), "an odd alignment");
        assert_eq!(segment((2, 6, 0, 0x2000, 8, 8, 1)), Damage::NoDynamic);
        assert_eq!(segment((7, 4, 0, 0xff0, 0x20, 0x20, 1)), Damage::ThreadStorage);
        assert_eq!(segment((7, 4, 0, 0, 0x20, 0x20, 3)), Damage::ThreadStorage);
        assert_eq!(segment((0x6474_e552, 4, 0, 0, 0x20, 0x20, 1)), Damage::Relro, "of code");
        assert_eq!(read(&[(4, 4, 0, 0, 8, 8, 1)]).map(|_| ()), Err(Damage::NoSegments));
    }

    #[test]
    fn whole_pages_only_are_protected() {
        let protected = |address, size| {
            read(&[CODE, DATA, (0x6474_e552, 4, 0, address, 0, size, 1)]).map(|layout| layout.relro)
        };
        assert_eq!(protected(0x2100, 0xf00), Ok(Some((0x2000, 0x1000))));
        assert_eq!(protected(0x2100, 0x300), Ok(None), "not a whole page");
        assert_eq!(
            protected(0x2100, 0x1f00 + 0x1000),
            Ok(Some((0x2000, 0x3000))),
            "to the end of the last page"
        );
        assert_eq!(protected(0x2100, 0x4000), Err(Damage::Relro));
    }
}
