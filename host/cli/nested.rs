//! How the preload library is built: only here. `build.rs` in the same folder builds the library that the command carries, and the zoo
//! takes that one; `bench/` builds the one without accounts, to compare the two.
//!
//! A new Cargo process is used for three reasons. The library needs a profile of its own (`panic` cannot be set per package),
//! and another crate type than in the workspace. And it must have no settings of the outer build (wrappers of clippy, coverage
//! flags, sanitizers, another target folder).
//!
//! Invariant: two libraries built by this differ in their features only.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// One library to build.
pub struct Wanted<'a> {
    /// The program to call.
    pub cargo: OsString,
    /// The workspace.
    pub root: &'a Path,
    /// A target folder that no outer build uses.
    pub target: &'a Path,
    /// The platform, as rustc names it.
    pub triple: &'a str,
    /// Features of underbar-preload, with commas.
    pub features: &'a str,
}

/// The target folder for the library that the command carries, by a folder of the outer build: one below the outer target folder, as
/// the library is the same in all of its profiles, and for clippy.
pub fn target(of_outer: &Path) -> PathBuf {
    // Cargo marks its target folder by this file.
    let marked = of_outer.ancestors().find(|folder| folder.join("CACHEDIR.TAG").is_file());
    marked.unwrap_or(of_outer).join("preload-library")
}

/// The platform for which the compiler on the path builds; none without a compiler.
pub fn triple() -> Option<String> {
    let about = Command::new("rustc").arg("-vV").output().ok()?;
    let about = String::from_utf8_lossy(&about.stdout).into_owned();
    about.lines().find_map(|line| line.strip_prefix("host: ")).map(str::to_owned)
}

impl Wanted<'_> {
    /// The call that builds it.
    pub fn command(&self) -> Command {
        let mut cargo = self.call("cdylib");
        // The soname is the name that tools show and by which the library knows itself. With `now`, no lookup is left for
        // later, when the program may be in a signal handler.
        cargo.args(["-C", "link-arg=-Wl,-soname,libunderbar.so,-z,now"]);
        // Most programs pass through a quarter of the library's functions: next to each other they are fewer pages of each process. Not if
        // the user chose the linker: not all linkers understand that file.
        if env::var_os("RUSTC_LINKER").is_none() {
            let layout = self.root.join("crates/preload/layout.ld");
            cargo.arg("-C").arg(format!("link-arg=-Wl,-T,{}", layout.display()));
        }
        cargo
    }

    /// The call that builds the same as an archive of objects, for `cargo xtask static-library`.
    pub fn archive_command(&self) -> Command {
        self.call("staticlib")
    }

    fn call(&self, crate_type: &str) -> Command {
        let mut cargo = Command::new(&self.cargo);
        for (name, _) in env::vars_os() {
            if name.to_str().is_some_and(is_for_the_outer_build) {
                cargo.env_remove(name);
            }
        }
        cargo
            .current_dir(self.root)
            .args(["rustc", "--quiet", "--locked", "--package", "underbar-preload", "--profile", "preload"])
            .args(["--features", self.features, "--lib", "--crate-type", crate_type])
            .args(["--target", self.triple])
            .arg("--target-dir")
            .arg(self.target)
            .args(["--", "-C", "force-unwind-tables=yes"])
            // 2^6, a line of the cache: if a short function began in the middle of one, gets and frees took up to 5 % longer.
            // That depended by chance on the code linked before it.
            .args(["-C", "llvm-args=-align-all-functions=6"]);
        cargo
    }

    /// The file that the call makes, with its debugging tables.
    pub fn built(&self) -> PathBuf {
        self.target.join(self.triple).join("preload").join("libunderbar_preload.so")
    }

    /// The archive that the other call makes.
    pub fn built_archive(&self) -> PathBuf {
        self.built().with_extension("a")
    }
}

/// Writes the library without its debugging tables to `stripped`; false if there is no tool to strip it.
///
/// Cargo could strip it (`strip = true`), but then the tables would be lost. So they stay in the file that was built, for
/// debugging.
pub fn strip(built: &Path, stripped: &Path) -> bool {
    let done = Command::new("strip").args(["--strip-debug", "-o"]).arg(stripped).arg(built).status();
    done.is_ok_and(|status| status.success())
}

/// Is this a setting of the outer build that the nested one must not inherit?
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
