//! Allocators to compare with: those installed on this machine, if any.
//!
//! Not here: rivals built from their sources for the benchmark (`bench`). A demo uses the user's installed allocators.

use std::env::consts::ARCH;
use std::fs;
use std::path::PathBuf;

/// Name, and prefix and suffix of the file name.
const LIBRARIES: [(&str, &str, &str); 6] = [
    ("jemalloc", "libjemalloc.so", ".so.2"),
    ("tcmalloc", "libtcmalloc_minimal.so", ".so.4"),
    ("mimalloc", "libmimalloc.so", ".so.2"),
    ("mimalloc 3", "libmimalloc.so", ".so.3"),
    ("snmalloc", "libsnmallocshim.so", ".so"),
    ("rpmalloc", "librpmalloc", ".so"),
];

/// The installed allocators: name and file, at most one file each.
pub fn installed() -> Vec<(&'static str, PathBuf)> {
    let folders = [
        "/usr/local/lib".to_owned(),
        format!("/usr/lib/{ARCH}-linux-gnu"),
        "/usr/lib64".to_owned(),
        "/usr/lib".to_owned(),
    ];
    let mut files: Vec<PathBuf> = Vec::new();
    for folder in folders {
        let mut here: Vec<PathBuf> =
            fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        here.sort();
        files.append(&mut here);
    }
    let find = |starts: &str, ends: &str| {
        files.iter().find(|file| {
            let name = file.file_name().and_then(|name| name.to_str());
            name.is_some_and(|name| name.starts_with(starts) && name.ends_with(ends)) && file.is_file()
        })
    };
    LIBRARIES
        .into_iter()
        .filter_map(|(name, starts, ends)| Some((name, find(starts, ends)?.clone())))
        .collect()
}
