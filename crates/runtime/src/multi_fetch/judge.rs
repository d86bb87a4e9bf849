//! Whether a cursor is read ahead: what the server says of it.
//!
//! Two questions, once for a cursor of which the program fetches a second single row: its line of `pg_cursors` with settings of the
//! transaction, and its plan. Their statements begin and end with the program's transaction as it is; neither can fail where the
//! cursor's DECLARE has succeeded and no other statement came between.
//!
//! Invariant: a cursor is served only if all that both answers say is in a list of what is harmless.
//! Not here: the list for plans (`underbar_multifetch::plan`).

use core::ffi::c_int;

use underbar_ledger::Key;
use underbar_multifetch::{Name, Plan, StandBack, declared_query};

use super::connection::{Cursor, TIME};
use super::libpq::{Rows, TUPLES};
use super::session::Session;
use super::text::{Text, with_joined};

/// Columns of the first question, in their order.
const READ_ONLY: c_int = 0;
const ISOLATION: c_int = 1;
const TIMEOUT: c_int = 2;
const HOLDABLE: c_int = 3;
const BINARY: c_int = 4;
const SCROLLABLE: c_int = 5;
const MADE: c_int = 6;
const STATEMENT: c_int = 7;
const VOLATILE: c_int = 8;

/// Names are those of the server's catalogue, whatever `search_path` finds first.
const QUESTION: &[u8] = b"SELECT pg_catalog.current_setting('transaction_read_only'), \
pg_catalog.current_setting('transaction_isolation'), pg_catalog.current_setting('statement_timeout'), \
c.is_holdable, c.is_binary, c.is_scrollable, c.creation_time, c.statement, \
EXISTS (SELECT 1 FROM pg_catalog.pg_proc p WHERE p.oid OPERATOR(pg_catalog.>=) 16384 \
AND p.provolatile OPERATOR(pg_catalog.=) 'v' AND (\
EXISTS (SELECT 1 FROM pg_catalog.pg_operator o WHERE o.oprcode OPERATOR(pg_catalog.=) p.oid) OR \
EXISTS (SELECT 1 FROM pg_catalog.pg_cast k WHERE k.castfunc OPERATOR(pg_catalog.=) p.oid) OR \
EXISTS (SELECT 1 FROM pg_catalog.pg_type t WHERE t.typoutput OPERATOR(pg_catalog.=) p.oid))) \
FROM pg_catalog.pg_cursors c WHERE c.name OPERATOR(pg_catalog.=) '";

/// The counter of a reason.
pub(super) const fn counter_of(reason: StandBack) -> Key {
    match reason {
        StandBack::NotReadOnly => Key::FetchNotReadOnly,
        StandBack::Declaration => Key::FetchDeclaration,
        StandBack::Limit => Key::FetchLimit,
        StandBack::VolatileType => Key::FetchVolatileType,
        StandBack::Node => Key::FetchNode,
        StandBack::Temporary => Key::FetchTemporary,
        StandBack::Function => Key::FetchFunction,
        StandBack::Operator => Key::FetchOperator,
        StandBack::Doubtful => Key::FetchDoubtful,
        StandBack::Connection => Key::FetchConnection,
    }
}

/// A field of a result, as bytes.
fn field<'a>(session: &Session, rows: &'a Rows, row: c_int, column: c_int) -> &'a [u8] {
    // SAFETY: a field of a result that lives as long as the reference; libpq ends it with a zero byte after so many bytes.
    unsafe {
        let length = usize::try_from((session.libpq.length)(rows, row, column)).unwrap_or(0);
        core::slice::from_raw_parts((session.libpq.value)(rows, row, column).cast(), length)
    }
}

/// Asks for the cursor's line, and calls `then` with it if there is one.
fn with_line<R>(session: &Session, name: &Name, then: impl FnOnce(&Rows) -> R) -> Option<R> {
    // A quote or a backslash would need an escape.
    if name.bytes().iter().any(|byte| matches!(byte, b'\'' | b'\\')) {
        return None;
    }
    let mut text = Text::<1280>::new();
    text.add(QUESTION).add(name.bytes()).add(b"'");
    let rows = session.ask(text.pointer());
    // SAFETY: a result of libpq that is cleared below.
    let found = unsafe { rows.as_ref() }
        // SAFETY: as above.
        .filter(|_| session.has(rows, TUPLES) && unsafe { (session.libpq.rows)(rows) } == 1)
        .map(then);
    session.clear(rows);
    found
}

/// Whether a cursor that has been declared on this connection is served from now on.
pub(super) fn judge(session: &Session, cursor: &mut Cursor) -> Result<(), StandBack> {
    let name = cursor.name;
    with_line(session, &name, |line| {
        let field = |column| field(session, line, 0, column);
        if field(READ_ONLY) != b"on" {
            return Err(StandBack::NotReadOnly);
        }
        if field(ISOLATION) == b"serializable" || field(TIMEOUT) != b"0" {
            return Err(StandBack::Limit);
        }
        let statement = field(STATEMENT);
        if field(HOLDABLE) != b"f" || field(BINARY) != b"f" || declared_query(statement, &name).is_none() {
            return Err(StandBack::Declaration);
        }
        if field(VOLATILE) != b"f" {
            return Err(StandBack::VolatileType);
        }
        cursor.made = time(field(MADE)).ok_or(StandBack::Doubtful)?;
        cursor.is_scrollable = field(SCROLLABLE) == b"t";
        plan(session, statement)
    })
    .unwrap_or(Err(StandBack::Doubtful))
}

fn plan(session: &Session, statement: &[u8]) -> Result<(), StandBack> {
    let rows = with_joined(b"EXPLAIN (VERBOSE, COSTS OFF) ", statement, |text| session.ask(text));
    let rows = rows.unwrap_or(core::ptr::null_mut());
    // SAFETY: a result of libpq that is cleared below.
    let judged = match unsafe { rows.as_ref() } {
        Some(lines) if session.has(rows, TUPLES) => {
            let mut plan = Plan::new();
            // SAFETY: as above.
            let count = unsafe { (session.libpq.rows)(lines) };
            let judged = (0..count).try_for_each(|line| plan.line(field(session, lines, line, 0)));
            if plan.has_nodes() { judged } else { Err(StandBack::Doubtful) }
        }
        _ => Err(StandBack::Doubtful),
    };
    session.clear(rows);
    judged
}

/// Whether the server's cursor of that name is still the one that was judged.
pub(super) fn confirm(session: &Session, cursor: &Cursor) -> bool {
    let is_same =
        with_line(session, &cursor.name, |line| time(field(session, line, 0, MADE)) == Some(cursor.made));
    is_same == Some(true)
}

/// The time of a cursor, for comparison; None for an odd one.
fn time(text: &[u8]) -> Option<[u8; TIME]> {
    let mut made = [0; TIME];
    made.get_mut(..text.len())?.copy_from_slice(text);
    (!text.is_empty()).then_some(made)
}
