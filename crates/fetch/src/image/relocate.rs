//! Adjusts a program's words to the actual addresses.
//!
//! ```text
//! RELR, RELATIVE      + bias                         DTPMOD64, DTPOFF64, TLSDESC   number and offset of thread storage
//! 64, GLOB_DAT,       address of a symbol            TPOFF64                       left to the system's loader
//! JUMP_SLOT                                          COPY and others               left to the system's loader
//! IRELATIVE, and symbols that are resolvers: last, when the resolver's code can run
//! ```
//!
//! Invariant: only words that are completely in writable segments are changed.
//! Cost: a relative relocation is a load of 24 bytes, a comparison and a store.
//! Not here: the binding of symbols (`bind`).

use core::ffi::c_void;

use super::bind::{Binder, Bound};
use crate::arena;
use crate::descriptor;
use crate::elf::{Damage, Layout, Relocation, Relr, Table, kind};
use crate::error::{Error, Failure, Reason};
use crate::frame;
use crate::threads::Index;

/// The relocations that are not relative, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// By the program's bias alone.
    pub relative: u64,
    /// By symbols and thread storage.
    pub bound: u64,
}

/// Words of a program.
struct Words<'a> {
    bias: usize,
    layout: &'a Layout,
    /// The file's part of the writable segment that contained the last word: first and last address.
    range: (u64, u64),
}

impl Words<'_> {
    /// A word that may be changed; `at` is the relocation, for the message.
    #[inline]
    fn word(&mut self, place: u64, at: u32) -> Result<*mut usize, Damage> {
        if place < self.range.0 || place > self.range.1 {
            self.range = self.find(place).ok_or(Damage::RelocationPlace(at))?;
        }
        Ok(self.bias.wrapping_add(place as usize) as *mut usize)
    }

    #[cold]
    fn find(&self, place: u64) -> Option<(u64, u64)> {
        let segment = self.layout.segment(place, 8).filter(|segment| segment.is_writable())?;
        // Not in the zeros: `pool` assumes that they are zeros, and no linker writes there.
        let last = (segment.address + segment.in_file).checked_sub(8)?;
        (place <= last).then_some((segment.address, last))
    }
}

/// Thread descriptors of a program: pairs that their second words point to.
#[derive(Clone, Copy, Debug)]
pub struct Descriptors {
    start: *mut Index,
    room: usize,
    used: usize,
}

impl Descriptors {
    /// None.
    pub const NONE: Descriptors = Descriptors { start: core::ptr::null_mut(), room: 0, used: 0 };

    /// Room for all descriptors of the tables.
    fn of(tables: &[Table<'_>]) -> Result<Descriptors, Error> {
        let mut room = 0;
        for table in tables {
            let mut number = 0;
            while let Some(relocation) = Relocation::read(table, number) {
                room += usize::from(relocation.kind == kind::TLSDESC);
                number += 1;
            }
        }
        let start = arena::get(room * size_of::<Index>()).map_err(Error::NoStorage)?.cast().as_ptr();
        Ok(Descriptors { start, room, used: 0 })
    }

    fn keep(&mut self, index: Index) -> Option<usize> {
        if self.used == self.room {
            return None;
        }
        let place = self.start.wrapping_add(self.used);
        // SAFETY: there is room for one more.
        unsafe { place.write(index) };
        self.used += 1;
        Some(place as usize)
    }

    /// Gives the room back.
    ///
    /// # Safety
    /// The program is no longer used.
    pub unsafe fn free(&mut self) {
        if let Some(start) = core::ptr::NonNull::new(self.start) {
            // SAFETY: got with this size.
            unsafe { arena::put(start.cast(), self.room * size_of::<Index>()) };
        }
        *self = Descriptors::NONE;
    }
}

/// Relocates a mapped program, whose code can be run and whose writable segments can be written.
///
/// # Safety
/// `binder` is of this program, which is not used by others yet. Its resolvers are called.
pub unsafe fn relocate(binder: &mut Binder<'_>, descriptors: &mut Descriptors) -> Result<Done, Failure> {
    let (bias, tables) = (binder.bias, binder.tables);
    let mut words = Words { bias, layout: binder.layout, range: (1, 0) };
    let mut done = Done::default();
    for (place, at) in Relr::new(tables.relr()).zip(0_u32..) {
        let word = words.word(place, at)?;
        // SAFETY: a whole word of a writable segment.
        unsafe { word.write_unaligned(word.read_unaligned().wrapping_add(bias)) };
        done.relative += 1;
    }
    let mut are_last = false;
    for table in tables.relocations() {
        let mut number = 0;
        while let Some(relocation) = Relocation::read(&table, number) {
            let at = number as u32;
            number += 1;
            if relocation.kind == kind::RELATIVE {
                let word = words.word(relocation.place, at)?;
                // SAFETY: a whole word of a writable segment.
                unsafe { word.write_unaligned(bias.wrapping_add(relocation.addend as usize)) };
                done.relative += 1;
                continue;
            }
            done.bound += 1;
            let value = match relocation.kind {
                kind::NONE => continue,
                kind::IRELATIVE => {
                    are_last = true;
                    continue;
                }
                kind::ABSOLUTE_64 | kind::GLOB_DAT | kind::JUMP_SLOT => {
                    match binder.bind(relocation.symbol, at)? {
                        Bound::Address(address) => address.wrapping_add(addend(&relocation)),
                        Bound::Resolver(_) => {
                            are_last = true;
                            continue;
                        }
                    }
                }
                kind::DTPMOD64 => binder.thread_variable(relocation.symbol, at)?.module,
                kind::DTPOFF64 => binder
                    .thread_variable(relocation.symbol, at)?
                    .place
                    .wrapping_add(relocation.addend as usize),
                kind::TPOFF64 => return Err(Reason::StaticThreads.into()),
                kind::TLSDESC => {
                    if descriptors.room == 0 {
                        *descriptors = Descriptors::of(&tables.relocations())?;
                    }
                    let mut index = binder.thread_variable(relocation.symbol, at)?;
                    index.place = index.place.wrapping_add(relocation.addend as usize);
                    let (Some(resolver), Some(kept)) = (descriptor::resolver(), descriptors.keep(index))
                    else {
                        return Err(Reason::Relocation.into());
                    };
                    let second = relocation.place.checked_add(8).ok_or(Damage::RelocationPlace(at))?;
                    let word = words.word(second, at)?;
                    // SAFETY: a whole word of a writable segment.
                    unsafe { word.write_unaligned(kept) };
                    resolver
                }
                _ => return Err(Reason::Relocation.into()),
            };
            let word = words.word(relocation.place, at)?;
            // SAFETY: a whole word of a writable segment.
            unsafe { word.write_unaligned(value) };
        }
    }
    if are_last {
        // SAFETY: the caller's promise; all else is relocated.
        unsafe { ask_resolvers(binder, &mut words)? };
    }
    Ok(done)
}

/// GLOB_DAT and JUMP_SLOT have no use for an addend.
fn addend(relocation: &Relocation) -> usize {
    if relocation.kind == kind::ABSOLUTE_64 { relocation.addend as usize } else { 0 }
}

/// The relocations that need a call of a function of the program.
unsafe fn ask_resolvers(binder: &mut Binder<'_>, words: &mut Words<'_>) -> Result<(), Failure> {
    for table in binder.tables.relocations() {
        let mut number = 0;
        while let Some(relocation) = Relocation::read(&table, number) {
            let at = number as u32;
            number += 1;
            let resolver = match relocation.kind {
                kind::IRELATIVE => {
                    let place = relocation.addend;
                    match binder.layout.segment(place, 1) {
                        Some(segment) if segment.is_executable() => {}
                        _ => return Err(Damage::Function(place).into()),
                    }
                    binder.bias.wrapping_add(place as usize)
                }
                kind::ABSOLUTE_64 | kind::GLOB_DAT | kind::JUMP_SLOT => {
                    match binder.bind(relocation.symbol, at)? {
                        Bound::Resolver(resolver) => resolver,
                        Bound::Address(_) => continue,
                    }
                }
                _ => continue,
            };
            let word = words.word(relocation.place, at)?;
            // SAFETY: a function of the program's code, according to its symbol or relocation; a whole word.
            unsafe { word.write_unaligned(ask(resolver)?.wrapping_add(addend(&relocation))) };
        }
    }
    Ok(())
}

/// Calls a resolver for the address of its function.
///
/// # Safety
/// The address is that of a resolver, in a relocated program; this thread holds no lock of the loader's tables.
///
/// # Errors
/// [`Error::NotLoaded`] if it has exited, to be continued by a LINK.
pub unsafe fn ask(resolver: usize) -> Result<usize, Error> {
    unsafe extern "C" fn inside(word: *mut c_void) {
        let word = word.cast::<usize>();
        // SAFETY: the caller's promise; the word of the call below.
        unsafe { *word = core::mem::transmute::<usize, unsafe extern "C" fn() -> usize>(*word)() }
    }
    let mut word = resolver;
    // SAFETY: `inside` has nothing to drop if an exit leaves it.
    match unsafe { frame::guard(inside, (&raw mut word).cast()) } {
        Some(status) => {
            frame::goes_on(status);
            Err(Error::NotLoaded)
        }
        None => Ok(word),
    }
}
