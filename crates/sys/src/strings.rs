//! Arrays of C strings as `execve` takes them, and copies of them in a separate mapping.
//!
//! ```text
//! Strings   slots   | 0 | 1 | null |           in the caller's memory
//!                     |   '--> "b\0"
//!                     '------> "a\0"
//! Packed    mapping | slots of each list | bytes of all strings |
//! ```
//!
//! Not here: their use ([`crate::process`]).

use core::ffi::{CStr, c_char};
use core::marker::PhantomData;

use crate::syscall::{MAP_ANONYMOUS, MAP_PRIVATE, PROT_READ, PROT_WRITE, mmap, munmap};

/// An array of C strings as the kernel wants it: pointers, then a null pointer.
///
/// Invariant: each of the `count` first slots points to a C string that lives for `'a`; the next is null.
#[derive(Clone, Copy)]
pub struct Strings<'a> {
    pub(crate) first: *const *const c_char,
    count: usize,
    strings: PhantomData<&'a CStr>,
}

impl<'a> Strings<'a> {
    /// Fills `slots` with pointers to `strings`. None if there are not more slots than strings.
    pub fn new(
        slots: &'a mut [*const c_char],
        strings: impl IntoIterator<Item = &'a CStr>,
    ) -> Option<Strings<'a>> {
        let mut count = 0;
        for string in strings {
            *slots.get_mut(count)? = string.as_ptr();
            count += 1;
        }
        *slots.get_mut(count)? = core::ptr::null();
        Some(Strings { first: slots.as_mut_ptr(), count, strings: PhantomData })
    }

    /// The number of strings, without the final null pointer.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Is the list empty?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The strings, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &'a CStr> {
        let slots = *self;
        // SAFETY: the invariant.
        (0..self.count).map(move |index| unsafe { CStr::from_ptr(slots.get(index)) })
    }

    /// Puts another string in the place of one, for all copies of this list; does nothing after the last.
    ///
    /// # Safety
    /// The string lives as long as anybody reads a copy of the list.
    pub(crate) unsafe fn replace(&self, index: usize, string: &CStr) {
        if index < self.count {
            // SAFETY: a slot, which was lent or made for writing. Lists are not sent to other threads, and `get` and `iter` keep no
            // reference to a slot.
            unsafe { self.first.cast_mut().add(index).write(string.as_ptr()) };
        }
    }

    /// The start of one of them; null after the last.
    pub(crate) fn get(&self, index: usize) -> *const c_char {
        debug_assert!(index <= self.count);
        // SAFETY: `index` is at most `count`, and the slots up to there were filled by `new`.
        unsafe { self.first.add(index).read() }
    }
}

/// The number of lists packed together: paths, arguments and environment.
const LISTS: usize = 3;

/// Copies of lists in a separate mapping, unmapped when dropped. A child has them whatever else it lacks.
pub(crate) struct Packed {
    start: *mut u8,
    length: usize,
    lists: [(usize, usize); LISTS],
}

impl Packed {
    /// Copies the lists. None if the kernel has no memory for them.
    pub(crate) fn new(lists: [Strings<'_>; LISTS]) -> Option<Packed> {
        const SLOT: usize = size_of::<*const c_char>();
        let slots: usize = lists.iter().map(|list| list.len() + 1).sum();
        let bytes: usize =
            lists.iter().flat_map(Strings::iter).map(|text| text.to_bytes_with_nul().len()).sum();
        let length = slots * SLOT + bytes;
        let (protection, flags) = (PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
        // SAFETY: without MAP_FIXED a mapping replaces nothing.
        let start = unsafe { mmap(core::ptr::null_mut(), length, protection, flags, -1, 0).ok()? };
        let mut packed = Packed { start, length, lists: [(0, 0); LISTS] };
        let (mut slot, mut byte) = (0, slots * SLOT);
        for (list, place) in lists.iter().zip(&mut packed.lists) {
            *place = (slot, list.len());
            for text in list.iter() {
                let text = text.to_bytes_with_nul();
                // SAFETY: slots and bytes were counted above, for these lists; the mapping is page-aligned, and only this value
                // has it. The null after each list is there already: the mapping is of zeros.
                unsafe {
                    let copy = start.add(byte);
                    copy.copy_from_nonoverlapping(text.as_ptr(), text.len());
                    start.cast::<*const c_char>().add(slot).write(copy.cast());
                }
                slot += 1;
                byte += text.len();
            }
            slot += 1;
        }
        Some(packed)
    }

    /// The copies, in the order of the lists.
    pub(crate) fn lists(&self) -> [Strings<'_>; LISTS] {
        self.lists.map(|(slot, count)| {
            // SAFETY: `new` counted this slot.
            let first = unsafe { self.start.cast::<*const c_char>().add(slot) };
            Strings { first, count, strings: PhantomData }
        })
    }
}

impl Drop for Packed {
    fn drop(&mut self) {
        // SAFETY: mapped by `new`; the borrows of `lists` have ended.
        let _ = unsafe { munmap(self.start, self.length) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::borrow::ToOwned;
    use std::ffi::CString;
    use std::vec::Vec;

    #[test]
    fn strings_need_a_slot_each_and_one_more() {
        let owned: Vec<CString> = std::vec![c"a".into(), c"b".into()];
        let mut slots = [core::ptr::null(); 3];
        let strings = Strings::new(&mut slots, owned.iter().map(|s| s.as_c_str())).expect("room");
        assert_eq!((strings.len(), strings.get(2).is_null()), (2, true));
        assert!(Strings::new(&mut [core::ptr::null(); 2], owned.iter().map(|s| s.as_c_str())).is_none());
    }

    #[test]
    fn copies_have_the_same_strings_in_the_same_order() {
        let texts = |list: &Strings<'_>| list.iter().map(CStr::to_owned).collect::<Vec<CString>>();
        let of: [&[&CStr]; LISTS] = [&[c"/bin/a", c"/b"], &[], &[c"", c"X=1", c"LONG=0123456789"]];
        let mut slots = of.map(|list| std::vec![core::ptr::null(); list.len() + 1]);
        let mut slots = slots.iter_mut();
        let lists =
            of.map(|list| Strings::new(slots.next().expect("slots"), list.iter().copied()).expect("room"));
        let packed = Packed::new(lists).expect("memory");
        for (list, copy) in lists.iter().zip(packed.lists()) {
            assert_eq!(texts(list), texts(&copy));
            assert!(copy.get(copy.len()).is_null());
            assert!(list.is_empty() || list.get(0) != copy.get(0));
        }
    }
}
