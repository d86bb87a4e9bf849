//! The simple locks under Miri, which interprets them and detects faults that no machine shows:
//! undefined behaviour, data races, loads
//! of old values that the memory model permits, threads that are never woken.
//!
//! Miri belongs to nightly compilers (`rustup +nightly component add miri rust-src`). If it is not installed, a message
//! in capitals says so, here and in the last line, as for advisories; it fails no run.
//!
//! Not here: every order of events, which the models try (`models`). Miri tries one for each seed.

use crate::steps::{Sum, command, on_path, root, step, succeeds, target};

/// The interpreted tests: a package, and flags for it. There the tests use three threads, and few rounds.
/// The loader of programs runs machine code, which Miri cannot interpret: its tests are left out.
const INTERPRETED: [(&str, &[&str]); 2] =
    [("underbar-lock", &[]), ("underbar", &["--no-default-features", "simple_lock"])];

/// The number of orders of events.
const SEEDS: &str = "-Zmiri-many-seeds=0..8";

/// Interprets all of them, if that is possible.
pub fn check(sum: &mut Sum) {
    if !is_there() {
        sum.not_checked(
            "the locks under Miri; it is not installed (rustup +nightly component add miri rust-src)",
        );
        return;
    }
    for (package, flags) in INTERPRETED {
        let name = format!("Miri: {package}");
        let mut run =
            command("rustup", &["run", "nightly", "cargo", "miri", "test", "--lib", "--package", package]);
        run.args(flags).env("MIRIFLAGS", SEEDS).env("CARGO_TARGET_DIR", root().join(target()).join("miri"));
        // Cargo's variables for this process name its own compiler, not Miri's.
        for variable in ["RUSTUP_TOOLCHAIN", "CARGO", "RUSTC", "RUSTFLAGS"] {
            run.env_remove(variable);
        }
        sum.check(&name, step(&name, || succeeds(&mut run)));
    }
}

fn is_there() -> bool {
    if on_path("rustup").is_none() {
        return false;
    }
    let mut asked = command("rustup", &["run", "nightly", "cargo", "miri", "--version"]);
    asked.env_remove("RUSTUP_TOOLCHAIN").stderr(std::process::Stdio::null());
    succeeds(&mut asked)
}
