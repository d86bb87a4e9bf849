//! Names of functions and places in words.
//!
//! Invariant: a name in words passes `shown`; a bare name is a part of the program's own.
//! Not here: words of sites ([`crate::words`]).

use underbar_profile::text::file_name;

use crate::names::Location;

/// A function of C++ or Rust without its arguments: `os::malloc(unsigned long) const` is `os::malloc`.
#[must_use]
pub fn without_arguments(name: &str) -> &str {
    let bare = name.strip_suffix(" const").unwrap_or(name);
    if !bare.ends_with(')') {
        return name;
    }
    let mut depth = 0_usize;
    for (at, character) in bare.char_indices().rev() {
        match character {
            ')' => depth += 1,
            '(' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            // What is before them is a name, except of an operator and in `(anonymous namespace)`.
            let before = &bare[..at];
            let is_name = before.ends_with(|end: char| end.is_alphanumeric() || "_>]})".contains(end));
            return if is_name && !before.ends_with("operator") { before } else { name };
        }
    }
    name
}

/// A location without functions: `libx.so+0x1234`.
#[must_use]
pub fn place(location: &Location) -> String {
    if location.module.is_empty() {
        return format!("0x{:x}", location.address);
    }
    format!("{}+0x{:x}", underbar_shown::line(file_name(&location.module)), location.address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_left_out() {
        for (name, bare) in [
            ("os::malloc(unsigned long, void (*)(int))", "os::malloc"),
            ("Set<int>::size() const", "Set<int>::size"),
            ("main::{lambda(int)#1}::operator()(int) const", "main::{lambda(int)#1}::operator()"),
            ("(anonymous namespace)::load(char const*)", "(anonymous namespace)::load"),
            ("operator new[](unsigned long)", "operator new[]"),
            // None of them has a list of arguments.
            ("Set::operator()", "Set::operator()"),
            ("operator()", "operator()"),
            ("(anonymous namespace)", "(anonymous namespace)"),
            ("alloc::vec::Vec<T>::push", "alloc::vec::Vec<T>::push"),
            ("main::{closure#0}", "main::{closure#0}"),
            ("a)", "a)"),
            (")", ")"),
            ("", ""),
        ] {
            assert_eq!(without_arguments(name), bare);
        }
    }
}
