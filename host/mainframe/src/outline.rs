//! The outline of a load module: its text blocks, their lengths, and the other records.
//!
//! ```text
//! CESD, IDR, SYM, scatter  copied as they are     control -> text   origins that follow each other are one extent
//! ```
//!
//! Invariant: of each block only its first sixteen bytes are read; every block is counted once.
//! Not here: the content of the records (`module`).

use super::bytes::{be16, be24, flag};
use super::entry::Details;
use super::library::{Library, Member};
use super::module::{Kind, kind};
use super::source::ReadError;

/// The parts of a load module that decide on its tracks and the blocks of a load.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    /// Lengths of the blocks that every copy keeps.
    pub fixed: Vec<u32>,
    /// Lengths of the text blocks.
    pub texts: Vec<u32>,
    /// Lengths of the extents of these blocks: a copy cuts each of them into blocks anew.
    pub extents: Vec<u64>,
    /// Bytes of relocations.
    pub relocations: u64,
    /// Control and relocation records.
    pub controls: u32,
}

impl Library {
    /// Whether a member of a PDS is a load module, by the user data of its directory entry. The bytes are not used to
    /// guess it, except for a module that is alone in its file, without a directory.
    #[must_use]
    pub fn is_module(&self, member: &Member) -> bool {
        matches!(member.details, Details::Program(_)) || self.directory_blocks == 0
    }

    /// The outline of a member that is a load module. All blocks of any other member are fixed.
    ///
    /// # Errors
    /// If its blocks cannot be read.
    pub fn outline(&self, member: &Member) -> Result<Outline, ReadError> {
        let mut outline = Outline::default();
        if !self.is_module(member) {
            outline.fixed = self.blocks_of(member).iter().map(|block| block.length).collect();
            return Ok(outline);
        }
        let (mut awaited, mut follows): (Option<u32>, Option<u32>) = (None, None);
        for block in self.blocks_of(member) {
            if let Some(origin) = awaited.take() {
                outline.texts.push(block.length);
                match outline.extents.last_mut().filter(|_| follows == Some(origin)) {
                    Some(extent) => *extent += u64::from(block.length),
                    None => outline.extents.push(block.length.into()),
                }
                follows = Some(origin.saturating_add(block.length));
                continue;
            }
            let head = self.head(block, 16)?;
            if kind(flag(&head, 0)) != Some(Kind::Control) {
                outline.fixed.push(block.length);
                continue;
            }
            outline.controls += 1;
            if flag(&head, 0) & 0x02 != 0 {
                outline.relocations += u64::from(be16(&head, 6).unwrap_or(0));
            }
            if flag(&head, 0) & 0x01 != 0 {
                awaited = be24(&head, 9);
            }
        }
        Ok(outline)
    }
}
