//! Signals of the launcher: which are ignored, which are blocked, who sent one.
//!
//! Invariant: a blocked signal is taken only by [`wait_for`], so we have no handlers.
//! Not here: what to do about a signal (`host/launch`).

use crate::syscall::{Errno, Result, number, syscall6};
use core::time::Duration;

/// Numbers of signals on x86-64.
#[allow(missing_docs, reason = "each is the signal's own name")]
pub mod name {
    pub const HUP: i32 = 1;
    pub const INT: i32 = 2;
    pub const QUIT: i32 = 3;
    pub const KILL: i32 = 9;
    pub const USR1: i32 = 10;
    pub const USR2: i32 = 12;
    pub const PIPE: i32 = 13;
    pub const ALRM: i32 = 14;
    pub const TERM: i32 = 15;
    pub const CHLD: i32 = 17;
    pub const CONT: i32 = 18;
    pub const STOP: i32 = 19;
    pub const TSTP: i32 = 20;
    pub const TTIN: i32 = 21;
    pub const TTOU: i32 = 22;
    pub const XCPU: i32 = 24;
    pub const XFSZ: i32 = 25;
    pub const VTALRM: i32 = 26;
    pub const PROF: i32 = 27;
    pub const WINCH: i32 = 28;
}

/// A set of signals: bit `n - 1` is signal `n`, 1 to 64.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SignalSet(pub u64);

impl SignalSet {
    /// No signal.
    pub const NONE: SignalSet = SignalSet(0);
    /// Every signal (the kernel ignores KILL and STOP).
    pub const ALL: SignalSet = SignalSet(u64::MAX);

    /// The set with `signal` in it.
    #[must_use]
    pub const fn with(self, signal: i32) -> SignalSet {
        SignalSet(self.0 | 1 << (signal - 1))
    }

    /// The set without `signal`.
    #[must_use]
    pub const fn without(self, signal: i32) -> SignalSet {
        SignalSet(self.0 & !(1 << (signal - 1)))
    }

    /// Is `signal` in it?
    #[must_use]
    pub const fn has(self, signal: i32) -> bool {
        self.0 >> (signal - 1) & 1 == 1
    }
}

/// A signal that was taken by [`wait_for`], and its origin: the head of the kernel's `siginfo_t`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Taken {
    /// The signal, 1 to 64.
    pub signal: i32,
    errno: i32,
    pub(crate) code: i32,
    padding: i32,
    /// The process that sent it; 0 if it is outside our process namespace. Only for sent signals.
    pub sender: i32,
    rest: [u32; 27],
}

const _: () = assert!(size_of::<Taken>() == 128, "siginfo_t");

impl Taken {
    /// Did a process send it (kill, tgkill, sigqueue), rather than the kernel for an event of a terminal?
    ///
    /// A terminal's signal goes to its whole foreground group, so the program has received it already.
    #[must_use]
    pub fn was_sent(&self) -> bool {
        self.code <= 0
    }
}

/// Blocks the signals of `set` from now on, and returns those that were blocked before.
pub fn block(set: SignalSet) -> Result<SignalSet> {
    change_mask(0, set)
}

/// Makes `set` the set of blocked signals.
pub fn set_mask(set: SignalSet) -> Result<SignalSet> {
    change_mask(2, set)
}

fn change_mask(how: usize, set: SignalSet) -> Result<SignalSet> {
    let mut before = SignalSet::NONE;
    // SAFETY: both pointers refer to 8 bytes, the size given to the kernel.
    unsafe {
        syscall6(
            number::RT_SIGPROCMASK,
            how,
            &raw const set as usize,
            &raw mut before as usize,
            size_of::<SignalSet>(),
            0,
            0,
        )?
    };
    Ok(before)
}

/// Sleeps until a signal of `set` (blocked by [`block`]) arrives, for at most `limit`, and takes it. None if no signal came; this
/// may be returned before the limit is over.
pub fn wait_for(set: SignalSet, limit: Duration) -> Result<Option<Taken>> {
    let limit = [limit.as_secs() as i64, i64::from(limit.subsec_nanos())];
    match take(set, Some(&limit)) {
        Err(Errno::EINTR | Errno::EAGAIN) => Ok(None),
        result => result.map(Some),
    }
}

/// One call to the kernel; the limit is a `struct timespec`.
fn take(set: SignalSet, limit: Option<&[i64; 2]>) -> Result<Taken> {
    let mut taken = Taken::default();
    // SAFETY: the set has the given 8 bytes, the kernel writes one siginfo_t, and reads two i64 if a limit is given.
    unsafe {
        syscall6(
            number::RT_SIGTIMEDWAIT,
            &raw const set as usize,
            &raw mut taken as usize,
            limit.map_or(0, |limit| limit.as_ptr() as usize),
            size_of::<SignalSet>(),
            0,
            0,
        )?
    };
    Ok(taken)
}

/// The kernel's action for a signal for which we have no handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disposition {
    /// The signal's own default: end, stop, continue or nothing.
    Default,
    /// Ignore the signal.
    Ignore,
    /// A handler is set (returned only, never set).
    Handled,
}

/// The kernel's `struct sigaction`.
#[repr(C)]
#[derive(Default)]
struct Action {
    handler: usize,
    flags: u64,
    restorer: usize,
    mask: SignalSet,
}

/// The current disposition of `signal`.
#[must_use]
pub fn disposition(signal: i32) -> Disposition {
    let mut action = Action::default();
    // SAFETY: the kernel writes one struct sigaction; nothing is changed.
    let asked = unsafe { sigaction(signal, core::ptr::null(), &raw mut action) };
    match (asked, action.handler) {
        (Err(_), _) | (_, 0) => Disposition::Default,
        (_, 1) => Disposition::Ignore,
        _ => Disposition::Handled,
    }
}

/// Sets the disposition of `signal`; [`Disposition::Handled`] cannot be set and changes nothing.
pub fn set_disposition(signal: i32, disposition: Disposition) -> Result<()> {
    let handler = match disposition {
        Disposition::Default => 0,
        Disposition::Ignore => 1,
        Disposition::Handled => return Ok(()),
    };
    let action = Action { handler, ..Action::default() };
    // SAFETY: the kernel reads one struct sigaction; no handler is installed, so no code is named.
    unsafe { sigaction(signal, &raw const action, core::ptr::null_mut()) }
}

/// # Safety
/// Each pointer is null or refers to an [`Action`].
unsafe fn sigaction(signal: i32, new: *const Action, old: *mut Action) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe {
        syscall6(
            number::RT_SIGACTION,
            signal as usize,
            new as usize,
            old as usize,
            size_of::<SignalSet>(),
            0,
            0,
        )?
    };
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syscall::{getpid, gettid};

    /// Sends a signal to this thread only: test threads share a process.
    fn send_to_myself(signal: i32) {
        // SAFETY: no memory is involved.
        unsafe { syscall6(number::TGKILL, getpid() as usize, gettid() as usize, signal as usize, 0, 0, 0) }
            .expect("sent");
    }

    #[test]
    fn a_held_back_signal_is_taken_with_its_sender() {
        let set = SignalSet::NONE.with(name::USR1);
        let before = block(set).expect("held back");
        send_to_myself(name::USR1);
        let taken = wait_for(set, Duration::from_secs(60)).expect("asked").expect("there");
        assert_eq!((taken.signal, taken.sender), (name::USR1, getpid()));
        assert!(wait_for(set, Duration::ZERO).expect("asked").is_none(), "it is taken once");
        send_to_myself(name::USR1);
        let taken_too = wait_for(set, Duration::ZERO).expect("asked").expect("there");
        assert_eq!(taken_too.signal, name::USR1);
        assert!(taken.was_sent());
        assert_eq!(set_mask(before).expect("as before"), SignalSet(before.0 | set.0));
    }

    #[test]
    fn dispositions_are_read_and_set() {
        assert_eq!(disposition(name::USR2), Disposition::Default);
        set_disposition(name::USR2, Disposition::Ignore).expect("ignored");
        assert_eq!(disposition(name::USR2), Disposition::Ignore);
        set_disposition(name::USR2, Disposition::Default).expect("default");
        assert_eq!(disposition(name::USR2), Disposition::Default);
        assert_eq!(set_disposition(name::KILL, Disposition::Ignore), Err(Errno::EINVAL));
    }

    #[test]
    fn sets_hold_what_was_put_in() {
        let set = SignalSet::NONE.with(1).with(64);
        assert!(set.has(1) && set.has(64) && !set.has(2));
    }
}
