//! The tests as programs: a small build of our own in place of the C library's.
//!
//! ```text
//! headers/ (ours: as the C library's build would generate them)  ┐
//! installed headers                                           ├─> support.a ─┬─> tst-NAME
//! private headers of the source, last of all (-idirafter)     ┘              └─> tst-NAMEmod.so
//! ```
//!
//! The installed headers come before the private ones, so that a test sees the headers of programs.
//! Flags that the makefiles set for a
//! single file are read there; others are in [`table`].
//!
//! Invariant: a file that is newer than its output is compiled again, and all files are if the headers change.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{side_by_side, stem, table};

/// The folders of tests, below the source.
const FOLDERS: [&str; 3] = ["malloc", "nptl", "sysdeps/pthread"];
/// Headers in place of those that the C library's build has or makes.
const HEADERS: [(&str, &str); 5] = [
    ("prelude.h", include_str!("headers/prelude.h")),
    ("atomic.h", include_str!("headers/atomic.h")),
    ("shlib-compat.h", include_str!("headers/shlib-compat.h")),
    ("config.h", "/* Nothing was configured. */\n"),
    ("libc-config.h", "/* Nothing was configured. */\n"),
];
/// Private headers, each folder after all others.
const PRIVATE: [&str; 17] = [
    "include",
    ".",
    "support",
    "malloc",
    "nptl",
    "sysdeps/unix/sysv/linux/x86_64/64",
    "sysdeps/unix/sysv/linux/x86_64",
    "sysdeps/unix/sysv/linux/x86",
    "sysdeps/x86_64/nptl",
    "sysdeps/x86/nptl",
    "sysdeps/unix/sysv/linux",
    "sysdeps/nptl",
    "sysdeps/pthread",
    "sysdeps/unix",
    "sysdeps/x86_64",
    "sysdeps/x86",
    "sysdeps/generic",
];
/// The folder in which the tests' support library finds files that it does not need here.
const PATHS: [&str; 10] = [
    "SRCDIR_PATH",
    "OBJDIR_PATH",
    "OBJDIR_ELF_LDSO_PATH",
    "INSTDIR_PATH",
    "LIBDIR_PATH",
    "BINDIR_PATH",
    "SBINDIR_PATH",
    "ROOTSBINDIR_PATH",
    "COMPLOCALEDIR_PATH",
    "SLIBDIR_PATH",
];
/// Pieces of the C library that its tests use and that it does not export.
const PIECES: [&str; 4] =
    ["malloc/dynarray_", "malloc/scratch_buffer_", "malloc/alloc_buffer_", "misc/allocate_once"];

/// A test program.
#[derive(Debug, Clone)]
pub struct Test {
    pub name: String,
    pub file: PathBuf,
}

/// The tests of the three folders. Statically linked programs are not served by this project.
pub fn find(source: &Path) -> Result<Vec<Test>, String> {
    let mut tests: Vec<Test> = files(source)?
        .into_iter()
        .map(|file| Test { name: stem(&file), file })
        .filter(|test| is_test(&test.name))
        .collect();
    tests.sort_by(|a, b| a.name.cmp(&b.name));
    if tests.is_empty() { Err(format!("no tests below {}", source.display())) } else { Ok(tests) }
}

fn is_test(name: &str) -> bool {
    let part = ["-static", "-aux", "-skeleton", "-common"].iter().any(|part| name.contains(part));
    let auxiliary = name.ends_with("aux") || table::PARTS.contains(&name);
    (name.starts_with("tst-") || name == "mallocbug") && !part && !auxiliary && !is_module(name)
}

/// A library that a test opens or is linked with: `tst-tls5moda`, `tst-execstack-mod`, `tst-_res1mod2`.
fn is_module(name: &str) -> bool {
    let name = name.trim_end_matches(|last: char| last.is_ascii_digit());
    name.ends_with("mod")
        || name.strip_suffix(['a', 'b', 'c', 'd', 'e', 'f']).is_some_and(|rest| rest.ends_with("mod"))
}

fn files(source: &Path) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    for folder in FOLDERS {
        let folder = source.join(folder);
        let entries = fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let files = entries.flatten().map(|entry| entry.path());
        found.extend(files.filter(|file| file.extension().is_some_and(|ending| ending == "c")));
    }
    Ok(found)
}

/// Compiles the tests and their requirements; returns the failed ones, each with the compiler's first complaint.
pub fn all(
    source: &Path,
    programs: &Path,
    tests: &[Test],
    jobs: usize,
) -> Result<BTreeMap<String, String>, String> {
    let objects = programs.join("objects");
    let headers = programs.join("headers");
    for folder in [&objects, &headers] {
        fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    let mut fresh = true;
    for (name, text) in HEADERS {
        let file = headers.join(name);
        if fs::read_to_string(&file).ok().as_deref() != Some(text) {
            fresh = false;
            fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
        }
    }
    let _ = std::os::unix::fs::symlink(source.join("support"), headers.join("support"));
    // Tests of cancellation open and read the makefile of their working folder.
    let makefile = programs.join("Makefile");
    fs::write(&makefile, "").map_err(|error| format!("{}: {error}", makefile.display()))?;
    let compiler = Compiler { source, programs, headers: &headers, flags: makefile_flags(source), fresh };

    let support = support_files(source)?;
    let made = side_by_side(&support, jobs, |file| {
        let object = objects.join(format!("{}.o", stem(file)));
        compiler.make(file, &object, &["-c"], &[]).map(|()| object)
    });
    // Files that need the C library's internals do not compile; few tests or none use them, and those then fail to link.
    let made: Vec<PathBuf> = made.into_iter().flatten().collect();
    let archive = objects.join("support.a");
    let _ = fs::remove_file(&archive);
    let packed = Command::new("ar").arg("rcs").arg(&archive).args(&made).status();
    if made.is_empty() || !packed.is_ok_and(|status| status.success()) {
        return Err("the support library of the tests could not be made".to_owned());
    }
    println!("{} of {} files of the support library", made.len(), support.len());

    // One after the other: some are linked with others.
    let mut modules: Vec<PathBuf> = files(source)?;
    modules.retain(|file| is_module(&stem(file)));
    modules.sort();
    for file in &modules {
        let shared = programs.join(format!("{}.so", stem(file)));
        if let Err(why) = compiler.make(file, &shared, &["-shared", "-fPIC"], &[]) {
            println!("not compiled {}: {why}", shared.display());
        }
    }
    many_copies(programs)?;

    let results = side_by_side(tests, jobs, |test| {
        let made = compiler.make(&test.file, &programs.join(&test.name), &["-rdynamic"], &[&archive]);
        (test.name.clone(), made)
    });
    Ok(results.into_iter().filter_map(|(name, made)| Some((name, made.err()?))).collect())
}

/// The files of the tests' support library, by the list in its makefile, and other files that tests use.
fn support_files(source: &Path) -> Result<Vec<PathBuf>, String> {
    let folder = source.join("support");
    let text = fs::read_to_string(folder.join("Makefile")).map_err(|error| format!("support: {error}"))?;
    let list = text.split("libsupport-routines =").nth(1).unwrap_or_default();
    let list = list.split("\n\n").next().unwrap_or_default();
    let names = list.split_whitespace().filter(|word| *word != "\\");
    let mut found: Vec<PathBuf> = names.map(|name| folder.join(format!("{name}.c"))).collect();
    for place in ["malloc", "misc"] {
        for entry in fs::read_dir(source.join(place)).into_iter().flatten().flatten() {
            let path = format!("{place}/{}", entry.file_name().to_string_lossy());
            if path.ends_with(".c") && PIECES.iter().any(|piece| path.starts_with(piece)) {
                found.push(entry.path());
            }
        }
    }
    Ok(found)
}

/// `tst-stack4` opens the same library under four hundred names.
fn many_copies(programs: &Path) -> Result<(), String> {
    let from = programs.join("tst-stack4mod.so");
    for at in 0..400 {
        let to = programs.join(format!("tst-stack4mod-{}-{}.so", at / 20, at % 20));
        if from.exists() && !to.exists() {
            fs::copy(&from, &to).map_err(|error| format!("{}: {error}", to.display()))?;
        }
    }
    Ok(())
}

struct Compiler<'a> {
    source: &'a Path,
    programs: &'a Path,
    headers: &'a Path,
    flags: BTreeMap<String, Vec<String>>,
    /// Whether the headers are those of the last build.
    fresh: bool,
}

impl Compiler<'_> {
    fn make(&self, file: &Path, to: &Path, how: &[&str], link: &[&Path]) -> Result<(), String> {
        let time = |path: &Path| fs::metadata(path).and_then(|data| data.modified()).ok();
        if self.fresh && time(to).is_some_and(|made| time(file).is_some_and(|written| written <= made)) {
            return Ok(());
        }
        let name = stem(file);
        let special = table::special(&name);
        let folder = file.parent().unwrap_or(self.source);
        let mut call = Command::new("gcc");
        call.args(["-w", "-O2", "-g1", "-std=gnu11", "-fgnu89-inline", "-D_GNU_SOURCE", "-U_FORTIFY_SOURCE"]);
        call.arg("-DTEST_NO_MALLOPT").arg("-include").arg(self.headers.join("prelude.h"));
        call.args(PATHS.iter().map(|path| format!("-D{path}=\"/\""))).arg("-I").arg(self.headers);
        for private in PRIVATE {
            call.arg("-idirafter").arg(self.source.join(private));
        }
        call.args(how).args(self.flags.get(&name).into_iter().flatten()).args(special.flags);
        call.arg(file).arg("-o").arg(to);
        call.args(special.sources.iter().map(|other| folder.join(other))).args(link);
        call.args(special.libraries.iter().map(|library| self.programs.join(library)));
        if !how.contains(&"-c") {
            call.args(["-lpthread", "-lrt", "-ldl"]);
            if special.flags.contains(&"-lstdc++") {
                call.arg("-lstdc++");
            }
        }
        // Files are found relative to their source, as in the C library's build.
        let done = call.current_dir(folder).stdin(Stdio::null()).output();
        let done = done.map_err(|error| format!("gcc: {error}"))?;
        if done.status.success() {
            return Ok(());
        }
        let _ = fs::remove_file(to);
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        let is_complaint = |line: &&str| line.contains("error") || line.contains("undefined");
        Err(said.lines().find(is_complaint).or(said.lines().last()).unwrap_or("gcc failed").to_owned())
    }
}

/// The flags that the makefiles set for single files, by the file's name without its extension: `CFLAGS-NAME.c += -fexceptions`,
/// `LDFLAGS-NAME = -Wl,-z,lazy`. A line with variables is skipped.
fn makefile_flags(source: &Path) -> BTreeMap<String, Vec<String>> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for folder in FOLDERS {
        let text = fs::read_to_string(source.join(folder).join("Makefile")).unwrap_or_default();
        for (name, flags) in text.lines().filter_map(flags_of_line) {
            found.entry(name.to_owned()).or_default().extend(flags);
        }
    }
    found
}

fn flags_of_line(line: &str) -> Option<(&str, Vec<String>)> {
    let rest = line.strip_prefix("CFLAGS-").or_else(|| line.strip_prefix("LDFLAGS-"))?;
    let (name, flags) = rest.split_once('=')?;
    let name = name.trim_end_matches([' ', '+', ':']);
    let name = [".c", ".so", ".o"].iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name);
    let wanted = !flags.contains('$') && (name.starts_with("tst-") || name == "timespec");
    // A flag for another standard of C++ does not compile C.
    let flags = flags.split_whitespace().filter(|flag| {
        !flag.starts_with("-std=gnu++") && !flag.starts_with("-W") || flag.starts_with("-Wl,")
    });
    wanted.then(|| (name, flags.map(str::to_owned).collect()))
}

#[cfg(test)]
mod tests {
    use super::{flags_of_line, is_module, is_test};

    #[test]
    fn modules_are_no_tests() {
        for name in ["tst-tls5moda", "tst-execstack-mod", "tst-_res1mod2", "tst-fini1mod"] {
            assert!(is_module(name) && !is_test(name), "{name}");
        }
        for name in
            ["tst-key2", "tst-mutex8", "mallocbug", "tst-cancel4_1", "tst-robust8", "tst-cnd-timedwait"]
        {
            assert!(is_test(name), "{name}");
        }
        for name in ["tst-mutex8-static", "tst-cleanup4aux", "tst-interpose-skeleton", "malloc"] {
            assert!(!is_test(name), "{name}");
        }
    }

    #[test]
    fn flags_of_single_files_are_read() {
        let read = |line| flags_of_line(line).map(|(name, flags)| (name.to_owned(), flags.join(" ")));
        let is = |name: &str, flags: &str| Some((name.to_owned(), flags.to_owned()));
        assert_eq!(read("CFLAGS-tst-cancelx7.c += -fexceptions"), is("tst-cancelx7", "-fexceptions"));
        assert_eq!(read("LDFLAGS-tst-tls5mod.so = -Wl,-soname,a"), is("tst-tls5mod", "-Wl,-soname,a"));
        assert_eq!(read("CFLAGS-tst-a.c = $(x)"), None);
        assert_eq!(read("CFLAGS-pthread_exit.c += -fexceptions"), None);
    }
}
