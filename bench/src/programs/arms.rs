//! The ways of running a program: plain, under underbar, and with another allocator preloaded.
//!
//! Invariant: arms differ in the words before the program only.

use crate::Error;
use std::path::{Path, PathBuf};

/// Plain, in every list of arms.
pub const PLAIN: usize = 0;
/// Under `underbar run`, in every list of arms.
pub const UNDER: usize = 1;

/// One way of running a program.
#[derive(Debug, Clone)]
pub struct Arm {
    /// The name in tables.
    pub name: &'static str,
    /// Words before the program's own.
    pub before: Vec<String>,
}

/// Debian's allocators that can be preloaded: name, package, library.
pub const PEERS: [(&str, &str, &str); 3] = [
    ("jemalloc", "libjemalloc2", "libjemalloc.so.2"),
    ("tcmalloc", "libtcmalloc-minimal4", "libtcmalloc_minimal.so.4"),
    ("mimalloc", "libmimalloc2.0", "libmimalloc.so.2"),
];

/// The path of the library of one of [`PEERS`].
pub fn library(file: &str) -> PathBuf {
    Path::new("/usr/lib").join(format!("{}-linux-gnu", std::env::consts::ARCH)).join(file)
}

/// All arms; with those of [`PEERS`] on request.
///
/// # Errors
/// [`Error::Missing`] if one of them is not installed.
pub fn all(underbar: &Path, options: &[String], has_peers: bool) -> Result<Vec<Arm>, Error> {
    let run = [underbar.display().to_string(), "run".to_owned()];
    let under = run.into_iter().chain(options.iter().cloned()).chain(["--".to_owned()]).collect();
    let mut arms = vec![Arm { name: "plain", before: Vec::new() }, Arm { name: "underbar", before: under }];
    for (name, package, file) in PEERS.into_iter().filter(|_| has_peers) {
        let library = library(file);
        if !library.exists() {
            return Err(Error::Missing(format!("{name} needs the package {package}")));
        }
        arms.push(Arm { name, before: vec!["env".to_owned(), format!("LD_PRELOAD={}", library.display())] });
    }
    Ok(arms)
}
