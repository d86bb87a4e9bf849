//! Emergencies: programs that underbar leaves alone, without a change of any call of it.
//!
//! ```text
//! UNDERBAR=off                    all programs
//! UNDERBAR_DENY=java,chrome*      these, by the names of their files, or of a script's interpreter;
//!                                 a star at the end stands for any rest
//! /etc/underbar.deny              the same for all users: one name a line, comments with #
//! ```
//!
//! Then `run`, `heap` and `profile` become the program, plain, before they do anything else: no library, no ledger, no report. `compare`
//! and `tune` run nothing, as there is nothing to measure, and a gate must not pass by that.
//! Programs that a followed program starts are left plain by the library (`follow`): it reads both variables, into the second of which
//! `host/launch` also puts the names of the file.
//! Not here: the form of a list (`underbar_preloadable::deny`).

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use underbar_launch::{Failure, Launch, denied, denied_for_all};
use underbar_shown::Shown;

/// Becomes the program, plain, if there is a reason, which `tell` is told first. Returns only if there is none, or with the failure.
pub fn leave_alone(program: &OsStr, arguments: &[OsString], tell: impl FnOnce(&str)) -> Option<Failure> {
    tell(&format!("the program runs plain: {}", reason(program)?));
    let plain = Launch {
        program: program.to_owned(),
        arguments: arguments.to_vec(),
        library: None,
        variables: Vec::new(),
        follow: true,
        streams: [None; 3],
    };
    Some(plain.exec())
}

/// Why this program is to run plain; None if it is not.
pub fn reason(program: &OsStr) -> Option<String> {
    if env::var_os("UNDERBAR").is_some_and(|value| value.eq_ignore_ascii_case("off")) {
        return Some("UNDERBAR=off".to_owned());
    }
    let named = |list: &[u8], place: &str| {
        let entry = denied(list, program)?;
        Some(format!("{place} names {}", OsStr::from_bytes(entry).shown()))
    };
    let own = env::var_os("UNDERBAR_DENY").and_then(|list| named(list.as_bytes(), "UNDERBAR_DENY"));
    own.or_else(|| {
        let (file, list) = denied_for_all()?;
        named(&list, file)
    })
}
