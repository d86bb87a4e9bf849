//! The library with accounts, which the command carries, and the same without them.
//!
//! The second has its own target folder, `target/accounts/build`: Cargo finds its earlier build there, and
//! builds only the changes. Both are copied to `target/accounts` under other names than the command's
//! library has: a library that follows programs recognises itself by its file's name, and would act on that.
//!
//! Invariant: two libraries of the same bytes are an error, not a ratio of one.

use super::Both;
use crate::peers::{self, Allocator};
use crate::{Error, build};
use std::path::{Path, PathBuf};

// The arguments for the command's library exist once; a second list would drift away.
#[path = "../../../host/cli/nested.rs"]
#[allow(dead_code, reason = "this library has a target folder of its own")]
mod nested;

/// Features of the library without accounts; the command's has the first alone.
const FEATURES: &str = "artifact,underbar-runtime/no-accounts";

/// Finds the library with accounts, and builds the one without.
pub fn both(workspace: &Path, target: &Path) -> Result<Both<Allocator>, Error> {
    let folder = target.join("accounts");
    std::fs::create_dir_all(&folder).map_err(|error| Error::system("creating target/accounts", &error))?;
    let with = keep(&peers::underbar_mainframe(target)?, &folder.join("underbar-accounts-kept.so"))?;
    let without = keep(&built(workspace, &folder)?, &folder.join("underbar-accounts-none.so"))?;
    if read(&with)? == read(&without)? {
        let text =
            "the library with accounts and the one without are the same file; is UNDERBAR_PRELOAD set?";
        return Err(Error::Usage(text.to_owned()));
    }
    let version = env!("CARGO_PKG_VERSION");
    let allocator = |name: &str, path: PathBuf| Allocator {
        version: version.to_owned(),
        ..peers::library(name, &path.display().to_string())
    };
    Ok(Both { with: allocator("with", with), without: allocator("without", without) })
}

/// Builds the library without accounts like the command's, stripped like it.
fn built(workspace: &Path, folder: &Path) -> Result<PathBuf, Error> {
    let triple = nested::triple()
        .ok_or_else(|| Error::Missing("the platform's name in what rustc -vV prints".to_owned()))?;
    let wanted = nested::Wanted {
        cargo: std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()),
        root: workspace,
        target: &folder.join("build"),
        triple: &triple,
        features: FEATURES,
    };
    eprintln!("building the library without accounts, where anything has changed");
    build::run(&mut wanted.command())?;
    let built = wanted.built();
    let stripped = built.with_file_name("libunderbar-without-accounts.so");
    Ok(if nested::strip(&built, &stripped) { stripped } else { built })
}

/// Copies a library to a place where it does not change during the measurement.
fn keep(from: &Path, to: &Path) -> Result<PathBuf, Error> {
    // Renamed into place: a program that has the old one mapped keeps that.
    let partial = to.with_extension("partial");
    std::fs::copy(from, &partial)
        .and_then(|_| std::fs::rename(&partial, to))
        .map_err(|error| Error::system("copying a library", &error))?;
    Ok(to.to_owned())
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    std::fs::read(path).map_err(|error| Error::system("reading a library", &error))
}
