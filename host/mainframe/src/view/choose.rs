//! The contents of a file, and the selected library in it.
//!
//! A file may be a tape with twenty transmissions: its libraries are numbered in their order, and one of them
//! is selected by its number, its data set's name, or the end of its path. A load module or program object that is alone
//! in a file is a library of one member.
//!
//! Invariant: a name that two libraries have selects neither.

use crate::container;
use crate::ebcdic::CodePage;
use crate::fault::Trouble;
use crate::library::Library;
use crate::tree::{Item, Options, What};
use serde::Serialize;
use std::path::Path;

/// The separator in a path.
const STEP: &str = " > ";
/// The most names in a message; the rest is counted.
const NAMED_MOST: usize = 20;

/// A file with or without libraries.
#[derive(Debug)]
pub struct Carrier {
    /// Bytes of the file.
    pub bytes: u64,
    /// Everything in it, in order.
    pub holds: Vec<Thing>,
    /// Its libraries, in order.
    pub libraries: Vec<Held>,
    /// Its faults.
    pub troubles: Vec<Trouble>,
    /// The code page of names.
    pub page: CodePage,
}

/// One item of the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Thing {
    /// Its path, from the file's name.
    pub path: String,
    /// Its depth.
    pub depth: usize,
    /// Its own name.
    pub name: String,
    /// Its kind.
    pub is: String,
    /// Number of the library, from 1, if it is one.
    pub library: Option<usize>,
}

/// A library, and its path.
#[derive(Debug)]
pub struct Held {
    /// Its path, from the file's name.
    pub path: String,
    /// The library.
    pub library: Library,
    /// Whether it is only a program that is alone in its file: then it has a member, but no label and no directory.
    pub alone: bool,
}

impl Held {
    /// Its name: its data set's name, or the last part of the path.
    #[must_use]
    pub fn name(&self) -> &str {
        let last = self.path.rsplit(STEP).next().unwrap_or(&self.path);
        self.library.label.name.as_deref().filter(|name| !name.is_empty()).unwrap_or(last)
    }

    fn is_meant(&self, wanted: &[&str]) -> bool {
        let same = |one: &str, other: &str| one.eq_ignore_ascii_case(other);
        let steps: Vec<&str> = self.path.split(STEP).collect();
        let ends = steps
            .len()
            .checked_sub(wanted.len())
            .is_some_and(|from| steps[from..].iter().zip(wanted).all(|(step, wanted)| same(step, wanted)));
        ends || matches!(wanted, [one] if same(self.name(), one))
    }
}

/// No library was selected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unclear {
    /// The file has none.
    #[error("this is no program library, and no known container of one{is}")]
    None {
        /// The kind of the file, if it is known.
        is: String,
    },
    /// There are several, and none was named.
    #[error("it holds {number} libraries: choose one by --dsn with its name, path or number: {names}")]
    Several {
        /// Their number.
        number: usize,
        /// Number and name of each.
        names: String,
    },
    /// None has this name.
    #[error("it holds no library {wanted}; it holds {names}")]
    Unknown {
        /// The given name.
        wanted: String,
        /// Number and name of each.
        names: String,
    },
    /// Several have this name.
    #[error("{wanted} is the name of several libraries in it: choose one by its number: {names}")]
    Ambiguous {
        /// The given name.
        wanted: String,
        /// Number and path of each.
        names: String,
    },
}

impl Carrier {
    /// Opens a file and everything in it.
    ///
    /// # Errors
    /// If the file cannot be opened; all other faults are in `troubles`.
    pub fn open(path: &Path, page: CodePage) -> Result<Carrier, Trouble> {
        let root = container::open(path, &Options { page, ..Options::default() })?;
        Ok(Carrier::of(root, page))
    }

    /// From the contents of a file.
    #[must_use]
    pub fn of(root: Item, page: CodePage) -> Carrier {
        let troubles = root.troubles().into_iter().cloned().collect();
        let bytes = root.bytes;
        let mut carrier = Carrier { bytes, holds: Vec::new(), libraries: Vec::new(), troubles, page };
        carrier.take("", 0, root);
        carrier
    }

    fn take(&mut self, way: &str, depth: usize, item: Item) {
        let path = if way.is_empty() { item.name.clone() } else { format!("{way}{STEP}{}", item.name) };
        let is = what(&item);
        let library = match item.what {
            What::Library(library) => Some((*library, false)),
            What::Module(_) | What::Object(_) => item.data.and_then(|data| {
                let stem = Path::new(&item.name).file_stem().map(|stem| stem.to_string_lossy().into_owned());
                Library::alone(&stem.unwrap_or_default(), &data.joined()).map(|library| (library, true))
            }),
            _ => None,
        };
        let number = library.map(|(library, alone)| {
            self.libraries.push(Held { path: path.clone(), library, alone });
            self.libraries.len()
        });
        self.holds.push(Thing { path: path.clone(), depth, name: item.name, is, library: number });
        item.inner.into_iter().for_each(|inner| self.take(&path, depth + 1, inner));
    }

    /// The selected library: the only one, or the one with this name, path or number.
    ///
    /// # Errors
    /// There is none, or more than one.
    pub fn choose(&self, wanted: Option<&str>) -> Result<&Held, Unclear> {
        let all: Vec<usize> = (0..self.libraries.len()).collect();
        if all.is_empty() {
            let first = self.holds.first().filter(|first| first.is != UNKNOWN);
            let is = first.map(|first| format!(": it is {}", first.is)).unwrap_or_default();
            return Err(Unclear::None { is });
        }
        let Some(wanted) = wanted else {
            return match &*self.libraries {
                [one] => Ok(one),
                _ => Err(Unclear::Several { number: all.len(), names: self.names(&all, false) }),
            };
        };
        let steps: Vec<&str> = wanted.split(['>', '/']).map(str::trim).collect();
        let meant: Vec<usize> =
            all.iter().copied().filter(|at| self.libraries[*at].is_meant(&steps)).collect();
        match *meant {
            [one] => Ok(&self.libraries[one]),
            [] => {
                let number = wanted.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
                number.and_then(|at| self.libraries.get(at)).ok_or_else(|| Unclear::Unknown {
                    wanted: wanted.to_owned(),
                    names: self.names(&all, false),
                })
            }
            _ => Err(Unclear::Ambiguous { wanted: wanted.to_owned(), names: self.names(&meant, true) }),
        }
    }

    /// Whether all of it is of an unknown format.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        self.holds.iter().all(|thing| thing.is == UNKNOWN)
    }

    fn names(&self, which: &[usize], paths: bool) -> String {
        let name = |at: &usize| {
            let held = &self.libraries[*at];
            format!("{} {}", at + 1, if paths { &held.path } else { held.name() })
        };
        let mut names: Vec<String> = which.iter().take(NAMED_MOST).map(name).collect();
        if which.len() > NAMED_MOST {
            names.push(format!("and {} more", which.len() - NAMED_MOST));
        }
        names.join(", ")
    }
}

const UNKNOWN: &str = "not understood";

/// An item in a few words.
fn what(item: &Item) -> String {
    match &item.what {
        What::Transmission { header } => match &header.from_user {
            Some(user) => format!("a transmission from {user}"),
            None => "a transmission".to_owned(),
        },
        What::Message => "a message".to_owned(),
        What::DataSet { attributes } => match attributes.block_size {
            Some(size) => format!("a data set of {} bytes, block size {size}", item.bytes),
            None => format!("a data set of {} bytes", item.bytes),
        },
        What::Tape { serial, packed, .. } => {
            let serial = serial.as_deref().unwrap_or("without label");
            format!("a {}tape {serial}", if *packed { "compressed " } else { "" })
        }
        What::Disk { serial, device, packed, cylinders, open } => format!(
            "a {}disk {serial}, {device} with {cylinders} cylinders{}",
            if *packed { "compressed " } else { "" },
            if *open { ", left open by the emulator" } else { "" }
        ),
        What::Terse { method } => format!("packed by AMATERSE, {method}"),
        What::Library(library) => {
            let kind = match library.label.organisation {
                crate::library::Organisation::Pds => "PDS",
                crate::library::Organisation::Pdse => "PDSE",
            };
            let counts = library.counts();
            format!(
                "a {kind}, RECFM={}, block size {}, {} member{}, {} alias{}",
                library.label.record_format,
                library.label.block_size,
                counts.primaries,
                if counts.primaries == 1 { "" } else { "s" },
                counts.aliases,
                if counts.aliases == 1 { "" } else { "es" }
            )
        }
        What::Module(_) => "a load module".to_owned(),
        What::Object(_) => "a program object".to_owned(),
        What::Foreign { what } => (*what).to_owned(),
        What::Unknown => UNKNOWN.to_owned(),
    }
}
