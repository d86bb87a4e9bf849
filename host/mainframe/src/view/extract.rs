//! Members of mainframe libraries as files.
//!
//! Invariant: a file's name is a name within its folder; at most twice the library's size is written,
//! even if members overlap.
//! Not here: creating the files.

use crate::library::{Fault, Library, Member};
use serde::Serialize;
use std::borrow::Cow;
use std::fmt::{self, Write as _};
use underbar_store::Missing;

/// The reason why members do not become files.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// No member has this name.
    #[error("{0}")]
    NoMember(Missing),
    /// The members overlap.
    #[error(
        "its members overlap: they are {bytes} bytes, the library has {live}; name the members to extract"
    )]
    Overlap {
        /// Bytes of the members.
        bytes: u64,
        /// Bytes in the library.
        live: u64,
    },
}

/// A name that no member of the library has.
#[must_use]
pub fn missing(library: &Library, name: &str) -> Missing {
    Missing::among(name, library.members.iter().map(|member| &member.name))
}

/// The members of these names; without names, all that are not aliases.
///
/// # Errors
/// An unknown name; overlapping members.
pub fn members<'a>(library: &'a Library, names: &[String]) -> Result<Vec<&'a Member>, Refused> {
    let found: Vec<&Member> = if names.is_empty() {
        library.members.iter().filter(|member| member.alias_of.is_none()).collect()
    } else {
        let find =
            |name: &String| library.member(name).ok_or_else(|| Refused::NoMember(missing(library, name)));
        names.iter().map(find).collect::<Result<_, _>>()?
    };
    let bytes = found.iter().fold(0u64, |sum, member| sum.saturating_add(member.bytes));
    let live = library.counts().live_bytes;
    if names.is_empty() && bytes > live.saturating_mul(2) {
        return Err(Refused::Overlap { bytes, live });
    }
    Ok(found)
}

/// A damaged member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Damaged {
    /// Its name; None if the directory is damaged: then members may be missing.
    pub name: Option<String>,
    /// The fault.
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

/// The damage of the members of these names; without names, of all and of the directory.
#[must_use]
pub fn damaged(library: &Library, names: &[String]) -> Vec<Damaged> {
    let is_meant = |member: &&Member| match names {
        [] => member.alias_of.is_none(),
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

/// Damaged members, which are not taken at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", text(.0))]
pub struct NotWhole(pub Vec<Damaged>);

/// The most members in a message.
const NAMED_MOST: usize = 20;

fn text(damaged: &[Damaged]) -> String {
    let mut text: Vec<String> = damaged.iter().take(NAMED_MOST).map(Damaged::to_string).collect();
    if damaged.len() > NAMED_MOST {
        text.push(format!("and {} more; --json names all", damaged.len() - NAMED_MOST));
    }
    text.join("; ")
}

/// Refuses damaged members of these names; without names, of all.
///
/// # Errors
/// Damaged members, each with its name.
pub fn whole(library: &Library, names: &[String]) -> Result<(), NotWhole> {
    let damaged = damaged(library, names);
    if damaged.is_empty() { Ok(()) } else { Err(NotWhole(damaged)) }
}

/// The name of a member's file: the member's, if a file can have it. Otherwise each character that no file name may have is
/// `%` and two hexadecimal digits, as in a URL.
#[must_use]
pub fn file_name(member: &str) -> Cow<'_, str> {
    if is_file_name(member) {
        return Cow::Borrowed(member);
    }
    let is_dots = member == "." || member == "..";
    let mut name = String::new();
    for one in member.chars() {
        if one == '/' || one == '%' || one.is_control() || is_dots {
            let mut bytes = [0; 4];
            for byte in one.encode_utf8(&mut bytes).bytes() {
                // Writing to a String cannot fail.
                let _ = write!(name, "%{byte:02X}");
            }
        } else {
            name.push(one);
        }
    }
    // A name of blanks alone comes without a letter.
    Cow::Owned(if name.is_empty() { "%20".to_owned() } else { name })
}

/// Is this the name of a file in a folder, and nothing else?
#[must_use]
pub fn is_file_name(name: &str) -> bool {
    !name.is_empty()
        && name != "."
        && name != ".."
        && !name.contains(|one: char| one == '/' || one.is_control())
}

#[cfg(test)]
mod tests {
    use super::{file_name, is_file_name};

    #[test]
    fn every_member_has_a_file_name_of_its_own() {
        let names = ["A", "A/B", "A%2FB", "A\0B", "..", ".", "", "../../ETC", "\u{85}", "%"];
        let files: Vec<_> = names.iter().map(|name| file_name(name)).collect();
        assert_eq!(
            files,
            ["A", "A%2FB", "A%2FB", "A%00B", "%2E%2E", "%2E", "%20", "..%2F..%2FETC", "%C2%85", "%"]
        );
        assert!(files.iter().all(|file| is_file_name(file)));
    }
}
