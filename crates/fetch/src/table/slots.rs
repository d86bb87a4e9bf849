//! Numbers of programs, which callers use instead of pointers.
//!
//! ```text
//! Loaded = generation << 32 | slot        a slot's generation counts up with each program that has it
//! slot ──> program, entry point            a program has a slot for each of its entry points that were asked for
//! ```
//!
//! Invariant: a number is never 0, and never refers to a program other than its own (until a slot has had 2^32 programs).
//! Not here: the use of numbers (`load`).

use core::ptr::{NonNull, null_mut};

use crate::arena;
use crate::error::Error;
use crate::program::Program;

/// A program that was loaded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Loaded(u64);

impl Loaded {
    /// As a number for C: never 0.
    #[must_use]
    pub fn number(self) -> u64 {
        self.0
    }

    /// From [`Loaded::number`]; each call reports an invalid number as an error.
    #[must_use]
    pub fn from_number(number: u64) -> Loaded {
        Loaded(number)
    }

    /// The number of a program.
    ///
    /// # Safety
    /// The program exists.
    pub(super) unsafe fn of(program: NonNull<Program>) -> Loaded {
        // SAFETY: the caller's promise; both are written before the program is entered, and do not change afterwards.
        let (generation, number) = unsafe { ((*program.as_ptr()).generation, (*program.as_ptr()).number) };
        Loaded(u64::from(generation) << 32 | u64::from(number))
    }
}

/// The end of a program's slots.
const LAST: u32 = u32::MAX;

struct Slot {
    program: *mut Program,
    generation: u32,
    /// The program's next slot, or [`LAST`]. Its first one has the program's own number.
    next: u32,
    /// The entry point for this number; 0: none.
    entry: usize,
}

/// All of them. Under the table's lock.
pub(super) struct Slots {
    start: *mut Slot,
    count: usize,
    /// All slots below this one are in use.
    free_from: usize,
}

impl Slots {
    pub(super) const NONE: Slots = Slots { start: null_mut(), count: 0, free_from: 0 };

    /// Gives a program a number.
    pub(super) fn enter(&mut self, program: NonNull<Program>) -> Result<(), Error> {
        // SAFETY: the program exists.
        unsafe {
            let (number, generation) = self.take(program, (*program.as_ptr()).entry)?;
            (*program.as_ptr()).number = number;
            (*program.as_ptr()).generation = generation;
        }
        Ok(())
    }

    /// The number of a program in use for callers that enter it here.
    pub(super) fn number(&mut self, program: NonNull<Program>, entry: usize) -> Result<Loaded, Error> {
        // SAFETY: the program exists, and so do its slots.
        unsafe {
            let mut number = (*program.as_ptr()).number;
            loop {
                let slot = &*self.start.add(number as usize);
                if slot.entry == entry {
                    return Ok(Loaded(u64::from(slot.generation) << 32 | u64::from(number)));
                }
                if slot.next == LAST {
                    break;
                }
                number = slot.next;
            }
            let (new, generation) = self.take(program, entry)?;
            (*self.start.add(number as usize)).next = new;
            Ok(Loaded(u64::from(generation) << 32 | u64::from(new)))
        }
    }

    /// A free slot for a program and an entry point of it: returns its number and generation.
    fn take(&mut self, program: NonNull<Program>, entry: usize) -> Result<(u32, u32), Error> {
        // SAFETY: slots below `count` exist.
        let is_free = |number: &usize| unsafe { (*self.start.add(*number)).program.is_null() };
        let number = match (self.free_from..self.count).find(is_free) {
            Some(number) => number,
            None => self.grow()?,
        };
        self.free_from = number + 1;
        // SAFETY: a slot below `count`.
        let slot = unsafe { &mut *self.start.add(number) };
        // Never 0, so no number is 0.
        let generation = slot.generation.wrapping_add(1).max(1);
        *slot = Slot { program: program.as_ptr(), generation, next: LAST, entry };
        Ok((number as u32, generation))
    }

    /// More slots: returns the first new one.
    fn grow(&mut self) -> Result<usize, Error> {
        let count = (self.count * 2).max(64);
        let slots = arena::get(count * size_of::<Slot>()).map_err(Error::NoStorage)?.cast::<Slot>().as_ptr();
        // SAFETY: room for `count`; the old ones are copied and given back with their size.
        unsafe {
            if let Some(old) = NonNull::new(self.start) {
                core::ptr::copy_nonoverlapping(self.start, slots, self.count);
                arena::put(old.cast(), self.count * size_of::<Slot>());
            }
            for number in self.count..count {
                slots.add(number).write(Slot { program: null_mut(), generation: 0, next: LAST, entry: 0 });
            }
        }
        let first = self.count;
        (self.start, self.count) = (slots, count);
        Ok(first)
    }

    /// Makes a program's numbers invalid.
    pub(super) fn forget(&mut self, program: NonNull<Program>) {
        // SAFETY: the program exists; a slot below `count`.
        unsafe {
            let mut number = (*program.as_ptr()).number as usize;
            while number < self.count && (*self.start.add(number)).program == program.as_ptr() {
                let slot = &mut *self.start.add(number);
                slot.program = null_mut();
                self.free_from = self.free_from.min(number);
                number = slot.next as usize;
            }
        }
    }

    /// Visits each program, once for each of its numbers.
    pub(super) fn each(&self, mut look: impl FnMut(NonNull<Program>)) {
        for number in 0..self.count {
            // SAFETY: a slot below `count`.
            if let Some(program) = NonNull::new(unsafe { (*self.start.add(number)).program }) {
                look(program);
            }
        }
    }

    /// The program of a number, which is in use.
    pub(super) fn find(&self, loaded: Loaded) -> Result<NonNull<Program>, Error> {
        self.find_entry(loaded).map(|(program, _)| program)
    }

    /// The same, with its entry point.
    pub(super) fn find_entry(&self, loaded: Loaded) -> Result<(NonNull<Program>, usize), Error> {
        let (number, generation) = (loaded.0 as u32 as usize, (loaded.0 >> 32) as u32);
        if number >= self.count {
            return Err(Error::NotLoaded);
        }
        // SAFETY: a slot below `count`; a program in a slot exists.
        unsafe {
            let slot = &*self.start.add(number);
            let program = NonNull::new(slot.program).filter(|_| slot.generation == generation);
            let program = program.filter(|program| (*program.as_ptr()).uses > 0).ok_or(Error::NotLoaded)?;
            Ok((program, slot.entry))
        }
    }
}
