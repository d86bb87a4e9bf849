//! Which module of a crate uses which, read from its files without a compiler.
//!
//! ```text
//! text ── no comments, texts, tests ──> words ── paths of crate::, super::, self:: ──> module, re-exports followed
//! ```
//!
//! Invariant: a path leads to the deepest module whose file is there; what it names there may be re-exported from a module below.
//! Not here: paths that macros make, and names that a glob brings.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

type Module = Vec<String>;

/// Pairs of modules, user and used. The crate's own file is the empty path.
pub fn of_crate(src: &Path) -> BTreeSet<(Module, Module)> {
    let mut files = BTreeMap::new();
    read(src, &mut Vec::new(), &mut files);
    of_files(&files)
}

/// Collects the words of each module's file, but for programs beside a library and modules of tests.
fn read(folder: &Path, module: &mut Module, files: &mut BTreeMap<Module, Vec<String>>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        if path.is_dir() {
            if name != "bin" {
                module.push(name);
                read(&path, module, files);
                module.pop();
            }
        } else if let Some(stem) = name.strip_suffix(".rs") {
            let is_folder = ["lib", "main", "mod"].contains(&stem);
            let words = words(&fs::read_to_string(&path).unwrap_or_default());
            let own = module.iter().cloned().chain((!is_folder).then(|| stem.to_owned())).collect();
            files.entry(own).or_default().extend(words);
        }
    }
}

fn of_files(files: &BTreeMap<Module, Vec<String>>) -> BTreeSet<(Module, Module)> {
    let is_test = |module: &Module| {
        let is_declared = |at: usize| {
            let parent = files.get(&module[..at]).map(Vec::as_slice).unwrap_or_default();
            parent.windows(3).any(|three| three == ["mod", module[at].as_str(), ";"])
        };
        !(0..module.len()).all(is_declared)
    };
    let modules: BTreeMap<&Module, &Vec<String>> =
        files.iter().filter(|(module, _)| !is_test(module)).collect();
    let exports: BTreeMap<&Module, BTreeMap<String, Module>> =
        modules.iter().map(|(module, words)| (*module, exports(module, words))).collect();
    let mut found = BTreeSet::new();
    for (module, words) in &modules {
        for path in paths(module, words) {
            found.insert(((*module).clone(), place(path, &modules, &exports)));
        }
    }
    found
}

/// The module that has what a path names: the deepest on its way, or that from which it has the name itself.
fn place(
    mut path: Module,
    modules: &BTreeMap<&Module, &Vec<String>>,
    exports: &BTreeMap<&Module, BTreeMap<String, Module>>,
) -> Module {
    // Names that are handed on more often are none of ours; some go round.
    for _ in 0..8 {
        let depth = (0..=path.len()).rev().find(|&depth| modules.contains_key(&path[..depth].to_vec()));
        let (at, rest) = path.split_at(depth.unwrap_or(0));
        let next = rest.first().and_then(|name| exports.get(&at.to_vec())?.get(name));
        match next.filter(|next| !path.starts_with(next)) {
            Some(next) => path = next.iter().chain(&rest[1..]).cloned().collect(),
            None => return at.to_vec(),
        }
    }
    path.truncate(0);
    path
}

/// The words of a file: names, and signs one by one. No comments, no texts, nothing that is for tests.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            '"' => end_of_text(rest),
            'r' if rest.starts_with("r\"") => rest[2..].find('"').map_or(rest.len(), |end| end + 3),
            'r' if rest.starts_with("r#\"") => rest[3..].find("\"#").map_or(rest.len(), |end| end + 5),
            // A character, or the name of a lifetime.
            '\'' => match rest.char_indices().nth(2) {
                Some((end, '\'')) if !rest.starts_with("'\\") => end + 1,
                _ if rest.starts_with("'\\") => rest[3..].find('\'').map_or(rest.len(), |end| end + 4),
                _ => 1,
            },
            _ if first.is_alphanumeric() || first == '_' => {
                let end =
                    rest.find(|next: char| !next.is_alphanumeric() && next != '_').unwrap_or(rest.len());
                words.push(rest[..end].to_owned());
                end
            }
            _ => {
                if !first.is_whitespace() {
                    words.push(first.to_string());
                }
                first.len_utf8()
            }
        };
        rest = &rest[length..];
    }
    without_tests(words)
}

fn end_of_text(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, next) in text.char_indices().skip(1) {
        match next {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Takes off each test, and each item behind a condition that names tests first.
fn without_tests(words: Vec<String>) -> Vec<String> {
    let mut kept = Vec::with_capacity(words.len());
    let mut at = 0;
    while at < words.len() {
        let is = |expected: &[&str]| {
            words[at..].iter().zip(expected).filter(|(word, other)| word == *other).count() == expected.len()
        };
        let conditions: [&[&str]; 4] = [
            &["#", "[", "test", "]"],
            &["#", "[", "cfg", "(", "test"],
            &["#", "[", "cfg", "(", "all", "(", "test"],
            &["#", "[", "cfg", "(", "any", "(", "test"],
        ];
        if conditions.into_iter().any(is) {
            at = end_of_item(&words, at);
        } else {
            kept.push(words[at].clone());
            at += 1;
        }
    }
    kept
}

/// Where the item with its attributes ends: behind a semicolon, or behind its braces.
fn end_of_item(words: &[String], mut at: usize) -> usize {
    let mut depth = 0_usize;
    while let Some(word) = words.get(at) {
        at += 1;
        match word.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => {
                depth = depth.saturating_sub(1);
                if depth == 0 && word == "}" {
                    return at;
                }
            }
            ";" | "," if depth == 0 => return at,
            _ => {}
        }
    }
    at
}

/// Whole paths that begin with `crate`, `super` or `self`, from a module.
fn paths(module: &[String], words: &[String]) -> Vec<Module> {
    let mut found = Vec::new();
    // Modules within the file, each with the depth of its braces.
    let (mut inside, mut depth): (Vec<(String, usize)>, usize) = (Vec::new(), 0);
    for at in 0..words.len() {
        match words[at].as_str() {
            "{" => depth += 1,
            "}" => {
                depth = depth.saturating_sub(1);
                inside.retain(|(_, opened)| *opened < depth + 1);
            }
            "mod" if words.get(at + 2).is_some_and(|word| word == "{") => {
                inside.push((words[at + 1].clone(), depth + 1));
            }
            // What a visibility names is no use.
            "crate" | "super" | "self"
                if is_path(words, at + 1) && (at == 0 || words[at - 1] != "in" && words[at - 1] != ":") =>
            {
                let here = module.iter().cloned().chain(inside.iter().map(|(name, _)| name.clone()));
                tree(words, at, &mut here.collect(), &mut found);
            }
            _ => {}
        }
    }
    found
}

fn is_path(words: &[String], at: usize) -> bool {
    words.get(at).is_some_and(|word| word == ":") && words.get(at + 1).is_some_and(|word| word == ":")
}

/// Reads a path, or several in braces, from `base`; gives the place behind it.
fn tree(words: &[String], mut at: usize, base: &mut Module, found: &mut Vec<Module>) -> usize {
    let length = base.len();
    let mut path = base.clone();
    loop {
        match words.get(at).map(String::as_str) {
            Some("crate") => path.clear(),
            Some("super") => drop(path.pop()),
            Some("self" | "*") => {}
            Some("{") => {
                at += 1;
                while let Some(word) = words.get(at) {
                    match word.as_str() {
                        "}" => break,
                        "," => at += 1,
                        _ => at = tree(words, at, &mut path.clone(), found),
                    }
                }
                base.truncate(length);
                return at + 1;
            }
            Some(name) if name.starts_with(|first: char| first.is_alphabetic() || first == '_') => {
                path.push(name.to_owned())
            }
            _ => break,
        }
        at += 1;
        if !is_path(words, at) {
            break;
        }
        at += 2;
    }
    found.push(path);
    if words.get(at).is_some_and(|word| word == "as") { at + 2 } else { at }
}

/// Names that a module has from modules below it, or beside: what its `use` lines bring, under the names that they end with.
fn exports(module: &[String], words: &[String]) -> BTreeMap<String, Module> {
    let mut found = Vec::new();
    for at in (0..words.len()).filter(|&at| words[at] == "use") {
        tree(words, at + 1, &mut module.to_vec(), &mut found);
    }
    found.into_iter().filter_map(|path| Some((path.last()?.clone(), path))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let module =
            |name: &str| name.split("::").filter(|part| !part.is_empty()).map(str::to_owned).collect();
        let files = files.iter().map(|(name, text)| (module(name), words(text))).collect();
        of_files(&files)
            .iter()
            .map(|(user, used)| format!("{} {}", user.join("::"), used.join("::")))
            .collect()
    }

    #[test]
    fn paths_lead_to_the_file_that_has_what_they_name() {
        let text = "use crate::b::{self, c::{D, E as F}, g}; /* crate::h::x */ fn f() { super::b::y(); \"crate::h\" }";
        let root = "mod a; mod b; mod h; pub use b::Z;";
        let files =
            [("", root), ("a", text), ("b", "mod c; use self::c::D;"), ("b::c", ""), ("h", "use crate::Z;")];
        assert_eq!(found(&files), ["a b", "a b::c", "b b::c", "h b"]);
    }

    #[test]
    fn tests_do_not_count_nor_modules_of_them() {
        let text = "fn f<'a>(x: &'a str) -> char { '\\'' } #[cfg(test)] mod tests { use crate::b::X; } #[cfg(all(test, x))] use crate::b; #[test] fn g() { crate::b::x(); }";
        let files = [
            ("", "mod a; mod b; #[cfg(test)] mod t;"),
            ("a", text),
            ("b", "mod inside { use super::super::a::X; }"),
            ("t", "use crate::a::X;"),
        ];
        assert_eq!(found(&files), ["b a"]);
    }
}
