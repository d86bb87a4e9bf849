//! Coverage: how much of the process's memory went through this heap, and who owns the rest.
//!
//! ```text
//! mmap, called by a library      ─> remembered: these addresses belong to that library
//! resident memory doubled        ─┐
//! much of it is about to go      ─┼> look: each private mapping, page by page
//! the process ends               ─┘    ├─ segments of this heap   mincore   ─> the heap's
//!                                      ├─ other anonymous         mincore   ─> stack | brk | a library's
//!                                      └─ of files                pagemap   ─> data of files, as far as written to;
//!                                                                                 of constants once (`constant`)
//!        the sum of these, within 2 % of the kernel's resident, unshared total; otherwise the same by smaps
//! ```
//!
//! Nothing is a remainder: pages of a shared mapping are resident for every process that shares it, pages of a file for
//! every process that reads it, and neither is in this process's anonymous memory. A page of zeros that was only read is
//! resident for mincore, and takes no memory. If there are many of these, the sums disagree, and the kernel is asked for
//! the anonymous part of each mapping, which takes it ten times as long. A program that reserves terabytes has nothing in
//! most of them: ranges without access rights are skipped, and in ranges longer than [`LONG`] no page is queried if the
//! kernel has reported how many there are.
//!
//! A look costs a few nanoseconds for each page. Of a heap of [`MUCH`] or more a sample of the pages is queried first; the
//! kernel's total decides whether that is right. A look is taken when resident memory has doubled since the last one, before
//! much new memory is freed, unmapped or dropped, and at the end. A process of less than [`WORTH_A_LOOK`] is not looked at.
//! "Much" is at least an eighth of the memory that was resident at the last look. The ledger keeps the look that saw most.
//! Asking how much is resident is a read that the kernel counts as the program's. So the kernel's peak is asked first, which is
//! one cheap call; and it is done after twice as many requests as the last time; after a look, for each of the first 16 large
//! ranges that go, and then after twice as many.
//!
//! Invariant: a look is never taken twice at a time, allocates nothing, and leaves errno alone.
//! Not here: judging (`advise`).

mod constant;
mod mappings;
mod owners;
mod pages;

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use underbar_ledger::layout::{OWNERS, Owner};
use underbar_ledger::{Key, Slot};
use underbar_sys::syscall;

use crate::ledger::own_reads;
use crate::{faults, ledger, sandbox};

pub(crate) use mappings::mapping_around;
use mappings::{Kind, List, Mapping, each_mapping};
pub use owners::{Code, code_at, stack};
use owners::{Who, maker_of};
pub(crate) use owners::{module_around, module_name, module_start};
use pages::Pages;

/// Below this much resident memory a process is not looked at.
pub const WORTH_A_LOOK: u64 = 4 << 20;

/// A heap with segments of this many bytes is sampled.
const MUCH: u64 = 64 << 20;
/// In a longer range no page is queried if the sum is known.
const LONG: usize = 1 << 30;

const MIB: u64 = 1 << 20;
const PAGE: usize = 4096;

/// Bytes that other code mapped since resident memory was last read.
static MAPPED: AtomicU64 = AtomicU64::new(0);
/// Resident memory at which the next look is due: twice the amount at the last look.
static NEXT_LOOK: AtomicU64 = AtomicU64::new(WORTH_A_LOOK);
/// Large ranges that went since the last look. Any thread; relaxed: two threads would ask, or none.
static WENT: AtomicU32 = AtomicU32::new(0);
/// The fewest bytes that were resident and shared with a file whenever that was read; 0 at first. Any thread; relaxed: a lower
/// value only costs a read.
static SHARED: AtomicU64 = AtomicU64::new(0);
/// What happened to the heap, with locks held, since a look was last possible: [`GREW`], [`SHRANK`]. Any thread; relaxed,
/// as above.
static DUE: AtomicU32 = AtomicU32::new(0);
/// It got segments.
const GREW: u32 = 1;
/// It gave segments back, and resident memory was not read for long enough.
const SHRANK: u32 = 2;
static LOOKING: AtomicBool = AtomicBool::new(false);

/// The heap's segments, as the heap knows them.
pub trait Segments {
    /// The end of the heap's storage around an address, of its segment or of a part; None if it is not the heap's. For estimates only.
    fn end_of(address: usize) -> Option<usize>;

    /// The first page in a range that belongs to the heap, or the range's end.
    fn next(start: usize, end: usize) -> usize;
}

/// Remembers that code at `caller` mapped anonymous memory, and looks if there is much more than before.
pub fn mapped<S: Segments>(start: usize, bytes: usize, caller: usize) {
    // A length need not be a whole number of pages; the mapping is.
    let bytes = bytes.next_multiple_of(PAGE);
    owners::mapped(start, bytes, caller);
    // Most mapped memory is used soon. To ask after every small mapping would cost more than the mapping.
    let due = MAPPED.fetch_add(bytes as u64, Ordering::Relaxed) + bytes as u64;
    if due >= (NEXT_LOOK.load(Ordering::Relaxed) / 8).max(MIB) {
        MAPPED.store(0, Ordering::Relaxed);
        look_if_grown::<S>();
    }
}

/// Reports that an element of this many bytes is about to be freed, which may end the peak of resident memory. Called
/// without locks.
#[inline]
pub fn before_free<S: Segments>(bytes: usize) {
    if bytes as u64 >= WORTH_A_LOOK / 4 {
        before_large::<S>(bytes as u64);
    }
}

/// Reports that this many bytes, which may not have been in any look since they were mapped, are about to be unmapped or
/// dropped. Called without locks.
#[inline]
pub fn before_unmap<S: Segments>(bytes: usize) {
    if bytes as u64 >= WORTH_A_LOOK / 4 {
        before_large::<S>(bytes as u64);
    }
}

/// Looks if much more is resident than at the last look, and the bytes that go are an eighth of that or more: memory that a
/// program takes only for a moment need not double its total.
#[cold]
fn before_large<S: Segments>(bytes: u64) {
    if bytes >= NEXT_LOOK.load(Ordering::Relaxed) / 16 && is_to_be_asked() {
        look_if::<S>(much_more());
    }
}

/// Whether a loss of memory justifies reading how much is resident. For each of the first ones it does: aligning code
/// unmaps ranges that were never written, and the next one may be all that there was. Later after twice as many as the last
/// time.
fn is_to_be_asked() -> bool {
    const FIRST: u32 = 16;
    let went = WENT.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
    went <= FIRST || went.is_power_of_two()
}

/// Resident memory an eighth above that of the last look: when memory is about to go, there may be no better moment.
fn much_more() -> u64 {
    NEXT_LOOK.load(Ordering::Relaxed) / 16 * 9
}

/// Reports that the heap got segments, where no look can be taken because locks are held.
pub fn grew() {
    DUE.fetch_or(GREW, Ordering::Relaxed);
}

/// Reports that the heap gave a segment back, where no look can be taken because locks are held. The earlier resident
/// memory is known except for the segment, and for memory that goes until [`look_if_due`].
pub fn shrank() {
    if is_to_be_asked() {
        DUE.fetch_or(SHRANK, Ordering::Relaxed);
    }
}

/// Looks if a report said that memory grew or shrank. Otherwise the cost is one load. Called without locks.
#[inline]
pub fn look_if_due<S: Segments>() {
    if DUE.load(Ordering::Relaxed) != 0 {
        look_now_due::<S>();
    }
}

#[cold]
fn look_now_due<S: Segments>() {
    if DUE.swap(0, Ordering::Relaxed) & SHRANK != 0 {
        look_if::<S>(much_more());
    } else {
        look_if_grown::<S>();
    }
}

/// Looks if resident memory has doubled since the last look. Called without locks, where memory may
/// have grown: this reads a file, some microseconds.
pub fn look_if_grown<S: Segments>() {
    look_if::<S>(NEXT_LOOK.load(Ordering::Relaxed));
}

/// Looks if this much is resident.
fn look_if<S: Segments>(least: u64) {
    if sandbox::is_closed() {
        return;
    }
    // Fewer bytes were ever resident, without those that were always shared: the peak of both is at least the sum.
    let never_shared = syscall::usage().peak_resident.saturating_sub(SHARED.load(Ordering::Relaxed));
    if (1..least).contains(&never_shared) {
        return;
    }
    let resident = resident();
    if resident >= least {
        NEXT_LOOK.store(resident.saturating_mul(2), Ordering::Relaxed);
        WENT.store(0, Ordering::Relaxed);
        look::<S>();
    }
}

/// What a look found.
struct Found {
    /// Resident bytes of this heap.
    heap: u64,
    /// Resident bytes of other owners.
    others: u64,
    /// Bytes, and their owner.
    owners: [(u64, Who); OWNERS],
}

impl Found {
    const fn nothing() -> Self {
        Self { heap: 0, others: 0, owners: [(0, Who::Nobody); OWNERS] }
    }

    /// Adds to an owner's bytes; the last entry is for all owners for whom there is no room.
    fn add(&mut self, who: Who, bytes: u64) {
        self.others += bytes;
        let Some(((all, last), owners)) = self.owners.split_last_mut() else { return };
        for (sum, owner) in owners {
            if *owner == who || *owner == Who::Nobody {
                *owner = who;
                *sum += bytes;
                return;
            }
        }
        *last = Who::Named(c"others");
        *all += bytes;
    }

    /// Adds the results of one mapping, scaled to its anonymous bytes, if those are known.
    fn take(&mut self, part: &Found, anonymous: Option<u64>) {
        let seen = part.heap + part.others;
        let share = |bytes: u64| match anonymous {
            Some(anonymous) if seen > 0 => {
                (u128::from(bytes) * u128::from(anonymous) / u128::from(seen)) as u64
            }
            _ => bytes,
        };
        self.heap += share(part.heap);
        for &(bytes, who) in part.owners.iter().filter(|(bytes, _)| *bytes > 0) {
            self.add(who, share(bytes));
        }
    }

    fn sum(&self) -> u64 {
        self.heap + self.others
    }
}

/// Looks at the process's mappings, and keeps the result if it is the most so far.
pub fn look<S: Segments>() {
    if sandbox::is_closed() {
        return;
    }
    // One call, whereas the current resident amount takes three; most programs are small. 0 is no answer.
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
    // The kernel's count lags by some pages of each processor.
    let is_within =
        |part: u64, lag: u64| move |found: &Found| found.sum().abs_diff(total) <= (total / part).max(lag);
    let is_much = slot.cell(Key::HeapSegmentBytes).load(Ordering::Relaxed) >= MUCH;
    // A sample that is off by as much as the lag would be wrong by a tenth in a small process with a large heap.
    let sampled = if is_much {
        look_by::<S>(List::Short, true).filter(is_within(100, (MIB / 2).min(total / 50)))
    } else {
        None
    };
    let found = sampled
        .or_else(|| look_by::<S>(List::Short, false).filter(is_within(50, MIB / 2)))
        .or_else(|| look_by::<S>(List::Long, false));
    if let Some(found) = found {
        keep(slot, &found);
    }
    LOOKING.store(false, Ordering::Release);
}

/// Resident bytes that are not shared with a file; cheap.
fn resident() -> u64 {
    let mut text = [0_u8; 128];
    let Ok(fd) = syscall::open(c"/proc/self/statm", syscall::O_RDONLY | syscall::O_CLOEXEC, 0) else {
        return 0;
    };
    let length = own_reads::read(fd, &mut text).unwrap_or(0);
    let _ = syscall::close(fd);
    let mut fields = text[..length].split(|&byte| byte == b' ').map(decimal);
    let (resident, shared) = (fields.nth(1).unwrap_or(0), fields.next().unwrap_or(0));
    let _ = SHARED.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |least| {
        let shared = shared * PAGE as u64;
        (least == 0 || shared < least).then_some(shared)
    });
    resident.saturating_sub(shared) * PAGE as u64
}

/// Looks at each mapping, or at a sample of the heap's pages. None if that cannot be done, or takes too long.
fn look_by<S: Segments>(list: List, is_sampled: bool) -> Option<Found> {
    let mut found = Found::nothing();
    let mut pages = Pages::open(is_sampled);
    let is_read = each_mapping(list, &mut |mapping, anonymous| {
        let mut part = Found::nothing();
        if anonymous != Some(0) {
            judge::<S>(mapping, anonymous, &mut pages, &mut part);
            found.take(&part, anonymous);
        }
    });
    (is_read && !pages.were_too_many()).then_some(found)
}

/// Counts the resident pages of a mapping. The kernel joins neighbouring mappings, regardless of their makers, so one mapping may
/// hold memory of this heap and of others.
fn judge<S: Segments>(mapping: &Mapping, anonymous: Option<u64>, pages: &mut Pages, found: &mut Found) {
    /// Longer ones are data that is not relocated.
    const CONSTANTS: usize = 64 << 20;
    let (start, end) = (mapping.start, mapping.end);
    let special = match mapping.kind {
        Kind::Reserved if anonymous.is_none() => return,
        Kind::Anonymous | Kind::Reserved => None,
        Kind::Brk => Some(Who::Named(c"brk")),
        Kind::Stack => Some(Who::Named(c"stack")),
        Kind::FileCode | Kind::FileReadable | Kind::FileWritable => {
            let may_be = match mapping.kind {
                Kind::FileCode => anonymous.is_some(),
                Kind::FileReadable => anonymous.is_some() || end - start <= CONSTANTS,
                _ => true,
            };
            if may_be {
                let mut ask = || pages.written(start, end);
                let bytes = match mapping.kind {
                    Kind::FileReadable => constant::written(start, end, ask),
                    _ => ask(),
                };
                found.add(Who::Named(c"data of files"), bytes);
            }
            return;
        }
    };
    let mut at = start;
    let mut long = None;
    while at < end {
        let mut ours = at;
        while ours < end
            && let Some(until) = S::end_of(ours)
        {
            ours = until.clamp(ours + PAGE, end.max(ours + PAGE));
        }
        if ours > at {
            found.heap += pages.ours(at, ours);
            at = ours;
            continue;
        }
        let (until, who) = special.map_or_else(|| maker_of(at, end), |who| (end, who));
        let until = S::next(at, until).max(at + PAGE);
        if anonymous.is_some() && until - at > LONG {
            long = Some(who);
        } else {
            found.add(who, pages.others(at, until));
        }
        at = until;
    }
    if let (Some(who), Some(anonymous)) = (long, anonymous) {
        found.add(who, anonymous.saturating_sub(found.sum()));
    }
}

/// The first number of a text.
fn decimal(text: &[u8]) -> u64 {
    text.iter()
        .skip_while(|byte| !byte.is_ascii_digit())
        .take_while(|byte| byte.is_ascii_digit())
        .fold(0, |number, byte| number * 10 + u64::from(byte - b'0'))
}

fn keep(slot: &Slot, found: &Found) {
    slot.cell(Key::CoverageAnonymous).store(found.sum(), Ordering::Relaxed);
    slot.cell(Key::CoverageHeap).store(found.heap, Ordering::Relaxed);
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
    use crate::heap;

    /// A look did not end if a program had mapped a length that is not whole pages.
    #[test]
    fn lengths_need_not_be_whole_pages() {
        let start = syscall::map_anonymous(10 * PAGE).expect("memory") as usize;
        // SAFETY: a page of the mapping.
        unsafe { ((start + 9 * PAGE) as *mut u8).write(1) };
        mapped::<heap::OurSegments>(start, 9 * PAGE + 3136, 1);
        let mut found = Found::nothing();
        let whole = Mapping { start, end: start + 10 * PAGE, kind: Kind::Anonymous };
        judge::<heap::OurSegments>(&whole, None, &mut Pages::open(false), &mut found);
        assert_eq!((found.others, found.heap), (PAGE as u64, 0));
    }

    #[test]
    fn parts_are_the_whole_whatever_their_number() {
        let mut found = Found::nothing();
        for owner in 1..=40 {
            found.add(Who::Module(owner), 10);
        }
        assert_eq!((found.others, found.owners.iter().map(|(bytes, _)| bytes).sum()), (400, 400));
        let mut part = Found::nothing();
        part.heap = 300;
        part.add(Who::Module(1), 100);
        // A quarter of the mapping is memory.
        found.take(&part, Some(100));
        assert_eq!((found.heap, found.others, found.owners[0].0), (75, 425, 35));
        found.take(&part, None);
        assert_eq!(found.sum(), 75 + 425 + 400);
    }
}
