//! Thread storage of the programs that we loaded.
//!
//! ```text
//! program: __tls_get_addr({number, place}) ──bound to──> thread_address
//!             number without the top bit: the C library's own
//!             with it: generation and slot ──> this thread's blocks[slot] ──generation right──> block + place
//!                                                           │ not yet touched in this thread
//!                                                           v
//!                                              new block: initial bytes, then zeros
//! ```
//!
//! A pthread key finds a thread's blocks; its destructor frees them. It runs after the destructors of C++'s `thread_local`. If
//! a key's destructor touches such a variable later, it gets a new block, freed in the next round.
//!
//! Invariant: a block belongs to one thread and one generation of a slot. A slot's generation changes when its program goes;
//! at that time no thread has a block of it.
//! Cost: a touch is a call, `pthread_getspecific` and four loads.
//! Not here: initial-exec storage, which only the system's loader can provide (`Reason::StaticThreads`).

use core::ffi::c_void;
use core::ptr::{NonNull, null_mut};
use core::sync::atomic::{AtomicU32, Ordering};

use underbar_sys::lock::Lock;

use crate::arena;
use crate::elf::ThreadStorage;
use crate::error::Error;
use crate::system;

/// Maximum number of programs with thread storage at one time.
pub const MOST_MODULES: usize = 1024;

/// The top bit of a number: ours, not the C library's, which counts from 1.
const OURS: usize = 1 << 63;
const SLOT_BITS: u32 = 16;

/// The argument of `__tls_get_addr`: a program's number, and the offset in its storage.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Index {
    /// The program's number.
    pub module: usize,
    /// Offset in its storage.
    pub place: usize,
}

/// A program's initial storage.
#[derive(Clone, Copy)]
struct Module {
    /// Odd while the slot is used; counted up at each change. Never 0 for an existing block.
    generation: u32,
    /// Threads that have a block.
    blocks: u32,
    initial: usize,
    storage: ThreadStorage,
}

const NO_MODULE: Module = Module {
    generation: 0,
    blocks: 0,
    initial: 0,
    storage: ThreadStorage { address: 0, in_file: 0, size: 0, alignment: 1 },
};

#[derive(Clone, Copy)]
struct Block {
    /// 0: none.
    generation: u32,
    start: *mut u8,
    size: usize,
}

/// A thread's blocks. Only the thread changes a block; `forget` empties blocks of programs that no thread uses.
struct Thread {
    /// Its work for its end (`image::life`). Only the thread itself reads this.
    left: *mut c_void,
    next: *mut Thread,
    before: *mut *mut Thread,
    count: usize,
    blocks: *mut Block,
}

struct Modules {
    slots: [Module; MOST_MODULES],
    /// No slot from here on was ever used.
    used: usize,
    threads: *mut Thread,
}

// SAFETY: the pointers refer to data accessed under the lock, except a thread's own blocks.
unsafe impl Send for Modules {}

static MODULES: Lock<Modules> =
    Lock::new(Modules { slots: [NO_MODULE; MOST_MODULES], used: 0, threads: null_mut() });

/// The pthread key plus one; 0: not made yet. Written once under the lock of [`MODULES`]; a reader of one of our numbers got it
/// after that, through the table of the program.
static KEY: AtomicU32 = AtomicU32::new(0);

/// The lock, for fork.
pub(crate) fn hold() {
    MODULES.hold();
}

/// # Safety
/// After [`hold`], in the same thread or its copy.
pub(crate) unsafe fn release() {
    // SAFETY: the caller's promise.
    unsafe { MODULES.release() }
}

/// Gives a program a number. `initial` is the address of its initial bytes, valid as long as the number is used.
///
/// # Errors
/// No slot, or no key of pthreads.
pub fn register(storage: ThreadStorage, initial: usize) -> Result<usize, Error> {
    let mut modules = MODULES.lock();
    key(&mut modules)?;
    let used = modules.used;
    let free = modules.slots.iter().take(used).position(|module| module.generation & 1 == 0);
    let slot = free.unwrap_or(used);
    let module = modules.slots.get_mut(slot).ok_or(Error::ThreadStorageFull)?;
    *module = Module { generation: module.generation.wrapping_add(1), blocks: 0, initial, storage };
    let number = OURS | (module.generation as usize) << SLOT_BITS | slot;
    modules.used = used.max(slot + 1);
    Ok(number)
}

/// The key, made if there is none yet.
fn key(_: &mut Modules) -> Result<u32, Error> {
    if KEY.load(Ordering::Relaxed) == 0 {
        let mut key = 0;
        // SAFETY: the destructor takes the value of `setspecific`: a `Thread`.
        if unsafe { system::pthread_key_create(&raw mut key, end_of_thread) } != 0 {
            return Err(Error::ThreadStorageFull);
        }
        KEY.store(key + 1, Ordering::Relaxed);
    }
    Ok(KEY.load(Ordering::Relaxed).wrapping_sub(1))
}

/// The place for this thread's work at its end: null at first, and private to it. None if there is no storage.
pub(crate) fn left() -> Option<NonNull<*mut c_void>> {
    let mut modules = MODULES.lock();
    let key = key(&mut modules).ok()?;
    // SAFETY: the value of the key is null or this thread's own structure, which stays until the thread's end; the list is changed
    // under its lock.
    unsafe {
        let mut thread = system::pthread_getspecific(key).cast::<Thread>();
        if thread.is_null() {
            thread = enter(&mut modules, key)?;
        }
        NonNull::new(&raw mut (*thread).left)
    }
}

/// Removes the blocks of a program from all threads: the next touch finds the initial bytes.
///
/// # Safety
/// No thread uses its thread variables at this time.
pub unsafe fn forget(number: usize) {
    // SAFETY: the caller's promise.
    unsafe { forget_locked(&mut MODULES.lock(), number) }
}

/// [`forget`], after which the number is invalid.
///
/// # Safety
/// As [`forget`], permanently.
pub unsafe fn unregister(number: usize) {
    let mut modules = MODULES.lock();
    // SAFETY: the caller's promise.
    unsafe { forget_locked(&mut modules, number) };
    let (slot, generation) = parts(number);
    if let Some(module) = modules.slots.get_mut(slot).filter(|module| module.generation == generation) {
        module.generation = module.generation.wrapping_add(1);
    }
}

fn parts(number: usize) -> (usize, u32) {
    (number & ((1 << SLOT_BITS) - 1), (number >> SLOT_BITS) as u32)
}

unsafe fn forget_locked(modules: &mut Modules, number: usize) {
    let (slot, generation) = parts(number);
    let Some(module) = modules.slots.get_mut(slot).filter(|module| module.generation == generation) else {
        return;
    };
    if module.blocks == 0 {
        return;
    }
    module.blocks = 0;
    let mut thread = modules.threads;
    // SAFETY: threads are in the list while they live, which changes under the lock; a thread's blocks change under it
    // too, and this program's are not in use, as the caller promises.
    unsafe {
        while let Some(one) = thread.as_mut() {
            if slot < one.count {
                let block = &mut *one.blocks.add(slot);
                if block.generation == generation {
                    give_back(block);
                }
            }
            thread = one.next;
        }
    }
}

/// # Safety
/// A block that is not in use.
unsafe fn give_back(block: &mut Block) {
    if let Some(start) = NonNull::new(block.start) {
        // SAFETY: got with this size, used by no thread.
        unsafe { arena::put(start, block.size) };
    }
    *block = Block { generation: 0, start: null_mut(), size: 0 };
}

/// The address of a thread variable in this thread: the `__tls_get_addr` of the programs that we loaded.
///
/// # Safety
/// Relocation wrote the index: of the C library, or of a program that this crate loaded.
pub unsafe extern "C" fn thread_address(index: *const Index) -> *mut u8 {
    // SAFETY: the caller's promise.
    let Index { module, place } = unsafe { *index };
    if module & OURS == 0 {
        // SAFETY: an index of the C library's own.
        return unsafe { system::__tls_get_addr(index.cast()) };
    }
    let (slot, generation) = parts(module);
    let key = KEY.load(Ordering::Relaxed).wrapping_sub(1);
    // SAFETY: the key was made before the number; its value is null or this thread's own `Thread`. Blocks of a program
    // that is in use are changed by their thread only.
    unsafe {
        let thread = system::pthread_getspecific(key).cast::<Thread>();
        if let Some(thread) = thread.as_ref()
            && slot < thread.count
            && let Block { generation: its, start, .. } = *thread.blocks.add(slot)
            && its == generation
        {
            return start.wrapping_add(place);
        }
        first_touch(thread, key, slot, generation).wrapping_add(place)
    }
}

/// Makes this thread's block.
#[cold]
unsafe fn first_touch(thread: *mut Thread, key: u32, slot: usize, generation: u32) -> *mut u8 {
    let mut modules = MODULES.lock();
    let Some(module) = modules.slots.get(slot).filter(|module| module.generation == generation).copied()
    else {
        system::end_with(b"underbar: a thread variable of a program that is not loaded any more\n");
    };
    // SAFETY: this thread's own structure, and the list, are changed under the lock.
    let made = unsafe { make(&mut modules, thread, key, slot, module) };
    match (made, modules.slots.get_mut(slot)) {
        (Some(start), Some(module)) => {
            module.blocks += 1;
            start
        }
        _ => system::end_with(b"underbar: no storage for a thread's variables\n"),
    }
}

unsafe fn make(
    modules: &mut Modules,
    thread: *mut Thread,
    key: u32,
    slot: usize,
    module: Module,
) -> Option<*mut u8> {
    // SAFETY: `thread` is null or this thread's; pieces of the arena have the requested size; the initial bytes are in the
    // program, which is loaded; the list is changed under the lock, whose value `modules` is.
    unsafe {
        let thread = match NonNull::new(thread) {
            Some(thread) => thread.as_ptr(),
            None => enter(modules, key)?,
        };
        if slot >= (*thread).count {
            grow(thread, slot)?;
        }
        let size = (module.storage.size.max(module.storage.alignment)) as usize;
        let start = arena::get(size).ok()?.as_ptr();
        let in_file = module.storage.in_file as usize;
        core::ptr::copy_nonoverlapping(module.initial as *const u8, start, in_file);
        start.add(in_file).write_bytes(0, size - in_file);
        *(*thread).blocks.add(slot) = Block { generation: module.generation, start, size };
        Some(start)
    }
}

/// A thread's structure, in the list and under the key.
unsafe fn enter(modules: &mut Modules, key: u32) -> Option<*mut Thread> {
    let first = modules.threads;
    let before = &raw mut modules.threads;
    let thread = Thread { left: null_mut(), next: first, before, count: 0, blocks: null_mut() };
    let thread = arena::keep(thread).ok()?.as_ptr();
    // SAFETY: the list's own pointers, under its lock; `MODULES` is static, so the head does not move.
    unsafe {
        if system::pthread_setspecific(key, thread.cast()) != 0 {
            arena::take(NonNull::new(thread)?);
            return None;
        }
        if let Some(first) = first.as_mut() {
            first.before = &raw mut (*thread).next;
        }
    }
    modules.threads = thread;
    Some(thread)
}

/// Room for the block of a slot.
unsafe fn grow(thread: *mut Thread, slot: usize) -> Option<()> {
    let count = (slot + 1).next_power_of_two().max(8);
    // SAFETY: this thread's structure, under the lock; the new room holds `count` blocks, the old ones are copied.
    unsafe {
        let blocks = arena::get(count * size_of::<Block>()).ok()?.cast::<Block>().as_ptr();
        let old = (*thread).count;
        core::ptr::copy_nonoverlapping((*thread).blocks, blocks, old);
        for at in old..count {
            blocks.add(at).write(Block { generation: 0, start: null_mut(), size: 0 });
        }
        if let Some(before) = NonNull::new((*thread).blocks) {
            arena::put(before.cast(), old * size_of::<Block>());
        }
        ((*thread).blocks, (*thread).count) = (blocks, count);
    }
    Some(())
}

/// The key's destructor: the thread ends.
unsafe extern "C" fn end_of_thread(thread: *mut c_void) {
    let Some(thread) = NonNull::new(thread.cast::<Thread>()) else { return };
    let mut modules = MODULES.lock();
    // SAFETY: the value of the key is this thread's structure, which only this call frees; the key is empty by now, so a later
    // touch makes a new one.
    unsafe {
        let Thread { next, before, count, blocks, .. } = arena::take(thread);
        *before = next;
        if let Some(next) = next.as_mut() {
            next.before = before;
        }
        for slot in 0..count {
            let block = &mut *blocks.add(slot);
            if block.generation != 0 {
                if let Some(module) = modules.slots.get_mut(slot) {
                    module.blocks = module.blocks.saturating_sub(1);
                }
                give_back(block);
            }
        }
        if let Some(blocks) = NonNull::new(blocks) {
            arena::put(blocks.cast(), count * size_of::<Block>());
        }
    }
}

/// The location of a thread variable of a library of the system's loader, by its address in this thread.
#[must_use]
pub fn of_system(address: usize) -> Option<Index> {
    struct Search {
        address: usize,
        found: Option<Index>,
    }
    unsafe extern "C" fn look(info: *mut system::ProgramInfo, _: usize, search: *mut c_void) -> i32 {
        const THREADS: u32 = 7;
        // SAFETY: the loader's information about one program, valid during the call; and our own search.
        unsafe {
            let (info, search) = (&*info, &mut *search.cast::<Search>());
            let headers = core::slice::from_raw_parts(info.headers, usize::from(info.count));
            let Some(header) = headers.iter().find(|header| header.kind == THREADS) else { return 0 };
            let into = search.address.wrapping_sub(info.tls_data as usize);
            if info.tls_data.is_null() || into as u64 >= header.size {
                return 0;
            }
            search.found = Some(Index { module: info.tls_module, place: into });
        }
        1
    }
    let mut search = Search { address, found: None };
    // SAFETY: a visitor of this kind, with what it expects.
    unsafe { crate::program_headers::system_programs(look, (&raw mut search).cast()) };
    search.found
}
