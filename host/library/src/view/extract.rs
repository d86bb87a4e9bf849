//! Members of mainframes' libraries as files.
//!
//! Invariant: a name that is given lies in the folder it is put into; more than twice what the library holds is never written,
//! however its members lie within each other.
//! Not here: making the files.

use crate::mainframe::library::{Library, Member};

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

/// Is this the name of a file in a folder, and of nothing else?
#[must_use]
pub fn is_file_name(name: &str) -> bool {
    !name.is_empty()
        && name != "."
        && name != ".."
        && !name.contains(|one: char| one == '/' || one.is_control())
}
