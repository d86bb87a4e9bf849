//! Libraries of the system's loader, what they need, and whether they stay.
//!
//! ```text
//! some ──needed──> others ──needed──> ...      by the names that the loader itself goes by (DT_NEEDED, DT_SONAME)
//! ```
//!
//! Invariant: the loader's list is walked while it tells of a program, when it does not change.
//! Not here: who asks (`image::lasting`).

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr::null;

use crate::elf::Symbol;
use crate::system::ProgramInfo;

/// Libraries that are looked at.
const MOST: usize = 256;

/// Tags of the dynamic section.
const NEEDED: usize = 1;
const STRINGS: usize = 5;
const SYMBOLS: usize = 6;
const SONAME: usize = 14;
const GNU_HASH: usize = 0x6fff_fef5;
const FLAGS_1: usize = 0x6fff_fffb;

/// The public beginning of an entry of the loader's list.
#[repr(C)]
pub struct LinkMap {
    /// What is added to the addresses of its file.
    pub bias: usize,
    /// Its path.
    pub name: *const c_char,
    /// Its dynamic section, which ends with a tag of 0.
    dynamic: *const [usize; 2],
    next: *const LinkMap,
}

impl LinkMap {
    fn entries(&self) -> impl Iterator<Item = [usize; 2]> + Clone + use<> {
        let dynamic = self.dynamic;
        // SAFETY: the loader has read the section to its end, and it stays as long as the library.
        let entries = (0..).map(move |at| unsafe { *dynamic.add(at) });
        entries.take_while(move |entry| !dynamic.is_null() && entry[0] != 0)
    }

    /// An address: the loader has changed it to where it is, but in the kernel's library, which it does not write.
    fn address(&self, tag: usize) -> usize {
        match self.entries().find(|entry| entry[0] == tag) {
            Some([_, address]) if address < self.bias => address + self.bias,
            Some([_, address]) => address,
            None => 0,
        }
    }

    fn names(&self, tag: usize) -> impl Iterator<Item = &'static CStr> + use<> {
        let strings = self.address(STRINGS);
        self.entries()
            .filter(move |entry| entry[0] == tag && strings != 0)
            // SAFETY: texts in the library's own table, which stays as long as the library.
            .map(move |entry| unsafe { CStr::from_ptr((strings + entry[1]) as *const c_char) })
    }

    /// The name under which others need it.
    pub fn soname(&self) -> Option<&'static CStr> {
        self.names(SONAME).next()
    }

    /// Does the loader keep it for ever: since it says so, or since it may have symbols of which there is one in the process?
    pub fn is_for_ever(&self) -> bool {
        const NODELETE: usize = 8;
        if self.entries().any(|[tag, value]| tag == FLAGS_1 && value & NODELETE != 0) {
            return true;
        }
        let (hash, symbols) = (self.address(GNU_HASH), self.address(SYMBOLS));
        if hash == 0 || symbols == 0 {
            return false;
        }
        // SAFETY: the tables that the loader uses itself: buckets lead to chains, chains end, and each has its symbol.
        unsafe {
            let hash = hash as *const u32;
            let [buckets, first, filters, _] = *hash.cast::<[u32; 4]>();
            let bucket = hash.add(4 + filters as usize * 2);
            let chain = bucket.add(buckets as usize);
            let last = (0..buckets as usize).map(|at| *bucket.add(at)).max().unwrap_or(0);
            if last < first {
                return false;
            }
            let mut end = last;
            while *chain.add((end - first) as usize) & 1 == 0 {
                end += 1;
            }
            (first..=end).any(|at| (*(symbols as *const Symbol).add(at as usize)).is_unique())
        }
    }
}

/// Some libraries and all that they need, at most [`MOST`].
pub struct Closure {
    reached: [*const LinkMap; MOST],
    count: usize,
    /// The loader's list.
    head: *const LinkMap,
    is_done: bool,
}

impl Closure {
    /// Of these, which stay meanwhile.
    pub fn of<'a>(first: impl Iterator<Item = &'a LinkMap>) -> Closure {
        unsafe extern "C" fn look(info: *mut ProgramInfo, _: usize, closure: *mut c_void) -> c_int {
            // SAFETY: the closure below; under the loader's lock the list is whole.
            unsafe {
                let closure = &mut *closure.cast::<Closure>();
                if !closure.is_done && !info.is_null() {
                    closure.is_done = true;
                    closure.fill();
                }
            }
            1
        }
        let head = crate::system::first_in_list().unwrap_or(null());
        let mut closure = Closure { reached: [null(); MOST], count: 0, head, is_done: false };
        first.for_each(|map| closure.add(map));
        // SAFETY: a visitor of this kind, with what it expects.
        unsafe { crate::visible::system_programs(look, (&raw mut closure).cast()) };
        closure
    }

    fn add(&mut self, map: *const LinkMap) {
        let is_known = self.reached.iter().take(self.count).any(|known| *known == map);
        if !is_known
            && !map.is_null()
            && let Some(place) = self.reached.get_mut(self.count)
        {
            *place = map;
            self.count += 1;
        }
    }

    /// # Safety
    /// The loader's list does not change.
    unsafe fn fill(&mut self) {
        let mut at = 0;
        while at < self.count {
            // SAFETY: an entry of the list.
            let Some(one) = self.reached.get(at).and_then(|one| unsafe { one.as_ref() }) else { return };
            at += 1;
            for name in one.names(NEEDED) {
                let mut map = self.head;
                // SAFETY: the same.
                while let Some(other) = unsafe { map.as_ref() }
                    && other.soname() != Some(name)
                {
                    map = other.next;
                }
                self.add(map);
            }
        }
    }

    /// Is it one of them?
    pub fn has(&self, map: &LinkMap) -> bool {
        self.each().any(|one| core::ptr::eq(one, map))
    }

    /// Each, as long as those stay of which it was made.
    pub fn each(&self) -> impl Iterator<Item = &LinkMap> {
        // SAFETY: the caller has them open, and so what they need.
        self.reached.iter().take(self.count).filter_map(|one| unsafe { one.as_ref() })
    }
}
