//! Members of mainframe libraries as members of Underbar's: data, unless they are shared objects of this machine.
//!
//! Invariant: an imported member has the bytes of its blocks, joined; its aliases come with it. An alias that is named
//! without its member becomes a member with the same bytes.
//! Not here: changing the target library (`underbar_store::change`).

use super::extract;
use crate::library::{Library, Member};
use crate::source::ReadError;
use std::collections::HashMap;
use underbar_partitioned::name::{Misnomer, Name};
use underbar_partitioned::symbol::Symbol;
use underbar_store::change::Addition;

/// A member cannot be imported.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The selected members.
    #[error(transparent)]
    Refused(#[from] extract::Refused),
    /// Damaged members: none is imported.
    #[error(transparent)]
    NotWhole(#[from] extract::NotWhole),
    /// Its name is not valid in Underbar's libraries.
    #[error("{text:?} cannot be a member's name: {why}")]
    Name {
        /// The name.
        text: String,
        /// The reason.
        why: Misnomer,
    },
    /// Its bytes could not be read.
    #[error("member {name}: {error}")]
    Read {
        /// The member.
        name: String,
        /// The reason.
        error: ReadError,
    },
    /// The store's error.
    #[error(transparent)]
    Store(#[from] underbar_store::Error),
}

/// The members of these names as additions, one after the other; without names, all.
///
/// # Errors
/// Errors of `extract::members` and `extract::whole`, and alias names that are not valid here; each addition has its own errors.
pub fn additions<'a>(
    library: &'a Library,
    names: &[String],
    replace: bool,
    modified: u64,
) -> Result<impl ExactSizeIterator<Item = Result<Addition, Fault>> + use<'a>, Fault> {
    let mut members = extract::members(library, names)?;
    extract::whole(library, names)?;
    // A request for both a member and its alias means one member, not two.
    members.retain(|member| !is_named(names, member.alias_of.as_deref()));
    let mut aliases: HashMap<&str, Vec<Name>> = HashMap::new();
    for member in &library.members {
        if let Some(of) = &member.alias_of {
            aliases.entry(of).or_default().push(name(&member.name)?);
        }
    }
    Ok(members.into_iter().map(move |member| {
        let aliases = aliases.remove(member.name.as_str()).unwrap_or_default();
        let addition = addition(library, member, modified)?;
        let aliases = aliases.into_iter().map(|alias| (alias, addition.entry_point, Symbol::NONE)).collect();
        Ok(Addition { replace, aliases, ..addition })
    }))
}

/// The aliases among these names without their members, each with its member: they are imported as members.
pub fn aliases_alone<'a>(
    library: &'a Library,
    names: &'a [String],
) -> impl Iterator<Item = (&'a str, &'a str)> {
    let named = library.members.iter().filter(|member| names.contains(&member.name));
    named
        .filter_map(|member| Some((member.name.as_str(), member.alias_of.as_deref()?)))
        .filter(|(_, of)| !is_named(names, Some(of)))
}

fn is_named(names: &[String], member: Option<&str>) -> bool {
    member.is_some_and(|member| names.iter().any(|name| name == member))
}

fn addition(library: &Library, member: &Member, modified: u64) -> Result<Addition, Fault> {
    let mut bytes = Vec::new();
    for block in library.read_member(member) {
        bytes.extend(block.map_err(|error| Fault::Read { name: member.name.clone(), error })?);
    }
    Ok(Addition::new(name(&member.name)?, bytes, None, modified)?)
}

fn name(text: &str) -> Result<Name, Fault> {
    Name::new(text.as_bytes()).map_err(|why| Fault::Name { text: text.to_owned(), why })
}
