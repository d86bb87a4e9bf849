//! What the caller of the command handed over, noted before anybody changes it.
//!
//! As its first act the command (as any program of Rust) sets SIGPIPE to ignored and opens `/dev/null` in place of closed
//! descriptors 0, 1 and 2. A program started by us must see what it would see without us; so a function in
//! `.init_array`, which the C library runs earlier, notes both, and where the environment lies.
//!
//! Invariant: [`inherited`] is what the process was given at exec, whatever was done since.
//! [`restore_dispositions`] undoes the signals' part in this process, which then becomes the program itself.
//! Not here: undoing it in the child ([`crate::process`]).

use crate::signal::{Disposition, SignalSet, disposition, set_disposition};
use crate::syscall::{Errno, syscall3};
use core::ffi::{CStr, c_char, c_int};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

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
/// The list of the environment that the kernel laid down; null where the C library does not say.
static ENVIRONMENT: AtomicPtr<*const c_char> = AtomicPtr::new(null_mut());

/// Runs [`note`] before `main`.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_START: extern "C" fn(c_int, *mut *const c_char) = note;

/// Its arguments are those of `main` where the C library is glibc, and nothing elsewhere.
extern "C" fn note(count: c_int, arguments: *mut *const c_char) {
    if cfg!(target_env = "gnu") && !arguments.is_null() {
        // Behind the arguments and their null. Not `environ`, which somebody loaded ahead of the command may have changed.
        ENVIRONMENT.store(arguments.wrapping_add(count as usize + 1), Ordering::Relaxed);
    }
    crate::withheld::note();
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
        // SAFETY: no memory is involved; only the descriptor's flags are asked for. Where that is forbidden it is not closed.
        if unsafe { syscall3(FCNTL, fd, F_GETFD, 0) } == Err(Errno::EBADF) {
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

/// The environment that the command was given, as the kernel passed it: strings without `=` are among it. Empty where it is
/// not known, too.
pub fn environment() -> impl Iterator<Item = &'static CStr> {
    let mut next = ENVIRONMENT.load(Ordering::Relaxed);
    core::iter::from_fn(move || {
        if next.is_null() {
            return None;
        }
        // SAFETY: the kernel laid down the list, a null at its end, and its strings, for as long as the process lives;
        // nothing in the command writes there.
        unsafe {
            let string = *next;
            if string.is_null() {
                return None;
            }
            next = next.add(1);
            Some(CStr::from_ptr(string))
        }
    })
}

/// Brings back what happened on each standard signal when the command began: it ignores SIGPIPE, and more. For a program that
/// runs in this process and must find what exec would have given it.
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
    use std::format;
    use std::process::Command;
    use std::vec::Vec;

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
    fn the_environment_is_the_kernels() {
        let file = std::fs::read("/proc/self/environ").expect("read");
        let known: Vec<u8> = environment().flat_map(|string| string.to_bytes_with_nul().to_vec()).collect();
        assert_eq!(std::string::String::from_utf8_lossy(&known), std::string::String::from_utf8_lossy(&file));
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
        // A shell leaves ignored signals ignored: these tests may run under `nohup`.
        let own = |signal| inherited().ignored.has(signal);
        let unchanged = format!("pipe {} hangup {} closed 0", own(name::PIPE), own(name::HUP));
        let given = given_by("exec \"$0\" \"$@\"");
        assert!(given.contains(&unchanged), "{given}");
        let changed = given_by("trap '' PIPE HUP; exec \"$0\" \"$@\" 0<&- 1>&-");
        assert!(changed.contains("pipe true hangup true closed 3"), "{changed}");
    }
}
