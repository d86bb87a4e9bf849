//! An open library of either kind: underbar's, or a mainframe's in any carrier.
//!
//! Invariant: the first bytes of a file decide its kind, never its name.
//! Not here: the work (`underbar_store` and `underbar_mainframe::view`).

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use underbar_shown::Shown;

use clap::Args;
use underbar_mainframe::ebcdic::CodePage;
use underbar_mainframe::fault::Trouble;
use underbar_mainframe::view::choose::{Carrier, Held};
use underbar_mainframe::view::extract::missing;
use underbar_mainframe::view::items;
use underbar_partitioned::name::Name;
use underbar_partitioned::read::{PDS_BEGINS, PDSE_BEGINS};
use underbar_store::library::{Item, Label, Library};

use crate::say::{Color, Kind, say};

/// Which mainframe library of a file to use, and the code page of its names.
#[derive(Args)]
pub struct Choice {
    /// Which library of a file with several: the data set's name, or the path or number that `lib info` shows
    #[arg(long, value_name = "NAME")]
    pub dsn: Option<String>,

    /// The EBCDIC code page of names in mainframes' libraries
    #[arg(long, value_name = "PAGE", default_value = "037")]
    pub codepage: CodePage,
}

/// An open library.
pub enum Any {
    /// A library of underbar.
    Ours(Library),
    /// The contents of a mainframe's file.
    Theirs(Carrier),
}

impl Choice {
    /// Opens a file.
    pub fn open(&self, path: &Path) -> Result<Any, String> {
        // The store reports a file that cannot be read at all.
        if is_ours(path).unwrap_or(true) {
            return Library::open(path).map(Any::Ours).map_err(|error| error.to_string());
        }
        Carrier::open(path, self.codepage).map(Any::Theirs).map_err(|trouble| trouble.fault.to_string())
    }

    /// The chosen library of a carrier.
    pub fn choose<'a>(&self, carrier: &'a Carrier) -> Result<&'a Held, String> {
        carrier.choose(self.dsn.as_deref()).map_err(|unclear| unclear.to_string())
    }
}

/// Does it have the first bytes of a library of underbar? Only a plain file is opened: a pipe would wait for a writer.
pub fn is_ours(path: &Path) -> std::io::Result<bool> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(std::io::ErrorKind::InvalidInput.into());
    }
    let mut first = Vec::new();
    File::open(path)?.take(PDS_BEGINS.len() as u64).read_to_end(&mut first)?;
    Ok([PDS_BEGINS, PDSE_BEGINS].iter().any(|begins| first == begins))
}

/// Does it hold a library of a mainframe?
pub fn is_theirs(path: &Path) -> bool {
    !is_ours(path).unwrap_or(true)
        && Carrier::open(path, CodePage::US).is_ok_and(|carrier| !carrier.libraries.is_empty())
}

/// A library as it is listed.
pub struct Listed {
    /// What it is.
    pub label: Label,
    /// Its members and aliases.
    pub members: Vec<Item>,
}

impl Any {
    /// Its label, and its members: all, or those of these names.
    pub fn list(&self, choice: &Choice, long: bool, names: Option<&[String]>) -> Result<Listed, String> {
        match self {
            Any::Ours(library) => {
                let wrong = |error: underbar_store::Error| error.to_string();
                let members = match names {
                    None => library.list(long).map_err(wrong)?,
                    Some(names) => names
                        .iter()
                        .map(|name| library.item(&our_name(name)?).map_err(wrong))
                        .collect::<Result<_, _>>()?,
                };
                Ok(Listed { label: library.label().map_err(wrong)?, members })
            }
            Any::Theirs(carrier) => {
                let library = &choice.choose(carrier)?.library;
                let mut members = items::list(library);
                if let Some(names) = names {
                    let find = |name: &String| members.iter().find(|item| item.name == *name).cloned();
                    members = names
                        .iter()
                        .map(|name| find(name).ok_or_else(|| missing(library, name).to_string()))
                        .collect::<Result<_, _>>()?;
                }
                Ok(Listed { label: items::label(library, carrier.bytes), members })
            }
        }
    }

    /// The faults of its carrier.
    pub fn troubles(&self) -> &[Trouble] {
        match self {
            Any::Ours(_) => &[],
            Any::Theirs(carrier) => &carrier.troubles,
        }
    }

    /// The faults of its carrier, or the damaged label of a library of underbar, as texts for JSON.
    pub fn faults(&self) -> Vec<String> {
        match self {
            Any::Ours(library) => library.doubt().iter().map(ToString::to_string).collect(),
            Any::Theirs(carrier) => carrier.troubles.iter().map(ToString::to_string).collect(),
        }
    }

    /// Warns of a damaged label of a library of underbar, also with JSON: the last change may be missing.
    pub fn warn_of_doubt(&self, color: Color) {
        if let Any::Ours(library) = self {
            warn_of_doubt(library, color);
        }
    }

    /// Warns of the faults of its carrier, or of a damaged label of a library of underbar.
    pub fn warn(&self, color: Color) {
        self.warn_of_doubt(color);
        const SAID_MOST: usize = 20;
        let troubles = self.troubles();
        for trouble in troubles.iter().take(SAID_MOST) {
            say(color, Kind::Warning, trouble);
        }
        if troubles.len() > SAID_MOST {
            say(color, Kind::Warning, format_args!("and {} more of that kind", troubles.len() - SAID_MOST));
        }
    }
}

/// Warns of a damaged label of a library of underbar.
pub fn warn_of_doubt(library: &Library, color: Color) {
    if let Some(doubt) = library.doubt() {
        say(color, Kind::Warning, format_args!("{}: {doubt}", library.path().shown()));
    }
}

/// The name of a member in a library of underbar.
pub fn our_name(text: &str) -> Result<Name, String> {
    Name::new(text.as_bytes()).map_err(|why| format!("{text:?} cannot be a member's name: {why}"))
}
