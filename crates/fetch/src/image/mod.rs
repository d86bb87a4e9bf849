//! A program in memory that we loaded: from its bytes to its end.
//!
//! ```text
//! build    load:   map ─> open its dependencies ─> relocate ─> protect ─> tell unwinder, debugger, dl_iterate_phdr
//! life     begin:  constructors                        (the same image may begin and end many times, see `pool`)
//!          end:    destructors, functions for the end of the process, its thread variables
//!          unload: untell ─> unmap ─> close its dependencies     at once, or with the last thread that has destructors of it
//! process  the end of the process; what fork needs
//! ```
//!
//! Invariant: an image from `load` is completely relocated, and can be found by any address in it until `unload`.
//! Not here: use counts and names (`table`), keeping images (`pool`), the binding of symbols (`bind`).

mod arguments;
mod bind;
mod build;
mod debugger;
mod frames;
mod lasting;
mod life;
mod map;
pub mod needed;
mod objects;
pub mod perf_map;
mod process;
mod relocate;

pub use build::{First, check, load, read_layout};
pub use lasting::Lasts;
pub use life::{leave_for_exit, leave_for_thread};
pub use map::Mapping;
pub(crate) use process::{forked, hold, release};
pub use relocate::Done;

use core::ffi::{CStr, c_char};
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, Ordering};

use relocate::Descriptors;

use crate::elf::{Damage, Dynamic, Layout, LoadedBytes, PAGE, Symbol, Tables};
use crate::error::Error;
use crate::open_library::Opened;
use crate::program_headers::{self, Entry};
use crate::system::Handle;
use crate::threads;

/// A function that we replace for our programs.
#[derive(Clone, Copy, Debug)]
pub struct Replaced {
    /// Its name.
    pub name: &'static [u8],
    /// Ours.
    pub address: usize,
}

/// What an image gets from above when it is loaded.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    /// Functions in place of those of the C library.
    pub replaced: &'a [Replaced],
    /// Called after the last thread that had objects of the program has ended, while the program is not being removed.
    pub threads_ended: fn(NonNull<Image>),
}

/// A loaded program.
#[repr(C)]
pub struct Image {
    /// First, so that an entry of the list has its image's address.
    entry: Entry,
    layout: Layout,
    dynamic: Dynamic,
    mapping: Mapping,
    /// The headers that `entry` refers to, and the name: with their sizes.
    headers: (NonNull<u8>, usize),
    name: (NonNull<u8>, usize),
    needed: Needed,
    /// Number of its thread storage; 0: none.
    threads: usize,
    descriptors: Descriptors,
    registered: Option<frames::Registered>,
    known: Option<debugger::Known>,
    /// The handle under which it registers functions for the end of the process (`__dso_handle`, if known).
    finals: [usize; 4],
    /// Destructors of thread variables that wait for their threads to end. Each thread counts its own up and down (Release); a
    /// thread that finds 0 and ends the program then sees their effects (Acquire).
    pending: AtomicU32,
    lasts: Lasts,
    /// `unload` was called, and waits for these; with its hold of its library.
    is_leaving: bool,
    hold: Option<NonNull<Opened>>,
    /// See [`Surroundings`].
    threads_ended: fn(NonNull<Image>),
    /// The position of its constructors in the order of all, from 1; 0: they have not run, or its destructors have since.
    begun: u64,
    /// The relocations done.
    pub relocations: Done,
}

/// Whole pages that a program can write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Writable {
    /// Address in this process.
    pub start: usize,
    /// Bytes.
    pub length: usize,
    /// All of them were zeros at the beginning, and belong to no file.
    pub is_zeros: bool,
    /// It is executable too.
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

impl Image {
    /// The bias of its file's addresses.
    #[must_use]
    pub fn bias(&self) -> usize {
        self.mapping.bias
    }

    /// Where it begins and ends.
    #[must_use]
    pub fn range(&self) -> (usize, usize) {
        self.entry.range
    }

    /// Does it contain the address?
    #[must_use]
    pub fn holds(&self, address: usize) -> bool {
        let (low, high) = self.entry.range;
        (low..high).contains(&address)
    }

    /// Its fate when it is not used.
    #[must_use]
    pub fn lasts(&self) -> Lasts {
        self.lasts
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
            // The protected range is in the file's part of one segment; the bytes before and after it can be written.
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

    /// The number of destructors of thread variables that wait for their threads to end.
    #[must_use]
    pub fn pending(&self) -> u32 {
        self.pending.load(Ordering::Acquire)
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
            // SAFETY: the number is this image's; if the storage were smaller than the symbols say, the program would be wrong.
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
            return unsafe { relocate::ask(address) }.map(Some);
        }
        Ok(Some(address))
    }

    /// The address in this process of an address of its code; none outside the code.
    #[must_use]
    pub fn code_at(&self, address: u64) -> Option<usize> {
        let segment = self.layout.segment(address, 1).filter(|segment| segment.is_executable());
        segment.map(|_| self.bias().wrapping_add(address as usize))
    }

    /// Each symbol that it defines for others: its name and whether it is a function.
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
                // SAFETY: `name` has found its end, and the program's names no longer change.
                each(unsafe { CStr::from_ptr(name.address(0).cast()) }, symbol.is_function());
            }
        }
        Ok(())
    }

    /// Its name, a C string, as `dl_iterate_phdr` tells it, and its first address.
    #[must_use]
    pub fn seen_as(&self) -> (*const c_char, usize) {
        (self.entry.name, self.entry.range.0)
    }

    /// The symbol that contains an address: its name, a C string, and its start. Of several, the one with the highest start.
    #[must_use]
    pub fn symbol_at(&self, address: usize) -> Option<(*const c_char, usize)> {
        let place = address.wrapping_sub(self.bias()) as u64;
        // SAFETY: mapped as long as the image.
        let memory = unsafe { LoadedBytes::new(self.bias(), &self.layout) };
        let tables = Tables::read(&self.dynamic, &memory).ok()?;
        let holds = |symbol: &Symbol| {
            symbol.is_defined()
                && !(symbol.is_of_threads() || symbol.is_absolute())
                && place >= symbol.value
                && (place == symbol.value || place - symbol.value < symbol.size)
        };
        let symbols = (1..tables.count()).filter_map(|number| Some((number, tables.symbol(number)?)));
        let (number, symbol) =
            symbols.filter(|(_, symbol)| holds(symbol)).max_by_key(|(_, symbol)| symbol.value)?;
        let (name, _) = tables.name(number, &symbol).ok()?;
        Some((name.address(0).cast(), self.bias().wrapping_add(symbol.value as usize)))
    }

    /// The image that contains an address.
    #[must_use]
    pub fn of_address(address: usize) -> Option<NonNull<Image>> {
        // The entry is the image's first field.
        program_headers::find(address).map(|entry| entry.cast())
    }
}
