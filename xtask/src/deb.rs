//! `cargo xtask deb`: packages for Debian and its kin. `underbar` has the command, `underbar-dev` (with `--dev`) what C and C++ programs
//! are built with.
//!
//! ```text
//! install::Tree ──> target/deb/NAME/usr ──┐
//! control, md5sums, copyright, changes ───┴─ dpkg-deb ──> target/deb/NAME_VERSION_ARCHITECTURE.deb
//! ```
//!
//! Invariant: the same command gives the same bytes. All times are SOURCE_DATE_EPOCH, or that of the last commit; all owners are root; files
//! are in order of their names; permissions do not depend on the umask.
//! What is absent: scripts. Nothing runs at installation or removal.

use std::fmt::Write as _;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::install::{Asked, Tree, packed, sorted, version};
use crate::steps::{cargo, command, output, root, step, succeeds, target};

const USAGE: &str = "cargo xtask deb [--dev] [--fast] [--command FILE] [--out FOLDER]";

/// The packager, if DEBFULLNAME and DEBEMAIL do not name one.
const MAINTAINER: &str = "The underbar developers <underbar@example.org>";

/// The name of a package, its section, and its description in the form of Debian: a line, then paragraphs with a space before each line.
struct Kind {
    name: &'static str,
    section: &'static str,
    about: &'static str,
    explained: &'static str,
}

const RUNTIME: Kind = Kind {
    name: "underbar",
    section: "utils",
    about: "run-time environment with accounts of heap, locks and stacks",
    explained: " Runs any program with accounts of its heap, locks, thread stacks and\n entries to the kernel, and reports on them when it has ended. Advice for\n its options comes with evidence, and is tried in paired runs.\n .\n The command is one file: all that a run needs is in it.\n",
};

const DEVELOPMENT: Kind = Kind {
    name: "underbar-dev",
    section: "libdevel",
    about: "run-time environment with accounts - C and C++ development files",
    explained: " The headers for heaps, ECBs, simple locks and program fetch, and the\n libraries with which a program has the runtime in itself. pkg-config and\n CMake find both.\n",
};

/// Makes the packages.
pub fn make(words: &[&str]) -> Result<bool, String> {
    let is_fast = words.contains(&"--fast");
    let words: Vec<&str> = words.iter().copied().filter(|word| *word != "--fast").collect();
    let asked = Asked::parse(&words, "--out").ok_or(USAGE)?;
    let folder = asked.folder.map_or_else(|| root().join(target()).join("deb"), |folder| root().join(folder));
    let built = asked.command()?;
    let pack = Pack {
        folder,
        architecture: printed("dpkg", &["--print-architecture"])?,
        libraries: format!("lib/{}-linux-gnu", std::env::consts::ARCH),
        time: time()?,
        is_fast,
    };
    step("package underbar", || {
        let mut tree = pack.tree(&RUNTIME)?;
        tree.runtime(&built)?;
        tree.add("share/lintian/overrides/underbar", OVERRIDES.as_bytes(), 0o644)?;
        let depends = format!("Depends: libc6 (>= {})\n", needed_libc(&built)?);
        pack.close(&RUNTIME, &mut tree, &depends)
    })?;
    if asked.dev {
        step("package underbar-dev", || {
            let mut tree = pack.tree(&DEVELOPMENT)?;
            tree.development()?;
            let depends = format!("Depends: libc6-dev\nSuggests: underbar (= {})\n", version());
            pack.close(&DEVELOPMENT, &mut tree, &depends)
        })?;
    }
    Ok(true)
}

/// The command keeps its names, by which profiles name functions; the lines of source are not in it (`release`). It is linked to fixed
/// addresses, for a shorter start.
const OVERRIDES: &str = "underbar: unstripped-binary-or-object [usr/bin/underbar]\nunderbar: hardening-no-pie [usr/bin/underbar]\n";

/// What is the same for all packages of a call.
struct Pack {
    folder: PathBuf,
    architecture: String,
    libraries: String,
    /// Seconds since 1970.
    time: String,
    /// Without compression, for tests.
    is_fast: bool,
}

impl Pack {
    /// An empty folder for a package's files.
    fn tree(&self, kind: &Kind) -> Result<Tree, String> {
        let folder = self.folder.join(kind.name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(Tree {
            folder: folder.join("usr"),
            prefix: "/usr".to_owned(),
            libraries: self.libraries.clone(),
            zsh: "share/zsh/vendor-completions",
            files: Vec::new(),
        })
    }

    /// Adds what Debian wants of every package, and packs it.
    fn close(&self, kind: &Kind, tree: &mut Tree, depends: &str) -> Result<(), String> {
        let documents = format!("share/doc/{}", kind.name);
        for name in ["LICENSE-APACHE", "LICENSE-MIT"] {
            // Their texts are in the file `copyright`, and Apache's in every Debian.
            let _ = fs::remove_file(tree.folder.join(&documents).join(name));
            tree.files.retain(|file| file != &format!("{documents}/{name}"));
        }
        tree.add(&format!("{documents}/copyright"), copyright()?.as_bytes(), 0o644)?;
        let changes = self.folder.join("changelog");
        fs::write(&changes, self.changes(kind)?)
            .map_err(|error| format!("{}: {error}", changes.display()))?;
        tree.add(&format!("{documents}/changelog.gz"), &packed(&changes)?, 0o644)?;
        let folder = self.folder.join(kind.name);
        let size = installed_size(&folder)?;
        let control = format!(
            "Package: {}\nVersion: {}\nArchitecture: {}\nMaintainer: {}\nInstalled-Size: {size}\n{depends}\
             Section: {}\nPriority: optional\nDescription: {}\n{}",
            kind.name,
            version(),
            self.architecture,
            maintainer(),
            kind.section,
            kind.about,
            kind.explained,
        );
        let mut names: Vec<String> = tree.files.iter().map(|name| format!("usr/{name}")).collect();
        names.sort();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let sums = output(command("md5sum", &names).current_dir(&folder)).ok_or("no md5sum")?;
        let about = folder.join("DEBIAN");
        let written = fs::create_dir_all(&about)
            .and_then(|()| fs::write(about.join("control"), control))
            .and_then(|()| fs::write(about.join("md5sums"), sums));
        written.map_err(|error| format!("{}: {error}", about.display()))?;
        settle(&folder)?;
        let file = self.folder.join(format!("{}_{}_{}.deb", kind.name, version(), self.architecture));
        let [from, to] = [&folder, &file].map(|path| path.to_str().unwrap_or_default());
        let packing = if self.is_fast { "-Znone" } else { "-Zxz" };
        let words = ["--root-owner-group", packing, "--threads-max=1", "--build", from, to];
        if !succeeds(command("dpkg-deb", &words).env("SOURCE_DATE_EPOCH", &self.time)) {
            return Err("dpkg-deb failed".to_owned());
        }
        println!("{}", file.display());
        Ok(())
    }

    /// The changes in the form of Debian: the one entry points to the project's own list.
    fn changes(&self, kind: &Kind) -> Result<String, String> {
        let day = printed("date", &["--utc", "-R", "-d", &format!("@{}", self.time)])?;
        Ok(format!(
            "{} ({}) unstable; urgency=medium\n\n  * The changes are in CHANGELOG.md of the project.\n\n -- {}  {day}\n",
            kind.name,
            version(),
            maintainer()
        ))
    }
}

fn maintainer() -> String {
    match (std::env::var("DEBFULLNAME"), std::env::var("DEBEMAIL")) {
        (Ok(name), Ok(address)) => format!("{name} <{address}>"),
        _ => MAINTAINER.to_owned(),
    }
}

/// The time of all files.
fn time() -> Result<String, String> {
    match std::env::var("SOURCE_DATE_EPOCH") {
        Ok(time) => Ok(time),
        Err(_) => printed("git", &["log", "-1", "--format=%ct"]),
    }
}

/// What a program prints, without the end of the line.
fn printed(program: &str, words: &[&str]) -> Result<String, String> {
    let printed = output(&mut command(program, words)).ok_or_else(|| format!("{program} failed"))?;
    Ok(printed.trim().to_owned())
}

/// The newest version of the C library of which the command needs a symbol. The preload library in it names none.
fn needed_libc(built: &Path) -> Result<String, String> {
    let path = built.to_str().ok_or("the command's path is no text")?;
    let text = printed("readelf", &["--version-info", "--wide", path])?;
    newest_libc(&text).ok_or_else(|| format!("{path} needs no version of the C library"))
}

fn newest_libc(text: &str) -> Option<String> {
    let numbers = text.split("GLIBC_").skip(1).filter_map(|rest| {
        let number = rest.split(|letter: char| !letter.is_ascii_digit() && letter != '.').next()?;
        number.split('.').map(|part| part.parse().ok()).collect::<Option<Vec<u32>>>()
    });
    let newest = numbers.max()?;
    Some(newest.iter().map(u32::to_string).collect::<Vec<_>>().join("."))
}

/// The licence of the project, and the names and licences of the libraries in the command.
fn copyright() -> Result<String, String> {
    let words = ["tree", "--package", "underbar-cli", "--edges", "normal", "--prefix", "none", "--offline"];
    let tree = output(cargo(&words).args(["--format", "{p}\t{l}"])).ok_or("cargo tree failed")?;
    // A package of this workspace has its folder behind its name, and a macro says so: it is not in the command.
    let lines = tree.lines().map(|line| line.trim_end_matches(" (*)"));
    let mut others: Vec<&str> = lines.filter(|line| !line.contains(" (")).collect();
    others.sort_unstable();
    others.dedup();
    let mit = fs::read_to_string(root().join("LICENSE-MIT")).map_err(|error| error.to_string())?;
    let mut text = String::from(
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n\
         Upstream-Name: underbar\n\
         Comment:\n The command contains these libraries, under one of the licences given:\n",
    );
    for line in others {
        let _ = writeln!(text, "  {}", line.replace('\t', ": "));
    }
    text += "\nFiles: *\nCopyright: The underbar developers\nLicense: Apache-2.0 or MIT\n\n\
             License: Apache-2.0\n On Debian systems the text of this licence is in /usr/share/common-licenses/Apache-2.0.\n\n\
             License: MIT\n";
    for line in mit.lines() {
        let _ = writeln!(text, " {}", if line.trim().is_empty() { "." } else { line.trim_end() });
    }
    Ok(text)
}

/// Kibibytes of all files, each in whole ones, and one for each folder.
fn installed_size(folder: &Path) -> Result<u64, String> {
    let mut sum = 1;
    for path in sorted(folder)? {
        let status = fs::metadata(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        sum += if status.is_dir() { installed_size(&path)? } else { status.len().div_ceil(1024) };
    }
    Ok(sum)
}

/// Gives all folders, and files without the right to execute, the permissions of the system's own.
fn settle(folder: &Path) -> Result<(), String> {
    let set = |path: &Path, mode| {
        fs::set_permissions(path, Permissions::from_mode(mode))
            .map_err(|error| format!("{}: {error}", path.display()))
    };
    set(folder, 0o755)?;
    for path in sorted(folder)? {
        if path.is_dir() {
            settle(&path)?;
        } else if !path.ends_with("bin/underbar") {
            set(&path, 0o644)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::newest_libc;

    #[test]
    fn versions_of_the_c_library_are_compared_as_numbers() {
        let text = "Name: GLIBC_2.9  Flags: none\nName: GLIBC_2.34\nName: GLIBC_2.2.5\nName: GLIBC_PRIVATE\n";
        assert_eq!(newest_libc(text).as_deref(), Some("2.34"));
        assert_eq!(newest_libc("Name: GCC_3.0"), None);
    }
}
