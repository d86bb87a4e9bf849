//! Errors of a library, grouped by the remedy.

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::path::PathBuf;
use underbar_shown::Shown;

use underbar_partitioned::name::Misnomer;
use underbar_partitioned::read::Fault;

/// The reason why a library was not read, made or changed. A library that was to be changed is as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The library's bytes are wrong.
    #[error("{0}")]
    Library(#[from] Fault),
    /// One member's bytes are wrong; the others may be sound.
    #[error("member {name}: {fault}")]
    Member {
        /// Its name.
        name: String,
        /// The fault.
        fault: Fault,
    },
    /// The blocks or pages of a member are sound, but the checksum of the whole member differs.
    #[error("member {0} is not as it was stored: its checksum differs")]
    MemberSum(String),
    /// There is no member or alias of this name.
    #[error("{0}")]
    NoMember(Missing),
    /// The name is taken.
    #[error("there is a member {0} already")]
    Exists(String),
    /// The name is an alias, and the operation needs a member.
    #[error("{0} is an alias of {1}")]
    IsAlias(String, String),
    /// A text is not a valid name of a member.
    #[error("{text:?} cannot be a member's name: {why}")]
    Name {
        /// The text.
        text: String,
        /// The reason.
        why: Misnomer,
    },
    /// A program that cannot be loaded.
    #[error("{what}: {why}")]
    Program {
        /// The file or member.
        what: String,
        /// The reason, and the remedy.
        why: Cow<'static, str>,
    },
    /// The function is not exported by the program.
    #[error("{member} exports no function {symbol}")]
    NoSymbol {
        /// The member.
        member: String,
        /// The function.
        symbol: String,
    },
    /// The library would take more than its organisation, its limit or its tables allow.
    #[error("the library is full: {0}")]
    Full(&'static str),
    /// The file system has no room.
    #[error("the file system has no room left")]
    DeviceFull,
    /// A damaged label may be newer than the one that counts.
    #[error(
        "{0}; nothing is changed, because a change would overwrite pages of the damaged label: lib copy makes a new library from the valid label"
    )]
    Label(crate::doubt::Doubt),
    /// Another process changes the library.
    #[error("another process is changing the library")]
    Busy,
    /// The new file already exists.
    #[error("{} is there already", .0.shown())]
    FileExists(PathBuf),
    /// A folder, a device, or a pipe: its bytes cannot be read at any offset.
    #[error("{}: is not a plain file", .0.shown())]
    NotPlain(PathBuf),
    /// The system refused.
    #[error("{}: {error}", what.shown())]
    System {
        /// The file or directory.
        what: PathBuf,
        /// The reason.
        error: io::Error,
    },
    /// Writing failed at a point where it is unknown whether the change is durable: the change is there whole or not at all.
    #[error("{}: {error}; the change was made whole or not at all; the next reading shows which", what.shown())]
    Unsure {
        /// The library.
        what: PathBuf,
        /// The system's reason.
        error: io::Error,
    },
}

/// A name that no member or alias of a library has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The name.
    pub name: String,
    /// The name of a member or alias that differs from it only in upper and lower case.
    pub in_other_case: Option<String>,
}

impl Missing {
    /// A name that is not among those of a library.
    pub fn among<T: ToString>(name: impl ToString, names: impl IntoIterator<Item = T>) -> Missing {
        let name = name.to_string();
        let mut names = names.into_iter().map(|known| known.to_string());
        let in_other_case = names.find(|known| known.eq_ignore_ascii_case(&name));
        Missing { name, in_other_case }
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no member {}", self.name)?;
        self.in_other_case.as_ref().map_or(Ok(()), |known| write!(f, "; there is {known}"))
    }
}

/// The result type of this crate.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error of the system on a file; a full file system has its own variant.
    pub fn system(what: impl Into<PathBuf>, error: io::Error) -> Error {
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
                Error::DeviceFull
            }
            _ => Error::System { what: what.into(), error },
        }
    }

    /// There is no member or alias of this name. The caller does not know the other names.
    pub fn no_member(name: impl ToString) -> Error {
        Error::NoMember(Missing { name: name.to_string(), in_other_case: None })
    }

    /// A fault of one member.
    pub fn member(name: impl ToString, fault: Fault) -> Error {
        Error::Member { name: name.to_string(), fault }
    }
}
