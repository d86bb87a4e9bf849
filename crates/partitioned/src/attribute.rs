//! The attributes of a member, its fetch option, and the pages that the option affects.
//!
//! ```text
//! pages of a member:   |<- initial ->|<--- deferred --->|<- no load ->|
//!                       read at LOAD   read on reference  symbols, debugging: never by LOAD
//! ```
//!
//! The rule follows the documentation literally. LOAD reads a program under 96 KB whole, and of a larger program the first
//! 16 pages of 4 KiB. PRIME reads all pages at LOAD; PACK moves the program to storage instead of mapping pages;
//! (PACK,NOPRIME) is invalid.
//!
//! Invariant: initial + deferred + no load == pages of the member.

/// Bytes of a page, in files of both organisations.
pub const PAGE: usize = 4096;
/// A program of fewer bytes is read whole: 96 KB.
pub const READ_WHOLE_BELOW: u64 = 96 * 1024;
/// Pages of a larger one that are read at LOAD.
pub const FIRST_PAGES: u32 = 16;

/// A set of attributes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attributes(pub u16);

impl Attributes {
    /// A shared object for this kind of machine, which LOAD accepts.
    pub const PROGRAM: Attributes = Attributes(0x0001);
    /// Its text and data are never written after loading: it has no writable segment.
    pub const REENTRANT: Attributes = Attributes(0x0002);
    /// It has a `main` function, so LINK can run it.
    pub const MAIN: Attributes = Attributes(0x0004);
    /// In a PDS: it has one block of text, so LOAD reads no control record.
    pub const ONE_BLOCK: Attributes = Attributes(0x0008);
    /// It has thread-local storage.
    pub const THREAD_STORAGE: Attributes = Attributes(0x0010);

    /// Each attribute with its name in lists and JSON.
    pub const NAMES: [(Attributes, &'static str); 5] = [
        (Attributes::PROGRAM, "EXEC"),
        (Attributes::REENTRANT, "RENT"),
        (Attributes::MAIN, "MAIN"),
        (Attributes::ONE_BLOCK, "1BLK"),
        (Attributes::THREAD_STORAGE, "TLS"),
    ];

    /// The union of both sets.
    #[must_use]
    pub const fn with(self, more: Attributes) -> Attributes {
        Attributes(self.0 | more.0)
    }

    /// This set without the other.
    #[must_use]
    pub const fn without(self, less: Attributes) -> Attributes {
        Attributes(self.0 & !less.0)
    }

    /// Does the set contain all of these?
    #[must_use]
    pub const fn has(self, all: Attributes) -> bool {
        self.0 & all.0 == all.0
    }
}

/// FETCHOPT: how a program object asks to be brought into storage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FetchOptions {
    /// (NOPACK,NOPRIME): mapped, the rest on reference.
    #[default]
    Default,
    /// (NOPACK,PRIME): mapped, all pages read at LOAD.
    Prime,
    /// (PACK,PRIME): moved to storage, all of it.
    Pack,
}

impl FetchOptions {
    /// From the two sub-options; None for (PACK,NOPRIME), which is invalid.
    #[must_use]
    pub const fn new(pack: bool, prime: bool) -> Option<FetchOptions> {
        match (pack, prime) {
            (false, false) => Some(FetchOptions::Default),
            (false, true) => Some(FetchOptions::Prime),
            (true, true) => Some(FetchOptions::Pack),
            (true, false) => None,
        }
    }

    /// The value as an entry holds it.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            FetchOptions::Default => 0,
            FetchOptions::Prime => 1,
            FetchOptions::Pack => 3,
        }
    }

    /// Decodes the value from an entry; None for a value that our writers never leave there.
    #[must_use]
    pub const fn from_code(code: u8) -> Option<FetchOptions> {
        if code > 3 { None } else { FetchOptions::new(code & 2 != 0, code & 1 != 0) }
    }

    /// The binder's notation of the option.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            FetchOptions::Default => "FETCHOPT(NOPACK,NOPRIME)",
            FetchOptions::Prime => "FETCHOPT(NOPACK,PRIME)",
            FetchOptions::Pack => "FETCHOPT(PACK,PRIME)",
        }
    }
}

/// Pages of a member by class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Classes {
    /// Read at LOAD: the first ones.
    pub initial: u32,
    /// Read on reference: the pages after the initial ones.
    pub deferred: u32,
    /// Not part of the program in storage: the last ones.
    pub no_load: u32,
}

impl Classes {
    /// The pages of a member of `size` bytes, whose first `loadable` bytes are the program in storage.
    #[must_use]
    pub const fn new(size: u64, loadable: u64, fetch: FetchOptions) -> Classes {
        let loadable = if loadable > size { size } else { loadable };
        let (all, load) = (pages(size), pages(loadable));
        let initial = match fetch {
            FetchOptions::Default if loadable >= READ_WHOLE_BELOW => FIRST_PAGES,
            _ => load,
        };
        Classes { initial, deferred: load - initial, no_load: all - load }
    }

    /// All pages.
    #[must_use]
    pub const fn all(self) -> u32 {
        self.initial + self.deferred + self.no_load
    }
}

/// Pages that hold so many bytes; at most `u32::MAX`.
#[must_use]
pub const fn pages(bytes: u64) -> u32 {
    let pages = bytes.div_ceil(PAGE as u64);
    if pages > u32::MAX as u64 { u32::MAX } else { pages as u32 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documented_rule() {
        const KB: u64 = 1024;
        for (loadable, fetch, initial, deferred) in [
            (0, FetchOptions::Default, 0, 0),
            (1, FetchOptions::Default, 1, 0),
            (95 * KB, FetchOptions::Default, 24, 0),
            (96 * KB - 1, FetchOptions::Default, 24, 0),
            (96 * KB, FetchOptions::Default, 16, 8),
            (97 * KB, FetchOptions::Default, 16, 9),
            (97 * KB, FetchOptions::Prime, 25, 0),
            (4096 * KB, FetchOptions::Default, 16, 1008),
            (4096 * KB, FetchOptions::Pack, 1024, 0),
        ] {
            let classes = Classes::new(loadable + 5 * 4096, loadable, fetch);
            assert_eq!((classes.initial, classes.deferred), (initial, deferred), "{loadable} {fetch:?}");
            assert_eq!(classes.all(), pages(loadable + 5 * 4096), "{loadable} {fetch:?}");
        }
        assert_eq!(
            Classes::new(10, 5000, FetchOptions::Prime).all(),
            1,
            "a member that lies is bounded by its size"
        );
    }

    #[test]
    fn pack_without_prime_is_no_option() {
        assert_eq!(FetchOptions::new(true, false), None);
        assert_eq!(FetchOptions::from_code(2), None);
        assert_eq!(FetchOptions::from_code(4), None);
        for option in [FetchOptions::Default, FetchOptions::Prime, FetchOptions::Pack] {
            assert_eq!(FetchOptions::from_code(option.code()), Some(option));
        }
    }
}
