//! The tree of a PDSE during a change: its leaves in order, changed ones with their cells.
//!
//! ```text
//! leaves:  [from "" at page 9] [from "FFT" changed: 40 cells] [from "SORT" at page 31] ...
//! write:   changed leaves into new pages; over all leaves, levels of inner nodes up to a single root
//! ```
//!
//! Invariant: leaves ascend, and a key belongs to the last leaf whose first key is not above it.

use std::collections::BTreeMap;
use std::ops::Bound;

use underbar_partitioned::attribute::{PAGE, pages};
use underbar_partitioned::name::Name;
use underbar_partitioned::pdse::{
    Decoded, Key, MOST_LEVELS, NODE_HEADER, NodeView, Pdse, Run, Superblock, Value, seal_node, table_pages,
};
use underbar_partitioned::read::{Fault, ReadAt};

use super::ROOM;
use super::space::{Reached, Space};
use crate::error::{Error, Result};
use crate::storage::Storage;

type Cells = BTreeMap<Box<[u8]>, Box<[u8]>>;

/// The leaves.
#[derive(Debug)]
pub struct Tree {
    leaves: Vec<Leaf>,
    inner: Vec<Run>,
    /// Pages of leaves that were joined into others.
    gone: Vec<Run>,
}

#[derive(Debug)]
struct Leaf {
    /// The lower bound of its keys; for the first leaf it is empty.
    from: Box<[u8]>,
    state: State,
}

#[derive(Debug)]
enum State {
    /// Unchanged, in this page.
    Kept(u32),
    /// Changed; its old page, if it is not new.
    Changed(Option<u32>, Cells),
}

/// A tree that was written.
#[derive(Clone, Copy, Debug)]
pub struct Written {
    pub root: u32,
    pub levels: u8,
    /// Its nodes, kept ones included.
    pub pages: u32,
    /// Of these: leaves.
    pub leaves: u32,
}

impl Tree {
    /// Walks a whole tree and marks every page in it.
    ///
    /// # Errors
    /// A tree that is damaged anywhere; two uses of one page.
    pub fn walk<R: ReadAt>(pdse: &Pdse<R>, reached: &mut Reached) -> Result<Tree> {
        let mut tree = Tree { leaves: Vec::new(), inner: Vec::new(), gone: Vec::new() };
        let superblock = *pdse.superblock();
        if superblock.levels == 0 {
            let state = State::Changed(None, Cells::new());
            tree.leaves.push(Leaf { from: Box::default(), state });
            return Ok(tree);
        }
        // Level by level, from the root: each node of a level is marked before its children are read.
        let mut nodes = vec![(Box::<[u8]>::default(), superblock.root)];
        for level in (1..superblock.levels).rev() {
            let mut below = Vec::new();
            for (from, number) in nodes {
                mark(reached, Run { first: number, pages: 1 })?;
                tree.inner.push(Run { first: number, pages: 1 });
                let mut page = [0; PAGE];
                let node = pdse.node(number, level, &mut page)?;
                for index in 0..node.cells() {
                    let damaged = Fault::DamagedDirectory { block: number };
                    let (key, child) = node.key(index).zip(node.child(index)).ok_or(damaged)?;
                    // The first of all is never above any key, whatever was deleted below it.
                    let key = if index == 0 { from.clone() } else { Box::from(key) };
                    if below.last().is_some_and(|(before, _)| *before >= key) {
                        return Err(damaged.into());
                    }
                    below.push((key, child));
                }
            }
            nodes = below;
        }
        let mut before: Box<[u8]> = Box::default();
        for (from, number) in nodes {
            mark(reached, Run { first: number, pages: 1 })?;
            let mut page = [0; PAGE];
            let node = pdse.node(number, 0, &mut page)?;
            for index in 0..node.cells() {
                let damaged = Fault::DamagedDirectory { block: number };
                let (key, value) = node.key(index).zip(node.value(index)).ok_or(damaged)?;
                if key <= &before[..] || key < &from[..] {
                    return Err(damaged.into());
                }
                before = Box::from(key);
                mark_cell(&superblock, reached, key, value).ok_or(damaged)??;
            }
            tree.leaves.push(Leaf { from, state: State::Kept(number) });
        }
        Ok(tree)
    }

    /// Nodes in the file.
    pub fn nodes(&self) -> u64 {
        let kept = self.leaves.iter().filter(|leaf| matches!(leaf.state, State::Kept(_))).count();
        (self.inner.len() + kept) as u64
    }

    /// Pages of the inner nodes, which a change makes anew.
    pub fn inner_pages(&self) -> Vec<Run> {
        self.inner.clone()
    }

    /// The value of a key.
    ///
    /// # Errors
    /// A leaf that cannot be read again.
    pub fn get<S: Storage>(&mut self, storage: &S, old: &Superblock, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let index = self.leaf_of(key);
        match &self.leaves[index].state {
            State::Changed(_, cells) => Ok(cells.get(key).map(|value| value.to_vec())),
            State::Kept(number) => {
                let mut page = [0; PAGE];
                let pdse = Pdse::at(storage, *old);
                let node = pdse.node(*number, 0, &mut page)?;
                let index = node.lower_bound(key);
                Ok((node.key(index) == Some(key)).then(|| node.value(index).unwrap_or_default().to_vec()))
            }
        }
    }

    /// Sets the value of a key.
    ///
    /// # Errors
    /// A leaf that cannot be read again.
    pub fn put<S: Storage>(&mut self, storage: &S, old: &Superblock, key: &[u8], value: &[u8]) -> Result<()> {
        let index = self.leaf_of(key);
        self.changed(storage, old, index)?.insert(Box::from(key), Box::from(value));
        Ok(())
    }

    /// Removes a key.
    ///
    /// # Errors
    /// A leaf that cannot be read again.
    pub fn remove<S: Storage>(&mut self, storage: &S, old: &Superblock, key: &[u8]) -> Result<()> {
        let index = self.leaf_of(key);
        self.changed(storage, old, index)?.remove(key);
        Ok(())
    }

    /// The aliases whose keys begin with a prefix.
    ///
    /// # Errors
    /// A leaf that cannot be read again.
    pub fn names_behind<S: Storage>(
        &mut self,
        storage: &S,
        old: &Superblock,
        prefix: &[u8],
    ) -> Result<Vec<Name>> {
        let mut names = Vec::new();
        let mut from = prefix.to_vec();
        for index in self.leaf_of(prefix)..self.leaves.len() {
            let keys = self.keys_from(storage, old, index, &from)?;
            let is_over = keys.iter().any(|key| !key.starts_with(prefix));
            for key in keys.iter().take_while(|key| key.starts_with(prefix)) {
                if let Some(Decoded::AliasOf { alias, .. }) = Key::decode(key) {
                    names.push(alias);
                }
            }
            if is_over {
                break;
            }
            from.clear();
        }
        Ok(names)
    }

    fn keys_from<S: Storage>(
        &self,
        storage: &S,
        old: &Superblock,
        index: usize,
        from: &[u8],
    ) -> Result<Vec<Box<[u8]>>> {
        match &self.leaves[index].state {
            State::Changed(_, cells) => {
                let range = (Bound::Included(from), Bound::Unbounded);
                Ok(cells.range::<[u8], _>(range).map(|(key, _)| key.clone()).collect())
            }
            State::Kept(number) => {
                let mut page = [0; PAGE];
                let pdse = Pdse::at(storage, *old);
                let node = pdse.node(*number, 0, &mut page)?;
                Ok((node.lower_bound(from)..node.cells())
                    .filter_map(|index| node.key(index))
                    .map(Box::from)
                    .collect())
            }
        }
    }

    fn leaf_of(&self, key: &[u8]) -> usize {
        // The first leaf begins with the empty key, so one is always not above.
        self.leaves.partition_point(|leaf| &leaf.from[..] <= key).saturating_sub(1)
    }

    /// The cells of a leaf, to be changed.
    fn changed<S: Storage>(&mut self, storage: &S, old: &Superblock, index: usize) -> Result<&mut Cells> {
        let leaf = &mut self.leaves[index];
        if let State::Kept(number) = leaf.state {
            let mut page = [0; PAGE];
            let pdse = Pdse::at(storage, *old);
            let node = pdse.node(number, 0, &mut page)?;
            leaf.state = State::Changed(Some(number), cells_of(&node));
        }
        match &mut leaf.state {
            State::Changed(_, cells) => Ok(cells),
            State::Kept(_) => unreachable!("it was made a changed one above"),
        }
    }

    /// Writes the changes, and the levels above all leaves. Frees pages that only the old tree needs.
    ///
    /// # Errors
    /// No room; the system's.
    pub fn write<S: Storage>(
        &mut self,
        storage: &mut S,
        old: &Superblock,
        generation: u64,
        space: &mut Space,
        freed: &mut Vec<Run>,
    ) -> Result<Written> {
        self.join_small(storage, old)?;
        freed.append(&mut self.gone);
        let mut level: Vec<Placed> = Vec::new();
        for leaf in std::mem::take(&mut self.leaves) {
            match leaf.state {
                State::Kept(page) => level.push(Placed { from: leaf.from, page, node: None }),
                State::Changed(before, cells) => {
                    freed.extend(before.map(|first| Run { first, pages: 1 }));
                    level.extend(split(cells));
                }
            }
        }
        let mut writing = Writing { storage, old, generation, space };
        let leaves = level.len() as u32;
        let (mut pages, mut levels) = (leaves, u8::from(leaves > 0));
        writing.place(&mut level, 0)?;
        while level.len() > 1 {
            if levels == MOST_LEVELS {
                return Err(Error::Full("its directory has the most levels possible"));
            }
            level = above(&level);
            writing.place(&mut level, levels)?;
            pages += level.len() as u32;
            levels += 1;
        }
        Ok(Written { root: level.first().map_or(0, |root| root.page), levels, pages, leaves })
    }

    /// Joins two neighbours if a changed one has few cells.
    fn join_small<S: Storage>(&mut self, storage: &S, old: &Superblock) -> Result<()> {
        let is_small =
            |leaf: &Leaf| matches!(&leaf.state, State::Changed(_, cells) if bytes(cells) < ROOM / 4);
        let mut index = 1;
        while index < self.leaves.len() {
            if !is_small(&self.leaves[index - 1]) && !is_small(&self.leaves[index]) {
                index += 1;
                continue;
            }
            self.changed(storage, old, index)?;
            if let State::Changed(before, mut cells) = self.leaves.remove(index).state {
                self.changed(storage, old, index - 1)?.append(&mut cells);
                self.gone.extend(before.map(|first| Run { first, pages: 1 }));
            }
        }
        Ok(())
    }
}

/// A node of a level.
struct Placed {
    /// The lower bound of its keys.
    from: Box<[u8]>,
    /// Its page; 0 as long as it is not known.
    page: u32,
    /// Its contents, if it is new.
    node: Option<Node>,
}

/// Writes the nodes of one change.
struct Writing<'a, S> {
    storage: &'a mut S,
    old: &'a Superblock,
    generation: u64,
    space: &'a mut Space,
}

impl<S: Storage> Writing<'_, S> {
    /// Gives each new node of a level a page, and writes them; adjacent ones in one write.
    fn place(&mut self, level: &mut [Placed], number: u8) -> Result<()> {
        let new: Vec<_> =
            level.iter_mut().filter_map(|placed| Some((&mut placed.page, placed.node.as_ref()?))).collect();
        let mut new = new.into_iter().peekable();
        while let (left, Some(_)) = (new.len() as u32, new.peek()) {
            // Nodes need not be adjacent, and free pages are taken first: on a full disk no file grows.
            let run = self.space.take_some(left)?;
            let mut bytes = Vec::with_capacity(run.pages as usize * PAGE);
            for first in run.first..run.first + run.pages {
                let Some((page, node)) = new.next() else { break };
                *page = first;
                bytes.extend_from_slice(&node.seal(self.old.identity, first, number, self.generation)[..]);
            }
            let written = self.storage.write_at(u64::from(run.first) * PAGE as u64, &bytes);
            written.map_err(|error| Error::system("the library", error))?;
        }
        Ok(())
    }
}

/// A node in progress: slots from the front, cells from the back.
struct Node {
    page: Box<[u8; PAGE]>,
    cells: u16,
    front: usize,
    back: usize,
}

impl Node {
    fn new() -> Node {
        Node { page: Box::new([0; PAGE]), cells: 0, front: NODE_HEADER, back: PAGE }
    }

    /// Bytes in use, without the header.
    fn used(&self) -> usize {
        self.front - NODE_HEADER + PAGE - self.back
    }

    /// Adds a cell of these parts; false if there is no room.
    fn put(&mut self, parts: &[&[u8]]) -> bool {
        let length: usize = parts.iter().map(|part| part.len()).sum();
        if self.front + 2 + length > self.back {
            return false;
        }
        self.back -= length;
        let mut at = self.back;
        for part in parts {
            self.page[at..at + part.len()].copy_from_slice(part);
            at += part.len();
        }
        self.page[self.front..self.front + 2].copy_from_slice(&(self.back as u16).to_le_bytes());
        self.front += 2;
        self.cells += 1;
        true
    }

    fn seal(&self, identity: u64, number: u32, level: u8, generation: u64) -> Box<[u8; PAGE]> {
        let mut page = self.page.clone();
        seal_node(&mut page, identity, number, level, self.cells, generation);
        page
    }
}

/// Bytes that cells take in a leaf.
fn bytes(cells: &Cells) -> usize {
    cells.iter().map(|(key, value)| 2 + 3 + key.len() + value.len()).sum()
}

/// The new leaves of a changed leaf: one, or as many as its cells need, evenly filled, so that the next cells fit, too.
fn split(cells: Cells) -> Vec<Placed> {
    let all = bytes(&cells);
    // The longest cell, 650 bytes, may be left over in each.
    let leaves = if all <= ROOM { 1 } else { all.div_ceil(ROOM * 9 / 10) };
    let share = all.div_ceil(leaves);
    let mut nodes: Vec<Placed> = Vec::new();
    for (key, value) in cells {
        let length = (value.len() as u16).to_le_bytes();
        let parts: [&[u8]; 4] = [&[key.len() as u8], &length, &key, &value];
        let fits = nodes
            .last_mut()
            .and_then(|last| last.node.as_mut())
            .is_some_and(|node| node.used() < share && node.put(&parts));
        if !fits {
            let mut node = Node::new();
            // A cell is far shorter than a page.
            node.put(&parts);
            nodes.push(Placed { from: key, page: 0, node: Some(node) });
        }
    }
    nodes
}

/// The level of inner nodes above a level.
fn above(level: &[Placed]) -> Vec<Placed> {
    let mut nodes: Vec<Placed> = Vec::new();
    for Placed { from, page, .. } in level {
        let child = page.to_le_bytes();
        let parts: [&[u8]; 3] = [&[from.len() as u8], &child, from];
        if !nodes.last_mut().and_then(|last| last.node.as_mut()).is_some_and(|node| node.put(&parts)) {
            let mut node = Node::new();
            node.put(&parts);
            nodes.push(Placed { from: from.clone(), page: 0, node: Some(node) });
        }
    }
    nodes
}

fn cells_of(node: &NodeView<'_>) -> Cells {
    (0..node.cells())
        .filter_map(|index| Some((Box::from(node.key(index)?), Box::from(node.value(index)?))))
        .collect()
}

fn mark(reached: &mut Reached, run: Run) -> std::result::Result<(), Fault> {
    if reached.mark(run) { Ok(()) } else { Err(Fault::Contradiction("one page has two uses")) }
}

/// Marks the pages of a leaf's cell; None if the cell is not valid.
fn mark_cell(
    superblock: &Superblock,
    reached: &mut Reached,
    key: &[u8],
    value: &[u8],
) -> Option<std::result::Result<(), Fault>> {
    let name = match Key::decode(key)? {
        Decoded::Name(name) => name,
        Decoded::AliasOf { .. } => return Some(Ok(())),
    };
    let value = Value::decode(&name, value).filter(|value| value.is_inside(superblock))?;
    let Value::Member(member) = value else { return Some(Ok(())) };
    let table = table_pages(pages(member.size));
    let table = (table > 0).then_some(Run { first: member.table, pages: table });
    Some(member.runs.as_slice().iter().copied().chain(table).try_for_each(|run| mark(reached, run)))
}
