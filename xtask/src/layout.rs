//! `cargo xtask layout`: the functions that a run passes through, and the data that a start touches, so that the linker can place them
//! together.
//!
//! ```text
//! underbar run -- true     ─┐                                          ┌─> host/cli/layout.ld         the command
//!                           ├─ under callgrind ──> names of functions ─┤                                            build.rs, nested.rs
//! layout/program.c          ─┘                                         └─> crates/preload/layout.ld   the library     give it to the linker
//!   linked with the library
//! ```
//!
//! The kernel maps code in pieces of 64 KiB when it is first touched, which takes some microseconds each time, and counts as the process's
//! memory. Of the command's six megabytes a run needs some 200 kilobytes, of the library's 600 most programs need 160. `data` has the
//! library's data.
//!
//! Invariant: the names in the files change the places of functions, and nothing else; a name without a function is
//! ignored. So they need not be made anew with each change, only when a run takes longer or more memory.
//! Not here: the gain (`cargo xtask bench command`, `cargo xtask bench heap`).

mod data;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::steps::{cargo, command, root, step, succeeds, target};

/// Counts the functions of runs and writes the files.
pub fn write() -> bool {
    let build = ["build", "--release", "--package", "underbar-cli"];
    if !step("cargo build --release", || succeeds(&mut cargo(&build))) {
        return false;
    }
    let folder = target().join("layout");
    let written = fs::create_dir_all(&folder).and_then(|()| {
        let underbar = target().join("release/underbar").display().to_string();
        let run: Vec<&str> = vec![&underbar, "run", "--", "true"];
        // The first run of a build also writes the library to where later ones find it.
        if !succeeds(&mut command(&underbar, &run[1..])) {
            return Err(io::Error::other("the first run failed"));
        }
        of_command(&folder, &underbar, &run).and_then(|()| of_library(&folder, &underbar))
    });
    if let Err(error) = &written {
        println!("layout: {error}");
    }
    let _ = fs::remove_dir_all(folder);
    written.is_ok()
}

/// The functions of the command.
fn of_command(folder: &Path, underbar: &str, run: &[&str]) -> io::Result<()> {
    let counts = counted(folder, &[], run)?;
    let functions = passed(&counts, underbar);
    save("host/cli/layout.ld", &script("`underbar run -- true`", &BTreeSet::new(), &functions))
}

/// The functions of the library. Valgrind is not preloaded into: the program is linked with the library, and gets its accounts from a run.
fn of_library(folder: &Path, underbar: &str) -> io::Result<()> {
    let built = built_library().ok_or_else(|| io::Error::other("the preload library was not found"))?;
    let library = folder.join("libunderbar.so");
    fs::copy(built, &library)?;
    let (library, program) = (library.display().to_string(), folder.join("program").display().to_string());
    let source = root().join("xtask/src/layout/program.c").display().to_string();
    let rpath = format!("-Wl,-rpath,{}", folder.display());
    if !succeeds(&mut command("cc", &["-O1", "-pthread", "-o", &program, &source, &library, &rpath])) {
        return Err(io::Error::other("cc failed"));
    }
    let before = [underbar, "run", "-q", "--", "env", "-u", "LD_PRELOAD"];
    let counts = counted(folder, &before, &[&program])?;
    let counts_of_start = counted(folder, &before, &[&program, "start"])?;
    let first_requests = ["calloc", "new"].map(|first| counted(folder, &before, &[&program, first]));
    let first_requests = first_requests.into_iter().collect::<io::Result<Vec<String>>>()?;
    let symbols = command("nm", &["--defined-only", &library]).output()?;
    let symbols = String::from_utf8_lossy(&symbols.stdout);
    let mut functions = passed(&counts, &library);
    first_requests.iter().for_each(|counts| functions.extend(passed(counts, &library)));
    let functions = with_aliases(functions, &symbols);
    let of_start = with_aliases(passed(&counts_of_start, &library), &symbols);
    let data = data::touched(folder, &before, &program, Path::new(&library))?;
    save(
        "crates/preload/layout.ld",
        &(script("`xtask/src/layout/program.c`", &of_start, &functions) + &data::script(&data)),
    )
}

/// With all names of these functions, as `nm` lists them: a section has the name of one of them.
fn with_aliases<'a>(functions: BTreeSet<&'a str>, symbols: &'a str) -> BTreeSet<&'a str> {
    let of = |line: &'a str| {
        line.split_once(' ').and_then(|(address, rest)| Some((address, rest.split_once(' ')?.1)))
    };
    let passed = symbols.lines().filter_map(of).filter(|(_, name)| functions.contains(name));
    let addresses: BTreeSet<&str> = passed.map(|(address, _)| address).collect();
    let all = symbols.lines().filter_map(of).filter(|(address, _)| addresses.contains(address));
    all.map(|(_, name)| name).chain(functions.iter().copied()).collect()
}

/// The library with its names of functions, as the build of the command left it.
fn built_library() -> Option<PathBuf> {
    let folders = fs::read_dir(target().join("preload-library")).ok()?;
    let files = folders.flatten().map(|folder| folder.path().join("preload/libunderbar_preload.so"));
    files
        .filter(|file| file.is_file())
        .max_by_key(|file| fs::metadata(file).and_then(|about| about.modified()).ok())
}

/// Callgrind's counts of a program.
fn counted(folder: &Path, before: &[&str], run: &[&str]) -> io::Result<String> {
    let file = folder.join("counts");
    let out = format!("--callgrind-out-file={}", file.display());
    let words = [before, &["valgrind", "--quiet", "--tool=callgrind", "--demangle=no", &out], run].concat();
    let Some((first, rest)) = words.split_first() else { return Err(io::Error::other("nothing to run")) };
    if !succeeds(&mut command(first, rest)) {
        return Err(io::Error::other(format!("{} failed", words.join(" "))));
    }
    fs::read_to_string(&file)
}

/// Writes a script for the linker.
fn save(name: &str, script: &str) -> io::Result<()> {
    let file = root().join(name);
    fs::write(&file, script)?;
    println!("written: {}", file.display());
    Ok(())
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
                // Callgrind knows no object for code outside `.text`: where these scripts have put functions already.
                let is_ours = object == program || object == "???";
                is_in_program = if key == "ob" { is_ours } else { is_in_program };
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

/// The linker's script: sections of these functions before all other code, those of a start first, since most processes that a shell
/// starts need no others.
fn script(of: &str, of_start: &BTreeSet<&str>, functions: &BTreeSet<&str>) -> String {
    let is_name = |name: &&&str| name.starts_with(|first: char| first.is_ascii_lowercase() || first == '_');
    let patterns_of = |functions: &BTreeSet<&str>| -> BTreeSet<String> {
        functions.iter().filter(is_name).map(|name| without_hashes(name)).collect()
    };
    let first = patterns_of(of_start);
    let later: BTreeSet<String> = patterns_of(functions).difference(&first).cloned().collect();
    // Those that are marked as cold have a prefix: they are as much a part of a run.
    let places = ["", "unlikely."];
    let sections_of = |patterns: &BTreeSet<String>| -> String {
        let sections = places
            .iter()
            .flat_map(|prefix| patterns.iter().map(move |name| format!("    *(.text.{prefix}{name})\n")));
        sections.collect()
    };
    let sections = sections_of(&first) + &sections_of(&later);
    // The C compiler's own functions of a library, which run at its start and end, and their way to the C library.
    let (plt, own) =
        if first.is_empty() { ("", "") } else { ("  .plt : { *(.plt) }\n", "    *crtbegin*(.text)\n") };
    format!(
        "/* Functions that {of} passes through. Written by `cargo xtask layout`. */\n\
         SECTIONS\n{{\n{plt}  .text.run :\n  {{\n{own}{sections}  }}\n}}\nINSERT BEFORE .text;\n"
    )
}

/// A mangled name with `*` for the parts that change from one build to the next: at the end of a name of the older form, after
/// each crate's `Cs` in the newer one.
fn without_hashes(name: &str) -> String {
    // A part of a static has a number after it.
    if let Some((rest, hash)) = name.rsplit_once("17h")
        && hash.as_bytes().get(16) == Some(&b'E')
    {
        return format!("{rest}17h*");
    }
    // The compiler numbers copies that it made of a function.
    let name = match name.rsplit_once('.') {
        Some((rest, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => rest,
        _ => name,
    };
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
ob=(3) ???
fn=(6) _ZN8underbar4laid17h0123456789abcdefE
";

    #[test]
    fn functions_of_the_program_are_found_once() {
        let passed = passed(COUNTS, "/b/underbar");
        let expect = [
            "(below main)",
            "_RNvCskdGyXx1Abc_3std4main",
            "_ZN8underbar4laid17h0123456789abcdefE",
            "_ZN8underbar7command17h0123456789abcdefE",
        ];
        assert_eq!(passed.into_iter().collect::<Vec<_>>(), expect);
    }

    #[test]
    fn hashes_give_way_and_other_names_are_left_out() {
        let first = BTreeSet::from(["_ZN8underbar7command17h0123456789abcdefE"]);
        let script = script("a run", &first, &passed(COUNTS, "/b/underbar"));
        assert!(script.contains(
            "    *(.text._ZN8underbar7command17h*)\n    *(.text.unlikely._ZN8underbar7command17h*)\n    *(.text._RNvCs*_3std4main)\n    *(.text._ZN8underbar4laid17h*)\n    *(.text.unlikely._RN"
        ));
        assert!(!script.contains("below"), "{script}");
        assert_eq!(without_hashes("_RNvNtCs_4Csx"), "_RNvNtCs_4Csx", "no hash");
        assert_eq!(without_hashes("_ZN3a17hxE"), "_ZN3a17hxE");
        assert_eq!(without_hashes("_RNvCs9abcdefgh1_1a4kind.6721"), "_RNvCs*_1a4kind");
    }

    #[test]
    fn a_function_has_all_of_its_names() {
        let symbols =
            "00000000000581c0 T __libc_malloc\n00000000000581c0 T malloc\n0000000000058200 t other\n";
        let found = with_aliases(BTreeSet::from(["malloc", "gone"]), symbols);
        assert_eq!(found.into_iter().collect::<Vec<_>>(), ["__libc_malloc", "gone", "malloc"]);
    }
}
