//! Names of an ECB's buffers: a hash table that grows when it is full.
//!
//! ```text
//! by_name[hash of the name]      -> entry -> entry            locate: the entry tagged last comes first
//! by_buffer[hash of the address] -> entry -> entry            free and untag: all names of a buffer
//! entries: | hash, links | buffer | length, name |  64 bytes each: one cache line
//! ```
//!
//! The table is a buffer of the ECB, so it ends with it.
//!
//! Invariant: each entry in use is in one list of either table, and its buffer is in use.
//! Not here: the lock, which is that of the control block, and the storage (the parent).

use core::ptr::null_mut;

use underbar_options::Without;

use super::given;

/// The longest name.
pub const LONGEST: usize = 40;
/// Entries of the first table.
pub const FIRST: usize = 8;
/// The end of a list.
const NIL: u32 = u32::MAX;

#[repr(C, align(64))]
struct Entry {
    hash: u32,
    next_of_name: u32,
    next_of_buffer: u32,
    length: u32,
    buffer: usize,
    name: [u8; LONGEST],
}

/// The table. It begins with this, and the lists and entries follow in the same buffer.
#[repr(C, align(64))]
pub struct Tags {
    /// A power of two; each table has twice as many lists.
    capacity: usize,
    /// Entries that were in use at some time, and those of them that are free again.
    used: usize,
    free: u32,
    pub count: usize,
    /// Bits of a hash that choose a list of names: all that there are, or none (WITHOUT(TAGS)).
    mask: usize,
}

/// Bytes of a table.
pub fn bytes(capacity: usize) -> usize {
    size_of::<Tags>() + capacity * (size_of::<Entry>() + 4 * size_of::<u32>())
}

fn hash_of(name: &[u8]) -> u32 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut hash = name.len() as u64;
    let (words, rest) = name.as_chunks::<8>();
    for word in words {
        hash = (hash ^ u64::from_ne_bytes(*word)).wrapping_mul(FACTOR);
        hash ^= hash >> 32;
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    hash = (hash ^ u64::from_ne_bytes(last)).wrapping_mul(FACTOR);
    (hash >> 32) as u32
}

fn hash_of_buffer(buffer: usize) -> u32 {
    ((buffer as u64 >> 4).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32
}

/// All functions are called under the lock of the control block, with a table that [`Tags::begin`] made.
#[allow(clippy::missing_safety_doc, reason = "one contract for all, stated above")]
impl Tags {
    /// An empty table in storage of [`bytes`] bytes, aligned to 64.
    pub unsafe fn begin(place: *mut u8, capacity: usize) -> *mut Tags {
        let tags: *mut Tags = place.cast();
        // SAFETY: the caller's promise.
        unsafe {
            let mask = if given::without() == Without::Tags { 0 } else { 2 * capacity - 1 };
            tags.write(Tags { capacity, used: 0, free: NIL, count: 0, mask });
            Self::lists(tags).write_bytes(0xff, 4 * capacity);
        }
        tags
    }

    fn lists(tags: *mut Tags) -> *mut u32 {
        tags.wrapping_add(1).cast()
    }

    unsafe fn entry(tags: *mut Tags, index: u32) -> *mut Entry {
        // SAFETY: the contract above.
        unsafe { Self::lists(tags).add(4 * (*tags).capacity).cast::<Entry>().add(index as usize) }
    }

    unsafe fn of_name(tags: *mut Tags, hash: u32) -> *mut u32 {
        // SAFETY: the contract above.
        unsafe { Self::lists(tags).add(hash as usize & (*tags).mask) }
    }

    unsafe fn of_buffer(tags: *mut Tags, buffer: usize) -> *mut u32 {
        // SAFETY: the contract above.
        unsafe {
            let lists = 2 * (*tags).capacity;
            Self::lists(tags).add(lists + (hash_of_buffer(buffer) as usize & (lists - 1)))
        }
    }

    /// Is there no room for another name?
    pub unsafe fn is_full(tags: *mut Tags) -> bool {
        // SAFETY: the contract above.
        unsafe { (*tags).count == (*tags).capacity }
    }

    /// Entries of the table.
    pub unsafe fn capacity(tags: *mut Tags) -> usize {
        // SAFETY: the contract above.
        unsafe { (*tags).capacity }
    }

    /// Names a buffer. There is room, and the name has 1 to [`LONGEST`] bytes.
    pub unsafe fn add(tags: *mut Tags, buffer: usize, name: &[u8]) {
        let mut kept = [0; LONGEST];
        let length = name.len().min(LONGEST);
        kept[..length].copy_from_slice(&name[..length]);
        // SAFETY: the contract above.
        unsafe { Self::enter(tags, hash_of(name), length as u32, buffer, kept) }
    }

    unsafe fn enter(tags: *mut Tags, hash: u32, length: u32, buffer: usize, name: [u8; LONGEST]) {
        // SAFETY: the contract above; there is room.
        unsafe {
            let index = if (*tags).free == NIL {
                (*tags).used += 1;
                (*tags).used as u32 - 1
            } else {
                let index = (*tags).free;
                (*tags).free = (*Self::entry(tags, index)).next_of_name;
                index
            };
            (*tags).count += 1;
            let (names, buffers) = (Self::of_name(tags, hash), Self::of_buffer(tags, buffer));
            Self::entry(tags, index).write(Entry {
                hash,
                next_of_name: *names,
                next_of_buffer: *buffers,
                length,
                buffer,
                name,
            });
            (*names, *buffers) = (index, index);
        }
    }

    /// Copies all entries into an empty table with more room, those tagged last at the front of their lists, as before.
    pub unsafe fn copy(from: *mut Tags, to: *mut Tags) {
        // SAFETY: the contract above, for both.
        unsafe {
            for list in 0..2 * (*from).capacity {
                let head = Self::lists(from).add(list);
                // Backwards: the list is turned, and each entry goes to the front of its new list.
                let (mut turned, mut next) = (NIL, *head);
                while next != NIL {
                    let entry = Self::entry(from, next);
                    let after = (*entry).next_of_name;
                    (*entry).next_of_name = turned;
                    (turned, next) = (next, after);
                }
                while turned != NIL {
                    let entry = Self::entry(from, turned);
                    Self::enter(to, (*entry).hash, (*entry).length, (*entry).buffer, (*entry).name);
                    turned = (*entry).next_of_name;
                }
            }
        }
    }

    /// The buffer of that name that was tagged last, or the next one behind `after`; null if there is none.
    pub unsafe fn locate(tags: *mut Tags, name: &[u8], after: usize) -> *mut u8 {
        let hash = hash_of(name);
        let mut is_behind = after == 0;
        // SAFETY: the contract above.
        unsafe {
            let mut next = *Self::of_name(tags, hash);
            while next != NIL {
                let entry = &*Self::entry(tags, next);
                if entry.hash == hash && entry.name.get(..entry.length as usize) == Some(name) {
                    if is_behind {
                        return entry.buffer as *mut u8;
                    }
                    is_behind = entry.buffer == after;
                }
                next = entry.next_of_name;
            }
        }
        null_mut()
    }

    /// A name of a buffer, the one given last; its length, 0 if there is none.
    pub unsafe fn name_of(tags: *mut Tags, buffer: usize, name: &mut [u8; LONGEST]) -> usize {
        // SAFETY: the contract above.
        unsafe {
            let mut next = *Self::of_buffer(tags, buffer);
            while next != NIL {
                let entry = &*Self::entry(tags, next);
                if entry.buffer == buffer {
                    *name = entry.name;
                    return (entry.length as usize).min(LONGEST);
                }
                next = entry.next_of_buffer;
            }
        }
        0
    }

    /// Calls `then` for each buffer and name.
    pub unsafe fn each(tags: *mut Tags, mut then: impl FnMut(usize, &[u8])) {
        // SAFETY: the contract above.
        unsafe {
            let lists = 2 * (*tags).capacity;
            for list in lists..2 * lists {
                let mut next = *Self::lists(tags).add(list);
                while next != NIL {
                    let entry = &*Self::entry(tags, next);
                    then(entry.buffer, &entry.name[..(entry.length as usize).min(LONGEST)]);
                    next = entry.next_of_buffer;
                }
            }
        }
    }

    /// Gives all names of a buffer to another one, which has none.
    pub unsafe fn moved(tags: *mut Tags, old: usize, new: usize) {
        // SAFETY: the contract above.
        unsafe {
            let mut link = Self::of_buffer(tags, old);
            let (mut moving, mut last) = (NIL, NIL);
            while *link != NIL {
                let index = *link;
                let entry = Self::entry(tags, index);
                if (*entry).buffer != old {
                    link = &raw mut (*entry).next_of_buffer;
                    continue;
                }
                *link = (*entry).next_of_buffer;
                (*entry).buffer = new;
                (*entry).next_of_buffer = NIL;
                match last {
                    NIL => moving = index,
                    last => (*Self::entry(tags, last)).next_of_buffer = index,
                }
                last = index;
            }
            if last != NIL {
                let head = Self::of_buffer(tags, new);
                (*Self::entry(tags, last)).next_of_buffer = *head;
                *head = moving;
            }
        }
    }

    /// Takes all names of a buffer away; how many it had.
    pub unsafe fn remove(tags: *mut Tags, buffer: usize) -> usize {
        let mut removed = 0;
        // SAFETY: the contract above.
        unsafe {
            let mut link = Self::of_buffer(tags, buffer);
            while *link != NIL {
                let index = *link;
                let entry = Self::entry(tags, index);
                if (*entry).buffer != buffer {
                    link = &raw mut (*entry).next_of_buffer;
                    continue;
                }
                *link = (*entry).next_of_buffer;
                let mut name_link = Self::of_name(tags, (*entry).hash);
                // In a forked child the list may be in the middle of a change by a thread that is gone.
                while *name_link != index && *name_link != NIL {
                    name_link = &raw mut (*Self::entry(tags, *name_link)).next_of_name;
                }
                if *name_link == index {
                    *name_link = (*entry).next_of_name;
                }
                (*entry).next_of_name = (*tags).free;
                (*tags).free = index;
                (*tags).count -= 1;
                removed += 1;
            }
        }
        removed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[repr(align(64))]
    struct Line(#[allow(dead_code, reason = "for its size")] [u8; 64]);

    fn table(capacity: usize) -> (std::vec::Vec<Line>, *mut Tags) {
        let mut storage = std::vec::Vec::with_capacity(bytes(capacity) / 64 + 1);
        let place: *mut Line = storage.as_mut_ptr();
        // SAFETY: the storage is that large, and aligned.
        let tags = unsafe { Tags::begin(place.cast(), capacity) };
        (storage, tags)
    }

    #[test]
    fn names_are_found_the_last_one_first_and_go_with_their_buffers() {
        let (_first, small) = table(FIRST);
        let (_second, large) = table(16);
        // SAFETY: one thread, with tables that live.
        unsafe {
            for number in 1..=FIRST {
                let name = if number % 2 == 0 { &b"EVEN"[..] } else { b"ODD" };
                Tags::add(small, number * 64, name);
            }
            assert!(Tags::is_full(small));
            Tags::copy(small, large);
            assert_eq!(Tags::capacity(large), 16);
            let all = |name: &[u8]| {
                let mut found = std::vec::Vec::new();
                let mut after = 0;
                loop {
                    after = Tags::locate(large, name, after).addr();
                    if after == 0 {
                        return found;
                    }
                    found.push(after / 64);
                }
            };
            assert_eq!(all(b"EVEN"), [8, 6, 4, 2]);
            assert_eq!(all(b"ODD"), [7, 5, 3, 1]);
            assert!(all(b"OD").is_empty() && all(b"ODD ").is_empty());
            Tags::add(large, 3 * 64, b"EVEN");
            assert_eq!(all(b"EVEN"), [3, 8, 6, 4, 2]);
            let mut name = [0; LONGEST];
            assert_eq!(Tags::name_of(large, 3 * 64, &mut name), 4);
            assert_eq!(&name[..4], b"EVEN");
            assert_eq!(Tags::name_of(large, 99 * 64, &mut name), 0);
            assert_eq!(Tags::remove(large, 3 * 64), 2, "both names");
            assert_eq!(Tags::remove(large, 3 * 64), 0);
            assert_eq!((all(b"EVEN"), all(b"ODD")), ([8, 6, 4, 2].to_vec(), [7, 5, 1].to_vec()));
            Tags::moved(large, 8 * 64, 9 * 64);
            assert_eq!(all(b"EVEN"), [9, 6, 4, 2]);
            assert_eq!((Tags::remove(large, 8 * 64), Tags::remove(large, 9 * 64)), (0, 1));
            for number in 100..108 {
                Tags::add(large, number * 64, &[b'N'; LONGEST]);
            }
            assert_eq!(all(&[b'N'; LONGEST]).len(), 8);
        }
    }
}
