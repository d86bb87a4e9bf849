//! A statement of the program on a connection whose cursors are known.
//!
//! ```text
//! FETCH 1 FROM c ──┬─ a row waits ───────────────────────────> a copy of it, and the server hears nothing
//!                  ├─ none waits, c is served ── FETCH n ────> n rows, of which the program gets the first
//!                  └─ the second one of c ── judge ──> served, or left alone with a reason
//! other forms of FETCH and MOVE ── rows that wait first ─────> then the server's
//! ```
//!
//! Invariant: what the program gets is what it would get of the server without this: the same rows, the same status and tag, in the same
//! order of its statements. While rows wait, the server's cursor is ahead of the program's by their number, and no statement that
//! depends on its place reaches the server unchanged.
//! Not here: which functions of libpq come here (`mod.rs`), which cursors are served (`judge.rs`).

use core::ffi::{CStr, c_char, c_int};

use underbar_ledger::Key;
use underbar_multifetch::{Count, Name, StandBack, Statement, To, statement};

use super::connection::{Cursor, Entry, Stage};
use super::judge::{self, confirm};
use super::libpq::{COLUMNS, IN_ERROR, IN_TRANSACTION, NULL, Rows, TUPLES};
use super::server::Server;
use super::text::Text;
use crate::ledger;

/// `PGRES_COMMAND_OK`.
const COMMAND: c_int = 1;

/// A cursor is left as the program uses it from now on, which is counted once.
pub(super) fn leave(cursor: &mut Cursor, reason: StandBack) {
    if !matches!(cursor.stage, Stage::Back(_)) {
        ledger::add(judge::counter_of(reason), 1);
        cursor.stage = Stage::Back(reason);
    }
}

/// Any statement may have ended cursors and declared others of their names. What a cursor is that was not served yet is not asked again:
/// settings by which its plan is made may have changed.
fn doubt(entry: &mut Entry) {
    for cursor in entry.cursors.iter_mut().flatten() {
        cursor.is_in_doubt = true;
        if matches!(cursor.stage, Stage::Declared(_)) {
            leave(cursor, StandBack::Connection);
        }
    }
}

/// What a statement needs.
pub(super) struct Session {
    pub(super) server: Server,
    /// Rows of a fetch, at most.
    pub(super) factor: u32,
    /// Bytes of a fetch, at most.
    pub(super) bytes: u32,
}

impl Session {
    fn ask_text<const N: usize>(&self, text: &Text<N>) -> *mut Rows {
        self.server.ask(text.pointer())
    }

    /// `verb rows FROM name`, where `rows` is what is left of a count.
    fn ask_rest(&self, verb: &[u8], rest: Count, name: &Name) -> *mut Rows {
        let mut text = Text::<128>::new();
        text.add(verb);
        match rest {
            Count::Rows(rows) => text.add_number(rows.into()),
            Count::All => text.add(b"ALL"),
        };
        text.add(b" FROM ").add_name(name);
        self.ask_text(&text)
    }

    /// Its number of rows.
    fn count(&self, rows: *const Rows) -> i32 {
        // SAFETY: a result of libpq.
        unsafe { (self.server.libpq.rows)(rows) }
    }

    /// The rows of a cursor that wait are gone.
    pub(super) fn drop_rows(&self, cursor: &mut Cursor) {
        self.server.clear(core::mem::replace(&mut cursor.rows, core::ptr::null_mut()));
        (cursor.next, cursor.count) = (0, 0);
    }

    fn drop_all(&self, cursor: &mut Cursor) {
        self.drop_rows(cursor);
        self.server.clear(core::mem::replace(&mut cursor.nothing, core::ptr::null_mut()));
    }

    /// Nothing is known of any cursor any more.
    pub(super) fn forget_all(&self, entry: &mut Entry) {
        for cursor in &mut entry.cursors {
            if let Some(cursor) = cursor {
                self.drop_all(cursor);
            }
            *cursor = None;
        }
    }

    fn forget(&self, entry: &mut Entry, name: &Name) {
        for place in &mut entry.cursors {
            if let Some(cursor) = place
                && cursor.name == *name
            {
                self.drop_all(cursor);
                *place = None;
            }
        }
    }

    /// What `real`, the program's own call, would give. It sends the text to the server as the program wrote it.
    ///
    /// # Safety
    /// The text is a C string.
    pub(super) unsafe fn run(
        &self,
        entry: &mut Entry,
        text: *const c_char,
        real: &dyn Fn() -> *mut Rows,
    ) -> *mut Rows {
        // SAFETY: the program's connection.
        match unsafe { (self.server.libpq.transaction)(self.server.connection) } {
            IN_TRANSACTION => {}
            // Statements fail but for ROLLBACK TO, after which a cursor is where it was.
            IN_ERROR => {
                doubt(entry);
                return real();
            }
            // BEGIN and DECLARE come in texts of their own; one text with both is not followed.
            _ => {
                self.forget_all(entry);
                return real();
            }
        }
        // SAFETY: the caller's promise.
        let bytes = unsafe { CStr::from_ptr(text) }.to_bytes();
        let statement = statement(bytes);
        if let Statement::Fetch(name, _)
        | Statement::Move(name, _)
        | Statement::FetchTo(name, _)
        | Statement::MoveTo(name, _) = &statement
        {
            self.settle_doubt(entry, name);
        }
        match statement {
            Statement::Declare(name) => {
                let result = real();
                if self.server.has(result, COMMAND) && !entry.is_left_alone {
                    self.forget(entry, &name);
                    if let Some(place) = entry.cursors.iter_mut().find(|place| place.is_none()) {
                        *place = Some(Cursor::new(name));
                    }
                }
                result
            }
            Statement::Fetch(name, count) => self.fetch(entry, &name, count, real),
            Statement::Move(name, count) => match entry.cursor(&name) {
                Some(cursor) => self.move_on(cursor, count, real),
                None => real(),
            },
            Statement::FetchTo(name, to) => self.elsewhere(entry, &name, to, true, real),
            Statement::MoveTo(name, to) => self.elsewhere(entry, &name, to, false, real),
            Statement::Close(name) => {
                self.forget(entry, &name);
                real()
            }
            Statement::Harmless => real(),
            Statement::Other => {
                doubt(entry);
                real()
            }
        }
    }

    /// A cursor that may have become another one is asked for; what is known of it is forgotten if it has.
    fn settle_doubt(&self, entry: &mut Entry, name: &Name) {
        let Some(cursor) = entry.cursor(name).filter(|cursor| cursor.is_in_doubt) else { return };
        // One that is left alone is left alone, whichever it is.
        if cursor.stage != Stage::Served || confirm(&self.server, cursor) {
            cursor.is_in_doubt = false;
        } else {
            self.forget(entry, name);
        }
    }

    fn fetch(&self, entry: &mut Entry, name: &Name, count: Count, real: &dyn Fn() -> *mut Rows) -> *mut Rows {
        let is_left_alone = entry.is_left_alone;
        let Some(cursor) = entry.cursor(name) else { return real() };
        let is_single = count == Count::Rows(1);
        if is_single {
            ledger::add(Key::FetchAsked, 1);
        }
        if let Stage::Declared(fetched) = cursor.stage
            && is_single
            && fetched > 0
            && !is_left_alone
        {
            match judge::judge(&self.server, cursor) {
                Ok(()) => cursor.stage = Stage::Served,
                Err(reason) => leave(cursor, reason),
            }
        }
        match cursor.stage {
            Stage::Served => {
                if cursor.waiting() == 0 {
                    let columns = if cursor.is_at_end { cursor.nothing } else { core::ptr::null_mut() };
                    if !columns.is_null() {
                        self.no_row(columns)
                    } else if is_single && !is_left_alone {
                        self.fetch_ahead(cursor, real)
                    } else {
                        self.pass(cursor, count, real)
                    }
                } else if is_single {
                    self.next_row(cursor)
                } else {
                    self.gather(cursor, count)
                }
            }
            Stage::Declared(fetched) => {
                let result = self.pass(cursor, count, real);
                cursor.stage = Stage::Declared(if is_single { fetched.saturating_add(1) } else { 0 });
                result
            }
            Stage::Back(_) => {
                if is_single {
                    ledger::add(Key::FetchAlone, 1);
                }
                real()
            }
        }
    }

    /// The program's own fetch, when no row waits.
    fn pass(&self, cursor: &mut Cursor, count: Count, real: &dyn Fn() -> *mut Rows) -> *mut Rows {
        let result = real();
        if self.server.has(result, TUPLES) {
            let got = u64::try_from(self.count(result)).unwrap_or(0);
            cursor.position += got;
            cursor.is_at_end = match count {
                Count::Rows(rows) => got < rows.into(),
                Count::All => true,
            };
        }
        result
    }

    /// More rows than the program asked for; it gets the first.
    fn fetch_ahead(&self, cursor: &mut Cursor, real: &dyn Fn() -> *mut Rows) -> *mut Rows {
        let rows = cursor.growth.next(self.factor, self.bytes);
        if rows == 1 {
            return self.pass(cursor, Count::Rows(1), real);
        }
        let result = self.ask_rest(b"FETCH FORWARD ", Count::Rows(rows), &cursor.name);
        if !self.server.has(result, TUPLES) {
            return result;
        }
        ledger::add(Key::FetchSent, 1);
        let count = self.count(result);
        cursor.is_at_end = u32::try_from(count).is_ok_and(|count| count < rows);
        if cursor.is_at_end && cursor.nothing.is_null() {
            // SAFETY: a result of libpq. Null without memory: then the server answers.
            cursor.nothing = unsafe { (self.server.libpq.copy)(result, COLUMNS) };
        }
        if count <= 1 {
            cursor.position += u64::try_from(count).unwrap_or(0);
            return result;
        }
        for row in 0..count {
            cursor.growth.saw(self.row_bytes(result, row));
        }
        (cursor.rows, cursor.next, cursor.count) = (result, 0, count);
        self.next_row(cursor)
    }

    /// What a fetch behind the last row gives; null without memory.
    fn no_row(&self, columns: *const Rows) -> *mut Rows {
        // SAFETY: a result of libpq without rows.
        let result = unsafe { (self.server.libpq.copy)(columns, COLUMNS) };
        if !result.is_null() {
            ledger::add(Key::FetchServed, 1);
            self.set_tag(result, b"FETCH ", 0);
        }
        result
    }

    fn row_bytes(&self, rows: *const Rows, row: c_int) -> usize {
        // SAFETY: a row of a result of libpq, and its columns.
        unsafe {
            (0..(self.server.libpq.columns)(rows))
                .map(|column| {
                    usize::try_from((self.server.libpq.length)(rows, row, column)).unwrap_or(0) + 16
                })
                .sum()
        }
    }

    /// The next row that waits, as a result of its own; null without memory, as libpq answers then.
    fn next_row(&self, cursor: &mut Cursor) -> *mut Rows {
        // SAFETY: rows that this cursor has.
        let result = unsafe { (self.server.libpq.copy)(cursor.rows, COLUMNS) };
        if result.is_null() || !self.take(cursor, result) {
            self.server.clear(result);
            return core::ptr::null_mut();
        }
        ledger::add(Key::FetchServed, 1);
        self.set_tag(result, b"FETCH ", 1);
        result
    }

    /// Puts the next row that waits at the end of `result`. False without memory: then it waits still.
    fn take(&self, cursor: &mut Cursor, result: *mut Rows) -> bool {
        let (from, row) = (cursor.rows, cursor.next);
        if !self.copy_row(from, row, result) {
            return false;
        }
        self.skip(cursor, 1);
        true
    }

    fn copy_row(&self, from: *const Rows, row: c_int, to: *mut Rows) -> bool {
        let at = self.count(to);
        // SAFETY: a row of one result, and the next row of another with the same columns.
        unsafe {
            (0..(self.server.libpq.columns)(from)).all(|column| {
                let is_null = (self.server.libpq.is_null)(from, row, column) != 0;
                let length = if is_null { NULL } else { (self.server.libpq.length)(from, row, column) };
                let value = (self.server.libpq.value)(from, row, column);
                (self.server.libpq.set)(to, at, column, value, length) != 0
            })
        }
    }

    /// The program has so many more of the rows that wait.
    fn skip(&self, cursor: &mut Cursor, rows: u32) {
        cursor.position += u64::from(rows);
        cursor.next += i32::try_from(rows).unwrap_or(0);
        if cursor.waiting() == 0 {
            self.drop_rows(cursor);
        }
    }

    /// What is left of a count behind the rows that wait; None if the server has none or is not needed.
    fn rest(cursor: &Cursor, count: Count) -> Option<Count> {
        if cursor.is_at_end {
            return None;
        }
        match count {
            Count::Rows(rows) => rows.checked_sub(cursor.waiting()).filter(|&rest| rest > 0).map(Count::Rows),
            Count::All => Some(Count::All),
        }
    }

    /// A fetch of several rows, of which some wait.
    fn gather(&self, cursor: &mut Cursor, count: Count) -> *mut Rows {
        // SAFETY: rows that this cursor has.
        let result = unsafe { (self.server.libpq.copy)(cursor.rows, COLUMNS) };
        let mut more = core::ptr::null_mut();
        if let Some(rest) = Self::rest(cursor, count) {
            more = self.ask_rest(b"FETCH FORWARD ", rest, &cursor.name);
            if !self.server.has(more, TUPLES) {
                // The whole fetch would have failed.
                self.server.clear(result);
                return more;
            }
            let got = u32::try_from(self.count(more)).unwrap_or(0);
            cursor.is_at_end = rest == Count::All || rest != Count::Rows(got);
        }
        let wanted = match count {
            Count::Rows(rows) => rows.min(cursor.waiting()),
            Count::All => cursor.waiting(),
        };
        let is_whole = !result.is_null()
            && (0..wanted).all(|_| self.take(cursor, result))
            && (more.is_null() || (0..self.count(more)).all(|row| self.copy_row(more, row, result)));
        if !more.is_null() {
            cursor.position += u64::try_from(self.count(more)).unwrap_or(0);
        }
        self.server.clear(more);
        if !is_whole {
            self.server.clear(result);
            return core::ptr::null_mut();
        }
        self.set_tag(result, b"FETCH ", u64::try_from(self.count(result)).unwrap_or(0));
        result
    }

    /// MOVE forward.
    fn move_on(&self, cursor: &mut Cursor, count: Count, real: &dyn Fn() -> *mut Rows) -> *mut Rows {
        if matches!(cursor.stage, Stage::Declared(_)) {
            cursor.stage = Stage::Declared(0);
        }
        if cursor.waiting() == 0 {
            let result = real();
            if self.server.has(result, COMMAND) {
                let moved = self.tag_number(result);
                cursor.position += moved;
                cursor.is_at_end = match count {
                    Count::Rows(rows) => moved < rows.into(),
                    Count::All => true,
                };
            }
            return result;
        }
        let rest = Self::rest(cursor, count);
        let wanted = match count {
            Count::Rows(rows) => rows.min(cursor.waiting()),
            Count::All => cursor.waiting(),
        };
        // MOVE 0 is a MOVE that the server answers and that changes nothing.
        let result = self.ask_rest(b"MOVE FORWARD ", rest.unwrap_or(Count::Rows(0)), &cursor.name);
        if !self.server.has(result, COMMAND) {
            return result;
        }
        let moved = if rest.is_some() { self.tag_number(result) } else { 0 };
        self.skip(cursor, wanted);
        cursor.position += moved;
        if let Some(rest) = rest {
            cursor.is_at_end =
                rest == Count::All || rest != Count::Rows(u32::try_from(moved).unwrap_or(u32::MAX));
        }
        self.set_tag(result, b"MOVE ", u64::from(wanted) + moved);
        result
    }

    /// FETCH or MOVE to another place than some rows forward.
    fn elsewhere(
        &self,
        entry: &mut Entry,
        name: &Name,
        to: To,
        is_fetch: bool,
        real: &dyn Fn() -> *mut Rows,
    ) -> *mut Rows {
        let Some(cursor) = entry.cursor(name) else { return real() };
        let waiting = cursor.waiting();
        if waiting == 0 || cursor.is_scrollable {
            let result = self.move_back(cursor);
            if !result.is_null() {
                return result;
            }
            leave(cursor, StandBack::Declaration);
            return real();
        }
        // It can only go forward, and its place is known.
        let ahead = match to {
            To::Relative(rows) => Some(u64::from(rows)),
            To::Absolute(row) => u64::from(row).checked_sub(cursor.position).filter(|&rows| rows > 0),
            To::Other => None,
        };
        let verb: &[u8] = if is_fetch { b"FETCH " } else { b"MOVE " };
        match ahead {
            // The server refuses it as it would have done where the program is.
            None => {
                let mut text = Text::<128>::new();
                text.add(verb).add(b"PRIOR FROM ").add_name(name);
                self.ask_text(&text)
            }
            Some(rows) if rows <= u64::from(waiting) => {
                self.skip(cursor, u32::try_from(rows - 1).unwrap_or(0));
                if is_fetch {
                    return self.next_row(cursor);
                }
                self.skip(cursor, 1);
                let result = self.ask_rest(b"MOVE FORWARD ", Count::Rows(0), name);
                if self.server.has(result, COMMAND) {
                    self.set_tag(result, b"MOVE ", 1);
                }
                result
            }
            Some(rows) => {
                self.skip(cursor, waiting);
                leave(cursor, StandBack::Declaration);
                let mut text = Text::<128>::new();
                text.add(verb)
                    .add(b"RELATIVE ")
                    .add_number(rows - u64::from(waiting))
                    .add(b" FROM ")
                    .add_name(name);
                self.ask_text(&text)
            }
        }
    }

    /// Moves the server's cursor back to where the program's is, and drops the rows that wait. Null if that worked; else the server's
    /// answer.
    pub(super) fn move_back(&self, cursor: &mut Cursor) -> *mut Rows {
        let ahead = cursor.waiting();
        if ahead == 0 {
            return core::ptr::null_mut();
        }
        let mut text = Text::<128>::new();
        // Behind the last row is one more.
        text.add(b"MOVE BACKWARD ").add_number(u64::from(ahead) + u64::from(cursor.is_at_end));
        text.add(b" FROM ").add_name(&cursor.name);
        let result = self.ask_text(&text);
        if !self.server.has(result, COMMAND) {
            return result;
        }
        self.server.clear(result);
        self.drop_rows(cursor);
        cursor.is_at_end = false;
        core::ptr::null_mut()
    }

    /// The number at the end of a result's tag.
    fn tag_number(&self, result: *mut Rows) -> u64 {
        // SAFETY: a result of libpq; its tag is a C string.
        let tag = unsafe { CStr::from_ptr((self.server.libpq.tag)(result)) }.to_bytes();
        let digits = tag.rsplit(|&byte| byte == b' ').next().unwrap_or_default();
        core::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok()).unwrap_or(0)
    }

    /// Writes a tag as the server would.
    fn set_tag(&self, result: *mut Rows, verb: &[u8], number: u64) {
        let mut tag = Text::<32>::new();
        let Some(bytes) = tag.add(verb).add_number(number).bytes() else { return };
        // SAFETY: the tag has 64 bytes in the result (CMDSTATUS_LEN), in each version of libpq.
        unsafe {
            let place = (self.server.libpq.tag)(result);
            core::ptr::copy_nonoverlapping(bytes.as_ptr().cast(), place, bytes.len());
            *place.add(bytes.len()) = 0;
        }
    }
}
