//! Members of mainframes' libraries as files.
//!
//! Invariant: a name that is given lies in the folder it is put into; more than twice what the library holds is never written,
//! however its members lie within each other.
//! Not here: making the files.

use crate::mainframe::library::{Fault, Library, Member};
use serde::Serialize;
use std::fmt;

/// Why members do not become files.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// There is none of that name.
    #[error("there is no member {0}")]
    NoMember(String),
    /// The name would be none of a file in the folder.
    #[error("member {0:?} cannot be the name of a file; name those that can")]
    Name(String),
    /// The members overlap.
    #[error(
        "its members lie within each other: they are {bytes} bytes, the library has {live}; name those that are wanted"
    )]
    Overlap {
        /// Bytes of the members.
        bytes: u64,
        /// Bytes that there are.
        live: u64,
    },
}

/// The members of these names; of none, all that are no aliases.
///
/// # Errors
/// A name that there is not, or that cannot be a file's; members that lie within each other.
pub fn members<'a>(library: &'a Library, names: &[String]) -> Result<Vec<&'a Member>, Refused> {
    let found: Vec<&Member> = if names.is_empty() {
        library.members.iter().filter(|member| !member.alias).collect()
    } else {
        let find = |name: &String| library.member(name).ok_or_else(|| Refused::NoMember(name.clone()));
        names.iter().map(find).collect::<Result<_, _>>()?
    };
    if let Some(bad) = found.iter().find(|member| !is_file_name(&member.name)) {
        return Err(Refused::Name(bad.name.clone()));
    }
    let bytes = found.iter().fold(0u64, |sum, member| sum.saturating_add(member.bytes));
    let live = library.counts().live_bytes;
    if names.is_empty() && bytes > live.saturating_mul(2) {
        return Err(Refused::Overlap { bytes, live });
    }
    Ok(found)
}

/// A member that is not whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Damaged {
    /// Its name; None where the directory is damaged: then members may be missing.
    pub name: Option<String>,
    /// What is wrong.
    pub what: String,
}

impl fmt::Display for Damaged {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(to, "member {name} is damaged: {}", self.what),
            None => write!(to, "the directory is damaged, and members may be missing: {}", self.what),
        }
    }
}

/// What is not whole of the members of these names; of none, of all and of the directory.
#[must_use]
pub fn damaged(library: &Library, names: &[String]) -> Vec<Damaged> {
    let is_meant = |member: &&Member| match names {
        [] => !member.alias,
        names => names.contains(&member.name),
    };
    let directory = library.faults.iter().filter(|fault| {
        names.is_empty() && matches!(fault, Fault::Directory { .. } | Fault::Unended | Fault::TooMany { .. })
    });
    let members = library.members.iter().filter(is_meant).filter_map(|member| {
        Some(Damaged { name: Some(member.name.clone()), what: member.damage.as_ref()?.to_string() })
    });
    directory.map(|fault| Damaged { name: None, what: fault.to_string() }).chain(members).collect()
}

/// What cannot be taken whole: it is taken not at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", text(.0))]
pub struct NotWhole(pub Vec<Damaged>);

/// Members that a message names.
const NAMED_MOST: usize = 20;

fn text(damaged: &[Damaged]) -> String {
    let mut text: Vec<String> = damaged.iter().take(NAMED_MOST).map(Damaged::to_string).collect();
    if damaged.len() > NAMED_MOST {
        text.push(format!("and {} more; --json names all", damaged.len() - NAMED_MOST));
    }
    text.join("; ")
}

/// Refuses what is not whole of the members of these names; of none, of all.
///
/// # Errors
/// Members that are damaged, each of them named.
pub fn whole(library: &Library, names: &[String]) -> Result<(), NotWhole> {
    let damaged = damaged(library, names);
    if damaged.is_empty() { Ok(()) } else { Err(NotWhole(damaged)) }
}

/// Is this the name of a file in a folder, and of nothing else?
#[must_use]
pub fn is_file_name(name: &str) -> bool {
    !name.is_empty()
        && name != "."
        && name != ".."
        && !name.contains(|one: char| one == '/' || one.is_control())
}
