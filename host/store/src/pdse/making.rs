//! A new PDSE: two superblocks, and no member.
//!
//! Invariant: it is installed whole, under its name, or not at all.
//! Not here: adding members (`Change`).

use underbar_partitioned::attribute::PAGE;
use underbar_partitioned::binder::{LARGEST_BLOCK_SIZE, SMALLEST_BLOCK_SIZE};
use underbar_partitioned::pdse::{FIRST_PAGE, Superblock};

use crate::error::{Error, Result};
use crate::storage::{Place, Storage};

/// The properties of a new PDSE.
#[derive(Clone, Copy, Debug)]
pub struct Making {
    /// A random number from the caller.
    pub identity: u64,
    /// For its label; it has no other effect.
    pub block_size: u32,
    /// The limit of pages; 0 for no limit.
    pub space: u32,
    /// Seconds since 1970.
    pub now: u64,
}

/// Makes an empty PDSE.
///
/// # Errors
/// A file of that name; the system's.
pub fn create<P: Place>(place: &mut P, making: &Making) -> Result<()> {
    let file = begin_new(place, making)?;
    place.install(file, false)
}

/// Writes the superblocks of an empty PDSE into a new file, which is not installed yet.
///
/// # Errors
/// The system's.
pub fn begin_new<P: Place>(place: &mut P, making: &Making) -> Result<P::Storage> {
    let superblock = Superblock {
        identity: making.identity,
        generation: 0,
        root: 0,
        levels: 0,
        pages: FIRST_PAGE,
        directory_pages: 0,
        free_pages: 0,
        members: 0,
        aliases: 0,
        block_size: making.block_size.clamp(SMALLEST_BLOCK_SIZE, LARGEST_BLOCK_SIZE),
        pending: 0,
        pending_pages: 0,
        added: 0,
        space: making.space,
        created: making.now,
        modified: making.now,
    };
    let mut file = place.temporary()?;
    let write = |error| Error::system("the new library", error);
    file.write_at(0, &superblock.encode()).map_err(write)?;
    let next = Superblock { generation: 1, ..superblock };
    file.write_at(PAGE as u64, &next.encode()).map_err(write)?;
    Ok(file)
}
