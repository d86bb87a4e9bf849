//! A member that is to be written, into a library of either organisation.
//!
//! Not here: what is found in its bytes (`facts`), how it is laid down (`pds`, `pdse`).

use underbar_partitioned::attribute::{Attributes, FetchOptions};
use underbar_partitioned::name::Name;
use underbar_partitioned::symbol::Symbol;

/// A member to be put.
#[derive(Clone, Copy, Debug)]
pub struct New<'a> {
    /// Its name.
    pub name: Name,
    /// Its bytes.
    pub bytes: &'a [u8],
    /// What it is.
    pub attributes: Attributes,
    /// How it asks to be fetched.
    pub fetch: FetchOptions,
    /// Bytes from the front that are the program.
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
