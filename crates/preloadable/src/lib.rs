//! Can a program carry the preload library? The command asks before it starts a program, the library before its program
//! executes one; both use this code.
//!
//! ```text
//! target    the file, found as the C library finds it; limits, rights
//!   carry   its first bytes, as kernel and loader will read them
//!     needed  the libraries that it needs
//! build_id  the fingerprint by which an options file can name it
//! deny      programs that stay plain, by their names
//! linked    the note of a program that has the runtime in itself
//! ```
//!
//! Invariant: system calls and the stack only, so all of it works between vfork and exec and in signal handlers; any bytes
//! get an answer, never a panic.
//! Not here: the consequences of the answer (`launch`, and `follow` of the runtime).
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

pub mod build_id;
pub mod carry;
pub mod deny;
pub mod linked;
mod needed;
pub mod target;

use carry::Reason;
use underbar_ledger::Key;

/// The loader's list of libraries that are loaded before all others.
pub const PRELOAD: &[u8] = b"LD_PRELOAD";
/// The variable with the ledger's location.
pub const LEDGER: &[u8] = b"UNDERBAR_LEDGER";
/// The variable that means "follow only the program itself". Its value is the process that gave the order; the program is the
/// one whose process this is (`run --exec`) or whose parent it is (`run`).
pub const NO_FOLLOW: &[u8] = b"UNDERBAR_NO_FOLLOW";

/// Is this entry of LD_PRELOAD our library? It is recognised by its file's name, or because it is in no folder
/// (`/proc/PID/fd/N`: the command uses this if it can use no folder).
#[must_use]
pub fn is_our_library(entry: &[u8]) -> bool {
    let name = entry.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    name == b"libunderbar.so" || is_in_memory(entry)
}

/// Is this entry in no folder?
#[must_use]
pub fn is_in_memory(entry: &[u8]) -> bool {
    entry.starts_with(b"/proc/") && without_number(entry).ends_with(b"/fd/")
}

fn without_number(path: &[u8]) -> &[u8] {
    let length = path.iter().rposition(|byte| !byte.is_ascii_digit()).map_or(0, |last| last + 1);
    path.get(..length).unwrap_or_default()
}

/// The entries of a value of LD_PRELOAD.
pub fn entries(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|&byte| byte == b':' || byte == b' ').filter(|entry| !entry.is_empty())
}

/// The counter of a reason.
#[must_use]
pub const fn counter_of(reason: Reason) -> Key {
    match reason {
        Reason::Static => Key::NotFollowedStatic,
        Reason::SetUid => Key::NotFollowedSetUid,
        Reason::FileCapabilities => Key::NotFollowedCapabilities,
        Reason::Bits32 => Key::NotFollowedBits32,
        Reason::OtherLibc => Key::NotFollowedOtherLibc,
        Reason::Sanitizer => Key::NotFollowedSanitizer,
        Reason::OtherMachine => Key::NotFollowedOtherMachine,
        Reason::Unreadable => Key::NotFollowedUnreadable,
        Reason::Malformed => Key::NotFollowedMalformed,
        Reason::PreloadNotVisible => Key::NotFollowedPreloadHidden,
        Reason::EnvironmentCleared => Key::NotFollowedEnvironment,
        Reason::LedgerOutOfReach => Key::NotFollowedLedger,
        Reason::LittleMemory => Key::NotFollowedLittleMemory,
        Reason::Filtered => Key::NotFollowedFiltered,
        Reason::OtherRun => Key::NotFollowedOtherRun,
        Reason::NotAsked => Key::NotFollowedByRequest,
    }
}
