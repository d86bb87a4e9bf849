//! The sections of debug data in a file.
//!
//! Invariant: no more bytes are read than the caller allows, also of compressed sections.
//! Not here: their meaning ([`crate::inlined`]), and tables that are read alone (`lines`, `call_frames`).

use std::borrow::Cow;

use gimli::{EndianSlice, LittleEndian};
use object::read::{ReadRef, Section};
use object::{CompressionFormat, Object, ObjectSection};

/// A part of a section.
pub type Slice<'a> = EndianSlice<'a, LittleEndian>;
/// The debug data of a file.
pub type Dwarf<'a> = gimli::Dwarf<Slice<'a>>;
/// The data of one file of source.
pub type Unit<'a> = gimli::Unit<Slice<'a>>;

/// The bytes of a section by its name; of no more than `left` bytes, which it makes less.
pub fn section<'a>(
    file: &object::File<'a, impl ReadRef<'a>>,
    name: &str,
    left: &mut u64,
) -> Option<Cow<'a, [u8]>> {
    content(&file.section_by_name(name)?, left)
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
