//! The stacks as a tree from the outermost functions down, for a flame graph; and as folded lines, which other tools draw.
//!
//! ```text
//! main;read_all;parse_record 610000      a line for each stack, outermost first: bytes
//! ```
//!
//! Invariant: a node's value is the sum over all stacks through it, so children together have at most their parent's; lines add up to the
//! total.
//! Not here: the drawing.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::report::{Estimate, Figures, Report, StackRow};
use crate::words;

/// Which bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Which {
    /// When most was in use.
    #[default]
    MostInUse,
    /// All requests.
    Requested,
    /// When the processes ended.
    AtEnd,
}

impl Which {
    /// These bytes of some figures.
    #[must_use]
    pub fn of(self, figures: &Figures) -> &Estimate {
        match self {
            Which::MostInUse => &figures.most_in_use,
            Which::Requested => &figures.requested,
            Which::AtEnd => &figures.in_use_at_end,
        }
    }
}

/// A node of a flame graph.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Flame {
    /// The function; `all` for the root. As the program has it: to be shown like a name of a stranger.
    pub name: String,
    /// Bytes through it.
    pub value: f64,
    /// What it called, by name.
    pub children: Vec<Flame>,
}

/// Deeper frames are added to their caller: pages draw trees by recursion.
const DEEPEST: usize = 256;

/// The tree.
#[must_use]
pub fn flame(report: &Report, which: Which) -> Flame {
    let mut root = Node::default();
    for stack in &report.stacks {
        let bytes = which.of(&stack.figures).bytes as f64;
        if bytes <= 0.0 {
            continue;
        }
        let mut node = &mut root;
        node.value += bytes;
        for name in functions(report, stack).take(DEEPEST) {
            node = node.children.entry(name).or_default();
            node.value += bytes;
        }
    }
    root.flame("all".to_owned())
}

/// The folded lines, in the order of their names.
#[must_use]
pub fn folded(report: &Report, which: Which) -> String {
    let mut lines: BTreeMap<String, u64> = BTreeMap::new();
    for stack in &report.stacks {
        let bytes = which.of(&stack.figures).bytes;
        if bytes == 0 {
            continue;
        }
        // A name must not contain the separators.
        let names: Vec<String> = functions(report, stack).map(|name| name.replace(';', ":")).collect();
        let line = if names.is_empty() { "(no stack)".to_owned() } else { names.join(";") };
        *lines.entry(line).or_default() += bytes;
    }
    let mut text = String::new();
    for (line, bytes) in lines {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{} {bytes}", underbar_shown::line(&line));
    }
    text
}

/// The functions of a stack, outermost first.
fn functions<'a>(report: &'a Report, stack: &'a StackRow) -> impl Iterator<Item = String> + 'a {
    let locations = stack.locations.iter().rev().filter_map(|at| report.locations.get(*at));
    locations.flat_map(|location| {
        let mut names: Vec<String> =
            location.functions.iter().rev().map(|function| words::function(location, function)).collect();
        if names.is_empty() {
            names.push(words::place(location));
        }
        names
    })
}

#[derive(Default)]
struct Node {
    value: f64,
    children: BTreeMap<String, Node>,
}

impl Node {
    fn flame(self, name: String) -> Flame {
        let children = self.children.into_iter().map(|(name, node)| node.flame(name)).collect();
        Flame { name, value: self.value, children }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::example;

    #[test]
    fn lines_and_trees_have_all_bytes() {
        let report = example();
        let text = folded(&report, Which::MostInUse);
        let expected = "\
\\x1b[31mevil\\n 40960
libx.so+0x1234 153600
main;read_all;parse_record 624640
main;run;load 204800
";
        assert_eq!(text, expected);
        let tree = flame(&report, Which::MostInUse);
        assert_eq!((tree.name.as_str(), tree.value), ("all", 1_024_000.0));
        let main = tree.children.iter().find(|child| child.name == "main").expect("main");
        let names: Vec<&str> = main.children.iter().map(|child| child.name.as_str()).collect();
        assert_eq!((names, main.value), (vec!["read_all", "run"], 829_440.0));
        assert_eq!(flame(&report, Which::AtEnd), Flame { name: "all".to_owned(), ..Flame::default() });
        assert_eq!(folded(&report, Which::AtEnd), "");
    }

    #[test]
    fn deep_recursion_ends() {
        let mut report = example();
        let at = report.stacks[0].locations[0];
        report.stacks.truncate(1);
        report.stacks[0].locations = vec![at; 512];
        let (mut depth, mut node) = (0, &flame(&report, Which::Requested));
        while let Some(child) = node.children.iter().find(|child| child.name != "main") {
            (depth, node) = (depth + 1, child);
        }
        assert_eq!(depth, DEEPEST);
    }
}
