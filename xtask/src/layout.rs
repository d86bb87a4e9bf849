//! `cargo xtask layout`: the functions that a run of a program calls, so that the linker can place them together.
//!
//! ```text
//! underbar run -- true, under callgrind ──> names of functions ──> host/cli/layout.ld ──> build.rs gives it to the linker
//! ```
//!
//! The kernel maps code in pieces of 64 KiB when it is first touched, which takes some microseconds each time. The functions of
//! a run are some 200 kilobytes, and without this file they are spread over six megabytes.
//!
//! Invariant: the names in the file change the places of functions, and nothing else; a name without a function is
//! ignored. So it need not be made anew with each change, only when a run takes longer.
//! Not here: the gain (`cargo xtask bench command`).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::steps::{cargo, command, root, step, succeeds, target};

/// Counts the functions of a run and writes the file.
pub fn write() -> bool {
    let build = ["build", "--release", "--package", "underbar-cli"];
    if !step("cargo build --release", || succeeds(&mut cargo(&build))) {
        return false;
    }
    let (program, counts) = (target().join("release/underbar"), target().join("layout.callgrind"));
    let program = program.display().to_string();
    let out = format!("--callgrind-out-file={}", counts.display());
    let words = ["--quiet", "--tool=callgrind", "--demangle=no", &out, &program, "run", "--", "true"];
    if !succeeds(&mut command("valgrind", &words)) {
        return false;
    }
    let file = root().join("host/cli/layout.ld");
    let written =
        fs::read_to_string(&counts).and_then(|counts| fs::write(&file, script(&passed(&counts, &program))));
    match written {
        Ok(()) => println!("written: {}", file.display()),
        Err(error) => println!("{}: {error}", file.display()),
    }
    let _ = fs::remove_file(counts);
    true
}

/// Names of a program's functions in callgrind's file, which has a name once, and its number afterwards.
fn passed<'a>(counts: &'a str, program: &str) -> BTreeSet<&'a str> {
    let (mut objects, mut functions) = (BTreeMap::new(), BTreeMap::new());
    let (mut is_in_program, mut passed) = (false, BTreeSet::new());
    for line in counts.lines() {
        let Some((key, value)) = line.split_once('=') else { continue };
        match key {
            "ob" | "cob" => {
                let object = named(&mut objects, value);
                is_in_program = if key == "ob" { object == program } else { is_in_program };
            }
            "fn" | "cfn" => {
                let function = named(&mut functions, value);
                if key == "fn" && is_in_program {
                    // After the quote: the depth of recursion.
                    passed.insert(function.split('\'').next().unwrap_or(function));
                }
            }
            _ => {}
        }
    }
    passed
}

/// The name in `(12) name`, or the earlier one of the number.
fn named<'a>(names: &mut BTreeMap<&'a str, &'a str>, value: &'a str) -> &'a str {
    match value.split_once(' ') {
        Some((number, name)) => {
            names.insert(number, name);
            name
        }
        None => names.get(value).copied().unwrap_or_default(),
    }
}

/// The linker's script: sections of these functions before all other code.
fn script(functions: &BTreeSet<&str>) -> String {
    let is_mangled = |name: &&&str| name.starts_with("_ZN") || name.starts_with("_R");
    let patterns: BTreeSet<String> =
        functions.iter().filter(is_mangled).map(|name| without_hashes(name)).collect();
    let sections: String = patterns.iter().map(|name| format!("    *(.text.{name})\n")).collect();
    format!(
        "/* Functions that `underbar run -- true` passes through. Written by `cargo xtask layout`. */\n\
         SECTIONS\n{{\n  .text.run :\n  {{\n{sections}  }}\n}}\nINSERT BEFORE .text;\n"
    )
}

/// A mangled name with `*` for the parts that change from one build to the next: at the end of a name of the older form, after
/// each crate's `Cs` in the newer one.
fn without_hashes(name: &str) -> String {
    if let Some((rest, hash)) = name.rsplit_once("17h")
        && hash.len() == 17
        && hash.ends_with('E')
    {
        return format!("{rest}17h*");
    }
    let mut pieces = name.split("Cs");
    let mut pattern = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (hash, rest) = piece.split_once('_').unwrap_or(("", piece));
        let is_hash = (9..=13).contains(&hash.len()) && hash.bytes().all(|byte| byte.is_ascii_alphanumeric());
        pattern += "Cs";
        pattern += &if is_hash { format!("*_{rest}") } else { piece.to_owned() };
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNTS: &str = "\
version: 1
ob=(1) /usr/lib/libc.so.6
fn=(1) malloc
ob=(2) /b/underbar
fn=(2) _ZN8underbar7command17h0123456789abcdefE
12 3
cob=(1)
cfn=(3) free
calls=1 0
fn=(4) _RNvCskdGyXx1Abc_3std4main'2
fn=(2)
ob=(1)
fn=(3)
ob=(2)
fn=(5) (below main)
";

    #[test]
    fn functions_of_the_program_are_found_once() {
        let passed = passed(COUNTS, "/b/underbar");
        let expect =
            ["(below main)", "_RNvCskdGyXx1Abc_3std4main", "_ZN8underbar7command17h0123456789abcdefE"];
        assert_eq!(passed.into_iter().collect::<Vec<_>>(), expect);
    }

    #[test]
    fn hashes_give_way_and_other_names_are_left_out() {
        let script = script(&passed(COUNTS, "/b/underbar"));
        assert!(
            script.contains("    *(.text._RNvCs*_3std4main)\n    *(.text._ZN8underbar7command17h*)\n  }")
        );
        assert!(!script.contains("below"), "{script}");
        assert_eq!(without_hashes("_RNvNtCs_4Csx"), "_RNvNtCs_4Csx", "no hash");
        assert_eq!(without_hashes("_ZN3a17hxE"), "_ZN3a17hxE");
    }
}
