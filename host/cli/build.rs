//! Builds the preload library, so that the command can carry it in itself: one file is enough.
//!
//! A nested Cargo builds it, because it needs a profile of its own (`panic` cannot be set per package) and
//! another crate type than the workspace gives it. It has its own target folder, since Cargo locks the outer
//! one, and none of the settings that were meant for the outer build (wrappers of clippy, coverage flags,
//! sanitizers, another target folder).
//!
//! Result: the file named by the environment variable UNDERBAR_PRELOAD_FILE, and a hash of its bytes.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, exit};

fn main() {
    let here = PathBuf::from(variable("CARGO_MANIFEST_DIR"));
    let root = here.join("../..");
    let target = PathBuf::from(variable("OUT_DIR")).join("preload");
    for path in ["crates", "Cargo.toml", "Cargo.lock"] {
        println!("cargo::rerun-if-changed={}", root.join(path).display());
    }
    println!("cargo::rerun-if-changed=build.rs");

    let mut cargo = Command::new(variable("CARGO"));
    for (name, _) in env::vars_os() {
        if name.to_str().is_some_and(is_for_the_outer_build) {
            cargo.env_remove(name);
        }
    }
    cargo
        .current_dir(&root)
        .args(["rustc", "--quiet", "--locked", "--package", "underbar-preload", "--profile", "preload"])
        .args(["--features", "artifact", "--lib", "--crate-type", "cdylib"])
        .args(["--target", &variable("TARGET")])
        .arg("--target-dir")
        .arg(&target)
        .args(["--", "-C", "force-unwind-tables=yes"])
        // The soname is what tools show and what the library knows itself by; with `now` no lookup is left
        // for later, when the program may be in a signal handler.
        .args(["-C", "link-arg=-Wl,-soname,libunderbar.so,-z,now"]);
    // Without network Cargo must not try to update anything.
    if env::var_os("CARGO_NET_OFFLINE").is_some_and(|value| value == "true") {
        cargo.arg("--offline");
    }
    match cargo.status() {
        Ok(status) if status.success() => {}
        Ok(status) => fail(&format!("building the preload library: {status}")),
        Err(error) => fail(&format!("starting Cargo for the preload library: {error}")),
    }

    let built = target.join(variable("TARGET")).join("preload").join("libunderbar_preload.so");
    let file = strip(&built);
    let bytes = std::fs::read(&file).unwrap_or_else(|error| fail(&format!("{}: {error}", file.display())));
    println!("cargo::rustc-env=UNDERBAR_PRELOAD_FILE={}", file.display());
    println!("cargo::rustc-env=UNDERBAR_PRELOAD_HASH={:016x}", hash(&bytes));
}

/// Is this a setting of the build that runs us, which the nested one must not inherit?
fn is_for_the_outer_build(name: &str) -> bool {
    const STARTS: [&str; 9] = [
        "CARGO_BUILD_",
        "CARGO_PROFILE_",
        "CARGO_TARGET_",
        "CARGO_CFG_",
        "CARGO_FEATURE_",
        "CARGO_ENCODED_",
        "CARGO_PKG_",
        "UNDERBAR_",
        "LD_",
    ];
    const NAMES: [&str; 11] = [
        "RUSTFLAGS",
        "RUSTDOCFLAGS",
        "RUSTDOC",
        "RUSTC_WRAPPER",
        "RUSTC_WORKSPACE_WRAPPER",
        "CARGO_MAKEFLAGS",
        "MAKEFLAGS",
        "CLIPPY_ARGS",
        "CARGO_INCREMENTAL",
        "LLVM_PROFILE_FILE",
        "__CARGO_DEFAULT_LIB_METADATA",
    ];
    NAMES.contains(&name) || STARTS.iter().any(|start| name.starts_with(start))
}

/// The library without its debugging tables, beside itself; as it is where nothing strips.
///
/// Cargo could strip it (`strip = true`), but then the tables would be nowhere; so they stay in the file
/// that was built, for whoever debugs it.
fn strip(built: &Path) -> PathBuf {
    let stripped = built.with_file_name("libunderbar.so");
    let done = Command::new("strip").args(["--strip-debug", "-o"]).arg(&stripped).arg(built).status();
    if done.is_ok_and(|status| status.success()) { stripped } else { built.to_path_buf() }
}

/// FNV-1a: it tells builds apart, it does not defend anything.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|error| fail(&format!("{name}: {error}")))
}

fn fail(message: &str) -> ! {
    eprintln!("error: {message}");
    exit(1)
}
