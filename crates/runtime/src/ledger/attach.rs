//! Finding a slot in the ledger file for this process, and leaving it in good order.
//!
//! ```text
//! path -> open           -> header -> a free slot? claim it
//!                                   -> none: fold an ended process into its program's aggregate, take its place
//!                                   -> none to fold: stay private, count "unrecorded"
//! fork           -> the same again, for the child
//! exec           -> the same again, and the slot of the program before is marked as ended
//! posix_spawn    -> the parent claims a slot for the child, which takes it over, or frees it if it has another
//! vfork, exec    -> the child claims one before it becomes another program
//! ```
//!
//! Invariant: a process writes to its own slot only, and to another's only while that one's directory entry says that this process
//! folds it.
//! Not here: the way to the file (`reached`), entries that a parent takes for its child (`expected`), the figures with which a forked
//! child begins (`inherited`), how an ended process is folded (`fold`), and the counters.

use core::ffi::CStr;
use core::mem::offset_of;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};

use underbar_ledger::layout::{
    CONTROL_OFFSET, ENDED_UNTIMED, FILE_BYTES, OPTIONS_OFFSET, OPTIONS_ROOM, SLOT_BYTES, SLOTS, SLOTS_OFFSET,
};
use underbar_ledger::{
    Caches, Header, HeapSteps, Heaps, Identity, Key, LedgerView, Pairs, Pools, Slot, SlotState, Switches,
    Traces,
    classes::ClassRow,
    heaps as heap_rows, make, pairs as pair_rows, pools as pool_rows,
    switches::{CALLED, Called, Fixed, Table},
};
use underbar_sys::machine::is_file_allowed;
use underbar_sys::{file, process_lock, syscall};

use super::reached::{Reached, header, reach, remember};
use super::{
    Guard, PROCESS, allocator, arguments, caches, classes, fold, heap_steps, heaps, inherited, pairs, pools,
    private, program, switches, traces, use_slot,
};
use crate::sandbox;

pub(crate) use super::inherited::leave_unsettled;

/// A directory entry of no process.
pub(super) const FREE: (SlotState, Identity) = (SlotState::Free, Identity { namespace: 0, number: 0 });
/// Time since boot, including time asleep: comparable between processes of one machine.
const CLOCK_BOOTTIME: u32 = 7;

/// This process's index in the directory, and the namespace of the process that took it ([`PROCESS`]): a forked child has another
/// number, and may be in another PID namespace.
static PLACE: AtomicUsize = AtomicUsize::new(SLOTS);
pub(super) static NAMESPACE: AtomicU32 = AtomicU32::new(0);
/// That of this process's children; 0: not asked yet (`expected`). Any thread writes the same; relaxed.
pub(super) static CHILDRENS_NAMESPACE: AtomicU32 = AtomicU32::new(0);

/// Whether there is a ledger, so that the figures may have a reader.
pub fn is_attached() -> bool {
    header().is_some()
}

/// Gives this process a slot in the ledger of that path. Once, at the start.
pub fn attach(path: &CStr) {
    if remember(path) {
        open();
    }
}

/// Makes a ledger that outlives its processes, unless there is a file of that name, and moves into it. For programs that
/// were started without the command. Where there is no room for one, none is made.
pub fn make(path: &CStr, options: &[u8]) {
    let flags =
        syscall::O_RDWR | syscall::O_CREAT | syscall::O_EXCL | syscall::O_CLOEXEC | syscall::O_NOFOLLOW;
    if is_file_allowed(FILE_BYTES)
        && let Ok(fd) = syscall::open(path, flags, 0o600)
    {
        // It holds no lock, as it keeps no descriptor.
        let maker = Identity { namespace: 0, number: process() };
        let page = make::header_page(maker, syscall::clock_nanoseconds(CLOCK_BOOTTIME), options.len(), true);
        let text = options.get(..OPTIONS_ROOM).unwrap_or(options);
        // Its length comes last: a shorter file is no ledger, and a hole in a mapped page would be a SIGBUS on a full file system.
        let made = syscall::fallocate(fd, 0, 0, SLOTS_OFFSET as u64)
            .and_then(|()| syscall::pwrite(fd, text, OPTIONS_OFFSET as u64))
            .and_then(|_| syscall::pwrite(fd, &page, 0))
            .and_then(|_| syscall::ftruncate(fd, FILE_BYTES as u64));
        let _ = syscall::close(fd);
        if made.is_err() {
            let _ = syscall::unlink(path);
        }
    }
    attach(path);
}

/// Opens the remembered file and moves into a slot of it.
fn open() {
    // None if there is no such file, or it was removed.
    let moved_in = reach(move_in);
    if moved_in.is_none() {
        unrecorded();
    }
}

/// Counts this process as one without a slot, if there is a ledger to count it in.
fn unrecorded() {
    if let Some(header) = header() {
        header.unrecorded.fetch_add(1, Ordering::Relaxed);
    }
}

fn move_in(file: &Reached) {
    let Some(header) = file.header() else { return };
    let me = Identity { namespace: namespace_here(file.descriptor(), header), number: process() };
    if let Some((place, slot, continued)) = claim(file, header, me) {
        fill_in(slot);
        // The figures counted before there was a ledger.
        // SAFETY: the private slot is a static.
        let before = unsafe { &*private() };
        for (cell, earlier) in slot.counters.iter().zip(&before.counters) {
            cell.store(earlier.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        for (cell, earlier) in slot.sizes.iter().zip(&before.sizes) {
            cell.store(earlier.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        // And the owners of memory, if a look found them.
        for (owner, earlier) in slot.owners.iter().zip(&before.owners) {
            owner.name.copy(&earlier.name);
            owner.bytes.store(earlier.bytes.load(Ordering::Relaxed), Ordering::Relaxed);
            owner.peak.store(earlier.peak.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        slot.cell(Key::ProcessContinued).store(u64::from(continued), Ordering::Relaxed);
        PLACE.store(place, Ordering::Relaxed);
        PROCESS.store(me.number, Ordering::Relaxed);
        NAMESPACE.store(me.namespace, Ordering::Relaxed);
        if header.directory.change(place, (SlotState::Claimed, me), (SlotState::Live, me)) {
            use_slot(slot, guard());
            super::control::attach(|| {
                let page = file.map_to_read(CONTROL_OFFSET, OPTIONS_OFFSET - CONTROL_OFFSET)?;
                // SAFETY: a whole page, allocated as the header's is, made of atomics, and never unmapped.
                Some(unsafe { &*page.cast() })
            });
        }
    }
}

/// The header of the ledger, if this process has a slot in it.
pub(crate) fn mapped_header() -> Option<&'static Header> {
    if core::ptr::eq(super::slot(), private()) {
        return None;
    }
    header()
}

fn map_slot(file: &Reached, place: usize) -> Option<&'static Slot> {
    let slot: *mut Slot = new_pages(file, SLOTS_OFFSET + place * SLOT_BYTES, size_of::<Slot>())?.cast();
    // SAFETY: mapped, allocated, made of atomics, and never unmapped.
    Some(unsafe { &*slot })
}

/// The page of heaps that belongs to this process's slot. None if it has no slot, or no page can be had.
pub(super) fn map_heaps() -> Option<&'static Heaps> {
    let page = map_behind_slot(heap_rows::PAGE_OFFSET, size_of::<Heaps>())?;
    // SAFETY: mapped, allocated, made of atomics, and never unmapped.
    Some(unsafe { &*page.cast::<Heaps>() })
}

/// The pages of heap pools that belong to this process's slot, as above.
pub(super) fn map_pools() -> Option<&'static Pools> {
    let pages = map_behind_slot(pool_rows::PAGE_OFFSET, size_of::<Pools>())?;
    // SAFETY: mapped, allocated, made of atomics, and never unmapped.
    Some(unsafe { &*pages.cast::<Pools>() })
}

/// The page of a class of ECBs that belongs to this process's slot, as above.
pub(super) fn map_class(class: usize) -> Option<&'static ClassRow> {
    let at = LedgerView::classes_of(own_place()?).start + class * size_of::<ClassRow>();
    let page = map_new(at, size_of::<ClassRow>())?;
    // SAFETY: mapped, allocated, made of atomics, and never unmapped.
    Some(unsafe { &*page.cast::<ClassRow>() })
}

/// The page of requests of a row's heaps that belongs to this process's slot, as above.
pub(super) fn map_heap_steps(row: usize) -> Option<&'static HeapSteps> {
    let at = LedgerView::heap_steps_of(own_place()?).start + row * size_of::<HeapSteps>();
    let page = map_new(at, size_of::<HeapSteps>())?;
    // SAFETY: mapped, allocated, made of atomics, and never unmapped.
    Some(unsafe { &*page.cast::<HeapSteps>() })
}

/// The trace tables of ECBs that belong to this process's slot, as above.
pub(super) fn map_traces() -> Option<&'static Traces> {
    let page = map_new(LedgerView::traces_of(own_place()?).start, size_of::<Traces>())?;
    // SAFETY: mapped, allocated, made of atomics, and never unmapped.
    Some(unsafe { &*page.cast::<Traces>() })
}

/// The rows of caches of files that belong to this process's slot, as above.
pub(super) fn map_caches() -> Option<&'static Caches> {
    // A child of vfork makes none for its parent.
    let at = LedgerView::caches_of(own_place().filter(|_| is_ours())?).start;
    let pages = map_new(at, size_of::<Caches>())?;
    // SAFETY: mapped, allocated, made of atomics, and never unmapped.
    Some(unsafe { &*pages.cast::<Caches>() })
}

/// Room for the switches of this process's slot, of which the first pages are allocated, as above.
pub(super) fn map_switches() -> Option<*const Switches> {
    // A child of vfork makes none for its parent.
    let at = LedgerView::switches_of(own_place().filter(|_| is_ours())?).start;
    let is_allocated = |file: &Reached| file.allocate(at, size_of::<Fixed>());
    let pages = reach(|file| if is_allocated(file) { file.map(at, size_of::<Switches>()) } else { None });
    Some(pages.flatten()?.cast_const().cast())
}

/// Allocates the pages of a table of switches.
pub(super) fn allocate_switches(table: usize) -> bool {
    let Some(place) = own_place() else { return false };
    let at = LedgerView::switches_of(place).start + offset_of!(Switches, tables) + table * size_of::<Table>();
    reach(|file| file.allocate(at, size_of::<Table>())).unwrap_or(false)
}

/// Allocates the pages of functions of libraries.
pub(super) fn allocate_called() -> bool {
    let Some(place) = own_place() else { return false };
    let at = LedgerView::switches_of(place).start + offset_of!(Switches, called);
    reach(|file| file.allocate(at, size_of::<[Called; CALLED]>())).unwrap_or(false)
}

/// The pages of ECBs by name-value pairs that belong to this process's slot, as above.
pub(super) fn map_pairs() -> Option<&'static Pairs> {
    let at = LedgerView::classes_of(own_place()?).start + pair_rows::OFFSET;
    let pages = map_new(at, size_of::<Pairs>())?;
    // SAFETY: mapped, allocated, made of atomics, and never unmapped.
    Some(unsafe { &*pages.cast::<Pairs>() })
}

/// The place of this process's slot in the file; None if it has none, or no page can be had.
fn own_place() -> Option<usize> {
    let place = PLACE.load(Ordering::Relaxed);
    (!sandbox::is_closed() && mapped_header().is_some() && place < SLOTS).then_some(place)
}

/// Allocates and maps pages of the file at an offset from this process's slot.
fn map_behind_slot(offset: usize, bytes: usize) -> Option<*mut u8> {
    map_new(SLOTS_OFFSET + own_place()? * SLOT_BYTES + offset, bytes)
}

/// Allocates and maps pages of the file.
fn map_new(at: usize, bytes: usize) -> Option<*mut u8> {
    reach(|file| new_pages(file, at, bytes)).flatten()
}

fn new_pages(file: &Reached, at: usize, bytes: usize) -> Option<*mut u8> {
    if file.allocate(at, bytes) { file.map(at, bytes) } else { None }
}

pub(super) fn process() -> u32 {
    syscall::getpid() as u32
}

/// The PID namespace of this process's number; 0 if it cannot be asked. It never changes in a process, but a child by fork
/// may be in another one than its parent.
pub(super) fn namespace() -> u32 {
    file::stat(c"/proc/self/ns/pid").map_or(0, |status| status.inode as u32)
}

/// As [`namespace`], for which the kernel makes its files of this process: a tenth of a start. The ledger's maker holds its lock. If it has
/// in this process's namespace the number that it has in its own, both are the same: this process descends from it, and it has none
/// in a namespace below its own.
fn namespace_here(fd: Option<i32>, header: &Header) -> u32 {
    let (makers, maker) =
        (header.maker_namespace.load(Ordering::Relaxed), header.maker.load(Ordering::Relaxed));
    let is_held = |fd| process_lock::holder(fd) == Ok(Some(maker as i32));
    if makers != 0 && fd.is_some_and(is_held) {
        return makers;
    }
    match namespace() {
        // A root without /proc. The first process of a namespace, and one that enters it, see no parent.
        0 if file::getppid() as u32 == PROCESS.load(Ordering::Relaxed) => NAMESPACE.load(Ordering::Relaxed),
        here => here,
    }
}

/// A slot for this process, and whether the process was another program before.
fn claim(file: &Reached, header: &Header, me: Identity) -> Option<(usize, &'static Slot, bool)> {
    let directory = &header.directory;
    let (mut free, mut continued) = (None, false);
    for place in 0..SLOTS {
        match directory.get(place) {
            // The program that this process was earlier.
            Some((SlotState::Live, process))
                if process == me && me.sees(process) && place != PLACE.load(Ordering::Relaxed) =>
            {
                continued |= directory.change(place, (SlotState::Live, me), (SlotState::Ended, me));
            }
            Some(FREE) if free.is_none() && directory.change(place, FREE, (SlotState::Claimed, me)) => {
                free = Some(place);
            }
            // Taken for this process by the process that started it (`expected`).
            Some((SlotState::Claimed, process)) if process == me && me.sees(process) => match free {
                None => free = Some(place),
                Some(_) => {
                    let _ = directory.change(place, (SlotState::Claimed, me), FREE);
                }
            },
            _ => {}
        }
    }
    let place = match free {
        Some(place) => place,
        None => match fold::fold(header, me, || file.map(0, FILE_BYTES)) {
            Some(place) => place,
            None => {
                header.unrecorded.fetch_add(1, Ordering::Relaxed);
                return None;
            }
        },
    };
    let Some(slot) = map_slot(file, place) else {
        let _ = directory.change(place, (SlotState::Claimed, me), FREE);
        header.unrecorded.fetch_add(1, Ordering::Relaxed);
        return None;
    };
    slot.wipe();
    Some((place, slot, continued))
}

/// Writes the identity of this process.
fn fill_in(slot: &Slot) {
    slot.parent.store(file::getppid() as u32, Ordering::Relaxed);
    slot.started_ns.store(syscall::clock_nanoseconds(CLOCK_BOOTTIME), Ordering::Relaxed);
    program::fill_in(slot);
    let mut text = [0_u8; 256];
    slot.arguments.store(arguments::into(&mut text));
    allocator::tell(slot);
}

/// A page that the kernel wipes in a forked child, for the pointers to the slot and to the pages behind it.
fn guard() -> *mut Guard {
    static PAGE: AtomicPtr<Guard> = AtomicPtr::new(null_mut());
    let mut page = PAGE.load(Ordering::Relaxed);
    if page.is_null() {
        let Ok(mapped) = syscall::map_anonymous(4096) else { return super::first_guard() };
        // SAFETY: this function has just mapped the page; wiped memory is null pointers, which every reader expects.
        if unsafe { syscall::madvise(mapped, 4096, syscall::MADV_WIPEONFORK) }.is_err() {
            // An old kernel: the fork handler has to do it (`after_fork`).
            return super::first_guard();
        }
        page = mapped.cast();
        PAGE.store(page, Ordering::Relaxed);
    }
    page
}

/// In a child that was made by fork or clone: leaves the parent's slot and finds one of its own. Storage that the child
/// inherited counts as its own from the start; what the parent did does not.
#[cold]
pub fn in_child() -> &'static Slot {
    // SAFETY: the private slot is a static.
    let own = unsafe { &*private() };
    super::control::in_child();
    let figures = inherited::take();
    use_slot(own, super::first_guard());
    // A process without a slot is not on its way to one, nor are its children.
    PROCESS.store(0, Ordering::Relaxed);
    CHILDRENS_NAMESPACE.store(0, Ordering::Relaxed);
    if is_attached() && !sandbox::is_closed() {
        own.wipe();
        for (key, figure) in figures {
            own.cell(key).store(figure, Ordering::Relaxed);
        }
        super::known_by(own);
        // The thread that continues is the child's first.
        own.cell(Key::ThreadsStarted).store(1, Ordering::Relaxed);
        own.cell(Key::ThreadsPeak).store(1, Ordering::Relaxed);
        PLACE.store(SLOTS, Ordering::Relaxed);
        open();
    }
    heaps::in_child(map_heaps);
    pools::in_child(map_pools);
    classes::in_child(map_class);
    heap_steps::in_child(map_heap_steps);
    pairs::in_child(map_pairs);
    traces::in_child(map_traces);
    switches::in_child();
    caches::in_child();
    super::slot()
}

/// Before a fork, in the parent: the ledger must not be removed before the child has attached to it. True if this was
/// noted: then the caller calls [`has_come`] once with it.
pub(crate) fn before_fork() -> bool {
    let header = mapped_header();
    if let Some(header) = header {
        header.on_their_way.fetch_add(1, Ordering::Relaxed);
    }
    header.is_some()
}

/// In a child by fork, which has looked for a slot or never will; or in the parent, if there is no child.
pub(crate) fn has_come(is_announced: bool) {
    if !is_announced {
        return;
    }
    if let Some(header) = header() {
        header.on_their_way.fetch_sub(1, Ordering::Relaxed);
    }
}

/// After a fork, in the child: makes sure that it has its own slot.
pub(crate) fn after_fork(is_announced: bool) {
    own_slot();
    has_come(is_announced);
}

/// In a child: finds a slot of its own, even if no page could be wiped.
fn own_slot() {
    let me = PROCESS.load(Ordering::Relaxed);
    // A child that may not ask for its number finds out by its slot (`in_child`), at the latest when it ends.
    if me == 0 || sandbox::is_closed() {
        return;
    }
    if me != process() {
        in_child();
    } else {
        // The first process of a new namespace may have the number that its parent has in another one: the wiped page shows
        // the fork.
        let _ = super::slot();
    }
}

/// Whether the visible accounts are those of this very process. In a child by vfork, and in one by clone that has not
/// looked at them yet, they are its parent's.
pub(crate) fn is_ours() -> bool {
    PROCESS.load(Ordering::Relaxed) == process()
}

/// This process is about to become a program that is not followed, so the current program ends; or that failed. One store,
/// as it may be done in a signal handler. The directory is left as it is: other threads still run.
pub(crate) fn set_replaced(is_replaced: bool) {
    if mapped_header().is_some() {
        let ended = match is_replaced {
            false => 0,
            true if sandbox::is_closed() => ENDED_UNTIMED,
            true => syscall::clock_nanoseconds(CLOCK_BOOTTIME),
        };
        super::slot().ended_ns.store(ended, Ordering::Relaxed);
    }
}

/// The process ends in good order.
pub fn ended() {
    let Some(header) = mapped_header() else { return };
    let me =
        Identity { namespace: NAMESPACE.load(Ordering::Relaxed), number: PROCESS.load(Ordering::Relaxed) };
    if !sandbox::is_closed() {
        if me.number != process() {
            return;
        }
        super::slot().ended_ns.store(syscall::clock_nanoseconds(CLOCK_BOOTTIME), Ordering::Relaxed);
    }
    let place = PLACE.load(Ordering::Relaxed);
    let _ = header.directory.change(place, (SlotState::Live, me), (SlotState::Ended, me));
}
