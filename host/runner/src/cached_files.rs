//! The supervisor of caches of files for one run, and the file that gets standard output, if the options ask for them.
//!
//! Invariant: without such options there is neither.
//! Not here: the supervisor's work (`launch::file_keeper`).

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use underbar_launch::LedgerFile;
use underbar_launch::file_keeper::{FileKeeper, Kept};
use underbar_options::Settings;

use underbar_shown::Shown;

use crate::layers::Layers;

/// What the options ask for.
#[derive(Default)]
pub(crate) struct CachedFiles {
    keeper: Option<FileKeeper>,
    /// The file of MAINPR, or why it cannot be had.
    pub(crate) main_printer: Option<Result<File, String>>,
}

impl CachedFiles {
    /// Begins, next to the ledger of a run.
    pub(crate) fn begin(layers: &Layers, program: &OsStr, ledger: Option<&LedgerFile>) -> Self {
        let text = layers.text().to_ascii_uppercase();
        let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
        let may_cache = has(&["PRINT", "WORK", "PWCS", "PCWS"]);
        // The settings of a program need its file; most runs need none of this.
        if !may_cache && !has(&["MAINPR"]) {
            return Self::default();
        }
        let settings = layers.settings(program);
        // A section of the options may be for a program that this one starts.
        let may_cache = settings.caches_files() || may_cache && text.contains('[');
        let keeper = ledger.filter(|_| may_cache).and_then(|it| FileKeeper::begin(it).ok());
        Self { keeper, main_printer: main_printer(&settings, program) }
    }

    /// The program has ended.
    pub(crate) fn finish(self) -> Kept {
        self.keeper.map(FileKeeper::finish).unwrap_or_default()
    }
}

fn main_printer(settings: &Settings, program: &OsStr) -> Option<Result<File, String>> {
    let pattern = settings.main_printer()?;
    let names = rustix::system::uname();
    let mut room = [0; 4096];
    let name = Path::new(program).file_name().unwrap_or(program).as_bytes();
    let path = pattern.fill_in(std::process::id(), name, names.nodename().to_bytes(), &mut room)?;
    let path = Path::new(OsStr::from_bytes(path));
    Some(File::create(path).map_err(|error| format!("MAINPR({}): {error}", path.shown())))
}
