//! The writable pages of a PDSE, found from the tree, not from a list that could be wrong.
//!
//! ```text
//! 0 ......................................... pages     end: where the file grows
//!   |tree, members, pending: reached|  free  |
//!                                    minus what came free while older readers are there
//! ```
//!
//! Pages are taken first-fit, in one run if there is one, so that a member is mapped in one piece. If the file may not
//! grow, up to eight pieces are taken.
//!
//! Invariant: a page in the newest superblock's tree, or one that a reader may use, is in no free run; a page is handed out
//! once.

use std::collections::BTreeMap;
use std::ops::Range;

use underbar_partitioned::pdse::{FIRST_PAGE, MOST_RUNS, Run};

use crate::error::{Error, Result};

/// The free pages.
#[derive(Debug)]
pub struct Space {
    /// First page and length of each free run; no two touch.
    free: BTreeMap<u32, u32>,
    /// Pages of the file; it may grow beyond them.
    end: u32,
    /// The limit of the file's pages.
    limit: u32,
    /// No run below this page has `hint_pages` or more: a search for that many begins here.
    hint: u32,
    hint_pages: u32,
}

/// Pages with their marks in one word.
const WORD: u32 = u64::BITS;

/// The pages in use, during the walk of the tree.
#[derive(Debug)]
pub struct Reached {
    bits: Vec<u64>,
    pages: u32,
}

impl Reached {
    /// For a file of this many pages: the superblocks.
    pub fn new(pages: u32) -> Reached {
        let mut reached = Reached { bits: vec![0; pages.div_ceil(WORD) as usize], pages };
        reached.mark(Run { first: 0, pages: FIRST_PAGE.min(pages) });
        reached
    }

    /// Marks a run; false if one of its pages was marked before or is outside of the file: two uses of one page.
    pub fn mark(&mut self, run: Run) -> bool {
        let is_inside = run.first.checked_add(run.pages).is_some_and(|end| end <= self.pages);
        let mut is_new = is_inside;
        for (word, mask) in words(run.first..run.first.saturating_add(run.pages).min(self.pages)) {
            is_new &= self.bits[word] & mask == 0;
            self.bits[word] |= mask;
        }
        is_new
    }

    /// Whether one of these is marked.
    pub fn has_any(&self, pages: Range<u32>) -> bool {
        self.next(true, pages).is_some()
    }

    /// Pages that are marked.
    pub fn count(&self) -> u32 {
        self.bits.iter().map(|word| word.count_ones()).sum()
    }

    /// Runs of unmarked pages.
    pub fn free(&self) -> BTreeMap<u32, u32> {
        let mut free = BTreeMap::new();
        let mut at = 0;
        while let Some(first) = self.next(false, at..self.pages) {
            at = self.next(true, first..self.pages).unwrap_or(self.pages);
            free.insert(first, at - first);
        }
        free
    }

    /// The first of these that is marked, or that is not.
    fn next(&self, is_marked: bool, pages: Range<u32>) -> Option<u32> {
        words(pages.start..pages.end.min(self.pages)).find_map(|(word, mask)| {
            let bits = if is_marked { self.bits[word] } else { !self.bits[word] } & mask;
            (bits != 0).then(|| word as u32 * WORD + bits.trailing_zeros())
        })
    }
}

/// The words with the bits of pages, each with those bits. A file may claim four thousand million pages: one by one,
/// they would take too long.
fn words(pages: Range<u32>) -> impl Iterator<Item = (usize, u64)> {
    let end = if pages.is_empty() { 0 } else { pages.end.div_ceil(WORD) };
    (pages.start / WORD..end).map(move |word| {
        let begins = word * WORD;
        let (from, until) = (pages.start.saturating_sub(begins), (pages.end - begins).min(WORD));
        (word as usize, u64::MAX >> (WORD - (until - from)) << from)
    })
}

impl Space {
    /// All unmarked pages. A `limit` of 0 means only that of page numbers.
    pub fn new(reached: &Reached, limit: u32) -> Space {
        let limit = if limit == 0 { u32::MAX } else { limit };
        Space { free: reached.free(), end: reached.pages, limit, hint: 0, hint_pages: u32::MAX }
    }

    /// No page of the file: only its growth.
    pub fn only_growth(pages: u32, limit: u32) -> Space {
        let limit = if limit == 0 { u32::MAX } else { limit };
        Space { free: BTreeMap::new(), end: pages, limit, hint: 0, hint_pages: u32::MAX }
    }

    /// Removes pages that may not be used now.
    pub fn withhold(&mut self, run: Run) {
        let end = u64::from(run.first) + u64::from(run.pages);
        let touched: Vec<(u32, u32)> = self
            .free
            .range(..u32::try_from(end).unwrap_or(u32::MAX))
            .rev()
            .map(|(&first, &pages)| (first, pages))
            .take_while(|&(first, pages)| u64::from(first) + u64::from(pages) > u64::from(run.first))
            .collect();
        for (first, pages) in touched {
            self.free.remove(&first);
            if first < run.first {
                self.free.insert(first, run.first - first);
            }
            let behind = u64::from(first) + u64::from(pages);
            if behind > end {
                self.free.insert(end as u32, (behind - end) as u32);
            }
        }
    }

    /// Pages of the file, with its growth.
    pub fn end(&self) -> u32 {
        self.end
    }

    /// A run of pages.
    ///
    /// # Errors
    /// Neither a free run nor the limit has room.
    pub fn take_run(&mut self, pages: u32) -> Result<Run> {
        let from = if pages >= self.hint_pages { self.hint } else { 0 };
        let found = self
            .free
            .range(from..)
            .find(|&(_, &length)| length >= pages)
            .map(|(&first, &length)| (first, length));
        if let Some((first, length)) = found {
            self.free.remove(&first);
            if length > pages {
                self.free.insert(first + pages, length - pages);
            }
            // The part before the run was searched in vain for this many pages.
            if pages <= self.hint_pages || from == 0 {
                (self.hint, self.hint_pages) = (first, pages);
            }
            return Ok(Run { first, pages });
        }
        // A free run at the end of the file grows with it.
        let last = self.free.last_key_value().map(|(&first, &length)| (first, length));
        let first =
            last.filter(|(first, length)| first + length == self.end).map_or(self.end, |(first, _)| first);
        let end = first.checked_add(pages).filter(|&end| end <= self.limit);
        let end = end.ok_or(Error::Full("no run of free pages is long enough, and the file may not grow"))?;
        self.free.remove(&first);
        self.end = end;
        Ok(Run { first, pages })
    }

    /// At least one page and at most this many, in one run:
    /// free ones as long as there are any, then growth of the file.
    ///
    /// # Errors
    /// None is free, and the limit has no room.
    pub fn take_some(&mut self, pages: u32) -> Result<Run> {
        match self.free.first_key_value() {
            Some((&first, &length)) => {
                let run = Run { first, pages: pages.min(length) };
                self.withhold(run);
                Ok(run)
            }
            None => self.take_run(pages).or_else(|_| self.take_run(1)),
        }
    }

    /// Pages of growth that stay free: the first of them.
    ///
    /// # Errors
    /// The limit has no room.
    pub fn grow(&mut self, pages: u32) -> Result<Run> {
        let first = self.end;
        let end = first.checked_add(pages).filter(|&end| end <= self.limit);
        self.end = end.ok_or(Error::Full("the remaining pages are reserved for deleting members"))?;
        Ok(Run { first, pages })
    }

    /// Pages in one run, or, if the file may not grow, in up to eight.
    ///
    /// # Errors
    /// There are not enough.
    pub fn take(&mut self, pages: u32) -> Result<Vec<Run>> {
        if pages == 0 {
            return Ok(Vec::new());
        }
        match self.take_run(pages) {
            Ok(run) => return Ok(vec![run]),
            Err(error)
                if self.free.values().map(|&length| u64::from(length)).sum::<u64>() < u64::from(pages) =>
            {
                return Err(error);
            }
            Err(_) => {}
        }
        // The longest ones, so that eight hold the most; then in the order of the file.
        let mut longest: Vec<Run> = self.free.iter().map(|(&first, &pages)| Run { first, pages }).collect();
        longest.sort_by_key(|run| std::cmp::Reverse(run.pages));
        longest.truncate(MOST_RUNS);
        let (mut taken, mut rest) = (Vec::new(), pages);
        for run in longest {
            let part = run.pages.min(rest);
            if part > 0 {
                taken.push(Run { first: run.first, pages: part });
                rest -= part;
            }
        }
        if rest > 0 {
            return Err(Error::Full("its free pages are in too many pieces; compress joins them"));
        }
        taken.iter().for_each(|&run| self.withhold(run));
        taken.sort_by_key(|run| run.first);
        Ok(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space(used: &[(u32, u32)], pages: u32, limit: u32) -> Space {
        let mut reached = Reached::new(pages);
        for &(first, pages) in used {
            assert!(reached.mark(Run { first, pages }));
        }
        Space::new(&reached, limit)
    }

    #[test]
    fn first_fit_then_growth() {
        let mut space = space(&[(2, 3), (10, 1), (20, 5)], 30, 0);
        let mut first = |pages| space.take_run(pages).map(|run| run.first).expect("room");
        assert_eq!([first(6), first(4), first(2), first(1), first(2)], [11, 5, 17, 9, 25]);
        assert_eq!([first(9), first(1)], [27, 19], "the end of the file grows");
        assert_eq!(space.end(), 36);
    }

    #[test]
    fn where_it_may_not_grow_it_takes_pieces() {
        let mut space = space(&[(2, 3), (10, 1), (20, 5)], 30, 30);
        assert!(space.take(20).is_err());
        let runs = space.take(16).expect("nineteen are free");
        assert_eq!(
            runs.iter().map(|run| (run.first, run.pages)).collect::<Vec<_>>(),
            [(5, 5), (11, 9), (25, 2)]
        );
        assert_eq!(space.take(3).expect("the rest"), [Run { first: 27, pages: 3 }]);
        assert!(space.take(1).is_err());
        assert_eq!(space.take(0).expect("nothing"), []);
    }

    #[test]
    fn what_is_withheld_is_not_handed_out() {
        let mut space = space(&[], 40, 40);
        for (first, pages) in [(5, 5), (0, 3), (38, 100), (20, 1), (20, 2)] {
            space.withhold(Run { first, pages });
        }
        assert_eq!(space.free, BTreeMap::from([(3, 2), (10, 10), (22, 16)]));
    }

    #[test]
    fn two_things_in_one_place_are_seen() {
        let mut reached = Reached::new(100);
        assert!(reached.mark(Run { first: 60, pages: 10 }));
        assert!(!reached.mark(Run { first: 69, pages: 1 }));
        assert!(!reached.mark(Run { first: 1, pages: 1 }));
        assert!(!reached.mark(Run { first: 99, pages: 2 }));
        assert!(!reached.mark(Run { first: u32::MAX, pages: u32::MAX }));
        assert_eq!(reached.count(), 13);
    }

    /// Marks are in words of 64: runs within one, over several, up to and from their borders.
    #[test]
    fn marks_are_those_of_the_pages_one_by_one() {
        let runs =
            [(64, 64), (3, 1), (10, 54), (129, 0), (190, 3), (300, 150), (511, 1), (512, 1), (600, 100)];
        let (mut reached, mut marked) = (Reached::new(640), vec![false; 640]);
        marked[..FIRST_PAGE as usize].fill(true);
        for (first, pages) in runs {
            let places = (first as usize)..((first + pages) as usize).min(640);
            let is_new = first + pages <= 640 && marked[places.clone()].iter().all(|is_marked| !is_marked);
            assert_eq!(reached.has_any(first..first + pages), marked[places.clone()].contains(&true));
            assert_eq!(reached.mark(Run { first, pages }), is_new, "{first} {pages}");
            marked[places].fill(true);
            assert_eq!(reached.count() as usize, marked.iter().filter(|is_marked| **is_marked).count());
        }
        let free: Vec<u32> = reached.free().iter().flat_map(|(first, pages)| *first..first + pages).collect();
        assert_eq!(free, (0..640).filter(|page| !marked[*page as usize]).collect::<Vec<u32>>());
    }

    #[test]
    fn as_many_pages_as_a_number_can_count() {
        let mut reached = Reached::new(u32::MAX);
        assert!(reached.mark(Run { first: 9, pages: u32::MAX - 9 }));
        assert_eq!(reached.free(), BTreeMap::from([(2, 7)]));
        assert_eq!(reached.count(), u32::MAX - 7);
    }
}
