//! The build of a peer's shared library: the sources in its crate, and the compiler's command line.
//!
//! The crates are dependencies of `bench/peers`, a package that is never compiled: Cargo downloads them, its lock
//! file pins them, and their C and C++ sources are compiled here into `target/peers/NAME-VERSION.so`, each the way
//! its authors build their own shared library (optimised, initial-exec thread-local storage).
//!
//! Invariant: a library that exists was built whole (it is renamed into place), and is never built twice.

use crate::Error;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The build of one peer.
#[derive(Debug, Clone, Copy)]
pub enum Recipe {
    /// mimalloc; `line` is `v2` or `v3`.
    Mimalloc {
        /// The folder of the line in the crate.
        line: &'static str,
    },
    /// jemalloc, by its own configure and make.
    Jemalloc,
    /// Google's tcmalloc with the part of abseil that it needs.
    TcmallocGoogle,
    /// snmalloc's shim of malloc and of new and delete.
    Snmalloc,
    /// rpmalloc with its overrides.
    Rpmalloc,
}

/// A shared library that can be preloaded.
#[derive(Debug, Clone)]
pub struct Library {
    /// Its path.
    pub path: PathBuf,
    /// The version in its package, crate or header.
    pub version: String,
}

/// Cargo's folder for each crate, and its version.
pub type Sources = BTreeMap<String, (PathBuf, String)>;

/// The command's standard output without the last line's end; its failure is an error with its last words.
pub(crate) fn output(program: &str, words: &[&str]) -> Result<String, Error> {
    run(Command::new(program).args(words))
}

/// Runs a command to its end and returns its standard output.
pub(crate) fn run(command: &mut Command) -> Result<String, Error> {
    let program = command.get_program().to_string_lossy().into_owned();
    let done = command.output().map_err(|error| Error::Missing(format!("{program}: {error}")))?;
    if !done.status.success() {
        let text = String::from_utf8_lossy(&done.stderr);
        let lines: Vec<&str> = text.lines().collect();
        let last = lines[lines.len().saturating_sub(5)..].join(" | ");
        return Err(Error::Build(format!("{program} ended with {}: {last}", done.status)));
    }
    Ok(String::from_utf8_lossy(&done.stdout).trim_end().to_owned())
}

/// Finds the crates with the peers' sources by Cargo, which downloads missing ones.
///
/// # Errors
/// [`Error::Missing`] or [`Error::Build`] when Cargo is not there or cannot reach its registry.
pub fn sources(workspace: &Path) -> Result<Sources, Error> {
    sources_of(&workspace.join("bench/peers/Cargo.toml"))
}

/// The same for the dependencies of another package.
///
/// # Errors
/// As above.
pub fn sources_of(manifest: &Path) -> Result<Sources, Error> {
    let text = run(Command::new("cargo")
        .args(["metadata", "--format-version", "1", "--locked", "--manifest-path"])
        .arg(manifest))?;
    let document: serde_json::Value = serde_json::from_str(&text)
        .map_err(|error| Error::Build(format!("cargo metadata printed no JSON: {error}")))?;
    let mut sources = Sources::new();
    for package in document["packages"].as_array().into_iter().flatten() {
        if let (Some(name), Some(version), Some(manifest)) =
            (package["name"].as_str(), package["version"].as_str(), package["manifest_path"].as_str())
            && let Some(folder) = Path::new(manifest).parent()
        {
            sources.insert(name.to_owned(), (folder.to_owned(), version.to_owned()));
        }
    }
    Ok(sources)
}

/// Builds a peer into `folder`, or finds it there.
///
/// # Errors
/// [`Error::Missing`] when the crate or a compiler is not there, [`Error::Build`] when the compiler failed.
pub fn library(recipe: Recipe, sources: &Sources, folder: &Path) -> Result<Library, Error> {
    let (name, of_crate) = match recipe {
        Recipe::Mimalloc { line } => (format!("mimalloc-{line}"), "libmimalloc-sys"),
        Recipe::Jemalloc => ("jemalloc".to_owned(), "tikv-jemalloc-sys"),
        Recipe::TcmallocGoogle => ("tcmalloc-google".to_owned(), "libtcmalloc-sys"),
        Recipe::Snmalloc => ("snmalloc".to_owned(), "snmalloc-sys"),
        Recipe::Rpmalloc => ("rpmalloc".to_owned(), "rpmalloc-sys"),
    };
    let (source, version) =
        sources.get(of_crate).ok_or_else(|| Error::Missing(format!("the crate {of_crate}")))?;
    let path = folder.join(format!("{name}-{version}.so"));
    let version = own_version(recipe, source, version);
    if path.exists() {
        return Ok(Library { path, version });
    }
    std::fs::create_dir_all(folder).map_err(|error| Error::system("creating target/peers", &error))?;
    eprintln!("building {name} {version}");
    let partial = path.with_extension("partial");
    match recipe {
        Recipe::Mimalloc { line } => mimalloc(&source.join("c_src/mimalloc").join(line), &partial)?,
        Recipe::Jemalloc => jemalloc(source, &version, &folder.join("jemalloc-build"), &partial)?,
        Recipe::TcmallocGoogle => tcmalloc(source, &folder.join("tcmalloc-build"), &partial)?,
        Recipe::Snmalloc => snmalloc(&source.join("upstream"), &partial)?,
        Recipe::Rpmalloc => rpmalloc(&source.join("rpmalloc/rpmalloc"), &partial)?,
    }
    std::fs::rename(&partial, &path).map_err(|error| Error::system("renaming a built peer", &error))?;
    Ok(Library { path, version })
}

/// The allocator's version, which is not always the crate's.
fn own_version(recipe: Recipe, source: &Path, of_crate: &str) -> String {
    let stated = match recipe {
        Recipe::Mimalloc { line } => {
            let header = source.join("c_src/mimalloc").join(line).join("include/mimalloc.h");
            std::fs::read_to_string(header).ok().and_then(|text| {
                let digits = text.split("#define MI_MALLOC_VERSION").nth(1)?.split_whitespace().next()?;
                let number: u32 = digits.parse().ok()?;
                Some(format!("{}.{}.{}", number / 10_000, number / 100 % 100, number % 100))
            })
        }
        Recipe::Rpmalloc => std::fs::read_to_string(source.join("rpmalloc/CHANGELOG"))
            .ok()
            .and_then(|text| text.split_whitespace().next().map(str::to_owned)),
        Recipe::Jemalloc => of_crate.split('+').nth(1).map(str::to_owned),
        Recipe::TcmallocGoogle | Recipe::Snmalloc => None,
    };
    stated.unwrap_or_else(|| format!("of crate {of_crate}"))
}

/// A compiler with the common flags of all peers.
fn compiler(name: &str, to: &Path) -> Command {
    let mut command = Command::new(name);
    command.args(["-O3", "-DNDEBUG", "-w", "-fPIC", "-shared", "-ftls-model=initial-exec", "-o"]).arg(to);
    command
}

fn mimalloc(source: &Path, to: &Path) -> Result<(), Error> {
    run(compiler("gcc", to)
        .args(["-fvisibility=hidden", "-fno-builtin-malloc"])
        .args(["-DMI_SHARED_LIB", "-DMI_SHARED_LIB_EXPORT", "-DMI_MALLOC_OVERRIDE", "-I"])
        .arg(source.join("include"))
        .arg("-I")
        .arg(source.join("src"))
        .arg(source.join("src/static.c"))
        .arg("-lpthread"))
    .map(drop)
}

fn rpmalloc(source: &Path, to: &Path) -> Result<(), Error> {
    run(compiler("gcc", to)
        .args(["-DENABLE_PRELOAD=1", "-DENABLE_OVERRIDE=1", "-D_GNU_SOURCE"])
        .arg(source.join("rpmalloc.c"))
        .arg("-lpthread"))
    .map(drop)
}

fn snmalloc(source: &Path, to: &Path) -> Result<(), Error> {
    let shim = source.join("src/snmalloc/override");
    let mut command = compiler("g++", to);
    command.args(["-std=c++20", "-fvisibility=hidden", "-fomit-frame-pointer"]).args([
        "-DSNMALLOC_USE_CXX11_THREAD_ATEXIT_DIRECT",
        "-DSNMALLOC_USE_WAIT_ON_ADDRESS=1",
        "-DSNMALLOC_EXPORT=__attribute__((visibility(\"default\")))",
    ]);
    if cfg!(target_arch = "x86_64") {
        command.arg("-mcx16");
    }
    run(command
        .arg("-I")
        .arg(source.join("src"))
        .args([shim.join("malloc.cc"), shim.join("new.cc")])
        // As in its own build, a program in C does not load the C++ library because of it.
        .args(["-static-libstdc++", "-static-libgcc", "-lpthread", "-latomic"]))
    .map(drop)
}

/// jemalloc's own configure and make, in a copy of its sources.
fn jemalloc(source: &Path, version: &str, folder: &Path, to: &Path) -> Result<(), Error> {
    // A folder left by an interrupted build would confuse configure.
    let _ = std::fs::remove_dir_all(folder);
    run(Command::new("cp").arg("-r").arg(source.join("jemalloc")).arg(folder))?;
    // The crate carries the generated script next to the sources, in a folder of the same name.
    run(Command::new("cp").arg(source.join("configure/configure")).arg(folder.join("configure")))?;
    run(Command::new("sh")
        .args(["./configure", "--disable-cxx", &format!("--with-version={version}")])
        .current_dir(folder))?;
    run(Command::new("make").args(["-j2", "build_lib_shared"]).current_dir(folder))?;
    run(Command::new("cp").arg(folder.join("lib/libjemalloc.so.2")).arg(to)).map(drop)
}

/// Google's tcmalloc: the list of files is the one in the crate's own build script, and `tcmalloc.cc`, which
/// defines malloc where the crate's bridge would not.
fn tcmalloc(source: &Path, folder: &Path, to: &Path) -> Result<(), Error> {
    std::fs::create_dir_all(folder).map_err(|error| Error::system("creating a build folder", &error))?;
    let script = std::fs::read_to_string(source.join("build.rs"))
        .map_err(|error| Error::system("reading the list of tcmalloc's files", &error))?;
    let files: Vec<String> = script
        .split('"')
        .filter(|word| word.starts_with("c_src/") && (word.ends_with(".cc") || word.ends_with(".S")))
        .filter(|word| !word.ends_with("_bridge.cc"))
        .map(str::to_owned)
        .chain(["c_src/tcmalloc/tcmalloc/tcmalloc.cc".to_owned()])
        .collect();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let failures: Vec<Error> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|first| {
                let files = &files;
                scope.spawn(move || {
                    files
                        .iter()
                        .skip(first)
                        .step_by(threads)
                        .try_for_each(|file| tcmalloc_object(source, file, folder))
                })
            })
            .collect();
        workers.into_iter().filter_map(|worker| worker.join().ok().and_then(Result::err)).collect()
    });
    if let Some(failure) = failures.into_iter().next() {
        return Err(failure);
    }
    run(compiler("g++", to).args(files.iter().map(|file| object(file, folder))).arg("-lpthread")).map(drop)
}

/// Compiles one file of tcmalloc.
fn tcmalloc_object(source: &Path, file: &str, folder: &Path) -> Result<(), Error> {
    run(Command::new("g++")
        .current_dir(source)
        .args(["-std=c++17", "-O2", "-DNDEBUG", "-fPIC", "-w", "-ftls-model=initial-exec"])
        .args([
            "-DNOMINMAX",
            "-DTCMALLOC_INTERNAL_8K_PAGES",
            "-Ic_src/abseil-cpp",
            "-Ic_src/tcmalloc",
            "-c",
            file,
        ])
        .arg("-o")
        .arg(object(file, folder)))
    .map(drop)
}

/// The path of the object of a source file.
fn object(file: &str, folder: &Path) -> PathBuf {
    folder.join(format!("{}.o", file.replace('/', "_")))
}
