//! Recently freed pages with their generations; readers of an older one may still use them.
//!
//! ```text
//! page: "FREE" | number 4 | 0 8 | { generation 8, first 4, pages 4 } x 252 | 0 8 | sum 8
//! ```
//!
//! Invariant: a page that is free in the newest generation and was in use at a generation that a reader holds is listed.
//! Only pages that `coordination::may_be_used_again` released when the list was written are not listed: readers begin with the
//! newest generation, so none can have become older since.

use underbar_partitioned::attribute::PAGE;
use underbar_partitioned::pdse::coordination::may_be_used_again;
use underbar_partitioned::pdse::{Run, Superblock};
use underbar_partitioned::read::ReadAt;
use underbar_partitioned::sum::sum;

use super::space::Space;
use crate::error::{Error, Result};
use crate::storage::Storage;

const MAGIC: &[u8; 4] = b"FREE";
const FRONT: usize = 16;
const ENTRY: usize = 16;
const ENTRIES: usize = 252;

/// Runs by the generation at which they were freed.
#[derive(Clone, Debug, Default)]
pub struct Pending {
    entries: Vec<(u64, Run)>,
}

impl Pending {
    /// The list of a generation; None if it is damaged.
    pub fn read<R: ReadAt>(read: &R, superblock: &Superblock) -> Option<Pending> {
        let mut entries = Vec::new();
        for number in superblock.pending..superblock.pending + superblock.pending_pages {
            let mut page = [0; PAGE];
            read.read_at(u64::from(number) * PAGE as u64, &mut page).ok()?;
            let field = |at: usize| u32::from_le_bytes([page[at], page[at + 1], page[at + 2], page[at + 3]]);
            let long = |at: usize| u64::from(field(at)) | u64::from(field(at + 4)) << 32;
            let count = field(4) as usize;
            let is_sound = page.starts_with(MAGIC)
                && count <= ENTRIES
                && long(PAGE - 8) == sum(superblock.seed(number), &page[..PAGE - 8]);
            if !is_sound {
                return None;
            }
            entries.extend((0..count).map(|index| {
                let at = FRONT + index * ENTRY;
                (long(at), Run { first: field(at + 8), pages: field(at + 12) })
            }));
        }
        Some(Pending { entries })
    }

    /// Keeps the runs that readers may use, for the lowest generation that a reader holds.
    pub fn retain(&mut self, lowest: Option<u64>) {
        self.entries.retain(|&(freed, _)| !may_be_used_again(freed, lowest));
    }

    /// All runs.
    pub fn runs(&self) -> impl Iterator<Item = Run> {
        self.entries.iter().map(|&(_, run)| run)
    }

    /// Adds a freed run.
    pub fn add(&mut self, generation: u64, run: Run) {
        self.entries.push((generation, run));
    }

    /// Writes the list into free pages.
    ///
    /// # Errors
    /// No room; the system's.
    pub fn write<S: Storage>(
        &mut self,
        storage: &mut S,
        superblock: &Superblock,
        space: &mut Space,
    ) -> Result<Run> {
        self.join();
        if self.entries.is_empty() {
            return Ok(Run::default());
        }
        let run = space.take_run(self.entries.len().div_ceil(ENTRIES) as u32)?;
        for (number, entries) in (run.first..).zip(self.entries.chunks(ENTRIES)) {
            let mut page = Vec::with_capacity(PAGE);
            page.extend_from_slice(MAGIC);
            page.extend_from_slice(&(entries.len() as u32).to_le_bytes());
            page.resize(FRONT, 0);
            for (generation, run) in entries {
                page.extend_from_slice(&generation.to_le_bytes());
                page.extend_from_slice(&run.first.to_le_bytes());
                page.extend_from_slice(&run.pages.to_le_bytes());
            }
            page.resize(PAGE - 8, 0);
            let sum = sum(superblock.seed(number), &page);
            page.extend_from_slice(&sum.to_le_bytes());
            let written = storage.write_at(u64::from(number) * PAGE as u64, &page);
            written.map_err(|error| Error::system("the library", error))?;
        }
        Ok(run)
    }

    /// Joins adjacent runs that were freed together.
    fn join(&mut self) {
        self.entries.sort_by_key(|&(generation, run)| (generation, run.first));
        self.entries.dedup_by(|(next_at, next), (at, run)| {
            let touches = next_at == at && run.first.checked_add(run.pages) == Some(next.first);
            let joined = run.pages.checked_add(next.pages).filter(|_| touches);
            run.pages = joined.unwrap_or(run.pages);
            joined.is_some()
        });
    }
}
