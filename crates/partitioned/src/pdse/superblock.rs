//! The superblock of a PDSE: encoding to and decoding from the file.
//!
//! Invariant: decode(encode(x)) == x. Of two whole superblocks, the one with the higher generation counts.

use crate::attribute::PAGE;
use crate::binder::{LARGEST_BLOCK_SIZE, SMALLEST_BLOCK_SIZE};
use crate::bytes::{put, take, u8_at, u32_at, u64_at};
use crate::read::{Fault, PDS_BEGINS, PDSE_BEGINS, ReadAt, VERSION, fill, first_page};
use crate::sum::sum;

/// Where its sum lies.
const SUM: usize = PAGE - 8;
/// End of its figures; zeros follow up to the sum.
const FIGURES: usize = 96;
/// The parts that are equal in all superblocks of a library: its first bytes and identity, padding, block size, limit and date
/// of creation.
const UNCHANGED: [(usize, usize); 5] = [(0, 16), (29, 32), (52, 56), (72, 88), (FIGURES, SUM)];
/// The first page after the superblocks.
pub const FIRST_PAGE: u32 = 2;
/// Generations stay below this, and so the bytes of their locks (`coordination`) below what a lock can name.
pub const MOST_GENERATIONS: u64 = 1 << 61;
/// Most levels of a tree.
pub const MOST_LEVELS: u8 = 8;

/// The state of the superblock page that does not count.
///
/// A writer that is cut off in its last write leaves that page as a mixture, by sectors, of the previous superblock and the
/// new one. Both have equal beginnings and ends, so bytes there that neither can have held do not come from a writer. If
/// flipping one bit back makes the page's sum of 64 bits correct again, the page was whole once: its change was completed.
/// The two cases must not be confused: in the first, the change did not happen; in the second, a change would be lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Other {
    /// It is whole.
    Whole,
    /// Nobody has written it yet: the library is new.
    NotWritten,
    /// It may come from a writer that was cut off: then its change has not happened.
    CutShort,
    /// It has decayed, and is older than the one that counts: nothing is lost.
    OlderDamaged,
    /// It has decayed, and may be the newest: the superblock that counts may be the state before the last change.
    Damaged,
}

/// The content of a superblock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Superblock {
    /// A random number, drawn when the library is created.
    pub identity: u64,
    /// Rises by one with each change.
    pub generation: u64,
    /// The page of the tree's root; 0 while there is none.
    pub root: u32,
    /// Levels of the tree; 0 while there is none.
    pub levels: u8,
    /// Pages of the file, including the superblocks.
    pub pages: u32,
    /// Of these: nodes of the tree.
    pub directory_pages: u32,
    /// Pages that hold nothing, or no longer hold anything.
    pub free_pages: u32,
    /// Members, without aliases.
    pub members: u32,
    /// Aliases.
    pub aliases: u32,
    /// The block size of its label. It has no effect, as on the mainframe.
    pub block_size: u32,
    /// First of the pages that list the pages freed lately.
    pub pending: u32,
    /// Number of those pages.
    pub pending_pages: u32,
    /// Members added so far, the source of tokens.
    pub added: u64,
    /// Most pages that the file may have; 0 for no limit.
    pub space: u32,
    /// Seconds since 1970.
    pub created: u64,
    /// Seconds since 1970.
    pub modified: u64,
}

impl Superblock {
    /// Encodes the superblock for the file.
    #[must_use]
    pub fn encode(&self) -> [u8; PAGE] {
        let mut page = [0; PAGE];
        put(&mut page, 0, &PDSE_BEGINS);
        put(&mut page, 7, &[VERSION]);
        put(&mut page, 8, &self.identity.to_le_bytes());
        put(&mut page, 16, &self.generation.to_le_bytes());
        put(&mut page, 24, &self.root.to_le_bytes());
        put(&mut page, 28, &[self.levels]);
        put(&mut page, 32, &self.pages.to_le_bytes());
        put(&mut page, 36, &self.directory_pages.to_le_bytes());
        put(&mut page, 40, &self.free_pages.to_le_bytes());
        put(&mut page, 44, &self.members.to_le_bytes());
        put(&mut page, 48, &self.aliases.to_le_bytes());
        put(&mut page, 52, &self.block_size.to_le_bytes());
        put(&mut page, 56, &self.pending.to_le_bytes());
        put(&mut page, 60, &self.pending_pages.to_le_bytes());
        put(&mut page, 64, &self.added.to_le_bytes());
        put(&mut page, 72, &self.space.to_le_bytes());
        put(&mut page, 80, &self.created.to_le_bytes());
        put(&mut page, 88, &self.modified.to_le_bytes());
        let sum = sum(0, &page[..SUM]);
        put(&mut page, SUM, &sum.to_le_bytes());
        page
    }

    /// Decodes a superblock from the file.
    ///
    /// # Errors
    /// Another file, another version, damage, or figures that no PDSE has.
    pub fn decode(page: &[u8; PAGE]) -> Result<Superblock, Fault> {
        match (take::<7>(page, 0), u8_at(page, 7)) {
            (PDSE_BEGINS, VERSION) => {}
            (PDSE_BEGINS, version) => return Err(Fault::Version(version)),
            (PDS_BEGINS, _) => return Err(Fault::OtherOrganisation),
            _ => return Err(Fault::NotALibrary),
        }
        if u64_at(page, SUM) != sum(0, &page[..SUM]) {
            return Err(Fault::DamagedHeader);
        }
        let superblock = Superblock {
            identity: u64_at(page, 8),
            generation: u64_at(page, 16),
            root: u32_at(page, 24),
            levels: u8_at(page, 28),
            pages: u32_at(page, 32),
            directory_pages: u32_at(page, 36),
            free_pages: u32_at(page, 40),
            members: u32_at(page, 44),
            aliases: u32_at(page, 48),
            block_size: u32_at(page, 52),
            pending: u32_at(page, 56),
            pending_pages: u32_at(page, 60),
            added: u64_at(page, 64),
            space: u32_at(page, 72),
            created: u64_at(page, 80),
            modified: u64_at(page, 88),
        };
        let is_inside = |first: u32, number: u32| {
            number == 0
                || (first >= FIRST_PAGE
                    && first.checked_add(number).is_some_and(|end| end <= superblock.pages))
        };
        let is_sound = superblock.pages >= FIRST_PAGE
            && superblock.levels <= MOST_LEVELS
            && is_inside(superblock.root, u32::from(superblock.levels > 0))
            && is_inside(superblock.pending, superblock.pending_pages)
            && superblock.generation < MOST_GENERATIONS
            && (SMALLEST_BLOCK_SIZE..=LARGEST_BLOCK_SIZE).contains(&superblock.block_size);
        if is_sound { Ok(superblock) } else { Err(Fault::DamagedHeader) }
    }

    /// The newer of the whole superblocks.
    ///
    /// # Errors
    /// Neither is.
    pub fn newest<R: ReadAt + ?Sized>(read: &R) -> Result<Superblock, Fault> {
        let mut page = [0; PAGE];
        let first = first_page(read, &mut page).and_then(|()| Superblock::decode(&page));
        let second = fill(read, PAGE as u64, &mut page).and_then(|()| Superblock::decode(&page));
        match (first, second) {
            (Ok(first), Ok(second)) if first.generation < second.generation => Ok(second),
            (Ok(first), _) => Ok(first),
            (_, Ok(second)) => Ok(second),
            // If the first page belongs to another kind of file, so does the whole file, whatever the second page holds.
            (Err(Fault::NotALibrary), Err(Fault::DamagedHeader)) => Err(Fault::DamagedHeader),
            (Err(fault), _) => Err(fault),
        }
    }

    /// The state of the other superblock page, if this superblock is the one that counts.
    pub fn other<R: ReadAt + ?Sized>(&self, read: &R) -> Other {
        let mut page = [0; PAGE];
        let at = u64::from(Superblock::turn(self.generation + 1)) * PAGE as u64;
        if fill(read, at, &mut page).is_err() {
            return if self.generation == 0 { Other::NotWritten } else { Other::Damaged };
        }
        if Superblock::decode(&page).is_ok() {
            return Other::Whole;
        }
        if self.generation == 0 && page.iter().all(|byte| *byte == 0) {
            return Other::NotWritten;
        }
        match turned_back(&mut page) {
            Some(other) if other.identity == self.identity && other.generation < self.generation => {
                return Other::OlderDamaged;
            }
            Some(_) => return Other::Damaged,
            None => {}
        }
        let mine = self.encode();
        let is_one_of_ours = UNCHANGED.iter().all(|(from, to)| page.get(*from..*to) == mine.get(*from..*to));
        if is_one_of_ours { Other::CutShort } else { Other::Damaged }
    }

    /// The page that the superblock of a generation is written to.
    #[must_use]
    pub fn turn(generation: u64) -> u32 {
        (generation % 2) as u32
    }

    /// The seed of a page's sum.
    #[must_use]
    pub fn seed(&self, page: u32) -> u64 {
        self.identity ^ u64::from(page)
    }
}

/// The superblock before one of its bits was flipped; None if the damage is of another kind.
fn turned_back(page: &mut [u8; PAGE]) -> Option<Superblock> {
    if (u64_at(page, SUM) ^ sum(0, &page[..SUM])).count_ones() == 1 {
        let right = sum(0, &page[..SUM]);
        put(page, SUM, &right.to_le_bytes());
        return Superblock::decode(page).ok();
    }
    // More than one nonzero byte after the figures is more than one bit.
    let places = page[FIGURES..SUM].iter().position(|byte| *byte != 0).map(|at| at + FIGURES);
    for at in (0..FIGURES).chain(places) {
        for bit in 0..8 {
            page[at] ^= 1 << bit;
            if u64_at(page, SUM) == sum(0, &page[..SUM]) {
                return Superblock::decode(page).ok();
            }
            page[at] ^= 1 << bit;
        }
    }
    None
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub fn superblock() -> Superblock {
        Superblock {
            identity: 77,
            generation: 5,
            root: 9,
            levels: 1,
            pages: 100,
            directory_pages: 1,
            free_pages: 3,
            members: 2,
            aliases: 1,
            block_size: 32_760,
            pending: 12,
            pending_pages: 1,
            added: 4,
            space: 0,
            created: 1,
            modified: 2,
        }
    }

    #[test]
    fn each_flipped_bit_of_a_superblock_is_seen() {
        let right = superblock().encode();
        assert_eq!(Superblock::decode(&right), Ok(superblock()));
        for bit in 0..PAGE * 8 {
            let mut page = right;
            page[bit / 8] ^= 1 << (bit % 8);
            assert!(Superblock::decode(&page).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn the_newer_whole_superblock_counts() {
        let (old, new) = (superblock(), Superblock { generation: 6, ..superblock() });
        let mut file = [old.encode(), new.encode()].concat();
        assert_eq!(Superblock::newest(&file[..]), Ok(new));
        file[4096 + 100] ^= 1;
        assert_eq!(Superblock::newest(&file[..]), Ok(old));
        file[100] ^= 1;
        assert_eq!(Superblock::newest(&file[..]), Err(Fault::DamagedHeader));
        assert_eq!(Superblock::newest(&file[..4096]), Err(Fault::DamagedHeader));
        assert_eq!(Superblock::newest(&[0; 8192][..]), Err(Fault::NotALibrary));
        assert_eq!(Superblock::newest(&[][..]), Err(Fault::NotALibrary));
        let whole = superblock().encode();
        assert_eq!(Superblock::newest(&whole[..4000]), Err(Fault::Cut { offset: 0, length: 4096 }));
        let older = Superblock { generation: 1, ..superblock() };
        assert_eq!(Superblock::newest(&older.encode()[..]), Ok(older), "the first alone");
    }

    #[test]
    fn a_label_that_decayed_is_told_from_one_that_was_cut_short() {
        let [before, now, next] =
            [4, 5, 6].map(|generation| Superblock { generation, added: generation, ..superblock() });
        let other = |page: &[u8]| now.other(&[page, &now.encode()].concat()[..]);
        assert_eq!(other(&before.encode()), Other::Whole);
        for bit in (0..FIGURES * 8).chain([3000, 20_000, SUM * 8, PAGE * 8 - 1]) {
            for (label, is) in [(before, Other::OlderDamaged), (next, Other::Damaged)] {
                let mut page = label.encode();
                page[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(other(&page), is, "bit {bit}");
            }
        }
        // Any sectors of the old and of the new superblock: the sum comes from one, the figures from the other.
        for (first, last) in [(before, next), (next, before)] {
            let page = [&first.encode()[..512], &last.encode()[512..]].concat();
            assert_eq!(other(&page), Other::CutShort);
        }
        assert_eq!(other(&[0; PAGE]), Other::Damaged, "written since, and zeros now");
        let new = Superblock { generation: 0, ..superblock() };
        assert_eq!(new.other(&new.encode()[..]), Other::NotWritten);
        assert_eq!(new.other(&[new.encode(), [0; PAGE]].concat()[..]), Other::NotWritten);
    }
}
