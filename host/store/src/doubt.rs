//! A PDSE has two labels, written alternately. This is the one that does not count, if it is not whole.
//!
//! Not here: the reports of it (`Library::doubt`, `verify`, `survey`).

use std::fmt;

use underbar_partitioned::pdse::{Other, Superblock};
use underbar_partitioned::read::ReadAt;

/// A label of a PDSE that is not whole. The other one counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Doubt {
    /// Its page.
    pub page: u32,
    /// Its damage.
    pub other: Other,
    /// The generation of the label that counts.
    pub generation: u64,
}

impl Doubt {
    /// The damage of the label that does not count; None if it is whole, or was never written.
    pub fn of<R: ReadAt + ?Sized>(read: &R, superblock: &Superblock) -> Option<Doubt> {
        let (page, generation) = (Superblock::turn(superblock.generation + 1), superblock.generation);
        match superblock.other(read) {
            Other::Whole | Other::NotWritten => None,
            other => Some(Doubt { page, other, generation }),
        }
    }
}

impl fmt::Display for Doubt {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Doubt { page, generation, .. } = self;
        let what = match self.other {
            Other::CutShort => "cut short or damaged, as by a change that was cut off and has not happened",
            Other::OlderDamaged => "damaged; it was the older one, and nothing is lost",
            _ => "damaged, and may be the newest: the last change may be missing",
        };
        write!(to, "its label in page {page} is {what}; generation {generation} counts")
    }
}
