//! A library of either kind, opened: one of ours, or one of a mainframe in whatever carries it.
//!
//! Invariant: what a file is goes by its first bytes, never by its name.
//! Not here: the work: `underbar_store` and `underbar_mainframe::view`.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use underbar_shown::Shown;

use clap::Args;
use underbar_mainframe::ebcdic::CodePage;
use underbar_mainframe::fault::Trouble;
use underbar_mainframe::view::choose::{Carrier, Held};
use underbar_mainframe::view::items;
use underbar_partitioned::name::Name;
use underbar_partitioned::read::{PDS_BEGINS, PDSE_BEGINS};
use underbar_store::library::{Item, Label, Library};

use crate::say::{Color, Kind, say};

/// Which library of a mainframe is meant, and how its names are read.
#[derive(Args)]
pub struct Choice {
    /// Of a file that holds several libraries of mainframes: the data set's name, its path as `lib info` shows it, or its
    /// number
    #[arg(long, value_name = "NAME")]
    pub dsn: Option<String>,

    /// The EBCDIC code page of names in libraries of mainframes
    #[arg(long, value_name = "PAGE", default_value = "037")]
    pub codepage: CodePage,
}

/// An open library.
pub enum Any {
    /// One of ours.
    Ours(Library),
    /// What a file of a mainframe holds.
    Theirs(Carrier),
}

impl Choice {
    /// Opens a file.
    pub fn open(&self, path: &Path) -> Result<Any, String> {
        // What cannot be read at all is said by the store, as ever.
        if is_ours(path).unwrap_or(true) {
            return Library::open(path).map(Any::Ours).map_err(|error| error.to_string());
        }
        Carrier::open(path, self.codepage).map(Any::Theirs).map_err(|trouble| trouble.fault.to_string())
    }

    /// The library of a carrier that is meant.
    pub fn choose<'a>(&self, carrier: &'a Carrier) -> Result<&'a Held, String> {
        carrier.choose(self.dsn.as_deref()).map_err(|unclear| unclear.to_string())
    }
}

/// Has it the first bytes of a library of ours? What is no plain file is not opened: a pipe would wait for who writes into it.
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
    /// What it is, and its members: all, or those of these names.
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
                        .map(|name| find(name).ok_or_else(|| format!("there is no member {name}")))
                        .collect::<Result<_, _>>()?;
                }
                Ok(Listed { label: items::label(library, carrier.bytes), members })
            }
        }
    }

    /// What is wrong with what carries it.
    pub fn troubles(&self) -> &[Trouble] {
        match self {
            Any::Ours(_) => &[],
            Any::Theirs(carrier) => &carrier.troubles,
        }
    }

    /// What is wrong with what carries it, or with the label of one of ours that does not count, as JSON names it.
    pub fn faults(&self) -> Vec<String> {
        match self {
            Any::Ours(library) => library.doubt().iter().map(ToString::to_string).collect(),
            Any::Theirs(carrier) => carrier.troubles.iter().map(ToString::to_string).collect(),
        }
    }

    /// Of one of ours: says which label is not whole, beside JSON, too: the last change may be missing.
    pub fn warn_of_doubt(&self, color: Color) {
        if let Any::Ours(library) = self {
            warn_of_doubt(library, color);
        }
    }

    /// Says what is wrong with what carries it, or with the label of one of ours that does not count.
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

/// Says which label of a library of ours is not whole.
pub fn warn_of_doubt(library: &Library, color: Color) {
    if let Some(doubt) = library.doubt() {
        say(color, Kind::Warning, format_args!("{}: {doubt}", library.path().shown()));
    }
}

/// A name of a member of ours.
pub fn our_name(text: &str) -> Result<Name, String> {
    Name::new(text.as_bytes()).map_err(|why| format!("{text:?} cannot be a member's name: {why}"))
}
