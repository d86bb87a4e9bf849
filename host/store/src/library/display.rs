//! The values that lists, `info` and surveys show of a library and its members, both Underbar's and real mainframes'.
//!
//! Not here: the source of the values: `items`, and for a mainframe's library `underbar_mainframe::view`.

use serde::Serialize;
use underbar_partitioned::attribute::Classes;
use underbar_partitioned::binder::Module;

/// The organisation of a library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Organisation {
    /// Tracks, a directory searched in sequence.
    Pds,
    /// Pages, an index.
    Pdse,
}

impl Organisation {
    /// The name in texts.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Organisation::Pds => "PDS",
            Organisation::Pdse => "PDSE",
        }
    }
}

/// The label of a library.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Label {
    /// Name of the data set, if the carrier of a mainframe's library has it.
    pub name: Option<String>,
    /// PDS or PDSE.
    pub organisation: Organisation,
    /// RECFM: U for all of Underbar's libraries.
    pub record_format: String,
    /// LRECL; without meaning if RECFM is U.
    pub record_length: u32,
    /// Of its label.
    pub block_size: u32,
    /// Members.
    pub members: u32,
    /// Aliases.
    pub aliases: u32,
    /// Bytes of the file.
    pub file_bytes: u64,
    /// Tracks of a PDS; of a PDSE, twelve pages are one.
    pub tracks: u32,
    /// Directory blocks in use, or pages of the index.
    pub directory_blocks: u32,
    /// Tracks of the directory, or levels of the index.
    pub directory_depth: u32,
    /// Directory blocks in all (PDS), if known.
    pub directory_allocated: Option<u32>,
    /// Pages, and those of them that are free (PDSE).
    pub pages: Option<u32>,
    /// See `pages`.
    pub free_pages: Option<u32>,
    /// The limit of its pages (PDSE).
    pub space_pages: Option<u32>,
    /// Rises with each change; like the times, None for a mainframe's.
    pub generation: Option<u64>,
    /// Seconds since 1970.
    pub created: Option<u64>,
    /// Seconds since 1970.
    pub modified: Option<u64>,
    /// Extents of a mainframe's library on its disk.
    pub extents: Option<u32>,
}

/// A member or alias in a list.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Item {
    /// Its name.
    pub name: String,
    /// The member of an alias.
    pub alias_of: Option<String>,
    /// Bytes of the member.
    pub size: u64,
    /// Its start: TTR of a PDS, a token of a PDSE. Six digits, hexadecimal.
    pub ttr: String,
    /// Blocks of text, or pages; None if not requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocks: Option<u64>,
    /// Tracks with its blocks; None if not requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tracks: Option<u64>,
    /// Names of its attributes.
    pub attributes: Vec<&'static str>,
    /// FETCHOPT; None for members of mainframes.
    pub fetch: Option<&'static str>,
    /// Address of the entry point of this name, in the file's own addresses.
    pub entry_point: Option<u64>,
    /// The function of the entry point, if it is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// Pages by class of text (PDSE; a PDS loads all).
    pub classes: Option<ClassCounts>,
    /// Bytes of storage that the program takes.
    pub storage: u64,
    /// Seconds since 1970; None for an alias, and if not requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modified: Option<u64>,
    /// Its other names.
    pub aliases: Vec<String>,
    /// Values that only members of mainframes have.
    pub mainframe: Option<Box<Mainframe>>,
}

/// Pages by class of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ClassCounts {
    /// Read at LOAD.
    pub initial: u32,
    /// Read on reference.
    pub deferred: u32,
    /// Never by LOAD.
    pub no_load: u32,
}

impl From<Classes> for ClassCounts {
    fn from(classes: Classes) -> ClassCounts {
        ClassCounts { initial: classes.initial, deferred: classes.deferred, no_load: classes.no_load }
    }
}

/// Values that only members of mainframes have.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Mainframe {
    /// Addressing mode of a program's entry point: 24, 31, 64, ANY.
    pub amode: Option<&'static str>,
    /// Residence mode of a program: 24 or ANY.
    pub rmode: Option<&'static str>,
    /// Authorisation code.
    pub authorisation: Option<u8>,
    /// System status index, hexadecimal.
    pub ssi: Option<String>,
    /// ISPF statistics of a text member.
    pub statistics: Option<Statistics>,
}

/// ISPF statistics of a text member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Statistics {
    /// Version and modification level: `01.04`.
    pub version: String,
    /// Day of creation.
    pub created: String,
    /// Last change.
    pub changed: String,
    /// Lines.
    pub lines: u32,
    /// Lines when it was created.
    pub first_lines: u32,
    /// Lines changed since.
    pub changed_lines: u32,
    /// The user of the last change.
    pub user: String,
}

/// The values of a member for a survey.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Blocks that every copy keeps.
    pub fixed: Vec<u32>,
    /// Bytes of no program, which a copy cuts into whole blocks.
    pub data: u64,
    /// Lengths of its texts.
    pub texts: Vec<u64>,
    /// Bytes of relocation entries.
    pub relocations: u64,
    /// Bytes of its control records.
    pub control: u32,
    /// Channel programs of a load, without the search, by the article's count.
    pub programs: u64,
}

impl Shape {
    /// In the form for the simulation of a copy.
    #[must_use]
    pub fn module(&self) -> Module<'_> {
        Module {
            fixed: &self.fixed,
            data: self.data,
            texts: &self.texts,
            relocations: self.relocations,
            control: self.control,
        }
    }
}
