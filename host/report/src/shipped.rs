//! Files of the repository that are made from tables, for the tests that keep them equal to what the tables make.
//!
//! Not here: what is in the files.

use std::path::{Path, PathBuf};

use serde_json::Value;

fn place(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file)
}

/// Compares a file of the repository, named from its root, with what its package makes. With `UNDERBAR_BLESS=1` in the environment it
/// writes the file instead. Use that after a change of a table.
///
/// # Panics
/// They differ, or the file cannot be written.
#[track_caller]
pub fn check(file: &str, made: &str, package: &str) {
    let path = place(file);
    if std::env::var_os("UNDERBAR_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().expect("a file in a folder")).expect("folder");
        std::fs::write(&path, made).expect("the file can be written");
    }
    let shipped = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        shipped == made,
        "{file} is not what the tables make; UNDERBAR_BLESS=1 cargo test -p {package} writes it"
    );
}

/// The JSON schema that is shipped under this name.
#[must_use]
pub fn schema(name: &str) -> Option<Value> {
    serde_json::from_slice(&std::fs::read(place("share/schema").join(name)).ok()?).ok()
}
