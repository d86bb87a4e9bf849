//! What the caller of the command handed over, noted before the Rust runtime changes it.
//!
//! Before `main`, the Rust runtime sets SIGPIPE to ignored and opens `/dev/null` in place of closed
//! descriptors 0, 1 and 2. A program started by us must see what it would see without us; so a function in
//! `.init_array`, which the C library runs earlier, notes both.
//!
//! Invariant: [`inherited`] is what the process was given at exec, whatever was done since.
//! [`restore_dispositions`] undoes the signals' part in this process, which then becomes the program itself.
//! Not here: undoing it in the child ([`crate::process`]).

use crate::signal::{Disposition, SignalSet, disposition, set_disposition};
use crate::syscall::syscall3;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// What the command was given at exec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inherited {
    /// The signals that were ignored, of the standard ones (1 to 31).
    pub ignored: SignalSet,
    /// Bit n: descriptor n (0 to 2) was closed.
    pub closed: u32,
}

/// Written once by [`note`] before `main`, while there is one thread; read by [`inherited`]. Relaxed: no
/// other data hangs on them.
static IGNORED: AtomicU64 = AtomicU64::new(0);
/// The signals that somebody handles who came before us: a library that was loaded ahead of the command.
static HANDLED: AtomicU64 = AtomicU64::new(0);
static CLOSED: AtomicU32 = AtomicU32::new(0);

/// Runs [`note`] before `main`.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_START: extern "C" fn() = note;

extern "C" fn note() {
    const FCNTL: usize = 72;
    const F_GETFD: usize = 1;
    let (mut ignored, mut handled) = (SignalSet::NONE, SignalSet::NONE);
    for signal in 1..=31 {
        match disposition(signal) {
            Disposition::Ignore => ignored = ignored.with(signal),
            Disposition::Handled => handled = handled.with(signal),
            Disposition::Default => {}
        }
    }
    let mut closed = 0;
    for fd in 0..=2 {
        // SAFETY: no memory is involved; only the descriptor's flags are asked for.
        if unsafe { syscall3(FCNTL, fd, F_GETFD, 0) }.is_err() {
            closed |= 1 << fd;
        }
    }
    HANDLED.store(handled.0, Ordering::Relaxed);
    IGNORED.store(ignored.0, Ordering::Relaxed);
    CLOSED.store(closed, Ordering::Relaxed);
}

/// What the command was given at exec.
#[must_use]
pub fn inherited() -> Inherited {
    // The address is taken so that a linker which drops unused sections keeps the entry of `.init_array`.
    core::hint::black_box(&AT_START);
    Inherited { ignored: SignalSet(IGNORED.load(Ordering::Relaxed)), closed: CLOSED.load(Ordering::Relaxed) }
}

/// Brings back what happened on each standard signal when the command began: the Rust runtime handles SIGSEGV and SIGBUS
/// to tell of a stack that overflows, and ignores SIGPIPE; the command ignores more. For a program that runs in this
/// process and must find what exec would have given it.
pub fn restore_dispositions() {
    let ignored = inherited().ignored;
    let handled = SignalSet(HANDLED.load(Ordering::Relaxed));
    for signal in (1..=31).filter(|signal| !handled.has(*signal)) {
        let at_start = if ignored.has(signal) { Disposition::Ignore } else { Disposition::Default };
        // KILL and STOP cannot be set, nor ever change.
        let _ = set_disposition(signal, at_start);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signal::name;
    use std::process::Command;

    /// The child's part: says what it was given. Run as a test it proves nothing and says nothing.
    #[test]
    fn say_what_was_given() {
        if std::env::var_os("SAY_WHAT_WAS_GIVEN").is_some() {
            let given = inherited();
            let (pipe, hangup) = (given.ignored.has(name::PIPE), given.ignored.has(name::HUP));
            std::eprintln!("pipe {pipe} hangup {hangup} closed {}", given.closed);
            assert_eq!(disposition(name::PIPE), Disposition::Ignore, "the Rust runtime ignores it by now");
            restore_dispositions();
            for signal in 1..=31 {
                let is_ignored = disposition(signal) == Disposition::Ignore;
                assert_eq!(is_ignored, given.ignored.has(signal), "signal {signal}");
                assert_ne!(disposition(signal), Disposition::Handled, "signal {signal}");
            }
        }
    }

    #[test]
    fn what_the_caller_gave_is_known_after_the_rust_runtime_changed_it() {
        let given_by = |shell: &str| {
            let output = Command::new("sh")
                .args(["-c", shell])
                .arg(std::env::current_exe().expect("our own file"))
                .args(["inherited::tests::say_what_was_given", "--exact", "--nocapture"])
                .env("SAY_WHAT_WAS_GIVEN", "1")
                .output()
                .expect("a shell");
            assert!(output.status.success(), "{output:?}");
            std::string::String::from_utf8_lossy(&output.stderr).into_owned()
        };
        assert!(given_by("exec \"$0\" \"$@\"").contains("pipe false hangup false closed 0"));
        let changed = given_by("trap '' PIPE HUP; exec \"$0\" \"$@\" 0<&- 1>&-");
        assert!(changed.contains("pipe true hangup true closed 3"), "{changed}");
    }
}
