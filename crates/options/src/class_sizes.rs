//! The sizes of the available lists of a class of ECBs, and the sets of classes that AVL names.
//!
//! ```text
//! AVL(,32,64)         the slot of AVL    the set of each class without one
//! AVL(SSL,48,512)     ClassSets          up to 12 sets, each with the name of its class and its source
//! ```
//!
//! Invariant: the sizes of a set are multiples of 16, ascending, from [`LEAST_LIST`] to [`LARGEST_LIST`] bytes.
//! Not here: how a set is read (`apply`) and written (`value`, `report`), and the views of the run-time (`ecb`).

use crate::where_set::WhereSet;

/// Available lists of a class, at most.
pub const AVAILABLE_LISTS: usize = 5;
/// Classes with sizes of their own, at most.
pub const CLASSES_WITH_SIZES: usize = 12;
/// Bytes of the name of a class, at most.
pub const LONGEST_CLASS: usize = 32;
/// The smallest size of a list, in bytes.
pub const LEAST_LIST: u64 = 32;
/// The largest size of a list, in bytes.
pub const LARGEST_LIST: u64 = 64 << 10;
/// Sizes of lists are multiples of this.
pub const LIST_UNIT: u64 = 16;

/// The default sizes of the lists of all classes.
pub const DEFAULT_LISTS: ListSizes = ListSizes::of([32, 64, 128, 256, 512]);

/// The sizes of the available lists of one class, ascending.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ListSizes {
    /// In units of 16 bytes; zeros at the end.
    units: [u16; AVAILABLE_LISTS],
}

impl ListSizes {
    /// No list.
    pub const NONE: Self = Self { units: [0; AVAILABLE_LISTS] };

    /// These sizes in bytes; zeros at the end.
    pub(crate) const fn of(bytes: [u16; AVAILABLE_LISTS]) -> Self {
        let mut sizes = Self::NONE;
        let mut list = 0;
        while list < AVAILABLE_LISTS {
            sizes.units[list] = bytes[list] / LIST_UNIT as u16;
            list += 1;
        }
        sizes
    }

    /// The sizes in bytes; zeros at the end.
    #[must_use]
    pub fn bytes(&self) -> [u32; AVAILABLE_LISTS] {
        self.units.map(|units| u32::from(units) * LIST_UNIT as u32)
    }

    /// The last size; 0 if there is none.
    pub(crate) fn last(&self) -> u64 {
        u64::from(self.bytes().into_iter().max().unwrap_or(0))
    }

    /// Adds a size. False if there are as many as can be.
    pub(crate) fn add(&mut self, bytes: u64) -> bool {
        let free = self.units.iter_mut().find(|units| **units == 0);
        match (free, u16::try_from(bytes / LIST_UNIT)) {
            (Some(free), Ok(units)) => {
                *free = units;
                true
            }
            _ => false,
        }
    }
}

/// The set of one class.
#[derive(Clone, Copy, Debug)]
pub struct ClassSizes {
    name: [u8; LONGEST_CLASS],
    length: u8,
    source: WhereSet,
    sizes: ListSizes,
}

impl ClassSizes {
    /// The name of the class.
    #[must_use]
    pub fn name(&self) -> &[u8] {
        self.name.get(..usize::from(self.length)).unwrap_or(&[])
    }

    /// The sizes of its lists.
    #[must_use]
    pub fn sizes(&self) -> ListSizes {
        self.sizes
    }

    /// The source that set them last.
    #[must_use]
    pub fn where_set(&self) -> WhereSet {
        self.source
    }
}

/// The sets of classes by name, in the order in which they were given first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClassSets {
    sets: [ClassSizes; CLASSES_WITH_SIZES],
    count: u8,
}

impl ClassSets {
    pub(crate) const NONE: Self = {
        let source = WhereSet::UnderbarDefault;
        let none = ClassSizes { name: [0; LONGEST_CLASS], length: 0, source, sizes: ListSizes::NONE };
        Self { sets: [none; CLASSES_WITH_SIZES], count: 0 }
    };

    pub(crate) fn all(&self) -> &[ClassSizes] {
        self.sets.get(..usize::from(self.count)).unwrap_or(&[])
    }

    pub(crate) fn sizes_of(&self, class: &[u8]) -> Option<ListSizes> {
        self.all().iter().find(|set| set.name() == class).map(|set| set.sizes)
    }

    pub(crate) fn same_values(&self, other: &Self) -> bool {
        let has = |set: &ClassSizes| other.sizes_of(set.name()) == Some(set.sizes);
        self.count == other.count && self.all().iter().all(has)
    }

    /// Replaces the set of a class. False, without any change, if there is no room.
    pub(crate) fn put(&mut self, class: &[u8], sizes: ListSizes, source: WhereSet) -> bool {
        let count = usize::from(self.count);
        let known = self.all().iter().position(|set| set.name() == class);
        let Some(set) = self.sets.get_mut(known.unwrap_or(count)) else { return false };
        let Ok(length @ ..=LONGEST_CLASS_BYTES) = u8::try_from(class.len()) else { return false };
        *set = ClassSizes { name: [0; LONGEST_CLASS], length, source, sizes };
        set.name.iter_mut().zip(class).for_each(|(to, from)| *to = *from);
        self.count += u8::from(known.is_none());
        true
    }
}

const LONGEST_CLASS_BYTES: u8 = LONGEST_CLASS as u8;
