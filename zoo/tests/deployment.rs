//! What users install: the package for Debian in a root of its own, and headers and libraries that pkg-config and CMake find.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use underbar_zoo::{left, scratch, skip, text, underbar};

/// As large as the command may be.
const MOST_BYTES: u64 = 15_000_000;

/// Whether the program is on the path.
fn is_there(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// True if all of them are there; otherwise reports the skip.
fn are_there_or_skips(programs: &[&str], what: &str) -> bool {
    let missing: Vec<&str> = programs.iter().copied().filter(|program| !is_there(program)).collect();
    if !missing.is_empty() {
        skip(&format!("{what}: needs {}", missing.join(", ")));
    }
    missing.is_empty()
}

/// Runs a task of the project.
fn xtask(words: &[&str]) {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let done = Command::new(cargo)
        .args(["run", "--quiet", "--package", "xtask", "--"])
        .args(words)
        .env("SOURCE_DATE_EPOCH", "1700000000")
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
        .output()
        .expect("cargo");
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(done.status.success(), "{words:?}: {}{}", said(&done.stdout), said(&done.stderr));
}

/// Standard output of a program that must succeed without a complaint.
fn printed(command: &mut Command) -> String {
    let left = left(command.env_remove("LD_PRELOAD").env_remove("UNDERBAR_OPTS"));
    assert!(left.status.success() && left.error.is_empty(), "{command:?}: {left:?}");
    left.output
}

/// The one package in the folder.
fn package(folder: &Path) -> PathBuf {
    let entries = fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path());
    let mut packages = entries.filter(|path| path.extension().is_some_and(|ending| ending == "deb"));
    packages.next().expect("a package")
}

#[test]
fn the_package_runs_from_a_clean_root() {
    if !are_there_or_skips(&["dpkg-deb", "gzip", "man", "bash"], "the package") {
        return;
    }
    let folder = scratch("deployment-package");
    // Twice, into folders of different names, under different masks: the same bytes.
    let packages = ["one", "another"].map(|name| {
        let out = folder.join(name);
        xtask(&["deb", "--fast", "--command", text(underbar()), "--out", text(&out)]);
        fs::read(package(&out)).expect("the package")
    });
    assert!(packages[0] == packages[1], "not reproducible");
    let package = package(&folder.join("one"));
    let fields = printed(Command::new("dpkg-deb").args(["--field", text(&package)]));
    for field in ["Package: underbar\n", "Depends: libc6 (>= 2.", "Installed-Size: "] {
        assert!(fields.contains(field), "{fields}");
    }
    let contents = printed(Command::new("dpkg-deb").args(["--contents", text(&package)]));
    assert!(contents.lines().all(|line| line.contains(" root/root ")), "{contents}");

    let clean = folder.join("root");
    printed(Command::new("dpkg-deb").args(["--extract", text(&package), text(&clean)]));
    let command = clean.join("usr/bin/underbar");
    let status = fs::metadata(&command).expect("the command");
    assert_eq!(status.permissions().mode() & 0o7777, 0o755);
    if std::env::var_os("UNDERBAR_BIN").is_some() {
        assert!(status.len() <= MOST_BYTES, "the command has {} bytes", status.len());
    }
    // The command is all that a run needs, and the first run of a user finds nothing of an earlier one.
    let home = folder.join("home");
    fs::create_dir(&home).expect("a folder");
    let run = left(
        Command::new(&command)
            .args(["run", "--json", "-o", "-", "--", "/bin/true"])
            .env_clear()
            .env("HOME", &home)
            .env("XDG_CACHE_HOME", home.join("cache"))
            .env("PATH", "/usr/bin:/bin"),
    );
    assert!(run.status.success() && run.error.is_empty(), "{run:?}");
    let report: serde_json::Value = serde_json::from_str(&run.output).expect("a report");
    assert_eq!(report["processes"].as_array().map(Vec::len), Some(1), "{}", run.output);

    let share = clean.join("usr/share");
    for (page, words) in [("underbar.1.gz", "SYNOPSIS"), ("underbar-run.1.gz", "--opts")] {
        let page = share.join("man/man1").join(page);
        let shown =
            printed(Command::new("man").args(["-l", text(&page)]).env("MANPAGER", "cat").env("LC_ALL", "C"));
        assert!(shown.contains(words), "{shown}");
    }
    for (shell, script) in [
        ("bash", "bash-completion/completions/underbar"),
        ("zsh", "zsh/vendor-completions/_underbar"),
        ("fish", "fish/vendor_completions.d/underbar.fish"),
    ] {
        if is_there(shell) {
            assert_eq!(printed(Command::new(shell).args(["-n", text(&share.join(script))])), "");
        } else {
            skip(&format!("completions: needs {shell}"));
        }
    }
    for file in
        ["underbar/schema/underbar.report.1.json", "underbar/fleet/drift.sql", "underbar/systemd/exec.conf"]
    {
        assert!(share.join(file).is_file(), "{file}");
    }
    // A command with its debugging tables is large, and it is here five times.
    fs::remove_dir_all(folder).expect("removed");
}

/// What a program prints that has the installed library in it.
const SERVED: &str = "served\n";

#[test]
fn a_project_is_built_with_the_installed_headers_and_libraries() {
    let scratch = scratch("deployment-project");
    let prefix = scratch.join("prefix");
    xtask(&["install", "--dev", "--command", text(underbar()), "--prefix", text(&prefix)]);
    let listed = fs::read_to_string(prefix.join("share/underbar/files")).expect("the list");
    assert!(listed.lines().all(|name| prefix.join(name).is_file()), "{listed}");
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/installed");
    if are_there_or_skips(&["pkg-config", "cc"], "the project with pkg-config") {
        for (package, name, more) in [
            ("underbar", "heaps", &[][..]),
            ("underbar-static", "plain", &["-static"]),
            ("underbar-c", "locks", &[]),
        ] {
            let flags = printed(
                Command::new("pkg-config")
                    .args(["--cflags", "--libs", package])
                    .env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig")),
            );
            let program = scratch.join(name);
            let source = sources.join(name).with_extension("c");
            let (mut before, mut after) = (Some(&source), None);
            // For the heap the order of the words must not matter: its library comes before the file that needs it.
            if package != "underbar-c" {
                (before, after) = (after, before);
            }
            let mut compile = Command::new("cc");
            compile.args(more).args(before).args(flags.split_whitespace()).args(after);
            printed(compile.args(["-Wall", "-Wextra", "-Werror", "-o"]).arg(&program));
            assert_eq!(printed(&mut Command::new(program)), SERVED, "{package}");
        }
    }
    if are_there_or_skips(&["cmake", "make", "cc"], "the project with CMake") {
        let built = scratch.join("cmake");
        let prefix = format!("-DCMAKE_PREFIX_PATH={}", text(&prefix));
        printed(Command::new("cmake").args(["-S", text(&sources), "-B", text(&built), &prefix]));
        printed(Command::new("cmake").args(["--build", text(&built)]));
        for name in ["heaps", "plain", "locks"] {
            assert_eq!(printed(&mut Command::new(built.join(name))), SERVED, "{name}");
        }
    }
    fs::remove_dir_all(scratch).expect("removed");
}
