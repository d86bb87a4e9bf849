//! Walks over the tree in the order of its keys.
//!
//! ```text
//! path: root, cell 3 -> node, cell 7 -> leaf, which is kept
//! ```
//!
//! Invariant: keys ascend strictly, in leaves and from cell to cell of inner nodes. A walk over a tree with a cycle ends at the
//! first key that does not ascend, also if its leaves are empty.
//! Cost: a leaf is read once, an inner node once for each child.

use super::node::{Decoded, Key, NodeView};
use super::superblock::MOST_LEVELS;
use super::value::Value;
use super::{Alias, Pdse};
use crate::attribute::PAGE;
use crate::name::Name;
use crate::read::{Fault, ReadAt};

/// A place between two cells of the tree's leaves.
#[derive(Debug)]
pub struct Cursor<'a, R> {
    pdse: &'a Pdse<R>,
    /// From the root down: the page of each inner node and the cell taken; the first `depth` entries count.
    path: [(u32, usize); MOST_LEVELS as usize],
    depth: usize,
    leaf: [u8; PAGE],
    leaf_number: u32,
    index: usize,
    is_over: bool,
    last: [u8; 256],
    last_length: usize,
    /// The key of the inner node's cell that was taken last, after the first cell of its node.
    passed: [u8; 256],
    passed_length: usize,
}

/// A cell: the page of its leaf, its key, its value.
pub type Cell<'c> = (u32, &'c [u8], &'c [u8]);

impl<'a, R: ReadAt> Cursor<'a, R> {
    /// A cursor before the first key that is not below the given one.
    ///
    /// # Errors
    /// A tree with damage between the root and that key.
    pub fn new(pdse: &'a Pdse<R>, key: &[u8]) -> Result<Cursor<'a, R>, Fault> {
        let mut cursor = Cursor {
            pdse,
            path: [(0, 0); MOST_LEVELS as usize],
            depth: 0,
            leaf: [0; PAGE],
            leaf_number: 0,
            index: 0,
            is_over: pdse.superblock().levels == 0,
            last: [0; 256],
            last_length: 0,
            passed: [0; 256],
            passed_length: 0,
        };
        if !cursor.is_over {
            cursor.descend(pdse.superblock().root, pdse.superblock().levels, Some(key))?;
        }
        Ok(cursor)
    }

    /// The next cell; None after the last.
    ///
    /// # Errors
    /// A tree that is damaged there.
    pub fn next_cell(&mut self) -> Result<Option<Cell<'_>>, Fault> {
        loop {
            if self.is_over {
                return Ok(None);
            }
            let cells = NodeView::trusted(&self.leaf).cells();
            if self.index < cells {
                break;
            }
            self.climb()?;
        }
        let node = NodeView::trusted(&self.leaf);
        let damaged = Fault::DamagedDirectory { block: self.leaf_number };
        let (key, value) = node.key(self.index).zip(node.value(self.index)).ok_or(damaged)?;
        if self.last_length > 0 && key <= &self.last[..self.last_length] {
            self.is_over = true;
            return Err(damaged);
        }
        self.last_length = key.len().min(self.last.len());
        self.last[..self.last_length].copy_from_slice(&key[..self.last_length]);
        self.index += 1;
        Ok(Some((self.leaf_number, key, value)))
    }

    /// From a node at height `levels` down to a leaf: along a key, or along the first cells.
    fn descend(&mut self, mut number: u32, levels: u8, key: Option<&[u8]>) -> Result<(), Fault> {
        for level in (1..levels).rev() {
            let mut page = [0; PAGE];
            let node = self.pdse.node(number, level, &mut page)?;
            let index = key.map_or(0, |key| node.index_for(key));
            let child = node.child(index).ok_or(Fault::DamagedDirectory { block: number })?;
            // `levels` is at most MOST_LEVELS, and each level puts one cell on the path.
            if let Some(step) = self.path.get_mut(self.depth) {
                *step = (number, index);
                self.depth += 1;
            }
            number = child;
        }
        let mut leaf = [0; PAGE];
        let node = self.pdse.node(number, 0, &mut leaf)?;
        self.index = key.map_or(0, |key| node.lower_bound(key));
        self.leaf = leaf;
        self.leaf_number = number;
        Ok(())
    }

    /// To the next leaf.
    fn climb(&mut self) -> Result<(), Fault> {
        while self.depth > 0 {
            self.depth -= 1;
            let (number, index) = self.path[self.depth];
            let level = self.pdse.superblock().levels - 1 - self.depth as u8;
            let mut page = [0; PAGE];
            let node = self.pdse.node(number, level, &mut page)?;
            if let Some((key, child)) = node.key(index + 1).zip(node.child(index + 1)) {
                if key <= &self.passed[..self.passed_length] {
                    self.is_over = true;
                    return Err(Fault::DamagedDirectory { block: number });
                }
                self.passed_length = key.len().min(self.passed.len());
                self.passed[..self.passed_length].copy_from_slice(&key[..self.passed_length]);
                self.path[self.depth] = (number, index + 1);
                self.depth += 1;
                return self.descend(child, level, None);
            }
        }
        self.is_over = true;
        Ok(())
    }
}

/// Members and aliases, in the order of their names.
#[derive(Debug)]
pub struct Entries<'a, R> {
    cursor: Cursor<'a, R>,
    is_over: bool,
}

impl<'a, R: ReadAt> Entries<'a, R> {
    pub(super) fn new(pdse: &'a Pdse<R>) -> Result<Entries<'a, R>, Fault> {
        Ok(Entries { cursor: Cursor::new(pdse, &[1])?, is_over: false })
    }

    fn step(&mut self) -> Result<Option<Value>, Fault> {
        let pdse = self.cursor.pdse;
        let Some((block, key, value)) = self.cursor.next_cell()? else { return Ok(None) };
        match Key::decode(key) {
            Some(Decoded::Name(name)) => Value::decode(&name, value)
                .filter(|value| value.is_inside(pdse.superblock()))
                .map(Some)
                .ok_or(Fault::DamagedDirectory { block }),
            Some(Decoded::AliasOf { .. }) => Ok(None),
            None => Err(Fault::DamagedDirectory { block }),
        }
    }
}

impl<R: ReadAt> Iterator for Entries<'_, R> {
    type Item = Result<Value, Fault>;

    fn next(&mut self) -> Option<Result<Value, Fault>> {
        if self.is_over {
            return None;
        }
        let next = self.step().transpose();
        self.is_over = !matches!(next, Some(Ok(_)));
        next
    }
}

/// The aliases of one member.
#[derive(Debug)]
pub struct Aliases<'a, R> {
    cursor: Cursor<'a, R>,
    member: Name,
    is_over: bool,
}

impl<'a, R: ReadAt> Aliases<'a, R> {
    pub(super) fn new(pdse: &'a Pdse<R>, member: &Name) -> Result<Aliases<'a, R>, Fault> {
        let cursor = Cursor::new(pdse, Key::of_alias(member, None).as_bytes())?;
        Ok(Aliases { cursor, member: *member, is_over: false })
    }

    fn step(&mut self) -> Result<Option<Alias>, Fault> {
        let pdse = self.cursor.pdse;
        let Some((block, key, _)) = self.cursor.next_cell()? else { return Ok(None) };
        let alias = match Key::decode(key) {
            Some(Decoded::AliasOf { member, alias }) if member == self.member => alias,
            Some(_) => return Ok(None),
            None => return Err(Fault::DamagedDirectory { block }),
        };
        match pdse.value(&alias, &mut crate::count::Counts::default(), &mut [])? {
            Some(Value::Alias(alias)) if alias.of == self.member => Ok(Some(alias)),
            _ => Err(Fault::Contradiction("an alias is listed with its member and nowhere else")),
        }
    }
}

impl<R: ReadAt> Iterator for Aliases<'_, R> {
    type Item = Result<Alias, Fault>;

    fn next(&mut self) -> Option<Result<Alias, Fault>> {
        if self.is_over {
            return None;
        }
        let next = self.step().transpose();
        self.is_over = !matches!(next, Some(Ok(_)));
        next
    }
}
