//! What multi-fetch knows of the program's connections and of their cursors.
//!
//! libpq lets one thread at a time use a connection, so its entry is that thread's; only the search for the entry is shared.
//!
//! Invariant: a cursor that is served was declared on its connection before our eyes, and `position` is the row that the program has;
//! the rows that wait are those after it.
//! Not here: what is done with them.

use core::cell::UnsafeCell;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering};

use underbar_multifetch::{Growth, Name, StandBack};

use super::libpq::{Connection, Libpq, Rows};

/// Connections that are known at a time; the statements of others pass.
const CONNECTIONS: usize = 64;
/// Cursors of a connection that are known at a time.
const CURSORS: usize = 4;
/// Bytes of the time at which the server made a cursor, as text.
pub(super) const TIME: usize = 40;

/// Where a cursor is on its way to be read ahead.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Declared; the program has fetched so many single rows, one after the other.
    Declared(u32),
    /// Its fetches are larger than the program's.
    Served,
    /// It is left as the program uses it.
    Back(StandBack),
}

/// A cursor.
pub(super) struct Cursor {
    pub(super) name: Name,
    pub(super) stage: Stage,
    /// Rows that the program has moved forward.
    pub(super) position: u64,
    /// The program may move it back: the server says so.
    pub(super) is_scrollable: bool,
    /// Another cursor may have its name by now: ask before it is served again.
    pub(super) is_in_doubt: bool,
    /// When the server made it, as text with zeros behind.
    pub(super) made: [u8; TIME],
    /// The last fetch; null if none of its rows waits.
    pub(super) rows: *mut Rows,
    /// The next row of it.
    pub(super) next: i32,
    /// Its number of rows.
    pub(super) count: i32,
    /// The server's cursor is behind the last row.
    pub(super) is_at_end: bool,
    /// Its columns without rows, once the end is known: what a further fetch gives. Null before.
    pub(super) nothing: *mut Rows,
    pub(super) growth: Growth,
}

impl Cursor {
    /// A cursor that was declared a moment ago.
    pub(super) fn new(name: Name) -> Self {
        Cursor {
            name,
            stage: Stage::Declared(0),
            position: 0,
            is_scrollable: false,
            is_in_doubt: false,
            made: [0; TIME],
            rows: null_mut(),
            next: 0,
            count: 0,
            is_at_end: false,
            nothing: null_mut(),
            growth: Growth::new(),
        }
    }

    /// Rows that wait.
    pub(super) fn waiting(&self) -> u32 {
        if self.rows.is_null() { 0 } else { u32::try_from(self.count - self.next).unwrap_or(0) }
    }
}

/// The cursors of a connection.
pub(super) struct Entry {
    /// The functions of its libpq, found at its first statement that needs them.
    pub(super) libpq: Option<Libpq>,
    pub(super) cursors: [Option<Cursor>; CURSORS],
    /// The program uses it in a way that multi-fetch does not follow.
    pub(super) is_left_alone: bool,
    /// The program waited for no DECLARE on it so far: fetches that it sends are counted, and nothing is followed.
    is_only_counted: bool,
    /// The result of a statement that the program sent without waiting, to be given instead of the server's next one. Null: none.
    pub(super) result: *mut Rows,
}

impl Entry {
    const fn new() -> Self {
        Entry {
            libpq: None,
            cursors: [const { None }; CURSORS],
            is_left_alone: false,
            is_only_counted: false,
            result: null_mut(),
        }
    }

    pub(super) fn cursor(&mut self, name: &Name) -> Option<&mut Cursor> {
        self.cursors.iter_mut().flatten().find(|cursor| cursor.name == *name)
    }

    /// A place for a cursor that is not known yet. Where only fetches are counted, the first one is used again.
    pub(super) fn place(&mut self) -> Option<&mut Option<Cursor>> {
        let at = self.cursors.iter().position(Option::is_none).or(self.is_only_counted.then_some(0))?;
        self.cursors.get_mut(at)
    }

    /// The program sent the DECLARE of a cursor: what was counted of an earlier one of its name is done.
    pub(super) fn is_sent_anew(&mut self, name: &Name) {
        if self.is_only_counted {
            for place in &mut self.cursors {
                if place.as_ref().is_some_and(|cursor| cursor.name == *name) {
                    *place = None;
                }
            }
        }
    }
}

struct Place {
    /// Whose entry it is; null: nobody's. A thread takes a free one with Acquire and gives it back with Release, so that it finds the
    /// entry as the last one left it.
    connection: AtomicPtr<Connection>,
    /// Used only by the thread that uses the connection.
    entry: UnsafeCell<Entry>,
}

// SAFETY: `entry` is used by one thread at a time, as libpq demands of the connection; see `connection` for the order.
unsafe impl Sync for Place {}

static PLACES: [Place; CONNECTIONS] =
    [const { Place { connection: AtomicPtr::new(null_mut()), entry: UnsafeCell::new(Entry::new()) } };
        CONNECTIONS];

/// The entry of a connection that is followed, if it has one.
///
/// # Safety
/// No other thread uses the connection, and no other entry of it is in use.
pub(super) unsafe fn known<'a>(connection: *mut Connection) -> Option<&'a mut Entry> {
    // SAFETY: the caller's promise.
    unsafe { any(connection) }.filter(|entry| !entry.is_only_counted)
}

/// The entry of a connection, followed or not.
///
/// # Safety
/// As [`known`].
unsafe fn any<'a>(connection: *mut Connection) -> Option<&'a mut Entry> {
    if connection.is_null() {
        return None;
    }
    let place = PLACES.iter().find(|place| place.connection.load(Ordering::Relaxed) == connection)?;
    // SAFETY: the caller's promise.
    Some(unsafe { &mut *place.entry.get() })
}

/// The entry of a connection, which is followed from now on. None if all are taken.
///
/// # Safety
/// As [`known`].
pub(super) unsafe fn entry<'a>(connection: *mut Connection) -> Option<&'a mut Entry> {
    // SAFETY: the caller's promise.
    let entry = unsafe { any(connection).or_else(|| taken(connection)) }?;
    if entry.is_only_counted {
        // Its cursors have no rows.
        *entry = Entry::new();
    }
    Some(entry)
}

/// The entry of a connection, to count what the program sends; a new one is not followed. None if all are taken.
///
/// # Safety
/// As [`known`].
pub(super) unsafe fn counted<'a>(connection: *mut Connection) -> Option<&'a mut Entry> {
    // SAFETY: the caller's promise.
    if let Some(entry) = unsafe { any(connection) } {
        return Some(entry);
    }
    // SAFETY: the caller's promise.
    let entry = unsafe { taken(connection) }?;
    entry.is_only_counted = true;
    Some(entry)
}

/// A free entry, which becomes this connection's. None if there is none.
///
/// # Safety
/// As [`known`]; the connection has no entry.
unsafe fn taken<'a>(connection: *mut Connection) -> Option<&'a mut Entry> {
    if connection.is_null() {
        return None;
    }
    let place = PLACES.iter().find(|place| {
        place
            .connection
            .compare_exchange(null_mut(), connection, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    })?;
    // SAFETY: this thread has taken it.
    Some(unsafe { &mut *place.entry.get() })
}

/// Gives a connection's entry back: the connection ends. Its cursors have no rows that wait.
pub(super) fn forget(connection: *mut Connection) {
    for place in &PLACES {
        if place.connection.load(Ordering::Relaxed) == connection {
            // SAFETY: the thread that ends the connection is the only one that uses it.
            unsafe { *place.entry.get() = Entry::new() };
            place.connection.store(null_mut(), Ordering::Release);
        }
    }
}
