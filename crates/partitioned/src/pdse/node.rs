//! Nodes of the tree and their keys: encoding to and decoding from the file.
//!
//! ```text
//! node: "NODE" level count page generation sum | places of cells, 2 each | ...free... | cells
//!   leaf cell:   key length 1 | value length 2 | key | value
//!   inner cell:  key length 1 | child 4 | key: the lowest below the child
//! key:  1, name                  -> member | alias
//!       2, member, 0, alias      -> nothing: lists a member's aliases
//! ```
//!
//! Invariant: a node's sum covers the whole node except the sum, and is seeded with the library's identity and the page's
//! number. The lengths in a cell are checked on each read.

use crate::attribute::PAGE;
use crate::bytes::{put, take, u8_at, u16_at, u32_at, u64_at};
use crate::name::{LONGEST, Name};
use crate::read::{Fault, ReadAt};
use crate::sum::Sum;

use super::Pdse;
use super::superblock::{MOST_LEVELS, Superblock};
use super::value::Value;

/// A key of the tree.
#[derive(Clone, Copy)]
pub struct Key {
    length: u8,
    bytes: [u8; 2 + 2 * LONGEST],
}

impl Key {
    /// The key of a member or alias.
    #[must_use]
    pub fn of_name(name: &Name) -> Key {
        Key::join(1, name.as_bytes(), None)
    }

    /// The key that records an alias of a member; without an alias, the start of the member's aliases.
    #[must_use]
    pub fn of_alias(member: &Name, alias: Option<&Name>) -> Key {
        Key::join(2, member.as_bytes(), Some(alias.map_or(&[][..], Name::as_bytes)))
    }

    fn join(kind: u8, first: &[u8], second: Option<&[u8]>) -> Key {
        let mut bytes = [0; 2 + 2 * LONGEST];
        bytes[0] = kind;
        put(&mut bytes, 1, first);
        let mut length = 1 + first.len();
        if let Some(second) = second {
            put(&mut bytes, length + 1, second);
            length += 1 + second.len();
        }
        Key { length: length as u8, bytes }
    }

    /// Its bytes, whose order is the tree's.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.length)).unwrap_or(&[])
    }

    /// Decodes a key.
    #[must_use]
    pub fn decode(key: &[u8]) -> Option<Decoded> {
        let (kind, rest) = key.split_first()?;
        match kind {
            1 => Some(Decoded::Name(Name::new(rest).ok()?)),
            2 => {
                let end = rest.iter().position(|&byte| byte == 0)?;
                let member = Name::new(rest.get(..end)?).ok()?;
                Some(Decoded::AliasOf { member, alias: Name::new(rest.get(end + 1..)?).ok()? })
            }
            _ => None,
        }
    }
}

/// The meaning of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decoded {
    /// A name.
    Name(Name),
    /// A member has this alias.
    AliasOf {
        /// The member.
        member: Name,
        /// The alias.
        alias: Name,
    },
}

/// Bytes before the cell offsets of a node.
pub const NODE_HEADER: usize = 32;
const NODE_MAGIC: [u8; 4] = *b"NODE";

/// Completes a node whose offsets and cells are in the page: adds the header and the sum.
pub fn seal_node(page: &mut [u8; PAGE], identity: u64, number: u32, level: u8, cells: u16, generation: u64) {
    put(page, 0, &NODE_MAGIC);
    put(page, 4, &[level, 0]);
    put(page, 6, &cells.to_le_bytes());
    put(page, 8, &number.to_le_bytes());
    put(page, 12, &[0; 4]);
    put(page, 16, &generation.to_le_bytes());
    let sum = node_sum(page, identity ^ u64::from(number));
    put(page, 24, &sum.to_le_bytes());
}

fn node_sum(page: &[u8; PAGE], seed: u64) -> u64 {
    let mut sum = Sum::new(seed);
    sum.add(&page[NODE_HEADER..]);
    sum.add(&page[..24]);
    sum.finish()
}

/// A node that was read and whose sum is correct.
#[derive(Clone, Copy, Debug)]
pub struct NodeView<'p> {
    page: &'p [u8; PAGE],
}

impl<'p> NodeView<'p> {
    /// Decodes a page of the file; None if it is no node or is damaged.
    #[must_use]
    pub fn decode(page: &'p [u8; PAGE], superblock: &Superblock, number: u32) -> Option<NodeView<'p>> {
        let node = NodeView { page };
        let is_sound = take::<4>(page, 0) == NODE_MAGIC
            && u32_at(page, 8) == number
            && node.level() < MOST_LEVELS
            && NODE_HEADER + 2 * node.cells() <= PAGE
            && u64_at(page, 16) <= superblock.generation
            && u64_at(page, 24) == node_sum(page, superblock.seed(number));
        is_sound.then_some(node)
    }

    /// A page that was decoded before.
    pub(super) fn trusted(page: &'p [u8; PAGE]) -> NodeView<'p> {
        NodeView { page }
    }

    /// 0 for a leaf.
    #[must_use]
    pub fn level(&self) -> u8 {
        u8_at(self.page, 4)
    }

    /// Cells.
    #[must_use]
    pub fn cells(&self) -> usize {
        usize::from(u16_at(self.page, 6))
    }

    fn cell(&self, index: usize) -> Option<&'p [u8]> {
        if index >= self.cells() {
            return None;
        }
        self.page.get(usize::from(u16_at(self.page, NODE_HEADER + 2 * index))..)
    }

    /// The key of a cell.
    #[must_use]
    pub fn key(&self, index: usize) -> Option<&'p [u8]> {
        let cell = self.cell(index)?;
        let fixed = if self.level() == 0 { 3 } else { 5 };
        cell.get(fixed..fixed + usize::from(u8_at(cell, 0)))
    }

    /// The value of a leaf's cell.
    #[must_use]
    pub fn value(&self, index: usize) -> Option<&'p [u8]> {
        let cell = self.cell(index)?;
        let from = 3 + usize::from(u8_at(cell, 0));
        cell.get(from..from + usize::from(u16_at(cell, 1)))
    }

    /// The child of an inner node's cell.
    #[must_use]
    pub fn child(&self, index: usize) -> Option<u32> {
        self.cell(index).map(|cell| u32_at(cell, 1))
    }

    /// The first cell whose key is not below the given one.
    #[must_use]
    pub fn lower_bound(&self, key: &[u8]) -> usize {
        let (mut low, mut high) = (0, self.cells());
        while low < high {
            let middle = low + (high - low) / 2;
            // An unreadable cell counts as high: the search finds it, and the code that reads it rejects it.
            if self.key(middle).is_some_and(|found| found < key) { low = middle + 1 } else { high = middle }
        }
        low
    }

    pub(super) fn find(&self, key: &[u8]) -> Option<usize> {
        let index = self.lower_bound(key);
        (self.key(index)? == key).then_some(index)
    }

    /// The cell whose child covers a key: the last whose key is not above it, or the first.
    #[must_use]
    pub fn index_for(&self, key: &[u8]) -> usize {
        let index = self.lower_bound(key);
        if self.key(index) == Some(key) { index } else { index.saturating_sub(1) }
    }

    pub(super) fn child_for(&self, key: &[u8]) -> Option<u32> {
        self.child(self.index_for(key))
    }

    /// The meaning of a leaf's cell for a name.
    pub(super) fn entry<R: ReadAt>(&self, index: usize, pdse: &Pdse<R>, name: &Name) -> Result<Value, Fault> {
        let value = self.value(index).and_then(|value| Value::decode(name, value));
        value
            .filter(|value| value.is_inside(&pdse.superblock))
            .ok_or(Fault::DamagedDirectory { block: u32_at(self.page, 8) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Name {
        Name::new(text.as_bytes()).expect("a name")
    }

    #[test]
    fn keys_keep_the_order_of_names() {
        let (a, ab, b) = (name("a"), name("ab"), name("b"));
        let keys = [
            Key::of_name(&a),
            Key::of_name(&ab),
            Key::of_name(&b),
            Key::of_alias(&a, None),
            Key::of_alias(&a, Some(&a)),
            Key::of_alias(&a, Some(&b)),
            Key::of_alias(&ab, None),
        ];
        assert!(keys.windows(2).all(|pair| pair[0].as_bytes() < pair[1].as_bytes()));
        assert_eq!(Key::decode(keys[1].as_bytes()), Some(Decoded::Name(ab)));
        assert_eq!(Key::decode(keys[5].as_bytes()), Some(Decoded::AliasOf { member: a, alias: b }));
        assert_eq!(Key::decode(keys[3].as_bytes()), None);
        assert_eq!(Key::decode(&[]), None);
    }
}
