//! The reasons why a program could not be loaded, and why it was left to the system's loader.
//!
//! Invariant: each [`Reason`] has a line of [`REASONS`], and there is no line for "other".
//! Not here: the damage within a file ([`Damage`]).

use core::fmt;

use underbar_partitioned::read::Fault;
use underbar_sys::syscall::Errno;

use crate::elf::Damage;

/// A name or a message, cut if it is longer than its room.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Text {
    bytes: [u8; Text::MOST],
    length: u8,
}

impl Text {
    /// Maximum number of bytes kept.
    pub const MOST: usize = 191;

    /// The first bytes of a text.
    #[must_use]
    pub fn new(text: &[u8]) -> Text {
        let length = text.len().min(Text::MOST);
        let mut bytes = [0; Text::MOST];
        for (to, from) in bytes.iter_mut().zip(text) {
            *to = *from;
        }
        Text { bytes, length: length as u8 }
    }

    /// Its bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.length)).unwrap_or_default()
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in self.bytes().utf8_chunks() {
            f.write_str(part.valid())?;
            if !part.invalid().is_empty() {
                f.write_str("\u{fffd}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

/// The reason why a program was not loaded, or another request not done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Error {
    /// The file is damaged. At fault: the tool that made it, or the one that cut it.
    Damaged(Damage),
    /// No library has a program of this name. At fault: the caller, or the list of libraries.
    NotFound(Text),
    /// The library is damaged, or is none.
    Library(Fault),
    /// A symbol that the program needs does not exist. At fault: the program, or the libraries that it was loaded with.
    Unresolved(Text),
    /// The system's loader, to which the program was left for this reason, refused it; with its message.
    System(Reason, Text),
    /// An executable, which can be started but not loaded.
    Executable,
    /// A file or folder could not be opened or read. At fault: the machine.
    Unreadable(Errno),
    /// No storage. At fault: the machine.
    NoStorage(Errno),
    /// Too many programs with thread storage at one time.
    ThreadStorageFull,
    /// Too many open libraries or known programs at one time.
    TablesFull,
    /// A program that is no longer loaded, or never was. At fault: the caller.
    NotLoaded,
    /// The program has no entry point, or no `main`. At fault: the program, or the caller.
    NoEntry,
    /// A name that is empty, longer than 255 bytes, or contains `/` or a zero byte. At fault: the caller.
    BadName,
    /// LINK of a program that was left to the system's loader: its `exit` would end the caller.
    NotIsolated,
    /// XCTL by a program that was not LINKed.
    NotLinked,
    /// The program's bytes do not match the library's checksum.
    Checksum,
    /// The program was LINKed, and an exception came out of its `main`: it has ended. At fault: the program.
    Thrown,
}

impl Error {
    /// The number of the kind of error for C programs, from 1 on, in the order of the variants; it never changes.
    #[must_use]
    pub fn number(&self) -> u32 {
        match self {
            Error::Damaged(_) => 1,
            Error::NotFound(_) => 2,
            Error::Library(_) => 3,
            Error::Unresolved(_) => 4,
            Error::System(..) => 5,
            Error::Executable => 6,
            Error::Unreadable(_) => 7,
            Error::NoStorage(_) => 8,
            Error::ThreadStorageFull => 9,
            Error::TablesFull => 10,
            Error::NotLoaded => 11,
            Error::NoEntry => 12,
            Error::BadName => 13,
            Error::NotIsolated => 14,
            Error::NotLinked => 15,
            Error::Checksum => 16,
            Error::Thrown => 17,
        }
    }
}

impl From<Damage> for Error {
    fn from(damage: Damage) -> Self {
        Error::Damaged(damage)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Damaged(damage) => write!(f, "the program is damaged: {damage}"),
            Error::NotFound(name) => write!(f, "no program {name} in the libraries"),
            Error::Library(fault) => write!(f, "{fault}"),
            Error::Unresolved(name) => write!(f, "the program needs {name}, which nobody has"),
            Error::System(reason, message) => write!(f, "{message} (left to the system's loader: {reason})"),
            Error::Executable => f.write_str("an executable, not a shared object"),
            Error::Unreadable(errno) => write!(f, "not readable: {errno}"),
            Error::NoStorage(errno) => write!(f, "no storage: {errno}"),
            Error::ThreadStorageFull => f.write_str("too many programs with thread storage"),
            Error::TablesFull => f.write_str("too many libraries or programs"),
            Error::NotLoaded => f.write_str("the program is not loaded"),
            Error::NoEntry => f.write_str("the program has no such entry"),
            Error::BadName => f.write_str("not a name of a program"),
            Error::NotIsolated => {
                f.write_str("left to the system's loader, where its exit would end the caller")
            }
            Error::NotLinked => f.write_str("not in a program that was LINKed"),
            Error::Checksum => f.write_str("the program's bytes are not those that were stored"),
            Error::Thrown => f.write_str("the program has ended by an exception that it did not catch"),
        }
    }
}

impl core::error::Error for Error {}

/// Makes the enum of reasons and its table from one list.
macro_rules! reasons {
    ($($(#[doc = $about:literal])+ $name:ident, $key:literal;)*) => {
        /// The reason why a program was left to the system's loader.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Reason { $($(#[doc = $about])+ $name),* }

        /// All reasons in order: the key under which each is counted, and its meaning.
        pub const REASONS: &[(Reason, &str, &str)] = &[$((Reason::$name, $key, concat!($($about),*))),*];
    };
}

reasons! {
    /// Its thread storage must be next to that of the program (initial-exec), where only the system's loader has room.
    StaticThreads, "static-threads";
    /// The system's loader has already loaded the same file, which must exist only once.
    AlreadyLoaded, "already-loaded";
    /// It wants its code changed at loading.
    TextRelocations, "text-relocations";
    /// It wants executable stacks.
    ExecutableStack, "executable-stack";
    /// A kind of relocation that only executables should have (COPY), or an unknown one.
    Relocation, "relocation";
    /// Two of its segments share a page.
    SharedPages, "shared-pages";
    /// It has more segments, or needs more libraries, than we support.
    TooMany, "too-many";
    /// It replaces another library (a filter).
    Filter, "filter";
    /// Its table of frames has no end, which the unwinder's register of programs requires.
    OpenFrames, "open-frames";
    /// A thread variable that may be missing is missing.
    WeakThreadVariable, "weak-thread-variable";
    /// It has no dynamic section, or no segment that can be read.
    NoDynamic, "no-dynamic";
    /// A library that it needs is in a dependency cycle, or can be found only by the rules of the system's loader.
    Needed, "needed";
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REASONS.get(*self as usize).map_or("", |(_, key, _)| key))
    }
}

/// The failure of our own attempt: impossible, or left to the system's loader.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Failure {
    /// Impossible.
    Error(Error),
    /// The system's loader may succeed.
    Reason(Reason),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Error(error)
    }
}

impl From<Damage> for Failure {
    fn from(damage: Damage) -> Self {
        Failure::Error(Error::Damaged(damage))
    }
}

impl From<Reason> for Failure {
    fn from(reason: Reason) -> Self {
        Failure::Reason(reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_has_its_line_and_a_key_of_its_own() {
        for (at, (reason, key, about)) in REASONS.iter().enumerate() {
            assert_eq!(*reason as usize, at);
            assert!(!about.is_empty() && *key != "other");
            assert_eq!(REASONS.iter().filter(|(_, other, _)| other == key).count(), 1);
        }
    }

    #[test]
    fn a_text_is_cut_and_printed_whatever_its_bytes() {
        assert_eq!(Text::new(&[b'a'; 300]).bytes().len(), Text::MOST);
        assert_eq!(std::format!("{}", Text::new(b"a\xffb")), "a\u{fffd}b");
    }
}
