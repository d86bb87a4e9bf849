//! Superblocks, nodes and values: as they lie in the file, both ways.
//!
//! ```text
//! node: "NODE" level count page generation sum | places of cells, 2 each | ...free... | cells
//!   leaf cell:   key length 1 | value length 2 | key | value
//!   inner cell:  key length 1 | child 4 | key: the lowest below the child
//! key:  1, name                  -> member | alias
//!       2, member, 0, alias      -> nothing: how a member's aliases are found
//! ```
//!
//! Invariant: decode(encode(x)) == x. A node's sum covers all of it but the sum, and is seeded with the library's identity
//! and the page's number; what a cell says of its length is checked whenever it is read.

use crate::attribute::{Attributes, Classes, FetchOptions, PAGE, pages};
use crate::binder::{LARGEST_BLOCK_SIZE, SMALLEST_BLOCK_SIZE};
use crate::bytes::{put, take, u8_at, u16_at, u32_at, u64_at};
use crate::name::{LONGEST, Name};
use crate::read::{Fault, PDS_BEGINS, PDSE_BEGINS, ReadAt, VERSION, fill, first_page};
use crate::sum::{Sum, sum};
use crate::symbol::Symbol;

use super::Pdse;
use super::turns::MOST_GENERATIONS;

const SUM: usize = PAGE - 8;
/// The first page behind the superblocks.
pub const FIRST_PAGE: u32 = 2;
/// Most levels of a tree.
pub const MOST_LEVELS: u8 = 8;

/// What a superblock says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Superblock {
    /// Drawn when the library was created.
    pub identity: u64,
    /// Rises by one with each change.
    pub generation: u64,
    /// The page of the tree's root; 0 while there is none.
    pub root: u32,
    /// Levels of the tree; 0 while there is none.
    pub levels: u8,
    /// Pages of the file, the superblocks among them.
    pub pages: u32,
    /// Of these: nodes of the tree.
    pub directory_pages: u32,
    /// Pages that hold nothing, or nothing any more.
    pub free_pages: u32,
    /// Members, without aliases.
    pub members: u32,
    /// Aliases.
    pub aliases: u32,
    /// The block size of its label. It changes nothing, as on the mainframe.
    pub block_size: u32,
    /// First of the pages that list what came free lately, and their number.
    pub pending: u32,
    /// See `pending`.
    pub pending_pages: u32,
    /// Members added so far: what tokens are made of.
    pub added: u64,
    /// Most pages that the file may have; 0 for no limit.
    pub space: u32,
    /// Seconds since 1970.
    pub created: u64,
    /// Seconds since 1970.
    pub modified: u64,
}

impl Superblock {
    /// As it lies in the file.
    #[must_use]
    pub fn encode(&self) -> [u8; PAGE] {
        let mut page = [0; PAGE];
        put(&mut page, 0, &PDSE_BEGINS);
        put(&mut page, 7, &[VERSION]);
        put(&mut page, 8, &self.identity.to_le_bytes());
        put(&mut page, 16, &self.generation.to_le_bytes());
        put(&mut page, 24, &self.root.to_le_bytes());
        put(&mut page, 28, &[self.levels]);
        put(&mut page, 32, &self.pages.to_le_bytes());
        put(&mut page, 36, &self.directory_pages.to_le_bytes());
        put(&mut page, 40, &self.free_pages.to_le_bytes());
        put(&mut page, 44, &self.members.to_le_bytes());
        put(&mut page, 48, &self.aliases.to_le_bytes());
        put(&mut page, 52, &self.block_size.to_le_bytes());
        put(&mut page, 56, &self.pending.to_le_bytes());
        put(&mut page, 60, &self.pending_pages.to_le_bytes());
        put(&mut page, 64, &self.added.to_le_bytes());
        put(&mut page, 72, &self.space.to_le_bytes());
        put(&mut page, 80, &self.created.to_le_bytes());
        put(&mut page, 88, &self.modified.to_le_bytes());
        let sum = sum(0, &page[..SUM]);
        put(&mut page, SUM, &sum.to_le_bytes());
        page
    }

    /// From the file.
    ///
    /// # Errors
    /// Another file, another version, damage, figures that no PDSE has.
    pub fn decode(page: &[u8; PAGE]) -> Result<Superblock, Fault> {
        match (take::<7>(page, 0), u8_at(page, 7)) {
            (PDSE_BEGINS, VERSION) => {}
            (PDSE_BEGINS, version) => return Err(Fault::Version(version)),
            (PDS_BEGINS, _) => return Err(Fault::OtherOrganisation),
            _ => return Err(Fault::NotALibrary),
        }
        if u64_at(page, SUM) != sum(0, &page[..SUM]) {
            return Err(Fault::DamagedHeader);
        }
        let superblock = Superblock {
            identity: u64_at(page, 8),
            generation: u64_at(page, 16),
            root: u32_at(page, 24),
            levels: u8_at(page, 28),
            pages: u32_at(page, 32),
            directory_pages: u32_at(page, 36),
            free_pages: u32_at(page, 40),
            members: u32_at(page, 44),
            aliases: u32_at(page, 48),
            block_size: u32_at(page, 52),
            pending: u32_at(page, 56),
            pending_pages: u32_at(page, 60),
            added: u64_at(page, 64),
            space: u32_at(page, 72),
            created: u64_at(page, 80),
            modified: u64_at(page, 88),
        };
        let is_inside = |first: u32, number: u32| {
            number == 0
                || (first >= FIRST_PAGE
                    && first.checked_add(number).is_some_and(|end| end <= superblock.pages))
        };
        let is_sound = superblock.pages >= FIRST_PAGE
            && superblock.levels <= MOST_LEVELS
            && is_inside(superblock.root, u32::from(superblock.levels > 0))
            && is_inside(superblock.pending, superblock.pending_pages)
            && superblock.generation < MOST_GENERATIONS
            && (SMALLEST_BLOCK_SIZE..=LARGEST_BLOCK_SIZE).contains(&superblock.block_size);
        if is_sound { Ok(superblock) } else { Err(Fault::DamagedHeader) }
    }

    /// The newer of those that are whole.
    ///
    /// # Errors
    /// Neither is.
    pub fn newest<R: ReadAt + ?Sized>(read: &R) -> Result<Superblock, Fault> {
        let mut page = [0; PAGE];
        let first = first_page(read, &mut page).and_then(|()| Superblock::decode(&page));
        let second = fill(read, PAGE as u64, &mut page).and_then(|()| Superblock::decode(&page));
        match (first, second) {
            (Ok(first), Ok(second)) if first.generation < second.generation => Ok(second),
            (Ok(first), _) => Ok(first),
            (_, Ok(second)) => Ok(second),
            // Whose first page is another file's is another file, whatever the second holds.
            (Err(Fault::NotALibrary), Err(Fault::DamagedHeader)) => Err(Fault::DamagedHeader),
            (Err(fault), _) => Err(fault),
        }
    }

    /// The page that the superblock of a generation is written to.
    #[must_use]
    pub fn turn(generation: u64) -> u32 {
        (generation % 2) as u32
    }

    /// The seed of a page's sum.
    #[must_use]
    pub fn seed(&self, page: u32) -> u64 {
        self.identity ^ u64::from(page)
    }
}

/// Most runs of a member.
pub const MOST_RUNS: usize = 8;

/// Pages in a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// The first.
    pub first: u32,
    /// How many.
    pub pages: u32,
}

/// Where a member's pages lie, in their order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Runs {
    number: u8,
    runs: [Run; MOST_RUNS],
}

impl Runs {
    /// Of so many runs at most.
    #[must_use]
    pub fn new(given: &[Run]) -> Option<Runs> {
        let mut runs = [Run::default(); MOST_RUNS];
        runs.get_mut(..given.len())?.copy_from_slice(given);
        Some(Runs { number: given.len() as u8, runs })
    }

    /// Each.
    #[must_use]
    pub fn as_slice(&self) -> &[Run] {
        self.runs.get(..usize::from(self.number)).unwrap_or(&[])
    }

    /// All pages.
    #[must_use]
    pub fn pages(&self) -> u64 {
        self.as_slice().iter().map(|run| u64::from(run.pages)).sum()
    }

    /// The page of the file that is a page of the member.
    #[must_use]
    pub fn page(&self, mut index: u32) -> Option<u32> {
        for run in self.as_slice() {
            if index < run.pages {
                return run.first.checked_add(index);
            }
            index -= run.pages;
        }
        None
    }
}

/// Members with more pages than this have sums for each of their pages: those that LOAD does not read whole.
pub const TABLE_ABOVE: u32 = 24;
/// Sums on a page of them; the page's own is the last.
pub const TABLE_SUMS: u32 = 511;

/// Pages of sums that a member of so many pages has.
#[must_use]
pub const fn table_pages(pages: u32) -> u32 {
    if pages > TABLE_ABOVE { pages.div_ceil(TABLE_SUMS) } else { 0 }
}

/// Writes the sum of a page of sums into it.
pub fn seal_table(page: &mut [u8; PAGE], seed: u64) {
    let sum = sum(seed, &page[..SUM]);
    put(page, SUM, &sum.to_le_bytes());
}

pub(super) fn is_sealed_table(page: &[u8; PAGE], seed: u64) -> bool {
    u64_at(page, SUM) == sum(seed, &page[..SUM])
}

/// A member, as its name leads to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its name.
    pub name: Name,
    /// What it is.
    pub attributes: Attributes,
    /// How it asks to be fetched.
    pub fetch: FetchOptions,
    /// The member locator token: a number without order that stands for it in lists.
    pub token: u32,
    /// Bytes.
    pub size: u64,
    /// Bytes from the front that are the program in storage.
    pub loadable: u64,
    /// Bytes of storage that the program takes.
    pub storage: u64,
    /// Address of the entry point, in the file's own addresses.
    pub entry_point: Option<u64>,
    /// The function that it is, or nothing.
    pub symbol: Symbol,
    /// The sum of all bytes, with seed 0.
    pub sum: u64,
    /// Seconds since 1970.
    pub modified: u64,
    /// First page of the sums of its pages; 0 where it has none.
    pub table: u32,
    /// Its pages.
    pub runs: Runs,
}

impl Member {
    /// Its pages by class of text.
    #[must_use]
    pub fn classes(&self) -> Classes {
        Classes::new(self.size, self.loadable, self.fetch)
    }
}

/// An alias.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alias {
    /// Its name.
    pub name: Name,
    /// The member that it stands for.
    pub of: Name,
    /// Address of the entry point of this name.
    pub entry_point: Option<u64>,
    /// The function that it is, or nothing.
    pub symbol: Symbol,
}

/// What a name leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "there is no heap to put the larger one on")]
pub enum Value {
    /// A member.
    Member(Member),
    /// An alias.
    Alias(Alias),
}

/// No entry point.
const NONE: u64 = u64::MAX;
const MEMBER_FIXED: usize = 72;
const ALIAS_FIXED: usize = 16;

impl Value {
    /// Most bytes of one.
    pub const LONGEST: usize = MEMBER_FIXED + MOST_RUNS * 8 + Symbol::LONGEST;

    /// The name.
    #[must_use]
    pub fn name(&self) -> Name {
        match self {
            Value::Member(member) => member.name,
            Value::Alias(alias) => alias.name,
        }
    }

    /// As it lies in a cell, and how many bytes.
    #[must_use]
    pub fn encode(&self) -> ([u8; Value::LONGEST], usize) {
        let mut value = [0; Value::LONGEST];
        let end = match self {
            Value::Member(member) => {
                put(&mut value, 0, &[1, member.fetch.code()]);
                put(&mut value, 2, &member.attributes.0.to_le_bytes());
                put(&mut value, 4, &member.token.to_le_bytes());
                put(&mut value, 8, &member.size.to_le_bytes());
                put(&mut value, 16, &member.loadable.to_le_bytes());
                put(&mut value, 24, &member.storage.to_le_bytes());
                put(&mut value, 32, &member.entry_point.unwrap_or(NONE).to_le_bytes());
                put(&mut value, 40, &member.sum.to_le_bytes());
                put(&mut value, 48, &member.modified.to_le_bytes());
                put(&mut value, 56, &member.table.to_le_bytes());
                let (runs, symbol) = (member.runs.as_slice(), member.symbol.as_bytes());
                put(&mut value, 60, &[runs.len() as u8, symbol.len() as u8]);
                let mut at = MEMBER_FIXED;
                for run in runs {
                    put(&mut value, at, &run.first.to_le_bytes());
                    put(&mut value, at + 4, &run.pages.to_le_bytes());
                    at += 8;
                }
                put(&mut value, at, symbol);
                at + symbol.len()
            }
            Value::Alias(alias) => {
                let (of, symbol) = (alias.of.as_bytes(), alias.symbol.as_bytes());
                put(&mut value, 0, &[2, of.len() as u8, symbol.len() as u8]);
                put(&mut value, 8, &alias.entry_point.unwrap_or(NONE).to_le_bytes());
                put(&mut value, ALIAS_FIXED, of);
                put(&mut value, ALIAS_FIXED + of.len(), symbol);
                ALIAS_FIXED + of.len() + symbol.len()
            }
        };
        (value, end)
    }

    /// From a cell; None for what is none. Whether its pages lie inside the file is not looked at.
    #[must_use]
    pub fn decode(name: &Name, value: &[u8]) -> Option<Value> {
        let address = |field: u64| (field != NONE).then_some(field);
        match u8_at(value, 0) {
            1 if value.len() >= MEMBER_FIXED => {
                let number = usize::from(u8_at(value, 60));
                let symbol_at = MEMBER_FIXED + number * 8;
                let mut runs = [Run::default(); MOST_RUNS];
                for (index, run) in runs.get_mut(..number)?.iter_mut().enumerate() {
                    let at = MEMBER_FIXED + index * 8;
                    *run = Run { first: u32_at(value, at), pages: u32_at(value, at + 4) };
                }
                let symbol = value.get(symbol_at..)?;
                if symbol.len() != usize::from(u8_at(value, 61)) {
                    return None;
                }
                Some(Value::Member(Member {
                    name: *name,
                    attributes: Attributes(u16_at(value, 2)),
                    fetch: FetchOptions::from_code(u8_at(value, 1))?,
                    token: u32_at(value, 4),
                    size: u64_at(value, 8),
                    loadable: u64_at(value, 16),
                    storage: u64_at(value, 24),
                    entry_point: address(u64_at(value, 32)),
                    symbol: Symbol::new(symbol)?,
                    sum: u64_at(value, 40),
                    modified: u64_at(value, 48),
                    table: u32_at(value, 56),
                    runs: Runs { number: number as u8, runs },
                }))
            }
            2 if value.len() >= ALIAS_FIXED => {
                let symbol_at = ALIAS_FIXED + usize::from(u8_at(value, 1));
                let symbol = value.get(symbol_at..)?;
                if symbol.len() != usize::from(u8_at(value, 2)) {
                    return None;
                }
                Some(Value::Alias(Alias {
                    name: *name,
                    of: Name::new(value.get(ALIAS_FIXED..symbol_at)?).ok()?,
                    entry_point: address(u64_at(value, 8)),
                    symbol: Symbol::new(symbol)?,
                }))
            }
            _ => None,
        }
    }

    /// Do its pages lie inside the file, and are they as many as its size needs?
    #[must_use]
    pub fn is_inside(&self, superblock: &Superblock) -> bool {
        let Value::Member(member) = self else { return true };
        let is_inside = |first: u32, number: u32| {
            first >= FIRST_PAGE && first.checked_add(number).is_some_and(|end| end <= superblock.pages)
        };
        let needed = member.size.div_ceil(PAGE as u64);
        let table = table_pages(pages(member.size));
        member.runs.pages() == needed
            && member.runs.as_slice().iter().all(|run| run.pages > 0 && is_inside(run.first, run.pages))
            && (table == 0 || is_inside(member.table, table))
    }
}

/// A key of the tree.
#[derive(Clone, Copy)]
pub struct Key {
    length: u8,
    bytes: [u8; 2 + 2 * LONGEST],
}

impl Key {
    /// Under which a member or alias is found.
    #[must_use]
    pub fn of_name(name: &Name) -> Key {
        Key::join(1, name.as_bytes(), None)
    }

    /// What tells that a member has an alias; without one, where its aliases begin.
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

    /// What a key says.
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

/// What a key says.
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

/// Bytes in front of the places of a node's cells.
pub const NODE_HEADER: usize = 32;
const NODE_MAGIC: [u8; 4] = *b"NODE";

/// Completes a node whose places and cells are in the page: header and sum.
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

/// A node that was read and has its sum.
#[derive(Clone, Copy, Debug)]
pub struct NodeView<'p> {
    page: &'p [u8; PAGE],
}

impl<'p> NodeView<'p> {
    /// From a page of the file; None for what is no node, or is damaged.
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
            // A cell that cannot be read counts as high: it is found, and refused, by whoever reads it.
            if self.key(middle).is_some_and(|found| found < key) { low = middle + 1 } else { high = middle }
        }
        low
    }

    pub(super) fn find(&self, key: &[u8]) -> Option<usize> {
        let index = self.lower_bound(key);
        (self.key(index)? == key).then_some(index)
    }

    /// The cell below which a key lies: the last whose key is not above it, or the first.
    #[must_use]
    pub fn index_for(&self, key: &[u8]) -> usize {
        let index = self.lower_bound(key);
        if self.key(index) == Some(key) { index } else { index.saturating_sub(1) }
    }

    pub(super) fn child_for(&self, key: &[u8]) -> Option<u32> {
        self.child(self.index_for(key))
    }

    /// What a leaf's cell says of a name.
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

    pub fn superblock() -> Superblock {
        Superblock {
            identity: 77,
            generation: 5,
            root: 9,
            levels: 1,
            pages: 100,
            directory_pages: 1,
            free_pages: 3,
            members: 2,
            aliases: 1,
            block_size: 32_760,
            pending: 12,
            pending_pages: 1,
            added: 4,
            space: 0,
            created: 1,
            modified: 2,
        }
    }

    fn name(text: &str) -> Name {
        Name::new(text.as_bytes()).expect("a name")
    }

    #[test]
    fn values_are_read_as_they_were_written() {
        let member = Member {
            name: name("A"),
            attributes: Attributes::PROGRAM,
            fetch: FetchOptions::Prime,
            token: 3,
            size: 3 * 4096 + 1,
            loadable: 9000,
            storage: 99_999,
            entry_point: Some(0x1139),
            symbol: Symbol::new(b"a_function").expect("short"),
            sum: 1 << 60,
            modified: 1 << 31,
            table: 0,
            runs: Runs::new(&[Run { first: 2, pages: 3 }, Run { first: 50, pages: 1 }]).expect("few"),
        };
        let alias = Alias {
            name: name("B"),
            of: name("A"),
            entry_point: None,
            symbol: Symbol::new(b"b").expect("short"),
        };
        for value in [Value::Member(member), Value::Alias(alias)] {
            let (bytes, length) = value.encode();
            assert_eq!(Value::decode(&value.name(), &bytes[..length]), Some(value));
            assert_eq!(Value::decode(&value.name(), &bytes[..length - 1]), None);
            assert!(value.is_inside(&superblock()));
        }
        assert_eq!(
            (member.runs.page(2), member.runs.page(3), member.runs.page(4)),
            (Some(4), Some(50), None)
        );
        for (size, runs) in
            [(4096, &[Run { first: 1, pages: 1 }][..]), (4096, &[Run { first: 100, pages: 1 }]), (1, &[])]
        {
            let liar = Member { size, runs: Runs::new(runs).expect("few"), ..member };
            assert!(!Value::Member(liar).is_inside(&superblock()), "{runs:?}");
        }
    }

    #[test]
    fn each_flipped_bit_of_a_superblock_is_seen() {
        let right = superblock().encode();
        assert_eq!(Superblock::decode(&right), Ok(superblock()));
        for bit in 0..PAGE * 8 {
            let mut page = right;
            page[bit / 8] ^= 1 << (bit % 8);
            assert!(Superblock::decode(&page).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn the_newer_whole_superblock_counts() {
        let (old, new) = (superblock(), Superblock { generation: 6, ..superblock() });
        let mut file = [old.encode(), new.encode()].concat();
        assert_eq!(Superblock::newest(&file[..]), Ok(new));
        file[4096 + 100] ^= 1;
        assert_eq!(Superblock::newest(&file[..]), Ok(old));
        file[100] ^= 1;
        assert_eq!(Superblock::newest(&file[..]), Err(Fault::DamagedHeader));
        assert_eq!(Superblock::newest(&file[..4096]), Err(Fault::DamagedHeader));
        assert_eq!(Superblock::newest(&[0; 8192][..]), Err(Fault::NotALibrary));
        assert_eq!(Superblock::newest(&[][..]), Err(Fault::NotALibrary));
        let whole = superblock().encode();
        assert_eq!(Superblock::newest(&whole[..4000]), Err(Fault::Cut { offset: 0, length: 4096 }));
        let older = Superblock { generation: 1, ..superblock() };
        assert_eq!(Superblock::newest(&older.encode()[..]), Ok(older), "the first alone");
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
