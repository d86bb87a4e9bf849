//! Sizes of available lists of ECBs: what a set may hold.
//!
//! Invariant: the sizes of a set are multiples of 16, ascending, from [`LEAST_LIST`] to [`LARGEST_LIST`] bytes.
//! Not here: the sets of classes (`class_sizes`), and how a set is read (`apply`) and written (`value`).

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

/// The default sizes of the lists of all classes.
pub const DEFAULT_LISTS: ListSizes = ListSizes::of([32, 64, 128, 256, 512]);
