//! Folded stacks, the input of flame graph tools: `program;function count`, a line for each function.
//!
//! Invariant: the sum of the counts is the number of samples. There are no callers in it: the kernel is not asked for them.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::model::Profile;
use crate::text::file_name;

/// The lines, in the order of their names.
#[must_use]
pub fn render(profile: &Profile) -> String {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for row in &profile.instructions {
        let function = row.function.as_deref().unwrap_or("[no symbol]");
        // A name must not contain the separators.
        let line = format!("{};{}", file_name(&row.program).replace(';', ":"), function.replace(';', ":"));
        *counts.entry(line).or_default() += row.count;
    }
    let mut text = String::new();
    for (line, count) in counts {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{} {count}", underbar_shown::line(&line));
    }
    text
}

#[cfg(test)]
mod tests {
    use crate::text::tests::example;

    #[test]
    fn functions_are_lines() {
        assert_eq!(
            super::render(&example()),
            "(unknown);[no symbol] 1\nlibc.so.6;memcpy 30\nspin;[no symbol] 9\nspin;spin_lock 960\n"
        );
    }
}
