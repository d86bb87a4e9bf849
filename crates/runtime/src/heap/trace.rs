//! The trace table: the last requests, and who made them, under HEAPCHK(ON) and HEAPZONES.
//!
//! ```text
//! next request ──> entry: address and kind | bytes | caller | its caller | ...     the newest replaces the oldest
//! ```
//!
//! A message about a block asks it who got or freed the block last.
//!
//! Invariant: a request waits for nobody. So an entry that is read while another thread writes it may be mixed of two requests: who
//! reads it is about to end the program, and each value is only printed.
//! Not here: the callers' names (`check`).

use core::ptr::{null, null_mut};
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use super::private_storage::OWN;
use crate::callers;
use crate::sites::Call;

/// Callers of an entry, the innermost first.
pub const DEEPEST: usize = 14;
/// Entries, at most: 128 MiB.
const MOST: usize = 1 << 20;

/// What a request did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
pub enum Kind {
    /// Storage was got.
    Got = 1,
    /// Storage was given back.
    Freed = 2,
}

/// One request. Written by the thread that makes it, read by any; relaxed, see above.
#[repr(C)]
struct Entry {
    /// The address, a multiple of 16, and the [`Kind`]; 0: none yet.
    address: AtomicUsize,
    bytes: AtomicUsize,
    callers: [AtomicUsize; DEEPEST],
}

const _: () = assert!(size_of::<Entry>() == 128);

/// The table, and its entries. Written once, before the first request; relaxed.
static TABLE: AtomicPtr<Entry> = AtomicPtr::new(null_mut());
static ENTRIES: AtomicUsize = AtomicUsize::new(0);
/// Callers beyond the first. Written once, before the first request; relaxed.
static DEPTH: AtomicUsize = AtomicUsize::new(0);
/// The number of the next request. Any thread; relaxed: it only distributes entries.
static NEXT: AtomicUsize = AtomicUsize::new(0);

/// Where a request came from.
#[derive(Clone, Copy)]
pub struct Site {
    /// Its return address; 0: not known.
    pub caller: usize,
    /// The frame pointer of its caller; 0: not known.
    pub frame: usize,
    /// The caller's other registers; null: not known.
    saved: *const Saved,
    /// Its stack pointer behind the return address.
    pointer: usize,
}

/// The registers that a function preserves, in the order in which `unusual` keeps them.
#[repr(C)]
pub struct Saved {
    rbp: usize,
    rbx: usize,
    r12_to_15: [usize; 4],
}

impl Site {
    /// A request of a known caller, whose own callers are not looked for.
    pub const fn of(caller: usize) -> Self {
        Self { caller, frame: 0, saved: null(), pointer: 0 }
    }

    /// A request whose caller's registers were kept.
    ///
    /// # Safety
    /// They are there as long as this is used. The return address is below the stack pointer.
    pub unsafe fn at(saved: *const Saved, pointer: usize) -> Self {
        // SAFETY: the caller's promise.
        unsafe {
            Self {
                caller: *((pointer - size_of::<usize>()) as *const usize),
                frame: (*saved).rbp,
                saved,
                pointer,
            }
        }
    }

    /// As [`Self::at`], if that is the caller. Otherwise the registers are those of another function in between.
    ///
    /// # Safety
    /// As there.
    pub unsafe fn at_if(saved: *const Saved, pointer: usize, caller: usize) -> Self {
        // SAFETY: the caller's promise.
        let site = unsafe { Self::at(saved, pointer) };
        if site.caller == caller { site } else { Self::of(caller) }
    }

    /// The call, for a sample.
    pub fn call(&self) -> Call {
        let some = Call { rip: self.caller, ..Call::NONE };
        // SAFETY: null, or registers that are kept, see `at`.
        let Some(saved) = (unsafe { self.saved.as_ref() }) else { return some };
        let Saved { rbp, rbx, r12_to_15 } = *saved;
        Call { rsp: self.pointer, rbp, rbx, r12_to_15, is_complete: true, ..some }
    }

    /// The callers, the innermost first, and 0 behind the last one.
    pub fn callers(&self) -> Callers {
        let mut callers = Callers([0; DEEPEST]);
        let [first, above @ ..] = &mut callers.0;
        *first = self.caller;
        let depth = DEPTH.load(Ordering::Relaxed).min(above.len());
        callers::above(self.frame, &mut above[..depth]);
        callers
    }
}

/// Return addresses, the innermost first, and 0 behind the last one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Callers(pub [usize; DEEPEST]);

/// Makes the table. Before the first request. Without memory there is none.
pub fn configure(entries: u64, depth: u64) {
    DEPTH.store(usize::try_from(depth).unwrap_or(DEEPEST), Ordering::Relaxed);
    let entries = usize::try_from(entries).unwrap_or(MOST).min(MOST);
    if entries > 0 {
        let table: *mut Entry = OWN.lock().get(entries * size_of::<Entry>()).cast();
        if !table.is_null() {
            TABLE.store(table, Ordering::Relaxed);
            ENTRIES.store(entries, Ordering::Relaxed);
        }
    }
}

fn table() -> &'static [Entry] {
    let (table, entries) = (TABLE.load(Ordering::Relaxed), ENTRIES.load(Ordering::Relaxed));
    // SAFETY: so many entries, zero at first, in storage that stays for ever.
    if table.is_null() { &[] } else { unsafe { core::slice::from_raw_parts(table, entries) } }
}

/// Notes a request.
pub fn note(kind: Kind, address: usize, bytes: usize, site: &Site) {
    let table = table();
    if table.is_empty() {
        return;
    }
    let entry = &table[NEXT.fetch_add(1, Ordering::Relaxed) % table.len()];
    entry.address.store(address | kind as usize, Ordering::Relaxed);
    entry.bytes.store(bytes, Ordering::Relaxed);
    for (to, caller) in entry.callers.iter().zip(site.callers().0) {
        to.store(caller, Ordering::Relaxed);
    }
}

/// The callers of the last request of that kind for an address, and its bytes; None if it is no longer in the table.
pub fn last(kind: Kind, address: usize) -> Option<(Callers, usize)> {
    let table = table();
    let next = NEXT.load(Ordering::Relaxed);
    let newest_first = (1..=table.len().min(next)).map(|back| &table[(next - back) % table.len()]);
    let is_it = |entry: &&Entry| entry.address.load(Ordering::Relaxed) == address | kind as usize;
    let entry = { newest_first }.find(is_it)?;
    let callers = core::array::from_fn(|at| entry.callers[at].load(Ordering::Relaxed));
    Some((Callers(callers), entry.bytes.load(Ordering::Relaxed)))
}

#[cfg(test)]
mod tests {
    use super::super::ONE_AT_A_TIME;
    use super::*;

    #[test]
    fn the_newest_request_of_an_address_is_found_until_it_is_replaced() {
        let _turn = ONE_AT_A_TIME.lock();
        assert!(last(Kind::Got, 0x1000).is_none());
        note(Kind::Got, 0x1000, 24, &Site::of(1));
        assert!(last(Kind::Got, 0x1000).is_none(), "there is no table");
        configure(4, 0);
        for (kind, address, caller) in [
            (Kind::Got, 0x1000, 11),
            (Kind::Freed, 0x1000, 12),
            (Kind::Got, 0x1000, 13),
            (Kind::Got, 0x2000, 14),
        ] {
            note(kind, address, 24, &Site::of(caller));
        }
        let who =
            |kind, address| last(kind, address).map(|(callers, bytes)| (callers.0[0], callers.0[1], bytes));
        assert_eq!(who(Kind::Got, 0x1000), Some((13, 0, 24)));
        assert_eq!(who(Kind::Freed, 0x1000), Some((12, 0, 24)));
        note(Kind::Freed, 0x2000, 24, &Site::of(15));
        note(Kind::Freed, 0x3000, 24, &Site::of(16));
        assert_eq!((who(Kind::Freed, 0x1000), who(Kind::Got, 0x1000)), (None, Some((13, 0, 24))));
        ENTRIES.store(0, Ordering::Relaxed);
    }
}
