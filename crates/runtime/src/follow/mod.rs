//! Following the programs that a program starts, and counting those that cannot be followed.
//!
//! ```text
//! program calls execve, posix_spawn, ... ── calls ── with_environment ── the C library's own function
//!                                                        │
//!            has this process locked itself in?          │ yes: count Filtered, take the library out, check nothing
//!            is the library in the environment given?    │ no: count EnvironmentCleared, leave it
//!            is UNDERBAR=off in it, or the name of the
//!            program or its interpreter in UNDERBAR_DENY?│ yes: count NotAsked, take the library out
//!            and this run's ledger?                      │ another: count OtherRun, leave it
//!            are children to be followed?                │ no: count NotAsked, take the library out
//!            can the new program see the library?        │ no: count PreloadNotVisible, take the library out
//!            can it carry the library, within the
//!            limits (`carry`, `target`)?                 │ no: count the reason, take the library out
//!            may it write to the ledger, and is it still
//!            the one that this process has?              │ no: count LedgerOutOfReach, take the library out
//!            leave the environment as it is              ┘
//! ```
//!
//! The library is taken out because the loader would otherwise write a complaint on the program's standard error. Programs
//! that the C library starts by itself (`system`, `popen`) do not pass here and inherit the environment.
//!
//! Invariant: every path through here makes system calls, reads memory, uses the stack and adds to atomic counters; it does
//! not allocate, lock or write `errno` on success. So it works in signal handlers and in the child of vfork, whose memory
//! is its parent's.
//! Not here: the accounts of a followed program.

pub mod calls;

use core::ffi::c_char;
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use underbar_preloadable::carry::Reason;
use underbar_preloadable::target::{self, Target};
use underbar_preloadable::{LEDGER, NO_FOLLOW, counter_of, deny};
use underbar_sys::file::getppid;
use underbar_sys::syscall::getpid;

use crate::environment::Environment;
use crate::ledger::own_reads;
use crate::orders::Given;
use crate::{file_cache, ledger, resources, seccomp};

/// Whether this process has accounts. Written once at the start by [`at_start`], read by any thread; relaxed, as nothing
/// else depends on it. The same for the next two.
static FOLLOWED: AtomicBool = AtomicBool::new(true);
/// Whether the children of this process are followed.
static CHILDREN: AtomicBool = AtomicBool::new(true);
/// This process's number at the start: the kernel gives a forked child another one.
static ORIGIN: AtomicI32 = AtomicI32::new(0);
/// [`fingerprint`] of the name of the ledger that the environment had at the start; 0: it named none.
static OUR_LEDGER: AtomicU64 = AtomicU64::new(0);

/// Reads the settings from the environment. To be called once, before the program's `main`.
///
/// # Safety
/// The environment is null or a C environment, unchanged during the call.
pub(crate) unsafe fn at_start(given: &Given) {
    // SAFETY: the caller's promise.
    let environment = unsafe { Environment::new(given.environment) };
    ORIGIN.store(getpid(), Ordering::Relaxed);
    OUR_LEDGER.store(environment.value(LEDGER).map_or(0, fingerprint), Ordering::Relaxed);
    CHILDREN.store(environment.value(NO_FOLLOW).is_none(), Ordering::Relaxed);
    FOLLOWED.store(is_wanted(environment), Ordering::Relaxed);
    calls::find_next();
}

/// Whether this environment, in this process, requests accounts. May be called before [`at_start`].
#[must_use]
pub fn is_wanted(environment: Environment<'_>) -> bool {
    environment.value(NO_FOLLOW).is_none_or(|value| {
        let from = number(value);
        from == Some(getpid()) || from == Some(getppid())
    })
}

/// Whether this process has accounts. False only under `--no-follow` in a child that got the library all the same, because
/// the C library started it by itself.
#[must_use]
pub fn is_followed() -> bool {
    FOLLOWED.load(Ordering::Relaxed)
}

/// Counts a started program that is not followed.
pub fn count_not_followed(reason: Reason) {
    ledger::add(counter_of(reason), 1);
}

/// The process that will run the new program.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Runner {
    /// This process itself.
    Myself,
    /// A child that the call makes.
    Child,
}

/// The variable by which a user keeps a program plain: `UNDERBAR=off`. The command reads it, too.
const OFF: &[u8] = b"UNDERBAR";

/// Calls `then` with the environment that the new program is to get, and whether it is followed.
///
/// # Safety
/// `environment` is null or a C environment, unchanged during the call.
unsafe fn with_environment<R>(
    runner: Runner,
    target: Target<'_>,
    environment: *const *const c_char,
    then: impl FnOnce(*const *const c_char, bool) -> R,
) -> R {
    // SAFETY: the caller's promise.
    let environment = unsafe { Environment::new(environment) };
    let is_filtered = seccomp::is_filtered();
    // This applies to a forked child, too. A child by vfork has its parent's accounts, which go on. After a filter is
    // installed even this question may be deadly: such a child settles its parent's accounts, which is right.
    let is_replaced = runner == Runner::Myself && (is_filtered || ledger::attach::is_ours());
    if is_replaced {
        // Another program may replace this one: its figures so far must be in the ledger.
        resources::settle();
    }
    if runner == Runner::Myself && !is_filtered {
        resources::before_exec();
    }
    let judged = if is_filtered && environment.our_library().is_some() {
        Err(Reason::Filtered)
    } else {
        let myself = !is_filtered && runner == Runner::Myself && getpid() == ORIGIN.load(Ordering::Relaxed);
        judge(myself, target, environment)
    };
    if !is_filtered {
        file_cache::before_program(environment, judged.is_ok());
    }
    match judged {
        Ok(()) => {
            let is_by_vfork = runner == Runner::Myself && !is_filtered && !is_replaced;
            let expected = if is_by_vfork { ledger::expected::expect(None) } else { None };
            let result = then(environment.as_given(), true);
            // It did not become another program.
            if let Some(expected) = expected {
                expected.withdraw();
            }
            result
        }
        Err(reason) => {
            count_not_followed(reason);
            // A child by the kernel's own call has accounts from this count on.
            let is_replaced =
                is_replaced || !is_filtered && runner == Runner::Myself && ledger::attach::is_ours();
            if is_replaced {
                // The next program will not report that this one has ended, as a followed program does.
                ledger::attach::set_replaced(true);
            }
            let failed = if matches!(reason, Reason::EnvironmentCleared | Reason::OtherRun) {
                // There is nothing for the loader to complain about, and the rest may be the user's own; or another command
                // has taken care of it.
                then(environment.as_given(), false)
            } else {
                environment.without_us(|changed| then(changed, false))
            };
            if is_replaced {
                ledger::attach::set_replaced(false);
            }
            failed
        }
    }
}

fn judge(myself: bool, target: Target<'_>, environment: Environment<'_>) -> Result<(), Reason> {
    let library = environment.our_library().ok_or(Reason::EnvironmentCleared)?;
    let is_off = environment.value(OFF).is_some_and(|value| value.eq_ignore_ascii_case(b"off"));
    let is_denied = || target::denied(environment.value(deny::VARIABLE)?, target, own_reads::pread);
    if is_off || is_denied().is_some() {
        // A shell tries folder after folder, and counts once.
        return if target::is_there(target) { Err(Reason::NotAsked) } else { Ok(()) };
    }
    // None: of a run without accounts.
    if environment.value(LEDGER).map_or(0, fingerprint) != OUR_LEDGER.load(Ordering::Relaxed) {
        return if target::is_there(target) { Err(Reason::OtherRun) } else { Ok(()) };
    }
    if !(CHILDREN.load(Ordering::Relaxed) || myself && is_followed()) {
        return Err(Reason::NotAsked);
    }
    // A library in memory is there for as long as the command lives. Afterwards any process may get the command's number.
    if !target::is_readable(library)
        || underbar_preloadable::is_in_memory(library) && !target::is_ours(library)
    {
        return Err(Reason::PreloadNotVisible);
    }
    target::examine(target, own_reads::pread)?;
    match environment.value_c(LEDGER) {
        Some(ledger) if !target::is_writable(ledger.to_bytes()) || !ledger::reached::is_found_at(ledger) => {
            Err(Reason::LedgerOutOfReach)
        }
        _ => Ok(()),
    }
}

/// Sixty-four bits of a text (FNV-1a): names of ledgers end with a random number, so these bits differ for two of them,
/// too.
fn fingerprint(text: &[u8]) -> u64 {
    text.iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// A process number in decimal digits.
fn number(text: &[u8]) -> Option<i32> {
    core::str::from_utf8(text).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;
    use underbar_ledger::Key;
    use underbar_sys::syscall::AT_FDCWD;

    fn judge_with(preload: &str, path: &str) -> Result<(), Reason> {
        judge_under("A=1", preload, path)
    }

    fn judge_under(variable: &str, preload: &str, path: &str) -> Result<(), Reason> {
        let preload = CString::new(std::format!("LD_PRELOAD={preload}")).expect("text");
        let (variable, path) = (CString::new(variable).expect("text"), CString::new(path).expect("text"));
        let pointers = [preload.as_ptr(), variable.as_ptr(), core::ptr::null()];
        // SAFETY: the pointers end with null and live until the end of this function.
        let environment = unsafe { Environment::new(pointers.as_ptr()) };
        judge(false, Target::At(AT_FDCWD, &path), environment)
    }

    #[test]
    fn a_program_is_followed_only_where_it_can_carry_the_library_and_sees_it() {
        let folder = std::env::temp_dir().join(std::format!("underbar-follow-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let library = folder.join("libunderbar.so");
        std::fs::write(&library, "").expect("a file");
        let library = library.to_str().expect("text");
        assert_eq!(judge_with(library, "/bin/sh"), Ok(()));
        for (variable, expect) in [
            ("UNDERBAR=off", Err(Reason::NotAsked)),
            ("UNDERBAR=OFF", Err(Reason::NotAsked)),
            ("UNDERBAR=on", Ok(())),
            ("UNDERBAR_OPTS=off", Ok(())),
            ("UNDERBAR_DENY=java,sh", Err(Reason::NotAsked)),
            ("UNDERBAR_DENY=s*", Err(Reason::NotAsked)),
            ("UNDERBAR_DENY=bash,bin", Ok(())),
        ] {
            assert_eq!(judge_under(variable, library, "/bin/sh"), expect, "{variable}");
        }
        assert_eq!(judge_with("/gone/libunderbar.so", "/bin/sh"), Err(Reason::PreloadNotVisible));
        assert_eq!(judge_with("/y/libother.so", "/bin/sh"), Err(Reason::EnvironmentCleared));
        let count = || ledger::slot().cell(Key::NotFollowedMalformed).load(Ordering::Relaxed);
        let before = count();
        count_not_followed(Reason::Malformed);
        assert_eq!(count(), before + 1);
        std::fs::remove_dir_all(&folder).expect("removed");
    }

    #[test]
    fn process_numbers_are_read() {
        assert_eq!(number(b"123"), Some(123));
        assert_eq!(number(b""), None);
        assert_eq!(number(b"12x"), None);
    }
}
