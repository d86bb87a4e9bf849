//! The rows of a query of PostgreSQL, one by one, fetched in larger steps: 2, 4, 8 and so on up to a factor.
//!
//! ```text
//! Rows::query ── BEGIN READ ONLY, DECLARE ... NO SCROLL CURSOR FOR query
//! next        ── FETCH FORWARD n, growing ──> rows that wait ──> one row
//! drop        ── the connection ends, and with it the transaction
//! ```
//!
//! A loop over a million rows sends about 10,000 messages at factor 100 and holds 256 KiB of rows, where one statement without a cursor
//! would hold them all, and a cursor that is read row by row would send a million messages.
//!
//! ```no_run
//! let mut rows = underbar_rows::Rows::query("dbname=payments", "select id, amount from payments", 100)?;
//! while let Some(row) = rows.next()? {
//!     println!("{:?}", row.get(0));
//! }
//! # Ok::<(), underbar_rows::Error>(())
//! ```
//!
//! Values are texts, as the server writes them. An error of a later row of a step comes before the rows of that step.
//!
//! Invariant: each row comes once, in the order of the query.
//! Not here: programs that fetch by themselves (`MULTIFETCH`), and record files (`underbar_records`).

mod libpq;

use std::ffi::{CStr, CString, c_char, c_int};
use std::ptr::{NonNull, null};

use libpq::{CONNECTED, Connection, DONE, Libpq, TUPLES};
use underbar_multifetch::Growth;

/// The most bytes of one fetch, if its rows are no larger than those before.
const BYTES: u32 = 256 << 10;

/// Why there are no rows.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The machine has no libpq.
    #[error("libpq cannot be loaded: {0}")]
    NoLibrary(String),
    /// A text has a NUL byte in it.
    #[error("the text has a NUL byte in it")]
    Nul,
    /// The server cannot be reached, or refuses the connection.
    #[error("no connection: {0}")]
    Connect(String),
    /// The server refuses the query, or fails in one of its rows.
    #[error("the query failed: {0}")]
    Query(String),
}

/// The rows of a query.
pub struct Rows {
    libpq: Libpq,
    connection: NonNull<Connection>,
    /// The rows that wait, and the next one of them.
    step: Option<Step>,
    next: c_int,
    growth: Growth,
    factor: u32,
    fetches: u64,
    /// No fetch brings more rows.
    is_end: bool,
}

/// The rows of one fetch.
struct Step {
    libpq: Libpq,
    result: NonNull<libpq::Result>,
    rows: c_int,
    columns: c_int,
}

/// A row, until the next one is asked for.
#[derive(Clone, Copy)]
pub struct Row<'a> {
    step: &'a Step,
    at: c_int,
}

impl Rows {
    /// Connects, as libpq's connection texts say (`host=/run/postgresql dbname=payments`), and begins to read a query in a transaction
    /// that is READ ONLY. The query is one statement. A fetch takes `factor` rows at most; 0 and 1: one.
    ///
    /// # Errors
    /// No libpq, no server, or a query that the server refuses.
    pub fn query(connection: &str, query: &str, factor: u32) -> Result<Rows, Error> {
        let libpq = Libpq::load().map_err(Error::NoLibrary)?;
        let text = CString::new(connection).map_err(|_| Error::Nul)?;
        // SAFETY: a C string.
        let made = unsafe { (libpq.connect)(text.as_ptr()) };
        let connection = NonNull::new(made).ok_or_else(|| Error::Connect("no memory".to_owned()))?;
        let (growth, step) = (Growth::new(), None);
        let rows = Rows { libpq, connection, step, next: 0, growth, factor, fetches: 0, is_end: false };
        // SAFETY: a connection that is open until `rows` is dropped.
        if unsafe { (libpq.status)(connection.as_ptr()) } != CONNECTED {
            return Err(Error::Connect(rows.message()));
        }
        for statement in ["BEGIN READ ONLY", &format!("DECLARE underbar_rows NO SCROLL CURSOR FOR {query}")] {
            rows.execute(statement, DONE)?;
        }
        Ok(rows)
    }

    /// The next row; None at the end.
    ///
    /// # Errors
    /// The server fails in a row, or is gone. Then there are no more rows.
    #[expect(clippy::should_implement_trait, reason = "the row borrows the rows that wait")]
    pub fn next(&mut self) -> Result<Option<Row<'_>>, Error> {
        if self.step.as_ref().is_none_or(|step| self.next == step.rows) {
            if self.is_end {
                return Ok(None);
            }
            // Unless it succeeds, there are no more.
            (self.is_end, self.next) = (true, 0);
            let (step, asked) = self.fetch()?;
            // Fewer rows than asked for are the last ones.
            self.is_end = u32::try_from(step.rows).is_ok_and(|rows| rows < asked);
            let is_empty = step.rows == 0;
            self.step = Some(step);
            if is_empty {
                return Ok(None);
            }
        }
        self.next += 1;
        Ok(self.step.as_ref().map(|step| Row { step, at: self.next - 1 }))
    }

    /// Fetches that were sent.
    #[must_use]
    pub fn fetches(&self) -> u64 {
        self.fetches
    }

    /// Fetches, and says how many rows were asked for.
    fn fetch(&mut self) -> Result<(Step, u32), Error> {
        if let Some(step) = self.step.take() {
            let seen = (0..step.rows).map(|at| (0..step.columns).map(|column| step.length(at, column)).sum());
            seen.for_each(|bytes| self.growth.saw(bytes));
        }
        let count = if self.factor > 1 { self.growth.next(self.factor, BYTES) } else { 1 };
        // The number of rows is a signed one for the server.
        let count = count.min(i32::MAX as u32);
        self.fetches += 1;
        Ok((self.execute(&format!("FETCH FORWARD {count} FROM underbar_rows"), TUPLES)?, count))
    }

    /// Executes one statement, which must end like this.
    fn execute(&self, statement: &str, status: c_int) -> Result<Step, Error> {
        let text = CString::new(statement).map_err(|_| Error::Nul)?;
        let libpq = self.libpq;
        // Not PQexec, which takes several statements: a query could end the transaction.
        // SAFETY: an open connection, a C string, and no parameters.
        let result = unsafe {
            let connection = self.connection.as_ptr();
            (libpq.execute)(connection, text.as_ptr(), 0, null(), null(), null(), null(), 0)
        };
        let result = NonNull::new(result).ok_or_else(|| Error::Query(self.message()))?;
        // SAFETY: a result of libpq, which is cleared once, by the drop of the step.
        let (rows, columns, has) = unsafe {
            let result = result.as_ptr();
            ((libpq.rows)(result), (libpq.columns)(result), (libpq.result_status)(result))
        };
        let step = Step { libpq, result, rows, columns };
        if has == status { Ok(step) } else { Err(Error::Query(self.message())) }
    }

    /// What libpq says of the last failure.
    fn message(&self) -> String {
        // SAFETY: an open connection; the text is its own and a C string.
        let text = unsafe { CStr::from_ptr((self.libpq.message)(self.connection.as_ptr())) };
        text.to_string_lossy().trim_end().to_owned()
    }
}

impl Drop for Rows {
    fn drop(&mut self) {
        self.step = None;
        // SAFETY: the connection was made by libpq, and this is its only end.
        unsafe { (self.libpq.finish)(self.connection.as_ptr()) };
    }
}

impl Step {
    /// Bytes of a value. The row and the column must be there.
    fn length(&self, row: c_int, column: c_int) -> usize {
        // SAFETY: a result that is not cleared yet; libpq checks the numbers, too.
        let length = unsafe { (self.libpq.length)(self.result.as_ptr(), row, column) };
        usize::try_from(length).unwrap_or(0)
    }
}

impl Drop for Step {
    fn drop(&mut self) {
        // SAFETY: the result was made by libpq, and this is its only end.
        unsafe { (self.libpq.clear)(self.result.as_ptr()) };
    }
}

impl<'a> Row<'a> {
    /// The number of columns.
    #[must_use]
    pub fn columns(self) -> usize {
        usize::try_from(self.step.columns).unwrap_or(0)
    }

    /// The name of a column, from 0. None if there is no such column.
    #[must_use]
    pub fn name(self, column: usize) -> Option<&'a CStr> {
        let column = self.place(column)?;
        // SAFETY: a result that is not cleared while the row is borrowed.
        let name: *const c_char = unsafe { (self.step.libpq.name)(self.step.result.as_ptr(), column) };
        // SAFETY: a C string of the result.
        NonNull::new(name.cast_mut()).map(|name| unsafe { CStr::from_ptr(name.as_ptr()) })
    }

    /// The value of a column, from 0. None if it is NULL, or if there is no such column.
    #[must_use]
    pub fn get(self, column: usize) -> Option<&'a [u8]> {
        let (column, result) = (self.place(column)?, self.step.result.as_ptr());
        // SAFETY: as above.
        if unsafe { (self.step.libpq.is_null)(result, self.at, column) } != 0 {
            return None;
        }
        let length = self.step.length(self.at, column);
        // SAFETY: the bytes of the value, of which libpq says the number; they stay until the result is cleared.
        Some(unsafe { std::slice::from_raw_parts((self.step.libpq.value)(result, self.at, column), length) })
    }

    fn place(self, column: usize) -> Option<c_int> {
        c_int::try_from(column).ok().filter(|&column| column < self.step.columns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_reached_is_said() {
        match Rows::query("host=/nowhere/at/all dbname=x", "select 1", 10) {
            Err(Error::Connect(why)) => assert!(why.contains("/nowhere/at/all"), "{why}"),
            // A machine without PostgreSQL.
            Err(Error::NoLibrary(why)) => assert!(why.contains("libpq"), "{why}"),
            other => panic!("{:?}", other.err()),
        }
        assert!(matches!(Rows::query("a\0b", "select 1", 10), Err(Error::Nul | Error::NoLibrary(_))));
    }
}
