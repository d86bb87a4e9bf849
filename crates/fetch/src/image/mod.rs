//! A program in memory, loaded by us: from its bytes to its end.
//!
//! ```text
//! load:   map ─> open what it needs ─> relocate ─> protect ─> tell unwinder, debugger, dl_iterate_phdr
//! begin:  constructors                                 (the same image may begin and end many times, see `pool`)
//! end:    destructors, what it left for the end of the process, its thread variables
//! unload: untell ─> unmap ─> close what it needed      at once, or when the last thread with a destructor of it has ended
//! ```
//!
//! Invariant: an image that `load` gave is relocated whole, and can be found by any address in it until `unload`.
//! Not here: use counts and names (`table`), keeping images (`pool`), whose symbol is meant (`bind`).

mod bind;
mod debugger;
mod frames;
mod map;
mod relocate;

pub use bind::needed;
pub use map::{Content, Mapping};
pub use relocate::Done;

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use bind::Binder;
use relocate::Descriptors;
use underbar_sys::syscall::{Errno, PROT_READ};

use crate::again::Again;
use crate::arena;
use crate::elf::{Damage, Dynamic, Header, Layout, LoadedBytes, Memory, PAGE, Tables};
use crate::error::{Error, Failure, Reason};
use crate::opened::Opened;
use crate::system::{self, Ending, Handle, ProgramHeader};
use crate::threads;
use crate::visible::{self, Entry};

/// A symbol that we stand in for, when a program of ours asks for it.
#[derive(Clone, Copy, Debug)]
pub struct Replaced {
    /// Its name.
    pub name: &'static [u8],
    /// Ours.
    pub address: usize,
}

/// A loaded program.
#[repr(C)]
pub struct Image {
    /// First, so that an entry of the list leads to its image.
    entry: Entry,
    layout: Layout,
    dynamic: Dynamic,
    mapping: Mapping,
    /// The headers that `entry` leads to, and the name: with their sizes.
    headers: (NonNull<u8>, usize),
    name: (NonNull<u8>, usize),
    needed: Needed,
    /// Number of its thread storage; 0: none.
    threads: usize,
    descriptors: Descriptors,
    registered: Option<frames::Registered>,
    known: Option<debugger::Known>,
    /// Under what it left functions for the end of the process (`__dso_handle`, as far as it is known).
    finals: [usize; 4],
    /// Destructors of thread variables that wait for their threads to end. Under [`LIFE`].
    pending: u32,
    /// `unload` was called, and waits for these; with what it holds of its library.
    is_leaving: bool,
    hold: Option<(NonNull<Opened>, u64)>,
    /// When its constructors ran, counted from 1; 0: they have not, or its destructors have since.
    begun: u64,
    /// What was relocated.
    pub relocations: Done,
}

/// Whole pages that a program can write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Writable {
    /// Address in this process.
    pub start: usize,
    /// Bytes.
    pub length: usize,
    /// All of them were zeros at the beginning, and no file lies below them.
    pub is_zeros: bool,
    /// It can be executed too.
    pub is_code: bool,
}

/// Libraries that an image needs, in the arena.
#[derive(Clone, Copy, Debug)]
struct Needed {
    start: NonNull<Handle>,
    count: usize,
    room: usize,
}

impl Needed {
    fn list(&self) -> &[Handle] {
        // SAFETY: room for `count` handles was got and filled; it stays until the image goes.
        unsafe { core::slice::from_raw_parts(self.start.as_ptr(), self.count) }
    }
}

/// Whose constructors ran when, and whose threads' destructors wait.
static LIFE: Again<u64> = Again::new(0);
/// 1 when [`at_exit`] and the handlers of fork are registered.
static PREPARED: AtomicU32 = AtomicU32::new(0);

/// Loads a program from its bytes. `name` is what debuggers and unwinders are told; `origin` the folder of its library.
///
/// # Errors
/// It is damaged, or the machine has no room; or a [`Reason`] for the system's loader.
pub fn load(content: &dyn Content, name: &CStr, origin: &[u8]) -> Result<NonNull<Image>, Failure> {
    prepare();
    let (header, layout, bytes) = read_layout(content)?;
    if header.is_fixed {
        return Err(Error::Executable.into());
    }
    if layout.has_more {
        return Err(Reason::TooMany.into());
    }
    if layout.wants_executable_stack {
        return Err(Reason::ExecutableStack.into());
    }
    if layout.dynamic.1 == 0 {
        return Err(Reason::NoDynamic.into());
    }
    let pages = |at: u64| at & !(PAGE - 1);
    if layout.segments().windows(2).any(|two| match two {
        [first, second] => pages(second.address) < first.end().next_multiple_of(PAGE),
        _ => false,
    }) {
        return Err(Reason::SharedPages.into());
    }
    let mapping = Mapping::new(&layout, content).map_err(unavailable)?;
    let mut building = Building {
        mapping,
        layout,
        needed: None,
        headers: None,
        name: None,
        threads: 0,
        descriptors: Descriptors::NONE,
        known: None,
        done: false,
    };
    let headers = bytes.headers(&header);
    // SAFETY: mapped just now, seen by nobody else.
    unsafe { building.finish(headers, name, origin) }
}

/// The machine's reason for a mapping that failed.
fn unavailable(errno: Errno) -> Failure {
    match errno {
        Errno::ENOMEM | Errno::EAGAIN => Error::NoStorage(errno).into(),
        _ => Error::Unreadable(errno).into(),
    }
}

/// The first bytes of a program, with all its program headers.
pub struct First {
    bytes: [u8; First::ROOM],
    headers_at: usize,
}

impl First {
    /// What is read at once: the headers of nearly all programs lie in it.
    const AT_ONCE: usize = 1024;
    const ROOM: usize = 64 + 256 * 56;

    fn headers(&self, header: &Header) -> &[u8] {
        self.bytes.get(self.headers_at..self.headers_at + header.size()).unwrap_or_default()
    }
}

/// Reads where everything lies.
///
/// # Errors
/// What is wrong with it.
pub fn read_layout(content: &dyn Content) -> Result<(Header, Layout, First), Error> {
    let length = content.length();
    let mut first = First { bytes: [0; First::ROOM], headers_at: 0 };
    let at_once = length.min(First::AT_ONCE as u64) as usize;
    let beginning = first.bytes.get_mut(..at_once).unwrap_or_default();
    content.read(0, beginning).map_err(Error::Unreadable)?;
    let header = Header::read(beginning, length)?;
    match usize::try_from(header.offset) {
        Ok(offset) if offset + header.size() <= at_once => first.headers_at = offset,
        _ => {
            let into = first.bytes.get_mut(..header.size()).unwrap_or_default();
            content.read(header.offset, into).map_err(Error::Unreadable)?;
        }
    }
    let layout = Layout::read(&header, first.headers(&header), length)?;
    Ok((header, layout, first))
}

/// A program that is not whole yet: what is dropped here is undone.
struct Building {
    mapping: Mapping,
    layout: Layout,
    needed: Option<Needed>,
    headers: Option<(NonNull<u8>, usize)>,
    name: Option<(NonNull<u8>, usize)>,
    threads: usize,
    descriptors: Descriptors,
    known: Option<debugger::Known>,
    done: bool,
}

impl Drop for Building {
    fn drop(&mut self) {
        if self.done {
            return;
        }
        // SAFETY: nobody has seen the program but resolvers of its own, which have answered.
        unsafe {
            if let Some(known) = self.known {
                debugger::untell(known);
            }
            if self.threads != 0 {
                threads::unregister(self.threads);
            }
            self.mapping.unmap();
            self.descriptors.free();
            if let Some(needed) = self.needed {
                close(needed);
            }
            for (place, size) in [self.headers, self.name].into_iter().flatten() {
                arena::put(place, size);
            }
        }
    }
}

impl Building {
    /// # Safety
    /// The mapping is of the layout, complete, and nobody else uses it.
    unsafe fn finish(
        &mut self,
        headers: &[u8],
        name: &CStr,
        origin: &[u8],
    ) -> Result<NonNull<Image>, Failure> {
        let (layout, bias) = (self.layout, self.mapping.bias);
        // SAFETY: the segments are mapped there until `self` or the image goes.
        let memory = unsafe { LoadedBytes::new(bias, &layout) };
        let dynamic = Dynamic::read(&layout, &memory)?;
        refuse(&dynamic)?;
        let tables = Tables::read(&dynamic, &memory)?;
        let needed = self.open_needed(&dynamic, &tables, origin)?;
        if let Some(soname) = dynamic.soname
            && let Some(handle) = Handle::of_loaded(needed::text(&tables, soname)?)
        {
            let is_it = is_same_file(handle, name);
            handle.close();
            if is_it {
                return Err(Reason::AlreadyLoaded.into());
            }
        }
        let frames = frames::find(&layout, &memory)?;
        if let Some(storage) = layout.threads {
            self.threads = threads::register(storage, bias.wrapping_add(storage.address as usize))?;
        }
        let mut binder = Binder {
            bias,
            layout: &layout,
            tables: &tables,
            is_symbolic: dynamic.is_symbolic,
            needed: needed.list(),
            replaced: &crate::replaced::table(),
            threads: self.threads,
            exported: bind::elsewhere(&tables),
            last: None,
        };
        // SAFETY: the binder is of this program, whose code is mapped with its rights.
        let relocations = unsafe { relocate::relocate(&mut binder, &mut self.descriptors)? };
        if let Some((address, length)) = layout.relro {
            // SAFETY: whole pages of a writable segment; all relocations are done.
            unsafe { self.mapping.protect(address, length, PROT_READ).map_err(unavailable)? };
        }
        self.headers = Some(kept(headers)?);
        self.name = Some(kept(name.to_bytes_with_nul())?);
        let (Some(headers), Some(name)) = (self.headers, self.name) else {
            return Err(Error::NoStorage(Errno::ENOMEM).into());
        };
        self.known = debugger::tell(bias, &layout, &tables, frames).map_err(Error::NoStorage)?;
        let registered = match frames {
            // SAFETY: found in this program, which is given back after `deregister`.
            Some((start, _)) => unsafe { frames::register(bias.wrapping_add(start as usize))? },
            None => None,
        };
        let entry = Entry::new(
            bias,
            name.0.as_ptr().cast(),
            headers.0.as_ptr().cast(),
            (headers.1 / size_of::<ProgramHeader>()) as u16,
            (bias.wrapping_add(layout.low as usize), bias.wrapping_add(layout.high as usize)),
        );
        let image = Image {
            entry,
            layout,
            dynamic,
            mapping: self.mapping,
            headers,
            name,
            needed,
            threads: self.threads,
            descriptors: self.descriptors,
            registered,
            known: self.known,
            finals: [0; 4],
            pending: 0,
            is_leaving: false,
            hold: None,
            begun: 0,
            relocations,
        };
        let image = arena::keep(image).map_err(|errno| {
            if let Some(registered) = registered {
                // SAFETY: registered just now.
                unsafe { frames::deregister(registered) };
            }
            Error::NoStorage(errno)
        })?;
        self.done = true;
        // SAFETY: the entry stays until `unload` hides it.
        unsafe { visible::show(&raw mut (*image.as_ptr()).entry) };
        Ok(image)
    }

    fn open_needed(
        &mut self,
        dynamic: &Dynamic,
        tables: &Tables<'_>,
        origin: &[u8],
    ) -> Result<Needed, Failure> {
        let room = dynamic.needed().len();
        let start = arena::get(room * size_of::<Handle>()).map_err(Error::NoStorage)?.cast::<Handle>();
        self.needed = Some(Needed { start, count: 0, room });
        needed::open(dynamic, tables, origin, |handle| {
            if let Some(needed) = self.needed.as_mut()
                && needed.count < room
            {
                // SAFETY: room for one more.
                unsafe { start.as_ptr().add(needed.count).write(handle) };
                needed.count += 1;
            }
            Ok(())
        })?;
        self.needed.ok_or(Error::NoStorage(Errno::ENOMEM).into())
    }
}

/// What the dynamic section says that we cannot do.
fn refuse(dynamic: &Dynamic) -> Result<(), Failure> {
    for (is_so, reason) in [
        (dynamic.has_text_relocations, Reason::TextRelocations),
        (dynamic.has_static_threads, Reason::StaticThreads),
        (dynamic.is_filter, Reason::Filter),
        (dynamic.has_rel, Reason::Relocation),
        (dynamic.needs_more, Reason::TooMany),
    ] {
        if is_so {
            return Err(reason.into());
        }
    }
    if dynamic.is_program { Err(Error::Executable.into()) } else { Ok(()) }
}

/// Is the library that the system's loader has the file that we are to load?
fn is_same_file(handle: Handle, name: &CStr) -> bool {
    let of = |path| underbar_sys::file::stat(path).map(|status| (status.device, status.inode));
    match (handle.path().map(of), of(name)) {
        (Some(Ok(theirs)), Ok(ours)) => theirs == ours,
        _ => false,
    }
}

fn kept(bytes: &[u8]) -> Result<(NonNull<u8>, usize), Error> {
    let place = arena::get(bytes.len()).map_err(Error::NoStorage)?;
    // SAFETY: room for so many bytes of our own.
    unsafe { core::ptr::copy_nonoverlapping(bytes.as_ptr(), place.as_ptr(), bytes.len()) };
    Ok((place, bytes.len()))
}

/// # Safety
/// Nothing that is bound to them is used any more.
unsafe fn close(needed: Needed) {
    for handle in needed.list().iter().rev() {
        handle.close();
    }
    // SAFETY: got with this size.
    unsafe { arena::put(needed.start.cast(), needed.room * size_of::<Handle>()) };
}

// ---- a whole image ---------------------------------------------------------------------------------------

impl Image {
    /// What is added to the addresses of its file.
    #[must_use]
    pub fn bias(&self) -> usize {
        self.mapping.bias
    }

    /// Does the address lie in it?
    #[must_use]
    pub fn holds(&self, address: usize) -> bool {
        let (low, high) = self.entry.range;
        (low..high).contains(&address)
    }

    /// May it never be given back, since it says so itself?
    #[must_use]
    pub fn is_kept(&self) -> bool {
        self.dynamic.is_kept
    }

    /// Has it neither constructors nor destructors, thread storage nor pages that it can write?
    #[must_use]
    pub fn is_plain(&self) -> bool {
        let dynamic = &self.dynamic;
        dynamic.init == 0
            && dynamic.fini == 0
            && dynamic.init_array.1 == 0
            && dynamic.fini_array.1 == 0
            && self.threads == 0
            && self.writable().all(|range| range.length == 0)
    }

    /// The pages that the program can write.
    pub fn writable(&self) -> impl Iterator<Item = Writable> + '_ {
        let (low, length) = self.layout.relro.unwrap_or((0, 0));
        let high = low + length;
        self.layout.segments().iter().filter(|segment| segment.is_writable()).flat_map(move |segment| {
            let (start, end) = (segment.address & !(PAGE - 1), segment.end().next_multiple_of(PAGE));
            let zeros = (segment.address + segment.in_file).next_multiple_of(PAGE).clamp(start, end);
            // What is protected lies in the file's part of one segment; what is before and after it can be written.
            let parts = match length > 0 && low >= start && high <= end {
                true => [(start, low, false), (high, zeros.max(high), false), (zeros.max(high), end, true)],
                false => [(start, zeros, false), (zeros, end, true), (end, end, true)],
            };
            parts.map(|(from, to, is_zeros)| Writable {
                start: self.bias().wrapping_add(from as usize),
                length: (to - from) as usize,
                is_zeros,
                is_code: segment.is_executable(),
            })
        })
    }

    /// How many destructors of thread variables wait for their threads to end.
    #[must_use]
    pub fn pending(&self) -> u32 {
        self.pending
    }

    /// Bytes of its mapping.
    #[must_use]
    pub fn span(&self) -> u64 {
        self.layout.span()
    }

    /// The address of a symbol that it exports, as dlsym finds it: of a thread variable, this thread's.
    ///
    /// # Errors
    /// Its tables are damaged.
    pub fn symbol(&self, name: &[u8], version: Option<&[u8]>) -> Result<Option<usize>, Error> {
        // SAFETY: mapped as long as the image.
        let memory = unsafe { LoadedBytes::new(self.bias(), &self.layout) };
        let tables = Tables::read(&self.dynamic, &memory)?;
        let Some((number, symbol)) = tables.find(name, version)? else { return Ok(None) };
        if symbol.is_of_threads() {
            let index = threads::Index { module: self.threads, place: symbol.value as usize };
            // SAFETY: the number is this image's, and the storage is as large as the symbols say or the program is wrong.
            let address = unsafe { threads::thread_address(&raw const index) };
            return Ok((self.threads != 0).then_some(address as usize));
        }
        if symbol.is_absolute() {
            return Ok(Some(symbol.value as usize));
        }
        if self.layout.segment(symbol.value, 0).is_none() {
            return Err(Damage::SymbolPlace(number).into());
        }
        let address = self.bias().wrapping_add(symbol.value as usize);
        if symbol.is_indirect() {
            // SAFETY: a resolver of a relocated program.
            return Ok(Some(unsafe { relocate::ask(address) }));
        }
        Ok(Some(address))
    }

    /// The address in this process of an address of its code; nothing where no code is.
    #[must_use]
    pub fn code_at(&self, address: u64) -> Option<usize> {
        let segment = self.layout.segment(address, 1).filter(|segment| segment.is_executable());
        segment.map(|_| self.bias().wrapping_add(address as usize))
    }

    /// Each symbol that it defines and others may use: name and whether it is a function.
    ///
    /// # Errors
    /// Its tables are damaged.
    pub fn exports(&self, mut each: impl FnMut(&CStr, bool)) -> Result<(), Error> {
        // SAFETY: mapped as long as the image.
        let memory = unsafe { LoadedBytes::new(self.bias(), &self.layout) };
        let tables = Tables::read(&self.dynamic, &memory)?;
        for number in 1..tables.count() {
            if let Some(symbol) =
                tables.symbol(number).filter(|symbol| symbol.is_defined() && !symbol.is_local())
            {
                let (name, _) = tables.name(number, &symbol)?;
                // SAFETY: `name` has found its end, and the program's names are not changed any more.
                each(unsafe { CStr::from_ptr(name.address(0).cast()) }, symbol.is_function());
            }
        }
        Ok(())
    }

    /// Runs its constructors, unless they ran.
    ///
    /// # Safety
    /// The image is loaded; its constructors are run in this thread.
    ///
    /// # Errors
    /// A constructor lies where no code is.
    pub unsafe fn begin(image: NonNull<Image>) -> Result<(), Error> {
        // SAFETY: the image stays; no reference to it lives across a constructor, which may load programs itself.
        unsafe {
            if (*image.as_ptr()).begun != 0 {
                return Ok(());
            }
            let functions = Functions::of(&*image.as_ptr(), true)?;
            (*image.as_ptr()).begun = LIFE.with(|count| {
                *count += 1;
                *count
            });
            functions.run(true);
        }
        Ok(())
    }

    /// Runs its destructors and what it left for the end of the process, unless that was done; forgets its thread variables.
    ///
    /// # Safety
    /// No thread runs in the program or uses its data, but its own destructors in this thread.
    pub unsafe fn end(image: NonNull<Image>) {
        // SAFETY: as in `begin`.
        unsafe {
            if core::mem::take(&mut (*image.as_ptr()).begun) == 0 {
                return;
            }
            if let Ok(functions) = Functions::of(&*image.as_ptr(), false) {
                functions.run(false);
            }
            // Most programs have done that in their destructors; for the others nothing must be left that leads into them.
            let finals = core::mem::take(&mut (*image.as_ptr()).finals);
            for handle in finals.into_iter().filter(|handle| *handle != 0) {
                system::__cxa_finalize(handle as *mut c_void);
            }
            if (*image.as_ptr()).threads != 0 && (*image.as_ptr()).pending == 0 {
                threads::forget((*image.as_ptr()).threads);
            }
        }
    }

    /// Gives everything back: at once, or when no thread has a destructor of the program left. Says whether at once.
    /// `hold` is what pages of its library it holds.
    ///
    /// # Safety
    /// As [`Image::end`], which was called; nobody uses the image any more.
    pub unsafe fn unload(image: NonNull<Image>, hold: Option<(NonNull<Opened>, u64)>) -> bool {
        // SAFETY: under the lock that `pending` changes under.
        let waits = LIFE.with(|_| unsafe {
            (*image.as_ptr()).is_leaving = true;
            (*image.as_ptr()).hold = hold;
            (*image.as_ptr()).pending > 0
        });
        if waits {
            return false;
        }
        // SAFETY: nobody uses it.
        unsafe { Image::remove(image) };
        true
    }

    unsafe fn remove(image: NonNull<Image>) {
        // SAFETY: the caller's promise; each is undone once, in the reverse order of `finish`.
        unsafe {
            visible::hide(&raw mut (*image.as_ptr()).entry);
            let mut image = arena::take(image);
            if let Some(registered) = image.registered {
                frames::deregister(registered);
            }
            if let Some(known) = image.known {
                debugger::untell(known);
            }
            if image.threads != 0 {
                threads::unregister(image.threads);
            }
            image.mapping.unmap();
            image.descriptors.free();
            crate::table::give_up(image.hold);
            close(image.needed);
            arena::put(image.headers.0, image.headers.1);
            arena::put(image.name.0, image.name.1);
        }
    }

    /// The image that an address lies in.
    #[must_use]
    pub fn of_address(address: usize) -> Option<NonNull<Image>> {
        // The entry is the image's first field.
        visible::find(address).map(|entry| entry.cast())
    }
}

/// Constructors or destructors of an image.
struct Functions {
    /// `_init` or `_fini`; 0: none.
    single: usize,
    /// The list.
    start: *const usize,
    count: usize,
}

impl Functions {
    fn of(image: &Image, first: bool) -> Result<Functions, Error> {
        let dynamic = &image.dynamic;
        let (single, list) = match first {
            true => (dynamic.init, dynamic.init_array),
            false => (dynamic.fini, dynamic.fini_array),
        };
        let is_code =
            |address: u64| image.layout.segment(address, 1).is_some_and(|segment| segment.is_executable());
        if single != 0 && !is_code(single) {
            return Err(Damage::Function(single).into());
        }
        // SAFETY: mapped as long as the image.
        let memory = unsafe { LoadedBytes::new(image.bias(), &image.layout) };
        let (start, count) = match list.1 {
            0 => (core::ptr::null(), 0),
            size => {
                let table = memory.table(list.0, size).ok_or(Damage::Table(25))?;
                (table.address(0).cast::<usize>(), size as usize / 8)
            }
        };
        for at in 0..count {
            // SAFETY: in the table.
            let function = unsafe { start.add(at).read_unaligned() };
            if image.holds(function) && !is_code(function.wrapping_sub(image.bias()) as u64) {
                return Err(Damage::Function(function.wrapping_sub(image.bias()) as u64).into());
            }
        }
        let single = if single == 0 { 0 } else { image.bias().wrapping_add(single as usize) };
        Ok(Functions { single, start, count })
    }

    unsafe fn run(&self, first: bool) {
        type Function = unsafe extern "C" fn(c_int, *const *const c_char, *const *const c_char);
        let call = |address: usize| {
            if address != 0 && address != usize::MAX {
                let (count, arguments) = arguments();
                // SAFETY: a function of the program's code, as its own tables say; destructors ignore the arguments.
                unsafe {
                    core::mem::transmute::<usize, Function>(address)(count, arguments, system::environ)
                };
            }
        };
        // SAFETY: `start` leads to `count` words of the loaded program.
        let at = |number| unsafe { self.start.add(number).read_unaligned() };
        if first {
            call(self.single);
            (0..self.count).for_each(|number| call(at(number)));
        } else {
            (0..self.count).rev().for_each(|number| call(at(number)));
            call(self.single);
        }
    }
}

// ---- this process ----------------------------------------------------------------------------------------

/// The arguments that this process was started with. Written once before `main`.
static ARGUMENT_COUNT: AtomicUsize = AtomicUsize::new(0);
static ARGUMENTS: AtomicUsize = AtomicUsize::new(0);

#[used]
#[unsafe(link_section = ".init_array")]
static AT_START: extern "C" fn(c_int, *const *const c_char) = note_arguments;

extern "C" fn note_arguments(count: c_int, arguments: *const *const c_char) {
    ARGUMENT_COUNT.store(count as usize, Ordering::Relaxed);
    ARGUMENTS.store(arguments as usize, Ordering::Relaxed);
}

/// Count and texts.
pub(crate) fn arguments() -> (c_int, *const *const c_char) {
    static NONE: usize = 0;
    core::hint::black_box(&AT_START);
    match ARGUMENTS.load(Ordering::Relaxed) {
        0 => (0, (&raw const NONE).cast()),
        arguments => (ARGUMENT_COUNT.load(Ordering::Relaxed) as c_int, arguments as *const *const c_char),
    }
}

/// Once: the end of the process and fork.
fn prepare() {
    if PREPARED.swap(1, Ordering::Relaxed) == 0 {
        // SAFETY: functions of ours, which stay as long as the process, or as the library that carries us.
        unsafe {
            system::__cxa_atexit(at_exit, core::ptr::null_mut(), core::ptr::null_mut());
            system::pthread_atfork(before_fork, after_fork, after_fork);
        }
    }
}

/// The process ends: programs that are still there end first, the last one to begin before the others.
unsafe extern "C" fn at_exit(_: *mut c_void) {
    loop {
        let mut last: Option<(u64, NonNull<Image>)> = None;
        visible::each(|entry| {
            let image = entry.cast::<Image>();
            // SAFETY: an entry of the list is the first field of its image.
            let begun = unsafe { (*image.as_ptr()).begun };
            if begun > last.map_or(0, |(begun, _)| begun) {
                last = Some((begun, image));
            }
        });
        let Some((_, image)) = last else { return };
        // SAFETY: the process ends: as with the system's loader, threads that still run are at their own risk.
        unsafe { Image::end(image) };
    }
}

unsafe extern "C" fn before_fork() {
    crate::table::hold();
    LIFE.hold();
    visible::hold();
    debugger::hold();
    threads::hold();
    arena::hold();
}

unsafe extern "C" fn after_fork() {
    // SAFETY: held before, by this thread or by the one it is the copy of.
    unsafe {
        arena::release();
        threads::release();
        debugger::release();
        visible::release();
        LIFE.release();
        crate::table::release();
    }
}

// ---- what programs of ours are bound to ------------------------------------------------------------------

/// `__cxa_atexit` for our programs: notes under what the program leaves functions.
///
/// # Safety
/// As the C library's.
pub unsafe extern "C" fn leave_for_exit(
    ending: Ending,
    argument: *mut c_void,
    program: *mut c_void,
) -> c_int {
    if let Some(image) = Image::of_address(program as usize) {
        // SAFETY: the program runs, so its image stays; changed under the lock.
        LIFE.with(|_| unsafe {
            let finals = &mut (*image.as_ptr()).finals;
            if let Some(place) = finals.iter_mut().find(|place| **place == 0 || **place == program as usize) {
                *place = program as usize;
            }
        });
    }
    // SAFETY: the caller's promise.
    unsafe { system::__cxa_atexit(ending, argument, program) }
}

/// A destructor of a thread variable that waits for its thread to end.
struct Waiting {
    ending: Ending,
    argument: *mut c_void,
    image: NonNull<Image>,
}

/// `__cxa_thread_atexit` for our programs: the program stays until the thread has ended.
///
/// # Safety
/// As the C library's.
pub unsafe extern "C" fn leave_for_thread(
    ending: Ending,
    argument: *mut c_void,
    program: *mut c_void,
) -> c_int {
    let owner = Image::of_address(program as usize).or_else(|| Image::of_address(ending as usize));
    let Some(image) = owner else {
        // SAFETY: the caller's promise.
        return unsafe { system::__cxa_thread_atexit_impl(ending, argument, program) };
    };
    let Ok(waiting) = arena::keep(Waiting { ending, argument, image }) else { return -1 };
    // SAFETY: the program runs, so its image stays; counted under the lock.
    LIFE.with(|_| unsafe { (*image.as_ptr()).pending += 1 });
    // SAFETY: our own function, with what it expects; the program's own name would mean nothing to the system's loader.
    let result = unsafe {
        system::__cxa_thread_atexit_impl(thread_ends, waiting.as_ptr().cast(), core::ptr::null_mut())
    };
    if result != 0 {
        // SAFETY: counted above, and not called.
        LIFE.with(|_| unsafe { (*image.as_ptr()).pending -= 1 });
    }
    result
}

unsafe extern "C" fn thread_ends(waiting: *mut c_void) {
    let Some(waiting) = NonNull::new(waiting.cast::<Waiting>()) else { return };
    // SAFETY: what `leave_for_thread` kept, once; the image stays while it is counted, and the last one removes it only
    // after its destructor has returned.
    unsafe {
        let Waiting { ending, argument, image } = arena::take(waiting);
        ending(argument);
        let is_last = LIFE.with(|_| {
            (*image.as_ptr()).pending -= 1;
            (*image.as_ptr()).pending == 0 && (*image.as_ptr()).is_leaving
        });
        if is_last {
            Image::remove(image);
        }
    }
}
