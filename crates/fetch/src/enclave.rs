//! The enclave of a program that is LINKed: a heap of its own, if the preload library is there.
//!
//! ```text
//! LOAD for LINK ─> begin ─> run(constructors) ─> run(main) ─> DELETE: run(destructors) ─> end: all of its storage goes back in one step
//!                                                   └─ threads of the program still run: it lingers, whole, until they have ended
//! ```
//!
//! The program itself has the enclave (`Program::enclave`): where a program rests after its DELETE, because it cannot begin again or
//! because threads have objects of it, its storage rests with it.
//!
//! Invariant: an enclave ends after its program, and no thread that it made is left.
//! Without the preload library there is no enclave, and everything here does nothing.
//! Not here: which requests it serves (the preload library), and LINK itself (`link`).

use core::ptr::{NonNull, null_mut};

use underbar_enclave::{Enclave as Theirs, Function, enclaves};
use underbar_sys::lock::Lock;

/// An enclave, or none.
#[derive(Clone, Copy, Debug)]
pub struct Enclave(Option<Theirs>);

// SAFETY: a heap is the same for all threads.
unsafe impl Send for Enclave {}

impl Enclave {
    /// None.
    pub const NONE: Enclave = Enclave(None);

    /// Begins an enclave for a program whose code is at these addresses.
    #[must_use]
    pub fn begin(name: &[u8], code: (usize, usize)) -> Enclave {
        let Some(table) = enclaves() else { return Enclave::NONE };
        // SAFETY: the table's function; a name of that length.
        let enclave = unsafe { (table.begin)(name.as_ptr(), name.len(), code.0, code.1) };
        Enclave((!enclave.heap.is_null()).then_some(enclave))
    }

    /// Runs a function inside: its program gets storage here.
    pub fn run<T>(self, work: impl FnOnce() -> T) -> T {
        let entered = self.enter();
        let result = work();
        if let Some(entered) = entered {
            entered.leave();
        }
        result
    }

    /// From now on the calling thread is inside; None if there is none, or it cannot enter.
    pub fn enter(self) -> Option<Entered> {
        let mut outer = 0;
        let (table, it) = (enclaves()?, self.0?);
        // SAFETY: an enclave of this table, which checks that it has not ended.
        unsafe { (table.enter)(it, &raw mut outer) }.then_some(Entered(outer))
    }

    /// A stack for the program, by its ends; zeroes: it runs on the caller's. To be given back by [`give_stack_back`].
    #[must_use]
    pub fn stack(self) -> (usize, usize) {
        let (Some(table), Some(_)) = (enclaves(), self.0) else { return (0, 0) };
        let mut low = 0;
        // SAFETY: the table's function.
        let top = unsafe { (table.stack_begins)(&raw mut low) };
        (low, top)
    }

    /// How many threads are inside.
    #[must_use]
    pub fn threads(self) -> usize {
        // SAFETY: as in `run`.
        self.0.zip(enclaves()).map_or(0, |(it, table)| unsafe { (table.inside)(it) })
    }

    /// Ends it. Its program has ended.
    pub fn end(self) {
        if let (Some(it), Some(table)) = (self.0, enclaves()) {
            // SAFETY: as in `run`. A thread that is inside in spite of the promise keeps it.
            unsafe { (table.end)(it) };
        }
    }
}

/// A thread inside an enclave.
#[derive(Clone, Copy)]
#[must_use]
pub struct Entered(usize);

impl Entered {
    /// The calling thread is where it was before it entered. In the reverse order of entering.
    pub fn leave(self) {
        if let Some(table) = enclaves() {
            // SAFETY: entered by `Enclave::enter`.
            unsafe { (table.leave)(self.0) };
        }
    }
}

/// A program is about to be LINKed by the calling thread: its CPU time is limited from now on. Returns the argument of [`program_ends`].
#[must_use]
pub fn program_starts() -> usize {
    // SAFETY: the table's function.
    enclaves().map_or(0, |table| unsafe { (table.program_starts)() })
}

/// The program with that start has ended; 0: it was not limited by itself.
pub fn program_ends(start: usize) {
    if let Some(table) = enclaves()
        && start != 0
    {
        // SAFETY: of `program_starts`.
        unsafe { (table.program_ends)(start) };
    }
}

/// A program without an enclave has its code at these addresses from now on.
pub fn program_is_at(name: &[u8], code: (usize, usize)) {
    if let Some(table) = enclaves() {
        // SAFETY: the table's function; a name of that length.
        unsafe { (table.program_is_at)(name.as_ptr(), name.len(), code.0, code.1) };
    }
}

/// A CALL, or the running of a LINKed program, that counts as a switch.
#[derive(Clone, Copy)]
#[must_use]
pub struct Counted {
    entry: usize,
    is_link: bool,
    /// 0: it does not count.
    began: u64,
}

impl Counted {
    /// The program with that entry begins.
    pub fn begin(entry: usize, is_link: bool) -> Self {
        // SAFETY: the table's function.
        let began = enclaves().map_or(0, |table| unsafe { (table.call_begins)(entry, is_link) });
        Self { entry, is_link, began }
    }

    /// It has ended.
    pub fn end(self) {
        if self.began != 0
            && let Some(table) = enclaves()
        {
            // SAFETY: as above.
            unsafe { (table.call_ends)(self.entry, self.is_link, self.began) };
        }
    }
}

/// The program with the stack of that end has ended; 0: it had none.
///
/// # Safety
/// Nothing runs on it, nor ever returns to it.
pub unsafe fn give_stack_back(top: usize) {
    if let Some(table) = enclaves()
        && top != 0
    {
        // SAFETY: the caller's promise.
        unsafe { (table.stack_ends)(top) };
    }
}

/// Something that stays until no thread is inside its enclave. Part of a larger value, which `give_back` takes.
pub struct Lingering {
    enclave: Enclave,
    next: *mut Lingering,
    give_back: unsafe fn(NonNull<Lingering>),
}

impl Lingering {
    /// Not in the list yet.
    pub const fn new(enclave: Enclave, give_back: unsafe fn(NonNull<Lingering>)) -> Self {
        Self { enclave, next: null_mut(), give_back }
    }
}

struct List(*mut Lingering);

// SAFETY: followed under the lock only.
unsafe impl Send for List {}

static LINGERING: Lock<List> = Lock::new(List(null_mut()));

/// Puts it into the list.
///
/// # Safety
/// It stays there until its `give_back` is called, and is this thread's alone.
pub unsafe fn linger(one: NonNull<Lingering>) {
    let mut list = LINGERING.lock();
    // SAFETY: the caller's promise.
    unsafe { (*one.as_ptr()).next = list.0 };
    list.0 = one.as_ptr();
}

/// Gives back all whose threads have ended.
pub fn give_back() {
    while let Some(one) = take() {
        // SAFETY: taken out of the list, so it is this thread's alone, and no thread is inside its enclave any more.
        unsafe { ((*one.as_ptr()).give_back)(one) };
    }
}

fn take() -> Option<NonNull<Lingering>> {
    let mut list = LINGERING.lock();
    let mut link = &raw mut list.0;
    // SAFETY: under the lock, what is in the list stays.
    unsafe {
        while let Some(one) = (*link).as_mut()
            && one.enclave.threads() > 0
        {
            link = &raw mut one.next;
        }
        let found = NonNull::new(*link)?;
        *link = (*found.as_ptr()).next;
        Some(found)
    }
}

/// The lock, for fork.
pub fn hold() {
    LINGERING.hold();
}

/// # Safety
/// After [`hold`], in the same thread or its copy.
pub unsafe fn release() {
    // SAFETY: the caller's promise.
    unsafe { LINGERING.release() }
}

/// The functions of the preload library that get storage for programs, bound in place of those of their names.
pub fn functions() -> &'static [Function] {
    enclaves().map_or(&[], |table| table.functions())
}
