//! The lookaside (LLA): known members, found without reading directories again.
//!
//! ```text
//! (library, name) ── hash ──> bucket ──> Known ──> Known ──> ...
//!                                        │ member, or "not found"; the number of the look at the library
//!                                        └─ fetches, and the programs that were made from it
//! ```
//!
//! Invariant: an entry is valid while its library is frozen, or while its `seen` equals the library's.
//! Cost: a search is a hash of the name, a load of the bucket and a comparison of the name.
//! Not here: the detection of a changed library (`table`).

use core::ptr::{NonNull, null_mut};

use underbar_sys::syscall::Errno;

use crate::arena;
use crate::elf::gnu_hash;
use crate::library::Member;

/// An entry; `P` is a program.
pub struct Known<P> {
    next: *mut Known<P>,
    hash: u32,
    /// The library's number.
    pub library: u32,
    name: (NonNull<u8>, u32),
    /// The number of the look at the library from which this is known.
    pub seen: u64,
    /// The directory's entry; none: not found.
    pub member: Option<Member>,
    /// LOADs of it since it is known.
    pub fetches: u64,
    /// The programs that were made from this member and can be used again, by their form.
    pub programs: [*mut P; 2],
    /// Never dropped.
    pub is_resident: bool,
}

impl<P> Known<P> {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &[u8] {
        // SAFETY: kept with this length when the entry was made.
        unsafe { core::slice::from_raw_parts(self.name.0.as_ptr(), self.name.1 as usize) }
    }
}

/// All entries.
pub struct Directory<P> {
    buckets: *mut *mut Known<P>,
    /// A power of two; 0: no buckets yet.
    size: usize,
    count: usize,
}

impl<P> Directory<P> {
    /// An empty directory.
    pub const EMPTY: Directory<P> = Directory { buckets: null_mut(), size: 0, count: 0 };

    /// The entry of a name.
    #[must_use]
    pub fn find(&self, library: u32, name: &[u8]) -> Option<NonNull<Known<P>>> {
        if self.size == 0 {
            return None;
        }
        let hash = key(library, name);
        // SAFETY: `size` buckets; entries stay until `clear`, and this is under the table's lock.
        unsafe {
            let mut entry = *self.buckets.add(hash as usize & (self.size - 1));
            while let Some(one) = entry.as_ref() {
                if one.hash == hash && one.library == library && one.name() == name {
                    return NonNull::new(entry);
                }
                entry = one.next;
            }
        }
        None
    }

    /// The entry of a name, made if there is none.
    ///
    /// # Errors
    /// No storage.
    pub fn enter(&mut self, library: u32, name: &[u8]) -> Result<NonNull<Known<P>>, Errno> {
        if let Some(known) = self.find(library, name) {
            return Ok(known);
        }
        if self.count >= self.size {
            self.grow()?;
        }
        let hash = key(library, name);
        let kept = arena::get(name.len())?;
        // SAFETY: room for the name; a bucket below `size`.
        unsafe {
            core::ptr::copy_nonoverlapping(name.as_ptr(), kept.as_ptr(), name.len());
            let bucket = self.buckets.add(hash as usize & (self.size - 1));
            let known = Known {
                next: *bucket,
                hash,
                library,
                name: (kept, name.len() as u32),
                seen: 0,
                member: None,
                fetches: 0,
                programs: [null_mut(); 2],
                is_resident: false,
            };
            match arena::keep(known) {
                Ok(known) => {
                    *bucket = known.as_ptr();
                    self.count += 1;
                    Ok(known)
                }
                Err(errno) => {
                    arena::put(kept, name.len());
                    Err(errno)
                }
            }
        }
    }

    /// Visits each entry. `look` may change the entry, not the directory.
    pub fn each(&self, mut look: impl FnMut(NonNull<Known<P>>)) {
        for bucket in 0..self.size {
            // SAFETY: as in `find`.
            unsafe {
                let mut entry = *self.buckets.add(bucket);
                while let Some(known) = NonNull::new(entry) {
                    entry = (*entry).next;
                    look(known);
                }
            }
        }
    }

    /// Removes the entries of a library; they have no programs.
    pub fn forget(&mut self, library: u32) {
        for bucket in 0..self.size {
            // SAFETY: as in `find`; an entry taken out of the chain is freed once.
            unsafe {
                let mut place = self.buckets.add(bucket);
                while let Some(known) = NonNull::new(*place) {
                    if (*known.as_ptr()).library == library && (*known.as_ptr()).programs == [null_mut(); 2] {
                        let Known { next, name, .. } = arena::take(known);
                        *place = next;
                        arena::put(name.0, name.1 as usize);
                        self.count -= 1;
                    } else {
                        place = &raw mut (*known.as_ptr()).next;
                    }
                }
            }
        }
    }

    fn grow(&mut self) -> Result<(), Errno> {
        let size = (self.size * 2).max(256);
        let buckets = arena::get(size * size_of::<*mut Known<P>>())?.cast::<*mut Known<P>>().as_ptr();
        // SAFETY: room for `size` buckets; entries move from chain to chain.
        unsafe {
            for bucket in 0..size {
                buckets.add(bucket).write(null_mut());
            }
            self.each(|known| {
                let bucket = buckets.add((*known.as_ptr()).hash as usize & (size - 1));
                (*known.as_ptr()).next = *bucket;
                *bucket = known.as_ptr();
            });
            if let Some(old) = NonNull::new(self.buckets) {
                arena::put(old.cast(), self.size * size_of::<*mut Known<P>>());
            }
        }
        (self.buckets, self.size) = (buckets, size);
        Ok(())
    }
}

fn key(library: u32, name: &[u8]) -> u32 {
    // The table uses the lowest bits: those of a hash by 33 are good ones.
    gnu_hash(name).wrapping_add(library.wrapping_mul(0x9e37_79b9))
}
