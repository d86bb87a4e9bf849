//! Emergencies: programs that underbar leaves alone, without a change of any call of it.
//!
//! ```text
//! UNDERBAR=off                    all programs
//! UNDERBAR_DENY=java,chrome*      these, by the names of their files; a star at the end stands for any rest
//! /etc/underbar.deny              the same for all users: one name a line, comments with #
//! ```
//!
//! Then `run`, `heap` and `profile` become the program, plain, before they do anything else: no library, no ledger, no report. `compare`
//! and `tune` run nothing, as there is nothing to measure, and a gate must not pass by that.
//! Not here: programs that a followed program starts. The library leaves those plain that get UNDERBAR=off (`follow`); the lists are not
//! read for them.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::Path;
use underbar_launch::{Failure, Launch};
use underbar_shown::Shown;

/// The names for all users.
const FILE: &str = "/etc/underbar.deny";

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
    let name = Path::new(program).file_name().unwrap_or(program).to_string_lossy();
    let named = |text: &str, place: &str| {
        let entry = entry_for(text, &name)?;
        Some(format!("{place} names {}", OsStr::new(entry).shown()))
    };
    let own = env::var_os("UNDERBAR_DENY").and_then(|text| named(&text.to_string_lossy(), "UNDERBAR_DENY"));
    own.or_else(|| named(&String::from_utf8_lossy(&fs::read(FILE).ok()?), FILE))
}

/// The entry of a list that is for this name.
fn entry_for<'a>(list: &'a str, name: &str) -> Option<&'a str> {
    let lines = list.lines().map(|line| line.split('#').next().unwrap_or_default());
    lines.flat_map(|line| line.split(',')).map(str::trim).find(|entry| match entry.strip_suffix('*') {
        Some(begin) => name.starts_with(begin),
        None => *entry == name && !entry.is_empty(),
    })
}

#[cfg(test)]
mod tests {
    use super::entry_for;

    #[test]
    fn lists_name_programs() {
        let list = "# since Monday\njava, chrome*\n\n  nginx  # crashes\n";
        for (name, entry) in [
            ("java", Some("java")),
            ("chrome", Some("chrome*")),
            ("chrome-sandbox", Some("chrome*")),
            ("nginx", Some("nginx")),
            ("javac", None),
            ("", None),
            ("since", None),
        ] {
            assert_eq!(entry_for(list, name), entry, "{name}");
        }
        assert_eq!(
            (entry_for("*", "any"), entry_for("", "any"), entry_for(",", "")),
            (Some("*"), None, None)
        );
    }
}
