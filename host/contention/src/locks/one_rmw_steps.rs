//! An interrupted sequence begins again: one instruction at a time.
//!
//! The thread traps after each instruction, and each trap is a signal. Before the signal, the kernel sends the thread back to
//! the sequence's beginning. So while it traps it never reaches the store, in any number of steps; afterwards it does. If the
//! kernel did not know the sequence, the sequence would end after a few steps.

use super::{FREE, HELD, sequences};
use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};

/// Far more instructions than there are from the first trap to the end of the sequence.
const STEPS: u32 = 20_000;
/// Set in the flags: a trap after each instruction.
const TRAP: i64 = 1 << 8;

thread_local! {
    /// The remaining steps of this thread, and the value of the word at the last one.
    static LEFT: Cell<u32> = const { Cell::new(0) };
    static SEEN: Cell<u32> = const { Cell::new(u32::MAX) };
}
static WORD: AtomicU32 = AtomicU32::new(FREE);

extern "C" fn trapped(_: libc::c_int, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: what the kernel hands to a handler that asked for it; no other code uses it meanwhile.
    let flags =
        unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs[libc::REG_EFL as usize] };
    let left = LEFT.get();
    *flags = if left > 0 { *flags | TRAP } else { *flags & !TRAP };
    SEEN.set(WORD.load(Ordering::Relaxed));
    LEFT.set(left.saturating_sub(1));
}

#[test]
fn a_step_inside_begins_again() {
    let area = sequences::area();
    if area == 0 {
        // No rseq or no membarrier here: no thread uses a sequence.
        return;
    }
    WORD.store(HELD, Ordering::Relaxed);
    LEFT.set(STEPS);
    // SAFETY: a handler that touches the thread's own cells alone; no other test traps. raise begins the steps.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = trapped as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO;
        assert_eq!(libc::sigaction(libc::SIGTRAP, &raw const action, std::ptr::null_mut()), 0);
        libc::raise(libc::SIGTRAP);
    }
    // SAFETY: the area is this process's, and the word is static.
    assert!(unsafe { sequences::store_if_held(&WORD, area) });
    assert_eq!((LEFT.get(), SEEN.get()), (0, HELD), "steps left, and the word at the last step");
    assert_eq!(WORD.load(Ordering::Relaxed), FREE);
}
