//! `cargo xtask release`: the command as it is given away, and its lines of source in a file of their own.
//!
//! ```text
//! cargo build --release, unstripped ── objcopy ──> underbar         functions have their names
//!                                             └──> underbar.debug   lines of source; found by its name, or by the build-id
//! ```
//!
//! A plain `cargo build --release` makes the first alone.
//!
//! Invariant: the command that is given away is no larger than [`MOST_BYTES`].
//! Not here: the preload library in it, which `host/cli/build.rs` strips, and whose own tables stay in the file that was built.

use crate::steps::{Sum, cargo, command, step, succeeds, target};

/// As large as the command may be.
const MOST_BYTES: u64 = 15_000_000;

/// Builds the command and takes its lines of source apart; the files are in `target/release`.
pub fn make() -> bool {
    let unstripped = "profile.release.strip=\"none\"";
    let build = ["build", "--release", "--locked", "--package", "underbar-cli", "--config", unstripped];
    if !step("cargo build --release", || succeeds(&mut cargo(&build))) {
        return false;
    }
    let folder = target().join("release");
    let calls: [&[&str]; 2] = [
        &["--only-keep-debug", "underbar", "underbar.debug"],
        &["--strip-debug", "--add-gnu-debuglink=underbar.debug", "underbar"],
    ];
    let is_split = calls.iter().all(|words| succeeds(command("objcopy", words).current_dir(&folder)));
    is_split && {
        for name in ["underbar", "underbar.debug"] {
            let path = folder.join(name);
            println!("{}: {:.1} MB", path.display(), bytes(&path) as f64 / 1e6);
        }
        bytes(&folder.join("underbar")) <= MOST_BYTES
    }
}

/// Checks the command that a release build has left.
pub fn check(sum: &mut Sum) {
    let bytes = bytes(&target().join("release/underbar"));
    println!("the command has {:.1} MB", bytes as f64 / 1e6);
    sum.check("size of the command", (1..=MOST_BYTES).contains(&bytes));
}

/// A file's length; 0 where there is none.
fn bytes(path: &std::path::Path) -> u64 {
    std::fs::metadata(path).map_or(0, |status| status.len())
}
