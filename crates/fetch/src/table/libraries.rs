//! The open libraries, and the search for a name in a list of them.
//!
//! ```text
//! number ──> Open ──> Opened (the file; shared with programs that hold pages of it)
//!             '─ stamp: its state at the last look       seen: counts up when all knowledge of it becomes invalid
//! ```
//!
//! Invariant: an entry of the directory is valid while the library's `seen` equals the entry's.
//! Not here: the entries themselves (`directory`), reading libraries (`library`, `organised`).

use core::ffi::CStr;
use core::ptr::{NonNull, null_mut};

use super::{Table, with};
use crate::error::{Error, Text};
use crate::library::{Member, Source, Stamp, Token};
use crate::open_library::Opened;
use crate::program::{Known, Program};

/// Libraries open at one time.
pub const MOST_LIBRARIES: usize = 256;

/// An open library.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Library(u32);

impl Library {
    /// As a number for C.
    #[must_use]
    pub fn number(self) -> u32 {
        self.0
    }

    /// From [`Library::number`]; each call reports an invalid number as an error.
    #[must_use]
    pub fn from_number(number: u32) -> Library {
        Library(number)
    }
}

/// A place for an open library.
struct Open {
    opened: Option<NonNull<Opened>>,
    is_frozen: bool,
    stamp: Stamp,
    /// Counts up when the knowledge about it becomes invalid.
    seen: u64,
}

/// All of them.
pub(super) struct Libraries([Open; MOST_LIBRARIES]);

impl Libraries {
    pub(super) const NONE: Libraries = Libraries(
        [const { Open { opened: None, is_frozen: false, stamp: [0; 4], seen: 1 } }; MOST_LIBRARIES],
    );

    /// The file of an open library.
    pub(super) fn opened(&self, library: Library) -> Result<NonNull<Opened>, Error> {
        self.0.get(library.0 as usize).and_then(|open| open.opened).ok_or(Error::NotLoaded)
    }

    fn get(&mut self, library: Library) -> Result<&mut Open, Error> {
        let open = self.0.get_mut(library.0 as usize).filter(|open| open.opened.is_some());
        open.ok_or(Error::NotLoaded)
    }
}

/// Opens a PDS, a PDSE, a folder or a shared object as a library. Frozen: directory data once read stays valid until
/// [`refresh`]; else each LOAD compares it with the file system.
///
/// # Errors
/// It does not exist, or there are too many.
pub fn open(path: &CStr, is_frozen: bool) -> Result<Library, Error> {
    enter(Opened::at(path)?, is_frozen)
}

/// Opens a library of another kind.
///
/// # Errors
/// There are too many, or its state cannot be read.
pub fn open_source(source: &'static dyn Source, is_frozen: bool) -> Result<Library, Error> {
    enter(Opened::of(source)?, is_frozen)
}

fn enter(opened: NonNull<Opened>, is_frozen: bool) -> Result<Library, Error> {
    with(|table| {
        // SAFETY: opened just now.
        let entered = unsafe { opened.as_ref() }.source().stamp().and_then(|stamp| {
            let free = table.libraries.0.iter().position(|open| open.opened.is_none());
            let (number, open) = free
                .and_then(|number| Some((number, table.libraries.0.get_mut(number)?)))
                .ok_or(Error::TablesFull)?;
            *open = Open { opened: Some(opened), is_frozen, stamp, seen: open.seen + 1 };
            table.statistics.doubtful += doubtful(opened);
            Ok(Library(number as u32))
        });
        if entered.is_err() {
            // SAFETY: it has no other user.
            unsafe { Opened::leave(opened) };
        }
        entered
    })
}

/// Closes a library: its images leave the pool. Programs in use stay until their DELETE.
///
/// # Errors
/// It is not open.
pub fn close(library: Library) -> Result<(), Error> {
    with(|table| {
        let open = table.libraries.get(library)?;
        let opened = open.opened.take().ok_or(Error::NotLoaded)?;
        open.seen += 1;
        table.detach(library);
        // SAFETY: under the lock; the place in the table was a user.
        unsafe { Opened::leave(opened) };
        Ok(())
    })
}

/// Discards the known directory data of a library, also of a frozen one, and opens its file again.
///
/// # Errors
/// It is not open, or no longer exists.
pub fn refresh(library: Library) -> Result<(), Error> {
    with(|table| {
        let opened = table.libraries.get(library)?.renew()?;
        table.statistics.refreshes += 1;
        table.statistics.doubtful += doubtful(opened);
        Ok(())
    })
}

/// Is one of the two labels of a PDSE damaged or cut short, so that the data read may be the state before the last change?
/// Nothing is loaded from a damaged label; `underbar lib verify` names it.
///
/// # Errors
/// It is not open.
pub fn is_doubtful(library: Library) -> Result<bool, Error> {
    with(|table| {
        let opened = table.libraries.opened(library)?;
        Ok(doubtful(opened) > 0)
    })
}

/// 1 for a library with a label that is not whole. The caller has the table's lock, and the library a user.
fn doubtful(opened: NonNull<Opened>) -> u64 {
    // SAFETY: the caller's promise.
    u64::from(unsafe { opened.as_ref() }.source().is_doubtful())
}

impl Open {
    /// The library's current file. Under the table's lock.
    fn renew(&mut self) -> Result<NonNull<Opened>, Error> {
        let mut opened = self.opened.ok_or(Error::NotLoaded)?;
        // SAFETY: the place in the table is a user, of the old one and then of the new one.
        unsafe {
            if opened.as_ref().has_path() {
                let fresh = Opened::at(opened.as_ref().source().path())?;
                self.opened = Some(fresh);
                Opened::leave(opened);
                opened = fresh;
            }
            self.stamp = opened.as_ref().source().stamp()?;
        }
        self.seen += 1;
        Ok(opened)
    }
}

impl Table {
    /// The first library with the name, and the entry for it, whose member exists.
    pub(super) fn search(
        &mut self,
        libraries: &[Library],
        name: &[u8],
    ) -> Result<(Library, NonNull<Known>), Error> {
        for library in libraries {
            if let Some(known) = self.look(*library, name)? {
                return Ok((*library, known));
            }
        }
        Err(Error::NotFound(Text::new(name)))
    }

    fn look(&mut self, library: Library, name: &[u8]) -> Result<Option<NonNull<Known>>, Error> {
        let open = self.libraries.get(library)?;
        let mut opened = open.opened.ok_or(Error::NotLoaded)?;
        // SAFETY: the place in the table is a user of its library; sources call no function of this crate.
        unsafe {
            let is_kept =
                self.options.lookaside && (open.is_frozen || opened.as_ref().source().tells_changes());
            if !open.is_frozen && opened.as_ref().source().stamp()? != open.stamp {
                opened = open.renew()?;
                self.statistics.refreshes += 1;
                self.statistics.doubtful += doubtful(opened);
            }
            let source = opened.as_ref().source();
            let seen = open.seen;
            let known = self.directory.find(library.0, name);
            if is_kept
                && let Some(known) = known
                && known.as_ref().seen == seen
            {
                self.statistics.lookaside_hits += 1;
                return Ok(known.as_ref().member.is_some().then_some(known));
            }
            self.statistics.searches += 1;
            let member = source.find(name, &mut self.statistics.counts)?;
            if known.is_none() && member.is_none() && !is_kept {
                return Ok(None);
            }
            let entry = self.directory.enter(library.0, name).map_err(Error::NoStorage)?;
            let known = entry.as_ptr();
            let before = core::mem::replace(&mut (*known).member, member);
            // Another entry point of the same bytes also is another program for callers that enter it.
            let identity = |member: Member| (member.token, member.entry_at);
            let is_same = before.map(identity) == member.map(identity);
            if let (true, Some(before), Some(member)) = (is_same, before, &mut (*known).member) {
                // The same bytes of the same open file need no second check.
                member.is_checked = before.is_checked && (*known).seen == seen;
            }
            (*known).seen = seen;
            if !is_same {
                (*known).fetches = 0;
                for program in (*known).programs.into_iter().filter_map(NonNull::new) {
                    self.give_away(program);
                }
            }
            Ok(member.is_some().then_some(entry))
        }
    }

    /// The entry of a member, if it is still the one from an earlier look.
    pub(super) fn known_as(
        &mut self,
        library: Library,
        name: &[u8],
        seen: u64,
        token: Token,
    ) -> Option<NonNull<Known>> {
        let known = self.directory.find(library.0, name)?;
        // SAFETY: an entry stays while the lock is held.
        let entry = unsafe { known.as_ref() };
        let is_it = entry.seen == seen && entry.member.is_some_and(|member| member.token == token);
        is_it.then_some(known)
    }

    /// The member of an entry has been replaced, or the library is closed: the program that was made from the old member can no
    /// longer be found. If it is in the pool, it goes; one that waits for threads goes with them.
    fn give_away(&mut self, program: NonNull<Program>) {
        Table::unlink(program);
        // SAFETY: under the lock; a program that is staged has no users.
        unsafe {
            if (*program.as_ptr()).is_staged {
                self.staged.take_out(program);
                if (*program.as_ptr()).pending() > 0 {
                    (*program.as_ptr()).is_waiting = true;
                    return;
                }
                self.statistics.dropped += 1;
                self.leave(program);
            }
        }
    }

    /// Discards the known data of a library.
    fn detach(&mut self, library: Library) {
        let mut programs: *mut Program = null_mut();
        // SAFETY: under the lock. Programs to be given away are linked by the entries that they themselves point to.
        self.directory.each(|known| unsafe {
            let known = known.as_ptr();
            if (*known).library == library.0 {
                for program in (*known).programs.into_iter().filter_map(NonNull::new) {
                    (*program.as_ptr()).detached = programs;
                    programs = program.as_ptr();
                }
            }
        });
        while let Some(program) = NonNull::new(programs) {
            // SAFETY: linked just now.
            programs = unsafe { (*program.as_ptr()).detached };
            self.give_away(program);
        }
        self.directory.forget(library.0);
    }
}
