//! LOAD and DELETE: libraries searched in order, programs counted by their users, images kept for the next one.
//!
//! ```text
//! LOAD    for each library: lookaside ──known──> program in use? count it
//!                              │ not known         │ in the pool? begin it again
//!                              v                   v
//!                        read the directory ──> load from the library, or leave it to the system's loader
//! DELETE  the last user's: end it; into the pool where that pays, else unload it
//! ```
//!
//! One lock for all of it, which its holder may take again: constructors load programs. A constructor that waits for another
//! thread's LOAD waits for ever, as with the system's loader.
//!
//! Invariant: a program is in use (uses > 0), in the pool's list, or gone; the bytes of the pool's list are `pooled`, at most
//! `options.pool_bytes` and what is resident.
//! Cost: a LOAD from the pool makes no system call where its library is frozen.
//! Not here: what an image is (`image`), how it is brought back (`pool`), entries of directories (`directory`).

use core::ffi::CStr;
use core::ptr::{NonNull, null_mut};

use underbar_partitioned::count::Counts;
use underbar_sys::syscall::{self, Errno};

use crate::again::Again;
use crate::arena;
use crate::directory::{Directory, Known};
use crate::error::{Error, Failure, Reason, Text};
use crate::image::{self, Content};
use crate::library::{MOST_NAME, Member, PathRoom, Source, Stamp};
use crate::opened::Opened;
use crate::pool::{Copy, write_all};
use crate::program::{Form, Kind, Program};
use crate::statistics::Statistics;
use crate::system::Handle;

/// Libraries open at one time.
pub const MOST_LIBRARIES: usize = 256;
/// Of the programs that were not used for longest, so many are compared when the pool has to give one up.
const COMPARED: usize = 32;
/// What a load costs at least, in relocations: some twenty system calls.
const LEAST_COST: u64 = 1000;

/// How much is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// The most that images in the pool may take, in bytes; 0: nothing is kept (VLF off).
    pub pool_bytes: u64,
    /// A program is kept from this LOAD of it on; 1: at once. Program objects' lookaside on z/OS is said to wait for five.
    pub keep_after: u64,
    /// Directories are kept (LLA).
    pub lookaside: bool,
}

impl Options {
    /// 64 MiB, after five LOADs, with the lookaside.
    pub const DEFAULT: Options = Options { pool_bytes: 64 << 20, keep_after: 5, lookaside: true };
}

/// An open library.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Library(u32);

impl Library {
    /// As a number for C.
    #[must_use]
    pub fn number(self) -> u32 {
        self.0
    }

    /// From [`Library::number`]; a number that is none is an error of each call.
    #[must_use]
    pub fn from_number(number: u32) -> Library {
        Library(number)
    }
}

/// A program that was loaded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Loaded(u64);

impl Loaded {
    /// As a number for C: never 0.
    #[must_use]
    pub fn number(self) -> u64 {
        self.0
    }

    /// From [`Loaded::number`]; a number that is none is an error of each call.
    #[must_use]
    pub fn from_number(number: u64) -> Loaded {
        Loaded(number)
    }
}

struct Open {
    opened: Option<NonNull<Opened>>,
    is_frozen: bool,
    stamp: Stamp,
    /// Counts up when what is known of it is not believed any more.
    seen: u64,
}

struct Slot {
    program: *mut Program,
    generation: u32,
}

struct Table {
    options: Options,
    libraries: [Open; MOST_LIBRARIES],
    directory: Directory,
    slots: *mut Slot,
    slot_count: usize,
    /// The pool: used least recently first.
    first: *mut Program,
    last: *mut Program,
    pooled: u64,
    statistics: Statistics,
}

// SAFETY: what the pointers lead to is used under the lock.
unsafe impl Send for Table {}

static TABLE: Again<Table> = Again::new(Table {
    options: Options::DEFAULT,
    libraries: [const { Open { opened: None, is_frozen: false, stamp: [0; 4], seen: 1 } }; MOST_LIBRARIES],
    directory: Directory::EMPTY,
    slots: null_mut(),
    slot_count: 0,
    first: null_mut(),
    last: null_mut(),
    pooled: 0,
    statistics: Statistics::NONE,
});

/// The lock, for fork.
pub(crate) fn hold() {
    TABLE.hold();
}

/// # Safety
/// After [`hold`], in the same thread or its copy.
pub(crate) unsafe fn release() {
    // SAFETY: the caller's promise.
    unsafe { TABLE.release() }
}

/// Works on the table. No reference that the work gets lives across constructors and destructors: these get it again.
fn with<R>(work: impl FnOnce(&mut Table) -> R) -> R {
    // SAFETY: under the lock, and nothing of `work` calls foreign code, which could come here again.
    TABLE.with(|table| work(unsafe { &mut *table }))
}

// ---- libraries -------------------------------------------------------------------------------------------

/// Opens a PDS, a PDSE, a folder or a shared object as a library. Frozen: what was read of its directory is believed until
/// [`refresh`]; else it is compared at each LOAD with what the file system says.
///
/// # Errors
/// It is not there, or there are too many.
pub fn open(path: &CStr, is_frozen: bool) -> Result<Library, Error> {
    enter(Opened::at(path)?, is_frozen)
}

/// Opens a library of another kind.
///
/// # Errors
/// There are too many, or it cannot be looked at.
pub fn open_source(source: &'static dyn Source, is_frozen: bool) -> Result<Library, Error> {
    enter(Opened::of(source)?, is_frozen)
}

fn enter(opened: NonNull<Opened>, is_frozen: bool) -> Result<Library, Error> {
    let entered = with(|table| {
        // SAFETY: opened just now, or shared by its place in the table.
        let stamp = unsafe { opened.as_ref() }.source().stamp()?;
        let free = table.libraries.iter().position(|open| open.opened.is_none());
        let (number, open) = free
            .and_then(|number| Some((number, table.libraries.get_mut(number)?)))
            .ok_or(Error::TablesFull)?;
        *open = Open { opened: Some(opened), is_frozen, stamp, seen: open.seen + 1 };
        Ok(Library(number as u32))
    });
    if entered.is_err() {
        // SAFETY: nobody else has it.
        unsafe { Opened::leave(opened) };
    }
    entered
}

/// Closes a library: its images leave the pool. Programs in use stay until their DELETE.
///
/// # Errors
/// It is not open.
pub fn close(library: Library) -> Result<(), Error> {
    TABLE.with(|table| {
        // SAFETY: under the lock; programs are taken out of the lists before their destructors run.
        unsafe {
            let open = (*table).libraries.get_mut(library.0 as usize).ok_or(Error::NotLoaded)?;
            let opened = open.opened.take().ok_or(Error::NotLoaded)?;
            open.seen += 1;
            detach(table, library, true);
            Opened::leave(opened);
        }
        Ok(())
    })
}

/// Gives up what is known of a library's directory, also of a frozen one, and opens its file again.
///
/// # Errors
/// It is not open, or not there any more.
pub fn refresh(library: Library) -> Result<(), Error> {
    TABLE.with(|table| {
        // SAFETY: under the lock.
        unsafe {
            let open = (*table).libraries.get_mut(library.0 as usize).ok_or(Error::NotLoaded)?;
            renew(open)?;
            (*table).statistics.refreshes += 1;
        }
        Ok(())
    })
}

/// The library's file as it is now.
unsafe fn renew(open: &mut Open) -> Result<(), Error> {
    let opened = open.opened.ok_or(Error::NotLoaded)?;
    // SAFETY: the caller has the lock; the place in the table is a user, of the old one and then of the new one.
    unsafe {
        if opened.as_ref().has_path() {
            let fresh = Opened::at(opened.as_ref().source().path())?;
            open.opened = Some(fresh);
            Opened::leave(opened);
        }
        open.stamp = open.opened.ok_or(Error::NotLoaded)?.as_ref().source().stamp()?;
    }
    open.seen += 1;
    Ok(())
}

/// A program's pages are not mapped any more.
///
/// # Safety
/// The hold is given up once.
pub(crate) unsafe fn give_up(hold: Option<(NonNull<Opened>, u64)>) {
    // SAFETY: under the lock.
    TABLE.with(|_| unsafe { Opened::give_up(hold) });
}

/// Programs of a library are no longer those of its members; those in the pool go.
unsafe fn detach(table: *mut Table, library: Library, forget: bool) {
    let mut chain: *mut Program = null_mut();
    // SAFETY: under the lock; a program out of the pool's list is linked into the chain alone.
    unsafe {
        (*table).directory.each(|known| {
            let known = known.as_ptr();
            if (*known).library == library.0
                && let Some(program) = NonNull::new(core::mem::replace(&mut (*known).program, null_mut()))
            {
                (*program.as_ptr()).known = null_mut();
                if (*program.as_ptr()).is_staged {
                    take_out(&mut *table, program);
                    (*program.as_ptr()).next = chain;
                    chain = program.as_ptr();
                }
            }
        });
        if forget {
            (*table).directory.forget(library.0);
        }
        drop_chain(table, chain);
    }
}

/// Removes programs that are in no list but this one.
unsafe fn drop_chain(table: *mut Table, mut chain: *mut Program) {
    // SAFETY: the caller's programs; no reference to the table lives across destructors.
    unsafe {
        while let Some(program) = NonNull::new(chain) {
            chain = (*program.as_ptr()).next;
            (*table).statistics.dropped += 1;
            remove(table, program);
        }
    }
}

// ---- options ---------------------------------------------------------------------------------------------

/// Sets how much is kept; what is beyond the new bound goes at once.
pub fn set_options(options: Options) {
    TABLE.with(|table| {
        // SAFETY: under the lock, as `shrink` demands.
        unsafe {
            (*table).options = options;
            shrink(table);
        }
    });
}

/// How much is kept.
#[must_use]
pub fn options() -> Options {
    with(|table| table.options)
}

/// Drops all images in the pool but resident ones.
pub fn purge() {
    TABLE.with(|table| {
        // SAFETY: under the lock.
        unsafe {
            let before = core::mem::replace(&mut (*table).options.pool_bytes, 0);
            shrink(table);
            (*table).options.pool_bytes = before;
        }
    });
}

/// Makes a program resident: kept from its first DELETE on, beyond the bound, never dropped; or not any more.
///
/// # Errors
/// The name is none, or no library has it.
pub fn set_resident(libraries: &[Library], name: &[u8], is_resident: bool) -> Result<(), Error> {
    check(name)?;
    TABLE.with(|table| {
        // SAFETY: under the lock.
        unsafe {
            let (_, known) = search(table, libraries, name)?;
            (*known.as_ptr()).is_resident = is_resident;
            shrink(table);
        }
        Ok(())
    })
}

/// What was done.
#[must_use]
pub fn statistics() -> Statistics {
    with(|table| table.statistics)
}

/// Bytes of images in the pool, with what is kept of their state.
#[must_use]
pub fn pooled() -> u64 {
    with(|table| table.pooled)
}

// ---- LOAD, DELETE, BLDL ----------------------------------------------------------------------------------

/// BLDL: what the first library that has the program says of it.
///
/// # Errors
/// The name is none, or no library has it.
pub fn find(libraries: &[Library], name: &[u8]) -> Result<(Library, Member), Error> {
    check(name)?;
    TABLE.with(|table| {
        // SAFETY: under the lock.
        unsafe {
            let (library, known) = search(table, libraries, name)?;
            let member = (*known.as_ptr()).member.ok_or(Error::NotFound(Text::new(name)))?;
            Ok((library, member))
        }
    })
}

/// LOAD: the program of this name in the first library that has it. `form` is by the member's attributes where none is
/// asked for.
///
/// # Safety
/// The program's constructors run, with all that they do.
///
/// # Errors
/// Why it could not be loaded.
pub unsafe fn load(libraries: &[Library], name: &[u8], form: Option<Form>) -> Result<Loaded, Error> {
    check(name)?;
    TABLE.with(|table| {
        // SAFETY: under the lock; no reference to the table lives across constructors.
        unsafe {
            let (library, known) = search(table, libraries, name)?;
            let known = known.as_ptr();
            let member = (*known).member.ok_or(Error::NotFound(Text::new(name)))?;
            let form = form.unwrap_or(if member.is_reentrant { Form::Shared } else { Form::Fresh });
            (*known).fetches += 1;
            if let Some(program) = NonNull::new((*known).program) {
                if let Some(loaded) = again(table, program, form)? {
                    return Ok(loaded);
                }
                // In the pool, in a form that is of no use.
                take_out(&mut *table, program);
                (*known).program = null_mut();
                (*program.as_ptr()).next = null_mut();
                drop_chain(table, program.as_ptr());
            }
            fetch(table, library, known, &member, form)
        }
    })
}

/// DELETE: one LOAD less. Says whether the program has other users.
///
/// # Safety
/// Whoever loaded it does not use it any more: no frame of it is on a stack, nobody has a pointer into it.
///
/// # Errors
/// It is not loaded.
pub unsafe fn delete(loaded: Loaded) -> Result<bool, Error> {
    TABLE.with(|table| {
        // SAFETY: under the lock; no reference to the table or the program lives across destructors.
        unsafe {
            let program = find_loaded(&*table, loaded)?;
            let one = program.as_ptr();
            (*table).statistics.deletes += 1;
            (*one).uses -= 1;
            if (*one).uses > 0 {
                return Ok(true);
            }
            if is_worth_keeping(&*table, &*one) {
                let restored = Program::rewind(program);
                let statistics = &mut (*table).statistics;
                statistics.restored_pages += restored.pages;
                statistics.reset_bytes += restored.dropped;
                statistics.staged += 1;
                put_in(&mut *table, program);
                shrink(table);
            } else {
                if let Some(known) = (*one).known.as_mut() {
                    known.program = null_mut();
                }
                (*table).statistics.unloaded += 1;
                remove(table, program);
            }
        }
        Ok(false)
    })
}

/// The entry point of a loaded program.
///
/// # Errors
/// It is not loaded, or has none.
pub fn entry(loaded: Loaded) -> Result<usize, Error> {
    with(|table| {
        let program = find_loaded(table, loaded)?;
        // SAFETY: a program in use stays while the lock is held.
        let entry = unsafe { (*program.as_ptr()).entry };
        if entry == 0 { Err(Error::NoEntry) } else { Ok(entry) }
    })
}

/// The address of a symbol that a loaded program exports; of a thread variable, this thread's.
///
/// # Errors
/// It is not loaded, or damaged.
pub fn symbol(loaded: Loaded, name: &CStr) -> Result<Option<usize>, Error> {
    TABLE.with(|table| {
        // SAFETY: a program in use stays while the lock is held.
        unsafe { (*find_loaded(&*table, loaded)?.as_ptr()).symbol(name) }
    })
}

/// Was the program left to the system's loader?
///
/// # Errors
/// It is not loaded.
pub fn is_of_system(loaded: Loaded) -> Result<bool, Error> {
    with(|table| {
        // SAFETY: a program in use stays while the lock is held.
        Ok(matches!(unsafe { (*find_loaded(table, loaded)?.as_ptr()).kind }, Kind::System(_)))
    })
}

fn check(name: &[u8]) -> Result<(), Error> {
    let is_bad = |byte: &u8| matches!(byte, 0 | b'/');
    match (1..=MOST_NAME).contains(&name.len()) && !name.iter().any(is_bad) && name != b"." && name != b".." {
        true => Ok(()),
        false => Err(Error::BadName),
    }
}

// ---- searching -------------------------------------------------------------------------------------------

/// The first library with the name, and the entry for it, whose member is there.
unsafe fn search(
    table: *mut Table,
    libraries: &[Library],
    name: &[u8],
) -> Result<(Library, NonNull<Known>), Error> {
    for library in libraries {
        // SAFETY: the caller has the lock.
        if let Some(known) = unsafe { look(table, *library, name)? } {
            return Ok((*library, known));
        }
    }
    Err(Error::NotFound(Text::new(name)))
}

unsafe fn look(table: *mut Table, library: Library, name: &[u8]) -> Result<Option<NonNull<Known>>, Error> {
    // SAFETY: the caller has the lock; sources call nothing of ours.
    unsafe {
        let state = &mut *table;
        let open = state.libraries.get_mut(library.0 as usize).ok_or(Error::NotLoaded)?;
        let mut opened = open.opened.ok_or(Error::NotLoaded)?;
        let is_kept = state.options.lookaside && (open.is_frozen || opened.as_ref().source().tells_changes());
        if !open.is_frozen && opened.as_ref().source().stamp()? != open.stamp {
            renew(open)?;
            opened = open.opened.ok_or(Error::NotLoaded)?;
            state.statistics.refreshes += 1;
        }
        let source = opened.as_ref().source();
        let seen = open.seen;
        let known = state.directory.find(library.0, name);
        if is_kept
            && let Some(known) = known
            && (*known.as_ptr()).seen == seen
        {
            state.statistics.lookaside_hits += 1;
            return Ok((*known.as_ptr()).member.is_some().then_some(known));
        }
        state.statistics.searches += 1;
        let member = source.find(name, &mut state.statistics.counts)?;
        if known.is_none() && member.is_none() && !is_kept {
            return Ok(None);
        }
        let entry = state.directory.enter(library.0, name).map_err(Error::NoStorage)?;
        let known = entry.as_ptr();
        let before = core::mem::replace(&mut (*known).member, member);
        (*known).seen = seen;
        if before.map(|member| member.token) != member.map(|member| member.token) {
            (*known).fetches = 0;
            replaced(table, entry);
        }
        Ok(member.is_some().then_some(entry))
    }
}

/// The member of an entry is another one now: the program that was made of the old one is not found any more.
unsafe fn replaced(table: *mut Table, known: NonNull<Known>) {
    // SAFETY: the caller has the lock, and no reference to the table that lives on.
    unsafe {
        let program = core::mem::replace(&mut (*known.as_ptr()).program, null_mut());
        let Some(program) = NonNull::new(program) else { return };
        (*program.as_ptr()).known = null_mut();
        if (*program.as_ptr()).is_staged {
            take_out(&mut *table, program);
            (*program.as_ptr()).next = null_mut();
            drop_chain(table, program.as_ptr());
        }
    }
}

fn find_loaded(table: &Table, loaded: Loaded) -> Result<NonNull<Program>, Error> {
    let (number, generation) = (loaded.0 as u32 as usize, (loaded.0 >> 32) as u32);
    if number >= table.slot_count {
        return Err(Error::NotLoaded);
    }
    // SAFETY: a slot below `slot_count`; a program in a slot is there.
    unsafe {
        let slot = &*table.slots.add(number);
        let program = NonNull::new(slot.program).filter(|_| slot.generation == generation);
        program.filter(|program| (*program.as_ptr()).uses > 0).ok_or(Error::NotLoaded)
    }
}

// ---- making and keeping ----------------------------------------------------------------------------------

/// One more user of a program that is there; nothing where its form is of no use.
unsafe fn again(table: *mut Table, program: NonNull<Program>, form: Form) -> Result<Option<Loaded>, Error> {
    // SAFETY: the caller has the lock; no reference lives across constructors.
    unsafe {
        let one = program.as_ptr();
        let statistics = &mut (*table).statistics;
        if (*one).is_staged {
            if (*one).form == Form::Shared && form == Form::Fresh {
                return Ok(None);
            }
            statistics.hits_in_pool += 1;
            (*one).form = form;
            take_out(&mut *table, program);
        } else {
            statistics.hits_in_use += 1;
        }
        (*table).statistics.fetches += 1;
        (*one).uses += 1;
        let loaded = Loaded(u64::from((*one).generation) << 32 | u64::from((*one).number));
        // In use by a thread of an outer call, it has begun, or is about to: constructors do not run twice.
        Program::begin(program)?;
        Ok(Some(loaded))
    }
}

/// Loads a program from its library.
unsafe fn fetch(
    table: *mut Table,
    library: Library,
    known: *mut Known,
    member: &Member,
    form: Form,
) -> Result<Loaded, Error> {
    // SAFETY: the caller has the lock; no reference to the table lives across foreign code: resolvers, constructors,
    // and libraries that the system's loader opens.
    unsafe {
        let open = (*table).libraries.get(library.0 as usize).ok_or(Error::NotLoaded)?;
        let opened = open.opened.ok_or(Error::NotLoaded)?;
        // A constructor may close the library: it stays until this is done.
        Opened::share(opened);
        let made = make(table, opened, &*known, member);
        let (kind, reason, hold) = match made {
            Ok(made) => made,
            Err(error) => {
                Opened::leave(opened);
                return Err(error);
            }
        };
        let mut program = Program::new(kind, form, NonNull::new_unchecked(known));
        match hold {
            0 => Opened::leave(opened),
            hold => program.hold = Some((opened, hold)),
        }
        let hold = program.hold;
        let program = match enter_program(table, program) {
            Ok(program) => program,
            Err(error) => {
                drop_kind(kind, hold);
                return Err(error);
            }
        };
        let one = program.as_ptr();
        if let Kind::Own(image) = kind {
            let image = image.as_ref();
            (*one).cost = LEAST_COST + image.relocations.relative + 20 * image.relocations.bound;
            (*one).bytes = image.span();
            let options = (*table).options;
            let is_early = (*known).fetches < options.keep_after && !(*known).is_resident;
            if form == Form::Fresh && options.pool_bytes > 0 && !is_early {
                (*one).copy = Copy::take(image).ok();
                (*one).bytes += (*one).copy.map_or(0, |copy| copy.bytes);
            }
        }
        (*one).entry = entry_of(&*one, (*known).name(), member).unwrap_or(0);
        (*known).program = one;
        if let Some(member) = (*known).member.as_mut() {
            member.is_checked = true;
        }
        let loaded = Loaded(u64::from((*one).generation) << 32 | u64::from((*one).number));
        if let Err(error) = Program::begin(program) {
            (*known).program = null_mut();
            remove(table, program);
            return Err(error);
        }
        let statistics = &mut (*table).statistics;
        statistics.fetches += 1;
        match (kind, reason) {
            (Kind::Own(image), _) => {
                statistics.loads += 1;
                statistics.relative_relocations += image.as_ref().relocations.relative;
                statistics.bound_relocations += image.as_ref().relocations.bound;
            }
            (Kind::System(_), reason) => {
                if let Some(count) = reason.and_then(|reason| statistics.fallbacks.get_mut(reason as usize)) {
                    *count += 1;
                }
            }
        }
        Ok(loaded)
    }
}

/// A program of a member, by us or by the system's loader; with the reason, and what pages of the library it holds.
unsafe fn make(
    table: *mut Table,
    opened: NonNull<Opened>,
    known: &Known,
    member: &Member,
) -> Result<(Kind, Option<Reason>, u64), Error> {
    // SAFETY: the library has a user: the caller.
    let source = unsafe { opened.as_ref() }.source();
    let name = known.name();
    let mut counts = Counts::default();
    let mut kind = Err(Error::NotFound(Text::new(name)));
    let mut reason = None;
    let fetched = source.fetch(name, member, &mut counts, &mut |content| {
        (kind, reason) = match attempt(source, name, member, content) {
            Ok(kind) => (Ok(kind), None),
            Err(Failure::Error(error)) => (Err(error), None),
            Err(Failure::Reason(reason)) => {
                (by_system(source, name, member, content, reason).map(Kind::System), Some(reason))
            }
        };
    });
    // SAFETY: the caller has the lock.
    unsafe { (*table).statistics.counts += counts };
    let hold = fetched?;
    match kind {
        Ok(kind @ Kind::Own(_)) => Ok((kind, reason, hold)),
        other => {
            // What the system's loader has is a copy.
            if hold != 0 {
                source.release(hold);
            }
            other.map(|kind| (kind, reason, 0))
        }
    }
}

/// Our own way.
fn attempt(
    source: &dyn Source,
    name: &[u8],
    member: &Member,
    content: &dyn Content,
) -> Result<Kind, Failure> {
    let folder = |path: &CStr| {
        let path = path.to_bytes();
        path.iter()
            .rposition(|byte| *byte == b'/')
            .map_or(&b"."[..], |at| path.get(..at).unwrap_or(b"."))
            .len()
    };
    let (mut room, mut other) = (PathRoom::default(), PathRoom::default());
    let image = match source.member_path(name, member, &mut room) {
        Some(path) => {
            let origin = path.to_bytes().get(..folder(path)).filter(|_| path.to_bytes().contains(&b'/'));
            image::load(content, path, origin.unwrap_or(b"."))?
        }
        None => {
            let path = source.path();
            let origin = path.to_bytes().get(..folder(path)).filter(|_| path.to_bytes().contains(&b'/'));
            let title = other.join(&[path.to_bytes(), b"(", name, b")"]).ok_or(Error::BadName)?;
            image::load(content, title, origin.unwrap_or(b"."))?
        }
    };
    Ok(Kind::Own(image))
}

/// The system's loader's way: the member's own file, or a copy of it in memory.
fn by_system(
    source: &dyn Source,
    name: &[u8],
    member: &Member,
    content: &dyn Content,
    reason: Reason,
) -> Result<Handle, Error> {
    let mut room = PathRoom::default();
    if let Some(path) = source.member_path(name, member, &mut room)
        && path.to_bytes().contains(&b'/')
    {
        return Handle::open(path, true).map_err(|message| Error::System(reason, message));
    }
    let fd = syscall::memfd_create(c"underbar program", false).map_err(Error::NoStorage)?;
    let copied = copy_whole(content, fd);
    let mut digits = [0; 10];
    let opened = copied.map_err(Error::Unreadable).and_then(|()| {
        let path = room.join(&[b"/proc/self/fd/", decimal(fd as u32, &mut digits)]).ok_or(Error::BadName)?;
        Handle::open(path, true).map_err(|message| Error::System(reason, message))
    });
    let _ = syscall::close(fd);
    opened
}

fn copy_whole(content: &dyn Content, fd: i32) -> Result<(), Errno> {
    let length = usize::try_from(content.length()).map_err(|_| Errno::ENOMEM)?;
    let room = arena::get(length)?;
    // SAFETY: so many bytes of our own, which the content fills before they are read.
    let bytes = unsafe {
        room.as_ptr().write_bytes(0, length);
        core::slice::from_raw_parts_mut(room.as_ptr(), length)
    };
    let done = content.read(0, bytes).and_then(|()| write_all(fd, bytes));
    // SAFETY: got with this length.
    unsafe { arena::put(room, length) };
    done
}

fn decimal(mut number: u32, room: &mut [u8; 10]) -> &[u8] {
    let mut from = room.len();
    loop {
        from -= 1;
        room[from] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return &room[from..];
        }
    }
}

/// The entry point: where the directory says, or at the symbol of the program's own name, or at `main`.
fn entry_of(program: &Program, name: &[u8], member: &Member) -> Option<usize> {
    if let Some(at) = member.entry_at {
        let address = match program.kind {
            // SAFETY: an image stays as long as its program.
            Kind::Own(image) => unsafe { image.as_ref() }.code_at(at),
            Kind::System(handle) => handle.bias().map(|bias| bias.wrapping_add(at as usize)),
        };
        if address.is_some() {
            return address;
        }
    }
    let mut room = PathRoom::default();
    [name, b"main"].into_iter().find_map(|symbol| program.symbol(room.join(&[symbol])?).ok().flatten())
}

/// Gives a program a number.
unsafe fn enter_program(table: *mut Table, program: Program) -> Result<NonNull<Program>, Error> {
    // SAFETY: the caller has the lock; slots below `slot_count` are there.
    unsafe {
        let state = &mut *table;
        let free = (0..state.slot_count).find(|number| (*state.slots.add(*number)).program.is_null());
        let number = match free {
            Some(number) => number,
            None => {
                let count = (state.slot_count * 2).max(64);
                let slots =
                    arena::get(count * size_of::<Slot>()).map_err(Error::NoStorage)?.cast::<Slot>().as_ptr();
                core::ptr::copy_nonoverlapping(state.slots, slots, state.slot_count);
                for number in state.slot_count..count {
                    slots.add(number).write(Slot { program: null_mut(), generation: 0 });
                }
                if let Some(old) = NonNull::new(state.slots) {
                    arena::put(old.cast(), state.slot_count * size_of::<Slot>());
                }
                let first = state.slot_count;
                (state.slots, state.slot_count) = (slots, count);
                first
            }
        };
        let program = arena::keep(program).map_err(Error::NoStorage)?;
        let slot = &mut *state.slots.add(number);
        slot.program = program.as_ptr();
        // Never 0, so that no number is.
        slot.generation = slot.generation.wrapping_add(1).max(1);
        (*program.as_ptr()).number = number as u32;
        (*program.as_ptr()).generation = slot.generation;
        Ok(program)
    }
}

/// Gives a program that is in no list back.
unsafe fn remove(table: *mut Table, program: NonNull<Program>) {
    // SAFETY: the caller has the lock; the program is not used; no reference to the table lives across destructors.
    unsafe {
        let number = (*program.as_ptr()).number as usize;
        if number < (*table).slot_count {
            (*(*table).slots.add(number)).program = null_mut();
        }
        if !Program::remove(program) {
            (*table).statistics.delayed += 1;
        }
    }
}

/// Gives back what no program was made of.
unsafe fn drop_kind(kind: Kind, hold: Option<(NonNull<Opened>, u64)>) {
    // SAFETY: nobody uses it.
    unsafe {
        match kind {
            Kind::Own(image) => {
                image::Image::unload(image, hold);
            }
            Kind::System(handle) => {
                handle.close();
                Opened::give_up(hold);
            }
        }
    }
}

fn is_worth_keeping(table: &Table, program: &Program) -> bool {
    // SAFETY: an entry stays while a program leads to it; an image as long as its program.
    unsafe {
        let (Some(known), Kind::Own(image)) = (program.known.as_ref(), program.kind) else { return false };
        let Options { pool_bytes, keep_after, .. } = table.options;
        let is_wanted =
            known.is_resident || pool_bytes > 0 && known.fetches >= keep_after && program.bytes <= pool_bytes;
        let can_be = match program.form {
            Form::Shared => true,
            Form::Fresh => program.copy.is_some() && image.as_ref().pending() == 0,
        };
        is_wanted && can_be
    }
}

/// Into the pool, as the one used last.
fn put_in(table: &mut Table, program: NonNull<Program>) {
    // SAFETY: the program is in no list; neighbours in the list are there.
    unsafe {
        let one = program.as_ptr();
        (*one).is_staged = true;
        ((*one).before, (*one).next) = (table.last, null_mut());
        match table.last.as_mut() {
            Some(last) => last.next = one,
            None => table.first = one,
        }
        table.last = one;
        table.pooled += (*one).bytes;
    }
}

/// Out of the pool.
fn take_out(table: &mut Table, program: NonNull<Program>) {
    // SAFETY: the program is in the pool's list, as are its neighbours.
    unsafe {
        let one = program.as_ptr();
        (*one).is_staged = false;
        let (before, next) = ((*one).before, (*one).next);
        match before.as_mut() {
            Some(before) => before.next = next,
            None => table.first = next,
        }
        match next.as_mut() {
            Some(next) => next.before = before,
            None => table.last = before,
        }
        table.pooled -= (*one).bytes;
    }
}

/// Drops images until the pool keeps to its bound: of those not used for longest, the one whose LOADs have cost least for
/// the room that it takes.
unsafe fn shrink(table: *mut Table) {
    // SAFETY: the caller has the lock; no reference to the table lives across destructors, which may change the list:
    // so it is begun again after each.
    unsafe {
        while (*table).pooled > (*table).options.pool_bytes {
            let mut worst: Option<(u128, NonNull<Program>)> = None;
            let mut at = (*table).first;
            let mut compared = 0;
            while let Some(program) = NonNull::new(at)
                && compared < COMPARED
            {
                at = (*at).next;
                let one = &*program.as_ptr();
                let fetches = match one.known.as_ref() {
                    Some(known) if known.is_resident => continue,
                    Some(known) => known.fetches,
                    None => 0,
                };
                compared += 1;
                let gain = u128::from(fetches) * u128::from(one.cost) * 4096 / u128::from(one.bytes.max(1));
                if worst.is_none_or(|(least, _)| gain < least) {
                    worst = Some((gain, program));
                }
            }
            let Some((_, program)) = worst else { return };
            take_out(&mut *table, program);
            if let Some(known) = (*program.as_ptr()).known.as_mut() {
                known.program = null_mut();
            }
            (*program.as_ptr()).next = null_mut();
            drop_chain(table, program.as_ptr());
        }
    }
}
