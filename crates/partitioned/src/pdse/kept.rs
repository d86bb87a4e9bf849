//! Inner nodes that a reader keeps, so that a search reads and checks one page, its leaf, however many members there are.
//!
//! ```text
//! place of a node: its page modulo the number of places        100,000 members: 13 inner nodes
//! ```
//!
//! Invariant: a kept node was read from this library and generation with a correct sum; in another generation it is read again.
//! Cost: a page of storage for each place. The counts are equal with and without: they count searches, not transfers.
//! Not here: keeping entries of the directory (LLA), which saves the leaf, too.

use super::Pdse;
use super::node::NodeView;
use super::superblock::Superblock;
use crate::attribute::PAGE;
use crate::read::{Fault, ReadAt};

/// A place for one inner node; empty at first.
#[derive(Clone, Debug)]
pub struct Kept {
    identity: u64,
    generation: u64,
    /// 0 for none: a superblock is no node.
    number: u32,
    page: [u8; PAGE],
}

impl Kept {
    /// An empty place.
    pub const EMPTY: Kept = Kept { identity: 0, generation: 0, number: 0, page: [0; PAGE] };

    /// The node of a page: the kept one, or one that is read and kept from now on.
    pub(super) fn node<R: ReadAt>(
        &mut self,
        pdse: &Pdse<R>,
        number: u32,
        level: u8,
    ) -> Result<NodeView<'_>, Fault> {
        let Superblock { identity, generation, .. } = pdse.superblock;
        let is_kept = (self.identity, self.generation, self.number) == (identity, generation, number);
        if !is_kept {
            // A node is kept only after it was found to be correct.
            self.number = 0;
            pdse.node(number, level, &mut self.page)?;
            (self.identity, self.generation, self.number) = (identity, generation, number);
        }
        let node = NodeView::trusted(&self.page);
        if node.level() == level { Ok(node) } else { Err(Fault::DamagedDirectory { block: number }) }
    }
}
