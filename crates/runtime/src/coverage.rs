//! Coverage: how much of the process's memory went through this heap, and who has the rest.
//!
//! ```text
//! mmap, called by a library ─> remembered: these addresses are that library's
//! resident memory grew by a quarter, or the process ends ─> look: /proc/self/smaps, a line for each mapping
//!        ours | brk | stack | a library's | data of files ─> resident anonymous bytes of each
//! ```
//!
//! A look costs some 100 microseconds and more, so it is taken when memory has grown by a quarter since the last
//! one, and at the end; a process of less than [`WORTH_A_LOOK`] is not looked at. The ledger keeps the look that saw most.
//!
//! Invariant: a look is never taken twice at a time, allocates nothing, and leaves errno alone.
//! Not here: judging (`advise`).

use core::ffi::{CStr, c_char, c_int};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use underbar_ledger::layout::{OWNERS, Owner};
use underbar_ledger::{Key, Slot};
use underbar_sys::lock::Lock;
use underbar_sys::syscall;

use crate::next::weak;
use crate::{heap, ledger};

/// Below this much resident memory a process is not looked at.
pub const WORTH_A_LOOK: u64 = 4 << 20;
/// Mappings whose owners are remembered; the oldest is forgotten for the newest.
const REGIONS: usize = 512;

const MIB: u64 = 1 << 20;

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
}

static MADE: Lock<Regions> =
    Lock::new(Regions { all: [Region { start: 0, end: 0, caller: 0 }; REGIONS], next: 0 });

/// Remembers that code at `caller` mapped anonymous memory, and looks if there is much more than before.
pub fn mapped(start: usize, bytes: usize, caller: usize) {
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
        }
    }
    // Most of what is mapped is used soon; to ask after every small mapping would cost more than the mapping.
    let due = MAPPED.fetch_add(bytes as u64, Ordering::Relaxed) + bytes as u64;
    if due >= (NEXT_LOOK.load(Ordering::Relaxed) / 8).max(MIB) {
        MAPPED.store(0, Ordering::Relaxed);
        look_if_grown();
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

/// Looks if resident memory has grown by a quarter since the last look. Called without locks, where memory may
/// have grown: this reads a file, some microseconds.
pub fn look_if_grown() {
    let resident = resident();
    if resident >= NEXT_LOOK.load(Ordering::Relaxed) {
        NEXT_LOOK.store(resident.saturating_add(resident / 4), Ordering::Relaxed);
        look();
    }
}

/// What a look found.
struct Found {
    total: u64,
    heap: u64,
    /// Bytes, and whose.
    others: [(u64, Who); OWNERS],
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
        for (sum, owner) in &mut self.others {
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
    if cfg!(feature = "no-accounts") || resident() < WORTH_A_LOOK || LOOKING.swap(true, Ordering::Acquire) {
        return;
    }
    let mut found = Found { total: 0, heap: 0, others: [(0, Who::Nobody); OWNERS] };
    if each_mapping(&mut |mapping| judge(mapping, &mut found)) {
        keep(ledger::slot(), &found);
    }
    LOOKING.store(false, Ordering::Release);
}

/// Resident bytes that are not shared with a file; cheap.
fn resident() -> u64 {
    let mut text = [0_u8; 128];
    let Ok(fd) = syscall::open(c"/proc/self/statm", syscall::O_RDONLY | syscall::O_CLOEXEC, 0) else {
        return 0;
    };
    let length = syscall::read(fd, &mut text).unwrap_or(0);
    let _ = syscall::close(fd);
    let mut fields = text[..length].split(|&byte| byte == b' ').map(decimal);
    let (resident, shared) = (fields.nth(1).unwrap_or(0), fields.next().unwrap_or(0));
    resident.saturating_sub(shared) * 4096
}

/// One mapping of the process.
struct Mapping<'a> {
    start: usize,
    end: usize,
    has_file: bool,
    name: &'a [u8],
    /// Resident bytes that belong to no file.
    anonymous: u64,
}

fn judge(mapping: &Mapping<'_>, found: &mut Found) {
    if mapping.anonymous == 0 {
        return;
    }
    found.total += mapping.anonymous;
    if mapping.name == b"[heap]" {
        found.add(Who::Named(c"brk"), mapping.anonymous);
    } else if mapping.name.starts_with(b"[stack") {
        found.add(Who::Named(c"stack"), mapping.anonymous);
    } else if mapping.has_file {
        found.add(Who::Named(c"data of files"), mapping.anonymous);
    } else {
        each_page(mapping, found);
    }
}

/// The kernel joins neighbouring mappings, whoever made them, so that ours are told from others' page by page.
fn each_page(mapping: &Mapping<'_>, found: &mut Found) {
    const PAGE: usize = 4096;
    let mut resident = [0_u8; 256];
    let mut known = (0, 0, Who::Named(c"other mappings"));
    let mut at = mapping.start;
    while at < mapping.end {
        let pages = ((mapping.end - at) / PAGE).min(resident.len());
        let resident = &mut resident[..pages];
        if pages == 0 || syscall::mincore(at, resident).is_err() {
            return;
        }
        for (number, _) in resident.iter().enumerate().filter(|(_, state)| **state & 1 != 0) {
            let page = at + number * PAGE;
            if heap::is_ours(page) {
                found.heap += PAGE as u64;
                continue;
            }
            if !(known.0..known.1).contains(&page) {
                known = maker_of(page);
            }
            found.add(known.2, PAGE as u64);
        }
        at += pages * PAGE;
    }
}

/// Who made the mapping at a page, by the newest that is remembered, and for which addresses that holds.
fn maker_of(page: usize) -> (usize, usize, Who) {
    let unknown = (page, page + 4096, Who::Named(c"other mappings"));
    let Some(made) = MADE.try_lock() else { return unknown };
    (1..=REGIONS)
        .map(|back| made.all[(made.next + REGIONS - back) % REGIONS])
        .find(|region| (region.start..region.end).contains(&page))
        .map_or(unknown, |region| {
            let who = object_of(region.caller)
                .map_or(Who::Named(c"code made at run time"), |object| Who::Module(object.start));
            // An older region behind this page may have been mapped anew: what is known is known for a while.
            (page, region.end.min(page + (1 << 20)), who)
        })
}

/// Reads the mappings of this process, one by one; false where the kernel does not show them.
fn each_mapping(then: &mut dyn FnMut(&Mapping<'_>)) -> bool {
    let Ok(fd) = syscall::open(c"/proc/self/smaps", syscall::O_RDONLY | syscall::O_CLOEXEC, 0) else {
        return false;
    };
    let mut text = [0_u8; 1024];
    let mut filled = 0;
    let mut name = [0_u8; 32];
    let mut current = Mapping { start: 0, end: 0, has_file: false, name: b"", anonymous: 0 };
    let mut name_length = 0;
    while let Some(rest) = text.get_mut(filled..)
        && let Ok(read) = syscall::read(fd, rest)
        && read > 0
    {
        filled += read;
        let mut done = 0;
        while let Some(length) = text[done..filled].iter().position(|&byte| byte == b'\n') {
            let line = &text[done..done + length];
            done += length + 1;
            if let Some(value) = line.strip_prefix(b"Anonymous:") {
                current.anonymous = decimal(value) * 1024;
                then(&Mapping { name: &name[..name_length], ..current });
            } else if let Some((start, end, has_file, called)) = heading(line) {
                (current.start, current.end, current.has_file) = (start, end, has_file);
                name_length = called.len().min(name.len());
                name[..name_length].copy_from_slice(&called[..name_length]);
            }
        }
        if done == 0 && filled == text.len() {
            // A line as long as all this: a path; what it says is not needed.
            done = filled;
        }
        text.copy_within(done..filled, 0);
        filled -= done;
    }
    let _ = syscall::close(fd);
    true
}

/// The first line of a mapping: `7f00-7f10 rw-p 00000000 00:00 0   [stack]`.
fn heading(line: &[u8]) -> Option<(usize, usize, bool, &[u8])> {
    let mut fields = line.split(|&byte| byte == b' ').filter(|field| !field.is_empty());
    let mut range = fields.next()?.split(|&byte| byte == b'-');
    let (start, end) = (hexadecimal(range.next()?)?, hexadecimal(range.next()?)?);
    let inode = fields.nth(3)?;
    Some((start, end, inode != b"0", fields.next().unwrap_or_default()))
}

fn hexadecimal(text: &[u8]) -> Option<usize> {
    text.iter()
        .try_fold(0_usize, |number, &digit| Some(number << 4 | char::from(digit).to_digit(16)? as usize))
}

/// The first number of a text.
fn decimal(text: &[u8]) -> u64 {
    text.iter()
        .skip_while(|byte| !byte.is_ascii_digit())
        .take_while(|byte| byte.is_ascii_digit())
        .fold(0, |number, byte| number * 10 + u64::from(byte - b'0'))
}

fn keep(slot: &Slot, found: &Found) {
    let relaxed = Ordering::Relaxed;
    let is_most = found.total >= slot.cell(Key::CoverageAnonymous).load(relaxed);
    if is_most {
        slot.cell(Key::CoverageAnonymous).store(found.total, relaxed);
        slot.cell(Key::CoverageHeap).store(found.heap, relaxed);
    }
    for (owner, &(bytes, who)) in slot.owners.iter().zip(&found.others) {
        if is_most {
            store(owner, bytes, who);
        }
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
    fn the_first_line_of_a_mapping_is_read() {
        let check = |line: &str, expect: Option<(usize, usize, bool, &str)>| {
            let found = heading(line.as_bytes());
            let expect = expect.map(|(start, end, file, name)| (start, end, file, name.as_bytes()));
            assert_eq!(found, expect, "{line}");
        };
        check("7f00a000-7f00b000 rw-p 00000000 00:00 0 ", Some((0x7f00_a000, 0x7f00_b000, false, "")));
        check(
            "55e0-55f0 rw-p 00000000 00:00 0                          [heap]",
            Some((0x55e0, 0x55f0, false, "[heap]")),
        );
        check(
            "55e0-55f0 r--p 00001000 fe:00 42   /usr/lib/libc.so",
            Some((0x55e0, 0x55f0, true, "/usr/lib/libc.so")),
        );
        check("Size:                132 kB", None);
        check("VmFlags: rd wr mr-mw me ac", None);
    }

    #[test]
    fn every_mapping_is_seen_once() {
        let mut starts = Vec::new();
        let mut total = 0;
        assert!(each_mapping(&mut |mapping| {
            starts.push(mapping.start);
            total += mapping.anonymous;
        }));
        let lines = std::fs::read_to_string("/proc/self/smaps").expect("smaps");
        let expected = lines.lines().filter(|line| line.starts_with("Anonymous:")).count();
        assert!(starts.len().abs_diff(expected) <= 2, "{} mappings seen, {expected} there", starts.len());
        assert!(starts.is_sorted() && total > 0);
    }

    #[test]
    fn this_program_is_a_module() {
        let object = object_of(look as fn() as usize).expect("glibc of 2.35 or later");
        assert!((object.start..object.end).contains(&(look as fn() as usize)));
        assert_eq!(module_name(object.start, &mut [0; 32]), b"the program itself");
    }
}
