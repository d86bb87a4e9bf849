//! The state that the caller of the command handed over, noted before anything changes it.
//!
//! First of all the command (like any Rust program) sets SIGPIPE to ignored and opens `/dev/null` in place of closed
//! descriptors 0, 1 and 2. A program that we start must see the same state as without us. A function in `.init_array`, which
//! the C library runs earlier, therefore notes both, and the address of the environment.
//!
//! Invariant: [`inherited`] is the state of the process at exec, regardless of later changes.
//! [`restore_dispositions`] restores the signals in this process, which then becomes the program itself.
//! Not here: restoring the state in the child ([`crate::process`]).

use crate::signal::{Disposition, SignalSet, disposition, set_disposition};
use crate::syscall::{Errno, syscall3};
use core::ffi::{CStr, c_char, c_int};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

/// The state that the command was given at exec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inherited {
    /// The ignored signals among the standard ones (1 to 31).
    pub ignored: SignalSet,
    /// Bit n: descriptor n (0 to 2) was closed.
    pub closed: u32,
}

/// Written once by [`note`] before `main`, while there is one thread; read by [`inherited`]. Relaxed: no other data depends
/// on them.
static IGNORED: AtomicU64 = AtomicU64::new(0);
/// The signals that have a handler from code that ran earlier: a library that was loaded before the command.
static HANDLED: AtomicU64 = AtomicU64::new(0);
static CLOSED: AtomicU32 = AtomicU32::new(0);
/// The kernel's list of the environment; null if the C library does not pass it.
static ENVIRONMENT: AtomicPtr<*const c_char> = AtomicPtr::new(null_mut());

/// Runs [`note`] before `main`.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_START: extern "C" fn(c_int, *mut *const c_char) = note;

/// With glibc, the C library passes the arguments of `main`; other C libraries pass nothing.
extern "C" fn note(count: c_int, arguments: *mut *const c_char) {
    if cfg!(target_env = "gnu") && !arguments.is_null() {
        // After the arguments and their null. Not `environ`, which a library loaded before the command may have changed.
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
        // SAFETY: no memory is involved; only the descriptor's flags are queried. If that is forbidden, it is not closed.
        if unsafe { syscall3(FCNTL, fd, F_GETFD, 0) } == Err(Errno::EBADF) {
            closed |= 1 << fd;
        }
    }
    HANDLED.store(handled.0, Ordering::Relaxed);
    IGNORED.store(ignored.0, Ordering::Relaxed);
    CLOSED.store(closed, Ordering::Relaxed);
}

/// The state that the command was given at exec.
#[must_use]
pub fn inherited() -> Inherited {
    // The address is taken so that a linker which drops unused sections keeps the entry of `.init_array`.
    core::hint::black_box(&AT_START);
    Inherited { ignored: SignalSet(IGNORED.load(Ordering::Relaxed)), closed: CLOSED.load(Ordering::Relaxed) }
}

/// The environment that the command was given, as the kernel passed it, including strings without `=`. Empty also if it is
/// unknown.
pub fn environment() -> impl Iterator<Item = &'static CStr> {
    let mut next = ENVIRONMENT.load(Ordering::Relaxed);
    core::iter::from_fn(move || {
        if next.is_null() {
            return None;
        }
        // SAFETY: the kernel set up the list, with a null at its end, and its strings, for the lifetime of the process; nothing
        // in the command writes there.
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

/// Restores the dispositions of the standard signals at the command's start: the command ignores SIGPIPE, among others. For a
/// program that runs in this process and must find the dispositions that exec would have given it.
pub fn restore_dispositions() {
    let ignored = inherited().ignored;
    let handled = SignalSet(HANDLED.load(Ordering::Relaxed));
    for signal in (1..=31).filter(|signal| !handled.has(*signal)) {
        let at_start = if ignored.has(signal) { Disposition::Ignore } else { Disposition::Default };
        // KILL and STOP cannot be set and never change.
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

    /// The child's part: prints the state that it was given. Run as a test of its own, it checks and prints nothing.
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
        let _turn = crate::process_wide();
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
