//! The libraries that a program needs, as its file names them: is one among them that serves the heap itself to find errors?
//!
//! ```text
//! PT_DYNAMIC   NEEDED name | NEEDED name | STRTAB address | ...   each name an offset into the strings
//!                                              └─ PT_LOAD gives its offset in the file
//! ```
//!
//! Invariant: as in `super::carry`; the loader will report anything malformed.

/// Where parts of the file come to lie: address, offset, length. More than any real program has are left out.
pub struct Parts {
    all: [(u64, u64, u64); 16],
    length: usize,
}

impl Parts {
    /// None yet.
    pub const NONE: Parts = Parts { all: [(0, 0, 0); 16], length: 0 };

    /// One more.
    pub fn add(&mut self, address: u64, offset: u64, length: u64) {
        if let Some(part) = self.all.get_mut(self.length) {
            *part = (address, offset, length);
            self.length += 1;
        }
    }

    /// The file offset of an address.
    fn offset_of(&self, wanted: u64) -> Option<u64> {
        let mut parts = self.all.iter().take(self.length);
        let part = parts.find(|(address, _, length)| wanted.wrapping_sub(*address) < *length);
        part.and_then(|(address, offset, _)| offset.checked_add(wanted - address))
    }
}

fn word(entry: &[u8], at: usize) -> Option<u64> {
    entry.get(at..at + 8).and_then(|field| field.try_into().ok()).map(u64::from_le_bytes)
}

/// Beginnings of the names of libraries that follow each block of storage: the sanitizers of GCC and Clang, and heaps that find
/// errors. Of a program that another heap serves they report errors that it does not have, or none.
const CHECKERS: [&[u8]; 14] = [
    b"libasan.so",
    b"libtsan.so",
    b"liblsan.so",
    b"libhwasan.so",
    b"libclang_rt.asan",
    b"libclang_rt.tsan",
    b"libclang_rt.lsan",
    b"libclang_rt.hwasan",
    b"libclang_rt.memprof",
    b"libefence.so",
    b"libduma.so",
    b"libdmalloc",
    b"libtcmalloc_debug.so",
    b"libtcmalloc_minimal_debug.so",
];
const LONGEST: usize = 28;

/// Whether a program whose dynamic section lies at `offset` with `length` bytes needs one of [`CHECKERS`].
pub fn needs_checker(
    offset: u64,
    length: u64,
    parts: &Parts,
    read: &mut impl FnMut(u64, &mut [u8]) -> usize,
) -> bool {
    const NEEDED: u64 = 1;
    const STRINGS: u64 = 5; // DT_STRTAB
    const ENTRY: usize = 16;
    /// More entries and libraries than any real program has; limits our work.
    const MOST_BYTES: u64 = 512 * ENTRY as u64;
    const MOST_NEEDED: usize = 128;
    let (mut strings, mut needed, mut libraries) = (None, [0; MOST_NEEDED], 0);
    let mut at = 0;
    'all: while at < length.min(MOST_BYTES) {
        let mut room = [0; 32 * ENTRY];
        let filled = read(offset.saturating_add(at), &mut room).min(room.len());
        let mut entries = room.get(..filled).unwrap_or_default().chunks_exact(ENTRY);
        if entries.len() == 0 {
            break;
        }
        at += (entries.len() * ENTRY) as u64;
        for entry in &mut entries {
            match (word(entry, 0), word(entry, 8)) {
                (Some(NEEDED), Some(name)) => {
                    if let Some(place) = needed.get_mut(libraries) {
                        *place = name;
                        libraries += 1;
                    }
                }
                (Some(STRINGS), Some(address)) => strings = parts.offset_of(address),
                (Some(0), _) => break 'all,
                _ => {}
            }
        }
    }
    let Some(strings) = strings else { return false };
    needed.iter().take(libraries).any(|name| {
        let mut room = [0; LONGEST];
        let filled = strings.checked_add(*name).map_or(0, |at| read(at, &mut room)).min(LONGEST);
        CHECKERS.iter().any(|beginning| room[..filled].starts_with(beginning))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    /// A file that needs these libraries; its strings have a separate address.
    fn needs(libraries: &[&str], fillers: usize) -> bool {
        const ADDRESS: u64 = 0x40_0000;
        let mut strings = std::vec![0_u8];
        let mut entries: Vec<(u64, u64)> = std::vec![(30, 8); fillers];
        for library in libraries {
            entries.push((1, strings.len() as u64));
            strings.extend(library.bytes().chain([0]));
        }
        entries.extend([(5, ADDRESS), (0, 0), (1, 1)]);
        let mut file = std::vec![0_u8; 64];
        file.extend(
            entries.iter().flat_map(|(tag, value)| [tag.to_le_bytes(), value.to_le_bytes()].concat()),
        );
        let (length, at) = (file.len() as u64 - 64, file.len() as u64);
        file.extend(&strings);
        let mut parts = Parts::NONE;
        parts.add(0x1000, 0, 64);
        parts.add(ADDRESS, at, strings.len() as u64);
        needs_checker(64, length, &parts, &mut |offset, room| {
            let rest = file.get(usize::try_from(offset).unwrap_or(usize::MAX)..).unwrap_or_default();
            let length = rest.len().min(room.len());
            room[..length].copy_from_slice(&rest[..length]);
            length
        })
    }

    #[test]
    fn the_checker_is_found_wherever_it_is_named() {
        assert!(needs(&["libasan.so.8", "libc.so.6"], 0));
        assert!(needs(&["libm.so.6", "libc.so.6", "libasan.so.6"], 0));
        assert!(needs(&["libc.so.6", "libasan.so"], 100), "behind the first piece that is read");
        for one in [
            "libtsan.so.2",
            "liblsan.so.0",
            "libhwasan.so.0",
            "libclang_rt.memprof-x86_64.so",
            "libefence.so.0",
            "libduma.so.0",
            "libdmallocth.so.5",
            "libtcmalloc_minimal_debug.so.4",
        ] {
            assert!(needs(&["libc.so.6", one], 0), "{one}");
        }
        assert_eq!(CHECKERS.iter().map(|one| one.len()).max(), Some(LONGEST));
        for others in [
            &["libc.so.6"][..],
            &["libubsan.so.1", "libclang_rt.scudo-i386.so"],
            &["xlibasan.so", "libtcmalloc.so.4"],
            &[],
        ] {
            assert!(!needs(others, 0), "{others:?}");
        }
        assert!(!needs(&["libasan.so.8"], 1_000), "no more than a bound is read");
    }

    #[test]
    fn what_makes_no_sense_needs_nothing() {
        let nothing = &mut |_, _: &mut [u8]| 0;
        assert!(!needs_checker(u64::MAX, u64::MAX, &Parts::NONE, nothing));
        let strings_only = &mut |_, room: &mut [u8]| {
            room.fill(5);
            room.len()
        };
        assert!(!needs_checker(0, u64::MAX, &Parts::NONE, strings_only));
    }
}
