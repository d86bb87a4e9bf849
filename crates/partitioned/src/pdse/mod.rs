//! A PDSE: pages of 4 KiB, a shallow index of names, and members that a program maps directly.
//!
//! ```text
//! page 0, 1   superblocks, written in turn: generation, root of the tree, pages in use
//! page 2 ...  in any order:  nodes of the tree      name -> member | alias, and member + alias -> nothing
//!                            pages of members       runs of them, the bytes as they were given
//!                            sums of their pages    for members above 24 pages
//!                            pages to come free     what the last changes no longer need
//! ```
//!
//! No page that the newest superblock reaches is ever written again: a change writes new pages, then a superblock. After a
//! kill or a power cut, the library is in the state before the change or after it. [`coordination`] describes how readers are kept
//! from pages that are used again.
//!
//! Invariant: the levels of the tree fall by one from node to node, keys ascend, and members' runs are inside the file;
//! anything else is a [`Fault`], and every walk ends.
//! Not here: changing a PDSE (`underbar-store`).

pub mod coordination;
mod cursor;
mod kept;
mod member;
mod node;
mod superblock;
mod value;

pub use cursor::{Aliases, Cursor, Entries};
pub use kept::Kept;
pub use member::{PageSums, load_counts};
pub use node::{Decoded, Key, NODE_HEADER, NodeView, seal_node};
pub use superblock::{FIRST_PAGE, MOST_GENERATIONS, MOST_LEVELS, Other, Superblock};
pub use value::{
    Alias, MOST_RUNS, Member, Run, Runs, TABLE_ABOVE, TABLE_SUMS, Value, seal_table, table_pages,
};

use crate::attribute::PAGE;
use crate::count::Counts;
use crate::name::Name;
use crate::read::{Fault, ReadAt, fill};
use crate::symbol::Symbol;

/// An open PDSE, at one generation.
#[derive(Clone, Debug)]
pub struct Pdse<R> {
    read: R,
    superblock: Superblock,
}

/// The result of a search for a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// The member.
    pub member: Member,
    /// The alias by which it was found, if any.
    pub alias: Option<Alias>,
}

impl Found {
    /// Address of the entry point of the name that was asked for, in the file's own addresses.
    #[must_use]
    pub fn entry_point(&self) -> Option<u64> {
        self.alias.map_or(self.member.entry_point, |alias| alias.entry_point)
    }

    /// The function at that entry point.
    #[must_use]
    pub fn symbol(&self) -> Symbol {
        self.alias.map_or(self.member.symbol, |alias| alias.symbol)
    }
}

impl<R: ReadAt> Pdse<R> {
    /// Opens the newest generation, without registering as a reader. Only for a caller that holds the writer's lock, or for
    /// bytes that nobody changes; other callers use [`coordination::begin`].
    ///
    /// # Errors
    /// Bytes that are no PDSE, or without a whole superblock.
    pub fn open(read: R) -> Result<Pdse<R>, Fault> {
        let superblock = Superblock::newest(&read)?;
        Ok(Pdse { read, superblock })
    }

    /// The library at the generation of a superblock that the caller has read and holds.
    #[must_use]
    pub fn at(read: R, superblock: Superblock) -> Pdse<R> {
        Pdse { read, superblock }
    }

    /// The superblock.
    #[must_use]
    pub fn superblock(&self) -> &Superblock {
        &self.superblock
    }

    /// The source of its bytes.
    #[must_use]
    pub fn reader(&self) -> &R {
        &self.read
    }

    /// Finds a member or alias by the index (BLDL), and counts the index pages read. An alias is followed to its
    /// member.
    ///
    /// # Errors
    /// A tree with damage between the root and the name.
    pub fn find(&self, name: &Name, counts: &mut Counts) -> Result<Option<Found>, Fault> {
        self.find_keeping(name, counts, &mut [])
    }

    /// Like [`Pdse::find`], but keeps inner nodes in `kept`, so that later searches do not read them again.
    ///
    /// # Errors
    /// As [`Pdse::find`].
    pub fn find_keeping(
        &self,
        name: &Name,
        counts: &mut Counts,
        kept: &mut [Kept],
    ) -> Result<Option<Found>, Fault> {
        counts.programs_by_fetch += 1;
        let Some(value) = self.value(name, counts, kept)? else { return Ok(None) };
        let (alias, value) = match value {
            Value::Member(member) => return Ok(Some(Found { member, alias: None })),
            Value::Alias(alias) => (alias, self.value(&alias.of, counts, kept)?),
        };
        match value {
            Some(Value::Member(member)) => Ok(Some(Found { member, alias: Some(alias) })),
            _ => Err(Fault::Contradiction("an alias has no member")),
        }
    }

    fn value(&self, name: &Name, counts: &mut Counts, kept: &mut [Kept]) -> Result<Option<Value>, Fault> {
        let key = Key::of_name(name);
        let mut page = [0; PAGE];
        let (mut number, mut level) = (self.superblock.root, self.superblock.levels);
        let mut track = None;
        while level > 0 {
            level -= 1;
            let place = (number as usize).checked_rem(kept.len()).filter(|_| level > 0);
            let node = match place.and_then(|place| kept.get_mut(place)) {
                Some(kept) => kept.node(self, number, level)?,
                None => self.node(number, level, &mut page)?,
            };
            counts.programs_by_article += 1;
            counts.directory_blocks += 1;
            counts.directory_tracks += u64::from(track != Some(number / member::PAGES_PER_TRACK));
            track = Some(number / member::PAGES_PER_TRACK);
            if level == 0 {
                return match node.find(key.as_bytes()) {
                    Some(index) => node.entry(index, self, name).map(Some),
                    None => Ok(None),
                };
            }
            number = node.child_for(key.as_bytes()).ok_or(Fault::DamagedDirectory { block: number })?;
        }
        Ok(None)
    }

    /// Reads a node of the tree and checks its header and sum.
    ///
    /// # Errors
    /// A page that is no node, is damaged, or has a wrong level.
    pub fn node<'p>(&self, number: u32, level: u8, page: &'p mut [u8; PAGE]) -> Result<NodeView<'p>, Fault> {
        if number < FIRST_PAGE || number >= self.superblock.pages {
            return Err(Fault::Contradiction("the tree leads beyond the file"));
        }
        fill(&self.read, u64::from(number) * PAGE as u64, page)?;
        NodeView::decode(page, &self.superblock, number)
            .filter(|node| node.level() == level)
            .ok_or(Fault::DamagedDirectory { block: number })
    }

    /// All members and aliases, in the order of their names.
    ///
    /// # Errors
    /// A tree with damage between the root and the first name.
    pub fn entries(&self) -> Result<Entries<'_, R>, Fault> {
        Entries::new(self)
    }

    /// The aliases of a member, in the order of their names.
    ///
    /// # Errors
    /// A tree with damage between the root and the aliases.
    pub fn aliases(&self, member: &Name) -> Result<Aliases<'_, R>, Fault> {
        Aliases::new(self, member)
    }

    /// Is an alias listed with its member? Uses the index: listing every alias for each check would take quadratic time.
    ///
    /// # Errors
    /// A tree with damage between the root and the alias.
    pub fn lists_alias(&self, member: &Name, alias: &Name) -> Result<bool, Fault> {
        let key = Key::of_alias(member, Some(alias));
        let mut cursor = Cursor::new(self, key.as_bytes())?;
        Ok(cursor.next_cell()?.is_some_and(|(_, found, _)| found == key.as_bytes()))
    }

    /// Reads bytes of a member from `offset` on, without checking sums.
    ///
    /// # Errors
    /// Bytes beyond its end; a file that cannot be read.
    pub fn read_member(&self, member: &Member, offset: u64, into: &mut [u8]) -> Result<(), Fault> {
        member::read(self, member, offset, into)
    }
}
