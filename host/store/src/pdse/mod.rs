//! Changes a PDSE: any number of members in one change, which happens whole or not at all.
//!
//! ```text
//! begin   make durable, read the superblock n, walk the tree to find the free pages
//! add     write the member's pages into free ones         delete, rename, alias: in storage only
//! commit  write the changed leaves, new inner nodes and the list of freed pages into free pages
//!         make durable; write superblock n + 1; make durable
//! ```
//!
//! Unchanged leaves stay in place; inner nodes are all written anew, which for 100,000 members are a dozen
//! pages. So there is no rebalancing: leaves are split when they are full and joined when they are nearly
//! empty, and the levels above are built over them.
//!
//! A full disk must not prevent deletes, and a delete also writes before it frees. So pages are reserved for it: a
//! change that adds something leaves `free_pages >= kept_for_deleting`, all of them written once, so that the file system
//! has allocated them; otherwise it fails for want of room. A delete may use them, and frees at least as many.
//! They serve one delete
//! after the other; while a reader holds an older generation, they serve one, and the next waits for that reader's end. A
//! delete of very many members at once may need more.
//!
//! Invariant: until the superblock n + 1 is written, nothing in generation n has changed;
//! a dropped change leaves only pages after the end that n states.
//! Not here: reads during a change (`look`), a new library (`making`), the safety of readers
//! (`underbar_partitioned::pdse::coordination`).

#[cfg(test)]
mod damage;
mod look;
mod making;
mod pending;
mod space;
#[cfg(test)]
mod tests;
mod tree;

pub use look::{bytes, nodes};
pub use making::{Making, begin_new, create};
pub use space::Reached;

use underbar_partitioned::attribute::{PAGE, pages};
use underbar_partitioned::name::Name;
use underbar_partitioned::pdse::{
    Alias, Key, Member, NODE_HEADER, Other, Pdse, Run, Runs, Superblock, TABLE_SUMS, Value, seal_table,
    table_pages,
};
use underbar_partitioned::sum::sum;
use underbar_partitioned::symbol::Symbol;

pub use crate::member::New;

use crate::doubt::Doubt;
use crate::error::{Error, Result};
use crate::storage::Storage;
use space::Space;
use tree::Tree;

pub use pending::Pending;

/// A change in progress.
#[derive(Debug)]
pub struct Change<S> {
    storage: S,
    old: Superblock,
    tree: Tree,
    space: Space,
    /// Pages of the newest superblock that this change does not need: free at generation n + 1.
    freed: Vec<Run>,
    /// Pages freed earlier that readers may still use.
    pending: Pending,
    /// Pages in use: the superblocks, tree, members and their checksums.
    used: u64,
    /// Of these: nodes of the old tree.
    nodes: u64,
    members: u32,
    aliases: u32,
    added: u64,
    is_changed: bool,
    /// Whether anything was added or renamed. A change that only deletes may use the reserved pages.
    puts: bool,
}

impl<S: Storage> Change<S> {
    /// Begins. The caller holds the writer's lock.
    ///
    /// # Errors
    /// A library with damage anywhere in its tree: a library that is not fully understood is not changed.
    /// A library whose other label
    /// is damaged and may have been the newest: the next change would reuse its pages. (A label that was
    /// only cut short is left by a writer that was cut off: its change has not happened, and this one proceeds.)
    pub fn begin(mut storage: S) -> Result<Change<S>> {
        // A predecessor that was killed may have written a superblock and not made it durable.
        storage.sync().map_err(|error| Error::system("the library", error))?;
        let lowest = storage.lowest_reader().map_err(|error| Error::system("the library", error))?;
        let pdse = Pdse::open(&storage)?;
        let old = *pdse.superblock();
        if let Some(doubt) = Doubt::of(&storage, &old).filter(|doubt| doubt.other == Other::Damaged) {
            return Err(Error::Label(doubt));
        }
        let mut reached = Reached::new(old.pages);
        let tree = Tree::walk(&pdse, &mut reached)?;
        let (used, nodes) = (u64::from(reached.count()), tree.nodes());
        let pending_run = Run { first: old.pending, pages: old.pending_pages };
        let (pending, mut space) = match Pending::read(&storage, &old) {
            Some(mut pending) if reached.mark(pending_run) || pending_run.pages == 0 => {
                let mut space = Space::new(&reached, old.space);
                pending.retain(lowest);
                pending.runs().for_each(|run| space.withhold(run));
                (pending, space)
            }
            // It is unknown which pages may be reused: none is, until no reader is older.
            _ if lowest.is_some_and(|lowest| lowest < old.generation) => {
                (Pending::default(), Space::only_growth(old.pages, old.space))
            }
            _ => (Pending::default(), Space::new(&reached, old.space)),
        };
        // Only writers read the list of this generation, and it is still needed if this change is not finished.
        space.withhold(pending_run);
        let freed = tree.inner_pages();
        Ok(Change {
            storage,
            old,
            tree,
            space,
            freed,
            pending,
            used,
            nodes,
            members: old.members,
            aliases: old.aliases,
            added: old.added,
            is_changed: false,
            puts: false,
        })
    }

    /// Adds a member. One of its name is replaced if `replace` is set, and keeps its aliases: those of a program by
    /// the functions that they name, which `functions` finds in the new one.
    ///
    /// # Errors
    /// A name that is taken; no room; the system's.
    pub fn add(
        &mut self,
        new: &New<'_>,
        replace: bool,
        functions: &dyn Fn(&[u8]) -> Option<u64>,
    ) -> Result<()> {
        match self.value(&new.name)? {
            Some(Value::Member(_) | Value::Alias(_)) if !replace => {
                return Err(Error::Exists(new.name.to_string()));
            }
            Some(Value::Member(old)) => {
                for alias in self.aliases_of(&new.name)? {
                    self.replaced_alias(alias, functions)?;
                }
                self.release(&old);
                self.members -= 1;
            }
            Some(Value::Alias(alias)) => self.drop_alias(&alias)?,
            None => {}
        }
        let member = self.write(new)?;
        self.put(&Value::Member(member))?;
        self.members += 1;
        Ok(())
    }

    fn replaced_alias(&mut self, alias: Alias, functions: &dyn Fn(&[u8]) -> Option<u64>) -> Result<()> {
        if alias.symbol.as_bytes().is_empty() {
            return Ok(());
        }
        // An alias for a missing function has no entry point: it is removed.
        match functions(alias.symbol.as_bytes()) {
            Some(address) => self.put(&Value::Alias(Alias { entry_point: Some(address), ..alias })),
            None => self.drop_alias(&alias),
        }
    }

    /// Adds an alias to a member, with its own entry point.
    ///
    /// # Errors
    /// A name that is taken, a member that is missing or is an alias itself.
    pub fn alias(&mut self, alias: &Name, of: &Name, entry_point: Option<u64>, symbol: Symbol) -> Result<()> {
        self.member(of)?;
        if self.value(alias)?.is_some() {
            return Err(Error::Exists(alias.to_string()));
        }
        self.put(&Value::Alias(Alias { name: *alias, of: *of, entry_point, symbol }))?;
        self.tree.put(&self.storage, &self.old, Key::of_alias(of, Some(alias)).as_bytes(), &[])?;
        self.aliases += 1;
        Ok(())
    }

    /// Deletes a member with its aliases, or an alias.
    ///
    /// # Errors
    /// There is none of that name.
    pub fn delete(&mut self, name: &Name) -> Result<()> {
        match self.value(name)? {
            None => Err(Error::no_member(name)),
            Some(Value::Alias(alias)) => self.drop_alias(&alias),
            Some(Value::Member(member)) => {
                for alias in self.aliases_of(name)? {
                    self.drop_alias(&alias)?;
                }
                self.release(&member);
                self.members -= 1;
                self.remove(&Key::of_name(name))
            }
        }
    }

    /// Renames a member or alias. A member's aliases go with it.
    ///
    /// # Errors
    /// There is none of that name; the new one is taken.
    pub fn rename(&mut self, from: &Name, to: &Name) -> Result<()> {
        let value = self.value(from)?.ok_or_else(|| Error::no_member(from))?;
        if self.value(to)?.is_some() {
            return Err(Error::Exists(to.to_string()));
        }
        match value {
            Value::Alias(alias) => {
                self.drop_alias(&alias)?;
                self.alias(to, &alias.of, alias.entry_point, alias.symbol)
            }
            Value::Member(member) => {
                let aliases = self.aliases_of(from)?;
                for alias in &aliases {
                    self.drop_alias(alias)?;
                }
                self.remove(&Key::of_name(from))?;
                self.put(&Value::Member(Member { name: *to, ..member }))?;
                aliases
                    .iter()
                    .try_for_each(|alias| self.alias(&alias.name, to, alias.entry_point, alias.symbol))
            }
        }
    }

    /// Makes the change. Returns the superblock that now counts, and the file.
    ///
    /// # Errors
    /// No room, the system's: the library is as it was. [`Error::Unsure`] if the system failed at the last step.
    pub fn commit(mut self) -> Result<(Superblock, S)> {
        if !self.is_changed {
            return Ok((self.old, self.storage));
        }
        match self.write_tree() {
            Ok(superblock) => self.publish(superblock),
            Err(error) => {
                self.abandon();
                Err(error)
            }
        }
    }

    /// Drops the change: truncates the growth of the file.
    pub fn abandon(mut self) {
        // Pages after the end in the superblock are unused; if they cannot be cut off, the next change uses them.
        let _ = self.storage.cut(u64::from(self.old.pages) * PAGE as u64);
    }

    fn write_tree(&mut self) -> Result<Superblock> {
        let generation = self.old.generation + 1;
        let tree =
            self.tree.write(&mut self.storage, &self.old, generation, &mut self.space, &mut self.freed)?;
        for run in self.freed.drain(..) {
            self.pending.add(generation, run);
        }
        let pending = self.pending.write(&mut self.storage, &self.old, &mut self.space)?;
        let used = self.used - self.nodes + u64::from(tree.pages) + u64::from(pending.pages);
        if self.puts {
            self.keep_for_deleting(used, kept_for_deleting(&tree))?;
        }
        let end = self.space.end();
        Ok(Superblock {
            generation,
            root: tree.root,
            levels: tree.levels,
            pages: end,
            directory_pages: tree.pages,
            free_pages: u32::try_from(u64::from(end).saturating_sub(used)).unwrap_or(0),
            members: self.members,
            aliases: self.aliases,
            pending: pending.first,
            pending_pages: pending.pages,
            added: self.added,
            ..self.old
        })
    }

    /// Grows the file until this many of its pages are unused.
    fn keep_for_deleting(&mut self, used: u64, kept: u32) -> Result<()> {
        let free = u64::from(self.space.end()).saturating_sub(used);
        let missing = u64::from(kept).saturating_sub(free);
        if missing > 0 {
            // At most the reserved ones. They are written: a full disk has no room for a page that never was.
            let run = self.space.grow(missing as u32)?;
            self.write_at(u64::from(run.first) * PAGE as u64, &vec![0; run.pages as usize * PAGE])?;
        }
        Ok(())
    }

    fn publish(mut self, superblock: Superblock) -> Result<(Superblock, S)> {
        let place = u64::from(Superblock::turn(superblock.generation)) * PAGE as u64;
        if let Err(error) = self.storage.sync() {
            self.abandon();
            return Err(Error::system("the library", error));
        }
        let written = self.storage.write_at(place, &superblock.encode()).and_then(|()| self.storage.sync());
        written.map_err(|error| Error::Unsure { what: "the library".into(), error })?;
        Ok((superblock, self.storage))
    }

    /// The time of the change, for the label.
    pub fn set_modified(&mut self, now: u64) {
        self.old.modified = now;
    }

    fn put(&mut self, value: &Value) -> Result<()> {
        (self.is_changed, self.puts) = (true, true);
        let (bytes, length) = value.encode();
        self.tree.put(&self.storage, &self.old, Key::of_name(&value.name()).as_bytes(), &bytes[..length])
    }

    fn remove(&mut self, key: &Key) -> Result<()> {
        self.is_changed = true;
        self.tree.remove(&self.storage, &self.old, key.as_bytes())
    }

    fn drop_alias(&mut self, alias: &Alias) -> Result<()> {
        self.remove(&Key::of_name(&alias.name))?;
        self.remove(&Key::of_alias(&alias.of, Some(&alias.name)))?;
        self.aliases -= 1;
        Ok(())
    }

    /// Frees a member's pages.
    fn release(&mut self, member: &Member) {
        self.freed.extend(member.runs.as_slice());
        let table = table_pages(pages(member.size));
        if table > 0 {
            self.freed.push(Run { first: member.table, pages: table });
        }
        self.used -= member.runs.pages() + u64::from(table);
    }

    /// Writes a member's bytes, padded to whole pages, and the checksums of its pages.
    fn write(&mut self, new: &New<'_>) -> Result<Member> {
        let number =
            u32::try_from(new.bytes.len().div_ceil(PAGE)).map_err(|_| Error::Full("a member is too long"))?;
        let runs = self.space.take(number)?;
        let mut sums = Vec::new();
        let mut rest = new.bytes;
        let has_table = table_pages(number) > 0;
        for run in &runs {
            let (now, later) = rest.split_at(rest.len().min(run.pages as usize * PAGE));
            rest = later;
            let (whole, tail) = now.split_at(now.len() / PAGE * PAGE);
            let mut last = [0; PAGE];
            last[..tail.len()].copy_from_slice(tail);
            if has_table {
                let tail = if tail.is_empty() { &[][..] } else { &last };
                for (place, page) in (run.first..).zip(whole.chunks(PAGE).chain(tail.chunks(PAGE))) {
                    sums.push(sum(self.old.seed(place), page));
                }
            }
            let at = u64::from(run.first) * PAGE as u64;
            self.write_at(at, whole)?;
            if !tail.is_empty() {
                self.write_at(at + whole.len() as u64, &last)?;
            }
        }
        let table = self.write_table(&sums)?;
        self.used += u64::from(number) + u64::from(table_pages(number));
        self.added += 1;
        Ok(Member {
            name: new.name,
            attributes: new.attributes,
            fetch: new.fetch,
            token: token(self.old.identity, self.added),
            size: new.bytes.len() as u64,
            loadable: new.loadable,
            storage: new.storage,
            entry_point: new.entry_point,
            symbol: new.symbol,
            sum: sum(0, new.bytes),
            modified: new.modified,
            table,
            // `take` returns at most the runs that a member can have.
            runs: Runs::new(&runs).ok_or(Error::Full("its free pages are in too many pieces"))?,
        })
    }

    fn write_table(&mut self, sums: &[u64]) -> Result<u32> {
        if sums.is_empty() {
            return Ok(0);
        }
        let run = self.space.take_run(table_pages(sums.len() as u32))?;
        for (number, sums) in (run.first..).zip(sums.chunks(TABLE_SUMS as usize)) {
            let mut page = [0; PAGE];
            for (place, sum) in page.chunks_exact_mut(8).zip(sums) {
                place.copy_from_slice(&sum.to_le_bytes());
            }
            seal_table(&mut page, self.old.seed(number));
            self.write_at(u64::from(number) * PAGE as u64, &page)?;
        }
        Ok(run.first)
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        self.storage.write_at(offset, bytes).map_err(|error| Error::system("the library", error))
    }
}

/// The most leaves that one delete rewrites, as far as pages are reserved for it: those of a member and of its aliases, which
/// may be anywhere, and their neighbours, if two nearly empty ones are joined.
const LEAVES_OF_A_DELETE: u32 = 16;

/// The pages that the next delete may need: its leaves, all inner nodes and one more, a list of freed pages.
fn kept_for_deleting(tree: &tree::Written) -> u32 {
    let inner = tree.pages - tree.leaves;
    match tree.leaves {
        0 => 0,
        leaves => leaves.min(LEAVES_OF_A_DELETE) + inner + u32::from(inner > 0) + 1,
    }
}

/// A scrambled number for the n-th member: 24 bits, like a TTR.
fn token(identity: u64, added: u64) -> u32 {
    (sum(identity, &added.to_le_bytes()) & 0xFF_FFFF) as u32
}

/// Bytes of cells that fit in a node.
const ROOM: usize = PAGE - NODE_HEADER;
