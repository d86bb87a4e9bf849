//! `underbar lib`: program libraries, a PDS or a PDSE: made, filled, listed, changed, verified, surveyed.
//!
//! ```text
//! create, copy, compress   a whole new file          add, delete, rename, alias   a change: all of it or nothing
//! ls, info, verify         one generation, read      extract, survey              files out, figures out
//! import, export           between mainframes' libraries and underbar's
//! ```
//!
//! Invariant: a command that fails has changed nothing, and names the file at fault; its exit status is 2.
//! Not here: the work; that is in `underbar_store`, and in `underbar_mainframe` for libraries of mainframes.

pub mod any_library;
mod change;
mod copy;
mod extract;
mod import_export;
mod list;
mod output;
mod program;
mod progress;
mod survey;
mod text;

use std::time::{SystemTime, UNIX_EPOCH};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, ValueEnum};
use underbar_partitioned::attribute::FetchOptions;
use underbar_partitioned::binder::{LARGEST_BLOCK_SIZE, SMALLEST_BLOCK_SIZE};
use underbar_partitioned::name::Name;
use underbar_store::library;

use crate::exit::ExitCode;

/// The flags of `lib`.
#[derive(Args)]
#[command(subcommand_required = true, arg_required_else_help = true)]
#[command(after_help = "\
Examples:
  underbar lib create programs.pdse
  underbar lib add programs.pdse build/
  underbar lib ls -l programs.pdse
  underbar lib survey /srv/libraries
  underbar lib ls -l backup.xmi

A library is one file. A PDSE is changed in place: an index finds each member, and a change that is interrupted at any point
leaves either the old members or the new ones. A PDS has tracks, blocks and a directory that is searched in sequence, as on a
mainframe's disk; each change writes the whole file anew.

ls, info, extract, survey, import and export also read mainframes' libraries: XMIT, IEBCOPY, AMATERSE, AWS, HET, CKD, CCKD.

Exit status: 0 done, 1 the library is damaged (verify), 2 wrong usage, or a file could not be read or written.")]
pub struct Lib {
    #[command(subcommand)]
    command: Command,
}

/// What can be done with libraries.
#[derive(Subcommand)]
enum Command {
    /// Create an empty library
    Create(copy::Create),
    /// Put programs, or any files, into a library
    Add(change::Add),
    /// List the members of a library
    Ls(list::Ls),
    /// Describe a library or its members
    Info(list::Info),
    /// Write members into files
    Extract(extract::Extract),
    /// Copy a library, also to the other organisation or another block size
    Copy(copy::Copy),
    /// Rename a member or an alias
    Rename(change::Rename),
    /// Delete members with their aliases, or aliases
    Delete(change::Delete),
    /// Add an alias to a member, for the same function or another one
    Alias(change::Alias),
    /// Rewrite a library without gaps and free pages
    Compress(copy::Compress),
    /// Read a whole library and check that it is consistent
    Verify(list::Verify),
    /// Copy members of a mainframe's library into one of underbar's
    Import(import_export::Import),
    /// Write a library as a transmission (XMIT)
    Export(import_export::Export),
    /// Show block sizes and tracks of libraries and the cost of loads, with advice
    Survey(survey::SurveyFlags),
}

impl Lib {
    /// Runs the command.
    pub fn run(self) -> ExitCode {
        match self.command {
            Command::Create(create) => create.run(),
            Command::Add(add) => add.run(),
            Command::Ls(ls) => ls.run(),
            Command::Info(info) => info.run(),
            Command::Extract(extract) => extract.run(),
            Command::Import(import) => import.run(),
            Command::Export(export) => export.run(),
            Command::Copy(copy) => copy.run(),
            Command::Rename(rename) => rename.run(),
            Command::Delete(delete) => delete.run(),
            Command::Alias(alias) => alias.run(),
            Command::Compress(compress) => compress.run(),
            Command::Verify(verify) => verify.run(),
            Command::Survey(survey) => survey.run(),
        }
    }
}

/// How a library is organised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Organisation {
    /// Tracks of a 3390, a directory searched in sequence
    Pds,
    /// Pages, an index that stays flat, changed in place
    Pdse,
}

impl From<Organisation> for library::Organisation {
    fn from(organisation: Organisation) -> library::Organisation {
        match organisation {
            Organisation::Pds => library::Organisation::Pds,
            Organisation::Pdse => library::Organisation::Pdse,
        }
    }
}

/// A member's name, from the command line.
fn name(text: &str) -> Result<Name, String> {
    Name::new(text.as_bytes()).map_err(|why| why.to_string())
}

/// A block size that a load library can have.
fn block_size() -> impl TypedValueParser<Value = u32> {
    clap::value_parser!(u32).range(i64::from(SMALLEST_BLOCK_SIZE)..=i64::from(LARGEST_BLOCK_SIZE))
}

/// FETCHOPT, as the binder's option is written: both sub-options in either order, or the one that is not the default.
fn fetch_options() -> impl TypedValueParser<Value = FetchOptions> {
    const ALL: [(&str, FetchOptions); 3] = [
        ("NOPACK,NOPRIME", FetchOptions::Default),
        ("NOPACK,PRIME", FetchOptions::Prime),
        ("PACK,PRIME", FetchOptions::Pack),
    ];
    let helped = ALL.map(|(text, _)| {
        clap::builder::PossibleValue::new(text).help(match text {
            "NOPACK,NOPRIME" => {
                "Mapped: LOAD reads all pages if there are under 96 KB, else the first 16; the rest on reference"
            }
            "NOPACK,PRIME" => "Mapped: LOAD reads all pages",
            _ => "Moved to storage as a whole",
        })
    });
    PossibleValuesParser::new(helped).map(|text| {
        ALL.iter().find(|(known, _)| *known == text).map_or(FetchOptions::Default, |(_, options)| *options)
    })
}

/// Seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
