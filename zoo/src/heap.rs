//! Running programs on underbar's heap alone: the preload library and option text, without the command.
//!
//! Not here: the effects of the command (`crate::command`).

#[path = "../../host/cli/nested.rs"]
#[allow(dead_code, reason = "tests take the library with its debugging tables")]
mod nested;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::{Left, Way, command, compiled, folder, left};

/// Option texts under which every program must do the same: the default, cells and none, segments that are kept
/// and given back, filled storage.
pub const OPTIONS: [&str; 6] = [
    "",
    "HEAP(4M,1M,,KEEP)",
    "HEAP(64K,32K,,KEEP)",
    "HEAP(64K,32K,,FREE)",
    "STORAGE(AA,55)",
    "HEAP(1M,4K,,FREE),STORAGE(00,FF)",
];

/// The preload library: that of UNDERBAR_PRELOAD, or built now, as the command carries it.
///
/// # Panics
/// If it cannot be built.
#[must_use]
pub fn preload() -> &'static Path {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| {
        if let Some(path) = std::env::var_os("UNDERBAR_PRELOAD") {
            return path.into();
        }
        let wanted = nested::Wanted {
            cargo: std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()),
            root: &Path::new(env!("CARGO_MANIFEST_DIR")).join(".."),
            target: &nested::target(folder()),
            triple: &nested::triple().expect("a compiler"),
            features: "artifact",
        };
        let status = wanted.command().status().expect("cargo");
        assert!(status.success(), "building the preload library");
        wanted.built()
    })
}

/// The program made from `programs/heap/NAME.c`, with threads.
#[must_use]
pub fn program(name: &str) -> String {
    text(compiled(&format!("heap/{name}"), &format!("heap-{name}"), &["-pthread"]))
}

/// The program from `programs/heap/NAME.cpp`, with threads, and these flags of the C++ compiler.
///
/// # Panics
/// If it cannot be compiled.
#[must_use]
pub fn cpp(name: &str, flags: &[&str]) -> String {
    let path = folder().join(format!("heap-{name}-cpp"));
    let beside = path.with_extension(std::process::id().to_string());
    let source = format!("{}/programs/heap/{name}.cpp", env!("CARGO_MANIFEST_DIR"));
    let status = Command::new("c++")
        .args(["-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-pthread", "-fno-builtin", "-o"])
        .arg(&beside)
        .arg(source)
        .args(flags)
        .status()
        .expect("a C++ compiler");
    assert!(status.success(), "compiling {name}.cpp");
    std::fs::rename(beside, &path).expect("renamed");
    text(path)
}

/// A path as text.
///
/// # Panics
/// If it is not text.
#[must_use]
pub fn text(path: PathBuf) -> String {
    path.into_os_string().into_string().expect("a path of text")
}

/// Runs a program by itself.
#[must_use]
pub fn plain(arguments: &[&str]) -> Left {
    left(&mut command(Way::Bare, arguments))
}

/// Runs a program on underbar's heap.
#[must_use]
pub fn on_heap(options: &str, arguments: &[&str]) -> Left {
    left(command(Way::Bare, arguments).env("LD_PRELOAD", preload()).env("UNDERBAR_OPTS", options))
}

/// Runs a program by itself and under each of [`OPTIONS`]: each time it must end well with the same output.
/// Returns its output.
///
/// # Panics
/// If it does not.
pub fn check(arguments: &[&str]) -> String {
    let plain = plain(arguments);
    assert!(plain.status.success(), "{arguments:?} fails by itself: {plain:?}");
    for options in OPTIONS {
        let left = on_heap(options, arguments);
        assert!(left.status.success(), "{arguments:?} under {options:?}: {left:?}");
        assert_eq!(left.output, plain.output, "{arguments:?} under {options:?}");
    }
    plain.output
}
