//! A load module or program object that is alone in a file, as a library of one member.
//!
//! It has no label: its block size is 0. Invariant: its blocks are the records of the module; they hold all bytes of the file.
//! Not here: recognition of the file (`container`).

use super::directory::{Name, Ttr};
use super::entry::Details;
use super::library::{Block, Device, Label, Library, Member, Organisation, RecordFormat};
use super::source::{Shared, take};
use super::{module, object};

/// Bytes of a page of a program object.
const PAGE: u32 = 4096;

impl Library {
    /// The outline of a program's bytes; None if they cannot be read.
    #[must_use]
    pub fn alone(name: &str, source: &Shared) -> Option<Library> {
        let length = source.length();
        let is_object = object::begins(&take(&**source, 0, length.min(8)).ok()?);
        let mut blocks = Vec::new();
        if is_object {
            let mut at = 0;
            while at < length {
                let page = u64::from(PAGE).min(length - at);
                // At most a page.
                blocks.push(Block { at, length: page as u32, ttr: Ttr(1) });
                at += page;
            }
        } else {
            let bytes = take(&**source, 0, length).ok()?;
            for (range, record) in module::borders(&bytes).0.into_iter().zip(1u32..) {
                let (at, length) = (range.start as u64, u32::try_from(range.len()).ok()?);
                blocks.push(Block { at, length, ttr: Ttr(record) });
            }
        }
        let member = bare(name, blocks.len(), length);
        Some(Library {
            label: Label {
                name: None,
                organisation: if is_object { Organisation::Pdse } else { Organisation::Pds },
                programs: true,
                record_format: RecordFormat(0xC0),
                record_length: 0,
                block_size: 0,
                device: Device::default(),
                extents: Vec::new(),
                header_length: None,
            },
            directory_blocks: 0,
            members: vec![member],
            blocks,
            attributes: Vec::new(),
            ends: Vec::new(),
            faults: Vec::new(),
            source: source.clone(),
        })
    }
}

/// A member that consists of blocks only.
fn bare(name: &str, blocks: usize, bytes: u64) -> Member {
    Member {
        name: name.to_owned(),
        raw: Name::default(),
        alias: false,
        alias_of: None,
        ttr: Ttr(1),
        details: Details::Bare,
        user_data: Vec::new(),
        damage: None,
        user_ttrs: 0,
        range: 0..blocks,
        blocks,
        bytes,
    }
}
