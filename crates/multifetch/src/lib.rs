//! Multi-fetch: which cursors of PostgreSQL may be read ahead, and how far.
//!
//! A program that reads a cursor row by row waits for the server at each row. Its `FETCH 1` becomes `FETCH n`, and the rows that it has
//! not asked for yet wait in the process. That is sound only where nobody can tell. So each step here is an allow-list, and what is not
//! in it stays as the program wrote it:
//!
//! ```text
//! text of PQexec ── statement ──> a fetch of one row from cursor c, for the second time?
//!                                      │
//!                       pg_cursors ────┤  without hold, not binary, in a transaction that is READ ONLY,
//!                                      │  its text is one DECLARE
//!                       EXPLAIN ───────┤  plan: nodes, lines and operators that read, compare and sort, and do nothing else
//!                                      v
//!                       growth: 2, 4, 8 ... n rows, as many as fit into the bytes
//! ```
//!
//! | what goes wrong with rows that are read ahead | why it cannot happen |
//! |---|---|
//! | an error in a later row comes early | no function, no arithmetic, no cast that can fail is in the plan |
//! | `WHERE CURRENT OF` means another row | READ ONLY refuses it but for temporary tables, and a plan with one stands back |
//! | a volatile function runs ahead, or sees changes late | no function is in the plan |
//! | `FOR UPDATE` locks rows early | its plan has a node that is not in the list |
//! | the cursor cannot be moved back | what the program may still do with it forward is served from the rows that wait |
//!
//! Invariant: any text and any plan give an answer, in time proportional to their length; no allocation, no panic.
//! Not here: the connection, its results and the rows that wait (`runtime`).
#![no_std]
#![forbid(unsafe_code)]

#[cfg(test)]
extern crate std;

pub mod growth;
pub mod plan;
pub mod statement;
mod words;

pub use growth::Growth;
pub use plan::{Plan, StandBack};
pub use statement::{Count, Name, Statement, To, declared_query, statement};
