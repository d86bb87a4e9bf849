//! `lib create`, `lib copy`, `lib compress`: whole libraries made.

use std::path::PathBuf;

use clap::Args;
use underbar_partitioned::binder::LARGEST_BLOCK_SIZE;
use underbar_partitioned::name::Name;
use underbar_store::change::{Changed, Edit, apply};
use underbar_store::library::{self, Library};
use underbar_store::make::{self, Wanted, edits_of};
use underbar_store::{Error, Result};

use super::any_library::warn_of_doubt;
use super::change::{Target, say};
use super::progress::Progress;
use super::text::about;
use super::{Organisation, block_size, name, now};
use crate::exit::ExitCode;
use crate::printing::Printing;

/// The flags of `lib create`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  underbar lib create programs.pdse
  underbar lib create --organisation pds --block-size 32760 --directory 50 programs.pds
  underbar lib create --space 256 small.pdse

Exit status: 0 created, 2 wrong usage, a file that exists already, or a file that could not be written.")]
pub struct Create {
    #[command(flatten)]
    printing: Printing,

    /// The library's file
    library: PathBuf,

    /// The organisation
    #[arg(long, value_enum, default_value_t = Organisation::Pdse)]
    organisation: Organisation,

    /// Block size, 256 to 32760; a PDSE only notes it on its label
    #[arg(long, value_name = "BYTES", value_parser = block_size(), default_value_t = LARGEST_BLOCK_SIZE)]
    block_size: u32,

    /// Directory blocks of a PDS; one holds seven members [default: 50]
    #[arg(long, value_name = "BLOCKS", value_parser = clap::value_parser!(u32).range(1..=400_000))]
    directory: Option<u32>,

    /// Largest size of a PDSE, in pages of 4 KiB [default: no limit]
    #[arg(long, value_name = "PAGES", value_parser = clap::value_parser!(u32).range(8..))]
    space: Option<u32>,
}

/// Directory blocks of a PDS by default.
const DIRECTORY_BLOCKS: u32 = 50;
/// The message about directory blocks of a PDSE.
const DIRECTORY_OF_PDSE: &str = "--directory is only for a PDS, and this is to be a PDSE";

impl Create {
    /// Makes it.
    pub fn run(self) -> ExitCode {
        let ignored = match self.organisation {
            Organisation::Pds if self.space.is_some() => {
                Some("--space is only for a PDSE, and this is to be a PDS")
            }
            Organisation::Pdse if self.directory.is_some() => Some(DIRECTORY_OF_PDSE),
            _ => None,
        };
        if let Some(ignored) = ignored {
            return self.printing.fail(ignored);
        }
        let wanted = Wanted {
            organisation: self.organisation.into(),
            block_size: self.block_size,
            directory_blocks: Some(self.directory.unwrap_or(DIRECTORY_BLOCKS)),
            space_pages: self.space.unwrap_or(0),
            now: now(),
        };
        let made = make::create(&self.library, &wanted);
        say(&self.printing, &self.library, made.map(|()| Default::default()), "made")
    }
}

/// The flags of `lib copy`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  underbar lib copy programs.pds programs.pdse --organisation pdse
  underbar lib copy old.pds new.pds --block-size 32760
  underbar lib copy --select SORT --select MERGE from.pdse into.pdse
  underbar lib copy --replace update.pdse programs.pdse

If TO exists, the members are added to it, and its organisation and block size stay. If not, the new library has the
organisation and block size of FROM, unless --organisation, --block-size or --directory say otherwise; its text is cut into new
blocks, and short blocks fill its tracks.

Exit status: 0 copied, 2 wrong usage, a member that is damaged or does not fit, or a file that could not be written.")]
pub struct Copy {
    #[command(flatten)]
    printing: Printing,

    /// The library to copy
    from: PathBuf,

    /// The new library, or an existing one to add the members to
    to: PathBuf,

    /// Organisation of a new library [default: that of FROM]
    #[arg(long, value_enum)]
    organisation: Option<Organisation>,

    /// Block size of a new library, 256 to 32760 [default: that of FROM]
    #[arg(long, value_name = "BYTES", value_parser = block_size())]
    block_size: Option<u32>,

    /// Directory blocks of a new PDS [default: a quarter more than its members need]
    #[arg(long, value_name = "BLOCKS", value_parser = clap::value_parser!(u32).range(1..=400_000))]
    directory: Option<u32>,

    /// Copy only this member, with its aliases; may be given several times
    #[arg(long, value_parser = name, value_name = "MEMBER")]
    select: Vec<Name>,

    /// Replace members of the same names in an existing library
    #[arg(long)]
    replace: bool,

    /// Wait while another process changes the existing library
    #[arg(long)]
    wait: bool,
}

impl Copy {
    /// Copies.
    pub fn run(self) -> ExitCode {
        let from = match self.open() {
            Ok(from) => from,
            Err(error) => return say(&self.printing, &self.from, Err(error), ""),
        };
        let organisation = self.organisation.map_or(from.organisation(), library::Organisation::from);
        if let Some(ignored) = self.ignored(organisation) {
            return self.printing.fail(about(&self.to, ignored));
        }
        say(&self.printing, &self.to, self.copy(&from, organisation), "copied {n}")
    }

    /// The library to copy, if it has the members that were selected.
    fn open(&self) -> Result<Library> {
        let from = Library::open(&self.from)?;
        warn_of_doubt(&from, self.printing.color);
        for wanted in &self.select {
            if let Some(of) = from.item(wanted)?.alias_of {
                return Err(Error::IsAlias(wanted.to_string(), of));
            }
        }
        Ok(from)
    }

    /// Why the flags cannot be followed, if so.
    fn ignored(&self, organisation: library::Organisation) -> Option<&'static str> {
        match organisation {
            _ if !self.to.exists() => (self.directory.is_some()
                && organisation == library::Organisation::Pdse)
                .then_some(DIRECTORY_OF_PDSE),
            _ if self.organisation.is_some() => {
                Some("it exists already, and --organisation is only for a new library")
            }
            _ if self.block_size.is_some() => {
                Some("it exists already, and --block-size is only for a new library")
            }
            _ => self.directory.map(|_| "it exists already, and --directory is only for a new library"),
        }
    }

    fn copy(&self, from: &Library, organisation: library::Organisation) -> Result<Changed> {
        let choose = |name: &Name| self.select.is_empty() || self.select.contains(name);
        let label = from.label()?;
        let mut progress = Progress::new("members", Some(u64::from(label.members)));
        let mut done = |number| progress.done(number);
        if self.to.exists() {
            let (entries, edits) = edits_of(from, &choose, &mut done)?;
            let edits = edits.map(|edit| {
                edit.map(|edit| match edit {
                    Edit::Add(mut addition) => {
                        addition.replace = self.replace;
                        Edit::Add(addition)
                    }
                    other => other,
                })
            });
            return apply(&self.to, edits, entries, now(), self.wait);
        }
        let wanted = Wanted {
            organisation,
            block_size: self.block_size.unwrap_or(label.block_size),
            directory_blocks: self.directory,
            space_pages: 0,
            now: now(),
        };
        make::copy(from, &self.to, &wanted, &choose, &mut done)
    }
}

/// The flags of `lib compress`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  underbar lib compress programs.pds
  underbar lib compress --directory 200 programs.pds

A new file is written in the same folder and renamed over the old one; processes that read the old one can go on. A PDSE keeps
only the free pages that a delete needs, so that members can be deleted on a full disk.

Exit status: 0 done, 2 wrong usage, a member that is damaged, or a library that cannot be changed.")]
pub struct Compress {
    #[command(flatten)]
    target: Target,

    /// Directory blocks of a PDS [default: as many as before]
    #[arg(long, value_name = "BLOCKS", value_parser = clap::value_parser!(u32).range(1..=400_000))]
    directory: Option<u32>,
}

impl Compress {
    /// Rewrites it.
    pub fn run(self) -> ExitCode {
        let target = &self.target;
        // If the library cannot be opened, compress reports why.
        let is_pdse = || {
            Library::open(&target.library).is_ok_and(|of| of.organisation() == library::Organisation::Pdse)
        };
        if self.directory.is_some() && is_pdse() {
            return target
                .printing
                .fail(about(&target.library, "--directory is only for a PDS, and this is a PDSE"));
        }
        let mut progress = Progress::new("members", None);
        let done = make::compress(&target.library, self.directory, now(), target.wait, &mut |done| {
            progress.done(done);
        });
        drop(progress);
        target.say(done, "compressed")
    }
}
