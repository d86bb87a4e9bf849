//! The pages of a member: reading, checking, and counting.

use super::Pdse;
use super::value::{Member, TABLE_SUMS, is_sealed_table, table_pages};
use crate::attribute::{PAGE, pages};
use crate::bytes::u64_at;
use crate::count::Counts;
use crate::read::{Fault, ReadAt, fill};
use crate::sum::sum;
use core::ops::Range;

/// Pages of 4 KiB on a track of a 3390; a PDSE's tracks are counted in this unit.
pub(super) const PAGES_PER_TRACK: u32 = 12;

pub(super) fn read<R: ReadAt>(
    pdse: &Pdse<R>,
    member: &Member,
    offset: u64,
    into: &mut [u8],
) -> Result<(), Fault> {
    let outside = Fault::Contradiction("a member is read beyond its end");
    if offset.checked_add(into.len() as u64).is_none_or(|end| end > member.size) {
        return Err(outside);
    }
    let (mut at, mut rest) = (offset, into);
    // Each run's bytes of the member begin where those of the previous run end.
    let mut begins = 0u64;
    for run in member.runs.as_slice() {
        let length = u64::from(run.pages) * PAGE as u64;
        if !rest.is_empty() && at < begins + length {
            let inside = at - begins;
            let part = (length - inside).min(rest.len() as u64) as usize;
            let (now, later) = core::mem::take(&mut rest).split_at_mut(part);
            fill(&pdse.read, u64::from(run.first) * PAGE as u64 + inside, now)?;
            at += part as u64;
            rest = later;
        }
        begins += length;
    }
    if rest.is_empty() { Ok(()) } else { Err(outside) }
}

/// The count for reading a range of a member's pages: by the article's count a channel program for each page, by fetch's
/// count one for each run.
#[must_use]
pub fn load_counts(member: &Member, range: Range<u32>) -> Counts {
    let mut counts = Counts::default();
    let (mut begins, mut track) = (0, None);
    for run in member.runs.as_slice() {
        let (from, until) = (range.start.max(begins), range.end.min(begins.saturating_add(run.pages)));
        if from < until {
            let read = until - from;
            counts.programs_by_article += u64::from(read);
            counts.programs_by_fetch += 1;
            counts.blocks += u64::from(read);
            let first = run.first.saturating_add(from - begins);
            let tracks = first / PAGES_PER_TRACK..=first.saturating_add(read - 1) / PAGES_PER_TRACK;
            counts.tracks +=
                u64::from(tracks.end() - tracks.start()) + u64::from(track != Some(*tracks.start()));
            track = Some(*tracks.end());
        }
        begins = begins.saturating_add(run.pages);
    }
    counts
}

/// The sums of members' pages, for members that have them; checks single pages. A value serves one generation of a library
/// only: it does not read its page of sums again if another generation has that number.
#[derive(Debug)]
pub struct PageSums {
    /// The page of sums that was read last, and its number in the file.
    page: [u8; PAGE],
    read: Option<u32>,
}

impl Default for PageSums {
    fn default() -> PageSums {
        PageSums { page: [0; PAGE], read: None }
    }
}

impl PageSums {
    /// Is this the page `number` of the member? A page after the last whole one is padded with zeros. Also true if the member
    /// has no such sums: then only the sum over the whole member can tell.
    ///
    /// # Errors
    /// [`Fault::DamagedMember`] if it is not; sums that are damaged or cannot be read.
    pub fn check<R: ReadAt>(
        &mut self,
        pdse: &Pdse<R>,
        member: &Member,
        number: u32,
        bytes: &[u8; PAGE],
    ) -> Result<(), Fault> {
        if table_pages(pages(member.size)) == 0 {
            return Ok(());
        }
        let place =
            member.runs.page(number).ok_or(Fault::Contradiction("a member is read beyond its end"))?;
        let table = member.table.saturating_add(number / TABLE_SUMS);
        if self.read != Some(table) {
            self.read = None;
            fill(&pdse.read, u64::from(table) * PAGE as u64, &mut self.page)?;
            if !is_sealed_table(&self.page, pdse.superblock.seed(table)) {
                return Err(Fault::DamagedMember { track: table, record: 0 });
            }
            self.read = Some(table);
        }
        let right = u64_at(&self.page, (number % TABLE_SUMS) as usize * 8);
        if sum(pdse.superblock.seed(place), bytes) == right {
            Ok(())
        } else {
            Err(Fault::DamagedMember { track: place, record: 0 })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::value::{Run, Runs};
    use super::*;
    use crate::attribute::{Attributes, FetchOptions};
    use crate::name::Name;
    use crate::symbol::Symbol;

    #[test]
    fn counts_of_a_load() {
        let runs = Runs::new(&[Run { first: 12, pages: 14 }, Run { first: 26, pages: 2 }]).expect("few");
        let member = Member {
            name: Name::new(b"M").expect("a name"),
            attributes: Attributes::default(),
            fetch: FetchOptions::Default,
            token: 0,
            size: 16 * 4096,
            loadable: 16 * 4096,
            storage: 0,
            entry_point: None,
            symbol: Symbol::NONE,
            sum: 0,
            modified: 0,
            table: 0,
            runs,
        };
        let counts = |range| {
            let counts = load_counts(&member, range);
            (counts.programs_by_article, counts.programs_by_fetch, counts.blocks, counts.tracks)
        };
        assert_eq!(counts(0..16), (16, 2, 16, 2));
        assert_eq!(counts(0..12), (12, 1, 12, 1));
        assert_eq!(counts(11..13), (2, 1, 2, 2));
        assert_eq!(counts(14..99), (2, 1, 2, 1));
        assert_eq!(counts(16..99), (0, 0, 0, 0));
    }
}
