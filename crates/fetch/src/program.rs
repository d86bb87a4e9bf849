//! A program that was made from a member: in use, or in the pool.
//!
//! ```text
//!             ┌── uses 0, worth keeping: ending, restored ──> staged ──┐
//! loaded ─────┤                                                        ├── LOAD again: loaded
//! (uses > 0)  ├── uses 0, not kept ──> gone                  bound, purge, replaced ──> gone
//!             └── uses 0, threads have objects of it ──> waiting, as it is ──┬── LOAD again: loaded
//!                                       the last of these threads has ended ─┴──> as uses 0
//! ```
//!
//! Its code runs without the table's lock. Constructors run under the program's own lock (`life`), so other threads that LOAD
//! it wait until they have run; destructors run when the program can no longer be found (no uses, and not staged).
//!
//! Invariant: a staged program with its own data is in the state before its constructors ran; a shared one has begun and
//! stays so until it goes.
//! Not here: the decision to keep it (`table`).

use core::ptr::{NonNull, null_mut};

use crate::directory;
use crate::enclave::{self, Enclave};
use crate::error::Error;
use crate::image::{Image, Lasts};
use crate::library::Token;
use crate::open_library::Opened;
use crate::pool::{Copy, Restored};
use crate::reentrant::Again;
use crate::system::Handle;

/// The state of a program's data for successive users.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Form {
    /// As they were left: for programs that write nothing, or only shared data. Constructors run once, destructors when the image
    /// goes.
    Shared = 0,
    /// As at the first time: constructors and destructors run for each use count from 1 to 0. But a part that begins only once
    /// (DF_1_NODELETE, and see `image::lasting`) stays as it was left, and so does a program while running threads have objects of
    /// it (`thread_local` with a destructor). dlclose and dlopen do no more.
    Fresh = 1,
}

/// The loader of a program.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// This crate.
    Own(NonNull<Image>),
    /// The system's loader.
    System(Handle),
}

/// An entry of the lookaside.
pub type Known = directory::Known<Program>;

/// A program.
pub struct Program {
    /// Links in the pool's list: least recently used first.
    pub next: *mut Program,
    /// See `next`.
    pub before: *mut Program,
    /// Links among the programs of a library that is being closed.
    pub detached: *mut Program,
    /// Its number in the table: its slot.
    pub number: u32,
    /// The number of programs that this slot has had.
    pub generation: u32,
    /// Its loader.
    pub kind: Kind,
    /// The state of its data for users.
    pub form: Form,
    /// LOADs without a DELETE.
    pub uses: u64,
    /// It is in the pool.
    pub is_staged: bool,
    /// It has no users, but threads have objects of it: it has not ended, and can be used as it is.
    pub is_waiting: bool,
    /// One of its constructors has exited, or could not be run: it cannot be used.
    pub is_broken: bool,
    /// The identity of the bytes that it was made from.
    pub token: Token,
    /// Others whose bytes have the same hash.
    pub alike: *mut Program,
    /// Hash of the name of its first LOAD, and the directory's entry point for that name: a LOAD by another name may have another
    /// entry point.
    pub name: u64,
    /// See `name`.
    pub entry_at: Option<u64>,
    /// It belongs to a LINK alone.
    pub is_alone: bool,
    /// The enclave of that LINK, until its destructors have run in it.
    pub enclave: Enclave,
    /// The state before its constructors ran.
    pub copy: Option<Copy>,
    /// The entry in the lookaside that points to it; null if none does: the member was replaced, the library closed, or it is an
    /// additional copy.
    pub known: *mut Known,
    /// Its entry point; 0: none.
    pub entry: usize,
    /// Bytes that it takes in the pool: its mapping, its copy.
    pub bytes: u64,
    /// The library whose pages it holds.
    pub hold: Option<NonNull<Opened>>,
    /// The cost of loading it again, in relocations.
    pub cost: u64,
    /// Held by the thread that runs its constructors. True if one of these has exited, or could not be run.
    pub life: Again<bool>,
}

impl Program {
    /// In use once, and not known to the table.
    #[must_use]
    pub fn new(kind: Kind, form: Form) -> Program {
        Program {
            next: null_mut(),
            before: null_mut(),
            detached: null_mut(),
            number: 0,
            generation: 0,
            kind,
            form,
            uses: 1,
            is_staged: false,
            is_waiting: false,
            is_broken: false,
            token: [0; 6],
            alike: null_mut(),
            name: 0,
            entry_at: None,
            is_alone: false,
            enclave: Enclave::NONE,
            copy: None,
            known: null_mut(),
            entry: 0,
            bytes: 0,
            hold: None,
            cost: 0,
            life: Again::new(false),
        }
    }

    /// Must it stay unchanged until the process ends?
    #[must_use]
    pub fn is_for_ever(&self) -> bool {
        // SAFETY: an image stays as long as its program.
        matches!(self.kind, Kind::Own(image) if unsafe { image.as_ref() }.lasts() == Lasts::ForEver)
    }

    /// The number of destructors of running threads that belong to it.
    #[must_use]
    pub fn pending(&self) -> u32 {
        match self.kind {
            // SAFETY: the same.
            Kind::Own(image) => unsafe { image.as_ref() }.pending(),
            Kind::System(_) => 0,
        }
    }

    /// The address of a symbol that it exports; `text` is its name with a zero byte at the end.
    ///
    /// # Errors
    /// Its tables are damaged.
    pub fn symbol(&self, text: &core::ffi::CStr) -> Result<Option<usize>, Error> {
        match self.kind {
            // SAFETY: an image stays as long as its program.
            Kind::Own(image) => unsafe { image.as_ref() }.symbol(text.to_bytes(), None),
            // SAFETY: a C string.
            Kind::System(handle) => Ok(unsafe { handle.symbol(text.as_ptr(), core::ptr::null()) }),
        }
    }

    /// Runs its constructors, unless they ran; waits while another thread does. Returns whether the program can be used: if not,
    /// `broken` is called once, before the waiting threads learn of it.
    ///
    /// # Safety
    /// As [`Image::begin`]; the caller is one of its users.
    ///
    /// # Errors
    /// As [`Image::begin`], for the thread that ran them.
    pub unsafe fn begin(program: NonNull<Program>, broken: impl FnOnce()) -> Result<bool, Error> {
        // SAFETY: the caller's promise; the fields read here do not change while the program is used.
        let (kind, life) = unsafe { ((*program.as_ptr()).kind, &(*program.as_ptr()).life) };
        let Kind::Own(image) = kind else { return Ok(true) };
        // SAFETY: under the lock of its life, and no reference to the value lives across constructors.
        life.with(|is_broken| unsafe {
            if *is_broken {
                return Ok(false);
            }
            let begun = Image::begin(image);
            if begun.is_err() {
                *is_broken = true;
                broken();
            }
            begun.map(|()| true)
        })
    }

    /// Begins the enclave of a program that was LOADed for a LINK alone, and that can begin again: what others get of it later must not
    /// depend on storage that has ended.
    ///
    /// # Safety
    /// The calling thread is its only user.
    pub unsafe fn begin_enclave(program: NonNull<Program>, name: &[u8]) -> Enclave {
        // SAFETY: the caller's promise; an image stays as long as its program.
        unsafe {
            let one = &mut *program.as_ptr();
            if let Kind::Own(image) = one.kind
                && one.is_alone
                && image.as_ref().lasts() != Lasts::ForEver
            {
                one.enclave = Enclave::begin(name, image.as_ref().range());
            } else if let Kind::Own(image) = one.kind {
                enclave::program_is_at(name, image.as_ref().range());
            }
            one.enclave
        }
    }

    /// Ends it and restores its initial state, if its form requires that. None if it cannot be restored.
    ///
    /// # Safety
    /// It has no users.
    pub unsafe fn rewind(program: NonNull<Program>) -> Option<Restored> {
        // SAFETY: the caller's promise; no reference lives across the destructors.
        unsafe {
            let (Kind::Own(image), Form::Fresh) = ((*program.as_ptr()).kind, (*program.as_ptr()).form) else {
                return Some(Restored::default());
            };
            Image::end(image);
            match &(*program.as_ptr()).copy {
                Some(copy) => copy.restore(),
                None => Some(Restored::default()),
            }
        }
    }

    /// Gives it back. Returns whether it went at once.
    ///
    /// # Safety
    /// It has no users any more; it is in no list. This thread does not hold the table's lock.
    pub unsafe fn remove(program: NonNull<Program>) -> bool {
        // SAFETY: the caller's promise; destructors may call us, but cannot reach this program.
        unsafe {
            let mut program = crate::arena::take(program);
            if let Some(mut copy) = program.copy.take() {
                copy.free();
            }
            match program.kind {
                Kind::Own(image) => {
                    // What its destructors get goes with it, too.
                    program.enclave.run(|| Image::end(image));
                    Image::unload(image, program.hold)
                }
                Kind::System(handle) => {
                    handle.close();
                    program.hold.into_iter().for_each(|library| Opened::leave(library));
                    true
                }
            }
        }
    }
}
