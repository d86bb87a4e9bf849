//! A program that was made of a member: in use, or in the pool.
//!
//! ```text
//!             ┌── uses 0, worth keeping: ending, restored ──> staged ──┐
//! loaded ─────┤                                                        ├── LOAD again: loaded
//! (uses > 0)  ├── uses 0, not kept ──> gone                  bound, purge, replaced ──> gone
//!             └── uses 0, threads have objects of it ──> waiting, as it is ──┬── LOAD again: loaded
//!                                       the last of these threads has ended ─┴──> as uses 0
//! ```
//!
//! Its code runs without the table's lock: constructors under the program's own (`life`), so that others who LOAD it wait
//! until they have run; destructors when nobody finds it any more (no uses, and not staged).
//!
//! Invariant: a staged program with data of its own is as it was before its constructors ran; one that is shared has begun
//! and stays so until it goes.
//! Not here: whether it is worth keeping (`table`).

use core::ptr::{NonNull, null_mut};

use crate::again::Again;
use crate::directory::Known;
use crate::error::Error;
use crate::image::{Image, Lasts};
use crate::library::Token;
use crate::opened::Opened;
use crate::pool::{Copy, Restored};
use crate::system::Handle;

/// How a program's data are to be seen by its users, one after the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Form {
    /// As they were left: for programs that write nothing, or only what they share. Constructors run once, destructors
    /// when the image goes.
    Shared = 0,
    /// As at the first time: constructors and destructors run for each use count from 1 to 0. But what says that it begins only
    /// once (DF_1_NODELETE, and see `image::lasting`) is as it was left, and so is a program while threads that go on have
    /// objects of it (`thread_local` with a destructor): dlclose and dlopen do no more.
    Fresh = 1,
}

/// Who has loaded it.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// We.
    Own(NonNull<Image>),
    /// The system's loader.
    System(Handle),
}

/// A program.
pub struct Program {
    /// Others in the pool: used least recently first.
    pub next: *mut Program,
    /// See `next`.
    pub before: *mut Program,
    /// Others of a library that is being closed.
    pub detached: *mut Program,
    /// Its number in the table, and how often the number was used.
    pub number: u32,
    /// Counts up with each program that has the number.
    pub generation: u32,
    /// Who has loaded it.
    pub kind: Kind,
    /// How its data are seen.
    pub form: Form,
    /// LOADs without a DELETE.
    pub uses: u64,
    /// In the pool.
    pub is_staged: bool,
    /// Nobody uses it, but threads have objects of it: it has not ended, and can be had as it is.
    pub is_waiting: bool,
    /// One of its constructors has exited, or could not be run: nobody may have it.
    pub is_broken: bool,
    /// Which bytes it was made of.
    pub token: Token,
    /// Others whose bytes have the same hash.
    pub alike: *mut Program,
    /// Hash of the name by which it was LOADed first, and what the directory said of that name's entry point: who comes by
    /// another name may enter it elsewhere.
    pub name: u64,
    /// See `name`.
    pub entry_at: Option<u64>,
    /// A LINK has it for itself.
    pub is_alone: bool,
    /// The state before its constructors ran.
    pub copy: Option<Copy>,
    /// The entry in the lookaside that leads to it; null where none does: the member was replaced, the library closed, or
    /// it is a copy beside another one.
    pub known: *mut Known,
    /// Where it is entered; 0: nowhere.
    pub entry: usize,
    /// Bytes that it takes in the pool: its mapping, its copy.
    pub bytes: u64,
    /// The library whose pages it holds.
    pub hold: Option<NonNull<Opened>>,
    /// What loading it again would cost, in relocations.
    pub cost: u64,
    /// Held by the thread that runs its constructors. True where one of these has exited, or could not be run.
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
            copy: None,
            known: null_mut(),
            entry: 0,
            bytes: 0,
            hold: None,
            cost: 0,
            life: Again::new(false),
        }
    }

    /// Must it stay as it is until the process ends?
    #[must_use]
    pub fn is_for_ever(&self) -> bool {
        // SAFETY: an image stays as long as its program.
        matches!(self.kind, Kind::Own(image) if unsafe { image.as_ref() }.lasts() == Lasts::ForEver)
    }

    /// How many destructors of threads that go on lead into it.
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

    /// Runs its constructors, unless they ran; waits while another thread does. Says whether the program can be used: where
    /// it cannot, `broken` is called once, before those who wait come to know.
    ///
    /// # Safety
    /// As [`Image::begin`]; the caller is one of its users.
    ///
    /// # Errors
    /// As [`Image::begin`], to the one who ran them.
    pub unsafe fn begin(program: NonNull<Program>, broken: impl FnOnce()) -> Result<bool, Error> {
        // SAFETY: the caller's promise; what is taken here is not changed while the program is used.
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

    /// Ends it and makes it as it was, where that is asked for. None where it cannot be made so.
    ///
    /// # Safety
    /// Nobody uses it.
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

    /// Gives it back. Says whether it went at once.
    ///
    /// # Safety
    /// Nobody uses it any more; it is in no list. This thread does not hold the table's lock.
    pub unsafe fn remove(program: NonNull<Program>) -> bool {
        // SAFETY: the caller's promise; destructors may call us, but have no way to this program.
        unsafe {
            let mut program = crate::arena::take(program);
            if let Some(mut copy) = program.copy.take() {
                copy.free();
            }
            match program.kind {
                Kind::Own(image) => {
                    Image::end(image);
                    Image::unload(image, program.hold)
                }
                Kind::System(handle) => {
                    handle.close();
                    crate::table::give_up(program.hold);
                    true
                }
            }
        }
    }
}
