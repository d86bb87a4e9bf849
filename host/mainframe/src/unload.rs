//! Unloads made by IEBCOPY, of PDS and of PDSE: logical records become a library.
//!
//! ```text
//! COPYR1 52 or 56 | COPYR2 276 | record { header 12 | key | data } ...
//! header: F | M | BB | CC | HH | R | KL | DL 2
//!   KL 8, DL 256       a directory block        DL 0 after those    the directory ends
//!   DL > 0             a block of a member      DL 0                the member ends
//! ```
//!
//! Writers that know no device leave it out, and number members instead of placing them. A PDSE's pages all carry the token of
//! their member as their place, and are followed by records of attributes, marked in F.
//!
//! Invariant: data is not copied; a block that is returned is within the records. A cut leaves the members before it.
//! Not here: the VS blocks around the records (`spanned`), writing (`unload_write`).

use super::assemble::Builder;
use super::bytes::{be16, be32, flag};
use super::directory::{BLOCK, Ttr};
use super::ebcdic::CodePage;
use super::library::{self, Block, Device, Extent, Label, Library, Organisation, RecordFormat};
use super::source::{ReadError, Records, Shared, Stretch, Window, some};

/// Faults of an unload; offsets are in the source of its records.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The first record is no COPYR1.
    #[error("the first record is no COPYR1")]
    NotUnload,
    /// COPYR1 or COPYR2 is missing or too short.
    #[error("{record} has {length} bytes")]
    Header {
        /// Which of them.
        record: &'static str,
        /// Bytes available.
        length: usize,
    },
    /// A form whose layout is not public.
    #[error("COPYR1 shows the transfer form, whose layout is not known")]
    Transfer,
    /// IEBCOPY itself wrote that it met an error.
    #[error("COPYR1 shows that the unload ended with an error")]
    Marked,
    /// The length of a header, or of its data, is beyond the end of its record.
    #[error("the block at {at} has a length of {says} bytes, but its record has {left} more")]
    Block {
        /// Where its header begins.
        at: u64,
        /// Bytes of header, key and data by its header.
        says: u64,
        /// Bytes from there to the end of the record.
        left: u64,
    },
    /// A block at a place outside of every extent.
    #[error("the block at {at} is from cylinder {cylinder} head {head}, outside of the library's extents")]
    Place {
        /// Where its header begins.
        at: u64,
        /// Cylinder.
        cylinder: u32,
        /// Head.
        head: u32,
    },
    /// Data where directory blocks should be.
    #[error("members begin at {at}, but the directory has no end")]
    Directory {
        /// Where the header begins.
        at: u64,
    },
    /// The bytes could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// An unload, as far as it could be read.
#[derive(Debug)]
pub struct Unload {
    /// The library.
    pub library: Library,
    /// The faults of the rest.
    pub faults: Vec<Fault>,
}

/// The marks of COPYR1, after its first byte.
const MARK: [u8; 3] = [0xCA, 0x6D, 0x0F];
/// Bytes of COPYR1 without the track balance, and with it.
const COPYR1: [u32; 2] = [52, 56];
const COPYR2: u32 = 276;
/// Faults that end the reading.
const FAULTS_MOST: usize = 100;

/// Whether these are the first bytes of a COPYR1.
#[must_use]
pub fn begins(bytes: &[u8]) -> bool {
    bytes.get(1..4) == Some(&MARK)
}

/// Records of an unload whose records were glued: COPYR1, COPYR2 and the rest as one. None if it is not one.
#[must_use]
pub fn glued(source: &Shared) -> Option<Records> {
    let start = some(&**source, 0, 400).ok().filter(|start| begins(start))?;
    // COPYR1 has no length of its own: COPYR2 after it begins with a number of extents, and their tracks follow.
    let first = COPYR1.into_iter().find(|first| {
        let second = start.get(*first as usize..).unwrap_or(&[]);
        let heads = be16(&start, 26).unwrap_or(0).into();
        !extents(second, heads).is_empty()
    })?;
    let mut stretches = vec![Stretch { at: 0, length: first }, Stretch { at: first.into(), length: COPYR2 }];
    let mut at = u64::from(first + COPYR2);
    while at < source.length() {
        let length = u32::try_from(source.length() - at).unwrap_or(u32::MAX);
        stretches.push(Stretch { at, length });
        at += u64::from(length);
    }
    Some(Records { source: source.clone(), stretches: stretches.into() })
}

/// Reads an unload from its logical records.
///
/// # Errors
/// If it is none, or its first two records cannot be used; all other faults are in the result.
pub fn read(records: &Records, page: CodePage) -> Result<Unload, Fault> {
    let first = header(records, 0)?.unwrap_or_default();
    if !begins(&first) {
        return Err(Fault::NotUnload);
    }
    if first.len() < COPYR1[0] as usize {
        return Err(Fault::Header { record: "COPYR1", length: first.len() });
    }
    let second = header(records, 1)?.unwrap_or_default();
    if second.len() < COPYR2 as usize - 4 {
        return Err(Fault::Header { record: "COPYR2", length: second.len() });
    }
    let mut faults = Vec::new();
    match first[0] & 0xC0 {
        0x80 => faults.push(Fault::Marked),
        0xC0 => return Err(Fault::Transfer),
        _ => {}
    }
    let half = |at| u32::from(be16(&first, at).unwrap_or(0));
    let device = Device { heads: half(26), track_length: half(28) };
    let record_format = RecordFormat(first[10]);
    // The PDSE form has 01 in the first two bits by the manual, and 00 with X'01' in the files seen.
    let extended = first[0] & 0x01 != 0 || first[0] & 0xC0 == 0x40;
    let label = Label {
        name: None,
        organisation: if extended { Organisation::Pdse } else { Organisation::Pds },
        programs: record_format.undefined() || first[0] & 0x10 != 0,
        record_format,
        record_length: half(8),
        block_size: half(6),
        device,
        extents: extents(&second, device.heads),
        header_length: Some(first.len() as u32),
    };
    let headers = match half(36) {
        0 | 1 => 2,
        more => more as usize,
    };
    let mut reader = Reader { extended, label: &label, directory: true, builder: Builder::default(), faults };
    let mut window = Window::new(&*records.source);
    for record in records.stretches.iter().skip(headers) {
        if let Err(fault) = reader.record(&mut window, *record) {
            reader.faults.push(fault);
            if reader.faults.len() > FAULTS_MOST {
                break;
            }
        }
    }
    let (builder, faults) = (reader.builder, reader.faults);
    Ok(Unload { library: builder.finish(label, records.source.clone(), page), faults })
}

fn header(records: &Records, index: usize) -> Result<Option<Vec<u8>>, ReadError> {
    let Some(one) = records.stretches.get(index) else { return Ok(None) };
    some(&*records.source, one.at, u64::from(one.length.min(4096))).map(Some)
}

/// The extents of COPYR2, as far as they make sense.
fn extents(bytes: &[u8], heads: u32) -> Vec<Extent> {
    let count = usize::from(flag(bytes, 0)).min(16);
    let mut found = Vec::new();
    for at in (0..count).map(|index| 16 + 16 * index) {
        let half = |offset| be16(bytes, at + offset);
        let (Some(c1), Some(h1), Some(c2), Some(h2)) = (half(6), half(8), half(10), half(12)) else { break };
        let (from, to) = (place(c1, h1, heads), place(c2, h2, heads));
        let (first, last) = (number(from, heads), number(to, heads));
        if heads == 0 || last < first || from.1 >= heads || to.1 >= heads {
            break;
        }
        found.push(Extent { from, to, tracks: last - first + 1 });
    }
    found
}

/// Cylinder and head: if a cylinder has at most 15 heads, the upper 12 bits of the head belong to the cylinder.
fn place(cc: u16, hh: u16, heads: u32) -> (u32, u32) {
    if heads <= 15 {
        (u32::from(cc) | u32::from(hh >> 4) << 16, u32::from(hh & 15))
    } else {
        (u32::from(cc), u32::from(hh))
    }
}

/// The number of a track on its volume.
fn number((cylinder, head): (u32, u32), heads: u32) -> u32 {
    // A cylinder has 28 bits, a head at most 16: saturating at absurd values.
    cylinder.saturating_mul(heads).saturating_add(head)
}

struct Reader<'a> {
    extended: bool,
    label: &'a Label,
    /// Whether the directory is still being read.
    directory: bool,
    builder: Builder,
    faults: Vec<Fault>,
}

impl Reader<'_> {
    fn record(&mut self, window: &mut Window<'_>, record: Stretch) -> Result<(), Fault> {
        let (mut at, end) = (record.at, record.at + u64::from(record.length));
        while at < end {
            let left = end - at;
            if left < 12 {
                return Err(Fault::Block { at, says: 12, left });
            }
            let head: [u8; 12] = window.get(at, 12)?.try_into().unwrap_or_default();
            let (key, data) = (u64::from(head[9]), u64::from(head[10]) << 8 | u64::from(head[11]));
            if 12 + key + data > left {
                return Err(Fault::Block { at, says: 12 + key + data, left });
            }
            // A key and its data are less than 66 KB.
            self.group(window, at, &head, (at + 12 + key, data as u32))?;
            at += 12 + key + data;
        }
        Ok(())
    }

    fn group(
        &mut self,
        window: &mut Window<'_>,
        at: u64,
        head: &[u8; 12],
        (data, length): (u64, u32),
    ) -> Result<(), Fault> {
        if self.directory {
            if head[9] == 8 && length as usize == BLOCK {
                self.builder.directory(data, window.get(data, BLOCK)?);
                return Ok(());
            }
            self.directory = false;
            if length == 0 {
                return Ok(());
            }
            self.faults.push(Fault::Directory { at });
        }
        let ttr = self.ttr(at, head);
        match (self.extended && head[0] & 0x06 != 0, length) {
            (true, 0) => {}
            (true, _) => self.builder.attribute(Block { at: data, length, ttr }),
            (false, 0) => self.builder.end(ttr),
            (false, _) => self.builder.block(Block { at: data, length, ttr }),
        }
        Ok(())
    }

    /// The place of the block in the library: tracks of its extents in order.
    fn ttr(&mut self, at: u64, head: &[u8; 12]) -> Ttr {
        let heads = self.label.device.heads;
        let word = be32(head, 4).unwrap_or(0);
        // Some writers name no device and no extents, and give each member a number instead of a place.
        if heads == 0 && self.label.extents.is_empty() {
            return Ttr::at(word & 0xFFFF, head[8]);
        }
        let (cylinder, track) = place((word >> 16) as u16, word as u16, heads);
        let here = number((cylinder, track), heads);
        let mut before = 0_u32;
        for extent in &self.label.extents {
            let first = number(extent.from, heads);
            if (first..=number(extent.to, heads)).contains(&here) {
                // The extents of a wrong unload may be longer together than a track number can count.
                return Ttr::at(before.saturating_add(here - first) & 0xFF_FFFF, head[8]);
            }
            before = before.saturating_add(extent.tracks);
        }
        if self.faults.len() < FAULTS_MOST {
            self.faults.push(Fault::Place { at, cylinder, head: track });
        }
        Ttr(u32::MAX)
    }
}

/// The faults of the library in an unload, and of the unload itself.
impl Unload {
    /// Whether there are none.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.faults.is_empty() && self.library.faults == Vec::<library::Fault>::new()
    }
}
