//! The libraries of the system's loader, and the dependencies among them.
//!
//! ```text
//! the process's program ──needed──> ...  PROCESS        libraries that were opened ──needed──> ...  OPENED
//! ```
//!
//! Names are those that the loader uses (DT_NEEDED). A library has the name that it gives itself (DT_SONAME), or that of the
//! file found on a path. A name with a folder must be the same path or the same file. If none of these matches, since the
//! file was found by another name, the loader is asked.
//!
//! Invariant: the loader's list is walked while it reports a program, when it does not change; in that time no storage is
//! allocated and the loader is not asked.
//! Not here: the user of this (`image::lasting`), and the content of a list entry (`link_map`).

use core::ffi::{CStr, c_int, c_void};
use core::ptr::{NonNull, null};

use underbar_sys::file::stat;
use underbar_sys::syscall::Errno;

use crate::arena;
use crate::link_map::{LinkMap, NEEDED};
use crate::path_room::PathRoom;
use crate::system::{Handle, ProgramInfo};

/// The libraries that the process needs in any case.
pub const PROCESS: u8 = 1;
/// The libraries that were opened, and those that they need.
pub const OPENED: u8 = 2;

/// Maximum number of names that the loader is asked for.
const MOST_ASKED: usize = 16;
/// The end of a row.
const END: usize = usize::MAX;

/// A library of the loader's list.
struct Row {
    map: *const LinkMap,
    soname: Option<&'static CStr>,
    marks: u8,
    /// The next library whose needs are to be examined.
    next: usize,
}

/// All libraries of the list, with marks.
pub struct Libraries<'a> {
    rows: NonNull<Row>,
    room: usize,
    count: usize,
    /// First and last of those whose needs are to be examined.
    waiting: (usize, usize),
    head: *const LinkMap,
    opened: &'a [Handle],
    /// Names that only the loader knew, and its answers.
    asked: [Option<(&'static CStr, Handle)>; MOST_ASKED],
    /// Such a name, and the library that needs it.
    unknown: Option<(&'static CStr, *const LinkMap)>,
    is_walked: bool,
    is_whole: bool,
}

impl Drop for Libraries<'_> {
    fn drop(&mut self) {
        for (_, handle) in self.asked.iter().flatten() {
            handle.close();
        }
        // SAFETY: got with this size.
        unsafe { arena::put(self.rows.cast(), self.room * size_of::<Row>()) };
    }
}

impl<'a> Libraries<'a> {
    /// Marks the libraries that the process needs, with their own needs; these stay open meanwhile.
    ///
    /// # Errors
    /// No storage.
    pub fn marked(opened: &'a [Handle]) -> Result<Libraries<'a>, Errno> {
        let room = 64;
        let mut all = Libraries {
            rows: arena::get(room * size_of::<Row>())?.cast(),
            room,
            count: 0,
            waiting: (END, END),
            head: crate::system::first_in_list().unwrap_or(null()),
            opened,
            asked: [None; MOST_ASKED],
            unknown: None,
            is_walked: false,
            is_whole: false,
        };
        loop {
            (all.is_walked, all.unknown) = (false, None);
            // SAFETY: a visitor of this kind, with what it expects.
            unsafe { crate::program_headers::system_programs(walk, (&raw mut all).cast()) };
            if all.count > all.room {
                all.grow()?;
                continue;
            }
            let Some(unknown) = all.unknown else {
                all.is_whole = true;
                return Ok(all);
            };
            if !all.ask(unknown) {
                return Ok(all);
            }
        }
    }

    /// Was every needed name found?
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// The libraries that were opened or are needed by these, each with its marks. They stay as long as those that were opened.
    pub fn opened(&self) -> impl Iterator<Item = (&LinkMap, u8)> {
        // SAFETY: rows below `count` are written; maps of open libraries stay.
        let rows = (0..self.count.min(self.room)).map(|at| unsafe { &*self.rows.as_ptr().add(at) });
        rows.filter(|row| row.marks & OPENED != 0)
            // SAFETY: the same.
            .filter_map(|row| unsafe { row.map.as_ref() }.map(|map| (map, row.marks)))
    }

    fn grow(&mut self) -> Result<(), Errno> {
        let room = self.count.next_power_of_two();
        let rows = arena::get(room * size_of::<Row>())?.cast();
        // SAFETY: got with this size; rows are written anew by each walk.
        unsafe { arena::put(self.rows.cast(), self.room * size_of::<Row>()) };
        (self.rows, self.room) = (rows, room);
        Ok(())
    }

    /// Asks the loader for a name. False if it does not have the name either, or if there are too many.
    fn ask(&mut self, (name, by): (&'static CStr, *const LinkMap)) -> bool {
        let mut room = PathRoom::default();
        // SAFETY: needed by an open library, so it is open, too.
        let asked = unsafe { by.as_ref() }.and_then(|by| expanded(name, by, &mut room));
        let Some(place) = self.asked.iter_mut().find(|place| place.is_none()) else { return false };
        *place = asked.and_then(Handle::of_loaded).map(|handle| (name, handle));
        place.is_some()
    }

    /// Reads the list and marks, under the loader's lock.
    ///
    /// # Safety
    /// The loader's list does not change.
    unsafe fn fill(&mut self) {
        (self.count, self.waiting) = (0, (END, END));
        let mut map = self.head;
        // SAFETY: entries of the list.
        while let Some(one) = unsafe { map.as_ref() } {
            if self.count < self.room {
                let row = Row { map, soname: one.soname(), marks: 0, next: END };
                // SAFETY: a row below `room`.
                unsafe { self.rows.as_ptr().add(self.count).write(row) };
            }
            self.count += 1;
            map = one.next;
        }
        if self.count > self.room {
            return;
        }
        self.mark(PROCESS, self.head);
        self.spread(PROCESS);
        for handle in self.opened {
            self.mark(OPENED, handle.link_map().map_or(null(), core::ptr::from_ref));
        }
        self.spread(OPENED);
    }

    fn row(&mut self, at: usize) -> Option<&mut Row> {
        // SAFETY: rows below both are written.
        (at < self.count && at < self.room).then(|| unsafe { &mut *self.rows.as_ptr().add(at) })
    }

    fn mark(&mut self, mark: u8, map: *const LinkMap) {
        if let Some(at) = self.position(|row| row.map == map) {
            self.mark_row(mark, at);
        }
    }

    fn mark_row(&mut self, mark: u8, at: usize) {
        let Some(row) = self.row(at).filter(|row| row.marks & mark == 0) else { return };
        row.marks |= mark;
        row.next = END;
        let (first, last) = self.waiting;
        match self.row(last) {
            Some(last) => last.next = at,
            None => self.waiting.0 = at,
        }
        debug_assert!(first != END || last == END, "an empty queue has no end");
        self.waiting.1 = at;
    }

    fn position(&mut self, is_it: impl Fn(&Row) -> bool) -> Option<usize> {
        (0..self.count).find(|at| self.row(*at).is_some_and(|row| is_it(row)))
    }

    /// Marks the needs of the waiting libraries.
    fn spread(&mut self, mark: u8) {
        while let Some(row) = self.row(self.waiting.0) {
            let (map, next) = (row.map, row.next);
            self.waiting = if next == END { (END, END) } else { (next, self.waiting.1) };
            // SAFETY: an entry of the list.
            let Some(by) = (unsafe { map.as_ref() }) else { continue };
            for name in by.names(NEEDED) {
                if !self.mark_named(mark, name, by) {
                    self.unknown = Some((name, map));
                }
            }
        }
    }

    /// Marks the library of a name, or all of them if several files have it. False if there is none.
    fn mark_named(&mut self, mark: u8, name: &'static CStr, by: &LinkMap) -> bool {
        if let Some(at) = self.position(|row| row.soname == Some(name)) {
            self.mark_row(mark, at);
            return true;
        }
        let asked = self.asked.iter().flatten().find(|(asked, _)| asked.as_ptr() == name.as_ptr());
        if let Some(map) = asked.and_then(|(_, handle)| handle.link_map()) {
            self.mark(mark, map);
            return true;
        }
        let mut is_found = false;
        let mut each = |all: &mut Self, is_it: &dyn Fn(&CStr) -> bool| {
            for at in 0..all.count {
                // SAFETY: an entry of the list.
                let map = all.row(at).and_then(|row| unsafe { row.map.as_ref() });
                if map.is_some_and(|map| is_it(map.path())) {
                    is_found = true;
                    all.mark_row(mark, at);
                }
            }
        };
        if !name.to_bytes().contains(&b'/') {
            let last =
                |path: &CStr| path.to_bytes().rsplit(|byte| *byte == b'/').next() == Some(name.to_bytes());
            each(self, &last);
            return is_found;
        }
        let mut room = PathRoom::default();
        let Some(name) = expanded(name, by, &mut room) else { return false };
        let of = |path: &CStr| stat(path).map(|status| (status.device, status.inode)).ok();
        let wanted = of(name);
        each(self, &|path| path == name || wanted.is_some() && of(path) == wanted);
        is_found
    }
}

/// A name in which $ORIGIN is the folder of the library that needs it.
fn expanded<'a>(name: &'a CStr, by: &LinkMap, room: &'a mut PathRoom) -> Option<&'a CStr> {
    let words = [&b"$ORIGIN"[..], b"${ORIGIN}"];
    let Some(rest) = words.iter().find_map(|word| name.to_bytes().strip_prefix(*word)) else {
        return Some(name);
    };
    let path = by.path().to_bytes();
    let folder = path.iter().rposition(|byte| *byte == b'/').and_then(|end| path.get(..end));
    room.join(&[folder.unwrap_or(b"."), rest])
}

unsafe extern "C" fn walk(info: *mut ProgramInfo, _: usize, all: *mut c_void) -> c_int {
    // SAFETY: the libraries of `marked`; under the loader's lock the list is whole.
    unsafe {
        let all = &mut *all.cast::<Libraries<'_>>();
        if !all.is_walked && !info.is_null() {
            all.is_walked = true;
            all.fill();
        }
    }
    1
}
