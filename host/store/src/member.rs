//! A member to write into a library of either organisation.
//!
//! Not here: the facts in its bytes (`facts`), its placement (`pds`, `pdse`).

use underbar_partitioned::attribute::{Attributes, FetchOptions};
use underbar_partitioned::name::Name;
use underbar_partitioned::symbol::Symbol;

/// A member to write.
#[derive(Clone, Copy, Debug)]
pub struct New<'a> {
    /// Its name.
    pub name: Name,
    /// Its bytes.
    pub bytes: &'a [u8],
    /// Its kind.
    pub attributes: Attributes,
    /// Its fetch option.
    pub fetch: FetchOptions,
    /// Bytes from the front that are loaded as the program.
    pub loadable: u64,
    /// Bytes of storage.
    pub storage: u64,
    /// Its entry point: address and function.
    pub entry_point: Option<u64>,
    /// See `entry_point`.
    pub symbol: Symbol,
    /// Seconds since 1970.
    pub modified: u64,
}
