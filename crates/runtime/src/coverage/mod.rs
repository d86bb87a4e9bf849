//! Coverage: how much of the process's memory went through this heap, and who has the rest.
//!
//! ```text
//! mmap, called by a library      ─> remembered: these addresses are that library's
//! resident memory doubled        ─┐
//! much of it is about to go      ─┼> look:
//! the process ends               ─┘
//!        resident memory of the process (one number)
//!      - resident pages of mappings that are not ours: stack | brk | a library's | data of files
//!      = this heap's
//! ```
//!
//! Only others' pages are asked for, page by page; so a look costs little where most memory is ours, and some ten
//! nanoseconds for each page where it is not. It is taken when resident memory has doubled since the last one, before much
//! is freed, unmapped or dropped that was not there then, and at the end; a process of less than [`WORTH_A_LOOK`] is not looked
//! at. The ledger keeps the look that saw most. Asking how much is resident is a read that the kernel counts as the
//! program's: so it is done after twice as many requests, or large ranges that go, as the last time.
//!
//! Invariant: a look is never taken twice at a time, allocates nothing, and leaves errno alone.
//! Not here: judging (`advise`).

mod mappings;
mod owners;

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use underbar_ledger::layout::{OWNERS, Owner};
use underbar_ledger::{Key, Slot};
use underbar_sys::syscall;

use crate::{faults, heap, ledger, own, sandbox};

use mappings::{Mapping, each_mapping};
pub use owners::stack;
use owners::{Who, maker_of, module_name};

/// Below this much resident memory a process is not looked at.
pub const WORTH_A_LOOK: u64 = 4 << 20;

const MIB: u64 = 1 << 20;
const PAGE: usize = 4096;

/// Bytes that others mapped since resident memory was last asked for.
static MAPPED: AtomicU64 = AtomicU64::new(0);
/// Resident memory at which the next look is due: twice what it was at the last.
static NEXT_LOOK: AtomicU64 = AtomicU64::new(WORTH_A_LOOK);
/// Large ranges that went since it was looked. Any thread; relaxed: two would ask, or none.
static WENT: AtomicU32 = AtomicU32::new(0);
/// What happened to the heap, with locks held, since somebody could look: [`GREW`], [`SHRANK`]. Any thread; relaxed, as above.
static DUE: AtomicU32 = AtomicU32::new(0);
/// It got segments.
const GREW: u32 = 1;
/// It gave segments back, and that was not asked about for long enough.
const SHRANK: u32 = 2;
static LOOKING: AtomicBool = AtomicBool::new(false);

/// Remembers that code at `caller` mapped anonymous memory, and looks if there is much more than before.
pub fn mapped(start: usize, bytes: usize, caller: usize) {
    // A length need not be whole pages; what is mapped is.
    let bytes = bytes.next_multiple_of(PAGE);
    owners::mapped(start, bytes, caller);
    // Most of what is mapped is used soon; to ask after every small mapping would cost more than the mapping.
    let due = MAPPED.fetch_add(bytes as u64, Ordering::Relaxed) + bytes as u64;
    if due >= (NEXT_LOOK.load(Ordering::Relaxed) / 8).max(MIB) {
        MAPPED.store(0, Ordering::Relaxed);
        look_if_grown();
    }
}

/// Says that an element of so many bytes is about to be freed, with which the most that is resident may go. What the heap
/// itself holds was looked at as it grew. Called without locks.
#[inline]
pub fn before_free(bytes: usize) {
    if bytes as u64 >= WORTH_A_LOOK / 4 {
        before_large(bytes as u64, NEXT_LOOK.load(Ordering::Relaxed));
    }
}

/// Says that so many bytes, which nobody may have looked at since they were mapped, are about to be unmapped or dropped. Called
/// without locks.
#[inline]
pub fn before_unmap(bytes: usize) {
    if bytes as u64 >= WORTH_A_LOOK / 4 {
        before_large(bytes as u64, much_more());
    }
}

/// Looks where `least` is resident, if it is much that goes.
#[cold]
fn before_large(bytes: u64, least: u64) {
    if bytes >= NEXT_LOOK.load(Ordering::Relaxed) / 4 && is_to_be_asked() {
        look_if(least);
    }
}

/// Something went: is that worth the question how much is resident? After twice as many as the last time.
fn is_to_be_asked() -> bool {
    WENT.fetch_add(1, Ordering::Relaxed).wrapping_add(1).is_power_of_two()
}

/// Resident memory that is an eighth more than at the last look: when memory is about to go, there may be no better moment.
fn much_more() -> u64 {
    NEXT_LOOK.load(Ordering::Relaxed) / 16 * 9
}

/// Says that the heap got segments, where no look can be taken because locks are held.
pub fn grew() {
    DUE.fetch_or(GREW, Ordering::Relaxed);
}

/// Says that the heap gave a segment back, where no look can be taken because locks are held: what was resident before is known
/// but for the segment, and for what goes until [`look_if_due`].
pub fn shrank() {
    if is_to_be_asked() {
        DUE.fetch_or(SHRANK, Ordering::Relaxed);
    }
}

/// Looks if somebody said that memory grew or shrank. One load where nobody did; called without locks.
#[inline]
pub fn look_if_due() {
    if DUE.load(Ordering::Relaxed) != 0 {
        look_now_due();
    }
}

#[cold]
fn look_now_due() {
    if DUE.swap(0, Ordering::Relaxed) & SHRANK != 0 {
        look_if(much_more());
    } else {
        look_if_grown();
    }
}

/// Looks if resident memory has doubled since the last look. Called without locks, where memory may
/// have grown: this reads a file, some microseconds.
pub fn look_if_grown() {
    look_if(NEXT_LOOK.load(Ordering::Relaxed));
}

/// Looks if so much is resident.
fn look_if(least: u64) {
    if sandbox::is_closed() {
        return;
    }
    let resident = resident();
    if resident >= least {
        NEXT_LOOK.store(resident.saturating_mul(2), Ordering::Relaxed);
        WENT.store(0, Ordering::Relaxed);
        look();
    }
}

/// What a look found.
struct Found {
    /// Resident bytes that are not this heap's.
    others: u64,
    /// Bytes, and whose.
    owners: [(u64, Who); OWNERS],
    /// How many more pages may be asked for. A program that reserves terabytes must not wait for us.
    pages: usize,
}

impl Found {
    /// Adds to an owner's bytes; those for whom there is no room are in the total only.
    fn add(&mut self, who: Who, bytes: u64) {
        self.others += bytes;
        for (sum, owner) in &mut self.owners {
            if *owner == who || *owner == Who::Nobody {
                *owner = who;
                *sum += bytes;
                return;
            }
        }
    }
}

/// Looks at the process's mappings, and keeps what it sees if that is the most so far.
pub fn look() {
    const MOST_PAGES: usize = 1 << 22;
    if sandbox::is_closed() {
        return;
    }
    // One call, where the amount that is resident now takes three; most programs are small. 0 is no answer.
    let usage = syscall::usage();
    faults::keep(&usage);
    if (1..WORTH_A_LOOK).contains(&usage.peak_resident) {
        return;
    }
    let total = resident();
    let slot = ledger::slot();
    if cfg!(feature = "no-accounts")
        || total < WORTH_A_LOOK
        || total <= slot.cell(Key::CoverageAnonymous).load(Ordering::Relaxed)
        || LOOKING.swap(true, Ordering::Acquire)
    {
        return;
    }
    let mut found = Found { others: 0, owners: [(0, Who::Nobody); OWNERS], pages: MOST_PAGES };
    if each_mapping(&mut |mapping| judge(mapping, &mut found)) && found.pages > 0 {
        keep(slot, total, &found);
    }
    LOOKING.store(false, Ordering::Release);
}

/// Resident bytes that are not shared with a file; cheap.
fn resident() -> u64 {
    let mut text = [0_u8; 128];
    let Ok(fd) = syscall::open(c"/proc/self/statm", syscall::O_RDONLY | syscall::O_CLOEXEC, 0) else {
        return 0;
    };
    let length = own::read(fd, &mut text).unwrap_or(0);
    let _ = syscall::close(fd);
    let mut fields = text[..length].split(|&byte| byte == b' ').map(decimal);
    let (resident, shared) = (fields.nth(1).unwrap_or(0), fields.next().unwrap_or(0));
    resident.saturating_sub(shared) * PAGE as u64
}

/// Counts the resident pages of a mapping that are not this heap's. The kernel joins neighbouring mappings, whoever
/// made them, so that ours and others' may lie in one.
fn judge(mapping: &Mapping<'_>, found: &mut Found) {
    let special = if mapping.name == b"[heap]" {
        Some(Who::Named(c"brk"))
    } else if mapping.name.starts_with(b"[stack") {
        Some(Who::Named(c"stack"))
    } else if mapping.has_file {
        Some(Who::Named(c"data of files"))
    } else {
        None
    };
    let mut at = mapping.start;
    while at < mapping.end {
        if let Some(end) = heap::segment_end(at) {
            at = end.clamp(at + PAGE, mapping.end.max(at + PAGE));
            continue;
        }
        let (until, who) = special.map_or_else(|| maker_of(at, mapping.end), |who| (mapping.end, who));
        let end = heap::next_ours(at, until).max(at + PAGE);
        let bytes = resident_in(at, end, &mut found.pages);
        found.add(who, bytes);
        at = end;
    }
}

/// Resident bytes of a range.
fn resident_in(start: usize, end: usize, pages_left: &mut usize) -> u64 {
    let mut states = [0_u8; 1024];
    let mut bytes = 0;
    let mut at = start;
    while at < end {
        let pages = (end - at).div_ceil(PAGE).min(states.len());
        let states = &mut states[..pages];
        *pages_left = pages_left.saturating_sub(pages);
        if *pages_left == 0 || syscall::mincore(at, states).is_err() {
            return bytes;
        }
        bytes += set_in(states) as u64 * PAGE as u64;
        at += pages * PAGE;
    }
    bytes
}

/// How many of the states say that the page is resident. In bytes, of so many at a time that a byte holds their sum: the
/// compiler adds sixteen at once.
fn set_in(states: &[u8]) -> usize {
    states.chunks(128).map(|some| usize::from(some.iter().map(|state| state & 1).sum::<u8>())).sum()
}

/// The first number of a text.
fn decimal(text: &[u8]) -> u64 {
    text.iter()
        .skip_while(|byte| !byte.is_ascii_digit())
        .take_while(|byte| byte.is_ascii_digit())
        .fold(0, |number, byte| number * 10 + u64::from(byte - b'0'))
}

fn keep(slot: &Slot, total: u64, found: &Found) {
    slot.cell(Key::CoverageAnonymous).store(total, Ordering::Relaxed);
    slot.cell(Key::CoverageHeap).store(total.saturating_sub(found.others), Ordering::Relaxed);
    for (owner, &(bytes, who)) in slot.owners.iter().zip(&found.owners) {
        store(owner, bytes, who);
    }
}

fn store(owner: &Owner, bytes: u64, who: Who) {
    let mut room = [0_u8; 32];
    let name: &[u8] = match who {
        Who::Nobody => b"",
        Who::Named(name) => name.to_bytes(),
        Who::Module(address) => module_name(address, &mut room),
    };
    owner.name.store(name);
    owner.bytes.store(bytes, Ordering::Relaxed);
    owner.peak.fetch_max(bytes, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A look came to no end where a program had mapped a length that is not whole pages.
    #[test]
    fn lengths_need_not_be_whole_pages() {
        let start = syscall::map_anonymous(10 * PAGE).expect("memory") as usize;
        // SAFETY: a page of the mapping.
        unsafe { ((start + 9 * PAGE) as *mut u8).write(1) };
        mapped(start, 9 * PAGE + 3136, 1);
        let mut found = Found { others: 0, owners: [(0, Who::Nobody); OWNERS], pages: 1000 };
        let whole = Mapping { start, end: start + 10 * PAGE, has_file: false, name: b"" };
        judge(&whole, &mut found);
        assert_eq!(found.others, PAGE as u64);
        assert_eq!(resident_in(start, start + 9 * PAGE + 1, &mut 1000), PAGE as u64);
    }

    #[test]
    fn resident_pages_are_counted() {
        let start = syscall::map_anonymous(64 * PAGE).expect("memory") as usize;
        for page in [0, 7, 63] {
            // SAFETY: a page of the mapping.
            unsafe { ((start + page * PAGE) as *mut u8).write(1) };
        }
        assert_eq!(resident_in(start, start + 64 * PAGE, &mut 1000), 3 * PAGE as u64);
        let mut few = 10;
        resident_in(start, start + 64 * PAGE, &mut few);
        assert_eq!(few, 0, "no more pages than allowed are asked for");
    }

    #[test]
    fn states_are_counted_to_the_last() {
        for length in [0, 1, 127, 128, 129, 1024] {
            // Only the lowest bit says something.
            assert_eq!(set_in(&std::vec![0xff; length]), length);
            assert_eq!(set_in(&std::vec![0xfe; length]), 0);
        }
    }
}
