//! LOAD and DELETE: libraries searched in order, programs counted by their users, images kept for the next one.
//!
//! ```text
//! LOAD    search (libraries) ──> program in use? count it ──────────────> constructors, unless they ran
//!                          │     in the pool? begin it again ──────────────^
//!                          │     else: make it from its member, or leave it to the system's loader
//! DELETE  the last user's: destructors; into the pool (staged) if that saves time, else unloaded
//!
//! libraries   the open libraries, and the search for a name    load     LOAD, DELETE
//! staged      the pool's list, and what it gives up            make     making a program from a member
//! slots       numbers of programs                              there    the choice of a program for a LOAD
//! alike       programs by their bytes
//! ```
//!
//! One lock, for the tables alone. It is never held while code of programs runs, nor while the system's loader runs, which
//! calls constructors of libraries under its own lock. Such constructors may therefore LOAD, whatever other threads LOAD
//! meanwhile. Instead, a program's constructors run under the program's own lock, and other threads that LOAD it wait for
//! them: a constructor that waits for such a thread waits forever, as with the system's loader. Two threads that LOAD a
//! program that is not loaded may both make it; the second one's is given back before it begins. Programs to be removed are
//! put into a list (`leaving`) and go after the lock has been released.
//!
//! Invariant: a program is in use (uses > 0), staged, waiting, ending in one thread, or gone; the bytes of the pool's list are
//! `staged.bytes`, at most `options.pool_bytes` plus resident programs.
//! Invariant: `program.known` is the entry whose `programs` contain it, or null.
//! Cost: a LOAD from the pool makes no system call if its library is frozen.
//! Not here: images (`image`), restoring them (`pool`), entries of directories (`directory`).

mod content_index;
mod existing;
mod fork;
mod libraries;
mod load;
mod make;
mod slots;
mod staged;

pub use libraries::{Library, MOST_LIBRARIES, close, is_doubtful, open, open_source, refresh};
pub use load::{delete, entry, is_of_system, load, symbol};
pub use slots::Loaded;

pub(crate) use load::{enclave, load_alone};

use core::ptr::{NonNull, null_mut};

use underbar_sys::lock::Lock;

use crate::directory::Directory;
use crate::error::{Error, Text};
use crate::library::{MOST_NAME, Member};
use crate::program::Program;
use crate::statistics::Statistics;
use content_index::Alike;
use libraries::Libraries;
use slots::Slots;
use staged::Staged;

/// The limits of the pool.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Maximum size of the images in the pool, in bytes; 0: nothing is kept (VLF off).
    pub pool_bytes: u64,
    /// A program is kept from this LOAD of it on; 1: at once. Program objects' lookaside on z/OS reportedly waits for five.
    pub keep_after: u64,
    /// Directories are kept (LLA).
    pub lookaside: bool,
}

impl Options {
    /// 64 MiB, after five LOADs, with the lookaside.
    pub const DEFAULT: Options = Options { pool_bytes: 64 << 20, keep_after: 5, lookaside: true };
}

struct Table {
    options: Options,
    libraries: Libraries,
    directory: Directory<Program>,
    slots: Slots,
    staged: Staged,
    /// Programs in no other list, which go after the lock has been released.
    leaving: *mut Program,
    alike: Alike,
    statistics: Statistics,
}

// SAFETY: the data that the pointers refer to is used under the lock, except programs: see `load`.
unsafe impl Send for Table {}

static TABLE: Lock<Table> = Lock::new(Table {
    options: Options::DEFAULT,
    libraries: Libraries::NONE,
    directory: Directory::EMPTY,
    slots: Slots::NONE,
    staged: Staged::EMPTY,
    leaving: null_mut(),
    alike: Alike::NONE,
    statistics: Statistics::NONE,
});

/// The lock, for fork.
fn hold() {
    TABLE.hold();
}

/// # Safety
/// After [`hold`], in the same thread or its copy.
unsafe fn release() {
    // SAFETY: the caller's promise.
    unsafe { TABLE.release() }
}

/// In a forked child: programs that another thread was beginning or ending at the fork stay unchanged, since that thread does
/// not exist there. They can no longer be found, by their entry or by their bytes: a LOAD gets another copy.
fn forget_unfinished() {
    with(|table| {
        table.slots.each(|program| {
            // SAFETY: a program in a slot exists while the lock is held, and this is the only thread.
            let one = unsafe { &mut *program.as_ptr() };
            if one.life.is_anothers() || one.uses == 0 && !one.is_staged && !one.is_waiting {
                one.is_broken = true;
                Table::unlink(program);
            }
        });
    });
}

/// Works on the table; then, without the lock, gives back the programs that the work has put into `leaving`: their
/// destructors may call this module again. The work itself calls no code of programs, and none of the system's loader.
fn with<R>(work: impl FnOnce(&mut Table) -> R) -> R {
    let mut table = TABLE.lock();
    let result = work(&mut table);
    let mut leaving = core::mem::replace(&mut table.leaving, null_mut());
    drop(table);
    let mut delayed = 0;
    while let Some(program) = NonNull::new(leaving) {
        // SAFETY: taken out of all lists under the lock, so no other thread has it.
        unsafe {
            leaving = (*program.as_ptr()).next;
            delayed += u64::from(!Program::remove(program));
        }
    }
    if delayed > 0 {
        TABLE.lock().statistics.delayed += delayed;
    }
    result
}

impl Table {
    /// Removes a program without users, after the lock is released.
    ///
    /// # Safety
    /// It is in no list, and no entry points to it.
    unsafe fn leave(&mut self, program: NonNull<Program>) {
        // SAFETY: the caller's promise.
        unsafe {
            self.slots.forget(program);
            self.alike.forget(program);
            (*program.as_ptr()).next = self.leaving;
        }
        self.leaving = program.as_ptr();
    }

    /// Removes the program from its entry.
    fn unlink(program: NonNull<Program>) {
        // SAFETY: under the lock; an entry exists while a program points to it.
        unsafe {
            let known = core::mem::replace(&mut (*program.as_ptr()).known, null_mut());
            if let Some(known) = known.as_mut() {
                for place in known.programs.iter_mut().filter(|place| **place == program.as_ptr()) {
                    *place = null_mut();
                }
            }
        }
    }
}

/// Sets the limits; images beyond the new bound go at once.
pub fn set_options(options: Options) {
    with(|table| {
        table.options = options;
        table.shrink(options.pool_bytes);
    });
}

/// The current limits.
#[must_use]
pub fn options() -> Options {
    with(|table| table.options)
}

/// Drops all images in the pool except resident ones.
pub fn purge() {
    with(|table| table.shrink(0));
}

/// Makes a program resident: kept from its first DELETE on, beyond the bound, never dropped. Or ends this.
///
/// # Errors
/// The name is invalid, or no library has it.
pub fn set_resident(libraries: &[Library], name: &[u8], is_resident: bool) -> Result<(), Error> {
    check(name)?;
    with(|table| {
        let (_, mut known) = table.search(libraries, name)?;
        // SAFETY: an entry stays while the lock is held.
        unsafe { known.as_mut() }.is_resident = is_resident;
        table.shrink(table.options.pool_bytes);
        Ok(())
    })
}

/// The loader's figures.
#[must_use]
pub fn statistics() -> Statistics {
    with(|table| table.statistics)
}

/// Bytes of images in the pool, including the kept initial states.
#[must_use]
pub fn pooled() -> u64 {
    with(|table| table.staged.bytes)
}

/// BLDL: the entry of the program in the first library that has it.
///
/// # Errors
/// The name is invalid, or no library has it.
pub fn find(libraries: &[Library], name: &[u8]) -> Result<(Library, Member), Error> {
    check(name)?;
    with(|table| {
        let (library, known) = table.search(libraries, name)?;
        // SAFETY: an entry stays while the lock is held.
        let member = unsafe { known.as_ref() }.member.ok_or(Error::NotFound(Text::new(name)))?;
        Ok((library, member))
    })
}

fn check(name: &[u8]) -> Result<(), Error> {
    let is_bad = |byte: &u8| matches!(byte, 0 | b'/');
    match (1..=MOST_NAME).contains(&name.len()) && !name.iter().any(is_bad) && name != b"." && name != b".." {
        true => Ok(()),
        false => Err(Error::BadName),
    }
}
