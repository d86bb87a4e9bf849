//! Names of places in lock reports, by the symbols of the program's files.
//!
//! Invariant: names are looked up when a report is made; a saved report keeps its names.
//! Not here: the symbols (`underbar_symbols`), and the places (`underbar_report::lock`).

use std::path::Path;

use underbar_report::lock::Naming;
use underbar_report::lock::names::Name;
use underbar_symbols::{Place, Symbols};

/// The symbols of files, read when first asked for.
#[derive(Default)]
pub struct Names(Symbols);

impl Naming for Names {
    fn code(&mut self, file: &Path, address: u64) -> Option<Name> {
        let line = || self.0.line(file, address).map(|line| format!("{}:{}", base(&line.file), line.line));
        self.0.code(file, address).map(|place| Name { line: line(), ..name(place) })
    }

    fn data(&mut self, file: &Path, address: u64) -> Option<Name> {
        self.0.data(file, address).map(name)
    }
}

/// A file's name without its folders: those are of the machine that compiled it.
fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn name(place: Place) -> Name {
    Name { symbol: place.symbol, displacement: place.displacement, line: None }
}
