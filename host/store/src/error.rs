//! What can go wrong with a library, by who has to do something about it.

use std::borrow::Cow;
use std::io;
use std::path::PathBuf;
use underbar_shown::Shown;

use underbar_partitioned::name::Misnomer;
use underbar_partitioned::read::Fault;

/// Why a library was not read, made or changed. Where it was to be changed, it is as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The library's bytes are wrong.
    #[error("{0}")]
    Library(#[from] Fault),
    /// One member's bytes are wrong; the others may be sound.
    #[error("member {name}: {fault}")]
    Member {
        /// Whose.
        name: String,
        /// What is wrong.
        fault: Fault,
    },
    /// All bytes of a member have their sums, and yet are not those that were put in.
    #[error("member {0} is not what was put in: its sum differs")]
    MemberSum(String),
    /// There is no member or alias of this name.
    #[error("there is no member {0}")]
    NoMember(String),
    /// The name is taken.
    #[error("there is a member {0} already")]
    Exists(String),
    /// The name is an alias, and what was asked for needs a member.
    #[error("{0} is an alias of {1}")]
    IsAlias(String, String),
    /// A text is no name of a member here.
    #[error("{text:?} cannot be a member's name: {why}")]
    Name {
        /// The text.
        text: String,
        /// Why not.
        why: Misnomer,
    },
    /// What is to be a program is none that could be loaded.
    #[error("{what}: {why}")]
    Program {
        /// The file or member.
        what: String,
        /// Why not, and what to do about it.
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
    /// A label is damaged that may be newer than the one that counts.
    #[error(
        "{0}; nothing is changed, because that would write over what the damaged label leads to: lib copy makes a new library of what counts now"
    )]
    Label(crate::doubt::Doubt),
    /// Another process changes the library.
    #[error("another process is changing the library")]
    Busy,
    /// A file is there where a new one was to be made.
    #[error("{} is there already", .0.shown())]
    FileExists(PathBuf),
    /// A folder, a device, a pipe: what has no bytes that could be read at any place.
    #[error("{}: is no plain file", .0.shown())]
    NotPlain(PathBuf),
    /// The system refused.
    #[error("{}: {error}", what.shown())]
    System {
        /// The file or directory.
        what: PathBuf,
        /// Its reason.
        error: io::Error,
    },
    /// Writing failed at a point where it is not known whether the change is durable: it is there whole or not at all.
    #[error("{}: {error}; the change is there whole or not at all, which the next reading shows", what.shown())]
    Unsure {
        /// The library.
        what: PathBuf,
        /// The system's reason.
        error: io::Error,
    },
}

/// What this crate gives.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error of the system on a file; a full file system is told apart.
    pub fn system(what: impl Into<PathBuf>, error: io::Error) -> Error {
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
                Error::DeviceFull
            }
            _ => Error::System { what: what.into(), error },
        }
    }

    /// A fault of one member.
    pub fn member(name: impl ToString, fault: Fault) -> Error {
        Error::Member { name: name.to_string(), fault }
    }
}
