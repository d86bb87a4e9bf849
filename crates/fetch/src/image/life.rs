//! The life of an image: beginning, end, and removal.
//!
//! ```text
//! begin ─> constructors      end ─> destructors ─> functions left for the end of the process ─> thread variables
//! unload ─┬─ no thread has a destructor of it ─> gone
//!         '─ else: gone with the last of these (thread_ends)
//! ```
//!
//! An unused program first runs the destructors that the calling thread has left (`end_of_thread`), as the end of a process
//! does. While other threads have objects of it, it does not end at all: dlclose keeps such programs too.
//!
//! Functions that the program registers with `__cxa_atexit` and `__cxa_thread_atexit` are recorded before they reach the C
//! library's own lists, so that none of them is called after the program has gone.
//!
//! Each constructor and destructor may `exit`: see `frame`.
//!
//! Invariant: constructors run once between two ends, and an image is not removed while `pending` > 0.
//! Not here: making the image (`build`), the end of the process (`process`).

use core::ffi::{c_char, c_int, c_void};
use core::ptr::NonNull;
use core::sync::atomic::Ordering;

use super::arguments::arguments;
use super::{Image, debugger, frames, needed};
use crate::arena;
use crate::elf::{Damage, LoadedBytes, Memory};
use crate::error::Error;
use crate::frame;
use crate::open_library::Opened;
use crate::program_headers;
use crate::reentrant::Again;
use crate::system::{self, Ending};
use crate::threads;

/// The order in which constructors ran, and the waiting destructors of threads.
pub(super) static LIFE: Again<u64> = Again::new(0);

impl Image {
    /// Runs its constructors, unless they ran.
    ///
    /// # Safety
    /// The image is loaded; its constructors run in this thread, which holds no lock of the loader's tables.
    ///
    /// # Errors
    /// A constructor is outside the code; or [`Error::NotLoaded`] if one has exited, to be continued by a LINK: the image then
    /// has to be ended and given back.
    pub unsafe fn begin(image: NonNull<Image>) -> Result<(), Error> {
        // SAFETY: the image stays; no reference to it lives across a constructor, which may load programs itself.
        unsafe {
            if (*image.as_ptr()).begun != 0 {
                return Ok(());
            }
            let mut functions = Functions::of(&*image.as_ptr(), true)?;
            (*image.as_ptr()).begun = LIFE.with(|count| {
                *count += 1;
                *count
            });
            match functions.run() {
                Some(status) => {
                    frame::goes_on(status);
                    Err(Error::NotLoaded)
                }
                None => Ok(()),
            }
        }
    }

    /// Runs its destructors and the functions that it registered for the end of the process, unless that was done; discards its
    /// thread variables. An `exit` in one of these ends only that one: the program is already ending.
    ///
    /// # Safety
    /// No thread runs in the program or uses its data, except its own destructors in this thread, which holds no lock of the
    /// loader's tables.
    pub unsafe fn end(image: NonNull<Image>) {
        // SAFETY: as in `begin`.
        unsafe {
            if core::mem::take(&mut (*image.as_ptr()).begun) == 0 {
                return;
            }
            if let Ok(mut functions) = Functions::of(&*image.as_ptr(), false) {
                while functions.run().is_some() {}
            }
            // Most programs have done that in their destructors; the others must leave no function that belongs to them.
            let finals = core::mem::take(&mut (*image.as_ptr()).finals);
            for handle in finals.into_iter().filter(|handle| *handle != 0) {
                // A function that was called is not called again.
                while frame::guard(finalize, handle as *mut c_void).is_some() {}
            }
            if (*image.as_ptr()).threads != 0 && (*image.as_ptr()).pending() == 0 {
                threads::forget((*image.as_ptr()).threads);
            }
        }
    }

    /// Gives everything back: at once, or when no thread has a destructor of the program left. Returns whether at once. `hold` is
    /// the library whose pages it holds.
    ///
    /// # Safety
    /// As [`Image::end`], which was called; the image is not used any more.
    pub unsafe fn unload(image: NonNull<Image>, hold: Option<NonNull<Opened>>) -> bool {
        // SAFETY: under the lock that `pending` changes under.
        let waits = LIFE.with(|_| unsafe {
            (*image.as_ptr()).is_leaving = true;
            (*image.as_ptr()).hold = hold;
            (*image.as_ptr()).pending() > 0
        });
        if waits {
            return false;
        }
        // SAFETY: it is not in use.
        unsafe { Image::remove(image) };
        true
    }

    unsafe fn remove(image: NonNull<Image>) {
        // SAFETY: the caller's promise; each is undone once, in the reverse order of `finish`.
        unsafe {
            program_headers::hide(&raw mut (*image.as_ptr()).entry);
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
            image.hold.into_iter().for_each(|library| Opened::leave(library));
            needed::close(image.needed);
            arena::put(image.headers.0, image.headers.1);
            arena::put(image.name.0, image.name.1);
        }
    }
}

/// Constructors or destructors of an image.
struct Functions {
    /// `_init` or `_fini`; 0: none.
    single: usize,
    /// The list.
    start: *const usize,
    count: usize,
    is_first: bool,
    /// The number of functions called so far.
    called: usize,
}

unsafe extern "C" fn finalize(handle: *mut c_void) {
    // SAFETY: the functions that the program registered under its own handle.
    unsafe { system::__cxa_finalize(handle) }
}

impl Functions {
    fn of(image: &Image, is_first: bool) -> Result<Functions, Error> {
        let dynamic = &image.dynamic;
        let (single, list) = match is_first {
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
        Ok(Functions { single, start, count, is_first, called: 0 })
    }

    /// Calls the functions that were not called yet. If one exits, returns its status; the others are left for the next call.
    unsafe fn run(&mut self) -> Option<c_int> {
        unsafe extern "C" fn inside(functions: *mut c_void) {
            type Function = unsafe extern "C" fn(c_int, *const *const c_char, *const *const c_char);
            let functions = functions.cast::<Functions>();
            // SAFETY: of the call below. A function of the program's code, according to its own tables, which an exit may leave;
            // destructors ignore the arguments.
            unsafe {
                while let Some(function) = (*functions).next() {
                    let (count, arguments) = arguments();
                    core::mem::transmute::<usize, Function>(function)(count, arguments, system::environ);
                }
            }
        }
        // SAFETY: `inside` has nothing to drop if an exit leaves it.
        unsafe { frame::guard(inside, (&raw mut *self).cast()) }
    }

    fn next(&mut self) -> Option<usize> {
        while self.called <= self.count {
            let number = self.called;
            self.called += 1;
            // SAFETY: `start` points to `count` words of the loaded program.
            let at = |number: usize| unsafe { self.start.add(number).read_unaligned() };
            let function = match (self.is_first, number) {
                (true, 0) => self.single,
                (true, number) => at(number - 1),
                (false, number) if number < self.count => at(self.count - 1 - number),
                (false, _) => self.single,
            };
            if function != 0 && function != usize::MAX {
                return Some(function);
            }
        }
        None
    }
}

// ---- what programs of ours are bound to ------------------------------------------------------------------

/// `__cxa_atexit` for our programs: records the handle under which the program registers functions.
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

/// A destructor of a thread variable that waits for its thread to end: an entry in the C library's list and in this thread's.
///
/// ```text
/// left (newest) ──> Waiting ──> Waiting ──> ...      older and older, as the C library calls them
/// ```
///
/// An entry whose destructor ran before the thread's end is free, but the C library keeps it. The next destructor therefore
/// gets the oldest of the free entries before the first used one. The list has only as many entries as were needed at one
/// time, and the destructors of a thread's programs still run in reverse order.
struct Waiting {
    older: *mut Waiting,
    ending: Ending,
    argument: *mut c_void,
    /// None: the entry is free.
    image: Option<NonNull<Image>>,
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
    let Some(left) = threads::left() else { return -1 };
    let left = left.cast::<*mut Waiting>().as_ptr();
    // SAFETY: this thread's own list; the program runs, so its image stays.
    unsafe {
        let (mut place, mut free) = (*left, core::ptr::null_mut::<Waiting>());
        while let Some(one) = place.as_ref()
            && one.image.is_none()
        {
            (free, place) = (place, one.older);
        }
        if free.is_null() {
            let waiting = Waiting { older: *left, ending, argument, image: None };
            let Ok(waiting) = arena::keep(waiting) else { return -1 };
            // The system's loader does not know the program's address, and without one the C library reads through a null pointer
            // if this is the thread's first entry. So it gets the file that contains our function.
            let ours = thread_ends as *const () as *mut c_void;
            let result = system::__cxa_thread_atexit_impl(thread_ends, waiting.as_ptr().cast(), ours);
            if result != 0 {
                arena::take(waiting);
                return result;
            }
            free = waiting.as_ptr();
            *left = free;
        }
        ((*free).ending, (*free).argument) = (ending, argument);
        (*image.as_ptr()).pending.fetch_add(1, Ordering::Relaxed);
        (*free).image = Some(image);
    }
    0
}

impl Image {
    /// Runs the functions that this thread has left of the program for its end, unless other threads have left some, too: then
    /// the program continues unchanged, and so do this thread's objects. An `exit` in one of these ends only that one.
    ///
    /// # Safety
    /// As [`Image::end`], which comes after.
    pub unsafe fn end_of_thread(image: NonNull<Image>) {
        unsafe extern "C" fn inside(waiting: *mut c_void) {
            let waiting = waiting.cast::<Waiting>();
            // SAFETY: the copy below.
            unsafe { ((*waiting).ending)((*waiting).argument) }
        }
        // SAFETY: this thread's own list; the image exists.
        unsafe {
            let Some(left) = threads::left() else { return };
            let (mut own, mut place) = (0, *left.cast::<*mut Waiting>().as_ptr());
            while let Some(one) = place.as_ref() {
                own += u32::from(one.image == Some(image));
                place = one.older;
            }
            if own != (*image.as_ptr()).pending() {
                return;
            }
        }
        // SAFETY: this thread's own list, read from its newest entry each time, since destructors may register more.
        unsafe {
            while (*image.as_ptr()).pending() > 0
                && let Some(left) = threads::left()
            {
                let mut place = *left.cast::<*mut Waiting>().as_ptr();
                while let Some(one) = place.as_ref()
                    && one.image != Some(image)
                {
                    place = one.older;
                }
                let Some(one) = place.as_mut() else { return };
                one.image = None;
                let mut call = Waiting {
                    older: core::ptr::null_mut(),
                    ending: one.ending,
                    argument: one.argument,
                    image: None,
                };
                frame::guard(inside, (&raw mut call).cast());
                (*image.as_ptr()).pending.fetch_sub(1, Ordering::Release);
            }
        }
    }
}

unsafe extern "C" fn thread_ends(waiting: *mut c_void) {
    let Some(waiting) = NonNull::new(waiting.cast::<Waiting>()) else { return };
    // SAFETY: the value that `leave_for_thread` stored, once, in the list of this thread; the image stays while it is counted, and
    // the last thread removes it only after its destructor has returned.
    unsafe {
        if let Some(left) = threads::left() {
            let mut link = left.cast::<*mut Waiting>().as_ptr();
            while !(*link).is_null() && *link != waiting.as_ptr() {
                link = &raw mut (**link).older;
            }
            if !(*link).is_null() {
                *link = (*waiting.as_ptr()).older;
            }
        }
        let Waiting { ending, argument, image, .. } = arena::take(waiting);
        let Some(image) = image else { return };
        ending(argument);
        let (is_last, is_leaving) = LIFE.with(|_| {
            let before = (*image.as_ptr()).pending.fetch_sub(1, Ordering::Release);
            (before == 1, (*image.as_ptr()).is_leaving)
        });
        match (is_last, is_leaving) {
            (true, true) => Image::remove(image),
            // A program may wait for this, to begin again or to go.
            (true, false) => ((*image.as_ptr()).threads_ended)(image),
            _ => {}
        }
    }
}
