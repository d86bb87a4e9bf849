//! From places in code to functions and lines.
//!
//! ```text
//! places ── by file ──> debug data, once for each file ──┐
//!                       symbol tables, lines ────────────┼─> location: module, its functions (innermost first), or a note
//!        ── by process ──> names of code made at run time ┘
//! ```
//!
//! Invariant: a place without a name keeps its module and address, and says why it has no more.
//! Not here: which location is the site ([`crate::site`]).

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

use crate::files::{FileId, Files};
use crate::made::MadeCode;
use crate::walk::Place;

/// A place in code, with its names.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Location {
    /// The file; empty for code that was made at run time.
    pub module: String,
    /// The file's own address, as in `nm`; for code made at run time, the address in the process.
    pub address: u64,
    /// Why there are no names, or no lines: `stripped`, `deleted`, `replaced`, `unreadable`, `made at run time`,
    /// `CPython, line unknown`, `.dwo file missing`; null otherwise.
    pub note: Option<Cow<'static, str>>,
    /// The functions at this place, innermost first: all but the last were inlined. Empty without names.
    pub functions: Vec<Function>,
}

/// A function at a place.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Function {
    /// Its name, as people write it.
    pub function: Option<String>,
    /// The file of source.
    pub file: Option<String>,
    /// The line: where it requests, or calls the next one.
    pub line: Option<u64>,
}

impl Location {
    /// Whether its functions are of Python: made at run time, with a file.
    #[must_use]
    pub fn is_python(&self) -> bool {
        self.module.is_empty() && self.functions.iter().any(|function| function.file.is_some())
    }
}

/// The note on a frame of the interpreter of CPython.
pub const CPYTHON: &str = "CPython, line unknown";

/// The note on a place of which the file with more debug data is missing: its line is right, and functions that were inlined there are
/// unknown.
pub const LACKS_FILE: &str = ".dwo file missing";

/// The names of the interpreter's loop, in all versions.
const INTERPRETERS: [&str; 2] = ["_PyEval_EvalFrameDefault", "_PyEval_EvalFrame"];

/// The locations of places.
#[must_use]
pub fn locations(
    files: &Files,
    made: &MadeCode,
    places: impl Iterator<Item = Place>,
) -> HashMap<Place, Location> {
    let mut of_files: BTreeMap<FileId, Vec<u64>> = BTreeMap::new();
    let mut found = HashMap::new();
    for place in places {
        match place {
            Place::File(file, address) => of_files.entry(file).or_default().push(address),
            Place::Process(process, address) => {
                found.entry(place).or_insert_with(|| of_process(made, process, address));
            }
        }
    }
    for (file, mut addresses) in of_files {
        addresses.sort_unstable();
        addresses.dedup();
        let locations = of_file(files, file, &addresses);
        found.extend(addresses.iter().map(|address| Place::File(file, *address)).zip(locations));
    }
    found
}

fn of_file(files: &Files, file: FileId, addresses: &[u64]) -> Vec<Location> {
    let Some(program) = files.get(file) else { return vec![Location::default(); addresses.len()] };
    let module = program.path.to_string_lossy().into_owned();
    let empty = |address: u64, note: Option<&'static str>| Location {
        module: module.clone(),
        address,
        note: note.map(Cow::Borrowed),
        functions: Vec::new(),
    };
    let Some(image) = program.image() else {
        let note = program.missing.map_or("unreadable", |missing| missing.words());
        return addresses.iter().map(|address| empty(*address, Some(note))).collect();
    };
    let frames = image.frames(addresses);
    let named = addresses.iter().zip(frames).map(|(&address, frames)| {
        let symbol = image.code(address).map(|place| place.symbol);
        let lacks_file = frames.iter().any(|frame| frame.lacks_file);
        let mut functions: Vec<Function> = frames
            .into_iter()
            .map(|frame| Function {
                function: frame.function,
                file: frame.line.as_ref().map(|line| line.file.clone()),
                line: frame.line.map(|line| line.line),
            })
            .collect();
        match functions.last_mut() {
            Some(last) => last.function = last.function.take().or(symbol),
            None => {
                if let Some(symbol) = symbol {
                    let line = image.line(address);
                    functions.push(Function {
                        function: Some(symbol),
                        file: line.as_ref().map(|line| line.file.clone()),
                        line: line.map(|line| line.line),
                    });
                }
            }
        }
        let is_python = |function: &Function| {
            function
                .function
                .as_deref()
                .is_some_and(|name| INTERPRETERS.iter().any(|known| name.split('.').next() == Some(known)))
        };
        let note = if functions.is_empty() {
            Some("stripped")
        } else if functions.iter().any(is_python) {
            Some(CPYTHON)
        } else {
            lacks_file.then_some(LACKS_FILE)
        };
        Location { functions, ..empty(address, note) }
    });
    named.collect()
}

fn of_process(made: &MadeCode, process: u32, address: u64) -> Location {
    let Some((name, program)) = made.name(process, address) else {
        return Location { address, note: Some("made at run time".into()), ..Location::default() };
    };
    // CPython: py::FUNCTION:FILE.
    let function = match name.strip_prefix("py::").and_then(|rest| rest.split_once(':')) {
        Some((function, file)) => {
            Function { function: Some(function.to_owned()), file: Some(file.to_owned()), line: None }
        }
        None => Function { function: Some(name), ..Function::default() },
    };
    Location { module: program.unwrap_or_default(), address, note: None, functions: vec![function] }
}
