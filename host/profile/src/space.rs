//! The code mappings of each process.
//!
//! ```text
//! Mapped    replaces earlier ones       Executed  empties     Forked  copies the parent's, shared until it changes
//! ```
//!
//! Invariant: the mappings of a process do not overlap. Unmapping is not reported: a mapping lasts until another
//! takes its place.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

/// A file, by its number in the caller's list.
pub type Module = u32;

#[derive(Clone, Copy, Debug)]
struct Mapping {
    end: u64,
    module: Module,
    /// Offset in the file of the mapping's first byte.
    offset: u64,
}

type Space = BTreeMap<u64, Mapping>;

/// All processes.
#[derive(Debug, Default)]
pub struct Spaces {
    of: HashMap<u32, Rc<Space>>,
}

impl Spaces {
    /// Code was mapped.
    pub fn map(&mut self, process: u32, start: u64, length: u64, module: Module, offset: u64) {
        let end = start.saturating_add(length);
        let space = Rc::make_mut(self.of.entry(process).or_default());
        // A mapping that begins before the end and reaches beyond the start is cut; its ends stay.
        let below: Vec<u64> =
            space.range(..end).rev().take_while(|(_, old)| old.end > start).map(|(at, _)| *at).collect();
        for at in below {
            let Some(old) = space.remove(&at) else { continue };
            if at < start {
                space.insert(at, Mapping { end: start, ..old });
            }
            if old.end > end {
                space.insert(end, Mapping { offset: old.offset.wrapping_add(end - at), ..old });
            }
        }
        if start < end {
            space.insert(start, Mapping { end, module, offset });
        }
    }

    /// Another program: nothing is mapped.
    pub fn clear(&mut self, process: u32) {
        self.of.insert(process, Rc::default());
    }

    /// A child has its parent's mappings.
    pub fn fork(&mut self, process: u32, parent: u32) {
        let space = self.of.get(&parent).cloned().unwrap_or_default();
        self.of.insert(process, space);
    }

    /// The module with the address, and the offset in it.
    #[must_use]
    pub fn find(&self, process: u32, address: u64) -> Option<(Module, u64)> {
        let (start, mapping) = self.of.get(&process)?.range(..=address).next_back()?;
        (address < mapping.end).then(|| (mapping.module, mapping.offset.wrapping_add(address - start)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_mapping_replaces_what_lay_there() {
        let mut spaces = Spaces::default();
        spaces.map(1, 100, 100, 0, 1_000);
        spaces.map(1, 300, 100, 1, 0);
        spaces.map(1, 120, 20, 2, 50);
        for (address, found) in [
            (99, None),
            (100, Some((0, 1_000))),
            (119, Some((0, 1_019))),
            (120, Some((2, 50))),
            (139, Some((2, 69))),
            (140, Some((0, 1_040))),
            (199, Some((0, 1_099))),
            (200, None),
            (350, Some((1, 50))),
        ] {
            assert_eq!(spaces.find(1, address), found, "{address}");
        }
        spaces.map(1, 0, u64::MAX, 3, 0);
        assert_eq!(spaces.find(1, 130), Some((3, 130)));
        spaces.map(1, u64::MAX - 1, u64::MAX, 4, 7);
        assert_eq!(spaces.find(1, u64::MAX - 1), Some((4, 7)));
        spaces.map(1, 5, 0, 5, 0);
        assert_eq!(spaces.find(1, 5), Some((3, 5)));
    }

    #[test]
    fn children_have_what_their_parent_had_when_they_were_born() {
        let mut spaces = Spaces::default();
        spaces.map(1, 100, 100, 0, 0);
        spaces.fork(2, 1);
        spaces.map(1, 100, 100, 1, 0);
        spaces.map(2, 300, 100, 2, 0);
        assert_eq!((spaces.find(1, 150), spaces.find(2, 150)), (Some((1, 50)), Some((0, 50))));
        assert_eq!((spaces.find(1, 300), spaces.find(2, 300)), (None, Some((2, 0))));
        spaces.clear(2);
        assert_eq!((spaces.find(2, 150), spaces.find(3, 150)), (None, None));
    }
}
