//! The rivals: one table entry per allocator, with its origin and the way to load it.
//!
//! Peers come from Debian packages or from sources that crates carry (pinned by `bench/peers/Cargo.lock`), so that
//! a run can be repeated elsewhere with the same versions. Adding a peer is one entry of [`TABLE`].
//! Not here: the compilation of a peer ([`crate::build`]).

use crate::build::{self, Recipe};
use crate::{Error, build::Library};
use std::path::{Path, PathBuf};

/// The origin of an allocator.
#[derive(Clone, Copy)]
pub enum Source {
    /// The C library's own malloc: nothing is preloaded.
    Libc,
    /// A shared library of an installed Debian package.
    Debian {
        /// The package's name.
        package: &'static str,
        /// The file's name, in the folder of the architecture's libraries.
        library: &'static str,
    },
    /// Sources carried by a crate, compiled here.
    Crate(Recipe),
    /// underbar's preload library, by path.
    Underbar,
    /// The program started through `underbar run -q --`.
    UnderbarRun,
}

/// One allocator: an entry of [`TABLE`].
pub struct Peer {
    /// The name on the command line and in tables.
    pub name: &'static str,
    /// Its origin.
    pub source: Source,
    /// Variables of this way of running it.
    pub variables: &'static [(&'static str, &'static str)],
}

/// Every allocator, in the order of the table; ours come last.
pub const TABLE: &[Peer] = &[
    Peer { name: "glibc", source: Source::Libc, variables: &[] },
    Peer { name: "mimalloc3", source: Source::Crate(Recipe::Mimalloc { line: "v3" }), variables: &[] },
    Peer {
        name: "mimalloc3-nothp",
        source: Source::Crate(Recipe::Mimalloc { line: "v3" }),
        variables: &[("MIMALLOC_ALLOW_THP", "0")],
    },
    Peer { name: "mimalloc2", source: Source::Crate(Recipe::Mimalloc { line: "v2" }), variables: &[] },
    Peer {
        name: "mimalloc2-nothp",
        source: Source::Crate(Recipe::Mimalloc { line: "v2" }),
        variables: &[("MIMALLOC_ALLOW_THP", "0")],
    },
    Peer { name: "jemalloc", source: Source::Crate(Recipe::Jemalloc), variables: &[] },
    Peer {
        name: "tcmalloc-gperf",
        source: Source::Debian { package: "libtcmalloc-minimal4", library: "libtcmalloc_minimal.so.4" },
        variables: &[],
    },
    // Its per-processor caches need the restartable sequence that glibc registers first unless told not to.
    Peer {
        name: "tcmalloc-google",
        source: Source::Crate(Recipe::TcmallocGoogle),
        variables: &[("GLIBC_TUNABLES", "glibc.pthread.rseq=0")],
    },
    Peer { name: "snmalloc", source: Source::Crate(Recipe::Snmalloc), variables: &[] },
    Peer { name: "rpmalloc", source: Source::Crate(Recipe::Rpmalloc), variables: &[] },
    Peer { name: "underbar", source: Source::Underbar, variables: &[] },
    Peer { name: "underbar-run", source: Source::UnderbarRun, variables: &[] },
];

/// An allocator that is ready to be measured.
#[derive(Debug, Clone)]
pub struct Allocator {
    /// Its name in [`TABLE`], or the user's name for it.
    pub name: String,
    /// The version, as its package or crate states it.
    pub version: String,
    /// The value of `LD_PRELOAD`; None for the C library's own.
    pub preload: Option<PathBuf>,
    /// Further variables, for the measured program only.
    pub variables: &'static [(&'static str, &'static str)],
    /// Words put before the program: `underbar run -q --`, or none.
    pub before: Vec<String>,
    /// Whether it is one of those that underbar is compared with.
    pub rival: bool,
}

/// Available allocators, and missing ones with the reason.
#[derive(Debug, Default)]
pub struct Found {
    /// Available ones, in the order of the table.
    pub allocators: Vec<Allocator>,
    /// Name and reason of each that is missing.
    pub missing: Vec<(&'static str, String)>,
}

/// Finds or builds every allocator of [`TABLE`] whose name `wanted` accepts; built libraries are kept below `target`.
#[must_use]
pub fn find(workspace: &Path, target: &Path, wanted: &dyn Fn(&str) -> bool) -> Found {
    let mut found = Found::default();
    let mut sources = None;
    for peer in TABLE.iter().filter(|peer| wanted(peer.name)) {
        let ready = match peer.source {
            Source::Libc => Ok((libc_version(), None, Vec::new())),
            Source::Debian { package, library } => {
                debian(package, library).map(|library| (library.version, Some(library.path), Vec::new()))
            }
            Source::Crate(recipe) => {
                let sources = sources.get_or_insert_with(|| build::sources(workspace));
                match sources {
                    Ok(sources) => build::library(recipe, sources, &target.join("peers"))
                        .map(|library| (library.version, Some(library.path), Vec::new())),
                    Err(error) => Err(Error::Missing(error.to_string())),
                }
            }
            Source::Underbar => underbar_mainframe(target)
                .map(|path| (env!("CARGO_PKG_VERSION").to_owned(), Some(path), Vec::new())),
            Source::UnderbarRun => underbar_command(target).map(|path| {
                let words = ["run", "-q", "--"].map(str::to_owned);
                let before = std::iter::once(path.display().to_string()).chain(words).collect();
                (env!("CARGO_PKG_VERSION").to_owned(), None, before)
            }),
        };
        match ready {
            Ok((version, preload, before)) => found.allocators.push(Allocator {
                name: peer.name.to_owned(),
                version,
                preload,
                variables: peer.variables,
                before,
                rival: !matches!(peer.source, Source::Underbar | Source::UnderbarRun),
            }),
            Err(error) => found.missing.push((peer.name, error.to_string())),
        }
    }
    found
}

/// An allocator that the user names by the path of its library; it is compared with the rivals, and is none.
#[must_use]
pub fn library(name: &str, path: &str) -> Allocator {
    Allocator {
        name: name.to_owned(),
        version: "as given".to_owned(),
        preload: Some(PathBuf::from(path)),
        variables: &[],
        before: Vec::new(),
        rival: false,
    }
}

/// A library of an installed Debian package.
fn debian(package: &str, library: &str) -> Result<Library, Error> {
    let folder = Path::new("/usr/lib").join(concat_triple());
    let path = folder.join(library);
    if !path.exists() {
        return Err(Error::Missing(format!("{library}: apt-get install {package}")));
    }
    let version = build::output("dpkg-query", &["-W", "-f", "${Version}", package])?;
    Ok(Library { path, version })
}

/// Debian's folder name for this architecture's libraries.
fn concat_triple() -> String {
    format!("{}-linux-gnu", std::env::consts::ARCH)
}

/// The C library's version, in its own words.
fn libc_version() -> String {
    build::output("getconf", &["GNU_LIBC_VERSION"])
        .map(|text| text.trim_start_matches("glibc ").to_owned())
        .unwrap_or_else(|_| "of unknown version".to_owned())
}

/// The preload library: `UNDERBAR_PRELOAD`, otherwise the newest that a build of the command left in its output folder.
pub(crate) fn underbar_mainframe(target: &Path) -> Result<PathBuf, Error> {
    if let Some(path) = std::env::var_os("UNDERBAR_PRELOAD") {
        return Ok(PathBuf::from(path));
    }
    let mut newest: Option<(std::time::SystemTime, PathBuf)> = None;
    for profile in ["release", "debug"] {
        let Ok(folders) = std::fs::read_dir(target.join(profile).join("build")) else { continue };
        for folder in folders.flatten() {
            if folder.file_name().to_string_lossy().starts_with("underbar-cli-") {
                newest = newest.max(library_below(&folder.path().join("out"), 5));
            }
        }
    }
    newest.map(|(_, path)| path).ok_or_else(|| {
        Error::Missing(
            "libunderbar.so: build the command first, or set UNDERBAR_PRELOAD to its path".to_owned(),
        )
    })
}

/// The newest `libunderbar.so` (or its unstripped name) at most `depth` folders below `folder`.
fn library_below(folder: &Path, depth: usize) -> Option<(std::time::SystemTime, PathBuf)> {
    let mut newest = None;
    for entry in std::fs::read_dir(folder).ok()?.flatten() {
        let path = entry.path();
        let name = entry.file_name();
        if name == "libunderbar.so" || name == "libunderbar_preload.so" {
            newest =
                newest.max(entry.metadata().and_then(|data| data.modified()).ok().map(|when| (when, path)));
        } else if depth > 0 && path.is_dir() {
            newest = newest.max(library_below(&path, depth - 1));
        }
    }
    newest
}

/// The command: `UNDERBAR_BIN`, otherwise the release build, otherwise the debug build.
pub(crate) fn underbar_command(target: &Path) -> Result<PathBuf, Error> {
    if let Some(path) = std::env::var_os("UNDERBAR_BIN") {
        return Ok(PathBuf::from(path));
    }
    ["release", "debug"]
        .map(|profile| target.join(profile).join("underbar"))
        .into_iter()
        .find(|path| path.exists())
        .ok_or_else(|| {
            Error::Missing("the underbar command: cargo build --release -p underbar-cli".to_owned())
        })
}

#[cfg(test)]
mod tests {
    use super::{Source, TABLE};

    #[test]
    fn names_are_unique_and_rivals_stand_before_ours() {
        let ours = |source: &Source| matches!(source, Source::Underbar | Source::UnderbarRun);
        let first = TABLE.iter().position(|peer| ours(&peer.source));
        assert_eq!(first, Some(TABLE.len() - 2));
        for peer in TABLE {
            assert_eq!(TABLE.iter().filter(|other| other.name == peer.name).count(), 1, "{}", peer.name);
        }
    }
}
