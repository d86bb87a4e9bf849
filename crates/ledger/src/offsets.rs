//! The ledger file as a row of areas: where each begins, and how large it is.
//!
//! ```text
//! header   control   options   slots   classes   traces   heap steps   switches   caches
//! 0        4096      8192      24576   from here on in each area a piece for each slot
//! ```
//!
//! Invariant: every area begins where the one before it ends, and at a page.
//! Not here: what is in the areas (`layout`, and a module for each).

/// Number of slots of a ledger. If more are needed, ended processes are folded together by program.
pub const SLOTS: usize = 256;
/// Offset of the control page ([`crate::control`]).
pub const CONTROL_OFFSET: usize = 4096;
/// Offset of the option text.
pub const OPTIONS_OFFSET: usize = 8192;
/// Room for option text, in bytes. A longer text is cut, and `options_bytes` holds its full length.
pub const OPTIONS_ROOM: usize = 16384;
/// Offset of the slots.
pub const SLOTS_OFFSET: usize = OPTIONS_OFFSET + OPTIONS_ROOM;
/// Bytes from one slot to the next: a page of the slot, and one for its heaps ([`crate::heaps`]) and two for its heap pools
/// ([`crate::pools`]), which most processes do not use.
pub const SLOT_BYTES: usize = 16384;
/// Offset of the classes of ECBs of the first slot's process.
pub const CLASSES_OFFSET: usize = SLOTS_OFFSET + SLOTS * SLOT_BYTES;
/// Bytes of the classes of a process, and of its ECBs by name-value pairs ([`crate::pairs`]).
pub const CLASSES_BYTES: usize = 24 * 4096;
/// Offset of the trace tables of the first slot's process.
pub const TRACES_OFFSET: usize = CLASSES_OFFSET + SLOTS * CLASSES_BYTES;
/// Bytes of the trace tables of a process.
pub const TRACES_BYTES: usize = 16 * 4096;
/// Offset of the requests of heaps by steps of the first slot's process.
pub const HEAP_STEPS_OFFSET: usize = TRACES_OFFSET + SLOTS * TRACES_BYTES;
/// Bytes of the requests of heaps of a process.
pub const HEAP_STEPS_BYTES: usize = 16 * 4096;
/// Offset of the switches of the first slot's process.
pub const SWITCHES_OFFSET: usize = HEAP_STEPS_OFFSET + SLOTS * HEAP_STEPS_BYTES;
/// Bytes of the switches of a process.
pub const SWITCHES_BYTES: usize = 99 * 4096;
/// Offset of the caches of files of the first slot's process.
pub const CACHES_OFFSET: usize = SWITCHES_OFFSET + SLOTS * SWITCHES_BYTES;
/// Bytes of the caches of files of a process.
pub const CACHES_BYTES: usize = 4 * 4096;
/// Bytes of a whole ledger file: the slots, behind them the classes of ECBs of each ([`crate::classes`]), the trace tables of each
/// ([`crate::traces`]), the requests of heaps of each ([`crate::heap_steps`]), its switches ([`crate::switches`]), and its caches of
/// files ([`crate::caches`]). Space is allocated slot by slot, so most of it is never used.
pub const FILE_BYTES: usize = CACHES_OFFSET + SLOTS * CACHES_BYTES;

const _: () = assert!(SLOTS_OFFSET.is_multiple_of(4096));
