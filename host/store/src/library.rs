//! A library read, whatever its organisation: what it is, what it holds, the bytes of a member.
//!
//! ```text
//! Library::open ── PDS: a file that never changes
//!              └── PDSE: one generation of it, held while the library is open
//! ```
//!
//! Invariant: what is listed is what one generation holds, whatever writers do meanwhile.
//! Not here: real mainframe libraries (`underbar-library`); they give the same [`Item`]s and [`Label`]s.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;
use underbar_partitioned::attribute::{Attributes, Classes, FetchOptions, pages};
use underbar_partitioned::binder::Module;
use underbar_partitioned::count::Counts;
use underbar_partitioned::name::Name;
use underbar_partitioned::pds::{CONTROL, Entry, Pds, directory_track_blocks};
use underbar_partitioned::pdse::turns::{self, Refused};
use underbar_partitioned::pdse::{Other, Pdse, Superblock, Value, load_counts, table_pages};
use underbar_partitioned::read::{Fault, ReadAt};
use underbar_partitioned::symbol::Symbol;

use crate::change::{Addition, addition_of_pds, addition_of_pdse};
use crate::error::{Error, Result};
use crate::storage::OnDisk;
use crate::verify::{self, Problem, Verdict};

/// How a library is organised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Organisation {
    /// Tracks, a directory searched in sequence.
    Pds,
    /// Pages, an index.
    Pdse,
}

impl Organisation {
    /// As people write it.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Organisation::Pds => "PDS",
            Organisation::Pdse => "PDSE",
        }
    }
}

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

/// A member or alias, as lists show it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Item {
    /// Its name.
    pub name: String,
    /// The member that it is an alias of.
    pub alias_of: Option<String>,
    /// Bytes of the member.
    pub size: u64,
    /// Where it begins: TTR of a PDS, a token of a PDSE. Six digits, hexadecimal.
    pub ttr: String,
    /// Blocks of text, or pages; None where they were not asked for.
    pub blocks: Option<u64>,
    /// Tracks that it touches; None where they were not asked for.
    pub tracks: Option<u64>,
    /// Names of its attributes.
    pub attributes: Vec<&'static str>,
    /// FETCHOPT; None for members of mainframes.
    pub fetch: Option<&'static str>,
    /// Address of the entry point of this name, in the file's own addresses.
    pub entry_point: Option<u64>,
    /// The function that it is, where that is kept.
    pub function: Option<String>,
    /// Pages by class of text (of a PDSE; a PDS loads all).
    pub classes: Option<ClassCounts>,
    /// Bytes of storage that the program takes.
    pub storage: u64,
    /// Seconds since 1970; None for an alias, and where it was not asked for.
    pub modified: Option<u64>,
    /// Its other names; empty where they were not asked for.
    pub aliases: Vec<String>,
    /// What only members of mainframes have.
    pub mainframe: Option<Box<Mainframe>>,
}

/// What only members of mainframes have.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Mainframe {
    /// Addressing mode of a program's entry point: 24, 31, 64, ANY.
    pub amode: Option<&'static str>,
    /// Residence mode of a program: 24 or ANY.
    pub rmode: Option<&'static str>,
    /// Authorisation code.
    pub authorisation: Option<u8>,
    /// System status index, hexadecimal.
    pub ssi: Option<String>,
    /// Statistics of ISPF, of a member of text.
    pub statistics: Option<Statistics>,
}

/// Statistics that ISPF keeps of a member of text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Statistics {
    /// Version and modification level: `01.04`.
    pub version: String,
    /// Day of creation.
    pub created: String,
    /// Last change.
    pub changed: String,
    /// Lines.
    pub lines: u32,
    /// Lines when it was created.
    pub first_lines: u32,
    /// Lines changed since.
    pub changed_lines: u32,
    /// Who changed it last.
    pub user: String,
}

/// Pages by class of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ClassCounts {
    /// Read at LOAD.
    pub initial: u32,
    /// Read on reference.
    pub deferred: u32,
    /// Never by LOAD.
    pub no_load: u32,
}

impl From<Classes> for ClassCounts {
    fn from(classes: Classes) -> ClassCounts {
        ClassCounts { initial: classes.initial, deferred: classes.deferred, no_load: classes.no_load }
    }
}

/// What a library is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Label {
    /// Name of the data set, where the carrier of a mainframe's library tells it.
    pub name: Option<String>,
    /// PDS or PDSE.
    pub organisation: Organisation,
    /// RECFM: U of all libraries of ours.
    pub record_format: String,
    /// LRECL; means nothing where RECFM is U.
    pub record_length: u32,
    /// Of its label.
    pub block_size: u32,
    /// Members.
    pub members: u32,
    /// Aliases.
    pub aliases: u32,
    /// Bytes of the file.
    pub file_bytes: u64,
    /// Tracks of a PDS; of a PDSE, twelve pages are one.
    pub tracks: u32,
    /// Directory blocks in use, or pages of the index.
    pub directory_blocks: u32,
    /// Tracks that they take, or levels of the index.
    pub directory_depth: u32,
    /// Directory blocks there are (PDS), where that is known.
    pub directory_allocated: Option<u32>,
    /// Pages, and those of them that hold nothing (PDSE).
    pub pages: Option<u32>,
    /// See `pages`.
    pub free_pages: Option<u32>,
    /// Most pages that it may have (PDSE).
    pub space_pages: Option<u32>,
    /// Rises with each change; like the times, None for a mainframe's.
    pub generation: Option<u64>,
    /// Seconds since 1970.
    pub created: Option<u64>,
    /// Seconds since 1970.
    pub modified: Option<u64>,
    /// Extents on the disk where a mainframe's library lay.
    pub extents: Option<u32>,
}

/// What a survey wants to know of a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Blocks that every copy keeps as they are.
    pub fixed: Vec<u32>,
    /// Lengths of its texts.
    pub texts: Vec<u64>,
    /// Bytes of relocation entries.
    pub relocations: u64,
    /// Bytes of its control records.
    pub control: u32,
    /// Channel programs that load it as it lies, without the search, by the article's count.
    pub programs: u64,
}

impl Shape {
    /// For the simulation of a copy.
    #[must_use]
    pub fn module(&self) -> Module<'_> {
        Module {
            fixed: &self.fixed,
            texts: &self.texts,
            relocations: self.relocations,
            control: self.control,
        }
    }
}

/// A label of a PDSE that is not whole. The other one counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Doubt {
    /// Its page.
    pub page: u32,
    /// How it lies.
    pub other: Other,
    /// The generation of the label that counts.
    pub generation: u64,
}

impl Doubt {
    /// What is wrong with the label that does not count; None where it is whole, or was never written.
    pub fn of<R: ReadAt + ?Sized>(read: &R, superblock: &Superblock) -> Option<Doubt> {
        let (page, generation) = (Superblock::turn(superblock.generation + 1), superblock.generation);
        match superblock.other(read) {
            Other::Whole | Other::NotWritten => None,
            other => Some(Doubt { page, other, generation }),
        }
    }
}

impl fmt::Display for Doubt {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Doubt { page, generation, .. } = self;
        let what = match self.other {
            Other::CutShort => {
                "cut short or damaged, as a change that was cut off leaves it, which then has not happened"
            }
            Other::OlderDamaged => "damaged; it was the older one, and nothing is lost",
            _ => "damaged, and may be the newest: the last change may be missing",
        };
        write!(to, "its label in page {page} is {what}; what counts is generation {generation}")
    }
}

impl Library {
    /// What is wrong with the label that does not count. Readers fall back to the other one without a word, which after a
    /// power cut is right; who speaks with people says this, too.
    #[must_use]
    pub fn doubt(&self) -> Option<Doubt> {
        let Inner::Pdse(pdse) = &self.inner else { return None };
        let doubt = Doubt::of(pdse.reader(), pdse.superblock())?;
        // A writer may have been at it just now: what stays so is said.
        (Doubt::of(pdse.reader(), pdse.superblock()) == Some(doubt)
            && Superblock::newest(pdse.reader()).as_ref() == Ok(pdse.superblock()))
        .then_some(doubt)
    }

    /// Opens a library for reading.
    ///
    /// # Errors
    /// A file that is none, or whose label is damaged; the system's.
    pub fn open(path: &Path) -> Result<Library> {
        let file = OnDisk::open(path)?;
        let inner = match turns::begin(&file, &file) {
            Ok(superblock) => Inner::Pdse(Pdse::at(file, superblock)),
            Err(Refused::Library(Fault::OtherOrganisation)) => Inner::Pds(Pds::open(file)?),
            Err(Refused::Library(fault)) => return Err(fault.into()),
            Err(Refused::Lock(error)) => return Err(Error::system(path, error)),
        };
        Ok(Library { path: path.to_owned(), inner })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How it is organised.
    #[must_use]
    pub fn organisation(&self) -> Organisation {
        match &self.inner {
            Inner::Pds(_) => Organisation::Pds,
            Inner::Pdse(_) => Organisation::Pdse,
        }
    }

    /// What it is.
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

    /// Only the names, in their order, each with what it is an alias of.
    ///
    /// # Errors
    /// A directory that is damaged.
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

    /// All members and aliases, in the order of their names. `long` adds what takes a look at each member: blocks,
    /// tracks, times, aliases.
    ///
    /// # Errors
    /// A directory that is damaged; with `long`, a member that is damaged where it begins.
    pub fn list(&self, long: bool) -> Result<Vec<Item>> {
        let mut items = Vec::new();
        match &self.inner {
            Inner::Pds(pds) => {
                for entry in pds.entries() {
                    items.push(pds_item(pds, &entry?, long)?);
                }
            }
            Inner::Pdse(pdse) => {
                let mut members = BTreeMap::new();
                for value in pdse.entries()? {
                    let value = value?;
                    if let Value::Member(member) = &value {
                        members.insert(member.name, items.len());
                    }
                    items.push(pdse_item(&value, long));
                }
                for index in 0..items.len() {
                    // An alias shows its member's size and place.
                    let of = items[index].alias_of.as_ref().and_then(|of| Name::new(of.as_bytes()).ok());
                    if let Some(member) =
                        of.and_then(|of| members.get(&of)).map(|&member| items[member].clone())
                    {
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
        if long {
            add_aliases(&mut items);
        }
        Ok(items)
    }

    /// One member or alias, looked at closely.
    ///
    /// # Errors
    /// There is none of that name; it is damaged where it begins.
    pub fn item(&self, name: &Name) -> Result<Item> {
        let none = || Error::NoMember(name.to_string());
        match &self.inner {
            Inner::Pds(pds) => {
                let entry = pds.find(name, &mut Counts::default())?.ok_or_else(none)?;
                let mut item = pds_item(pds, &entry, true)?;
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

    /// A member, by its name or an alias, as one that comes into another library: without its aliases.
    ///
    /// # Errors
    /// There is none of that name; it is damaged.
    pub fn member(&self, name: &Name) -> Result<Addition> {
        let none = || Error::NoMember(name.to_string());
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
    /// A directory that is damaged.
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

    /// Reads all of it and compares everything with everything.
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

    /// The shapes of all members, in the order of their names: what a survey computes with.
    ///
    /// # Errors
    /// A directory that is damaged; a member of a PDS whose blocks are.
    pub fn shapes(&self) -> Result<Vec<Shape>> {
        let shape = |size: u64, symbol: usize, programs| Shape {
            fixed: vec![(56 + symbol) as u32],
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

/// What reading all blocks of a member counts, found from its control records alone.
fn pds_counts(pds: &Pds<OnDisk>, entry: &Entry) -> Result<Counts> {
    let mut counts = Counts::default();
    let mut texts = pds.texts(entry);
    while texts.next_text(&mut counts).map_err(|fault| Error::member(entry.name, fault))?.is_some() {}
    Ok(counts)
}

fn pds_item(pds: &Pds<OnDisk>, entry: &Entry, long: bool) -> Result<Item> {
    let (mut blocks, mut tracks, mut modified, mut function) = (None, None, None, None);
    if long {
        let counts = pds_counts(pds, entry)?;
        // Control records are blocks, too; each text but the first was announced by one that had to be read.
        blocks = Some(counts.blocks.div_ceil(2));
        tracks = Some(counts.tracks);
        if entry.alias.is_none() {
            let wrong = |fault| Error::member(entry.name, fault);
            let identification = pds.identification(entry).map_err(wrong)?;
            modified = Some(identification.modified);
            function = text(&identification.symbol);
        }
    }
    Ok(Item {
        name: entry.name.to_string(),
        alias_of: entry.alias.map(|alias| alias.of.to_string()),
        size: u64::from(entry.size),
        ttr: format!("{:04X}{:02X}", entry.first.track, entry.first.record),
        blocks,
        tracks,
        attributes: attribute_names(entry.attributes),
        fetch: Some(entry.fetch.text()),
        entry_point: entry.entry_point.map(u64::from),
        function,
        classes: None,
        storage: u64::from(entry.storage),
        modified,
        aliases: Vec::new(),
        mainframe: None,
    })
}

fn pdse_item(value: &Value, long: bool) -> Item {
    match value {
        Value::Member(member) => {
            let all = pages(member.size);
            let counts = load_counts(member, 0..all);
            Item {
                name: member.name.to_string(),
                alias_of: None,
                size: member.size,
                ttr: format!("{:06X}", member.token),
                blocks: long.then_some(counts.blocks + u64::from(table_pages(all))),
                tracks: long.then_some(counts.tracks),
                attributes: attribute_names(member.attributes),
                fetch: Some(member.fetch.text()),
                entry_point: member.entry_point,
                function: text(&member.symbol),
                classes: Some(member.classes().into()),
                storage: member.storage,
                modified: Some(member.modified),
                aliases: Vec::new(),
                mainframe: None,
            }
        }
        Value::Alias(alias) => Item {
            name: alias.name.to_string(),
            alias_of: Some(alias.of.to_string()),
            size: 0,
            ttr: String::new(),
            blocks: None,
            tracks: None,
            attributes: Vec::new(),
            fetch: Some(FetchOptions::Default.text()),
            entry_point: alias.entry_point,
            function: text(&alias.symbol),
            classes: None,
            storage: 0,
            modified: None,
            aliases: Vec::new(),
            mainframe: None,
        },
    }
}

fn add_aliases(items: &mut [Item]) {
    let mut aliases: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for item in items.iter() {
        if let Some(of) = &item.alias_of {
            aliases.entry(of.clone()).or_default().push(item.name.clone());
        }
    }
    for item in items.iter_mut().filter(|item| item.alias_of.is_none()) {
        item.aliases = aliases.remove(&item.name).unwrap_or_default();
    }
}

fn attribute_names(attributes: Attributes) -> Vec<&'static str> {
    Attributes::NAMES.iter().filter(|(one, _)| attributes.has(*one)).map(|(_, name)| *name).collect()
}

fn text(symbol: &Symbol) -> Option<String> {
    let bytes = symbol.as_bytes();
    (!bytes.is_empty()).then(|| String::from_utf8_lossy(bytes).into_owned())
}
