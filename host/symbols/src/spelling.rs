//! Names as people write them: those of Rust and C++ without the compiler's mangling.
//!
//! Invariant: any other name is returned unchanged, and none is longer than [`LONGEST`].

use cpp_demangle::{DemangleOptions, Symbol};

/// Longer names are cut: those of templates may be very long.
const LONGEST: usize = 400;

/// The name as people write it.
#[must_use]
pub fn spelled(name: &str) -> String {
    // Versions of the dynamic linker: memcpy@@GLIBC_2.14.
    let bare = name.split_once('@').map_or(name, |(bare, _)| bare);
    let text = if let Ok(rust) = rustc_demangle::try_demangle(bare) {
        // Without the hash.
        format!("{rust:#}")
    } else if bare.starts_with("_Z") && bare.len() <= 8 * LONGEST {
        cpp(bare).unwrap_or_else(|| bare.to_owned())
    } else {
        bare.to_owned()
    };
    shortened(text.replace(char::is_control, "?"))
}

fn cpp(name: &str) -> Option<String> {
    let options = DemangleOptions::new().no_return_type().recursion_limit(64);
    Symbol::new(name.as_bytes()).ok()?.demangle_with_options(&options).ok().map(without_tags)
}

/// Without the tags (`[abi:cxx11]`) that the compiler adds to functions with a type of the newer C++ library.
fn without_tags(mut name: String) -> String {
    const BEGIN: &str = "[abi:";
    while let Some(begin) = name.find(BEGIN) {
        let Some(length) = name.get(begin..).and_then(|rest| rest.find(']')) else { break };
        name.replace_range(begin..=begin + length, "");
    }
    name
}

fn shortened(mut text: String) -> String {
    if text.len() > LONGEST {
        let end = (0..=LONGEST).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
        text.truncate(end);
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_source() {
        let check = |name: &str, expect: &str| assert_eq!(spelled(name), expect);
        check("main", "main");
        check("memcpy@@GLIBC_2.14", "memcpy");
        check("_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write");
        check("_RNvC6_123foo3bar", "123foo::bar");
        check("_ZN9Something4lockEv", "Something::lock()");
        check("_ZN6Source6remarkB5cxx11Ev", "Source::remark()");
        check("_Z5first6secondB5cxx11", "first(second)");
        check("_Znonsense", "_Znonsense");
        check("a\tb\u{1b}[1m", "a?b?[1m");
    }

    #[test]
    fn names_have_an_end() {
        assert!(spelled(&"x".repeat(100_000)).chars().count() <= LONGEST + 1);
        assert!(spelled(&"ä".repeat(100_000)).chars().count() <= LONGEST + 1);
        let deep = format!("_ZN{}E", "1a".repeat(5_000));
        assert!(spelled(&deep).chars().count() <= LONGEST + 1);
    }
}
