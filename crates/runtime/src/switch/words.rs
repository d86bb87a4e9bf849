//! The words of each thread: its table of sites, and who called a function of streams last.
//!
//! Stubs read and write them in one instruction each (the initial-exec model, as `thread_word`). Until a thread has a table its word is
//! the address of an empty one, put there by an ordinary relocation, so that no stub tests for null. If it can have none, it is the address
//! of the empty one's twin.
//!
//! Invariant: the first word is the address of a mapped table, or of one of the two that nobody writes.
//! Not here: the stubs (`stubs`), and the tables (`sites`).

use core::arch::{asm, global_asm};

use underbar_ledger::switches::{ENTRIES, Entry};

/// A table without entries, which nobody writes, and room for its twin, which is 64 bytes further.
#[repr(C, align(64))]
struct Empty([u8; ENTRIES * size_of::<Entry>() + TWIN]);
static EMPTY: Empty = Empty([0; ENTRIES * size_of::<Entry>() + TWIN]);
const TWIN: usize = 2 * size_of::<Entry>();

global_asm!(
    // The table, the last noted caller, and the stack pointer of that call; for a projection the table that stubs do not find, the CPU
    // time of the last switch, and of the run so far.
    ".pushsection .tdata.underbar_switch,\"awT\",@progbits",
    ".p2align 3",
    ".hidden underbar_switch",
    ".globl underbar_switch",
    ".type underbar_switch,@object",
    ".size underbar_switch,48",
    "underbar_switch:",
    ".quad {empty}",
    ".quad 0",
    ".quad 0",
    ".quad {empty}",
    ".quad 0",
    ".quad 0",
    ".popsection",
    empty = sym EMPTY,
    options(att_syntax)
);

/// The thread's table before it has one.
pub(super) fn empty() -> usize {
    (&raw const EMPTY).addr()
}

/// The table of a thread that can have none: as empty, and known as such.
pub(super) fn none() -> usize {
    empty() + TWIN
}

/// The address of the thread's table, or the address that means none.
pub(super) fn table() -> usize {
    let table: usize;
    // SAFETY: reads the thread's own word.
    unsafe {
        asm!(
            "mov {offset}, qword ptr [rip + underbar_switch@GOTTPOFF]",
            "mov {table}, qword ptr fs:[{offset}]",
            offset = out(reg) _,
            table = lateout(reg) table,
            options(readonly, nostack, preserves_flags)
        );
    }
    table
}

/// Sets the thread's table: the address of one that is mapped, or [`empty`] or [`none`].
pub(super) fn set_table(table: usize) {
    // SAFETY: writes the thread's own word, which stubs read.
    unsafe {
        asm!(
            "mov {offset}, qword ptr [rip + underbar_switch@GOTTPOFF]",
            "mov qword ptr fs:[{offset}], {table}",
            offset = out(reg) _,
            table = in(reg) table,
            options(nostack, preserves_flags)
        );
    }
}

/// The last noted caller, and the stack pointer of its call, at which its return address was.
pub(super) fn noted_caller() -> [usize; 2] {
    let (caller, pointer): (usize, usize);
    // SAFETY: reads the thread's own words.
    unsafe {
        asm!(
            "mov {offset}, qword ptr [rip + underbar_switch@GOTTPOFF]",
            "mov {caller}, qword ptr fs:[{offset} + 8]",
            "mov {pointer}, qword ptr fs:[{offset} + 16]",
            offset = out(reg) _,
            caller = out(reg) caller,
            pointer = lateout(reg) pointer,
            options(readonly, nostack, preserves_flags)
        );
    }
    [caller, pointer]
}

/// The address of the thread's table in a projection, or the address that means none.
pub(super) fn hidden_table() -> usize {
    let table: usize;
    // SAFETY: reads the thread's own word.
    unsafe {
        asm!(
            "mov {offset}, qword ptr [rip + underbar_switch@GOTTPOFF]",
            "mov {table}, qword ptr fs:[{offset} + 24]",
            offset = out(reg) _,
            table = lateout(reg) table,
            options(readonly, nostack, preserves_flags)
        );
    }
    table
}

/// Sets it, as [`set_table`] does.
pub(super) fn set_hidden_table(table: usize) {
    // SAFETY: writes the thread's own word.
    unsafe {
        asm!(
            "mov {offset}, qword ptr [rip + underbar_switch@GOTTPOFF]",
            "mov qword ptr fs:[{offset} + 24], {table}",
            offset = out(reg) _,
            table = in(reg) table,
            options(nostack, preserves_flags)
        );
    }
}

/// The CPU time of the thread at its last switch, and of its run so far, in nanoseconds.
pub(super) fn projected() -> [u64; 2] {
    let (last, run): (u64, u64);
    // SAFETY: reads the thread's own words.
    unsafe {
        asm!(
            "mov {offset}, qword ptr [rip + underbar_switch@GOTTPOFF]",
            "mov {last}, qword ptr fs:[{offset} + 32]",
            "mov {run}, qword ptr fs:[{offset} + 40]",
            offset = out(reg) _,
            last = out(reg) last,
            run = lateout(reg) run,
            options(readonly, nostack, preserves_flags)
        );
    }
    [last, run]
}

/// Sets both.
pub(super) fn set_projected([last, run]: [u64; 2]) {
    // SAFETY: writes the thread's own words.
    unsafe {
        asm!(
            "mov {offset}, qword ptr [rip + underbar_switch@GOTTPOFF]",
            "mov qword ptr fs:[{offset} + 32], {last}",
            "mov qword ptr fs:[{offset} + 40], {run}",
            offset = out(reg) _,
            last = in(reg) last,
            run = in(reg) run,
            options(nostack, preserves_flags)
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_begins_without_a_table() {
        std::thread::spawn(|| assert_eq!((table(), noted_caller()), (empty(), [0; 2]))).join().expect("done");
        set_table(none());
        assert_eq!(table(), none());
        set_table(empty());
    }
}
