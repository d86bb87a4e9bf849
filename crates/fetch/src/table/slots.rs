//! Numbers of programs: what callers have instead of pointers.
//!
//! ```text
//! Loaded = generation << 32 | slot        a slot's generation counts up with each program that has it
//! ```
//!
//! Invariant: a number is never 0, and never means another program than the one it was given for (until a slot has had
//! 2^32 of them).
//! Not here: who uses them (`load`).

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

    /// From [`Loaded::number`]; a number that is none is an error of each call.
    #[must_use]
    pub fn from_number(number: u64) -> Loaded {
        Loaded(number)
    }

    /// That of a program.
    ///
    /// # Safety
    /// The program is there.
    pub(super) unsafe fn of(program: NonNull<Program>) -> Loaded {
        // SAFETY: the caller's promise; both are written before the program is entered, and not changed then.
        let (generation, number) = unsafe { ((*program.as_ptr()).generation, (*program.as_ptr()).number) };
        Loaded(u64::from(generation) << 32 | u64::from(number))
    }
}

struct Slot {
    program: *mut Program,
    generation: u32,
}

/// All of them. Under the table's lock.
pub(super) struct Slots {
    start: *mut Slot,
    count: usize,
    /// No slot below this one is free.
    free_from: usize,
}

impl Slots {
    pub(super) const NONE: Slots = Slots { start: null_mut(), count: 0, free_from: 0 };

    /// Gives a program a number.
    pub(super) fn enter(&mut self, program: NonNull<Program>) -> Result<(), Error> {
        // SAFETY: slots below `count` are there.
        let is_free = |number: &usize| unsafe { (*self.start.add(*number)).program.is_null() };
        let number = match (self.free_from..self.count).find(is_free) {
            Some(number) => number,
            None => self.grow()?,
        };
        self.free_from = number + 1;
        // SAFETY: a slot below `count`; the program is there.
        unsafe {
            let slot = &mut *self.start.add(number);
            slot.program = program.as_ptr();
            // Never 0, so that no number is.
            slot.generation = slot.generation.wrapping_add(1).max(1);
            (*program.as_ptr()).number = number as u32;
            (*program.as_ptr()).generation = slot.generation;
        }
        Ok(())
    }

    /// More slots: gives the first new one.
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
                slots.add(number).write(Slot { program: null_mut(), generation: 0 });
            }
        }
        let first = self.count;
        (self.start, self.count) = (slots, count);
        Ok(first)
    }

    /// A program's number means nothing any more.
    pub(super) fn forget(&mut self, program: NonNull<Program>) {
        // SAFETY: the program is there; a slot below `count`.
        unsafe {
            let number = (*program.as_ptr()).number as usize;
            if number < self.count && (*self.start.add(number)).program == program.as_ptr() {
                (*self.start.add(number)).program = null_mut();
                self.free_from = self.free_from.min(number);
            }
        }
    }

    /// The program of a number, which is in use.
    pub(super) fn find(&self, loaded: Loaded) -> Result<NonNull<Program>, Error> {
        let (number, generation) = (loaded.0 as u32 as usize, (loaded.0 >> 32) as u32);
        if number >= self.count {
            return Err(Error::NotLoaded);
        }
        // SAFETY: a slot below `count`; a program in a slot is there.
        unsafe {
            let slot = &*self.start.add(number);
            let program = NonNull::new(slot.program).filter(|_| slot.generation == generation);
            program.filter(|program| (*program.as_ptr()).uses > 0).ok_or(Error::NotLoaded)
        }
    }
}
