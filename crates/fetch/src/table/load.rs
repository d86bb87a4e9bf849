//! LOAD and DELETE.
//!
//! ```text
//! LOAD    choose ──There──────────────────────> begin ──> Loaded      choose, enter, finish: under the table's lock
//!            '────Make──> make ──> enter ────────^  '─ broken: given back; another thread's: chosen again
//! DELETE  remove one user ──the last──> ending: destructors, restored ──> staged, or leaving
//! ```
//!
//! Programs are accessed by pointer. A program with users stays, since they are counted; one without users is either staged
//! (under the lock), or belongs to the one thread that ends it. `kind`, `copy`, `entry` and the numbers do not change after
//! the program is entered; `uses`, `form`, `known` and the list's fields change under the lock.
//!
//! Invariant: no code of programs runs under the lock.
//! Not here: the choice of a program (`existing`), making one (`make`), the decision to keep it (`staged`).

use core::ffi::CStr;
use core::ptr::NonNull;

use underbar_partitioned::count::Counts;

use super::existing::{Had, hash_of};
use super::make::{Made, entry_of, make};
use super::{Library, Loaded, Table, check, fork, with};
use crate::enclave::Enclave;
use crate::error::{Error, Text};
use crate::frame;
use crate::image::{Image, Surroundings};
use crate::library::Member;
use crate::open_library::Opened;
use crate::program::{Form, Kind, Program};
use crate::replaced;

/// LOAD: the program of this name in the first library that has it. If no `form` is given, the member's attributes decide.
///
/// # Safety
/// The program's constructors run, with all that they do.
///
/// # Errors
/// The reason why it could not be loaded.
pub unsafe fn load(libraries: &[Library], name: &[u8], form: Option<Form>) -> Result<Loaded, Error> {
    // SAFETY: the caller's promise.
    let loaded = unsafe { load_as(libraries, name, form, false) };
    frame::settle();
    loaded
}

/// LOAD for LINK: fresh data, and a separate copy if the program is in use, unless it is reentrant.
///
/// # Safety
/// As [`load`].
///
/// # Errors
/// As [`load`].
pub(crate) unsafe fn load_alone(libraries: &[Library], name: &[u8]) -> Result<Loaded, Error> {
    // SAFETY: the caller's promise.
    let loaded = unsafe { load_as(libraries, name, Some(Form::Fresh), true) };
    frame::settle();
    loaded
}

unsafe fn load_as(
    libraries: &[Library],
    name: &[u8],
    form: Option<Form>,
    is_alone: bool,
) -> Result<Loaded, Error> {
    check(name)?;
    loop {
        // SAFETY: the caller's promise; each program has one more user, which is removed if it cannot be used.
        unsafe {
            let Had { program, stranger } = match with(|table| table.choose(libraries, name, form, is_alone))?
            {
                Choice::There(had) => had,
                Choice::Make(order) => enter(&order, name)?,
            };
            let broken = || {
                with(|_| {
                    (*program.as_ptr()).is_broken = true;
                    Table::unlink(program);
                });
            };
            let enclave = Program::begin_enclave(program, name);
            match enclave.run(|| Program::begin(program, broken)) {
                Ok(true) => {
                    let Some(member) = stranger else { return Ok(Loaded::of(program)) };
                    // Called without the lock: a symbol's resolver may have to run.
                    let entry = entry_of(program.as_ref(), name, &member);
                    let number =
                        entry.and_then(|entry| with(|table| table.slots.number(program, entry.unwrap_or(0))));
                    return number.inspect_err(|_| retract(program));
                }
                // Another thread's constructor has exited: for this thread, the program does not exist.
                Ok(false) => retract(program),
                Err(error) => {
                    retract(program);
                    return Err(error);
                }
            }
        }
    }
}

/// DELETE: removes one LOAD. Returns whether the program has other users.
///
/// # Safety
/// The caller of LOAD no longer uses it: no frame of it is on a stack, and no pointer into it exists.
///
/// # Errors
/// It is not loaded.
pub unsafe fn delete(loaded: Loaded) -> Result<bool, Error> {
    let (after, program) = with(|table| {
        let program = table.slots.find(loaded)?;
        table.statistics.deletes += 1;
        Ok::<_, Error>((table.one_less(program), program))
    })?;
    // SAFETY: the caller's promise.
    Ok(unsafe { finish(after, program) })
}

/// The entry point of a loaded program.
///
/// # Errors
/// It is not loaded, or has none.
pub fn entry(loaded: Loaded) -> Result<usize, Error> {
    with(|table| match table.slots.find_entry(loaded)? {
        (_, 0) => Err(Error::NoEntry),
        (_, entry) => Ok(entry),
    })
}

/// The address of a symbol that a loaded program exports; of a thread variable, this thread's.
///
/// # Errors
/// It is not loaded, or damaged.
pub fn symbol(loaded: Loaded, name: &CStr) -> Result<Option<usize>, Error> {
    // One more user meanwhile: the symbol's resolver or the system's loader may have to be called, without the lock.
    let program = with(|table| {
        let program = table.slots.find(loaded)?;
        // SAFETY: a program in use stays while the lock is held.
        unsafe { (*program.as_ptr()).uses += 1 };
        Ok::<_, Error>(program)
    })?;
    // SAFETY: counted above, and given back once.
    let found = unsafe {
        let found = program.as_ref().symbol(name);
        give_back(program);
        found
    };
    frame::settle();
    found
}

/// The enclave of a program that was LOADed for a LINK alone.
///
/// # Errors
/// It is not loaded.
pub(crate) fn enclave(loaded: Loaded) -> Result<Enclave, Error> {
    with(|table| {
        let program = table.slots.find(loaded)?;
        // SAFETY: a program in use stays while the lock is held.
        Ok(unsafe { (*program.as_ptr()).enclave })
    })
}

/// Was the program left to the system's loader?
///
/// # Errors
/// It is not loaded.
pub fn is_of_system(loaded: Loaded) -> Result<bool, Error> {
    with(|table| {
        let program = table.slots.find(loaded)?;
        // SAFETY: a program in use stays while the lock is held.
        Ok(matches!(unsafe { (*program.as_ptr()).kind }, Kind::System(_)))
    })
}

// ---- LOAD ------------------------------------------------------------------------------------------------

/// The result of a LOAD's search.
enum Choice {
    /// An existing program.
    There(Had),
    /// A member.
    Make(Order),
}

/// A program to be made.
struct Order {
    library: Library,
    /// Shared for this order.
    opened: NonNull<Opened>,
    /// The number of the look at the library.
    seen: u64,
    member: Member,
    form: Form,
    /// It may be worth keeping.
    takes_copy: bool,
    is_alone: bool,
}

impl Table {
    fn choose(
        &mut self,
        libraries: &[Library],
        name: &[u8],
        form: Option<Form>,
        is_alone: bool,
    ) -> Result<Choice, Error> {
        let (library, mut known) = self.search(libraries, name)?;
        // SAFETY: an entry stays while the lock is held.
        let (known, opened) = (unsafe { known.as_mut() }, self.libraries.opened(library)?);
        let member = known.member.ok_or(Error::NotFound(Text::new(name)))?;
        let form = form.unwrap_or(if member.is_reentrant { Form::Shared } else { Form::Fresh });
        known.fetches += 1;
        let (fetches, is_resident, seen) = (known.fetches, known.is_resident, known.seen);
        let is_alone = is_alone && !member.is_reentrant;
        if let Some(had) = self.there(known, form, is_alone) {
            return Ok(Choice::There(had));
        }
        let takes_copy = form == Form::Fresh
            && self.options.pool_bytes > 0
            && (fetches >= self.options.keep_after || is_resident);
        // SAFETY: an open library, under the lock.
        unsafe { Opened::share(opened) };
        Ok(Choice::Make(Order { library, opened, seen, member, form, takes_copy, is_alone }))
    }
}

/// Makes a program and enters it; or returns the one that another thread has entered meanwhile.
///
/// # Safety
/// The order's library was shared for it.
unsafe fn enter(order: &Order, name: &[u8]) -> Result<Had, Error> {
    let mut counts = Counts::default();
    // SAFETY: shared, so the library exists.
    let source = unsafe { order.opened.as_ref() }.source();
    fork::prepare();
    let around = Surroundings { replaced: &replaced::table(), threads_ended };
    let made = make(source, name, &order.member, order.form, order.takes_copy, &around, &mut counts);
    with(|table| {
        table.statistics.counts += counts;
        let Made { program, reason, holds_pages } = match made {
            Ok(made) => made,
            Err(error) => {
                // SAFETY: under the lock; it was shared.
                unsafe { Opened::leave(order.opened) };
                return Err(error);
            }
        };
        // SAFETY: under the lock; the program is not visible to others yet.
        unsafe {
            if holds_pages {
                (*program.as_ptr()).hold = Some(order.opened);
            } else {
                Opened::leave(order.opened);
            }
            let one = &mut *program.as_ptr();
            (one.token, one.entry_at) = (order.member.token, order.member.entry_at);
            (one.name, one.is_alone) = (hash_of(name), order.is_alone);
            let known = table.known_as(order.library, name, order.seen, order.member.token);
            if let Some(known) = known
                && let Some(other) = table.there(&mut *known.as_ptr(), order.form, order.is_alone)
            {
                (*program.as_ptr()).uses = 0;
                table.leave(program);
                return Ok(other);
            }
            let entered = table.alike.enter(program).map_err(Error::NoStorage);
            if let Err(error) = entered.and_then(|()| table.slots.enter(program)) {
                (*program.as_ptr()).uses = 0;
                table.leave(program);
                return Err(error);
            }
            if let Some(known) = known {
                Table::link(program, &mut *known.as_ptr());
                if let Some(member) = (*known.as_ptr()).member.as_mut() {
                    member.is_checked = true;
                }
            }
            let statistics = &mut table.statistics;
            statistics.fetches += 1;
            match (*program.as_ptr()).kind {
                Kind::Own(image) => {
                    let relocations = image.as_ref().relocations;
                    statistics.loads += 1;
                    statistics.relative_relocations += relocations.relative;
                    statistics.bound_relocations += relocations.bound;
                }
                Kind::System(_) => {
                    if let Some(count) =
                        reason.and_then(|reason| statistics.fallbacks.get_mut(reason as usize))
                    {
                        *count += 1;
                    }
                }
            }
        }
        Ok(Had::of(program))
    })
}

// ---- DELETE ----------------------------------------------------------------------------------------------

/// The next step for a program that lost a user.
enum After {
    /// None: it has other users.
    InUse,
    /// It is staged, or leaves: its enclave ends.
    Done(Enclave),
    /// It rests as it is, and so does its enclave.
    Rests,
    /// It is to be ended and restored, without the lock: it cannot be found meanwhile. Then its enclave ends.
    Restore(Enclave),
    /// Threads have objects of it: those of this thread are to be ended, without the lock. It cannot be found meanwhile.
    Threads,
}

impl Table {
    fn one_less(&mut self, program: NonNull<Program>) -> After {
        // SAFETY: a program in use stays while the lock is held.
        let one = unsafe { &mut *program.as_ptr() };
        one.uses -= 1;
        if one.uses > 0 {
            return After::InUse;
        }
        let is_to_end = one.form == Form::Fresh || !self.is_worth_keeping(one);
        if is_to_end && !one.is_for_ever() && one.pending() > 0 {
            return After::Threads;
        }
        self.unused(program)
    }

    /// The next step for a program without users, after this thread has ended its own objects of it.
    fn unused(&mut self, program: NonNull<Program>) -> After {
        // SAFETY: only this thread has it, under the lock.
        let one = unsafe { &mut *program.as_ptr() };
        let is_kept = self.is_worth_keeping(one);
        if one.is_for_ever() && !one.is_broken {
            one.is_waiting = true;
            return After::Rests;
        }
        if one.pending() > 0 && (one.form == Form::Fresh || !is_kept) {
            self.statistics.delayed += 1;
            one.is_waiting = true;
            return After::Rests;
        }
        if !is_kept {
            let enclave = one.enclave;
            self.unload(program);
            return After::Done(enclave);
        }
        let enclave = core::mem::replace(&mut one.enclave, Enclave::NONE);
        if one.form == Form::Fresh {
            return After::Restore(enclave);
        }
        self.stage(program);
        After::Done(enclave)
    }

    fn unload(&mut self, program: NonNull<Program>) {
        Table::unlink(program);
        self.statistics.unloaded += 1;
        // SAFETY: it has no users, and was not staged.
        unsafe { self.leave(program) };
    }

    fn stage(&mut self, program: NonNull<Program>) {
        self.statistics.staged += 1;
        self.staged.put_in(program);
        self.shrink(self.options.pool_bytes);
    }
}

/// Takes the next step. Returns whether the program has other users.
///
/// # Safety
/// `after` is the result of [`Table::one_less`] for the program just now.
unsafe fn finish(after: After, program: NonNull<Program>) -> bool {
    if let After::Threads = after {
        // SAFETY: it has no users, and cannot be found: only this thread has it.
        let after = unsafe {
            if let Kind::Own(image) = (*program.as_ptr()).kind {
                Image::end_of_thread(image);
            }
            with(|table| table.unused(program))
        };
        // SAFETY: returned just now; not `Threads` again.
        return unsafe { finish(after, program) };
    }
    if let After::Restore(enclave) = after {
        // SAFETY: it has no users, and is not staged: only this thread has it.
        let restored = enclave.run(|| unsafe { Program::rewind(program) });
        with(|table| {
            if let Some(restored) = restored {
                table.statistics.restored_pages += restored.pages;
                table.statistics.reset_bytes += restored.dropped;
            }
            // SAFETY: the same. Meanwhile the member may have been replaced, or the pool closed.
            match restored.is_some() && table.is_worth_keeping(unsafe { program.as_ref() }) {
                true => table.stage(program),
                false => table.unload(program),
            }
        });
    }
    // After the program: its destructors have run.
    if let After::Done(enclave) | After::Restore(enclave) = after {
        enclave.end();
    }
    matches!(after, After::InUse)
}

/// The last thread that had objects of a program has ended: the program begins again, or goes, if it waited for that.
fn threads_ended(image: NonNull<Image>) {
    let waiting = with(|table| {
        let mut found = None;
        table.slots.each(|program| {
            // SAFETY: under the lock, a program in a slot exists.
            let one = unsafe { program.as_ref() };
            let is_it = matches!(one.kind, Kind::Own(its) if its == image);
            if is_it && one.is_waiting && !one.is_for_ever() && one.pending() == 0 {
                found = Some(program);
            }
        });
        found.map(|program| {
            // SAFETY: the same; it can no longer be found.
            unsafe { (*program.as_ptr()).is_waiting = false };
            (table.unused(program), program)
        })
    });
    if let Some((after, program)) = waiting {
        // SAFETY: returned just now.
        unsafe { finish(after, program) };
    }
}

/// Takes back a LOAD whose program cannot be used.
///
/// # Safety
/// As [`give_back`].
unsafe fn retract(program: NonNull<Program>) {
    let after = with(|table| {
        table.statistics.deletes += 1;
        table.one_less(program)
    });
    // SAFETY: returned just now.
    unsafe { finish(after, program) };
}

/// Removes a user that was not counted as a LOAD.
///
/// # Safety
/// The caller was a user of the program, and is none any more.
unsafe fn give_back(program: NonNull<Program>) {
    let after = with(|table| table.one_less(program));
    // SAFETY: returned just now.
    unsafe { finish(after, program) };
}
