//! Names of places in lock reports, by the symbols of the program's files.
//!
//! Invariant: names are looked up when a report is made; a saved report keeps its names.
//! Not here: the symbols (`underbar_symbols`), and the places (`underbar_report::lock`).

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use underbar_report::lock::Naming;
use underbar_report::lock::names::Name;
use underbar_symbols::{Image, Place, Symbols, Wanted};

/// The symbols of files, read when first asked for.
#[derive(Default)]
pub struct Names {
    /// Files with the names of the addresses that were expected. None: it is no file with names.
    few: HashMap<PathBuf, (Wanted, Option<Image>)>,
    /// Files with all names, for other addresses.
    all: Symbols,
}

impl Names {
    /// The image for an expected address. The inner None: its file has no names.
    fn few(&self, file: &Path, is_wanted: impl Fn(&Wanted) -> bool) -> Option<Option<&Image>> {
        let (wanted, image) = self.few.get(file)?;
        is_wanted(wanted).then_some(image.as_ref())
    }
}

impl Naming for Names {
    fn expect(&mut self, file: &Path, code: &[u64], data: &[u64]) {
        // Who looks again and again expects more each time.
        let (mut wanted, image) = self.few.remove(file).unwrap_or_default();
        let before = wanted.clone();
        wanted.code.extend(code.iter().filter(|address| !before.code.contains(address)));
        wanted.data.extend(data.iter().filter(|address| !before.data.contains(address)));
        let image = if wanted == before { image } else { Image::open_for(file, &wanted) };
        self.few.insert(file.to_owned(), (wanted, image));
    }

    fn code(&mut self, file: &Path, address: u64) -> Option<Name> {
        let (place, line) = match self.few(file, |wanted| wanted.code.contains(&address)) {
            Some(image) => (image?.code(address)?, image?.line(address)),
            None => (self.all.code(file, address)?, self.all.line(file, address)),
        };
        Some(Name { line: line.map(|line| format!("{}:{}", base(&line.file), line.line)), ..name(place) })
    }

    fn data(&mut self, file: &Path, address: u64) -> Option<Name> {
        match self.few(file, |wanted| wanted.data.contains(&address)) {
            Some(image) => image?.data(address),
            None => self.all.data(file, address),
        }
        .map(name)
    }
}

/// A file's name without its folders: those are of the machine that compiled it.
fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn name(place: Place) -> Name {
    Name { symbol: place.symbol, displacement: place.displacement, line: None }
}
