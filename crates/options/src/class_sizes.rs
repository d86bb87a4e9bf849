//! The sets of AVL that have a class, each with its source.
//!
//! Not here: the sizes of a set (`lists`), and the set of all classes without one, which is in the slot of AVL.

use core::fmt::{self, Write};

use crate::lists::{CLASSES_WITH_SIZES, LONGEST_CLASS, ListSizes};
use crate::value::{self, Form};
use crate::where_set::WhereSet;

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

    /// Writes it as an option.
    pub(crate) fn write(&self, form: Form, out: &mut dyn Write) -> fmt::Result {
        out.write_str("AVL(")?;
        value::write_name(self.name(), out)?;
        value::write_lists(&self.sizes, form, out)?;
        out.write_char(')')
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
