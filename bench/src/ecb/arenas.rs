//! The arenas: what gives a unit of work its storage, one table entry each, and the programs that use them.
//!
//! ```text
//! bench/ecb/driver.c + arenas/NAME.h ── compiler ──> target/peers/ecb/NAME     one program for each kind of arena
//! malloc, under each allocator of `bench heap`; bumpalo: a program of Rust; host/demo's tls.c ──> target/peers/ecb/tls
//! ```
//!
//! Invariant: all arenas run the same loop; programs are compiled anew in each run, so that they are of these sources.
//! Not here: allocators that are preloaded ([`crate::peers`]).

use crate::build::{self, Recipe, Sources};
use crate::measure::beside;
use crate::peers::{self, Allocator};
use crate::{Error, heap};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What an arena is made of.
#[derive(Debug, Clone, Copy)]
enum Source {
    /// The C library or a preload.
    Nothing,
    /// A library that is also an allocator of `bench heap`: linked, and preloaded.
    Peer {
        recipe: Recipe,
        /// The folder of its header in its crate, if it needs one.
        header: Option<(&'static str, &'static str)>,
    },
    /// A Debian package: its name, and the flags.
    Debian { package: &'static str, flags: &'static [&'static str] },
    /// PostgreSQL's memory contexts, from a crate.
    Postgres,
    /// The Rust program next to this one.
    Bumpalo,
    /// underbar's ECBs.
    Ours,
}

/// A kind of arena.
#[derive(Debug, Clone, Copy)]
pub struct Arena {
    /// Its name in tables.
    pub name: &'static str,
    /// Its file below `bench/ecb/arenas`.
    header: &'static str,
    /// The macros that choose a way of using it.
    defines: &'static [&'static str],
    source: Source,
    /// Can threads share it?
    pub is_shared: bool,
    /// Can a hundred thousand be alive?
    pub is_small: bool,
}

const MIMALLOC: Source = Source::Peer {
    recipe: Recipe::Mimalloc { line: "v3" },
    header: Some(("libmimalloc-sys", "c_src/mimalloc/v3/include")),
};
const JEMALLOC: Source = Source::Peer { recipe: Recipe::Jemalloc, header: None };
const TALLOC: Source = Source::Debian { package: "libtalloc-dev", flags: &["-ltalloc"] };

/// Every kind of arena; ours comes last.
pub const TABLE: &[Arena] = &[
    Arena {
        name: "malloc and free",
        header: "malloc.h",
        defines: &[],
        source: Source::Nothing,
        is_shared: true,
        is_small: true,
    },
    Arena {
        name: "mimalloc heap",
        header: "mimalloc.h",
        defines: &[],
        source: MIMALLOC,
        is_shared: true,
        // A hundred thousand of its heaps take more than 20 GB.
        is_small: false,
    },
    Arena {
        name: "jemalloc arena, destroyed",
        header: "jemalloc.h",
        defines: &["JE_DESTROY"],
        source: JEMALLOC,
        is_shared: true,
        is_small: false,
    },
    Arena {
        name: "jemalloc arena, reset",
        header: "jemalloc.h",
        defines: &["JE_RESET"],
        source: JEMALLOC,
        is_shared: true,
        is_small: false,
    },
    // Its cache is of one thread.
    Arena {
        name: "jemalloc arena, cached, reset",
        header: "jemalloc.h",
        defines: &["JE_CACHED"],
        source: JEMALLOC,
        is_shared: false,
        is_small: false,
    },
    Arena {
        name: "talloc context",
        header: "talloc.h",
        defines: &[],
        source: TALLOC,
        is_shared: false,
        is_small: true,
    },
    Arena {
        name: "talloc pool of 64 KB",
        header: "talloc.h",
        defines: &["TALLOC_POOL=65536"],
        source: TALLOC,
        is_shared: false,
        is_small: true,
    },
    Arena {
        name: "APR pool",
        header: "apr.h",
        defines: &["LINUX"],
        source: Source::Debian { package: "libapr1-dev", flags: &["-I/usr/include/apr-1.0", "-lapr-1"] },
        is_shared: false,
        is_small: true,
    },
    Arena {
        name: "PostgreSQL AllocSet",
        header: "allocset.h",
        defines: &[],
        source: Source::Postgres,
        is_shared: false,
        is_small: true,
    },
    Arena {
        name: FLOOR,
        header: "bare.h",
        defines: &[],
        source: Source::Nothing,
        is_shared: false,
        is_small: false,
    },
    Arena {
        name: "obstack",
        header: "obstack.h",
        defines: &[],
        source: Source::Nothing,
        is_shared: false,
        is_small: true,
    },
    Arena {
        name: "bumpalo",
        header: "",
        defines: &[],
        source: Source::Bumpalo,
        is_shared: false,
        is_small: false,
    },
    Arena {
        name: "bumpalo, reset",
        header: "",
        defines: &[],
        source: Source::Bumpalo,
        is_shared: false,
        is_small: false,
    },
    Arena {
        name: OURS,
        header: "underbar.h",
        defines: &[],
        source: Source::Ours,
        is_shared: true,
        is_small: true,
    },
];

/// The name of underbar's ECBs.
pub const OURS: &str = "underbar ECB";
/// The name of malloc and free, under an allocator whose name follows.
pub const MALLOC: &str = "malloc";
/// What the loop itself takes.
pub const FLOOR: &str = "a bare pointer (the loop itself)";
/// The bare bump allocator that a goal names.
pub const BUMPALO: &str = "bumpalo";

/// Arenas over the C library's malloc: it keeps what it has, as in a process that has run for a while. Else it would give storage back
/// to the kernel at each unit's end, and get it again.
const KEEPING: &[(&str, &str)] = &[(
    "GLIBC_TUNABLES",
    "glibc.malloc.trim_threshold=268435456:glibc.malloc.mmap_threshold=33554432:glibc.malloc.top_pad=1048576",
)];

/// The way of an arm, which decides what it takes part in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// malloc and free under an allocator.
    Malloc,
    /// Another arena of C.
    Arena {
        /// Can threads share it?
        is_shared: bool,
        /// Can a hundred thousand be alive?
        is_small: bool,
    },
    /// A bare bump allocator of Rust, with `reset` in place of `unit` if so.
    Bump {
        /// Is the arena kept?
        is_kept: bool,
    },
    /// underbar's ECBs.
    Ours,
}

/// An arm: a program that is ready to run.
#[derive(Debug, Clone)]
pub struct Arm {
    /// Its name in tables.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its way.
    pub way: Way,
    /// The driver; None: it has no program for units, only for TLS.
    pub program: PathBuf,
    /// The value of `LD_PRELOAD`.
    pub preload: Option<PathBuf>,
    /// Further variables.
    pub variables: &'static [(&'static str, &'static str)],
}

/// All arms, missing ones with their reasons, and the TLS driver.
#[derive(Debug)]
pub struct Ready {
    /// Arms, ours last.
    pub arms: Vec<Arm>,
    /// Name and reason of each that is missing.
    pub missing: Vec<(String, String)>,
    /// The TLS driver, or the reason why there is none.
    pub tls: Result<PathBuf, String>,
    /// The folder of the programs.
    pub folder: PathBuf,
}

/// Compiles everything.
///
/// # Errors
/// No folder, no crates with sources.
pub fn make(workspace: &Path, target: &Path) -> Result<Ready, Error> {
    let folder = target.join("peers/ecb");
    std::fs::create_dir_all(&folder)
        .map_err(|error| Error::system("creating a folder for programs", &error))?;
    let all = heap::Request::default();
    let (allocators, missing) = heap::allocators(&all, workspace, target)?;
    let sources = build::sources(workspace)?;
    let mut ready = Ready {
        arms: Vec::new(),
        missing: missing.into_iter().map(|(name, why)| (format!("{MALLOC}, {name}"), why)).collect(),
        tls: Err(String::new()),
        folder,
    };
    let makes = Makes { workspace, target, sources: &sources, folder: &ready.folder.clone() };
    for arena in TABLE {
        match makes.arms(arena, &allocators) {
            Ok(mut arms) => ready.arms.append(&mut arms),
            Err(why) => ready.missing.push((arena.name.to_owned(), why.to_string())),
        }
    }
    ready.tls = makes.tls().map_err(|why| why.to_string());
    for (name, why) in &ready.missing {
        eprintln!("NOT MEASURED: {name}: {why}");
    }
    if let Err(why) = &ready.tls {
        eprintln!("NOT MEASURED: TLS: {why}");
    }
    Ok(ready)
}

struct Makes<'a> {
    workspace: &'a Path,
    target: &'a Path,
    sources: &'a Sources,
    folder: &'a Path,
}

impl Makes<'_> {
    /// The arms of an arena: one, or for malloc one for each allocator.
    fn arms(&self, arena: &Arena, allocators: &[Allocator]) -> Result<Vec<Arm>, Error> {
        let of = |program, version: String, way, preload| Arm {
            name: arena.name.to_owned(),
            version,
            way,
            program,
            preload,
            variables: KEEPING,
        };
        let way = Way::Arena { is_shared: arena.is_shared, is_small: arena.is_small };
        Ok(match arena.source {
            Source::Nothing if arena.header == "malloc.h" => {
                let program = self.driver(arena, &[])?;
                let arms = allocators.iter().filter(|one| one.before.is_empty()).map(|one| Arm {
                    name: format!("{MALLOC}, {}", one.name),
                    variables: one.variables,
                    ..of(program.clone(), one.version.clone(), Way::Malloc, one.preload.clone())
                });
                arms.collect()
            }
            Source::Nothing => {
                let version = build::output("getconf", &["GNU_LIBC_VERSION"])?;
                vec![of(self.driver(arena, &[])?, version, way, None)]
            }
            Source::Peer { recipe, header } => {
                let library = build::library(recipe, self.sources, &self.target.join("peers"))?;
                let mut words = vec![library.path.display().to_string()];
                if let Some((of_crate, folder)) = header {
                    let (source, _) = self
                        .sources
                        .get(of_crate)
                        .ok_or_else(|| Error::Missing(format!("the crate {of_crate}")))?;
                    words.push(format!("-I{}", source.join(folder).display()));
                }
                vec![of(self.driver(arena, &words)?, library.version, way, Some(library.path))]
            }
            Source::Debian { package, flags } => {
                let version = build::output("dpkg-query", &["-W", "-f", "${Version}", package])
                    .map_err(|_| Error::Missing(format!("apt-get install {package}")))?;
                let words: Vec<String> = flags.iter().map(ToString::to_string).collect();
                vec![of(self.driver(arena, &words)?, version, way, None)]
            }
            Source::Postgres => {
                let (words, version) = self.postgres()?;
                vec![of(self.driver(arena, &words)?, version, way, None)]
            }
            Source::Bumpalo => {
                let way = Way::Bump { is_kept: arena.name != BUMPALO };
                vec![of(beside("underbar-bench-bump")?, "of crate 3.20".to_owned(), way, None)]
            }
            Source::Ours => {
                let library = peers::underbar_mainframe(self.target)?;
                let version = env!("CARGO_PKG_VERSION").to_owned();
                let program = self.driver(arena, &[])?;
                let arm = Arm { variables: &[], ..of(program, version, Way::Ours, Some(library)) };
                // It says itself whether the library has ECBs.
                let mut asked = arm.command();
                let done = asked
                    .args(["live", "1"])
                    .output()
                    .map_err(|error| Error::system("starting a driver", &error))?;
                if done.status.code() == Some(NOT_AVAILABLE) {
                    return Err(Error::Missing("the library has no ECBs yet".to_owned()));
                }
                vec![arm]
            }
        })
    }

    /// Compiles a driver.
    fn driver(&self, arena: &Arena, words: &[String]) -> Result<PathBuf, Error> {
        let name: String = arena
            .name
            .chars()
            .map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' })
            .collect();
        let to = self.folder.join(name);
        build::run(
            compiler()
                .arg(format!("-DARENA=\"arenas/{}\"", arena.header))
                .args(arena.defines.iter().map(|define| format!("-D{define}")))
                .arg("-I")
                .arg(self.workspace.join("api/capi/include"))
                .arg("-I")
                .arg(self.workspace.join("bench/ecb"))
                .arg(self.workspace.join("bench/ecb/driver.c"))
                .args(words)
                .arg("-pthread")
                .arg("-o")
                .arg(&to),
        )?;
        Ok(to)
    }

    /// PostgreSQL's memory contexts: the files, and the version.
    fn postgres(&self) -> Result<(Vec<String>, String), Error> {
        let sources = build::sources_of(&self.workspace.join("bench/peers/postgres/Cargo.toml"))?;
        let (source, _) =
            sources.get("pg_query").ok_or_else(|| Error::Missing("the crate pg_query".to_owned()))?;
        let root = source.join("libpg_query");
        let path = |name: &str| root.join(name).display().to_string();
        let file = |name: &str| path(&format!("src/postgres/src_backend_utils_mmgr_{name}.c"));
        let mut words: Vec<String> = ["", "src/postgres/include", "src/include"]
            .iter()
            .map(|name| format!("-I{}", path(name)))
            .collect();
        words.extend(
            ["aset", "mcxt", "alignedalloc", "generation", "slab", "bump"].iter().map(|name| file(name)),
        );
        words.push(self.workspace.join("bench/ecb/postgres.c").display().to_string());
        let header = std::fs::read_to_string(path("src/postgres/include/pg_config.h")).unwrap_or_default();
        let version = header.lines().find_map(|line| line.strip_prefix("#define PG_VERSION "));
        Ok((words, version.unwrap_or("of unknown version").trim_matches('"').to_owned()))
    }

    /// Compiles the TLS driver.
    fn tls(&self) -> Result<PathBuf, Error> {
        if !Path::new("/usr/include/openssl/ssl.h").exists() {
            return Err(Error::Missing("openssl/ssl.h: apt-get install libssl-dev".to_owned()));
        }
        let to = self.folder.join("tls");
        build::run(
            compiler()
                .arg(self.workspace.join("host/demo/src/programs/tls.c"))
                .args(["-pthread", "-lssl", "-lcrypto", "-o"])
                .arg(&to),
        )?;
        Ok(to)
    }
}

/// A driver's exit status where its arena is not available.
pub const NOT_AVAILABLE: i32 = 3;

fn compiler() -> Command {
    let mut command = Command::new("cc");
    command.args(["-O2", "-w"]);
    command
}

impl Arm {
    /// Its driver, under its allocator.
    #[must_use]
    pub fn command(&self) -> Command {
        self.of(&self.program)
    }

    /// Another program under its allocator.
    #[must_use]
    pub fn of(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env_remove("LD_PRELOAD").envs(self.variables.iter().copied());
        if let Some(preload) = &self.preload {
            command.env("LD_PRELOAD", preload);
        }
        command
    }

    /// Is it one of those that ECBs are compared with?
    #[must_use]
    pub fn is_rival(&self) -> bool {
        self.way != Way::Ours && self.name != FLOOR && !self.name.contains("underbar")
    }
}

#[cfg(test)]
mod tests {
    use super::{BUMPALO, OURS, TABLE};

    #[test]
    fn names_are_unique_and_ours_is_the_last() {
        for arena in TABLE {
            assert_eq!(TABLE.iter().filter(|other| other.name == arena.name).count(), 1, "{}", arena.name);
        }
        assert_eq!(TABLE.last().map(|arena| arena.name), Some(OURS));
        assert!(TABLE.iter().any(|arena| arena.name == BUMPALO));
    }

    #[test]
    fn every_arena_of_c_has_its_file() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("ecb/arenas");
        for arena in TABLE.iter().filter(|arena| !arena.header.is_empty()) {
            assert!(folder.join(arena.header).is_file(), "{}", arena.header);
        }
    }
}
