//! The libraries for the demos, made of programs without a compiler, and programs of C, in a folder that is removed with the demo.
//!
//! Invariant: the folder is new, and it is removed when the demo ends, unless a signal ends the demo.
//! Not here: the programs' bytes (`module`).

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use underbar_partitioned::attribute::FetchOptions;
use underbar_partitioned::name::Name;
use underbar_store::change::{self, Addition, Edit};
use underbar_store::library::Organisation;
use underbar_store::make::{self, Wanted};
use underbar_store::pds::directory_blocks_for;

use super::measure::Problem;
use super::module::Module;

/// The words for a demo that compiles a program of C, if there is no compiler.
pub const NEEDS_C: &str = "the demo compiles a program of C (apt-get install gcc libc6-dev)";

/// The folder.
pub struct Workshop {
    folder: PathBuf,
}

impl Workshop {
    /// Makes the folder, in the folder for temporary files.
    pub fn new(demo: &str) -> Result<Workshop, Problem> {
        let parent = std::env::temp_dir();
        for number in 0.. {
            let folder = parent.join(format!("underbar-{demo}-{}-{number}", std::process::id()));
            match DirBuilder::new().mode(0o700).create(&folder) {
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error.into()),
                Ok(()) => return Ok(Workshop { folder }),
            }
        }
        unreachable!("numbers do not end before a new folder is found")
    }

    /// The path of a file of this name, as a word of a command line.
    pub fn path(&self, name: &str) -> Result<String, Problem> {
        let wrong = || Problem::Library("the temporary folder's name is not UTF-8".to_owned());
        self.folder.join(name).to_str().map(str::to_owned).ok_or_else(wrong)
    }

    /// The path of the folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Compiles a program of C with the user's compiler, linked with these libraries. `needs` says what a user without them installs.
    pub fn compiled(
        &self,
        name: &str,
        source: &str,
        libraries: &[&str],
        needs: &str,
    ) -> Result<PathBuf, Problem> {
        self.compiled_by("cc", &format!("{name}.c"), source, libraries, needs)
    }

    /// Compiles `source`, in a file of this name, whose program gets the name without its extension.
    pub fn compiled_by(
        &self,
        compiler: &str,
        name: &str,
        source: &str,
        libraries: &[&str],
        needs: &str,
    ) -> Result<PathBuf, Problem> {
        let file = self.file(name, source)?;
        let to = self.path(name.rsplit_once('.').map_or(name, |(program, _)| program))?;
        match Command::new(compiler)
            .args(["-O2", "-w", &file, "-o", &to, "-pthread"])
            .args(libraries)
            .output()
        {
            Ok(done) if done.status.success() => Ok(to.into()),
            Ok(done) => {
                let text = String::from_utf8_lossy(&done.stderr).into_owned();
                let first = text.lines().find(|line| line.contains("error"));
                let first = first.map_or_else(|| format!("{compiler} failed"), str::to_owned);
                Err(Problem::Missing(format!("{needs}: {first}")))
            }
            Err(error) => Err(Problem::Missing(format!("{needs}: {compiler}: {error}"))),
        }
    }

    /// Writes a file; its path.
    pub fn file(&self, name: &str, text: &str) -> Result<String, Problem> {
        let path = self.path(name)?;
        #[allow(clippy::disallowed_methods, reason = "a file in a folder of our own")]
        std::fs::write(&path, text)?;
        Ok(path)
    }

    /// Makes a library of members, `count` of them.
    pub fn library(
        &self,
        name: &str,
        organisation: Organisation,
        block_size: u32,
        members: impl IntoIterator<Item = Result<Addition, Problem>>,
        count: usize,
    ) -> Result<String, Problem> {
        let path = self.path(name)?;
        let directory_blocks = Some(directory_blocks_for(count));
        let wanted = Wanted { organisation, block_size, directory_blocks, ..Wanted::usual(0) };
        make::create(Path::new(&path), &wanted)?;
        let mut wrong = None;
        let members = members.into_iter().map_while(|member| match member {
            Ok(member) => Some(Ok(Edit::Add(Box::new(member)))),
            Err(problem) => {
                wrong = Some(problem);
                None
            }
        });
        change::apply(Path::new(&path), members, count, 0, true)?;
        wrong.map_or(Ok(path), Err)
    }

    /// Makes a folder of programs, each in its own file.
    pub fn folder_of(&self, name: &str, programs: &[(&str, Module)]) -> Result<String, Problem> {
        let path = self.path(name)?;
        DirBuilder::new().mode(0o700).create(&path)?;
        for (program, module) in programs {
            self.shared_object(&format!("{name}/{program}"), module)?;
        }
        Ok(path)
    }

    /// Makes a shared object in its own file, as dlopen needs it.
    pub fn shared_object(&self, name: &str, module: &Module) -> Result<String, Problem> {
        let path = self.path(&format!("{name}.so"))?;
        #[allow(clippy::disallowed_methods, reason = "a program, in a folder of our own")]
        std::fs::write(&path, module.bytes())?;
        Ok(path)
    }
}

impl Drop for Workshop {
    fn drop(&mut self) {
        // Files that cannot be removed stay in the folder for temporary files.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A member that is a program.
pub fn program(name: &str, module: &Module, fetch: FetchOptions) -> Result<Addition, Problem> {
    let addition = Addition::new(named(name)?, module.bytes(), Some(module.function.as_bytes()), 0)?;
    Ok(Addition { fetch, ..addition })
}

/// A member that holds nothing: only its place in the directory matters.
pub fn nothing(name: &str) -> Result<Addition, Problem> {
    Ok(Addition::new(named(name)?, Vec::new(), None, 0)?)
}

fn named(name: &str) -> Result<Name, Problem> {
    Name::new(name.as_bytes()).map_err(|why| Problem::Library(format!("{name}: {why}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_made_and_go_with_the_folder() {
        let workshop = Workshop::new("test").expect("a folder");
        let folder = workshop.folder().to_path_buf();
        let module = Module::of("ONE", 8);
        for organisation in [Organisation::Pds, Organisation::Pdse] {
            let members = [program("ONE", &module, FetchOptions::Default), nothing("TWO")];
            let path = workshop.library(organisation.text(), organisation, 6_144, members, 2).expect("made");
            let library = underbar_store::library::Library::open(Path::new(&path)).expect("a library");
            assert_eq!(library.label().expect("a label").members, 2);
            assert!(library.verify(&mut |_| ()).problems.is_empty());
        }
        let wrong = workshop.library("WRONG", Organisation::Pdse, 6_144, [nothing("a b")], 1);
        assert!(matches!(wrong, Err(Problem::Library(_))));
        drop(workshop);
        assert!(!folder.exists());
    }
}
