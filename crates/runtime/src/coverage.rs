//! Coverage: how much of the process's memory went through this heap, and who has the rest.
//!
//! ```text
//! mmap, called by a library ─> remembered: these addresses are that library's
//! resident memory doubled, or the process ends ─> look:
//!        resident memory of the process (one number)
//!      - resident pages of mappings that are not ours: stack | brk | a library's | data of files
//!      = this heap's
//! ```
//!
//! Only others' pages are asked for, page by page; so a look costs little where most memory is ours, and some ten
//! nanoseconds for each page where it is not. It is taken when resident memory has doubled since the last one, and
//! at the end; a process of less than [`WORTH_A_LOOK`] is not looked at. The ledger keeps the look that saw most. Asking how
//! much is resident is a read that the kernel counts as the program's: so it is done after twice as many requests, or large
//! elements freed, as the last time.
//!
//! Invariant: a look is never taken twice at a time, allocates nothing, and leaves errno alone.
//! Not here: judging (`advise`).

use core::ffi::{CStr, c_char, c_int};
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use underbar_ledger::layout::{OWNERS, Owner};
use underbar_ledger::{Key, Slot};
use underbar_sys::lock::Lock;
use underbar_sys::syscall;

use crate::next::weak;
use crate::{faults, heap, ledger, own, sandbox};

/// Below this much resident memory a process is not looked at.
pub const WORTH_A_LOOK: u64 = 4 << 20;
/// Mappings whose owners are remembered; the oldest is forgotten for the newest.
const REGIONS: usize = 512;

const MIB: u64 = 1 << 20;
const PAGE: usize = 4096;

/// Bytes that others mapped since resident memory was last asked for.
static MAPPED: AtomicU64 = AtomicU64::new(0);
/// Resident memory at which the next look is due.
static NEXT_LOOK: AtomicU64 = AtomicU64::new(WORTH_A_LOOK);
/// The heap got a segment since the last look.
static DUE: AtomicBool = AtomicBool::new(false);
static LOOKING: AtomicBool = AtomicBool::new(false);

#[derive(Clone, Copy)]
struct Region {
    start: usize,
    end: usize,
    /// An address in the module that made it.
    caller: usize,
}

struct Regions {
    all: [Region; REGIONS],
    next: usize,
    /// How many there are.
    filled: usize,
}

static MADE: Lock<Regions> =
    Lock::new(Regions { all: [Region { start: 0, end: 0, caller: 0 }; REGIONS], next: 0, filled: 0 });

/// Remembers that code at `caller` mapped anonymous memory, and looks if there is much more than before.
pub fn mapped(start: usize, bytes: usize, caller: usize) {
    // A length need not be whole pages; what is mapped is.
    let bytes = bytes.next_multiple_of(PAGE);
    if let Some(mut made) = MADE.try_lock() {
        let at = made.next;
        let last = at.checked_sub(1).unwrap_or(REGIONS - 1);
        let region = &mut made.all[last];
        if region.caller == caller && (region.start == start + bytes || region.end == start) {
            region.start = region.start.min(start);
            region.end = region.end.max(start + bytes);
        } else {
            made.all[at] = Region { start, end: start + bytes, caller };
            made.next = (at + 1) % REGIONS;
            made.filled = (made.filled + 1).min(REGIONS);
        }
    }
    // Most of what is mapped is used soon; to ask after every small mapping would cost more than the mapping.
    let due = MAPPED.fetch_add(bytes as u64, Ordering::Relaxed) + bytes as u64;
    if due >= (NEXT_LOOK.load(Ordering::Relaxed) / 8).max(MIB) {
        MAPPED.store(0, Ordering::Relaxed);
        look_if_grown();
    }
}

/// Says that a large element is about to be freed, with whose pages the most that is resident may go. Called without locks.
#[inline]
pub fn before_free(bytes: usize) {
    if bytes as u64 >= WORTH_A_LOOK / 4 {
        before_large_free(bytes as u64);
    }
}

#[cold]
fn before_large_free(bytes: u64) {
    /// Large elements freed since it was looked. Any thread; relaxed: two would ask, or none.
    static FREED: AtomicU32 = AtomicU32::new(0);
    let next_look = NEXT_LOOK.load(Ordering::Relaxed);
    if bytes < next_look / 4 || !(FREED.fetch_add(1, Ordering::Relaxed).wrapping_add(1)).is_power_of_two() {
        return;
    }
    look_if_grown();
    if NEXT_LOOK.load(Ordering::Relaxed) != next_look {
        FREED.store(0, Ordering::Relaxed);
    }
}

/// Says that memory grew, where no look can be taken because locks are held.
pub fn grew() {
    DUE.store(true, Ordering::Relaxed);
}

/// Looks if somebody said that memory grew. One load where nobody did; called without locks.
#[inline]
pub fn look_if_due() {
    if DUE.load(Ordering::Relaxed) {
        DUE.store(false, Ordering::Relaxed);
        look_if_grown();
    }
}

/// Looks if resident memory has doubled since the last look. Called without locks, where memory may
/// have grown: this reads a file, some microseconds.
pub fn look_if_grown() {
    if sandbox::is_closed() {
        return;
    }
    let resident = resident();
    if resident >= NEXT_LOOK.load(Ordering::Relaxed) {
        NEXT_LOOK.store(resident.saturating_mul(2), Ordering::Relaxed);
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

#[derive(Clone, Copy, PartialEq, Eq)]
enum Who {
    Nobody,
    Named(&'static CStr),
    /// A module, by where it begins.
    Module(usize),
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

/// One mapping of the process that can be written.
struct Mapping<'a> {
    start: usize,
    end: usize,
    has_file: bool,
    name: &'a [u8],
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

/// Who made the mapping at a page, by the newest that is remembered, and up to where that holds.
fn maker_of(page: usize, end: usize) -> (usize, Who) {
    const UNKNOWN: Who = Who::Named(c"other mappings");
    let Some(made) = MADE.try_lock() else { return (end, UNKNOWN) };
    let mut until = end;
    // Newest first: those behind `next` are from the last time round.
    let (newer, older) = made.all[..made.filled].split_at(made.next.min(made.filled));
    for region in [newer, older].into_iter().flat_map(|part| part.iter().rev()) {
        if (region.start..region.end).contains(&page) {
            let who = object_of(region.caller)
                .map_or(Who::Named(c"code made at run time"), |object| Who::Module(object.start));
            return (until.min(region.end), who);
        }
        // A newer region further on ends what an older one says.
        if region.start > page {
            until = until.min(region.start);
        }
    }
    (until, UNKNOWN)
}

/// Digits of an address in the kernel's list, at the least.
const LEAST_DIGITS: usize = 8;
/// Bytes of a line there, at the least: as in `00400000-00401000 r--p 00000000 00:00 0`.
const LEAST_LINE: usize = 39;

/// Reads the mappings of this process that can be written, one by one; false where the kernel does not show them.
fn each_mapping(then: &mut dyn FnMut(&Mapping<'_>)) -> bool {
    let Ok(fd) = syscall::open(c"/proc/self/maps", syscall::O_RDONLY | syscall::O_CLOEXEC, 0) else {
        return false;
    };
    let mut text = [0_u8; 1024];
    let mut filled = 0;
    while let Some(rest) = text.get_mut(filled..)
        && let Ok(read) = own::read(fd, rest)
        && read > 0
    {
        filled += read;
        let mut done = 0;
        while let Some(more) = text[..filled].get(done + LEAST_LINE..).and_then(line_in) {
            let length = LEAST_LINE + more;
            if let Some(mapping) = mapping(&text[done..done + length]) {
                then(&mapping);
            }
            done += length + 1;
        }
        if done == 0 && filled == text.len() {
            // A line as long as all this is that of a file with a long path: what is in it is not needed.
            done = filled;
        }
        text.copy_within(done..filled, 0);
        filled -= done;
    }
    let _ = syscall::close(fd);
    true
}

unsafe extern "C" {
    fn memchr(text: *const u8, wanted: c_int, length: usize) -> *const u8;
}

/// Bytes before the first end of a line. By the C library, which looks at many at a time: a process has hundreds of mappings,
/// and their lines are long.
fn line_in(text: &[u8]) -> Option<usize> {
    // SAFETY: so many bytes can be read there.
    let end = unsafe { memchr(text.as_ptr(), c_int::from(b'\n'), text.len()) };
    (!end.is_null()).then(|| end.addr() - text.as_ptr().addr())
}

/// A line of the list: `7f00a000-7f00b000 rw-p 00000000 00:00 0   [stack]`. None of a mapping that cannot be written, as most
/// are.
fn mapping(line: &[u8]) -> Option<Mapping<'_>> {
    let hyphen = LEAST_DIGITS + place_of(b'-', line.get(LEAST_DIGITS..)?)?;
    // Both addresses have as many digits, as a rule.
    let usual = 2 * hyphen + 1;
    let blank =
        if line.get(usual) == Some(&b' ') { usual } else { hyphen + place_of(b' ', &line[hyphen..])? };
    if line.get(blank + 2) != Some(&b'w') {
        return None;
    }
    let (start, end) = (address(&line[..hyphen])?, address(&line[hyphen + 1..blank])?);
    // Behind the rights: offset, device, file, name.
    let mut fields = line.get(blank + 6..)?.splitn(4, |&byte| byte == b' ');
    let has_file = fields.nth(2)? != b"0";
    Some(Mapping { start, end, has_file, name: fields.next().unwrap_or_default().trim_ascii_start() })
}

fn place_of(wanted: u8, text: &[u8]) -> Option<usize> {
    text.iter().position(|&byte| byte == wanted)
}

/// An address as the kernel writes it, in lower-case hexadecimal digits.
fn address(digits: &[u8]) -> Option<usize> {
    digits.iter().try_fold(0, |address, &byte| {
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'f' => byte - b'a' + 10,
            _ => return None,
        };
        Some(address << 4 | usize::from(digit))
    })
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

// ---- modules -------------------------------------------------------------------------------------------------

/// What `_dl_find_object` of glibc (since 2.35) says of an address: it takes no lock, so it may be asked anywhere.
#[repr(C)]
struct Object {
    flags: u64,
    start: usize,
    end: usize,
    link: *const Link,
    frames: usize,
    reserved: [u64; 7],
}

/// The first fields of the loader's description of a module, which are part of its interface.
#[repr(C)]
struct Link {
    base: usize,
    name: *const c_char,
}

// Where the C library lacks it, mappings have no names, and nothing else is lost.
weak! { address_of_find_object = "_dl_find_object"; }

/// The module in which an address lies.
fn object_of(address: usize) -> Option<Object> {
    let function = address_of_find_object();
    if function == 0 {
        return None;
    }
    let mut object =
        Object { flags: 0, start: 0, end: 0, link: core::ptr::null(), frames: 0, reserved: [0; 7] };
    // SAFETY: the C library's own function of that name; it fills the object in, or answers -1.
    let found = unsafe {
        let function: unsafe extern "C" fn(usize, *mut Object) -> c_int = core::mem::transmute(function);
        function(address, &raw mut object)
    };
    (found == 0).then_some(object)
}

fn module_name(start: usize, room: &mut [u8; 32]) -> &[u8] {
    let Some(object) = object_of(start) else { return b"other mappings" };
    // SAFETY: the loader keeps the description for as long as the module is loaded; a module that makes mappings
    // is not unloaded while they are looked at, as far as anybody can know; its name is a C string.
    let path = unsafe {
        if object.link.is_null() || (*object.link).name.is_null() {
            c""
        } else {
            CStr::from_ptr((*object.link).name)
        }
    };
    let file = path.to_bytes().rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    if file.is_empty() {
        return b"the program itself";
    }
    let length = file.len().min(room.len());
    room[..length].copy_from_slice(&file[..length]);
    &room[..length]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn a_line_of_the_list_is_read() {
        let check = |line: &str, expect: Option<(usize, usize, bool, &str)>| {
            let found = mapping(line.as_bytes());
            let found = found.map(|m| (m.start, m.end, m.has_file, m.name));
            let expect = expect.map(|(start, end, file, name)| (start, end, file, name.as_bytes()));
            assert_eq!(found, expect, "{line}");
        };
        check("7f00a000-7f00b000 rw-p 00000000 00:00 0 ", Some((0x7f00_a000, 0x7f00_b000, false, "")));
        let low = (0x40_0000, 0x40_1000);
        check("00400000-00401000 rw-p 00000000 00:00 0     [heap]", Some((low.0, low.1, false, "[heap]")));
        check(
            "00400000-00401000 -w-p 00001000 fe:00 42   /usr/x.so",
            Some((low.0, low.1, true, "/usr/x.so")),
        );
        check("00400000-00401000 r--p 00001000 fe:00 42   /usr/x.so", None);
        let far = (0x7f3a_0000_1000, 0x7f3a_0000_2000, true, "/a b");
        check("7f3a00001000-7f3a00002000 rw-s 00001000 fe:00 42       /a b", Some(far));
        check("7f3a00001000-7f3a00002000 r-xs 00001000 fe:00 42       /a b", None);
        // One has a digit more than the other.
        check(
            "fffff0000-1000001000 rw-p 00000000 00:00 0 ",
            Some((0xf_ffff_0000, 0x10_0000_1000, false, "")),
        );
        check("7f000000-7f010000-7f020000 rw-p 00000000 00:00 0 ", None);
        check("7F000000-7F010000 rw-p 00000000 00:00 0 ", None);
        check("7f000000 rw-p 00000000 00:00 0 ", None);
        check("7f000000-7f100000 rw-p", None);
        check("-7f100000 rw-p 00000000 00:00 0 ", None);
        check("what is this", None);
    }

    #[test]
    fn lines_end_where_they_end() {
        for length in 0..40 {
            let mut text = [b'\n' + 1, 0x8a, 0xff, 0, b'\n' - 1, 1, 0x80].repeat(6);
            text.truncate(length);
            assert_eq!(line_in(&text), None);
            text.extend(b"\nx\n");
            assert_eq!(line_in(&text), Some(length));
        }
    }

    #[test]
    fn every_mapping_is_seen_once() {
        let listed = || -> Vec<usize> {
            let lines = std::fs::read_to_string("/proc/self/maps").expect("maps");
            lines.lines().filter_map(|line| mapping(line.as_bytes())).map(|found| found.start).collect()
        };
        // Other tests map and unmap meanwhile, and that joins and splits other mappings: in a quiet moment the two agree.
        let starts = (0..1000).find_map(|_| {
            let (before, mut starts) = (listed(), Vec::new());
            assert!(each_mapping(&mut |mapping| starts.push(mapping.start)));
            (starts == before).then_some(starts)
        });
        let starts = starts.expect("the list of the kernel, once");
        assert!(starts.len() > 5);
        assert!(starts.is_sorted());
    }

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

    #[test]
    fn this_program_is_a_module() {
        let object = object_of(look as fn() as usize).expect("glibc of 2.35 or later");
        assert!((object.start..object.end).contains(&(look as fn() as usize)));
        assert_eq!(module_name(object.start, &mut [0; 32]), b"the program itself");
    }
}
