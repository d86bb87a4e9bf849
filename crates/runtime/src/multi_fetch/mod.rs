//! Multi-fetch: a program that reads a cursor of PostgreSQL row by row through libpq reads it in larger steps (MULTIFETCH).
//!
//! ```text
//! program ── its word for PQexec ──> exec ── session ──> PQexec of libpq
//!                                      │
//!                                      └─ connection: cursors, rows that wait
//! ```
//!
//! The words of the program and of its libraries that hold the addresses of libpq's functions get those of the functions here
//! ([`bind`]), also in libraries that come later.
//!
//! Under SWITCHES(ON) without MULTIFETCH, the statements of PQexec and PQexecParams are only looked at: fetches of one row are counted,
//! with their time.
//!
//! Invariant: without either option nothing here runs, and no word is changed.
//! Not here: which statements, plans and numbers of rows (`underbar_multifetch`).

mod bind;
mod connection;
mod judge;
mod libpq;
mod server;
mod session;
mod text;

use core::ffi::{c_char, c_int};
use core::mem::transmute;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

use underbar_ledger::Key;
use underbar_multifetch::{Count, StandBack, Statement, statement};
use underbar_sys::clock::monotonic;

use crate::ledger;
use crate::orders::Orders;
use connection::{Cursor, Entry, forget, known};
use libpq::{Connection, Libpq, Rows};
use server::{Exec, Server};
use session::{Session, leave};

/// Rows of a fetch, at most; 0: off. Written once by [`configure`], before the program begins; relaxed. The same for the next one.
static FACTOR: AtomicU32 = AtomicU32::new(0);
/// Bytes of a fetch, at most.
static BYTES: AtomicU32 = AtomicU32::new(0);

/// Whether fetches of one row are only counted. Written with the factor; relaxed.
static COUNTS: AtomicBool = AtomicBool::new(false);

/// Obeys MULTIFETCH, and SWITCHES where that one is off.
pub(crate) fn configure(orders: &Orders<'_>) {
    let option = orders.settings.multi_fetch();
    if option.rows > 1 {
        FACTOR.store(u32::try_from(option.rows).unwrap_or(u32::MAX).min(i32::MAX as u32), Ordering::Relaxed);
        BYTES.store(u32::try_from(option.bytes).unwrap_or(u32::MAX), Ordering::Relaxed);
    }
    COUNTS.store(option.rows <= 1 && orders.settings.counts_switches(), Ordering::Relaxed);
}

/// Whether fetches of one row are only counted.
fn only_counts() -> bool {
    COUNTS.load(Ordering::Relaxed)
}

/// Binds what is loaded, and what will be.
pub(crate) fn at_start() {
    if FACTOR.load(Ordering::Relaxed) > 1 {
        bind::bind();
    } else {
        libpq_is_used();
    }
}

/// Binds the words that call libpq, if fetches are counted: it is loaded now, or enters the kernel from a new place. A library that comes
/// with it later was loaded before libpq connects, so no look at each `dlopen` is needed, as [`bind::bind`] makes. Waits for no lock.
pub(crate) fn libpq_is_used() {
    if only_counts() {
        bind::bind_once();
    }
}

type ExecParams = unsafe extern "C" fn(
    *mut Connection,
    *const c_char,
    c_int,
    *const u32,
    *const *const c_char,
    *const c_int,
    *const c_int,
    c_int,
) -> *mut Rows;
type SendParams = unsafe extern "C" fn(
    *mut Connection,
    *const c_char,
    c_int,
    *const u32,
    *const *const c_char,
    *const c_int,
    *const c_int,
    c_int,
) -> c_int;
type Prepare =
    unsafe extern "C" fn(*mut Connection, *const c_char, *const c_char, c_int, *const u32) -> *mut Rows;
type SendPrepare =
    unsafe extern "C" fn(*mut Connection, *const c_char, *const c_char, c_int, *const u32) -> c_int;
type Send = unsafe extern "C" fn(*mut Connection, *const c_char) -> c_int;
type Simple = unsafe extern "C" fn(*mut Connection) -> c_int;
type GetResult = unsafe extern "C" fn(*mut Connection) -> *mut Rows;
type Finish = unsafe extern "C" fn(*mut Connection);

/// libpq's own function of a name. The words of the program hold a function here only after this was found.
static ORIGINALS: [AtomicUsize; bind::NAMES] = [const { AtomicUsize::new(0) }; bind::NAMES];

fn original(at: usize) -> usize {
    // Written with Release before the word by which the program came here was.
    ORIGINALS.get(at).map_or(0, |address| address.load(Ordering::Acquire))
}

/// A session on a connection, if libpq has all that it needs.
fn session(connection: *mut Connection, entry: &mut Entry) -> Option<Session> {
    let exec = original(bind::EXEC);
    let libpq = match entry.libpq {
        Some(libpq) => libpq,
        None => *entry.libpq.insert(Libpq::of(exec)?),
    };
    // SAFETY: the address of PQexec.
    let exec = unsafe { transmute::<usize, Exec>(exec) };
    let (factor, bytes) = (FACTOR.load(Ordering::Relaxed), BYTES.load(Ordering::Relaxed));
    Some(Session { server: Server { libpq, exec, connection }, factor, bytes })
}

/// Runs `then` with the connection's session and entry; None if there is none.
///
/// # Safety
/// This thread may use the connection.
unsafe fn with<R>(
    connection: *mut Connection,
    entry: Option<&mut Entry>,
    then: impl FnOnce(&Session, &mut Entry) -> R,
) -> Option<R> {
    let entry = entry?;
    let session = session(connection, entry)?;
    Some(then(&session, entry))
}

/// `PQexec`.
unsafe extern "C" fn exec(connection: *mut Connection, text: *const c_char) -> *mut Rows {
    // SAFETY: the address of libpq's function; the arguments are the program's.
    let real = || unsafe { transmute::<usize, Exec>(original(bind::EXEC))(connection, text) };
    // SAFETY: the program's arguments are those of PQexec.
    unsafe { run(connection, text, &real) }
}

/// `PQexecParams`: without parameters, and with a result of texts, the same.
unsafe extern "C" fn exec_params(
    connection: *mut Connection,
    text: *const c_char,
    count: c_int,
    types: *const u32,
    values: *const *const c_char,
    lengths: *const c_int,
    formats: *const c_int,
    result: c_int,
) -> *mut Rows {
    let real = || {
        // SAFETY: as in `exec`.
        unsafe {
            let real = transmute::<usize, ExecParams>(original(bind::EXEC_PARAMS));
            real(connection, text, count, types, values, lengths, formats, result)
        }
    };
    if result != 0 {
        // SAFETY: as in `exec`.
        unsafe { leave_alone(connection, text) };
        return real();
    }
    // SAFETY: as in `exec`.
    unsafe { run(connection, text, &real) }
}

/// A statement that the program waits for.
///
/// # Safety
/// The arguments are those of `PQexec`.
unsafe fn run(connection: *mut Connection, text: *const c_char, real: &dyn Fn() -> *mut Rows) -> *mut Rows {
    if connection.is_null() || text.is_null() {
        return real();
    }
    if only_counts() {
        // SAFETY: the caller's promise.
        return counted(unsafe { core::ffi::CStr::from_ptr(text) }.to_bytes(), real);
    }
    // SAFETY: the caller's promise.
    let entry = unsafe {
        known(connection).or_else(|| {
            let is_declared =
                matches!(statement(core::ffi::CStr::from_ptr(text).to_bytes()), Statement::Declare(_));
            if is_declared { connection::entry(connection) } else { None }
        })
    };
    // SAFETY: the caller's promise.
    unsafe { with(connection, entry, |session, entry| session.run(entry, text, real)).unwrap_or_else(real) }
}

/// The program's own statement; if it is for one row of a cursor, it is counted with its time.
fn counted(text: &[u8], real: &dyn Fn() -> *mut Rows) -> *mut Rows {
    if !matches!(statement(text), Statement::Fetch(_, Count::Rows(1))) {
        return real();
    }
    let begin = monotonic();
    let result = real();
    ledger::add(Key::FetchAsked, 1);
    ledger::add(Key::FetchWaited, monotonic().saturating_sub(begin));
    result
}

/// The program uses a connection in a way that is not followed: no cursor of it is read ahead any more, and the server's cursors go back
/// to the places of the program's if they can.
///
/// # Safety
/// This thread may use the connection; the text is null or a C string.
unsafe fn leave_alone(connection: *mut Connection, text: *const c_char) {
    // SAFETY: the caller's promise.
    let entry = unsafe { known(connection) };
    if entry.as_ref().is_none_or(|entry| entry.is_left_alone) {
        return;
    }
    if !text.is_null() {
        // SAFETY: the caller's promise.
        let text = unsafe { core::ffi::CStr::from_ptr(text) }.to_bytes();
        // What does not concern cursors may come in any way.
        if statement(text) == Statement::Harmless {
            return;
        }
    }
    // SAFETY: the caller's promise.
    unsafe {
        with(connection, entry, |session, entry| {
            entry.is_left_alone = true;
            for cursor in entry.cursors.iter_mut().flatten() {
                if cursor.is_scrollable {
                    session.server.clear(session.move_back(cursor));
                }
                if cursor.waiting() == 0 {
                    leave(cursor, StandBack::Connection);
                }
            }
        })
    };
}

/// `PQprepare`: a prepared FETCH would not be recognised when it is executed.
unsafe extern "C" fn prepare(
    connection: *mut Connection,
    name: *const c_char,
    text: *const c_char,
    count: c_int,
    types: *const u32,
) -> *mut Rows {
    // SAFETY: as in `exec`.
    unsafe {
        leave_alone(connection, text);
        transmute::<usize, Prepare>(original(bind::PREPARE))(connection, name, text, count, types)
    }
}

/// `PQsendPrepare`.
unsafe extern "C" fn send_prepare(
    connection: *mut Connection,
    name: *const c_char,
    text: *const c_char,
    count: c_int,
    types: *const u32,
) -> c_int {
    // SAFETY: as in `exec`.
    unsafe {
        leave_alone(connection, text);
        transmute::<usize, SendPrepare>(original(bind::SEND_PREPARE))(connection, name, text, count, types)
    }
}

/// Whether a statement that is sent without waiting for it needs rows that wait here, of a cursor that cannot be moved back.
///
/// The statement is then done at once, its result is kept for `PQgetResult`, and the server gets one that gives nothing in its place.
///
/// # Safety
/// This thread may use the connection; the text is null or a C string.
unsafe fn is_done_here(connection: *mut Connection, text: *const c_char) -> bool {
    if connection.is_null() || text.is_null() {
        return false;
    }
    // SAFETY: the caller's promise.
    let bytes = unsafe { core::ffi::CStr::from_ptr(text) }.to_bytes();
    let (Statement::Fetch(name, _)
    | Statement::Move(name, _)
    | Statement::FetchTo(name, _)
    | Statement::MoveTo(name, _)) = statement(bytes)
    else {
        return false;
    };
    // SAFETY: the caller's promise.
    let result = unsafe {
        with(connection, known(connection), |session, entry| {
            let needs =
                entry.cursor(&name).is_some_and(|cursor| cursor.waiting() > 0 && !cursor.is_scrollable);
            if needs {
                // While rows wait no form of it is the program's own.
                entry.result = session.run(entry, text, &|| session.server.ask(text));
            }
            needs && !entry.result.is_null()
        })
    };
    result == Some(true)
}

/// The program sends a statement and does not wait for it: fetches of one row are counted, and each of their cursors as left alone.
///
/// # Safety
/// This thread may use the connection; the text is null or a C string.
unsafe fn count_sent(connection: *mut Connection, text: *const c_char) {
    if connection.is_null() || text.is_null() {
        return;
    }
    // SAFETY: the caller's promise.
    match statement(unsafe { core::ffi::CStr::from_ptr(text) }.to_bytes()) {
        Statement::Fetch(name, Count::Rows(1)) => {
            ledger::add(Key::FetchAsked, 1);
            ledger::add(Key::FetchAlone, 1);
            // SAFETY: the caller's promise.
            let Some(entry) = (unsafe { connection::counted(connection) }) else { return };
            if entry.cursor(&name).is_none()
                && let Some(place) = entry.place()
            {
                leave(place.insert(Cursor::new(name)), StandBack::Connection);
            }
        }
        Statement::Declare(name) => {
            // SAFETY: the caller's promise.
            if let Some(entry) = unsafe { connection::counted(connection) } {
                entry.is_sent_anew(&name);
            }
        }
        _ => {}
    }
}

/// What is sent to the server for a text that the program sends without waiting for it.
///
/// # Safety
/// As [`count_sent`].
unsafe fn to_send(connection: *mut Connection, text: *const c_char, is_text: bool) -> *const c_char {
    // SAFETY: the caller's promise.
    unsafe {
        leave_alone(connection, text);
        if is_text && is_done_here(connection, text) {
            return c"SELECT".as_ptr();
        }
        count_sent(connection, text);
    }
    text
}

/// `PQsendQuery`.
unsafe extern "C" fn send(connection: *mut Connection, text: *const c_char) -> c_int {
    // SAFETY: as in `exec`.
    unsafe {
        let text = to_send(connection, text, true);
        transmute::<usize, Send>(original(bind::SEND))(connection, text)
    }
}

/// `PQgetResult`.
unsafe extern "C" fn get_result(connection: *mut Connection) -> *mut Rows {
    // SAFETY: as in `exec`.
    unsafe {
        let result = transmute::<usize, GetResult>(original(bind::GET_RESULT))(connection);
        if result.is_null() {
            return result;
        }
        let given =
            with(connection, known(connection).filter(|entry| !entry.result.is_null()), |session, entry| {
                session.server.clear(result);
                core::mem::replace(&mut entry.result, core::ptr::null_mut())
            });
        given.unwrap_or(result)
    }
}

/// `PQsendQueryParams`.
unsafe extern "C" fn send_params(
    connection: *mut Connection,
    text: *const c_char,
    count: c_int,
    types: *const u32,
    values: *const *const c_char,
    lengths: *const c_int,
    formats: *const c_int,
    result: c_int,
) -> c_int {
    // SAFETY: as in `exec`.
    unsafe {
        let text = to_send(connection, text, result == 0);
        let real = transmute::<usize, SendParams>(original(bind::SEND_PARAMS));
        real(connection, text, count, types, values, lengths, formats, result)
    }
}

/// `PQenterPipelineMode`.
unsafe extern "C" fn enter_pipeline(connection: *mut Connection) -> c_int {
    // SAFETY: as in `exec`.
    unsafe {
        leave_alone(connection, core::ptr::null());
        transmute::<usize, Simple>(original(bind::ENTER_PIPELINE))(connection)
    }
}

/// The connection begins anew, or ends.
///
/// # Safety
/// This thread may use the connection.
unsafe fn end(connection: *mut Connection) {
    // SAFETY: the caller's promise.
    unsafe {
        with(connection, known(connection), |session, entry| {
            session.forget_all(entry);
            session.server.clear(core::mem::replace(&mut entry.result, core::ptr::null_mut()));
        })
    };
    forget(connection);
}

/// `PQfinish`.
unsafe extern "C" fn finish(connection: *mut Connection) {
    // SAFETY: as in `exec`.
    unsafe {
        end(connection);
        transmute::<usize, Finish>(original(bind::FINISH))(connection);
    }
}

/// `PQreset`.
unsafe extern "C" fn reset(connection: *mut Connection) {
    // SAFETY: as in `exec`.
    unsafe {
        end(connection);
        transmute::<usize, Finish>(original(bind::RESET))(connection);
    }
}

/// `PQresetStart`.
unsafe extern "C" fn reset_start(connection: *mut Connection) -> c_int {
    // SAFETY: as in `exec`.
    unsafe {
        end(connection);
        transmute::<usize, Simple>(original(bind::RESET_START))(connection)
    }
}
