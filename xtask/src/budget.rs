//! The number of third-party crates that each artefact may carry. Code inside the user's process carries almost none.
//!
//! The reason: every crate is code that runs in someone else's program or must be reviewed, and seconds of every build.

use crate::steps::{Sum, cargo, output};
use std::collections::BTreeSet;

/// Of the command's, 8 read instructions of arm64, 6 are the locks that `demo lock` compares with, and 4 inflate what tapes
/// and disks of mainframes hold compressed: miniz_oxide and adler2 for zlib, bzip2 and libbz2-rs-sys for bzip2. addr2line
/// finds the functions that a compiler inlined. libm is the
/// logarithm of verdicts, without a file to load. rustix is system calls that only the command needs, with two that it needs: safe calls
/// in place of our own.
///
/// A package of ours, and the most crates of others that it may need (build scripts and tests not counted).
const TABLE: &[(&str, usize)] = &[("underbar-preload", 6), ("underbar-cli", 59)];

/// Counts and compares.
pub fn check(sum: &mut Sum) {
    for (package, most) in TABLE {
        let name = format!("at most {most} crates in {package}");
        let words =
            ["tree", "--locked", "--edges", "normal", "--prefix", "none", "--no-dedupe", "--all-features"];
        let mut command = cargo(&words);
        command.args(["--package", package]);
        let Some(tree) = output(&mut command) else {
            sum.check(&name, false);
            continue;
        };
        let crates = foreign(&tree);
        println!("{package}: {} of {most} crates", crates.len());
        if crates.len() > *most {
            println!("  {}", crates.iter().copied().collect::<Vec<_>>().join(", "));
        }
        sum.check(&name, crates.len() <= *most);
    }
}

/// The lines of `cargo tree` for packages outside of this workspace: its own have a path in brackets.
fn foreign(tree: &str) -> BTreeSet<&str> {
    tree.lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.contains("(/"))
        .map(|line| line.strip_suffix(" (proc-macro)").unwrap_or(line))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::foreign;

    #[test]
    fn packages_of_ours_and_repetitions_are_not_counted() {
        let tree = "underbar-cli v0.1.0 (/src/host/cli)\nclap v4.6.7\nunderbar-sys v0.1.0 (/src/crates/sys)\n\
                    rustix v1.1.6\nrustix v1.1.6\nserde_derive v1.0.1 (proc-macro)\n";
        assert_eq!(
            foreign(tree).into_iter().collect::<Vec<_>>(),
            ["clap v4.6.7", "rustix v1.1.6", "serde_derive v1.0.1"]
        );
    }
}
