//! A library opened for reading, of either organisation: its label, its list, the bytes of a member.
//!
//! ```text
//! Library::open ── PDS: a file that never changes
//!              └── PDSE: one generation of it, held while the library is open
//! ```
//!
//! Invariant: a list shows one generation, whatever writers do meanwhile.
//! Not here: the types of the lists (`display`), and their values from entries (`items`); real mainframe libraries
//! (`underbar-mainframe`), which give the same [`Item`]s and [`Label`]s.

mod display;
mod items;

use std::path::{Path, PathBuf};

use underbar_partitioned::count::Counts;
use underbar_partitioned::name::Name;
use underbar_partitioned::pds::{CONTROL, Entry, Pds, directory_track_blocks};
use underbar_partitioned::pdse::coordination::{self, Refused};
use underbar_partitioned::pdse::{Pdse, Superblock, Value, load_counts};
use underbar_partitioned::read::Fault;
use underbar_partitioned::symbol::Symbol;

pub use crate::doubt::Doubt;
pub use display::{ClassCounts, Item, Label, Mainframe, Organisation, Shape, Statistics};
use items::{Walked, add_aliases, pds_counts, pds_item, pdse_item, text};

use crate::change::{Addition, addition_of_pds, addition_of_pdse};
use crate::error::{Error, Missing, Result};
use crate::storage::OnDisk;
use crate::verify::{self, Problem, Verdict};

/// An open library.
#[derive(Debug)]
pub struct Library {
    path: PathBuf,
    inner: Inner,
}

#[derive(Debug)]
enum Inner {
    Pds(Pds<OnDisk>),
    Pdse(Pdse<OnDisk>),
}

impl Library {
    /// Opens a library for reading.
    ///
    /// # Errors
    /// A file that is not a library, or whose label is damaged; the system's.
    pub fn open(path: &Path) -> Result<Library> {
        let file = OnDisk::open(path)?;
        let inner = match coordination::begin(&file, &file) {
            Ok(superblock) => Inner::Pdse(Pdse::at(file, superblock)),
            Err(Refused::Library(Fault::OtherOrganisation)) => Inner::Pds(Pds::open(file)?),
            Err(Refused::Library(fault)) => return Err(fault.into()),
            Err(Refused::Lock(error)) => return Err(Error::system(path, error)),
        };
        Ok(Library { path: path.to_owned(), inner })
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its organisation.
    #[must_use]
    pub fn organisation(&self) -> Organisation {
        match &self.inner {
            Inner::Pds(_) => Organisation::Pds,
            Inner::Pdse(_) => Organisation::Pdse,
        }
    }

    /// Its label.
    ///
    /// # Errors
    /// The system's.
    pub fn label(&self) -> Result<Label> {
        Ok(match &self.inner {
            Inner::Pds(pds) => {
                let header = pds.header();
                Label {
                    name: None,
                    organisation: Organisation::Pds,
                    record_format: "U".to_owned(),
                    record_length: 0,
                    block_size: header.block_size,
                    members: header.members,
                    aliases: header.aliases,
                    file_bytes: pds.reader().length()?,
                    tracks: header.tracks,
                    directory_blocks: header.directory_used,
                    directory_depth: header.directory_used.div_ceil(directory_track_blocks(header.device())),
                    directory_allocated: Some(header.directory_blocks),
                    pages: None,
                    free_pages: None,
                    space_pages: None,
                    generation: Some(header.generation),
                    created: Some(header.created),
                    modified: Some(header.modified),
                    extents: None,
                }
            }
            Inner::Pdse(pdse) => {
                let superblock: &Superblock = pdse.superblock();
                Label {
                    name: None,
                    organisation: Organisation::Pdse,
                    record_format: "U".to_owned(),
                    record_length: 0,
                    block_size: superblock.block_size,
                    members: superblock.members,
                    aliases: superblock.aliases,
                    file_bytes: pdse.reader().length()?,
                    tracks: superblock.pages.div_ceil(12),
                    directory_blocks: superblock.directory_pages,
                    directory_depth: u32::from(superblock.levels),
                    directory_allocated: None,
                    pages: Some(superblock.pages),
                    free_pages: Some(superblock.free_pages),
                    space_pages: (superblock.space > 0).then_some(superblock.space),
                    generation: Some(superblock.generation),
                    created: Some(superblock.created),
                    modified: Some(superblock.modified),
                    extents: None,
                }
            }
        })
    }

    /// The damage of the label that does not count. Readers use the other one silently, which is right after a
    /// power cut; commands report it.
    #[must_use]
    pub fn doubt(&self) -> Option<Doubt> {
        let Inner::Pdse(pdse) = &self.inner else { return None };
        let doubt = Doubt::of(pdse.reader(), pdse.superblock())?;
        // A writer may have just written it: only lasting damage is reported.
        (Doubt::of(pdse.reader(), pdse.superblock()) == Some(doubt)
            && Superblock::newest(pdse.reader()).as_ref() == Ok(pdse.superblock()))
        .then_some(doubt)
    }

    /// Only the names, in their order, each with the member of an alias.
    ///
    /// # Errors
    /// A damaged directory.
    pub fn names(&self) -> Result<Vec<(Name, Option<Name>)>> {
        match &self.inner {
            Inner::Pds(pds) => pds
                .entries()
                .map(|entry| {
                    entry.map(|entry| (entry.name, entry.alias.map(|alias| alias.of))).map_err(Error::from)
                })
                .collect(),
            Inner::Pdse(pdse) => pdse
                .entries()?
                .map(|value| match value? {
                    Value::Member(member) => Ok((member.name, None)),
                    Value::Alias(alias) => Ok((alias.name, Some(alias.of))),
                })
                .collect(),
        }
    }

    /// The error for a name that it does not have.
    #[must_use]
    pub fn no_member(&self, name: impl ToString) -> Error {
        // If the directory cannot be read, there is no hint.
        let names = self.names().unwrap_or_default();
        Error::NoMember(Missing::among(name, names.iter().map(|(name, _)| name)))
    }

    /// All members and aliases, in the order of their names. `long` adds the values that need each member read: blocks,
    /// tracks, times, aliases.
    ///
    /// # Errors
    /// A damaged directory; with `long`, a member that is damaged at its beginning.
    pub fn list(&self, long: bool) -> Result<Vec<Item>> {
        let mut items = Vec::new();
        match &self.inner {
            Inner::Pds(pds) => {
                let mut walked = Walked::default();
                for entry in pds.entries() {
                    items.push(pds_item(pds, &entry?, long.then_some(&mut walked))?);
                }
            }
            Inner::Pdse(pdse) => {
                for value in pdse.entries()? {
                    items.push(pdse_item(&value?, long));
                }
                for index in 0..items.len() {
                    // An alias shows its member's size and place. Names ascend.
                    let member = items[index].alias_of.as_ref().and_then(|of| {
                        items.binary_search_by(|item: &Item| item.name.as_bytes().cmp(of.as_bytes())).ok()
                    });
                    if let Some(member) = member.map(|member| items[member].clone()) {
                        let (name, function, entry_point) = {
                            let item = &mut items[index];
                            (std::mem::take(&mut item.name), item.function.take(), item.entry_point)
                        };
                        let alias_of = Some(member.name.clone());
                        items[index] =
                            Item { name, alias_of, function, entry_point, modified: None, ..member };
                    }
                }
            }
        }
        add_aliases(&mut items);
        Ok(items)
    }

    /// One member or alias, with all values.
    ///
    /// # Errors
    /// There is none of that name; it is damaged at its beginning.
    pub fn item(&self, name: &Name) -> Result<Item> {
        let none = || self.no_member(name);
        match &self.inner {
            Inner::Pds(pds) => {
                let entry = pds.find(name, &mut Counts::default())?.ok_or_else(none)?;
                let mut item = pds_item(pds, &entry, Some(&mut Walked::default()))?;
                for other in pds.entries() {
                    let other = other?;
                    if other.alias.is_some_and(|alias| alias.of == entry.name) {
                        item.aliases.push(other.name.to_string());
                    }
                }
                Ok(item)
            }
            Inner::Pdse(pdse) => {
                let found = pdse.find(name, &mut Counts::default())?.ok_or_else(none)?;
                let mut item = pdse_item(&Value::Member(found.member), true);
                for alias in pdse.aliases(&found.member.name)? {
                    item.aliases.push(alias?.name.to_string());
                }
                if let Some(alias) = found.alias {
                    item.alias_of = Some(std::mem::replace(&mut item.name, alias.name.to_string()));
                    item.function = text(&alias.symbol);
                    item.entry_point = alias.entry_point;
                    item.aliases.clear();
                }
                Ok(item)
            }
        }
    }

    /// A member, by its name or an alias, in the form for another library: without its aliases.
    ///
    /// # Errors
    /// There is none of that name; it is damaged.
    pub fn member(&self, name: &Name) -> Result<Addition> {
        let none = || self.no_member(name);
        match &self.inner {
            Inner::Pds(pds) => {
                let mut entry = pds.find(name, &mut Counts::default())?.ok_or_else(none)?;
                if let Some(alias) = entry.alias {
                    entry = Entry { name: alias.of, entry_point: alias.entry_point, alias: None, ..entry };
                }
                addition_of_pds(pds, &entry)
            }
            Inner::Pdse(pdse) => {
                let found = pdse.find(name, &mut Counts::default())?.ok_or_else(none)?;
                addition_of_pdse(pdse, &found.member)
            }
        }
    }

    /// The aliases of a member, each with its entry point.
    ///
    /// # Errors
    /// A damaged directory.
    pub fn aliases(&self, member: &Name) -> Result<Vec<(Name, Option<u64>, Symbol)>> {
        match &self.inner {
            Inner::Pds(pds) => {
                let mut aliases = Vec::new();
                for entry in pds.entries() {
                    let entry = entry?;
                    if entry.alias.is_some_and(|alias| alias.of == *member) {
                        aliases.push((entry.name, entry.entry_point.map(u64::from), Symbol::NONE));
                    }
                }
                Ok(aliases)
            }
            Inner::Pdse(pdse) => pdse
                .aliases(member)?
                .map(|alias| {
                    alias.map(|alias| (alias.name, alias.entry_point, alias.symbol)).map_err(Error::from)
                })
                .collect(),
        }
    }

    /// Reads all of it and cross-checks everything.
    pub fn verify(&self, progress: &mut dyn FnMut(u64)) -> Verdict {
        match &self.inner {
            Inner::Pds(pds) => verify::pds(pds, progress),
            Inner::Pdse(pdse) => {
                let mut verdict = verify::pdse(pdse, progress);
                let doubt = self.doubt().map(|doubt| Problem { member: None, what: doubt.to_string() });
                verdict.problems.extend(doubt);
                verdict
            }
        }
    }

    /// The shapes of all members, in the order of their names: the input of a survey.
    ///
    /// # Errors
    /// A damaged directory; a member of a PDS with damaged blocks.
    pub fn shapes(&self) -> Result<Vec<Shape>> {
        let shape = |size: u64, symbol: usize, programs| Shape {
            fixed: vec![(56 + symbol) as u32],
            data: 0,
            texts: if size > 0 { vec![size] } else { Vec::new() },
            relocations: 0,
            control: CONTROL as u32,
            programs,
        };
        let mut shapes = Vec::new();
        match &self.inner {
            Inner::Pds(pds) => {
                for entry in pds.entries() {
                    let entry = entry?;
                    if entry.alias.is_none() {
                        let counts = pds_counts(pds, &entry)?;
                        shapes.push(shape(u64::from(entry.size), 0, counts.programs_by_article));
                    }
                }
            }
            Inner::Pdse(pdse) => {
                for value in pdse.entries()? {
                    if let Value::Member(member) = value? {
                        let counts = load_counts(&member, 0..member.classes().initial);
                        let symbol = member.symbol.as_bytes().len();
                        shapes.push(shape(member.size, symbol, counts.programs_by_article));
                    }
                }
            }
        }
        Ok(shapes)
    }
}
