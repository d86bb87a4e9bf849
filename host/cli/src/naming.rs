//! Names of places in lock reports, by the symbols of the program's files.
//!
//! Invariant: names are looked up where a report is made; a saved one keeps those that it has.
//! Not here: symbols themselves (`underbar_symbols`), and which places there are (`underbar_report::lock`).

use std::path::Path;

use underbar_report::lock::Naming;
use underbar_report::lock::names::Name;
use underbar_symbols::{Place, Symbols};

/// The symbols of files, read when first asked for.
#[derive(Default)]
pub struct Names(Symbols);

impl Naming for Names {
    fn code(&mut self, file: &Path, address: u64) -> Option<Name> {
        self.0.code(file, address).map(name)
    }

    fn data(&mut self, file: &Path, address: u64) -> Option<Name> {
        self.0.data(file, address).map(name)
    }
}

fn name(place: Place) -> Name {
    Name { symbol: place.symbol, displacement: place.displacement, line: None }
}
