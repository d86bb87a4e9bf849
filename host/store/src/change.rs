//! Changes of a library by its path, for both organisations: any number of edits, which happen together or not at all.
//!
//! ```text
//! edits ──> PDSE: Change ... commit
//!       └─> PDS: old tracks copied, or laid anew where the directory is too short ... rename
//! ```
//!
//! Invariant: the first failing edit ends the change, and the library stays as it was.
//! Not here: the origin of edits (files, another library: `source`).

use std::path::Path;

use underbar_partitioned::attribute::{Attributes, FetchOptions};
use underbar_partitioned::count::Counts;
use underbar_partitioned::name::Name;
use underbar_partitioned::pds::Pds;
use underbar_partitioned::pdse::{Pdse, Superblock, Value};
use underbar_partitioned::read::{Fault, ReadAt};
use underbar_partitioned::symbol::Symbol;

use crate::error::{Error, Result};
use crate::facts::{self, Facts};
use crate::member::New;
use crate::storage::{InDirectory, OnDisk, Place, Storage};
use crate::{pds, pdse};

/// One step of a change.
#[derive(Clone, Debug)]
pub enum Edit {
    /// Adds or replaces a member.
    Add(Box<Addition>),
    /// Deletes a member and its aliases, or an alias.
    Delete(Name),
    /// Renames a member or alias.
    Rename {
        /// The old name.
        from: Name,
        /// The new name.
        to: Name,
    },
    /// Adds an alias to a member.
    Alias {
        /// The alias.
        alias: Name,
        /// The member's name.
        of: Name,
        /// The function that is its entry point; without one, the function of the alias's name, or the member's entry.
        function: Option<Vec<u8>>,
    },
}

/// A member to add.
#[derive(Clone, Debug)]
pub struct Addition {
    /// Its name.
    pub name: Name,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Its kind.
    pub attributes: Attributes,
    /// Its fetch option.
    pub fetch: FetchOptions,
    /// Bytes from the front that are the program.
    pub loadable: u64,
    /// Bytes of storage.
    pub storage: u64,
    /// Address of its entry point.
    pub entry_point: Option<u64>,
    /// The function of the entry point.
    pub symbol: Symbol,
    /// Seconds since 1970.
    pub modified: u64,
    /// Whether it may replace a member of its name.
    pub replace: bool,
    /// Further names, each with its entry point.
    pub aliases: Vec<(Name, Option<u64>, Symbol)>,
}

impl Addition {
    /// From bytes, which determine the kind. The entry point is the requested function, or that of the
    /// member's name, or `main`.
    ///
    /// # Errors
    /// A program that cannot be loaded; a function that it does not export.
    pub fn new(name: Name, bytes: Vec<u8>, function: Option<&[u8]>, modified: u64) -> Result<Addition> {
        let facts = facts::look(&bytes, name.as_str())?;
        if facts.is_program() {
            facts::check(&bytes, name.as_str())?;
        }
        let (entry_point, symbol) = match function {
            Some(function) => named(&facts, &name, function)?,
            None => [name.as_bytes(), b"main"]
                .iter()
                .find_map(|function| found(&facts, function))
                .unwrap_or((None, Symbol::NONE)),
        };
        Ok(Addition {
            name,
            attributes: facts.attributes,
            fetch: FetchOptions::Default,
            loadable: facts.loadable,
            storage: facts.storage,
            entry_point,
            symbol,
            modified,
            replace: false,
            aliases: Vec::new(),
            bytes,
        })
    }

    /// The member to write, without its aliases.
    #[must_use]
    pub fn new_member(&self) -> New<'_> {
        New {
            name: self.name,
            bytes: &self.bytes,
            attributes: self.attributes,
            fetch: self.fetch,
            loadable: self.loadable,
            storage: self.storage,
            entry_point: self.entry_point,
            symbol: self.symbol,
            modified: self.modified,
        }
    }
}

fn found(facts: &Facts, function: &[u8]) -> Option<(Option<u64>, Symbol)> {
    Some((Some(facts.function(function)?), Symbol::new(function)?))
}

fn named(facts: &Facts, member: &Name, function: &[u8]) -> Result<(Option<u64>, Symbol)> {
    found(facts, function).ok_or_else(|| Error::NoSymbol {
        member: member.to_string(),
        symbol: String::from_utf8_lossy(function).into_owned(),
    })
}

/// The entry point of an alias: the requested function, or that of its name, or the member's.
fn entry_of_alias(
    bytes: &[u8],
    alias: &Name,
    of: &Name,
    function: Option<&[u8]>,
    member: (Option<u64>, Symbol),
) -> Result<(Option<u64>, Symbol)> {
    let facts = facts::look(bytes, of.as_str())?;
    match function {
        Some(function) => named(&facts, of, function),
        None => Ok(found(&facts, alias.as_bytes()).unwrap_or(member)),
    }
}

/// The result of a change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changed {
    /// Edits made.
    pub edits: u64,
    /// Members of the library after it.
    pub members: u32,
    /// Aliases of the library after it.
    pub aliases: u32,
}

/// Changes a library. `expected` is the most entries that the edits add: a PDS with too small a directory is
/// made anew with a larger one.
///
/// # Errors
/// The first edit that failed, or that came as an error; the library's; the system's.
pub fn apply(
    path: &Path,
    edits: impl IntoIterator<Item = Result<Edit>>,
    expected: usize,
    now: u64,
    wait: bool,
) -> Result<Changed> {
    // The file itself is changed or replaced, not a link to it.
    let path = &std::fs::canonicalize(path).map_err(|error| Error::system(path, error))?;
    let file = OnDisk::open_for_change(path, wait)?;
    match Superblock::newest(&file) {
        Err(Fault::OtherOrganisation) => {
            let mut place = InDirectory::new(path)?;
            let changed = apply_to_pds(&file, &mut place, edits, expected, now);
            if changed.is_err() {
                place.abandon();
            }
            changed
        }
        _ => apply_to_pdse(file, edits, now),
    }
}

/// Changes a PDSE whose writer's lock is held.
///
/// # Errors
/// As [`apply`].
pub fn apply_to_pdse<S: Storage>(
    file: S,
    edits: impl IntoIterator<Item = Result<Edit>>,
    now: u64,
) -> Result<Changed> {
    fill_pdse(file, edits, now).map(|(changed, _)| changed)
}

/// As [`apply_to_pdse`]; gives the file back.
pub(crate) fn fill_pdse<S: Storage>(
    file: S,
    edits: impl IntoIterator<Item = Result<Edit>>,
    now: u64,
) -> Result<(Changed, S)> {
    let mut change = pdse::Change::begin(file)?;
    let mut made = 0;
    for edit in edits {
        if let Err(error) = edit.and_then(|edit| edit_pdse(&mut change, &edit)) {
            change.abandon();
            return Err(error);
        }
        made += 1;
    }
    change.set_modified(now);
    let (superblock, file) = change.commit()?;
    Ok((Changed { edits: made, members: superblock.members, aliases: superblock.aliases }, file))
}

fn edit_pdse<S: Storage>(change: &mut pdse::Change<S>, edit: &Edit) -> Result<()> {
    match edit {
        Edit::Delete(name) => change.delete(name),
        Edit::Rename { from, to } => change.rename(from, to),
        Edit::Alias { alias, of, function } => {
            let member = change.member(of)?;
            let bytes = change.bytes(&member)?;
            let main = (member.entry_point, member.symbol);
            let (entry_point, symbol) = entry_of_alias(&bytes, alias, of, function.as_deref(), main)?;
            change.alias(alias, of, entry_point, symbol)
        }
        Edit::Add(addition) => {
            let new = addition.new_member();
            let facts = std::cell::OnceCell::new();
            let function = |name: &[u8]| {
                let facts = facts.get_or_init(|| facts::look(&addition.bytes, "").unwrap_or_default());
                facts.function(name)
            };
            change.add(&new, addition.replace, &function)?;
            for (alias, entry_point, symbol) in &addition.aliases {
                match change.value(alias)? {
                    // It kept the alias in the replacement.
                    Some(Value::Alias(kept)) if kept.of == addition.name && addition.replace => {
                        change.delete(alias)?;
                    }
                    _ => {}
                }
                change.alias(alias, &addition.name, *entry_point, *symbol)?;
            }
            Ok(())
        }
    }
}

/// Makes a changed PDS in place of an old one.
///
/// # Errors
/// As [`apply`].
pub fn apply_to_pds<R: ReadAt, P: Place>(
    old: &R,
    place: &mut P,
    edits: impl IntoIterator<Item = Result<Edit>>,
    expected: usize,
    now: u64,
) -> Result<Changed> {
    let old = Pds::open(old)?;
    let header = *old.header();
    let entries = header.members as usize + header.aliases as usize + expected;
    let storage = place.temporary()?;
    // Five aliases fill a block, seven members; one entry more closes the directory.
    let mut make = if expected == 0 || (entries + 1).div_ceil(5) <= header.directory_blocks as usize {
        pds::Make::from_old(storage, &old, now)?
    } else {
        let directory_blocks = pds::directory_blocks_for(entries).max(header.directory_blocks);
        lay_anew(
            storage,
            &old,
            &pds::Making {
                identity: header.identity ^ now.rotate_left(32) ^ header.generation,
                block_size: header.block_size,
                directory_blocks,
                generation: header.generation + 1,
                now,
            },
        )?
    };
    let mut made = 0;
    for edit in edits {
        edit_pds(&mut make, &edit?)?;
        made += 1;
    }
    let (header, storage) = make.finish()?;
    place.install(storage, true)?;
    Ok(Changed { edits: made, members: header.members, aliases: header.aliases })
}

/// Makes one edit of a PDS.
pub(crate) fn edit_pds<S: Storage>(make: &mut pds::Make<S>, edit: &Edit) -> Result<()> {
    match edit {
        Edit::Delete(name) => make.delete(name),
        Edit::Rename { from, to } => make.rename(from, to),
        Edit::Alias { alias, of, function } => {
            let member = make.member(of)?;
            let bytes = make.bytes(of)?;
            let main = (member.entry_point.map(u64::from), Symbol::NONE);
            let (entry_point, _) = entry_of_alias(&bytes, alias, of, function.as_deref(), main)?;
            make.alias(alias, of, entry_point)
        }
        Edit::Add(addition) => {
            let kept = if addition.replace { make.aliases_of(&addition.name) } else { Vec::new() };
            make.add(&addition.new_member(), addition.replace)?;
            for (alias, entry_point, _) in &addition.aliases {
                make.alias(alias, &addition.name, *entry_point)?;
            }
            // A PDS does not keep the function of an alias: it is that of its own name, or the member's entry.
            for alias in
                kept.iter().filter(|kept| make.entry(&kept.name).is_none()).copied().collect::<Vec<_>>()
            {
                let main = (addition.entry_point, addition.symbol);
                let (entry_point, _) =
                    entry_of_alias(&addition.bytes, &alias.name, &addition.name, None, main)?;
                make.alias(&alias.name, &addition.name, entry_point)?;
            }
            Ok(())
        }
    }
}

/// Copies the members of a PDS in the order of their places, without gaps.
///
/// # Errors
/// A damaged member; no room; the system's.
pub fn lay_anew<R: ReadAt, S: Storage>(
    storage: S,
    old: &Pds<R>,
    making: &pds::Making,
) -> Result<pds::Make<S>> {
    let mut make = pds::Make::new(storage, making)?;
    let mut entries = Vec::new();
    for entry in old.entries() {
        entries.push(entry?);
    }
    entries.sort_by_key(|entry| (entry.alias.is_some(), entry.first, entry.name));
    for entry in entries {
        match entry.alias {
            None => make.add(&addition_of_pds(old, &entry)?.new_member(), false)?,
            Some(alias) => make.alias(&entry.name, &alias.of, entry.entry_point.map(u64::from))?,
        }
    }
    Ok(make)
}

/// A member of a PDS in the form for another library, without its aliases.
///
/// # Errors
/// A damaged member.
pub fn addition_of_pds<R: ReadAt>(
    old: &Pds<R>,
    entry: &underbar_partitioned::pds::Entry,
) -> Result<Addition> {
    let identification = old.identification(entry).map_err(|fault| Error::member(entry.name, fault))?;
    let bytes = pds::bytes(old, entry, &mut Counts::default())?;
    if underbar_partitioned::sum::sum(0, &bytes) != identification.sum {
        return Err(Error::MemberSum(entry.name.to_string()));
    }
    Ok(Addition {
        name: entry.name,
        bytes,
        attributes: entry.attributes.without(Attributes::ONE_BLOCK),
        fetch: entry.fetch,
        loadable: identification.loadable,
        storage: u64::from(entry.storage),
        entry_point: entry.entry_point.map(u64::from),
        symbol: identification.symbol,
        modified: identification.modified,
        replace: false,
        aliases: Vec::new(),
    })
}

/// A member of a PDSE in the form for another library, without its aliases.
///
/// # Errors
/// A damaged member.
pub fn addition_of_pdse<R: ReadAt>(
    old: &Pdse<R>,
    member: &underbar_partitioned::pdse::Member,
) -> Result<Addition> {
    let bytes = pdse::bytes(old, member)?;
    Ok(Addition {
        name: member.name,
        bytes,
        attributes: member.attributes,
        fetch: member.fetch,
        loadable: member.loadable,
        storage: member.storage,
        entry_point: member.entry_point,
        symbol: member.symbol,
        modified: member.modified,
        replace: false,
        aliases: Vec::new(),
    })
}
