//! The rows: each once, with its object, its source, its way, and its number of turns.

use super::made::{Folder, PLAIN, Program, RELOCATED, TINY, TOUCHED_4M, TOUCHED_64K, TOUCHED_256K};
use crate::Error;
use std::path::PathBuf;
use underbar_loading::{Role, TABLE, Way};
use underbar_store::library::Organisation;

/// The compared numbers of members.
pub const MEMBERS: [usize; 3] = [2, 4_200, 100_000];
/// Turns of a tiny program.
const TIMES: u64 = 5_000;

/// A library by its organisation and the number of its members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stored {
    /// PDS or PDSE.
    pub organisation: Organisation,
    /// The number of members.
    pub members: usize,
}

/// The library of the large programs, alone, and of the tiny one for the first table.
pub const SMALL: Stored = Stored { organisation: Organisation::Pdse, members: 2 };

/// One row.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// The object.
    pub program: Program,
    /// Its library; None: its file.
    pub library: Option<Stored>,
    /// The way.
    pub way: &'static Way,
    /// Turns in a sample.
    pub times: u64,
}

/// All rows, in the order of the table.
#[must_use]
pub fn all() -> Vec<Row> {
    let mut rows = Vec::new();
    for (program, times, ours) in [
        (TINY, TIMES, &[][..]),
        (PLAIN, 1_000, &["nothing"][..]),
        (RELOCATED, 1_000, &["shared", "fresh"][..]),
        (TOUCHED_64K, 1_000, &["fresh"][..]),
        (TOUCHED_256K, 1_000, &["fresh"][..]),
        (TOUCHED_4M, 1_000, &["fresh"][..]),
    ] {
        for way in TABLE.iter().filter(|way| way.role == Role::Peer) {
            // A copy of 4 MB takes as long as a hundred loads; relocations, as long as fifty.
            let times =
                if times < TIMES && (way.name == "memfd" || program == RELOCATED || program == TOUCHED_4M) {
                    times / 10
                } else {
                    times
                };
            rows.push(Row { program, library: None, way, times });
        }
        for way in TABLE.iter().filter(|way| ours.contains(&way.name)) {
            rows.push(Row { program, library: Some(SMALL), way, times });
        }
    }
    for organisation in [Organisation::Pdse, Organisation::Pds] {
        for members in MEMBERS {
            for way in TABLE.iter().filter(|way| way.role == Role::Ours) {
                let is_searched = organisation == Organisation::Pds && way.name.ends_with("searched");
                let times = match members {
                    4_200 if is_searched => TIMES / 25,
                    100_000 if is_searched => 10,
                    _ => TIMES,
                };
                rows.push(Row { program: TINY, library: Some(Stored { organisation, members }), way, times });
            }
        }
    }
    rows
}

/// The paths of everything.
#[derive(Debug)]
pub struct Places {
    files: Vec<(Program, PathBuf)>,
    libraries: Vec<(Program, Stored, PathBuf, String)>,
}

/// Compiles and fills what the rows need.
///
/// # Errors
/// No compiler; the system's.
pub fn make(folder: &Folder) -> Result<Places, Error> {
    let mut places = Places { files: Vec::new(), libraries: Vec::new() };
    for row in all() {
        let known = places.files.iter().find(|(program, _)| *program == row.program);
        let file = match known {
            Some((_, file)) => file.clone(),
            None => {
                let file = folder.compiled(row.program)?;
                places.files.push((row.program, file.clone()));
                file
            }
        };
        let Some(stored) = row.library else { continue };
        if places.library(row.program, stored).is_none() {
            let (path, member) = folder.library(row.program, &file, stored.organisation, stored.members)?;
            places.libraries.push((row.program, stored, path, member));
        }
    }
    Ok(places)
}

impl Places {
    fn library(&self, program: Program, stored: Stored) -> Option<(PathBuf, String)> {
        let found = self.libraries.iter().find(|(of, at, ..)| (*of, *at) == (program, stored));
        found.map(|(_, _, path, member)| (path.clone(), member.clone()))
    }

    /// The object of a row: the path, and the name of member or function.
    ///
    /// # Errors
    /// It was not made.
    pub fn of(&self, row: &Row) -> Result<(PathBuf, String), Error> {
        let found = match row.library {
            Some(stored) => self.library(row.program, stored),
            None => self
                .files
                .iter()
                .find(|(program, _)| *program == row.program)
                .map(|(program, path)| (path.clone(), program.name.to_owned())),
        };
        found.ok_or_else(|| Error::Workload(format!("{} was not made", row.program.name)))
    }
}
