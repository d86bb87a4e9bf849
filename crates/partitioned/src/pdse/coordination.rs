//! Coordination of the readers and the writer of a PDSE, across any number of processes.
//!
//! One writer at a time holds the lock on byte [`WRITER`] of the file, far beyond its end. A reader never waits: it holds a
//! shared lock on the byte of its generation ([`reader_byte`]). Any number of readers may hold the same byte.
//!
//! ```text
//! reader                                        writer, from generation n to n + 1
//! 1  reads the newest superblock: g             1  takes the writer's lock; makes what is there durable
//! 2  holds the byte of g, shared                2  asks: which is the lowest byte of a reader? m
//! 3  reads the newest superblock again:         3  writes into pages that n does not reach, and that
//!    not g? gives g up, begins again               came free at a generation <= m
//! 4  reads pages; keeps the byte while          4  makes them durable; writes superblock n + 1
//!    it uses any of them, mappings too          5  makes it durable
//! ```
//!
//! Why no page is written that a reader uses: a page that a reader of g needs became free at some h > g. The writer uses it
//! again only if its question (2) showed no byte below h. If the reader held g at that time, the question showed it. If the
//! reader did not hold it yet, superblock h was already there when the reader took its byte (the question is asked by a
//! change that began with n >= h). Its second read (3) therefore showed n >= h, not g, and it never read a page of g.
//!
//! Locks instead of a delay: a reader that is stopped, or keeps a program loaded for a month, is as safe as a fast one. A
//! killed reader holds nothing, since the kernel releases its locks. They are locks of open file descriptions (F_OFD_SETLK),
//! so threads do not share them by accident, and closing another descriptor releases nothing.
//!
//! Why a writer first makes the file durable: the superblock that it builds on may come from a killed predecessor that did
//! not make it durable. Without this step, a power cut could bring back the superblock before that one, whose pages this
//! writer has already reused.
//!
//! Cost: a reader's start takes two reads of two pages and one system call for the lock.
//! Not here: the locks themselves (`underbar_sys::file`, or another implementation of [`Hold`]).

use super::superblock::Superblock;
use crate::read::{Fault, ReadAt};

/// The byte of the writer's lock. Those of readers follow, below what a lock can name: there are so many generations at most.
pub const WRITER: u64 = 1 << 62;

/// The byte that readers of a generation hold.
#[must_use]
pub const fn reader_byte(generation: u64) -> u64 {
    WRITER + 1 + generation
}

/// The generation of a reader's byte; None for any other byte.
#[must_use]
pub const fn generation_of(byte: u64) -> Option<u64> {
    byte.checked_sub(WRITER + 1)
}

/// Holds the bytes of generations.
pub trait Hold {
    /// The reason for a failure.
    type Error;

    /// Holds the byte of a generation, shared.
    ///
    /// # Errors
    /// The system's error. The reader can then still copy the data that it needs, if it checks sums.
    fn hold(&self, generation: u64) -> Result<(), Self::Error>;

    /// Gives it up.
    fn release(&self, generation: u64);
}

/// The reason why a reader could not begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused<E> {
    /// The library.
    Library(Fault),
    /// The lock.
    Lock(E),
}

/// Begins to read: finds the newest superblock and holds its generation. [`Hold::release`] gives it up.
///
/// # Errors
/// A library without a whole superblock, a lock that was refused, or a writer that changes the library faster than it can
/// be read (a thousand times in a row).
pub fn begin<R: ReadAt + ?Sized, H: Hold>(read: &R, hold: &H) -> Result<Superblock, Refused<H::Error>> {
    for _ in 0..1000 {
        let superblock = Superblock::newest(read).map_err(Refused::Library)?;
        hold.hold(superblock.generation).map_err(Refused::Lock)?;
        let again = Superblock::newest(read);
        match again {
            Ok(again) if again.generation == superblock.generation => return Ok(superblock),
            Ok(_) => hold.release(superblock.generation),
            Err(fault) => {
                hold.release(superblock.generation);
                return Err(Refused::Library(fault));
            }
        }
    }
    Err(Refused::Library(Fault::Contradiction("the library changes faster than it can be read")))
}

/// May a page that became free at generation `freed` be used again, if `lowest` is the lowest generation that a reader
/// holds?
#[must_use]
pub fn may_be_used_again(freed: u64, lowest: Option<u64>) -> bool {
    lowest.is_none_or(|lowest| freed <= lowest)
}

/// All interleavings of two readers and a writer, on a library whose tree is one page.
#[cfg(test)]
mod tests {
    use super::may_be_used_again;
    use std::collections::HashSet;
    use std::vec::Vec;

    /// The steps that can be left out, to check that the model finds the fault.
    #[derive(Clone, Copy, PartialEq, Eq)]
    enum Planted {
        Nothing,
        NoSecondLook,
        NoLock,
        WriterAsksNobody,
    }

    #[derive(Clone, PartialEq, Eq, Hash)]
    struct State {
        /// Generation and root of the newest superblock.
        newest: (u64, usize),
        /// For each page: the generation whose root it holds, and the generation at which it became free.
        pages: Vec<(u64, Option<u64>)>,
        readers: [Reader; 2],
        writer: Writer,
    }

    #[derive(Clone, Copy, PartialEq, Eq, Hash)]
    enum Reader {
        Begins { rounds: u8 },
        Saw { rounds: u8, root: (u64, usize) },
        Holds { rounds: u8, root: (u64, usize) },
        Reads { rounds: u8, root: (u64, usize), again: bool },
        Ended,
    }

    #[derive(Clone, Copy, PartialEq, Eq, Hash)]
    enum Writer {
        Begins { commits: u8 },
        Asked { commits: u8, lowest: Option<u64> },
        Wrote { commits: u8, page: usize },
        Ended,
    }

    impl State {
        fn held(&self) -> Option<u64> {
            let held = self.readers.iter().filter_map(|reader| match reader {
                Reader::Holds { root, .. } | Reader::Reads { root, .. } => Some(root.0),
                _ => None,
            });
            held.min()
        }

        /// One step of a reader; an error if it read a page of another generation.
        fn read(&mut self, which: usize, planted: Planted) -> Result<(), ()> {
            let newest = self.newest;
            self.readers[which] = match self.readers[which] {
                Reader::Begins { rounds: 0 } | Reader::Ended => Reader::Ended,
                Reader::Begins { rounds } => Reader::Saw { rounds, root: newest },
                Reader::Saw { rounds, root } => Reader::Holds { rounds, root },
                Reader::Holds { rounds, root } if planted == Planted::NoSecondLook || root == newest => {
                    Reader::Reads { rounds, root, again: true }
                }
                // Given up, begun again; a round less, so that the model ends.
                Reader::Holds { rounds, .. } => Reader::Begins { rounds: rounds - 1 },
                Reader::Reads { rounds, root, again } => {
                    if self.pages[root.1].0 != root.0 {
                        return Err(());
                    }
                    if again {
                        Reader::Reads { rounds, root, again: false }
                    } else {
                        Reader::Begins { rounds: rounds - 1 }
                    }
                }
            };
            Ok(())
        }

        fn write(&mut self, planted: Planted) {
            let (generation, root) = self.newest;
            self.writer = match self.writer {
                Writer::Begins { commits: 0 } | Writer::Ended => Writer::Ended,
                Writer::Begins { commits } => {
                    let asks = planted != Planted::WriterAsksNobody && planted != Planted::NoLock;
                    Writer::Asked { commits, lowest: self.held().filter(|_| asks) }
                }
                Writer::Asked { commits, lowest } => {
                    let is_free = |page: &(u64, Option<u64>)| {
                        page.1.is_some_and(|freed| may_be_used_again(freed, lowest))
                    };
                    let page = self.pages.iter().position(is_free).unwrap_or(self.pages.len());
                    if page == self.pages.len() {
                        self.pages.push((0, None));
                    }
                    self.pages[page] = (generation + 1, None);
                    Writer::Wrote { commits, page }
                }
                Writer::Wrote { commits, page } => {
                    self.newest = (generation + 1, page);
                    self.pages[root].1 = Some(generation + 1);
                    Writer::Begins { commits: commits - 1 }
                }
            };
        }
    }

    /// Does a sequence of steps exist in which a reader reads a page of another generation? Also returns the number of states.
    fn explore(planted: Planted) -> (bool, usize) {
        let begin = State {
            newest: (1, 0),
            pages: Vec::from([(1, None)]),
            readers: [Reader::Begins { rounds: 2 }; 2],
            writer: Writer::Begins { commits: 3 },
        };
        let (mut seen, mut waiting) = (HashSet::new(), Vec::from([begin]));
        while let Some(state) = waiting.pop() {
            if !seen.insert(state.clone()) {
                continue;
            }
            for which in 0..2 {
                let mut next = state.clone();
                if next.read(which, planted).is_err() {
                    return (true, seen.len());
                }
                waiting.push(next);
            }
            let mut next = state;
            next.write(planted);
            waiting.push(next);
        }
        (false, seen.len())
    }

    #[test]
    fn no_order_of_steps_shows_a_reader_another_generations_page() {
        let (is_wrong, states) = explore(Planted::Nothing);
        assert!(!is_wrong && states > 1_000, "{states}");
    }

    #[test]
    fn the_model_finds_what_is_left_out() {
        for planted in [Planted::NoSecondLook, Planted::NoLock, Planted::WriterAsksNobody] {
            assert!(explore(planted).0);
        }
    }

    #[test]
    fn pages_are_used_again_when_nobody_reads() {
        let mut state = State {
            newest: (1, 0),
            pages: Vec::from([(1, None)]),
            readers: [Reader::Ended; 2],
            writer: Writer::Begins { commits: 50 },
        };
        while state.writer != Writer::Ended {
            state.write(Planted::Nothing);
        }
        assert_eq!((state.newest.0, state.pages.len()), (51, 2));
    }
}
