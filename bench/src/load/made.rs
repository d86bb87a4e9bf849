//! The loaded objects: some programs, and libraries of them with few and many members.
//!
//! Invariant: the loaded member is the middle one by name, so that a search in sequence reads half of the directory.
//! The other members are empty: only the directory grows.

use crate::Error;
use std::path::{Path, PathBuf};
use std::process::Command;
use underbar_partitioned::name::Name;
use underbar_store::change::{Addition, Edit, apply};
use underbar_store::library::Organisation;
use underbar_store::make::{Wanted, create};

/// A program that is loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Program {
    /// Its function, and its file without `.so`.
    pub name: &'static str,
    /// Its description.
    pub about: &'static str,
    /// Its source.
    source: &'static str,
}

/// A function and nothing else.
pub const TINY: Program =
    Program { name: "tiny", about: "a tiny program", source: "int tiny(int x) { return x + 1; }\n" };

/// 4 MB next to the function, none of which is touched.
pub const PLAIN: Program = Program {
    name: "plain",
    about: "4 MB, untouched",
    source: "#define R 1,2,3,4,5,6,7,8
#define R2 R,R,R,R,R,R,R,R
#define R3 R2,R2,R2,R2,R2,R2,R2,R2
#define R4 R3,R3,R3,R3,R3,R3,R3,R3
#define R5 R4,R4,R4,R4,R4,R4,R4,R4
__attribute__((section(\".text\"))) const int rows[] = {R5,R5,R5,R5,R5,R5,R5,R5,R5,R5,R5,R5,R5,R5,R5,R5,R5,R5,R5,R5,R5,R5,R5,R5,R5,R5,R5,R5,R5,R5,R5,R5};
int plain(int x) { return x + 1; }\n",
};

/// 4 MB of rows with a relocation in each.
pub const RELOCATED: Program = Program {
    name: "relocated",
    about: "4 MB, 65,544 relocations",
    source: "struct row { const char *text; char rest[56]; };
static const char text[] = \"relocated\";
#define R {text, {0}}
#define R2 R,R,R,R,R,R,R,R,R,R,R,R,R,R,R,R
#define R3 R2,R2,R2,R2,R2,R2,R2,R2,R2,R2,R2,R2,R2,R2,R2,R2
#define R4 R3,R3,R3,R3,R3,R3,R3,R3,R3,R3,R3,R3,R3,R3,R3,R3
struct row rows[65536] = {R4,R4,R4,R4,R4,R4,R4,R4,R4,R4,R4,R4,R4,R4,R4,R4};
int relocated(int x) { return x + 1; }\n",
};

/// 64 KB of data next to the function, which writes into each page of them.
pub const TOUCHED_64K: Program = Program {
    name: "touched_64k",
    about: "64 KB, each page written",
    source:
        "static char rows[16 * 4096] = {1};
int touched_64k(int x) { for (unsigned at = 0; at < sizeof rows; at += 4096) rows[at] += x; return x + 1; }\n",
};

/// The same with 256 KB.
pub const TOUCHED_256K: Program = Program {
    name: "touched_256k",
    about: "256 KB, each page written",
    source: "char rows[64 * 4096] = {1};
int touched_256k(int x) { for (unsigned at = 0; at < sizeof rows; at += 4096) rows[at] += x; return x + 1; }\n",
};

/// The same with 4 MB.
pub const TOUCHED_4M: Program = Program {
    name: "touched_4m",
    about: "4 MB, each page written",
    source: "char rows[1024 * 4096] = {1};
int touched_4m(int x) { for (unsigned at = 0; at < sizeof rows; at += 4096) rows[at] += x; return x + 1; }\n",
};

/// A folder that is removed on drop.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// A new one.
    ///
    /// # Errors
    /// The system's.
    pub fn new() -> Result<Folder, Error> {
        let path = std::env::temp_dir().join(format!("underbar-bench-load-{}", std::process::id()));
        std::fs::create_dir_all(&path).map_err(|error| Error::system("making a folder", &error))?;
        Ok(Folder(path))
    }

    /// Compiles a program into it.
    ///
    /// # Errors
    /// No compiler; the system's.
    pub fn compiled(&self, program: Program) -> Result<PathBuf, Error> {
        let (from, to) =
            (self.0.join(format!("{}.c", program.name)), self.0.join(format!("{}.so", program.name)));
        std::fs::write(&from, program.source).map_err(|error| Error::system("writing a program", &error))?;
        let done = Command::new("cc")
            .args(["-O2", "-shared", "-fPIC", "-o"])
            .arg(&to)
            .arg(&from)
            .output()
            .map_err(|error| Error::Missing(format!("cc, a C compiler: {error}")))?;
        if done.status.success() {
            Ok(to)
        } else {
            Err(Error::Build(String::from_utf8_lossy(&done.stderr).into_owned()))
        }
    }

    /// A library of this many members, of which the middle one is the program: its path, and the member's name.
    ///
    /// # Errors
    /// The system's.
    pub fn library(
        &self,
        program: Program,
        file: &Path,
        organisation: Organisation,
        members: usize,
    ) -> Result<(PathBuf, String), Error> {
        let path = self.0.join(format!("{}.{}.{members}", program.name, organisation.text()));
        let wrong = |error: underbar_store::error::Error| Error::System(format!("a library: {error}"));
        let bytes = std::fs::read(file).map_err(|error| Error::system("reading a program", &error))?;
        let name_of = |number: usize| format!("M{number:07}");
        let middle = members / 2;
        let edits = (0..members).map(|number| {
            let name = Name::new(name_of(number).as_bytes()).map_err(|_| {
                underbar_store::error::Error::system(name_of(number), std::io::ErrorKind::InvalidInput.into())
            })?;
            let addition = if number == middle {
                Addition::new(name, bytes.clone(), Some(program.name.as_bytes()), 0)?
            } else {
                Addition::new(name, Vec::new(), None, 0)?
            };
            Ok(Edit::Add(Box::new(addition)))
        });
        create(&path, &Wanted { organisation, ..Wanted::usual(0) }).map_err(wrong)?;
        apply(&path, edits, members, 0, true).map_err(wrong)?;
        Ok((path, name_of(middle)))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A folder that cannot be removed is among the temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
